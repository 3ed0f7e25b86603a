"""Executed instructions kept by tick, in bounded memory: the last ones exactly, older ones coarse.

A tick is one warp instruction of the launch.  Of the last `KEPT` ticks every row is there (pc,
lanes, warp).  Of all ticks there is an entry for each warp and bucket of ticks; buckets get wider
as the run goes on, and of a long run only some batches are looked at.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.sm.trace import ROWS, WORDS

KEPT: Final = 1 << 18
"""Instructions that are kept exactly, at least half of them at any time (6 MiB)."""
ENTRIES: Final = 1 << 16
"""Most coarse entries (about 2 MiB)."""
BUCKETS: Final = 512
"""Buckets of a run at least: where they are not too many, older entries go instead."""
EVERY: Final = 256
"""Batches of a run of which every one is looked at; of twice as many it is every other."""

Ints = npt.NDArray[np.int64]


@cache
def _population() -> Ints:
    """How many bits each 16-bit number has."""
    numbers = np.arange(1 << 16, dtype=">u2").view(np.uint8)
    counts: Ints = np.unpackbits(numbers).reshape(-1, 16).sum(axis=1).astype(np.int64)
    return counts


def lane_counts(masks: Ints) -> Ints:
    """How many lanes each mask has."""
    counts = _population()
    found: Ints = counts[masks & 0xFFFF] + counts[masks >> 16 & 0xFFFF]
    return found


@dataclass(frozen=True, slots=True)
class Turns:
    """Stretches of one warp's instructions in one bucket, by tick; arrays of one length.

    Attributes:
        who: the warp: CTA number << 32 | index in the CTA.
        bucket: which bucket, or column of a picture.
        lanes: most lanes that executed one of its instructions.
        pc: of its last instruction.
    """

    who: Ints
    bucket: Ints
    lanes: Ints
    pc: Ints

    @classmethod
    def of(cls, rows: Ints, bucket: Ints) -> Turns:
        """Stretches of rows of the trace; `bucket` has an element for each row and ascends."""
        who = rows[:, 2]
        if not len(rows):
            return cls(who, bucket, who, who)
        begins = np.ones(len(rows), bool)
        begins[1:] = (who[1:] != who[:-1]) | (bucket[1:] != bucket[:-1])
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(rows)) - 1
        lanes: Ints = np.maximum.reduceat(lane_counts(rows[:, 1]), starts)
        return cls(who[starts], bucket[starts], lanes, rows[ends, 0])

    @classmethod
    def joined(cls, parts: list[Turns]) -> Turns:
        """The stretches of all `parts`, in their order."""
        names = ("who", "bucket", "lanes", "pc")
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))

    def merged(self) -> Turns:
        """One stretch for each warp and bucket, ordered by bucket."""
        order = np.lexsort((self.bucket, self.who))
        who, bucket = self.who[order], self.bucket[order]
        begins = np.ones(len(who), bool)
        begins[1:] = (who[1:] != who[:-1]) | (bucket[1:] != bucket[:-1])
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(who)) - 1
        lanes = np.maximum.reduceat(self.lanes[order], starts)
        back = np.argsort(bucket[starts], kind="stable")
        return Turns(
            who[starts][back], bucket[starts][back], lanes[back], self.pc[order][ends][back]
        )

    def __len__(self) -> int:
        return len(self.who)

    def picked(self, wanted: npt.NDArray[np.bool_]) -> Turns:
        """The stretches for which `wanted` is true."""
        return Turns(self.who[wanted], self.bucket[wanted], self.lanes[wanted], self.pc[wanted])


class Record:
    """See the module text.

    Attributes:
        first: the first tick that was recorded; `end`: the tick after the last.
        width: ticks of a bucket.
    """

    def __init__(self, first: int) -> None:
        self.first = self.end = first
        self.width = 64
        self._rows = np.empty((KEPT, WORDS), np.int64)
        self._count = 0
        self._coarse: list[Turns] = []
        self._entries = 0
        self._stride = 1

    def add(self, rows: Ints) -> None:
        """Rows of the trace, the first of them at tick `end`; they are copied."""
        self._note(rows)
        half = KEPT // 2
        for at in range(0, len(rows), half):
            part = rows[at : at + half]
            if self._count + len(part) > KEPT:
                self._rows[:half] = self._rows[self._count - half : self._count]
                self._count = half
            self._rows[self._count : self._count + len(part)] = part
            self._count += len(part)
        self.end += len(rows)

    def align(self, total: int) -> None:
        """The launch stands at tick `total`: an instruction that did not come to pass is dropped,
        ticks without an event have no row."""
        if total < self.end:
            self._count = max(self._count - (self.end - total), 0)
        elif total > self.end:
            self.add(np.full((total - self.end, WORDS), -1, np.int64))
        self.end = total

    @property
    def exact(self) -> int:
        """The first tick whose row is there."""
        return self.end - self._count

    def rows(self, start: int, stop: int) -> Ints:
        """Rows of the exact ticks from `start` to before `stop`; see `exact`."""
        low = max(start - self.exact, 0)
        return self._rows[low : max(stop - self.exact, low)][: self._count - low]

    def turns(self, start: int, stop: int, columns: int) -> Turns:
        """Every stretch; ticks from `start` to before `stop` in columns 1 to `columns`, the older
        ones in column 0, the later ones in column `columns` + 1."""
        exact = self.exact
        parts = []
        if exact > self.first:
            old = self._merged()
            old = old.picked((old.bucket + 1) * self.width <= exact)
            ticks = old.bucket * self.width
            parts.append(Turns(old.who, _columns(ticks, start, stop, columns), old.lanes, old.pc))
        rows = self.rows(exact, self.end)
        ticks = np.arange(exact, exact + len(rows), dtype=np.int64)
        parts.append(Turns.of(rows, _columns(ticks, start, stop, columns)))
        return Turns.joined(parts)

    # ---- the coarse part ---------------------------------------------------------------
    def _note(self, rows: Ints) -> None:
        if self.end // ROWS % self._stride:
            return
        ticks = np.arange(self.end, self.end + len(rows), dtype=np.int64)
        made = Turns.of(rows, ticks // self.width)
        self._coarse.append(made)
        self._entries += len(made)
        if self.end > EVERY * ROWS * self._stride:
            self._stride *= 2
        if self._entries > ENTRIES or len(self._coarse) > ENTRIES // 8:
            self._compact()

    def _merged(self) -> Turns:
        if len(self._coarse) > 1:
            self._coarse = [Turns.joined(self._coarse).merged()]
            self._entries = len(self._coarse[0])
        return self._coarse[0]

    def _compact(self) -> None:
        """Merge entries; wider buckets until half of the room is free.  Where many warps come and
        go, the latest entries stay."""
        found = self._merged()
        while len(found) > ENTRIES // 2 and self.width * BUCKETS < self.end:
            self.width *= 2
            found = Turns(found.who, found.bucket // 2, found.lanes, found.pc).merged()
        kept = np.ones(len(found), bool)
        kept[: max(len(found) - ENTRIES // 2, 0)] = False
        self._coarse = [found.picked(kept)]
        self._entries = len(self._coarse[0])


def _columns(ticks: Ints, start: int, stop: int, columns: int) -> Ints:
    made = (ticks - start) * columns // max(stop - start, 1) + 1
    return made.clip(0, columns + 1)
