"""Numbers for resident warps: 1, 2, … in the order they appear, kept for a warp's life.

IDEs know threads; a warp is the thread they are shown (rocgdb does the same with waves).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from gpudbg.answers.words import dim
from gpudbg.dataclass import dataclass
from gpudbg.debug.focus.focus import Focus, first_lane
from gpudbg.debug.values.backtrace import Frame, frames
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.sm.state import WarpState

Key = tuple[tuple[int, int, int], int]
"""Block and warp number in it: unique in a launch."""


@dataclass(frozen=True, slots=True)
class WarpThread:
    """A resident warp as debuggers list a thread.

    `index` is its number in its block, `frame` the innermost one, `current` whether it is focused.
    """

    number: int
    title: str
    index: int
    sm: int
    status: str
    frame: Frame
    current: bool


class WarpIds:
    """The numbered warps of one launch that are resident and have not ended."""

    def __init__(self) -> None:
        self._ids: dict[Key, int] = {}
        self._lanes: dict[int, int] = {}
        self._next = 1

    def clear(self) -> list[int]:
        """Forget all warps and number from 1 again. Returns the numbers that were in use."""
        gone = self.known()
        self.__init__()  # type: ignore[misc]
        return gone

    def known(self) -> list[int]:
        """The numbers in use, ascending."""
        return sorted(self._ids.values())

    def sync(self, session: DebugSession) -> tuple[list[int], list[int]]:
        """Number new warps and drop ended ones: (new numbers, dropped numbers)."""
        present = {_key(w) for w in self._live(session)}
        gone = sorted(self._ids.pop(k) for k in list(self._ids) if k not in present)
        new = []
        for warp in self._live(session):
            if _key(warp) not in self._ids:
                self._ids[_key(warp)] = self._next
                new.append(self._next)
                self._next += 1
        return new, gone

    def _live(self, session: DebugSession) -> Iterator[WarpState]:
        if session.finished:
            return
        for warp in session.grid.warps():
            if warp.status != "exited":
                yield warp

    def title(self, number: int) -> str:
        """`target_id` of a warp by its number, without reading the machine."""
        block, index = next(k for k, n in self._ids.items() if n == number)
        return f"CUDA block {dim(block)} warp {index}"

    def number(self, warp: WarpState) -> int | None:
        """The number of a warp."""
        return self._ids.get(_key(warp))

    def key(self, number: int) -> Key:
        """Block and warp number in it of a known number."""
        return next(k for k, n in self._ids.items() if n == number)

    def focused(self, session: DebugSession) -> int | None:
        """The number of the focused warp."""
        if session.focus is None or session.finished:
            return None
        return self.number(session.warp().state)

    def warp(self, session: DebugSession, number: int) -> WarpState:
        """The warp of a number.

        Raises:
            CommandError: gdb's words for a thread that does not exist.
        """
        for warp in self._live(session):
            if self.number(warp) == number:
                return warp
        raise CommandError(f"Invalid thread id: {number}")

    def threads(self, session: DebugSession, numbers: Collection[int]) -> list[WarpThread]:
        """Rows for those of the given numbers whose warps are resident, in order."""
        found = ((self.number(w), w) for w in self._live(session))
        current = self.focused(session)
        rows = [
            WarpThread(
                number,
                target_id(w),
                w.index,
                w.sm,
                w.status,
                frames(session, w)[0],
                number == current,
            )
            for number, w in found
            if number is not None and number in numbers
        ]
        return sorted(rows, key=lambda row: row.number)

    def select(self, session: DebugSession, number: int) -> None:
        """Move the focus to a warp; the lane is the one it had there last, or the first active."""
        warp = self.warp(session, number)
        focus = session.focus
        if focus is not None:
            here = self.focused(session)
            if here == number:
                return
            if here is not None:
                self._lanes[here] = focus.lane
        lane = self._lanes.get(number, first_lane(warp.active or warp.valid & ~warp.exited))
        session.focus = Focus(warp.sm, warp.slot, lane)
        session.frame_level = 0


def _key(warp: WarpState) -> Key:
    return warp.cta.block, warp.index


def target_id(warp: WarpState) -> str:
    """`CUDA block (0,0,0) warp 0`"""
    return f"CUDA block {dim(warp.cta.block)} warp {warp.index}"
