"""Tensor core arithmetic of the step engine: products of raw matrices.

Where elements stand in registers is said in `gpudbg.sm.fragments`.  The numeric model is that of
public measurements of real devices (MMA-Sim, arXiv 2511.10909; Khattak and Mikaitis,
arXiv 2512.07004): products are exact, a block of them and the accumulator are cut at a
fixed number of bits below the largest exponent, added exactly and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.sm.fragments import bits_of

Raw = npt.NDArray[np.uint32]
I64s = npt.NDArray[np.int64]
NAN32, NAN16 = 0x7FFFFFFF, 0x7FFF


@dataclass(frozen=True, slots=True)
class ProductUnit:
    """How one generation adds.

    Attributes:
        bits: fraction bits kept below the largest exponent of a block.
        block: bytes of a row of A in a block.
        floor32, floor16: least exponent of a block, for f32 and f16 results.
    """

    bits: int
    block: int
    floor32: int
    floor16: int


VOLTA = ProductUnit(23, 8, -131, -19)
TURING = ProductUnit(24, 16, -132, -20)
HOPPER = ProductUnit(25, 32, -133, -21)
NARROW_BITS = 13
"""Fraction bits that QMMA of sm_89 and QGMMA keep of a block."""


def unit_of(number: int) -> ProductUnit:
    """The unit of an architecture by its number (80 for sm_80)."""
    return VOLTA if number < 75 else TURING if number < 90 else HOPPER


# ---- floating point ----------------------------------------------------------------------
_FORMATS = {
    "F16": (5, 10), "BF16": (8, 7), "TF32": (8, 10), "F32": (8, 23), "E4M3": (4, 3),
    "E5M2": (5, 2), "E3M2": (3, 2), "E2M3": (2, 3), "E2M1": (2, 3), "F4": (2, 1),
}  # fmt: skip
"""Exponent and fraction bits.  E2M1 in a byte has its bits where E2M3 has them, above two zeros."""
_FINITE = frozenset(("E3M2", "E2M3", "E2M1", "F4"))
"""Formats without infinity and NaN."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Floats in parts: sign * significand * 2**(exponent - fraction bits), and what is special."""

    sign: I64s
    significand: I64s
    exponent: I64s
    fraction: int
    infinite: npt.NDArray[np.bool_]
    nan: npt.NDArray[np.bool_]

    def moved(self, view: Callable[[Any], Any]) -> Numbers:
        """The same numbers in another shape."""
        return Numbers(
            view(self.sign),
            view(self.significand),
            view(self.exponent),
            self.fraction,
            view(self.infinite),
            view(self.nan),
        )

    def negated(self) -> Numbers:
        """The numbers with the other sign."""
        return replace(self, sign=-self.sign)

    def times(self, scale: Numbers) -> Numbers:
        """The exact products with scale factors; of a NaN factor NaN."""
        return Numbers(
            self.sign * scale.sign,
            self.significand * scale.significand,
            self.exponent + scale.exponent,
            self.fraction + scale.fraction,
            self.infinite,
            self.nan | scale.nan,
        )


def numbers(raw: Raw, kind: str) -> Numbers:
    """Raw elements in parts."""
    exponent_bits, fraction = _FORMATS[kind]
    value = raw.astype(np.int64)
    if kind == "TF32":
        value >>= 13
    sign = np.where(value >> (exponent_bits + fraction) & 1, -1, 1)
    exponent = value >> fraction & ((1 << exponent_bits) - 1)
    part = value & ((1 << fraction) - 1)
    bias, top = (1 << (exponent_bits - 1)) - 1, (1 << exponent_bits) - 1
    special = (exponent == top) & (kind not in _FINITE)
    infinite, nan = special & (part == 0), special & (part != 0)
    if kind == "E4M3":
        nan, infinite = special & (part == 7), np.zeros_like(special)
    significand = np.where(exponent == 0, part, part | 1 << fraction)
    return Numbers(sign, significand, np.maximum(exponent, 1) - bias, fraction, infinite, nan)


def scale_numbers(raw: Raw, kind: str) -> Numbers:
    """Scale factors without a sign: E8 (2**(n - 127), 0xff NaN) or UE4M3."""
    if kind == "UE4M3":
        return numbers(raw & np.uint32(0x7F), "E4M3")
    ones = np.ones(raw.shape, np.int64)
    nan = raw == 0xFF
    return Numbers(ones, ones, raw.astype(np.int64) - 127, 0, np.zeros_like(nan), nan)


