"""Ranges of global memory that a whole warp's accesses are sure to lie in.

Where the code knows how lanes lie to one another, an access can only be in the wrong place as a
whole.  One test then covers all accesses of a block that begin at the same words: the code goes on
only if it holds.  A warp for which it does not asks for the allocation that its addresses are in
(`resolve`), and leaves the block to the code for any lanes if that is not enough: the accesses
fault, lie in several allocations, or write where nobody has written since the last checkpoint.
"""

from __future__ import annotations

import re

from gpudbg.sm.engines.llvm.ir.builder import LIKELY, Builder, Pending
from gpudbg.sm.engines.llvm.ir.values import FULL, Values
from gpudbg.sm.engines.llvm.kernel.addresses import (
    HALF,
    AccessRange,
    Addresses,
    AddressParts,
    AddressShape,
    distance,
)
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
from gpudbg.sm.engines.llvm.kernel.sites import Sites
from gpudbg.sm.engines.llvm.layout import Left

_FAR, _FAR_BEHIND_BRANCH = 1 << 16, 1 << 8
"""Distance in bytes from which accesses with the same words are tested separately: those of a block
and those behind a branch, which warps at the end of an allocation may not execute."""


_PLACE = re.compile(r"getelementptr i8, ptr %bank, i64 (\d+)$")
_LOAD = re.compile(r"load i(\d+), ptr (%v\d+)")
_NAME = re.compile(r"%v\d+")


class SureRange(AccessRange):
    """One without which the code does not go on.

    Attributes:
        rests: where the bytes behind its first one are written.
        first: it is the first that uses its cache entry.
        farthest: distance to which later accesses widen it.
    """

    __slots__ = ("farthest", "first", "rests")

    def __init__(self, add: int, end: int, pc: int, site: int) -> None:
        super().__init__(add, end, pc, site)
        self.rests: list[Pending] = []
        self.farthest, self.first = _FAR, True


