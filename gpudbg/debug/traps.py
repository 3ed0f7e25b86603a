"""A session's side of traps: the SM driven through its debugger port, and the trap handler.

Every run, step and stop of a session is a driver's sequence on the emulated port
(`gpudbg.sm.driver`), so that `info sm port` shows what a real debugger would have done.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudbg.architectures import is_wide
from gpudbg.debug.attached import Attached
from gpudbg.debug.symbols import Symbols
from gpudbg.errors import CommandError, LoadError, UsageError
from gpudbg.formats.launch import Launch as Table
from gpudbg.formats.program import Program
from gpudbg.sm.driver import SmDriver
from gpudbg.sm.state_edits import set_handler
from gpudbg.sm.trap.handler import BANK, Handler, choose
from gpudbg.textlines import opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpudbg.debug.inferior import Inferior
    from gpudbg.formats.launch import Launch
    from gpudbg.sm.port import DebugPort, LoggedAccess
    from gpudbg.sm.state import WarpState

MAX_SOURCE_BYTES = 1 << 24


class SessionTraps(Attached["Inferior"]):
    """The driver of a session's present grid.

    Attributes:
        driver: sequences on the port.
    """

    def __init__(self, inferior: Inferior, before: Sequence[LoggedAccess] = ()) -> None:
        """Args: before: what was done on the port already, as `SmDriver` takes it."""
        super().__init__(inferior)
        self._stepped: WarpState | None = None
        self.driver = SmDriver(inferior.grid, before)
        self.attach()

    @property
    def port(self) -> DebugPort:
        """The emulated debugger port."""
        return self.driver.port

    def attach(self) -> None:
        """A new grid, or a new handler on the present one."""
        grid = self._inferior.grid
        if self.driver.port.grid is not grid:
            held = self.driver.hold_step
            self.driver = SmDriver(grid)
            self.driver.hold_step = held
        if grid.code is not self._inferior.symbols.image:
            self._inferior.symbols = Symbols(grid.code.program, grid.code, self._inferior.kernel)

    # ---- around a run ------------------------------------------------------------------

    def running(self, stop_on_entry: bool | None = None) -> None:
        """The machine is about to run freely."""
        inferior = self._inferior
        if stop_on_entry is None:
            stop_on_entry = inferior.settings.shown("trap-entry") == "stop"
        inferior.grid.flow.stop_on_entry = stop_on_entry
        self._stepped = None
        self.driver.resume()

    def stepping(self, warp: WarpState) -> bool:
        """A warp is about to execute an instruction; whether the handler then runs through."""
        inferior = self._inferior
        inferior.grid.flow.stop_on_entry = inferior.settings.shown("trap-entry") == "stop"
        self._stepped = warp
        if warp.in_trap:
            self.port.event(warp.sm, f"warp {warp.slot}: a step inside the trap handler")
        else:
            self.driver.resume_step(warp)
        return inferior.settings.shown("step-handler") == "through"

    def stopped(self) -> None:
        """The machine has stopped."""
        if self._stepped is not None:
            self.driver.stepped(self._stepped)
        else:
            self.driver.stopped()

    # ---- the handler -------------------------------------------------------------------

    def install_from(self, table: Launch) -> None:
        """The handler that a launch table names, if any; errors as `install`."""
        if table.trap.handler is not None:
            first = self._inferior.grid.traps.handler is None
            self.install(table.trap.handler, table.trap.entry, table.trap.argument)
            log = self._inferior.grid.log
            if first and log is not None:
                # A grid that begins with it has the same state: that was not changed.
                log.begins_here()

    def install(
        self,
        source: str | Path | Program | Sequence[int],
        entry: str | None = None,
        argument: int = 0,
    ) -> Handler:
        """Install a trap handler; it serves this launch from now on, and later ones.

        Args:
            source: a path (.sass, cubin, raw words), a program, or instruction words.
            entry: its function, where the file has several.
            argument: a number it finds at c[0x11][0x20].

        Raises:
            LoadError, AssembleError: the file is no handler.
            UsageError: no such function, or code for another architecture.
            CommandError: a warp is inside the present handler.
        """
        inferior = self._inferior
        gpu = inferior.grid.gpu
        if any(w.in_trap for w in inferior.grid.warps()):
            raise CommandError("a warp is inside the trap handler", "let it return first")
        found = choose(read_handler(source, gpu.arch), entry, gpu.arch)
        handler = Handler(found.program, found.name, argument)
        set_handler(inferior.grid, handler)
        gpu.handler = handler
        self.attach()
        return handler

    def set_argument(self, number: int) -> None:
        """c[0x11][0x20], in this launch and later ones.

        Raises:
            CommandError: there is no handler.
        """
        gpu, placed = self._inferior.grid.gpu, self._inferior.grid.traps.handler
        if gpu.handler is None or placed is None:
            raise CommandError("there is no trap handler", "trap handler FILE installs one")
        gpu.handler = replace(gpu.handler, argument=number)
        self._inferior.grid.note_edit()
        placed.banks[BANK].words[8] = number

    def remove(self) -> None:
        """Take the handler away; traps stop the debugger again."""
        inferior = self._inferior
        if any(w.in_trap for w in inferior.grid.warps()):
            raise CommandError("a warp is inside the trap handler", "let it return first")
        set_handler(inferior.grid, None)
        inferior.grid.gpu.handler = None


def read_handler(source: Any, arch: str) -> Program:
    """A handler's program from whatever holds it; errors as `SessionTraps.install`."""
    if isinstance(source, Program):
        return source
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix == ".sass":
            return _assembled(path, arch)
        from gpudbg.formats.files import read_program

        return read_program(path, launch=Table(kernel="trap_handler"), arch=arch)
    return _words([int(word) for word in source], arch)


def _assembled(path: Path, arch: str) -> Program:
    from gpudbg.assembler import assemble_file
    from gpudbg.formats.cubin import read_cubin

    try:
        with opened(path) as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror}", path=str(path)) from None
    if len(data) > MAX_SOURCE_BYTES:
        raise LoadError(f"{len(data)} bytes are too many for a SASS file", path=str(path))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise LoadError("is no UTF-8 text", path=str(path), offset=error.start) from None
    program = assemble_file(text, str(path), arch)
    if not any(function.is_kernel for function in program.functions):
        # A cubin without an entry point is no program to the reader; a handler needs none.
        first = replace(program.functions[0], is_kernel=True)
        program = replace(program, functions=(first, *program.functions[1:]))
    return read_cubin(program.cubin(), str(path))


def _words(words: list[int], arch: str) -> Program:
    """Bare instruction words: those of 64 bits in bundles with neutral control words."""
    import struct

    from gpudbg.formats.raw import read_raw
    from gpudbg.isa.spa5.decode import NOP_WORD
    from gpudbg.isa.spa5.sched import NEUTRAL_GROUP, pack

    bits = 128 if is_wide(arch) else 64
    if not words or not all(0 <= word < 1 << bits for word in words):
        raise UsageError(f"a handler is one or more {bits}-bit instruction words")
    if is_wide(arch):
        data = b"".join(word.to_bytes(16, "little") for word in words)
        return read_raw(data, "trap_handler", Table(kernel="trap_handler"), arch)
    padded = words + [NOP_WORD] * (-len(words) % 3)
    control = pack(NEUTRAL_GROUP, NEUTRAL_GROUP, NEUTRAL_GROUP)
    data = b"".join(
        struct.pack("<4Q", control, *padded[n : n + 3]) for n in range(0, len(padded), 3)
    )
    return read_raw(data, "trap_handler", Table(kernel="trap_handler"), arch)
