"""Inferior: the launch under debug, its last stop, and the user's focus.

What expressions, frames, views and stops ask of a session is here; nothing in it runs the
machine.  The name is gdb's for what is being debugged.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from gpudbg.debug.focus.focus import Focus
from gpudbg.debug.ownership import Ownership
from gpudbg.debug.script.scope import Scope
from gpudbg.debug.settings import Settings
from gpudbg.debug.sources import SourcePath
from gpudbg.debug.stops.stop import Stop
from gpudbg.debug.symbols import Symbols
from gpudbg.errors import CommandError
from gpudbg.expr import Result
from gpudbg.latest import Latest
from gpudbg.validation import whole

if TYPE_CHECKING:
    from gpudbg.device.subscription import Subscription
    from gpudbg.formats.program import CodeImage, Kernel, Program
    from gpudbg.sm.gpu import Grid
    from gpudbg.sm.state import WarpState

MOST_STOPS = 10_000
"""Most stops that a session keeps; older ones are dropped, numbers stay."""
MOST_VALUES = 10_000
"""Most values of `print` kept for `$1`, `$2`, …; older ones are dropped, numbers stay."""

AGAIN = "`run` launches it again; in Python `session.restart()`"
"""Hint where nothing is left to run."""


class Launchable(Protocol):
    """What a session needs of a launch: how to begin it, and begin it again."""

    @property
    def program(self) -> Program:
        """The file's content."""

    @property
    def image(self) -> CodeImage:
        """The program at its addresses."""

    @property
    def kernel(self) -> Kernel:
        """The launched kernel."""

    @property
    def arguments(self) -> Sequence[Any]:
        """Arguments as launched: name, value, buffer, output."""

    @property
    def loaded(self) -> Any:
        """The program as loaded on its device."""

    subscriptions: set[Subscription]
    """Observers that listen until the session ends."""

    @property
    def ready(self) -> bool:
        """Whether `begin` launches; otherwise its grid has no block."""

    def begin(self) -> Grid:
        """A new grid; the first call launches, later ones restore device memory first."""

    def begin_again(self, now: Grid) -> Grid:
        """A new grid in the state of the last `begin`, made beside the existing one; device memory
        is restored first.
        """

    def release(self) -> None:
        """Free what the launch made on its device; called when the session ends."""


_SYMBOLS: WeakKeyDictionary[Any, dict[str, Symbols]] = WeakKeyDictionary()
"""A program on its device -> kernel -> its names and lines, which its launches share."""


def symbols_of(launch: Launchable) -> Symbols:
    """Names and lines of a launch's program, seen from its kernel."""
    kept, kernel = _SYMBOLS.setdefault(launch.loaded, {}), launch.kernel
    found = kept.get(kernel.name)
    if found is None or found.image is not launch.image or found.kernel is not kernel:
        found = kept[kernel.name] = Symbols(launch.program, launch.image, kernel)
    return found


@lru_cache(64)
def _folder_of(path: str) -> str:
    return os.path.dirname(path) or "."


