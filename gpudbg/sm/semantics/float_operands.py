"""Operands, modifiers and condition codes of floating-point instructions: shared by fp32, fp64,
half and convert.

Values are bit patterns throughout: `|x|` and `-x` act on the sign bit, a NaN keeps its payload
until an operation sees it (inferred: compilers rely on it).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.sm.semantics.machine import Machine, Mask, Rounding, Value, Wide
from gpudbg.sm.semantics.operands import Insn, Source, raw, raw_pair, write_cc

F32_SIGN = 0x80000000
F32_ONE = 0x3F800000
F32_NAN = 0x7FFFFFFF
F64_SIGN = 0x8000_0000_0000_0000
F64_MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF
F64_ONE = 0x3FF0_0000_0000_0000
F64_QUIET = 0x0008_0000_0000_0000
F16_SIGN = 0x8000
F16_EXPONENT = 0x7C00
F16_ONE = 0x3C00
F16_LEAST = 0x3F10_0000_0000_0000
"""2**-14, the least normal f16, as f64."""
F16_TINY = 0x3F0F_FE00_0000_0000
"""2**-14 - 2**-26 as f64: smaller magnitudes round to less than the least normal f16."""


def rounding(i: Insn) -> Rounding:
    """The instruction's rounding; forms without the field round to nearest."""
    chosen: Rounding = i.m["rnd"] or "RN"
    return chosen


def flushes(i: Insn) -> bool:
    """`.FTZ` or `.FMZ`: subnormal operands and results become zeros of the same sign."""
    return i.m["ftz"] in ("FTZ", "FMZ")


# ---- f32 ---------------------------------------------------------------------------------


def f32_src(m: Machine, operand: Source, flush: bool = False) -> Value:
    """The operand as f32: `|x|`, then `-x`, then flushed if asked."""
    value = signs32(m, operand, raw(m, operand), F32_SIGN)
    return m.ftz(value) if flush else value


def signs32(m: Machine, operand: Source, value: Value, signs: int) -> Value:
    """`|x|` and then `-x` on a value whose sign bits are those set in `signs`."""
    if operand.abs:
        value = m.and_(value, ~signs & 0xFFFFFFFF)
    return m.xor(value, signs) if operand.neg else value


def f32_sat(m: Machine, value: Value) -> Value:
    """`.SAT`: clamp to [0, 1]; NaN and -0 become +0 (ptxas folds it so)."""
    positive = m.select(m.flt(0, value), value, 0)
    return m.select(m.flt(F32_ONE, positive), F32_ONE, positive)


def f32_result(m: Machine, i: Insn, value: Value) -> Value:
    """The result after saturation; its `.CC` is written.  Flushing comes before."""
    if i.m["sat"]:
        value = f32_sat(m, value)
    if i.m["cc"]:
        float_cc(m, m.feq(value, 0), m.flt(value, 0), m.fnan(value))
    return value


def float_cc(m: Machine, zero: Mask, negative: Mask, nan: Mask) -> None:
    """Flags of a float result: Z = zero or NaN, S = negative or NaN, C and O clear (inferred)."""
    none = m.false()
    write_cc(m, m.mor(zero, nan), m.mor(negative, nan), none, none)


def f32_is_zero(m: Machine, a: Value, b: Value) -> Mask:
    """Where either factor is a zero: the lanes in which `.FMZ` makes a product 0."""
    return m.mor(m.feq(a, 0), m.feq(b, 0))


# ---- f64 ---------------------------------------------------------------------------------


def f64_src(m: Machine, operand: Source) -> Wide:
    """The operand as f64: `|x|`, then `-x`."""
    value = raw_pair(m, operand)
    if operand.abs:
        value = m.wand(value, F64_MAGNITUDE)
    if operand.neg:
        value = m.wxor(value, F64_SIGN)
    return value


