"""Integer arithmetic: IADD3 IMAD LEA VIADD IMNMX VIMNMX FLO POPC BREV SGXT BMSK IDP VABSDIFF."""

from __future__ import annotations

from collections.abc import Callable

from gpudbg.isa.operands import Imm, Reg
from gpudbg.sm.semantics.machine import Mask, Value, Wide, WideMachine
from gpudbg.sm.semantics.operands import ALL_ONES, half, lesser
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.operands import (
    Source,
    WideInsn,
    integer,
    predicate,
    raw,
    raw_pair,
    wanted,
    write,
    write_pair,
    write_predicate,
)

CARRY = 1 << 32


def addend(m: WideMachine, operand: Source) -> Wide:
    """A term of a sum with carries: a negated one enters as ~x + 1, so -0 carries."""
    value = raw(m, operand)
    if operand.neg:
        return m.wadd(m.zext(m.not_(value)), 1)
    return m.zext(m.not_(value) if operand.inv else value)


def carry(m: WideMachine, i: WideInsn, slot: str) -> Wide:
    """A predicate as 0 or 1; 0 where the form has none."""
    operand = i.o.get(slot)
    return 0 if operand is None else m.zext(m.from_mask(predicate(m, operand)))


def carry_word(m: WideMachine, i: WideInsn, slot: str) -> Value:
    """The same as a word."""
    operand = i.o.get(slot)
    return 0 if operand is None else m.from_mask(predicate(m, operand))


def plain(m: WideMachine, operand: Source) -> Value | None:
    """A term of a sum as a word; None where its negation may carry by itself."""
    return None if operand.neg else integer(m, operand)


def _nothing(operand: Source) -> bool:
    """Whether a term of a sum is zero, and cannot carry."""
    return isinstance(operand, Reg) and operand.is_zero and not (operand.neg or operand.inv)


def _sum_of_two(m: WideMachine, i: WideInsn, a: Value | None, b: Value | None) -> None:
    """a + b, and P: it carries."""
    if a is None or b is None:
        total = m.wadd(addend(m, i.o["a"]), addend(m, i.o["b"]))
        write(m, i, m.lo(total))
        write_predicate(m, i, "p", m.mnot(m.eq(m.hi(total), 0)))
        return
    low = m.add(a, b)
    write(m, i, low)
    write_predicate(m, i, "p", m.ult(low, a))


@register_wide("IADD3", "UIADD3")
def iadd3(m: WideMachine, i: WideInsn) -> None:
    """a + b + c, `.X` + two carries; P: the sum has 33 bits or more, Q: 34 (measured)."""
    if "64" in i.m:
        if "X" in i.m or wanted(i, "p") or wanted(i, "q"):
            m.gap(f"{i.op}.64 with carries")
        total64 = m.wadd(m.wadd(_wide(m, i.o["a"]), _wide(m, i.o["b"])), _wide(m, i.o["c"]))
        write_pair(m, i, total64)
        return
    if not (wanted(i, "p") or wanted(i, "q")):
        low = m.add(m.add(integer(m, i.o["a"]), integer(m, i.o["b"])), integer(m, i.o["c"]))
        if "X" in i.m:
            low = m.add(low, m.add(carry_word(m, i, "pa"), carry_word(m, i, "pb")))
        write(m, i, low)
        return
    if "X" not in i.m and _nothing(i.o["c"]) and not wanted(i, "q"):
        _sum_of_two(m, i, plain(m, i.o["a"]), plain(m, i.o["b"]))
        return
    total = m.wadd(m.wadd(addend(m, i.o["a"]), addend(m, i.o["b"])), addend(m, i.o["c"]))
    if "X" in i.m:
        total = m.wadd(total, m.wadd(carry(m, i, "pa"), carry(m, i, "pb")))
    count = m.hi(total)
    write(m, i, m.lo(total))
    write_predicate(m, i, "p", m.mnot(m.eq(count, 0)))
    write_predicate(m, i, "q", m.mnot(m.ult(count, 2)))


def _wide(m: WideMachine, operand: Source) -> Wide:
    value = raw_pair(m, operand)
    if operand.inv:
        return m.wnot(value)
    return m.wsub(0, value) if operand.neg else value


def carried(m: WideMachine, a: Wide, b: Wide, more: Wide, asked: bool = True) -> tuple[Wide, Mask]:
    """a + b + more in 64 bits, and whether it carries, if that is asked."""
    first = m.wadd(a, b)
    total = first if isinstance(more, int) and not more else m.wadd(first, more)
    if not asked:
        return total, m.false()
    return total, m.mor(m.wult(first, a), m.wult(total, first))


