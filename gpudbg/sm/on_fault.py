"""The policy for illegal accesses: the machine stops, or continues without the access (`on-fault`).

Hardware often drops a wild access, or lets it hit what lies there, and the program goes on with
whatever that does.  Going on here, the guilty lanes are left out, their loads give 0, and the
access is noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.sm.events import WarpFault

STOP, CONTINUE = "stop", "continue"
MOST_PLACES = 1000
"""Most distinct places of dropped accesses kept for one device."""
_MOST_MARKS = 1 << 20

Place = tuple[int, int, str | None, str | None]
"""(launch, pc, kind of access, space)."""


@dataclass(slots=True)
class DroppedAccess:
    """Accesses that one instruction of a launch was not allowed.

    Attributes:
        fault: the first of them.
        times: lanes that were left out, all together.
    """

    fault: WarpFault
    times: int = 0


class OnFault:
    """A device's policy for illegal accesses, and the accesses it dropped.

    Attributes:
        goes_on: they end no warp.
        total: lanes of accesses that were dropped.
    """

    def __init__(self) -> None:
        self.goes_on = False
        self.total = 0
        self._places: dict[Place, DroppedAccess] = {}
        self._seen: set[tuple[object, ...]] = set()

    @property
    def word(self) -> str:
        """The policy in the word used by options and settings."""
        return CONTINUE if self.goes_on else STOP

    def note(self, launch: int, executed: int, fault: Callable[[], WarpFault]) -> None:
        """Note an access, once: history carries instructions out again.

        Args:
            launch: its number.
            executed: instructions of the warp so far.
            fault: what would have ended the warp.
        """
        made = fault()
        mark = launch, executed, made.pc, made.sm, made.warp, made.block, made.lanes
        if mark in self._seen:
            return
        if len(self._seen) < _MOST_MARKS:
            self._seen.add(mark)
        self.total += len(made.lanes)
        place = launch, made.pc, made.access, made.space
        held = self._places.get(place)
        if held is None and len(self._places) < MOST_PLACES:
            held = self._places[place] = DroppedAccess(made)
        if held is not None:
            held.times += len(made.lanes)

    def of_launch(self, launch: int) -> list[DroppedAccess]:
        """Dropped accesses of a launch, in the order of their first occurrence."""
        return [held for place, held in self._places.items() if place[0] == launch]
