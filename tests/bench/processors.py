"""How much of several processors the host has to give at a moment: plain integer work, timed.

A guest's processors may be two halves of one core of its host, and be so for seconds only.  The
work fills a core: two halves of one get about 1.2 to 1.85 times as much of it done as one half
alone, two cores get twice as much.  `Memory` asks the same of memory: `y = a * x + y` of floats
that no cache holds.
"""

from __future__ import annotations

import ctypes
import statistics
import threading
import time
from collections.abc import Callable

import numpy as np

from gpudbg.sm.engines.llvm import build

CHAINS = 8
"""Of additions and exclusive ors that do not wait for one another."""
STEPS = 400_000
FLOATS = 1 << 24
"""Of each of the two arrays."""


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


SAXPY = """define void @saxpy(ptr %x, ptr %y, i64 %end) {
entry:
  br label %again
again:
  %at = phi i64 [ 0, %entry ], [ %next, %again ]
  %px = getelementptr float, ptr %x, i64 %at
  %py = getelementptr float, ptr %y, i64 %at
  %a = load <16 x float>, ptr %px, align 4
  %b = load <16 x float>, ptr %py, align 4
  %m = fmul <16 x float> %a, splat (float 1.5)
  %s = fadd <16 x float> %m, %b
  store <16 x float> %s, ptr %py, align 4
  %next = add i64 %at, 16
  %more = icmp ult i64 %next, %end
  br i1 %more, label %again, label %out
out:
  ret void
}"""


class Processors:
    """Threads with the same work."""

    def __init__(self, threads: int = 2) -> None:
        self.threads = threads
        self._work = self._made()
        # Not pipes: Linux puts a thread that a pipe wakes on the processor of who wrote.
        self._begin = [threading.Semaphore(0) for _ in range(threads - 1)]
        self._done = threading.Semaphore(0)
        self._others = [0.0] * (threads - 1)
        for n in range(threads - 1):
            threading.Thread(target=self._follow, args=(n,), daemon=True).start()

    def _made(self) -> Callable[[int, int], None]:
        """Does a thread's part of the work; given are its number, and how many there are."""
        self._code = build.Code(build.object_of(_text(), 2))
        work = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self._code.address("work"))
        # Many threads take a while to wake.
        return lambda _, threads: work(STEPS * max(1, threads // 2))

    def _seconds(self, number: int) -> float:
        start = time.perf_counter()
        self._work(number, self.threads)
        return time.perf_counter() - start

    def _follow(self, number: int) -> None:
        while self._begin[number].acquire():
            self._others[number] = self._seconds(number + 1)
            self._done.release()

    def there(self) -> float:
        """How much all get done at once, in units of what one gets done alone."""
        before = self._seconds(0)
        for begin in self._begin:
            begin.release()
        times = [self._seconds(0)]
        for _ in self._begin:
            self._done.acquire()
        alone = statistics.mean((before, self._seconds(0)))
        return sum(alone / each for each in [*times, *self._others])


class Memory(Processors):
    """Threads that each read and write their part of two arrays."""

    def _made(self) -> Callable[[int, int], None]:
        self._code = build.Code(build.object_of(SAXPY, 2))
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        saxpy = kind(self._code.address("saxpy"))
        x, y = np.ones(FLOATS, np.float32), np.ones(FLOATS, np.float32)

        def work(number: int, threads: int) -> None:
            part = FLOATS // threads
            saxpy(*(each[number * part :].ctypes.data for each in (x, y)), part)

        return work


if __name__ == "__main__":
    both = Processors()
    print(" ".join(f"{both.there():.2f}" for _ in range(30)))
