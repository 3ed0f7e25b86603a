"""Host threads that run compiled code, and the ticker that brings them back to Python.

Compiled code is called through ctypes, which lets other threads of Python run meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache

from gpudbg.sm.engines.llvm import loop
from gpudbg.sm.engines.llvm.worker import Worker

TICK_SECONDS = 0.05
"""How long compiled code runs at most before Python looks for interrupts and tells of progress."""


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    """Threads for a number of calls beside the caller's; kept for the process."""
    return ThreadPoolExecutor(count, "gpudbg-run")


def call_all(workers: Sequence[Worker], function: Callable[[int], int], limit: int) -> None:
    """Run every worker for up to `limit` instructions; what needs Python in one stops all."""
    if len(workers) == 1:
        workers[0].call(function, limit)
        return

    def one(worker: Worker) -> None:
        worker.call(function, limit)
        if worker.why not in (loop.LIMIT, loop.IDLE):
            for other in workers:
                other.ask_to_stop()

    calls: list[Future[None]] = []
    try:
        pool = _pool(len(workers) - 1)
        calls += [pool.submit(one, worker) for worker in workers[1:]]
        one(workers[0])
    except BaseException:
        for worker in workers:
            worker.ask_to_stop()
        raise
    finally:
        # Nothing may run on while Python looks at the state.
        wait(calls)


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
        """End it."""
        self._over.set()
