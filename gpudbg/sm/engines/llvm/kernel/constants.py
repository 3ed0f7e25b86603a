"""Constant banks: words of instructions, and LDC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, Num, Slow, Val, Values, varying
from gpudbg.sm.engines.llvm.kernel.addresses import LANES32, Addresses
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.moves import Moves
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls


class Constants:
    """Reads of constant banks.

    Attributes:
        banks: bytes of each bank.
    """

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        cursor: Cursor,
        exits: Exits,
        runtime: RuntimeCalls,
        addresses: Addresses,
        moves: Moves,
        banks: Mapping[int, int],
    ) -> None:
        self.ir, self.values, self.ints, self.cursor = ir, values, ints, cursor
        self.exits, self.runtime, self.addresses = exits, runtime, addresses
        self.moves, self.banks = moves, banks

    def bank(self, number: int) -> str:
        """The host pointer of a constant bank."""
        return "%bank" if number == 0 else self.ir.get("ptr", "%env", layout.BANKS + 16 * number)

    def const(self, bank: int, offset: int) -> Num:
        if offset % 4 or not 0 <= offset <= self.banks.get(bank, 0) - 4:
            raise Slow("a constant outside its bank")
        made = Val(32, self.ir.get("i32", self.bank(bank), offset), UNIFORM)
        self.ints.note_constant(made, (bank, offset))
        return made

    def const_pair(self, bank: int, offset: int) -> Num:
        if offset & 7:
            raise Slow("64 bits of a constant bank that are not aligned")
        return self.ints.wide(self.const(bank, offset), self.const(bank, offset + 4))

    def const_load(self, bank: Num, offset: Num, size: int, signed: bool) -> Sequence[Num]:
        """Emit LDC: in place where all lanes have one offset, the usual case."""
        ir, values = self.ir, self.values
        known = isinstance(bank, int) and self.banks.get(bank, 0) >= size
        if known and isinstance(bank, int) and values.uniform(offset):
            return self._scalar(bank, offset, size, signed)
        if not (known and isinstance(bank, int) and varying(offset)):
            return self._anywhere(bank, offset, size, signed)
        low = Val(32, values.bare(offset, 32), row=offset.row)
        mask = values.mask_bits(self.cursor.exec)
        first = ir.op(f"extractelement {LANES32} {low.ref}, i64 0")
        same = ir.op(f"icmp eq {LANES32} {low.ref}, {values.spread(first, 32)}")
        turn = size.bit_length() - 1
        turned = ir.op(f"call i32 @llvm.fshr.i32(i32 {first}, i32 {first}, i32 {turn})")
        inside = ir.op(f"icmp ule i32 {turned}, {(self.banks[bank] - size) >> turn}")
        one, slow, done = ir.fresh("one"), ir.fresh("slow"), ir.fresh("done")
        ir.choose(
            ir.op(f"and i1 {inside}, {self.addresses.all_lanes(same, '')}"), one, slow, LIKELY
        )
        ir.label(one)
        place = ir.at(self.bank(bank), ir.op(f"zext i32 {first} to i64"))
        single = [values.spread(word, 32) for word in self.moves.load_words(place, size, signed)]
        one_end = ir.end_block(done)
        ir.label(slow)
        words = self._const_words(bank, low, size, signed, mask)
        late_end = ir.end_block(done)
        ir.label(done)
        return [
            Val(
                32,
                ir.op(f"phi {LANES32} [ {a}, %{one_end} ], [ {values.bare(b, 32)}, %{late_end} ]"),
            )
            for a, b in zip(single, words, strict=True)
        ]

    def _scalar(self, bank: int, offset: Num, size: int, signed: bool) -> Sequence[Num]:
        """Emit a read at a scalar offset."""
        ir, turn = self.ir, size.bit_length() - 1
        first = self.values.scalar(offset, 32)
        turned = ir.op(f"call i32 @llvm.fshr.i32(i32 {first}, i32 {first}, i32 {turn})")
        inside = ir.op(f"icmp ule i32 {turned}, {(self.banks[bank] - size) >> turn}")
        self.exits.bail_unless(inside)
        place = ir.at(self.bank(bank), ir.op(f"zext i32 {first} to i64"))
        return [Val(32, word, UNIFORM) for word in self.moves.load_words(place, size, signed)]

    def _anywhere(self, bank: Num, offset: Num, size: int, signed: bool) -> list[Num]:
        """Emit a library call with a bank and offset for each lane."""
        if not isinstance(bank, int) or bank not in self.banks:
            raise Slow("a bank that is computed")
        mask = self.values.mask_bits(self.cursor.exec)
        return self._const_words(bank, offset, size, signed, mask)

    def _const_words(self, bank: int, offset: Num, size: int, signed: bool, mask: str) -> list[Num]:
        """Emit a library call for one bank."""
        runtime = self.runtime
        space = f"const.{size}{'s' if signed else ''}"
        place = runtime.row_of(offset, 32)
        out = [runtime.new_row() for _ in range(1 if size <= 8 else 2)]
        pair = self.ir.at("%env", layout.BANKS + 16 * bank)
        good = self.ir.op(
            f"call i1 {runtime.function(f'load.{space}')}(ptr {pair}, ptr {place}, "
            f"i32 {mask}, ptr {out[0]})"
        )
        self.exits.bail_unless(good)
        return runtime.words(out[0], size)
