"""Which special registers an instruction reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.isa.operands import Reg, SReg

if TYPE_CHECKING:
    from gpudbg.isa.family import Instruction


def special_reads(insn: Instruction) -> frozenset[int]:
    """Their numbers; a CS2R with a pair of registers reads two that follow one another."""
    named = [o.index for o in insn.operands if isinstance(o, SReg)]
    if not named:
        return frozenset()
    result = next((o for o in insn.operands if isinstance(o, Reg)), None)
    count = 1 if result is None else max(result.count, 1)
    return frozenset(number + n for number in named for n in range(count))
