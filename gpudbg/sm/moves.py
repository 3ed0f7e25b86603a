"""Moves of a launch: what a debugger had its grid do, so that it can be done again.

A move is one call that advances a grid.  A launch is deterministic, so moves, what was changed
between them, and a state to begin at give every state in between.  Who notes moves and carries them
out again is the debugger (`gpudbg.debug.history`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from gpudbg.dataclass import dataclass
from gpudbg.sm.events import StopEvent

if TYPE_CHECKING:
    from gpudbg.sm.state import WarpState

BY_ITSELF: Final = frozenset(("exited", "warp_error", "trap", "deadlock"))
"""Stop kinds of runs that end without anything from outside."""


class RecordedOrder(Protocol):
    """Something that carries out a grid's moves in place of its own methods, while it stands in its
    past.
    """

    def carry_out(self, kind: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> StopEvent:
        """A move by the order that was recorded: arguments as those of the method `kind`."""


class MoveListener(Protocol):
    """The interface to a log of a grid's moves."""

    def begin(self, kind: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Move:
        """A move begins: arguments as those of the method `kind`."""

    def end(self, move: Move, event: StopEvent | None) -> None:
        """A move has ended; `event` is None where an exception ended it."""

    def next_pause(self) -> int | None:
        """The total of instructions from which a run, which goes on now, is to pause at the end
        of a turn; None: never."""

    def paused(self) -> None:
        """A run has paused at that total."""

    @property
    def is_one_run(self) -> bool:
        """Whether the launch so far is a single run from its beginning to its end."""

    def begins_here(self) -> None:
        """The launch begins in the state it has now, its trap handler included."""


@dataclass(frozen=True, slots=True)
class CutStep:
    """Where a step of one warp was cut off while others had their turns or it was in the trap
    handler, to go on there.

    Attributes:
        acted: the warp has executed its instruction; otherwise it waits.
        others: whose turn is in progress, and those after it.
        left: instructions left of the first one's turn.
        spent: instructions of others before that.
        handling: it runs through the handler.
    """

    acted: bool
    others: tuple[WarpState, ...] = ()
    left: int = 0
    spent: int = 0
    handling: bool = False


@dataclass(slots=True)
class Move:
    """One call that advanced a grid.

    Attributes:
        kind: the method of `Grid`.
        who: (SM, warp slot) of the warp, (SM, CTA slot) of the CTA or (SM,); nothing for all.
        through: of a step: whether the trap handler ran through.
        driven: words of the SMs when it began, as the driver had set them.
        stop_on_entry: whether entering the trap handler ended it.
        options: values of `TrapOptions` while it went on, as these have them.
        goes_on: whether accesses that must not happen ended nobody (`gpudbg.sm.on_fault`).
        before, after: warp instructions of the launch when it began and ended.
        stop_kind: the kind of its stop; "" for an exception.
        single: each call was for one instruction; calls in a row are one move.
        left: words of the SMs when its user saw the stop, or None.
        event: its stop, where nothing outside ended it.
    """

    kind: str
    who: tuple[int, ...]
    through: bool
    driven: tuple[tuple[int, ...], ...]
    stop_on_entry: bool
    options: tuple[str | int, ...]
    goes_on: bool
    before: int
    after: int
    stop_kind: str = ""
    single: bool = False
    left: tuple[tuple[int, ...], ...] | None = None
    event: StopEvent | None = None

    @property
    def by_itself(self) -> bool:
        """Whether it ended where nothing outside ended it."""
        return self.stop_kind in BY_ITSELF

    @property
    def cut_short(self) -> bool:
        """Whether what is not counted ended it: there is a state before that.

        That is an instruction cut short, or where no warp can go on, what a driver did.
        """
        if self.stop_kind == "deadlock":
            return self.after == self.before
        counted = self.event is not None and self.event.counted
        return self.stop_kind in ("warp_error", "trap") and not counted

    def cut(self, at: int) -> Move:
        """Its beginning, up to a total of instructions."""
        return replace(self, after=at, stop_kind="limit", left=None, event=None)
