"""One warp's instructions in flight, as the control words describe them.

Registers are resources 0..254, predicates 256..262, the condition code 263, uniform predicates
264..270, uniform registers 512..766.  What is in flight:

results   of fixed latency have a time at which they are there; of variable latency they are
          there once a scoreboard that covers them has been waited for.
reads     of variable-latency instructions, until a scoreboard that covers them is waited for.

A scoreboard is a counter: an instruction adds one when it issues and takes it off when it is
done, so a wait covers all that set it.  An instruction without a barrier is covered by the
barrier of a later one in the same queue, since a queue finishes in order (inferred: compiled code
puts the barrier on the last of several loads).  `DEPBAR.LE SBn, k` covers all but the last k.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import NamedTuple

from gpudbg.architectures import is_wide
from gpudbg.dataclass import dataclass
from gpudbg.isa.control import SCOREBOARDS, Control
from gpudbg.isa.family import Instruction, decode, timing_of
from gpudbg.isa.operands import PT, RZ, Access
from gpudbg.isa.timing import Timing
from gpudbg.isa.volta import WideInstruction

PREDICATE = 256
CC = 263
UNIFORM_PREDICATE = 264
UNIFORM = 512
ALL_LANES = 0xFFFFFFFF
OLD = 32
"""Cycles after which a fixed-latency result is certainly there."""
MAX_COUNT = 63
LATE_WAIT = 2
"""Cycles after which a scoreboard can be waited for in every family."""


def name_of(resource: int) -> str:
    """ "R4", "P0", "CC", "UP0" or "UR4"."""
    if resource >= UNIFORM:
        return f"UR{resource - UNIFORM}"
    if resource >= UNIFORM_PREDICATE:
        return f"UP{resource - UNIFORM_PREDICATE}"
    if resource == CC:
        return "CC"
    return f"P{resource - PREDICATE}" if resource >= PREDICATE else f"R{resource}"


class Read(NamedTuple):
    """A resource an instruction reads, how many cycles after issue, its class as a reader."""

    resource: int
    delay: int
    reader: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What issuing an instruction with its control group does."""

    insn: Instruction
    control: Control
    reads: tuple[Read, ...]
    guard_reads: tuple[Read, ...]
    writes: tuple[int, ...]
    late_reads: tuple[int, ...]
    variable: bool
    queue: str
    read_queue: str
    in_order: bool
    barrier_ok: bool
    guard: tuple[int, bool]
    depbar: tuple[tuple[int, int], ...]
    cycles: tuple[Mapping[str, int], ...]
    timing: Timing


@lru_cache(maxsize=1 << 16)
def plan(word: int, group: int, arch: str) -> Plan:
    """The plan of an instruction word with a control group.

    Raises:
        DecodeError: an illegal word.
    """
    insn, timing = decode(word, arch), timing_of(arch)
    unit = timing.unit(insn)
    read, written = insn.reads(), insn.writes()
    guard = insn.guard
    guard_reads: tuple[Read, ...] = ()
    if guard[0] != PT:
        uniform = isinstance(insn, WideInstruction) and insn.uniform_guard
        tested = (UNIFORM_PREDICATE if uniform else PREDICATE) + guard[0]
        guard_reads = (Read(tested, 0, timing.reader(insn, name_of(tested), guard=True)),)
    registers = sorted(r for r in read.registers if r != RZ)
    others = _others(read, wide=is_wide(arch)) + ([CC] if read.cc else [])
    delays = [(r, unit.read_delay) for r in registers] + [(r, 0) for r in others]
    reads = [Read(r, delay, timing.reader(insn, name_of(r), guard=False)) for r, delay in delays]
    late = tuple(registers) if unit.variable and not timing.holds_operands(insn) else ()
    writes = sorted(r for r in written.registers if r != RZ)
    writes += _others(written, wide=is_wide(arch))
    if written.cc:
        writes.append(CC)
    known = {row.resource for row in guard_reads}
    results = tuple(writes) if timing.tracks_results(insn) else ()
    return Plan(
        insn=insn,
        control=Control.decode(group),
        reads=tuple(r for r in reads if r not in guard_reads and r.resource not in known),
        guard_reads=guard_reads,
        writes=results,
        late_reads=late,
        variable=unit.variable,
        queue=unit.name,
        read_queue=timing.read_queue(insn),
        in_order=timing.in_order(insn),
        barrier_ok=timing.accepts_barriers(insn),
        guard=guard if guard_reads and guard_reads[0].resource < CC else (PT, False),
        depbar=timing.depbar(insn),
        cycles=tuple(timing.result(insn, name_of(r)) for r in results),
        timing=timing,
    )


