"""Instruction words: what they mean to read, and how to write them.

`decode` and `assemble` are the Python API over `spa5` (sm_50 .. sm_62).  `volta` decodes the
128-bit words of sm_70 and later.
"""

from __future__ import annotations

import re
from operator import index

from ..errors import AssembleError, DecodeError, UsageError
from .spa5 import ARCHS, Access, Instruction
from .spa5 import assemble as _assemble
from .spa5 import decode as _decode
from .spa5.insn import Modifiers
from .spa5.operands import Operand
from .spa5.sched import NEUTRAL_GROUP

_COMMENT = re.compile(r"/\*.*?\*/|//.*", re.DOTALL)

__all__ = ["BoundInstruction", "assemble", "decode"]


class BoundInstruction:
    """A decoded instruction at an address: its text, operands, what it reads and writes.

    `control` is the 21-bit scheduling group it came with; its reuse marks show in the text.
    """

    __slots__ = ("control", "insn", "pc")

    def __init__(self, insn: Instruction, pc: int, control: int = NEUTRAL_GROUP) -> None:
        self.insn = insn
        self.pc = pc
        self.control = control

    @property
    def op(self) -> str:
        """Mnemonic."""
        return self.insn.op

    @property
    def word(self) -> int:
        """The instruction word."""
        return self.insn.word

    @property
    def arch(self) -> str:
        """Architecture the word was decoded for."""
        return self.insn.arch

    @property
    def text(self) -> str:
        """The text nvdisasm prints, without semicolon."""
        return self.insn.text(self.pc, self.control)

    @property
    def guard(self) -> tuple[int, bool]:
        """Guard predicate index (7: always) and whether it is negated."""
        return self.insn.guard

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Operands in text order."""
        return self.insn.operands

    @property
    def modifiers(self) -> Modifiers:
        """Modifier values by name."""
        return self.insn.m

    @property
    def target(self) -> int | None:
        """Absolute byte address of a direct flow target."""
        return self.insn.target(self.pc)

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


def decode(
    word: int, pc: int = 8, arch: str = "sm_50", control: int = NEUTRAL_GROUP
) -> BoundInstruction:
    """The instruction that `word` encodes, at byte address `pc`.

    Args:
        word: 64-bit instruction word.
        pc: byte address; relative targets in the text are absolute from it.
        arch: "sm_50", "sm_52", "sm_53", "sm_60", "sm_61" or "sm_62".
        control: the instruction's 21-bit group of the bundle's control word.

    Raises:
        DecodeError: no instruction of the architecture; `reason` says why.
        UsageError: an unknown architecture.

    >>> gpudbg.decode(0x5C10000000370204).text
    'IADD R4, R2, R3'
    """
    _check(arch)
    try:
        word = index(word)
    except TypeError:
        raise UsageError(f"a word is an integer, not {word!r}") from None
    if not 0 <= word < 1 << 64:
        raise DecodeError(f"{word:#x} is not a 64-bit word")
    return BoundInstruction(_decode(word, arch), pc, control)


def assemble(text: str, pc: int = 8, arch: str = "sm_50") -> int:
    """The word of one instruction, in the text nvdisasm prints; comments are passed over.

    Raises:
        AssembleError: with the column and what was expected there.
        UsageError: an unknown architecture.

    >>> hex(gpudbg.assemble("IADD R4, R2, R3"))
    '0x5c10000000370204'
    """
    _check(arch)
    if not isinstance(text, str):
        raise UsageError(f"an instruction is a text, not {text!r}")
    plain = _COMMENT.sub(lambda m: " " * len(m[0]), text)
    if ";" in plain.rstrip("; \t\n") or "\n" in plain.strip("; \t\n"):
        wanted = "one; `gpudbg.assemble_program` takes whole programs"
        raise AssembleError("more than one instruction", expected=wanted)
    return _assemble(plain, pc, arch)


def _check(arch: str) -> None:
    if arch not in ARCHS:
        raise UsageError(f"unknown architecture {arch!r}", hint="one of " + ", ".join(ARCHS))
