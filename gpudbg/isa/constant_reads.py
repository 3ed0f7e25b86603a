"""Which bytes of constant banks an instruction reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from gpudbg.dataclass import dataclass
from gpudbg.isa.family import has_modifier
from gpudbg.isa.operands import CBankAddress, Const, Imm, Reg
from gpudbg.isa.spa5 import Instruction as NarrowInstruction

if TYPE_CHECKING:
    from gpudbg.isa.family import Instruction

TEXTURES: Final = frozenset("TEX TLD TLD4 TXD TMML TXQ TEXS TLDS TLD4S".split())
SURFACES: Final = frozenset("SULD SUST SURED SUATOM".split())
"""Instructions of the texture unit, whose handle may be a word of a constant bank."""
LOADS_OF_CONSTANTS: Final = ("LDC", "ULDC", "LDCU")
"""Instructions that read as many bytes as their result has."""


_WORD: Final = 4


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
    handle = handle_place(insn)
    if handle is not None:
        bank, word = handle
        yield ConstantRead(bank, _WORD * word, _WORD)


def handle_place(insn: Instruction) -> tuple[int, int] | None:
    """(bank, word) of the handle of a texture or surface; None where registers hold it, and of
    other instructions.

    Words of sm_5x and sm_6x name no bank: it is 0, unless a driver has set another one.
    """
    if insn.op not in TEXTURES | SURFACES or _in_registers(insn):
        return None
    slots: Mapping[str, object] = insn.o
    word = slots.get("tex")
    if isinstance(word, Imm):
        return 0, word.value
    numbers = [o.value for o in insn.operands if isinstance(o, Imm)]
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (0, numbers[0])


def _in_registers(insn: Instruction) -> bool:
    """Whether the handle is in a register, or in a uniform one."""
    if isinstance(insn, NarrowInstruction):
        return bool(insn.m["b"]) or "tex" not in insn.o
    if any(isinstance(o, Reg) and o.file == "UR" for o in insn.operands):
        return True
    if insn.op == "TLD4":
        # One B may be the component.
        return insn.m.count("B") > (
            next((n for n in insn.m if n in ("R", "G", "B", "A")), "") == "B"
        )
    if insn.op in SURFACES:
        return not any(isinstance(o, Imm) for o in insn.operands)
    return "B" in insn.m
