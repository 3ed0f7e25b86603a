"""MUFU on NumPy arrays: the multi-function unit's approximations.

Certainty: *modelled*.  NVIDIA publishes maximum errors, not bits; these are the f32 values nearest
to the true function (computed in f64, well below half an f32 ulp of it), with the special results
that ptxas' own constant folding shows.  Subnormal inputs and results are zeros of the same sign.

Only + - * / sqrt, rounding to integer, comparisons and integer arithmetic are used, with the tables
below, so that a compiled engine which evaluates the same steps in f64 has the same bits on every
host; no math library takes part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]
F64s = npt.NDArray[np.float64]

NAN = np.uint32(0x7FFFFFFF)
_INF = np.uint32(0x7F800000)
_SIGN = np.uint32(0x80000000)
_HIGH_INF = np.uint32(0x7FF00000)

EX2_POLYNOMIAL = tuple(
    map(
        float.fromhex,
        (
            "0x1.0000000000000p+0",
            "0x1.62e42fefa39efp-1",
            "0x1.ebfbdff82c58fp-3",
            "0x1.c6b08d704a0c0p-5",
            "0x1.3b2ab6fba4e7ep-7",
            "0x1.5d87fe78a6734p-10",
            "0x1.430912f869ba1p-13",
            "0x1.ffcbfc5889053p-17",
            "0x1.62c0224a09b7fp-20",
            "0x1.b5253d44f5213p-24",
            "0x1.e4cef56477b15p-28",
            "0x1.e8ca833b580a5p-32",
            "0x1.c4c8ce0e4f581p-36",
            "0x1.822742e95e26bp-40",
        ),
    )
)
"""2**f for |f| <= 1/2, error 6e-22."""

LG2_POLYNOMIAL = tuple(
    map(
        float.fromhex,
        (
            "0x1.71547652b82fep+1",
            "0x1.ec709dc3a03fdp-1",
            "0x1.2776c50ef9bffp-1",
            "0x1.a61762a7ade6fp-2",
            "0x1.484b13d7c7384p-2",
            "0x1.0c9a8494e4aa6p-2",
            "0x1.c68f59e7642a3p-3",
            "0x1.89f2ddc3c2853p-3",
            "0x1.5bbc386027885p-3",
            "0x1.33c10df1fdfb3p-3",
            "0x1.46bfd1edd26a7p-3",
        ),
    )
)
"""log2(m) / s in s * s with s = (m - 1) / (m + 1), sqrt(1/2) <= m <= sqrt(2), error 2e-24."""

SIN_POLYNOMIAL = tuple(
    map(
        float.fromhex,
        (
            "0x1.921fb54442d18p+2",
            "-0x1.4abbce625be53p+5",
            "0x1.466bc6775aae2p+6",
            "-0x1.32d2cce62bd82p+6",
            "0x1.50783487edcdbp+5",
            "-0x1.e3074fdc9bf34p+3",
            "0x1.e8f4318c0c907p+1",
            "-0x1.6faa7e91b299fp-1",
            "0x1.a7788b76b30d1p-4",
        ),
    )
)
"""sin(2 pi t) / t in t * t, |t| <= 1/8, error 6e-24."""

COS_POLYNOMIAL = tuple(
    map(
        float.fromhex,
        (
            "0x1.0000000000000p+0",
            "-0x1.3bd3cc9be45dep+4",
            "0x1.03c1f081b5ac4p+6",
            "-0x1.55d3c7e3cbfedp+6",
            "0x1.e1f5068919a8ap+5",
            "-0x1.a6d1f29f1c7fap+4",
            "0x1.f9d3854812ae6p+2",
            "-0x1.b6dd6cfa280afp+0",
            "0x1.1e2a69fa47a81p-2",
        ),
    )
)
"""cos(2 pi t) in t * t, |t| <= 1/8, error 2e-23."""

_INV_TWO_PI = int(
    "28BE60DB9391054A7F09D5F47D4D377036D8A5664F10E4107F9458EAF7AEF1586DC91B8E909374B8",
    16,
)
"""2**320 / (2 pi), rounded down."""

_TURNS = [(_INV_TWO_PI >> (320 - 128 - (e - 150))) & (2**128 - 1) for e in range(256)]
TURN_HIGH = np.array([t >> 64 for t in _TURNS], np.uint64)
"""Entry e: 2**(e - 150) / (2 pi) modulo 1 as a fraction of 2**64: one unit of an f32 significand
whose exponent field is e, in turns of the circle."""
TURN_LOW = np.array([t >> 32 & 0xFFFFFFFF for t in _TURNS], np.uint64)
"""The 32 bits below TURN_HIGH."""

INV_TWO_PI = float.fromhex("0x1.45f306dc9c883p-3")
SQRT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")
TANH_IS_X = np.uint32(0x3B800000)
TWO_LOG2_E = float.fromhex("0x1.71547652b82fep+1")
TANH_MOST = 60.0
"""Where 2**x is so large that (2**x - 1) / (2**x + 1) is 1."""
SMALL_ANGLE = np.uint32(0x3F000000)
"""Below 0.5 the angle in turns is x * INV_TWO_PI; above, the fixed-point product with TURN_*."""


def _horner(coefficients: tuple[float, ...], x: F64s) -> F64s:
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def _single(value: F64s) -> U32:
    """To f32, NaN canonical, subnormal results to zero of the same sign."""
    narrow = value.astype(np.float32)
    bits: U32 = narrow.view(np.uint32)
    bits = np.where((bits & _INF) == 0, bits & _SIGN, bits)
    return np.where(narrow != narrow, NAN, bits)


def _rcp(bits: U32) -> F64s:
    result: F64s = 1.0 / bits.view(np.float32).astype(np.float64)
    return result


def _rsq(bits: U32) -> F64s:
    value = bits.view(np.float32).astype(np.float64)
    # sqrt keeps the sign of a zero, so rsq(-0) is -inf as on the hardware.
    result: F64s = 1.0 / np.sqrt(value)
    return result


def _sqrt(bits: U32) -> F64s:
    result: F64s = np.sqrt(bits.view(np.float32).astype(np.float64))
    return result


def _lg2(bits: U32) -> F64s:
    exponent = (bits >> np.uint32(23)).astype(np.int64) - 126
    fraction = (bits & np.uint32(0x007FFFFF)) | np.uint32(0x3F000000)
    m = fraction.view(np.float32).astype(np.float64)
    low = m < SQRT_HALF
    m = np.where(low, m + m, m)
    e = (exponent - low).astype(np.float64)
    s = (m - 1.0) / (m + 1.0)
    result = e + s * _horner(LG2_POLYNOMIAL, s * s)
    value = bits.view(np.float32)
    result = np.where(value == np.inf, np.inf, result)
    result = np.where(value == 0, -np.inf, result)
    return np.where((value < 0) | (value != value), np.nan, result)


def _ex2(bits: U32) -> F64s:
    value = bits.view(np.float32).astype(np.float64)
    bounded = np.clip(value, -200.0, 200.0)
    whole = np.rint(bounded)
    mantissa = _horner(EX2_POLYNOMIAL, bounded - whole)
    scale = (np.where(whole == whole, whole, 0).astype(np.int64) + 1023) << 52
    result: F64s = mantissa * scale.view(np.float64)
    return result


def _circle(bits: U32, quarter: int) -> F64s:
    """sin of |x| plus `quarter` quarter turns; NaN for infinities and NaN."""
    magnitude = bits & ~_SIGN
    exponent = magnitude >> np.uint32(23)
    unit = ((magnitude & np.uint32(0x007FFFFF)) | np.uint32(0x00800000)).astype(np.uint64)
    fraction = unit * TURN_HIGH[exponent] + (unit * TURN_LOW[exponent] >> np.uint64(32))
    quadrant = (fraction + np.uint64(1 << 61)) >> np.uint64(62)
    rest = (fraction - (quadrant << np.uint64(62))).view(np.int64).astype(np.float64)
    small = magnitude < SMALL_ANGLE
    turns = np.where(
        small, magnitude.view(np.float32).astype(np.float64) * INV_TWO_PI, rest * 2.0**-64
    )
    quadrant = np.where(small, np.uint64(0), quadrant) + np.uint64(quarter)
    square = turns * turns
    odd = (quadrant & np.uint64(1)) != 0
    result = np.where(odd, _horner(COS_POLYNOMIAL, square), turns * _horner(SIN_POLYNOMIAL, square))
    result = np.where((quadrant & np.uint64(2)) != 0, -result, result)
    return np.where(magnitude >= _INF, np.nan, result)


def _sin(bits: U32) -> F64s:
    result = _circle(bits, 0)
    return np.where((bits & _SIGN) != 0, -result, result)


def _cos(bits: U32) -> F64s:
    return _circle(bits, 1)


def _of_turns(bits: U32, quarter: int) -> F64s:
    """The sine, or a quarter turn on the cosine, of turns: from sm_70 on."""
    turns = bits.view(np.float32).astype(np.float64)
    quadrant = np.rint(np.where(np.isfinite(turns), turns, 0.0) * 4)
    rest = turns - quadrant / 4
    square = rest * rest
    place = (quadrant - 4 * np.floor(quadrant / 4)).astype(np.int64) + quarter
    odd = (place & 1) != 0
    result = np.where(odd, _horner(COS_POLYNOMIAL, square), rest * _horner(SIN_POLYNOMIAL, square))
    result = np.where((place & 2) != 0, -result, result)
    # The sine of a zero has its sign: the subtraction above made +0 of it.
    result = np.where((turns == 0) & (quarter == 0), turns, result)
    return np.where(np.isfinite(turns), result, np.nan)


def _tanh(bits: U32) -> F64s:
    """(e**2x - 1) / (e**2x + 1), where x is no less than 2**-8."""
    value = bits.view(np.float32).astype(np.float64)
    power = np.minimum(np.abs(value) * TWO_LOG2_E, TANH_MOST)
    whole = np.rint(power)
    mantissa = _horner(EX2_POLYNOMIAL, power - whole)
    scale = (np.where(whole == whole, whole, 0).astype(np.int64) + 1023) << 52
    result = mantissa * scale.view(np.float64)
    found: F64s = np.copysign((result - 1.0) / (result + 1.0), value)
    return found


def _high_word(function: Callable[[Any], Any], bits: U32) -> U32:
    """The high word of function(double with this high word and low word 0), to nearest."""
    flushed = np.where((bits & _HIGH_INF) == 0, bits & _SIGN, bits)
    result = function((flushed.astype(np.uint64) << np.uint64(32)).view(np.float64))
    wide = result.view(np.uint64) + np.uint64(0x80000000)
    high = (wide >> np.uint64(32)).astype(np.uint32)
    high = np.where((high & _HIGH_INF) == 0, high & _SIGN, high)
    return np.where(result != result, NAN, high)


_SINGLE: dict[str, Callable[[U32], F64s]] = {
    "RCP": _rcp,
    "RSQ": _rsq,
    "LG2": _lg2,
    "EX2": _ex2,
    "SIN": _sin,
    "COS": _cos,
    "SQRT": _sqrt,
    "SIN_TURNS": lambda bits: _of_turns(bits, 0),
    "COS_TURNS": lambda bits: _of_turns(bits, 1),
    "TANH": _tanh,
}
_HIGH: dict[str, Callable[[Any], Any]] = {
    "RCP64H": lambda x: 1.0 / x,
    "RSQ64H": lambda x: 1.0 / np.sqrt(x),
}


def mufu(function: str, a: U32 | int) -> U32:
    """`Machine.mufu`: RCP RSQ SQRT LG2 EX2 SIN COS RCP64H RSQ64H SIN_TURNS COS_TURNS TANH.

    Raises:
        KeyError: another function name.
    """
    bits = np.array([a & 0xFFFFFFFF], np.uint32) if isinstance(a, int) else a
    if function in _HIGH:
        return _high_word(_HIGH[function], bits)
    subnormal = (bits & _INF) == 0
    found = _single(_SINGLE[function](np.where(subnormal, bits & _SIGN, bits)))
    if function == "TANH":
        # Below 2**-8 it is the number itself, subnormal ones too (measured on H100).
        return np.where((bits & ~_SIGN) < TANH_IS_X, bits, found)
    return found
