"""Host threads that run compiled code, and the ticker that brings them back to Python.

Compiled code is called through ctypes, which lets other threads of Python run meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache

from gpudbg.mem.pages import address_of, zeroed
from gpudbg.sm.engines.llvm import build, crash, for_ever
from gpudbg.sm.engines.llvm.runtime import work_stealing as stealing
from gpudbg.sm.engines.llvm.worker import Worker
from gpudbg.sm.residency import arena

TICK_SECONDS = 0.05
"""How long compiled code runs at most before Python looks for interrupts and tells of progress."""


_WORD = (1).to_bytes(8, sys.byteorder)
_COUNT, _MOVED = stealing.COUNT // 8, stealing.MOVED // 8
_ENVIRONMENT, _WHY = stealing.ENVIRONMENT // 8, stealing.WHY // 8
_CALL, _MOST_SPINS = stealing.CALL // 8, stealing.MOST_SPINS // 8
Function = Callable[[int], None]


@cache
def _functions() -> tuple[Function, Function, build.Library]:
    """(leader function, follower function, library); the library must stay loaded."""
    library = build.library()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    return kind(library.address(stealing.LEAD)), kind(library.address(stealing.FOLLOW)), library


def _address(name: str) -> int:
    """The address of a function of the C library."""
    return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0


def _signal() -> tuple[int, int]:
    """File descriptors by which a thread that reads words sleeps until another one writes some.

    Linux puts a thread that a pipe wakes on the processor of who wrote, where it has to wait.
    """
    if hasattr(os, "eventfd"):
        both = os.eventfd(0)
        return both, both
    return os.pipe()


def _run_beside(follow: Function, box: int) -> None:
    """What a follower's thread does, until the process ends."""
    crash.own_signal_stack()
    follow(box)


class ThreadPool:
    """Threads that run compiled code beside the caller's (`work_stealing`), asleep between runs.

    Attributes:
        most: how many there can be.
        moved: in the last run some CTAs went from one worker to another.
    """

    def __init__(self, most: int) -> None:
        """Args: most: followers at most; each is started when it first has work."""
        # Followers read it even after the pool is gone.
        memory = for_ever(
            zeroed(stealing.HEAD_BYTES + (1 + most) * stealing.BOX_BYTES + arena.LINE)
        )
        self.most = most
        self.moved = False
        self._at = address_of(memory)
        self._words = words = memory.data.cast("q")
        # Keep the library: its code must stay loaded.
        self._lead, self._follow, self._library = _functions()
        # The leader's box comes first.
        self._boxes = [stealing.HEAD_BYTES // 8]
        for place, name in (
            (stealing.READ, "read"),
            (stealing.WRITE, "write"),
            (stealing.YIELD, "sched_yield"),
        ):
            words[place // 8] = _address(name)
        words[stealing.DONE_PIPE // 8], words[stealing.END // 8] = _signal()

    def _grow(self, followers: int) -> None:
        """Start threads up to a number of followers."""
        words = self._words
        for n in range(len(self._boxes), followers + 1):
            at = stealing.HEAD_BYTES + n * stealing.BOX_BYTES
            box = at // 8
            words[box + stealing.POOL // 8] = self._at
            words[box + _MOST_SPINS] = stealing.SPINS
            words[box + stealing.CALLS // 8], words[box + _CALL] = _signal()
            self._boxes.append(box)
            threading.Thread(
                target=_run_beside,
                args=(self._follow, self._at + at),
                name="gpudbg-run",
                daemon=True,
            ).start()

    def wake(self, followers: int, spins: int = stealing.SPINS) -> None:
        """Wake followers, which then spin until there is work.

        Args:
            spins: before they sleep again.
        """
        self._grow(followers)
        words = self._words
        for box in self._boxes[1 : followers + 1]:
            words[box + _MOST_SPINS] = spins
            if words[box] == stealing.ASLEEP:
                words[box] = stealing.CALLED
                os.write(words[box + _CALL], _WORD)

    def run(self, workers: Sequence[Worker]) -> None:
        """Run workers, the first one in this thread; what needs Python in one stops all."""
        words, count = self._words, len(workers)
        self._grow(count - 1)
        words[_COUNT], words[_MOVED] = count, 0
        for box, worker in zip(self._boxes, workers, strict=False):
            words[box + _ENVIRONMENT] = worker.address
        self._lead(self._at)
        for box, worker in zip(self._boxes, workers, strict=False):
            worker.why = words[box + _WHY]
        self.moved = bool(words[_MOVED])

    def rest(self) -> None:
        """Let the followers sleep."""
        for box in self._boxes[1:]:
            self._words[box] = stealing.ASLEEP


_idle: dict[int, list[ThreadPool]] = {}
"""Pools without a run, by their size."""

if hasattr(os, "register_at_fork"):
    # A forked child has none of the threads.
    os.register_at_fork(after_in_child=_idle.clear)


def wake_early(most: int, followers: int) -> None:
    """Wake followers of the pool that the next run will acquire."""
    there = acquire_pool(most)
    there.wake(followers, stealing.SPINS_EARLY)
    _idle[most].append(there)


def acquire_pool(most: int) -> ThreadPool:
    """A pool for one run; to be given back by `release_pool`."""
    there = _idle.setdefault(most, [])
    return there.pop() if there else ThreadPool(most)


def release_pool(rested: ThreadPool) -> None:
    """Give a pool back; its followers sleep from now on."""
    rested.rest()
    _idle[rested.most].append(rested)


def _nothing() -> None:
    """Placeholder request of a ticker whose run is over."""


class Ticker:
    """While it runs, asks compiled code every `TICK_SECONDS` to return to Python.

    Python handles signals only between its own instructions: without this a Ctrl-C would wait
    for compiled code to end.
    """

    def __init__(self, ask_to_stop: Callable[[], None]) -> None:
        self._ask_to_stop = ask_to_stop
        self._over = threading.Event()
        threading.Thread(target=self._tick, name="gpudbg-tick", daemon=True).start()

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            self._ask_to_stop()

    def stop(self) -> None:
        """End it; its thread, which may take a moment, no longer keeps the run."""
        self._over.set()
        self._ask_to_stop = _nothing
