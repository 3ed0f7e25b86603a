"""Loads, stores, atomics, constants and lane exchange of the machine interface as LLVM IR.

Every access calls a library function with pointers to rows of addresses and data: rows of the
warp record where a value is a register as it stands, else scratch rows.  It returns whether all
executing lanes were good; if not, nothing has happened and the step engine takes over.  Accesses
of four bytes with regular addresses are done in place first.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.floats import OUTLINED
from gpudbg.sm.engines.llvm.lanes import FULL, Mask, Num, Slow, Val
from gpudbg.sm.engines.llvm.reciprocal import ReciprocalOps
from gpudbg.sm.record import HEADER_BYTES, ROW_BYTES


class MemoryOps(ReciprocalOps):
    """Memory operations; the emitter inherits them.

    Attributes:
        exec: mask of the executing lanes.
        banks: bytes of the constant banks.
        first_site: cache entries before those of this code.
        writes: cache entries of accesses that write, or find places for one that does.
        before_stores: addresses of the loads that find places for a store.
        wants_old: the present instruction has a use for what an atomic finds.
    """

    exec: Mask
    banks: dict[int, int]
    first_site: int
    _sites: dict[int, int]
    """Address of an instruction to the number of its entry, from `first_site`: every copy of a
    block has the same ones, so that there are no more than instructions."""
    writes: set[int]
    before_stores: set[int]
    _pc: int
    wants_old: bool
    _scratch: int

    # ---- passing vectors -----------------------------------------------------------------

    def new_row(self) -> str:
        """A scratch row for this instruction."""
        if self._scratch >= layout.SCRATCH_ROWS:
            raise Slow("too many operands")
        offset = layout.SCRATCH + layout.ROW * self._scratch
        self._scratch += 1
        return self.at("%env", offset)

    def row_of(self, a: Num, bits: int) -> str:
        """A pointer to the lanes of a value."""
        if isinstance(a, int) and not a & (1 << bits) - 1:
            return self.at("%env", layout.ZERO)
        if isinstance(a, Val) and a.row >= 0:
            return self.at("%rec", HEADER_BYTES + ROW_BYTES * a.row)
        typed = self.whole(a, bits)
        row = self.new_row()
        self.line(f"store {typed}, ptr {row}, align 64")
        return row

    def function(self, name: str) -> str:
        """The address of a library function."""
        index = layout.FUNCTION_INDEX.get(name)
        if index is None:
            raise Slow(name)
        return self.get("ptr", "%env", layout.FUNCTIONS + 8 * index)

    def outlined(self, name: str, operands: tuple[Num, ...]) -> Val:
        row = OUTLINED.get(name)
        if row is None:
            raise Slow(name)
        kept = self._scratch
        places = [self.row_of(v, bits) for v, bits in zip(operands, row.operands, strict=True)]
        result = self.new_row()
        target = self.function(name)
        listed = ", ".join(f"ptr {place}" for place in (*places, result))
        self.line(f"call void {target}({listed})")
        value = self.op(f"load <32 x i{row.result}>, ptr {result}, align 64")
        self._scratch = kept
        return Val(row.result, value)

    def pc(self) -> int:
        """The address of the present instruction."""
        raise NotImplementedError

    def require(self, good: str) -> None:
        """Leave to the step engine unless an i1 holds."""
        raise NotImplementedError

    # ---- constants -----------------------------------------------------------------------

    def bank(self, number: int) -> str:
        """The host pointer of a constant bank."""
        return self.get("ptr", "%env", layout.BANKS + 16 * number)

    def const(self, bank: int, offset: int) -> Num:
        if offset % 4 or not 0 <= offset <= self.banks.get(bank, 0) - 4:
            raise Slow("a constant outside its bank")
        return Val(32, self.get("i32", self.bank(bank), offset), True)

    def const_pair(self, bank: int, offset: int) -> Num:
        if offset & 7:
            raise Slow("64 bits of a constant bank that are not aligned")
        return self.wide(self.const(bank, offset), self.const(bank, offset + 4))

    def const_load(self, bank: Num, offset: Num, size: int, signed: bool) -> Sequence[Num]:
        if not isinstance(bank, int) or bank not in self.banks:
            raise Slow("a bank that is computed")
        return self._const_words(bank, offset, size, signed, self.mask_bits(self.exec))

    def _const_words(self, bank: int, offset: Num, size: int, signed: bool, mask: str) -> list[Num]:
        """By the library."""
        space = f"const.{size}{'s' if signed else ''}"
        place = self.row_of(offset, 32)
        out = [self.new_row() for _ in range(1 if size <= 8 else 2)]
        pair = self.at("%env", layout.BANKS + 16 * bank)
        good = self.op(
            f"call i1 {self.function(f'load.{space}')}(ptr {pair}, ptr {place}, "
            f"i32 {mask}, ptr {out[0]})"
        )
        self.require(good)
        return self._words(out[0], size)

    def _words(self, out: str, size: int) -> list[Num]:
        """The words a load has left in scratch, 128 bytes each."""
        return [
            Val(32, self.get("<32 x i32>", out, ROW_BYTES * n, 64))
            for n in range(max(1, size // 4))
        ]

    # ---- loads and stores ------------------------------------------------------------------

    def _where(self, space: str, address: Num) -> str:
        """The address arguments of a library function: low row, high row, constant."""
        if space in ("shared", "local"):
            if isinstance(address, int):
                return f"ptr {self.at('%env', layout.ZERO)}, i64 {address & FULL}"
            return f"ptr {self.row_of(address, 32)}, i64 0"
        zero = self.at("%env", layout.ZERO)
        if isinstance(address, int):
            return f"ptr {zero}, ptr {zero}, i64 {address}"
        if address.pair is None:
            low, high, add = self.lo(address), self.hi(address), 0
        else:
            low, high, add = address.pair
        return f"ptr {self.row_of(low, 32)}, ptr {self.row_of(high, 32)}, i64 {add}"

    def site_number(self) -> int:
        """Of the cache entry of the present instruction."""
        return self.first_site + self._sites.setdefault(self.pc(), len(self._sites))

    def _site(self, writes: bool = False) -> str:
        """The cache entry of this access."""
        number = self.site_number()
        if writes:
            self.writes.add(number)
        table = self.get("ptr", "%env", layout.SITES)
        return self.at(table, layout.SITE_BYTES * number)

    def _call(self, name: str, space: str, address: Num, tail: str) -> None:
        """Call an access function and leave unless it succeeded."""
        where = self._where(space, address)
        known = space in ("global", "generic")
        site = self._site(not name.startswith("load")) if known else "null"
        mask = self.mask_bits(self.exec)
        good = self.op(
            f"call i1 {self.function(name)}(ptr %env, ptr %rec, ptr {site}, {where}, "
            f"i32 {mask}{tail})"
        )
        self.require(good)

    def load(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num]:
        """By the library."""
        out = self.new_row()
        if size > 8:
            self.new_row()
        name = f"load.{space}.{size}{'s' if signed else ''}"
        self._call(name, space, address, f", ptr {out}")
        return self._words(out, size)

    def store(self, space: str, address: Num, size: int, values: Sequence[Num]) -> None:
        """By the library."""
        data = [self.row_of(v, 32) for v in values]
        tail = "".join(f", ptr {row}" for row in data)
        self._call(f"store.{space}.{size}", space, address, tail)

    def atomic(self, space: str, op: str, type_: str, address: Num, operands: Sequence[Num]) -> Num:
        bits = layout.ATOMICS.get(f"{op}.{type_}", 0)
        rows = [self.row_of(v, bits) for v in operands]
        if space == "shared" and op == "ADD" and type_ in layout.SUMS and not self.wants_old:
            self._call(f"sum.shared.{type_}", space, address, f", ptr {rows[0]}")
            return 0
        rows += [self.at("%env", layout.ZERO)] * (2 - len(rows))
        out = self.new_row()
        tail = "".join(f", ptr {row}" for row in (*rows, out))
        self._call(f"atomic.{space}.{op}.{type_}", space, address, tail)
        return Val(bits, self.get(f"<32 x i{bits}>", out, 0, 64))

    def fence(self, block: bool) -> None:
        # The warps of a block share a host thread, to which its accesses are in order.
        if not block:
            self.line("fence seq_cst")

    def in_window(self, address: Num) -> Mask:
        window = Val(64, self.get("i64", "%env", layout.SHARED_WINDOW), True)
        return self.wult(self.wsub(address, window), 1 << 25)

    # ---- across lanes ----------------------------------------------------------------------

    def lane_read(self, a: Num, lane: Num) -> Num:
        if self.uniform(a):
            return a
        if self.wide_vectors:
            return self._permuted(a, lane)
        source, index = self.row_of(a, 32), self.row_of(lane, 32)
        result = self.new_row()
        target = self.function("shuffle")
        self.line(f"call void {target}(ptr {source}, ptr {index}, ptr {result})")
        return Val(32, self.get("<32 x i32>", result, 0, 64))

    def _permuted(self, a: Num, lane: Num) -> Val:
        """`lane_read` where one instruction picks 16 words out of 32 by the low bits of numbers."""
        kind, all_, numbers = "<16 x i32>", self.whole(a, 32), self.whole(lane, 32)
        first, last = (
            "<" + ", ".join(f"i32 {n}" for n in range(start, start + 16)) + ">" for start in (0, 16)
        )

        def half(of: str, which: str) -> str:
            return self.op(f"shufflevector {of}, <32 x i32> poison, <16 x i32> {which}")

        low, high = half(all_, first), half(all_, last)
        parts = [
            self.op(
                f"call {kind} @llvm.x86.avx512.vpermi2var.d.512("
                f"{kind} {low}, {kind} {half(numbers, which)}, {kind} {high})"
            )
            for which in (first, last)
        ]
        both = "<32 x i32> <" + ", ".join(f"i32 {n}" for n in range(32)) + ">"
        return Val(32, self.op(f"shufflevector {kind} {parts[0]}, {kind} {parts[1]}, {both}"))
