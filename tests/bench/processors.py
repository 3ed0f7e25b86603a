"""How much of two processors the host has to give at a moment: plain integer work, timed.

A guest's processors may be two halves of one core of its host, and be so for seconds only.  The
work fills a core: two halves of one get about 1.2 to 1.85 times as much of it done as one half
alone, two cores get twice as much.
"""

from __future__ import annotations

import ctypes
import statistics
import threading
import time

from gpudbg.sm.engines.llvm import build

CHAINS = 8
"""Of additions and exclusive ors that do not wait for one another."""
STEPS = 400_000


def _text() -> str:
    """A loop as LLVM IR: more independent operations than a core can begin in a cycle."""
    names = [f"%x{n}" for n in range(CHAINS)]
    lines = ["define i64 @work(i64 %count) {", "entry:", "  br label %again", "again:"]
    lines.append("  %at = phi i64 [ %count, %entry ], [ %rest, %again ]")
    lines += [f"  {x} = phi i64 [ {n}, %entry ], [ {x}d, %again ]" for n, x in enumerate(names)]
    for x in names:
        lines += [f"  {x}a = xor i64 {x}, %at", f"  {x}b = add i64 {x}a, {x}"]
        lines += [f"  {x}c = xor i64 {x}b, %at", f"  {x}d = add i64 {x}c, %at"]
    lines += ["  %rest = sub i64 %at, 1", "  %more = icmp ne i64 %rest, 0"]
    lines += ["  br i1 %more, label %again, label %end", "end:"]
    sums = [names[0] + "d"]
    for n, x in enumerate(names[1:]):
        lines.append(f"  %s{n} = xor i64 {sums[-1]}, {x}d")
        sums.append(f"%s{n}")
    return "\n".join([*lines, f"  ret i64 {sums[-1]}", "}"])


class Processors:
    """Two threads with the same work."""

    def __init__(self) -> None:
        self._code = build.Code(build.object_of(_text(), 2))
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
        self._work = kind(self._code.address("work"))
        # Not pipes: Linux puts a thread that a pipe wakes on the processor of who wrote.
        self._begin, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._other = 0.0
        threading.Thread(target=self._follow, daemon=True).start()

    def _seconds(self) -> float:
        start = time.perf_counter()
        self._work(STEPS)
        return time.perf_counter() - start

    def _follow(self) -> None:
        while self._begin.acquire():
            self._other = self._seconds()
            self._done.release()

    def there(self) -> float:
        """How much both get done at once, in units of what one gets done alone."""
        before = self._seconds()
        self._begin.release()
        mine = self._seconds()
        self._done.acquire()
        alone = statistics.mean((before, self._seconds()))
        return alone / mine + alone / self._other


if __name__ == "__main__":
    both = Processors()
    print(" ".join(f"{both.there():.2f}" for _ in range(30)))
