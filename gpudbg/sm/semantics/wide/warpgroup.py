"""Products of a warp group: HGMMA IGMMA QGMMA BGMMA.

Each warp computes its 16 rows of the 64 when it executes the instruction, reading shared memory
then (*modelled*: policy `warpgroup-products`), so that there is nothing to wait for.
"""

from __future__ import annotations

from gpudbg.sm.fragments import described_signs, first_descriptor
from gpudbg.sm.semantics.machine import WideMachine
from gpudbg.sm.semantics.rows import register_wide
from gpudbg.sm.semantics.wide.operands import WideInsn, predicate


@register_wide("HGMMA", "IGMMA", "QGMMA", "BGMMA")
def warpgroup_multiply(m: WideMachine, i: WideInsn) -> None:
    """D = A * B + C, or A * B where the predicate is false; B, and maybe A, by descriptors."""
    if "REGOFFSET" in i.m or any("INVALID" in name for name in i.m):
        m.gap(f"{i.op}.{'.'.join(i.m)}")
    if i.o["d"].index == 255:
        # What closes an empty group of products reads and writes nothing.
        return
    first = first_descriptor(i)
    descriptors = (m.ureg_pair(first), m.ureg_pair(first + 2))
    negative, across = described_signs(i)
    m.warpgroup_multiply(i, descriptors, negative, across, predicate(m, i.o["pa"]))
