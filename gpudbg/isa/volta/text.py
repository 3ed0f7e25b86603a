"""Listings of 128-bit code, line by line, as cuobjdump prints them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ...errors import DecodeError
from ..control import CONTROL_LOW
from .decode import decode
from .insn import CONTROL_MASK, GROUP_MASK, WideControl, WideInstruction

_KEPT = 1 << 16
GUARD_COLUMN = 19
"""Blanks between the address and the mnemonic; the guard stands in them."""
WORD_BYTES = 16
_HALF = (1 << 64) - 1
_NO_GUARD = " " * GUARD_COLUMN
_SILENT = WideControl().bits
"""The scheduling bits of padding, behind whose text cuobjdump leaves the blank out."""


class WideLine(NamedTuple):
    """One instruction of a listing; `insn` is None for an illegal word, whose `error` says why."""

    address: int
    word: int
    insn: WideInstruction | None
    error: str

    @property
    def control(self) -> WideControl:
        """The scheduling bits."""
        return WideControl.of(self.word)

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
        if self.insn is None:
            return _body(self.text, self.word)
        known = _unplaced_body(self.word, self.insn.arch)
        return known if known is not None else _body(self.text, self.word)


def _body(text: str, word: int) -> str:
    """The text in its column: a guard stands before it, but a uniform one is part of it."""
    lead = _NO_GUARD
    if text.startswith(("@P", "@!P")):
        guard, _, text = text.partition(" ")
        lead = f"{guard:>{GUARD_COLUMN - 1}} "
    return lead + text + (";" if word & CONTROL_MASK == _SILENT else " ;")


@lru_cache(maxsize=_KEPT)
def _decoded(word: int, arch: str) -> WideInstruction:
    """Code repeats its words: padding, loads of parameters, whole functions."""
    return decode(word, arch)


@lru_cache(maxsize=_KEPT)
def _unplaced_body(word: int, arch: str) -> str | None:
    """The text in its column of a word whose text does not depend on where it stands."""
    insn = _decoded(word, arch)
    return None if insn.form.relative(insn.tables) else _body(insn.text(), word)


def lines(code: bytes, arch: str, base: int = 0) -> Iterator[WideLine]:
    """The instructions of a code section in order; illegal words are lines too.

    A last word that is cut short is left out.
    """
    for at in range(0, len(code) - WORD_BYTES + 1, WORD_BYTES):
        word = int.from_bytes(code[at : at + WORD_BYTES], "little")
        insn, error = None, ""
        try:
            insn = _decoded(word, arch)
        except DecodeError as problem:
            error = problem.reason
        yield WideLine(base + at, word, insn, error)
