"""Known differences from nvdisasm, and texts from which a word cannot be rebuilt, each explained.

The fuzz campaign counts every difference; one that no entry explains is a failure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quirk:
    """A class of words where text and word differ from the ideal.

    `text` matches nvdisasm's (or our) text of the words concerned; `word` is the only word
    concerned, if there is but one.
    """

    name: str
    text: str
    why: str
    word: int | None = None

    def explains(self, text: str, word: int) -> bool:
        """True when the quirk covers this word with this text."""
        return self.word in (None, word) and re.search(self.text, text) is not None


TEXT: tuple[Quirk, ...] = (
    Quirk(
        "zero-but-bit-63",
        r"^NOP$",
        "nvdisasm takes a word of zeros for padding and does not look at bit 63; gpudbg reads the "
        "load that the word encodes (the word 0 itself is NOP in both)",
        word=1 << 63,
    ),
)
"""Words that nvdisasm and gpudbg disassemble differently."""

ROUND_TRIP: tuple[Quirk, ...] = (
    Quirk(
        "nan-payload",
        r"[+-][QS]NAN",
        "a NaN immediate prints without its payload; the assembler picks one pattern "
        "(floats.py), any other pattern is written as 0x... raw bits",
    ),
    Quirk(
        "f2f-pass",
        r"^(@\S+ )?F2F\S*\.PASS",
        "F2F between equal sizes prints .PASS for each of three rounding values that have no "
        "effect; the assembler writes the first",
    ),
    Quirk(
        "negated-zero",
        r"^(@\S+ )?VADD.* 0x0, ",
        "VADD prints a negated immediate as a negative number, so that -0 prints as 0x0",
    ),
)
"""Texts that stand for several words: assembling gives another word with the same text."""


def explained(table: tuple[Quirk, ...], text: str, word: int = 0) -> Quirk | None:
    """The entry that covers the word with this text."""
    return next((q for q in table if q.explains(text, word)), None)
