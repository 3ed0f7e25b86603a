"""Reference of `mma`: fragments by the PTX ISA's formulas, arithmetic in Python integers.

Written apart from the product's model: matrices are dictionaries of exact numbers, blocks are added
as the measured rule says, one element at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

FORMATS = {
    "f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "f32": (8, 23), "e4m3": (4, 3),
    "e5m2": (5, 2), "e3m2": (3, 2), "e2m3": (2, 3), "e2m1": (2, 1),
}  # fmt: skip
BITS = {
    "b1": 1, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "f16": 16, "bf16": 16, "tf32": 32, "f32": 32,
    "s32": 32, "e4m3": 8, "e5m2": 8, "e3m2": 8, "e2m3": 8, "e2m1": 8, "f4": 4,
}  # fmt: skip


@dataclass(frozen=True)
class NotANumber:
    """NaN, whatever its payload."""


NAN = NotANumber()


@dataclass(frozen=True)
class Special:
    """Infinity with a sign."""

    sign: int


@dataclass(frozen=True)
class Real:
    """sign * significand * 2**(exponent - fraction), the exponent as the format writes it."""

    sign: int
    significand: int
    exponent: int
    fraction: int


Number = NotANumber | Special | Real


def decode(raw: int, kind: str) -> Number:
    """A pattern as a number in parts, infinity or NaN."""
    if kind == "tf32":
        raw >>= 13
    if kind == "e2m1":
        raw >>= 2  # in a byte above two zero bits
    eb, mb = FORMATS["e2m1" if kind == "f4" else kind]
    sign = -1 if raw >> (eb + mb) & 1 else 1
    e, f = raw >> mb & (1 << eb) - 1, raw & (1 << mb) - 1
    if e == (1 << eb) - 1:
        if kind == "e4m3":
            if f == 7:
                return NAN
        elif kind not in ("e3m2", "e2m3", "e2m1", "f4"):
            return NAN if f else Special(sign)
    bias = (1 << eb - 1) - 1
    return Real(sign, f | 1 << mb if e else f, max(e, 1) - bias, mb)


@dataclass(frozen=True)
class Unit:
    """Fraction bits, bytes of a block, floors of exponents, bits of an f32 result."""

    bits: int
    block: int
    floor: dict[str, int]
    result: int = 23


def unit(target: str, op: str) -> Unit:
    """The numbers measured for a generation and an instruction."""
    number = int("".join(c for c in target if c.isdigit()))
    if number < 75 or op == "884":
        return Unit(23, 8, {"f32": -131, "f16": -19})
    if number < 90:
        if op == "fp8":
            return Unit(13, 16, {"f32": -132, "f16": -20}, 13)
        return Unit(24, 16, {"f32": -132, "f16": -20})
    return Unit(25, 32, {"f32": -133, "f16": -21})


def block(c: Number, pairs: Iterable[tuple[Number, Number]], out: str, how: Unit) -> int:
    """One block: the accumulator (decoded) and pairs of numbers; the result's pattern."""
    eb, mb = FORMATS[out]
    infinity, nan = ((1 << eb) - 1) << mb, 0x7FFF if out == "f16" else 0x7FFFFFFF
    top_sign = 1 << eb + mb
    signs, terms = set(), []
    for a, b in pairs:
        if isinstance(a, NotANumber) or isinstance(b, NotANumber):
            return nan
        if isinstance(a, Special) or isinstance(b, Special):
            if any(isinstance(v, Real) and v.significand == 0 for v in (a, b)):
                return nan
            signs.add(a.sign * b.sign)
        elif a.significand and b.significand:
            terms.append(
                (
                    a.sign * b.sign,
                    a.significand * b.significand,
                    a.exponent + b.exponent,
                    a.fraction + b.fraction,
                )
            )
    if isinstance(c, NotANumber):
        return nan
    if isinstance(c, Special):
        signs.add(c.sign)
    elif c.significand:
        terms.append((c.sign, c.significand, c.exponent, c.fraction))
    if len(signs) == 2:
        return nan
    if signs:
        return infinity | (top_sign if signs == {-1} else 0)
    if not terms:
        return 0
    top = max([how.floor[out], *(t[2] for t in terms)])
    total = 0
    for sign, significand, exponent, fraction in terms:
        scaled = Fraction(significand) * Fraction(2) ** (how.bits + exponent - fraction - top)
        total += sign * int(scaled)
    return encode(Fraction(total) * Fraction(2) ** (top - how.bits), out, how)


