"""The log of a launch's moves, and the words of its SMs that a driver's sequences change."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from gpudbg.sm import record as rec
from gpudbg.sm.events import StopEvent
from gpudbg.sm.grid import Grid
from gpudbg.sm.moves import Move
from gpudbg.sm.state import Cta, Sm, WarpState
from gpudbg.sm.trap.state import SmTrap

if TYPE_CHECKING:
    from gpudbg.debug.history.replay import Replay

ACTING: Final = (rec.READY, rec.TRAPPED, rec.FAULTED)
"""Statuses of warps that a multi-warp step moves."""
_WORDS: Final = tuple(
    """control frozen pause trapped warp_esr warp_esr_pc global_esr warp_report global_report
    exception_enable preemption reported""".split()
)
"""Words of an SM that a driver's sequences around a run change."""
_read: Final[Callable[[SmTrap], tuple[int, ...]]] = attrgetter(*_WORDS)
_trap: Final[Callable[[Sm], SmTrap]] = attrgetter("trap")


class MoveLog:
    """Moves of a grid in order.

    Attributes:
        moves: all of them.
        closed: the last move must not be extended.
    """

    def __init__(self, grid: Grid, replay: Replay) -> None:
        """Args: replay: notified before a move when something was changed since the last one;
        the log does not keep it."""
        self._grid = grid
        self.moves: list[Move] = []
        self._replay = ref(replay)
        self._pace = replay.pace
        self.closed = False
        self._edits = edits_of(grid)

    def settle(self, grid: Grid) -> None:
        """Count the present state as unchanged, and log the moves of this grid from now on."""
        self._grid = grid
        self._edits = edits_of(grid)

    def settle_at(self, edits: tuple[int, int]) -> None:
        """Count the state as unchanged that was there when these were the edits."""
        self._edits = edits

    @property
    def is_one_run(self) -> bool:
        """Whether the launch consists of a single run; see `gpudbg.sm.moves.MoveListener`."""
        first = self.moves[0] if len(self.moves) == 1 else None
        return first is not None and first.kind == "run" and not first.before

    def begins_here(self) -> None:
        """The launch begins as it is; see `gpudbg.sm.moves.MoveListener`."""
        replay = self._replay()
        if replay is not None:
            replay.handler = self._grid.gpu.handler
            self.settle(self._grid)

    def edited(self, grid: Grid) -> bool:
        """Whether something has been changed from outside since the last move."""
        return self._edits != edits_of(grid)

    def begin(self, kind: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Move:
        """A move begins; see `gpudbg.sm.moves.MoveListener`."""
        grid = self._grid
        if self._edits != edits_of(grid):
            replay = self._replay()
            if replay is not None:
                replay.note_edit()
            self.closed = True
        total = grid.total
        self._pace.begin(total)
        who = _who(args[0]) if args else ()
        through = bool(keywords.get("through", args[3:4] == (True,)))
        single = kind == "step_warp" and len(args) < 2 and "count" not in keywords
        driven = words_of(grid)
        entry, options = grid.flow.stop_on_entry, grid.traps.options.values
        goes_on = grid.gpu.on_fault.goes_on
        return Move(
            kind, who, through, driven, entry, options, goes_on, total, total, single=single
        )

    def next_pause(self) -> int | None:
        """Where a run is to pause; see `gpudbg.sm.moves.MoveListener`.

        On several host threads nowhere: such a run is not the same again, and one that is to end
        at an instruction has one thread.
        """
        if self._grid.gpu.jobs > 1:
            return None
        return self._pace.next_check(self._grid.total)

    def paused(self) -> None:
        """Called when a long run has paused: take a checkpoint."""
        self._pace.reached(self._grid.total)
        self._checkpoint_if_due()

    def _checkpoint_if_due(self) -> None:
        replay = self._replay()
        if replay is not None and self._pace.due(self._grid.gpu.memory.journal.seconds):
            replay.note_long_run()

    def end(self, move: Move, event: StopEvent | None) -> None:
        """Close the log entry of a move; see `gpudbg.sm.moves.MoveListener`."""
        grid = self._grid
        move.after = grid.total
        if event is not None:
            # A hang is found by analysis outside the machine: logged as a limit, which replay can
            # reproduce.
            move.stop_kind = "limit" if event.hang else event.kind
            move.event = event if move.by_itself else None
        self._edits = edits_of(grid)
        last = self.moves[-1] if self.moves else None
        if last is not None and not self.closed and _continues(last, move):
            last.after, last.left = move.after, None
        else:
            self.moves.append(move)
            replay = self._replay()
            if replay is not None:
                replay.note_move()
        self.closed = False
        if self._pace.end(move.after):
            # Many short runs add up to a long one: they need checkpoints, too.
            self._checkpoint_if_due()


def _continues(last: Move, move: Move) -> bool:
    """Whether a single step extends the previous log entry."""
    same = last.single and move.single and last.who == move.who and last.through == move.through
    alike = last.stop_kind == move.stop_kind == "step" and last.driven == move.driven
    return same and alike and _set_alike(last, move)


def _set_alike(last: Move, move: Move) -> bool:
    alike = last.stop_on_entry == move.stop_on_entry and last.options == move.options
    return alike and last.goes_on == move.goes_on


def _who(found: Any) -> tuple[int, ...]:
    if isinstance(found, WarpState | Cta):
        return found.sm, found.slot
    return (int(found),)


def edits_of(grid: Grid) -> tuple[int, int]:
    """How often something outside has changed the launch's state, and device memory."""
    return grid.launched.residency.edits.count, grid.gpu.memory.journal.writes


def words_of(grid: Grid) -> tuple[tuple[int, ...], ...]:
    """The words of the SMs that a driver's sequences change."""
    return tuple(map(_read, map(_trap, grid.sms)))


def set_driven(grid: Grid, words: tuple[tuple[int, ...], ...]) -> None:
    """Of saved SM words, restore those that only a driver changes: how the SMs are to run."""
    for sm, row in zip(grid.sms, words, strict=True):
        sm.trap.control, sm.trap.frozen, sm.trap.pause = row[0], bool(row[1]), row[2]


def set_words(grid: Grid, words: tuple[tuple[int, ...], ...]) -> None:
    """Set the words of the SMs."""
    for sm, row in zip(grid.sms, words, strict=True):
        for name, value in zip(_WORDS, row, strict=True):
            setattr(sm.trap, name, value)
