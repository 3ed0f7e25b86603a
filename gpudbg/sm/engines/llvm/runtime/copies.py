"""Bulk copies and copies of tensors (`gpudbg.sm.engines.asynchronous`) as the library does them.

A function has one set of operands, those of the first lane, and returns whether the copy was made;
if not, nothing has happened, and the step engine says what is wrong or makes it.  That is so for
boxes by columns, with steps, of interleaved channels, of types that are converted on the way, and
for elements outside the tensor where they are not zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from gpudbg.formats.tensor_map import MOST_RANK, TYPE_BYTES, TYPES
from gpudbg.formats.tensor_map import SIZE as MAP_BYTES
from gpudbg.mem.windows import RANK_SHIFT, WINDOW_BYTES
from gpudbg.sm.asynchronous.transfer import UNIT
from gpudbg.sm.atomics.compiled import arrived
from gpudbg.sm.clusters import cluster
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.typed import TRUE, Int, TypedPointer
from gpudbg.sm.engines.llvm.runtime.control import ControlFunction
from gpudbg.sm.residency import arena

MAP_UNIT, BOX_UNIT = 64, 128
"""Alignments of a map and of a box in shared memory (`sm.engines.asynchronous`)."""
MOST_RANKS: Final = 16
_INSIDE = WINDOW_BYTES - 1
_VECTOR = f"<{UNIT} x i8>"
_ONES = "splat (i8 -1)"
_CONVERTED = [n for n, name in enumerate(TYPES) if "tf32" in name or "ftz" in name]
_SHIFTS = sum((size.bit_length() - 1) << 2 * n for n, size in enumerate(TYPE_BYTES))
"""Of each type the power of two that its bytes are, in two bits."""


def copy_functions() -> list[str]:
    """All of them, and what they call."""
    return [
        _block_of(),
        _bulk_from_global(),
        _bulk_from_shared(),
        _bulk_to_global(),
        _Tensor(True).text(),
        _Tensor(False).text(),
    ]


def _block_of() -> str:
    """Emit: a record of the block with a rank in the warp's cluster; null: there is none, or it has
    ended."""
    f = ControlFunction()
    rank = f.integer(32, "%rank")
    about = f.warp.follow(layout.CTA_POINTER).follow(arena.CLUSTER)
    alone = f.integer(1, f.ir.op(f"icmp eq ptr {about.ref}, null"))
    with f.returning(alone):
        f.ret("ptr", f.ir.op(f"select i1 {rank.equals(0).ref}, ptr %rec, ptr null"))
    with f.returning(rank.zext(64) >= about.load(64, cluster.COUNT)):
        f.ret("ptr", "null")
    block = f.slot(about.at(cluster.BLOCKS), rank.zext(64)).follow()
    gone = block.load(64, arena.LIVE).equals(0)
    first = block.follow(arena.BLOCK_BYTES)
    f.ret("ptr", f.ir.op(f"select i1 {gone.ref}, ptr null, ptr {first.ref}"))
    return f.close("define private ptr @block_of(ptr %rec, i32 %rank)")


class _Place(NamedTuple):
    """Global memory of a copy: its first byte, and bytes from there to its marks or 0."""

    first: TypedPointer
    marks: Int


class _Copy(ControlFunction):
    """What copies have in common.

    Attributes:
        size: bytes of a block's shared memory.
        marks: bytes from it to its marks, or 0.
    """

    def __init__(self) -> None:
        super().__init__()
        with self.returning(self.integer(32, "%lanes").equals(0)):
            self.ret("i1", TRUE)
        self.size = self.env.load(64, layout.SHARED_BYTES)
        self.marks = self.env.load(64, layout.SHARED_MARKS)

    def refuse(self, bad: Int) -> None:
        """Return false where an i1 holds."""
        with self.returning(bad):
            self.ret("i1", "false")

    def global_place(self, address: Int, size: Int | int, writes: bool = False) -> _Place:
        """Some bytes of global memory; refused where no allocation has them."""
        site = TypedPointer(self.ir, self.ir.op(f"alloca [{layout.SITE_BYTES} x i8], align 8"))
        site.store(64, int(writes), layout.SITE_WRITES)
        name = layout.symbol("resolve")
        found = self.ir.op(f"call i1 @{name}(ptr %env, ptr {site.ref}, i64 {address.ref})")
        self.refuse(~self.integer(1, found))
        inside = address - site.load(64, layout.SITE_WHOLE)
        self.refuse(inside + size > site.load(64, layout.SITE_WHOLE + 8))
        first = site.follow(layout.SITE_WHOLE + 16).at(inside)
        return _Place(first, site.load(64, layout.SITE_MARKS))

    def own_place(self, address: Int, size: Int) -> TypedPointer:
        """Some bytes of the block's own shared memory."""
        rank = address & ~_INSIDE & 0xFFFF_FFFF
        own = self.warp.follow(layout.CTA_POINTER).load(32, arena.RANK)
        self.refuse(rank.differs(0) & rank.differs(own))
        offset = (address & _INSIDE).zext(64)
        self.refuse(offset + size > self.size)
        return self.warp.follow(layout.SHARED_POINTER).at(offset)

    def block(self, address: Int) -> TypedPointer:
        """Shared memory of the block of the cluster that an address names."""
        call = f"call ptr @block_of(ptr %rec, i32 {(address >> RANK_SHIFT).ref})"
        found = TypedPointer(self.ir, self.ir.op(call))
        self.refuse(self.integer(1, self.ir.op(f"icmp eq ptr {found.ref}, null")))
        return found.follow(layout.SHARED_POINTER)

    def ranks(self, target: Int) -> Int:
        """The ranks that a copy goes to, as bits: of a mask in 16 bits, or that of its target."""
        many = self.integer(32, "%many")
        rank = target >> RANK_SHIFT
        self.refuse(many.equals(0) & (rank > MOST_RANKS - 1))
        one = self.integer(32, 1) << (rank & MOST_RANKS - 1)
        return many.differs(0).select(self.integer(32, "%ranks"), one)

    @contextmanager
    def each_rank(self, ranks: Int) -> Iterator[Int]:
        """Statements for each rank of a mask."""
        left = self.variable(32, ranks)
        with self.loop() as end:
            now = left.get()
            self.leave(end, now.equals(0))
            left.set(now & (now - 1))
            rank = self.ir.op(f"call i32 @llvm.cttz.i32(i32 {now.ref}, i1 true)")
            yield self.integer(32, rank)

    def at_rank(self, address: Int, rank: Int) -> Int:
        """The same place in another block's memory."""
        return (address & _INSIDE) | (rank << RANK_SHIFT)

    def counted_at(self, barrier: Int, rank: Int) -> Int:
        """The mbarrier on which the copy to a rank counts."""
        many = self.integer(32, "%many").differs(0)
        return many.select(self.at_rank(barrier, rank), barrier)

    def check_barrier(self, barrier: Int) -> None:
        """Refuse an mbarrier that is not there."""
        self.refuse((barrier & 7).differs(0))
        self.refuse((barrier & _INSIDE).zext(64) + 8 > self.size)
        self.block(barrier)

    def complete(self, barrier: Int, size: Int) -> None:
        """Count bytes on an mbarrier that is there."""
        word = self.block(barrier).at((barrier & _INSIDE).zext(64))
        change = (self.integer(64, 0) - size) << 32
        old = word.load(64)
        word.store(64, self.integer(64, arrived(self.ir, str(old.ref), str(change.ref), False)))
        with self.when(self.marks.differs(0)):
            word.at(self.marks).store(64, -1)

    def move(self, source: TypedPointer, target: TypedPointer, marks: Int) -> None:
        """Move one unit, and mark it."""
        self.ir.put(_VECTOR, self.ir.get(_VECTOR, source.ref, 0, 1), target.ref, 0, 1)
        with self.when(marks.differs(0)):
            self.ir.put(_VECTOR, _ONES, target.at(marks).ref, 0, 1)

    def move_all(
        self, source: TypedPointer, target: TypedPointer, size: Int, marks: Int
    ) -> None:  # fmt: skip
        """Move a number of units that lie side by side."""
        n = self.variable(64, 0)
        with self.loop() as end:
            at = n.get()
            self.leave(end, at >= size)
            n.set(at + UNIT)
            self.move(source.at(at), target.at(at), marks)

    def deliver(self, source: TypedPointer, size: Int) -> None:
        """Copy bytes that lie side by side to the target's blocks, counted on its mbarrier."""
        target, barrier = self.integer(32, "%to"), self.integer(32, "%barrier")
        self.refuse((target & UNIT - 1).differs(0))
        offset = (target & _INSIDE).zext(64)
        self.refuse(offset + size > self.size)
        ranks = self.ranks(target)
        with self.each_rank(ranks) as rank:
            self.block(rank << RANK_SHIFT)
            self.check_barrier(self.counted_at(barrier, rank))
        with self.each_rank(ranks) as rank:
            self.move_all(source, self.block(rank << RANK_SHIFT).at(offset), size, self.marks)
            self.complete(self.counted_at(barrier, rank), size)
        self.ret("i1", TRUE)

    def bulk_size(self) -> Int:
        """Bytes of a bulk copy."""
        size = (self.integer(32, "%units") & 0xFFFF).zext(64) * UNIT
        self.refuse(size.equals(0))
        return size


