"""Loads and stores with regular addresses, done in place.

Lanes next to each other in memory, 16 or 32, are one vector access, and lanes at one address one
scalar load; a warp whose lanes are all at one local address has it as one row.  What is not so, or
not inside its memory, goes to the library, which checks lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, UNLIKELY, Builder
from gpudbg.sm.engines.llvm.ir.values import FULL, UNIFORM, Num, Val, Values
from gpudbg.sm.engines.llvm.kernel.addresses import HALF, LANES32, Addresses, AddressParts
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.moves import Moves
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
from gpudbg.sm.engines.llvm.kernel.sites import Sites
from gpudbg.sm.engines.llvm.kernel.sure_ranges import SureRange, SureRanges

_STEPS_AHEAD = 2
"""Steps ahead at which memory is prefetched in a loop, as a power of two."""
_WARPS_AHEAD = 16
"""Warps ahead at which it is otherwise."""
_BLOCKS_AHEAD = 2
"""Blocks of short rows likewise.  A block reads the first words of the one beside it, too: those
would be asked for just before they are loaded."""


class RegularAccess:
    """Loads and stores of lanes that follow one another, or are all at one address."""

    SPACES = frozenset(("global", "shared"))

    def __init__(
        self,
        ir: Builder,
        values: Values,
        cursor: Cursor,
        exits: Exits,
        runtime: RuntimeCalls,
        sites: Sites,
        addresses: Addresses,
        moves: Moves,
        library: LibraryAccess,
        ranges: SureRanges,
        repeats: Callable[[int], bool],
    ) -> None:
        """Args: repeats: whether an instruction is in a loop."""
        self.ranges = ranges
        self._repeats = repeats
        self.ir, self.values, self.cursor, self.exits = ir, values, cursor, exits
        self.runtime, self.sites, self.addresses = runtime, sites, addresses
        self.moves, self.library = moves, library

    def load(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num] | None:
        """The words of a load; None, and nothing emitted, where it is not regular."""
        ir, values, moves, addresses = self.ir, self.values, self.moves, self.addresses
        if space in self.SPACES and values.uniform(address):
            return self._load_single(space, address, size, signed)
        if isinstance(address, int):
            return None
        if space == "local" and size >= 4:
            return self._load_row(address, size)
        if space not in self.SPACES:
            return None
        where = addresses.parts(space, address)
        sure = self._in_range(where, size, False) if space == "global" else None
        if sure is not None:
            halves = [moves.load_line(place, size, signed) for place in sure]
            both = (moves.both(a, b) for a, b in zip(*halves, strict=True))
            return [Val(32, word) for word in both]
        mask = values.mask_bits(self.cursor.exec)
        slow, done, line, other, one = (
            ir.fresh(hint) for hint in ("slow", "done", "line", "other", "one")
        )
        incoming: list[tuple[list[str], str]] = []
        known = addresses.known_range(where, size) if space == "global" else None
        if known is not None:
            far = addresses.within(known)
            halves = [
                moves.load_line(place, size, signed)
                for place in addresses.places_from(known, where)
            ]
            incoming.append(
                ([moves.both(a, b) for a, b in zip(*halves, strict=True)], ir.end_block(done))
            )
            ir.label(far)
        site = self.sites.entry() if space == "global" else ""
        shape, same = addresses.lie(where, size)
        regularly = (
            addresses.all_lanes(shape.regular, same) if shape.proven != "single" else "false"
        )
        elsewhere = other if shape.proven != "regular" else slow
        ir.choose(regularly, line, elsewhere)
        ir.label(line)
        places = addresses.places(space, site, where, shape, size, addresses.run, slow)
        begun = None
        if space == "global":
            self._fetch_ahead(site, places, size)
            begun = None if known else addresses.begin_range(site, where, places, size)
        halves = [moves.load_line(place, size, signed) for place in places]
        regular = [moves.both(a, b) for a, b in zip(*halves, strict=True)]
        incoming.append((regular, ir.end_block(done)))
        if elsewhere == other:
            ir.label(other)
            ir.choose(addresses.all_lanes(shape.single, same), one, slow, LIKELY)
            ir.label(one)
            places = addresses.places(space, site, where, shape, size, 1, slow)
            single = moves.load_splat(places, size, signed)
            incoming.append((single, ir.end_block(done)))
        with ir.aside():
            ir.label(slow)
            words = self.library.load_at(space, site, where, size, signed, mask)
            incoming.append(([word.ref for word in words], ir.end_block(done)))
        ir.label(done)
        found = [
            Val(
                32,
                ir.op(f"phi {LANES32} " + ", ".join(f"[ {a[n]}, %{end} ]" for a, end in incoming)),
            )
            for n in range(len(words))
        ]
        if begun is not None:
            addresses.end_range(where, size, begun, [end for _, end in incoming])
        return found

    def store(self, space: str, address: Num, size: int, values: Sequence[Num]) -> bool:
        """Write words; False, and nothing emitted, where it is not regular."""
        ir, addresses, moves = self.ir, self.addresses, self.moves
        if isinstance(address, int) or size < 4:
            return False
        if space == "local":
            self._store_row(address, size, values)
            return True
        if space not in self.SPACES or (size > 4 and self.cursor.exec != FULL):
            return False
        where, mask, rows = self.to_store(space, address, values)
        data = [row.ref for row in rows]
        sure = self._in_range(where, size, True) if space == "global" else None
        if sure is not None:
            for half, place in enumerate(sure):
                moves.store_piece(place, data, half)
            return True
        slow, done, fast = ir.fresh("slow"), ir.fresh("done"), ir.fresh("fast")
        known = addresses.known_range(where, size) if space == "global" else None
        if known is not None:
            self.sites.writes.add(known.site)
            self.sites.before_stores.add(known.pc)
            far = addresses.within(known)
            self.moves.marks.lie(known.apart)
            for half, place in enumerate(addresses.places_from(known, where)):
                self.moves.store_piece(place, data, half)
            ir.br(done)
            ir.label(far)
        site = self.sites.entry(writes=True) if space == "global" else ""
        shape, same = addresses.lie(where, size)
        regularly = (
            addresses.all_lanes(shape.regular, same) if shape.proven != "single" else "false"
        )
        ir.choose(regularly, fast, slow, LIKELY)
        ir.label(fast)
        places = addresses.places(space, site, where, shape, size, addresses.run, slow)
        if site:
            self.moves.marks.lie(self.moves.marks.of_site(site))
        for half, place in enumerate(places):
            self.moves.store_piece(place, data, half, space == "shared")
        ir.br(done)
        with ir.aside():
            ir.label(slow)
            self.library.store_at(space, site, where, size, mask, rows)
            ir.br(done)
        ir.label(done)
        return True

    def _in_range(self, where: AddressParts, size: int, writes: bool) -> list[str] | None:
        """Host pointers of lanes 0 and 16 where a test, made by now, covers the access."""
        known = self.ranges.find(where, size, writes)
        if known is None:
            return None
        places = self.ranges.places(known, where)
        if writes:
            self.moves.marks.lie(known.apart)
        if known.pc == self.cursor.pc:
            if not self._repeats(self.cursor.pc):
                self._fetch_beside(known, places, size, writes)
            elif not writes:
                self._fetch_ahead(self.sites.entry(), places, size)
        return places

    def _fetch_beside(self, known: SureRange, places: list[str], size: int, writes: bool) -> None:
        """Ask the host for what this access will want in some warps, where they follow one another
        in memory, or in the block beside this one, where rows of threads lie apart: the host sees
        a pattern late, and none in short rows."""
        if not known.first:
            return
        run = self.addresses.run
        ahead = run * size * (_BLOCKS_AHEAD if run <= HALF else _WARPS_AHEAD)
        for place in places:
            goal = self.ir.at(place, ahead)
            self.ir.line(
                f"call void @llvm.prefetch.p0(ptr {goal}, i32 {int(writes)}, i32 3, i32 1)"
            )

    def to_store(
        self, space: str, address: Val, values: Sequence[Num]
    ) -> tuple[AddressParts, str, list[Val]]:
        """Address, bits of the mask and lanes of the words, named for all incoming of a store."""
        cursor = self.cursor
        where, mask = self.addresses.parts(space, address), self.values.mask_bits(cursor.exec)
        if cursor.exec != FULL:
            self.values.mask_lanes(cursor.exec)
        rows = [
            Val(32, self.values.bare(v, 32), row=v.row if isinstance(v, Val) else -1)
            for v in values
        ]
        return where, mask, rows

    def _fetch_ahead(self, site: str, places: list[str], size: int) -> None:
        """Ask the host for what this access will want in some steps, if they go on as they did: a
        warp's accesses lie too far apart for the host to see the pattern.  Outside of loops it
        does: blocks that follow one another begin."""
        ir = self.ir
        if not self._repeats(self.cursor.pc):
            return
        now = ir.op(f"ptrtoint ptr {places[0]} to i64")
        step = ir.op(f"sub i64 {now}, {ir.get('i64', site, layout.SITE_LAST)}")
        ir.put("i64", now, site, layout.SITE_LAST)
        # The step from another warp's access occurs once, not twice.
        same = ir.op(f"icmp eq i64 {step}, {ir.get('i64', site, layout.SITE_STEP)}")
        ir.put("i64", step, site, layout.SITE_STEP)
        known = ir.get("i64", site, layout.SITE_STRIDE)
        stride = ir.op(f"select i1 {same}, i64 {step}, i64 {known}")
        ir.put("i64", stride, site, layout.SITE_STRIDE)
        ahead = ir.op(f"shl i64 {stride}, {_STEPS_AHEAD}")
        for place in places:
            goal = ir.op(f"getelementptr i8, ptr {place}, i64 {ahead}")
            ir.line(f"call void @llvm.prefetch.p0(ptr {goal}, i32 0, i32 3, i32 1)")

    def _load_single(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num]:
        """A load of all lanes from one address: scalars."""
        ir = self.ir
        bits = 32 if space == "shared" else 64
        self.values.mask_bits(self.cursor.exec)
        offset = self.values.scalar(address, bits)
        if bits == 32:
            offset = ir.op(f"zext i32 {offset} to i64")
            base = ir.get("ptr", "%rec", layout.SHARED_POINTER)
            limit = ir.get("i64", "%env", layout.SHARED_BYTES)
        else:
            site = self.sites.entry()
            offset = self._resolved(site, offset, size)
            base, limit = ir.get("ptr", site, 16), ir.get("i64", site, 8)
        last = ir.op(f"sub i64 {limit}, {size}")
        inside = ir.op(f"icmp sle i64 {offset}, {last}")
        positive = ir.op(f"icmp sge i64 {offset}, 0")
        odd = ir.op(f"icmp eq i64 {ir.op(f'and i64 {offset}, {size - 1}')}, 0")
        good = ir.op(f"and i1 {odd}, {ir.op(f'and i1 {inside}, {positive}')}")
        # Without executing lanes this bails out as well: the step engine then has nothing to do.
        self.exits.bail_unless(good)
        words = self.moves.load_words(ir.at(base, offset), size, signed)
        return [Val(32, word, UNIFORM) for word in words]

    def _resolved(self, site: str, address: str, size: int) -> str:
        """Offset of an address in its allocation; fills the site where it holds another one."""
        ir = self.ir
        known, ask, after = ir.fresh("known"), ir.fresh("ask"), ir.fresh("after")
        offset = ir.op(f"sub i64 {address}, {ir.get('i64', site)}")
        room = ir.op(f"sub i64 {ir.get('i64', site, 8)}, {size}")
        inside = ir.op(f"icmp sle i64 {offset}, {room}")
        good = ir.op(f"and i1 {inside}, {ir.op(f'icmp sge i64 {offset}, 0')}")
        ir.br(known)
        ir.label(known)
        ir.choose(good, after, ask, LIKELY)
        ir.label(ask)
        resolve = self.runtime.function("resolve")
        found = ir.op(f"call i1 {resolve}(ptr %env, ptr {site}, i64 {address})")
        self.exits.bail_unless(found)
        late = ir.fresh("late")
        ir.br(late)
        ir.label(late)
        again = ir.op(f"sub i64 {address}, {ir.get('i64', site)}")
        ir.br(after)
        ir.label(after)
        return ir.op(f"phi i64 [ {offset}, %{known} ], [ {again}, %{late} ]")

    def _row(self, address: Val, size: int, slow: str) -> str:
        """The row of a local address that is the same in the executing lanes."""
        ir = self.ir
        if address.shape is UNIFORM:
            first = address.ref
        else:
            lanes = self.values.mask_bits(self.cursor.exec)
            if self.cursor.exec == FULL:
                first = ir.op(f"extractelement <32 x i32> {address.ref}, i64 0")
            else:
                lane = ir.op(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 false)")
                lane = ir.op(f"and i32 {lane}, 31")
                first = ir.op(f"extractelement <32 x i32> {address.ref}, i32 {lane}")
            kind = f"<32 x i32> {address.ref}"
            same = ir.op(f"icmp ne {kind}, {self.values.spread(first, 32)}")
            wrong = ir.op(f"bitcast <32 x i1> {same} to i32")
            here = ir.op(f"and i32 {wrong}, {lanes}")
            ir.unless(ir.op(f"icmp ne i32 {here}, 0"), slow, UNLIKELY)
        start = ir.get("i64", "%env", layout.LOCAL_START)
        low = ir.get("i64", "%env", layout.LOCAL_LOW)
        size_all = ir.get("i64", "%env", layout.LOCAL_BYTES)
        moved = ir.op(f"sub i64 {ir.op(f'zext i32 {first} to i64')}, {start}")
        place = ir.op(f"add i64 {moved}, {low}")
        # An address of the low range becomes negative or too large here: the library takes it.
        left = ir.op(f"sub i64 {size_all}, {place}")
        below = ir.op(f"icmp slt i64 {moved}, 0")
        short = ir.op(f"icmp slt i64 {left}, {size}")
        odd = ir.op(f"icmp ne i64 {ir.op(f'and i64 {place}, {size - 1}')}, 0")
        bad = ir.op(f"or i1 {below}, {ir.op(f'or i1 {short}, {odd}')}")
        ir.unless(bad, slow, UNLIKELY)
        offset = ir.op(f"shl i64 {place}, 5")
        return ir.at(ir.get("ptr", "%rec", layout.LOCAL_POINTER), offset)

    def _load_row(self, address: Val, size: int) -> Sequence[Num]:
        ir = self.ir
        mask = self.values.mask_bits(self.cursor.exec)
        slow, done, quick, late = (ir.fresh(h) for h in ("slow", "done", "quick", "late"))
        row = self._row(address, size, slow)
        fast = [ir.get("<32 x i32>", row, 128 * n, 4) for n in range(size // 4)]
        ir.br(quick)
        ir.label(quick)
        ir.br(done)
        ir.label(slow)
        words = self.library.load_at("local", "", AddressParts(address, 0, 0), size, False, mask)
        ir.br(late)
        ir.label(late)
        ir.br(done)
        ir.label(done)
        return [
            Val(32, ir.op(f"phi <32 x i32> [ {f}, %{quick} ], [ {s.ref}, %{late} ]"))
            for f, s in zip(fast, words, strict=True)
        ]

    def _store_row(self, address: Val, size: int, values: Sequence[Num]) -> None:
        ir = self.ir
        mask = self.values.mask_bits(self.cursor.exec)
        self.values.mask_lanes(self.cursor.exec)
        data = [self.values.bare(v, 32) for v in values]
        slow, done = ir.fresh("slow"), ir.fresh("done")
        row = self._row(address, size, slow)
        ir.put("i64", 0, "%rec", layout.LOCAL_CLEAR)
        for n, value in enumerate(data):
            self.moves.store_row(ir.at(row, 128 * n), value)
        ir.br(done)
        ir.label(slow)
        tail = "".join(f", ptr {self.runtime.row_of(Val(32, d), 32)}" for d in data)
        self.library.call_at(
            f"store.local.{size}", "local", "", AddressParts(address, 0, 0), mask, tail
        )
        ir.br(done)
        ir.label(done)