def encode(value: Fraction, out: str, how: Unit) -> int:
    """f32 cut toward zero, f16 to nearest even; beyond the range infinity."""
    eb, mb = FORMATS[out]
    if value == 0:
        return 0
    sign, size = (1 << eb + mb if value < 0 else 0), abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    lowest = 2 - (1 << eb - 1)
    exponent = max(exponent, lowest)
    places = how.result if out == "f32" else mb
    units = size / Fraction(2) ** (exponent - places)
    kept = int(units)
    if out == "f16" and (
        units - kept > Fraction(1, 2) or (units - kept == Fraction(1, 2) and kept & 1)
    ):
        kept += 1
    number = Fraction(kept) * Fraction(2) ** (exponent - places)
    if number >= Fraction(2) ** (1 << eb - 1):
        return sign | ((1 << eb) - 1) << mb
    if number == 0:
        return sign
    while number >= Fraction(2) ** (exponent + 1):
        exponent += 1
    whole = int(number / Fraction(2) ** (exponent - mb))
    if whole < 1 << mb:
        return sign | whole
    return sign | (exponent - lowest + 1) << mb | whole - (1 << mb)


# ---- where elements are ------------------------------------------------------------------
def place_a(row: int, k: int, per: int) -> tuple[int, int, int]:
    """(lane, register, element) of A[row][k]; `per` elements a register."""
    return 4 * (row & 7) + k // per % 4, (row >> 3) + 2 * (k // (4 * per)), k % per


def place_a8(row: int, k: int, per: int) -> tuple[int, int, int]:
    """The same of eight rows."""
    return 4 * row + k // per % 4, k // (4 * per), k % per


def place_b(k: int, column: int, per: int) -> tuple[int, int, int]:
    """Of B[k][column]."""
    return 4 * column + k // per % 4, k // (4 * per), k % per


def place_c(row: int, column: int, half: bool) -> tuple[int, int, int]:
    """Of C and D."""
    lane = 4 * (row & 7) + (column >> 1)
    return (lane, row >> 3, column & 1) if half else (lane, 2 * (row >> 3) + (column & 1), 0)


def scale(raw: int, kind: str) -> Number:
    """A scale factor: 2**(n - 127) without a NaN, or e4m3 without its sign."""
    if kind == "ue8m0":
        return NAN if raw == 255 else Real(1, 1, raw - 127, 0)
    return decode(raw & 0x7F, "e4m3")


def times(x: Number, factor: Number) -> Number:
    """A finite number by a factor."""
    if isinstance(x, NotANumber) or isinstance(factor, NotANumber):
        return NAN
    if isinstance(x, Special):
        return x
    assert isinstance(factor, Real), "a scale is finite"
    return Real(
        x.sign * factor.sign,
        x.significand * factor.significand,
        x.exponent + factor.exponent,
        x.fraction + factor.fraction,
    )


Words = list[list[int]]
"""Registers of each lane."""


def element(words: Words, place: tuple[int, int, int], bits: int) -> int:
    """One element of a fragment."""
    lane, register, number = place
    return words[lane][register] >> bits * number & (1 << bits) - 1


def metadata(words: list[int], selector: int, row: int, chunk: int, bits: int, chunks: int) -> int:
    """The nibble that describes a chunk of a row of sparse A."""
    quad, upper = 4 * (row % 8), row // 8
    if bits >= 16:
        lane = quad + selector if chunks == 4 else quad + 2 * selector + chunk // 4
        return words[lane] >> 16 * upper + 4 * (chunk % 4) & 15
    lane = quad + upper + (2 * selector if chunks == 8 else 2 * (chunk // 8))
    return words[lane] >> 4 * (chunk % 8) & 15


def integer(raw: int, kind: str) -> int:
    """An integer element."""
    bits = BITS[kind]
    return raw - (1 << bits) if kind[0] == "s" and raw >> bits - 1 else raw


def columns(words: list[int], selector: int, row: int, kind: str, depth: int) -> list[int]:
    """Column of every stored element of a row; `depth` columns in all."""
    bits = BITS[kind]
    width = {4: 8, 32: 2}.get(bits, 4)
    found = []
    for chunk in range(depth // width):
        nibble = metadata(words, selector, row, chunk, bits, depth // width)
        first, second = nibble & 3, nibble >> 2
        if bits == 32:
            found.append(2 * chunk + (first >> 1))
        elif bits == 4:
            found += [8 * chunk + 2 * f + h for f in (first, second) for h in (0, 1)]
        else:
            found += [4 * chunk + first, 4 * chunk + second]
    return found
