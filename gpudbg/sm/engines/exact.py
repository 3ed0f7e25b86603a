"""Exact floating point on Python integers: the slow path behind `numeric` and its last resort.

A finite value is (sign, m, e) meaning (-1)**sign * m * 2**e with integer m >= 0.  Nothing here is
vectorised; `numeric` calls it for the lanes whose exponents its error-free transformations do not
cover and for directed rounding of doubles.  Source: IEEE 754-2019, sections 4.3, 6.3, 7.4.
"""

from __future__ import annotations

from typing import NamedTuple


class ExactFormat(NamedTuple):
    """A binary interchange format: `precision` bits of significand, `emax` = the bias."""

    precision: int
    emax: int
    width: int


F16 = ExactFormat(11, 15, 16)
F32 = ExactFormat(24, 127, 32)
F64 = ExactFormat(53, 1023, 64)

Finite = tuple[int, int, int]


def decode(bits: int, fmt: ExactFormat) -> Finite:
    """A finite bit pattern as (sign, m, e).

    Raises:
        ValueError: the pattern is an infinity or a NaN.
    """
    fraction_bits = fmt.precision - 1
    exponent = bits >> fraction_bits & 2 * fmt.emax + 1
    fraction = bits & (1 << fraction_bits) - 1
    if exponent == 2 * fmt.emax + 1:
        raise ValueError(f"0x{bits:x} is not finite")
    if exponent:
        fraction |= 1 << fraction_bits
    return bits >> fmt.width - 1, fraction, max(exponent, 1) - fmt.emax - fraction_bits


def _rounds_up(kept: int, rest: int, half: int, sign: int, rnd: str) -> bool:
    """Whether |value| = kept + rest / (2 * half) rounds away from zero."""
    if rnd == "RN":
        return rest > half or (rest == half and bool(kept & 1))
    return rest != 0 and ((rnd == "RP" and not sign) or (rnd == "RM" and bool(sign)))


def encode(sign: int, m: int, e: int, fmt: ExactFormat, rnd: str) -> int:
    """The bit pattern of (-1)**sign * m * 2**e, rounded once (RN RM RP RZ)."""
    signed = sign << fmt.width - 1
    if m == 0:
        return signed
    fraction_bits = fmt.precision - 1
    lowest = 1 - fmt.emax - fraction_bits
    drop = max(m.bit_length() - fmt.precision, lowest - e)
    if drop <= 0:
        kept = m << -drop
    else:
        kept = m >> drop
        rest = m & (1 << drop) - 1
        kept += _rounds_up(kept, rest, 1 << drop - 1, sign, rnd)
    exponent = e + drop - lowest
    # kept carries the implicit bit, which adds one to the exponent field of a normal number;
    # a carry out of the rounding moves into the exponent the same way.
    pattern = (exponent << fraction_bits) + kept
    infinity = 2 * fmt.emax + 1 << fraction_bits
    if pattern >= infinity:
        to_infinity = rnd == "RN" or rnd == ("RM" if sign else "RP")
        pattern = infinity if to_infinity else infinity - 1
    return signed | pattern


def add(a: Finite, b: Finite) -> tuple[Finite, bool]:
    """The exact sum and whether it is a zero made of operands of different sign."""
    (sa, ma, ea), (sb, mb, eb) = a, b
    low = min(ea, eb)
    total = (-ma if sa else ma) * (1 << ea - low) + (-mb if sb else mb) * (1 << eb - low)
    if total == 0:
        return (sa & sb, 0, low), sa != sb
    return (int(total < 0), abs(total), low), False


def fma(a: int, b: int, c: int | None, fmt: ExactFormat, rnd: str) -> int:
    """a * b + c (or a * b where c is None) of finite bit patterns, rounded once."""
    sa, ma, ea = decode(a, fmt)
    sb, mb, eb = decode(b, fmt)
    product = (sa ^ sb, ma * mb, ea + eb)
    if c is None:
        return encode(*product, fmt, rnd)
    (sign, m, e), cancelled = add(product, decode(c, fmt))
    if cancelled:
        sign = int(rnd == "RM")
    return encode(sign, m, e, fmt, rnd)
