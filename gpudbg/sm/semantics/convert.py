"""Conversions: F2F F2I I2F I2I.

Every float source becomes an exact f64 and every integer source an exact 64-bit integer; the
result is rounded or clamped once (documented: PTX ISA cvt).
"""

from __future__ import annotations

from gpudbg.sm.semantics.float_operands import (
    F16_SIGN,
    F32_NAN,
    F32_SIGN,
    F64_QUIET,
    F64_SIGN,
    f32_sat,
    f32_src,
    f64_sat,
    f64_src,
    float_cc,
    flushes,
    rounding,
    signs32,
)
from gpudbg.sm.semantics.machine import Machine, Rounding, Value, Wide
from gpudbg.sm.semantics.operands import (
    Insn,
    Source,
    cc_logic,
    half,
    raw,
    raw_pair,
    write,
    write_cc,
)
from gpudbg.sm.semantics.rows import register

INTEGRAL: dict[str, Rounding] = {"ROUND": "RN", "FLOOR": "RM", "CEIL": "RP", "TRUNC": "RZ"}
OPPOSITE: dict[Rounding, Rounding] = {"RN": "RN", "RM": "RP", "RP": "RM", "RZ": "RZ"}


def _source(i: Insn) -> Source:
    """The operand: conversions print it second, whatever its slot."""
    operand: Source = i.o.get("b") or i.o["a"]
    return operand


def _int_type(name: str) -> tuple[bool, int]:
    """(signed, bits) of U8 .. S64."""
    return name[0] == "S", int(name[1:])


def _f16_src(m: Machine, operand: Source) -> Value:
    value = half(m, raw(m, operand), operand.part or "H0")
    return signs32(m, operand, value, F16_SIGN)


def _float_src(m: Machine, i: Insn, kind: str) -> Wide:
    """The source as exact f64; `.FTZ` flushes f32 subnormals only (documented)."""
    operand = _source(i)
    if kind == "F64":
        return f64_src(m, operand)
    if kind == "F16":
        return m.f16_to_f64(_f16_src(m, operand))
    return m.f32_to_f64(f32_src(m, operand, flushes(i)))


# ---- float to float ----------------------------------------------------------------------


@register("F2F")
def f2f(m: Machine, i: Insn) -> None:
    """Change of size with one rounding, or of the same size: copy or round to integral."""
    target, source = i.m["dtype"], i.m["stype"]
    if target == source == "F32":
        _write_f32(m, i, _same_f32(m, i))
        return
    # f32 <-> f64 and wider results are final here: their rounding is the F2F's own.
    value = _same_f64(m, i, source) if source == target else _float_src(m, i, source)
    if target == "F64":
        _write_f64(m, i, value)
    elif target == "F32":
        _write_f32(m, i, m.f64_to_f32(value, rounding(i)))
    else:
        _write_f16(m, i, m.f64_to_f16(value, rounding(i)))


def _same_f32(m: Machine, i: Insn) -> Value:
    """PASS copies and makes NaNs canonical; the other modes round to an integral value."""
    value = f32_src(m, _source(i), flushes(i))
    if mode := INTEGRAL.get(i.m["irnd"]):
        return m.fround(value, mode)
    return m.select(m.fnan(value), F32_NAN, value)


def _same_f64(m: Machine, i: Insn, kind: str) -> Wide:
    """The same of f64, and of f16 as exact f64; PASS makes NaNs quiet."""
    value = _float_src(m, i, kind)
    if mode := INTEGRAL.get(i.m["irnd"]):
        return m.dround(value, mode)
    return m.wselect(m.dnan(value), m.wor(value, F64_QUIET), value)


def _write_f32(m: Machine, i: Insn, value: Value) -> None:
    """`.FTZ` has no effect on a result of an f64 (inferred: compilers flush that themselves)."""
    if flushes(i) and i.m["stype"] != "F64":
        value = m.ftz(value)
    if i.m["sat"]:
        value = f32_sat(m, value)
    if i.m["cc"]:
        float_cc(m, m.feq(value, 0), m.flt(value, 0), m.fnan(value))
    write(m, i, value)


def _write_f64(m: Machine, i: Insn, value: Wide) -> None:
    if i.m["sat"]:
        value = f64_sat(m, value)
    if i.m["cc"]:
        float_cc(m, m.deq(value, 0), m.dlt(value, 0), m.dnan(value))
    m.reg_pair_write(i.o["d"].index, value)


def _write_f16(m: Machine, i: Insn, value: Value) -> None:
    """The upper half of the register becomes 0 (inferred)."""
    if i.m["sat"] or i.m["cc"]:
        wide = m.f16_to_f64(value)
        if i.m["sat"]:
            wide = f64_sat(m, wide)
            value = m.f64_to_f16(wide, "RN")
        if i.m["cc"]:
            float_cc(m, m.deq(wide, 0), m.dlt(wide, 0), m.dnan(wide))
    write(m, i, value)