class Inferior:
    """A launch, and where its user stands: what questions about the stopped machine are asked of.

    Attributes:
        program, kernel: what was launched; `launch.arguments` are its arguments.
        grid: the launch on its machine.
        symbols: the program's names and lines.
        stop: why it stands; `stops` are all stops so far.
        focus: the warp and lane that questions are about.
        frame_level: the frame that names are looked up in; 0 is the innermost.
        skipped_inline: inlined calls at the pc that a line step has not entered.
        settings: those of the console's `set`.
        scope: convenience variables and user commands.
        written: memory that a user's assignments changed: (generic address, bytes).
        killed: the launch was abandoned.
        ownership: the thread that alone may ask the machine, while it runs one.
        running: calls that run the machine now, one below the other.
        list_state, examine_state: where `list` and `x` go on.
    """

    def __init__(self, launch: Launchable, scope: Scope) -> None:
        self.launch = launch
        self.program = program = launch.program
        self.kernel = launch.kernel
        self.symbols = symbols_of(launch)
        self.sources = SourcePath(_folder_of(program.path), program.sources)
        self.scope = scope
        self.settings = Settings()
        self.focus: Focus | None = None
        self.stop: Stop | None = None
        self.stops: Latest[Stop] = Latest(MOST_STOPS)
        self.value_history: Latest[Result] = Latest(MOST_VALUES)
        self.written: list[tuple[int, int]] = []
        self.arguments_changed = False
        self.skipped_inline = 0
        self.frame_level = 0
        self.killed = False
        self.ownership = Ownership()
        self.running = 0
        self.list_state: tuple[str, int, int] | None = None
        self.examine_state: tuple[str, int, int, str] | None = None
        self.grid: Grid = launch.begin()

    @property
    def variables(self) -> dict[str, Result]:
        """Convenience variables by name."""
        return self.scope.variables

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run."""
        return self.grid.finished or self.killed

    @property
    def launched(self) -> bool:
        """Whether a kernel has been launched; False while the program is only open."""
        return self.launch.ready

    @property
    def faulted(self) -> bool:
        """Whether the launch was ended by a warp error or a deadlock."""
        return bool(self.stop and self.stop.faulted)

    @property
    def closed(self) -> bool:
        """Whether `close` has ended it."""
        return False

    def require_open(self) -> None:
        """Raise UsageError after `close`."""

    def require_here(self) -> None:
        """Raise CommandError while the machine runs in another thread."""
        if self.ownership.thread:
            self.ownership.require()

    def require_stopped(self) -> None:
        """Raise CommandError unless this thread may ask the machine and a warp is in focus."""
        self.require_here()
        if self.finished or self.focus is None:
            self.require_launched()
            raise CommandError("the kernel is not running", AGAIN)

    def require_launched(self) -> None:
        """Raise CommandError while the program is open but not launched."""
        if not self.launched:
            raise CommandError("nothing has been launched yet", "`run` says what a launch needs")

    def focused(self) -> WarpState:
        """The warp that has the focus.

        Raises:
            CommandError: none has it, or the machine runs in another thread.
        """
        self.require_here()
        if self.focus is None:
            self.require_launched()
            raise CommandError("no warp has the focus", "`run` or `start` launches the kernel")
        return self.grid.warp(self.focus.sm, self.focus.warp)

    @property
    def lane(self) -> int:
        """The focused lane; 0 without a focus."""
        return self.focus.lane if self.focus is not None else 0

    @property
    def shows_code_addresses(self) -> bool:
        """Whether numbers are code addresses, not offsets in the kernel (`set addresses code`)."""
        return self.settings.shown("addresses") == "code"

    def shown_pc(self, pc: int) -> int:
        """A pc as expressions show it: an offset in the kernel; itself under `addresses code`.

        So is one in another section, which no offset from the kernel names.
        """
        plain = self.shows_code_addresses or not self.symbols.in_kernel(pc)
        return self.symbols.layout.first(pc) if plain else self.symbols.offset(pc)

    def location_text(self, location: str | int | None) -> str | None:
        """A location as the command line writes it; an integer is an offset in the kernel.

        Raises:
            UsageError: neither a text nor an integer of at least 0.
        """
        if location is None or isinstance(location, str):
            return location
        offset = whole(location, "location", 0)
        return f"*0x{self.symbols.pc(offset) if self.shows_code_addresses else offset:x}"

    def interrupt(self) -> None:
        """Stop a running machine soon; safe from any thread and from a signal handler."""
        self.grid.interrupt()

    def forget_interrupt(self) -> None:
        """Drop an interrupt that came when nothing ran, so that it does not stop the next run."""
        self.grid.forget_interrupt()

    def record_failure(self) -> str:
        """Record a failed launch where `record-on-fault` asks for it. Returns a line for the stop,
        or "".
        """
        return ""

    def note_write(self, space: str, address: int, size: int) -> None:
        """Record the generic address of memory that a user's assignment changed."""
        layout = self.grid.gpu.layout
        windows = {"shared": layout.shared_window, "local": layout.local_window}
        if space in (*windows, "global", "generic"):
            row = (address + windows.get(space, 0), size)
            if row not in self.written and len(self.written) < 256:
                self.written.append(row)
