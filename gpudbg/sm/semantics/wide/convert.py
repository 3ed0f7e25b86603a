"""Conversions: F2F F2I I2F I2FP FRND F2FP I2IP I2I."""

from __future__ import annotations

from gpudbg.isa.volta.counts import conversion_types
from gpudbg.sm.semantics.convert import INTEGRAL
from gpudbg.sm.semantics.float_operands import F16_SIGN, F64_QUIET, f64_sat, signs32
from gpudbg.sm.semantics.machine import Rounding, Value, Wide, WideMachine
from gpudbg.sm.semantics.operands import half
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.halves import narrow_bf16
from gpudbg.sm.semantics.wide.operands import (
    Insn,
    Source,
    chosen,
    f32,
    f64,
    flushes,
    integer,
    raw,
    raw_pair,
    rounding,
    write,
    write_pair,
)

_DIRECTED: dict[str, Rounding] = {"FLOOR": "RM", "CEIL": "RP", "TRUNC": "RZ"}


def _half_of(m: WideMachine, operand: Source) -> Value:
    return signs32(m, operand, half(m, raw(m, operand), operand.part or "H0"), F16_SIGN)


def real(m: WideMachine, i: Insn, kind: str, operand: Source) -> Wide:
    """A float source as an exact f64."""
    if kind == "F64":
        return f64(m, operand)
    if kind == "F16":
        return m.f16_to_f64(_half_of(m, operand))
    if kind == "BF16":
        return m.f32_to_f64(m.shl(_half_of(m, operand), 16))
    return m.f32_to_f64(f32(m, operand, flushes(i)))


def write_real(m: WideMachine, i: Insn, value: Wide, kind: str, rnd: Rounding) -> None:
    """An f64 as the result, rounded once."""
    if "SAT" in i.m:
        value = f64_sat(m, value)
    if kind == "F64":
        write_pair(m, i, m.wselect(m.dnan(value), m.wor(value, F64_QUIET), value))
    elif kind == "F16":
        write(m, i, m.f64_to_f16(value, rnd))
    elif kind == "BF16":
        write(m, i, narrow_bf16(m, value, rnd))
    else:
        single = m.f64_to_f32(value, rnd)
        write(m, i, m.ftz(single) if flushes(i) else single)


@register_wide("F2F")
def f2f(m: WideMachine, i: Insn) -> None:
    """Change of size with one rounding; widening is exact."""
    target, source = conversion_types("F2F", tuple(i.m))
    write_real(m, i, real(m, i, source, i.o["a"]), target, rounding(i))


@register_wide("FRND")
def frnd(m: WideMachine, i: Insn) -> None:
    """To an integral value; the sign of zero is kept."""
    kind, _ = conversion_types("FRND", tuple(i.m))
    mode = _DIRECTED.get(chosen(i, tuple(_DIRECTED)), "RN")
    write_real(m, i, m.dround(real(m, i, kind, i.o["a"]), mode), kind, "RN")


@register_wide("F2I", "UF2I")
def f2i(m: WideMachine, i: Insn) -> None:
    """Round to integral and clamp; NaN gives 0 with `.NTZ`, else the highest bit."""
    target, source = conversion_types("F2I", tuple(i.m))
    signed, bits = target[0] == "S", int(target[1:])
    value = real(m, i, source, i.o["a"])
    mode = INTEGRAL[chosen(i, ("FLOOR", "CEIL", "TRUNC"), "ROUND")]
    result = m.f64_to_int(m.dround(value, mode), signed, bits)
    nan = 0 if "NTZ" in i.m else 1 << bits - 1
    result = m.wselect(m.dnan(value), nan, result)
    if bits == 64:
        write_pair(m, i, result)
    else:
        write(m, i, m.lo(result))


@register_wide("I2F", "I2FP", "UI2F", "UI2FP")
def i2f(m: WideMachine, i: Insn) -> None:
    """The integer rounded once."""
    target, source = conversion_types("I2F", tuple(i.m))
    signed, bits = source[0] == "S", int(source[1:])
    operand = i.o["a"]
    if bits == 64:
        value = raw_pair(m, operand)
    else:
        word = raw(m, operand)
        if bits < 32:
            word = half(m, word, operand.part or ("B0" if bits == 8 else "H0"), signed)
        value = m.sext(word) if signed else m.zext(word)
    if target == "F32":
        write(m, i, m.int_to_f32(value, signed, rounding(i)))
    else:
        write_real(m, i, m.int_to_f64(value, signed, rounding(i)), target, rounding(i))


@register_wide("F2FP", "UF2FP")
def f2fp(m: WideMachine, i: Insn) -> None:
    """Two floats packed into a word, the first one into its high half.

    `.MERGE_C`: one half beside a half of c; fp8 forms stop by name.
    """
    kinds = [name for name in i.m if name in ("E4M3", "E5M2", "E2M3", "E3M2", "E2M1", "E8", "TF32")]
    if kinds or "UNPACK_B" in i.m:
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    narrow = narrow_bf16 if "BF16" in i.m else m.f64_to_f16
    rnd = rounding(i)

    def piece(slot: str) -> Value:
        wide = m.f32_to_f64(f32(m, i.o[slot], flushes(i)))
        found = narrow(m, wide, rnd) if narrow is narrow_bf16 else narrow(wide, rnd)
        if "RELU" in i.m:
            negative = m.mand(m.bit(found, 15), m.mnot(m.dnan(wide)))
            found = m.select(negative, 0, found)
        return found

    if "MERGE_C" in i.m:
        other = raw(m, i.o["b"])
        kept = m.and_(m.shr(other, 16), 0xFFFF) if i.o["b"].part == "H1" else m.and_(other, 0xFFFF)
        write(m, i, m.or_(m.shl(kept, 16), piece("a")))
        return
    write(m, i, m.or_(m.shl(piece("a"), 16), piece("b")))


@register_wide("I2IP")
def i2ip(m: WideMachine, i: Insn) -> None:
    """a and b saturated and packed, a above b, over the low bits of c moved up."""
    kind = chosen(i, ("U8", "S8", "U16", "S16", "U4", "S4", "U2", "S2"))
    bits, signed = int(kind[1:]), kind[0] == "S"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    result: Value = m.shl(integer(m, i.o["c"]), 2 * bits) if bits < 16 else 0
    for slot, place in (("a", bits), ("b", 0)):
        value = m.sext(integer(m, i.o[slot]))
        value = m.wselect(m.wslt(value, low), low, value)
        value = m.wselect(m.wslt(high, value), high, value)
        result = m.or_(result, m.shl(m.and_(m.lo(value), (1 << bits) - 1), place))
    write(m, i, result)


@register_wide("I2I", "UI2I")
def i2i(m: WideMachine, i: Insn) -> None:
    """A word saturated to a smaller type, and extended again."""
    kind = chosen(i, ("U8", "S8", "U16", "S16"))
    bits, signed = int(kind[1:]), kind[0] == "S"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    value = m.sext(integer(m, i.o["a"]))
    value = m.wselect(m.wslt(value, low), low, value)
    write(m, i, m.lo(m.wselect(m.wslt(high, value), high, value)))
