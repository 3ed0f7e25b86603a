"""Integer compare, select and predicate logic: ISETP ISET ICMP SEL PSETP PSET CSETP CSET."""

from __future__ import annotations

from gpudbg.sm.semantics.machine import Machine, Mask
from gpudbg.sm.semantics.operands import (
    Insn,
    add_carry,
    boolean,
    cc_test,
    combine,
    int_compare,
    int_src,
    order,
    pred_src,
    raw,
    wants_pred,
    write,
    write_pred,
    write_set,
    write_setp,
)
from gpudbg.sm.semantics.rows import register


def _compare(m: Machine, i: Insn) -> Mask:
    """The test of ISETP and ISET; `.X` is the high-word step of a wide compare.

    `.X` needs the flags of `IADD RZ.CC, alo, -blo`.  With t = a + ~b + C: less is t's sign
    corrected by overflow, or no carry out when unsigned; equal is t = 0 with Z (inferred).
    """
    a, b = int_src(m, i.o["a"]), int_src(m, i.o["b"])
    if not i.m["x"]:
        return int_compare(m, i.m["cmp"], a, b, i.m["u32"])
    total, out, overflow = add_carry(m, a, m.not_(b), m.from_mask(m.cc_read("C")))
    less = m.mnot(out) if i.m["u32"] else m.mxor(m.bit(total, 31), overflow)
    equal = m.mand(m.eq(total, 0), m.cc_read("Z"))
    return order(m, i.m["cmp"], lambda: less, lambda: equal)


@register("ISETP")
def isetp(m: Machine, i: Insn) -> None:
    """P = (a cmp b) bop Pc, Q = not (a cmp b) bop Pc (documented: setp)."""
    write_setp(m, i, _compare(m, i))


@register("ISET")
def iset(m: Machine, i: Insn) -> None:
    """All ones or 1.0 where (a cmp b) bop Pc (documented: set)."""
    write_set(m, i, combine(m, i, _compare(m, i)))


@register("ICMP")
def icmp(m: Machine, i: Insn) -> None:
    """(c cmp 0) ? a : b (documented: slct)."""
    test = int_compare(m, i.m["cmp"], int_src(m, i.o["c"]), 0, i.m["u32"])
    write(m, i, m.select(test, raw(m, i.o["a"]), raw(m, i.o["b"])))


@register("SEL")
def sel(m: Machine, i: Insn) -> None:
    """Pc ? a : b (documented: selp)."""
    write(m, i, m.select(pred_src(m, i.o["pc"]), raw(m, i.o["a"]), raw(m, i.o["b"])))


def _predicates(m: Machine, i: Insn, complement: bool) -> Mask:
    """((not) Pa bop1 Pb) bop Pc."""
    first = pred_src(m, i.o["pa"])
    if complement:
        first = m.mnot(first)
    return combine(m, i, boolean(m, i.m["bop1"], first, pred_src(m, i.o["pb"])))


@register("PSETP")
def psetp(m: Machine, i: Insn) -> None:
    """P = (Pa bop1 Pb) bop Pc; Q the same with Pa complemented (inferred)."""
    first = _predicates(m, i, False)
    second = _predicates(m, i, True) if wants_pred(i, "q") else None
    write_pred(m, i, "p", first)
    if second is not None:
        write_pred(m, i, "q", second)


@register("PSET")
def pset(m: Machine, i: Insn) -> None:
    """All ones or 1.0 where (Pa bop1 Pb) bop Pc."""
    write_set(m, i, _predicates(m, i, False))


@register("CSETP")
def csetp(m: Machine, i: Insn) -> None:
    """As ISETP with a condition-code test for the compare (inferred)."""
    write_setp(m, i, cc_test(m, i.m["cctest"]))


@register("CSET")
def cset(m: Machine, i: Insn) -> None:
    """As ISET with a condition-code test for the compare (inferred)."""
    write_set(m, i, combine(m, i, cc_test(m, i.m["cctest"])))
