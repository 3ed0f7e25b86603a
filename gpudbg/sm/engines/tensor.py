"""Tensor core arithmetic of the step engine: fragments of a warp to matrices, products, and back.

Where elements stand in registers is said in `gpudbg.sm.fragments`.  The numeric model is that of
public measurements of real devices (MMA-Sim, arXiv 2511.10909; Khattak and Mikaitis,
arXiv 2512.07004): products are exact, a block of them and the accumulator are cut at a
fixed number of bits below the largest exponent, added exactly and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.architectures import age
from gpudbg.mem.lanes import U32
from gpudbg.sm.engines import numeric
from gpudbg.sm.fragments import Multiplication, Operand, bits_of

F64s = npt.NDArray[np.float64]
I64s = npt.NDArray[np.int64]
NAN32, NAN16 = 0x7FFFFFFF, 0x7FFF


@dataclass(frozen=True, slots=True)
class Unit:
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


VOLTA = Unit(23, 8, -131, -19)
TURING = Unit(24, 16, -132, -20)
HOPPER = Unit(25, 32, -133, -21)


def unit_of(number: int) -> Unit:
    """The unit of an architecture by its number (80 for sm_80)."""
    return VOLTA if number < 75 else TURING if number < 90 else HOPPER


# ---- floating point ----------------------------------------------------------------------
_FORMATS = {"F16": (5, 10), "BF16": (8, 7), "TF32": (8, 10), "F32": (8, 23), "E4M3": (4, 3),
            "E5M2": (5, 2)}  # fmt: skip
"""Exponent and fraction bits."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Floats in parts: sign * significand * 2**(exponent - fraction bits), and what is special."""

    sign: I64s
    significand: I64s
    exponent: I64s
    fraction: int
    infinite: npt.NDArray[np.bool_]
    nan: npt.NDArray[np.bool_]


def numbers(raw: npt.NDArray[np.uint32], kind: str) -> Numbers:
    """Raw elements in parts."""
    exponent_bits, fraction = _FORMATS[kind]
    value = raw.astype(np.int64)
    if kind == "TF32":
        value >>= 13
    sign = np.where(value >> (exponent_bits + fraction) & 1, -1, 1)
    exponent = value >> fraction & ((1 << exponent_bits) - 1)
    part = value & ((1 << fraction) - 1)
    bias, top = (1 << (exponent_bits - 1)) - 1, (1 << exponent_bits) - 1
    special = exponent == top
    infinite, nan = special & (part == 0), special & (part != 0)
    if kind == "E4M3":
        nan, infinite = special & (part == 7), np.zeros_like(special)
    significand = np.where(exponent == 0, part, part | 1 << fraction)
    return Numbers(sign, significand, np.maximum(exponent, 1) - bias, fraction, infinite, nan)