def multiply(
    a: Raw,
    b: Raw,
    c: Raw,
    kinds: tuple[str, str],
    half_in: bool,
    half_out: bool,
    unit: ProductUnit,
    bits: int | None = None,
) -> Raw:
    """a @ b + c of raw matrices, block by block of k; the raw result.

    Args:
        a: shape (rows, k).
        b: shape (k, columns), or (rows, k, columns) where each row of a has its own.
        kinds: element types of a and b.
        half_in, half_out: c, and the result, are f16; else f32.
        bits: fraction bits where the unit keeps fewer than usual.
    """
    return multiply_numbers(
        numbers(a, kinds[0]), numbers(b, kinds[1]), c, half_in, half_out, unit, kinds[0], bits
    )


def multiply_numbers(
    x: Numbers,
    y: Numbers,
    c: Raw,
    half_in: bool,
    half_out: bool,
    unit: ProductUnit,
    kind: str,
    bits: int | None = None,
) -> Raw:
    """`multiply` of numbers in parts; `kind` is the type of a's elements."""
    size = max(1, unit.block * 8 // bits_of(kind))
    plain = not (x.infinite.any() or x.nan.any() or y.infinite.any() or y.nan.any())
    if plain and x.sign.ndim == y.sign.ndim == c.ndim == 2:
        found = _multiply_finite(x, y, c, (half_in, half_out), unit, size, bits)
        if found is not None:
            return found
    x, y = x.moved(lambda v: v[..., None, :]), y.moved(lambda v: np.swapaxes(v, -1, -2))
    held, held_kind = c, "F16" if half_in else "F32"
    for first in range(0, x.sign.shape[-1], size):

        def part(v: I64s, first: int = first) -> I64s:
            return v[..., first : first + size]

        held = _block(x.moved(part), y.moved(part), numbers(held, held_kind), half_out, unit, bits)
        held_kind = "F16" if half_out else "F32"
    return held


_NOTHING = -4096
"""In place of a zero's exponent."""


def _multiply_finite(
    x: Numbers, y: Numbers, c: Raw, halves: tuple[bool, bool], unit: ProductUnit, size: int,
    bits: int | None,
) -> Raw | None:  # fmt: skip
    """`multiply_numbers` of finite matrices, in doubles: products and sums are exact in them.

    None where an accumulator is not finite.
    """
    keep = unit.bits if bits is None else bits
    floor = unit.floor16 if halves[1] else unit.floor32
    a, a_exponent = (v.T[:, :, None] for v in _doubles(x))
    b, b_exponent = (v[:, None, :] for v in _doubles(y))
    held, half = c, halves[0]
    for first in range(0, a.shape[0], size):
        part = slice(first, first + size)
        add = numbers(held, "F16" if half else "F32")
        if add.infinite.any() or add.nan.any():
            return None
        third, third_exponent = _doubles(add)
        top = (a_exponent[part] + b_exponent[part]).max(0)
        top = np.maximum(np.maximum(top, third_exponent), np.int16(floor)).astype(np.int64)
        scale = np.ldexp(1.0, keep - top)
        products = a[part] * b[part]
        products *= scale
        np.trunc(products, out=products)
        total = (products.sum(0) + np.trunc(third * scale)).astype(np.int64)
        fraction = 13 if bits is not None and not halves[1] else None
        held, half = _rounded(total, top - keep, halves[1], fraction), halves[1]
    return held


def _doubles(parts: Numbers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int16]]:
    """Finite numbers as doubles, and their exponents."""
    value = np.ldexp(
        (parts.sign * parts.significand).astype(np.float64), parts.exponent - parts.fraction
    )
    exponent = np.where(parts.significand == 0, _NOTHING, parts.exponent).astype(np.int16)
    return value, exponent


def _block(
    x: Numbers, y: Numbers, c: Numbers, half: bool, unit: ProductUnit, bits: int | None
) -> Raw:
    """One block of products and an accumulator, rounded once."""
    keep = unit.bits if bits is None else bits
    product = x.significand * y.significand
    sign = x.sign * y.sign
    exponent = x.exponent + y.exponent
    # A product's exponent is that of its factors, subnormal ones as they are written.
    places = x.fraction + y.fraction
    nonzero, there = product != 0, c.significand != 0
    floor = unit.floor16 if half else unit.floor32
    least = np.int64(-(1 << 40))
    top = np.where(nonzero, exponent, least).max(-1, initial=least)
    top = np.maximum(np.maximum(top, np.where(there, c.exponent, least)), floor)
    cut = _shifted(product, keep - places + exponent - top[..., None])
    third = _shifted(c.significand, keep - c.fraction + c.exponent - top)
    total = (sign * cut).sum(-1) + c.sign * third
    out = _rounded(total, top - keep, half, 13 if bits is not None and not half else None)
    return _special(out, x, y, c, sign, half)


