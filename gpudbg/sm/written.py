"""Marks: which bytes of memory without initial contents a program has written.

Shared and local memory, what `malloc` gives and buffers made without contents hold zeros here and
anything on a GPU.  Each has marks beside it, a byte for a byte (`ByteStore.marks`): the step engine
writes them after a store, compiled code in the same places (`gpudbg.sm.engines.llvm.kernel.marks`).
Those of shared and local memory go with it; those of an allocation stay until it is freed, and a
restart has them as they were, like its contents.

Marks cost compiled code a few per cent, and up to half of what a kernel takes that does little but
store.  Launches of many warps have none in compiled code unless somebody looks (`Gpu.marking`):
from its first instruction on it is not known what was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.mem.device import Allocation
from gpudbg.mem.lanes import FULL, LANE_IDS, bools
from gpudbg.sm.state import Cta, WarpState

Marks = npt.NDArray[np.bool_]
_YES: Final = 0xFF

SMALL_WARPS: Final = 1024
"""Launches of at most so many are marked in compiled code, whoever launches."""


class Written:
    """The marks of one launch, written by the step engine; see the module text."""

    __slots__ = ()

    # ---- marking -----------------------------------------------------------------------
    def note_shared(self, cta: Cta, offsets: Any, lanes: int, size: int) -> None:
        """Mark a store of `size` bytes by lanes at checked offsets."""
        _mark(cta.shared.marked(), offsets, lanes, size)

    def note_local(self, warp: WarpState, places: Any, lanes: int, size: int) -> None:
        """Mark a store at the places that `LocalMemory.place` returned."""
        marks, unit = warp.local.marks(), min(size, 4)
        chosen = bools(lanes)
        rows, columns = places[chosen], LANE_IDS[chosen]
        for part in range(0, size, unit):
            at = rows + np.uint32(part)
            for byte in range(unit):
                marks[at >> 2, columns, (at & 3) + byte] = _YES

    def note_device(self, parts: Sequence[tuple[Allocation, Any, int]], size: int) -> None:
        """Mark a store to device memory: (allocation, offsets, lanes) of each touched
        allocation.
        """
        for allocation, offsets, lanes in parts:
            if allocation.uninitialized and allocation.marks is not None:
                _mark(allocation.marked(), offsets, lanes, size)

    def note_bytes(self, space: str, place: Any, lane: int, start: int, count: int) -> None:
        """Mark bytes that were replaced from outside the machine.

        Args:
            space: "shared" (`place`: a CTA), "local" (a warp, with `lane`) or "global" (an
                allocation).
            start: the first byte: an offset, of local memory a byte of the lane's column.
        """
        if space == "local":
            at = np.arange(start, start + count)
            place.local.marks()[at >> 2, lane, at & 3] = _YES
        elif space == "shared":
            place.shared.marked()[start : start + count] = _YES
        elif place.uninitialized and place.marks is not None:
            place.marks[start : start + count] = _YES

    # ---- asking ------------------------------------------------------------------------
    def shared(self, cta: Cta, start: int, count: int) -> Marks:
        """Which bytes of shared memory have been written."""
        return _marked(cta.shared.marked(), start, count)

    def local(self, warp: WarpState, lane: int, start: int, count: int) -> Marks:
        """Which bytes of a lane's column have been written."""
        column = np.ascontiguousarray(warp.local.marks()[:, lane]).reshape(-1)
        return _marked(column, start, count)

    def device(self, allocation: Allocation, start: int, count: int) -> Marks | None:
        """Which bytes of an allocation without contents have been written; None: not known."""
        marks = allocation.marks
        return None if marks is None else _marked(marks, start, count)


def _mark(marks: npt.NDArray[np.uint8], offsets: Any, lanes: int, size: int) -> None:
    index = offsets // size
    if len(index) == 32 and lanes != FULL:
        index = index[bools(lanes)]
    marks.reshape(-1, size)[index] = _YES


def _marked(marks: npt.NDArray[np.uint8], start: int, count: int) -> Marks:
    return np.not_equal(marks[start : start + count], 0)
