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

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.bits import lanes_of
from gpudbg.mem.lanes import bools
from gpudbg.sanitizer.clocks import EMPTY, Knowledge, Row, Rows, joined
from gpudbg.sanitizer.facts import CTA, GPU, NONE, Facts, data_of, facts_of
from gpudbg.sanitizer.findings import CheckFinding, FindingAccess
from gpudbg.sanitizer.monitor import ExecutedInstruction, RunCheck, Touch
from gpudbg.sm.state import RZ

if TYPE_CHECKING:
    from gpudbg.mem.device import DeviceMemory
    from gpudbg.sanitizer.collector import FindingCollector
    from gpudbg.sanitizer.places import AccessPlaces
    from gpudbg.sm.barriers.phase import Arrival
    from gpudbg.sm.state import Cta, WarpState

MOST_WARPS = 64
"""Warps that a CTA can have: a warp's number in the grid is its CTA's times this, plus its own."""
MOST_RECORDS = 24
"""Records of writes that a granule keeps beside those that are not ordered."""


@dataclass(slots=True)
class AccessRecord:
    """One warp instruction's access to a granule."""

    warp: int
    lanes: int
    tick: int
    bytes: int
    pc: int
    strong: int
    kind: str
    value: int | None
    state: WarpState
    block: int


@dataclass(slots=True)
class Cell:
    """What is kept of four bytes."""

    writes: list[AccessRecord] = field(default_factory=list)
    reads: list[AccessRecord] = field(default_factory=list)


@dataclass(slots=True)
class ClockGroup:
    """Lanes of a warp that know the same.

    Attributes:
        lanes: mask.
        own: of the warp's own lanes, ticks up to which their work is known.
        known: all lanes of the group are known up to this tick beside what `own` says.
    """

    lanes: int
    own: Row
    knowledge: Knowledge
    known: int = 0

    def row(self) -> Row:
        """What is known of the warp's own lanes."""
        if self.known:
            np.maximum(self.own, self.known, out=self.own, where=bools(self.lanes))
        return self.own

    def copy(self, lanes: int) -> ClockGroup:
        """The same for some of its lanes."""
        return ClockGroup(lanes, self.row().copy(), self.knowledge)

    def whole(self, warp: int) -> Knowledge:
        """What is known, the warp's own lanes included."""
        seen = {**self.knowledge.seen, warp: self.row().copy()}
        return Knowledge(seen, self.knowledge.released, self.knowledge.acquired)


@dataclass(slots=True)
class WarpClock:
    """The groups of a warp, and how many instructions it has executed."""

    number: int
    groups: list[ClockGroup]
    tick: int = 0

    def group(self, lanes: int) -> ClockGroup:
        """The group of exactly these lanes, which know together what each knew."""
        for group in self.groups:
            if group.lanes == lanes:
                return group
        made: ClockGroup | None = None
        rest = []
        for group in self.groups:
            common = group.lanes & lanes
            if not common:
                rest.append(group)
                continue
            part = group.copy(common)
            if group.lanes != common:
                part_rest = group.copy(group.lanes & ~common)
                rest.append(part_rest)
            made = part if made is None else _together(made, part)
        if made is None:
            made = ClockGroup(lanes, np.zeros(32, np.int64), Knowledge(EMPTY))
        made.lanes = lanes
        self.groups = [*rest, made]
        return made


def _together(a: ClockGroup, b: ClockGroup) -> ClockGroup:
    return ClockGroup(
        a.lanes | b.lanes, np.maximum(a.row(), b.row()), a.knowledge.join(b.knowledge)
    )


