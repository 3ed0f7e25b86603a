"""Reference arithmetic of the tests: rationals and one rounding; shares nothing with gpudbg."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

FORMATS = {
    "f16": (11, 15, 16), "bf16": (8, 127, 16), "f32": (24, 127, 32), "f64": (53, 1023, 64),
    "tf32": (11, 127, 19), "e5m2": (3, 15, 8), "e4m3": (4, 7, 8),
}  # fmt: skip
"""Digits, largest exponent, bits.  e4m3 has finite numbers where others have infinity and NaN."""
OWN_NAN = {
    "f16": 0x7FFF,
    "bf16": 0x7FFF,
    "tf32": 0x3FFFF,
    "f32": 0x7FFFFFFF,
    "f64": 0xFFF8000000000000,
}
MODES = ("RN", "RM", "RP", "RZ")


def inf(fmt: str, sign: int) -> int:
    precision, emax, width = FORMATS[fmt]
    return sign << (width - 1) | (2 * emax + 1) << (precision - 1)


def sign_of(bits: int, fmt: str) -> int:
    return bits >> (FORMATS[fmt][2] - 1)


def is_nan(bits: int, fmt: str) -> bool:
    return bits & ~(1 << (FORMATS[fmt][2] - 1)) > inf(fmt, 0)


def is_inf(bits: int, fmt: str) -> bool:
    return bits & ~(1 << (FORMATS[fmt][2] - 1)) == inf(fmt, 0)


def is_finite(bits: int, fmt: str) -> bool:
    return not is_nan(bits, fmt) and not is_inf(bits, fmt)


def value(bits: int, fmt: str) -> Fraction:
    """The exact value of a finite pattern."""
    precision, emax, width = FORMATS[fmt]
    field = bits >> (precision - 1) & (2 * emax + 1)
    fraction = Fraction(bits & ((1 << (precision - 1)) - 1), 1 << (precision - 1))
    if field == 0:
        magnitude = fraction * Fraction(2) ** (1 - emax)
    else:
        magnitude = (1 + fraction) * Fraction(2) ** (field - emax)
    return -magnitude if bits >> (width - 1) else magnitude


def _floor_log2(x: Fraction) -> int:
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    if Fraction(2) ** guess > x:
        guess -= 1
    return guess


def rounded(x: Fraction, fmt: str, mode: str, zero_sign: int = 0) -> int:
    """The pattern of a rational, rounded once; `zero_sign` is the sign of an exact zero."""
    precision, emax, width = FORMATS[fmt]
    if x == 0:
        return zero_sign << (width - 1)
    sign = int(x < 0)
    quantum = Fraction(2) ** (max(_floor_log2(abs(x)), 1 - emax) - precision + 1)
    scaled = x / quantum
    low = scaled.numerator // scaled.denominator
    if mode == "RN":
        rest = scaled - low
        chosen = low + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1))
    elif mode == "RM":
        chosen = low
    elif mode == "RP":
        chosen = -((-scaled.numerator) // scaled.denominator)
    else:
        chosen = int(scaled)
    result = chosen * quantum
    limit = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** emax
    if abs(result) > limit:
        saturates = mode == "RZ" or mode == ("RP" if sign else "RM")
        return inf(fmt, sign) - saturates
    if result == 0:
        return sign << (width - 1)
    e = max(_floor_log2(abs(result)), 1 - emax)
    significand = abs(result) / Fraction(2) ** (e - precision + 1)
    assert significand.denominator == 1
    field = e + emax if significand >= 1 << (precision - 1) else 0
    m = precision - 1
    return sign << (width - 1) | field << m | int(significand) % (1 << m)


def _nan(fmt: str, a: int, b: int, c: int) -> int:
    if fmt == "f64":
        for bits in (b, c, a):
            if is_nan(bits, fmt):
                return bits | 1 << 51
    return OWN_NAN[fmt]


def fma(a: int, b: int, c: int, fmt: str, mode: str) -> int:
    if any(is_nan(x, fmt) for x in (a, b, c)):
        return _nan(fmt, a, b, c)
    product_sign = sign_of(a, fmt) ^ sign_of(b, fmt)
    if is_inf(a, fmt) or is_inf(b, fmt):
        zero = any(is_finite(x, fmt) and value(x, fmt) == 0 for x in (a, b))
        if zero or (is_inf(c, fmt) and sign_of(c, fmt) != product_sign):
            return OWN_NAN[fmt]
        return inf(fmt, product_sign)
    if is_inf(c, fmt):
        return c
    product = value(a, fmt) * value(b, fmt)
    addend = value(c, fmt)
    c_sign = sign_of(c, fmt)
    if product == 0 and addend == 0 and product_sign == c_sign:
        zero_sign = c_sign
    else:
        zero_sign = int(mode == "RM")
    return rounded(product + addend, fmt, mode, zero_sign)


def add(a: int, b: int, fmt: str, mode: str) -> int:
    one = rounded(Fraction(1), fmt, "RN")
    return fma(a, one, b, fmt, mode)


def mul(a: int, b: int, fmt: str, mode: str) -> int:
    sign = sign_of(a, fmt) ^ sign_of(b, fmt)
    zero = sign << (FORMATS[fmt][2] - 1)
    return fma(a, b, zero, fmt, mode)


def convert(bits: int, source: str, target: str, mode: str) -> int:
    if is_nan(bits, source):
        return OWN_NAN[target]
    sign = sign_of(bits, source)
    if is_inf(bits, source):
        return inf(target, sign)
    return rounded(value(bits, source), target, mode, sign)


def vectors(fmt: str, count: int, operands: int, seed: int) -> list[np.ndarray]:
    """Operand arrays: edge patterns against each other, then random ones of several kinds.

    Kinds: uniform bits; near 1 with few significand bits (ties); exponents chosen so that sums
    cancel or products reach the subnormal border and overflow.
    """
    precision, emax, width = FORMATS[fmt]
    rng = np.random.default_rng(seed)
    dtype = {16: np.uint16, 32: np.uint32, 64: np.uint64}[width]
    m = precision - 1
    top = (1 << m) - 1
    edges = [
        s << (width - 1) | f << m | x
        for s in (0, 1)
        for f, x in (
            (0, 0), (0, 1), (0, top), (1, 0), (1, 1), (emax, 0), (emax, 1), (emax, top),
            (emax - 1, 0), (emax + 1, 0), (emax + m, 0), (emax + m + 1, 1), (emax - precision, 0),
            (2 * emax, 0), (2 * emax, top), (2 * emax + 1, 0), (2 * emax + 1, 1),
            (2 * emax + 1, 1 << (m - 1)), (2 * emax + 1, (1 << (m - 1)) + 5),
        )
    ]  # fmt: skip
    grid = np.array(edges, dtype=dtype)
    picks = [rng.choice(grid, count // 4) for _ in range(operands)]
    uniform = [
        rng.integers(0, 1 << width, count // 4, dtype=dtype, endpoint=False)
        if width < 64
        else rng.integers(0, 2**63, count // 4, dtype=np.uint64) * np.uint64(2)
        + rng.integers(0, 2, count // 4, dtype=np.uint64)
        for _ in range(operands)
    ]
    close = [_shaped(rng, fmt, count // 4, emax - 3, emax + 3) for _ in range(operands)]
    rest = count - 3 * (count // 4)
    border = [_shaped(rng, fmt, rest, 0, 2 * emax + 1) for _ in range(operands)]
    if operands > 1:
        # The product of the first two is put near the lower or the upper limit of the exponent.
        first = border[0] >> dtype(m) & dtype(2 * emax + 1)
        goal = rng.choice(np.array([0, 2, m, 2 * m, 2 * emax, 2 * emax - 3, 1, emax]), rest)
        field = np.clip(goal - first.astype(np.int64) + emax, 0, 2 * emax)
        border[1] = (border[1] & dtype((1 << m) - 1 | 1 << (width - 1))) | (
            field.astype(dtype) << dtype(m)
        )
    if operands > 2:
        # The addend sits within a few binades of the product, or cancels it.
        product = (
            (border[0] >> dtype(m) & dtype(2 * emax + 1)).astype(np.int64)
            + (border[1] >> dtype(m) & dtype(2 * emax + 1)).astype(np.int64)
            - emax
        )
        field = np.clip(product + rng.integers(-2 * m, 2 * m, rest), 0, 2 * emax)
        border[2] = (border[2] & dtype((1 << m) - 1 | 1 << (width - 1))) | (
            field.astype(dtype) << dtype(m)
        )
    return [np.concatenate(x) for x in zip(picks, uniform, close, border, strict=True)]


def _shaped(rng: np.random.Generator, fmt: str, count: int, low: int, high: int) -> np.ndarray:
    """Patterns with an exponent field in [low, high] and significands of few set bits."""
    precision, _, width = FORMATS[fmt]
    dtype = {16: np.uint16, 32: np.uint32, 64: np.uint64}[width]
    m = precision - 1
    fraction = rng.integers(0, 1 << m, count, dtype=np.uint64)
    keep = rng.integers(0, m + 1, count).astype(np.uint64)
    fraction = np.where(rng.random(count) < 0.5, fraction >> keep << keep, fraction)
    ones = rng.random(count) < 0.1
    fraction = np.where(ones, np.uint64((1 << m) - 1) >> keep << keep, fraction)
    field = rng.integers(low, high + 1, count).astype(np.uint64)
    sign = rng.integers(0, 2, count).astype(np.uint64)
    return (sign << np.uint64(width - 1) | field << np.uint64(m) | fraction).astype(dtype)
