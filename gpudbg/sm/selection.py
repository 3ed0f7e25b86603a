"""Which instructions and accesses an observer wants: those that touch some places, no others.

An observer with a selection does not take the step engine everywhere.  Compiled code tests its
accesses against the selected ranges, and leaves to the step engine, which notifies the observer,
before an instruction that may touch one or that writes a selected register.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.isa.operands import Access

ANY: Final = -1
"""Every CTA, every warp."""
MOST_RANGES: Final = 8
MOST_OWNERS: Final = 4
"""Ranges and owners of registers that code tests apart: of more, near ones are taken together."""


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
        cta, warp: whose.
    """

    file: str
    number: int
    cta: int
    warp: int


Written = tuple[str, int]
"""File and number of a register."""
FILES: Final = ("registers", "predicates", "uniform", "uniform_predicates")


def written_by(access: Access) -> set[Written]:
    """What an instruction writes, as a selection has it."""
    found = {(file, number) for file in FILES for number in getattr(access, file)}
    return found | {("cc", 0)} if access.cc else found


@dataclass(frozen=True, slots=True)
class Tests:
    """What code tests, without the numbers that it reads when it runs.

    Attributes:
        ranges: of each range space, loads and stores.
        registers: those whose writing matters.
        owners: warps whose registers they are.
    """

    ranges: tuple[tuple[str, bool, bool], ...] = ()
    registers: frozenset[Written] = frozenset()
    owners: int = 0

    def __bool__(self) -> bool:
        return bool(self.ranges or self.registers)


NO_TESTS: Final = Tests()


@dataclass(frozen=True, slots=True)
class Selection:
    """What one or several observers want.

    Attributes:
        ranges, registers: the places.
        stepped: why only the step engine can notify of all of them, or "".
    """

    ranges: tuple[SelectedRange, ...] = ()
    registers: tuple[SelectedRegister, ...] = ()
    stepped: str = ""

    def joined(self, other: Selection) -> Selection:
        """Both."""
        return Selection(
            self.ranges + other.ranges,
            self.registers + other.registers,
            self.stepped or other.stepped,
        )

    def tests(self) -> tuple[Tests, list[tuple[int, int, int, int]]]:
        """What code tests, and its numbers: low, size, CTA and warp of each range, then CTA and
        warp of each owner behind two zeros."""
        ranges = sorted(_few(self.ranges), key=lambda r: (r.space, r.loads, r.stores, r.low))
        owners = sorted({(r.cta, r.warp) for r in self.registers})
        if len(owners) > MOST_OWNERS:
            owners = [(ANY, ANY)]
        kinds = tuple((r.space, r.loads, r.stores) for r in ranges)
        written = frozenset((r.file, r.number) for r in self.registers)
        if not (kinds or written):
            return NO_TESTS, []
        numbers = [(r.low, r.size, r.cta, r.warp) for r in ranges]
        return Tests(kinds, written, len(owners)), numbers + [(0, 0, *who) for who in owners]


NOTHING: Final = Selection()


def _few(ranges: Iterable[SelectedRange]) -> list[SelectedRange]:
    """Ranges that hold those given, and more where these are too many."""
    found = sorted(set(ranges), key=lambda r: (r.space, r.low))
    while len(found) > MOST_RANGES:
        pairs = [n for n in range(len(found) - 1) if found[n].space == found[n + 1].space]
        n = min(pairs, key=lambda n: found[n + 1].low - found[n].low - found[n].size)
        found[n : n + 2] = [_both(found[n], found[n + 1])]
    return found


def _both(a: SelectedRange, b: SelectedRange) -> SelectedRange:
    """A range that holds two of one space."""
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
