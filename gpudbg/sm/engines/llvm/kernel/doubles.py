"""DADD, DMUL, DFMA and f16 results to nearest in place, where the host has AVX-512.

The compiler library treats the NaN an operation returns (policy `nan`) as unspecified: it exchanges
operands, makes a subtraction of an addition of `-x` (whose NaN then keeps its sign), leaves out a
product with 1, and folds constants to NaNs of another sign than the host's.  So operands pass an
arithmetic fence, behind which it knows nothing of them; what is left, their order, is put right by
one instruction for each operand but the first.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import F64, Floats, Outlining, places
from gpudbg.sm.engines.llvm.ir.values import Num

DIRECTIONS = {"RM": 9, "RP": 10, "RZ": 11}
"""Rounding of one AVX-512 instruction -> its number, without exceptions."""
PART = "<8 x double>"
_QUIETED = 0x22
"""VFIXUPIMMPD table: quiet a quiet (low digit) or signalling NaN, else change nothing."""


class Doubles:
    """Double precision, in place where the host has AVX-512, else by the run-time library."""

    def __init__(self, ir: Builder, floats: Floats, runtime: Outlining) -> None:
        self.ir, self.floats, self.runtime = ir, floats, runtime

    def dadd(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        if rnd != "RN" or not self.floats.wide_vectors:
            return self.runtime.outlined(f"dadd.{rnd}", (a, b))
        return self._ordered("fadd", a, b)

    def dmul(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        if rnd != "RN" or not self.floats.wide_vectors:
            return self.runtime.outlined(f"dmul.{rnd}", (a, b))
        return self._ordered("fmul", a, b)

    def dfma(self, a: Num, b: Num, c: Num, rnd: str = "RN") -> Num:
        if rnd != "RN" or not self.floats.wide_vectors:
            return self.runtime.outlined(f"dfma.{rnd}", (a, b, c))
        return self._ordered("fma", a, b, c)

    def _ordered(self, what: str, *operands: Num) -> Num:
        """Emit an operation on 8 lanes at a time; the first NaN of b, c, a is returned."""
        given = [self.floats.f64(v) for v in operands]
        parts = []
        for first in range(0, 32, 8):
            some = [self._fenced(self.eighth(value, first)) for value in given]
            parts.append(self._result(what, some))
        return self.floats.bits64(self.united("double", parts))

    def united(self, kind: str, parts: list[str]) -> str:
        """Join vectors of 8 lanes."""
        for lanes in (8, 16):
            typed, order = f"<{lanes} x {kind}>", places(0, 2 * lanes)
            parts = [
                self.ir.op(f"shufflevector {typed} {a}, {typed} {b}, {order}")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
        return parts[0]

    def eighth(self, value: str, first: int) -> str:
        return self.ir.op(f"shufflevector {F64} {value}, {F64} poison, {places(first, 8)}")

    def _fenced(self, value: str) -> str:
        """Pass a value through an arithmetic fence, which hides its origin from the compiler
        library.
        """
        return self.ir.op(f"call {PART} @llvm.arithmetic.fence.v8f64({PART} {value})")

    def _result(self, what: str, some: list[str]) -> str:
        if what == "fma":
            listed = ", ".join(f"{PART} {value}" for value in some)
            result = self.ir.op(f"call {PART} @llvm.fma.v8f64({listed})")
        else:
            result = self.ir.op(f"{what} {PART} {', '.join(some)}")
        # Of several NaNs that of b takes precedence, then that of c.
        for value in reversed(some[1:]):
            listed = f"{PART} {result}, {PART} {value}, <8 x i64> splat (i64 {_QUIETED})"
            how = f"@llvm.x86.avx512.mask.fixupimm.pd.512({listed}, i32 0, i8 -1, i32 4)"
            result = self.ir.op(f"call {PART} {how}")
        return result