def _others(access: Access, wide: bool) -> list[int]:
    """Resources beside registers and the condition code."""
    out = [PREDICATE + p for p in sorted(access.predicates) if p != PT]
    if wide:
        out += [UNIFORM_PREDICATE + p for p in sorted(access.uniform_predicates) if p != PT]
        out += [UNIFORM + r for r in sorted(access.uniform)]
    return out


@dataclass(slots=True)
class Flight:
    """A result on its way, or a read still to happen.

    Attributes:
        pc: its instruction.
        issued: when.
        variable: it needs a scoreboard.
        queue: what finishes in order with it.
        lanes: where.
        guard: (predicate, negated) of the instruction, (7, False) when it no longer says anything.
        cycles: after which a result of fixed latency is there, by the reader's class.
        cover: scoreboard -> sets of it since the one that covered this, itself not counted.
    """

    pc: int
    issued: int
    variable: bool
    queue: str
    lanes: int
    guard: tuple[int, bool]
    cycles: Mapping[str, int] = field(default_factory=dict)
    cover: dict[int, int] = field(default_factory=dict)

    def copy(self) -> Flight:
        """An independent copy."""
        return Flight(
            self.pc, self.issued, self.variable, self.queue, self.lanes, self.guard, self.cycles,
            dict(self.cover),
        )  # fmt: skip


class Conflict(NamedTuple):
    """A hazard before it has texts: kind, resource name, first pc or None, short, detail."""

    kind: str
    resource: str
    first: int | None
    short: int | None
    detail: str


ALWAYS = (PT, False)


def _apart(a: tuple[int, bool], b: tuple[int, bool]) -> bool:
    """Guards that perhaps no lane passes both: compilers know which predicates exclude others."""
    return a != b and a[0] != PT and b[0] != PT


