"""Tensor cores and matrix moves: HMMA IMMA BMMA DMMA QMMA, LDSM STSM MOVM.

`gpudbg.sm.fragments` reads shape, types and layouts; `Machine.matrix_multiply` does the arithmetic.
"""

from __future__ import annotations

from gpudbg.sm.fragments import multiplication
from gpudbg.sm.semantics.machine import Value, WideMachine
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.memory import narrow_address
from gpudbg.sm.semantics.wide.operands import Insn, write, write_registers


@register_wide("HMMA", "QMMA", "IMMA", "BMMA", "DMMA")
def matrix_multiply(m: WideMachine, i: Insn) -> None:
    """D = A * B + C of the warp's fragments."""
    shape = multiplication(i)
    if shape is None or shape.sparse or "SATFINITE" in i.m:
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    test = i.o.get("pa")
    if test is not None and not test.is_true:
        m.gap(f"{i.op} with a predicate for its accumulator")
    m.matrix_multiply(i, shape)


@register_wide("LDSM")
def ldsm(m: WideMachine, i: Insn) -> None:
    """Up to four 8x8 matrices of halves; lanes 8n to 8n+7 give the addresses of the nth one's rows.

    Every lane gets two elements of each: of its row, or (`.MT88`) of its column.
    """
    if "M88" not in i.m and "MT88" not in i.m:
        m.gap(f"LDSM.{'.'.join(i.m)}")
    count = 4 if "4" in i.m else 2 if "2" in i.m else 1
    rows = m.load_rows(narrow_address(m, i, i.o["addr"]), 8 * count)
    write_registers(m, i.o["d"], [_spread(m, rows, 8 * n, "MT88" in i.m) for n in range(count)])


def _spread(m: WideMachine, rows: list[Value], first: int, transposed: bool) -> Value:
    """One matrix, whose rows four words of lanes from `first` on hold, as a register."""
    lane = m.lane_id()
    group, thread = m.shr(lane, 2), m.and_(lane, 3)
    if not transposed:
        source = m.add(group, first)
        word = rows[0]
        result = m.lane_read(word, source)
        for n in (1, 2, 3):
            result = m.select(m.eq(thread, n), m.lane_read(rows[n], source), result)
        return result
    # Elements (2t, g) and (2t + 1, g): row 2t's half g.
    halves = []
    for k in (0, 1):
        source = m.add(m.add(m.shl(thread, 1), k), first)
        column = m.shr(group, 1)
        word = m.lane_read(rows[0], source)
        for n in (1, 2, 3):
            word = m.select(m.eq(column, n), m.lane_read(rows[n], source), word)
        halves.append(m.and_(m.select(m.bit(group, 0), m.shr(word, 16), word), 0xFFFF))
    return m.or_(halves[0], m.shl(halves[1], 16))


@register_wide("MOVM")
def movm(m: WideMachine, i: Insn) -> None:
    """One 8x8 matrix of halves transposed."""
    if "MT88" not in i.m or "16" not in i.m:
        m.gap(f"MOVM.{'.'.join(i.m)}")
    value, lane = m.reg(i.o["a"].index), m.lane_id()
    group, thread = m.shr(lane, 2), m.and_(lane, 3)
    halves = []
    for k in (0, 1):
        # Element (row 2t + k, column g): lane 4 * row + g / 2, half g & 1.
        row = m.add(m.shl(thread, 1), k)
        word = m.lane_read(value, m.add(m.shl(row, 2), m.shr(group, 1)))
        halves.append(m.and_(m.select(m.bit(group, 0), m.shr(word, 16), word), 0xFFFF))
    write(m, i, m.or_(halves[0], m.shl(halves[1], 16)))


@register_wide("STSM")
def stsm(m: WideMachine, i: Insn) -> None:
    """The inverse of LDSM."""
    m.gap(f"STSM.{'.'.join(i.m)}")
