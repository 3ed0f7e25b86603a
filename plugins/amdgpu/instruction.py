"""The three instructions that reach hardware registers, as SOPK words in both directions.

    31:28 = 0xb   27:23 opcode   22:16 scalar register   15:0 hwreg operand

`s_setreg_imm32_b32` has 0 for the register and a 32-bit literal in the following word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudbg.bits import Field
from gpudbg.errors import DecodeError

from .operand import HwReg
from .registers import Processor
from .scalars import scalar_name

ENCODING = Field(31, 28)
OPCODE = Field(27, 23)
SCALAR = Field(22, 16)
SIMM16 = Field(15, 0)
SOPK = 0xB

GETREG = "s_getreg_b32"
SETREG = "s_setreg_b32"
SETREG_IMM32 = "s_setreg_imm32_b32"
MNEMONICS = (GETREG, SETREG, SETREG_IMM32)
"""In the order of `Processor.opcodes`."""


@dataclass(frozen=True, slots=True)
class GcnInstruction:
    """One instruction.

    Args:
        mnemonic: one of `MNEMONICS`.
        simm16: the hwreg operand.
        scalar: 7-bit code of the scalar register; 0 for the literal form.
        literal: the 32-bit literal; None for the other forms.
        written: the register's name in the text; "" where there was none.
    """

    mnemonic: str
    simm16: int
    scalar: int = 0
    literal: int | None = None
    written: str = ""

    @property
    def hwreg(self) -> HwReg:
        """The operand, taken apart."""
        return HwReg.decode(self.simm16)

    def words(self, processor: Processor) -> tuple[int, ...]:
        """The 32-bit words."""
        opcode = processor.opcodes[MNEMONICS.index(self.mnemonic)]
        word = ENCODING.put(OPCODE.put(SCALAR.put(self.simm16, self.scalar), opcode), SOPK)
        return (word,) if self.literal is None else (word, self.literal)

    def encoding(self, processor: Processor) -> bytes:
        """The bytes in memory order."""
        return b"".join(word.to_bytes(4, "little") for word in self.words(processor))

    def text(self, processor: Processor) -> str:
        """As llvm-mc 19 prints it."""
        operand = self.hwreg.text(processor)
        if self.literal is not None:
            return f"{self.mnemonic} {operand}, {literal_text(self.literal, processor)}"
        register = self.written or scalar_name(self.scalar, processor)
        if self.mnemonic == GETREG:
            return f"{self.mnemonic} {register}, {operand}"
        return f"{self.mnemonic} {operand}, {register}"


_FLOATS = {
    0x3F000000: "0.5", 0xBF000000: "-0.5", 0x3F800000: "1.0", 0xBF800000: "-1.0",
    0x40000000: "2.0", 0xC0000000: "-2.0", 0x40800000: "4.0", 0xC0800000: "-4.0",
}  # fmt: skip
"""Literals that have the bits of an inline floating-point constant."""

_INVERSE_2PI = 0x3E22F983


def literal_text(literal: int, processor: Processor) -> str:
    """A 32-bit literal as printed: inline constants by value, others in hexadecimal."""
    if literal in _FLOATS:
        return _FLOATS[literal]
    if literal == _INVERSE_2PI and processor.generation not in ("gfx6", "generic"):
        return "0.15915494"  # 1 / (2 pi), inline from gfx8 on
    signed = literal - (1 << 32) if literal >> 31 else literal
    return str(signed) if -16 <= signed <= 64 else f"0x{literal:x}"


def decode_words(words: Sequence[int], processor: Processor) -> GcnInstruction:
    """The instruction in one or two words.

    Raises:
        DecodeError: another instruction, a missing literal, or words left over.
    """
    if not words:
        raise DecodeError("no instruction word")
    word = words[0]
    if not 0 <= word < 1 << 32 or ENCODING.get(word) != SOPK:
        raise _other(word, processor)
    opcode = OPCODE.get(word)
    if opcode not in processor.opcodes:
        raise _other(word, processor)
    mnemonic = MNEMONICS[processor.opcodes.index(opcode)]
    needed = 2 if mnemonic == SETREG_IMM32 else 1
    if len(words) < needed:
        raise DecodeError(f"0x{word:08x}: {mnemonic} needs a literal word after it", word=word)
    if len(words) > needed:
        raise DecodeError(f"{len(words) - needed} word(s) left over after {mnemonic}", word=word)
    if needed == 1:
        return GcnInstruction(mnemonic, SIMM16.get(word), SCALAR.get(word))
    if not 0 <= words[1] < 1 << 32:
        raise DecodeError(f"literal {words[1]:#x} does not fit 32 bits", word=word)
    # The register field of the literal form is not decoded: the disassembler ignores it too.
    return GcnInstruction(mnemonic, SIMM16.get(word), 0, words[1])


def _other(word: int, processor: Processor) -> DecodeError:
    return DecodeError(
        f"0x{word:08x} is none of {', '.join(MNEMONICS)} on {processor.name}", word=word
    )
