"""Accesses to shared memory that are plainly right, 32 lanes at once, for `screening`.

Of a CTA that has made no other accesses to shared memory two halves of a word stand beside each of
its words of four bytes: the last write (or atomics) and the last reads.  A half holds who (11 bits,
as in `screening_words`), whether it was atomics (1) and the CTA's count (20).  0 is nothing.

What is plain: whole words, aligned, in pieces of 4, 8 or 16 bytes, that are ordered after what
conflicts with them.  The first access that is not has all of the CTA's shared memory judged by the
words of `screening` from then on (`NearWords.leave`), which lose nothing: they are made of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import LANES as WIDTH
from gpudbg.sm.engines.llvm.ir.builder import Builder, vector
from gpudbg.sm.engines.llvm.ir.typed import Int, TypedPointer, Variable
from gpudbg.sm.engines.llvm.runtime.lane_values import LaneValues
from gpudbg.sm.engines.llvm.runtime.screening_words import (
    ATOMIC,
    LANES,
    MASK_SHIFT,
    READ,
    WARPS_MANY,
    WHO_MASK,
    WHO_SHIFT,
    WORD_BYTES,
    WRITE,
)

PAIR_BYTES: Final = 8
"""Of the two halves of a word."""
MOST_COUNT: Final = (1 << 20) - 64
"""Of a CTA's count while it is judged here."""
_COUNT_SHIFT: Final = 12
_ATOMICS: Final = 1 << 11
_KIND, _BITS, _POINTERS = vector("i32"), vector("i1"), vector("ptr")
_NAME: Final = f"v{WIDTH}i32.v{WIDTH}p0"
DECLARED: Final = (
    f"declare {_KIND} @llvm.masked.gather.{_NAME}({_POINTERS}, i32, {_BITS}, {_KIND})",
    f"declare void @llvm.masked.scatter.{_NAME}({_KIND}, {_POINTERS}, i32, {_BITS})",
)


@dataclass(frozen=True, slots=True)
class NearAccess:
    """An access to shared memory.

    Attributes:
        lanes, warp: who accesses.
        size: bytes of a lane.
        writes, atomic: i1, what it does.
        whole: i1, reads are kept as those of many lanes.
        lock_step, together: i1, as the architecture and the row say.
        count: the CTA's.
        barrier, joined, began, synced: its counts, and the warp's, that order what was before.
        defined: i1, what nobody has written may be read.
        place: halves of the CTA's first word; `limit`, `least`: bytes of its shared memory, and
            those before that nobody may touch.
    """

    lanes: Int
    warp: Int
    size: Int
    writes: Int
    atomic: Int
    whole: Int
    lock_step: Int
    together: Int
    count: Int
    barrier: Int
    joined: Int
    began: Int
    synced: Int
    defined: Int
    place: TypedPointer
    limit: Int
    least: Int


