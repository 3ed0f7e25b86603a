"""Integer add, shift-add, minimum, bit count: IADD IADD3 ISCADD LEA IMNMX FLO POPC.

A subtraction is a + ~b + 1 in the wide sum, so its carry is "no borrow" (inferred: ptxas' 64-bit
arithmetic needs it).  With `.X` the same bit means the one's complement and the carry takes the
place of the 1.
"""

from __future__ import annotations

from gpudbg.sm.semantics.machine import Machine, Mask, Value, Wide
from gpudbg.sm.semantics.operands import (
    ALL_ONES,
    Flags,
    Insn,
    Source,
    add_carry,
    carry_count,
    carry_in,
    complemented,
    int_src,
    is_zero,
    lesser,
    pred_src,
    raw,
    saturated,
    wants_pred,
    write,
    write_cc,
    write_flagged,
    write_logic,
    write_pred,
)
from gpudbg.sm.semantics.rows import register


def sum_of(
    m: Machine, i: Insn, a: Value, b: Value, carry: Value | None
) -> tuple[Value, Flags | None]:
    """a + b + carry, and its flags when the instruction has `.CC`."""
    if not i.m["cc"]:
        total = m.add(a, b)
        return total if carry is None else m.add(total, carry), None
    total, out, overflow = add_carry(m, a, b, carry)
    return total, (is_zero(m, i, total), m.bit(total, 31), out, overflow)


@register("IADD", "IADD32I")
def iadd(m: Machine, i: Insn) -> None:
    """a + b, `.X` + C, `.PO` + 1, `.SAT` signed (documented; PO inferred)."""
    a, b = i.o["a"], i.o["b"]
    if i.m["x"] and i.m["po"]:
        m.gap(f"{i.op}.X with .PO")
    carry = carry_in(m, i, a.neg or b.neg or i.m["po"])
    if i.m["sat"]:
        write_flagged(m, i, *_saturating_sum(m, i, carry))
    elif (a.neg or b.neg) and not (i.m["cc"] or i.m["x"]):
        write(m, i, m.add(int_src(m, a), int_src(m, b)))
    else:
        write_flagged(m, i, *sum_of(m, i, complemented(m, a), complemented(m, b), carry))


def _saturating_sum(m: Machine, i: Insn, carry: Value | None) -> tuple[Value, Flags | None]:
    """IADD.SAT: the sum saturates as a whole, a negated term included (policy)."""
    first, second = complemented(m, i.o["a"]), complemented(m, i.o["b"])
    total, out, overflow = add_carry(m, first, second, carry)
    result = saturated(m, first, total, overflow)
    if not i.m["cc"]:
        return result, None
    return result, (is_zero(m, i, result), m.bit(result, 31), out, overflow)


@register("IADD3")
def iadd3(m: Machine, i: Insn) -> None:
    """(a + b) mode + c; `.X` adds the carry count, `.CC` leaves one of 0 to 2.

    `.RS` keeps the 33rd bit of a + b and `.LS` what it shifts out counts as carry (inferred:
    ptxas' 128-bit multiply-add is right for all inputs only so).
    """
    slots = (i.o["a"], i.o["b"], i.o["c"])
    if not (i.m["cc"] or i.m["x"] or i.m["shift"]):
        a, b, c = (int_src(m, s) for s in slots)
        write(m, i, m.add(m.add(a, b), c))
        return
    first, third = _iadd3_terms(m, i, slots)
    carry = m.zext(carry_count(m) if i.m["x"] else 1 if slots[2].neg else 0)
    total = m.wadd(m.wadd(first, m.zext(third)), carry)
    result = m.lo(total)
    flags = None
    if i.m["cc"]:
        count = m.hi(total)
        signed = m.wadd(m.wadd(_signed_first(m, i, slots, first), m.sext(third)), carry)
        overflow = m.mnot(m.weq(signed, m.sext(result)))
        zero, sign = is_zero(m, i, result), m.bit(result, 31)
        flags = zero, sign, m.bit(count, 0), overflow, m.bit(count, 1)
    write(m, i, result)
    if flags is not None:
        write_cc(m, *flags)


def _iadd3_terms(m: Machine, i: Insn, slots: tuple[Source, Source, Source]) -> tuple[Wide, Value]:
    """(a + b with its mode applied, c): each `-` complemented, the ones of a and b added."""
    a, b, c = (complemented(m, s) for s in slots)
    first = m.wadd(m.zext(a), m.zext(b))
    ones = 0 if i.m["x"] else slots[0].neg + slots[1].neg
    if ones:
        first = m.wadd(first, ones)
    if i.m["shift"] == "RS":
        first = m.wshr(m.wand(first, 0x1FFFFFFFF), 16)
    elif i.m["shift"] == "LS":
        first = m.wshl(first, 16)
    return first, c


