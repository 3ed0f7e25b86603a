"""Operands of an instruction by slot and kind, as the scalar models read them."""

from __future__ import annotations

from gpudbg.isa.operands import Const, Imm, Name, Pred, Reg, SReg
from gpudbg.isa.spa5.insn import Instruction

Source = Reg | Const | Imm
"""What a value can come from."""


def src(i: Instruction, slot: str) -> Source:
    """A source: register, constant or immediate."""
    operand = i.o[slot]
    assert isinstance(operand, Source), (slot, operand)
    return operand


def index_of(i: Instruction, slot: str) -> int:
    """The number of a register, predicate or special register."""
    operand = i.o[slot]
    assert isinstance(operand, Reg | Pred | SReg), (slot, operand)
    return operand.index


def immediate(i: Instruction, slot: str) -> int:
    """The bits of an immediate."""
    operand = i.o[slot]
    assert isinstance(operand, Imm), (slot, operand)
    return operand.value


def predicate(i: Instruction, slot: str) -> Pred:
    """A source predicate."""
    operand = i.o[slot]
    assert isinstance(operand, Pred), (slot, operand)
    return operand


def word_of(i: Instruction, slot: str) -> str:
    """The text of a bare word."""
    operand = i.o[slot]
    assert isinstance(operand, Name), (slot, operand)
    return operand.text
