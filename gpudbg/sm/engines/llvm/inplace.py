"""Loads and stores with regular addresses, done in place.

Lanes next to each other in memory, 16 or 32, are one vector access, and lanes at one address one
scalar load; a warp whose lanes are all at one local address has it as one row.  What is not so, or
not inside its memory, goes to the library, which checks lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.addresses import HALF, LANES16, LANES32, AddressOps, Where
from gpudbg.sm.engines.llvm.lanes import FULL, Num, Val
from gpudbg.sm.engines.llvm.text import LIKELY, UNLIKELY

_STEPS_AHEAD = 3
"""Of memory that is fetched before it is wanted, as a power of two."""


def _range(first: int, step: int = 1) -> str:
    """Indices of 16 elements, as a shuffle mask."""
    numbers = ", ".join(f"i32 {first + step * n}" for n in range(HALF))
    return f"<{HALF} x i32> <{numbers}>"


class InPlaceOps(AddressOps):
    """Overrides `load` and `store` of the library."""

    _SPACES = frozenset(("global", "shared"))

    def load(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num]:
        if space in self._SPACES and self.uniform(address):
            return self._load_single(space, address, size, signed)
        if isinstance(address, int):
            return super().load(space, address, size, signed)
        if space == "local" and size >= 4:
            return self._load_row(address, size)
        if space not in self._SPACES:
            return super().load(space, address, size, signed)
        where = self._parts(space, address)
        mask = self.mask_bits(self.exec)
        slow, done, line, other, one = (
            self.fresh(hint) for hint in ("slow", "done", "line", "other", "one")
        )
        ways: list[tuple[list[str], str]] = []
        near = self._near(where, size) if space == "global" else None
        if near is not None:
            far = self._is_near(near)
            halves = [self._load_line(place, size, signed) for place in self._from(near, where)]
            ways.append(([self._both(a, b) for a, b in zip(*halves, strict=True)], self._end(done)))
            self.label(far)
        site = self._site() if space == "global" else ""
        shape, same = self._shape(where.low, size), self._same_high(where.high)
        self.choose(self._every(shape.regular, same), line, other)
        self.label(line)
        places = self._places(space, site, where, shape, size, self.run, slow)
        begun = None
        if space == "global":
            self._fetch_ahead(site, places, size)
            begun = None if near else self._look_around(site, where, places, size)
        halves = [self._load_line(place, size, signed) for place in places]
        regular = [self._both(a, b) for a, b in zip(*halves, strict=True)]
        ways.append((regular, self._end(done)))
        self.label(other)
        self.choose(self._every(shape.single, same), one, slow, LIKELY)
        self.label(one)
        places = self._places(space, site, where, shape, size, 1, slow)
        single = self._load_splat(places, size, signed)
        ways.append((single, self._end(done)))
        self.label(slow)
        words = self._slow_load(space, site, where, size, signed, mask)
        ways.append(([word.ref for word in words], self._end(done)))
        self.label(done)
        found = [
            Val(
                32, self.op(f"phi {LANES32} " + ", ".join(f"[ {a[n]}, %{end} ]" for a, end in ways))
            )
            for n in range(len(words))
        ]
        if begun is not None:
            self._meet(where, size, begun, [end for _, end in ways])
        return found

    def _end(self, target: str) -> str:
        """Go to a label from a block with a name, which is returned for phis."""
        name = self.fresh("end")
        self.br(name)
        self.label(name)
        self.br(target)
        return name

    def store(self, space: str, address: Num, size: int, values: Sequence[Num]) -> None:
        if isinstance(address, int) or size < 4:
            super().store(space, address, size, values)
            return
        if space == "local":
            self._store_row(address, size, values)
            return
        if space not in self._SPACES or (size > 4 and self.exec != FULL):
            super().store(space, address, size, values)
            return
        where, mask, rows = self._to_store(space, address, values)
        data = [row.ref for row in rows]
        slow, done, fast = self.fresh("slow"), self.fresh("done"), self.fresh("fast")
        near = self._near(where, size) if space == "global" else None
        if near is not None:
            self.writes.add(near.site)
            self.before_stores.add(near.pc)
            far = self._is_near(near)
            for half, place in enumerate(self._from(near, where)):
                self._store_piece(place, data, half)
            self.br(done)
            self.label(far)
        site = self._site(writes=True) if space == "global" else ""
        shape, same = self._shape(where.low, size), self._same_high(where.high)
        self.choose(self._every(shape.regular, same), fast, slow, LIKELY)
        self.label(fast)
        places = self._places(space, site, where, shape, size, self.run, slow)
        for half, place in enumerate(places):
            self._store_piece(place, data, half)
        self.br(done)
        self.label(slow)
        tail = "".join(f", ptr {self.row_of(row, 32)}" for row in rows)
        self._library(f"store.{space}.{size}", space, site, where, mask, tail)
        self.br(done)
        self.label(done)

    def _to_store(
        self, space: str, address: Val, values: Sequence[Num]
    ) -> tuple[Where, str, list[Val]]:
        """Address, bits of the mask and lanes of the words, named for all ways of a store."""
        where, mask = self._parts(space, address), self.mask_bits(self.exec)
        if self.exec != FULL:
            self.mask_lanes(self.exec)
        rows = [Val(32, self.bare(v, 32), row=v.row if isinstance(v, Val) else -1) for v in values]
        return where, mask, rows

    def _fetch_ahead(self, site: str, places: list[str], size: int) -> None:
        """Ask the host for what this access will want in some steps, if they go on as they did,
        and for what it wants in the next warp: a warp's accesses lie too far apart for the host
        to see the pattern."""
        now = self.op(f"ptrtoint ptr {places[0]} to i64")
        step = self.op(f"sub i64 {now}, {self.get('i64', site, layout.SITE_LAST)}")
        self.put("i64", now, site, layout.SITE_LAST)
        # The step from another warp's access to this one comes once, not twice.
        same = self.op(f"icmp eq i64 {step}, {self.get('i64', site, layout.SITE_STEP)}")
        self.put("i64", step, site, layout.SITE_STEP)
        known = self.get("i64", site, layout.SITE_STRIDE)
        stride = self.op(f"select i1 {same}, i64 {step}, i64 {known}")
        self.put("i64", stride, site, layout.SITE_STRIDE)
        ahead = self.op(f"shl i64 {stride}, {_STEPS_AHEAD}")
        # Less than a line from here to the next warp is often there already.
        steps = [ahead, str(32 * size)] if size >= 4 else [ahead]
        for step in steps:
            for place in places:
                goal = self.op(f"getelementptr i8, ptr {place}, i64 {step}")
                self.line(f"call void @llvm.prefetch.p0(ptr {goal}, i32 0, i32 3, i32 1)")

    def _half_of(self, ref: str, half: int) -> str:
        kind = "<32 x i32>"
        return self.op(f"shufflevector {kind} {ref}, {kind} poison, {_range(HALF * half)}")

    def _splat16(self, scalar: str) -> str:
        first = self.op(f"insertelement {LANES16} poison, i32 {scalar}, i64 0")
        return self.op(
            f"shufflevector {LANES16} {first}, {LANES16} poison, <{HALF} x i32> zeroinitializer"
        )

    # ---- moving --------------------------------------------------------------------------

    def _load_single(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num]:
        """A load of all lanes from one address: scalars."""
        bits = 32 if space == "shared" else 64
        self.mask_bits(self.exec)
        offset = self.scalar(address, bits)
        if bits == 32:
            offset = self.op(f"zext i32 {offset} to i64")
            base = self.get("ptr", "%rec", layout.SHARED_POINTER)
            limit = self.get("i64", "%env", layout.SHARED_BYTES)
        else:
            site = self._site()
            offset = self._resolved(site, offset, size)
            base, limit = self.get("ptr", site, 16), self.get("i64", site, 8)
        last = self.op(f"sub i64 {limit}, {size}")
        inside = self.op(f"icmp sle i64 {offset}, {last}")
        positive = self.op(f"icmp sge i64 {offset}, 0")
        odd = self.op(f"icmp eq i64 {self.op(f'and i64 {offset}, {size - 1}')}, 0")
        good = self.op(f"and i1 {odd}, {self.op(f'and i1 {inside}, {positive}')}")
        # Without executing lanes nothing is wrong, but the step engine has the least to do then.
        self.require(good)
        words = self._load_words(self.at(base, offset), size, signed)
        return [Val(32, word, True) for word in words]

    def const_load(self, bank: Num, offset: Num, size: int, signed: bool) -> Sequence[Num]:
        """In place where all lanes have one offset, as they nearly always do."""
        known = isinstance(bank, int) and self.banks.get(bank, 0) >= size
        if not known or not isinstance(offset, Val) or offset.one or not isinstance(bank, int):
            return super().const_load(bank, offset, size, signed)
        low = Val(32, self.bare(offset, 32), row=offset.row)
        mask = self.mask_bits(self.exec)
        first = self.op(f"extractelement {LANES32} {low.ref}, i64 0")
        same = self.op(f"icmp eq {LANES32} {low.ref}, {self.spread(first, 32)}")
        turn = size.bit_length() - 1
        turned = self.op(f"call i32 @llvm.fshr.i32(i32 {first}, i32 {first}, i32 {turn})")
        inside = self.op(f"icmp ule i32 {turned}, {(self.banks[bank] - size) >> turn}")
        one, slow, done = self.fresh("one"), self.fresh("slow"), self.fresh("done")
        self.choose(self.op(f"and i1 {inside}, {self._every(same, '')}"), one, slow, LIKELY)
        self.label(one)
        place = self.at(self.bank(bank), self.op(f"zext i32 {first} to i64"))
        single = [self.spread(word, 32) for word in self._load_words(place, size, signed)]
        one_end = self._end(done)
        self.label(slow)
        words = self._const_words(bank, low, size, signed, mask)
        late_end = self._end(done)
        self.label(done)
        return [
            Val(
                32,
                self.op(f"phi {LANES32} [ {a}, %{one_end} ], [ {self.bare(b, 32)}, %{late_end} ]"),
            )
            for a, b in zip(single, words, strict=True)
        ]

    def _load_splat(self, places: list[str], size: int, signed: bool) -> list[str]:
        """All lanes of each word, from one place for each 16 lanes."""
        halves = [
            [self._splat16(word) for word in self._load_words(place, size, signed)]
            for place in dict.fromkeys(places)
        ]
        return [self._both(a, b) for a, b in zip(halves[0], halves[-1], strict=True)]

    def _load_words(self, place: str, size: int, signed: bool) -> list[str]:
        """The words of one lane."""
        kind = f"i{8 * min(size, 4)}"
        words = []
        for n in range(max(1, size // 4)):
            value = self.get(kind, place, 4 * n, min(size, 4))
            if size < 4:
                value = self.op(f"{'sext' if signed else 'zext'} {kind} {value} to i32")
            words.append(value)
        return words

    def _resolved(self, site: str, address: str, size: int) -> str:
        """The offset of an address in its allocation; the site is filled if it was another's."""
        known, ask, after = self.fresh("known"), self.fresh("ask"), self.fresh("after")
        offset = self.op(f"sub i64 {address}, {self.get('i64', site)}")
        room = self.op(f"sub i64 {self.get('i64', site, 8)}, {size}")
        inside = self.op(f"icmp sle i64 {offset}, {room}")
        good = self.op(f"and i1 {inside}, {self.op(f'icmp sge i64 {offset}, 0')}")
        self.br(known)
        self.label(known)
        self.choose(good, after, ask, LIKELY)
        self.label(ask)
        resolve = self.function("resolve")
        found = self.op(f"call i1 {resolve}(ptr %env, ptr {site}, i64 {address})")
        self.require(found)
        late = self.fresh("late")
        self.br(late)
        self.label(late)
        again = self.op(f"sub i64 {address}, {self.get('i64', site)}")
        self.br(after)
        self.label(after)
        return self.op(f"phi i64 [ {offset}, %{known} ], [ {again}, %{late} ]")

    def _load_line(self, pointer: str, size: int, signed: bool) -> list[str]:
        if size < 4:
            kind = f"<{HALF} x i{8 * size}>"
            value = self.get(kind, pointer, 0, size)
            return [self.op(f"{'sext' if signed else 'zext'} {kind} {value} to {LANES16}")]
        count = size // 4
        if count == 1:
            return [self.get(LANES16, pointer, 0, 4)]
        kind = f"<{HALF * count} x i32>"
        value = self.get(kind, pointer, 0, 4)
        return [
            self.op(f"shufflevector {kind} {value}, {kind} poison, {_range(n, count)}")
            for n in range(count)
        ]

    def _both(self, a: str, b: str) -> str:
        indices = ", ".join(f"i32 {n}" for n in range(32))
        return self.op(f"shufflevector {LANES16} {a}, {LANES16} {b}, <32 x i32> <{indices}>")

    def _store_piece(self, place: str, data: list[str], half: int) -> None:
        """16 lanes of each word next to each other."""
        parts = [self._half_of(d, half) for d in data]
        count = len(parts)
        if count == 1 and self.exec != FULL:
            lanes = self.mask_lanes(self.exec)
            chosen = self.op(
                f"shufflevector <32 x i1> {lanes}, <32 x i1> poison, {_range(HALF * half)}"
            )
            self.line(
                f"call void @llvm.masked.store.v16i32.p0({LANES16} {parts[0]}, "
                f"ptr align 4 {place}, <{HALF} x i1> {chosen})"
            )
            return
        kind, value = LANES16, parts[0]
        width = HALF
        while len(parts) > 1:
            # Pairs n and n + half the count, so that words end up interleaved.
            middle = len(parts) // 2
            order = ", ".join(f"i32 {k + width * p}" for k in range(width) for p in range(2))
            joined = f"<{2 * width} x i32>"
            parts = [
                self.op(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{order}>")
                for a, b in zip(parts[:middle], parts[middle:], strict=True)
            ]
            kind, width, value = joined, 2 * width, parts[0]
        self.put(kind, value, place, 0, 4)

    # ---- local memory ----------------------------------------------------------------------

    def _row(self, address: Val, size: int, slow: str) -> str:
        """The row of a local address that is the same in the executing lanes."""
        if address.one:
            first = address.ref
        else:
            lanes = self.mask_bits(self.exec)
            if self.exec == FULL:
                first = self.op(f"extractelement <32 x i32> {address.ref}, i64 0")
            else:
                lane = self.op(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 false)")
                lane = self.op(f"and i32 {lane}, 31")
                first = self.op(f"extractelement <32 x i32> {address.ref}, i32 {lane}")
            kind = f"<32 x i32> {address.ref}"
            same = self.op(f"icmp ne {kind}, {self.spread(first, 32)}")
            wrong = self.op(f"bitcast <32 x i1> {same} to i32")
            here = self.op(f"and i32 {wrong}, {lanes}")
            self.unless(self.op(f"icmp ne i32 {here}, 0"), slow, UNLIKELY)
        start = self.get("i64", "%env", layout.LOCAL_START)
        low = self.get("i64", "%env", layout.LOCAL_LOW)
        size_all = self.get("i64", "%env", layout.LOCAL_BYTES)
        moved = self.op(f"sub i64 {self.op(f'zext i32 {first} to i64')}, {start}")
        place = self.op(f"add i64 {moved}, {low}")
        # An address of the low range is negative here, or too large: the library takes it.
        left = self.op(f"sub i64 {size_all}, {place}")
        below = self.op(f"icmp slt i64 {moved}, 0")
        short = self.op(f"icmp slt i64 {left}, {size}")
        odd = self.op(f"icmp ne i64 {self.op(f'and i64 {place}, {size - 1}')}, 0")
        bad = self.op(f"or i1 {below}, {self.op(f'or i1 {short}, {odd}')}")
        self.unless(bad, slow, UNLIKELY)
        offset = self.op(f"shl i64 {place}, 5")
        return self.at(self.get("ptr", "%rec", layout.LOCAL_POINTER), offset)

    def _load_row(self, address: Val, size: int) -> Sequence[Num]:
        mask = self.mask_bits(self.exec)
        slow, done, quick, late = (self.fresh(h) for h in ("slow", "done", "quick", "late"))
        row = self._row(address, size, slow)
        fast = [self.get("<32 x i32>", row, 128 * n, 4) for n in range(size // 4)]
        self.br(quick)
        self.label(quick)
        self.br(done)
        self.label(slow)
        words = self._slow_load("local", "", Where(address, 0, 0), size, False, mask)
        self.br(late)
        self.label(late)
        self.br(done)
        self.label(done)
        return [
            Val(32, self.op(f"phi <32 x i32> [ {f}, %{quick} ], [ {s.ref}, %{late} ]"))
            for f, s in zip(fast, words, strict=True)
        ]

    def _store_row(self, address: Val, size: int, values: Sequence[Num]) -> None:
        mask = self.mask_bits(self.exec)
        lanes = self.mask_lanes(self.exec)
        data = [self.bare(v, 32) for v in values]
        slow, done = self.fresh("slow"), self.fresh("done")
        row = self._row(address, size, slow)
        self.put("i64", 0, "%rec", layout.LOCAL_CLEAR)
        for n, value in enumerate(data):
            place = self.at(row, 128 * n)
            if self.exec != FULL:
                old = self.get("<32 x i32>", place, 0, 4)
                kind = "<32 x i32>"
                value = self.op(f"select <32 x i1> {lanes}, {kind} {value}, {kind} {old}")
            self.put("<32 x i32>", value, place, 0, 4)
        self.br(done)
        self.label(slow)
        tail = "".join(f", ptr {self.row_of(Val(32, d), 32)}" for d in data)
        self._library(f"store.local.{size}", "local", "", Where(address, 0, 0), mask, tail)
        self.br(done)
        self.label(done)

    # ---- the library ---------------------------------------------------------------------

    def _slow_load(
        self, space: str, site: str, where: Where, size: int, signed: bool, mask: str
    ) -> list[Val]:
        out = self.new_row()
        if size > 8:
            self.new_row()
        name = f"load.{space}.{size}{'s' if signed else ''}"
        self._library(name, space, site, where, mask, f", ptr {out}")
        return [word for word in self._words(out, size) if isinstance(word, Val)]

    def _library(
        self, name: str, space: str, site: str, where: Where, mask: str, tail: str
    ) -> None:
        """Call an access function on prepared addresses."""
        rows = f"ptr {self.row_of(where.low, 32)}"
        if space == "global":
            rows += f", ptr {self.row_of(where.high, 32)}"
        good = self.op(
            f"call i1 {self.function(name)}(ptr %env, ptr %rec, ptr {site or 'null'}, {rows}, "
            f"i64 {where.add}, i32 {mask}{tail})"
        )
        self.require(good)
