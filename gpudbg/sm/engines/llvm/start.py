"""When a launch gets the run engine: at once, or after it has proved to be long.

`engine="auto"` steps while code is cold.  A launch that goes on has its code compiled in the
background, quickly first, then well; the step engine goes on until the first version is there.
Nothing here imports the compiler before it is needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from gpudbg.sm.engines.llvm import CompileError, available

if TYPE_CHECKING:
    from gpudbg.sm.engines.llvm.run import RunEngine
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState

COLD = 3000
"""Instructions of a launch that the step engine takes before anything is compiled."""

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
            mode: "run" compiles at the first run, "auto" in the background when hot.
            compiled: entries of the program whose code is there.
        """
        self._grid, self._entry, self._compiled = grid, entry, compiled
        self._eager = mode == "run"
        self._worker: threading.Thread | None = None
        self.engine: RunEngine | None = None
        self.trouble = "" if available() else MISSING
        if self._eager and entry in compiled:
            self._compile()
            if self.engine is not None:
                self.engine.prepare_ahead()

    def renew(self) -> None:
        """The code has changed before anything ran."""
        self.engine = None

    def advance(
        self,
        before: int,
        stops: Collection[int] | None,
        accept: Callable[[WarpState], bool] | None,
        last: int | None,
    ) -> StopEvent | None:
        """`RunEngine.advance`, or nothing while there is no compiled code."""
        engine = self.engine or self._start()
        if engine is None:
            return None
        try:
            return engine.advance(before, stops, accept, last)
        except CompileError as error:
            # What ran so far is in the records: the step engine goes on from there.
            self.engine, self.trouble = None, f"the compiler failed: {error}"
            return None

    def ask_to_stop(self) -> None:
        """Have compiled code return to Python soon; safe from any thread."""
        if self.engine is not None:
            self.engine.ask_to_stop()

    def _start(self) -> RunEngine | None:
        if self.trouble or (not self._eager and self._grid.total < COLD):
            return None
        if self._eager:
            self._compile()
        elif self._worker is None:
            # Not a daemon: code generation must not run into the end of the process.
            self._worker = threading.Thread(target=self._compile, name="gpudbg-compile")
            self._worker.start()
        return self.engine

    def _made(self) -> RunEngine:
        from gpudbg.sm.engines.llvm.run import RunEngine

        return RunEngine(self._grid, self._entry, good=self._eager)

    def _compile(self) -> None:
        """Make the engine; in the background quick code comes first, then good code."""
        try:
            engine = self._made()
            engine.program.version(True)
            self.engine = engine
            engine.program.improve()
            self._compiled.add(self._entry)
        except (ImportError, OSError, CompileError) as error:
            self.trouble = f"the compiler failed: {error}"
        except RuntimeError:
            # The process is ending, which starts no more threads: nobody needs the code.
            if threading.main_thread().is_alive():
                raise