def f64_cc(m: Machine, i: Insn, value: Wide) -> None:
    """`.CC` of an f64 result."""
    if i.m["cc"]:
        float_cc(m, m.deq(value, 0), m.dlt(value, 0), m.dnan(value))


def f64_sat(m: Machine, value: Wide) -> Wide:
    """Clamp to [0, 1]; NaN and -0 become +0."""
    positive = m.wselect(m.dlt(0, value), value, 0)
    return m.wselect(m.dlt(F64_ONE, positive), F64_ONE, positive)


# ---- f16 ---------------------------------------------------------------------------------


def f16_ftz(m: Machine, half: Value) -> Value:
    """An f16 (upper 16 bits clear) with subnormals flushed to zero of the same sign."""
    subnormal = m.eq(m.and_(half, F16_EXPONENT), 0)
    return m.select(subnormal, m.and_(half, F16_SIGN), half)


@dataclass(frozen=True, slots=True)
class Halves:
    """Two operand values: as exact f64, whatever they were, and whether they came from f32."""

    low: Wide
    high: Wide
    single: bool


def half_src(m: Machine, operand: Source, part: str, flush: bool) -> Halves:
    """The two values of a packed-half operand read with swizzle `part`.

    "" and "H1_H0" give (low, high), "H0_H0" and "H1_H1" one half twice, "F32" the register as
    f32 twice.
    """
    if part == "F32":
        wide = m.f32_to_f64(f32_src(m, operand, flush))
        return Halves(wide, wide, True)
    value = signs32(m, operand, raw(m, operand), 0x80008000)
    if part == "H1_H1":
        high = _half(m, m.shr(value, 16), flush)
        return Halves(high, high, False)
    low = _half(m, m.and_(value, 0xFFFF), flush)
    return Halves(low, low if part == "H0_H0" else _half(m, m.shr(value, 16), flush), False)


def _half(m: Machine, half: Value, flush: bool) -> Wide:
    return m.f16_to_f64(f16_ftz(m, half) if flush else half)


# ---- comparing ---------------------------------------------------------------------------

_NEGATIONS = {"LTU": "GE", "LEU": "GT", "GTU": "LE", "GEU": "LT", "EQU": "NE", "NEU": "EQ"}
"""Compares that are true on NaN, as the opposite of one that is false on NaN."""


Test = Callable[[Any, Any], Mask]


def _compare(m: Machine, name: str, a: Any, b: Any, less: Test, equal: Test) -> Mask:
    """An ordered compare (false on NaN) from less-than and equal."""
    if name == "LT":
        return less(a, b)
    if name == "GT":
        return less(b, a)
    if name == "EQ":
        return equal(a, b)
    if name == "NE":
        return m.mor(less(a, b), less(b, a))
    return m.mor(less(a, b) if name == "LE" else less(b, a), equal(a, b))


def f32_compare(m: Machine, name: str, a: Value, b: Value) -> Mask:
    """`a name b` of f32: F LT EQ LE GT NE GE NUM (false on NaN), NAN LTU .. GEU (true), T."""
    if name in _NEGATIONS:
        return m.mnot(f32_compare(m, _NEGATIONS[name], a, b))
    if name in ("F", "T"):
        return m.true() if name == "T" else m.false()
    if name in ("NUM", "NAN"):
        either = m.mor(m.fnan(a), m.fnan(b))
        return either if name == "NAN" else m.mnot(either)
    return _compare(m, name, a, b, m.flt, m.feq)


def f64_compare(m: Machine, name: str, a: Wide, b: Wide) -> Mask:
    """`f32_compare` for f64."""
    if name in _NEGATIONS:
        return m.mnot(f64_compare(m, _NEGATIONS[name], a, b))
    if name in ("F", "T"):
        return m.true() if name == "T" else m.false()
    if name in ("NUM", "NAN"):
        either = m.mor(m.dnan(a), m.dnan(b))
        return either if name == "NAN" else m.mnot(either)
    return _compare(m, name, a, b, m.dlt, m.deq)