@register_wide("IADD", "UIADD")
def iadd(m: WideMachine, i: WideInsn) -> None:
    """a + b with one carry, of words or (`.64`) of pairs."""
    if "XOR" in i.m:
        m.gap(f"{i.op}.XOR")
    more = carry(m, i, "pa") if "X" in i.m else 0
    if "64" not in i.m:
        total = m.wadd(m.wadd(addend(m, i.o["a"]), addend(m, i.o["b"])), more)
        write(m, i, m.lo(total))
        write_predicate(m, i, "p", m.mnot(m.eq(m.hi(total), 0)))
        return
    terms = []
    for slot in ("a", "b"):
        operand = i.o[slot]
        value = raw_pair(m, operand)
        if operand.neg:
            more = m.wadd(more, 1)
        terms.append(m.wnot(value) if operand.neg or operand.inv else value)
    total, out = carried(m, terms[0], terms[1], more)
    write_pair(m, i, total)
    write_predicate(m, i, "p", out)


@register_wide("VIADD", "UVIADD")
def viadd(m: WideMachine, i: WideInsn) -> None:
    """a + b, of the whole word or of its parts."""
    bits = _lane_bits(i)
    if "ISAT" in i.m:
        total = m.wadd(*(_exact(m, i.o[slot]) for slot in "ab"))
        write(m, i, m.lo(_clamp(m, total, -(1 << 31), (1 << 31) - 1)))
        return
    a, b = (_parts(m, i.o[slot], bits) for slot in "ab")
    write(m, i, m.add(a, b) if bits == 32 else _by_parts(m, bits, m.add, a, b))


def _exact(m: WideMachine, operand: Source) -> Wide:
    """A signed operand in 64 bits: of the least number `-` is no number of 32 bits."""
    value = m.sext(raw(m, operand))
    return m.wadd(m.wnot(value), 1) if operand.neg else value


def _lane_bits(i: WideInsn) -> int:
    """Bits of the parts that a packed instruction works on."""
    for name in i.m:
        if name.endswith("x2"):
            return 16
        if name.endswith("x4"):
            return 8
    return 32


