"""Tensor cores and matrix moves: HMMA IMMA BMMA DMMA QMMA OMMA, LDSM STSM MOVM.

`gpudbg.sm.fragments` reads shape, types and layouts; `Machine.matrix_multiply` does the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudbg.isa.operands import RZ, Reg
from gpudbg.sm.fragments import Multiplication, bits_of, multiplication
from gpudbg.sm.semantics.machine import Value, WideMachine
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.memory import narrow_address
from gpudbg.sm.semantics.wide.operands import (
    WideInsn,
    predicate,
    read_registers,
    write,
    write_registers,
)

_MISSING = ("REGOFFSET",)
"""Modifiers that no compiler emits, and that nothing public explains."""
LEAST_ROW = 128
"""Bits of a row of A: four lanes have a register of it."""
_SPARSE = {32: (8, 16), 16: (16, 32), 8: (32, 64), 4: (64, 128)}
"""Bits of an element of A -> k of the products with a sparse A; all have 16 rows."""


def _exists(op: str, shape: Multiplication) -> bool:
    """Whether registers of all lanes hold the matrices of that shape."""
    bits = bits_of(shape.kinds[0])
    if shape.sparse:
        known = shape.m == 16 and shape.k in _SPARSE[bits]
        return known and shape.selects
    return op == "DMMA" or shape.step >= 0 or shape.k * bits >= LEAST_ROW


@register_wide("HMMA", "QMMA", "OMMA", "IMMA", "BMMA", "DMMA")
def matrix_multiply(m: WideMachine, i: WideInsn) -> None:
    """D = A * B + C of the warp's fragments; `.SP`: half of A is stored, `.SF`: with scales."""
    shape = multiplication(i)
    halves = i.op == "IMMA" and ("U16" in i.m or "S16" in i.m)
    if shape is None or halves or not _exists(i.op, shape) or any(n in i.m for n in _MISSING):
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    test, addend = i.o.get("pa"), i.o.get("c")
    absent = isinstance(addend, Reg) and addend.index == RZ
    accumulates = m.true()
    if test is not None and not test.is_true and not absent:
        accumulates = predicate(m, test)
    m.matrix_multiply(i, shape, accumulates)


@register_wide("LDSM")
def ldsm(m: WideMachine, i: WideInsn) -> None:
    """Up to four 8x8 matrices of halves; lanes 8n to 8n+7 give the addresses of the nth one's rows.

    Every lane gets two elements of each: of its row, or (`.MT88`) of its column.
    """
    count = 4 if "4" in i.m else 2 if "2" in i.m else 1
    if "M88" in i.m or "MT88" in i.m:
        found = list(m.load_matrices(narrow_address(m, i, i.o["addr"]), count))
        if "MT88" in i.m:
            found = [_transposed(m, register) for register in found]
    else:
        found = _bytes_loaded(m, i, count)
    write_registers(m, i.o["d"], found)


def _bytes_loaded(m: WideMachine, i: WideInsn, count: int) -> list[Value]:
    """Matrices of bytes: 8x16 of whole rows, or (`.MT1616`) 16x16 by columns, two registers each.

    `.U4x16P64TO8` and `.U6x16P32TO8` rows have sixteen elements of four or six bits, which become
    bytes, and a gap up to sixteen bytes (documented).  The places of transposed elements are
    *inferred*: four rows 4t on of column g, then of column g + 8.
    """
    transposed = "MT1616" in i.m
    if not transposed and "M816" not in i.m:
        m.gap(f"LDSM.{'.'.join(i.m)}")
    rows = m.load_rows(narrow_address(m, i, i.o["addr"]), (16 if transposed else 8) * count)
    if "U4x16P64TO8" in i.m:
        rows = _sixteen_bytes(m, rows, 4)
    elif "U6x16P32TO8" in i.m:
        rows = _sixteen_bytes(m, rows, 6)
    if not transposed:
        return [_spread(m, rows, 8 * n) for n in range(count)]
    return [_byte_column(m, rows, 16 * matrix, half) for matrix in range(count) for half in (0, 1)]


def _sixteen_bytes(m: WideMachine, words: list[Value], bits: int) -> list[Value]:
    """Sixteen small elements that lie side by side as bytes."""
    results = []
    for n in range(4):
        total: Value | None = None
        for h in range(4):
            at = bits * (4 * n + h)
            pair = m.wide(words[at >> 5], words[min((at >> 5) + 1, 3)])
            part = m.and_(m.lo(m.wshr(pair, at & 31)), (1 << bits) - 1)
            total = part if total is None else m.or_(total, m.shl(part, 8 * h))
        assert total is not None
        results.append(total)
    return results