def _special(out: Raw, x: Numbers, y: Numbers, c: Numbers, sign: I64s, half: bool) -> Raw:
    infinite = x.infinite | y.infinite
    zero = (x.significand == 0) & ~x.nan | (y.significand == 0) & ~y.nan
    nan = (x.nan | y.nan | (infinite & zero)).any(-1) | c.nan
    up = (infinite & (sign > 0)).any(-1) | (c.infinite & (c.sign > 0))
    down = (infinite & (sign < 0)).any(-1) | (c.infinite & (c.sign < 0))
    plus, minus, none = (0x7C00, 0xFC00, NAN16) if half else (0x7F800000, 0xFF800000, NAN32)
    out = np.where(up, np.uint32(plus), np.where(down, np.uint32(minus), out))
    return np.where(nan | (up & down), np.uint32(none), out)


def finite(raw: Raw, half: bool) -> Raw:
    """`.SATFINITE`: the largest number for infinity, zero for NaN (documented for `mma_sync`)."""
    sign, infinity = (0x8000, 0x7C00) if half else (0x8000_0000, 0x7F80_0000)
    size = raw & np.uint32(sign - 1)
    out = np.where(size == infinity, raw - np.uint32(1), raw)
    return np.where(size > infinity, np.uint32(0), out)


def _shifted(value: I64s, count: I64s) -> I64s:
    """A magnitude times 2**count, cut toward zero."""
    left = value << np.clip(count, 0, 62)
    right = value >> np.clip(-count, 0, 62)
    found: I64s = np.where(count >= 0, left, right)
    return found


def _rounded(total: I64s, scale: I64s, half: bool, fraction: int | None) -> Raw:
    """total * 2**scale as raw f32 (cut toward zero) or f16 (to nearest even)."""
    exponent_bits, places = (5, 10) if half else (8, 23)
    bias = (1 << (exponent_bits - 1)) - 1
    sign = (total < 0).astype(np.int64)
    size = np.abs(total)
    # The index of the highest bit: frexp is exact for what fits 53 bits, and sums do.
    _, length = np.frexp(size.astype(np.float64))
    exponent = length.astype(np.int64) - 1 + scale
    least = np.maximum(exponent, 1 - bias)
    # Bits below the last place of the result, which is 2**(least - places).
    drop = least - (places if fraction is None else min(fraction, places)) - scale
    kept = _shifted(size, -drop)
    if half:
        rest = size - _shifted(kept, drop)
        middle = _shifted(np.ones_like(size), drop - 1)
        up = (drop > 0) & ((rest > middle) | ((rest == middle) & (kept & 1 == 1)))
        kept = kept + up
    if fraction is not None:
        kept = kept << (places - fraction)
    raw = kept + (np.maximum(least + bias - 1, 0) << places)
    raw = np.where(least == 1 - bias, kept, raw)
    most = ((1 << exponent_bits) - 1) << places
    raw = np.minimum(raw, most)
    raw = np.where(size == 0, 0, raw | sign << (exponent_bits + places))
    out: Raw = raw.astype(np.uint32)
    return out


# ---- integers ----------------------------------------------------------------------------
def integers(raw: Raw, kind: str) -> I64s:
    """Raw elements as integers."""
    size, value = bits_of(kind), raw.astype(np.int64)
    return (
        np.where(value >> (size - 1) & 1, value - (1 << size), value) if kind[0] == "S" else value
    )


def multiply_integers(a: I64s, b: I64s, c: Raw, saturate: bool) -> Raw:
    """a @ b + c modulo 2**32, or clamped to 32 bits; b as in `multiply`."""
    total = (a[:, None, :] @ b)[:, 0] + c.astype(np.uint32).view(np.int32).astype(np.int64)
    if saturate:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    out: Raw = total.astype(np.uint32)
    return out


def multiply_bits(a: Raw, b: Raw, c: Raw, xor: bool) -> Raw:
    """c plus the counts of the bits of a xor b, or a and b."""
    x, y = a.astype(np.int64), b.astype(np.int64)
    both = x @ y
    if xor:
        both = x.sum(1)[:, None] + y.sum(0)[None] - 2 * both
    out: Raw = (c.astype(np.int64) + both).astype(np.uint32)
    return out