def _by_parts(
    m: WideMachine, bits: int, operation: Callable[..., Value], *values: Value, signed: bool = False
) -> Value:
    """An operation on each part of the words."""
    kind = "H" if bits == 16 else "B"
    result: Value = 0
    for n in range(32 // bits):
        parts = [half(m, v, f"{kind}{n}", signed) for v in values]
        value = m.shl(m.and_(operation(*parts), (1 << bits) - 1), bits * n)
        result = m.or_(result, value) if n else value
    return result


def _parts(m: WideMachine, operand: Source, bits: int) -> Value:
    """An operand whose `-` is that of each part."""
    if bits == 32 or not operand.neg:
        return integer(m, operand)
    return _by_parts(m, bits, lambda part: m.sub(0, part), raw(m, operand))


def _clamp(m: WideMachine, value: Wide, low: int, high: int) -> Wide:
    value = m.wselect(m.wslt(value, low), low, value)
    return m.wselect(m.wslt(high, value), high, value)


@register_wide("IMAD", "UIMAD", "IMUL", "UIMUL")
def imad(m: WideMachine, i: WideInsn) -> None:
    """a * b + c: low word, `.HI` high word of the sum with a pair, `.WIDE` the whole pair."""
    a, b, c = i.o["a"], i.o["b"], i.o.get("c")
    if "WIDE" not in i.m and "HI" not in i.m:
        low = m.mul(integer(m, a), integer(m, b))
        if c is not None:
            low = m.add(low, integer(m, c))
        if "X" in i.m:
            low = m.add(low, m.from_mask(predicate(m, i.o["pa"])))
        write(m, i, low)
        return
    extend = m.zext if "U32" in i.m else m.sext
    product = m.wmul(extend(raw(m, a)), extend(raw(m, b)))
    if a.neg != b.neg:
        product = m.wsub(0, product)
    more = carry(m, i, "pa") if "X" in i.m else 0
    third = 0 if c is None else raw_pair(m, c)
    if c is not None and (c.neg or c.inv):
        third = m.wnot(third)
        more = m.wadd(more, 1) if c.neg else more
    total, out = carried(m, product, third, more, wanted(i, "p"))
    if "WIDE" in i.m:
        write_pair(m, i, total)
    else:
        write(m, i, m.hi(total))
    write_predicate(m, i, "p", out)


@register_wide("LEA", "ULEA")
def lea(m: WideMachine, i: WideInsn) -> None:
    """(a << s) + b; `.HI` the high word of (c:a) << s, plus b; `.X` plus a carry."""
    a, count = i.o["a"], i.o["imm"].value & 31
    if "HI" in i.m:
        high = m.wide(raw(m, a), raw(m, i.o["c"])) if "SX32" not in i.m else m.sext(raw(m, a))
        shifted = m.wshl(high, count) if count else high
        # The word is negated, not the pair: what is shifted out does not borrow (measured on H100).
        word = m.hi(shifted)
        if not wanted(i, "p"):
            _lea_sum(m, i, m.sub(0, word) if a.neg else m.not_(word) if a.inv else word)
            return
        first = (
            m.wadd(m.zext(m.not_(word)), 1) if a.neg else m.zext(m.not_(word) if a.inv else word)
        )
    else:
        word = m.shl(raw(m, a), count) if count else raw(m, a)
        if not wanted(i, "p"):
            _lea_sum(m, i, m.sub(0, word) if a.neg else m.not_(word) if a.inv else word)
            return
        if not (a.neg or i.o["b"].neg or "X" in i.m):
            first_word = m.not_(word) if a.inv else word
            low = m.add(first_word, integer(m, i.o["b"]))
            write(m, i, low)
            write_predicate(m, i, "p", m.ult(low, first_word))
            return
        first = (
            m.wadd(m.zext(m.not_(word)), 1) if a.neg else m.zext(m.not_(word) if a.inv else word)
        )
    total = m.wadd(first, addend(m, i.o["b"]))
    if "X" in i.m:
        total = m.wadd(total, carry(m, i, "pa"))
    write(m, i, m.lo(total))
    write_predicate(m, i, "p", m.mnot(m.eq(m.hi(total), 0)))


def _lea_sum(m: WideMachine, i: WideInsn, first: Value) -> None:
    """The sum of LEA whose carry is unused."""
    low = m.add(first, integer(m, i.o["b"]))
    write(m, i, m.add(low, carry_word(m, i, "pa")) if "X" in i.m else low)


@register_wide("IABS", "UIABS")
def iabs(m: WideMachine, i: WideInsn) -> None:
    """|a|; 0x80000000 stays."""
    a = integer(m, i.o["a"])
    write(m, i, m.select(m.bit(a, 31), m.sub(0, a), a))


def _smaller(m: WideMachine, i: WideInsn, a: Value, b: Value) -> Mask:
    unsigned = any(name.startswith("U") for name in i.m)
    return m.ult(a, b) if unsigned else m.slt(a, b)


def minimum(m: WideMachine, i: WideInsn, a: Value, b: Value) -> Value:
    """The smaller of two where the predicate holds, else the larger, by parts; `.RELU`: not below
    zero."""
    pa = i.o["pa"]
    bits = _lane_bits(i)

    def choose(x: Value, y: Value) -> Value:
        found = lesser(m, pa, lambda: predicate(m, pa), _smaller(m, i, x, y), x, y)
        return m.select(m.bit(found, 31), 0, found) if "RELU" in i.m else found

    if bits == 32:
        return choose(a, b)
    return _by_parts(m, bits, choose, a, b, signed=not any(n.startswith("U") for n in i.m))


@register_wide("IMNMX", "VIMNMX", "UIMNMX", "UVIMNMX")
def imnmx(m: WideMachine, i: WideInsn) -> None:
    """min(a, b) where the predicate holds, else max."""
    if "S64" in i.m or "U64" in i.m:
        if wanted(i, "q") or wanted(i, "p"):
            m.gap("the predicates of a 64-bit minimum")
        a64, b64 = _wide(m, i.o["a"]), _wide(m, i.o["b"])
        less64 = m.wult(a64, b64) if "U64" in i.m else m.wslt(a64, b64)
        least = predicate(m, i.o["pa"])
        write_pair(m, i, m.wselect(m.mxor(less64, m.mnot(least)), a64, b64))
        return
    a, b = integer(m, i.o["a"]), integer(m, i.o["b"])
    found = minimum(m, i, a, b)
    # What compilers do not want goes to any predicate, maybe to the same one: the first one counts.
    for slot, part in (("q", "H1"), ("p", "H0")):
        if wanted(i, slot):
            same = _same_part(m, i, found, a, part)
            write_predicate(m, i, slot, same)
    write(m, i, found)


def _same_part(m: WideMachine, i: WideInsn, found: Value, a: Value, part: str) -> Mask:
    """Whether a part of the result is that of the first operand."""
    if _lane_bits(i) == 32:
        return m.eq(found, a)
    return m.eq(half(m, found, part, False), half(m, a, part, False))


@register_wide("VIMNMX3")
def vimnmx3(m: WideMachine, i: WideInsn) -> None:
    """The same of three."""
    a, b, c = (integer(m, i.o[s]) for s in "abc")
    write(m, i, minimum(m, i, minimum(m, i, a, b), c))


@register_wide("VIADDMNMX")
def viaddmnmx(m: WideMachine, i: WideInsn) -> None:
    """min or max of a + b and c; the sum wraps at the size of its part."""
    bits = _lane_bits(i)
    a, b, c = (_parts(m, i.o[s], bits) for s in "abc")
    total = m.add(a, b) if bits == 32 else _by_parts(m, bits, m.add, a, b)
    write(m, i, minimum(m, i, total, c))


@register_wide("VABSDIFF")
def vabsdiff(m: WideMachine, i: WideInsn) -> None:
    """|a - b| + c; p = the sum's carry (measured on H100)."""
    a, b, c = (integer(m, i.o[s]) for s in "abc")
    difference = m.select(_smaller(m, i, a, b), m.sub(b, a), m.sub(a, b))
    total = m.add(difference, c)
    write(m, i, total)
    write_predicate(m, i, "p", m.ult(total, c))


@register_wide("VABSDIFF4")
def vabsdiff4(m: WideMachine, i: WideInsn) -> None:
    """|a - b| of each byte; `.ACC`: their sum plus c, p = its carry, else 0 (measured on H100)."""
    a, b = integer(m, i.o["a"]), integer(m, i.o["b"])
    signed = "S8" in i.m or "U8" not in i.m
    found = []
    for n in range(4):
        x, y = (half(m, v, f"B{n}", signed) for v in (a, b))
        less = m.slt(x, y) if signed else m.ult(x, y)
        found.append(m.and_(m.select(less, m.sub(y, x), m.sub(x, y)), 0xFF))
    overflow = m.false()
    if "ACC" in i.m:
        start = total = integer(m, i.o["c"])
        for part in found:
            total = m.add(total, part)
        overflow = m.ult(total, start)
    else:
        total = found[0]
        for n in (1, 2, 3):
            total = m.or_(total, m.shl(found[n], 8 * n))
    write(m, i, total)
    write_predicate(m, i, "p", overflow)


@register_wide("IDP")
def idp(m: WideMachine, i: WideInsn) -> None:
    """c + the sum of 4 byte products, or of 2 products of halves and bytes."""
    a, b, total = raw(m, i.o["a"]), raw(m, i.o["b"]), integer(m, i.o["c"])
    first, second = [name for name in i.m if name in ("U8", "S8", "U16", "S16")][:2]
    if "4A" in i.m:
        parts = [(f"B{k}", f"B{k}") for k in range(4)]
    else:
        low = 2 if "HI" in i.m else 0
        parts = [(f"H{k}", f"B{low + k}") for k in range(2)]
    for part_a, part_b in parts:
        x, y = half(m, a, part_a, first[0] == "S"), half(m, b, part_b, second[0] == "S")
        total = m.add(total, m.mul(x, y))
    write(m, i, total)


@register_wide("POPC", "UPOPC")
def popc(m: WideMachine, i: WideInsn) -> None:
    """Number of set bits."""
    write(m, i, m.popc(integer(m, i.o["a"])))


@register_wide("BREV", "UBREV")
def brev(m: WideMachine, i: WideInsn) -> None:
    """Bits reversed."""
    write(m, i, m.brev(integer(m, i.o["a"])))


@register_wide("FLO", "UFLO")
def flo(m: WideMachine, i: WideInsn) -> None:
    """Index of the highest set bit (signed: that differs from the sign), `.SH` 31 - index; all ones
    where there is none."""
    value = integer(m, i.o["a"])
    if "U32" not in i.m:
        value = m.select(m.bit(value, 31), m.not_(value), value)
    zeros = m.clz(value)
    none = m.eq(value, 0)
    result = m.select(none, ALL_ONES, zeros) if "SH" in i.m else m.sub(31, zeros)
    write(m, i, result)
    write_predicate(m, i, "p", m.mnot(none))


def _count(m: WideMachine, i: WideInsn, operand: Source, limit: int) -> Value:
    """A count of bits: wrapped with `.W`, else at most `limit`."""
    if isinstance(operand, Imm):
        value = operand.value & ALL_ONES
        return value % limit if "W" in i.m else min(value, limit)
    count = integer(m, operand)
    return m.and_(count, limit - 1) if "W" in i.m else m.select(m.ult(count, limit), count, limit)


@register_wide("SGXT", "USGXT")
def sgxt(m: WideMachine, i: WideInsn) -> None:
    """The low n bits, extended by their sign, `.U32` by zeros; n of 32 and more keeps all."""
    count = _count(m, i, i.o["b"], 32)
    above = m.sub(32, count)
    moved = m.shl(integer(m, i.o["a"]), above)
    result = m.shr(moved, above) if "U32" in i.m else m.sar(moved, above)
    write(m, i, m.select(m.eq(count, 0), 0, result))


@register_wide("BMSK", "UBMSK")
def bmsk(m: WideMachine, i: WideInsn) -> None:
    """`b` ones from bit `a` on."""
    start, length = _count(m, i, i.o["a"], 32), _count(m, i, i.o["b"], 32)
    ones = m.lo(m.wsub(m.wshl(1, length), 1))
    write(m, i, m.shl(ones, start))
