"""Logic, shifts, bytes, selection, compares: LOP3 PLOP3 SHF PRMT SEL ISETP."""

from __future__ import annotations

from gpudbg.isa.operands import Imm, Pred, Reg
from gpudbg.sm.semantics.logic import fixed_bytes, lut3, permuted
from gpudbg.sm.semantics.machine import Mask, Value, WideMachine
from gpudbg.sm.semantics.operands import ALL_ONES, int_compare
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.operands import (
    WideInsn,
    boolean,
    chosen,
    f32,
    flushes,
    integer,
    predicate,
    raw,
    raw_pair,
    wanted,
    write,
    write_pair,
    write_predicate,
)

COMPARES = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T")
PRMT_MODES = ("F4E", "B4E", "RC8", "ECL", "ECR", "RC16")


@register_wide("LOP3", "ULOP3")
def lop3(m: WideMachine, i: WideInsn) -> None:
    """Any three-input logic; P = result is not 0, or (`.PAND`: and) the predicate."""
    a, b, c = (integer(m, i.o[s]) for s in "abc")
    result = lut3(m, i.o["imm"].value, a, b, c)
    write(m, i, result)
    if wanted(i, "p"):
        other, test = predicate(m, i.o.get("pa")), m.mnot(m.eq(result, 0))
        write_predicate(m, i, "p", m.mand(test, other) if "PAND" in i.m else m.mor(test, other))


@register_wide("PLOP3", "UPLOP3")
def plop3(m: WideMachine, i: WideInsn) -> None:
    """Two three-input functions of predicates; `R.SIGN` is a register's bit 31."""
    sources = []
    tables = [o.value for o in i.operands if isinstance(o, Imm)]
    for operand in i.operands[2:]:
        if isinstance(operand, Pred):
            sources.append(predicate(m, operand))
        elif not isinstance(operand, Imm):
            sources.append(m.bit(raw(m, operand), 31))
    a, b, c = sources[:3]
    results = [_table(m, table, a, b, c) for table in tables[:2]]
    write_predicate(m, i, "p", results[0])
    write_predicate(m, i, "q", results[1])


def _table(m: WideMachine, table: int, a: Mask, b: Mask, c: Mask) -> Mask:
    """Bit (a << 2 | b << 1 | c) of a table, by lane."""
    result = m.false()
    for n in range(8):
        if table >> n & 1:
            part = a if n & 4 else m.mnot(a)
            part = m.mand(part, b if n & 2 else m.mnot(b))
            result = m.mor(result, m.mand(part, c if n & 1 else m.mnot(c)))
    return result


@register_wide("SHF", "USHF")
def shf(m: WideMachine, i: WideInsn) -> None:
    """c:a shifted; `.HI` the high word, else the low one.  The count is clamped, `.W` wrapped."""
    pair = m.wide(integer(m, i.o["a"]), integer(m, i.o["c"]))
    kind = chosen(i, ("U32", "S32", "U64", "S64"), "U32")
    limit = 64 if kind.endswith("64") else 32
    operand = i.o["b"]
    if isinstance(operand, Imm):
        given = operand.value & ALL_ONES
        count: Value = given % limit if "W" in i.m else min(given, limit)
    else:
        count = integer(m, operand)
        if "W" in i.m:
            count = m.and_(count, limit - 1)
        else:
            count = m.select(m.ult(count, limit), count, limit)
    if "L" in i.m:
        moved = m.wshl(pair, count)
    else:
        moved = m.wsar(pair, count) if kind[0] == "S" else m.wshr(pair, count)
    write(m, i, m.hi(moved) if "HI" in i.m else m.lo(moved))


@register_wide("PRMT", "UPRMT")
def prmt(m: WideMachine, i: WideInsn) -> None:
    """Four bytes of c:a by the nibbles of b, whose bit 3 replicates the byte's sign."""
    pair = m.wide(integer(m, i.o["a"]), integer(m, i.o["c"]))
    mode = chosen(i, PRMT_MODES)
    if isinstance(i.o["b"], Imm):
        write(m, i, fixed_bytes(m, pair, i.o["b"].value & ALL_ONES, mode))
    else:
        write(m, i, permuted(m, pair, integer(m, i.o["b"]), mode))


@register_wide("SEL", "USEL")
def sel(m: WideMachine, i: WideInsn) -> None:
    """a where the predicate holds, else b."""
    test = predicate(m, i.o["pa"])
    if "64" in i.m:
        write_pair(m, i, m.wselect(test, raw_pair(m, i.o["a"]), raw_pair(m, i.o["b"])))
        return
    write(m, i, m.select(test, integer(m, i.o["a"]), integer(m, i.o["b"])))