_TO_SHARED = "i32 %to, i32 %barrier, i32 %units, i32 %many, i32 %ranks, i32 %lanes"


def _bulk_from_global() -> str:
    f = _Copy()
    source, size = f.integer(64, "%source"), f.bulk_size()
    f.refuse((source & UNIT - 1).differs(0))
    f.deliver(f.global_place(source, size).first, size)
    name = layout.symbol("bulk.from_global")
    return f.close(f"define i1 @{name}(ptr %env, ptr %rec, i64 %source, {_TO_SHARED})")


def _bulk_from_shared() -> str:
    f = _Copy()
    source, size = f.integer(32, "%source"), f.bulk_size()
    f.refuse((source & UNIT - 1).differs(0))
    place = f.own_place(source, size)
    own = f.warp.follow(layout.CTA_POINTER).load(32, arena.RANK)
    # Inside one block the parts may overlap.
    f.refuse(f.integer(32, "%many").differs(0))
    f.refuse((f.integer(32, "%to") & ~_INSIDE & 0xFFFF_FFFF).equals(own))
    f.deliver(place, size)
    name = layout.symbol("bulk.from_shared")
    return f.close(f"define i1 @{name}(ptr %env, ptr %rec, i32 %source, {_TO_SHARED})")


def _bulk_to_global() -> str:
    f = _Copy()
    target, source, size = f.integer(64, "%to"), f.integer(32, "%source"), f.bulk_size()
    f.refuse(((source.zext(64) | target) & UNIT - 1).differs(0))
    place = f.own_place(source, size)
    found = f.global_place(target, size, True)
    f.move_all(place, found.first, size, found.marks)
    f.ret("i1", TRUE)
    name = layout.symbol("bulk.to_global")
    about = "ptr %env, ptr %rec, i64 %to, i32 %source, i32 %units, i32 %lanes"
    return f.close(f"define i1 @{name}({about})")


