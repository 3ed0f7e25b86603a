"""When a launch gets the run engine: at once, or after it has proved to be long.

`engine="auto"` steps while code is cold.  For a launch that goes on quick code is compiled beside
it, in a copy of the process where there is a processor for one, so that no launch takes longer than
by the step engine alone; else it waits for the code.  Once quick code has run for long, better code
is compiled in the background (`CompiledProgram.has_run`).
Nothing here imports the compiler before it is needed.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudbg.sm.engines.contract import (
    EngineReport,
    ExitReason,
    Pause,
    Request,
)
from gpudbg.sm.engines.llvm import RefusedModuleError, available, compiling
from gpudbg.sm.launched import Launched
from gpudbg.sm.state import WarpState

if TYPE_CHECKING:
    from gpudbg.sm.engines.llvm.run import RunEngine

COLD = 3000
"""Instructions of a kernel that the step engine takes before a launch waits for its code."""
COLD_EACH = 16
"""Additional such instructions for each instruction of code: stepping these takes half as long as
compiling the code quickly, so that shorter launches gain nothing by it.
"""
COLD_BESIDE = 20_000
"""Instructions before a copy of the process is made: some 0.2 seconds.  The copy costs the launch 5
to 30 ms, most of them for pages that the host has to keep apart, and a launch that ends before its
code is there shall not have lost more than a tenth."""
PATIENCE = 3.0
"""Seconds to wait for code made in a thread of this process before stepping on. Both are Python:
what takes 30 ms alone took over 400 ms beside stepping (measured); usual kernels take less than a
tenth of this.
"""
POLL = 0.02
"""Seconds between two checks for an interrupt while waiting."""

MISSING = "llvmlite is not installed: everything runs on the step engine"


class FastEngine:
    """The engine of `auto` and `run`: decides when a launch gets compiled code, and runs it.

    Attributes:
        engine: the run engine, once there is one.
        trouble: why there is none, or "".
    """

    def __init__(
        self, launched: Launched, entry: int, mode: str, compiled: set[int], stepped: Counter[int]
    ) -> None:
        """A way to compiled code, that has it already where an earlier launch was given it.

        Args:
            mode: "run" compiles well at the first run, "auto" quickly when it is hot.
            compiled: entries of the program whose code is there.
            stepped: entry -> instructions that launches without compiled code have taken.
        """
        self._launched, self._entry, self._compiled = launched, entry, compiled
        self._stepped, self._noted = stepped, 0
        self._end = 0.0
        self._eager = mode == "run"
        self._worker: threading.Thread | None = None
        self._decided = threading.Event()
        self._beside: Iterator[None] | None = None
        self._planned = self._waits = False
        self._cold = COLD
        self._disposed = False
        self.engine: RunEngine | None = None
        self.trouble = "" if available() else MISSING
        if entry in compiled:
            self._take_over()
            if self.engine is not None:
                self.engine.prepare_ahead()

    def again(self) -> FastEngine:
        """A new engine for the same launch after its state was replaced from outside."""
        mode = "run" if self._eager else "auto"
        return FastEngine(self._launched, self._entry, mode, self._compiled, self._stepped)

    def dispose(self) -> None:
        """Drop the engine, once nothing compiles for it."""
        self._disposed = True
        if self._worker is None or not self._worker.is_alive():
            self._drop()

    def _drop(self) -> None:
        self._beside = None
        engine, self.engine = self.engine, None
        if engine is not None:
            engine.dispose()

    def renew(self) -> None:
        """Drop the engine, since the code has changed before anything ran."""
        self.engine = None

    def ready(self) -> bool:
        """Whether there is compiled code, which is made now where that was asked for."""
        if self.engine is None and not self.trouble:
            if self._eager:
                self._compile()
        return self.engine is not None

    def compiling(self) -> bool:
        """Whether quick code is worth waiting for; waits for a moment.

        Begins to compile where the launch has proved to be long.
        """
        if self.engine is not None or self.trouble or self._eager:
            return False
        if self._beside is not None:
            next(self._beside, None)
            return False
        if self._worker is None and not self._begins():
            return False
        return time.monotonic() < self._end and not self._decided.wait(POLL)

    def waits(self) -> str:
        if self._beside is not None:
            return "stepped while its code is made beside it"
        if self._worker is not None:
            return "its code is being made"
        return "nothing is compiled yet: a launch is stepped until it proves long"

    def _begins(self) -> bool:
        """Begin to compile where that pays; whether the launch waits for the code."""
        spent = self._spent()
        if spent < self._cold:
            return False
        if not self._planned:
            self._planned = True
            self._plan()
            if spent < self._cold:
                return False
        if not self._waits:
            self._beside = self._made_beside()
            next(self._beside, None)
            return False
        self._worker = compiling(self._compile)
        self._end = time.monotonic() + PATIENCE
        return True

    def _made_beside(self) -> Iterator[None]:
        """Make the engine and its code, in a copy of this process; yields while that compiles."""
        from gpudbg.sm.engines.llvm.launched_program import program_for
        from gpudbg.sm.engines.llvm.program import QUICK

        try:
            program = program_for(self._launched, self._entry, {self._entry})
            program.compile_beside(False, QUICK)
            while not program.collect():
                yield
            engine = self._made()
            # What the copy did not make is loaded from disk, or made now.
            engine.program.version(True, QUICK)
            self.engine = engine
            self._compiled.add(self._entry)
        except (ImportError, OSError, RefusedModuleError) as error:
            self.trouble = f"the compiler failed: {error}"

    def _spent(self) -> int:
        """Instructions that the kernel has taken without code."""
        entry, total = self._entry, self._launched.total
        self._stepped[entry] += total - self._noted
        self._noted = total
        # Code for another kind of launch says nothing about the length of this one.
        return total if entry in self._compiled else self._stepped[entry]

    def _plan(self) -> None:
        """Decide whether the launch waits for its code, which it does where that is on disk or a
        copy of the process cannot make it, and from how many instructions on compiling pays.
        """
        from gpudbg.sm.engines.llvm import compile_process

        self._waits = not compile_process.usable() or self._is_kept()
        place = self._launched.code.placement_at(self._entry)
        if place is not None:
            size = place.size // self._launched.config.layout.word_bytes
            self._cold = max(COLD, int(COLD_EACH * size))
        if not self._waits:
            self._cold = max(COLD_BESIDE, self._cold)

    def _is_kept(self) -> bool:
        """Whether good code for this kind of launch was made once, and may be on disk."""
        from gpudbg.sm.engines.llvm import build, cache
        from gpudbg.sm.engines.llvm.program import kernel_note

        if not cache.is_noted(kernel_note(self._launched.code, self._entry)):
            # Asked first: it needs no compiler.
            return False
        from gpudbg.sm.engines.llvm.launched_program import program_for

        identity = program_for(self._launched, self._entry, {self._entry}).identity
        return identity is not None and build.is_noted(identity)

    def _take_over(self) -> None:
        """Have the engine at once where an earlier launch of this kind left code."""
        if self._eager:
            self._compile()
            return
        engine = self._made()
        if engine.program.full is not None:
            self.engine = engine
        else:
            engine.dispose()

    def advance(self, request: Request) -> ExitReason:
        """`RunEngine.advance`, or nothing while there is no compiled code."""
        if self.engine is None:
            return Pause.HAND_OVER
        try:
            return self.engine.advance(request)
        except RefusedModuleError as error:
            # The state is in the records: the step engine continues from there.
            self.engine, self.trouble = None, f"the compiler failed: {error}"
            return Pause.HAND_OVER

    def suspend(self) -> list[WarpState]:
        """`RunEngine.suspend`."""
        return [] if self.engine is None else self.engine.suspend()

    def report(self) -> EngineReport | None:
        """How compiled code has run the launch."""
        return None if self.engine is None else self.engine.report()

    def ask_to_stop(self) -> None:
        """Have compiled code return to Python soon; safe from any thread."""
        if self.engine is not None:
            self.engine.ask_to_stop()

    def _made(self) -> RunEngine:
        from gpudbg.sm.engines.llvm.run import RunEngine

        return RunEngine(self._launched, self._entry, good=self._eager)

    def _compile(self) -> None:
        """Make the engine, with the code that its first run needs."""
        try:
            from gpudbg.sm.engines.llvm.program import GOOD, QUICK

            engine = self._made()
            engine.program.version(True, GOOD if self._eager else QUICK)
            if self._eager:
                # A launch on another engine may have left only quick code.
                engine.program.improve()
            self.engine = engine
            self._compiled.add(self._entry)
        except (ImportError, OSError, RefusedModuleError) as error:
            self.trouble = f"the compiler failed: {error}"
        except RuntimeError:
            # A process that is ending starts no more threads, and needs no code.
            if threading.main_thread().is_alive():
                raise
        finally:
            self._decided.set()
            if self._disposed:
                self._drop()
