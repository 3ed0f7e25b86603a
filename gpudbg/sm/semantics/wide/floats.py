"""Single and double precision: FADD FMUL FFMA FMNMX FSETP FSET MUFU FCHK, DADD DMUL DFMA DSETP."""

from __future__ import annotations

from gpudbg.isa.operands import Imm
from gpudbg.sm.semantics.float_operands import (
    F32_NAN,
    F32_ONE,
    F32_SIGN,
    f32_compare,
    f32_is_zero,
    f32_sat,
    f64_compare,
    signs32,
)
from gpudbg.sm.semantics.fp32 import needs_slow_division, swizzled
from gpudbg.sm.semantics.machine import Mask, Value, Wide, WideMachine
from gpudbg.sm.semantics.operands import half
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.logic import set_predicates
from gpudbg.sm.semantics.wide.operands import (
    Source,
    WideInsn,
    boolean,
    chosen,
    f32,
    f64,
    flushes,
    predicate,
    raw,
    raw_pair,
    rounding,
    write,
    write_pair,
    write_predicate,
)

COMPARES = (
    "F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU",
    "T",
)  # fmt: skip
F32_65536 = 0x47800000
"""The least f32 that f16 has no number for, even cut."""
SCALES = {"D2": -1, "D4": -2, "D8": -3, "M8": 3, "M4": 2, "M2": 1}


def _result(m: WideMachine, i: WideInsn, value: Value) -> None:
    write(m, i, f32_sat(m, value) if "SAT" in i.m else value)


@register_wide("FADD", "UFADD")
def fadd(m: WideMachine, i: WideInsn) -> None:
    """a + b (documented)."""
    flush = flushes(i)
    result = m.fadd(f32(m, i.o["a"], flush), f32(m, i.o["b"], flush), rounding(i))
    _result(m, i, m.ftz(result) if flush else result)


@register_wide("FMUL", "UFMUL")
def fmul(m: WideMachine, i: WideInsn) -> None:
    """a * b; `.FMZ`: 0 times anything is +0."""
    flush = flushes(i)
    a, b = f32(m, i.o["a"], flush), f32(m, i.o["b"], flush)
    scale = chosen(i, tuple(SCALES))
    if scale:
        product = m.dmul(m.f32_to_f64(a), m.f32_to_f64(b))
        scaled = m.dmul(product, 1023 + SCALES[scale] << 52)
        result = m.f64_to_f32(scaled, rounding(i), flush)
    else:
        result = m.fmul(a, b, rounding(i), flush)
    if "FMZ" in i.m:
        result = m.select(f32_is_zero(m, a, b), 0, result)
    _result(m, i, result)


@register_wide("FFMA", "UFFMA")
def ffma(m: WideMachine, i: WideInsn) -> None:
    """a * b + c with one rounding (documented)."""
    flush = flushes(i)
    a, b, c = (f32(m, i.o[s], flush) for s in "abc")
    result = m.ffma(a, b, c, rounding(i), flush)
    if "FMZ" in i.m:
        alone = m.select(m.fnan(c), F32_NAN, c)
        result = m.select(f32_is_zero(m, a, b), alone, result)
    _result(m, i, result)


def extremes(m: WideMachine, a: Value, b: Value, keeps_nan: bool) -> tuple[Value, Value]:
    """The smaller and the larger; -0 is below +0; with a NaN the other one, or NaN."""
    equal, less = m.feq(a, b), m.flt(a, b)
    either, both = m.mor(m.fnan(a), m.fnan(b)), m.mand(m.fnan(a), m.fnan(b))

    def settled(value: Value) -> Value:
        value = m.select(m.fnan(b), a, m.select(m.fnan(a), b, value))
        return m.select(either if keeps_nan else both, F32_NAN, value)

    smaller = m.select(equal, m.or_(a, b), m.select(less, a, b))
    larger = m.select(equal, m.and_(a, b), m.select(less, b, a))
    return settled(smaller), settled(larger)


def _extreme(m: WideMachine, i: WideInsn, a: Value, b: Value) -> Value:
    smaller, larger = extremes(m, a, b, "NAN" in i.m)
    return m.select(predicate(m, i.o.get("pa")), smaller, larger)