def multiply(
    a: npt.NDArray[np.uint32],
    b: npt.NDArray[np.uint32],
    c: npt.NDArray[np.uint32],
    kinds: tuple[str, str],
    half_in: bool,
    half_out: bool,
    unit: Unit,
    bits: int | None = None,
) -> npt.NDArray[np.uint32]:
    """a @ b + c of raw matrices, block by block of k; the raw result.

    Args:
        kinds: element types of a and b.
        half_in, half_out: c, and the result, are f16; else f32.
        bits: fraction bits where the unit keeps fewer than usual.
    """
    x, y = numbers(a, kinds[0]), numbers(b, kinds[1])
    size = max(1, unit.block * 8 // bits_of(kinds[0]))
    held, kind = c, "F16" if half_in else "F32"
    for first in range(0, a.shape[1], size):
        part = slice(first, min(first + size, a.shape[1]))
        held = _block(_rows(x, part), _columns(y, part), numbers(held, kind), half_out, unit, bits)
        kind = "F16" if half_out else "F32"
    return held


def _rows(x: Numbers, part: slice) -> Numbers:
    sign, significand, exponent = (v[:, None, part] for v in (x.sign, x.significand, x.exponent))
    infinite, nan = x.infinite[:, None, part], x.nan[:, None, part]
    return Numbers(sign, significand, exponent, x.fraction, infinite, nan)


def _columns(y: Numbers, part: slice) -> Numbers:
    sign, significand, exponent = (v[part].T[None] for v in (y.sign, y.significand, y.exponent))
    infinite, nan = y.infinite[part].T[None], y.nan[part].T[None]
    return Numbers(sign, significand, exponent, y.fraction, infinite, nan)


def _block(
    x: Numbers, y: Numbers, c: Numbers, half: bool, unit: Unit, bits: int | None
) -> npt.NDArray[np.uint32]:
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


def _special(
    out: npt.NDArray[np.uint32], x: Numbers, y: Numbers, c: Numbers, sign: I64s, half: bool
) -> npt.NDArray[np.uint32]:
    infinite = x.infinite | y.infinite
    zero = (x.significand == 0) & ~x.nan | (y.significand == 0) & ~y.nan
    nan = (x.nan | y.nan | (infinite & zero)).any(-1) | c.nan
    up = (infinite & (sign > 0)).any(-1) | (c.infinite & (c.sign > 0))
    down = (infinite & (sign < 0)).any(-1) | (c.infinite & (c.sign < 0))
    plus, minus, none = (0x7C00, 0xFC00, NAN16) if half else (0x7F800000, 0xFF800000, NAN32)
    out = np.where(up, np.uint32(plus), np.where(down, np.uint32(minus), out))
    return np.where(nan | (up & down), np.uint32(none), out)


def _shifted(value: I64s, count: I64s) -> I64s:
    """A magnitude times 2**count, cut toward zero."""
    left = value << np.clip(count, 0, 62)
    right = value >> np.clip(-count, 0, 62)
    found: I64s = np.where(count >= 0, left, right)
    return found


def _rounded(total: I64s, scale: I64s, half: bool, fraction: int | None) -> npt.NDArray[np.uint32]:
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
    out: npt.NDArray[np.uint32] = raw.astype(np.uint32)
    return out


# ---- integers ----------------------------------------------------------------------------
def integers(raw: npt.NDArray[np.uint32], kind: str) -> I64s:
    """Raw elements as integers."""
    size, value = bits_of(kind), raw.astype(np.int64)
    return (
        np.where(value >> (size - 1) & 1, value - (1 << size), value) if kind[0] == "S" else value
    )


def multiply_integers(
    a: I64s, b: I64s, c: npt.NDArray[np.uint32], saturate: bool
) -> npt.NDArray[np.uint32]:
    """a @ b + c modulo 2**32, or clamped to 32 bits."""
    total = a @ b + c.astype(np.uint32).view(np.int32).astype(np.int64)
    if saturate:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    out: npt.NDArray[np.uint32] = total.astype(np.uint32)
    return out


# ---- instructions ------------------------------------------------------------------------
def product(
    op: str,
    modifiers: Sequence[str],
    arch: str,
    shape: Multiplication,
    a: Sequence[U32],
    b: Sequence[U32],
    c: Sequence[U32],
) -> list[U32]:
    """The registers of D = A * B + C; `a`, `b` and `c` are those of the operands of `shape`."""
    left, right, held = (
        _matrices(operand, words) for operand, words in ((shape.a, a), (shape.b, b), (shape.c, c))
    )
    layout = shape.d.layout
    assert layout is not None
    made = [
        _multiplied(op, modifiers, arch, shape, *parts)
        for parts in zip(left, right, held, strict=True)
    ]
    return layout.words(np.stack(made))


def _matrices(operand: Operand, words: Sequence[U32]) -> npt.NDArray[Any]:
    """The raw matrices of an operand, its signs applied; a word of 64 bits only for F64."""
    layout = operand.layout
    assert layout is not None
    raw = layout.matrix(words)
    sign = np.uint64(1 << (bits_of(operand.kind) - 1))
    if operand.absolute:
        raw = raw & ~sign
    if operand.negative:
        raw = raw ^ sign
    return raw if operand.kind == "F64" else raw.astype(np.uint32)


def _multiplied(
    op: str,
    modifiers: Sequence[str],
    arch: str,
    shape: Multiplication,
    left: npt.NDArray[Any],
    right: npt.NDArray[Any],
    held: npt.NDArray[Any],
) -> npt.NDArray[Any]:
    """One product of raw matrices."""
    if op == "DMMA":
        return _doubles(left, right, held)
    if op == "BMMA":
        return _bits(left, right, held, "XOR" in modifiers)
    if op == "IMMA":
        x, y = integers(left, shape.kinds[0]), integers(right, shape.kinds[1])
        return multiply_integers(x, y, held, "SAT" in modifiers)
    unit = VOLTA if shape.step >= 0 else unit_of(age(arch)[0])
    bits = 13 if op == "QMMA" and age(arch)[0] < 100 else None
    half_in, half_out = shape.addend == "F16", shape.result == "F16"
    return multiply(left, right, held, shape.kinds, half_in, half_out, unit, bits)


def _bits(
    a: npt.NDArray[np.uint32], b: npt.NDArray[np.uint32], c: npt.NDArray[np.uint32], xor: bool
) -> npt.NDArray[np.uint32]:
    """Counts of the bits of a xor b, or a and b."""
    x, y = a.astype(np.int64), b.astype(np.int64)
    both = x @ y
    if xor:
        both = x.sum(1)[:, None] + y.sum(0)[None] - 2 * both
    out: npt.NDArray[np.uint32] = (c.astype(np.int64) + both).astype(np.uint32)
    return out


def _doubles(
    left: npt.NDArray[np.uint64], right: npt.NDArray[np.uint64], held: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """f64: a chain of fused multiply-adds, k ascending."""
    rows, columns = held.shape
    for k in range(left.shape[1]):
        x = np.broadcast_to(left[:, k : k + 1], (rows, columns)).reshape(-1).copy()
        y = np.broadcast_to(right[k : k + 1], (rows, columns)).reshape(-1).copy()
        z = numeric.dfma(x, y, held.reshape(-1).copy(), "RN")
        held = np.asarray(z).view(np.uint64).reshape(rows, columns)
    return held
