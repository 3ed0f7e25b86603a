"""Loads and stores whose lanes may lie anywhere, by gathers and scatters of the host.

For code for any lanes with loops: a call of the library costs all vectors that are in registers.
Hosts with AVX2 alone gather eight words at once and scatter none: their stores call the library.
All lanes that execute are checked first, with 32-bit arithmetic: inside the space, or inside the
part of the site's allocation that lies between two multiples of 4 GiB.  What is not goes to the
library, which checks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, Pending, signed
from gpudbg.sm.engines.llvm.ir.eights import (
    eight_chosen,
    eight_of,
    gather_eight,
    joined_eights,
)
from gpudbg.sm.engines.llvm.ir.values import FULL, MaskHost, Num, Val, Values, varying
from gpudbg.sm.engines.llvm.kernel.addresses import LANES32, Addresses, AddressParts, AddressShape
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.marks import ONES
from gpudbg.sm.engines.llvm.kernel.moves import Moves
from gpudbg.sm.engines.llvm.kernel.sites import Sites
from gpudbg.sm.engines.llvm.kernel.strides import StridedAccess
from gpudbg.sm.engines.llvm.kernel.word_rows import WORDS, LoadedWord, WordRow, WordRows, source_of

_LONGEST = 8
"""Most bytes of an access that is gathered: one of 16 takes four gathers, which the library does as
well."""
_FAR = 1 << 20
"""Constants in addresses are smaller."""
_LANES = ", ".join(f"i32 {n}" for n in range(32))
_PLACES = "<32 x ptr>"
_LANES_OF_HALF = 16
_HALF = "<16 x i32>"


class _Places(NamedTuple):
    """Where lanes access.

    Attributes:
        base: host pointer.
        words: `<32 x i32>`: words from there.
        apart: words from a lane's word to its next one.
    """

    base: str
    words: str
    apart: int = 1


class _Rows(NamedTuple):
    """Accesses of lanes that follow one another in each half of a warp.

    Attributes:
        near: i1: they do.
        places: host pointers of lanes 0 and 16, which need not execute.
        masks: `<16 x i1>` each.
    """

    near: str
    places: list[str]
    masks: list[str]


class _GatheredRange(AddressShape):
    """Where lanes access, by an address in a register, and what else they access from there.

    Attributes:
        add: the constant of the first access's address.
        begin, end: bytes from that access that all of them touch.
        first, room: where the first of these numbers and their distance are written, in accesses.
        good: i1: every lane of the mask has all that inside its space.
        places: of the first access.
    """

    __slots__ = ("add", "begin", "end", "first", "good", "places", "room", "size")

    def __init__(self, add: int, size: int, places: _Places) -> None:
        super().__init__("", "", [])
        self.add, self.size, self.places = add, size, places
        self.begin, self.end = 0, 0
        self.first: Pending | None = None
        self.room: Pending | None = None
        self.good = ""

    def widen(self, distance: int) -> None:
        """Cover an access so many bytes from the first one."""
        self.begin, self.end = min(self.begin, distance), max(self.end, distance)
        assert self.first is not None
        assert self.room is not None
        self.first.settle(self.begin // self.size)
        self.room.settle((self.end - self.begin) // self.size)


class _Found(NamedTuple):
    """A space, or the part of it that an access may lie in.

    Attributes:
        room: i32: how many accesses fit in.
        begin: i32: the address where it begins; "": 0.
        high: `<32 x i1>`: lanes that are elsewhere by their high word; "": none.
        base: host pointer of where it begins.
    """

    room: str
    begin: str
    high: str
    base: str


class GatheredAccess:
    """Loads and stores of lanes that may lie anywhere.

    Attributes:
        chosen: addresses of the instructions whose accesses are done in place.
        beside: lanes that execute usually follow one another, as in code without loops, which some
            lanes of a warp have left: 16 of them are then moved at once.
        packed: the host gathers eight words at once, and scatters none (AVX2).
        strides: accesses whose lanes are guessed to lie at one distance.
        rows: loads of words that follow one another in each lane.
    """

    SPACES = frozenset(("global", "shared", "local"))

    def __init__(
        self,
        ir: Builder,
        values: Values,
        cursor: Cursor,
        sites: Sites,
        addresses: Addresses,
        moves: Moves,
        library: LibraryAccess,
        chosen: frozenset[int],
        beside: bool,
        strides: StridedAccess,
        rows: WordRows,
    ) -> None:
        self.beside, self.strides, self.rows = beside, strides, rows
        self.ir, self.values, self.cursor = ir, values, cursor
        self.sites, self.addresses, self.moves, self.library = sites, addresses, moves, library
        self.chosen = chosen
        self.packed = values.masks is MaskHost.PACKED

    def load(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num] | None:
        """The words of a load; None, and nothing emitted, where it is not done in place."""
        stride = self.strides.stride(self.cursor.pc, space, size)
        if stride >= 0 and varying(address):
            return [self._strided(space, self._parts(space, address), stride, size, signed)]
        where, mask = self._where(space, address, size)
        if where is None:
            return None
        ir = self.ir
        site = self.sites.entry() if space == "global" else ""
        if self.packed and size == 4 and space != "local":
            in_row = self._in_row(space, site, where, mask)
            if in_row is not None:
                return in_row
        slow, done = ir.fresh("slow"), ir.fresh("done")
        places = self._places(space, site, where, size, mask, slow)
        lanes = "" if self.packed else self.values.mask_lanes(self.cursor.exec)
        found: list[tuple[list[str], str]] = []
        rows = self._rows(space, places, size, mask)
        if rows is not None:
            apart = ir.fresh("apart")
            ir.provided(rows.near, apart)
            halves = [
                ir.op(
                    f"call {_HALF} @llvm.masked.load.v16i32.p0(ptr {place}, i32 4, "
                    f"<16 x i1> {here}, {_HALF} zeroinitializer)"
                )
                for place, here in zip(rows.places, rows.masks, strict=True)
            ]
            found.append(([self.moves.both(*halves)], ir.end_block(done)))
            ir.label(apart)
        quick = [
            self._eights(places, n, mask)
            if self.packed
            else ir.op(
                f"call {LANES32} @llvm.masked.gather.v32i32.v32p0({self._pointers(places, n)}, "
                f"<32 x i1> {lanes}, {LANES32} zeroinitializer)"
            )
            for n in range(size // 4)
        ]
        found.append((quick, ir.end_block(done)))
        with ir.aside():
            ir.label(slow)
            late = self.library.load_at(space, site, where, size, False, mask)
            found.append(([word.ref for word in late], ir.end_block(done)))
        ir.label(done)
        return [
            Val(32, ir.op(f"phi {LANES32} " + ", ".join(f"[ {a[n]}, %{end} ]" for a, end in found)))
            for n in range(size // 4)
        ]

    def _in_row(
        self, space: str, site: str, where: AddressParts, mask: str
    ) -> Sequence[Num] | None:
        """The word of a load that an earlier one has loaded, or that takes words of later ones;
        None: it is neither."""
        known = self.addresses.shapes.pop(("row", self.cursor.pc), None)
        if isinstance(known, LoadedWord) and known.source == source_of(where, mask):
            slow, done = self.ir.fresh("slow"), self.ir.fresh("done")
            self.ir.provided(known.good, slow)
            end = self.ir.end_block(done)
            late = self._late(space, site, where, mask, slow, done)
            return [self._either(known.word, end, *late)]
        row = self.rows.row(self.cursor.pc)
        return None if row is None else [self._row(row, space, site, where, mask)]

    def _row(self, row: WordRow, space: str, site: str, where: AddressParts, mask: str) -> Val:
        """The word of a load that takes words of later ones, too."""
        ir, lanes = self.ir, self.values.mask_lanes(self.cursor.exec)
        slow, done = ir.fresh("slow"), ir.fresh("done")
        made = _GatheredRange(signed(where.add & FULL, 32), 4, _Places("", ""))
        if self.cursor.guarded:
            # Of no lanes all would be inside, even of memory without a byte.
            ir.provided(ir.op(f"icmp ne i32 {mask}, 0"), slow)
        places = self._tested(space, site, where, 4, mask, slow, made)
        made.widen(4 * row.first)
        made.widen(4 * (row.first + WORDS - 1))
        words = places.words
        if row.first:
            words = ir.op(f"add {LANES32} {words}, splat (i32 {row.first})")
        loaded = self.rows.load(places.base, words, lanes)
        end = ir.end_block(done)
        late, late_end = self._late(space, site, where, mask, slow, done)
        found = self._either(loaded[-row.first], end, late, late_end)
        good = ir.op(f"phi i1 [ true, %{end} ], [ false, %{late_end} ]")
        taken = {
            n: self._either(loaded[n], end, "poison", late_end).ref
            for n in sorted(set(row.loads.values()))
        }
        for pc, n in row.loads.items():
            word = LoadedWord(good, taken[n], source_of(where, mask))
            self.addresses.shapes["row", pc] = word
        return found

    def _late(
        self, space: str, site: str, where: AddressParts, mask: str, slow: str, done: str
    ) -> tuple[str, str]:
        """Emit a load of a word by the library, out of the way, and begin the block `done`.

        Returns:
            the word, and the label of what leads from there.
        """
        with self.ir.aside():
            self.ir.label(slow)
            late = self.library.load_at(space, site, where, 4, False, mask)
            end = self.ir.end_block(done)
        self.ir.label(done)
        return late[0].ref, end

    def _either(self, word: str, end: str, late: str, late_end: str) -> Val:
        """A word from one of two blocks."""
        return Val(32, self.ir.op(f"phi {LANES32} [ {word}, %{end} ], [ {late}, %{late_end} ]"))

    def _strided(
        self, space: str, where: AddressParts, stride: int, size: int, signed: bool
    ) -> Val:
        """A load of lanes that are guessed to lie at one distance."""
        ir, strides, mask = self.ir, self.strides, self.values.mask_bits(self.cursor.exec)
        site = self.sites.entry() if space == "global" else ""
        gathers = size == 4 and self.cursor.pc in self.chosen and space == "shared"
        slow, done = ir.fresh("slow"), ir.fresh("done")
        apart = ir.fresh("apart") if gathers else slow
        if space == "global":
            place = strides.place_of(site, where, mask, stride, size, apart)
        else:
            place = strides.place(where, mask, stride, size, apart)
        quick = strides.load(place, stride, size, signed, mask)
        found = [(quick, ir.end_block(done))]
        if gathers:
            with ir.aside():
                ir.label(apart)
                places = self._tested(space, site, where, size, mask, slow)
                found.append((self._eights(places, 0, mask), ir.end_block(done)))
        with ir.aside():
            ir.label(slow)
            late = self.library.load_at(space, site, where, size, signed, mask)
            found.append((late[0].ref, ir.end_block(done)))
        ir.label(done)
        values = ", ".join(f"[ {word}, %{end} ]" for word, end in found)
        return Val(32, ir.op(f"phi {LANES32} {values}"))

    def _store_strided(
        self, space: str, address: Num, size: int, values: Sequence[Num], stride: int
    ) -> bool:
        """Write a word to shared memory, of lanes that are guessed to lie at one distance."""
        if stride <= 0 or size != 4 or space != "shared" or not varying(address):
            return False
        if self.moves.marks.wanted:
            return False
        where, mask = self._parts(space, address), self.values.mask_bits(self.cursor.exec)
        ir, strides = self.ir, self.strides
        value = values[0]
        row = Val(32, self.values.bare(value, 32), row=value.row if isinstance(value, Val) else -1)
        slow, done = ir.fresh("slow"), ir.fresh("done")
        strides.store(strides.place(where, mask, stride, size, slow), stride, row.ref, mask)
        ir.br(done)
        with ir.aside():
            ir.label(slow)
            self.library.store_at(space, "", where, size, mask, [row])
            ir.br(done)
        ir.label(done)
        return True

    def _rows(self, space: str, places: _Places, size: int, mask: str) -> _Rows | None:
        """Where lanes 0 and 16 would access if each half's followed one another as those do that
        execute, and whether these do; None: that is not looked for."""
        ir = self.ir
        if not self.beside or size != 4 or space == "local":
            return None
        near, found, masks = "", [], []
        steps = ", ".join(f"i32 {n}" for n in range(_LANES_OF_HALF))
        for first in range(0, 32, _LANES_OF_HALF):
            bits = ir.op(f"trunc i32 {ir.op(f'lshr i32 {mask}, {first}')} to i16")
            here = ir.op(f"bitcast i16 {bits} to <16 x i1>")
            lane = ir.op(f"call i16 @llvm.cttz.i16(i16 {bits}, i1 false)")
            lane = ir.op(f"zext i16 {lane} to i32")
            picks = ", ".join(f"i32 {first + n}" for n in range(_LANES_OF_HALF))
            half = f"{LANES32} {places.words}, {LANES32} poison, <16 x i32> <{picks}>"
            begin = ir.op(f"sub {_HALF} {ir.op(f'shufflevector {half}')}, <{steps}>")
            index = ir.op(f"insertelement {_HALF} poison, i32 {lane}, i64 0")
            index = ir.op(
                f"shufflevector {_HALF} {index}, {_HALF} poison, <16 x i32> zeroinitializer"
            )
            # The index counts modulo 16: of no lanes any will do.
            same = ir.op(
                f"call {_HALF} @llvm.x86.avx512.permvar.si.512({_HALF} {begin}, {_HALF} {index})"
            )
            other = ir.op(f"and <16 x i1> {ir.op(f'icmp ne {_HALF} {begin}, {same}')}, {here}")
            good = ir.op(f"icmp eq i16 {ir.op(f'bitcast <16 x i1> {other} to i16')}, 0")
            near = ir.op(f"and i1 {near}, {good}") if near else good
            word = ir.op(f"sext i32 {ir.op(f'extractelement {_HALF} {same}, i64 0')} to i64")
            found.append(ir.op(f"getelementptr i32, ptr {places.base}, i64 {word}"))
            masks.append(here)
        return _Rows(near, found, masks)

    def store(self, space: str, address: Num, size: int, values: Sequence[Num]) -> bool:
        """Write words; False, and nothing emitted, where it is not done in place."""
        if self.packed:
            # A scatter would be a branch for each lane.
            stride = self.strides.stride(self.cursor.pc, space, size)
            return self._store_strided(space, address, size, values, stride)
        where, mask = self._where(space, address, size)
        if where is None:
            return False
        ir, marks = self.ir, self.moves.marks
        rows = [
            Val(32, self.values.bare(v, 32), row=v.row if isinstance(v, Val) else -1)
            for v in values
        ]
        site = self.sites.entry(writes=True) if space == "global" else ""
        slow, done = ir.fresh("slow"), ir.fresh("done")
        places = self._places(space, site, where, size, mask, slow)
        if site:
            marks.lie(marks.of_site(site))
        if space == "local":
            ir.put("i64", 0, "%rec", layout.LOCAL_CLEAR)
        lines = self._rows(space, places, size, mask) if not marks.wanted else None
        if lines is not None:
            apart = ir.fresh("apart")
            ir.provided(lines.near, apart)
            for n, place in enumerate(lines.places):
                picks = ", ".join(f"i32 {16 * n + k}" for k in range(_LANES_OF_HALF))
                half = f"{LANES32} {rows[0].ref}, {LANES32} poison, <16 x i32> <{picks}>"
                ir.line(
                    f"call void @llvm.masked.store.v16i32.p0({_HALF} "
                    f"{ir.op(f'shufflevector {half}')}, ptr {place}, i32 4, "
                    f"<16 x i1> {lines.masks[n]})"
                )
            ir.br(done)
            ir.label(apart)
        self._scatter(places, [row.ref for row in rows])
        with marks.beside(places.base) as beside:
            if beside:
                self._scatter(places._replace(base=beside), [ONES] * len(rows))
        ir.br(done)
        with ir.aside():
            ir.label(slow)
            self.library.store_at(space, site, where, size, mask, rows)
            ir.br(done)
        ir.label(done)
        return True

    def _where(self, space: str, address: Num, size: int) -> tuple[AddressParts | None, str]:
        """An address and the bits of the mask, which is named as lanes, too, for all that follows;
        None: the access is not done in place."""
        if (
            self.cursor.pc not in self.chosen
            or space not in self.SPACES
            or not 4 <= size <= _LONGEST
            or not varying(address)
        ):
            return None, ""
        where = self._parts(space, address)
        add = signed(where.add & FULL, 32)
        if space == "global" and add != signed(where.add & (1 << 64) - 1, 64):
            add = _FAR
        if abs(add) >= _FAR:
            return None, ""
        if not self.packed:
            self.values.mask_lanes(self.cursor.exec)
        return where, self.values.mask_bits(self.cursor.exec)

    def _parts(self, space: str, address: Val) -> AddressParts:
        """The parts of an address: what is local is addressed by 32 bits, as what is shared."""
        return self.addresses.parts("global" if space == "global" else "shared", address)

    def _none_of(self, bad: str, mask: str) -> str:
        """Emit an i1: no lane that executes is bad."""
        bits = self.ir.op(f"and i32 {self.values.bits_of(bad)}, {mask}")
        return self.ir.op(f"icmp eq i32 {bits}, 0")

    def _pointers(self, places: _Places, number: int) -> str:
        """Pointers to a word of all lanes, as an operand with its type."""
        base = self.ir.at(places.base, 4 * places.apart * number)
        found = self.ir.op(f"getelementptr i32, ptr {base}, {LANES32} {places.words}")
        return f"{_PLACES} align 4 {found}"

    def _eights(self, places: _Places, number: int, mask: str) -> str:
        """A word of all lanes, where the host gathers eight."""
        ir = self.ir
        base = ir.at(places.base, 4 * places.apart * number)
        return joined_eights(
            ir,
            [
                gather_eight(ir, base, eight_of(ir, places.words, n), eight_chosen(ir, mask, n))
                for n in range(0, 32, 8)
            ],
        )

    def _scatter(self, places: _Places, rows: Sequence[str]) -> None:
        lanes = self.values.mask_lanes(self.cursor.exec)
        for number, row in enumerate(rows):
            self.ir.line(
                f"call void @llvm.masked.scatter.v32i32.v32p0({LANES32} {row}, "
                f"{self._pointers(places, number)}, <32 x i1> {lanes})"
            )

    def _space(self, space: str, site: str, where: AddressParts, turn: int) -> tuple[_Found, str]:
        """What is accessed, and the i32 to be added to low words for their distance from where it
        begins."""
        found: _Found = getattr(self, f"_{space}")(site, where, turn)
        add = str(signed(where.add & FULL, 32))
        return found, self.ir.op(f"sub i32 {add}, {found.begin}") if found.begin else add

    def _places(
        self, space: str, site: str, where: AddressParts, size: int, mask: str, slow: str
    ) -> _Places:
        """Checked places of lanes that may lie anywhere; goes to `slow` where one is not inside."""
        if space == "global":
            return self._tested(space, site, where, size, mask, slow)
        # Other accesses from the same register, in the same lanes, share the test.
        add = signed(where.add & FULL, 32)
        key = f"{space} {where.low.ref} {mask} {add % size}", size
        known = self.addresses.shapes.get(key)
        if isinstance(known, _GatheredRange):
            distance = add - known.add
            known.widen(distance)
            self.ir.provided(known.good, slow)
            base = self.ir.at(known.places.base, distance * known.places.apart)
            return known.places._replace(base=base)
        made = _GatheredRange(add, size, _Places("", ""))
        made.places = self._tested(space, site, where, size, mask, slow, made)
        self.addresses.shapes[key] = made
        return made.places

    def _tested(
        self,
        space: str,
        site: str,
        where: AddressParts,
        size: int,
        mask: str,
        slow: str,
        made: _GatheredRange | None = None,
    ) -> _Places:
        """Emit the test of places; `made`: what it is to be a test of."""
        ir, spread = self.ir, self.values.spread
        turn = size.bit_length() - 1
        found, add = self._space(space, site, where, turn)
        offset, room = where.low.ref, found.room
        if add != "0":
            offset = ir.op(f"add {LANES32} {offset}, {spread(add, 32)}")
        # A misaligned one becomes huge.
        shift = f"{LANES32} splat (i32 {turn})"
        unit = ir.op(
            f"call {LANES32} @llvm.fshr.v32i32({LANES32} {offset}, {LANES32} {offset}, {shift})"
        )
        first = unit
        if made is not None:
            first, made.first = ir.pending(f"add {LANES32} {unit}, splat (i32 ", ")")
            room, made.room = ir.pending(f"call i32 @llvm.usub.sat.i32(i32 {room}, i32 ", ")")
        bad = ir.op(f"icmp uge {LANES32} {first}, {spread(room, 32)}")
        if found.high:
            bad = self.values.mask_logic("or", bad, found.high)
        good = self._none_of(bad, mask)
        # Before the ways part: later accesses use both.
        up = turn - 2 + (5 if space == "local" else 0)
        if up:
            unit = ir.op(f"shl {LANES32} {unit}, splat (i32 {up})")
        if space == "local":
            unit = ir.op(f"or {LANES32} {unit}, <{_LANES}>")
        if made is not None:
            made.good = good
        ir.provided(good, slow)
        return _Places(found.base, unit, 32 if space == "local" else 1)

    def _shared(self, site: str, where: AddressParts, turn: int) -> _Found:
        """Shared memory."""
        ir = self.ir
        limit = ir.op(f"trunc i64 {ir.get('i64', '%env', layout.SHARED_BYTES)} to i32")
        room = ir.op(f"lshr i32 {limit}, {turn}")
        return _Found(room, "", "", ir.get("ptr", "%rec", layout.SHARED_POINTER))

    def _local(self, site: str, where: AddressParts, turn: int) -> _Found:
        """The high range of local memory, where the stack is: it ends below 4 GiB."""
        ir = self.ir
        low, start, both = (
            ir.get("i64", "%env", place)
            for place in (layout.LOCAL_LOW, layout.LOCAL_START, layout.LOCAL_BYTES)
        )
        limit = ir.op(f"trunc i64 {ir.op(f'sub i64 {both}, {low}')} to i32")
        room = ir.op(f"lshr i32 {limit}, {turn}")
        base = ir.at(ir.get("ptr", "%rec", layout.LOCAL_POINTER), ir.op(f"shl i64 {low}, 5"))
        return _Found(room, ir.op(f"trunc i64 {start} to i32"), "", base)

    def _global(self, site: str, where: AddressParts, turn: int) -> _Found:
        """The site's window.  Its lanes have the high word of where it begins; with a
        constant one may wrap around, which it does only into a window that begins, or ends, near a
        multiple of 4 GiB."""
        ir, add = self.ir, signed(where.add & FULL, 32)
        begin, top = ir.get("i32", site), ir.get("i32", site, 4)
        limit = ir.get("i64", site, 8)
        room = ir.op(f"trunc i64 {ir.op(f'lshr i64 {limit}, {turn}')} to i32")
        if add < 0:
            low = ir.op(f"zext i32 {begin} to i64")
            flat = ir.op(f"icmp ule i64 {ir.op(f'add i64 {low}, {limit}')}, {FULL + 1 + add}")
        elif add:
            flat = ir.op(f"icmp uge i32 {begin}, {add}")
        if add:
            room = ir.op(f"select i1 {flat}, i32 {room}, i32 0")
        word = self.values.bare(where.high, 32)
        other = ir.op(f"icmp ne {LANES32} {word}, {self.values.spread(top, 32)}")
        return _Found(room, begin, other, ir.get("ptr", site, 16))
