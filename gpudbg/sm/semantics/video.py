"""Video instructions: VADD VABSDIFF VABSDIFF4 VMNMX VSHL VSHR VMAD VSET VSETP.

Sources are bytes, halves or words, extended by their own type to exact 64-bit numbers.  The result
is saturated, then accumulated, compared or merged with c (documented: PTX scalar video).
"""

from __future__ import annotations

from gpudbg.isa.operands import Imm
from gpudbg.sm.semantics.machine import Machine, Mask, Value, Wide
from gpudbg.sm.semantics.multiply import extended
from gpudbg.sm.semantics.operands import (
    Insn,
    add_carry,
    half,
    order,
    raw,
    write,
    write_cc,
    write_logic,
    write_setp,
)
from gpudbg.sm.semantics.rows import register

_WHOLE = {"8": "B0", "16": "H0", "32": ""}
"""The piece a source type takes when the operand names none."""

_MERGES = {
    "MRG_16H": (16, 16),
    "MRG_16L": (16, 0),
    "MRG_8B0": (8, 0),
    "MRG_8B2": (8, 16),
}
"""Merge mode -> (width, position) of the result's place in c."""


def _source(m: Machine, i: Insn, slot: str) -> Wide:
    """Source a or b as an exact signed 64-bit number."""
    operand, type_ = i.o[slot], i.m[slot + "type"] or "S32"
    part = operand.part or _WHOLE[type_[1:]]
    return extended(m, half(m, raw(m, operand), part, type_[0] == "S"), type_)


def _clamp(m: Machine, value: Wide, low: int, high: int) -> Wide:
    """A signed number limited to low .. high."""
    value = m.wselect(m.wslt(value, low), low, value)
    return m.wselect(m.wslt(high, value), high, value)