class SureRanges:
    """Finds, and emits the tests of, such ranges."""

    def __init__(
        self,
        ir: Builder,
        values: Values,
        cursor: Cursor,
        exits: Exits,
        runtime: RuntimeCalls,
        sites: Sites,
        addresses: Addresses,
    ) -> None:
        self.ir, self.values, self.cursor, self.exits = ir, values, cursor, exits
        self.runtime, self.sites, self.addresses = runtime, sites, addresses
        self._entries: dict[tuple[int, bool], int] = {}

    def pass_branch(self) -> None:
        """Note that accesses from here on are not executed whenever those before are."""
        for known in self.addresses.shapes.values():
            if isinstance(known, SureRange):
                known.farthest = _FAR_BEHIND_BRANCH

    def find(self, where: AddressParts, size: int, writes: bool) -> SureRange | None:
        """The range of an access, tested; None, and no test emitted, where that is of no use."""
        cursor, linear = self.cursor, where.linear
        some = cursor.parted and not cursor.guarded
        if linear is None or size % linear.scale or not (some or cursor.exec == FULL):
            return None
        if linear.number.line is None:
            return None
        base = "" if not linear.base else self.values.scalar(linear.base, 64)
        # Accesses misaligned to one another are tested separately.
        words = f"{linear.number.ref} * {linear.scale} {linear.signed} {base}"
        key = f"sure {words} {where.add % size}", size
        known = self.addresses.shapes.get(key)
        if isinstance(known, SureRange) and self._covers(known, where, size):
            if writes:
                self.sites.write(known.site)
            return known
        shape, more = self.addresses.lie(where, size)
        if shape.proven != "regular" or more or shape.fits is None:
            return None
        self._test_index(shape)
        made = self._begin(where, shape, base, size, writes)
        self.addresses.shapes[key] = made
        return made

    def places(self, known: SureRange, where: AddressParts) -> list[str]:
        """Host pointers of an access's lanes 0 and 16."""
        return [self.ir.at(place, distance(known.add, where)) for place in known.places]

    def _covers(self, known: SureRange, where: AddressParts, size: int) -> bool:
        """Whether a range has an access in it, or can be widened to it."""
        begin = distance(known.add, where)
        end = begin + size * self.addresses.run
        if known.begin <= begin and end <= known.end:
            return True
        begin, end = min(known.begin, begin), max(known.end, end)
        if max(-begin, end) > known.farthest:
            return False
        known.begin, known.end = begin, end
        for number in known.begins:
            number.settle(known.begin)
        for number in known.rests:
            number.settle(known.end - known.begin - size)
        return True

    def _test_index(self, shape: AddressShape) -> None:
        """Go on only if an index does not wrap around before the last lane."""
        tested = f"tested {shape.fits}", 0
        if tested not in self.addresses.shapes:
            for fits in shape.fits or ():
                out = self.exits.exit_at(self.exits.point, Left.ELSEWHERE)
                self.ir.provided(fits, out)
            self.addresses.shapes[tested] = shape

    def _begin(
        self, where: AddressParts, shape: AddressShape, base: str, size: int, writes: bool
    ) -> SureRange:
        """Emit the test of a range around this access."""
        ir, run = self.ir, self.addresses.run
        number = self._entry(base, writes)
        site = self.sites.at(number, writes)
        made = SureRange(where.add, size * run, self.cursor.pc, number)
        made.first = number == self.sites.number()
        origin = ir.op(f"add i64 {base or 0}, {where.add}")
        firsts = [ir.op(f"add i64 {origin}, {first}") for first in shape.firsts]
        if self.cursor.parted and len(firsts) == 2:
            firsts = self._of_some(firsts)
        again, near, ask = (ir.fresh(hint) for hint in ("again", "near", "ask"))
        slot = self.sites.room(number)
        ir.br(again)
        ir.label(again)
        room = ir.get("i64", site, slot) if slot else self._room(made, site, size)
        inside, offsets = self._inside(made, site, firsts, room, size)
        ir.choose(inside, near, ask, LIKELY)
        ir.label(ask)
        out = self.exits.exit_at(self.exits.point, Left.ELSEWHERE)
        resolve = self.runtime.function("resolve")
        found = ir.op(f"call i1 {resolve}(ptr %env, ptr {site}, i64 {firsts[0]})")
        ir.provided(found, out)
        room = self._room(made, site, size)
        if slot:
            ir.put("i64", room, site, slot)
        ir.choose(self._inside(made, site, firsts, room, size)[0], again, out)
        ir.label(near)
        host = ir.get("ptr", site, 16)
        made.places = [ir.at(host, offset) for offset in offsets]
        if run > HALF:
            made.places.append(ir.at(made.places[0], HALF * size))
        made.apart = self.addresses.marks.of_site(site)
        return made

    def _of_some(self, firsts: list[str]) -> list[str]:
        """Addresses of the first lanes of two rows, that of the other one for a row in which no
        lane is active: rows beside a border are outside."""
        ir, lanes = self.ir, self.values.mask_bits(self.cursor.exec)
        low = ir.op(f"and i32 {lanes}, {(1 << HALF) - 1}")
        one, two = firsts
        first = ir.op(f"select i1 {ir.op(f'icmp eq i32 {low}, 0')}, i64 {two}, i64 {one}")
        none = ir.op(f"icmp eq i32 {low}, {lanes}")
        return [first, ir.op(f"select i1 {none}, i64 {one}, i64 {two}")]

    def _entry(self, base: str, writes: bool) -> int:
        """Number of a cache entry, which the accesses share whose addresses begin with the same
        pointer among the kernel's parameters: most kernels stay in what it points to."""
        number, pointer = self.sites.number(), self._pointer(base)
        return number if pointer is None else self._entries.setdefault((pointer, writes), number)

    def _pointer(self, base: str) -> int | None:
        """Where in the constant bank the only pointer stands that a scalar is made from."""
        found: set[int] = set()
        work, seen = [base], {base}
        while work:
            text = self.ir.texts.get(work.pop(), "")
            load = _LOAD.match(text)
            place = load and _PLACE.match(self.ir.texts.get(load[2], ""))
            if load and place:
                found |= {int(place[1]) + n for n in range(0, int(load[1]) // 8, 4)}
                continue
            if " phi " in text or load:
                return None
            for name in _NAME.findall(text):
                if name not in seen:
                    seen.add(name)
                    work.append(name)
        pairs = [word for word in found if word + 4 in found and not word % 8]
        return pairs[0] if len(pairs) == 1 else None

    def _room(self, made: SureRange, site: str, size: int) -> str:
        """At how many places of a site's window the range may begin, a whole element apart."""
        ir = self.ir
        limit = ir.get("i64", site, 8)
        left, rest = ir.pending(f"call i64 @llvm.usub.sat.i64(i64 {limit}, i64 ", ")")
        rest.settle(made.end - made.begin - size)
        made.rests.append(rest)
        return ir.op(f"lshr i64 {left}, {size.bit_length() - 1}")

    def _inside(
        self, made: SureRange, site: str, firsts: list[str], room: str, size: int
    ) -> tuple[str, list[str]]:
        """(i1: accesses lie in a site's window and are aligned, their offsets there)."""
        ir, turn = self.ir, size.bit_length() - 1
        start = ir.get("i64", site)
        inside, offsets = "", []
        for first in firsts:
            offsets.append(ir.op(f"sub i64 {first}, {start}"))
            offset, begin = ir.pending(f"add i64 {offsets[-1]}, ")
            begin.settle(made.begin)
            made.begins.append(begin)
            good = ir.op(f"icmp ult i64 {self.addresses.turned(offset, turn)}, {room}")
            inside = ir.op(f"and i1 {inside}, {good}") if inside else good
        return inside, offsets
