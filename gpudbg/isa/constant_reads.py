"""Which bytes of constant banks an instruction reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from gpudbg.dataclass import dataclass
from gpudbg.isa.family import has_modifier
from gpudbg.isa.operands import CBankAddress, Const, Reg

if TYPE_CHECKING:
    from gpudbg.isa.family import Instruction

LOADS_OF_CONSTANTS: Final = ("LDC", "ULDC", "LDCU")
"""Instructions that read as many bytes as their result has."""


@dataclass(frozen=True, slots=True)
class ConstantRead:
    """Bytes of a constant bank.

    Attributes:
        bank: its number.
        offset, size: the bytes, behind what `base` holds.
        base: a register, or None.
        segmented: bits 16 and up of the sum are added to the bank's number.
    """

    bank: int
    offset: int
    size: int
    base: Reg | None = None
    segmented: bool = False


def constant_reads(insn: Instruction) -> Iterator[ConstantRead]:
    """Constants of an instruction's operands; what cx[UR] reads is memory that has an address."""
    result = next((o for o in insn.operands if isinstance(o, Reg)), None)
    loaded = 4 * result.count if result is not None and insn.op in LOADS_OF_CONSTANTS else 4
    for operand in insn.operands:
        if isinstance(operand, Const) and operand.handle is None:
            yield ConstantRead(operand.bank, operand.place, max(4 * operand.count, loaded))
        elif isinstance(operand, CBankAddress):
            base = None if operand.base is None or operand.base.is_zero else operand.base
            segmented = base is not None and any(has_modifier(insn, m) for m in ("IS", "ISL"))
            yield ConstantRead(operand.bank, operand.offset, loaded, base, segmented)
