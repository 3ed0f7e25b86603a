"""Shared memory with guessed patterns of lanes (`patterns`): vectors, shuffled where need be.

Whether a register's lanes lie as guessed, and all that the block does with it is inside shared
memory, is found once in a block.  Where it is not so the guess was wrong, and there will be other
code (`Left.GUESS`).  Under a guard each access decides, since lanes that do not execute may point
anywhere, and what is not as guessed goes to the library.  Lanes with gaps between them in global
memory (fields of structures) are done alike, with a check for each access.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, Builder, Pending, signed
from gpudbg.sm.engines.llvm.ir.eights import EIGHT, gather_eight
from gpudbg.sm.engines.llvm.ir.values import (
    FULL,
    UNIFORM,
    MaskHost,
    Num,
    Val,
    Values,
    varying,
)
from gpudbg.sm.engines.llvm.kernel.addresses import (
    LANES16,
    LANES32,
    Addresses,
    AddressParts,
    AddressShape,
)
from gpudbg.sm.engines.llvm.kernel.carried import CarriedTests
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.marks import ONES
from gpudbg.sm.engines.llvm.kernel.moves import Moves
from gpudbg.sm.engines.llvm.kernel.patterns import (
    HALF,
    Pattern,
    PatternPart,
    PatternPiece,
    load_parts,
    scatter_steps,
    store_pieces,
)
from gpudbg.sm.engines.llvm.kernel.regular_access import RegularAccess
from gpudbg.sm.engines.llvm.kernel.sites import Sites

_MOST_PIECES = 9
"""Most vector pieces of a store: as many as 16-byte words of consecutive lanes need."""


class SharedRange(AddressShape):
    """A register whose lanes point into shared memory in a pattern.

    Attributes:
        good: i1: they do, and all accesses so far are inside.
        sure: the code goes on only if it is so.
        place: host pointer of what lane 0 points to.
        begin, end: bytes from there that accesses so far touch.
        first, room: where these numbers are written.
    """

    __slots__ = ("begin", "end", "first", "good", "place", "room", "sure")

    def __init__(self, begin: int, end: int) -> None:
        super().__init__("", "", [])
        self.begin, self.end = begin, end
        self.first: Pending | None = None
        self.room: Pending | None = None
        self.good = self.place = ""
        self.sure = False


class PatternedAccess:
    """Loads and stores of lanes in a guessed pattern.

    Attributes:
        patterns: address of an instruction to its pattern.
        gathers: the host gathers and scatters words.
        packed: it gathers eight at once and scatters none (AVX2): words are stored one by one.
    """

    def __init__(
        self,
        ir: Builder,
        values: Values,
        cursor: Cursor,
        exits: Exits,
        sites: Sites,
        addresses: Addresses,
        moves: Moves,
        library: LibraryAccess,
        regular: RegularAccess,
        patterns: Mapping[int, Pattern],
        gathers: bool,
        carried: CarriedTests,
    ) -> None:
        self.ir, self.values, self.cursor, self.exits = ir, values, cursor, exits
        self.sites, self.addresses, self.carried = sites, addresses, carried
        self.moves, self.library, self.regular = moves, library, regular
        self.patterns, self.gathers = patterns, gathers
        self.packed = values.masks is MaskHost.PACKED

    def load(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num] | None:
        """The words of a load; None, and nothing emitted, where no pattern is of use."""
        ir = self.ir
        if space == "shared" and isinstance(address, int) and self.cursor.exec == FULL:
            return self._load_constant(address, size, signed)
        pattern = self.patterns.get(self.cursor.pc) if space in self.regular.SPACES else None
        words = None if pattern is None else load_parts(pattern, size, self.gathers or self.packed)
        if pattern is None or words is None or not varying(address):
            return None
        parts = [part for word in words for part in word]
        if space == "global" and all(part.kind in ("splat", "line") for part in parts):
            return None
        where = self.addresses.parts(space, address)
        mask = self.values.mask_bits(self.cursor.exec)
        ends = min(p.offset for p in parts), max(p.end(size) for p in parts)
        site, good, place, add = self._found(space, where, pattern, size, *ends)
        if not good:
            quick = self._quick(words, place, add, size, signed)
            return [Val(32, word) for word in quick]
        fast, slow, none, done = (ir.fresh(hint) for hint in ("fast", "slow", "none", "done"))
        ir.choose(good, fast, slow, LIKELY)
        ir.label(fast)
        quick = self._quick(words, place, add, size, signed)
        quick_end = ir.end_block(done)
        ir.label(slow)
        self._nobody(mask, none)
        late = self.library.load_at(space, site, where, size, signed, mask)
        late_end = ir.end_block(done)
        ir.label(none)
        ir.br(done)
        ir.label(done)
        zero = "zeroinitializer"
        return [
            Val(
                32,
                ir.op(
                    f"phi {LANES32} [ {a}, %{quick_end} ], [ {b.ref}, %{late_end} ], "
                    f"[ {zero}, %{none} ]"
                ),
            )
            for a, b in zip(quick, late, strict=True)
        ]

    def _quick(
        self,
        words: tuple[tuple[PatternPart, PatternPart], ...],
        place: str,
        add: int,
        size: int,
        signed: bool,
    ) -> list[str]:
        """Emit a load whose guess holds."""
        known: dict[int, str] = {}
        return [
            self.moves.both(*(self._part(place, add, part, size, signed, known) for part in word))
            for word in words
        ]

    def _load_constant(self, address: int, size: int, signed: bool) -> Sequence[Num] | None:
        """Emit a load of all lanes from a constant address."""
        ir = self.ir
        address &= FULL
        if address % size:
            return None
        region = self.addresses.shapes.get(("", 0))
        if not isinstance(region, SharedRange):
            region = self.addresses.shapes["", 0] = SharedRange(0, 0)
            region.place = ir.get("ptr", "%rec", layout.SHARED_POINTER)
            limit = ir.get("i64", "%env", layout.SHARED_BYTES)
            enough, region.room = ir.pending(f"icmp uge i64 {limit}, ")
            self.exits.bail_unless(enough)
        region.end = max(region.end, address + size)
        assert region.room is not None
        region.room.settle(region.end)
        words = self.moves.load_words(ir.at(region.place, address), size, signed)
        return [Val(32, word, UNIFORM) for word in words]

    def store(self, space: str, address: Num, size: int, values: Sequence[Num]) -> bool:
        """Write words; False, and nothing emitted, where no pattern is of use."""
        ir = self.ir
        pattern = self.patterns.get(self.cursor.pc) if space in self.regular.SPACES else None
        if pattern is None or isinstance(address, int) or address.shape is UNIFORM:
            return False
        pieces = store_pieces(pattern, size, self.packed and space == "shared")
        steps = self._scatters(pattern, pieces, size)
        if not steps:
            if pieces is None or self._scattered(pieces, size):
                return False
            if space == "global" and all(None not in piece.words for piece in pieces):
                return False
        where, mask, rows = self.regular.to_store(space, address, values)
        ends = min(pattern), max(pattern) + size
        site, good, place, add = self._found(space, where, pattern, size, *ends, writes=True)

        def write() -> None:
            if site:
                self.moves.marks.lie(self.moves.marks.of_site(site))
            if steps:
                self._scatter(ir.at(place, add + min(pattern)), steps, rows)
                return
            for piece in pieces or ():
                begin = piece.offset
                own = space == "shared" and ends[0] <= begin and begin + 4 * HALF <= ends[1]
                self._store_words(ir.at(place, add + begin), piece, rows, own)

        if not good:
            write()
            return True
        fast, slow, done = ir.fresh("fast"), ir.fresh("slow"), ir.fresh("done")
        ir.choose(good, fast, slow, LIKELY)
        ir.label(fast)
        write()
        ir.br(done)
        ir.label(slow)
        self._nobody(mask, done)
        self.library.store_at(space, site, where, size, mask, rows)
        ir.br(done)
        ir.label(done)
        return True

    def apart(self, space: str, address: Num, size: int) -> bool:
        """Whether lanes are guessed to lie neither next to one another nor at one address: code
        that looks for that would be there in vain; in a trace for any lanes it is most of it."""
        pattern = self.patterns.get(self.cursor.pc) if space in self.regular.SPACES else None
        return pattern is not None and varying(address) and pattern[1] - pattern[0] not in (0, size)

    def _nobody(self, mask: str, target: str) -> None:
        """Emit a branch to a label for when no lane executes."""
        if self.cursor.exec != FULL:
            self.ir.unless(self.ir.op(f"icmp eq i32 {mask}, 0"), target)

    def _scatters(
        self, pattern: Pattern, pieces: Sequence[PatternPiece] | None, size: int
    ) -> tuple[int, ...]:
        """The bytes between lanes where a store is best scattered, else (): 16 words take the host
        about 4 ns, a piece about 1 and with a mask 2."""
        if not (self.gathers or (self.packed and self.cursor.exec == FULL)):
            return ()
        most = (8 if self.cursor.exec == FULL else 4) * size // 4
        few = pieces is not None and len(pieces) <= most
        return () if few else scatter_steps(pattern, size)

    def _scatter(self, place: str, steps: Sequence[int], rows: list[Val]) -> None:
        """Store words of all lanes at constant distances."""
        self._scatter_lanes(place, steps, rows)
        with self.moves.marks.beside(place) as marks:
            if marks:
                self._scatter_lanes(marks, steps, [Val(32, ONES)] * len(rows))

    def _scatter_lanes(self, place: str, steps: Sequence[int], rows: list[Val]) -> None:
        ir = self.ir
        if self.packed:
            for n, row in enumerate(rows):
                for lane, step in enumerate(steps):
                    word = "-1"
                    if row.ref != ONES:
                        word = ir.op(f"extractelement {LANES32} {row.ref}, i64 {lane}")
                    ir.put("i32", word, place, step + 4 * n, 4)
            return
        for n, row in enumerate(rows):
            for half in range(2):
                mask = f"<{HALF} x i1> splat (i1 true)"
                if self.cursor.exec != FULL:
                    lanes = f"<32 x i1> {self.values.mask_lanes(self.cursor.exec)}"
                    mask = ir.op(f"shufflevector {lanes}, <32 x i1> poison, {self._indices(half)}")
                    mask = f"<{HALF} x i1> {mask}"
                where = self._places(place, [step + 4 * n for step in steps], half)
                ir.line(
                    f"call void @llvm.masked.scatter.v{HALF}i32.v{HALF}p0({LANES16} "
                    f"{self.moves.half_of(row.ref, half)}, {where}, {mask})"
                )

    def _places(self, place: str, steps: Sequence[int], half: int = 0) -> str:
        """16 pointers at constant distances, as an operand with its type."""
        numbers = ", ".join(f"i32 {step}" for step in steps[HALF * half :][:HALF])
        places = self.ir.op(f"getelementptr i8, ptr {place}, {LANES16} <{numbers}>")
        return f"<{HALF} x ptr> align 4 {places}"

    def _scattered(self, pieces: Sequence[PatternPiece], size: int) -> bool:
        """Whether the library stores faster: it takes 80 to 120 ns for words that lie 32 bytes or
        more from one another, these pieces 300, and 800 with a mask; without one, pieces of a
        single word each take 40."""
        return len(pieces) > _MOST_PIECES and (
            self.cursor.exec != FULL or len(pieces) < 32 * size // 4
        )

    def _found(
        self, space: str, where: AddressParts, pattern: Pattern, size: int, begin: int, end: int,
        writes: bool = False,
    ) -> tuple[str, str, str, int]:  # fmt: skip
        """(Site, i1: the lanes lie as guessed and inside, "" where that is sure, a host pointer,
        bytes from there to offset 0 of the pattern).

        Args:
            begin, end: offsets in the pattern that the access touches.
            writes: it writes there.
        """
        ir = self.ir
        steps = tuple(place - pattern[0] for place in pattern)
        if space == "shared":
            region, add = self._range_of(where, steps, size, begin - pattern[0], end - pattern[0])
            return "", "" if region.sure else region.good, region.place, add - pattern[0]
        site = self.sites.entry(writes)
        same, first = self._lie(where.low, steps)
        every = self.addresses.all_lanes(same, self.addresses.same_high(where.high))
        offset = ir.op(f"add i64 {self.addresses.global_start(where, site)}, {first}")
        limit = ir.get("i64", site, 8)
        start = ir.op(f"add i64 {offset}, {begin - pattern[0]}")
        room = ir.op(f"call i64 @llvm.usub.sat.i64(i64 {limit}, i64 {end - begin - 1})")
        wrong = ir.op(f"and i64 {offset}, {size - 1}")
        aligned = ir.op(f"icmp eq i64 {wrong}, 0")
        good = ir.op(f"and i1 {ir.op(f'icmp ult i64 {start}, {room}')}, {aligned}")
        if where.add:
            # As in `_places`.
            least = ir.op(f"add i64 {first}, {min(steps)}")
            flat = ir.op(f"icmp ult i64 {least}, {FULL + 1 - max(steps) + min(steps)}")
            good = ir.op(f"and i1 {good}, {flat}")
        place = ir.op(f"getelementptr i8, ptr {ir.get('ptr', site, 16)}, i64 {offset}")
        return site, ir.op(f"and i1 {good}, {every}"), place, -pattern[0]

    def _lie(self, low: Val, steps: Pattern) -> tuple[str, str]:
        """(`<32 x i1>`: which lanes lie to lane 0 as guessed, its low word as i64)."""
        ir = self.ir
        key = f"{low.ref} {steps}", 0
        known = self.addresses.shapes.get(key)
        if known is None and self.carried.holds(low, steps):
            first = ir.op(f"extractelement {LANES32} {low.ref}, i64 0")
            known = AddressShape("", "", [ir.op(f"zext i32 {first} to i64")])
            self.addresses.shapes[key] = known
        if known is None:
            first = ir.op(f"extractelement {LANES32} {low.ref}, i64 0")
            every = self.values.spread(first, 32)
            lie = ir.op(f"sub {LANES32} {low.ref}, {every}")
            numbers = ", ".join(f"i32 {signed(step & FULL, 32)}" for step in steps)
            same = ir.op(f"icmp eq {LANES32} {lie}, <{numbers}>")
            known = AddressShape(same, "", [ir.op(f"zext i32 {first} to i64")])
            self.addresses.shapes[key] = known
        return known.regular, known.firsts[0]

    def _range_of(
        self, where: AddressParts, steps: Pattern, size: int, begin: int, end: int
    ) -> tuple[SharedRange, int]:
        """What is known of a register that points into shared memory, and the bytes from there
        to where lane 0 points.

        Args:
            begin, end: bytes from lane 0 that the access touches.
        """
        addresses = self.addresses
        add = signed(where.add & FULL, 32)
        begin, end = begin + add, end + add
        # Accesses misaligned to one another are checked separately.
        name = f"{where.low.ref} {where.add % size} {steps}"
        region = addresses.shapes.get((name, size))
        if self.cursor.exec != FULL and not (
            isinstance(region, SharedRange) and region.begin <= begin and end <= region.end
        ):
            # Kept apart: lanes disabled by a guard must not make the others' guess fail.
            name = f"{name} ?"
            region = addresses.shapes.get((name, size))
        if not isinstance(region, SharedRange):
            region = self._new_range(where, steps, size, begin, end)
            addresses.shapes[name, size] = region
        region.begin, region.end = min(region.begin, begin), max(region.end, end)
        assert region.first is not None
        assert region.room is not None
        # What begins at the register or behind it is inside where its last byte is.
        last = region.end - 1
        ahead = region.begin >= 0
        region.first.settle(last if ahead else region.begin)
        region.room.settle(0 if ahead else last - region.begin)
        return region, add

    def _new_range(
        self, where: AddressParts, steps: Pattern, size: int, begin: int, end: int
    ) -> SharedRange:
        ir = self.ir
        region = SharedRange(begin, end)
        lie, offset = self._lie(where.low, steps)
        same = self.addresses.all_lanes(lie, "")
        base = ir.get("ptr", "%rec", layout.SHARED_POINTER)
        limit = ir.get("i64", "%env", layout.SHARED_BYTES)
        start, region.first = ir.pending(f"add i64 {offset}, ")
        room, region.room = ir.pending(f"call i64 @llvm.usub.sat.i64(i64 {limit}, i64 ", ")")
        inside = ir.op(f"icmp ult i64 {start}, {room}")
        wrong = ir.op(f"add i64 {offset}, {where.add % size}")
        wrong = ir.op(f"and i64 {wrong}, {size - 1}")
        aligned = ir.op(f"icmp eq i64 {wrong}, 0")
        if self.cursor.exec == FULL:
            region.sure = True
            for good in (same, inside, aligned):
                self.exits.speculate(good)
            self.carried.note(where.low, steps)
        else:
            region.good = ir.op(f"and i1 {ir.op(f'and i1 {inside}, {aligned}')}, {same}")
        region.place = ir.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        return region

    def _part(
        self,
        place: str,
        add: int,
        part: PatternPart,
        size: int,
        signed: bool,
        known: dict[int, str],
    ) -> str:
        """16 lanes of a word; `known`: pieces that have been loaded, by offset."""

        ir = self.ir

        def piece(offset: int) -> str:
            if offset not in known:
                known[offset] = ir.get(LANES16, place, add + offset, 4)
            return known[offset]

        if part.kind == "splat":
            bits = 8 * min(size, 4)
            word = ir.get(f"i{bits}", place, add + part.offset, min(size, 4))
            if bits < 32:
                word = ir.op(f"{'sext' if signed else 'zext'} i{bits} {word} to i32")
            return self.moves.splat16(word)
        if part.kind == "line":
            if size < 4:
                return self.moves.load_line(ir.at(place, add + part.offset), size, signed)[0]
            return piece(part.offset)
        if part.kind == "gather" and self.packed:
            return self._eights(ir.at(place, add + part.offset), part.picks)
        if part.kind == "gather":
            where = self._places(ir.at(place, add + part.offset), part.picks)
            return ir.op(
                f"call {LANES16} @llvm.masked.gather.v{HALF}i32.v{HALF}p0({where}, "
                f"<{HALF} x i1> splat (i1 true), {LANES16} zeroinitializer)"
            )
        return self._picked(
            [piece(part.offset + at) for at in range(0, part.end(4) - part.offset, 64)], part.picks
        )

    def _eights(self, place: str, steps: Sequence[int]) -> str:
        """16 words at constant distances, by gathers of eight."""
        parts = []
        for first in (0, 8):
            words = ", ".join(f"i32 {step // 4}" for step in steps[first : first + 8])
            parts.append(gather_eight(self.ir, place, f"<{words}>", "splat (i32 -1)"))
        order = ", ".join(f"i32 {n}" for n in range(HALF))
        return self.ir.op(
            f"shufflevector {EIGHT} {parts[0]}, {EIGHT} {parts[1]}, <{HALF} x i32> <{order}>"
        )

    def _picked(self, pieces: list[str], picks: tuple[int, ...]) -> str:
        """Select words from up to four vectors."""
        if len(pieces) > 2:
            low = self._picked(pieces[:2], tuple(n if n < 2 * HALF else 0 for n in picks))
            high = tuple(n - 2 * HALF if n >= 2 * HALF else 0 for n in picks)
            parts = [low, self._picked(pieces[2:], high)]
            picks = tuple(lane + HALF * (n >= 2 * HALF) for lane, n in enumerate(picks))
            pieces = parts
        one, two = pieces[0], pieces[1] if len(pieces) > 1 else "poison"
        order = ", ".join(f"i32 {n}" for n in picks)
        return self.ir.op(
            f"shufflevector {LANES16} {one}, {LANES16} {two}, <{HALF} x i32> <{order}>"
        )

    def _store_words(self, place: str, piece: PatternPiece, rows: list[Val], own: bool) -> None:
        """Store one piece, or the words of it that are written; `own`: as of `Moves.put_chosen`."""
        chosen = self._chosen(piece)
        self._store_lanes(place, piece, chosen, rows, own)
        with self.moves.marks.beside(place) as marks:
            if marks:
                self._store_lanes(marks, piece, chosen, [Val(32, ONES)] * len(rows), own)

    def _chosen(self, piece: PatternPiece) -> str:
        """Which words of a piece are written, `<16 x i1>` without its type; "" for all."""
        among = tuple(word is not None for word in piece.words)
        if self.cursor.exec == FULL:
            return "" if all(among) else f"<{', '.join(f'i1 {int(one)}' for one in among)}>"
        first, *more = sorted({half for _, half in piece.sources})
        # Lanes of each half come from an operand of their own; any do where nothing is written.
        picks = _picks(
            HALF * first if word is None else word[1] + 2 * HALF * (word[1] // HALF != first)
            for word in piece.words
        )
        return self.moves.chosen_half(picks, bool(more), among)

    def _store_lanes(
        self, place: str, piece: PatternPiece, chosen: str, rows: list[Val], own: bool
    ) -> None:
        value = self._gathered(piece, rows)
        if chosen:
            self.moves.put_chosen(place, value, chosen, own)
        else:
            self.ir.put(LANES16, value, place, 0, 4)

    def _gathered(self, piece: PatternPiece, rows: list[Val]) -> str:
        """The words of a piece, of at most two halves of rows, in one statement: 16 of the lanes of
        each operand are looked at."""
        sources = piece.sources
        refs = [rows[n].ref for n, _ in sources]
        if all(ref == ONES for ref in refs):
            return ONES
        picks = _picks(
            "poison" if word is None else word[1] + 2 * HALF * _place(sources, word)
            for word in piece.words
        )
        second = refs[1] if len(refs) > 1 else "poison"
        return self.ir.op(f"shufflevector {LANES32} {refs[0]}, {LANES32} {second}, {picks}")

    @staticmethod
    def _indices(half: int) -> str:
        numbers = ", ".join(f"i32 {HALF * half + n}" for n in range(HALF))
        return f"<{HALF} x i32> <{numbers}>"


def _picks(lanes: Iterable[int | str]) -> str:
    """Shuffle mask of 16 indices."""
    return f"<{HALF} x i32> <{', '.join(f'i32 {lane}' for lane in lanes)}>"


def _place(sources: list[tuple[int, int]], word: tuple[int, int]) -> int:
    return sources.index((word[0], word[1] // HALF))
