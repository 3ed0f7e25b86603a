"""Which granules of memory a pass of the exact race check keeps records of.

Records cost many times the memory that they describe.  Two things bound that: granules that an
earlier, cheaper pass has shown to be free of races are left out (`Suspects`), and where the records
of the rest would still take more than `RATIO` times the touched memory, a pass drops those of the
highest addresses (`RaceWindow.cut`), which a later pass of the same launch examines.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from gpudbg.mem.lanes import bools, pack
from gpudbg.sm.observer import Observer
from gpudbg.sm.trace import KINDS, SPACES, WORDS

if TYPE_CHECKING:
    from gpudbg.sanitizer.monitor import Touch

RATIO: Final = 6
"""Bytes of records for each byte of memory that is touched, at most."""
FLOOR: Final = 32 << 20
"""Bytes of records that are always allowed."""
OPEN: Final = 8192
"""Granules in all that are kept unpacked between accesses."""
BUCKET: Final = 256
"""Granules that a pass leaves to the next one together."""
_SHARED_END: Final = 1 << 30
"""Granules of global memory stand behind those of shared memory."""

_Bits = npt.NDArray[np.uint8]
_Numbers = npt.NDArray[np.int64]


class BoundRecords(Protocol):
    """Records of accesses to one memory, whose own memory is bounded."""

    shared: bool
    """Whether it is shared memory."""

    def sizes(self) -> Iterator[tuple[int, int]]:
        """(number, bytes of memory) of granules."""

    def keep_below(self, limit: int) -> None:
        """Drop the records of granules from a number on."""

    def clear(self) -> None:
        """Drop all records."""


class Suspects:
    """Granules that may race, a bit each.

    Attributes:
        touched: bytes of memory that the launch touches, by whole pages.
    """

    def __init__(
        self, shared: _Bits | None, first: int, memory: _Bits, touched: int = 0,
        *, others: bool = False,
    ) -> None:  # fmt: skip
        """
        Args:
            shared: bits by offset, of all CTAs together; None: all are suspect.
            first: number of the granule of global memory that the first bit of `memory` is for.
            others: take the granules that are *not* marked.
        """
        self._shared, self._first, self._memory = shared, first, memory
        self.touched, self._others = touched, others

    def inverted(self) -> Suspects:
        """The other granules."""
        return Suspects(
            self._shared, self._first, self._memory, self.touched, others=not self._others
        )

    def of(self, shared: bool, numbers: _Numbers) -> npt.NDArray[np.bool_]:
        """Which granules are suspect; outside of what was looked at all are."""
        bits = self._shared if shared else self._memory
        if bits is None:
            return np.full(numbers.shape, not self._others)
        at = numbers if shared else numbers - self._first
        known = (at >= 0) & (at < 8 * len(bits))
        at = np.where(known, at, 0)
        found = (bits[at >> 3] >> (at & 7).astype(np.uint8) & 1).astype(bool)
        return np.where(known, found != self._others, not self._others)

    def has(self, shared: bool, number: int) -> bool:
        """Whether one granule is suspect."""
        bits = self._shared if shared else self._memory
        at = number if shared else number - self._first
        if bits is None or not 0 <= at < 8 * len(bits):
            return not self._others
        return bool(bits[at >> 3] >> (at & 7) & 1) != self._others

    def after(self, key: int) -> bool:
        """Whether a granule from a place (`RaceWindow.low`) on may be suspect."""
        if self._others or key < _SHARED_END:
            return True
        start = max(key - _SHARED_END - self._first, 0) >> 3
        return bool(self._memory[start:].any())


class RaceWindow:
    """The granules that passes over one launch keep records of.

    Places are numbers of granules: first of shared memory, by offset, then of global memory.

    Attributes:
        low, high: of this pass, the first place, and the first one that is left to the next; None:
            no limit.
        first: this is the first pass: what is not about granules is reported, too.
        bytes: estimated memory of the records.
    """

    def __init__(self, suspects: Suspects | None = None, *, bounded: bool = True) -> None:
        """Args: bounded: False: the records may take any memory."""
        self.suspects = suspects
        self.low, self.high, self.first = 0, None, True  # type: tuple[int, int | None, bool]
        self.bytes = self.opened = self._least = 0
        self._bounded = bounded
        self._kept: list[BoundRecords] = []
        self._granules = 0
        self._counted: dict[tuple[Hashable, int], list[int]] = {}

    # ---- passes ------------------------------------------------------------------------
    def next(self) -> bool:
        """Begin the next pass. Returns whether there is anything left for it."""
        if self.high is None:
            return False
        self.low, self.high, self.first = self.high, None, False
        self._start()
        return self.suspects is None or self.suspects.after(self.low)

    def others(self) -> None:
        """Begin passes over all granules that were not suspect."""
        assert self.suspects is not None
        self.suspects = self.suspects.inverted()
        self.low, self.high, self.first = 0, None, False
        self._counted.clear()
        self._start()

    def _start(self) -> None:
        self._kept.clear()
        self.bytes = self.opened = self._least = 0
        low = self.low // BUCKET
        self._counted = {k: [n, 0] for k, (n, _) in self._counted.items() if k[1] >= low}

    # ---- what belongs to it --------------------------------------------------------------
    @property
    def everything(self) -> bool:
        """Whether all granules belong to this pass."""
        return self.suspects is None and not self.low and self.high is None

    def wants(self, shared: bool, number: int) -> bool:
        """Whether this pass keeps records of a granule."""
        if self.everything:
            return True
        place = number if shared else number + _SHARED_END
        if place < self.low or (self.high is not None and place >= self.high):
            return False
        return self.suspects is None or self.suspects.has(shared, number)

    def part(self, shared: bool, touch: Touch) -> Touch | None:
        """The lanes of an access that touch granules of this pass; None: no lane does."""
        if self.everything:
            return touch
        first = touch.addresses.astype(np.int64) >> 2
        chosen = np.zeros(32, bool)
        for n in range(max(touch.size // 4, 1)):
            chosen |= self._of(shared, first + n)
        lanes = pack(chosen & bools(touch.lanes))
        return replace(touch, lanes=lanes) if lanes else None

    def _of(self, shared: bool, numbers: _Numbers) -> npt.NDArray[np.bool_]:
        low, high = self.low, self.high
        if not shared:
            low, high = low - _SHARED_END, None if high is None else high - _SHARED_END
        found = numbers >= low
        if high is not None:
            found &= numbers < high
        return found if self.suspects is None else found & self.suspects.of(shared, numbers)

    def counts(self, key: Hashable, shared: bool, number: int) -> bool:
        """Whether an occurrence of a finding at a granule was not counted by an earlier pass."""
        place = number if shared else number + _SHARED_END
        row = self._counted.setdefault((key, place // BUCKET), [0, 0])
        row[1] += 1
        if row[1] <= row[0]:
            return False
        row[0] = row[1]
        return True

    # ---- memory ------------------------------------------------------------------------
    def add(self, cells: BoundRecords) -> None:
        """Bound the memory of the records of one memory, too."""
        self._kept.append(cells)

    def drop(self, cells: BoundRecords) -> None:
        """Those records are no longer kept."""
        self._kept.remove(cells)
        cells.clear()

    def grown(self, bytes_: int, granules: int = 0) -> None:
        """Records have grown (or shrunk), and are of so many more granules."""
        self.bytes += bytes_
        self._granules += granules

    def check(self) -> None:
        """Drop records if there are too many."""
        if self.bytes > FLOOR and self._bounded:
            touched = max(4 * self._granules, self.suspects.touched if self.suspects else 0)
            limit = max(FLOOR, RATIO * touched)
            if self.bytes > max(limit, self._least):
                self.cut(limit // 2)

    def cut(self, most: int) -> None:
        """Leave the highest places to the next pass, so that records take at most `most` bytes."""
        sizes: dict[int, int] = {}
        for cells in self._kept:
            base = 0 if cells.shared else _SHARED_END
            for number, size in cells.sizes():
                at = (base + number) // BUCKET
                sizes[at] = sizes.get(at, 0) + size
        total, cut = 0, min(sizes, default=0) + 1
        for at in sorted(sizes):
            total += sizes[at]
            if total > most:
                break
            cut = max(cut, at + 1)
        if len(sizes) > 1:
            self._leave(cut)
        # Less than a few granules cannot be kept.
        self._least = self.bytes + self.bytes // 4

    def _leave(self, cut: int) -> None:
        """Leave buckets from one on to the next pass."""
        self.high = cut * BUCKET if self.high is None else min(cut * BUCKET, self.high)
        for cells in self._kept:
            cells.keep_below(self.high if cells.shared else self.high - _SHARED_END)


class WrittenGranules(Observer):
    """Notes which granules of global memory a launch writes: the others cannot race."""

    looks_only = True

    def __init__(self, first: int, bits: _Bits) -> None:
        """Args: bits: to be set, from the granule `first` on."""
        self._first, self._bits = first, bits

    def ordered(self, rows: npt.NDArray[np.int64]) -> None:
        what, lanes = rows[:, 1] >> 32 & 0xFFFF, rows[:, 1] & 0xFFFFFFFF
        space = what >> 4 & 15
        chosen = np.isin(what & 15, _WRITES) & np.isin(space, _ANYWHERE)
        if not chosen.any():
            return
        active = (lanes[chosen, None] >> np.arange(32) & 1).astype(bool)
        addresses = rows[chosen, WORDS:][active]
        sizes = np.broadcast_to((what[chosen] >> 8)[:, None], active.shape)[active]
        low, high = (addresses >> 2) - self._first, (addresses + sizes + 3 >> 2) - self._first
        while len(low):
            inside = (low >= 0) & (low < 8 * len(self._bits))
            at = low[inside]
            np.bitwise_or.at(self._bits, at >> 3, (1 << (at & 7)).astype(np.uint8))
            more = low + 1 < high
            low, high = low[more] + 1, high[more]

    def refused(self, warp: object, fault: object, access: str, size: int) -> None:
        """Lanes that may not access are left out, as in the checks."""


_WRITES: Final = [KINDS.index(kind) for kind in ("store", "atomic")]
_ANYWHERE: Final = [SPACES.index(space) for space in ("global", "generic")]
