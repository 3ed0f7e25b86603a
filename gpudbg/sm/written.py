"""Which bytes of memory without contents a program has written so far.

Shared and local memory, what `malloc` gives and buffers made without contents hold zeros here and
anything on a GPU.  The step engine marks what it stores; compiled code does not, so that from its
first instruction on nothing is known any more (`FastEngine.advance` drops the map).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from gpudbg.mem.device import Allocation
from gpudbg.mem.lanes import FULL, LANE_IDS, bools
from gpudbg.mem.store import padded_size
from gpudbg.sm.state import Cta, WarpState

Marks = npt.NDArray[np.bool_]

LARGEST: Final = 1 << 26
"""Bytes of an allocation of which marks are kept; of larger ones nothing is known."""
MANY: Final = 4096


class _Block:
    """Marks of a CTA: of its shared memory, and by warp of local memory (lane, byte)."""

    def __init__(self) -> None:
        self.shared: Marks | None = None
        self.local: dict[tuple[int, bool], Marks] = {}


class Written:
    """The marks of one launch; see the module text."""

    def __init__(self) -> None:
        self._blocks: WeakKeyDictionary[Cta, _Block] = WeakKeyDictionary()
        self._device: dict[Allocation, Marks] = {}

    # ---- marking -----------------------------------------------------------------------
    def note_shared(self, cta: Cta, offsets: Any, lanes: int, size: int) -> None:
        """A store of `size` bytes by lanes at checked offsets."""
        block = self._block(cta)
        if block.shared is None:
            block.shared = np.zeros(padded_size(cta.shared.size), np.bool_)
        _mark(block.shared, offsets, lanes, size)

    def note_local(self, warp: WarpState, places: Any, lanes: int, size: int) -> None:
        """A store at what `LocalMemory.place` returned."""
        marks = self._local(warp).reshape(32, -1, min(size, 4))
        for part in range(0, size, 4):
            rows = (places + np.uint32(part)) // min(size, 4)
            chosen = bools(lanes)
            marks[LANE_IDS[chosen], rows[chosen]] = True

    def note_device(self, parts: Sequence[tuple[Allocation, Any, int]], size: int) -> None:
        """A store to device memory: (allocation, offsets, lanes) of each that is touched."""
        for allocation, offsets, lanes in parts:
            if allocation.uninitialized and allocation.size <= LARGEST:
                _mark(self._allocation(allocation), offsets, lanes, size)

    def note_bytes(self, space: str, place: Any, lane: int, start: int, count: int) -> None:
        """Bytes that somebody replaced from outside.

        Args:
            space: "shared" (`place`: a CTA), "local" (a warp, with `lane`) or "global" (an
                allocation).
            start: the first byte: an offset, of local memory a byte of the lane's column.
        """
        if space == "shared":
            self.note_shared(place, np.arange(start, start + count), FULL, 1)
        elif space == "local":
            self._local(place)[lane, start : start + count] = True
        elif place.uninitialized and place.size <= LARGEST:
            self._allocation(place)[start : start + count] = True

    def _block(self, cta: Cta) -> _Block:
        found = self._blocks.get(cta)
        if found is None:
            found = self._blocks[cta] = _Block()
        return found

    def _local(self, warp: WarpState) -> Marks:
        # The trap handler has local memory of its own.
        key = (warp.index, warp.outer is not None)
        locals_ = self._block(warp.cta).local
        if key not in locals_:
            locals_[key] = np.zeros((32, warp.local.size), np.bool_)
        return locals_[key]

    def _allocation(self, allocation: Allocation) -> Marks:
        found = self._device.get(allocation)
        if found is None:
            if len(self._device) > MANY:
                self._device = {a: m for a, m in self._device.items() if not a.freed}
            found = np.zeros(padded_size(allocation.size), np.bool_)
            self._device[allocation] = found
        return found

    # ---- asking ------------------------------------------------------------------------
    def shared(self, cta: Cta, start: int, count: int) -> Marks:
        """Which bytes of shared memory have been written."""
        block = self._blocks.get(cta)
        marks = block.shared if block is not None else None
        return np.zeros(count, np.bool_) if marks is None else marks[start : start + count]

    def local(self, warp: WarpState, lane: int, start: int, count: int) -> Marks:
        """Which bytes of a lane's column have been written."""
        block = self._blocks.get(warp.cta)
        key = (warp.index, warp.outer is not None)
        marks = block.local.get(key) if block is not None else None
        return np.zeros(count, np.bool_) if marks is None else marks[lane, start : start + count]

    def device(self, allocation: Allocation, start: int, count: int) -> Marks | None:
        """Which bytes of an allocation without contents have been written; None: not known."""
        if allocation.size > LARGEST:
            return None
        marks = self._device.get(allocation)
        return np.zeros(count, np.bool_) if marks is None else marks[start : start + count]


def _mark(marks: Marks, offsets: Any, lanes: int, size: int) -> None:
    index = offsets // size
    if len(index) == 32 and lanes != FULL:
        index = index[bools(lanes)]
    marks.reshape(-1, size)[index] = True