class Pipeline:
    """What is in flight; `issue` checks an instruction against it and adds it.

    Args:
        by_guard: tell instructions apart by their guards, where the executing lanes are unknown.

    Attributes:
        now: when the next instruction issues, in cycles.
    """

    __slots__ = ("_by_guard", "_pair", "now", "reads", "sets", "writes")

    def __init__(self, by_guard: bool = True) -> None:
        self._by_guard = by_guard
        self.now = 0
        self.writes: dict[int, list[Flight]] = {}
        self.reads: dict[int, list[Flight]] = {}
        self.sets: dict[int, tuple[int, int]] = {}
        self._pair: tuple[int, Plan, int] | None = None

    def issue(self, pc: int, p: Plan, lanes: int = ALL_LANES) -> list[Conflict]:
        """Issue an instruction.

        Args:
            pc: its address.
            p: what it does.
            lanes: where it executes; 0 when its guard is false everywhere.

        Returns:
            The hazards it meets.
        """
        found: list[Conflict] = []
        if self._pair is not None:
            found += self._check_pair(p, lanes)
        if p.control.wait:
            found += self._wait(p.control.wait, p.timing.scoreboard_latency)
        for scoreboard, left in p.depbar:
            self._release(scoreboard, left)
        if p.insn.op == "BAR":
            self._operands_read(p.timing.read_before_bar)
        found += self._check_reads(p.guard_reads, p, ALL_LANES)
        if lanes:
            found += self._check_reads(p.reads, p, lanes)
            found += self._check_writes(p, lanes)
        found += self._control(pc, p)
        self._enter(pc, p, lanes)
        pairs = bool(p.timing.unpaired_unit) and p.control.dual_issue and self._pair is None
        self._pair = (pc, p, lanes) if pairs else None
        self.now += p.control.stall
        return found

    # ---- checks ------------------------------------------------------------------------
    def _separate(self, a: tuple[int, bool], b: tuple[int, bool]) -> bool:
        return self._by_guard and _apart(a, b)

    def _wait(self, mask: int, latency: int) -> list[Conflict]:
        found = []
        for scoreboard in range(SCOREBOARDS):
            if not mask >> scoreboard & 1:
                continue
            at = self.sets.get(scoreboard)
            if at is not None and self.now - at[1] < latency:
                short = latency - (self.now - at[1])
                found.append(
                    Conflict("early-wait", f"SB{scoreboard}", at[0], short,
                             f"a scoreboard can be waited for {latency} cycles "
                             "after the instruction that sets it; raise the stall count")
                )  # fmt: skip
            self._release(scoreboard, 0)
        return found

    def _check_reads(self, reads: Iterable[Read], p: Plan, lanes: int) -> list[Conflict]:
        found = []
        for resource, delay, reader in reads:
            for flight in self.writes.get(resource, ()):
                if not flight.lanes & lanes or self._separate(flight.guard, p.guard):
                    continue
                name = name_of(resource)
                if flight.variable:
                    found.append(Conflict("unwaited", name, flight.pc, None, _wait_words(flight)))
                    continue
                needed = flight.cycles.get(reader, 0)
                short = flight.issued + needed - self.now - delay
                if short > 0:
                    found.append(
                        Conflict("stall", name, flight.pc, short,
                                 f"{name} can be read {needed - delay} cycles after the first "
                                 f"issues, not {self.now - flight.issued}")
                    )  # fmt: skip
        return found

    def _check_writes(self, p: Plan, lanes: int) -> list[Conflict]:
        found = []
        for resource in p.writes:
            name = name_of(resource)
            for flight in self.writes.get(resource, ()):
                if not flight.variable or (p.variable and flight.queue == p.queue):
                    continue
                if flight.lanes & lanes and not self._separate(flight.guard, p.guard):
                    found.append(Conflict("overwrite", name, flight.pc, None, _wait_words(flight)))
            for flight in self.reads.get(resource, ()):
                if p.variable and flight.queue == p.read_queue:
                    continue
                if flight.lanes & lanes and not self._separate(flight.guard, p.guard):
                    found.append(
                        Conflict("war", name, flight.pc, None,
                                 _wait_words(flight) if flight.cover else
                                 "the first sets no barrier when it has read its operands")
                    )  # fmt: skip
        return found

    def _check_pair(self, p: Plan, lanes: int) -> list[Conflict]:
        assert self._pair is not None
        pc, first, first_lanes = self._pair
        found = []
        # A result of variable latency comes after one of fixed latency anyway.
        ordered = p.variable and not first.variable
        for resource in set() if ordered else set(first.writes) & set(p.writes):
            if first_lanes & lanes and not self._separate(first.guard, p.guard):
                found.append(Conflict("dual", name_of(resource), pc, None, "both write it"))
        if p.queue == first.queue == p.timing.unpaired_unit:
            found.append(Conflict("dual", "", pc, None, f"both need the {p.queue} unit"))
        return found

    def _control(self, pc: int, p: Plan) -> Iterator[Conflict]:
        control = p.control
        barriers = [b for b in (control.write_barrier, control.read_barrier) if b is not None]
        if barriers and not p.barrier_ok:
            yield Conflict("barrier", f"SB{barriers[0]}", None, None,
                           f"{p.insn.op} has a fixed latency and no scoreboard")  # fmt: skip
        for barrier in barriers:
            if barrier >= SCOREBOARDS:
                yield Conflict("barrier", f"SB{barrier}", None, None,
                               "scoreboards are 0 to 5 (7 in the word for none)")  # fmt: skip
        if control.stall == 0 and control.yield_ and p.timing.unpaired_unit:
            yield Conflict("zero-stall", "", None, 1, "the stall count has to be at least 1")

    # ---- state -------------------------------------------------------------------------
    def _release(self, scoreboard: int, left: int) -> None:
        """The scoreboard has come down to `left`: what it covers has happened."""
        for table in (self.writes, self.reads):
            for resource in list(table):
                kept = [f for f in table[resource] if f.cover.get(scoreboard, -1) < left]
                if len(kept) != len(table[resource]):
                    self._put(table, resource, kept)

    def _operands_read(self, queues: Collection[str]) -> None:
        """Queues have read the operands of everything in them."""
        for resource in list(self.reads):
            kept = [f for f in self.reads[resource] if f.queue not in queues]
            self._put(self.reads, resource, kept)

    @staticmethod
    def _put(table: dict[int, list[Flight]], resource: int, flights: list[Flight]) -> None:
        if flights:
            table[resource] = flights
        else:
            table.pop(resource, None)

    def _enter(self, pc: int, p: Plan, lanes: int) -> None:
        if lanes:
            for resource in p.late_reads:
                flight = Flight(pc, self.now, True, p.read_queue, lanes, p.guard)
                others = [f for f in self.reads.get(resource, ()) if f.pc != pc]
                self.reads[resource] = [*others, flight]
            for resource, cycles in zip(p.writes, p.cycles, strict=True):
                flight = Flight(pc, self.now, p.variable, p.queue, lanes, p.guard, cycles)
                self._write(resource, flight)
        control = p.control
        if control.read_barrier is not None:
            self._set(control.read_barrier, pc, ((self.reads, p.read_queue, True),))
        if control.write_barrier is not None:
            both = ((self.writes, p.queue, p.in_order), (self.reads, p.read_queue, True))
            self._set(control.write_barrier, pc, both)

    def _write(self, resource: int, flight: Flight) -> None:
        """A new result; older ones stay where it does not cover their lanes."""
        older = [
            f
            for f in self.writes.get(resource, ())
            if f.pc != flight.pc
            and (f.variable or (self.now - f.issued < OLD and not self._replaces(flight, f)))
        ]
        self.writes[resource] = [*older, flight]
        if PREDICATE <= resource < CC:
            self._forget_guard(resource - PREDICATE)

    def _replaces(self, new: Flight, old: Flight) -> bool:
        """Whether nothing of an old result is left where a new one is written."""
        if self._by_guard:
            return new.guard in (ALWAYS, old.guard)
        return old.lanes & ~new.lanes == 0

    def _forget_guard(self, predicate: int) -> None:
        """A predicate changes: guards that name it say nothing about later ones."""
        for table in (self.writes, self.reads):
            for flights in table.values():
                for flight in flights:
                    if flight.guard[0] == predicate:
                        flight.guard = ALWAYS

    def _set(
        self, scoreboard: int, pc: int, covered: Iterable[tuple[dict[int, list[Flight]], str, bool]]
    ) -> None:
        """An instruction adds one to a scoreboard.

        It covers the instruction, and what stands before it in queues that are in order.
        """
        for table in (self.writes, self.reads):
            for flights in table.values():
                for flight in flights:
                    if scoreboard in flight.cover:
                        flight.cover[scoreboard] = min(flight.cover[scoreboard] + 1, MAX_COUNT)
        for table, queue, in_order in covered:
            for flights in table.values():
                for flight in flights:
                    before = in_order or flight.pc == pc
                    if flight.variable and flight.queue == queue and before:
                        flight.cover.setdefault(scoreboard, 0)
        self.sets[scoreboard] = (pc, self.now)

    # ---- joining paths -----------------------------------------------------------------
    def rebased(self) -> Pipeline:
        """A copy whose clock stands at 0, old results dropped."""
        out = Pipeline(self._by_guard)
        for mine, theirs in ((self.writes, out.writes), (self.reads, out.reads)):
            for resource, flights in mine.items():
                kept = [f.copy() for f in flights if f.variable or self.now - f.issued < OLD]
                for flight in kept:
                    flight.issued = max(flight.issued - self.now, -OLD)
                if kept:
                    theirs[resource] = kept
        for scoreboard, (pc, at) in self.sets.items():
            if self.now - at < LATE_WAIT:
                out.sets[scoreboard] = (pc, at - self.now)
        out._pair = self._pair
        return out

    def merge(self, other: Pipeline) -> bool:
        """Take in what another path has in flight (both rebased); whether anything changed."""
        changed = False
        for mine, theirs in ((self.writes, other.writes), (self.reads, other.reads)):
            for resource, flights in theirs.items():
                for flight in flights:
                    changed |= _join(mine.setdefault(resource, []), flight)
        for scoreboard, (pc, at) in other.sets.items():
            if scoreboard not in self.sets or self.sets[scoreboard][1] < at:
                self.sets[scoreboard] = (pc, at)
                changed = True
        return changed


def _join(flights: list[Flight], flight: Flight) -> bool:
    """Add a flight of another path to a resource's; whether anything changed."""
    for mine in flights:
        if mine.pc != flight.pc or mine.variable != flight.variable:
            continue
        cover = {b: min(n, flight.cover[b]) for b, n in mine.cover.items() if b in flight.cover}
        guard = mine.guard if mine.guard == flight.guard else ALWAYS
        issued = max(mine.issued, flight.issued) if not mine.variable else mine.issued
        changed = (cover, guard, issued) != (mine.cover, mine.guard, mine.issued)
        mine.cover, mine.guard, mine.issued = cover, guard, issued
        return changed
    flights.append(flight.copy())
    return True


def _wait_words(flight: Flight) -> str:
    if not flight.cover:
        return "the first sets no scoreboard that could be waited for"
    boards = " or ".join(f"SB{b}" for b in sorted(flight.cover))
    return f"the second has to wait for {boards}"
