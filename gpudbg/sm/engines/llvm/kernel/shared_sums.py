"""Atomic additions to shared memory whose result is not used, done in place."""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.bounds import bounds_of
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, Builder, signed, splat
from gpudbg.sm.engines.llvm.ir.values import FULL, Num, Val, Values, varying
from gpudbg.sm.engines.llvm.kernel.addresses import LANES32, Addresses, AddressParts
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls
from gpudbg.sm.residency import arena


class SharedSums:
    """RED.ADD to shared memory under a full mask: word by word, since the lanes of a warp, and the
    warps of a block, take turns on one host thread."""

    def __init__(
        self,
        ir: Builder,
        values: Values,
        cursor: Cursor,
        runtime: RuntimeCalls,
        addresses: Addresses,
        library: LibraryAccess,
    ) -> None:
        self.ir, self.values, self.cursor = ir, values, cursor
        self.runtime, self.addresses, self.library = runtime, addresses, library

    def add(self, space: str, op: str, type_: str, address: Num, operands: Sequence[Num]) -> bool:
        """Emit an atomic; False, and nothing emitted, where it is of another kind."""
        ir = self.ir
        plain = space == "shared" and op == "ADD" and type_ in ("U32", "S32")
        if not plain or self.cursor.wants_old or self.cursor.exec != FULL:
            return False
        if not varying(address):
            return False
        where = self.addresses.parts(space, address)
        fast, slow, done = ir.fresh("fast"), ir.fresh("slow"), ir.fresh("done")
        mask, data = self.values.mask_bits(self.cursor.exec), operands[0]
        number = self.values.scalar(data, 32) if self.values.uniform(data) else ""
        given = "" if number else self._pairs(self.values.whole(data, 32))
        whole = ir.op(f"add {LANES32} {where.low.ref}, {splat('i32', signed(where.add, 32))}")
        ir.choose(self._sure(where) or self._all_inside(whole), fast, slow, LIKELY)
        ir.label(fast)
        base = ir.get("ptr", "%rec", layout.SHARED_POINTER)
        places = self._pairs(f"{LANES32} {whole}")
        # Two lanes at a time, out of the vector: parts of a stored one are forwarded slowly.
        for pair in range(16):
            offsets = self._two_words(places, pair)
            added = self._two_words(given, pair) if given else ()
            for n, offset in enumerate(offsets):
                cell = ir.at(base, offset)
                add = ir.op(f"trunc i64 {added[n]} to i32") if added else number
                ir.put("i32", ir.op(f"add i32 {ir.get('i32', cell)}, {add}"), cell)
        if self.library.marks.wanted:
            self._mark(whole, done)
        ir.br(done)
        ir.label(slow)
        tail = f", ptr {self.runtime.row_of(data, 32)}"
        self.library.call_at(f"sum.shared.{type_}", space, "", where, mask, tail)
        ir.br(done)
        ir.label(done)
        return True

    def _mark(self, places: str, done: str) -> None:
        """Emit the marks of words at offsets (a vector), unless the whole shared memory is marked:
        most code sets what it adds to to 0 first, and a mark for each lane takes as long as its
        sum."""
        ir = self.ir
        self.library.marks.noted = True
        number = ir.get("i64", ir.get("ptr", "%rec", layout.CTA_POINTER), arena.NUMBER)
        marked, some = ir.get("i64", "%env", layout.MARKED), ir.fresh("some")
        ir.choose(ir.op(f"icmp eq i64 {marked}, {number}"), done, some, LIKELY)
        ir.label(some)
        function = self.runtime.function("mark.sums")
        row = self.runtime.row_of(Val(32, places), 32)
        ir.line(f"call void {function}(ptr %env, ptr %rec, ptr {row})")

    def _pairs(self, words: str) -> str:
        """Words as pairs of neighbours."""
        return self.ir.op(f"bitcast {words} to <16 x i64>")

    def _two_words(self, pairs: str, number: int) -> tuple[str, str]:
        """The words of a pair, as i64."""
        both = self.ir.op(f"extractelement <16 x i64> {pairs}, i64 {number}")
        return self.ir.op(f"and i64 {both}, {FULL}"), self.ir.op(f"lshr i64 {both}, 32")

    def _sure(self, where: AddressParts) -> str:
        """i1: shared memory is large enough for what the address is made of, such as a byte times
        four; "" where that may be anything."""
        most, zeros = bounds_of(self.ir.texts, where.low.ref)
        end = most + where.add + 4
        if zeros < 2 or where.add & 3 or end > FULL:
            return ""
        limit = self.ir.get("i64", "%env", layout.SHARED_BYTES)
        return self.ir.op(f"icmp uge i64 {limit}, {end}")

    def _all_inside(self, places: str) -> str:
        """i1: all lanes point to aligned words of shared memory."""
        ir = self.ir
        # Rotate right by the bits that must be 0: a misaligned offset becomes huge.
        pair = f"{LANES32} {places}, {LANES32} {places}, {LANES32} {splat('i32', 2)}"
        turned = ir.op(f"call {LANES32} @llvm.fshr.v32i32({pair})")
        limit = ir.get("i64", "%env", layout.SHARED_BYTES)
        room = ir.op(f"trunc i64 {ir.op(f'lshr i64 {limit}, 2')} to i32")
        return self.addresses.all_lanes(
            ir.op(f"icmp ult {LANES32} {turned}, {self.values.spread(room, 32)}"), ""
        )
