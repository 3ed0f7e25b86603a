"""Shared memory with guessed patterns of lanes (`patterns`): vectors, shuffled where need be.

Whether a register's lanes lie as guessed, and all that the block does with it is inside shared
memory, is found once in a block.  Where it is not so the guess was wrong, and there will be other
code (`Left.GUESS`).  Under a guard each access decides, since lanes that do not execute may point
anywhere, and what is not as guessed goes to the library.  Lanes with gaps between them in global
memory (fields of structures) are done alike, with a check for each access.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.addresses import LANES16, LANES32, Shape, Where
from gpudbg.sm.engines.llvm.inplace import InPlaceOps
from gpudbg.sm.engines.llvm.lanes import FULL, Num, Val
from gpudbg.sm.engines.llvm.patterns import (
    HALF,
    Part,
    Pattern,
    Piece,
    load_parts,
    store_pieces,
)
from gpudbg.sm.engines.llvm.text import LIKELY, signed, splat


class Region(Shape):
    """A register whose lanes point into shared memory in a pattern.

    Attributes:
        good: i1: they do, and all accesses so far are inside.
        sure: the code goes on only if it is so.
        place: host pointer of what lane 0 points to.
        begin, end: bytes from there that accesses so far touch.
        begin_at, room_at: lines where these numbers are written.
    """

    __slots__ = ("begin", "begin_at", "end", "good", "place", "room_at", "sure")

    def __init__(self, begin: int, end: int) -> None:
        super().__init__("", "", [])
        self.begin, self.end = begin, end
        self.begin_at = self.room_at = 0
        self.good = self.place = ""
        self.sure = False


class SharedOps(InPlaceOps):
    """Overrides `load` and `store`, and `atomic` for shared memory.

    Attributes:
        patterns: address of an instruction to its pattern.
    """

    patterns: dict[int, Pattern]

    def pc(self) -> int:
        raise NotImplementedError

    def guess(self, good: str) -> None:
        """Leave for better code, from the last point, unless an i1 holds."""
        raise NotImplementedError

    def load(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num]:
        if space == "shared" and isinstance(address, int) and self.exec == FULL:
            return self._load_constant(address, size, signed)
        pattern = self.patterns.get(self.pc()) if space in self._SPACES else None
        words = None if pattern is None else load_parts(pattern, size)
        if pattern is None or words is None or isinstance(address, int) or address.one:
            return super().load(space, address, size, signed)
        parts = [part for word in words for part in word]
        if space == "global" and all(part.kind != "pick" for part in parts):
            return super().load(space, address, size, signed)
        where = self._parts(space, address)
        mask = self.mask_bits(self.exec)
        ends = min(p.offset for p in parts), max(p.end(size) for p in parts)
        site, good, place, add = self._found(space, where, pattern, size, *ends)
        if not good:
            quick = self._quick(words, place, add, size, signed)
            return [Val(32, word) for word in quick]
        fast, slow, none, done = (self.fresh(hint) for hint in ("fast", "slow", "none", "done"))
        self.choose(good, fast, slow, LIKELY)
        self.label(fast)
        quick = self._quick(words, place, add, size, signed)
        quick_end = self._end(done)
        self.label(slow)
        self._nobody(mask, none)
        late = self._slow_load(space, site, where, size, signed, mask)
        late_end = self._end(done)
        self.label(none)
        self.br(done)
        self.label(done)
        zero = "zeroinitializer"
        return [
            Val(
                32,
                self.op(
                    f"phi {LANES32} [ {a}, %{quick_end} ], [ {b.ref}, %{late_end} ], "
                    f"[ {zero}, %{none} ]"
                ),
            )
            for a, b in zip(quick, late, strict=True)
        ]

    def _quick(
        self,
        words: tuple[tuple[Part, Part], ...],
        place: str,
        add: int,
        size: int,
        signed: bool,
    ) -> list[str]:
        """What a load finds where the guess is right."""
        known: dict[int, str] = {}
        return [
            self._both(*(self._part(place, add, part, size, signed, known) for part in word))
            for word in words
        ]

    def _load_constant(self, address: int, size: int, signed: bool) -> Sequence[Num]:
        """A load of all lanes from an address in the instruction."""
        address &= FULL
        if address % size:
            return super().load("shared", address, size, signed)
        region = self._shapes.get(("", 0))
        if not isinstance(region, Region):
            region = self._shapes["", 0] = Region(0, 0)
            region.place = self.get("ptr", "%rec", layout.SHARED_POINTER)
            limit = self.get("i64", "%env", layout.SHARED_BYTES)
            region.room_at = len(self.lines)
            self.require(self.op(f"icmp uge i64 {limit}, 0"))
        region.end = max(region.end, address + size)
        self._write(region.room_at, region.end)
        words = self._load_words(self.at(region.place, address), size, signed)
        return [Val(32, word, True) for word in words]

    def store(self, space: str, address: Num, size: int, values: Sequence[Num]) -> None:
        pattern = self.patterns.get(self.pc()) if space in self._SPACES else None
        pieces = None if pattern is None else store_pieces(pattern, size)
        if pattern is None or pieces is None or isinstance(address, int) or address.one:
            super().store(space, address, size, values)
            return
        if space == "global" and all(None not in piece.words for piece in pieces):
            super().store(space, address, size, values)
            return
        where, mask, rows = self._to_store(space, address, values)
        ends = min(pattern), max(pattern) + size
        site, good, place, add = self._found(space, where, pattern, size, *ends, writes=True)
        if not good:
            for piece in pieces:
                self._store_words(self.at(place, add + piece.offset), piece, rows)
            return
        fast, slow, done = self.fresh("fast"), self.fresh("slow"), self.fresh("done")
        self.choose(good, fast, slow, LIKELY)
        self.label(fast)
        for piece in pieces:
            self._store_words(self.at(place, add + piece.offset), piece, rows)
        self.br(done)
        self.label(slow)
        self._nobody(mask, done)
        tail = "".join(f", ptr {self.row_of(row, 32)}" for row in rows)
        self._library(f"store.{space}.{size}", space, site, where, mask, tail)
        self.br(done)
        self.label(done)

    def atomic(self, space: str, op: str, type_: str, address: Num, operands: Sequence[Num]) -> Num:
        plain = space == "shared" and op == "ADD" and type_ in ("U32", "S32")
        if not plain or self.wants_old or self.exec != FULL:
            return super().atomic(space, op, type_, address, operands)
        if isinstance(address, int) or address.one:
            return super().atomic(space, op, type_, address, operands)
        where = self._parts(space, address)
        fast, slow, done = self.fresh("fast"), self.fresh("slow"), self.fresh("done")
        mask, data = self.mask_bits(self.exec), operands[0]
        number = self.scalar(data, 32) if self.uniform(data) else ""
        row = "" if number else self.row_of(data, 32)
        whole = self.op(f"add {LANES32} {where.low.ref}, {splat('i32', signed(where.add, 32))}")
        self.choose(self._all_inside(whole), fast, slow, LIKELY)
        self.label(fast)
        base = self.get("ptr", "%rec", layout.SHARED_POINTER)
        places = self.row_of(Val(32, whole), 32)
        # Two lanes at a time: what was just stored comes back slowly by single words.
        for lane in range(0, 32, 2):
            offsets = self._two_words(places, lane)
            given = self._two_words(row, lane) if row else ()
            for n, offset in enumerate(offsets):
                cell = self.at(base, offset)
                add = self.op(f"trunc i64 {given[n]} to i32") if given else number
                self.put("i32", self.op(f"add i32 {self.get('i32', cell)}, {add}"), cell)
        self.br(done)
        self.label(slow)
        tail = f", ptr {row or self.row_of(data, 32)}"
        self._library(f"sum.shared.{type_}", space, "", where, mask, tail)
        self.br(done)
        self.label(done)
        return 0

    def _two_words(self, row: str, lane: int) -> tuple[str, str]:
        """Words of a row, of a lane and the next one, as i64."""
        both = self.get("i64", row, 4 * lane, 8)
        return self.op(f"and i64 {both}, {FULL}"), self.op(f"lshr i64 {both}, 32")

    def _all_inside(self, places: str) -> str:
        """i1: all lanes point to aligned words of shared memory."""
        # Turned right by the bits that must be 0, an offset is huge unless they are.
        pair = f"{LANES32} {places}, {LANES32} {places}, {LANES32} {splat('i32', 2)}"
        turned = self.op(f"call {LANES32} @llvm.fshr.v32i32({pair})")
        limit = self.get("i64", "%env", layout.SHARED_BYTES)
        room = self.op(f"trunc i64 {self.op(f'lshr i64 {limit}, 2')} to i32")
        return self._every(self.op(f"icmp ult {LANES32} {turned}, {self.spread(room, 32)}"), "")

    def _nobody(self, mask: str, target: str) -> None:
        """Go to a label if no lane executes."""
        if self.exec != FULL:
            self.unless(self.op(f"icmp eq i32 {mask}, 0"), target)

    # ---- addresses -----------------------------------------------------------------------

    def _found(
        self, space: str, where: Where, pattern: Pattern, size: int, begin: int, end: int,
        writes: bool = False,
    ) -> tuple[str, str, str, int]:  # fmt: skip
        """(Site, i1: the lanes lie as guessed and inside, "" where that is sure, a host pointer,
        bytes from there to offset 0 of the pattern).

        Args:
            begin, end: offsets in the pattern that the access touches.
            writes: it writes there.
        """
        steps = tuple(place - pattern[0] for place in pattern)
        if space == "shared":
            region, add = self._region(where, steps, size, begin - pattern[0], end - pattern[0])
            return "", "" if region.sure else region.good, region.place, add - pattern[0]
        site = self._site(writes)
        same, first = self._lie(where.low, steps)
        every = self._every(same, self._same_high(where.high))
        offset = self.op(f"add i64 {self._global_start(where, site)}, {first}")
        limit = self.get("i64", site, 8)
        start = self.op(f"add i64 {offset}, {begin - pattern[0]}")
        room = self.op(f"call i64 @llvm.usub.sat.i64(i64 {limit}, i64 {end - begin - 1})")
        wrong = self.op(f"and i64 {offset}, {size - 1}")
        aligned = self.op(f"icmp eq i64 {wrong}, 0")
        good = self.op(f"and i1 {self.op(f'icmp ult i64 {start}, {room}')}, {aligned}")
        if where.add:
            # As in `_places`.
            least = self.op(f"add i64 {first}, {min(steps)}")
            flat = self.op(f"icmp ult i64 {least}, {FULL + 1 - max(steps) + min(steps)}")
            good = self.op(f"and i1 {good}, {flat}")
        place = self.op(f"getelementptr i8, ptr {self.get('ptr', site, 16)}, i64 {offset}")
        return site, self.op(f"and i1 {good}, {every}"), place, -pattern[0]

    def _lie(self, low: Val, steps: Pattern) -> tuple[str, str]:
        """(`<32 x i1>`: which lanes lie to lane 0 as guessed, its low word as i64)."""
        key = f"{low.ref} {steps}", 0
        known = self._shapes.get(key)
        if known is None:
            first = self.op(f"extractelement {LANES32} {low.ref}, i64 0")
            every = self.spread(first, 32)
            lie = self.op(f"sub {LANES32} {low.ref}, {every}")
            numbers = ", ".join(f"i32 {signed(step & FULL, 32)}" for step in steps)
            same = self.op(f"icmp eq {LANES32} {lie}, <{numbers}>")
            known = Shape(same, "", [self.op(f"zext i32 {first} to i64")])
            self._shapes[key] = known
        return known.regular, known.firsts[0]

    def _region(
        self, where: Where, steps: Pattern, size: int, begin: int, end: int
    ) -> tuple[Region, int]:
        """What is known of a register that points into shared memory, and the bytes from there
        to where lane 0 points.

        Args:
            begin, end: bytes from lane 0 that the access touches.
        """
        add = signed(where.add & FULL, 32)
        begin, end = begin + add, end + add
        # Accesses that are misaligned to one another are not looked after together.
        name = f"{where.low.ref} {where.add % size} {steps}"
        region = self._shapes.get((name, size))
        if self.exec != FULL and not (
            isinstance(region, Region) and region.begin <= begin and end <= region.end
        ):
            # What a guard keeps from executing must not turn the others' guess wrong.
            name = f"{name} ?"
            region = self._shapes.get((name, size))
        if not isinstance(region, Region):
            region = self._new_region(where, steps, size, begin, end)
            self._shapes[name, size] = region
        region.begin, region.end = min(region.begin, begin), max(region.end, end)
        self._write(region.begin_at, region.begin)
        self._write(region.room_at, f"{region.end - region.begin - 1})")
        return region, add

    def _new_region(self, where: Where, steps: Pattern, size: int, begin: int, end: int) -> Region:
        region = Region(begin, end)
        lie, offset = self._lie(where.low, steps)
        same = self._every(lie, "")
        base = self.get("ptr", "%rec", layout.SHARED_POINTER)
        limit = self.get("i64", "%env", layout.SHARED_BYTES)
        region.begin_at = len(self.lines)
        start = self.op(f"add i64 {offset}, 0")
        region.room_at = len(self.lines)
        room = self.op(f"call i64 @llvm.usub.sat.i64(i64 {limit}, i64 0)")
        inside = self.op(f"icmp ult i64 {start}, {room}")
        wrong = self.op(f"add i64 {offset}, {where.add % size}")
        wrong = self.op(f"and i64 {wrong}, {size - 1}")
        aligned = self.op(f"icmp eq i64 {wrong}, 0")
        if self.exec == FULL:
            region.sure = True
            for good in (same, inside, aligned):
                self.guess(good)
        else:
            region.good = self.op(f"and i1 {self.op(f'and i1 {inside}, {aligned}')}, {same}")
        region.place = self.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        return region

    # ---- moving --------------------------------------------------------------------------

    def _part(
        self, place: str, add: int, part: Part, size: int, signed: bool, known: dict[int, str]
    ) -> str:
        """16 lanes of a word; `known`: pieces that have been loaded, by offset."""

        def piece(offset: int) -> str:
            if offset not in known:
                known[offset] = self.get(LANES16, place, add + offset, 4)
            return known[offset]

        if part.kind == "splat":
            bits = 8 * min(size, 4)
            word = self.get(f"i{bits}", place, add + part.offset, min(size, 4))
            if bits < 32:
                word = self.op(f"{'sext' if signed else 'zext'} i{bits} {word} to i32")
            return self._splat16(word)
        if part.kind == "line":
            if size < 4:
                return self._load_line(self.at(place, add + part.offset), size, signed)[0]
            return piece(part.offset)
        return self._picked(
            [piece(part.offset + at) for at in range(0, part.end(4) - part.offset, 64)], part.picks
        )

    def _picked(self, pieces: list[str], picks: tuple[int, ...]) -> str:
        """Words of up to four vectors."""
        if len(pieces) > 2:
            low = self._picked(pieces[:2], tuple(n if n < 2 * HALF else 0 for n in picks))
            high = tuple(n - 2 * HALF if n >= 2 * HALF else 0 for n in picks)
            parts = [low, self._picked(pieces[2:], high)]
            picks = tuple(lane + HALF * (n >= 2 * HALF) for lane, n in enumerate(picks))
            pieces = parts
        one, two = pieces[0], pieces[1] if len(pieces) > 1 else "poison"
        order = ", ".join(f"i32 {n}" for n in picks)
        return self.op(f"shufflevector {LANES16} {one}, {LANES16} {two}, <{HALF} x i32> <{order}>")

    def _store_words(self, place: str, piece: Piece, rows: list[Val]) -> None:
        """One piece, or the words of it that are written."""
        sources = piece.sources
        picks = ", ".join(
            f"i32 {0 if word is None else HALF * _place(sources, word) + word[1] % HALF}"
            for word in piece.words
        )
        picks = f"<{HALF} x i32> <{picks}>"
        halves = [self._half_of(rows[n].ref, half) for n, half in (*sources, sources[0])]
        value = self.op(f"shufflevector {LANES16} {halves[0]}, {LANES16} {halves[1]}, {picks}")
        whole = None not in piece.words
        if whole and self.exec == FULL:
            self.put(LANES16, value, place, 0, 4)
            return
        chosen = ", ".join(f"i1 {int(word is not None)}" for word in piece.words)
        chosen = f"<{chosen}>"
        if self.exec != FULL:
            lanes = f"<32 x i1> {self.mask_lanes(self.exec)}"
            kind = f"<{HALF} x i1>"
            parts = [
                self.op(f"shufflevector {lanes}, <32 x i1> poison, {self._indices(half)}")
                for _, half in (*sources, sources[0])
            ]
            mask = self.op(f"shufflevector {kind} {parts[0]}, {kind} {parts[1]}, {picks}")
            chosen = mask if whole else self.op(f"and {kind} {mask}, {chosen}")
        self.line(
            f"call void @llvm.masked.store.v{HALF}i32.p0({LANES16} {value}, "
            f"ptr align 4 {place}, <{HALF} x i1> {chosen})"
        )

    @staticmethod
    def _indices(half: int) -> str:
        numbers = ", ".join(f"i32 {HALF * half + n}" for n in range(HALF))
        return f"<{HALF} x i32> <{numbers}>"


def _place(sources: list[tuple[int, int]], word: tuple[int, int]) -> int:
    return sources.index((word[0], word[1] // HALF))