def _saturate(m: Machine, value: Wide, bits: int, signed: bool) -> Wide:
    """A signed number limited to a `bits`-wide integer type."""
    if signed:
        return _clamp(m, value, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return _clamp(m, value, 0, (1 << bits) - 1)


def _finish(m: Machine, i: Insn, value: Wide, signed: bool) -> None:
    """Saturate by the merge width, then ACC, MIN, MAX or merge with c; write d and CC."""
    post = i.m["post"]
    width, position = _MERGES.get(post, (32, 0))
    if i.m["sat"]:
        value = _saturate(m, value, width, signed)
    c = raw(m, i.o["c"]) if post else 0
    if post in ("MIN", "MAX"):
        # The intermediate result keeps more than 32 bits until here.
        third = m.sext(c) if signed else m.zext(c)
        less = m.wslt(value, third)
        if post == "MIN":
            value = m.wselect(less, value, third)
        else:
            value = m.wselect(less, third, value)
    result = m.lo(value)
    carry, overflow = m.bit(m.hi(value), 0), m.mnot(m.weq(value, m.sext(result)))
    if post == "ACC":
        result, carry, overflow = add_carry(m, result, c, None)
    elif post in _MERGES:
        field = ((1 << width) - 1) << position
        result = m.or_(m.and_(m.shl(result, position), field), m.and_(c, field ^ 0xFFFFFFFF))
    write(m, i, result)
    if i.m["cc"]:
        write_cc(m, m.eq(result, 0), m.bit(result, 31), carry, overflow)


@register("VADD")
def vadd(m: Machine, i: Insn) -> None:
    """a + b, a - b, `.PO` a + b + 1, exact."""
    a, b = _source(m, i, "a"), _source(m, i, "b")
    if i.o["a"].neg:
        total = m.wsub(b, a)
    elif i.o["b"].neg:
        total = m.wsub(a, b)
    else:
        total = m.wadd(a, b)
    if i.m["po"]:
        total = m.wadd(total, 1)
    _finish(m, i, total, not i.m["ud"])


@register("VABSDIFF")
def vabsdiff(m: Machine, i: Insn) -> None:
    """|a - b|, exact."""
    difference = m.wsub(_source(m, i, "a"), _source(m, i, "b"))
    negative = m.wslt(difference, 0)
    value = m.wselect(negative, m.wsub(0, difference), difference)
    _finish(m, i, value, bool(i.m["sd"]))


_LANES = "XYZW"
"""Names of VABSDIFF4's byte lanes, byte 0 first."""


def _lane_byte(m: Machine, i: Insn, slot: str, lane: int, pair: tuple[Value, Value]) -> Value:
    """Byte `lane` of VABSDIFF4's source, chosen from the eight of b:a by its selector digits."""
    digits = i.o[slot].part or ("3210" if slot == "a" else "7654")
    digit = int(digits[3 - lane])
    return half(m, pair[digit // 4], f"B{digit % 4}", i.m[slot + "type"][0] == "S")


@register("VABSDIFF4")
def vabsdiff4(m: Machine, i: Insn) -> None:
    """|a - b| of four bytes: put into c's bytes, or `.ACC` summed and added to c (documented).

    The selectors and disabled lanes (which keep c's byte, or add nothing) are modelled.
    """
    if isinstance(i.o["b"], Imm):
        m.gap("VABSDIFF4 with an immediate (how it spreads over the bytes)")
    pair = raw(m, i.o["a"]), raw(m, i.o["b"])
    c = raw(m, i.o["c"])
    result = c
    for lane in (_LANES.index(name) for name in i.m["lanes"]):
        difference = m.sub(_lane_byte(m, i, "a", lane, pair), _lane_byte(m, i, "b", lane, pair))
        value = m.select(m.bit(difference, 31), m.sub(0, difference), difference)
        if i.m["sat"]:
            limit = 0x7F if i.m["sd"] else 0xFF
            value = m.select(m.ult(limit, value), limit, value)
        if i.m["post"] == "ACC":
            result = m.add(result, value)
        else:
            field = 0xFF << 8 * lane
            placed = m.and_(m.shl(value, 8 * lane), field)
            result = m.or_(m.and_(result, field ^ 0xFFFFFFFF), placed)
    write_logic(m, i, result)


def _in_words(i: Insn) -> bool:
    """Whether VMNMX chooses from words of the sign that its result has, and sets no flags: then
    words will do for the exact numbers."""
    kind = "U32" if i.m["ud"] else "S32"
    words = all((i.m[f"{s}type"] or "S32") == kind and not i.o[s].part for s in "ab")
    return words and i.m["post"] in ("", "MIN", "MAX") and not (i.m["sat"] or i.m["cc"])


def _chosen(m: Machine, i: Insn, a: Value, b: Value, most: bool) -> Value:
    """The smaller or the larger of two words of the result's sign."""
    less = m.ult(a, b) if i.m["ud"] else m.slt(a, b)
    return m.select(less, b, a) if most else m.select(less, a, b)


@register("VMNMX")
def vmnmx(m: Machine, i: Insn) -> None:
    """Minimum or `.MX` maximum of the exact values."""
    if _in_words(i):
        found = _chosen(m, i, raw(m, i.o["a"]), raw(m, i.o["b"]), bool(i.m["mx"]))
        if i.m["post"]:
            found = _chosen(m, i, found, raw(m, i.o["c"]), i.m["post"] == "MAX")
        write(m, i, found)
        return
    a, b = _source(m, i, "a"), _source(m, i, "b")
    less = m.wslt(a, b)
    value = m.wselect(less, b, a) if i.m["mx"] else m.wselect(less, a, b)
    _finish(m, i, value, not i.m["ud"])


def _shift_count(m: Machine, i: Insn) -> Value:
    """b, wrapped to 31 or clamped at 32."""
    operand, type_ = i.o["b"], i.m["btype"] or "U32"
    count = half(m, raw(m, operand), operand.part or _WHOLE[type_[1:]])
    if i.m["w"]:
        return m.and_(count, 31)
    return m.select(m.ult(count, 32), count, 32)


@register("VSHL")
def vshl(m: Machine, i: Insn) -> None:
    """a << b; a count of 32 and more leaves 0."""
    value = m.wshl(_source(m, i, "a"), _shift_count(m, i))
    if i.m["atype"] == "U32" and (i.m["sat"] or i.m["post"] == "MIN"):
        # Only the top bit of 2**32 and more can be mistaken for a sign.
        value = m.wselect(m.wslt(value, 0), (1 << 63) - 1, value)
    _finish(m, i, value, not i.m["ud"])


@register("VSHR")
def vshr(m: Machine, i: Insn) -> None:
    """a >> b, arithmetic on the exact value."""
    _finish(m, i, m.wsar(_source(m, i, "a"), _shift_count(m, i)), not i.m["ud"])


@register("VMAD")
def vmad(m: Machine, i: Insn) -> None:
    """(a * b + c) >> 0, 7 or 15, `.SAT`; signed if a source is signed or anything is negated."""
    a, b, c = i.o["a"], i.o["b"], i.o["c"]
    product = m.wmul(_source(m, i, "a"), _source(m, i, "b"))
    negated = a.neg != b.neg
    sources_signed = "S" in (i.m["atype"] or "S32") + (i.m["btype"] or "S32")
    signed = sources_signed or negated or c.neg
    third = m.sext(raw(m, c)) if signed else m.zext(raw(m, c))
    total = m.wsub(third, product) if negated else product
    if not negated:
        total = m.wsub(product, third) if c.neg else m.wadd(product, third)
    elif c.neg:
        total = m.wsub(m.wsub(0, product), third)
    if i.m["po"]:
        total = m.wadd(total, 1)
    distance = {"": 0, "SHR_7": 7, "SHR_15": 15}[i.m["vshift"]]
    moved = (m.wsar if signed else m.wshr)(total, distance) if distance else total
    result = m.lo(moved)
    if i.m["sat"] and signed:
        result = m.lo(_saturate(m, moved, 32, True))
        if negated and not sources_signed:
            result = m.select(m.bit(m.hi(product), 31), 0x80000000, result)
    elif i.m["sat"]:
        result = m.select(m.eq(m.hi(moved), 0), result, 0xFFFFFFFF)
    write(m, i, result)
    if i.m["cc"]:
        overflow = m.mnot(m.weq(moved, m.sext(result)))
        write_cc(m, m.eq(result, 0), m.bit(result, 31), m.bit(m.hi(moved), 0), overflow)


def _video_compare(m: Machine, i: Insn) -> Mask:
    """a cmp b of the exact values."""
    a, b = _source(m, i, "a"), _source(m, i, "b")
    return order(m, i.m["cmp"], lambda: m.wslt(a, b), lambda: m.weq(a, b))


@register("VSET")
def vset(m: Machine, i: Insn) -> None:
    """1 or 0, an unsigned number for MIN and MAX (documented: vset)."""
    _finish(m, i, m.zext(m.from_mask(_video_compare(m, i))), False)


@register("VSETP")
def vsetp(m: Machine, i: Insn) -> None:
    """P = (a cmp b) bop Pc, Q = not (a cmp b) bop Pc."""
    write_setp(m, i, _video_compare(m, i))
