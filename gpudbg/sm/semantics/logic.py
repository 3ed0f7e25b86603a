"""Logic, shifts, bit fields, bytes: LOP LOP3 SHL SHR SHF BFE BFI PRMT LEPC."""

from __future__ import annotations

from collections.abc import Callable

from gpudbg.isa.operands import Imm
from gpudbg.sm.semantics.machine import Machine, Mask, Value, Wide
from gpudbg.sm.semantics.operands import (
    ALL_ONES,
    Insn,
    int_src,
    is_zero,
    wants_pred,
    write,
    write_logic,
    write_pred,
)
from gpudbg.sm.semantics.rows import register


def _write_lop(m: Machine, i: Insn, result: Value) -> None:
    """Result, predicate by its mode ("" writes false: inferred) and CC of LOP and LOP3."""
    test: Mask = m.false()
    if wants_pred(i, "p"):
        mode = i.m["pmode"]
        if mode in ("Z", "NZ"):
            zero = is_zero(m, i, result)
            test = zero if mode == "Z" else m.mnot(zero)
        elif mode == "T":
            test = m.true()
    write_logic(m, i, result)
    write_pred(m, i, "p", test)


@register("LOP", "LOP32I")
def lop(m: Machine, i: Insn) -> None:
    """AND OR XOR PASS_B of (~)a and (~)b (documented)."""
    b = int_src(m, i.o["b"])
    name = i.m["lop"]
    if name == "PASS_B":
        result = b
    else:
        operation = {"AND": m.and_, "OR": m.or_, "XOR": m.xor}[name]
        result = operation(int_src(m, i.o["a"]), b)
    _write_lop(m, i, result)


_TWO_INPUT: dict[int, Callable[[Machine, Value, Value], Value]] = {
    0: lambda m, a, b: 0,
    1: lambda m, a, b: m.not_(m.or_(a, b)),
    2: lambda m, a, b: m.and_(m.not_(a), b),
    3: lambda m, a, b: m.not_(a),
    4: lambda m, a, b: m.and_(a, m.not_(b)),
    5: lambda m, a, b: m.not_(b),
    6: lambda m, a, b: m.xor(a, b),
    7: lambda m, a, b: m.not_(m.and_(a, b)),
    8: lambda m, a, b: m.and_(a, b),
    9: lambda m, a, b: m.not_(m.xor(a, b)),
    10: lambda m, a, b: b,
    11: lambda m, a, b: m.or_(m.not_(a), b),
    12: lambda m, a, b: a,
    13: lambda m, a, b: m.or_(a, m.not_(b)),
    14: lambda m, a, b: m.or_(a, b),
    15: lambda m, a, b: ALL_ONES,
}
"""Truth table -> function of two inputs; bit (a << 1 | b) of the table is the value."""


def lut3(m: Machine, lut: int, a: Value, b: Value, c: Value) -> Value:
    """Bitwise lut[(a << 2) | (b << 1) | c], as a choice by c of two functions of a and b."""
    if_c = sum((lut >> (2 * n + 1) & 1) << n for n in range(4))
    if_not = sum((lut >> (2 * n) & 1) << n for n in range(4))
    low = _TWO_INPUT[if_not](m, a, b)
    if if_c == if_not:
        return low
    if if_c == 15 - if_not:
        return m.xor(low, c)
    high = _TWO_INPUT[if_c](m, a, b)
    if if_not == 0:
        return m.and_(high, c)
    if if_c == 0:
        return m.and_(low, m.not_(c))
    return m.or_(m.and_(high, c), m.and_(low, m.not_(c)))


@register("LOP3")
def lop3(m: Machine, i: Insn) -> None:
    """Any three-input logic function: a = 0xf0, b = 0xcc, c = 0xaa (documented: lop3)."""
    a, b, c = (int_src(m, i.o[s]) for s in ("a", "b", "c"))
    _write_lop(m, i, lut3(m, i.o["lut"].value, a, b, c))


def _count(m: Machine, i: Insn, limit: int) -> Value:
    """The shift count: wrapped with `.W`, else clamped at `limit`."""
    operand = i.o["b"]
    if isinstance(operand, Imm):
        return operand.value % limit if i.m["w"] else min(operand.value, limit)
    count = int_src(m, operand)
    if i.m["w"]:
        return m.and_(count, limit - 1)
    return m.select(m.ult(count, limit), count, limit)


def _no_chain(m: Machine, i: Insn) -> None:
    """`.X` and `.XHI` shift chaining has no known meaning."""
    if i.m["x"] or i.m["xmode"] in ("X", "XHI"):
        m.gap(f"{i.op} chained through the condition code (.X, .XHI)")


@register("SHL")
def shl(m: Machine, i: Insn) -> None:
    """a << n, 0 for n >= 32; `.W` n & 31 (documented)."""
    _no_chain(m, i)
    result = m.shl(int_src(m, i.o["a"]), _count(m, i, 32))
    write_logic(m, i, result)


@register("SHR")
def shr(m: Machine, i: Insn) -> None:
    """a >> n, arithmetic unless `.U32`; `.BREV` reverses a first (documented)."""
    _no_chain(m, i)
    a, count = int_src(m, i.o["a"]), _count(m, i, 32)
    if i.m["brev"]:
        a = m.brev(a)
    result = m.shr(a, count) if i.m["u32"] else m.sar(a, count)
    write_logic(m, i, result)