class _Tensor(_Copy):
    """A copy of a box of a tensor, to shared memory or (not `loads`) from it.

    Attributes:
        sizes, strides, starts, counts: of each dimension, innermost first: elements of the tensor,
            bytes, the box's first coordinate and its elements; of dimensions that are not there 1,
            0, 0 and 1.
        shift: the power of two that an element's bytes are.
        row: bytes of the box's rows.
        total: bytes of the box.
        mask: bits of a line's number that move units.
    """

    def __init__(self, loads: bool) -> None:
        super().__init__()
        self.loads = loads
        place = self.integer(64, "%place")
        self.refuse((place & MAP_UNIT - 1).differs(0))
        self.map = self.global_place(place, MAP_BYTES).first
        self._read_map()

    def _word(self, number: int) -> Int:
        return self.map.load(32, 4 * number)

    def _read_map(self) -> None:
        head, rank = self._word(2), self.integer(32, "%rank")
        self.refuse((((head >> 4) & 7) + 1).differs(rank))
        kind = (head >> 7) & 15
        for bad in ((head >> 16) & 1, (head >> 11) & 3):
            self.refuse(bad.differs(0))
        self.refuse(kind > len(TYPES) - 1)
        for converted in _CONVERTED:
            self.refuse(kind.equals(converted))
        self.shift = (self.integer(64, _SHIFTS) >> (kind.zext(64) * 2)) & 3
        self.fills = (head >> 15) & 1
        swizzle = ((head >> 13) & 3).zext(64)
        self.mask = (self.integer(64, 1) << swizzle) - 1
        self.address = self._word(0).zext(64) | (self._word(1).zext(64) << 32)
        self.refuse((self.address & UNIT - 1).differs(0))
        self._read_dimensions(rank)
        self.row = self.counts[0] << self.shift
        self.refuse((self.row & UNIT - 1).differs(0))
        most = self.integer(64, UNIT) << swizzle
        self.refuse(swizzle.differs(0) & (self.row > most))
        self.total = self.row
        for count in self.counts[1:]:
            self.total = self.total * count

    def _read_dimensions(self, rank: Int) -> None:
        self.sizes: list[Int] = []
        self.strides: list[Int] = []
        self.starts: list[Int] = []
        self.counts: list[Int] = []
        for n in range(MOST_RANK):
            there = rank > n
            box = self._word(13) >> 24 if not n else (self._word(14) >> 8 * (n - 1)) & 255
            corner = TypedPointer(self.ir, "%corner").load(32, 4 * n)
            self.sizes.append(there.select(self._word(8 + n).zext(64) + 1, 1))
            self.counts.append(there.select(box.zext(64) + 1, 1))
            self.starts.append(there.select(corner.sext(64), 0))
            if not n:
                self.strides.append(self.integer(64, 1) << self.shift)
                continue
            step = (self._word(13) >> 3 * n) & 7
            self.refuse(there & step.differs(0))
            high = ((self._word(7) >> 4 * (n - 1)) & 15).zext(64) << 32
            stride = (self._word(2 + n).zext(64) | high) << 4
            self.refuse(there & (stride.equals(0) | (stride > (1 << 40) - 1)))
            self.strides.append(there.select(stride, 0))

    def _tensor(self) -> _Place:
        """The first element of the tensor, as if it were there; refused where a part of the box
        that is inside the tensor is in no allocation.
        """
        first, last = self.integer(64, 0), self.integer(64, 0)
        empty, outside = self.integer(1, "false"), self.integer(1, "false")
        for start, count, size, stride in zip(
            self.starts, self.counts, self.sizes, self.strides, strict=True
        ):
            end = start + count
            low = start.compare("slt", 0).select(self.integer(64, 0), start)
            high = end.compare("slt", size).select(end, size)
            empty = empty | low.compare("sge", high)
            outside = outside | start.compare("slt", 0) | end.compare("sgt", size)
            first, last = first + low * stride, last + (high - 1) * stride
        if self.loads:
            self.refuse(outside & self.fills.differs(0))
        # Of a box beside the tensor nothing is read: any element will do.
        first, last = (empty.select(self.integer(64, 0), offset) for offset in (first, last))
        size = last - first + (self.integer(64, 1) << self.shift)
        found = self.global_place(self.address + first, size, not self.loads)
        return _Place(found.first.at(self.integer(64, 0) - first), found.marks)

    def text(self) -> str:
        """The function."""
        target, barrier = self.integer(32, "%to"), self.integer(32, "%barrier")
        self.refuse((target & BOX_UNIT - 1).differs(0))
        offset = (target & _INSIDE).zext(64)
        end = offset + self.total
        # A swizzle moves units inside lines of 128 bytes.
        last = self.mask.equals(0).select(end, (end + 127) & -128)
        self.refuse(last > self.size)
        tensor = self._tensor()
        if self.loads:
            ranks = self.ranks(target)
            with self.each_rank(ranks) as rank:
                self.block(rank << RANK_SHIFT)
                self.check_barrier(self.counted_at(barrier, rank))
            with self.each_rank(ranks) as rank:
                self._rows(tensor, self.block(rank << RANK_SHIFT), offset)
                self.complete(self.counted_at(barrier, rank), self.total)
        else:
            self.own_place(target, self.total)
            self._rows(tensor, self.warp.follow(layout.SHARED_POINTER), offset)
        self.ret("i1", TRUE)
        name = layout.symbol("tensor.load" if self.loads else "tensor.store")
        about = "i64 %place, i32 %to, i32 %barrier, ptr %corner, i32 %rank, i32 %many, i32 %ranks"
        return self.close(f"define i1 @{name}(ptr %env, ptr %rec, {about}, i32 %lanes)")

    def _rows(self, tensor: _Place, shared: TypedPointer, offset: Int) -> None:
        """Copy the box row by row."""
        number, count = self.variable(64, 0), self.total // self.row
        with self.loop() as end:
            at = number.get()
            self.leave(end, at >= count)
            number.set(at + 1)
            inside, place, rest = self.integer(1, "true"), tensor.first, at
            for n in range(1, MOST_RANK):
                where = self.starts[n] + rest % self.counts[n]
                rest = rest // self.counts[n]
                # Unsigned: what is below 0 is far above.
                inside = inside & (where < self.sizes[n])
                place = place.at(where * self.strides[n])
            self._units(place, inside, tensor.marks, shared, offset + at * self.row)

    def _units(
        self, place: TypedPointer, inside: Int, marks: Int, shared: TypedPointer, spot: Int
    ) -> None:
        """Copy the units of a row.

        Args:
            place: of the tensor's row.
            inside: i1, whether that is in the tensor.
        """
        n, length = self.variable(64, 0), self.sizes[0] << self.shift
        first = self.starts[0] << self.shift
        with self.loop() as end:
            at = n.get()
            self.leave(end, at >= self.row)
            n.set(at + UNIT)
            line = spot + at
            unit = shared.at(line ^ (((line >> 7) & self.mask) << 4))
            where = first + at
            whole = inside & where.compare("sge", 0) & (where + UNIT).compare("sle", length)
            sides = (place.at(where), unit) if self.loads else (unit, place.at(where))
            kept = self.marks if self.loads else marks
            with self.when(whole):
                self.move(*sides, kept)
            with self.when(~whole):
                if self.loads:
                    self.ir.put(_VECTOR, "zeroinitializer", unit.ref, 0, 1)
                    with self.when(self.marks.differs(0)):
                        self.ir.put(_VECTOR, _ONES, unit.at(self.marks).ref, 0, 1)
                with self.when(inside):
                    self._bytes(sides, where, length, self.integer(64, 0) if self.loads else marks)

    def _bytes(
        self, sides: Sequence[TypedPointer], where: Int, length: Int, marks: Int
    ) -> None:  # fmt: skip
        """Copy the bytes of a unit that are in the tensor."""
        n = self.variable(64, 0)
        with self.loop() as end:
            at = n.get()
            self.leave(end, at >= UNIT)
            n.set(at + 1)
            with self.when((where + at) < length):
                target = sides[1].at(at)
                target.store(8, sides[0].at(at).load(8))
                with self.when(marks.differs(0)):
                    target.at(marks).store(8, -1)


__all__ = ["copy_functions"]
