"""What registers' lanes have in common where a loop begins.

The lane analysis (`gpudbg.sm.lanes`) says how lanes differ in registers there: they are the same,
or a scalar and a known number for each lane.  That is a guess for the loop: code tests at its entry
that the record is so, and leaves it to the version for any lanes where it is not, since a debugger
may have changed a register, or a sum has wrapped around.  The loop's code then has scalars in the
place of vectors, where what each turn makes of them is of the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from gpudbg.sm.cfg import Flow
from gpudbg.sm.engines.llvm.ir.builder import HELD, LANES
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import FULL, UNIFORM, Num, Val
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.lane_patterns import ZEROS
from gpudbg.sm.lanes.analysis import MAX_INSTRUCTIONS, LaneAnalysis
from gpudbg.sm.lanes.values import KnownState, ValueShape, of_rows
from gpudbg.sm.record import HEADER_BYTES, ROW_BYTES

_VECTOR = f"<{LANES} x i32>"


class LaneFact(NamedTuple):
    """How the lanes of a register lie to one another.

    Attributes:
        rows: of lanes, equally long, each of which has a scalar.
        offsets: what a lane has more than its row's first one.
    """

    rows: int
    offsets: tuple[int, ...]

    @property
    def firsts(self) -> range:
        """The first lane of each row."""
        return range(0, LANES, LANES // self.rows)


Facts = Mapping[int, LaneFact]


def fact_of(ints: Integers, value: Num, rows: int = 0) -> LaneFact | None:
    """What is known of a value from the code.

    Args:
        rows: how many to tell apart; 0: as many as its form has.
    """
    form = ints.line(value)
    if form is None or (rows and rows % len(form.bases)):
        return None
    return _normal(rows or len(form.bases), form.offsets)


@lru_cache(maxsize=256)
def _normal(rows: int, offsets: tuple[int, ...]) -> LaneFact:
    """The fact of a form with these offsets, for so many rows."""
    length = LANES // rows
    apart = (offsets[n] - offsets[n - n % length] & FULL for n in range(LANES))
    return LaneFact(rows, tuple(apart))


def scalars(ints: Integers, value: Num, fact: LaneFact) -> list[Num] | None:
    """What the first lanes of rows have, of a value that is as a fact says; else None."""
    if fact_of(ints, value, fact.rows) != fact:
        return None
    form = ints.line(value)
    assert form is not None
    return [ints.add(form.base(lane), form.offsets[lane]) for lane in fact.firsts]


def held(ints: Integers, index: int, fact: LaneFact) -> Num:
    """A register whose row in the record is as a fact says."""
    ir = ints.ir
    bases = []
    for lane in fact.firsts:
        place = ir.at("%rec", HEADER_BYTES + ROW_BYTES * index + 4 * lane)
        bases.append(Val(32, ir.op(f"load i32, ptr {place}, align 4{HELD}"), UNIFORM))
    return ints.affine(tuple(bases), fact.offsets)


def test(ints: Integers, facts: Facts) -> str:
    """Emit an i1: the record is as facts say."""
    ir = ints.ir
    wrong = ""
    for index, fact in sorted(facts.items()):
        place = ir.at("%rec", HEADER_BYTES + ROW_BYTES * index)
        row = ir.op(f"load {_VECTOR}, ptr {place}, align 64")
        length = LANES // fact.rows
        picks = ", ".join(f"i32 {n - n % length}" for n in range(LANES))
        first = ir.op(f"shufflevector {_VECTOR} {row}, {_VECTOR} poison, <{LANES} x i32> <{picks}>")
        if any(fact.offsets):
            numbers = ", ".join(f"i32 {n}" for n in fact.offsets)
            first = ir.op(f"add {_VECTOR} {first}, <{numbers}>")
        differs = ir.op(f"xor {_VECTOR} {row}, {first}")
        wrong = ir.op(f"or {_VECTOR} {wrong}, {differs}") if wrong else differs
    lanes = ir.op(f"icmp ne {_VECTOR} {wrong}, zeroinitializer")
    bits = ir.op(f"bitcast <{LANES} x i1> {lanes} to i32")
    return ir.op(f"icmp eq i32 {bits}, 0")


class LaneClaims:
    """What the lane analysis (`gpudbg.sm.lanes`) says of registers in a kernel's code.

    Claims that hold unless a sum wraps around, or lanes return from a call one after the other,
    are taken as well: code tests them.
    """

    def __init__(self, listing: KernelListing, registers: int, rows: int) -> None:
        """Args:
        registers: of a warp's record.
        rows: lanes of a row of threads, or 0 (`EmitterOptions`).
        """
        self._listing, self._registers, self._rows = listing, registers, rows

    @cached_property
    def _analysis(self) -> LaneAnalysis:
        """The analysis, made when it is first wanted: few loops ask for it."""
        listing = self._listing
        flow = Flow.of(listing.code, listing.arch, listing.entry)
        zero = ValueShape(1, ZEROS, (0,))
        begins = KnownState(dict.fromkeys(range(self._registers), zero), {}, {})
        threads = of_rows(self._rows)
        return LaneAnalysis(flow, listing.arch, threads, listing.entry, begins, calls_part=False)

    def at(self, head: int) -> dict[int, LaneFact]:
        """Facts about registers at a place, of those that the code writes: the others are zero
        unless a debugger has written them."""
        written = self._listing.written().registers
        claims = self._analysis.claims(head).items()
        return {n: _normal(s.rows, s.offsets) for n, s in claims if n in written}


def claims_of(listing: KernelListing, registers: int, rows: int) -> LaneClaims | None:
    """What is known of lanes where that is of use: in code that is not too long."""
    if len(listing.code) > MAX_INSTRUCTIONS:
        return None
    return LaneClaims(listing, registers, rows)