# ---- float to integer --------------------------------------------------------------------


@register("F2I")
def f2i(m: Machine, i: Insn) -> None:
    """Round to integral, clamp to the destination's range (documented).

    NaN gives 0 if the source is f16 or f32 and the destination has at most 32 bits, else the
    destination's highest bit (documented).  Results below 32 bits are extended (modelled).
    """
    signed, bits = _int_type(i.m["dtype"])
    source = i.m["stype"]
    value = _float_src(m, i, source)
    result = m.f64_to_int(m.dround(value, INTEGRAL[i.m["irnd"] or "ROUND"]), signed, bits)
    if source == "F64" or bits == 64:
        top = 1 << bits - 1
        result = m.wselect(m.dnan(value), -top if signed else top, result)
    if bits < 64:
        low = m.lo(result)
        cc_logic(m, i, low)
        write(m, i, low)
        return
    if i.m["cc"]:
        none = m.false()
        write_cc(m, m.weq(result, 0), m.bit(m.hi(result), 31), none, none)
    m.reg_pair_write(i.o["d"].index, result)


# ---- integer sources ---------------------------------------------------------------------


def _extended(m: Machine, operand: Source, signed: bool, bits: int) -> Value:
    """An integer source of at most 32 bits, selected and extended to 32."""
    if bits == 32:
        return raw(m, operand)
    part = operand.part or "B0"
    if bits == 16 and part[0] == "B":
        # A half is named by its lower byte; an odd byte starts an unaligned half.
        above = 16 - 8 * int(part[1])
        value = raw(m, operand)
        moved = m.shl(value, above) if above >= 0 else m.and_(m.shr(value, 8), 0x00FF0000)
        return m.sar(moved, 16) if signed else m.shr(moved, 16)
    return half(m, raw(m, operand), part, signed)


def _integer(m: Machine, i: Insn) -> tuple[Wide, bool]:
    """The source as an exact 64-bit integer after `|x|`, and whether to read it as signed."""
    operand = _source(i)
    signed, bits = _int_type(i.m["stype"])
    if bits == 64:
        value = raw_pair(m, operand)
    else:
        narrow = _extended(m, operand, signed, bits)
        value = m.sext(narrow) if signed else m.zext(narrow)
    if operand.abs and signed:
        value = m.wselect(m.wslt(value, 0), m.wsub(0, value), value)
        signed = False
    return value, signed


@register("I2F")
def i2f(m: Machine, i: Insn) -> None:
    """The integer, `|x|`, `-x`, rounded once (documented).

    `-` of an unsigned source is that of the float, so it makes -0 of 0 (inferred).
    """
    value, signed = _integer(m, i)
    negate = _source(i).neg
    rnd = OPPOSITE[rounding(i)] if negate else rounding(i)
    # `-x` of an integer never gives -0: there the sign is left alone.
    keep = m.weq(value, 0) if i.m["stype"][0] == "S" else m.false()
    target = i.m["dtype"]
    if target == "F64":
        wide = m.int_to_f64(value, signed, rnd)
        if negate:
            wide = m.wselect(keep, wide, m.wxor(wide, F64_SIGN))
        _write_f64(m, i, wide)
        return
    if target == "F32":
        single = m.int_to_f32(value, signed, rnd)
        if negate:
            single = m.select(keep, single, m.xor(single, F32_SIGN))
        _write_f32(m, i, single)
        return
    # Integers too large for an exact f64 are beyond every f16.
    short = m.f64_to_f16(m.int_to_f64(value, signed, rnd), rnd)
    if negate:
        short = m.select(keep, short, m.xor(short, F16_SIGN))
    _write_f16(m, i, short)


@register("I2I")
def i2i(m: Machine, i: Insn) -> None:
    """Select and extend, `|x|`, `-x`, clamp with `.SAT`, cut to the destination (documented).

    Results below 32 bits are extended by the destination's signedness (modelled).
    """
    value, _ = _integer(m, i)
    if _source(i).neg:
        value = m.wsub(0, value)
    signed, bits = _int_type(i.m["dtype"])
    if i.m["sat"]:
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        value = m.wselect(m.wslt(value, low), low, value)
        value = m.wselect(m.wslt(high, value), high, value)
    result = m.lo(value)
    if bits < 32:
        result = m.shl(result, 32 - bits)
        result = m.sar(result, 32 - bits) if signed else m.shr(result, 32 - bits)
    cc_logic(m, i, result)
    write(m, i, result)
