"""Listings of 128-bit code, line by line, as cuobjdump prints them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...errors import DecodeError
from .decode import decode
from .insn import CONTROL_LOW, GROUP_MASK, Control, Instruction

GUARD_COLUMN = 19
"""Blanks between the address and the mnemonic; the guard stands in them."""
WORD_BYTES = 16
_HALF = (1 << 64) - 1
_SILENT = Control()
"""The scheduling bits of padding, behind whose text cuobjdump leaves the blank out."""


class Line(NamedTuple):
    """One instruction of a listing; `insn` is None for an illegal word, whose `error` says why."""

    address: int
    word: int
    insn: Instruction | None
    error: str

    @property
    def control(self) -> Control:
        """The scheduling bits."""
        return Control.of(self.word)

    @property
    def text(self) -> str:
        """Guard, mnemonic and operands; `.word 0x...` for an illegal word."""
        return f".word {self.word:#034x}" if self.insn is None else self.insn.text(self.address)

    @property
    def group(self) -> int:
        """The scheduling bits as a number."""
        return self.word >> CONTROL_LOW & GROUP_MASK

    @property
    def halves(self) -> tuple[int, ...]:
        """The word as its comments show it: the half that comes first in memory, the other."""
        return self.word & _HALF, self.word >> 64

    def body(self, braces: bool = False) -> str:
        """The text in its column with its semicolon; there are no pairs to mark with `braces`."""
        rest, lead = self.text, " " * GUARD_COLUMN
        if rest.startswith("@"):
            guard, _, rest = rest.partition(" ")
            lead = f"{guard:>{GUARD_COLUMN - 1}} "
        return lead + rest + (";" if self.control == _SILENT else " ;")


def lines(code: bytes, arch: str, base: int = 0) -> Iterator[Line]:
    """The instructions of a code section in order; illegal words are lines too.

    A last word that is cut short is left out.
    """
    for at in range(0, len(code) - WORD_BYTES + 1, WORD_BYTES):
        word = int.from_bytes(code[at : at + WORD_BYTES], "little")
        insn, error = None, ""
        try:
            insn = decode(word, arch)
        except DecodeError as problem:
            error = problem.reason
        yield Line(base + at, word, insn, error)
