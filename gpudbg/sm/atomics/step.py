"""Read-modify-write operations: (operation, type) to a function of old value and operands.

Integers follow PTX `atom`; f32 addition rounds to nearest and flushes subnormals (*documented*
for global memory); NaN results are canonical.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from gpudbg.sm.engines import numeric

Update = Callable[[int, int], int]

SIZES = {
    "U32": 4, "S32": 4, "U64": 8, "S64": 8, "F32": 4, "F32_DENORMAL": 4, "F16x2": 4, "BF16x2": 4,
    "F64": 8,
}  # fmt: skip
"""Bytes of each type."""


_F32, _U32 = struct.Struct("<f"), struct.Struct("<I")
_F64, _U64 = struct.Struct("<d"), struct.Struct("<Q")
_F32_EXPONENT = 0x7F80_0000
_F32_SIGN = 0x8000_0000
F32_NAN = 0x7FFF_FFFF


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _bits_of(type_: str) -> int:
    return 8 * SIZES[type_]


def _order(type_: str) -> Callable[[int], int]:
    """The key by which MIN and MAX compare patterns of a type."""
    bits = _bits_of(type_)
    return (lambda v: _signed(v, bits)) if type_[0] == "S" else (lambda v: v)


def _flushed_f32(bits: int) -> float:
    """An f32 as a float, subnormals as zero of the same sign."""
    if not bits & _F32_EXPONENT:
        bits &= _F32_SIGN
    return float(_F32.unpack(_U32.pack(bits))[0])


def _f32_bits(value: float) -> int:
    """f64 to f32 to nearest; exact for a sum of two f32, for which double rounding is harmless."""
    if value != value:
        return F32_NAN
    try:
        return int(_U32.unpack(_F32.pack(value))[0])
    except OverflowError:
        return _F32_EXPONENT | (_F32_SIGN if value < 0 else 0)


def _add_f32(old: int, b: int) -> int:
    """f32 addition to nearest, operands and result flushed."""
    bits = _f32_bits(_flushed_f32(old) + _flushed_f32(b))
    return bits if bits & _F32_EXPONENT else bits & _F32_SIGN


def _single(bits: int) -> float:
    return float(_F32.unpack(_U32.pack(bits))[0])


def _add_f32_denormal(old: int, b: int) -> int:
    return _f32_bits(_single(old) + _single(b))


def _add_f64(old: int, b: int) -> int:
    x, y = _F64.unpack(_U64.pack(old))[0], _F64.unpack(_U64.pack(b))[0]
    total = x + y
    if total != total:
        # A NaN operand is returned unchanged, signalling ones too (measured on H100).
        return old if x != x else b if y != y else int(numeric.F64_NAN)
    return int(_U64.unpack(_F64.pack(total))[0])


def _half(bits: int) -> float:
    return float(struct.unpack("<e", struct.pack("<H", bits))[0])


def _half_bits(value: float) -> int:
    wide = np.array([value], np.float64).view(np.uint64)
    return int(numeric.f64_to_f16(wide, "RN")[0])


def _brain(bits: int) -> float:
    return _single(bits << 16)


def _brain_bits(value: float) -> int:
    """An exact sum of two bf16, rounded once."""
    if value != value:
        return 0x7FFF
    down = int(np.array([value]).view(np.uint64)[0])
    exact = numeric.f64_to_f32(np.array([down], np.uint64), "RZ")
    bits = int(exact[0])
    bits |= _single(bits) != value
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def _halves(
    operate: Callable[[float, float], float],
    read: Callable[[int], float] = _half,
    made: Callable[[float], int] = _half_bits,
) -> Update:
    """Apply an operation to both halves; a NaN operand of MIN and MAX loses."""

    def update(old: int, b: int) -> int:
        low = made(operate(read(old & 0xFFFF), read(b & 0xFFFF)))
        high = made(operate(read(old >> 16), read(b >> 16)))
        return high << 16 | low

    return update


def _half_min(a: float, b: float) -> float:
    if a != a or b != b:
        return b if a != a else a
    return min((a, b), key=lambda v: (v, np.copysign(1.0, v)))


def _half_max(a: float, b: float) -> float:
    if a != a or b != b:
        return b if a != a else a
    return max((a, b), key=lambda v: (v, np.copysign(1.0, v)))


def _arrive(old: int, _: int) -> int:
    """An arrival at an mbarrier word of sm_80 to sm_89: the last one begins the next phase.

    Low word: minus the expected arrivals, in 30 bits; high word: the phase in bit 31, minus the
    pending ones below (*inferred* from compiled code).
    """
    low, high = old & 0xFFFF_FFFF, (old >> 32) + 1 & 0xFFFF_FFFF
    if high & 0x7FFF_FFFF == 0:
        again = low & 0x3FFF_FFFF | (0x4000_0000 if low >> 29 & 1 else 0)
        high |= again
    return high << 32 | low


def _table() -> dict[tuple[str, str], Update]:
    table: dict[tuple[str, str], Update] = {}
    for type_ in ("U32", "S32", "U64", "S64"):
        top = (1 << _bits_of(type_)) - 1
        key = _order(type_)
        table["ADD", type_] = lambda old, b, top=top: (old + b) & top  # type: ignore[misc]
        table["MIN", type_] = lambda old, b, key=key: min(old, b, key=key)  # type: ignore[misc]
        table["MAX", type_] = lambda old, b, key=key: max(old, b, key=key)  # type: ignore[misc]
        table["AND", type_] = lambda old, b: old & b
        table["OR", type_] = lambda old, b: old | b
        table["XOR", type_] = lambda old, b: old ^ b
        table["EXCH", type_] = lambda old, b: b
    table["ARRIVE", "U64"] = _arrive
    table["INC", "U32"] = lambda old, b: 0 if old >= b else old + 1
    table["DEC", "U32"] = lambda old, b: b if old == 0 or old > b else old - 1
    table["ADD", "F32"] = _add_f32
    table["ADD", "F32_DENORMAL"] = _add_f32_denormal
    table["ADD", "F64"] = _add_f64
    table["ADD", "BF16x2"] = _halves(lambda a, b: a + b, _brain, _brain_bits)
    table["MIN", "BF16x2"] = _halves(_half_min, _brain, _brain_bits)
    table["MAX", "BF16x2"] = _halves(_half_max, _brain, _brain_bits)
    table["ADD", "F16x2"] = _halves(lambda a, b: a + b)
    table["MIN", "F16x2"] = _halves(_half_min)
    table["MAX", "F16x2"] = _halves(_half_max)
    return table


UPDATES = _table()
"""(operation, type) -> new value of (old, operand); CAS is not here: it has two operands."""