@register("SHF")
def shf(m: Machine, i: Insn) -> None:
    """Funnel shift of c:a by b: left gives the high word, right the low one (documented: shf).

    The 32-bit type clamps at 32, `.U64` and `.S64` at 64; `.W` wraps to 31 or 63.
    """
    _no_chain(m, i)
    high_word = i.m["xmode"] == "HI"
    if high_word and not i.m["right"]:
        m.warp_error("ILLEGAL_INSTR_ENCODING", detail="SHF.L.HI")
    count = _count(m, i, 64 if i.m["stype"] else 32)
    pair: Wide = m.wide(int_src(m, i.o["a"]), int_src(m, i.o["c"]))
    if not i.m["right"]:
        result = m.hi(m.wshl(pair, count))
    else:
        moved = m.wsar(pair, count) if i.m["stype"] == "S64" else m.wshr(pair, count)
        result = m.hi(moved) if high_word else m.lo(moved)
    write_logic(m, i, result)


def _field(m: Machine, i: Insn) -> tuple[Value, Value]:
    """Position and length bytes of a BFE/BFI selector; ints when it is an immediate."""
    if isinstance(i.o["b"], Imm):
        return i.o["b"].value & 0xFF, i.o["b"].value >> 8 & 0xFF
    selector = int_src(m, i.o["b"])
    return m.and_(selector, 0xFF), m.and_(m.shr(selector, 8), 0xFF)


@register("BFE")
def bfe(m: Machine, i: Insn) -> None:
    """Bits pos .. pos+len-1 of a, filled with 0 or bit min(pos+len-1, 31) (documented: bfe)."""
    a = int_src(m, i.o["a"])
    if i.m["brev"]:
        a = m.brev(a)
    position, length = _field(m, i)
    if isinstance(position, int) and isinstance(length, int):
        clear = max(32 - position - length, 0)
        up: Value = clear
        down: Value = position + clear
    else:
        end = m.add(position, length)
        up = m.select(m.ult(end, 32), m.sub(32, end), 0)
        down = m.add(position, up)
    top = m.shl(a, up)
    if i.m["u32"]:
        result = m.shr(top, down)
    elif isinstance(length, int):
        result = m.sar(top, down) if length else 0
    else:
        result = m.select(m.eq(length, 0), 0, m.sar(top, down))
    write_logic(m, i, result)


@register("BFI")
def bfi(m: Machine, i: Insn) -> None:
    """The low len bits of a put into c at pos (documented: bfi)."""
    a, base = int_src(m, i.o["a"]), int_src(m, i.o["c"])
    position, length = _field(m, i)
    if isinstance(position, int) and isinstance(length, int):
        mask: Value = ((1 << length) - 1) << position & ALL_ONES
    else:
        mask = m.shl(m.sub(m.shl(1, length), 1), position)
    result = m.or_(m.and_(m.shl(a, position), mask), m.and_(base, m.not_(mask)))
    write_logic(m, i, result)


_PRMT_SELECTORS = {
    "F4E": (0x3210, 0x4321, 0x5432, 0x6543),
    "B4E": (0x5670, 0x6701, 0x7012, 0x0123),
    "RC8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ECL": (0x3210, 0x3211, 0x3222, 0x3333),
    "ECR": (0x0000, 0x1110, 0x2210, 0x3210),
    "RC16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""Byte selectors of PRMT's modes by the selector's low two bits (documented: prmt)."""


@register("PRMT")
def prmt(m: Machine, i: Insn) -> None:
    """Pick four bytes of c:a by the nibbles of b; nibble bit 3 replicates the byte's sign."""
    pair = m.wide(int_src(m, i.o["a"]), int_src(m, i.o["c"]))
    if isinstance(i.o["b"], Imm):
        write(m, i, fixed_bytes(m, pair, i.o["b"].value, i.m["mode"]))
    else:
        write(m, i, permuted(m, pair, int_src(m, i.o["b"]), i.m["mode"]))


def permuted(m: Machine, pair: Wide, selector: Value, mode: str) -> Value:
    """Four bytes of a pair by the nibbles of a selector."""
    if mode:
        s0, s1, s2, s3 = _PRMT_SELECTORS[mode]
        odd = m.bit(selector, 0)
        selector = m.select(m.bit(selector, 1), m.select(odd, s3, s2), m.select(odd, s1, s0))
    result: Value = 0
    for n in range(4):
        nibble = m.shr(selector, 4 * n)
        byte = m.lo(m.wshr(pair, m.shl(m.and_(nibble, 7), 3)))
        sign = m.select(m.bit(byte, 7), 0xFF, 0)
        byte = m.and_(m.select(m.bit(nibble, 3), sign, byte), 0xFF)
        result = byte if n == 0 else m.or_(result, m.shl(byte, 8 * n))
    return result


def fixed_bytes(m: Machine, pair: Wide, selector: int, mode: str) -> Value:
    """Four bytes of a pair by the nibbles of a constant selector."""
    if mode:
        selector = _PRMT_SELECTORS[mode][selector & 3]
    result: Value = 0
    for n in range(4):
        nibble = selector >> 4 * n & 15
        byte = m.lo(m.wshr(pair, 8 * (nibble & 7)))
        byte = m.select(m.bit(byte, 7), 0xFF, 0) if nibble & 8 else m.and_(byte, 0xFF)
        placed = m.shl(byte, 8 * n)
        result = m.or_(result, placed) if n else placed
    return result


@register("LEPC")
def lepc(m: Machine, i: Insn) -> None:
    """Address of the next instruction (modelled)."""
    write(m, i, m.next_pc())
