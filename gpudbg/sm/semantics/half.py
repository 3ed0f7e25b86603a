"""Packed half precision (sm_53 and later): HADD2 HMUL2 HFMA2 HSET2 HSETP2 and the 32-bit-immediate
forms.

Low results come from low operand parts, high from high ones.  An operand is read through its
swizzle; `.F32` reads a register as one f32 used for both results, and so does a constant
(inferred).  A result is rounded once to f16, the f64 arithmetic below loses nothing a rounding to
11 bits could see; with an `.F32` register it is rounded to f32 first (inferred).  Not so with a
constant, which is where compilers put an f16 number: fma.rn.f16 has a single rounding, and `.FTZ`
flushes what is subnormal as f16.
"""

from __future__ import annotations

from gpudbg.isa.operands import Const
from gpudbg.sm.semantics.float_operands import (
    F16_LEAST,
    F16_ONE,
    F16_SIGN,
    F16_TINY,
    F64_MAGNITUDE,
    F64_SIGN,
    Halves,
    f32_src,
    f64_compare,
    f64_sat,
    flushes,
    half_src,
)
from gpudbg.sm.semantics.machine import Machine, Mask, Value, Wide
from gpudbg.sm.semantics.operands import (
    Insn,
    Source,
    boolean,
    pred_src,
    write,
    write_pred,
)
from gpudbg.sm.semantics.rows import register


def _source(m: Machine, i: Insn, operand: Source) -> Halves:
    if not isinstance(operand, Const):
        return half_src(m, operand, operand.part, flushes(i))
    value = m.f32_to_f64(f32_src(m, operand))
    if flushes(i):
        tiny = m.dlt(m.wand(value, F64_MAGNITUDE), F16_LEAST)
        value = m.wselect(tiny, m.wand(value, F64_SIGN), value)
    return Halves(value, value, False)


def _narrow(m: Machine, i: Insn, value: Wide, single: bool) -> Value:
    """The f16 of one result: through f32 where an operand was f32, saturated, flushed."""
    if single:
        value = m.f32_to_f64(m.f64_to_f32(value, "RN"))
    if i.m["sat"]:
        value = f64_sat(m, value)
    half = m.f64_to_f16(value, "RN")
    if flushes(i):
        # Tiny after rounding to 11 bits without a lower limit of the exponent, as for f32.
        tiny = m.dlt(m.wand(value, F64_MAGNITUDE), F16_TINY)
        half = m.select(tiny, m.and_(half, F16_SIGN), half)
    return half


def _write_halves(m: Machine, i: Insn, low: Value, high: Value) -> None:
    """Write both results by the destination's merge mode."""
    merge, d = i.m["merge"], i.o["d"].index
    if merge == "F32":
        write(m, i, m.f64_to_f32(m.f16_to_f64(low), "RN"))
    elif merge == "MRG_H0":
        write(m, i, m.or_(m.and_(m.reg(d), 0xFFFF0000), low))
    elif merge == "MRG_H1":
        write(m, i, m.or_(m.and_(m.reg(d), 0xFFFF), m.shl(high, 16)))
    else:
        write(m, i, m.or_(low, m.shl(high, 16)))


def _zero_factor(m: Machine, i: Insn, a: Wide, b: Wide, result: Wide, otherwise: Wide) -> Wide:
    """`.FMZ`: `otherwise` where a factor is zero, else `result`."""
    if i.m["ftz"] != "FMZ":
        return result
    return m.wselect(m.mor(m.deq(a, 0), m.deq(b, 0)), otherwise, result)


@register("HADD2", "HADD2_32I")
def hadd2(m: Machine, i: Insn) -> None:
    """a + b in both halves (documented)."""
    a, b = _source(m, i, i.o["a"]), _source(m, i, i.o["b"])
    single = a.single or b.single
    low = _narrow(m, i, m.dadd(a.low, b.low), single)
    high = _narrow(m, i, m.dadd(a.high, b.high), single)
    _write_halves(m, i, low, high)


@register("HMUL2", "HMUL2_32I")
def hmul2(m: Machine, i: Insn) -> None:
    """a * b in both halves (documented)."""
    a, b = _source(m, i, i.o["a"]), _source(m, i, i.o["b"])
    single = a.single or b.single
    low = _zero_factor(m, i, a.low, b.low, m.dmul(a.low, b.low), 0)
    high = _zero_factor(m, i, a.high, b.high, m.dmul(a.high, b.high), 0)
    _write_halves(m, i, _narrow(m, i, low, single), _narrow(m, i, high, single))


@register("HFMA2", "HFMA2_32I")
def hfma2(m: Machine, i: Insn) -> None:
    """a * b + c in both halves with one rounding (documented); HFMA2_32I adds its destination."""
    a, b = _source(m, i, i.o["a"]), _source(m, i, i.o["b"])
    c = _source(m, i, i.o.get("c") or i.o["d"])
    single = a.single or b.single or c.single
    low = _narrow(m, i, _fma(m, i, a.low, b.low, c.low, single), single)
    high = _narrow(m, i, _fma(m, i, a.high, b.high, c.high, single), single)
    _write_halves(m, i, low, high)


def _fma(m: Machine, i: Insn, a: Wide, b: Wide, c: Wide, single: bool) -> Wide:
    if single:
        # f32 operands: their product is exact in f64 but the sum needs the fused rounding.
        x, y, z = (m.f64_to_f32(v, "RN") for v in (a, b, c))
        result = m.f32_to_f64(m.ffma(x, y, z))
    else:
        result = m.dadd(m.dmul(a, b), c)
    return _zero_factor(m, i, a, b, result, c)


def _tests(m: Machine, i: Insn) -> tuple[Mask, Mask]:
    a, b = _source(m, i, i.o["a"]), _source(m, i, i.o["b"])
    name = i.m["cmp"]
    return f64_compare(m, name, a.low, b.low), f64_compare(m, name, a.high, b.high)


def _combined(m: Machine, i: Insn, low: Mask, high: Mask) -> tuple[Mask, Mask]:
    if not i.m["bop"]:
        return low, high
    pc = pred_src(m, i.o.get("pc"))
    return boolean(m, i.m["bop"], low, pc), boolean(m, i.m["bop"], high, pc)


@register("HSET2")
def hset2(m: Machine, i: Insn) -> None:
    """Each half 0xffff (`.BF`: 1.0) where (a cmp b) bop pc, else 0 (documented: PTX ISA set)."""
    low, high = _combined(m, i, *_tests(m, i))
    one = F16_ONE if i.m["bf"] else 0xFFFF
    write(m, i, m.or_(m.select(low, one, 0), m.select(high, one << 16, 0)))


@register("HSETP2")
def hsetp2(m: Machine, i: Insn) -> None:
    """p from the low halves, q from the high ones, each (a cmp b) bop pc (documented).

    `.H_AND`: p = both, q = not both (inferred).
    """
    low, high = _combined(m, i, *_tests(m, i))
    if i.m["h_and"]:
        low = m.mand(low, high)
        high = m.mnot(low)
    write_pred(m, i, "p", low)
    write_pred(m, i, "q", high)