@register_wide("FMNMX", "UFMNMX", "FMNMX3")
def fmnmx(m: WideMachine, i: WideInsn) -> None:
    """The smaller where the predicate holds, else the larger; -0 is below +0; of a number and a NaN
    the number, `.NAN` NaN; `.XORSIGN` the sign of the product."""
    values = [f32(m, i.o[slot], flushes(i)) for slot in "abc" if slot in i.o]
    result = _extreme(m, i, values[0], values[1])
    for value in values[2:]:
        result = _extreme(m, i, result, value)
    if "XORSIGN" in i.m:
        sign = m.and_(m.xor(raw(m, i.o["a"]), raw(m, i.o["b"])), F32_SIGN)
        signed = m.or_(m.and_(result, ~F32_SIGN & 0xFFFFFFFF), sign)
        result = m.select(m.fnan(result), result, signed)
    if "IS_A" in i.m:
        _is_a(m, i, values[0], values[1])
    write(m, i, result)


def _is_a(m: WideMachine, i: WideInsn, a: Value, b: Value) -> None:
    """`.IS_A`: p = the first operand is taken, of equal ones, too (measured on H100)."""
    smallest, nan_a, nan_b = predicate(m, i.o.get("pa")), m.fnan(a), m.fnan(b)
    behind = m.mor(m.mand(smallest, m.flt(b, a)), m.mand(m.mnot(smallest), m.flt(a, b)))
    if "NAN" in i.m:
        taken = m.mor(nan_a, m.mnot(m.mor(behind, nan_b)))
    else:
        taken = m.mor(nan_b, m.mnot(m.mor(behind, nan_a)))
    write_predicate(m, i, "p", taken)


def _test(m: WideMachine, i: WideInsn) -> Mask:
    flush = flushes(i)
    return f32_compare(
        m, chosen(i, COMPARES, "F"), f32(m, i.o["a"], flush), f32(m, i.o["b"], flush)
    )


@register_wide("FSETP", "UFSETP")
def fsetp(m: WideMachine, i: WideInsn) -> None:
    """p = (a cmp b) bop pa, q = not (a cmp b) bop pa (documented)."""
    set_predicates(m, i, _test(m, i))


@register_wide("FSET", "UFSET")
def fset(m: WideMachine, i: WideInsn) -> None:
    """All ones, `.BF` 1.0, where (a cmp b) bop pa, else 0."""
    truth = boolean(m, i, _test(m, i), predicate(m, i.o.get("pa")))
    write(m, i, m.select(truth, F32_ONE if "BF" in i.m else 0xFFFFFFFF, 0))


@register_wide("FCHK")
def fchk(m: WideMachine, i: WideInsn) -> None:
    """Whether a / b needs the slow path (*modelled*: the threshold is not public)."""
    write_predicate(m, i, "p", needs_slow_division(m, f32(m, i.o["a"]), f32(m, i.o["b"])))


@register_wide("FSWZADD")
def fswzadd(m: WideMachine, i: WideInsn) -> None:
    """sa * a + sb * b with signs chosen for each lane of the quad."""
    flush = flushes(i)
    name = next((o.text for o in i.operands if hasattr(o, "text")), "PPPPPPPP")
    a, b = (f32(m, i.o[s], flush) for s in "ab")
    result = m.fadd(swizzled(m, a, name[0::2]), swizzled(m, b, name[1::2]), rounding(i))
    write(m, i, m.ftz(result) if flush else result)


MUFU = ("COS", "SIN", "EX2", "LG2", "RCP", "RSQ", "RCP64H", "RSQ64H", "SQRT", "TANH")


@register_wide("MUFU")
def mufu(m: WideMachine, i: WideInsn) -> None:
    """The multi-function unit; SIN and COS take turns, there is no range reduction before them."""
    name = chosen(i, MUFU)
    name = f"{name}_TURNS" if name in ("SIN", "COS") else name
    operand = i.o["a"]
    if "F16" in i.m or "BF16" in i.m:
        _half_mufu(m, i, name)
        return
    value = f32(m, operand)
    write(m, i, m.mufu(name, value))


def _half_mufu(m: WideMachine, i: WideInsn, name: str) -> None:
    """Results of 16 bits are cut, not rounded (measured on H100)."""
    operand = i.o["a"]
    value = half(m, raw(m, operand), operand.part or "H0")
    single = m.shl(value, 16) if "BF16" in i.m else m.f64_to_f32(m.f16_to_f64(value), "RN")
    if operand.abs:
        single = m.and_(single, ~F32_SIGN & 0xFFFFFFFF)
    if operand.neg:
        single = m.xor(single, F32_SIGN)
    found = m.mufu(name, single)
    if "BF16" in i.m:
        write(m, i, m.select(m.fnan(found), 0x7FFF, m.shr(found, 16)))
    else:
        cut = m.f64_to_f16(m.f32_to_f64(found), "RZ")
        size = m.and_(found, ~F32_SIGN & 0xFFFFFFFF)
        infinite = m.or_(m.and_(m.shr(found, 16), 0x8000), 0x7C00)
        beyond = m.mand(m.mnot(m.fnan(found)), m.ult(F32_65536 - 1, size))
        write(m, i, m.select(beyond, infinite, cut))


