"""DADD, DMUL, DFMA and f16 results to nearest in place, where the host has AVX-512.

Which NaN an operation gives (policy `nan`) the compiler takes to be open: it exchanges operands,
makes a subtraction of an addition of `-x` (whose NaN then keeps its sign), leaves out a product
with 1, and folds constants to NaNs of another sign than the host's.  So operands pass an arithmetic
fence, behind which it knows nothing of them; what is left, their order, is put right by one
instruction for each operand but the last.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm.convert import DIRECTIONS, ConvertOps
from gpudbg.sm.engines.llvm.floats import F32, F64, places
from gpudbg.sm.engines.llvm.lanes import Num

_PART = "<8 x double>"
_QUIETED = 0x22
"""VFIXUPIMMPD: of a quiet (low digit) or signalling NaN the quiet one, else nothing changes."""


class DoubleOps(ConvertOps):
    """Double precision; the emitter inherits it."""

    def dadd(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        if rnd != "RN" or not self.wide_vectors:
            return super().dadd(a, b, rnd)
        return self._ordered("fadd", a, b)

    def dmul(self, a: Num, b: Num, rnd: str = "RN") -> Num:
        if rnd != "RN" or not self.wide_vectors:
            return super().dmul(a, b, rnd)
        return self._ordered("fmul", a, b)

    def dfma(self, a: Num, b: Num, c: Num, rnd: str = "RN") -> Num:
        if rnd != "RN" or not self.wide_vectors:
            return super().dfma(a, b, c, rnd)
        return self._ordered("fma", a, b, c)

    def _ordered(self, what: str, *operands: Num) -> Num:
        """An operation, 8 lanes at a time; the first NaN of the operands goes on."""
        given = [self.f64(v) for v in operands]
        parts = []
        for first in range(0, 32, 8):
            some = [self._fenced(self._eighth(value, first)) for value in given]
            parts.append(self._result(what, some))
        return self.bits64(self._united("double", parts))

    def f64_to_f16(self, a: Num, rnd: str) -> Num:
        """By way of an f32 that is rounded to odd, which makes the second rounding right."""
        exact = isinstance(a, int) or a.thin is not None
        if rnd != "RN" or exact or not self.wide_vectors:
            return super().f64_to_f16(a, rnd)
        value = self.f64(a)
        parts = []
        for first in range(0, 32, 8):
            part = f"{_PART} {self._eighth(value, first)}, <8 x float> poison"
            how = f"@llvm.x86.avx512.mask.cvtpd2ps.512({part}, i8 -1, i32 {DIRECTIONS['RZ']})"
            parts.append(self.op(f"call <8 x float> {how}"))
        cut = self._united("float", parts)
        back = self.op(f"fpext {F32} {cut} to {F64}")
        bits = self.bits32(cut)
        odd = self.select(self.test("une", F64, back, value), self.or_(bits, 1), bits)
        return self.f32_to_f16(self.f32(odd))

    def _united(self, kind: str, parts: list[str]) -> str:
        """Vectors of 8 lanes as one."""
        for lanes in (8, 16):
            typed, order = f"<{lanes} x {kind}>", places(0, 2 * lanes)
            parts = [
                self.op(f"shufflevector {typed} {a}, {typed} {b}, {order}")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
        return parts[0]

    def _eighth(self, value: str, first: int) -> str:
        return self.op(f"shufflevector {F64} {value}, {F64} poison, {places(first, 8)}")

    def _fenced(self, value: str) -> str:
        """A value of which the compiler knows neither where it comes from nor what it is."""
        return self.op(f"call {_PART} @llvm.arithmetic.fence.v8f64({_PART} {value})")

    def _result(self, what: str, some: list[str]) -> str:
        if what == "fma":
            listed = ", ".join(f"{_PART} {value}" for value in some)
            result = self.op(f"call {_PART} @llvm.fma.v8f64({listed})")
        else:
            result = self.op(f"{what} {_PART} {', '.join(some)}")
        for value in reversed(some[:-1]):
            listed = f"{_PART} {result}, {_PART} {value}, <8 x i64> splat (i64 {_QUIETED})"
            how = f"@llvm.x86.avx512.mask.fixupimm.pd.512({listed}, i32 0, i8 -1, i32 4)"
            result = self.op(f"call {_PART} {how}")
        return result
