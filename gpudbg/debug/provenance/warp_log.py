"""Log of what one warp executed, extended backwards on demand, to find the last writer of a
register.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from gpudbg.debug.provenance.access_observers import WarpRecorder
from gpudbg.debug.provenance.places import WarpKey, find_warp
from gpudbg.debug.provenance.search import run_to

if TYPE_CHECKING:
    from gpudbg.debug.history.history import LaunchHistory

FIRST: Final = 8192
"""Warp instructions of the launch that are looked at first; each further stretch is longer."""
GROWTH: Final = 8
Rows = npt.NDArray[np.int64]


class WarpLog:
    """The instructions of one warp before a tick.

    Attributes:
        high: the tick.
    """

    def __init__(self, history: LaunchHistory, key: WarpKey, high: int) -> None:
        self._history, self._key = history, key
        self.high, self._low = high, history.replay.latest(high)
        self._size = FIRST
        self._stretches: list[tuple[Rows, Rows]] = []
        self._whole = False

    def last(
        self, pcs: frozenset[int], lane: int | None, before: int
    ) -> tuple[int, int, int] | None:
        """(Tick, pc, lanes) of the last of some instructions that a lane (None: the warp, also
        where no lane executed it) came to."""
        wanted = np.array(sorted(pcs), np.int64)
        number = 0
        while len(wanted):
            if number == len(self._stretches):
                if self._whole:
                    return None
                self._extend()
            ticks, rows = self._stretches[number]
            mine = np.isin(rows[:, 0], wanted) & (ticks < before)
            if lane is not None:
                mine &= rows[:, 1] >> lane & 1 != 0
            found = np.flatnonzero(mine)
            if len(found):
                at = int(found[-1])
                return int(ticks[at]), int(rows[at, 0]), int(rows[at, 1]) & 0xFFFFFFFF
            number += 1
        return None

    def _extend(self) -> None:
        """Scan an earlier stretch of the launch."""
        history, replay = self._history, self._history.replay
        high = self._low
        low = replay.latest(high.tick - self._size) if high.tick > self._size else replay.first
        # Do not cross an edit: replay from an earlier checkpoint would not apply it.
        low = max(low, replay.earlier(high, needed=True))
        history.pass_by(low)
        if replay.grid.total > FIRST:
            # Leave a checkpoint: later questions will replay from here.
            replay.mark(replay.at)
        seen = WarpRecorder({self._key}, None)
        seen.begin(replay.grid.total)
        with replay.quiet(seen):
            run_to(replay, high, lambda: seen.begin(replay.grid.total))
        self._stretches.append(_joined(seen.rows))
        history.pass_by(low)
        self._whole = low <= replay.first or find_warp(replay.grid, self._key) is None
        self._low, self._size = low, self._size * GROWTH


def _joined(rows: list[tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    if not rows:
        return np.zeros(0, np.int64), np.zeros((0, 3), np.int64)
    return np.concatenate([t for t, _ in rows]), np.concatenate([r for _, r in rows])
