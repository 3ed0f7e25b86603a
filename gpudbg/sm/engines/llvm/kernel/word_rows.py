"""Loads of words that follow one another in each lane, as unrolled loops over rows have them.

For code for any lanes on hosts with AVX2 alone.  Where at least three of four such words are
loaded by straight code from one register in the same lanes, the first of these loads takes all
four: 16 bytes of each lane, which are transposed eight lanes at a time.  That is a fourth of what
gathers of eight words cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpudbg.isa.operands import Access
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.eights import EIGHT, joined_eights
from gpudbg.sm.engines.llvm.kernel.addresses import LANES32, AddressParts, AddressShape
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls

WORDS = 4
"""Words of a row."""
_LEAST = 3
"""Least words of a row that are wanted."""
_AHEAD = 48
"""Most instructions from one load of a row to another."""
_ENDS = frozenset(
    "ST STG STS STL STSM ATOM ATOMS RED ATOMG REDG LDGSTS MEMBAR ERRBAR BAR CCTL CCTLL".split()
)
"""Instructions behind which loads are not taken earlier."""
_STRONG = frozenset(("STRONG", "MMIO", "CV"))
"""Modifiers of loads that are not taken earlier."""
_FOUR = f"<{WORDS} x i32>"


_BOTH = "<8 x i32> <" + ", ".join(f"i32 {n}" for n in range(8)) + ">"
_LOW, _HIGH = (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)
"""Words of two rows by turns, in each half of a vector."""
_EVEN, _ODD = (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)
"""Pairs of words alike."""


class WordRow(NamedTuple):
    """Words that several loads take.

    Attributes:
        first: words from that of the present load to the first one; at most 0.
        loads: address of a later load to its word in the row.
    """

    first: int
    loads: dict[int, int]


class LoadedWord(AddressShape):
    """A word that a load further on takes.

    Attributes:
        good: i1: it has been loaded.
        word: `<32 x i32>`.
        source: names of what it has been loaded with (`source_of`).
    """

    __slots__ = ("good", "source", "word")

    def __init__(self, good: str, word: str, source: Source) -> None:
        super().__init__("", "", [])
        self.good, self.word, self.source = good, word, source


Source = tuple[str, str | int, str]


def source_of(where: AddressParts, mask: str) -> Source:
    """Names of an address, without its constant, and of the lanes that load."""
    high = where.high if isinstance(where.high, int) else where.high.ref
    return where.low.ref, high, mask


class WordRows:
    """Finds rows in a listing, and emits their loads."""

    def __init__(
        self, ir: Builder, runtime: RuntimeCalls, listing: KernelListing, on: bool
    ) -> None:
        """Args: on: rows are wanted."""
        self.ir, self.runtime, self.listing, self._on = ir, runtime, listing, on

    def row(self, pc: int) -> WordRow | None:
        """The row that a load and later ones take; None: too few words are wanted."""
        ahead = self._ahead(pc) if self._on else {}
        best: tuple[int, ...] = ()
        for first in range(1 - WORDS, 1):
            found = {n for n in ahead.values() if 0 <= n - first < WORDS}
            best = max(best, (len(found), first))
        if not best or best[0] < _LEAST:
            return None
        first = best[1]
        loads = {at: n - first for at, n in ahead.items() if 0 <= n - first < WORDS and at != pc}
        return WordRow(first, loads)

    def _ahead(self, pc: int) -> dict[int, int]:
        """Address of a load, and of those like it in straight code behind it -> words from its own;
        up to where the address, the lanes or memory may change, or a turn end."""
        code, turns, insn = self.listing.code, self.listing.turns, self.listing.code[pc]
        like, held, begin = _kind(insn), insn.reads(), insn.o["addr"].offset
        found, at = {pc: 0}, pc
        for _ in range(_AHEAD if like is not None else 0):
            if _meet(insn.writes(), held):
                break
            at = self.listing.following(at)
            if at not in code or at in self.listing.heads or turns.starts_piece(at):
                break
            insn = code[at]
            if insn.op in _ENDS or insn.op in turns.flow:
                break
            if _kind(insn) == like and not (insn.o["addr"].offset - begin) % 4:
                found[at] = (insn.o["addr"].offset - begin) // 4
        return found

    def load(self, base: str, words: str, lanes: str) -> list[str]:
        """The words of a row, of any place in lanes that do not execute.

        Args:
            base: host pointer.
            words: `<32 x i32>`: words from there to the first one, where `lanes` execute.
        """
        ir = self.ir
        safe = ir.op(f"select <32 x i1> {lanes}, {LANES32} {words}, {LANES32} zeroinitializer")
        place = self.runtime.new_row()
        ir.put(LANES32, safe, place, 0, 64)
        eights = [self._transposed(base, place, first) for first in range(0, 32, 8)]
        return [joined_eights(ir, [eight[n] for eight in eights]) for n in range(WORDS)]

    def _transposed(self, base: str, place: str, first: int) -> list[str]:
        """The words of eight lanes, a vector each."""
        ir, rows = self.ir, list[str]()
        for lane in range(first, first + 8):
            word = ir.op(f"zext i32 {ir.get('i32', place, 4 * lane)} to i64")
            there = ir.op(f"getelementptr i32, ptr {base}, i64 {word}")
            rows.append(ir.get(_FOUR, there, 0, 4))
        pairs = [
            ir.op(f"shufflevector {_FOUR} {rows[n]}, {_FOUR} {rows[n + 4]}, {_BOTH}")
            for n in range(4)
        ]

        def mixed(a: str, b: str, order: tuple[int, ...]) -> str:
            picks = ", ".join(f"i32 {n}" for n in order)
            return ir.op(f"shufflevector {EIGHT} {a}, {EIGHT} {b}, <8 x i32> <{picks}>")

        low, high = (
            (mixed(pairs[n], pairs[n + 1], _LOW), mixed(pairs[n], pairs[n + 1], _HIGH))
            for n in (0, 2)
        )
        return [
            mixed(a, b, order) for a, b in zip(low, high, strict=True) for order in (_EVEN, _ODD)
        ]


def _meet(written: Access, read: Access) -> bool:
    """Whether something is written that is read."""
    return bool(
        written.registers & read.registers
        or written.predicates & read.predicates
        or written.uniform & read.uniform
        or written.uniform_predicates & read.uniform_predicates
    )


def _kind(insn: Any) -> tuple[object, ...] | None:
    """What is the same of loads of a row; None: of an instruction that is none, or is strong."""
    if insn.op not in ("LDG", "LDS"):
        return None
    kinds = insn.m.items() if isinstance(insn.m, Mapping) else [(word, True) for word in insn.m]
    if any(word in _STRONG for pair in kinds for word in pair):
        return None
    place = insn.o["addr"]
    also = [each and each.index for each in (place.index, place.descriptor)]
    about = insn.op, insn.guard, getattr(insn, "uniform_guard", False)
    return *about, *kinds, place.base.index, place.base.part, place.wide, *also
