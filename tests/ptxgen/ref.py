"""What PTX says about floating point, one element at a time, on rationals (see `numeric.model`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import mpmath
import numpy as np

from tests.numeric import model
from tests.ptxgen.case import DTYPES, width

ROUNDINGS = {"rn": "RN", "rz": "RZ", "rm": "RM", "rp": "RP"}
INTEGRAL: dict[str, Callable[[Fraction], int]] = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}
COMPARES = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split()


def flush(bits: int, fmt: str) -> int:
    """Subnormals to zero of the same sign."""
    if model.is_finite(bits, fmt) and abs(model.value(bits, fmt)) < Fraction(2) ** (
        1 - model.FORMATS[fmt][1]
    ):
        return bits & 1 << model.FORMATS[fmt][2] - 1
    return bits


def saturate(bits: int, fmt: str) -> int:
    """Clamp to [0, 1]; NaN becomes +0."""
    one = model.rounded(Fraction(1), fmt, "RN")
    if model.is_nan(bits, fmt) or model.sign_of(bits, fmt):
        return 0
    if model.is_inf(bits, fmt) or model.value(bits, fmt) > 1:
        return one
    return bits


def negate(bits: int, fmt: str) -> int:
    return bits ^ 1 << model.FORMATS[fmt][2] - 1


def absolute(bits: int, fmt: str) -> int:
    return bits & ~(1 << model.FORMATS[fmt][2] - 1)


Scalar = Callable[..., int]


def modified(
    operation: Scalar, fmt: str, ftz: bool, sat: bool, product: str | None = None
) -> Scalar:
    """The operation with `.ftz` and `.sat`.

    `product` is the rounding of an operation whose result may need more than the format's digits:
    then a result is flushed that would be below the least normal number if rounded without a
    lower limit of the exponent.  ptxas folds mul.rn.ftz.f32 of 0f00FFFFFF and 0f3F000000 to 0.
    """

    def run(*operands: int) -> int:
        if ftz:
            operands = tuple(flush(x, fmt) for x in operands)
        result = operation(*operands)
        if ftz:
            result = flush(result, fmt)
            if product and at_border(result, fmt) and is_tiny(exact(operands, fmt), fmt, product):
                result &= 1 << model.FORMATS[fmt][2] - 1
        return saturate(result, fmt) if sat else result

    return run


def exact(operands: Sequence[int], fmt: str) -> Fraction:
    """a * b + c of two or three finite patterns."""
    a, b, *c = (model.value(x, fmt) for x in operands)
    return a * b + sum(c)


def at_border(bits: int, fmt: str) -> bool:
    """Whether the magnitude is the least normal one."""
    return absolute(bits, fmt) == 1 << model.FORMATS[fmt][0] - 1


def is_tiny(x: Fraction, fmt: str, rnd: str) -> bool:
    """Whether x, rounded without a lower limit of the exponent, is below the least normal."""
    lift = Fraction(2) ** 8
    least = Fraction(2) ** (1 - model.FORMATS[fmt][1])
    lifted = model.value(model.rounded(x * lift, fmt, rnd), fmt)
    return abs(lifted) < least * lift


def add(fmt: str, rnd: str) -> Scalar:
    return lambda a, b: model.add(a, b, fmt, rnd)


def sub(fmt: str, rnd: str) -> Scalar:
    return lambda a, b: model.add(a, negate(b, fmt), fmt, rnd)


def mul(fmt: str, rnd: str) -> Scalar:
    return lambda a, b: model.mul(a, b, fmt, rnd)


def fma(fmt: str, rnd: str) -> Scalar:
    return lambda a, b, c: model.fma(a, b, c, fmt, rnd)


def div(fmt: str, rnd: str) -> Scalar:
    """IEEE division."""

    def run(a: int, b: int) -> int:
        sign = model.sign_of(a, fmt) ^ model.sign_of(b, fmt)
        if model.is_nan(a, fmt) or model.is_nan(b, fmt):
            return model.OWN_NAN[fmt]
        zero_b = absolute(b, fmt) == 0
        if model.is_inf(a, fmt):
            return model.OWN_NAN[fmt] if model.is_inf(b, fmt) else model.inf(fmt, sign)
        if zero_b:
            return model.OWN_NAN[fmt] if absolute(a, fmt) == 0 else model.inf(fmt, sign)
        if model.is_inf(b, fmt):
            return sign << model.FORMATS[fmt][2] - 1
        return model.rounded(model.value(a, fmt) / model.value(b, fmt), fmt, rnd, sign)

    return run


def rcp(fmt: str, rnd: str) -> Scalar:
    one = model.rounded(Fraction(1), fmt, "RN")
    return lambda a: div(fmt, rnd)(one, a)


def sqrt(fmt: str, rnd: str) -> Scalar:
    """IEEE square root."""

    def run(a: int) -> int:
        if model.is_nan(a, fmt) or (model.sign_of(a, fmt) and absolute(a, fmt)):
            return model.OWN_NAN[fmt]
        if absolute(a, fmt) == 0 or model.is_inf(a, fmt):
            return a
        return model.rounded(square_root(model.value(a, fmt)), fmt, rnd)

    return run


def square_root(x: Fraction) -> Fraction:
    """The root, or a value between the same two multiples of 2**-1200: it rounds as the root."""
    shift = 1200
    scaled = (x.numerator << 2 * shift) // x.denominator
    root = math.isqrt(scaled)
    exact = root * root * x.denominator == x.numerator << 2 * shift
    return Fraction(2 * root + (not exact), 2 << shift)


def minimum(fmt: str, largest: bool) -> Scalar:
    """min or max: -0 below +0, a number wins over NaN."""

    def run(a: int, b: int) -> int:
        if model.is_nan(a, fmt):
            return model.OWN_NAN[fmt] if model.is_nan(b, fmt) else b
        if model.is_nan(b, fmt):
            return a
        first = order_key(a, fmt) <= order_key(b, fmt)
        return a if first != largest else b

    return run


def order_key(bits: int, fmt: str) -> int:
    """Numbers in order, -0 before +0."""
    magnitude = absolute(bits, fmt)
    return -magnitude - 1 if model.sign_of(bits, fmt) else magnitude


def compare(name: str, fmt: str) -> Callable[[int, int], bool]:
    """setp's operators."""

    def run(a: int, b: int) -> bool:
        unordered = model.is_nan(a, fmt) or model.is_nan(b, fmt)
        if name in ("num", "nan"):
            return unordered == (name == "nan")
        if unordered:
            return len(name) == 3
        x, y = (0 if absolute(v, fmt) == 0 else order_key(v, fmt) for v in (a, b))
        # A negative key is one below minus its magnitude; that keeps the order.
        return {
            "eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y,
        }[name[:2]]  # fmt: skip

    return run