def _signed_first(m: Machine, i: Insn, slots: tuple[Source, Source, Source], first: Wide) -> Wide:
    """The first sum as a signed number, for the overflow flag (modelled)."""
    if i.m["shift"]:
        return m.sext(m.lo(first))
    total = m.wadd(m.sext(complemented(m, slots[0])), m.sext(complemented(m, slots[1])))
    ones = 0 if i.m["x"] else slots[0].neg + slots[1].neg
    return m.wadd(total, ones) if ones else total


def _shift(i: Insn) -> int:
    """The shift count of ISCADD and LEA; not printed when 0."""
    operand = i.o.get("imm")
    return 0 if operand is None else operand.value & 31


@register("ISCADD", "ISCADD32I")
def iscadd(m: Machine, i: Insn) -> None:
    """(a << s) + b; `-a` negates the shifted value; `.PO` + 1 (documented as madc/mad24 uses)."""
    a, b = i.o["a"], i.o["b"]
    shifted = m.shl(raw(m, a), _shift(i))
    first = m.not_(shifted) if a.neg else shifted
    carry = carry_in(m, i, a.neg or b.neg or i.m["po"])
    write_flagged(m, i, *sum_of(m, i, first, complemented(m, b), carry))


@register("LEA")
def lea(m: Machine, i: Insn) -> None:
    """(a << s) + b, or `.HI` the high word of ((c:a) << s) plus b (inferred from compilers)."""
    if i.m["hi"]:
        result, flags, address = _lea_high(m, i)
    else:
        a = i.o["a"]
        shifted = m.shl(raw(m, a), _shift(i))
        first = m.not_(shifted) if a.neg else shifted
        carry = carry_in(m, i, a.neg)
        result, flags = sum_of(m, i, first, complemented(m, i.o["b"]), carry)
        address = m.zext(result)
    write_flagged(m, i, result, flags)
    if wants_pred(i, "p"):
        write_pred(m, i, "p", m.mnot(m.in_window(address)))


def _lea_high(m: Machine, i: Insn) -> tuple[Value, Flags | None, Wide]:
    """LEA.HI: (result, flags, the 64-bit address it completes when the low base is zero)."""
    a = i.o["a"]
    index = m.wide(raw(m, a), raw(m, i.o["c"]))
    shifted = m.wshl(index, _shift(i)) if _shift(i) else index
    low = m.lo(shifted)
    if a.neg and i.m["x"]:
        high = m.not_(m.hi(shifted))
    elif a.neg:
        high = m.hi(m.wsub(0, shifted))
    else:
        high = m.hi(shifted)
    carry = carry_in(m, i, False)
    result, flags = sum_of(m, i, high, complemented(m, i.o["b"]), carry)
    return result, flags, m.wide(low, result)


@register("IMNMX")
def imnmx(m: Machine, i: Insn) -> None:
    """min where Pc, else max; XHI XMED XLO chain words through Z (equal) and C (a >= b).

    The private use of Z and C between the steps of a chain is modelled.
    """
    a, b = int_src(m, i.o["a"]), int_src(m, i.o["b"])
    chain = i.m["xmode"]
    unsigned = i.m["u32"] or chain in ("XMED", "XLO")
    less = m.ult(a, b) if unsigned else m.slt(a, b)
    equal: Mask | None = None
    if chain in ("XMED", "XLO"):
        so_far = m.cc_read("Z")
        less = m.mselect(so_far, less, m.mnot(m.cc_read("C")))
        equal = m.mand(so_far, m.eq(a, b))
    elif chain == "XHI":
        equal = m.eq(a, b)
    pc = i.o["pc"]
    result = lesser(m, pc, lambda: pred_src(m, pc), less, a, b)
    if equal is None:
        write_logic(m, i, result)
        return
    write(m, i, result)
    if i.m["cc"]:
        write_cc(m, equal, m.bit(result, 31), m.mnot(less), m.false())


@register("FLO")
def flo(m: Machine, i: Insn) -> None:
    """Index of the highest set bit (signed: that differs from the sign), `.SH` 31 - index.

    0xffffffff when there is none (documented: bfind).
    """
    value = int_src(m, i.o["b"])
    if not i.m["u32"]:
        value = m.select(m.bit(value, 31), m.not_(value), value)
    zeros = m.clz(value)
    if i.m["sh"]:
        result = m.select(m.eq(value, 0), ALL_ONES, zeros)
    else:
        result = m.sub(31, zeros)
    write_logic(m, i, result)


@register("POPC")
def popc(m: Machine, i: Insn) -> None:
    """Number of set bits of b or ~b (documented)."""
    write(m, i, m.popc(int_src(m, i.o["b"])))
