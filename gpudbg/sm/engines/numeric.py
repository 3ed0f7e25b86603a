"""Floating point of the machine interface on NumPy arrays of bit patterns.

Every function has the name, operands and rules of the operation in
`gpudbg/sm/semantics/machine.py`; the step engine mixes them in.  A Value is a uint32 array, a
Wide a uint64 array, a Mask a bool array, each of shape (32,) or (1,) (one value in all lanes); a
Python int stands for itself in all lanes.  Overflow, division by zero and NaN are results here:
callers run under `np.errstate(all="ignore")`, once for many instructions.

How results are exact
    f32  NumPy rounds + and * to nearest.  FMA and directed rounding go through f64: the product
         of two f32 is exact there, a sum is made odd (`_odd_sum`), and an f64 rounded to odd
         gives the right f32 in every rounding (Boldo and Melquiond, "Emulation of FMA and
         correctly rounded sums", 2008).
    f64  NumPy rounds + and * to nearest.  FMA to nearest is the same paper's algorithm where no
         step can over- or underflow, and `exact.fma` in the remaining lanes.  Directed rounding
         of doubles always takes `exact`: compilers emit it only for explicit requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.sm.engines import exact
from gpudbg.sm.engines.mufu import mufu as mufu

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
F64s = npt.NDArray[np.float64]
Operand32 = U32 | int
Operand64 = U64 | int

F32_NAN = np.uint32(0x7FFFFFFF)
F32_SIGN = np.uint32(0x80000000)
F32_MAGNITUDE = np.uint32(0x7FFFFFFF)
F32_MIN_NORMAL = np.uint32(0x00800000)
F16_NAN = np.uint32(0x7FFF)
F64_NAN = np.uint64(0xFFF8_0000_0000_0000)
F64_QUIET = np.uint64(0x0008_0000_0000_0000)
F64_INF = np.uint64(0x7FF0_0000_0000_0000)
F64_MAGNITUDE = np.uint64(0x7FFF_FFFF_FFFF_FFFF)
F64_SIGN = np.uint64(0x8000_0000_0000_0000)

_ONE = np.uint64(1)
_SPLIT = np.float64(2**27 + 1)
_F32_MIN_NORMAL = np.float64(2.0**-126)
_NEAREST_TINY = np.float64(2.0**-126 - 2.0**-151)
_AWAY_TINY = np.float64(2.0**-126 - 2.0**-150)


def u32(a: Operand32) -> U32:
    return np.array([a & 0xFFFFFFFF], np.uint32) if isinstance(a, int) else a


def u64(a: Operand64) -> U64:
    return np.array([a & 0xFFFF_FFFF_FFFF_FFFF], np.uint64) if isinstance(a, int) else a


def _single(a: Operand32) -> npt.NDArray[np.float32]:
    return u32(a).view(np.float32)


def _double(a: Operand64) -> F64s:
    return u64(a).view(np.float64)


def _single_bits(r: npt.NDArray[np.float32]) -> U32:
    """Bit patterns with every NaN canonical."""
    bits: U32 = r.view(np.uint32)
    np.copyto(bits, F32_NAN, where=r != r)
    return bits


# ---- f32 arithmetic --------------------------------------------------------------------


def fadd(a: Operand32, b: Operand32, rnd: str = "RN") -> U32:
    if rnd == "RN":
        return _single_bits(_single(a) + _single(b))
    return _to_single(_odd_sum(_single(a).astype(np.float64), _wider(b), rnd), rnd)


def fmul(a: Operand32, b: Operand32, rnd: str = "RN", flush: bool = False) -> U32:
    if rnd == "RN":
        bits = _single_bits(_single(a) * _single(b))
        if flush and _at_border(bits):
            return _flushed(bits, _wider(a) * _wider(b), rnd)
        return ftz(bits) if flush else bits
    return _to_single(_wider(a) * _wider(b), rnd, flush)


def ffma(a: Operand32, b: Operand32, c: Operand32, rnd: str = "RN", flush: bool = False) -> U32:
    product = _wider(a) * _wider(b)
    addend = _wider(c)
    if rnd == "RN":
        total = product + addend
        # The f64 sum may only be rounded again where it is no tie of an f32 rounding: a normal
        # f32 ties at the pattern 1000... in the low 29 bits, a subnormal one anywhere.
        low = total.view(np.uint64) & np.uint64(0x1FFFFFFF)
        risky = (low == 0x10000000) | ((np.abs(total) < _F32_MIN_NORMAL) & (total != 0))
        if not risky.any():
            return _single_bits(total.astype(np.float32))
    return _to_single(_odd_sum(product, addend, rnd), rnd, flush)


def _wider(a: Operand32) -> F64s:
    return _single(a).astype(np.float64)


def _odd_sum(a: F64s, b: F64s, rnd: str) -> F64s:
    """a + b rounded to odd; an exact zero has the sign that `rnd` gives it.

    Operands are f32 values or products of two: nothing over- or underflows.
    """
    total = a + b
    back = total - a
    error = (a - (total - back)) + (b - back)
    bits = total.view(np.uint64)
    # A non-finite sum has a NaN error, which compares false: it passes unchanged.
    inexact = ((error < 0) | (error > 0)) & ((bits & _ONE) == 0)
    away = (error > 0) == (total > 0)
    odd = np.where(inexact, np.where(away, bits + _ONE, bits - _ONE), bits)
    if rnd == "RM":
        cancelled = (total == 0) & (np.signbit(a) != np.signbit(b))
        odd = np.where(cancelled, F64_SIGN, odd)
    result: F64s = odd.view(np.float64)
    return result


def _directed(narrow: Any, value: F64s, rnd: str) -> Any:
    """`value` rounded to nearest in a narrower format, moved to the neighbour `rnd` asks for."""
    if rnd == "RN":
        return narrow
    kind = narrow.dtype.type
    back = narrow.astype(np.float64)
    above, below = back > value, back < value
    if rnd == "RZ":
        above, below = above & (value > 0), below & (value < 0)
        goal = kind(0)
        return np.where(above | below, np.nextafter(narrow, goal), narrow)
    if rnd == "RM":
        return np.where(above, np.nextafter(narrow, kind(-np.inf)), narrow)
    return np.where(below, np.nextafter(narrow, kind(np.inf)), narrow)


def _to_single(value: F64s, rnd: str, flush: bool = False) -> U32:
    bits = _single_bits(_directed(value.astype(np.float32), value, rnd))
    return _flushed(bits, value, rnd) if flush else bits


def _at_border(bits: U32) -> bool:
    """Whether some result is +-2**-126, where flushing depends on what was rounded."""
    return bool(((bits & F32_MAGNITUDE) == F32_MIN_NORMAL).any())


def _flushed(bits: U32, value: F64s, rnd: str) -> U32:
    """Rounded results with the tiny ones flushed; `value` is exact, or rounded to odd.

    To nearest, magnitudes from 2**-126 - 2**-151 on round to the 24-bit number 2**-126; away from
    zero, those above 2**-126 - 2**-150; towards zero, none below 2**-126.
    """
    size = np.abs(value)
    if rnd == "RN":
        tiny = size < _NEAREST_TINY
    elif rnd == "RZ":
        tiny = size < _F32_MIN_NORMAL
    else:
        away = (value > 0) == (rnd == "RP")
        tiny = np.where(away, size <= _AWAY_TINY, size < _F32_MIN_NORMAL)
    return np.where(tiny, bits & F32_SIGN, bits)


# ---- f32: the rest ---------------------------------------------------------------------


def ftz(a: Operand32) -> U32:
    bits = u32(a)
    subnormal = (bits & np.uint32(0x7F800000)) == 0
    return np.where(subnormal, bits & F32_SIGN, bits)


def flt(a: Operand32, b: Operand32) -> Bools:
    less: Bools = _single(a) < _single(b)
    return less


def feq(a: Operand32, b: Operand32) -> Bools:
    equal: Bools = _single(a) == _single(b)
    return equal


def fnan(a: Operand32) -> Bools:
    value = _single(a)
    nan: Bools = value != value
    return nan


_ROUND: dict[str, Callable[[Any], Any]] = {
    "RN": np.rint,
    "RM": np.floor,
    "RP": np.ceil,
    "RZ": np.trunc,
}


def fround(a: Operand32, mode: str) -> U32:
    return _single_bits(_ROUND[mode](_single(a)))


# ---- f64 arithmetic --------------------------------------------------------------------


def _double_bits(r: F64s, *operands: F64s) -> U64:
    """Bit patterns; a NaN is the first NaN operand quieted, else the machine's own.

    Operands come in the order b, c, a, in which a GPU looks for a NaN (measured on H100).
    """
    bits: U64 = r.view(np.uint64)
    nan = r != r
    if not nan.any():
        return bits
    payload = np.broadcast_to(F64_NAN, r.shape)
    for operand in reversed(operands):
        payload = np.where(operand != operand, operand.view(np.uint64) | F64_QUIET, payload)
    return np.where(nan, payload, bits)


def dadd(a: Operand64, b: Operand64, rnd: str = "RN") -> U64:
    x, y = _double(a), _double(b)
    total = _double_bits(x + y, y, x)
    if rnd == "RN":
        return total
    one = np.float64(1).view(np.uint64)
    return _exact_lanes(total, np.isfinite(x) & np.isfinite(y), rnd, x, one, y)


def dmul(a: Operand64, b: Operand64, rnd: str = "RN") -> U64:
    x, y = _double(a), _double(b)
    product = _double_bits(x * y, y, x)
    if rnd == "RN":
        return product
    return _exact_lanes(product, np.isfinite(x) & np.isfinite(y), rnd, x, y, None)


def dfma(a: Operand64, b: Operand64, c: Operand64, rnd: str = "RN") -> U64:
    x, y, z = np.broadcast_arrays(_double(a), _double(b), _double(c))
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    if rnd == "RN":
        covered = _fma_covered(x, y, z)
        result = _fma_nearest(x, y, z)
        if covered.all():
            return result.view(np.uint64)
        slow = finite & ~covered
    else:
        result, slow = np.zeros_like(x), finite
    if not finite.all():
        # An infinite addend meets a finite product, which must not overflow into a NaN.
        product = np.where(np.isfinite(x) & np.isfinite(y), np.float64(0), x * y)
        result = np.where(finite, result, product + z)
    return _exact_lanes(_double_bits(result, y, z, x), slow, rnd, x, y, z)


def _exact_lanes(
    bits: U64, lanes: Bools, rnd: str, a: F64s, b: F64s | np.uint64, c: F64s | None
) -> U64:
    """`bits` with the lanes of `lanes` replaced by the exact a * b + c (a * b without c)."""
    chosen = np.flatnonzero(lanes)
    if not chosen.size:
        return bits
    out = bits.copy()
    x, y = (np.broadcast_to(v.view(np.uint64), out.shape) for v in (a, b))
    z = None if c is None else np.broadcast_to(c.view(np.uint64), out.shape)
    for lane in chosen:
        addend = None if z is None else int(z[lane])
        out[lane] = exact.fma(int(x[lane]), int(y[lane]), addend, exact.F64, rnd)
    return out


def _fma_covered(a: F64s, b: F64s, c: F64s) -> Bools:
    """Lanes where no step of `_fma_nearest` over- or underflows."""
    ea, eb, ec = ((v.view(np.int64) >> 52) & 0x7FF for v in (a, b, c))
    ep = ea + eb - 1023
    # The tail of the product is a multiple of 2**(ep - 1023 - 104), which must be >= 2**-1074.
    sizes = (ea < 1990) & (eb < 1990) & (ep > 100) & (ep < 2040)
    covered: Bools = (sizes | ((a == 0) & (eb < 1990)) | ((b == 0) & (ea < 1990))) & (ec < 2040)
    return covered


def _two_sum(a: F64s, b: F64s) -> tuple[F64s, F64s]:
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _split(a: F64s) -> tuple[F64s, F64s]:
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def _two_product(a: F64s, b: F64s) -> tuple[F64s, F64s]:
    product = a * b
    ah, al = _split(a)
    bh, bl = _split(b)
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def _fma_nearest(a: F64s, b: F64s, c: F64s) -> F64s:
    """a * b + c with one rounding to nearest, in the lanes `_fma_covered` names."""
    uh, ul = _two_product(a, b)
    th, tl = _two_sum(c, ul)
    vh, vl = _two_sum(uh, th)
    tail = _odd_sum(tl, vl, "RN")
    result = vh + tail
    # The sign of an exact zero comes from product and addend, not from the pieces.
    return np.where(result == 0, uh + c, result)


# ---- f64: the rest ---------------------------------------------------------------------


def dlt(a: Operand64, b: Operand64) -> Bools:
    less: Bools = _double(a) < _double(b)
    return less


def deq(a: Operand64, b: Operand64) -> Bools:
    equal: Bools = _double(a) == _double(b)
    return equal


def dnan(a: Operand64) -> Bools:
    value = _double(a)
    nan: Bools = value != value
    return nan


def dround(a: Operand64, mode: str) -> U64:
    value = _double(a)
    return _double_bits(_ROUND[mode](value), value)


# ---- conversions -----------------------------------------------------------------------


def f32_to_f64(a: Operand32) -> U64:
    bits = u32(a)
    wide: U64 = bits.view(np.float32).astype(np.float64).view(np.uint64)
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    if not nan.any():
        return wide
    high = bits.astype(np.uint64)
    sign = (high & np.uint64(0x80000000)) << np.uint64(32)
    payload = (high & np.uint64(0x007FFFFF)) << np.uint64(29)
    return np.where(nan, sign | F64_INF | F64_QUIET | payload, wide)


def f64_to_f32(a: Operand64, rnd: str, flush: bool = False) -> U32:
    return _to_single(_double(a), rnd, flush)


def f16_to_f64(a: Operand32) -> U64:
    bits = u32(a).astype(np.uint16)
    wide: U64 = bits.view(np.float16).astype(np.float64).view(np.uint64)
    nan = (bits & np.uint16(0x7FFF)) > np.uint16(0x7C00)
    return np.where(nan, wide | F64_QUIET, wide)


def f64_to_f16(a: Operand64, rnd: str) -> U32:
    value = _double(a)
    with np.errstate(over="ignore"):  # beyond f16's range is infinity
        half = _directed(value.astype(np.float16), value, rnd)
    return np.where(half != half, F16_NAN, half.view(np.uint16).astype(np.uint32))


def _halves_of_int(a: Operand64, signed: bool) -> tuple[F64s, F64s]:
    """A 64-bit integer as the sum of two doubles: high word * 2**32 and low word."""
    bits = u64(a)
    high = bits.view(np.int64) >> 32 if signed else bits >> np.uint64(32)
    low = bits & np.uint64(0xFFFFFFFF)
    return high.astype(np.float64) * 2.0**32, low.astype(np.float64)


def int_to_f64(a: Operand64, signed: bool, rnd: str) -> U64:
    total, error = _two_sum(*_halves_of_int(a, signed))
    # `total` is the nearest double; the error says on which side of it the integer lies.
    if rnd == "RM" or rnd == "RZ":
        above = error < 0 if rnd == "RM" else (error < 0) & (total > 0)
        total = np.where(above, np.nextafter(total, -np.inf), total)
    if rnd == "RP" or rnd == "RZ":
        below = error > 0 if rnd == "RP" else (error > 0) & (total < 0)
        total = np.where(below, np.nextafter(total, np.inf), total)
    bits: U64 = total.view(np.uint64)
    return bits


def int_to_f32(a: Operand64, signed: bool, rnd: str) -> U32:
    return _to_single(_odd_sum(*_halves_of_int(a, signed), "RN"), rnd)


def f64_to_int(a: Operand64, signed: bool, bits: int) -> U64:
    value = _double(a)
    low = -(2 ** (bits - 1)) if signed else 0
    high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    # The limits are compared in f64, where `high` may round up to the first value too large.
    too_low, too_high = value <= float(low), value >= float(high)
    inside = np.where(too_low | too_high | (value != value), np.float64(0), value)
    kind = np.int64 if signed else np.uint64
    result: U64 = inside.astype(kind).view(np.uint64)
    return np.where(too_high, u64(high), np.where(too_low, u64(low), result))