def boolean(name: str, a: bool, b: bool) -> bool:
    return {"and": a and b, "or": a or b, "xor": a != b}[name]


def testp(kind: str, fmt: str) -> Callable[[int], bool]:
    limit = Fraction(2) ** (1 - model.FORMATS[fmt][1])

    def run(a: int) -> bool:
        finite = model.is_finite(a, fmt)
        size = abs(model.value(a, fmt)) if finite else Fraction(0)
        return {
            "finite": finite,
            "infinite": model.is_inf(a, fmt),
            "number": not model.is_nan(a, fmt),
            "notanumber": model.is_nan(a, fmt),
            "normal": finite and (size >= limit or size == 0),
            "subnormal": finite and 0 < size < limit,
        }[kind]

    return run


# ---- conversions -----------------------------------------------------------------------


def int_limits(type_: str) -> tuple[int, int]:
    bits = int(type_[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)


def as_int(bits: int, type_: str) -> int:
    """A pattern as the integer it stands for."""
    n = int(type_[1:])
    bits &= (1 << n) - 1
    return bits - (1 << n) if type_[0] == "s" and bits >> n - 1 else bits


def float_to_int(source: str, target: str, step: str, ftz: bool) -> Scalar:
    """cvt to integer: rounds, clamps; NaN by PTX' rule."""
    low, high = int_limits(target)
    bits = int(target[1:])

    def run(a: int) -> int:
        if ftz:
            a = flush(a, source)
        if model.is_nan(a, source):
            zero = source != "f64" and bits != 64
            return 0 if zero else 1 << bits - 1
        if model.is_inf(a, source):
            result = low if model.sign_of(a, source) else high
        else:
            result = min(max(INTEGRAL[step](model.value(a, source)), low), high)
        return result & (1 << bits) - 1

    return run


def int_to_float(source: str, target: str, rnd: str, sat: bool) -> Scalar:
    def run(a: int) -> int:
        result = model.rounded(Fraction(as_int(a, source)), target, rnd)
        return saturate(result, target) if sat else result

    return run


def float_to_float(source: str, target: str, rnd: str, ftz: bool, sat: bool) -> Scalar:
    """cvt between formats; `.ftz` concerns f32 only."""

    def run(a: int) -> int:
        if ftz and source == "f32":
            a = flush(a, source)
        result = model.convert(a, source, target, rnd)
        if ftz and target == "f32":
            result = flush(result, target)
        return saturate(result, target) if sat else result

    return run


def to_integral(fmt: str, step: str, ftz: bool, sat: bool) -> Scalar:
    """cvt.rni and the like between equal formats; an empty step copies."""

    def run(a: int) -> int:
        if ftz:
            a = flush(a, fmt)
        if model.is_finite(a, fmt) and step:
            whole = Fraction(INTEGRAL[step](model.value(a, fmt)))
            a = model.rounded(whole, fmt, "RN", model.sign_of(a, fmt))
        return saturate(a, fmt) if sat else a

    return run


# ---- approximations --------------------------------------------------------------------

Limits = tuple[int, int]


def fraction(x: mpmath.mpf) -> Fraction:
    """The exact value of a multiprecision number."""
    return Fraction(*mpmath.libmp.to_rational(x._mpf_))


def around(true: mpmath.mpf, error: mpmath.mpf, fmt: str, ftz: bool) -> Limits:
    """Patterns of the lowest and highest value within `error` of `true`."""
    sign = int(true < 0)
    low = model.rounded(fraction(true - error), fmt, "RM", sign)
    high = model.rounded(fraction(true + error), fmt, "RP", sign)
    return (flush(low, fmt), flush(high, fmt)) if ftz else (low, high)


# ---- arrays ----------------------------------------------------------------------------


def apply(function: Callable[..., int], type_: str, *operands: np.ndarray) -> np.ndarray:
    """Element by element, into an array of the register type."""
    columns = [x.tolist() for x in operands]
    values = [int(function(*row)) for row in zip(*columns, strict=True)]
    return np.array(values, DTYPES[width(type_)])


def pairs(function: Scalar) -> Scalar:
    """The operation on both halves of a packed f16x2."""

    def run(*operands: int) -> int:
        low = function(*(x & 0xFFFF for x in operands))
        high = function(*(x >> 16 for x in operands))
        return int(high) << 16 | int(low)

    return run


def packed(halves: Sequence[np.ndarray]) -> np.ndarray:
    """Two f16 arrays as one array of pairs (low, high)."""
    low, high = halves
    return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)