def _byte_column(m: WideMachine, rows: list[Value], first: int, half: int) -> Value:
    """Bytes of rows 4t to 4t + 3 in column g + 8 * half, as a register."""
    lane = m.lane_id()
    group, thread = m.shr(lane, 2), m.and_(lane, 3)
    total: Value | None = None
    for h in range(4):
        source = m.add(m.add(m.shl(thread, 2), h), first)
        word = m.select(
            m.bit(group, 2), m.lane_read(rows[2 * half + 1], source),
            m.lane_read(rows[2 * half], source),
        )  # fmt: skip
        part = m.and_(m.shr(word, m.shl(m.and_(group, 3), 3)), 0xFF)
        total = part if total is None else m.or_(total, m.shl(part, 8 * h))
    assert total is not None
    return total


def _spread(m: WideMachine, rows: list[Value], first: int) -> Value:
    """One matrix, whose rows four words of lanes from `first` on hold, as a register."""
    lane = m.lane_id()
    group, thread = m.shr(lane, 2), m.and_(lane, 3)
    source = m.add(group, first)
    result = m.lane_read(rows[0], source)
    for n in (1, 2, 3):
        result = m.select(m.eq(thread, n), m.lane_read(rows[n], source), result)
    return result


def _transposed(m: WideMachine, value: Value) -> Value:
    """A register that holds an 8x8 matrix of halves, transposed."""
    lane = m.lane_id()
    group, thread = m.shr(lane, 2), m.and_(lane, 3)
    halves = []
    for k in (0, 1):
        # Element (row 2t + k, column g): lane 4 * row + g / 2, half g & 1.
        row = m.add(m.shl(thread, 1), k)
        word = m.lane_read(value, m.add(m.shl(row, 2), m.shr(group, 1)))
        halves.append(m.and_(m.select(m.bit(group, 0), m.shr(word, 16), word), 0xFFFF))
    return m.or_(halves[0], m.shl(halves[1], 16))


@register_wide("MOVM")
def movm(m: WideMachine, i: WideInsn) -> None:
    """One 8x8 matrix of halves transposed; `.U4TO8`: 8x32 elements of four bits to bytes."""
    if "U4TO8" in i.m and "M832" in i.m:
        _widen_nibbles(m, i)
        return
    if "MT88" not in i.m or "16" not in i.m:
        m.gap(f"MOVM.{'.'.join(i.m)}")
    write(m, i, _transposed(m, m.reg(i.o["a"].index)))


def _widen_nibbles(m: WideMachine, i: WideInsn) -> None:
    """Each element keeps its place in the matrix (*inferred*): a register for each half of k."""
    value, lane = m.reg(i.o["a"].index), m.lane_id()
    quad, thread = m.and_(lane, 28), m.and_(lane, 3)
    results = []
    for half in (0, 1):
        word = m.lane_read(value, m.add(m.add(quad, 2 * half), m.shr(thread, 1)))
        word = m.and_(m.select(m.bit(thread, 0), m.shr(word, 16), word), 0xFFFF)
        word = m.and_(m.or_(word, m.shl(word, 8)), 0x00FF00FF)
        results.append(m.and_(m.or_(word, m.shl(word, 4)), 0x0F0F0F0F))
    write_registers(m, i.o["d"], results)


def _byte_rows(m: WideMachine, value: Value) -> Value:
    """A register that holds a 16x8 matrix of bytes as words of the rows of its transpose.

    Bytes of a lane: columns 2t and 2t + 1 of row g, then of row g + 8.
    """
    lane = m.lane_id()
    column, word = m.shr(lane, 2), m.and_(lane, 3)
    total: Value = 0
    for h in range(4):
        # Row 4 * word + h of the column.
        source = m.add(m.shl(m.add(m.shl(m.and_(word, 1), 2), h), 2), m.shr(column, 1))
        at = m.add(m.shl(m.and_(column, 1), 3), m.shl(m.shr(word, 1), 4))
        part = m.and_(m.shr(m.lane_read(value, source), at), 0xFF)
        total = m.or_(total, m.shl(part, 8 * h))
    return total


_STORED: dict[str, Callable[[WideMachine, Value], Value]] = {
    "M88": lambda _, value: value, "MT88": _transposed, "MT168": _byte_rows,
}  # fmt: skip
"""Shape of stored matrices -> registers as their rows lie in memory."""


@register_wide("STSM")
def stsm(m: WideMachine, i: WideInsn) -> None:
    """The inverse of LDSM: rows of up to four matrices to the addresses of lanes 8n to 8n+7.

    `.8.MT168`: matrices of 16x8 bytes, whose columns become rows of 16 bytes (documented).
    """
    change = next((made for name, made in _STORED.items() if name in i.m), None)
    if change is None:
        m.gap(f"STSM.{'.'.join(i.m)}")
    count = 4 if "4" in i.m else 2 if "2" in i.m else 1
    held = [change(m, register) for register in read_registers(m, i.o["a"], count)]
    m.store_matrices(narrow_address(m, i, i.o["addr"]), held)
