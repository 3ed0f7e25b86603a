"""MUFU.RCP and MUFU.RSQ in place: without division, and mostly without a call."""

from __future__ import annotations

from collections.abc import Callable

from gpudbg.sm.engines.llvm.floats import (
    F32,
    F64,
    I32,
    INF32,
    MIN_NORMAL,
    NAN32,
    SIGN32,
    FloatOps,
    number,
)
from gpudbg.sm.engines.llvm.lanes import Mask, Num, Val
from gpudbg.sm.engines.llvm.text import LIKELY

_MIDDLE = 1 << 28
"""Of the bits of a double that an f32 does not have: a result there lies between two f32."""
_NEAR = 1 << 12
"""Distance to it, in the double's last places, that Newton's steps do not decide."""
_RCP_GUESS = 0x7EF311C7
_RSQ_GUESS = 0x5F3759DF
"""Minus the bits of x, or half of them: bits near those of 1/x and 1/sqrt(x) (well known)."""


class ReciprocalOps(FloatOps):
    """Newton steps to about 44 bits, which give the same f32 as the library's way unless the
    result lies next to the middle between two.

    Attributes:
        exec: mask of the executing lanes.
        wide_vectors: the host has AVX-512.
    """

    exec: Mask
    wide_vectors: bool

    def mufu(self, function: str, a: Num) -> Num:
        """By the library where an operand or the result is not normal, or the steps do not do."""
        if function not in ("RCP", "RSQ") or self.uniform(a):
            return super().mufu(function, a)
        self.mask_bits(self.exec)
        sign = self.and_(a, SIGN32)
        size = self.and_(a, NAN32) if function == "RCP" else a
        beyond = 0x7E000000 if function == "RCP" else INF32
        odd = self.mnot(self.ult(self.sub(size, MIN_NORMAL), beyond - MIN_NORMAL))
        steps = self._steps_to_rcp if function == "RCP" else self._steps_to_rsq
        result = steps(size)
        low = self.lo(self.bits64(result))
        near = self.and_(self.add(low, _NEAR - _MIDDLE), 2 * _MIDDLE - 1)
        odd = self.mor(odd, self.ult(near, 2 * _NEAR))
        narrow = self.op(f"fptrunc {F64} {result} to {F32}")
        quick = self.or_(self.bits32(narrow), sign)
        return self._unless_any(odd, quick, lambda: super(ReciprocalOps, self).mufu(function, a))

    def _unless_any(self, odd: Mask, quick: Num, other: Callable[[], Num]) -> Num:
        """A value, or if any executing lane is odd another one."""
        long, late, done = (self.fresh(hint) for hint in ("long", "late", "done"))
        quick_name = self.bare(quick, 32)
        bits = self.mask_bits(self.mand(odd, self.exec))
        first = self.fresh("quick")
        self.br(first)
        self.label(first)
        self.choose(self.op(f"icmp eq i32 {bits}, 0"), done, long, LIKELY)
        self.label(long)
        other_name = self.bare(other(), 32)
        self.br(late)
        self.label(late)
        self.br(done)
        self.label(done)
        return Val(32, self.op(f"phi {I32} [ {quick_name}, %{first} ], [ {other_name}, %{late} ]"))

    def _guess(self, what: str, size: Num, bits: Num) -> tuple[str, int]:
        """(1/x or 1/sqrt(x) to some bits, steps to 22 bits from there); the final result does not
        depend on which guess the host has."""
        if not self.wide_vectors:
            return self.f32(bits), 3
        x, kind = self.f32(size), "<16 x float>"
        parts = []
        for half in range(2):
            lanes = ", ".join(f"i32 {16 * half + n}" for n in range(16))
            part = self.op(f"shufflevector {F32} {x}, {F32} poison, <16 x i32> <{lanes}>")
            call = f"call {kind} @llvm.x86.avx512.{what}14.ps.512({kind} {part}"
            parts.append(self.op(f"{call}, {kind} zeroinitializer, i16 -1)"))
        lanes = ", ".join(f"i32 {n}" for n in range(32))
        both = f"{kind} {parts[0]}, {kind} {parts[1]}, <32 x i32> <{lanes}>"
        return self.op(f"shufflevector {both}"), 1

    def _fused(self, what: str, kind: str, a: str, b: str) -> str:
        """An operation that may be fused with another one: only where the last bit is free."""
        return self.op(f"{what} contract {kind} {a}, {b}")

    def _steps_to_rcp(self, size: Num) -> str:
        """y += y * (1 - x y)."""
        x = self.f32(size)
        y, steps = self._guess("rcp", size, self.sub(_RCP_GUESS, size))
        for _ in range(steps):
            product = self._fused("fmul", F32, x, y)
            y = self._fused("fmul", F32, y, self._fused("fsub", F32, "splat (float 2.0)", product))
        last = self.op(f"fpext {F32} {y} to {F64}")
        product = self._fused("fmul", F64, self.wider(size), last)
        rest = self._fused("fsub", F64, number(1.0), product)
        return self._fused("fadd", F64, last, self._fused("fmul", F64, last, rest))

    def _steps_to_rsq(self, size: Num) -> str:
        """y += y / 2 * (1 - x y y)."""
        y, steps = self._guess("rsqrt", size, self.sub(_RSQ_GUESS, self.shr(size, 1)))
        half = self.op(f"fmul {F32} {self.f32(size)}, splat (float 0.5)")
        for _ in range(steps):
            square = self._fused("fmul", F32, self._fused("fmul", F32, half, y), y)
            y = self._fused("fmul", F32, y, self._fused("fsub", F32, "splat (float 1.5)", square))
        last = self.op(f"fpext {F32} {y} to {F64}")
        product = self._fused("fmul", F64, self.wider(size), last)
        rest = self._fused("fsub", F64, number(1.0), self._fused("fmul", F64, product, last))
        part = self._fused("fmul", F64, last, number(0.5))
        return self._fused("fadd", F64, last, self._fused("fmul", F64, part, rest))
