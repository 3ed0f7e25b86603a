"""Eight lanes of an access at once, for `screening`: words of four bytes that are plainly right.

What is plain: accesses of four bytes to shared memory or to one page of global memory that no
earlier access conflicts with and, where they store or each lane counts for itself, to consecutive
words.  Everything else is left to be judged lane by lane, with the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.typed import Int, TypedPointer, Variable
from gpudbg.sm.engines.llvm.runtime.screening_words import (
    ATOMIC,
    CTA_SHIFT,
    CTAS_MANY,
    GRANULE_BYTES,
    LANES,
    MASK_SHIFT,
    MOMENT,
    PAGE_SHIFT,
    READ,
    RO_BIT,
    WARPS_MANY,
    WHO_MASK,
    WHO_SHIFT,
    WRITE,
)

_COUNT: Final = 8
_ALL_BYTES: Final = (15 << MASK_SHIFT) - (1 << 64)
_WORDS: Final = f"<{_COUNT} x i64>"
_BITS: Final = f"<{_COUNT} x i1>"
_POINTERS: Final = f"<{_COUNT} x ptr>"
DECLARED: Final = (
    f"declare {_WORDS} @llvm.masked.gather.v8i64.v8p0({_POINTERS}, i32, {_BITS}, {_WORDS})",
    f"declare void @llvm.masked.scatter.v8i64.v8p0({_WORDS}, {_POINTERS}, i32, {_BITS})",
)


class _Eight:
    """Eight numbers of 64 bits or eight i1: a name or a constant of IR."""

    __slots__ = ("bits", "ir", "ref")

    def __init__(self, ir: Builder, ref: str, bits: int = 64) -> None:
        self.ir, self.ref, self.bits = ir, ref, bits

    @property
    def type(self) -> str:
        return f"<{_COUNT} x i{self.bits}>"

    def _operand(self, value: _Eight | Int | int) -> str:
        """The same in all eight, unless they are eight."""
        if isinstance(value, _Eight):
            return value.ref
        kind = f"i{self.bits}"
        if isinstance(value, int):
            return "<" + ", ".join([f"{kind} {value}"] * _COUNT) + ">"
        one = self.ir.op(f"insertelement {self.type} poison, {kind} {value.ref}, i32 0")
        zeros = f"<{_COUNT} x i32> zeroinitializer"
        return self.ir.op(f"shufflevector {self.type} {one}, {self.type} poison, {zeros}")

    def _op(self, what: str, value: _Eight | Int | int, bits: int = 0) -> _Eight:
        text = f"{what} {self.type} {self.ref}, {self._operand(value)}"
        return _Eight(self.ir, self.ir.op(text), bits or self.bits)

    def __add__(self, value: _Eight | Int | int) -> _Eight:
        return self._op("add", value)

    def __mul__(self, value: _Eight | Int | int) -> _Eight:
        return self._op("mul", value)

    def __and__(self, value: _Eight | Int | int) -> _Eight:
        return self._op("and", value)

    def __or__(self, value: _Eight | Int | int) -> _Eight:
        return self._op("or", value)

    def __xor__(self, value: _Eight | Int | int) -> _Eight:
        return self._op("xor", value)

    def __lshift__(self, value: int) -> _Eight:
        return self._op("shl", value)

    def __rshift__(self, value: int) -> _Eight:
        return self._op("lshr", value)

    def __lt__(self, value: _Eight | Int | int) -> _Eight:
        return self._op("icmp ult", value, 1)

    def __ge__(self, value: _Eight | Int | int) -> _Eight:
        return self._op("icmp uge", value, 1)

    def __invert__(self) -> _Eight:
        return self._op("xor", -1)

    def equals(self, value: _Eight | Int | int) -> _Eight:
        return self._op("icmp eq", value, 1)

    def differs(self, value: _Eight | Int | int) -> _Eight:
        return self._op("icmp ne", value, 1)

    def select(self, yes: _Eight | Int | int, no: _Eight) -> _Eight:
        """By these i1."""
        given = f"{_WORDS} {no._operand(yes)}, {_WORDS} {no.ref}"
        return _Eight(self.ir, self.ir.op(f"select {_BITS} {self.ref}, {given}"))

    def mask(self) -> Int:
        """These i1 as the low bits of 32."""
        return Int(self.ir, 8, self.ir.op(f"bitcast {_BITS} {self.ref} to i8")).zext(32)


@dataclass(frozen=True, slots=True)
class Judged:
    """What is the same for all lanes of an access.

    Attributes:
        cta, warp: who accesses.
        writes, read_only, atomic: what it does; a strong access is an atomic.
        shared: to shared memory, else to global.
        together: the warp runs in lock-step, with all its lanes.
        whole: the number of many lanes stands for each.
        own: that number, else the one of the first lane.
        me, count, barrier: the CTA's count with the CTA, alone, and that of its last barrier.
        defined: reads need not be looked at for what nobody has written.
    """

    cta: Int
    warp: Int
    writes: Int
    read_only: Int
    atomic: Int
    shared: Int
    together: Int
    whole: Int
    own: Int
    me: Int
    count: Int
    barrier: Int
    defined: Int


_Found = tuple[_Eight, _Eight, _Eight]
"""The last writes, reads and strong accesses."""
_Kept = tuple[_Eight, _Eight, int]
"""Which lanes are right, their new words, and which of the three these are."""


class EightLanes:
    """Emits what judges eight lanes."""

    def __init__(self, ir: Builder, about: Judged) -> None:
        self.ir, self.about = ir, about

    def each(
        self, addresses: TypedPointer, left: Variable, origin: Int, shared_bytes: Int,
        system_shared: Int, page_of: Callable[[Int], Int],
    ) -> None:  # fmt: skip
        """All lanes of a row.

        Args:
            addresses: 32 words.
            left: lanes to judge; those that are right are taken from it.
            origin: the words of shared memory, of which there are `shared_bytes` without the
                first `system_shared`.
            page_of: emits where the words of an address's page are, 0 where nowhere.
        """
        ir, about = self.ir, self.about
        at = Variable(ir, 32, 0)
        low = about.shared.select(Int(ir, 64, -1), Int(ir, 64, (1 << PAGE_SHIFT) - 1))
        limit = about.shared.select(shared_bytes, Int(ir, 64, -1))
        least = about.shared.select(system_shared, Int(ir, 64, 0))
        with ir.loop() as (head, done):
            first = at.get()
            ir.unless(str(first.equals(32).ref), done)
            at.set(first + _COUNT)
            chosen = (left.get() >> first) & 0xFF
            ir.unless(str(chosen.equals(0).ref), head)
            given = ir.get(_WORDS, addresses.at(first.zext(64) << 3).ref, 0, 8)
            address = _Eight(ir, given)
            lane = Int(ir, 32, ir.op(f"call i32 @llvm.cttz.i32(i32 {chosen.ref}, i1 true)"))
            one = Int(ir, 64, ir.op(f"extractelement {_WORDS} {given}, i32 {lane.ref}"))
            page = one & (low ^ -1)
            away = (address & (low ^ -1)).differs(page) | (address & 3).differs(0)
            away = away | (address >= limit) | (address < least)
            ir.unless(str((away.mask() & chosen).differs(0).ref), head)
            start = Variable(ir, 64, origin)
            with ir.when(str((~about.shared).ref)):
                start.set(page_of(one))
            ir.unless(str(start.get().equals(0).ref), head)
            numbers = _Eight(ir, "<" + ", ".join(f"i64 {n}" for n in range(_COUNT)) + ">")
            row = (numbers << 2) + (one - (lane.zext(64) << 2))
            apart = (address.differs(row).mask() & chosen).differs(0)
            places = ((address & low) >> 2) * GRANULE_BYTES + start.get()
            mine = numbers + first.zext(64)
            mine = _Eight(ir, ir.op(
                f"select i1 {about.whole.ref}, {_WORDS} zeroinitializer, {_WORDS} {mine.ref}"
            )) + about.own  # fmt: skip
            right = self._words(places, mine, chosen, apart)
            gone = (right & chosen) << first
            left.set(left.get() & (gone ^ -1))

    def _words(self, places: _Eight, mine: _Eight, chosen: Int, apart: Int) -> Int:
        """Judge and keep eight words; which of them are right (all or none).

        Args:
            places: addresses of the words.
            mine: who accesses.
            chosen: the lanes, as bits.
            apart: i1, they do not lie one behind the other.
        """
        ir, about = self.ir, self.about
        lanes = ir.op(f"bitcast i8 {chosen.trunc(8).ref} to {_BITS}")
        right = Variable(ir, 32, 0)
        raw = self._load(places, READ, lanes)
        alike = ((raw & MOMENT).equals(about.me)) & (raw >> MASK_SHIFT).equals(15)
        who = self._who(raw)
        alike = alike & (who.equals(mine) | (who >= WARPS_MANY))
        path = about.read_only.zext(64)
        alike = alike & ((raw >> RO_BIT) & path).equals(path)
        same, judged, after = ir.fresh("same"), ir.fresh("judged"), ir.fresh("eight")
        all_alike = (alike.mask() & chosen).equals(chosen) & ~about.writes
        ir.choose(str(all_alike.ref), same, judged)
        ir.label(same)
        right.set(chosen)
        ir.br(after)
        ir.label(judged)
        alone = (about.writes & ~about.atomic) | ~about.whole
        ir.unless(str((apart & alone).ref), after)
        write, read = self._held(self._load(places, WRITE, lanes)), self._held(raw)
        atomic = self._held(self._load(places, ATOMIC, lanes))
        found = write, read, atomic
        keep = partial(self._keep, places, lanes, chosen, right)
        for name, emit in (("atomics", self._atomics), ("stores", self._stores)):
            here, other = ir.fresh(name), ir.fresh("other")
            ir.choose(str((about.atomic if name == "atomics" else about.writes).ref), here, other)
            ir.label(here)
            keep(*emit(found, mine))
            ir.br(after)
            ir.label(other)
        keep(*self._loads(found, mine))
        ir.br(after)
        ir.label(after)
        return right.get()

    def _loads(self, found: _Found, mine: _Eight) -> _Kept:
        write, read, atomic = found
        about, before = self.about, self._ordered(read, mine)
        ok = self._ordered(write, mine) & self._ordered(atomic, mine)
        ok = ok & (before | ~self._same_warp(read))
        ok = ok & ((write >> MASK_SHIFT).equals(15) | about.defined)
        # Through the path of memory that nobody writes: no order helps.
        ok = ok & ((write | atomic).equals(0) | (about.read_only ^ 1))
        path = (read & 1 << RO_BIT) | about.read_only.zext(64) << RO_BIT
        return ok, self._joined(read, before, mine) | _ALL_BYTES | path, READ

    def _stores(self, found: _Found, mine: _Eight) -> _Kept:
        ok = ((found[1] >> RO_BIT) & 1).equals(0)
        for word in found:
            ok = ok & self._ordered(word, mine)
        return ok, (mine << WHO_SHIFT) | self.about.me | _ALL_BYTES, WRITE

    def _atomics(self, found: _Found, mine: _Eight) -> _Kept:
        write, read, atomic = found
        about, before = self.about, self._ordered(atomic, mine)
        ok = ((read >> RO_BIT) & 1).equals(0) & (before | ~self._same_warp(atomic))
        ok = ok & self._ordered(write, mine) & self._ordered(read, mine)
        # One after the other, if they are of one size.
        first, size = atomic.equals(0), 4 >> 2
        ok = ok & (first | (atomic >> MASK_SHIFT).equals(size))
        ok = ok & ((write >> MASK_SHIFT).equals(15) | about.defined | ~first)
        return ok, self._joined(atomic, before, mine) | size << MASK_SHIFT, ATOMIC

    def _joined(self, old: _Eight, before: _Eight, mine: _Eight) -> _Eight:
        """Who made the accesses of a word, with this one, which follows them or is of others."""
        wider = self._same_cta(old).select(WARPS_MANY, _Eight(self.ir, _many_ctas()))
        return (before.select(mine, wider) << WHO_SHIFT) | self.about.me

    def _load(self, places: _Eight, offset: int, lanes: str) -> _Eight:
        ir = self.ir
        pointers = ir.op(f"inttoptr {_WORDS} {(places + offset).ref} to {_POINTERS}")
        given = f"{_POINTERS} {pointers}, i32 8, {_BITS} {lanes}, {_WORDS} zeroinitializer"
        return _Eight(ir, ir.op(f"call {_WORDS} @llvm.masked.gather.v8i64.v8p0({given})"))

    def _keep(
        self, places: _Eight, lanes: str, chosen: Int, right: Variable, ok: _Eight, now: _Eight,
        offset: int,
    ) -> None:  # fmt: skip
        """Write the words, where all are right."""
        ir = self.ir
        with ir.when(str((ok.mask() & chosen).equals(chosen).ref)):
            pointers = ir.op(f"inttoptr {_WORDS} {(places + offset).ref} to {_POINTERS}")
            given = f"{_WORDS} {now.ref}, {_POINTERS} {pointers}, i32 8, {_BITS} {lanes}"
            ir.line(f"call void @llvm.masked.scatter.v8i64.v8p0({given})")
            right.set(chosen)

    # ---- words, as `screening` has them --------------------------------------------------
    def _who(self, word: _Eight) -> _Eight:
        return (word >> WHO_SHIFT) & WHO_MASK

    def _of_cta(self, word: _Eight) -> _Eight:
        return ((word >> CTA_SHIFT) & 0xFFFFFF).equals(self.about.cta)

    def _same_cta(self, word: _Eight) -> _Eight:
        return self._of_cta(word) & self._who(word).differs(CTAS_MANY)

    def _held(self, word: _Eight) -> _Eight:
        """Nothing, where a word of shared memory is of a CTA that was there before."""
        kept = self._of_cta(word) | (self.about.shared ^ 1)
        return kept.select(word, _Eight(self.ir, "zeroinitializer"))

    def _same_warp(self, word: _Eight) -> _Eight:
        who = self._who(word)
        lanes = who ^ LANES
        one = (who < LANES) & (who >> 5).equals(self.about.warp)
        return self._same_cta(word) & (one | lanes.equals(self.about.warp))

    def _ordered(self, word: _Eight, mine: _Eight) -> _Eight:
        """i1: nothing, or what happens before this access."""
        about, count = self.about, word & 0xFFFFFF
        earlier = count.differs(about.count) | (about.writes ^ 1)
        warp = self._same_warp(word) & earlier & about.together
        inside = (count < about.barrier) | self._who(word).equals(mine) & (about.whole ^ 1)
        return word.equals(0) | (self._same_cta(word) & inside) | warp


def _many_ctas() -> str:
    return "<" + ", ".join([f"i64 {CTAS_MANY}"] * _COUNT) + ">"
