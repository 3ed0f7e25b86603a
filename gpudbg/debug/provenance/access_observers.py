"""Observers that find accesses to places while a launch is replayed; three levels of detail.

`ExactObserver` sees every access of single instructions, and takes the step engine.
`AccessCounter` counts what compiled code did to memory, and `WarpRecorder` keeps what warps
executed, in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.debug.breakpoints.touched_lanes import reading
from gpudbg.debug.provenance.places import AskedPlace, WarpKey, key_of
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sm.asynchronous.events import issuer
from gpudbg.sm.observer import Observer
from gpudbg.sm.selection import Selection
from gpudbg.sm.trace import KINDS, SPACES

if TYPE_CHECKING:
    from gpudbg.mem.windows import AddressLayout
    from gpudbg.sm.state import WarpState
    from gpudbg.sm.trace import AccessBatch, Batch

TOUCHED_BY: Final = {"write": ("store", "atomic"), "read": ("load", "atomic")}
"""Kinds of accesses that write, and that read."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An instruction touches a place.

    Attributes:
        tick: warp instructions of the launch before it.
        place: number of the place.
        key, pc: the warp, and the code address.
        lanes: those that touch it.
        kind: load, store, atomic, register or constant.
        asked: where the last time for each lane is wanted, the lanes whose last time it is.
    """

    tick: int
    place: int
    key: WarpKey
    pc: int
    lanes: int
    kind: str
    asked: int = 0


def low_lanes(inside: npt.NDArray[np.bool_]) -> int:
    """Lane mask of 32 truth values."""
    return int(np.packbits(inside, bitorder="little").view("<u4")[0])


class MemoryFilter:
    """Which accesses touch which of some places.

    Args:
        places: by number; those that are no memory are never touched.
        how: write or read.
        layout: where shared and local memory are in generic addresses.
        ranks: the rank in its cluster of a block, by CTA number.
    """

    def __init__(self, places: list[AskedPlace], how: str, layout: AddressLayout) -> None:
        reached = [(n, place.accessed) for n, place in enumerate(places)]
        self._places = [(n, place) for n, place in reached if place is not None]
        self.kinds = TOUCHED_BY[how]
        self._codes = [KINDS.index(kind) for kind in self.kinds]
        self._windows = {"shared": layout.shared_window, "local": layout.local_window}

    def lanes(
        self, warp: WarpState, space: str, address: Any, lanes: int, size: int
    ) -> list[tuple[int, int]]:
        """(Place, lanes that touch it) of one access."""
        if not lanes:
            return []
        at = np.broadcast_to(np.asarray(address), (32,)).astype(np.uint64)
        found = []
        for number, place in self._places:
            offset = self._offset(place, space)
            if offset is None or not self._owned(place, space, warp):
                continue
            goal = at
            if space == "cluster":
                ranks = [n for n, c in enumerate(warp.cta.cluster.ctas) if c.number == place.key[0]]
                there = np.isin(at >> np.uint64(RANK_SHIFT), ranks)
                goal = np.where(there, at & np.uint64(WINDOW_BYTES - 1), np.uint64(1 << 63))
            mask = lanes & low_lanes(_overlaps(goal - np.uint64(offset), size, place))
            mask &= place.lanes if place.space == "local" else 0xFFFFFFFF
            if mask:
                found.append((number, mask))
        return found

    def _offset(self, place: AskedPlace, space: str) -> int | None:
        """What to subtract from an access's address to compare it with the place's; None where the
        space cannot touch it.
        """
        if space == "generic":
            return self._windows.get(place.space, 0)
        if space == "cluster":
            return 0 if place.space == "shared" else None
        return 0 if space == place.space else None

    @staticmethod
    def _owned(place: AskedPlace, space: str, warp: WarpState) -> bool:
        if place.space == "local":
            return key_of(warp) == place.key
        return place.space != "shared" or space == "cluster" or warp.cta.number == place.key[0]

    def count(self, batch: AccessBatch) -> npt.NDArray[np.int64]:
        """Number of accesses of a batch that touch each place. An upper bound: accesses to other
        blocks' shared memory and generic atomics may be counted without touching.
        """
        counts = np.zeros(len(self._places), np.int64)
        rows = batch.rows
        what = rows[:, 1] >> 32 & 0xFFFF
        chosen = np.isin(what & 15, self._codes)
        if not chosen.any():
            return counts
        rows, what = rows[chosen], what[chosen]
        space, size = what >> 4 & 15, (what >> 8).astype(np.uint64)
        for n, (_, place) in enumerate(self._places):
            for name in (place.space, "generic", "cluster"):
                offset = self._offset(place, name)
                if offset is None:
                    continue
                mine = space == SPACES.index(name)
                mine &= self._owned_rows(place, name, rows)
                if mine.any():
                    counts[n] += _touched(rows[mine], size[mine], offset, place, name)
        return counts

    @staticmethod
    def _owned_rows(
        place: AskedPlace, space: str, rows: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        everybody: npt.NDArray[np.bool_] = np.ones(len(rows), bool)
        if place.space == "global" or space == "cluster":
            return everybody
        owned: npt.NDArray[np.bool_] = rows[:, 2] >> 32 == place.key[0]
        if place.space == "local":
            owned &= rows[:, 1] >> 48 & 0xFF == place.key[1]
        return owned


def _overlaps(at: npt.NDArray[np.uint64], size: int, place: AskedPlace) -> npt.NDArray[np.bool_]:
    low = max(place.address - size + 1, 0)
    found: npt.NDArray[np.bool_] = (at >= low) & (at <= place.address + place.size - 1)
    return found


def _touched(
    rows: npt.NDArray[np.int64],
    size: npt.NDArray[np.uint64],
    offset: int,
    place: AskedPlace,
    space: str,
) -> int:
    at = rows[:, 3:].view(np.uint64) - np.uint64(offset)
    if space == "cluster":
        at &= np.uint64(WINDOW_BYTES - 1)
    # An access that starts below the place may reach into it.
    inside = (at < place.address + place.size) & (at + size[:, None] > place.address)
    masks = np.packbits(inside, axis=1, bitorder="little").view("<u4")[:, 0].astype(np.int64)
    masks &= rows[:, 1] & 0xFFFFFFFF
    if place.space == "local":
        masks &= place.lanes
    return int(np.count_nonzero(masks))


class AccessCounter(Observer):
    """Counts accesses to places.

    Attributes:
        counts: since `take`, by place.
    """

    looks_only = True

    def __init__(self, chosen: MemoryFilter, places: int) -> None:
        self._filter = chosen
        self.counts = np.zeros(places, np.int64)

    def accesses(self, batch: AccessBatch) -> None:
        """Observer callback: count a batch of accesses."""
        self.counts += self._filter.count(batch)

    def take(self) -> npt.NDArray[np.int64]:
        """Return the counts and reset them."""
        taken, self.counts = self.counts, np.zeros_like(self.counts)
        return taken


class WarpRecorder(Observer):
    """Keeps which of some instructions some warps execute, in order.

    Attributes:
        rows: of each batch: numbers of instructions since `begin`, and rows of `sm/trace.py`.
    """

    looks_only = True

    def __init__(
        self, keys: set[WarpKey], pcs: frozenset[int] | None, everybody: bool = False
    ) -> None:
        """Args: pcs: code addresses that matter; None: all; everybody: of all warps."""
        self._everybody = everybody
        self._keys = np.array([cta << 32 | warp for cta, warp in sorted(keys)], np.int64)
        self._pcs = None if pcs is None else np.array(sorted(pcs), np.int64)
        self.rows: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
        self._count = 0

    def begin(self, tick: int) -> None:
        """The launch has executed so many instructions."""
        self._count = tick

    def instructions(self, batch: Batch) -> None:
        """Observer callback: keep the rows of the wanted instructions."""
        rows = batch.rows
        if self._everybody:
            chosen = np.ones(len(rows), bool)
        else:
            chosen = np.isin(rows[:, 2] & ~np.int64(0xFFFFFF00), self._keys)
        if self._pcs is not None:
            chosen &= np.isin(rows[:, 0], self._pcs)
        found = np.flatnonzero(chosen)
        if len(found):
            self.rows.append((found + self._count, rows[found].copy()))
        self._count += len(rows)


class ExactObserver(Observer):
    """Sees each access and each instruction; `note` says which instruction of the launch it was.

    Attributes:
        hits: what was seen.
    """

    looks_only = True

    def __init__(
        self,
        places: list[AskedPlace],
        chosen: MemoryFilter,
        registers: dict[int, frozenset[int]],
    ) -> None:
        """Args: registers: by place, the code addresses of instructions that touch it."""
        self._filter, self._registers, self._places = chosen, registers, places
        self.hits: list[Hit] = []
        self._now: list[tuple[int, WarpKey, int, int, str]] = []
        self._pc, self._issuer = 0, 0

    def instruction(self, warp: WarpState, pc: int, instruction: Any, lanes: int) -> None:
        """Observer callback: note the registers that an instruction touches."""
        self._pc = pc
        # The pieces of an asynchronous copy belong to the lane that issued it.
        self._issuer = issuer(instruction.op, lanes)
        self._now.clear()
        if not lanes:
            return
        for number, pcs in self._registers.items():
            place = self._places[number]
            if pc not in pcs:
                continue
            if place.space == "constant":
                found = reading(place.constant, warp, instruction, lanes)
                if found:
                    self._now.append((number, key_of(warp), pc, found, "constant"))
            elif key_of(warp) == place.key and lanes & place.lanes:
                self._now.append((number, place.key, pc, lanes & place.lanes, "register"))

    def access(
        self, warp: WarpState, space: str, kind: str, address: Any, lanes: int, size: int
    ) -> None:
        """Observer callback: note which places an access touches."""
        if kind not in self._filter.kinds:
            return
        for number, mask in self._filter.lanes(warp, space, address, lanes, size):
            self._now.append((number, key_of(warp), self._pc, self._issuer or mask, kind))

    @property
    def seen(self) -> bool:
        """Whether the last instruction touched a place and was not noted yet."""
        return bool(self._now)

    def note(self, warp: WarpState | None, tick: int) -> None:
        """Assign the noted accesses to the launch's instruction number `tick`."""
        for number, key, pc, lanes, kind in self._now:
            last = self.hits[-1] if self.hits else None
            if last is not None and (last.tick, last.place) == (tick - 1, number):
                # Pieces of one asynchronous copy are merged to one hit.
                self.hits[-1] = Hit(tick - 1, number, key, pc, last.lanes | lanes, last.kind)
            else:
                self.hits.append(Hit(tick - 1, number, key, pc, lanes, kind))
        self._now.clear()


class ConstantObserver(ExactObserver):
    """`ExactObserver` for constants alone: code that reads none of them runs compiled."""

    selects = True

    def selection(self) -> Selection:
        """The constant reads that the machine must report."""
        return Selection(constants=tuple(self._places[n].constant for n in self._registers))
