"""The first run of a launch whose session has no parts yet, noted for when it has them.

What sessions begin with is the same for all launches of a kind (`gpudbg.sm.repeated`): the first
one notes it (`EntryNotes`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from gpudbg.debug.history.move_log import edits_of, words_of
from gpudbg.debug.history.pace import QUICK, Pace
from gpudbg.sm.driver import SmDriver
from gpudbg.sm.moves import Move

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudbg.debug.focus.focus import Focus
    from gpudbg.debug.history.move_log import MoveLog
    from gpudbg.debug.history.replay import Replay
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.port import LoggedAccess
    from gpudbg.sm.trap.state import SmTrap

_PAUSE: Final = {True: Pace(QUICK).next_check(0), False: Pace().next_check(0)}
"""Whether a device is to run compiled code alone -> where a launch's first run pauses first."""


class EntryNotes:
    """What sessions have in common that stand at the entry of launches of one kind.

    Attributes:
        entry: the stop there.
        focus: of that stop.
        names: attributes of a session.
        accesses: of the driver to the port, up to the first run.
        traps: words of the SMs as it leaves them then.
        driven: the same as the log of moves has them.
    """

    __slots__ = ("accesses", "driven", "entry", "focus", "names", "traps")

    def __init__(self, entry: Stop, focus: Focus | None, names: frozenset[str]) -> None:
        self.entry, self.focus, self.names = entry, focus, names
        self.accesses: tuple[LoggedAccess, ...] = ()
        self.traps: tuple[SmTrap, ...] = ()
        self.driven: tuple[tuple[int, ...], ...] = ()

    def resume(self, grid: Grid) -> None:
        """Have the SMs of a grid at its entry as the driver leaves them when they run."""
        if self.accesses:
            for sm, trap in zip(grid.sms, self.traps, strict=True):
                sm.trap = trap.copy()
            return
        driver = SmDriver(grid)
        driver.resume()
        self.accesses = driver.port.accesses()
        self.traps = tuple(sm.trap.copy() for sm in grid.sms)
        self.driven = words_of(grid)


class FirstRun:
    """A run to the end; its grid's log (`gpudbg.sm.moves.MoveListener`) until there is another one.

    Attributes:
        notes: of launches of its kind.
        printed: pieces of output before the launch.
        edits: changes from outside (`edits_of`), before the run and at its end.
        begun: whether it has begun.
    """

    __slots__ = (
        "_event", "_grid", "_log", "_move", "_needed", "_options", "begun", "edits", "notes",
        "printed",
    )  # fmt: skip

    def __init__(self, grid: Grid, notes: EntryNotes, needed: Callable[[], object]) -> None:
        """Args:
        grid: at its entry.
        needed: has the session's parts made, which take the run over by `hand_over`.
        """
        self.notes = notes
        self._grid, self._needed = grid, needed
        self.printed, self.edits = grid.gpu.output.count, edits_of(grid)
        self.begun = False
        self._options: tuple[str | int, ...] = ()
        self._event: StopEvent | None = None
        self._log: MoveLog | None = None
        self._move: Move | None = None

    @property
    def entry(self) -> Stop:
        """The stop at the entry, one of this session's own."""
        return replace(self.notes.entry)

    def resume(self) -> None:
        """Have the grid as a driver leaves it that lets it run."""
        grid = self._grid
        self.notes.resume(grid)
        grid.traps.on_event = self._happened
        grid.flow.stop_on_entry = False
        grid.log = self

    def _happened(self, sm: int, text: str) -> None:
        """The hardware did something that the port's log tells."""
        self._needed()
        # Now the port's.
        self._grid.traps.on_event(sm, text)

    def hand_over(self, replay: Replay) -> None:
        """The session has its parts: its history takes the run over, as far as that has come."""
        replay.printed = self.printed
        log = self._log = replay.log
        replay.pace.begin(0)
        driven, options = self.notes.driven, self._options
        self._move = Move("run", (), False, driven, False, options, False, 0, 0)
        if self._event is not None:
            log.end(self._move, self._event)
            log.settle_at(self.edits)

    # ---- as a log ----------------------------------------------------------------------
    def begin(self, kind: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """See `MoveListener`; there is this move alone."""
        self.begun = True
        self._options = self._grid.traps.options.values
        return self

    def end(self, move: Any, event: StopEvent | None) -> None:
        """See `MoveListener`."""
        if self._log is None:
            self._event, self.edits = event, edits_of(self._grid)
            if event is None:
                # An exception, which is rare: noted at once.
                self._needed()
        if self._log is not None and self._move is not None:
            self._log.end(self._move, event)

    def next_pause(self) -> int | None:
        """See `MoveListener`."""
        if self._log is not None:
            return self._log.next_pause()
        gpu = self._grid.gpu
        return None if gpu.jobs > 1 else _PAUSE[gpu.engine == "run"]

    def paused(self) -> None:
        """See `MoveListener`: a long run's history takes checkpoints."""
        self._needed()
        assert self._log is not None
        self._log.paused()

    @property
    def is_one_run(self) -> bool:
        """See `MoveListener`."""
        return self._event is not None

    def begins_here(self) -> None:
        """See `MoveListener`: such a launch has no handler of its own."""
