"""Which instructions and accesses an observer wants: those that touch some places, no others.

An observer with a selection does not take the step engine everywhere.  Compiled code tests its
accesses against the selected ranges, and leaves to the step engine, which notifies the observer,
before an instruction that may touch one, that touches a selected register or that reads a selected
constant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.isa.family import Instruction
    from gpudbg.isa.operands import Access

ANY: Final = -1
"""Stands for every CTA or every warp."""
MOST_RANGES: Final = 8
MOST_OWNERS: Final = 4
"""Most ranges and register owners tested separately in code; beyond that, near ones are merged."""


@dataclass(frozen=True, slots=True)
class SelectedRange:
    """Bytes of memory.

    Attributes:
        space: global, shared or local.
        low, size: the bytes; of shared and local memory `low` is an offset.
        loads, stores: accesses that it is about; atomics are both.
        cta: the number of the CTA whose memory it is, or `ANY`.
        warp: the index in it of the warp, or `ANY`.
    """

    space: str
    low: int
    size: int
    loads: bool
    stores: bool
    cta: int = ANY
    warp: int = ANY


@dataclass(frozen=True, slots=True)
class SelectedRegister:
    """A register, predicate or flag of one warp.

    Attributes:
        file, number: a field of `isa.operands.Access`, and which; of the condition code 0.
            `SPECIAL` and a special register's number; `EVERY` and 0: every instruction, `LEAVES`
            and 0: those by which lanes leave a function or the kernel.
        cta, warp: whose.
        reads, writes: instructions that it is about.
    """

    file: str
    number: int
    cta: int
    warp: int
    reads: bool = False
    writes: bool = True

    def touches(self) -> set[Touched]:
        """The actions of an instruction that this register stands for, as `touched_by` names
        them.
        """
        if self.file in (SPECIAL, EVERY, LEAVES):
            return {(self.file, self.number)}
        found = {(f"read {self.file}", self.number)} if self.reads else set()
        return found | {(self.file, self.number)} if self.writes else found


@dataclass(frozen=True, slots=True)
class SelectedConstant:
    """Bytes of a constant bank that instructions read, of whichever warp."""

    bank: int
    low: int
    size: int

    def read_by(self, insn: Instruction) -> bool:
        """Whether an instruction can read it: as an operand, or where its registers point."""
        # Imported late: programs are loaded without the decoders, which are slow to import.
        from gpudbg.isa.constant_reads import constant_reads

        return any(
            self.meets(read.bank, read.offset, read.size)
            if read.base is None
            else read.segmented or read.bank == self.bank
            for read in constant_reads(insn)
        )

    def meets(self, bank: int, offset: int, size: int) -> bool:
        """Whether an access to a bank overlaps these bytes."""
        return bank == self.bank and offset < self.low + self.size and self.low < offset + size


Touched = tuple[str, int]
"""File and number of a register that is written; behind "read " the file of one that is read."""
FILES: Final = ("registers", "predicates", "uniform", "uniform_predicates", "barriers")
SPECIAL: Final = "special"
EVERY: Final = "every"
LEAVES: Final = "leaves"
LEAVING: Final = frozenset(("EXIT", "KIL", "KILL", "RET"))
"""Instructions by which lanes leave a function or the kernel."""


def touched_by(insn: Instruction) -> set[Touched]:
    """What an instruction reads and writes, as a selection has it."""
    from gpudbg.isa.special_reads import special_reads

    found: set[Touched] = {(EVERY, 0)}
    if insn.op in LEAVING:
        found.add((LEAVES, 0))
    for prefix, access in (("", insn.writes()), ("read ", insn.reads())):
        found |= {(prefix + file, number) for file, number in _registers_of(access)}
    return found | {(SPECIAL, number) for number in special_reads(insn)}


def _registers_of(access: Access) -> set[Touched]:
    found = {(file, number) for file in FILES for number in getattr(access, file)}
    return found | {("cc", 0)} if access.cc else found


@dataclass(frozen=True, slots=True)
class Tests:
    """What code tests, without the numbers that it reads when it runs.

    Attributes:
        ranges: of each range space, loads and stores.
        registers: those whose reading or writing matters.
        owners: warps whose registers they are.
        constants: those that instructions of any warp read.
    """

    ranges: tuple[tuple[str, bool, bool], ...] = ()
    registers: frozenset[Touched] = frozenset()
    owners: int = 0
    constants: frozenset[SelectedConstant] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.ranges or self.registers or self.constants)


NO_TESTS: Final = Tests()


@dataclass(frozen=True, slots=True)
class Selection:
    """What one or several observers want.

    Attributes:
        ranges, registers: the places.
        stepped: why only the step engine can notify of all of them, or "".
        constants: what instructions read of constant banks.
    """

    ranges: tuple[SelectedRange, ...] = ()
    registers: tuple[SelectedRegister, ...] = ()
    stepped: str = ""
    constants: tuple[SelectedConstant, ...] = ()

    def joined(self, other: Selection) -> Selection:
        """The union of two selections."""
        return Selection(
            self.ranges + other.ranges,
            self.registers + other.registers,
            self.stepped or other.stepped,
            self.constants + other.constants,
        )

    def tests(self) -> tuple[Tests, list[tuple[int, int, int, int]]]:
        """What code tests, and its numbers: low, size, CTA and warp of each range, then CTA and
        warp of each owner behind two zeros."""
        ranges = sorted(_few(self.ranges), key=lambda r: (r.space, r.loads, r.stores, r.low))
        owners = sorted({(r.cta, r.warp) for r in self.registers})
        if len(owners) > MOST_OWNERS:
            owners = [(ANY, ANY)]
        kinds = tuple((r.space, r.loads, r.stores) for r in ranges)
        touched = frozenset(what for r in self.registers for what in r.touches())
        if not (kinds or touched or self.constants):
            return NO_TESTS, []
        numbers = [(r.low, r.size, r.cta, r.warp) for r in ranges]
        tests = Tests(kinds, touched, len(owners), frozenset(self.constants))
        return tests, numbers + [(0, 0, *who) for who in owners]


NOTHING: Final = Selection()


def _few(ranges: Iterable[SelectedRange]) -> list[SelectedRange]:
    """At most `MOST_OWNERS` ranges that cover the given ones."""
    found = sorted(set(ranges), key=lambda r: (r.space, r.low))
    while len(found) > MOST_RANGES:
        pairs = [n for n in range(len(found) - 1) if found[n].space == found[n + 1].space]
        n = min(pairs, key=lambda n: found[n + 1].low - found[n].low - found[n].size)
        found[n : n + 2] = [_both(found[n], found[n + 1])]
    return found


def _both(a: SelectedRange, b: SelectedRange) -> SelectedRange:
    """The smallest range that covers two of one space."""
    low, end = min(a.low, b.low), max(a.low + a.size, b.low + b.size)
    same = (a.cta, a.warp) == (b.cta, b.warp)
    return replace(
        a,
        low=low,
        size=end - low,
        loads=a.loads or b.loads,
        stores=a.stores or b.stores,
        cta=a.cta if same else ANY,
        warp=a.warp if same else ANY,
    )
