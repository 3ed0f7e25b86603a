"""The 128-bit instruction words of Volta and later (sm_70 .. sm_121): decoding and text.

A sibling of `isa.spa5` built on the same idea: one row for each form, in `tables/*.tbl` (notation:
`spec`), from which decoding, the legality check, nvdisasm's text and the assembler come.  A word
is an integer of 128 bits; its low 64 bits come first in memory.
"""

from __future__ import annotations

from .assemble import assemble, notes_for
from .decode import ARCHS, decode
from .insn import CONTROL_MASK, WideControl, WideInstruction

__all__ = [
    "ARCHS",
    "CONTROL_MASK",
    "WideControl",
    "WideInstruction",
    "assemble",
    "decode",
    "notes_for",
]
