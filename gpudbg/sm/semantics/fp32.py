"""Single precision: FADD FMUL FFMA, minimum, compares, MUFU and its range reduction.

Rules common to all: operands are `|x|` then `-x`, flushed with `.FTZ`; one rounding; results are
flushed, then saturated; NaN results are 0x7fffffff (documented: PTX ISA, CUDA guide).  A product is
flushed when it is tiny after rounding (`Machine.fmul`; inferred: so ptxas folds constants, and so
its software division decides).
"""

from __future__ import annotations

from gpudbg.sm.semantics.float_operands import (
    F32_NAN,
    F32_SIGN,
    f32_compare,
    f32_is_zero,
    f32_result,
    f32_sat,
    f32_src,
    flushes,
    rounding,
)
from gpudbg.sm.semantics.machine import Machine, Mask, Value
from gpudbg.sm.semantics.operands import (
    Insn,
    combine,
    pred_src,
    raw,
    write,
    write_pred,
    write_set,
    write_setp,
)
from gpudbg.sm.semantics.rows import register

SCALES = {"": 0, "D2": -1, "D4": -2, "D8": -3, "M8": 3, "M4": 2, "M2": 1}
"""FMUL's scale as a power of two."""


def _sources(m: Machine, i: Insn) -> tuple[Value, Value]:
    flush = flushes(i)
    return f32_src(m, i.o["a"], flush), f32_src(m, i.o["b"], flush)


@register("FADD", "FADD32I")
def fadd(m: Machine, i: Insn) -> None:
    """a + b (documented)."""
    a, b = _sources(m, i)
    result = m.fadd(a, b, rounding(i))
    write(m, i, f32_result(m, i, m.ftz(result) if flushes(i) else result))


@register("FMUL", "FMUL32I")
def fmul(m: Machine, i: Insn) -> None:
    """a * b * 2**scale, rounded once (documented; the scale's single rounding is modelled).

    `.FMZ`: 0 times anything, also infinity and NaN, is +0 (inferred: the D3D9 rule).
    """
    a, b = _sources(m, i)
    power = SCALES[i.m["scale"] or ""]
    if power:
        # The product of two f32 is exact in f64, and so is its scaling.
        product = m.dmul(m.f32_to_f64(a), m.f32_to_f64(b))
        scaled = m.dmul(product, 1023 + power << 52)
        result = m.f64_to_f32(scaled, rounding(i), flushes(i))
    else:
        result = m.fmul(a, b, rounding(i), flushes(i))
    if i.m["ftz"] == "FMZ":
        result = m.select(f32_is_zero(m, a, b), 0, result)
    write(m, i, f32_result(m, i, result))


@register("FFMA", "FFMA32I")
def ffma(m: Machine, i: Insn) -> None:
    """a * b + c with one rounding (documented); FFMA32I adds its destination register.

    `.FMZ`: where a or b is zero the result is c (inferred: the D3D9 rule).
    """
    a, b = _sources(m, i)
    c = f32_src(m, i.o.get("c") or i.o["d"], flushes(i))
    result = m.ffma(a, b, c, rounding(i), flushes(i))
    if i.m["ftz"] == "FMZ":
        alone = m.select(m.fnan(c), F32_NAN, c)
        result = m.select(f32_is_zero(m, a, b), alone, result)
    write(m, i, f32_result(m, i, result))


@register("FMNMX")
def fmnmx(m: Machine, i: Insn) -> None:
    """The smaller where pc is true, else the larger; -0 is below +0; of a number and a NaN the
    number, of two NaNs 0x7fffffff (documented: PTX ISA min, max)."""
    a, b = _sources(m, i)
    equal, less = m.feq(a, b), m.flt(a, b)
    # Equal values differ at most in the sign of a zero: or / and give the lower / higher one.
    smaller = m.select(equal, m.or_(a, b), m.select(less, a, b))
    larger = m.select(equal, m.and_(a, b), m.select(less, b, a))
    result = m.select(pred_src(m, i.o.get("pc")), smaller, larger)
    result = m.select(m.fnan(b), a, m.select(m.fnan(a), b, result))
    result = m.select(m.mand(m.fnan(a), m.fnan(b)), F32_NAN, result)
    write(m, i, f32_result(m, i, result))


