"""What registers' lanes have in common where a loop begins.

Code that goes to a loop knows how lanes differ in the registers it has in names: they are the same,
or a scalar and a known number for each lane.  That is a guess for the loop.  Code tests at the
loop's entry that the record is so, and leaves it to the version for any lanes where it is not: a
debugger may have changed a register, or lanes came another way.  The loop's code then has scalars
in the place of vectors, if what each turn makes of them is of the same kind, which the first
emission of the loop tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from gpudbg.sm.engines.llvm.ir.builder import HELD, LANES
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import FULL, UNIFORM, Num, Val
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


class FactsAtHeads:
    """What has been seen where code goes to the heads of loops.

    Attributes:
        seen: head -> register -> what all ways there had in common; None: nothing.
        used: head -> what the code there relies on.
    """

    def __init__(self) -> None:
        self.seen: dict[int, dict[int, LaneFact | None]] = {}
        self.used: dict[int, Facts] = {}

    def copy(self) -> FactsAtHeads:
        """As it is now."""
        made = FactsAtHeads()
        made.seen = {head: dict(known) for head, known in self.seen.items()}
        made.used = dict(self.used)
        return made

    def note(self, head: int, found: Mapping[int, LaneFact | None]) -> None:
        """Note one more way to a head."""
        known = self.seen.setdefault(head, {})
        for index, fact in found.items():
            known[index] = fact if index not in known or known[index] == fact else None

    def guess(self, head: int) -> dict[int, LaneFact]:
        """What may be guessed of a head."""
        known = self.seen.get(head, {}).items()
        return {n: fact for n, fact in known if fact is not None}

    def wrong(self) -> frozenset[tuple[int, int]]:
        """Heads and registers of which code that was emitted later knows otherwise."""
        return frozenset(
            (head, index)
            for head, facts in self.used.items()
            for index, fact in facts.items()
            if self.seen.get(head, {}).get(index, fact) != fact
        )
