"""Packed half precision, f16 and bf16: HADD2 HMUL2 HFMA2 HMNMX2 HSET2 HSETP2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from gpudbg.isa.operands import Imm
from gpudbg.sm.semantics.float_operands import (
    F16_ONE,
    F16_SIGN,
    F16_TINY,
    F64_MAGNITUDE,
    F64_SIGN,
    f16_ftz,
    f64_compare,
    f64_sat,
    signs32,
)
from gpudbg.sm.semantics.machine import Mask, Rounding, Value, Wide, WideMachine
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.floats import COMPARES
from gpudbg.sm.semantics.wide.formats import narrow
from gpudbg.sm.semantics.wide.operands import (
    Source,
    WideInsn,
    boolean,
    chosen,
    flushes,
    predicate,
    raw,
    write,
    write_predicate,
)

BF16_ONE = 0x3F80
_SIGNS = 0x8000_8000
NEG_ZERO = 0x8000_0000_0000_0000


def is_bf16(i: WideInsn) -> bool:
    """Whether the halves are bf16."""
    return "BF16_V2" in i.m or "BF16" in i.m


def _words(m: WideMachine, i: WideInsn) -> list[tuple[Value, str, Source]]:
    """The sources as words of two halves, with what each selects.

    Two immediates are the high and the low half of one operand, in the order of the text.
    """
    out: list[tuple[Value, str, Source]] = []
    operands = [i.o[s] for s in ("a", "b", "c", "e", "f") if s in i.o]
    skip = False
    for n, operand in enumerate(operands):
        if skip:
            skip = False
            continue
        following = operands[n + 1] if n + 1 < len(operands) else None
        if isinstance(operand, Imm) and isinstance(following, Imm):
            out.append(((operand.value << 16 | following.value) & 0xFFFFFFFF, "", operand))
            skip = True
        else:
            value = signs32(m, operand, raw(m, operand), _SIGNS)
            out.append((value, operand.part, operand))
    return out


def _wide_half(
    m: WideMachine, i: WideInsn, word: Value, part: str, operand: Source, high: bool
) -> Wide:
    """One half of a source as an exact f64."""
    if part == "F32":
        # A float is cut to f16 toward zero before the operation.
        single = signs32(m, operand, raw(m, operand), 0x80000000)
        return m.f16_to_f64(m.f64_to_f16(m.f32_to_f64(single), "RZ"))
    upper = part == "H1_H1" or (high and part != "H0_H0")
    half = m.shr(word, 16) if upper else m.and_(word, 0xFFFF)
    if is_bf16(i):
        single = m.shl(half, 16)
        return m.f32_to_f64(m.ftz(single) if flushes(i) else single)
    return m.f16_to_f64(f16_ftz(m, half) if flushes(i) else half)


def _narrow(m: WideMachine, i: WideInsn, value: Wide) -> Value:
    """An f64 as the half it is rounded to."""
    if "SAT" in i.m:
        value = f64_sat(m, value)
    half = narrow_bf16(m, value) if is_bf16(i) else m.f64_to_f16(value, "RN")
    if flushes(i) and not is_bf16(i):
        tiny = m.dlt(m.wand(value, F64_MAGNITUDE), F16_TINY)
        half = m.select(tiny, m.and_(half, F16_SIGN), half)
    if "RELU" in i.m:
        # Where the predicate is false, nothing is changed (measured on H100).
        below = m.mand(m.bit(half, 15), m.mnot(m.dnan(value)))
        half = m.select(m.mand(below, predicate(m, i.o.get("pa"))), 0, half)
    return half


def narrow_bf16(m: WideMachine, value: Wide, rnd: Rounding = "RN") -> Value:
    """An f64 rounded once to bf16, in the low half; NaN is 0x7fff.

    Rounding to f32 toward zero with the lost bits kept in the last one (round to odd) makes the
    second rounding exact.
    """
    if rnd in ("RM", "RP"):
        return narrow(m, value, "BF16", rnd)
    down = m.f64_to_f32(value, "RZ")
    inexact = m.mnot(m.deq(m.f32_to_f64(down), value))
    sticky = m.select(inexact, m.or_(down, 1), down)
    if rnd == "RZ":
        rounded = m.shr(sticky, 16)
    else:
        odd = m.and_(m.shr(sticky, 16), 1)
        rounded = m.shr(m.add(sticky, m.add(odd, 0x7FFF)), 16)
    return m.select(m.dnan(value), 0x7FFF, rounded)


def _both(m: WideMachine, i: WideInsn, operation: Callable[[Sequence[Wide]], Wide]) -> Value:
    """The results of an operation on both halves."""
    sources = _words(m, i)
    results = [
        _narrow(m, i, operation([_wide_half(m, i, *source, high) for source in sources]))
        for high in (False, True)
    ]
    return m.or_(results[0], m.shl(results[1], 16))


def _each(m: WideMachine, i: WideInsn, operation: Callable[[Sequence[Wide]], Wide]) -> None:
    """An operation on both halves."""
    write(m, i, _both(m, i, operation))


@register_wide("HADD2", "UHADD2")
def hadd2(m: WideMachine, i: WideInsn) -> None:
    """a + b in both halves; `.F32`: the low result as a float."""
    if "F32" in i.m:
        sources = _words(m, i)
        low = [_wide_half(m, i, *source, False) for source in sources]
        total = m.dadd(low[0], low[1])
        write(m, i, m.f64_to_f32(f64_sat(m, total) if "SAT" in i.m else total, "RN"))
        return
    _each(m, i, lambda v: m.dadd(v[0], v[1]))


@register_wide("HMUL2")
def hmul2(m: WideMachine, i: WideInsn) -> None:
    """a * b in both halves."""
    _each(m, i, lambda v: _product(m, i, v))


def _product(m: WideMachine, i: WideInsn, v: Sequence[Wide]) -> Wide:
    """a * b; with `.FMZ` 0 times anything is +0 (measured on H100)."""
    product = m.dmul(v[0], v[1])
    return m.wselect(_no_factor(m, v), 0, product) if "FMZ" in i.m else product


def _no_factor(m: WideMachine, v: Sequence[Wide]) -> Mask:
    return m.mor(m.deq(v[0], 0), m.deq(v[1], 0))


@register_wide("HFMA2")
def hfma2(m: WideMachine, i: WideInsn) -> None:
    """a * b + c in both halves with one rounding; -0 * 0 + c is c whatever its bits."""
    a, b = i.o["a"], i.o["b"]
    zero = [getattr(o, "index", -1) == 255 and getattr(o, "file", "") == "R" for o in (a, b)]
    constant = isinstance(i.o.get("c"), Imm)
    if all(zero) and constant and a.neg != b.neg:
        write(m, i, _words(m, i)[2][0])
        return
    _each(m, i, lambda v: _fused(m, i, v))


def _fused(m: WideMachine, i: WideInsn, v: Sequence[Wide]) -> Wide:
    if not is_bf16(i):
        return m.dadd(_product(m, i, v), v[2])
    fused = _odd_sum(m, m.dmul(v[0], v[1]), v[2])
    return m.wselect(_no_factor(m, v), m.dadd(0, v[2]), fused) if "FMZ" in i.m else fused


def _odd_sum(m: WideMachine, a: Wide, b: Wide) -> Wide:
    """a + b of f64 whose last bit is 1 where bits were lost (round to odd): rounding it again is
    then rounding once.  A product of bf16 may lie half way between two, and c be far below it."""
    total = m.dadd(a, b)
    minus = F64_SIGN
    rest = m.dadd(total, m.wxor(a, minus))
    lost = m.dadd(
        m.dadd(a, m.wxor(m.dadd(total, m.wxor(rest, minus)), minus)),
        m.dadd(b, m.wxor(rest, minus)),
    )
    above, below = m.dlt(0, lost), m.dlt(lost, 0)
    even = m.weq(m.wand(total, 1), 0)
    negative = m.dlt(total, 0)
    further = m.mor(m.mand(above, m.mnot(negative)), m.mand(below, negative))
    step = m.wselect(further, 1, (1 << 64) - 1)
    return m.wselect(m.mand(even, m.mor(above, below)), m.wadd(total, step), total)


@register_wide("HMNMX2", "VHMNMX")
def hmnmx2(m: WideMachine, i: WideInsn) -> None:
    """The smaller or larger in both halves, by the rules of FMNMX; VHMNMX of three."""
    if "IS_A" in i.m:
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    least = predicate(m, i.o.get("pa"))

    def choose(a: Wide, b: Wide) -> Wide:
        equal, less = m.deq(a, b), m.dlt(a, b)
        small = m.wselect(equal, m.wor(a, b), m.wselect(less, a, b))
        large = m.wselect(equal, m.wand(a, b), m.wselect(less, b, a))
        found = m.wselect(least, small, large)
        nan_a, nan_b = m.dnan(a), m.dnan(b)
        found = m.wselect(nan_b, a, m.wselect(nan_a, b, found))
        bad = m.mor(nan_a, nan_b) if "NAN" in i.m else m.mand(nan_a, nan_b)
        return m.wselect(bad, 0x7FF8_0000_0000_0000, found)

    result = _both(m, i, lambda v: reduce(choose, v))
    write(m, i, _xor_signs(m, i, result) if "XORSIGN" in i.m else result)


def _xor_signs(m: WideMachine, i: WideInsn, result: Value) -> Value:
    """The halves with the signs of the products of a's and b's, as the registers have them."""
    signs: Value = 0
    for high in (False, True):
        sign: Value = 0
        for slot in "ab":
            part = i.o[slot].part
            upper = part == "H1_H1" or (high and part != "H0_H0")
            sign = m.xor(sign, m.shr(raw(m, i.o[slot]), 31 if upper else 15))
        sign = m.and_(sign, 1)
        half = m.and_(m.shr(result, 16 if high else 0), 0x7FFF)
        number = m.mnot(m.ult(0x7F80 if is_bf16(i) else 0x7C00, half))
        half = m.select(number, m.or_(half, m.shl(sign, 15)), half)
        signs = m.or_(signs, m.shl(half, 16 if high else 0))
    return signs


def _tests(m: WideMachine, i: WideInsn) -> tuple[Mask, Mask]:
    sources, name = _words(m, i), chosen(i, COMPARES, "F")
    other = predicate(m, i.o.get("pa"))
    found = []
    for high in (False, True):
        a, b = (_wide_half(m, i, *source, high) for source in sources[:2])
        found.append(boolean(m, i, f64_compare(m, name, a, b), other))
    return found[0], found[1]


@register_wide("HSET2")
def hset2(m: WideMachine, i: WideInsn) -> None:
    """Each half all ones, `.BF` 1.0, where the compare holds, else 0."""
    low, high = _tests(m, i)
    one = (BF16_ONE if is_bf16(i) else F16_ONE) if "BF" in i.m else 0xFFFF
    write(m, i, m.or_(m.select(low, one, 0), m.select(high, one << 16, 0)))


@register_wide("HSETP2")
def hsetp2(m: WideMachine, i: WideInsn) -> None:
    """p from the low halves, q from the high ones; `.H_AND`: both, and not both."""
    low, high = _tests(m, i)
    if "H_AND" in i.m:
        low = m.mand(low, high)
        high = m.mnot(low)
    write_predicate(m, i, "p", low)
    write_predicate(m, i, "q", high)
