"""Tensor core arithmetic of the step engine: fragments of a warp to matrices, products, and back.

Layouts: PTX ISA, matrix fragments of `mma`; the numeric model is that of public measurements of
real devices (MMA-Sim, arXiv 2511.10909; Khattak and Mikaitis, arXiv 2512.07004): products are
exact, a block of them and the accumulator are cut at a fixed number of bits below the largest
exponent, added exactly and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpudbg.architectures import age
from gpudbg.mem.lanes import U32
from gpudbg.sm.engines import numeric

F64s = npt.NDArray[np.float64]
I64s = npt.NDArray[np.int64]
NAN32, NAN16 = 0x7FFFFFFF, 0x7FFF
LANES = np.arange(32)
GROUP, THREAD = LANES >> 2, LANES & 3


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


# ---- fragments ---------------------------------------------------------------------------
def bits_of(kind: str) -> int:
    """Bits of an element."""
    return {"TF32": 32, "F32": 32, "S4": 4, "U4": 4, "B1": 1}.get(
        kind, 8 if kind[-1:] == "8" else 16
    )


def elements(words: Sequence[U32], kind: str) -> npt.NDArray[np.uint32]:
    """Raw elements of registers, shape (registers, elements of a register, 32)."""
    size = bits_of(kind)
    stack = np.stack([np.broadcast_to(w, 32) for w in words]).astype(np.uint32)
    if size == 32:
        return stack[:, None, :]
    shifts = np.arange(32 // size, dtype=np.uint32) * np.uint32(size)
    mask = np.uint32((1 << size) - 1)
    raw: npt.NDArray[np.uint32] = stack[:, None, :] >> shifts[None, :, None] & mask
    return raw


def matrix_a(words: Sequence[U32], kind: str, rows: int) -> npt.NDArray[np.uint32]:
    """The raw matrix A of a fragment, shape (rows, k)."""
    raw = elements(words, kind)
    count, per, _ = raw.shape
    blocks = count if rows == 8 else count // 2
    out = np.zeros((rows, blocks * 4 * per), np.uint32)
    for i in range(count):
        row = GROUP if rows == 8 else GROUP + 8 * (i & 1)
        first = (i if rows == 8 else i >> 1) * 4 * per + THREAD * per
        for h in range(per):
            out[row, first + h] = raw[i, h]
    return out


def matrix_b(words: Sequence[U32], kind: str) -> npt.NDArray[np.uint32]:
    """The raw matrix B of a fragment, shape (k, 8)."""
    raw = elements(words, kind)
    count, per, _ = raw.shape
    out = np.zeros((count * 4 * per, 8), np.uint32)
    for i in range(count):
        for h in range(per):
            out[i * 4 * per + THREAD * per + h, GROUP] = raw[i, h]
    return out


def matrix_c(words: Sequence[U32], half: bool, rows: int) -> npt.NDArray[np.uint32]:
    """The raw accumulator of a fragment, shape (rows, 8)."""
    raw = elements(words, "F16" if half else "F32")
    out = np.zeros((rows, 8), np.uint32)
    for i in range(len(words)):
        if half:
            for h in range(2):
                out[GROUP + 8 * i, 2 * THREAD + h] = raw[i, h]
        else:
            out[GROUP + 8 * (i >> 1), 2 * THREAD + (i & 1)] = raw[i, 0]
    return out


def fragment_d(matrix: npt.NDArray[np.uint32], half: bool) -> list[U32]:
    """A result matrix as registers."""
    rows = matrix.shape[0]
    if half:
        return [
            (
                matrix[GROUP + 8 * i, 2 * THREAD] | matrix[GROUP + 8 * i, 2 * THREAD + 1] << 16
            ).astype(np.uint32)
            for i in range(rows // 8)
        ]
    return [
        matrix[GROUP + 8 * (i >> 1), 2 * THREAD + (i & 1)].astype(np.uint32)
        for i in range(rows // 4)
    ]


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
@dataclass(frozen=True, slots=True)
class Fragment:
    """An operand: its registers, and signs that are applied to every element."""

    words: tuple[U32, ...]
    negative: bool = False
    absolute: bool = False


def product(
    op: str,
    modifiers: Sequence[str],
    arch: str,
    kinds: tuple[str, str],
    shape: str,
    a: Fragment,
    b: Fragment,
    c: Fragment,
) -> list[U32]:
    """The registers of D = A * B + C."""
    if op == "DMMA":
        return _doubles(a, b, c)
    rows = 16 if shape.startswith("16") else 8
    if op in ("IMMA", "BMMA"):
        held = matrix_c(c.words, False, rows)
        left, right = matrix_a(a.words, kinds[0], rows), matrix_b(b.words, kinds[1])
        if op == "BMMA":
            return fragment_d(_bits(left, right, held, "XOR" in modifiers), False)
        saturate = "SAT" in modifiers
        x, y = integers(left, kinds[0]), integers(right, kinds[1])
        return fragment_d(multiply_integers(x, y, held, saturate), False)
    half = "F32" not in modifiers
    left, right = matrix_a(a.words, kinds[0], rows), matrix_b(b.words, kinds[1])
    if a.negative:
        left = left ^ np.uint32(1 << (bits_of(kinds[0]) - 1))
    if b.negative:
        right = right ^ np.uint32(1 << (bits_of(kinds[1]) - 1))
    held = matrix_c(c.words, half, rows)
    unit = unit_of(age(arch)[0])
    bits = 13 if op == "QMMA" and age(arch)[0] < 100 else None
    return fragment_d(multiply(left, right, held, kinds, half, half, unit, bits), half)


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


def _doubles(a: Fragment, b: Fragment, c: Fragment) -> list[U32]:
    """8x8x4 of f64: a chain of fused multiply-adds, k ascending."""

    def values(fragment: Fragment) -> list[F64s]:
        out = []
        for n in range(0, len(fragment.words), 2):
            low, high = (np.broadcast_to(w, 32) for w in fragment.words[n : n + 2])
            wide = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
            number = wide.view(np.float64)
            number = np.abs(number) if fragment.absolute else number
            out.append(-number if fragment.negative else number)
        return out

    left, right = np.zeros((8, 4)), np.zeros((4, 8))
    left[GROUP, THREAD], right[THREAD, GROUP] = values(a)[0], values(b)[0]
    held = np.zeros((8, 8))
    for j, value in enumerate(values(c)):
        held[GROUP, 2 * THREAD + j] = value
    for k in range(4):
        x = np.broadcast_to(left[:, k : k + 1], (8, 8)).reshape(-1).copy().view(np.uint64)
        y = np.broadcast_to(right[k : k + 1], (8, 8)).reshape(-1).copy().view(np.uint64)
        z = held.reshape(-1).copy().view(np.uint64)
        held = numeric.dfma(x, y, z, "RN").view(np.float64).reshape(8, 8)
    out: list[U32] = []
    for j in range(2):
        raw = held[GROUP, 2 * THREAD + j].copy().view(np.uint64)
        out += [raw.astype(np.uint32), (raw >> np.uint64(32)).astype(np.uint32)]
    return out
