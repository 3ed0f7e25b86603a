"""The search backwards for who touched places last, over stretches that are carried out again.

Stretches become longer the further back they are.  A short one is looked at instruction by
instruction.  In a long one compiled code runs in slices and says how often each place was touched;
only slices where it was are looked at again.  Registers are found among the instructions that
compiled code has executed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.debug.history.replay import Position, Replay, SearchInterruptedError
from gpudbg.debug.provenance.access_observers import (
    AccessCounter,
    ConstantObserver,
    ExactObserver,
    Hit,
    MemoryFilter,
    WarpRecorder,
)
from gpudbg.debug.provenance.places import AskedPlace, find_warp, raw_value
from gpudbg.isa.constant_reads import constant_reads
from gpudbg.isa.family import decode

if TYPE_CHECKING:
    from gpudbg.debug.history.history import LaunchHistory
    from gpudbg.debug.inferior import Inferior

NEAR = 4096
"""Warp instructions that are looked at one by one first, and at most."""
GROWTH: Final = 16
Counts = npt.NDArray[np.int64]
SLICES: Final = 64
"""Slices of a long stretch."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Something was changed from outside.

    Attributes:
        at: where.
        place: number of the place that it changed.
        lanes: whose value is another one.
        asked: as of `Hit`.
    """

    at: Position
    place: int
    lanes: int
    asked: int = 0


class SearchGoals:
    """What of each place is still to be found.

    Args:
        places: those that are asked about.
        most: hits of each place, or 0: the last one for each lane that asks.
    """

    def __init__(self, places: list[AskedPlace], most: int) -> None:
        self.places, self.most = places, most
        self.found: list[list[Hit | Edit]] = [[] for _ in places]
        self._left = [place.lanes for place in places]

    def open(self, number: int) -> bool:
        """Whether more hits of a place are wanted."""
        if self.most:
            return len(self.found[number]) < self.most
        return bool(self._left[number])

    @property
    def any_open(self) -> bool:
        """Whether more hits of any place are wanted."""
        return any(self.open(n) for n in range(len(self.places)))

    def take(self, hit: Hit | Edit) -> None:
        """Count a hit, the next one backwards in time."""
        number = hit.place
        if not self.open(number):
            return
        place = self.places[number]
        # One word of memory that several lanes named is a single place: all of them are answered.
        lanes = hit.lanes & place.lanes if not place.in_memory else self._left[number]
        if not self.most and not lanes & self._left[number]:
            return
        if not self.most:
            hit = replace(hit, asked=lanes & self._left[number])
        self._left[number] &= ~lanes
        self.found[number].append(hit)

    def left(self, number: int) -> int:
        """Mask of the lanes of a place that are still unanswered."""
        return self._left[number]

    def unfound(self) -> list[int]:
        """Numbers of places whose initial value is wanted, too."""
        return [n for n in range(len(self.places)) if self.open(n)]


class Search:
    """One search.

    Args:
        inferior: whose launch.
        history: its past, which the search stands in.
        travel: has the launch stand at a position.
        how: "write" or "read".
    """

    def __init__(
        self,
        inferior: Inferior,
        history: LaunchHistory,
        travel: Callable[[Position], None],
        how: str,
    ) -> None:
        self._inferior, self._replay, self._travel = inferior, history.replay, travel
        self._how = how

    def last(self, wanted: SearchGoals, high: Position, least: int = 0) -> None:
        """Look back from a position until nothing is wanted, or the past or its places begin.

        Args:
            least: a tick before which nothing is looked for.
        """
        replay, size = self._replay, NEAR
        self._prepare(wanted)
        if not self._can_be_touched(wanted):
            return
        while wanted.any_open and high > replay.first and high.tick >= least:
            if self._how == "write" and self._is_edited(high):
                self._take_edits(wanted, high)
                if not wanted.any_open:
                    break
            low = replay.latest(high.tick - size) if high.tick > size else replay.first
            low = max(low, replay.earlier(high, needed=True))
            if size > NEAR:
                low = max(low, min(replay.earlier(high), replay.latest(high.tick - NEAR)))
            self._travel(low)
            for hit in reversed(self._scan(wanted, low, high)):
                wanted.take(hit)
            if not self._are_there(wanted):
                break
            size, high = size * GROWTH, low
        if self._how == "write" and high <= replay.first and self._is_edited(high):
            self._take_edits(wanted, high)

    def _prepare(self, wanted: SearchGoals) -> None:
        places, symbols = wanted.places, self._inferior.symbols
        self._registers: dict[int, frozenset[int]] = {}
        arch = self._inferior.program.arch
        by_code = [(n, place) for n, place in enumerate(places) if place.in_code]
        lines = [row for row in symbols.listing if row.legal] if by_code else []
        rows = [(row.pc, decode(row.word, arch)) for row in lines]
        for number, place in by_code:
            touches = place.written_by if self._how == "write" else place.read_by
            self._registers[number] = frozenset(pc for pc, insn in rows if touches(insn))
        # Where a register selects the constant, the pc alone does not tell whether it is read.
        self._pointed = {
            number
            for number, place in by_code
            if place.space == "constant"
            for pc, insn in rows
            if pc in self._registers[number]
            if any(read.base is not None for read in constant_reads(insn))
        }
        self._filter = MemoryFilter(places, self._how, self._inferior.grid.gpu.layout)

    def _can_be_touched(self, wanted: SearchGoals) -> bool:
        """Whether any instruction, memory access or edit can touch one of the places."""
        if any(mark.needed for mark in self._replay.marks):
            return True
        by_code = all(place.accessed is None for place in wanted.places)
        return not by_code or any(self._registers.values())

    def _are_there(self, wanted: SearchGoals) -> bool:
        """Whether a wanted place existed before: its warp or block was resident."""
        grid = self._inferior.grid
        for number, place in enumerate(wanted.places):
            if not wanted.open(number):
                continue
            if place.space in ("global", "constant"):
                return True
            if place.space == "shared":
                if any(cta.number == place.key[0] for cta in grid.ctas()):
                    return True
            elif find_warp(grid, place.key) is not None:
                return True
        return False

    # ---- changes from outside ------------------------------------------------------------
    def _is_edited(self, at: Position) -> bool:
        return any(mark.needed and mark.at == at for mark in self._replay.marks)

    def _take_edits(self, wanted: SearchGoals, at: Position) -> None:
        """Take the edits at a position that concern the places; the launch stands before the
        edits.
        """
        self._travel(at)
        after = self._raw(wanted)
        self._replay.go_before_change(at)
        before = self._raw(wanted)
        for number, old in before.items():
            lanes = sum(1 << n for n, raw in old.items() if raw != after[number].get(n))
            if lanes:
                wanted.take(Edit(at, number, lanes))

    def _raw(self, wanted: SearchGoals) -> dict[int, dict[int, bytes | None]]:
        found = {}
        for number, place in enumerate(wanted.places):
            lanes = [n for n in range(32) if place.lanes >> n & 1]
            if place.in_memory:
                lanes = lanes[:1]
            if wanted.open(number):
                found[number] = {n: raw_value(self._inferior, place, n) for n in lanes}
        return found

    # ---- stretches -----------------------------------------------------------------------
    def _scan(self, wanted: SearchGoals, low: Position, high: Position) -> list[Hit]:
        """Hits of the places between two positions, in order; the launch must stand at `low`.

        Of a long stretch only the last ones that are wanted.
        """
        if high.tick - low.tick <= NEAR or self._inferior.grid.fast is None:
            return self._scan_exactly(wanted, high)
        hits: list[Hit] = []
        pointed = [n for n in self._pointed if wanted.open(n)]
        if any(wanted.open(n) for n in self._registers if n not in pointed):
            hits += self._scan_code(wanted, high)
        if pointed:
            self._travel(low)
            hits += self._scan_constants(wanted, high, pointed)
        if any(wanted.open(n) and p.accessed for n, p in enumerate(wanted.places)):
            if self._registers:
                self._travel(low)
            hits += self._scan_slices(wanted, low, high)
        # A slice reports hits of constants that were already found from the code: merge them.
        found = {(hit.tick, hit.place): hit for hit in reversed(hits)}
        return sorted(found.values(), key=lambda hit: hit.tick)

    def _scan_exactly(self, wanted: SearchGoals, high: Position) -> list[Hit]:
        exact = ExactObserver(wanted.places, self._filter, self._registers)
        self._replay.scan(high, exact.note, exact)
        return exact.hits

    def _scan_constants(self, wanted: SearchGoals, high: Position, numbers: list[int]) -> list[Hit]:
        """Stop at each instruction that can read one."""
        replay = self._replay
        nothing = MemoryFilter([], self._how, self._inferior.grid.gpu.layout)
        chosen = {n: self._registers[n] for n in numbers}
        exact = ConstantObserver(wanted.places, nothing, chosen)
        asked = {"until": lambda warp: exact.seen, "selected": True}
        with replay.quiet(exact):
            while replay.at < high:
                last = high.tick if high.moves == replay.at.moves else None
                event = replay.onward(last, asked)
                if event is not None and event.kind == "interrupted":
                    raise SearchInterruptedError(event)
                exact.note(None, replay.at.tick)
        return exact.hits

    def _scan_code(self, wanted: SearchGoals, high: Position) -> list[Hit]:
        replay, places = self._replay, wanted.places
        numbers = [n for n in self._registers if n not in self._pointed and wanted.open(n)]
        pcs: frozenset[int] = frozenset().union(*(self._registers[n] for n in numbers))
        if not pcs:
            run_to(replay, high)
            return []
        constant = any(places[n].space == "constant" for n in numbers)
        keys = {places[n].key for n in numbers}
        seen = WarpRecorder(keys, pcs, everybody=constant)
        seen.begin(replay.grid.total)
        with replay.quiet(seen):
            run_to(replay, high, lambda: seen.begin(replay.grid.total))
        out: list[Hit] = []
        for number in numbers:
            out += _hits_of(number, places[number], self._registers[number], seen, wanted.most)
        return out

    def _scan_slices(self, wanted: SearchGoals, low: Position, high: Position) -> list[Hit]:
        replay = self._replay
        memory = [n for n, p in enumerate(wanted.places) if p.accessed]
        batches = AccessCounter(self._filter, len(memory))
        step = max((high.tick - low.tick) // SLICES, NEAR)
        counts, starts = [], []
        with replay.quiet(batches):
            while replay.at < high:
                starts.append(replay.at)
                to = replay.at.tick + step
                goal = high if to >= high.tick else replay.latest(to)
                run_to(replay, goal)
                counts.append(batches.take())
        ends = [*starts[1:], high]
        hits: list[Hit] = []
        left = np.array([_most_left(wanted, n) for n in memory])
        for chosen in _groups(counts, left):
            found: list[Hit] = []
            for n in chosen:
                self._travel(starts[n])
                found += self._scan_slice(wanted, starts[n], ends[n])
            hits = found + hits
            for hit in found:
                if hit.place in memory:
                    left[memory.index(hit.place)] -= 1
            if (left <= 0).all():
                break
        return hits

    def _scan_slice(self, wanted: SearchGoals, low: Position, high: Position) -> list[Hit]:
        if high.tick - low.tick <= 4 * NEAR:
            return self._scan_exactly(wanted, high)
        self._replay.mark(low)
        return self._scan_slices(wanted, low, high)


def run_to(replay: Replay, high: Position, paused: Callable[[], None] = lambda: None) -> None:
    """Replay to a position, with the attached observers notified.

    Args:
        paused: called after each piece of it.

    Raises:
        SearchInterruptedError: it was interrupted.
    """
    while replay.at < high:
        last = high.tick if high.moves == replay.at.moves else None
        event = replay.onward(last, {})
        if event is not None and event.kind == "interrupted":
            raise SearchInterruptedError(event)
        if (trace := replay.grid.trace) is not None:
            trace.flush()
        paused()


def _most_left(wanted: SearchGoals, number: int) -> int:
    """How many hits of a place may still be wanted."""
    if not wanted.open(number):
        return 0
    return wanted.most - len(wanted.found[number]) if wanted.most else 1


def _groups(counts: list[Counts], left: Counts) -> list[list[int]]:
    """Slices to look at, in order of time, in groups from the last one back: the first group has
    as many hits as are wanted, should none of them be a mistake."""
    rest = left.copy()
    groups: list[list[int]] = []
    group: list[int] = []
    for n in reversed(range(len(counts))):
        if not (counts[n] * (left > 0)).any():
            continue
        group.insert(0, n)
        rest -= counts[n]
        if (rest <= 0).all():
            groups.append(group)
            group = []
            rest = np.ones_like(rest)
    if group:
        groups.append(group)
    return groups


def _hits_of(
    number: int, place: AskedPlace, pcs: frozenset[int], seen: WarpRecorder, most: int
) -> list[Hit]:
    """The last hits of a place among what warps executed."""
    wanted = np.array(sorted(pcs), np.int64)
    found: list[Hit] = []
    left = place.lanes
    for ticks, rows in reversed(seen.rows):
        mine = np.isin(rows[:, 0], wanted)
        if place.space != "constant":
            mine &= rows[:, 2] & ~np.int64(0xFFFFFF00) == place.key[0] << 32 | place.key[1]
            mine &= rows[:, 1] & place.lanes != 0
        else:
            mine &= rows[:, 1] & 0xFFFFFFFF != 0
        for n in reversed(np.flatnonzero(mine).tolist()):
            lanes = int(rows[n, 1]) & 0xFFFFFFFF
            if place.space != "constant":
                lanes &= place.lanes
            if not most and not lanes & left:
                continue
            left &= ~lanes
            key = int(rows[n, 2]) >> 32, int(rows[n, 2]) & 0xFF
            found.append(Hit(int(ticks[n]), number, key, int(rows[n, 0]), lanes, "register"))
            if (most and len(found) >= most) or (not most and not left):
                return found[::-1]
    return found[::-1]
