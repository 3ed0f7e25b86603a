"""Instructions of any architecture: decoding, and what both families of them say.

The tables of 128-bit words are loaded when the first such word is asked about: a program of the
other family stops sooner without them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, TypeAlias

from ..architectures import WIDE, is_wide
from . import spa5
from .spa5.forms import all_forms
from .spa5.latency import TIMING as NARROW_TIMING
from .timing import Timing

if TYPE_CHECKING:
    from . import volta

__all__ = [
    "Instruction",
    "decode",
    "destination_bit",
    "has_modifier",
    "hidden_return",
    "patterns",
    "timing_of",
]

Instruction: TypeAlias = "spa5.Instruction | volta.WideInstruction"


def decode(word: int, arch: str) -> Instruction:
    """The instruction that a word encodes: of 64 bits, or of 128 from sm_70 on.

    Raises:
        DecodeError: no instruction of the architecture; `reason` says why.
    """
    if is_wide(arch):
        from . import volta

        return volta.decode(word, arch)
    return spa5.decode(word, arch)


def hidden_return(word: int, arch: str) -> Instruction | None:
    """The return from a trap handler, where it is an instruction that `decode` refuses because
    public tools print nothing for it (sm_89 and later); None for any other word.
    """
    if not is_wide(arch):
        return None
    from .volta.decode import hidden_return

    return hidden_return(word, arch)


def timing_of(arch: str) -> Timing:
    """The rules that scheduling bits have to respect."""
    if is_wide(arch):
        from .volta.latency import TIMING

        return TIMING
    return NARROW_TIMING


def has_modifier(insn: Instruction, name: str) -> bool:
    """Whether an instruction has a modifier of that name."""
    modifiers = insn.m.values() if isinstance(insn, spa5.Instruction) else insn.m
    return name in modifiers


_LOW_HALF = (1 << 64) - 1


def patterns(ops: Collection[str], arch: str) -> list[tuple[int, int]]:
    """(mask, value) of the low 64 bits of words that may be instructions of some mnemonics."""
    if is_wide(arch):
        from .volta.decode import candidates_of

        forms = [(f.op, f.mask, f.value) for f in candidates_of(WIDE[arch])]
    else:
        forms = [(f.op, f.mask, f.value) for f in all_forms() if arch in f.archs]
    return list({(mask & _LOW_HALF, value & _LOW_HALF) for op, mask, value in forms if op in ops})


def destination_bit(arch: str) -> int:
    """Lowest bit of the field that names the destination register."""
    return 16 if is_wide(arch) else 0
