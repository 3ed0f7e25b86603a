"""Races with asynchronous operations: copies, warp-group products, remote stores in clusters.

A copy or a product is an agent of its own: what it reads and writes begins when its instruction is
issued and is over for an observer when that knows so, by a wait for its group or by the end of an
mbarrier's phase (PTX ISA, asynchronous operations).  The tick at which the machine moved the bytes
plays no role.  A pair is *pending* where the issue is ordered and the end is not, and lacks a
*proxy* fence where both are but generic accesses come before such of the async proxy.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from gpudbg.bits import lanes_of
from gpudbg.errors import ModelGap
from gpudbg.formats.tensor_map import SIZE as MAP_BYTES
from gpudbg.isa.operands import Pred
from gpudbg.mem.lanes import pack
from gpudbg.sanitizer.clocks import EMPTY, Knowledge, Row, Rows, joined
from gpudbg.sanitizer.facts import CTA, GPU, Facts
from gpudbg.sanitizer.hand_over import NO_HAND_OVERS, HandOvers
from gpudbg.sanitizer.mbarriers import Mbarrier, MbarrierPhase, MbarrierTable, nothing, ordered
from gpudbg.sanitizer.monitor import EVENT_OPS, ExecutedInstruction, Touch
from gpudbg.sanitizer.race_cells import Cells, cells_of
from gpudbg.sanitizer.race_records import (
    AccessRecord,
    Agent,
    RangeRecord,
    unordered,
)
from gpudbg.sanitizer.race_reports import Verdict
from gpudbg.sanitizer.races import RaceCheck
from gpudbg.sanitizer.warp_clocks import ClockGroup, CopyGroups, WarpClock
from gpudbg.sm.asynchronous.events import (
    ByteRuns,
    BytesCopied,
    MatricesRead,
    MbarrierBegun,
    MbarrierChanged,
    MbarrierTested,
    TensorMapUsed,
)

if TYPE_CHECKING:
    from gpudbg.mem.faults import MemoryFault
    from gpudbg.sanitizer.mbarrier_findings import MbarrierFindings
    from gpudbg.sm.state import Cta

_NEXT: Final = 4
"""Instructions of a warp within which a fence or a cache operation belongs to what it follows."""
_COUNT: Final = re.compile(r"(?:SB0|gsb0), 0x([0-9a-f]+)")
_PRODUCTS: Final = ("HGMMA", "IGMMA", "QGMMA", "BGMMA")
_USES: Final = ("init", "arrive", "wait")


class AsyncRaceCheck(RaceCheck):
    """Finds races of one launch of code of sm_80 and later, and what is wrong with mbarriers.

    Args:
        races: whether races are reported.
        sync: what reports mistakes with mbarriers; None: they are not reported.
        handed: accesses that are strong although their instructions do not say so.
        before: of launches that may still run when this one begins, the latest last.
    """

    def __init__(
        self,
        *given: Any,
        races: bool = True,
        sync: MbarrierFindings | None = None,
        handed: HandOvers = NO_HAND_OVERS,
        before: Sequence[AsyncRaceCheck] = (),
        **more: Any,
    ) -> None:
        base = before[-1]._base + _LAUNCH if before else 0
        super().__init__(*given, lock_step=False, base=base, **more)
        self._reports.silent = not races
        self._sync = sync
        self._handed = handed
        self._before = tuple(before)
        self._numbers: dict[Any, int] = before[-1]._numbers if before else {}
        if before:
            self._at_begin = before[-1]._published
        self._published: Rows = EMPTY
        self._waited_for_grid = False
        self._ranges: dict[int | None, dict[Any, RangeRecord]] = {}
        self._mbarriers = MbarrierTable()
        self._lives = 0
        self._products: dict[int, int] = {}
        self._group_waits: dict[int, tuple[int, int, int]] = {}
        self._device_fences: dict[int, int] = {}
        self._arrivals: dict[int, int] = {}
        self._clusters: dict[tuple[int, int], Knowledge] = {}
        self._cluster_waits: dict[int, tuple[int, tuple[int, int]]] = {}
        self._remote: dict[int, dict[Any, AccessRecord]] = {}
        self._exits: dict[int, AccessRecord] = {}
        self._last_copies: dict[tuple[int, int], tuple[AccessRecord, Row]] = {}

    # ---- agents ------------------------------------------------------------------------
    def _number(self, *key: Any) -> int:
        """The clock-row number of an asynchronous agent."""
        return self._numbers.setdefault(key, -1 - len(self._numbers))

    def _copies(self, clock: WarpClock) -> CopyGroups:
        if clock.copies is None:
            one, two, three = (self._number(n, clock.number) for n in ("copies", "reads", "full"))
            clock.copies = CopyGroups(one, two, three)
        return clock.copies

    def _agents(
        self, clock: WarpClock, step: ExecutedInstruction, lanes: int
    ) -> list[tuple[int, Agent | None]]:
        if step.insn.op != "LDGSTS":
            return super()._agents(clock, step, lanes)
        copies = self._copies(clock)
        by_label: dict[tuple[int, int], int] = {}
        for group, part in clock.of(lanes):
            for lane in lanes_of(part):
                key = group.lanes, int(copies.issued[lane])
                by_label[key] = by_label.get(key, 0) | 1 << lane
        return [
            (part, Agent("copy", copies.copies, part, label, False))
            for (_, label), part in by_label.items()
        ]

    # ---- instructions ------------------------------------------------------------------
    def executed(self, step: ExecutedInstruction) -> None:
        number = self._first_of(step.warp.cta) + step.warp.index
        waiting = self._cluster_waits.get(number)
        if waiting is not None and waiting[0] & step.active:
            del self._cluster_waits[number]
            self._cluster_over(self._clock(step.warp), waiting)
        super().executed(step)

    def _accesses(self, clock: WarpClock, step: ExecutedInstruction, facts: Facts) -> None:
        op = step.insn.op
        if op == "LDGSTS":
            issued = self._copies(clock).issued
            for lane in lanes_of(step.lanes):
                issued[lane] += 1
            self._copies(clock).note(step.lanes, of_threads=True)
            if step.lanes:
                made = self._made(clock, step, step.lanes, "store", None)
                self._last_copies[step.pc, clock.number] = made, issued.copy()
        handler = _HANDLERS.get(op)
        if handler is not None:
            handler(self, clock, step)
        early = op == "ATOMS" and "ARRIVE" in step.insn.text()
        if op not in EVENT_OPS and not early:
            super()._accesses(clock, step, facts)
        for event in step.events:
            _EVENTS[type(event)](self, clock, step, event)
        if op in _PRODUCTS and "gsb0" in step.insn.text():
            # It closes a group, which may consist of a product without effect alone.
            self._products[clock.number] = self._products.get(clock.number, 0) + 1

    def _fence(self, clock: WarpClock, step: ExecutedInstruction, scope: int) -> None:
        for group in clock.parts(step.lanes):
            # It publishes the lanes' work without ordering them.
            fenced = clock.published(group, group.lanes).fenced(scope >= GPU)
            seen = group.knowledge.fenced(scope >= GPU).seen
            clock.learn(group, replace(fenced, seen=seen))
        if scope >= GPU:
            self._device_fences[clock.number] = clock.tick

    def _warp_sync(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        for group in self._met(clock, step):
            if clock.copies is not None:
                group.knowledge = clock.published(group, group.lanes)
            group.known = clock.tick

    # ---- groups of copies, fences --------------------------------------------------------
    def _closes(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        """LDGDEPBAR, UTMACMDFLUSH: close a group of the copies issued since the last one."""
        self._copies(clock).close(step.lanes)

    def _waits_for_groups(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        """DEPBAR.LE SB0, n: wait until at most the newest n groups are pending (for stores:
        unread).
        """
        found = _COUNT.search(step.insn.text())
        if found is None:
            return
        copies, pending = self._copies(clock), int(found[1], 16)
        if self._sync is not None and copies.mixed(step.lanes):
            self._sync.mixed_groups(self._made(clock, step, step.lanes, "wait", None))
        copies.wait(copies.copies, step.lanes, pending)
        copies.wait(copies.reads, step.lanes, pending)
        self._group_waits[clock.number] = (clock.tick, step.lanes, pending)

    def _empties_caches(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        """CCTL.IVALL: after a wait for groups their stores are complete; earlier strong reads
        acquire.
        """
        if "IVALL" not in step.insn.text():
            return
        tick, lanes, pending = self._group_waits.get(clock.number, (0, 0, 0))
        if lanes and clock.tick - tick < _NEXT:
            copies = self._copies(clock)
            copies.wait(copies.full, lanes & step.lanes, pending)
        for group in clock.parts(step.lanes):
            clock.learn(group, group.knowledge.taken())
        clock.tidy()

    def _proxy_fence(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        """FENCE.VIEW.ASYNC: make known generic accesses visible to the async proxy."""
        text = step.insn.text()
        if "ASYNC" not in text:
            return
        device = clock.tick - self._device_fences.get(clock.number, -_NEXT) < _NEXT
        shared = ".G" not in text
        for group in clock.parts(step.lanes):
            known = clock.published(group, group.lanes).seen
            group.knowledge = group.knowledge.brought(known, shared, shared and device)

    def phase_at(self, home: Cta, offset: int) -> MbarrierPhase | None:
        """The present phase of an mbarrier: who has arrived; None where it is not known."""
        found = self._mbarriers.find(home, offset)
        return None if found is None else found.present()

    # ---- accesses ------------------------------------------------------------------------
    def _touch(
        self, clock: WarpClock, step: ExecutedInstruction, touch: Touch, facts: Facts
    ) -> None:
        if step.pc in self._handed.strong and not facts.strong:
            # The code around them tells no scope: assume the whole cluster, where there is one.
            facts = replace(facts, strong=GPU if len(step.warp.cta.cluster.ctas) > 1 else CTA)
        for home, part in self._homes(step, touch):
            if home is not None:
                if home is not step.warp.cta:
                    self._reaches(clock, step, home, part.lanes)
                part = self._on_mbarriers(clock, step, home, part)
            super()._touch(clock, step, _given(home, part), facts)
            self._meet_ranges(clock, step, home, part, facts)
        if step.pc in self._handed.takes:
            for group in clock.parts(step.lanes):
                clock.learn(group, group.knowledge.taken(near=True))
            clock.tidy()

    def _keys(self, step: ExecutedInstruction, touch: Touch) -> Iterator[tuple[int, Hashable]]:
        words = touch.size // 4 if step.pc in self._handed.strong else 0
        for lane, key in super()._keys(step, touch):
            yield lane, key
            for n in range(1, words):
                home, address = cast("tuple[int | None, int]", key)
                yield lane, (home, address + 4 * n)

    def _release(self, clock: WarpClock, step: ExecutedInstruction, touch: Touch) -> None:
        if step.pc in self._handed.strong and touch.size > 4:
            # Who reads one word of it knows of the others.
            for group in clock.parts(touch.lanes):
                near, far = group.knowledge.released
                mine = clock.published(group, group.lanes).seen
                row = {clock.number: mine[clock.number]}
                group.knowledge = replace(
                    group.knowledge, released=(joined(near, row) if near else near, far)
                )
        super()._release(clock, step, touch)

    def _homes(self, step: ExecutedInstruction, touch: Touch) -> list[tuple[Cta | None, Touch]]:
        if isinstance(touch.space, _Home):
            return [(touch.space.cta, touch)]
        return super()._homes(step, touch)

    def _meet_ranges(
        self, clock: WarpClock, step: ExecutedInstruction, home: Cta | None, touch: Touch,
        facts: Facts,
    ) -> None:  # fmt: skip
        ranges = self._ranges.get(None if home is None else home.number)
        if not ranges:
            return
        lanes = list(lanes_of(touch.lanes))
        addresses = touch.addresses[lanes].astype(np.int64)
        low, high = int(addresses.min()), int(addresses.max()) + touch.size
        writes = touch.kind != "load"
        for held in ranges.values():
            if held.extent.low >= high or held.extent.high <= low:
                continue
            if not writes and not held.record.writes:
                continue
            met = held.touched(addresses, touch.size).tolist()
            self._meet(clock, step, home, touch, facts, held, {lanes[n]: n for n in met}, addresses)

    def _meet(
        self, clock: WarpClock, step: ExecutedInstruction, home: Cta | None, touch: Touch,
        facts: Facts, held: RangeRecord, met: dict[int, int], addresses: Any,
    ) -> None:  # fmt: skip
        """Compare an access of some lanes with a range that a copy reads or writes."""
        mask = sum(1 << lane for lane in met)
        for group, part in clock.of(mask):
            for lanes, agent in self._agents(clock, step, part):
                first = next(iter(lanes_of(lanes)))
                address = int(addresses[met[first]])
                made = AccessRecord(
                    clock.number, lanes, clock.tick, 0, step.pc, facts.strong, touch.kind, None,
                    self._place(clock.number), step.warp.cta.number, touch.size, agent,
                )  # fmt: skip
                self._judged(held.record, made, group, home, address >> 2)

    # ---- launches before this one ------------------------------------------------------------
    def _record(
        self, clock: WarpClock, step: ExecutedInstruction, cells: Cells, number: int,
        made: AccessRecord,
    ) -> None:  # fmt: skip
        super()._record(clock, step, cells, number, made)
        if self._before and cells is self._global:
            group = self._of_lane(clock, made.lanes)
            for earlier in self._unfinished(group):
                cell = earlier._global.get(number)
                for old in (*cell.writes, *cell.reads) if cell is not None else ():
                    if old.bytes & made.bytes:
                        self._across(old, made, group, number)
                for held in earlier._ranges.get(None, {}).values():
                    if len(held.touched(np.array([4 * number], np.int64), 4)):
                        self._across(held.record, made, group, number)

    def _unfinished(self, group: ClockGroup) -> list[AsyncRaceCheck]:
        """Checks of earlier launches whose end the lanes have not waited for."""
        known = group.knowledge.seen
        return [b for b in self._before if self._number("grid", b._base) not in known]

    def _across(
        self, old: AccessRecord, made: AccessRecord, group: ClockGroup, number: int
    ) -> None:
        """Compare an access with one of an earlier launch that may still run."""
        if not (old.writes or made.writes) or (old.strong and made.strong):
            return
        known = group.knowledge.seen
        late = old.agent.pending(known.get(old.agent.number)) if old.agent is not None else 0
        if late or unordered(old, made, known, group.row()):
            verdict = Verdict("pending", "error", _GRID, "", "launches")
            self._reports.add(old, made, verdict, "global", number)

    def _waits_for_grid(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        """ACQBULK: wait for the previous launch, and so for those that it waited for."""
        self._waited_for_grid = True
        rows: dict[int, Row] = {}
        for earlier in reversed(self._before):
            rows[self._number("grid", earlier._base)] = np.ones(32, np.int64)
            if not earlier._waited_for_grid:
                break
        for group in clock.parts(step.lanes):
            group.knowledge = group.knowledge.learned(rows)
        clock.tidy()

    def _lets_dependents_begin(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        """PREEXIT: what a fence has published is visible when the next launch begins."""
        for group, _ in clock.of(step.lanes):
            self._published = joined(self._published, group.knowledge.released[1])

    def finished(self) -> None:
        """End of the launch: report what was left pending."""
        if self._before and not self._waited_for_grid and self._sync is not None:
            self._sync.no_grid_wait(next(iter(self._exits.values()), None))

    def _judged(
        self, old: AccessRecord, made: AccessRecord, group: ClockGroup, home: Cta | None,
        number: int, *, of_granule: bool = False,
    ) -> None:  # fmt: skip
        space = "global" if home is None else "shared"
        verdict = self._judge(old, made, group.knowledge, group.row(), space)
        if verdict is not None:
            self._reports.add(old, made, verdict, space, number, of_granule=of_granule)

    def _judge(
        self, old: AccessRecord, made: AccessRecord, known: Knowledge, row: Row, space: str
    ) -> Verdict | None:
        if old.strong and made.strong and not (old.bytes and made.bytes):
            # Elements are reduced atomically, each as a whole.
            return None
        if old.kind in _USES and made.kind in _USES and "init" not in (old.kind, made.kind):
            return None
        if old.agent is None and made.agent is None:
            verdict = super()._judge(old, made, known, row, space)
            if verdict is not None and self._in_time(old, made, known, row):
                return None
            if verdict is not None and verdict.cause == "mixed_size" and space == "shared":
                if old.strong == made.strong == CTA and old.bytes == made.bytes:
                    # Compilers merge a release store with the store before it.
                    return None
            if verdict is not None and old.block != made.block and space == "shared":
                return self._scoped(old, made, known, row)
            if verdict is None and space == "global" and (old.read_only or made.read_only):
                # Reads on this path are not ordered by anything.
                return Verdict("read_only_path", "warning", _PLAIN_PATH)
            return verdict
        late = self._late(old, made, known, row)
        if late is not None:
            return late
        return self._without_fence(old, made, known, row, space)

    def _in_time(self, old: AccessRecord, made: AccessRecord, known: Knowledge, row: Row) -> bool:
        """Whether a race is excluded since an mbarrier's initialisation is visible to everything
        later in time.
        """
        if old.kind != "init" or made.kind not in _USES:
            return False
        return not unordered(old, made, ordered(known), row)

    def _late(
        self, old: AccessRecord, made: AccessRecord, known: Knowledge, row: Row
    ) -> Verdict | None:
        """The verdict where the end of an earlier asynchronous access is unknown to the later one;
        None: no race.
        """
        agent = old.agent
        seen = known.seen
        if made.agent is not None and (not old.writes or agent is not None):
            # A copy after another block's arrival, seen by a wait of CTA scope: ordered only after
            # earlier reads and copies (policy).
            seen = joined(seen, known.acquired[1])
        issue = unordered(old, made, seen, row)
        if agent is None:
            return self._scoped(old, made, known, row) if issue else None
        pending = agent.pending(seen.get(agent.number))
        if not pending:
            return None
        own = old.lanes & made.lanes if old.warp == made.warp else 0
        waited = self._waited(agent, made) if own else None
        if waited is not None:
            # What its own thread has waited for is complete for that thread.
            left = agent.pending(waited)
            if not left & own and not pending & ~made.lanes and not made.lanes & ~old.lanes:
                return None
            own &= left
        if issue and not own:
            return Verdict.of(old, made)
        return Verdict("pending", "error", _WAITS[agent.kind], self._state_of(old))

    def _waited(self, agent: Agent, made: AccessRecord) -> Row | None:
        """By lane, the last of its own copies that it has waited for; None for other kinds of
        agent.
        """
        clock = self._warps.get(made.warp)
        if clock is None or clock.copies is None:
            return None
        return clock.copies.waited.get(agent.number)

    def _scoped(self, old: AccessRecord, made: AccessRecord, known: Knowledge, row: Row) -> Verdict:
        """The verdict for unordered accesses; the cause names an order whose scope is too small."""
        if known.narrow and not unordered(old, made, known.narrow, row):
            return Verdict("scope")
        return Verdict.of(old, made)

    def _state_of(self, old: AccessRecord) -> str:
        """What completes a copy, in words, for reports."""
        agent = old.agent
        assert agent is not None
        clock = self._warps.get(old.warp)
        if agent.what or clock is None or clock.copies is None:
            return agent.what
        lane = agent.lanes.bit_length() - 1
        newer = clock.copies.newest(lane, agent.label)
        if newer is None:
            return "in a group that was not committed"
        return f"committed, {newer} newer group{'' if newer == 1 else 's'}, not waited for"

    def _without_fence(
        self, old: AccessRecord, made: AccessRecord, known: Knowledge, row: Row, space: str
    ) -> Verdict | None:
        """The verdict where a generic access precedes an async-proxy access without a proxy fence;
        None: no race.
        """
        if made.agent is None or not made.agent.proxied or old.kind in _USES:
            return None
        if old.agent is not None and old.agent.proxied:
            return None
        missing = _not_brought(old, known.proxied[0 if space == "shared" else 1])
        if not missing:
            return None
        return Verdict("proxy", "error" if old.writes else "warning", _FENCE)

    # ---- ranges --------------------------------------------------------------------------
    def _range(
        self, clock: WarpClock, step: ExecutedInstruction, extent: ByteRuns, record: AccessRecord
    ) -> None:
        """Record a range that a copy or product reads or writes, and compare it with earlier
        accesses.
        """
        if not len(extent.starts):
            return
        home = extent.home
        group = self._of_lane(clock, record.lanes)
        for earlier in self._unfinished(group) if home is None else ():
            for number, _, cell in cells_of(extent, earlier._global):
                for old in (*cell.writes, *cell.reads):
                    self._across(old, record, group, number)
            for held in earlier._ranges.get(None, {}).values():
                at = held.meets(extent)
                if at is not None:
                    self._across(held.record, record, group, at >> 2)
        for number, mask, cell in cells_of(extent, self._cells(home)):
            for old in (*cell.writes, *cell.reads) if record.writes else cell.writes:
                if old.bytes & mask:
                    self._judged(old, record, group, home, number, of_granule=True)
        ranges = self._ranges.setdefault(None if home is None else home.number, {})
        for held in ranges.values():
            if record.writes or held.record.writes:
                at = held.meets(extent)
                if at is not None and not _one_by_one(held.record, record):
                    self._judged(held.record, record, group, home, at >> 2)
        if home is not None and home is not step.warp.cta:
            self._reaches(clock, step, home, record.lanes, keep=False)
        if home is not None and self._sync is not None:
            for offset, held_one in self._mbarriers.of(home).items():
                if held_one.modern and extent.low < offset + 8 and offset < extent.high:
                    if (
                        RangeRecord(extent, record).meets(ByteRuns.range(home, offset, 8))
                        is not None
                    ):
                        self._sync.touched(held_one, record)
        agent = record.agent
        number_of = agent.number if agent is not None else 0
        key = (record.pc, number_of, record.writes, extent.low, extent.high, len(extent.starts))
        ranges.pop(key, None)
        ranges[key] = RangeRecord(extent, record)

    def _made(
        self, clock: WarpClock, step: ExecutedInstruction, lanes: int, kind: str,
        agent: Agent | None, strong: int = 0,
    ) -> AccessRecord:  # fmt: skip
        return AccessRecord(
            clock.number, lanes, clock.tick, 0, step.pc, strong, kind, None,
            self._place(clock.number), step.warp.cta.number, 0, agent,
        )  # fmt: skip

    def _copy(self, clock: WarpClock, step: ExecutedInstruction, event: BytesCopied) -> None:
        """Handle a bulk or tensor copy, or a store to another CTA."""
        self._operands(clock, step, event)
        lanes, copies = 1 << event.lane, self._copies(clock)
        written = "atomic" if event.reduces else "store"
        strong = GPU if event.reduces else 0
        kind = "remote" if event.remote else "bulk"
        counted = [bar for _, bar in event.writes if bar is not None]
        if not counted:
            copies.issued[event.lane] += 1
            copies.note(lanes, of_threads=False)
            label = int(copies.issued[event.lane])
            reads = Agent(kind, copies.reads, lanes, label, True)
            agents = [Agent(kind, copies.full, lanes, label, True)] * len(event.writes)
        else:
            agents = [self._counted(clock, step, event, bar, kind) for _, bar in event.writes]
            reads = agents[0]
        for extent in event.reads:
            self._range(clock, step, extent, self._made(clock, step, lanes, "load", reads))
        for (extent, _), agent in zip(event.writes, agents, strict=True):
            record = self._made(clock, step, lanes, written, agent, strong)
            self._range(clock, step, extent, record)

    def _operands(self, clock: WarpClock, step: ExecutedInstruction, event: BytesCopied) -> None:
        """Report operands that an operation does not allow."""
        cta, text = step.warp.cta, ""
        if event.remote and len(cta.cluster.ctas) == 1:
            text = "a store to the cluster's shared memory in a block without a cluster"
        elif not event.remote and any(r.home is cta for r in event.reads):
            if any(w.home is cta for w, _ in event.writes):
                text = "a copy from the block's shared memory to itself"
        if text and self._sync is not None:
            self._sync.bad_operand(self._made(clock, step, 1 << event.lane, "store", None), text)

    def _counted(
        self, clock: WarpClock, step: ExecutedInstruction, event: BytesCopied,
        bar: tuple[Cta, int] | None, kind: str,
    ) -> Agent:  # fmt: skip
        """The agent of a copy that is counted by an mbarrier."""
        assert bar is not None
        found = self._use(clock, step, bar[0], bar[1], event.lane, "arrive")
        what = f"counted in phase {found.phase} of the mbarrier at shared 0x{bar[1]:x}"
        return Agent(kind, found.number, 1, found.phase + 1, not event.remote, what)

    def _unknown(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        raise ModelGap(f"the checks do not know what {step.insn.op} reads and writes")

    # ---- tensor maps -----------------------------------------------------------------------
    def _map_fence(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        """UTMACCTL.IV: what the thread knows becomes visible to later reads of tensor maps."""
        if "IV" not in step.insn.m:
            return
        for group in clock.parts(step.lanes):
            known = clock.published(group, group.lanes).seen
            group.knowledge = group.knowledge.mapped(known)

    def _map(self, clock: WarpClock, step: ExecutedInstruction, event: TensorMapUsed) -> None:
        """Handle a copy's read of its tensor map, which goes through a proxy of its own."""
        record = self._made(clock, step, 1 << event.lane, "load", None)
        record = replace(record, size=MAP_BYTES, agent=Agent("bulk", 0, 1, 0, True))
        group = self._of_lane(clock, record.lanes)
        for number in range(event.address >> 2, event.address + MAP_BYTES >> 2):
            cell = self._global.get(number)
            for old in cell.writes if cell is not None else ():
                if old.agent is not None:
                    continue
                if unordered(old, record, group.knowledge.seen, group.row()):
                    verdict = Verdict.of(old, record)
                    self._reports.add(old, record, verdict, "global", number, of_granule=True)
                elif _not_brought(old, group.knowledge.proxied[2]):
                    verdict = Verdict("proxy", fix=_MAP_FENCE)
                    self._reports.add(old, record, verdict, "global", number, of_granule=True)
        if event.boundary > 1 and event.offset % event.boundary and event.size >= event.boundary:
            if self._sync is not None:
                self._sync.swizzle(record, event)

    # ---- products of warp groups -----------------------------------------------------------
    def _matrices(self, clock: WarpClock, step: ExecutedInstruction, event: MatricesRead) -> None:
        number = self._number("gmma", step.warp.cta.number, step.warp.index >> 2)
        label = self._products.get(clock.number, 0) + 1
        what = f"group {label} of products of warp group {step.warp.index >> 2}"
        agent = Agent("gmma", number, 1, label, True, what)
        for extent in event.extents:
            self._range(clock, step, extent, self._made(clock, step, step.lanes, "load", agent))

    def _warp_group(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        """WARPGROUP.DEPBAR.LE gsb0, n: wait until at most the newest n groups of products are
        pending.
        """
        found = _COUNT.search(step.insn.text())
        if found is None:
            return
        over = self._products.get(clock.number, 0) - int(found[1], 16)
        number = self._number("gmma", step.warp.cta.number, step.warp.index >> 2)
        if over > 0:
            row = np.zeros(32, np.int64)
            row[0] = over
            for group in clock.parts(step.lanes):
                group.knowledge = group.knowledge.learned({number: row})
            clock.tidy()

    # ---- mbarriers ---------------------------------------------------------------------------
    def _use(
        self, clock: WarpClock, step: ExecutedInstruction, home: Cta, offset: int, lane: int,
        kind: str,
    ) -> Mbarrier:  # fmt: skip
        """The mbarrier an operation uses; reports it where its initialisation is not ordered
        before.
        """
        found = self._mbarriers.find(home, offset)
        record = self._mbarrier_record(clock, step, 1 << lane, kind)
        if found is None:
            modern = step.insn.op in EVENT_OPS and self._modern(step)
            found = self._begin(home, offset, modern, None)
            if modern and self._sync is not None:
                self._sync.uninitialised(found, record)
        if home is not step.warp.cta:
            self._reaches(clock, step, home, 1 << lane)
        if self._window.wants(True, offset >> 2):
            cells = self._cells(home)
            self._record(clock, step, cells, offset >> 2, replace(record, bytes=15))
        return found

    @staticmethod
    def _modern(step: ExecutedInstruction) -> bool:
        arch = getattr(step.insn, "arch", "sm_90")
        return int("".join(c for c in arch if c.isdigit()) or 90) >= 90

    def _mbarrier_record(
        self, clock: WarpClock, step: ExecutedInstruction, lanes: int, kind: str
    ) -> AccessRecord:
        return AccessRecord(
            clock.number, lanes, clock.tick, 15, step.pc, 0, kind, None,
            self._place(clock.number), step.warp.cta.number, 8,
        )  # fmt: skip

    def _begin(self, home: Cta, offset: int, modern: bool, begun: AccessRecord | None) -> Mbarrier:
        self._lives += 1
        number = self._number("mbarrier", home.number, offset, self._lives)
        made = Mbarrier(home, offset, number, modern, begun)
        self._mbarriers.begin(made)
        return made

    def _begins(self, clock: WarpClock, step: ExecutedInstruction, event: MbarrierBegun) -> None:
        kind = "init" if event.word is not None else "inval"
        record = self._mbarrier_record(clock, step, 1 << event.lane, kind)
        held = self._mbarriers.find(event.home, event.offset)
        if event.word is None:
            self._mbarriers.end(event.home, event.offset)
            return
        if held is not None and self._sync is not None:
            self._sync.begun_again(held, record)
        made = self._begin(event.home, event.offset, True, record)
        made.word = event.word
        cells = self._cells(event.home)
        if held is None:
            for number in (event.offset >> 2, (event.offset >> 2) + 1):
                if self._window.wants(True, number):
                    self._record(clock, step, cells, number, record)

    def _changes(self, clock: WarpClock, step: ExecutedInstruction, event: MbarrierChanged) -> None:
        found = self._mbarriers.find(event.home, event.offset)
        if not event.by_copy:
            found = self._use(clock, step, event.home, event.offset, event.lane, "arrive")
        if found is None:
            return
        if not found.modern and not found.phase and not found.phases:
            found.phase = event.before >> 63
        present = found.present()
        present.note(step.pc, event)
        group = self._of_lane(clock, 1 << event.lane)
        knows = clock.published(group, 1 << event.lane)
        present.order = joined(present.order, ordered(knows))
        if not event.by_copy and (event.arrivals or step.insn.op == "ARRIVES"):
            if self._sync is not None:
                record = self._mbarrier_record(clock, step, 1 << event.lane, "arrive")
                self._sync.arrives(found, event, record)
            self._arrival(clock, step, event, found, knows)
        found.word = event.after
        if event.before >> 63 != event.after >> 63:
            if self._sync is not None:
                for test in found.unsafe_tests(self._group_number):
                    self._sync.ambiguous(found, test)
            found.advance()

    def _group_number(self, warp: int) -> int:
        """Number of a warp's group, for a warp that multiplies with it: a completed product was
        issued by all its warps. Below 0 for other warps.
        """
        return warp >> 2 if warp in self._products else -1 - warp

    def _arrival(
        self, clock: WarpClock, step: ExecutedInstruction, event: MbarrierChanged, found: Mbarrier,
        knows: Knowledge,
    ) -> None:  # fmt: skip
        """The knowledge that an arrival publishes."""
        present = found.present()
        present.arrived += event.arrivals
        if step.insn.op == "ARRIVES":
            # Only its copies, not the thread's own work.
            copies = self._copies(clock)
            row = np.zeros(32, np.int64)
            row[event.lane] = copies.issued[event.lane]
            present.near = present.near.learned({copies.copies: row})
        elif event.home is step.warp.cta:
            present.near = present.near.join(knows)
        else:
            fenced = clock.tick - self._device_fences.get(clock.number, -2 * _NEXT) < 2 * _NEXT
            far = Knowledge(
                knows.released[1], proxied=knows.proxied, timed=ordered(knows),
                narrow=joined(knows.narrow, knows.seen) if not fenced else knows.narrow,
            )  # fmt: skip
            present.far = present.far.join(far)

    def _tests(self, clock: WarpClock, step: ExecutedInstruction, event: MbarrierTested) -> None:
        home = step.warp.cta
        by_offset: dict[int, int] = {}
        for lane in lanes_of(event.lanes):
            offset, rank = int(event.offsets[lane]), int(event.ranks[lane])
            by_offset[offset] = by_offset.get(offset, 0) | 1 << lane
            if self._sync is not None and rank not in (0, home.rank):
                record = self._mbarrier_record(clock, step, 1 << lane, "wait")
                self._sync.bad_operand(record, "a test of the mbarrier of another block")
        for offset, lanes in by_offset.items():
            first = next(iter(lanes_of(lanes)))
            found = self._use(clock, step, home, offset, first, "wait")
            if _unused(step.insn):
                if self._sync is not None:
                    self._sync.ignored(found, self._mbarrier_record(clock, step, lanes, "wait"))
            elif lanes & event.passed:
                self._passed(clock, step, found, lanes & event.passed)

    def _passed(
        self, clock: WarpClock, step: ExecutedInstruction, found: Mbarrier, lanes: int
    ) -> None:
        """Let lanes acquire what a completed phase has published."""
        row = np.zeros(32, np.int64)
        row[0] = found.phase
        last = found.last()
        for group in clock.parts(lanes):
            knowledge = group.knowledge
            if last is not None:
                knowledge = knowledge.join(last.near).heard({}, last.far.seen)
                narrow = joined(last.far.narrow, last.far.seen)
                # In time it follows every arrival, whatever these published.
                timed = joined(last.far.timed, last.order)
                apart = Knowledge({}, proxied=last.far.proxied, timed=timed, narrow=narrow)
                knowledge = knowledge.join(apart)
            clock.learn(group, knowledge.learned({found.number: row}))
        clock.tidy()
        found.waited.add(found.phase - 1)
        if not found.modern:
            # A plain load of the word: what it is compared with is unknown.
            return
        record = self._mbarrier_record(clock, step, lanes, "wait")
        found.tests[clock.number, lanes] = (found.phase - 1, record)

    def _on_mbarriers(
        self, clock: WarpClock, step: ExecutedInstruction, home: Cta, touch: Touch
    ) -> Touch:
        """Handle an ordinary access that touches mbarriers, by which they are used before sm_90."""
        held = self._mbarriers.of(home)
        if not held:
            return touch
        kind = touch.kind
        for offset, found in list(held.items()):
            lanes = sum(
                1 << lane
                for lane, address in touch.by_lane()
                if address < offset + 8 and offset < address + touch.size
            )
            if not lanes:
                continue
            if found.modern:
                if self._sync is not None:
                    record = self._mbarrier_record(clock, step, lanes, touch.kind)
                    self._sync.touched(found, record)
            elif touch.kind == "load":
                self._passed(clock, step, found, lanes)
            elif touch.kind == "store":
                self._mbarriers.end(home, offset)
            else:
                kind = "load"
        return touch if kind == touch.kind else replace_kind(touch, kind)

    # ---- clusters ------------------------------------------------------------------------------
    def _cluster_arrives(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        count = self._arrivals[clock.number] = self._arrivals.get(clock.number, 0) + 1
        key = (step.warp.cta.cluster.ctas[0].number, count)
        known = self._clusters.get(key, nothing())
        for group, part in clock.of(step.active):
            mine = clock.published(group, part)
            released = Knowledge(mine.released[1], proxied=mine.proxied, timed=ordered(mine))
            known = known.join(released)
        self._clusters[key] = known

    def _cluster_begins_waiting(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        key = (step.warp.cta.cluster.ctas[0].number, self._arrivals.get(clock.number, 0))
        self._cluster_waits[clock.number] = (step.active, key)

    def _cluster_over(self, clock: WarpClock, waiting: tuple[int, tuple[int, int]]) -> None:
        lanes, key = waiting
        known = self._clusters.get(key)
        if known is not None:
            for group in clock.parts(lanes):
                clock.learn(group, group.knowledge.join(known))
            clock.tidy()

    def _reaches(
        self, clock: WarpClock, step: ExecutedInstruction, home: Cta, lanes: int, keep: bool = True
    ) -> None:
        """Check an access to another CTA's shared memory: that CTA must have begun, and must not
        end before.
        """
        record = self._mbarrier_record(clock, step, lanes, "load")
        first = self._first_of(home)
        for group, part in clock.of(lanes):
            known = ordered(group.knowledge)
            begun = any(
                number in known and known[number].any()
                for number in range(first, first + max(len(home.warps), 1))
            )
            if not begun:
                entry = AccessRecord(
                    first, 1, 1, 0, step.pc, 0, "entry", None, self._place(first), home.number, 0
                )
                mine = replace(record, lanes=part)
                self._reports.add(entry, mine, Verdict("entry", fix=_CLUSTER), "shared", 0)
        if keep:
            key = (step.pc, clock.number)
            held = self._remote.setdefault(home.number, {}).get(key)
            self._remote[home.number][key] = (
                record if held is None else replace(record, lanes=held.lanes | lanes)
            )

    def _exit(self, clock: WarpClock, step: ExecutedInstruction) -> None:
        number = step.warp.cta.number
        self._exits[number] = self._mbarrier_record(clock, step, step.lanes, "exit")

    def refused(
        self, step: ExecutedInstruction, fault: MemoryFault, access: str, size: int
    ) -> None:
        """An access to a CTA that has ended."""
        if "which has ended" not in fault.detail:
            return
        ctas = step.warp.cta.cluster.ctas
        rank = fault.address >> 24
        end = self._exits.get(ctas[rank].number) if rank < len(ctas) else None
        if end is not None:
            clock = self._clock(step.warp)
            record = self._mbarrier_record(clock, step, fault.lanes or step.lanes, access)
            self._reports.add(record, end, Verdict("exit", fix=_CLUSTER), "shared", 0)

    def cta_end(self, cta: Cta) -> None:
        end, known = self._exits.get(cta.number), nothing()
        for index in range(len(cta.warps)):
            clock = self._warps.get(self._first_of(cta) + index)
            for group in clock.groups if clock is not None else ():
                assert clock is not None
                known = known.join(clock.published(group, group.lanes))
        rows = ordered(known)
        for record in self._remote.pop(cta.number, {}).values():
            if end is not None and unordered(record, end, rows, np.zeros(32, np.int64)):
                self._reports.add(record, end, Verdict("exit", fix=_CLUSTER), "shared", 0)
        for held in self._ranges.pop(cta.number, {}).values():
            self._left(cta, held, known, end)
        self._left_copies(cta, known)
        if self._sync is not None:
            for one in self._mbarriers.of(cta).values():
                self._sync.left(one, end)
        self._mbarriers.drop(cta)
        super().cta_end(cta)

    def _left_copies(self, cta: Cta, known: Knowledge) -> None:
        """Report copies for which no thread has waited when their CTA ends."""
        first = self._first_of(cta)
        for (pc, warp), (record, issued) in list(self._last_copies.items()):
            if not first <= warp < first + len(cta.warps):
                continue
            del self._last_copies[pc, warp]
            row = known.seen.get(self._number("copies", warp))
            late = record.lanes if row is None else record.lanes & _behind(row, issued)
            if late and self._sync is not None:
                agent = Agent("copy", self._number("copies", warp), late, 0, False)
                self._sync.pending_copy(replace(record, lanes=late, agent=agent))

    def _left(
        self, cta: Cta, held: RangeRecord, known: Knowledge, end: AccessRecord | None
    ) -> None:
        """Report a copy that no thread has waited for when its CTA ends."""
        agent = held.record.agent
        if agent is None or end is None or agent.kind == "gmma":
            return
        if not agent.pending(known.seen.get(agent.number)):
            return
        if held.record.block != cta.number:
            self._reports.add(held.record, end, Verdict("exit", fix=_CLUSTER), "shared", 0)
        elif self._sync is not None:
            self._sync.pending_copy(held.record)


def _behind(row: Row, issued: Row) -> int:
    """Mask of lanes whose row is below what they have issued."""
    return pack(row < issued)


class _Home(str):
    """A space name that carries its CTA."""

    cta: Cta | None


def _given(home: Cta | None, touch: Touch) -> Touch:
    space = _Home("global" if home is None else "shared")
    space.cta = home
    return Touch(space, touch.kind, touch.size, touch.lanes, touch.addresses)


def replace_kind(touch: Touch, kind: str) -> Touch:
    """The same access as if of another kind."""
    return Touch(touch.space, kind, touch.size, touch.lanes, touch.addresses)


def _not_brought(old: AccessRecord, brought: Rows) -> int:
    """Mask of an access's lanes that no proxy fence has made visible to another proxy."""
    if old.agent is not None:
        return old.agent.pending(brought.get(old.agent.number))
    ticks = brought.get(old.warp)
    return old.lanes if ticks is None else old.lanes & _behind(ticks, np.full(32, old.tick))


def _unused(insn: Any) -> bool:
    """Whether the result of a test is unused, so that its thread does not know it."""
    target = insn.o.get("p")
    return isinstance(target, Pred) and target.is_true


def _one_by_one(a: AccessRecord, b: AccessRecord) -> bool:
    """Whether both records come from the same warp-group product, which each warp records."""
    return (
        a.agent is not None
        and b.agent is not None
        and a.agent.kind == b.agent.kind == "gmma"
        and a.pc == b.pc
    )


_WAITS: Final = {
    "copy": "wait for the copy's group (cp.async.wait_group) in the thread that issued it, before "
    "the barrier",
    "bulk": "wait for the copy: for the phase of the mbarrier that counts it, or for its bulk "
    "group in the thread that issued it",
    "remote": "wait for the phase of the mbarrier that counts the store",
    "gmma": "wgmma.wait_group, with a smaller number, before the shared memory is reused",
}
_FENCE: Final = (
    "fence.proxy.async between the two: by the writer before the barrier, or by the issuer after it"
)
_PLAIN_PATH: Final = "a plain load: no __restrict__, no __ldg of what the launch writes"
_MAP_FENCE: Final = (
    "fence.proxy.tensormap::generic.acquire of the map between its change and the copy"
)
_LAUNCH: Final = 1 << 40
"""Warp numbers reserved for each launch."""
_GRID: Final = "griddepcontrol.wait (cudaGridDependencySynchronize) before the access"
_CLUSTER: Final = "barrier.cluster between the two"

_HANDLERS: Final = {
    "LDGDEPBAR": AsyncRaceCheck._closes,
    "UTMACMDFLUSH": AsyncRaceCheck._closes,
    "DEPBAR": AsyncRaceCheck._waits_for_groups,
    "CCTL": AsyncRaceCheck._empties_caches,
    "FENCE": AsyncRaceCheck._proxy_fence,
    "UFENCE": AsyncRaceCheck._proxy_fence,
    "WARPGROUP": AsyncRaceCheck._warp_group,
    "UCGABAR_ARV": AsyncRaceCheck._cluster_arrives,
    "UCGABAR_WAIT": AsyncRaceCheck._cluster_begins_waiting,
    "EXIT": AsyncRaceCheck._exit,
    "ACQBULK": AsyncRaceCheck._waits_for_grid,
    "UGETNEXTWORKID": AsyncRaceCheck._unknown,
    "UTMACCTL": AsyncRaceCheck._map_fence,
    "PREEXIT": AsyncRaceCheck._lets_dependents_begin,
}
_EVENTS: Final[dict[type, Any]] = {
    BytesCopied: AsyncRaceCheck._copy,
    MatricesRead: AsyncRaceCheck._matrices,
    MbarrierBegun: AsyncRaceCheck._begins,
    MbarrierChanged: AsyncRaceCheck._changes,
    MbarrierTested: AsyncRaceCheck._tests,
    TensorMapUsed: AsyncRaceCheck._map,
}
