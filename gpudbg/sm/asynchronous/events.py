"""Event records of asynchronous operations for observers: copies, mbarriers, matrix products.

An operation is reported when the machine carries it out.  The PTX rules for when it may begin and
when its completion is known are applied by the observers, not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.mem.lanes import U32
    from gpudbg.sm.state import Cta

Places = npt.NDArray[np.int64]
IN_PIECES: Final = frozenset("UBLKCP UBLKRED UTMALDG UTMASTG UTMAREDG".split())
"""Instructions whose accesses are reported in pieces: the lanes of a piece are no threads, the
lowest executing lane has issued all of it.
"""


def issuer(op: str, lanes: int) -> int:
    """Lane mask of the issuer, for an instruction whose accesses are reported in pieces; 0 for
    others.
    """
    return lanes & -lanes if op in IN_PIECES else 0


@dataclass(frozen=True, slots=True)
class ByteRuns:
    """Bytes of one memory: runs in ascending order that do not touch.

    Attributes:
        home: the CTA whose shared memory they are in; None: global memory.
        starts, ends: addresses, or offsets in shared memory.
    """

    home: Cta | None
    starts: Places
    ends: Places

    @classmethod
    def range(cls, home: Cta | None, start: int, size: int) -> ByteRuns:
        """`size` bytes one after the other."""
        return cls(home, np.array([start], np.int64), np.array([start + size], np.int64))

    @classmethod
    def elements(cls, home: Cta | None, places: Places, size: int) -> ByteRuns:
        """Elements of `size` bytes, in any order."""
        first = np.unique(places.astype(np.int64))
        if not len(first):
            return cls(home, first, first)
        breaks = np.flatnonzero(np.diff(first) > size)
        starts = first[np.concatenate(([0], breaks + 1))]
        return cls(home, starts, first[np.concatenate((breaks, [len(first) - 1]))] + size)

    @property
    def low(self) -> int:
        """Address of the first byte."""
        return int(self.starts[0])

    @property
    def high(self) -> int:
        """Address after the last byte."""
        return int(self.ends[-1])


@dataclass(frozen=True, slots=True)
class CopiedElements:
    """Maps the source bytes of a copy to its target bytes.

    Attributes:
        sources, targets: first bytes of each element, in the memories that the copy reads and
            writes; in shared memory as offsets, the same in each CTA of a cluster.
        size: bytes of one.
    """

    sources: Places
    targets: Places
    size: int

    @classmethod
    def whole(cls, source: int, target: int, size: int) -> CopiedElements:
        """Bytes one after the other."""
        return cls(np.array([source], np.int64), np.array([target], np.int64), size)

    def source_of(self, target: int, size: int) -> list[tuple[int, int]]:
        """(First byte, number of bytes) of the sources that were copied to some bytes of the
        target.
        """
        met = (self.targets < target + size) & (target < self.targets + self.size)
        found = []
        for source, place in zip(
            self.sources[met].tolist(), self.targets[met].tolist(), strict=True
        ):
            low, high = max(target, place), min(target + size, place + self.size)
            found.append((source + low - place, high - low))
        return found


@dataclass(frozen=True, slots=True)
class BytesCopied:
    """A bulk or tensor copy, a reduction, a store that counts on an mbarrier.

    Attributes:
        reads: what it reads.
        writes: what it writes, each with the mbarrier (CTA, offset) that counts its bytes; None:
            it belongs to a group of the issuing thread.
        reduces: it combines with what is there.
        remote: a store of a thread in another CTA's memory (STAS, REDAS), of its lanes.
        lane: who issued it.
        elements: which bytes became which; None of a store of a thread.
    """

    reads: tuple[ByteRuns, ...]
    writes: tuple[tuple[ByteRuns, tuple[Cta, int] | None], ...]
    reduces: bool
    remote: bool
    lane: int
    elements: CopiedElements | None = None


@dataclass(frozen=True, slots=True)
class MbarrierChanged:
    """Arrivals and transactions of an mbarrier.

    Attributes:
        home, offset: which.
        lane: who; of a copy's bytes, who issued it.
        arrivals, bytes: counted; bytes below 0 have come.
        drops: the arriving threads are not expected later.
        before, after: its word.
        by_copy: a copy that has come, not a thread.
    """

    home: Cta
    offset: int
    lane: int
    arrivals: int
    bytes: int
    drops: bool
    before: int
    after: int
    by_copy: bool = False


@dataclass(frozen=True, slots=True)
class MbarrierBegun:
    """An mbarrier begins (or, without a word, ends)."""

    home: Cta
    offset: int
    lane: int
    word: int | None


@dataclass(frozen=True, slots=True)
class MbarrierTested:
    """Lanes test whether an mbarrier's phase is complete.

    Attributes:
        offsets, wanted: by lane: which mbarrier of the own CTA, what phase or parity in bit 31.
        lanes: mask of who asks; `passed` of those that found it complete.
        ranks: by lane: of the CTA whose memory is named, in the cluster.
    """

    offsets: U32
    wanted: U32
    lanes: int
    passed: int
    ranks: U32


@dataclass(frozen=True, slots=True)
class MatricesRead:
    """The shared memory that a warp-group product reads.

    Attributes:
        extents: the bytes.
        words: descriptors of A and B.
        across: rows of A, columns of B are side by side in memory.
    """

    extents: tuple[ByteRuns, ...]
    words: tuple[int, int]
    across: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class TensorMapUsed:
    """A copy of a tensor reads its map.

    Attributes:
        address: of the map.
        offset: of the box in shared memory; `size`: its bytes.
        boundary: where the pattern of its swizzle begins anew; 1: it has none.
        lane: who issued the copy.
    """

    address: int
    offset: int
    size: int
    boundary: int
    lane: int


AsyncEvent = (
    TensorMapUsed | BytesCopied | MbarrierChanged | MbarrierBegun | MbarrierTested | MatricesRead
)
