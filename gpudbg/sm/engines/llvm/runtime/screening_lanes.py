"""Some lanes of an access at once, for `screening`: words of four bytes that are plainly right.

What is plain: accesses of whole words to shared memory or to one page of global memory that no
earlier access conflicts with.  Everything else is left to be judged lane by lane, with the same
results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import LANES as LANES_OF_WARP
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.typed import Int, TypedPointer, Variable
from gpudbg.sm.engines.llvm.runtime.lane_values import LaneValues
from gpudbg.sm.engines.llvm.runtime.screening_words import (
    ATOMIC,
    CTA_SHIFT,
    CTAS_MANY,
    LANES,
    MASK_SHIFT,
    MOMENT,
    READ,
    RO_BIT,
    WARPS_MANY,
    WHO_MASK,
    WHO_SHIFT,
    WORD_BYTES,
    WRITE,
)

WIDTHS: Final = (32, 8)
"""Lanes of a group: first all, then those that go on where these are not all of one page."""
_ALL_BYTES: Final = (15 << MASK_SHIFT) - (1 << 64)


def _declared(width: int) -> tuple[str, ...]:
    words, pointers, bits = f"<{width} x i64>", f"<{width} x ptr>", f"<{width} x i1>"
    name = f"v{width}i64.v{width}p0"
    return (
        f"declare {words} @llvm.masked.gather.{name}({pointers}, i32, {bits}, {words})",
        f"declare void @llvm.masked.scatter.{name}({words}, {pointers}, i32, {bits})",
        f"declare {words} @llvm.masked.load.v{width}i64.p0(ptr, i32, {bits}, {words})",
        f"declare void @llvm.masked.store.v{width}i64.p0({words}, ptr, i32, {bits})",
    )


DECLARED: Final = tuple(line for width in WIDTHS for line in _declared(width))


@dataclass(frozen=True, slots=True)
class Judged:
    """What is the same for all lanes of an access.

    Attributes:
        cta, warp: who accesses.
        writes, read_only, atomic: what it does; a strong access is an atomic.
        shared: to shared memory, else to global.
        wide: the lanes of a warp do not run in lock-step.
        whole: reads and atomics are kept as those of many lanes, `many`.
        me, count, barrier: the CTA's count with the CTA, alone, and that of its last barrier.
        until: what the warp did at counts before this one happens before.
        defined: reads need not be looked at for what nobody has written.
    """

    cta: Int
    warp: Int
    writes: Int
    read_only: Int
    atomic: Int
    shared: Int
    wide: Int
    whole: Int
    many: Int
    me: Int
    count: Int
    barrier: Int
    until: Int
    defined: Int


@dataclass(frozen=True, slots=True)
class WordPlaces:
    """Where the words of memory are.

    Attributes:
        low: bits of an address within one page.
        least, limit: addresses that have words, up to the second.
        plane: bytes from words of one kind to those of the next.
        start: emits where the words of an address's page begin; 0: nowhere yet.
        touched: emits whether words of one kind were written anywhere in an address's page.
        touch: emits that they are.
    """

    low: Int
    least: Int
    limit: Int
    plane: Int
    start: Callable[[Int], Int]
    touched: Callable[[Int, int], Int]
    touch: Callable[[Int, int], None]


class _Places:
    """Emits reads and writes of the words of some lanes, at places of their own."""

    def __init__(self, ir: Builder, places: LaneValues, shadow: WordPlaces, lanes: str) -> None:
        self.ir, self._places, self._shadow, self.lanes = ir, places, shadow, lanes
        width = places.width
        self._pointers, self._bits = f"<{width} x ptr>", f"<{width} x i1>"
        self._name = f"v{width}i64.v{width}p0"

    def load(self, what: int, touched: Int | None = None) -> LaneValues:
        """Words of one kind; 0 of lanes that do not take part, and where none was touched."""
        kind = self._places.kind
        given = f"{self._pointers} {self._at(what)}, i32 8, {self._bits} {self._some(touched)}"
        call = f"call {kind} @llvm.masked.gather.{self._name}({given}, {kind} zeroinitializer)"
        return LaneValues(self.ir, self.ir.op(call), self._places.width, 64)

    def store(self, value: LaneValues, what: int, lanes: str = "") -> None:
        """Write words of one kind."""
        given = f"{value.kind} {value.ref}, {self._pointers} {self._at(what)}, i32 8"
        given += f", {self._bits} {lanes or self.lanes}"
        self.ir.line(f"call void @llvm.masked.scatter.{self._name}({given})")

    def _some(self, touched: Int | None) -> str:
        if touched is None:
            return self.lanes
        given = f"i1 {touched.ref}, {self._bits} {self.lanes}, {self._bits} zeroinitializer"
        return self.ir.op(f"select {given}")

    def _at(self, what: int) -> str:
        places = self._places + self._shadow.plane * what
        return self.ir.op(f"inttoptr {places.kind} {places.ref} to {self._pointers}")


class _Line(_Places):
    """The same for lanes whose words lie one behind the other."""

    def load(self, what: int, touched: Int | None = None) -> LaneValues:
        kind, name = self._places.kind, f"v{self._places.width}i64.p0"
        given = f"ptr {self._first(what)}, i32 8, {self._bits} {self._some(touched)}"
        call = f"call {kind} @llvm.masked.load.{name}({given}, {kind} zeroinitializer)"
        return LaneValues(self.ir, self.ir.op(call), self._places.width, 64)

    def store(self, value: LaneValues, what: int, lanes: str = "") -> None:
        given = f"{value.kind} {value.ref}, ptr {self._first(what)}, i32 8"
        given += f", {self._bits} {lanes or self.lanes}"
        self.ir.line(f"call void @llvm.masked.store.v{self._places.width}i64.p0({given})")

    def _first(self, what: int) -> str:
        places = self._places
        first = Int(self.ir, 64, self.ir.op(f"extractelement {places.kind} {places.ref}, i32 0"))
        first = first + self._shadow.plane * what
        return self.ir.op(f"inttoptr i64 {first.ref} to ptr")


_Found = tuple[LaneValues, LaneValues, LaneValues]
"""Shadow words of eight granules: last writes, last reads, last strong accesses."""


class LaneWords:
    """Emits what judges some lanes at once."""

    def __init__(
        self, ir: Builder, about: Judged, shadow: WordPlaces, width: int, line: bool = False
    ) -> None:
        """Args: width: lanes of a group; line: whose words lie one behind the other."""
        self.ir, self.about, self.shadow, self.width = ir, about, shadow, width
        self._line = line

    def each(self, addresses: TypedPointer, left: Variable, size: Int) -> None:
        """All lanes of a row, a group after the other.

        Args:
            addresses: 32 words.
            left: lanes to judge; those that are right are taken from it.
            size: bytes of a lane, whole words.
        """
        ir, at = self.ir, Variable(self.ir, 32, 0)
        with ir.loop() as (head, done):
            first = at.get()
            ir.unless(str((first >= LANES_OF_WARP).ref), done)
            at.set(first + self.width)
            chosen = left.get() >> first & (1 << self.width) - 1
            ir.unless(str(chosen.equals(0).ref), head)
            given = ir.get(f"<{self.width} x i64>", addresses.at(first.zext(64) << 3).ref, 0, 8)
            address = LaneValues(ir, given, self.width, 64)
            off = (address & size - 1).differs(0)
            ir.unless(str((off.mask() & chosen).differs(0).ref), head)
            column = Variable(ir, 64, 0)
            with ir.loop() as (again, out):
                byte = column.get()
                with ir.when(str(byte.equals(size).ref)):
                    left.set(left.get() & (chosen << first ^ -1))
                ir.unless(str(byte.equals(size).ref), out)
                column.set(byte + 4)
                lanes = (
                    LaneValues.numbers(ir, self.width, 64) + (self.about.warp << 5) + first.zext(64)
                )
                self._judge(address + byte, lanes, chosen, size, again, head)
                ir.label(ir.fresh("never"))

    def bytes(self, start: Int, left: Variable, size: Int) -> None:
        """All lanes, whose bytes or halves lie one behind the other from a multiple of four on:
        words of many lanes each.

        Args:
            start: address of the first lane.
            left, size: as above, of less than a word.
        """
        ir, at = self.ir, Variable(self.ir, 64, 0)
        with ir.loop() as (_head, done):
            byte = at.get()
            ir.unless(str((byte >= size << 5).ref), done)
            at.set(byte + 4 * self.width)
            words = (LaneValues.numbers(ir, self.width, 64) << 2) + (start + byte)
            chosen = Int(ir, 32, (1 << self.width) - 1)
            many = words.all(self.about.many)
            right = ir.fresh("words")
            self._judge(words, many, chosen, Int(ir, 64, 4), right, done)
            ir.label(right)
            # Of halves two for each word: 16 lanes; of bytes all.
            lanes = size.equals(2).select(Int(ir, 32, (1 << 2 * self.width) - 1), -1)
            left.set(left.get() & (lanes << (byte // size).trunc(32) ^ -1))

    # ---- a word of each lane -------------------------------------------------------------
    def _judge(
        self, address: LaneValues, lanes: LaneValues, chosen: Int, stride: Int, on: str, wrong: str
    ) -> None:  # fmt: skip
        """Judge and keep words; goes to a label where all are right, else to another.

        Args:
            lanes: who accesses, if it is not many lanes.
            chosen: the lanes of the group, as bits.
            stride: bytes between lanes that lie one behind the other.
        """
        ir, about, shadow = self.ir, self.about, self.shadow
        lane = Int(ir, 32, ir.op(f"call i32 @llvm.cttz.i32(i32 {chosen.ref}, i1 true)"))
        one = Int(ir, 64, ir.op(f"extractelement {address.kind} {address.ref}, i32 {lane.ref}"))
        away = (address & (shadow.low ^ -1)).differs(one & (shadow.low ^ -1))
        away = away | (address >= shadow.limit) | (address < shadow.least)
        ir.unless(str((away.mask() & chosen).differs(0).ref), wrong)
        start = shadow.start(one)
        ir.unless(str(start.equals(0).ref), wrong)
        ahead = LaneValues.numbers(ir, self.width, 64) * stride + (one - lane.zext(64) * stride)
        apart = (address.differs(ahead).mask() & chosen).differs(0)
        if self._line:
            ir.unless(str((apart | stride.differs(4)).ref), wrong)
            # Of lanes that do not take part as well.
            place = ((one & shadow.low) >> 2) * WORD_BYTES - lane.zext(64) * WORD_BYTES + start
            places = LaneValues.numbers(ir, self.width, 64) * WORD_BYTES + place
        else:
            places = ((address & shadow.low) >> 2) * WORD_BYTES + start
        many = places.all(about.many)
        mine = self._either(about.whole, many, lanes)
        found = (_Line if self._line else _Places)(ir, places, shadow, self._i1(chosen))
        raw = found.load(READ)
        write = self._held(found.load(WRITE, shadow.touched(one, WRITE)))
        alike = self._alike(raw, write, mine).mask() & chosen
        ir.unless(str((alike.equals(chosen) & ~about.writes).ref), on)
        atomic = found.load(ATOMIC, shadow.touched(one, ATOMIC))
        words = write, self._held(raw), self._held(atomic)
        with ir.returning(str((~about.writes).ref)):
            right, now = self._loads(words, mine)
            self._keep(found, right, now, READ, chosen, wrong)
            self._crowd(found, now, READ, chosen, apart & ~about.whole)
            ir.br(on)
        with ir.returning(str(about.atomic.ref)):
            right, now = self._atomics(words, mine)
            self._keep(found, right, now, ATOMIC, chosen, wrong)
            shadow.touch(one, ATOMIC)
            self._crowd(found, now, ATOMIC, chosen, apart & ~about.whole)
            ir.br(on)
        right, now = self._stores(words, lanes)
        self._keep(found, right, now, WRITE, chosen, wrong)
        shadow.touch(one, WRITE)
        ir.unless(str((~apart).ref), on)
        # Two lanes that write one word are found lane by lane.
        lost = found.load(WRITE).differs(now).mask() & chosen
        ir.unless(str(lost.equals(0).ref), on)
        ir.br(wrong)

    def _i1(self, chosen: Int) -> str:
        """Lanes as i1."""
        given = chosen if self.width == LANES_OF_WARP else chosen.trunc(self.width)
        return self.ir.op(f"bitcast i{self.width} {given.ref} to <{self.width} x i1>")

    def _keep(
        self, found: _Places, right: LaneValues, now: LaneValues, what: int, chosen: Int, wrong: str
    ) -> None:  # fmt: skip
        """Write words, if all are right."""
        bad = (~right).mask() & chosen
        self.ir.unless(str(bad.differs(0).ref), wrong)
        found.store(now, what)

    def _crowd(
        self, found: _Places, now: LaneValues, what: int, chosen: Int, apart: Int
    ) -> None:  # fmt: skip
        """A word that several lanes have written is one of many."""
        ir = self.ir
        with ir.when(str(apart.ref)):
            lost = found.load(what).differs(now).mask() & chosen
            with ir.when(str(lost.differs(0).ref)):
                who = (WHO_MASK << WHO_SHIFT) ^ -1
                many = (now & who) | (self.about.many << WHO_SHIFT)
                found.store(many, what, self._i1(lost))

    def _alike(self, raw: LaneValues, write: LaneValues, mine: LaneValues) -> LaneValues:
        """i1: the same has been read since the CTA last wrote anything: that was looked at, of many
        warps where none of them has written it since they met."""
        about, who = self.about, self._who(raw)
        alike = (raw & MOMENT).equals(about.me) & (raw >> MASK_SHIFT).equals(15)
        alike = alike & (who.equals(mine) | ((who >= WARPS_MANY) & self._past(write)))
        path = about.read_only.zext(64)
        return alike & ((raw >> RO_BIT) & path).equals(path)

    def _loads(self, found: _Found, mine: LaneValues) -> tuple[LaneValues, LaneValues]:
        write, read, atomic = found
        about, before = self.about, self._ordered(read, mine)
        ok = self._ordered(write, mine) & self._ordered(atomic, mine)
        ok = ok & self._joins(read, before)
        ok = ok & ((write >> MASK_SHIFT).equals(15) | about.defined)
        # Reads through the read-only cache conflict with any write, whatever the order.
        ok = ok & ((write | atomic).equals(0) | (about.read_only ^ 1))
        path = (read & 1 << RO_BIT) | about.read_only.zext(64) << RO_BIT
        return ok, self._joined(read, before, mine) | _ALL_BYTES | path

    def _stores(self, found: _Found, mine: LaneValues) -> tuple[LaneValues, LaneValues]:
        ok = ((found[1] >> RO_BIT) & 1).equals(0)
        for word in found:
            ok = ok & self._ordered(word, mine)
        return ok, (mine << WHO_SHIFT) | self.about.me | _ALL_BYTES

    def _atomics(self, found: _Found, mine: LaneValues) -> tuple[LaneValues, LaneValues]:
        write, read, atomic = found
        about, before = self.about, self._ordered(atomic, mine)
        ok = ((read >> RO_BIT) & 1).equals(0) & self._joins(atomic, before)
        ok = ok & self._ordered(write, mine) & self._ordered(read, mine)
        # One strong access after another, if their sizes are equal.
        first, size = atomic.equals(0), 4 >> 2
        ok = ok & (first | (atomic >> MASK_SHIFT).equals(size))
        ok = ok & ((write >> MASK_SHIFT).equals(15) | about.defined | ~first)
        return ok, self._joined(atomic, before, mine) | size << MASK_SHIFT

    def _joins(self, old: LaneValues, before: LaneValues) -> LaneValues:
        """i1: `_joined` says who made the accesses of a word."""
        return before | ~self._same_warp(old) | self.about.wide

    def _joined(self, old: LaneValues, before: LaneValues, mine: LaneValues) -> LaneValues:
        """The recorded accessors with this access added, which follows them or is by others."""
        wider = old.all(CTAS_MANY)
        wider = self._same_cta(old).select(WARPS_MANY, wider)
        wider = self._same_warp(old).select(self.about.many, wider)
        return (before.select(mine, wider) << WHO_SHIFT) | self.about.me

    # ---- words, as `screening` has them --------------------------------------------------
    def _either(self, condition: Int, yes: LaneValues, no: LaneValues) -> LaneValues:
        given = f"{yes.kind} {yes.ref}, {no.kind} {no.ref}"
        return LaneValues(
            self.ir, self.ir.op(f"select i1 {condition.ref}, {given}"), self.width, 64
        )

    def _who(self, word: LaneValues) -> LaneValues:
        return (word >> WHO_SHIFT) & WHO_MASK

    def _of_cta(self, word: LaneValues) -> LaneValues:
        return ((word >> CTA_SHIFT) & 0xFFFFFF).equals(self.about.cta)

    def _same_cta(self, word: LaneValues) -> LaneValues:
        return self._of_cta(word) & self._who(word).differs(CTAS_MANY)

    def _held(self, word: LaneValues) -> LaneValues:
        """Shadow words; 0 where one in shared memory belongs to a CTA that was in this slot
        before.
        """
        kept = self._of_cta(word) | (self.about.shared ^ 1)
        return kept.select(word, LaneValues(self.ir, "zeroinitializer", self.width, 64))

    def _same_warp(self, word: LaneValues) -> LaneValues:
        who = self._who(word)
        one = (who < LANES) & (who >> 5).equals(self.about.warp)
        return self._same_cta(word) & (one | who.equals(self.about.many))

    def _past(self, word: LaneValues) -> LaneValues:
        """i1: nothing, or of this CTA before its last barrier."""
        return word.equals(0) | (self._same_cta(word) & ((word & 0xFFFFFF) < self.about.barrier))

    def _ordered(self, word: LaneValues, mine: LaneValues) -> LaneValues:
        """i1: the word is empty, or its accesses happen before this one."""
        about, count = self.about, word & 0xFFFFFF
        earlier = (count.differs(about.count) | (about.writes ^ 1)) & (count < about.until)
        who = self._who(word)
        alone = who.equals(mine) & (who < LANES)
        inside = (count < about.barrier) | alone
        return word.equals(0) | (self._same_cta(word) & inside) | self._same_warp(word) & earlier
