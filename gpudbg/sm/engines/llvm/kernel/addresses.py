"""Address checks of compiled code before it touches memory.

How the lanes lie to one another is found once for the words that hold the addresses; that they are
inside an allocation is found by an access for itself and at once for the accesses after it that
begin at the same words, where it is usual: the elements before and behind, fields, what is loaded
and stored again.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, UNLIKELY, Builder, Pending, signed
from gpudbg.sm.engines.llvm.ir.integers import Integers, Linear
from gpudbg.sm.engines.llvm.ir.values import FULL, Num, Val, Values
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.marks import Marks
from gpudbg.sm.engines.llvm.kernel.sites import Sites

HALF = 16

LANES16 = f"<{HALF} x i32>"

LANES32 = "<32 x i32>"

_FAR = 1 << 16
"""Distance in bytes from which accesses with the same registers are checked separately."""


class AddressShape:
    """Facts about the addresses in a value, as names of IR values.

    Attributes:
        regular, single: `<32 x i1>`: the lane follows the first one of its run; is at the same
            address.  "" where that is known of all lanes.
        proven: "regular" or "single" where that is known from the code.
        firsts: i64, zero-extended: the low word of each run's first lane; of an index: what it adds
            to the address.
        fits: of an index, for each run: i1: it does not wrap around before the last lane.
    """

    __slots__ = ("firsts", "fits", "proven", "regular", "single")

    def __init__(
        self,
        regular: str,
        single: str,
        firsts: list[str],
        fits: list[str] | None = None,
        proven: str = "",
    ) -> None:
        self.proven = proven
        self.regular = regular
        self.single = single
        self.firsts = firsts
        self.fits = fits


class AccessRange(AddressShape):
    """Memory around a whole warp's access, and those after it that begin at the same words.

    Attributes:
        add: the constant of the access's address.
        pc, site: its instruction's address, number of its cache entry.
        places: host pointers of its first lanes, of each run or half.
        begin, end: bytes from there that this access and those after it touch.
        begins: where the first of these numbers is written.
        apart: i64: bytes from the allocation to its marks, 0 without any; "" where none are wanted.
    """

    __slots__ = ("add", "apart", "begin", "begins", "end", "pc", "places", "site")

    def __init__(self, add: int, end: int, pc: int, site: int) -> None:
        super().__init__("", "", [])
        self.add, self.pc, self.site = add, pc, site
        self.begin, self.end = 0, end
        self.begins: list[Pending] = []
        self.places: list[str] = []
        self.apart = ""


class CheckedRange(AccessRange):
    """One whose test decides between code in place and the library.

    Attributes:
        good: i1: all that is inside, and the places are right.
        room: where the length of the range is written.
    """

    __slots__ = ("good", "room")

    def __init__(self, add: int, end: int, places: list[str], pc: int, site: int) -> None:
        super().__init__(add, end, pc, site)
        self.places = places
        self.room: Pending | None = None
        self.good = ""


class AddressParts(NamedTuple):
    """The parts of an address: low words, high words, and a constant.

    `linear`: what its words are computed from, if that is known.
    """

    low: Val
    high: Val | int
    add: int
    linear: Linear | None = None


class Addresses:
    """Checks of addresses.

    Attributes:
        run: lanes, 16 or 32, that usually follow one another in memory: what rows of threads allow.
        shapes: by the names of low words and the size; for the present block.
        same: name of high words -> i1 vector: as in lane 0; for the present block.
    """

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        cursor: Cursor,
        sites: Sites,
        marks: Marks,
        run: int,
    ) -> None:
        self.ir, self.values, self.ints = ir, values, ints
        self.cursor, self.sites, self.marks, self.run = cursor, sites, marks, run
        self.shapes: dict[tuple[str, int], AddressShape] = {}
        self.same: dict[str, str] = {}

    def mark(self) -> tuple[dict[tuple[str, int], AddressShape], dict[str, str]]:
        """The facts found so far, for `revert`."""
        return dict(self.shapes), dict(self.same)

    def revert(self, mark: tuple[dict[tuple[str, int], AddressShape], dict[str, str]]) -> None:
        """Drop the facts found since a mark."""
        self.shapes, self.same = mark

    def parts(self, space: str, address: Val) -> AddressParts:
        if space == "shared":
            base, add = self.ints.origin(address) or (address, 0)
            return AddressParts(self._lanes(base), 0, add)
        low, high, add = self.ints.words(address)
        if isinstance(high, Val):
            high = self._lanes(high)
        return AddressParts(self._lanes(low), high, add, self.ints.linear(address))

    def _lanes(self, a: Num) -> Val:
        """A word as a vector."""
        row = a.row if isinstance(a, Val) else -1
        return Val(32, self.values.bare(a, 32), row=row, line=self.ints.line(a))

    def shape(self, low: Val, size: int) -> AddressShape:
        """Facts about low words, computed once in a block."""
        ir = self.ir
        known = self.shapes.get((low.ref, size)) or self._proven_shape(low, size)
        if known is not None:
            self.shapes[low.ref, size] = known
            return known
        picks = ", ".join(f"i32 {n - n % self.run}" for n in range(32))
        first = ir.op(f"shufflevector {LANES32} {low.ref}, {LANES32} poison, <32 x i32> <{picks}>")
        steps = ir.op(f"sub {LANES32} {low.ref}, {first}")
        line = ", ".join(f"i32 {size * (n % self.run)}" for n in range(32))
        regular = ir.op(f"icmp eq {LANES32} {steps}, <{line}>")
        single = ir.op(f"icmp eq {LANES32} {steps}, zeroinitializer")
        firsts = []
        for lane in range(0, 32, self.run):
            word = ir.op(f"extractelement {LANES32} {low.ref}, i64 {lane}")
            firsts.append(ir.op(f"zext i32 {word} to i64"))
        known = AddressShape(regular, single, firsts)
        self.shapes[low.ref, size] = known
        return known

    def _proven_shape(self, low: Val, size: int) -> AddressShape | None:
        """How words lie to one another whose differences are known from the code."""
        if low.line is None:
            return None
        form, run = low.line, self.run
        offsets = form.offsets
        followed = all(
            form.base(n) is form.base(n - n % run)
            and (offsets[n] - offsets[n - n % run] - size * (n % run)) & FULL == 0
            for n in range(32)
        )
        alike = len(form.bases) == len(set(offsets)) == 1
        if not (followed or alike):
            return None
        firsts = []
        for lane in range(0, 32, run):
            first = self.values.scalar(self.ints.add(form.base(lane), offsets[lane]), 32)
            firsts.append(self.ir.op(f"zext i32 {first} to i64"))
        return AddressShape("", "", firsts, proven="regular" if followed else "single")

    def lie(self, where: AddressParts, size: int) -> tuple[AddressShape, str]:
        """Facts about addresses, and the lanes for which these must be tested besides, "" for
        all.
        """
        linear = where.linear
        if linear is not None and size % linear.scale == 0:
            # Named before the paths of an access separate: all use it.
            self.values.scalar(linear.base, 64)
            return self._index_shape(linear, size // linear.scale), ""
        return self.shape(where.low, size), self.same_high(where.high)

    def _index_shape(self, linear: Linear, step: int) -> AddressShape:
        """The same of the index that makes them, whose lanes are so many apart: what else there is
        to an address is the same in all lanes and computed once."""
        ir, index = self.ir, linear.number
        key = f"{index.ref} * {linear.scale} {linear.signed}", step
        known = self.shapes.get(key)
        if known is not None:
            return known
        made = self.shape(self._lanes(index), step)
        firsts, fits = [], []
        for lane in range(0, 32, self.run):
            word = self._word_of(index, lane)
            how, most = ("s", FULL >> 1) if linear.signed else ("u", FULL)
            last = signed(most - step * (self.run - 1), 32)
            fits.append(ir.op(f"icmp {how}le i32 {word}, {last}"))
            wide = ir.op(f"{'sext' if linear.signed else 'zext'} i32 {word} to i64")
            firsts.append(ir.op(f"mul i64 {wide}, {linear.scale}"))
        known = AddressShape(made.regular, made.single, firsts, fits, made.proven)
        self.shapes[key] = known
        return known

    def _word_of(self, index: Val, lane: int) -> str:
        """A lane's word."""
        if index.line is None:
            return self.ir.op(f"extractelement {LANES32} {index.ref}, i64 {lane}")
        form = index.line
        return self.values.scalar(self.ints.add(form.base(lane), form.offsets[lane]), 32)

    def same_high(self, high: Val | int) -> str:
        """Mask of the lanes whose high word is that of lane 0; "" for a constant."""
        if isinstance(high, int):
            return ""
        known = self.same.get(high.ref)
        if known is None:
            first = self.ir.op(
                f"shufflevector {LANES32} {high.ref}, {LANES32} poison, <32 x i32> zeroinitializer"
            )
            known = self.ir.op(f"icmp eq {LANES32} {high.ref}, {first}")
            self.same[high.ref] = known
        return known

    def all_lanes(self, lanes: str, more: str) -> str:
        """Whether a condition, and another one if there is one, holds in all lanes; "": either is
        known to."""
        if not (lanes and more):
            lanes, more = lanes or more, ""
        if not lanes:
            return "true"
        if more:
            lanes = self.ir.op(f"and <32 x i1> {lanes}, {more}")
        bits = self.ir.op(f"bitcast <32 x i1> {lanes} to i32")
        return self.ir.op(f"icmp eq i32 {bits}, -1")

    def places(
        self,
        space: str,
        site: str,
        where: AddressParts,
        shape: AddressShape,
        size: int,
        count: int,
        slow: str,
    ) -> list[str]:
        """Pointers to the memory of lanes 0 and 16; goes to `slow` unless `count` accesses of
        each run's first lane and on are inside and aligned.

        Low words that wrap around lie apart.  Without a constant the window excludes that
        (`_global_start`), with one it must be looked for.
        """
        ir = self.ir
        if space == "shared":
            base = ir.get("ptr", "%rec", layout.SHARED_POINTER)
            limit = ir.get("i64", "%env", layout.SHARED_BYTES)
            start = ""
        else:
            base, limit = ir.get("ptr", site, 16), ir.get("i64", site, 8)
            start = self.global_start(where, site, shape.fits is not None)
        turn = size.bit_length() - 1
        room = self._room_for(limit, str(size * (count - 1)), turn)
        if shape.fits is not None:
            return self._index_places(base, room, start, shape, size, count, slow)
        places = []
        for first in shape.firsts:
            if space != "shared":
                offset = ir.op(f"add i64 {start}, {first}")
            elif where.add:
                # 32-bit arithmetic.
                offset = ir.op(f"and i64 {ir.op(f'add i64 {first}, {where.add}')}, {FULL}")
            else:
                offset = first
            outside = ir.op(f"icmp uge i64 {self.turned(offset, turn)}, {room}")
            if space != "shared" and where.add and count > 1:
                wraps = ir.op(f"icmp ugt i64 {first}, {FULL - size * (count - 1)}")
                outside = ir.op(f"or i1 {outside}, {wraps}")
            ir.unless(outside, slow, UNLIKELY)
            places.append(ir.at(base, offset))
        if self.run > HALF:
            places.append(ir.at(places[0], HALF * size if count > 1 else 0))
        return places

    def _index_places(
        self,
        base: str,
        room: str,
        start: str,
        shape: AddressShape,
        size: int,
        count: int,
        slow: str,
    ) -> list[str]:
        """`places` of addresses made from an index."""
        ir = self.ir
        assert shape.fits is not None
        places = []
        for first, fits in zip(shape.firsts, shape.fits, strict=True):
            if count > 1:
                ir.provided(fits, slow)
            offset = ir.op(f"add i64 {start}, {first}")
            outside = ir.op(f"icmp uge i64 {self.turned(offset, size.bit_length() - 1)}, {room}")
            ir.unless(outside, slow, UNLIKELY)
            places.append(ir.at(base, offset))
        if self.run > HALF:
            places.append(ir.at(places[0], HALF * size if count > 1 else 0))
        return places

    def _room_for(self, limit: str, more: str, turn: int) -> str:
        """The number of places for elements of 1 << `turn` bytes followed by `more` bytes."""
        room = self.ir.op(f"call i64 @llvm.usub.sat.i64(i64 {limit}, i64 {more})")
        return self.ir.op(f"lshr i64 {room}, {turn}")

    def turned(self, offset: str, turn: int) -> str:
        """Rotate an offset right by the bits that must be 0: a misaligned one becomes huge."""
        return self.ir.op(f"call i64 @llvm.fshr.i64(i64 {offset}, i64 {offset}, i64 {turn})")

    def global_start(self, where: AddressParts, site: str, index: bool = False) -> str:
        """What is added to a low word, or to what an index makes: the offset in the site's window
        of such a lane.

        A window lies between two multiples of 4 GiB: if one lane is inside and another one too
        by its distance, its low word does not wrap around unless a constant is added to it.
        """
        ir = self.ir
        start = ir.op(f"sub i64 {where.add}, {ir.get('i64', site)}")
        if index and where.linear is not None:
            base = where.linear.base
            return ir.op(f"add i64 {start}, {self.values.scalar(base, 64)}") if base else start
        if isinstance(where.high, Val):
            top = ir.op(f"extractelement {LANES32} {where.high.ref}, i64 0")
            up = ir.op(f"shl i64 {ir.op(f'zext i32 {top} to i64')}, 32")
            return ir.op(f"add i64 {start}, {up}")
        return ir.op(f"add i64 {start}, {where.high << 32}") if where.high else start

    def _range_key(self, where: AddressParts, size: int) -> tuple[str, int]:
        high = where.high.ref if isinstance(where.high, Val) else where.high
        # Accesses misaligned to one another are checked separately.
        return f"{where.low.ref} {high} {where.add % size}", size

    def known_range(self, where: AddressParts, size: int) -> CheckedRange | None:
        """The range that an earlier access checked, widened to this one, if there is one."""
        known = self.shapes.get(self._range_key(where, size))
        if not isinstance(known, CheckedRange):
            return None
        begin = distance(known.add, where)
        end = begin + size * self.run
        if max(abs(begin), known.end, -known.begin) > _FAR:
            return None
        known.begin, known.end = min(known.begin, begin), max(known.end, end)
        for number in known.begins:
            number.settle(known.begin)
        assert known.room is not None
        known.room.settle(known.end - known.begin - size)
        return known

    def begin_range(
        self, site: str, where: AddressParts, places: list[str], size: int
    ) -> tuple[CheckedRange, str]:
        """Begin a range around this access for later ones; an i1: all of it is
        inside its allocation, which later accesses widen."""
        ir = self.ir
        turn = size.bit_length() - 1
        base, limit = ir.get("i64", site, 16), ir.get("i64", site, 8)
        known = CheckedRange(
            where.add, size * self.run, places, self.cursor.pc, self.sites.number()
        )
        known.apart = self.marks.of_site(site)
        left, known.room = ir.pending(f"call i64 @llvm.usub.sat.i64(i64 {limit}, i64 ", ")")
        room = ir.op(f"lshr i64 {left}, {turn}")
        good = "true"
        for place in places[: len(places) if self.run == HALF else 1]:
            there = ir.op(f"ptrtoint ptr {place} to i64")
            offset = ir.op(f"sub i64 {there}, {base}")
            offset, begin = ir.pending(f"add i64 {offset}, ")
            known.begins.append(begin)
            inside = ir.op(f"icmp ult i64 {self.turned(offset, turn)}, {room}")
            good = ir.op(f"and i1 {good}, {inside}")
        return known, good

    def end_range(
        self, where: AddressParts, size: int, begun: tuple[CheckedRange, str], incoming: list[str]
    ) -> None:
        """At a merge point: what was begun holds if the first of the incoming edges led there."""
        known, good = begun
        first, *others = incoming
        rest = "".join(f", [ false, %{other} ]" for other in others)
        known.good = self.ir.op(f"phi i1 [ {good}, %{first} ]{rest}")
        rest = "".join(f", [ null, %{other} ]" for other in others)
        if known.apart:
            apart = "".join(f", [ 0, %{other} ]" for other in others)
            known.apart = self.ir.op(f"phi i64 [ {known.apart}, %{first} ]{apart}")
        known.places = [
            self.ir.op(f"phi ptr [ {place}, %{first} ]{rest}") for place in known.places
        ]
        self.shapes[self._range_key(where, size)] = known

    def within(self, known: CheckedRange) -> str:
        """Emit a test that the checked range is good. Returns the label for when it is not."""
        ir = self.ir
        here, far = ir.fresh("near"), ir.fresh("far")
        ir.choose(known.good, here, far, LIKELY)
        ir.label(here)
        return far

    def places_from(self, known: CheckedRange, where: AddressParts) -> list[str]:
        """The places of an access in a range that an earlier one checked."""
        return [self.ir.at(place, distance(known.add, where)) for place in known.places]


def distance(add: int, where: AddressParts) -> int:
    """Bytes from an access with this constant to another one with the same words."""
    return signed(where.add - add & (1 << 64) - 1, 64)