@register("FSETP")
def fsetp(m: Machine, i: Insn) -> None:
    """p = (a cmp b) bop pc, q = not (a cmp b) bop pc (documented)."""
    a, b = _sources(m, i)
    write_setp(m, i, f32_compare(m, i.m["cmp"], a, b))


@register("FSET")
def fset(m: Machine, i: Insn) -> None:
    """All ones (`.BF`: 1.0) where (a cmp b) bop pc, else 0 (documented)."""
    a, b = _sources(m, i)
    write_set(m, i, combine(m, i, f32_compare(m, i.m["cmp"], a, b)))


@register("FCMP")
def fcmp(m: Machine, i: Insn) -> None:
    """a where c cmp 0.0, else b; the chosen bits are unchanged (inferred)."""
    c = f32_src(m, i.o["c"], flushes(i))
    test = f32_compare(m, i.m["cmp"], c, 0)
    write(m, i, m.select(test, raw(m, i.o["a"]), raw(m, i.o["b"])))


def _exponent(m: Machine, a: Value) -> Value:
    return m.and_(m.shr(a, 23), 0xFF)


def _within(m: Machine, a: Value, low: int, high: int) -> Mask:
    """low <= a <= high of a value that may be negative (mod 2**32)."""
    return m.ult(m.sub(a, low), high - low + 1)


@register("FCHK")
def fchk(m: Machine, i: Insn) -> None:
    """p = a / b needs the slow path (modelled: the threshold is not public).

    False only where the multiply-add sequence that compilers emit is exact: a and b normal,
    -103 <= ea, -126 <= eb <= 125 and -125 <= ea - eb <= 126 for exponents ea and eb.
    """
    write_pred(m, i, "p", needs_slow_division(m, f32_src(m, i.o["a"]), f32_src(m, i.o["b"])))


def needs_slow_division(m: Machine, a: Value, b: Value) -> Mask:
    """Where a / b is not exact by the sequence that compilers emit; see FCHK."""
    ea, eb = _exponent(m, a), _exponent(m, b)
    safe = m.mand(_within(m, ea, 24, 254), _within(m, eb, 1, 252))
    safe = m.mand(safe, _within(m, m.sub(ea, eb), -125, 126))
    return m.mnot(safe)


def swizzled(m: Machine, value: Value, letters: str) -> Value:
    """`value` with its sign per lane of the quad: P plus, N minus, Z -0 (adds nothing)."""
    for letter in "NZ":
        lanes = sum(0x11111111 << lane for lane in range(4) if letters[lane] == letter)
        if lanes:
            changed = m.xor(value, F32_SIGN) if letter == "N" else F32_SIGN
            value = m.select(m.mask(lanes), changed, value)
    return value


@register("FSWZADD")
def fswzadd(m: Machine, i: Insn) -> None:
    """sa * a + sb * b with signs chosen per lane of the quad (inferred: derivative code).

    `swz` holds two letters a lane, lane 0 first: the sign of a, then of b.
    """
    a, b = _sources(m, i)
    letters = i.m["swz"]
    a, b = swizzled(m, a, letters[0::2]), swizzled(m, b, letters[1::2])
    result = m.fadd(a, b, rounding(i))
    write(m, i, f32_result(m, i, m.ftz(result) if flushes(i) else result))


@register("MUFU")
def mufu(m: Machine, i: Insn) -> None:
    """The multi-function unit; subnormals are zeros, in and out (last bits modelled)."""
    result = m.mufu(i.m["func"], f32_src(m, i.o["a"]))
    write(m, i, f32_sat(m, result) if i.m["sat"] else result)


@register("RRO")
def rro(m: Machine, i: Insn) -> None:
    """Range reduction for MUFU: kept as the operand itself, which MUFU reduces (modelled)."""
    operand = i.o.get("b") or i.o["a"]
    write(m, i, f32_src(m, operand, flush=True))
