"""Finds lanes that bypass a place where others of their warp wait for them.

Those that returned early may do so: a barrier, shuffle or vote waits for lanes that are there.  An
error is code that goes round the place and then on with the others (`if (x) __syncthreads();`),
whether or not it ends before these come: it was last where the others come to later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import bools, pack
from gpudbg.sanitizer.monitor import ExecutedInstruction
from gpudbg.sm.schedule.turns import FLOW_WIDE

if TYPE_CHECKING:
    from gpudbg.sm.state import Cta, WarpState


@dataclass(slots=True)
class LanesMissed:
    """Lanes that have not come to a place, and will not, where those who came go on.

    Attributes:
        step: of those who came.
        lanes: who did not, and was not seen to go round it.
        mask: of the WARPSYNC; 0 at a barrier.
    """

    step: ExecutedInstruction
    lanes: int
    mask: int


class PassingBy:
    """Decides which of the missing lanes bypassed the place.

    Args:
        report: is called with a step, the lanes that went round it, and the mask they are in.
    """

    def __init__(self, report: Callable[[ExecutedInstruction, int, int], None]) -> None:
        self._report = report
        self._latest: dict[tuple[int, int], npt.NDArray[np.int64]] = {}
        self._missed: dict[tuple[int, int], list[LanesMissed]] = {}

    def missed(self, step: ExecutedInstruction, lanes: int, mask: int = 0) -> None:
        """Called when lanes are missing at `step`: others wait for them, or waited until they had
        exited.
        """
        rows = self._missed.setdefault(_key(step.warp), [])
        if lanes and not any(row.step.pc == step.pc and row.mask == mask for row in rows):
            rows.append(LanesMissed(step, lanes, mask))

    def came(self, warp: WarpState, pc: int, lanes: int) -> None:
        """Called when lanes reach a place after all."""
        for row in self._missed.get(_key(warp), ()):
            if row.step.pc == pc:
                row.lanes &= ~lanes

    def executed(self, step: ExecutedInstruction) -> None:
        """An instruction of lanes that have pcs of their own."""
        if step.insn.op in FLOW_WIDE:
            return
        key = _key(step.warp)
        places = self._latest.get(key)
        if places is None:
            places = self._latest[key] = np.zeros(32, np.int64)
        for row in self._missed.get(key, ()):
            if step.pc > row.step.pc and step.lanes & row.step.lanes:
                met = pack(places == step.pc) & row.lanes & ~step.lanes
                if met:
                    row.lanes &= ~met
                    self._report(row.step, met, row.mask)
        places[bools(step.lanes)] = step.pc

    def drop_warp(self, warp: WarpState) -> list[LanesMissed]:
        """Called when a warp has ended. Returns its undecided cases."""
        self._latest.pop(_key(warp), None)
        return [row for row in self._missed.pop(_key(warp), ()) if row.lanes]

    def forget(self, cta: Cta) -> None:
        """Forget a CTA that has ended."""
        gone = {key for key in (*self._latest, *self._missed) if key[0] == cta.number}
        for key in gone:
            self._latest.pop(key, None)
            self._missed.pop(key, None)


def _key(warp: WarpState) -> tuple[int, int]:
    return warp.cta.number, warp.index
