"""Integer multiply: IMUL IMAD IMADSP XMAD IDP.

XMAD is the 16 x 16 multiply-add that compilers build every wider product from; its modes and the
CSFU sign fix-up are inferred from ptxas' sequences, which are right for all inputs only so.
"""

from __future__ import annotations

from gpudbg.sm.semantics.integer import sum_of
from gpudbg.sm.semantics.machine import Machine, Value, Wide
from gpudbg.sm.semantics.operands import (
    Insn,
    Source,
    add_carry,
    carry_count,
    carry_in,
    complemented,
    half,
    int_src,
    is_zero,
    raw,
    saturated,
    write,
    write_flagged,
    write_logic,
)
from gpudbg.sm.semantics.rows import register


def extended(m: Machine, value: Value, type_: str) -> Wide:
    """A 32-bit value as 64 bits by its type U32 or S32."""
    return m.zext(value) if type_.startswith("U") else m.sext(value)


def _product(m: Machine, i: Insn) -> Wide:
    """The 64-bit product a * b by the operand types."""
    a, b = i.o["a"], i.o["b"]
    return m.wmul(
        extended(m, raw(m, a), i.m["atype"] or "S32"),
        extended(m, raw(m, b), i.m["btype"] or "S32"),
    )


@register("IMUL", "IMUL32I")
def imul(m: Machine, i: Insn) -> None:
    """a * b: low word, `.HI` high word of the 64-bit product (documented); CC modelled."""
    if i.m["hi"]:
        result = m.hi(_product(m, i))
    else:
        result = m.mul(raw(m, i.o["a"]), raw(m, i.o["b"]))
    write_logic(m, i, result)


@register("IMAD", "IMAD32I")
def imad(m: Machine, i: Insn) -> None:
    """a * b + c, `.HI` high word of the product + c, `.SAT` signed (documented: mad.hi.sat)."""
    a, b, c = i.o["a"], i.o["b"], i.o["c"]
    negated = a.neg != b.neg
    if i.m["hi"]:
        wide = _product(m, i)
        first = m.hi(m.wsub(0, wide) if negated else wide)
    else:
        low = m.mul(raw(m, a), raw(m, b))
        first = m.sub(0, low) if negated else low
    carry = carry_in(m, i, c.neg or i.m["po"])
    if i.m["sat"]:
        third, extra = (complemented(m, c), carry) if i.m["x"] else (int_src(m, c), None)
        total, out, overflow = add_carry(m, first, third, 1 if i.m["po"] else extra)
        result = saturated(m, first, total, overflow)
        flags = None
        if i.m["cc"]:
            flags = is_zero(m, i, result), m.bit(result, 31), out, overflow
    else:
        result, flags = sum_of(m, i, first, complemented(m, c), carry)
    write_flagged(m, i, result, flags)


_IMADSP_PARTS = {"U16H0": "H0", "S16H0": "H0", "U16H1": "H1", "S16H1": "H1"}


def _imadsp_source(m: Machine, operand: Source, type_: str) -> Value:
    """An IMADSP source by its type: 32 bits, the low 24, or a half."""
    value, signed = raw(m, operand), type_.startswith("S")
    if type_ in _IMADSP_PARTS:
        return half(m, value, _IMADSP_PARTS[type_], signed)
    if type_ in ("U24", "S24"):
        up = m.shl(value, 8)
        return m.sar(up, 8) if signed else m.shr(up, 8)
    if type_ not in ("U32", "S32"):
        m.gap(f"IMADSP operand type {type_ or 'reserved'}")
    return value


@register("IMADSP")
def imadsp(m: Machine, i: Insn) -> None:
    """a * b + c on 24- and 16-bit parts (modelled: no compiler emits it)."""
    a, b, c = (_imadsp_source(m, i.o[s], i.m[s + "type"]) for s in ("a", "b", "c"))
    write_flagged(m, i, *sum_of(m, i, m.mul(a, b), c, None))


@register("XMAD")
def xmad(m: Machine, i: Insn) -> None:
    """half(a) * half(b) [<< 16] + c by mode, `.MRG` puts b's low half on top.

    `.X` adds the two-bit carry count of IADD3.CC too (inferred: 128-bit multiply-add).
    """
    a, b = i.o["a"], i.o["b"]
    whole_a, whole_b = raw(m, a), raw(m, b)
    left = half(m, whole_a, a.part or "H0", i.m["atype"] == "S16")
    right = half(m, whole_b, b.part or "H0", i.m["btype"] == "S16")
    product = m.mul(left, right)
    if i.m["psl"]:
        product = m.shl(product, 16)
    third = raw(m, i.o["c"])
    mode = i.m["cmode"]
    if mode == "CLO":
        third = m.and_(third, 0xFFFF)
    elif mode == "CHI":
        third = m.shr(third, 16)
    elif mode == "CBCC":
        third = m.add(third, m.shl(whole_b, 16))
    elif mode == "CSFU":
        other_a, other_b = (_other_half(m, i, s, v) for s, v in (("a", whole_a), ("b", whole_b)))
        third = m.sub(third, _sign_fix(m, i, "a", left, other_b))
        third = m.sub(third, _sign_fix(m, i, "b", right, other_a))
    result, flags = sum_of(m, i, product, third, carry_count(m) if i.m["x"] else None)
    if i.m["mrg"]:
        result = m.or_(m.and_(result, 0xFFFF), m.shl(whole_b, 16))
    write_flagged(m, i, result, flags)


def _other_half(m: Machine, i: Insn, slot: str, whole: Value) -> Value:
    """The half of `whole` that the operand does not select."""
    return half(m, whole, "H0" if i.o[slot].part == "H1" else "H1")


def _sign_fix(m: Machine, i: Insn, slot: str, value: Value, other: Value) -> Value:
    """65536 where a signed `value` is negative and the other operand's other half is not 0."""
    if i.m[slot + "type"] != "S16":
        return 0
    return m.select(m.mand(m.bit(value, 31), m.mnot(m.eq(other, 0))), 0x10000, 0)


@register("IDP")
def idp(m: Machine, i: Insn) -> None:
    """c + the sum of 4 byte products, or of 2 products of halves and bytes (documented: dp4a)."""
    a, b = raw(m, i.o["a"]), raw(m, i.o["b"])
    signed_a, signed_b = i.m["atype"][0] == "S", i.m["btype"][0] == "S"
    total = raw(m, i.o["c"])
    if i.m["mode"] == "4A":
        parts = [(f"B{k}", f"B{k}") for k in range(4)]
    else:
        first = 2 if i.m["mode"].endswith("HI") else 0
        parts = [(f"H{k}", f"B{first + k}") for k in range(2)]
    for part_a, part_b in parts:
        product = m.mul(half(m, a, part_a, signed_a), half(m, b, part_b, signed_b))
        total = m.add(total, product)
    write(m, i, total)