class NearWords:
    """Emits what judges the accesses of a warp.

    Attributes:
        right: i1, all lanes were judged, and none conflicts.
        raced: i1, two lanes write one word.
    """

    def __init__(self, ir: Builder) -> None:
        self.ir = ir
        self.right, self.raced = Variable(ir, 1, 0), Variable(ir, 1, 0)

    def judge(self, about: NearAccess, addresses: str) -> None:
        """Judge and keep an access.

        Args:
            addresses: 32 i64, of which the low halves count.
        """
        ir = self.ir
        self.right.set_text("false")
        self.raced.set_text("false")
        at = LaneValues(ir, ir.op(f"trunc {vector('i64')} {addresses} to {_KIND}"), WIDTH, 32)
        size = about.size.trunc(32)
        off = (at & size - 1).differs(0) | (at < about.least)
        off = off | (at >= about.limit) | ((at + size) >= about.limit + 1)
        after = ir.fresh("near")
        ir.unless(str((off.mask() & about.lanes).differs(0).ref), after)
        end, column = size >> 2, Variable(ir, 32, 0)
        ahead = LaneValues.numbers(ir, WIDTH, 32)
        index = at >> 2
        first = Int(ir, 32, ir.op(f"extractelement {_KIND} {index.ref}, i32 0"))
        # Lanes whose words lie one behind the other have each its own.
        apart = ((ahead * end + first).differs(index).mask() & about.lanes).differs(0)
        with ir.loop() as (head, done):
            number = column.get()
            with ir.when(str(number.equals(end).ref)):
                self.right.set_text("true")
            ir.unless(str(number.equals(end).ref), done)
            column.set(number + 1)
            self._word(about, index + number, apart, head, done)
        ir.br(after)
        ir.label(after)

    def _word(self, about: NearAccess, index: LaneValues, apart: Int, on: str, wrong: str) -> None:
        """A word of each lane; goes to a label where all are right, else to another."""
        ir = self.ir
        indices = ir.op(f"alloca {_KIND}, align 64")
        ir.line(f"store volatile {_KIND} {index.ref}, ptr {indices}, align 64")
        writes, reads = (_Halves(ir, about.place.at(at), indices) for at in (0, PAIR_BYTES // 2))
        who = _Who(about)
        chosen = ir.op(f"bitcast i32 {about.lanes.ref} to {_BITS}")
        read = reads.load(chosen)
        alike = read.equals(who.reads | who.now)
        alike = alike | ((read & WHO_MASK).equals(WARPS_MANY) & (read >= who.floor))
        other = (~alike).mask() & about.lanes
        ir.unless(str((other.equals(0) & ~about.writes).ref), on)
        write = writes.load(chosen)
        with ir.returning(str((~about.writes).ref)):
            self._unless_all(who.may_read(read, write), about, wrong)
            made = who.with_reads(read) | who.now
            reads.store(made, chosen)
            with self._clashes(reads, made, about, apart & ~about.whole) as lost:
                reads.store(who.crowd | who.now, lost)
            ir.br(on)
        with ir.returning(str(about.atomic.ref)):
            self._unless_all(who.may_add(read, write), about, wrong)
            made = who.with_atomics(write) | who.now | _ATOMICS
            writes.store(made, chosen)
            with self._clashes(writes, made, about, apart) as lost:
                writes.store(who.crowd | who.now | _ATOMICS, lost)
            ir.br(on)
        self._unless_all(who.before(write) & who.before(read), about, wrong)
        made = who.lane | who.now
        writes.store(made, chosen)
        with self._clashes(writes, made, about, apart):
            self.raced.set_text("true")
        ir.br(on)
        ir.label(ir.fresh("never"))

    def _unless_all(self, right: LaneValues, about: NearAccess, wrong: str) -> None:
        """Go on where all lanes are right."""
        bad = (~right).mask() & about.lanes
        self.ir.unless(str(bad.differs(0).ref), wrong)

    @contextmanager
    def _clashes(
        self, halves: _Halves, stored: LaneValues, about: NearAccess, maybe: Int
    ) -> Iterator[str]:
        """Statements for lanes that do not find what they have stored, as i1."""
        ir = self.ir
        with ir.when(str(maybe.ref)):
            chosen = ir.op(f"bitcast i32 {about.lanes.ref} to {_BITS}")
            lost = halves.load(chosen).differs(stored)
            some = lost.mask() & about.lanes
            with ir.when(str(some.differs(0).ref)):
                yield ir.op(f"bitcast i32 {some.ref} to {_BITS}")

    def leave(self, place: TypedPointer, words: Int, cta: Int, definedness: Int) -> None:
        """Make words of `screening` of the halves, in their place.

        Args:
            place: where both begin.
            words: their number, 64 bits.
            cta: the CTA in a word of `screening`; `definedness`: i1, written bytes matter.
        """
        ir = self.ir
        left = Variable(ir, 64, words)
        with ir.loop() as (_, done):
            ir.unless(str(left.get().equals(0).ref), done)
            number = left.get() - 1
            left.set(number)
            pair = place.at(number * PAIR_BYTES)
            write, read = pair.load(32), pair.load(32, PAIR_BYTES // 2)
            # In the place of the halves: the last write.
            plane = words * WORD_BYTES
            atomics = (write & _ATOMICS).differs(0)
            full = Int(ir, 64, (15 << MASK_SHIFT) - (1 << 64))
            nothing = Int(ir, 64, 0)
            # What atomics follow was written before the last barrier.
            before = (definedness & atomics).select(cta | full, nothing)
            plain = atomics | write.equals(0)
            pair.at(plane * WRITE).store(64, plain.select(before, _word(write, cta) | full))
            pair.at(plane * READ).store(64, read.equals(0).select(nothing, _word(read, cta) | full))
            strong = _word(write, cta) | 1 << MASK_SHIFT
            pair.at(plane * ATOMIC).store(64, atomics.select(strong, nothing))


class _Halves:
    """Emits reads and writes of one half of the words of all lanes."""

    def __init__(self, ir: Builder, first: TypedPointer, index: str) -> None:
        self.ir, self._first, self._index = ir, first, index

    def load(self, lanes: str) -> LaneValues:
        """Those of the lanes that i1 choose; of others 0."""
        given = f"{_POINTERS} {self._places()}, i32 4, {_BITS} {lanes}, {_KIND} zeroinitializer"
        call = f"call {_KIND} @llvm.masked.gather.{_NAME}({given})"
        return LaneValues(self.ir, self.ir.op(call), WIDTH, 32)

    def store(self, value: LaneValues, lanes: str) -> None:
        given = f"{_KIND} {value.ref}, {_POINTERS} {self._places()}, i32 4, {_BITS} {lanes}"
        self.ir.line(f"call void @llvm.masked.scatter.{_NAME}({given})")

    def _places(self) -> str:
        # Loaded in each block: an index that comes from another is taken for one of 64 bits there,
        # of which half as many are gathered at a time.
        index = self.ir.op(f"load volatile {_KIND}, ptr {self._index}, align 64")
        return self.ir.op(f"getelementptr i64, ptr {self._first.ref}, {_KIND} {index}")


class _Who:
    """Emits who accesses, and what happens before that.

    Attributes:
        lane, crowd: each lane, and many lanes of the warp.
        reads: that of the two by which reads are kept.
        now: the count, where a half has it; `floor`: that of the last barrier.
    """

    def __init__(self, about: NearAccess) -> None:
        self.about, self.ir = about, about.count.ir
        ir = self.ir
        self.lane = LaneValues.numbers(ir, WIDTH, 32) + (about.warp << 5)
        self.crowd = self.lane.all(about.warp + LANES)
        given = f"{_KIND} {self.crowd.ref}, {_KIND} {self.lane.ref}"
        self.reads = LaneValues(ir, ir.op(f"select i1 {about.whole.ref}, {given}"), WIDTH, 32)
        self.now = about.count << _COUNT_SHIFT
        self.floor = about.barrier.equals(0).select(1, about.barrier) << _COUNT_SHIFT
        joined, began, synced = (
            count << _COUNT_SHIFT for count in (about.joined, about.began, about.synced)
        )
        # Counts of the warp before which, and from which on, all of its lanes are known.
        self._until = about.lock_step.select(joined, synced)
        parted = about.together.select(Int(ir, 32, 0), began)
        self._from = about.lock_step.select(parted, Int(ir, 32, -1))

    def same_warp(self, half: LaneValues) -> LaneValues:
        """i1: of lanes of this warp."""
        who = half & WHO_MASK
        return (who >> 5).equals(self.about.warp) | who.equals(self.crowd)

    def before(self, half: LaneValues) -> LaneValues:
        """i1: what a half says happens before."""
        known = (half < self._until) | (half >= self._from)
        alone = (half & WHO_MASK).equals(self.lane)
        return (half < self.floor) | alone | (self.same_warp(half) & known)

    def may_read(self, read: LaneValues, write: LaneValues) -> LaneValues:
        """i1: a load is plainly right."""
        # The warps of which many have read were not all held against what one of them wrote.
        right = (write < self.floor) | self.with_reads(read).differs(WARPS_MANY)
        return right & self.before(write) & (write.differs(0) | self.about.defined)

    def may_add(self, read: LaneValues, write: LaneValues) -> LaneValues:
        """i1: an atomic is plainly right."""
        right = (write & _ATOMICS).differs(0) | (write < self.floor)
        return right & self.before(read) & (write.differs(0) | self.about.defined)

    def with_reads(self, read: LaneValues) -> LaneValues:
        """Who has read, with this access."""
        return self.before(read).select(self.reads, self._joined(read))

    def with_atomics(self, write: LaneValues) -> LaneValues:
        """Who has made the atomics, with this one."""
        return self.before(write).select(self.lane, self._joined(write))

    def _joined(self, half: LaneValues) -> LaneValues:
        """With others: many lanes are ordered together, but where branches part them."""
        wide = self.same_warp(half) & (self.about.lock_step ^ 1)
        return wide.select(self.crowd, self.lane.all(Int(self.ir, 32, WARPS_MANY)))


def _word(half: Int, cta: Int) -> Int:
    """Count and who of a half as a word of `screening` has them."""
    wide = half.zext(64)
    return wide >> _COUNT_SHIFT | (wide & WHO_MASK) << WHO_SHIFT | cta