@register_wide("FSEL", "UFSEL")
def fsel(m: WideMachine, i: WideInsn) -> None:
    """The same of floats, with their signs."""
    a, b = (f32(m, i.o[s], flushes(i)) for s in "ab")
    write(m, i, m.select(predicate(m, i.o["pa"]), a, b))


def set_predicates(m: WideMachine, i: WideInsn, test: Mask) -> None:
    """P = test bop the predicate, Q = not test bop the predicate; P stays where both are one
    register (measured on H100)."""
    other = predicate(m, i.o.get("pa"))
    first, second = boolean(m, i, test, other), boolean(m, i, m.mnot(test), other)
    write_predicate(m, i, "q", second)
    write_predicate(m, i, "p", first)


@register_wide("ISETP", "UISETP")
def isetp(m: WideMachine, i: WideInsn) -> None:
    """p = (a cmp b) bop pa, q = not (a cmp b) bop pa; `.EX`: pb decides where a equals b."""
    name = chosen(i, COMPARES, "F")
    if "U64" in i.m or "S64" in i.m:
        a64, b64 = raw_pair(m, i.o["a"]), raw_pair(m, i.o["b"])
        less = m.wult if "U64" in i.m else m.wslt
        test = _wide_compare(m, name, less(a64, b64), less(b64, a64))
        equal = m.weq(a64, b64)
    else:
        a, b = integer(m, i.o["a"]), integer(m, i.o["b"])
        test, equal = int_compare(m, name, a, b, "U32" in i.m), m.eq(a, b)
    if "EX" in i.m:
        test = m.mselect(equal, predicate(m, i.o["pb"]), test)
    set_predicates(m, i, test)


def _wide_compare(m: WideMachine, name: str, less: Mask, greater: Mask) -> Mask:
    if name in ("F", "T"):
        return m.true() if name == "T" else m.false()
    either = m.mor(less, greater)
    return {
        "LT": less, "GT": greater, "NE": either, "EQ": m.mnot(either),
        "LE": m.mnot(greater), "GE": m.mnot(less),
    }[name]  # fmt: skip


@register_wide("R2P")
def r2p(m: WideMachine, i: WideInsn) -> None:
    """Predicates from a byte of a register, those that the mask names."""
    value, mask = integer(m, i.o["a"]), raw(m, i.o["b"])
    for n in range(7):
        named = bool(mask >> n & 1) if isinstance(mask, int) else None
        if named is None:
            new = m.mselect(m.bit(mask, n), m.bit(value, n), m.pred(n))
            m.pred_write(n, new)
        elif named:
            m.pred_write(n, m.bit(value, n))


@register_wide("P2R")
def p2r(m: WideMachine, i: WideInsn) -> None:
    """`a` with the bits of a byte that the mask names replaced by predicates."""
    byte = next((int(name[1]) for name in i.m if name[0] == "B"), 0)
    bits: Value = 0
    for n in range(7):
        bits = m.or_(bits, m.shl(m.from_mask(m.pred(n)), n))
    _merge(m, i, bits, byte)


def _merge(m: WideMachine, i: WideInsn, bits: Value, byte: int) -> None:
    # There is no eighth predicate: its bit becomes 0 (measured on H100).
    mask = m.shl(m.and_(raw(m, i.o["b"]), 0xFF), 8 * byte)
    old = raw(m, i.o["a"])
    write(m, i, m.or_(m.and_(old, m.not_(mask)), m.and_(m.shl(bits, 8 * byte), mask)))


@register_wide("UP2UR")
def up2ur(m: WideMachine, i: WideInsn) -> None:
    """The same of uniform predicates."""
    byte = next((int(name[1]) for name in i.m if name[0] == "B"), 0)
    bits: Value = 0
    for n in range(7):
        bits = m.or_(bits, m.shl(m.from_mask(m.upred(n)), n))
    _merge(m, i, bits, byte)


@register_wide("UR2UP")
def ur2up(m: WideMachine, i: WideInsn) -> None:
    """Uniform predicates from a byte of a uniform register."""
    sources = [o for o in i.operands if isinstance(o, Reg | Imm)]
    value = integer(m, sources[0])
    mask = raw(m, sources[1]) if len(sources) > 1 else 0x7F
    for n in range(7):
        if not isinstance(mask, int) or mask >> n & 1:
            test = m.bit(value, n)
            if not isinstance(mask, int):
                test = m.mselect(m.bit(mask, n), test, m.upred(n))
            m.upred_write(n, test)