@dataclass(slots=True)
class Phase:
    """A barrier's present phase: what those who have arrived know, and who waits."""

    knowledge: Knowledge = field(default_factory=lambda: Knowledge(EMPTY))
    waiting: list[tuple[WarpClock, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Release:
    """What a strong write publishes."""

    block: int
    in_block: Rows
    anywhere: Rows


class RaceCheck(RunCheck):
    """Finds races of one launch.

    Args:
        lock_step: lanes that are active together are ordered from instruction to instruction.
        emulated: pcs of loads that belong to an atomic the compiler made of compare-and-swap.
        volatile_data: volatile accesses race as others do.
        portable_only: findings are notes of what only lock-step orders.
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
    ) -> None:
        self._findings, self._places, self._memory = findings, places, memory
        self._lock_step, self._emulated = lock_step, emulated
        self._volatile_data, self._portable_only = volatile_data, portable_only
        self._warps: dict[int, WarpClock] = {}
        self._phases: dict[tuple[int, int], Phase] = {}
        self._waits: dict[int, tuple[int, int]] = {}
        self._shared: dict[int, dict[int, Cell]] = {}
        self._global: dict[int, Cell] = {}
        self._released: dict[Hashable, list[Release]] = {}

    # ---- warps -------------------------------------------------------------------------
    def _clock(self, warp: WarpState) -> WarpClock:
        number = warp.cta.number * MOST_WARPS + warp.index
        found = self._warps.get(number)
        if found is None:
            zero = ClockGroup(warp.valid, np.zeros(32, np.int64), Knowledge(EMPTY))
            found = self._warps[number] = WarpClock(number, [zero])
        return found

    def cta_end(self, cta: Cta) -> None:
        self._shared.pop(cta.number, None)
        for index in range(MOST_WARPS):
            self._warps.pop(cta.number * MOST_WARPS + index, None)
        for key in [k for k in self._phases if k[0] == cta.number]:
            del self._phases[key]

    def executed(self, step: ExecutedInstruction) -> None:
        clock = self._clock(step.warp)
        wait = self._waits.get(clock.number)
        if wait is not None:
            self._complete(wait)
        facts = facts_of(step.insn)
        if self._lock_step:
            group = clock.group(step.active)
            group.known = clock.tick
        clock.tick += 1
        if not step.lanes:
            return
        if facts.fence:
            self._fence(clock, step, facts.fence)
        elif facts.warp_sync and not self._lock_step:
            clock.group(step.active).known = clock.tick
        for touch in step.touches:
            if touch.space != "local":
                self._touch(clock, step, touch, facts)

    def _fence(self, clock: WarpClock, step: ExecutedInstruction, scope: int) -> None:
        if self._lock_step:
            group = clock.group(step.active)
            group.knowledge = group.whole(clock.number).fenced(scope >= GPU)
            return
        for lane in lanes_of(step.lanes):
            # Each publishes its own work, which the others do not come after.
            group = clock.group(1 << lane)
            whole = group.whole(clock.number)
            whole.seen[clock.number][lane] = clock.tick
            group.knowledge = whole.fenced(scope >= GPU)

    # ---- barriers ----------------------------------------------------------------------
    def barrier(
        self, step: ExecutedInstruction, arrival: Arrival, released: Sequence[WarpState]
    ) -> None:
        clock, cta = self._clock(step.warp), step.warp.cta
        key = (cta.number, arrival.barrier)
        phase = self._phases.setdefault(key, Phase())
        lanes = step.active if self._lock_step else arrival.lanes
        group = clock.group(lanes)
        if self._lock_step:
            group.known = clock.tick
        mine = group.whole(clock.number)
        if not self._lock_step:
            # What each lane has done is released, though lanes do not know of one another.
            row = mine.seen[clock.number].copy()
            row[bools(lanes)] = clock.tick
            mine = Knowledge({**mine.seen, clock.number: row}, mine.released, mine.acquired)
        phase.knowledge = phase.knowledge.join(mine)
        if arrival.mode != "ARV":
            phase.waiting.append((clock, lanes))
            self._waits[clock.number] = key
        if not cta.barriers.slots[arrival.barrier].arrived:
            self._complete(key)

    def _complete(self, key: tuple[int, int]) -> None:
        """All have come: those who waited know what those who arrived knew."""
        phase = self._phases.pop(key, None)
        for clock, lanes in phase.waiting if phase is not None else ():
            assert phase is not None
            self._waits.pop(clock.number, None)
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
        cells = self._cells(step, touch)
        reads, writes = touch.kind != "store", touch.kind != "load"
        if strong and reads and self._released:
            self._acquire(clock, step, touch)
        for number, bytes_, lanes in _granules(touch):
            cell = cells.get(number)
            if cell is None:
                cell = cells[number] = Cell()
            group = clock.group(step.active) if self._lock_step else self._of_lane(clock, lanes)
            value = self._value(step, touch.space, number) if writes else None
            row = group.row()
            made = AccessRecord(
                clock.number, lanes, clock.tick, bytes_, step.pc, strong, touch.kind, value,
                step.warp, step.warp.cta.number,
            )  # fmt: skip
            self._compare(made, cell.writes, group, row, touch.space, number)
            if writes:
                self._compare(made, cell.reads, group, row, touch.space, number)
                if lanes & lanes - 1 and touch.kind != "atomic":
                    same = _same_data(step, touch, number, lanes)
                    self._report(made, made, touch.space, number, same)
            _keep(cell.writes if writes else cell.reads, made)
            if writes and not strong:
                _forget(cell, made, group, row)
        if strong and writes:
            self._release(clock, step, touch)

    def _of_lane(self, clock: WarpClock, lanes: int) -> ClockGroup:
        first = lanes & -lanes
        for group in clock.groups:
            if group.lanes & first:
                return group
        return clock.group(first)

    def _cells(self, step: ExecutedInstruction, touch: Touch) -> dict[int, Cell]:
        if touch.space == "shared":
            return self._shared.setdefault(step.warp.cta.number, {})
        return self._global

    def _value(self, step: ExecutedInstruction, space: str, number: int) -> int | None:
        if space == "shared":
            data = step.warp.cta.shared.data[4 * number : 4 * number + 4]
        else:
            found = self._memory.find(4 * number)
            if found is None:
                return None
            at = 4 * number - found.base
            data = found.data[at : at + 4]
        return int.from_bytes(data.tobytes(), "little")

    def _compare(
        self,
        made: AccessRecord,
        records: list[AccessRecord],
        group: ClockGroup,
        row: Row,
        space: str,
        number: int,
    ) -> None:
        for old in records:
            if not old.bytes & made.bytes:
                continue
            if old.strong and made.strong and old.bytes == made.bytes:
                if old.block == made.block or (old.strong > CTA and made.strong > CTA):
                    continue
            if not self._unordered(old, made, group, row):
                continue
            self._report(old, made, space, number)

    @staticmethod
    def _unordered(old: AccessRecord, made: AccessRecord, group: ClockGroup, row: Row) -> int:
        """Lanes of an earlier access that are not known to happen before this one."""
        known = row if old.warp == made.warp else group.knowledge.seen.get(old.warp)
        if known is None:
            return old.lanes
        found = 0
        for lane in lanes_of(old.lanes):
            if known[lane] < old.tick:
                found |= 1 << lane
        # A lane does not race with itself.
        if old.warp == made.warp and found == made.lanes and not found & found - 1:
            return 0
        return found

    # ---- strong accesses ---------------------------------------------------------------
    def _keys(self, step: ExecutedInstruction, touch: Touch) -> Iterator[tuple[int, Hashable]]:
        home = step.warp.cta.number if touch.space == "shared" else None
        for lane, address in touch.by_lane():
            yield lane, (home, address)

    def _acquire(self, clock: WarpClock, step: ExecutedInstruction, touch: Touch) -> None:
        block = step.warp.cta.number
        for lane, key in self._keys(step, touch):
            for release in self._released.get(key, ()):
                lanes = step.active if self._lock_step else 1 << lane
                group = clock.group(lanes)
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
                row = self._released.setdefault(key, [])
                made = Release(block, published[0], published[1])
                if row and row[-1].block == block:
                    last = row.pop()
                    made = Release(
                        block,
                        joined(last.in_block, made.in_block),
                        joined(last.anywhere, made.anywhere),
                    )
                row.append(made)

    # ---- reports -----------------------------------------------------------------------
    def _report(
        self, old: AccessRecord, made: AccessRecord, space: str, number: int, same: bool = False
    ) -> None:
        if old.block != made.block:
            relation = "blocks"
        else:
            relation = "lanes" if old.warp == made.warp else "warps"
        severity, cause = "error", "same_value" if same else _cause(old, made)
        if self._portable_only:
            severity, cause = "note", "warp_synchronous"
        elif cause == "same_value":
            severity = "warning"
        pcs = frozenset((old.pc, made.pc))
        key = ("race", space, pcs, relation, severity == "note")

        def make() -> CheckFinding:
            return self._finding(old, made, space, number, relation, severity, cause)

        held = self._findings.get(key)
        if held is not None and held.severity == "warning" and severity == "error":
            self._findings.worsen(key, make)
        self._findings.add(key, make)

    def _finding(
        self, old: AccessRecord, made: AccessRecord, space: str, number: int, relation: str,
        severity: Any, cause: str,
    ) -> CheckFinding:  # fmt: skip
        # Two lanes of one instruction are two sides, too.
        first = lanes_of(old.lanes)
        lane = next(iter(first))
        others = [n for n in lanes_of(made.lanes) if old is not made or n != lane]
        sides = (
            self._side(old, lane, number),
            self._side(made, others[0] if others else lane, number),
        )
        text = _sentence(sides, relation, cause)
        allocation = self._memory.describe(4 * number) if space == "global" else ""
        return CheckFinding(
            "race", severity, cause, space, relation, sides,
            allocation=allocation, where=text, fix=_FIXES.get(relation, ""),
        )  # fmt: skip

    def _side(self, record: AccessRecord, lane: int, number: int) -> FindingAccess:
        low = (record.bytes & -record.bytes).bit_length() - 1
        return self._places.access(
            record.kind, record.pc, record.state, lane,
            address=4 * number + low, size=record.bytes.bit_count(),
            strong=bool(record.strong), value=record.value,
        )  # fmt: skip


_FIXES = {
    "lanes": "__syncwarp() between the two, or an atomic",
    "warps": "__syncthreads() between the two, or an atomic",
    "blocks": "two launches, an atomic, or a flag with fences (__threadfence) on both sides",
}


def _cause(old: AccessRecord, made: AccessRecord) -> str:
    if old.strong and made.strong:
        return "scope" if old.bytes == made.bytes else "atomic_plain"
    if "atomic" in (old.kind, made.kind):
        return "atomic_plain"
    if old.kind == made.kind == "store":
        both = old.bytes & made.bytes
        mask = sum(0xFF << 8 * n for n in range(4) if both >> n & 1)
        known = old.value is not None and made.value is not None
        if old is not made and known and not (old.value ^ made.value) & mask:  # type: ignore[operator]
            return "same_value"
        return "write_write"
    return "read_write"


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


def _sentence(sides: tuple[FindingAccess, FindingAccess], relation: str, cause: str) -> str:
    a, b = sides
    words = {"load": "reads", "store": "writes", "atomic": "atomically updates"}
    who = {
        "lanes": "another thread of its warp",
        "warps": "a thread of another warp",
        "blocks": "a thread of another block",
    }[relation]
    text = f"{a.place} {words[a.kind]} what {who} {words[b.kind]} at {b.place}, in no order"
    return text + (" (both the same value)" if cause == "same_value" else "")


def _granules(touch: Touch) -> list[tuple[int, int, int]]:
    """(address / 4, mask of its bytes, lanes) of everything an access touches."""
    found: dict[tuple[int, int], int] = {}
    size = touch.size
    for lane, address in touch.by_lane():
        bit, end = 1 << lane, address + size
        number = address >> 2
        while number << 2 < end:
            low, high = max(address, number << 2), min(end, (number << 2) + 4)
            mask = ((1 << high - low) - 1) << (low & 3)
            key = (number, mask)
            found[key] = found.get(key, 0) | bit
            number += 1
    return [(number, mask, lanes) for (number, mask), lanes in found.items()]


def _keep(records: list[AccessRecord], made: AccessRecord) -> None:
    """A new record in place of those it supersedes."""
    for n, old in enumerate(records):
        if (
            old.pc == made.pc
            and old.warp == made.warp
            and not old.lanes & ~made.lanes
            and not old.bytes & ~made.bytes
            and old.strong == made.strong
        ):
            records[n] = made
            return
    records.append(made)


def _forget(cell: Cell, made: AccessRecord, group: ClockGroup, row: Row) -> None:
    """Drop what a write comes after: who races with that races with the write, too."""
    unordered = RaceCheck._unordered
    cell.reads = [r for r in cell.reads if r.bytes & ~made.bytes or unordered(r, made, group, row)]
    if len(cell.writes) > MOST_RECORDS:
        cell.writes = [
            r
            for r in cell.writes
            if r is made or r.bytes & ~made.bytes or unordered(r, made, group, row)
        ]


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
"""Instructions around a compare-and-swap among which the load of its loop is looked for."""

Maker = Callable[[], CheckFinding]
