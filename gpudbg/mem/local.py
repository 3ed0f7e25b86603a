"""Local memory of a warp: one column per lane, words interleaved.

A thread's 24-bit local addresses have two allocated ranges: the low one from 0, and the high one
that ends at 16 MB and holds the stack (*documented*: SR_LMemLoSz, SR_LMemHiOff).  Word w of lane
n is `words[w, n]`, low range first, so the usual case (all lanes at the same address) is one row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpudbg.errors import UsageError
from gpudbg.mem.check import alignment_fault, clean, misaligned, outside
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import LANE_IDS, U32, first_lane
from gpudbg.mem.store import ByteStore
from gpudbg.mem.windows import WINDOW_BYTES

RANGE_UNIT = 16
"""Sizes of the ranges are multiples of this (*documented*)."""

STACK_REACH = WINDOW_BYTES // 2
"""Addresses from here to the high range are taken for a stack that outgrew it."""

NOWHERE = 0xFFFF_FFF0
"""The place of an address between the ranges: outside of both."""

_WORD_PART = np.uint32(0xFFFF_FFFC)
_BYTE_PART = np.uint32(3)


class WordPairs:
    """Elements of eight bytes in a lane's column of words."""

    __slots__ = ("_words",)

    def __init__(self, words: npt.NDArray[np.uint32]) -> None:
        self._words = words

    def __getitem__(self, index: int) -> int:
        low, high = self._words[2 * index : 2 * index + 2].tolist()
        return int(low | high << 32)

    def __setitem__(self, index: int, value: int) -> None:
        self._words[2 * index : 2 * index + 2] = value & 0xFFFF_FFFF, value >> 32 & 0xFFFF_FFFF


class LocalMemory:
    """The local memory of the 32 lanes of a warp.

    Attributes:
        low: bytes of the low range.
        high: bytes of the high range.
        start: address of the high range.
        words: uint32 array of shape ((low + high) // 4, 32).
    """

    __slots__ = ("_shift", "_store", "high", "low", "start", "words")

    def __init__(
        self,
        high: int,
        low: int = 0,
        storage: npt.NDArray[np.uint8] | None = None,
        marks: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        """Sizes in bytes, rounded up so that no aligned access straddles the ranges.

        Args:
            storage: `size` bytes for each of 32 lanes; None: new ones, zero.
            marks: of it (`ByteStore.marks`).
        """
        self.high, self.low, self.start = self.ranges(high, low)
        self._shift = np.uint32(self.start - self.low)
        self._store = ByteStore(self.size * 32, storage, marks)
        self.words = self._store.words.reshape(-1, 32)

    @staticmethod
    def ranges(high: int, low: int) -> tuple[int, int, int]:
        """(`high`, `low`, `start`) of local memory with ranges of at least these sizes."""
        high += -high % RANGE_UNIT
        return high, low + -low % RANGE_UNIT, WINDOW_BYTES - high

    @classmethod
    def bytes_of(cls, high: int, low: int) -> int:
        """Bytes of storage for ranges of these sizes."""
        return 32 * sum(cls.ranges(high, low)[:2])

    @property
    def size(self) -> int:
        """Bytes of a thread in both ranges."""
        return self.low + self.high

    def place(self, addresses: U32, lanes: int, size: int) -> U32:
        """Checked addresses as byte positions in `words`' columns.

        Raises:
            MemoryFault: MISALIGNED_ADDR or OOR_ADDR.
        """
        if not self.low:
            # The usual case: one range.  An address below it wraps to a huge position.
            place = clean(addresses - self._shift, lanes)
            seen = int(np.bitwise_or.reduce(place))
            if not seen & (size - 1) and seen <= self.high - size:
                return place
        bad = misaligned(addresses, lanes, size)
        if bad:
            raise alignment_fault(addresses, bad, size, "local")
        in_low = addresses < np.uint32(self.low)
        between = addresses < np.uint32(self.start)
        high = np.where(between, np.uint32(NOWHERE), addresses - self._shift)
        place = clean(np.where(in_low, addresses, high), lanes)
        bad = outside(place, lanes, size, self.size)
        if bad:
            address = int(addresses[first_lane(bad)])
            raise MemoryFault("OOR_ADDR", bad, address, "local", self._explain(address))
        return place

    def _explain(self, address: int) -> str:
        return f"local address 0x{address:x} is outside the thread's memory ({self._ranges()})"

    def _ranges(self) -> str:
        high = f"0x{self.start:x} to 0x{WINDOW_BYTES - 1:x}" if self.high else ""
        low = f"0 to 0x{self.low - 1:x}" if self.low else ""
        return " and ".join(part for part in (low, high) if part) or "it has none"

    def gather(self, places: U32, lanes: int, size: int, signed: bool) -> list[U32]:
        """Read at what `place` returned."""
        if size <= 4:
            return self._store.gather(_interleave(places), lanes, size, signed)
        words = [places + np.uint32(4 * k) for k in range(size // 4)]
        return [self._store.gather(_interleave(w), lanes, 4, False)[0] for w in words]

    def scatter(self, places: U32, lanes: int, size: int, values: Sequence[U32]) -> None:
        """Write at what `place` returned."""
        if size <= 4:
            self._store.scatter(_interleave(places), lanes, size, values)
            return
        for k, value in enumerate(values):
            word = _interleave(places + np.uint32(4 * k))
            self._store.scatter(word, lanes, 4, [value])

    def elements(self, lane: int, size: int) -> npt.NDArray[np.uint32] | WordPairs:
        """The elements of four or eight bytes in a lane's column, to be read and replaced."""
        column = self.words[:, lane]
        return column if size == 4 else WordPairs(column)

    def read(self, lane: int, address: int, count: int) -> bytes:
        """Bytes of one thread.

        Raises:
            UsageError: they do not lie in one allocated range.
        """
        place = self.column(address, count)
        return self._column(lane)[place : place + count].tobytes()

    def write(self, lane: int, address: int, data: bytes) -> None:
        """Replace bytes of one thread; errors as `read`."""
        place = self.column(address, len(data))
        column = self._column(lane)
        column[place : place + len(data)] = np.frombuffer(data, np.uint8)
        self.words[:, lane] = column.view(np.uint32)

    def column(self, address: int, count: int) -> int:
        """Where bytes lie in a lane's column of `words`.

        Raises:
            UsageError: they do not lie in one allocated range.
        """
        if 0 <= address and address + count <= self.low:
            return address
        if self.start <= address and address + count <= WINDOW_BYTES:
            return address - int(self._shift)
        raise UsageError(self._explain(address))

    def marks(self) -> npt.NDArray[np.uint8]:
        """Marks of what has been written, as `words` lies: of shape (words, lanes, 4)."""
        return self._store.marked().reshape(-1, 32, 4)

    def _column(self, lane: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        return np.ascontiguousarray(self.words[:, lane]).view(np.uint8)


def _interleave(places: U32) -> U32:
    """Position of each lane's byte in the interleaved store."""
    position: U32 = ((places & _WORD_PART) << 5) + (LANE_IDS << 2) + (places & _BYTE_PART)
    return position
