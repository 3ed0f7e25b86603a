"""When a launch gets the run engine: at once, or after it has proved to be long.

`engine="auto"` steps while code is cold.  A launch that goes on waits for quick code, and has
better code compiled in the background while that runs.  Nothing here imports the compiler before
it is needed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from gpudbg.sm.conditions import Conditions
from gpudbg.sm.engines.llvm import CompileError, available, compiling

if TYPE_CHECKING:
    from gpudbg.sm.engines.llvm.run import RunEngine
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState

COLD = 3000
"""Instructions of a launch that the step engine takes before anything is compiled."""
PATIENCE = 3.0
"""Seconds to wait for quick code before the step engine goes on: the two cannot run at once, since
both are Python, and code of a usual kernel takes less than a tenth of that."""
LOOK = 0.02
"""Seconds between two looks for an interrupt meanwhile."""

MISSING = "llvmlite is not installed: everything runs on the step engine"


class FastEngine:
    """A launch's way to compiled code.

    Attributes:
        engine: the run engine, once there is one.
        trouble: why there is none, or "".
    """

    def __init__(self, grid: Grid, entry: int, mode: str, compiled: set[int]) -> None:
        """A way to compiled code, that has it already where an earlier launch was given it.

        Args:
            mode: "run" compiles well at the first run, "auto" quickly when it is hot.
            compiled: entries of the program whose code is there.
        """
        self._grid, self._entry, self._compiled = grid, entry, compiled
        self._eager = mode == "run"
        self._worker: threading.Thread | None = None
        self._decided = threading.Event()
        self._disposed = False
        self.engine: RunEngine | None = None
        self.trouble = "" if available() else MISSING
        if entry in compiled:
            self._compile()
            if self.engine is not None:
                self.engine.prepare_ahead()

    def dispose(self) -> None:
        """Nobody runs the launch any more."""
        self._disposed = True
        if self._worker is None or not self._worker.is_alive():
            self._drop()

    def _drop(self) -> None:
        engine, self.engine = self.engine, None
        if engine is not None:
            engine.dispose()

    def renew(self) -> None:
        """The code has changed before anything ran."""
        self.engine = None

    def advance(
        self,
        before: int,
        stops: Collection[int] | None,
        accept: Callable[[WarpState], bool] | None,
        last: int | None,
        soon: int | None = None,
        conditions: Conditions | None = None,
    ) -> StopEvent | None:
        """`RunEngine.advance`, or nothing while there is no compiled code."""
        engine = self.engine or self._start()
        if engine is None:
            return None
        # Compiled code does not mark what it stores.
        self._grid.engine.written = None
        try:
            return engine.advance(before, stops, accept, last, soon, conditions)
        except CompileError as error:
            # What ran so far is in the records: the step engine goes on from there.
            self.engine, self.trouble = None, f"the compiler failed: {error}"
            return None

    def ask_to_stop(self) -> None:
        """Have compiled code return to Python soon; safe from any thread."""
        if self.engine is not None:
            self.engine.ask_to_stop()

    def _start(self) -> RunEngine | None:
        if self.trouble:
            return None
        if self._eager or self._entry in self._compiled:
            self._compile()
        elif self._worker is None and self._grid.total >= COLD:
            self._worker = compiling(self._compile)
            self._wait()
        return self.engine

    def _wait(self) -> None:
        """Until there is quick code, or trouble, or an interrupt, or no more patience."""
        end = time.monotonic() + PATIENCE
        while not self._decided.wait(LOOK):
            self._grid.tick()
            if self._grid._interrupt.is_set() or time.monotonic() > end:
                return

    def _made(self) -> RunEngine:
        from gpudbg.sm.engines.llvm.run import RunEngine

        return RunEngine(self._grid, self._entry, good=self._eager)

    def _compile(self) -> None:
        """Make the engine; in the background quick code comes first, then good code."""
        try:
            engine = self._made()
            engine.program.version(True)
            self.engine = engine
            self._decided.set()
            engine.program.improve()
            self._compiled.add(self._entry)
        except (ImportError, OSError, CompileError) as error:
            self.trouble = f"the compiler failed: {error}"
        except RuntimeError:
            # The process is ending, which starts no more threads: nobody needs the code.
            if threading.main_thread().is_alive():
                raise
        finally:
            self._decided.set()
            if self._disposed:
                self._drop()
