"""Addresses of many accesses in little memory.

Addresses of a warp that lie at equal distances, as most do, are kept as the first and the distance
(20 bytes an access); others as offsets from the lowest one (148 bytes, or 276 where they are 4 GiB
apart).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import LANE_IDS, WARP_SIZE

ROWS: Final = 2048
"""Accesses of a chunk."""

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class _Chunk:
    """`ROWS` accesses.

    Attributes:
        first: what lane 0's address is or would be; of those with offsets the lowest one.
        step: bytes from lane to lane.
        which: index of the offsets, or -1.
        offsets: uint32 or uint64, (n, 32).
    """

    first: U64
    step: U64
    which: npt.NDArray[np.int32]
    offsets: U32 | U64

    @classmethod
    def of(cls, addresses: U64, masks: U32) -> _Chunk:
        """Pack addresses, (count, 32), of the lanes in `masks`."""
        lanes = (masks[:, None] >> LANE_IDS & 1).astype(bool)
        low, high = lanes.argmax(1), WARP_SIZE - 1 - lanes[:, ::-1].argmax(1)
        row = np.arange(len(masks))
        begin = addresses[row, low]
        span = np.maximum(high - low, 1)
        step = ((addresses[row, high] - begin).view(np.int64) // span).view(np.uint64)
        first = begin - step * low.astype(np.uint64)
        odd = ((_lines(first, step) != addresses) & lanes).any(1)
        which = np.full(len(masks), -1, np.int32)
        which[odd] = np.arange(int(odd.sum()))
        some, there = addresses[odd], lanes[odd]
        lowest = np.where(there, some, np.uint64(2**64 - 1)).min(1, initial=2**64 - 1)
        first[odd] = lowest
        offsets = np.where(there, some - lowest[:, None], np.uint64(0))
        near = not offsets.size or int(offsets.max()) < 1 << 32
        return cls(first, step, which, offsets.astype(np.uint32) if near else offsets)

    def all(self) -> U64:
        """The addresses of all accesses, (count, 32)."""
        found = _lines(self.first, self.step)
        odd = self.which >= 0
        found[odd] = self.first[odd, None] + self.offsets
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        parts = self.first, self.step, self.which, self.offsets
        return sum(part.nbytes for part in parts)


def _lines(first: U64, step: U64) -> U64:
    """Addresses at equal distances, as integers of 64 bits wrap around."""
    found: U64 = first[:, None] + step[:, None] * LANE_IDS.astype(np.uint64)
    return found


class AddressTrace:
    """Addresses of accesses by number, in the order they were added."""

    def __init__(self) -> None:
        self._chunks: list[_Chunk] = []
        self._count = 0
        # The chunk that was looked at last, and the one that is being filled.
        self._opened: tuple[int, U64] | None = None
        self._addresses: U64 = np.empty((0, WARP_SIZE), np.uint64)
        self._masks: U32 = np.empty(0, np.uint32)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, n: int) -> list[int]:
        chunk, at = divmod(n, ROWS)
        if chunk == len(self._chunks):
            return self._addresses[at].tolist()  # type: ignore[no-any-return]
        if self._opened is None or self._opened[0] != chunk:
            self._opened = chunk, self._chunks[chunk].all()
        return self._opened[1][at].tolist()  # type: ignore[no-any-return]

    def add(self, addresses: U64 | int, mask: int) -> None:
        """One access: addresses of 32 lanes, or one for all."""
        at = self._room()
        self._addresses[at] = addresses
        self._masks[at] = mask
        self._filled(1)

    def extend(self, addresses: U64, masks: U32) -> None:
        """Many: (count, 32), (count,)."""
        done = 0
        while done < len(masks):
            at = self._room()
            count = min(ROWS - at, len(masks) - done)
            self._addresses[at : at + count] = addresses[done : done + count]
            self._masks[at : at + count] = masks[done : done + count]
            self._filled(count)
            done += count

    def all(self) -> U64:
        """(count, 32); lanes without an address have anything."""
        left = self._addresses[: self._count - ROWS * len(self._chunks)]
        return np.concatenate([*(chunk.all() for chunk in self._chunks), left])

    @property
    def nbytes(self) -> int:
        """Bytes of memory, but for half a MiB while addresses are looked at."""
        return sum(c.nbytes for c in self._chunks) + self._addresses.nbytes + self._masks.nbytes

    def _room(self) -> int:
        """Where the next one goes in the chunk that is being filled."""
        if not len(self._masks):
            self._addresses = np.empty((ROWS, WARP_SIZE), np.uint64)
            self._masks = np.empty(ROWS, np.uint32)
        return self._count % ROWS

    def _filled(self, count: int) -> None:
        self._count += count
        if not self._count % ROWS:
            self._chunks.append(_Chunk.of(self._addresses, self._masks))
