"""Double precision: DADD DMUL DFMA, minimum and compares.

Subnormals are always kept; there is no saturation.  A NaN result is the first NaN operand,
quieted, or 0xfff8000000000000 (inferred; which of two NaNs wins is modelled).
"""

from __future__ import annotations

from gpudbg.sm.semantics.float_operands import f64_cc, f64_compare, f64_src, rounding
from gpudbg.sm.semantics.machine import Machine, Wide
from gpudbg.sm.semantics.operands import Insn, combine, pred_src, write_set, write_setp
from gpudbg.sm.semantics.rows import register


def _sources(m: Machine, i: Insn) -> tuple[Wide, Wide]:
    return f64_src(m, i.o["a"]), f64_src(m, i.o["b"])


def _finish(m: Machine, i: Insn, result: Wide) -> None:
    m.reg_pair_write(i.o["d"].index, result)
    f64_cc(m, i, result)


@register("DADD")
def dadd(m: Machine, i: Insn) -> None:
    """a + b (documented)."""
    a, b = _sources(m, i)
    _finish(m, i, m.dadd(a, b, rounding(i)))


@register("DMUL")
def dmul(m: Machine, i: Insn) -> None:
    """a * b (documented)."""
    a, b = _sources(m, i)
    _finish(m, i, m.dmul(a, b, rounding(i)))


@register("DFMA")
def dfma(m: Machine, i: Insn) -> None:
    """a * b + c with one rounding (documented)."""
    a, b = _sources(m, i)
    _finish(m, i, m.dfma(a, b, f64_src(m, i.o["c"]), rounding(i)))


@register("DMNMX")
def dmnmx(m: Machine, i: Insn) -> None:
    """The smaller where pc is true, else the larger; -0 is below +0; a number wins over a NaN
    (documented: PTX ISA min, max)."""
    a, b = _sources(m, i)
    equal, less = m.deq(a, b), m.dlt(a, b)
    # Equal values differ at most in the sign of a zero: or / and give the lower / higher one.
    smaller = m.wselect(equal, m.wor(a, b), m.wselect(less, a, b))
    larger = m.wselect(equal, m.wand(a, b), m.wselect(less, b, a))
    result = m.wselect(pred_src(m, i.o.get("pc")), smaller, larger)
    result = m.wselect(m.dnan(b), a, m.wselect(m.dnan(a), b, result))
    # Of two NaNs the one an addition would give.
    result = m.wselect(m.mand(m.dnan(a), m.dnan(b)), m.dadd(a, b), result)
    _finish(m, i, result)


@register("DSETP")
def dsetp(m: Machine, i: Insn) -> None:
    """p = (a cmp b) bop pc, q = not (a cmp b) bop pc (documented)."""
    a, b = _sources(m, i)
    write_setp(m, i, f64_compare(m, i.m["cmp"], a, b))


@register("DSET")
def dset(m: Machine, i: Insn) -> None:
    """All ones (`.BF`: 1.0f) where (a cmp b) bop pc, else 0; one register (documented)."""
    a, b = _sources(m, i)
    write_set(m, i, combine(m, i, f64_compare(m, i.m["cmp"], a, b)))
