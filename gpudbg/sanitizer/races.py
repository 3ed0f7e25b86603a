"""Data races by happens-before, after the PTX memory consistency model.

Every granule of four bytes keeps who wrote and who read it, with byte masks; an access races with
an earlier one if they overlap, one of them writes, they are not both strong with scopes that
include each other, and no order of the program leads from the earlier to the later one.  Orders are
program order, barriers, warp-level synchronisation, fences around strong accesses, and the begin
and end of launches; none comes from the schedule, so the verdict does not depend on it.

Inside a warp before sm_70 (*policy*): lanes that are active together at an instruction between two
accesses are ordered.  From sm_70 on, and with `portable`, only `__syncwarp` orders them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.bits import lanes_of
from gpudbg.dataclass import dataclass
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sanitizer.barriers import sync_masks
from gpudbg.sanitizer.clocks import EMPTY, Knowledge, Row, Rows, joined
from gpudbg.sanitizer.facts import CTA, GPU, NONE, Facts, data_of, facts_of, result_unused
from gpudbg.sanitizer.launched_warps import MOST_WARPS, LaunchedWarps, WarpPlace
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck, Touch
from gpudbg.sanitizer.race_cells import Cells
from gpudbg.sanitizer.race_records import (
    MOST_RECORDS,
    AccessRecord,
    Agent,
    Cell,
    granules,
    keep,
    unordered,
)
from gpudbg.sanitizer.race_reports import RaceReports, Verdict
from gpudbg.sanitizer.race_window import RaceWindow
from gpudbg.sanitizer.warp_clocks import ClockGroup, WarpClock
from gpudbg.sm.state import RZ

if TYPE_CHECKING:
    from gpudbg.mem.device import DeviceMemory
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sm.barriers.phase import Arrival
    from gpudbg.sm.state import Cta, WarpState

_NEAR = 8
"""Instructions of a warp within which a branch and its target belong together."""


@dataclass(slots=True)
class Phase:
    """A barrier's present phase: knowledge of those who have arrived, and who waits."""

    knowledge: Knowledge = field(default_factory=lambda: Knowledge(EMPTY))
    waiting: list[tuple[WarpClock, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Release:
    """The knowledge that a strong write publishes."""

    block: int
    in_block: Rows = field(default_factory=lambda: EMPTY)
    anywhere: Rows = field(default_factory=lambda: EMPTY)

    def with_(self, in_block: Rows, anywhere: Rows) -> Release:
        """This release joined with another strong write of the block; itself where that adds
        nothing.
        """
        near, far = joined(self.in_block, in_block), joined(self.anywhere, anywhere)
        if near is self.in_block and far is self.anywhere:
            return self
        return Release(self.block, near, far)


class RaceCheck(RunCheck):
    """Finds races of one launch.

    Args:
        lock_step: lanes that are active together are ordered from instruction to instruction.
        emulated: pcs of loads that belong to an atomic the compiler made of compare-and-swap.
        volatile_data: volatile accesses race as others do.
        portable_only: findings are notes of what only lock-step orders.
        masks: of branches to a `__syncwarp` of lanes that are together, by pc, the register with
            the lanes' masks.
        grid, block: dimensions of the launch; base: the number of its first warp.
        window: granules that records are kept of; None: of all.
    """

    def __init__(
        self,
        findings: FindingCollector,
        places: AccessPlaces,
        memory: DeviceMemory,
        *,
        lock_step: bool,
        emulated: frozenset[int] = frozenset(),
        volatile_data: bool = False,
        portable_only: bool = False,
        masks: Mapping[int, int] = MappingProxyType({}),
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (1, 1, 1),
        base: int = 0,
        window: RaceWindow | None = None,
    ) -> None:
        self._memory = memory
        self._window = window if window is not None else RaceWindow(bounded=False)
        self._masks = masks
        self._reports = RaceReports(
            findings, places, memory, self._window, portable_only=portable_only
        )
        self._lock_step, self._emulated = lock_step, emulated
        self._volatile_data = volatile_data
        self._base, self._at_begin = base, EMPTY
        self._launched = LaunchedWarps(base, grid, block)
        self._warps: dict[int, WarpClock] = {}
        self._phases: dict[tuple[int, int], Phase] = {}
        self._waits: dict[int, list[tuple[tuple[int, int], int]]] = {}
        self._gathered: dict[int, dict[int, int]] = {}
        self._converged: dict[int, tuple[int, list[int] | None]] = {}
        self._shared: dict[int, Cells] = {}
        self._global = Cells(self._launched, self._window, shared=False)
        self._spans: dict[int, tuple[Row, int, int]] = {}
        self._released: dict[Hashable, dict[int, Release]] = {}

    def _first_of(self, cta: Cta) -> int:
        """Number of a CTA's first warp."""
        return self._base + cta.number * MOST_WARPS

    # ---- warps -------------------------------------------------------------------------
    def _clock(self, warp: WarpState) -> WarpClock:
        number = self._first_of(warp.cta) + warp.index
        found = self._warps.get(number)
        if found is None:
            zero = ClockGroup(warp.valid, np.zeros(32, np.int64), Knowledge(self._at_begin))
            found = self._warps[number] = WarpClock(number, [zero])
        return found

    def cta_end(self, cta: Cta) -> None:
        cells = self._shared.pop(cta.number, None)
        if cells is not None:
            self._window.drop(cells)
        for index in range(MOST_WARPS):
            self._warps.pop(self._first_of(cta) + index, None)
        for key in [k for k in self._phases if k[0] == cta.number]:
            del self._phases[key]

    def executed(self, step: ExecutedInstruction) -> None:
        clock = self._clock(step.warp)
        for key, lanes in self._waits.get(clock.number, ()):
            if lanes & step.active:
                # They continue: the barrier has released them.
                self._complete(key)
                break
        gathered = self._gathered.get(clock.number)
        for mask in [m for m, lanes in gathered.items() if lanes & step.active] if gathered else ():
            # The group of a WARPSYNC continues.
            del gathered[mask]  # type: ignore[union-attr]
        facts = facts_of(step.insn)
        self._spans.clear()
        if self._lock_step:
            group = clock.group(step.active)
            group.known = clock.tick
        clock.tick += 1
        if step.pc in self._masks:
            row = step.warp.rows[self._masks[step.pc]]
            self._converged[clock.number] = clock.tick, None if row is None else row.tolist()
        if not step.lanes:
            return
        if facts.fence:
            self._fence(clock, step, facts.fence)
        elif facts.warp_sync and not self._lock_step:
            self._warp_sync(clock, step)
        self._accesses(clock, step, facts)

    def _accesses(self, clock: WarpClock, step: ExecutedInstruction, facts: Facts) -> None:
        """Examine all accesses of an instruction."""
        for touch in step.touches:
            if touch.space != "local":
                self._touch(clock, step, touch, facts)

    def _warp_sync(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        """Handle warp-level synchronisation: the lanes learn what each other know."""
        for group in self._met(clock, step):
            group.known = clock.tick

    def _met(self, clock: WarpClock, step: ExecutedInstruction) -> list[ClockGroup]:
        """Groups of lanes that meet at a WARPSYNC, by mask, including lanes of the same mask that
        arrived earlier.
        """
        by_mask: dict[int, int] = {}
        masks = sync_masks(step.warp, step.insn)
        if step.insn.op == "NOP":
            tick, held = self._converged.pop(clock.number, (0, None))
            masks = held if clock.tick - tick < _NEAR else None
        if masks is None:
            return [clock.group(step.active)]
        for lane in lanes_of(step.lanes):
            by_mask[masks[lane]] = by_mask.get(masks[lane], 0) | 1 << lane
        waiting = self._gathered.setdefault(clock.number, {})
        found = []
        for mask, lanes in by_mask.items():
            waiting[mask] = waiting.get(mask, 0) | lanes
            found.append(clock.group(waiting[mask]))
        return found

    def _fence(self, clock: WarpClock, step: ExecutedInstruction, scope: int) -> None:
        if self._lock_step:
            group = clock.group(step.active)
            clock.learn(group, group.whole(clock.number).fenced(scope >= GPU))
            return
        for lane in lanes_of(step.lanes):
            # Each lane publishes its own work only.
            group = clock.group(1 << lane)
            whole = group.whole(clock.number)
            whole.seen[clock.number][lane] = clock.tick
            clock.learn(group, whole.fenced(scope >= GPU))

    # ---- barriers ----------------------------------------------------------------------
    def barrier(
        self, step: ExecutedInstruction, arrival: Arrival, released: Sequence[WarpState]
    ) -> None:
        clock, cta = self._clock(step.warp), step.warp.cta
        key = (cta.number, arrival.barrier)
        phase = self._phases.setdefault(key, Phase())
        lanes = step.active if self._lock_step else arrival.lanes
        if self._lock_step:
            group = clock.group(lanes)
            group.known = clock.tick
            phase.knowledge = phase.knowledge.join(group.whole(clock.number))
        else:
            # Each lane's work is released, although the lanes do not learn of one another.
            for group, part in clock.of(lanes):
                phase.knowledge = phase.knowledge.join(clock.published(group, part))
        if arrival.mode != "ARV":
            phase.waiting.append((clock, lanes))
            self._waits.setdefault(clock.number, []).append((key, lanes))
        if not cta.barriers.slots[arrival.barrier].arrived:
            self._complete(key)

    def _complete(self, key: tuple[int, int]) -> None:
        """Complete a barrier: waiting warps learn what the arrived ones knew."""
        phase = self._phases.pop(key, None)
        for clock, lanes in phase.waiting if phase is not None else ():
            assert phase is not None
            waits = self._waits.get(clock.number, [])
            waits[:] = [w for w in waits if w[0] != key]
            group = clock.group(lanes)
            group.knowledge = group.knowledge.join(phase.knowledge)
            own = group.knowledge.seen.get(clock.number)
            if own is not None:
                group.own = np.maximum(group.row(), own)

    # ---- accesses ----------------------------------------------------------------------
    def _touch(
        self, clock: WarpClock, step: ExecutedInstruction, touch: Touch, facts: Facts
    ) -> None:
        strong = facts.strong
        if step.pc in self._emulated:
            strong = GPU
        if self._volatile_data and touch.kind != "atomic":
            strong = NONE
        reads, writes = touch.kind != "store", touch.kind != "load"
        unread = touch.kind == "atomic" and result_unused(step.insn)
        if strong and reads and self._released:
            self._acquire(clock, step, touch)
        for home, all_lanes in self._homes(step, touch):
            part = self._window.part(home is not None, all_lanes)
            if part is None:
                continue
            cells = self._cells(home)
            for number, bytes_, lanes in granules(part):
                if part.size > 4 and not self._window.wants(home is not None, number):
                    continue
                value = self._value(home, number) if writes else None
                for some, agent in self._agents(clock, step, lanes):
                    made = AccessRecord(
                        clock.number, some, clock.tick, bytes_, step.pc, strong, touch.kind,
                        value, self._place(clock.number), step.warp.cta.number, touch.size, agent,
                        facts.read_only, unread=unread,
                    )  # fmt: skip
                    self._record(clock, step, cells, number, made)
                if writes and lanes & lanes - 1 and touch.kind != "atomic":
                    same = _same_data(step, part, number, lanes)
                    self._reports.same_instruction(made, _space(home), number, same)
        self._window.check()
        if strong and writes:
            self._release(clock, step, touch)

    def _agents(
        self, clock: WarpClock, step: ExecutedInstruction, lanes: int
    ) -> list[tuple[int, Agent | None]]:
        """(lanes, agent) of an instruction's accesses, grouped by knowledge; None: the threads
        themselves.
        """
        if self._lock_step:
            return [(lanes, None)]
        return [(part, None) for _, part in clock.of(lanes)]

    def _record(
        self, clock: WarpClock, step: ExecutedInstruction, cells: Cells, number: int,
        made: AccessRecord,
    ) -> None:  # fmt: skip
        """Compare an access to a granule with those before it, and keep it."""
        cell = cells.get(number) or Cell()
        group = clock.group(step.active) if self._lock_step else self._of_lane(clock, made.lanes)
        row, known = group.row(), group.knowledge
        space = "shared" if cells.shared else "global"
        cell.counted(made)
        before: set[int] = set()
        for old in (*cell.writes, *cell.reads) if made.writes else cell.writes:
            if not old.bytes & made.bytes:
                continue
            verdict = self._judge(old, made, known, row, space)
            if verdict is None:
                continue
            if cell.observed(old, made, known.seen, row):
                before.add(id(old))
            else:
                self._reports.add(old, made, verdict, space, number, of_granule=True)
        keep(cell.writes if made.writes else cell.reads, made)
        if made.writes and not made.strong:
            self._forget(cell, made, known.seen, row)
            # Whatever comes after this write comes after those as well.
            cell.writes = [w for w in cell.writes if id(w) not in before or w.bytes & ~made.bytes]
        cells.put(number, cell)

    def _judge(
        self, old: AccessRecord, made: AccessRecord, known: Knowledge, row: Row, space: str
    ) -> Verdict | None:
        """Whether and how an access races with an earlier one that it overlaps."""
        if old.strong and made.strong and old.bytes == made.bytes and old.size == made.size:
            if old.block == made.block or (old.strong > CTA and made.strong > CTA):
                return None
        if not self._unordered(old, made, known.seen, row):
            return None
        return Verdict.of(old, made)

    def _unordered(self, old: AccessRecord, made: AccessRecord, known: Rows, row: Row) -> int:
        """`unordered`, with what is the same for all granules of an instruction looked up."""
        ticks = row if old.warp == made.warp else known.get(old.warp)
        if ticks is None:
            return old.lanes
        span = self._spans.get(id(ticks))
        if span is None:
            span = self._spans[id(ticks)] = ticks, int(ticks.min()), int(ticks.max())
        _, least, most = span
        if old.tick <= least:
            return 0
        if old.tick > most and old.warp != made.warp:
            return old.lanes
        return unordered(old, made, known, row)

    def _forget(self, cell: Cell, made: AccessRecord, known: Rows, row: Row) -> None:
        """Drop records that a write is ordered after: what races with them races with the write,
        too.
        """
        cell.reads = [
            r for r in cell.reads if r.bytes & ~made.bytes or self._unordered(r, made, known, row)
        ]
        if len(cell.writes) > MOST_RECORDS:
            cell.writes = [
                r
                for r in cell.writes
                if r is made or r.bytes & ~made.bytes or self._unordered(r, made, known, row)
            ]

    def _of_lane(self, clock: WarpClock, lanes: int) -> ClockGroup:
        first = lanes & -lanes
        for group in clock.groups:
            if group.lanes & first:
                return group
        return clock.group(first)

    def _homes(self, step: ExecutedInstruction, touch: Touch) -> list[tuple[Cta | None, Touch]]:
        """(CTA whose shared memory is accessed, or None for global; the access) for each memory an
        access goes to.
        """
        if touch.space == "global":
            return [(None, touch)]
        cta = step.warp.cta
        if touch.space == "shared":
            return [(cta, touch)]
        found: dict[int, int] = {}
        for lane, address in touch.by_lane():
            rank = address >> RANK_SHIFT
            found[rank] = found.get(rank, 0) | 1 << lane
        offsets = touch.addresses & np.uint64(WINDOW_BYTES - 1)
        ctas = cta.cluster.ctas
        return [
            (ctas[rank], Touch("shared", touch.kind, touch.size, lanes, offsets))
            for rank, lanes in found.items()
            if rank < len(ctas)
        ]

    def _cells(self, home: Cta | None) -> Cells:
        if home is None:
            return self._global
        found = self._shared.get(home.number)
        if found is None:
            found = self._shared[home.number] = Cells(self._launched, self._window, shared=True)
        return found

    def _place(self, warp: int) -> WarpPlace:
        """A warp for reports, by its number: its registers are not kept."""
        return WarpPlace(warp, self._launched)

    def _value(self, home: Cta | None, number: int) -> int | None:
        if home is not None:
            data = home.shared.data[4 * number : 4 * number + 4]
        else:
            found = self._memory.find(4 * number)
            if found is None:
                return None
            at = 4 * number - found.base
            data = found.data[at : at + 4]
        return int.from_bytes(data.tobytes(), "little")

    # ---- strong accesses ---------------------------------------------------------------
    def _keys(self, step: ExecutedInstruction, touch: Touch) -> Iterator[tuple[int, Hashable]]:
        for home, part in self._homes(step, touch):
            number = None if home is None else home.number
            for lane, address in part.by_lane():
                yield lane, (number, address)

    def _acquire(self, clock: WarpClock, step: ExecutedInstruction, touch: Touch) -> None:
        block = step.warp.cta.number
        for lane, key in self._keys(step, touch):
            released = self._released.get(key)
            if not released:
                continue
            group = clock.group(step.active if self._lock_step else 1 << lane)
            for release in released.values():
                if not group.hears(release):
                    continue
                near = release.in_block if release.block == block else EMPTY
                group.knowledge = group.knowledge.heard(near, release.anywhere)

    def _release(self, clock: WarpClock, step: ExecutedInstruction, touch: Touch) -> None:
        block = step.warp.cta.number
        for lane, key in self._keys(step, touch):
            group = clock.group(step.active) if self._lock_step else self._of_lane(clock, 1 << lane)
            published = group.knowledge.released
            if touch.kind != "atomic":
                self._released.pop(key, None)
            if published[0] or published[1]:
                row = self._released.setdefault(key, {})
                row[block] = row.get(block, Release(block)).with_(*published)


def _space(home: Cta | None) -> str:
    return "global" if home is None else "shared"


def _same_data(step: ExecutedInstruction, touch: Touch, number: int, lanes: int) -> bool:
    """Whether lanes of one store write the same to a granule."""
    data = data_of(step.insn)
    index = getattr(data, "index", None)
    if index is None:
        return False
    words: set[int] = set()
    for lane, address in touch.by_lane():
        if lanes >> lane & 1:
            row = step.warp.rows[min(index + max(0, (4 * number - address) // 4), RZ)]
            words.add(0 if row is None else int(row[lane]))
    low = {word & (1 << 8 * min(touch.size, 4)) - 1 for word in words}
    return len(low) == 1


def emulated_atomics(instructions: Sequence[tuple[int, Any]]) -> frozenset[int]:
    """Loads of shared memory that belong to an atomic made of a compare-and-swap loop.

    Args:
        instructions: (pc, instruction) in order.
    """
    found: set[int] = set()
    for n, (_, insn) in enumerate(instructions):
        if insn.op != "ATOMS" or ".CAS" not in insn.text():
            continue
        address = str(insn.o.get("addr") or insn.o.get("a"))
        for pc, other in instructions[max(0, n - _LOOP) : n + _LOOP]:
            if other.op == "LDS" and str(other.o.get("addr") or other.o.get("a")) == address:
                found.add(pc)
    return frozenset(found)


_LOOP = 24
"""Instructions around a compare-and-swap within which its loop's load is searched."""
