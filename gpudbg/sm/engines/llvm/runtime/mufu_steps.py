"""MUFU.EX2, LG2, SIN and COS in fewer steps than the definition's, with the same bits.

Values are f64 with a relative error below 2**-39 (the polynomials' own and that of fused or
separate roundings).  Rounded to f32 they are what the definition gives unless they lie near the
middle between two f32: then, and for operands that the steps do not cover, the definition's way
decides for all lanes.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.floats import (
    F32,
    F64,
    INF32,
    MIN_NORMAL,
    NAN32,
    SIGN32,
    Floats,
    number,
)
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import Mask, Num, Val, Values

_MIDDLE = 1 << 28
"""Bits of a double beyond f32: the pattern of the middle between two f32."""

_NEAR = 1 << 14
"""Distance from that middle, in last places of the double, within which the steps are undecided:
2**-38 of 1.
"""


def _numbers(*texts: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, texts))


EX2 = _numbers(
    "0x1.0000000000000p+0",
    "0x1.62e42fef84cf0p-1",
    "0x1.ebfbdff823cedp-3",
    "0x1.c6b08dd6fd234p-5",
    "0x1.3b2ab7181b755p-7",
    "0x1.5d8745a728441p-10",
    "0x1.4308ac85aa947p-13",
    "0x1.00dc4a532fb8ep-16",
    "0x1.63d136366db24p-20",
)
"""2**f for |f| <= 1/2, relative error 2**-39.7."""

LG2 = _numbers(
    "0x1.71547652b8253p+1",
    "0x1.ec709dc539e76p-1",
    "0x1.2776c295f01cfp-1",
    "0x1.a61a2cc1ced3bp-2",
    "0x1.4795a63079ddfp-2",
    "0x1.21ac9c9040d9ep-2",
)
"""log2(m) / s in s * s with s = (m - 1) / (m + 1), sqrt(1/2) <= m <= sqrt(2), 2**-45."""

SIN = _numbers(
    "0x1.921fb54442cfap+2",
    "-0x1.4abbce6257a2ap+5",
    "0x1.466bc67123fa1p+6",
    "-0x1.32d2c644adc0bp+6",
    "0x1.5071ce4b47930p+5",
    "-0x1.dd54805f3f706p+3",
)
"""sin(2 pi t) / t in t * t, |t| <= 1/8, 2**-47."""

COS = _numbers(
    "0x1.ffffffffffe0bp-1",
    "-0x1.3bd3cc9bd2c35p+4",
    "0x1.03c1f074ded21p+6",
    "-0x1.55d3ba300cd50p+6",
    "0x1.e1e7ccccb387ap+5",
    "-0x1.a0ee132c60c1fp+4",
)
"""cos(2 pi t) in t * t, 2**-43.5."""

_TURN = _numbers("0x1.45f306d000000p-3", "0x1.9391054a7f09dp-32")
"""1 / (2 pi) in two parts; the first has 29 bits, so its product with an f32 is exact."""

_LARGEST_ANGLE = 0x46800000
"""2**14: beyond, the two parts are not enough."""

_HALF, _SMALL = 0x3F000000, 0x37000000
"""1/2 and 2**-17: the definition's angles from 1/2 on have an error that counts for results
below 2**-17."""

_SQRT_HALF = 0x3F3504F4

_WHOLE = "splat (float 12582912.0)"
"""An f32 plus this one has the nearest integer in its low bits."""

_QUARTERS = 1.5 * 2.0**50
"""The same for a double's quarters."""


