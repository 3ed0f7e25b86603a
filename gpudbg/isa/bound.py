"""The Python API: instructions at an address, decoded from words and assembled from text."""

from __future__ import annotations

import re
from operator import index
from typing import Generic, TypeVar, overload

from ..errors import AssembleError, DecodeError, UsageError
from ..html import heading, table
from . import spa5, volta
from .operands import Access, Operand
from .spa5.insn import Modifiers
from .spa5.sched import NEUTRAL_GROUP

_COMMENT = re.compile(r"/\*.*?\*/|//.*", re.DOTALL)
_FIRST_PC = 8
"""Address of the first instruction of a bundle; 128-bit words begin at 0."""

Insn = TypeVar("Insn", spa5.Instruction, volta.WideInstruction)

__all__ = ["BoundInstruction", "BoundWideInstruction", "assemble", "decode"]


class _Bound(Generic[Insn]):
    """A decoded instruction at an address: what both families say alike."""

    __slots__ = ("insn", "pc")
    insn: Insn
    pc: int

    def __init__(self, insn: Insn, pc: int) -> None:
        self.insn = insn
        self.pc = pc

    @property
    def op(self) -> str:
        """Mnemonic."""
        return self.insn.op

    @property
    def word(self) -> int:
        """The instruction word; of 128 bits the low 64 come first in memory."""
        return self.insn.word

    @property
    def arch(self) -> str:
        """Architecture the word was decoded for."""
        return self.insn.arch

    @property
    def guard(self) -> tuple[int, bool]:
        """Guard predicate index (7: always) and whether it is negated."""
        return self.insn.guard

    @property
    def target(self) -> int | None:
        """Absolute byte address of a direct flow target."""
        return self.insn.target(self.pc)

    @property
    def text(self) -> str:
        """The text nvdisasm prints, without semicolon."""
        return self.insn.text(self.pc)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Operands in text order."""
        return self.insn.operands

    @property
    def reads(self) -> Access:
        """Registers, predicates and condition code read, the guard included."""
        return self.insn.reads()

    @property
    def writes(self) -> Access:
        """Registers, predicates and condition code written."""
        return self.insn.writes()

    def __repr__(self) -> str:
        return f"<{self.pc:#06x}: {self.text}>"

    def _repr_html_(self) -> str:
        digits = 32 if self.word >> 64 else 16
        rows = [
            ("word", f"0x{self.word:0{digits}x}"),
            ("architecture", self.arch),
            ("reads", " ".join(self.reads.names) or "nothing"),
            ("writes", " ".join(self.writes.names) or "nothing"),
        ]
        return heading(f"{self.pc:04x}  {self.text}") + table(("", ""), rows)


class BoundInstruction(_Bound[spa5.Instruction]):
    """A decoded instruction at an address: its text, operands, what it reads and writes.

    `control` is the 21-bit scheduling group it came with; its reuse marks show in the text.
    """

    __slots__ = ("control",)

    def __init__(self, insn: spa5.Instruction, pc: int, control: int = NEUTRAL_GROUP) -> None:
        super().__init__(insn, pc)
        self.control = control

    @property
    def text(self) -> str:
        """The text nvdisasm prints, without semicolon."""
        return self.insn.text(self.pc, self.control)

    @property
    def modifiers(self) -> Modifiers:
        """Modifier values by name."""
        return self.insn.m


class BoundWideInstruction(_Bound[volta.WideInstruction]):
    """A decoded 128-bit instruction (sm_70 and later) at an address."""

    __slots__ = ()

    @property
    def control(self) -> volta.WideControl:
        """Stall count, yield, scoreboards, wait mask and reuse."""
        return self.insn.control

    @property
    def modifiers(self) -> tuple[str, ...]:
        """Modifiers in the order of the text."""
        return self.insn.m


@overload
def decode(word: int, pc: int | None = None, *, control: int = ...) -> BoundInstruction: ...
@overload
def decode(
    word: int, pc: int | None = None, arch: str = ..., control: int = ...
) -> BoundInstruction | BoundWideInstruction: ...
def decode(
    word: int, pc: int | None = None, arch: str = "sm_50", control: int = NEUTRAL_GROUP
) -> BoundInstruction | BoundWideInstruction:
    """The instruction that `word` encodes, at byte address `pc`.

    Args:
        word: the instruction word: 64 bits on sm_50 to sm_62, 128 bits from sm_70 on, whose low 64
            bits come first in memory.
        pc: byte address; relative targets in the text are absolute from it.  The first
            instruction's (8, and 0 for 128-bit words) where it is not given.
        arch: "sm_50" to "sm_62", "sm_70" to "sm_121".
        control: the instruction's 21-bit group of the bundle's control word; 128-bit words hold
            theirs.

    Raises:
        DecodeError: no instruction of the architecture; `reason` says why.
        UsageError: an unknown architecture.

    >>> gpudbg.decode(0x5C10000000370204).text
    'IADD R4, R2, R3'
    >>> gpudbg.decode(0x000FC60000000F0000000007000A7202, arch="sm_80").text
    'MOV R10, R7'
    """
    wide = _is_wide(arch)
    try:
        word = index(word)
    except TypeError:
        raise UsageError(f"a word is an integer, not {word!r}") from None
    width = 128 if wide else 64
    if not 0 <= word < 1 << width:
        raise DecodeError(f"{word:#x} is not a {width}-bit word")
    if wide:
        return BoundWideInstruction(volta.decode(word, arch), pc or 0)
    return BoundInstruction(spa5.decode(word, arch), _FIRST_PC if pc is None else pc, control)


def assemble(text: str, pc: int | None = None, arch: str = "sm_50") -> int:
    """The word of one instruction, in the text nvdisasm prints; comments are passed over.

    Args:
        text: the instruction.
        pc: its byte address, for relative targets; as for `decode`.
        arch: as for `decode`.  A 128-bit word waits one cycle and sets no scoreboard.

    Raises:
        AssembleError: with the column and what was expected there.
        UsageError: an unknown architecture.

    >>> hex(gpudbg.assemble("IADD R4, R2, R3"))
    '0x5c10000000370204'
    """
    wide = _is_wide(arch)
    if not isinstance(text, str):
        raise UsageError(f"an instruction is a text, not {text!r}")
    plain = _COMMENT.sub(lambda m: " " * len(m[0]), text)
    if ";" in plain.rstrip("; \t\n") or "\n" in plain.strip("; \t\n"):
        wanted = "one; `gpudbg.assemble_program` takes whole programs"
        raise AssembleError("more than one instruction", expected=wanted)
    if wide:
        return volta.assemble(plain.rstrip("; \t\n"), pc or 0, arch)
    return spa5.assemble(plain, _FIRST_PC if pc is None else pc, arch)


def _is_wide(arch: str) -> bool:
    """Whether an architecture's words have 128 bits.

    Raises:
        UsageError: an unknown architecture.
    """
    if arch in volta.ARCHS:
        return True
    if arch not in spa5.ARCHS:
        known = ", ".join((*spa5.ARCHS, *volta.ARCHS))
        raise UsageError(f"unknown architecture {arch!r}", hint=f"one of {known}")
    return False
