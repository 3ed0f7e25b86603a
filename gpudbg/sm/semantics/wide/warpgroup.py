"""Products of a warp group: HGMMA IGMMA QGMMA BGMMA.

Each warp computes its 16 rows of the 64 when it executes the instruction, reading shared memory
then (*modelled*: policy `warpgroup-products`), so that there is nothing to wait for.
"""

from __future__ import annotations

from gpudbg.isa.operands import Reg
from gpudbg.sm.semantics.machine import WideMachine
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.operands import WideInsn, predicate

_NEGATE_A, _NEGATE_B, _ACROSS_A, _ACROSS_B = 72, 63, 61, 62
"""Bits of a word: signs, and whether k is not what is side by side in memory."""


@register_wide("HGMMA", "IGMMA", "QGMMA", "BGMMA")
def warpgroup_multiply(m: WideMachine, i: WideInsn) -> None:
    """D = A * B + C, or A * B where the predicate is false; B, and maybe A, by descriptors."""
    if "REGOFFSET" in i.m or any("INVALID" in name for name in i.m):
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    if i.o["d"].index == 255:
        # What closes an empty group of products reads and writes nothing.
        return
    first = i.o["addr"].index.index
    in_registers = isinstance(i.o.get("a"), Reg)
    descriptors = (m.ureg_pair(first), m.ureg_pair(first + 2))
    bits = [bool(i.word >> bit & 1) for bit in (_NEGATE_A, _NEGATE_B, _ACROSS_A, _ACROSS_B)]
    if in_registers or i.op != "HGMMA":
        # There bits 61 and 62 belong to something else, or only B is in memory.
        bits[2] = False
    if i.op in ("IGMMA", "BGMMA"):
        bits = [False] * 4
    elif i.op == "QGMMA":
        bits[3] = False
    m.warpgroup_multiply(
        i, descriptors, (bits[0], bits[1]), (bits[2], bits[3]), predicate(m, i.o["pa"])
    )