class MufuSteps:
    """Each method returns the results, and the mask of lanes in which they may be wrong."""

    def __init__(self, ir: Builder, values: Values, ints: Integers, floats: Floats) -> None:
        self.ir, self.values, self.ints, self.floats = ir, values, ints, floats

    def _fused(self, what: str, a: str, b: str) -> str:
        """An operation that may be fused with another; its last bit may vary."""
        return self.ir.op(f"{what} contract {F64} {a}, {b}")

    def _series(self, coefficients: tuple[float, ...], x: str) -> str:
        total = number(coefficients[-1])
        for c in coefficients[-2::-1]:
            total = self._fused("fadd", self._fused("fmul", total, x), number(c))
        return total

    def _rounded(self, value: str) -> tuple[Val, Mask]:
        """Round to f32. Returns the result and the mask of undecided lanes."""
        low = self.ints.lo(self.floats.bits64(value))
        near = self.floats.and_(self.ints.add(low, _NEAR - _MIDDLE), 2 * _MIDDLE - 1)
        narrow = self.ir.op(f"fptrunc {F64} {value} to {F32}")
        return self.floats.bits32(narrow), self.ints.ult(near, 2 * _NEAR)

    def ex2(self, a: Num) -> tuple[Num, Mask]:
        """2**x. The integer part is added to the exponent: 128 for overflow turns 1 into infinity,
        -127 for underflow turns it into 0.
        """
        ir, floats = self.ir, self.floats
        x = floats.f32(a)
        bounded = x
        for how, limit in (("ogt", "-127.0"), ("olt", "128.0")):
            bound = f"splat (float {limit})"
            bounded = floats.pick(floats.test(how, F32, bounded, bound), F32, bounded, bound)
        moved = ir.op(f"fadd {F32} {bounded}, {_WHOLE}")
        whole = ir.op(f"fsub {F32} {moved}, {_WHOLE}")
        fraction = ir.op(f"fsub {F32} {bounded}, {whole}")
        wide = ir.op(f"fpext {F32} {fraction} to {F64}")
        mantissa, odd = self._rounded(self._series(EX2, wide))
        result = floats.ftz(self.ints.add(mantissa, self.ints.shl(floats.bits32(moved), 23)))
        return self.ints.select(floats.test("uno", F32, x, x), NAN32, result), odd

    def lg2(self, a: Num) -> tuple[Num, Mask]:
        """log2(x); undecided for zeros, infinities, NaN and negative operands."""
        ir, ints = self.ir, self.ints
        special = ints.mnot(ints.ult(ints.sub(a, MIN_NORMAL), INF32 - MIN_NORMAL))
        exponent = ints.sar(ints.sub(a, _SQRT_HALF), 23)
        m = self.floats.wider(ints.sub(a, ints.shl(exponent, 23)))
        up = ir.op(f"fadd {F64} {m}, {number(-1.0)}")
        down = ir.op(f"fadd {F64} {m}, {number(1.0)}")
        s = ir.op(f"fdiv {F64} {up}, {down}")
        tail = self._fused("fmul", s, self._series(LG2, self._fused("fmul", s, s)))
        e = ir.op(f"sitofp {self.values.whole(exponent, 32)} to {F64}")
        result, odd = self._rounded(self._fused("fadd", e, tail))
        return result, ints.mor(odd, special)

    def _circle(self, a: Num, quarter: int) -> tuple[Num, Mask]:
        ir, ints, floats = self.ir, self.ints, self.floats
        size = floats.and_(a, NAN32)
        x = floats.wider(size)
        turns = ir.op(f"fmul {F64} {x}, {number(_TURN[0])}")
        moved = ir.op(f"fadd {F64} {turns}, {number(_QUARTERS)}")
        quarters = ir.op(f"fsub {F64} {moved}, {number(_QUARTERS)}")
        rest = ir.op(f"fsub {F64} {turns}, {quarters}")
        rest = self._fused("fadd", self._fused("fmul", x, number(_TURN[1])), rest)
        square = self._fused("fmul", rest, rest)
        sine = self._fused("fmul", rest, self._series(SIN, square))
        quadrant = ints.add(ints.lo(floats.bits64(moved)), quarter)
        value = floats.pick(ints.bit(quadrant, 0), F64, self._series(COS, square), sine)
        result, odd = self._rounded(value)
        large = ints.mnot(ints.ult(size, _LARGEST_ANGLE))
        tiny = ints.ult(floats.and_(result, NAN32), _SMALL)
        coarse = ints.mand(tiny, ints.mnot(ints.ult(size, _HALF)))
        minus = ints.shl(floats.and_(quadrant, 2), 30)
        return floats.xor(result, minus), ints.mor(odd, ints.mor(large, coarse))

    def sin(self, a: Num) -> tuple[Num, Mask]:
        """sin(x); undecided for large angles."""
        result, odd = self._circle(a, 0)
        return self.floats.xor(result, self.floats.and_(a, SIGN32)), odd

    def cos(self, a: Num) -> tuple[Num, Mask]:
        """cos(x); undecided for large angles."""
        return self._circle(a, 1)
