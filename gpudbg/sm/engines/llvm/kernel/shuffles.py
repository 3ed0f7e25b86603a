"""Lane exchange: each lane reads the value of another one."""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, Num, Val, Values
from gpudbg.sm.engines.llvm.kernel.registers import Registers
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls


class Shuffles:
    """`lane_read` of the machine interface.

    Attributes:
        wide_vectors: the host has AVX-512.
    """

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        registers: Registers,
        runtime: RuntimeCalls,
        wide_vectors: bool,
    ) -> None:
        self.ir, self.values, self.ints = ir, values, ints
        self.registers, self.runtime = registers, runtime
        self.wide_vectors = wide_vectors

    def lane_read(self, a: Num, lane: Num) -> Num:
        """For each lane the value of another one, which may be one that does not execute."""
        a = self.registers.every_lane(a)
        runtime = self.runtime
        if self.values.uniform(a):
            return a
        if isinstance(lane, int) or self.values.uniform(lane):
            number = self.values.scalar(lane, 32)
            if isinstance(lane, int):
                number = str(lane & 31)
            else:
                number = self.ir.op(f"and i32 {number}, 31")
            what = f"extractelement {self.values.whole(a, 32)}, i32 {number}"
            return Val(32, self.ir.op(what), UNIFORM)
        known = None if isinstance(lane, int) else lane.numbers
        if known is not None:
            picks = ", ".join(f"i32 {n & 31}" for n in known)
            whole = self.values.whole(a, 32)
            what = f"shufflevector {whole}, <32 x i32> poison, <32 x i32> <{picks}>"
            return Val(32, self.ir.op(what))
        if self.wide_vectors:
            return self._permuted(a, lane)
        source, index = runtime.row_of(a, 32), runtime.row_of(lane, 32)
        result = runtime.new_row()
        target = runtime.function("shuffle")
        self.ir.line(f"call void {target}(ptr {source}, ptr {index}, ptr {result})")
        return Val(32, self.ir.get("<32 x i32>", result, 0, 64))

    def _permuted(self, a: Num, lane: Num) -> Val:
        """`lane_read` where one instruction picks 16 words out of 32 by the low bits of numbers."""
        kind, all_, numbers = "<16 x i32>", self.values.whole(a, 32), self.values.whole(lane, 32)
        first, last = (
            "<" + ", ".join(f"i32 {n}" for n in range(start, start + 16)) + ">" for start in (0, 16)
        )

        def half(of: str, which: str) -> str:
            return self.ir.op(f"shufflevector {of}, <32 x i32> poison, <16 x i32> {which}")

        low, high = half(all_, first), half(all_, last)
        parts = [
            self.ir.op(
                f"call {kind} @llvm.x86.avx512.vpermi2var.d.512("
                f"{kind} {low}, {kind} {half(numbers, which)}, {kind} {high})"
            )
            for which in (first, last)
        ]
        both = "<32 x i32> <" + ", ".join(f"i32 {n}" for n in range(32)) + ">"
        return Val(32, self.ir.op(f"shufflevector {kind} {parts[0]}, {kind} {parts[1]}, {both}"))