# ---- double precision --------------------------------------------------------------------
@register_wide("DADD")
def dadd(m: WideMachine, i: WideInsn) -> None:
    """a + b (documented)."""
    write_pair(m, i, m.dadd(f64(m, i.o["a"]), f64(m, i.o["b"]), rounding(i)))


@register_wide("DMUL")
def dmul(m: WideMachine, i: WideInsn) -> None:
    """a * b (documented)."""
    write_pair(m, i, m.dmul(f64(m, i.o["a"]), f64(m, i.o["b"]), rounding(i)))


@register_wide("DFMA")
def dfma(m: WideMachine, i: WideInsn) -> None:
    """a * b + c with one rounding (documented)."""
    a, b, c = (f64(m, i.o[s]) for s in "abc")
    write_pair(m, i, m.dfma(a, b, c, rounding(i)))


def _below(m: WideMachine, a: Wide, b: Wide) -> Mask:
    """a < b, with -0 below +0."""
    zeros = m.mand(m.deq(a, b), m.mand(m.bit(m.hi(a), 31), m.mnot(m.bit(m.hi(b), 31))))
    return m.mor(m.dlt(a, b), zeros)


@register_wide("DSETP")
def dsetp(m: WideMachine, i: WideInsn) -> None:
    """As FSETP; `.MIN` and `.MAX`: P = take a, Q = both are NaN."""
    a, b = f64(m, i.o["a"]), f64(m, i.o["b"])
    name = chosen(i, ("MIN", "MAX", *COMPARES), "F")
    if name in ("MIN", "MAX"):
        taken = _below(m, a, b) if name == "MIN" else _below(m, b, a)
        nan_a, nan_b = m.dnan(a), m.dnan(b)
        taken = m.mand(m.mnot(nan_a), m.mor(nan_b, taken))
        write_predicate(m, i, "p", taken)
        write_predicate(m, i, "q", m.mand(nan_a, nan_b))
        return
    set_predicates(m, i, f64_compare(m, name, a, b))


def _pair(m: WideMachine, i: WideInsn, operand: Source) -> tuple[Value, Value]:
    """The low and the high float of an operand, with its signs."""
    if "NP" in operand.part:
        m.gap(f"{i.op} with an operand .{operand.part}")
    if isinstance(operand, Imm) or operand.part == "F32":
        single = f32(m, operand)
        return single, single
    pair = raw_pair(m, operand)
    low, high = (signs32(m, operand, word, F32_SIGN) for word in (m.lo(pair), m.hi(pair)))
    return (high, low) if operand.part.endswith("LO_HI") else (low, high)


def _half_operand(m: WideMachine, i: WideInsn, operand: Source) -> Value:
    """An f16 or bf16 as a float, exact."""
    word = half(m, raw(m, operand), operand.part or "H0")
    if "BF16" in i.m:
        single = m.shl(word, 16)
    else:
        single = m.f64_to_f32(m.f16_to_f64(word), "RN")
    return signs32(m, operand, single, F32_SIGN)


@register_wide("FHADD", "UFHADD")
def fhadd(m: WideMachine, i: WideInsn) -> None:
    """A half plus a float."""
    other = i.o["b"]
    _result(m, i, m.fadd(_half_operand(m, i, i.o["a"]), f32(m, other), rounding(i)))


@register_wide("FHFMA", "UFHFMA")
def fhfma(m: WideMachine, i: WideInsn) -> None:
    """A half times a half plus a float, one rounding."""
    a, b = (_half_operand(m, i, i.o[slot]) for slot in "ab")
    _result(m, i, m.ffma(a, b, f32(m, i.o["c"]), rounding(i)))


@register_wide("FADD2", "FMUL2", "FFMA2")
def pairs(m: WideMachine, i: WideInsn) -> None:
    """Two floats in a pair of registers; `.LO_HI` the other way round, `.F32` one for both."""
    flush = flushes(i)
    words = [_pair(m, i, i.o[s]) for s in "abc" if s in i.o]
    results = []
    for n in (0, 1):
        v = [m.ftz(w[n]) if flush else w[n] for w in words]
        if i.op == "FADD2":
            found = m.fadd(v[0], v[1], rounding(i))
        elif i.op == "FMUL2":
            found = m.fmul(v[0], v[1], rounding(i), flush)
        else:
            found = m.ffma(v[0], v[1], v[2], rounding(i), flush)
        results.append(m.ftz(found) if flush else found)
    write_pair(m, i, m.wide(*results))
