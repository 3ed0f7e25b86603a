"""Loads and stores with regular addresses, done in place.

16 lanes next to each other in memory are one vector access, and 16 lanes at one address one scalar
load; a warp whose lanes are all at one local address has it as one row.  What is not so, or not
inside its memory, goes to the library, which checks lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.lanes import FULL, Num, Val
from gpudbg.sm.engines.llvm.memory import MemoryOps

HALF = 16
LANES16 = f"<{HALF} x i32>"


def _range(first: int, step: int = 1) -> str:
    """Indices of 16 elements, as a shuffle mask."""
    numbers = ", ".join(f"i32 {first + step * n}" for n in range(HALF))
    return f"<{HALF} x i32> <{numbers}>"


class Piece:
    """16 lanes of an access: what was found about their addresses.

    Attributes:
        regular, single: i1: in bounds and next to each other; at one address.
        pointer: of the first lane's bytes.
    """

    __slots__ = ("pointer", "regular", "single")

    def __init__(self, regular: str, single: str, pointer: str) -> None:
        self.regular = regular
        self.single = single
        self.pointer = pointer


class InPlaceOps(MemoryOps):
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
        low, high, add = self._parts(space, address)
        self.mask_bits(self.exec)
        slow, done = self.fresh("slow"), self.fresh("done")
        site = self._site() if space == "global" else ""
        halves = []
        for half in range(2):
            piece = self._piece(space, site, (low, high, add), size, half)
            halves.append(self._load_piece(piece, size, signed, slow))
        fast = [self._both(a, b) for a, b in zip(*halves, strict=True)]
        quick = self.fresh("quick")
        self.br(quick)
        self.label(quick)
        self.br(done)
        self.label(slow)
        words = self._slow_load(space, site, (low, high, add), size, signed)
        late = self.fresh("late")
        self.br(late)
        self.label(late)
        self.br(done)
        self.label(done)
        return [
            Val(32, self.op(f"phi <32 x i32> [ {f}, %{quick} ], [ {s.ref}, %{late} ]"))
            for f, s in zip(fast, words, strict=True)
        ]

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
        low, high, add = self._parts(space, address)
        self.mask_bits(self.exec)
        if self.exec != FULL:
            self.mask_lanes(self.exec)
        data = [self.bare(v, 32) for v in values]
        rows = [
            Val(32, d, row=v.row if isinstance(v, Val) else -1)
            for d, v in zip(data, values, strict=True)
        ]
        slow, done = self.fresh("slow"), self.fresh("done")
        site = self._site() if space == "global" else ""
        pieces = [self._piece(space, site, (low, high, add), size, half) for half in range(2)]
        both = self.op(f"and i1 {pieces[0].regular}, {pieces[1].regular}")
        fast = self.fresh("fast")
        self.choose(both, fast, slow)
        self.label(fast)
        for half, piece in enumerate(pieces):
            self._store_piece(piece, data, half)
        self.br(done)
        self.label(slow)
        tail = "".join(f", ptr {self.row_of(row, 32)}" for row in rows)
        self._library(f"store.{space}.{size}", space, site, (low, high, add), tail)
        self.br(done)
        self.label(done)

    # ---- addresses -----------------------------------------------------------------------

    def _parts(self, space: str, address: Val) -> tuple[Val, Val | int, int]:
        """(low words, high words, constant) of an address, as lanes."""
        if space == "shared":
            return Val(32, self.bare(address, 32), row=address.row), 0, 0
        if address.pair is None:
            low, high, add = self.lo(address), self.hi(address), 0
        else:
            low, high, add = address.pair
        row = low.row if isinstance(low, Val) else -1
        whole = Val(32, self.bare(low, 32), row=row)
        if isinstance(high, Val):
            high = Val(32, self.bare(high, 32), row=high.row)
        return whole, high, add

    def _half_of(self, ref: str, half: int) -> str:
        kind = "<32 x i32>"
        return self.op(f"shufflevector {kind} {ref}, {kind} poison, {_range(HALF * half)}")

    def _splat16(self, scalar: str) -> str:
        first = self.op(f"insertelement {LANES16} poison, i32 {scalar}, i64 0")
        return self.op(
            f"shufflevector {LANES16} {first}, {LANES16} poison, <{HALF} x i32> zeroinitializer"
        )

    def _all(self, compare: str) -> str:
        """Whether a compare of 16 lanes holds in all."""
        bits = self.op(f"bitcast <{HALF} x i1> {compare} to i{HALF}")
        return self.op(f"icmp eq i{HALF} {bits}, -1")

    def _piece(
        self, space: str, site: str, where: tuple[Val, Val | int, int], size: int, half: int
    ) -> Piece:
        """Look at the addresses of 16 lanes."""
        low, high, add = where
        first = self.op(f"extractelement <32 x i32> {low.ref}, i64 {HALF * half}")
        part = self._half_of(low.ref, half)
        steps = self.op(f"sub {LANES16} {part}, {self._splat16(first)}")
        line = ", ".join(f"i32 {size * n}" for n in range(HALF))
        regular = self._all(self.op(f"icmp eq {LANES16} {steps}, <{line}>"))
        single = self._all(self.op(f"icmp eq {LANES16} {steps}, zeroinitializer"))
        offset = self.op(f"zext i32 {first} to i64")
        if space == "shared":
            base = self.get("ptr", "%rec", layout.SHARED_POINTER)
            limit = self.get("i64", "%env", layout.SHARED_BYTES)
        else:
            base, limit = self.get("ptr", site, 16), self.get("i64", site, 8)
            # The low words of 16 lanes must not wrap.
            fits = self.op(f"icmp ule i32 {first}, {-(HALF * size)}")
            regular = self.op(f"and i1 {regular}, {fits}")
            offset, same = self._global_offset(offset, high, add, site, half)
            if same:
                regular = self.op(f"and i1 {regular}, {same}")
                single = self.op(f"and i1 {single}, {same}")
        aligned = "true"
        if size > 1:
            odd = self.op(f"and i64 {offset}, {size - 1}")
            aligned = self.op(f"icmp eq i64 {odd}, 0")
        left = self.op(f"sub i64 {limit}, {offset}")
        # Unsigned offsets beyond the end make `left` negative; sizes are far below 2**63.
        inside = self.op(f"icmp ule i64 {offset}, {limit}")
        aligned = self.op(f"and i1 {aligned}, {inside}")
        for_all = self.op(f"icmp sge i64 {left}, {HALF * size}")
        for_one = self.op(f"icmp sge i64 {left}, {size}")
        return Piece(
            self.op(f"and i1 {regular}, {self.op(f'and i1 {for_all}, {aligned}')}"),
            self.op(f"and i1 {single}, {self.op(f'and i1 {for_one}, {aligned}')}"),
            self.at(base, offset),
        )

    def _global_offset(
        self, low: str, high: Val | int, add: int, site: str, half: int
    ) -> tuple[str, str]:
        """(offset of the first lane in the site's allocation, i1: one high word)."""
        same, whole = "", low
        if isinstance(high, Val):
            top = self.op(f"extractelement <32 x i32> {high.ref}, i64 {HALF * half}")
            part = self._half_of(high.ref, half)
            same = self._all(self.op(f"icmp eq {LANES16} {part}, {self._splat16(top)}"))
            up = self.op(f"shl i64 {self.op(f'zext i32 {top} to i64')}, 32")
            whole = self.op(f"or i64 {up}, {low}")
        elif high:
            whole = self.op(f"or i64 {low}, {high << 32}")
        if add:
            whole = self.op(f"add i64 {whole}, {add}")
        return self.op(f"sub i64 {whole}, {self.get('i64', site)}"), same

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
        place = self.at(base, offset)
        kind = f"i{8 * min(size, 4)}"
        values: list[Num] = []
        for n in range(max(1, size // 4)):
            value = self.get(kind, place, 4 * n, min(size, 4))
            if size < 4:
                value = self.op(f"{'sext' if signed else 'zext'} {kind} {value} to i32")
            values.append(Val(32, value, True))
        return values

    def _resolved(self, site: str, address: str, size: int) -> str:
        """The offset of an address in its allocation; the site is filled if it was another's."""
        known, ask, after = self.fresh("known"), self.fresh("ask"), self.fresh("after")
        offset = self.op(f"sub i64 {address}, {self.get('i64', site)}")
        room = self.op(f"sub i64 {self.get('i64', site, 8)}, {size}")
        inside = self.op(f"icmp sle i64 {offset}, {room}")
        good = self.op(f"and i1 {inside}, {self.op(f'icmp sge i64 {offset}, 0')}")
        self.br(known)
        self.label(known)
        self.choose(good, after, ask)
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

    def _load_piece(self, piece: Piece, size: int, signed: bool, slow: str) -> list[str]:
        """16 lanes of each word."""
        line, other, one, join = (self.fresh(h) for h in ("line", "other", "one", "join"))
        self.choose(piece.regular, line, other)
        self.label(line)
        regular = self._load_line(piece.pointer, size, signed)
        self.br(join)
        self.label(other)
        self.choose(piece.single, one, slow)
        self.label(one)
        single = []
        for n in range(max(1, size // 4)):
            kind = f"i{8 * min(size, 4)}"
            value = self.get(kind, piece.pointer, 4 * n, min(size, 4))
            if size < 4:
                value = self.op(f"{'sext' if signed else 'zext'} {kind} {value} to i32")
            single.append(self._splat16(value))
        self.br(join)
        self.label(join)
        return [
            self.op(f"phi {LANES16} [ {a}, %{line} ], [ {b}, %{one} ]")
            for a, b in zip(regular, single, strict=True)
        ]

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

    def _store_piece(self, piece: Piece, data: list[str], half: int) -> None:
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
                f"ptr align 4 {piece.pointer}, <{HALF} x i1> {chosen})"
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
        self.put(kind, value, piece.pointer, 0, 4)

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
            self.unless(self.op(f"icmp ne i32 {here}, 0"), slow)
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
        self.unless(bad, slow)
        offset = self.op(f"shl i64 {place}, 5")
        return self.at(self.get("ptr", "%rec", layout.LOCAL_POINTER), offset)

    def _load_row(self, address: Val, size: int) -> Sequence[Num]:
        self.mask_bits(self.exec)
        slow, done, quick, late = (self.fresh(h) for h in ("slow", "done", "quick", "late"))
        row = self._row(address, size, slow)
        fast = [self.get("<32 x i32>", row, 128 * n, 4) for n in range(size // 4)]
        self.br(quick)
        self.label(quick)
        self.br(done)
        self.label(slow)
        words = self._slow_load("local", "", (address, 0, 0), size, False)
        self.br(late)
        self.label(late)
        self.br(done)
        self.label(done)
        return [
            Val(32, self.op(f"phi <32 x i32> [ {f}, %{quick} ], [ {s.ref}, %{late} ]"))
            for f, s in zip(fast, words, strict=True)
        ]

    def _store_row(self, address: Val, size: int, values: Sequence[Num]) -> None:
        self.mask_bits(self.exec)
        lanes = self.mask_lanes(self.exec)
        data = [self.bare(v, 32) for v in values]
        slow, done = self.fresh("slow"), self.fresh("done")
        row = self._row(address, size, slow)
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
        self._library(f"store.local.{size}", "local", "", (address, 0, 0), tail)
        self.br(done)
        self.label(done)

    # ---- the library ---------------------------------------------------------------------

    def _slow_load(
        self, space: str, site: str, where: tuple[Val, Val | int, int], size: int, signed: bool
    ) -> list[Val]:
        out = self.new_row()
        if size > 8:
            self.new_row()
        name = f"load.{space}.{size}{'s' if signed else ''}"
        self._library(name, space, site, where, f", ptr {out}")
        return [word for word in self._words(out, size) if isinstance(word, Val)]

    def _library(
        self, name: str, space: str, site: str, where: tuple[Val, Val | int, int], tail: str
    ) -> None:
        """Call an access function on prepared addresses."""
        low, high, add = where
        rows = f"ptr {self.row_of(low, 32)}"
        if space == "global":
            rows += f", ptr {self.row_of(high, 32)}"
        good = self.op(
            f"call i1 {self.function(name)}(ptr %env, ptr %rec, ptr {site or 'null'}, {rows}, "
            f"i64 {add}, i32 {self.mask_bits(self.exec)}{tail})"
        )
        self.require(good)
