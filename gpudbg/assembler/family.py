"""What the assembler asks of a family of instruction sets: text to words, words to code."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, Protocol

from gpudbg.architectures import is_wide
from gpudbg.code_layout import BUNDLES, SINGLE, CodeLayout
from gpudbg.dataclass import dataclass
from gpudbg.isa import volta
from gpudbg.isa.control import Control
from gpudbg.isa.spa5.assemble import assemble_line
from gpudbg.isa.spa5.decode import NOP_WORD
from gpudbg.isa.spa5.sched import NEUTRAL_GROUP, pack


class AssembledWord(NamedTuple):
    """An instruction word, and the reuse bits that its text has."""

    word: int
    reuse: int


@dataclass(frozen=True, slots=True)
class AddressRelocations:
    """Relocation types of addresses in code: of calls, and of halves in moves by "lo" and "hi"."""

    call: int
    halves: Mapping[str, int]


class AssemblyFamily(Protocol):
    """One family, for one architecture."""

    layout: CodeLayout
    addresses: AddressRelocations
    relative: frozenset[str]
    """Mnemonics whose number operand is the address they go to."""
    text_align: int
    """Alignment of a section of code."""
    data_relocations: bool
    """Whether relocations hold their addends."""

    def assemble(
        self, text: str, offset: int, control: Control | None, known: int | None
    ) -> AssembledWord:
        """The word of a text.

        Args:
            text: one instruction.
            offset: where it will stand.
            control: its scheduling bits, where they are given.
            known: the word that a listing shows behind the text.

        Raises:
            AssembleError: no such instruction.
        """

    def control_of(self, word: int | None) -> Control | None:
        """The scheduling bits that a word holds, where words do."""

    def padding(self, count: int) -> list[int]:
        """Words that fill the last bundle behind `count` instructions."""

    def finish(self, word: int, control: Control) -> int:
        """A word with its scheduling bits."""

    def code(self, words: Sequence[int], groups: Sequence[int]) -> bytes:
        """The bytes of words and their control groups."""


class Bundles:
    """sm_50 to sm_62: bundles of a control word and three instructions."""

    layout = BUNDLES
    addresses = AddressRelocations(42, {"lo": 43, "hi": 44})
    relative = frozenset("BRA CAL PRET PLONGJMP SSY PBK PCNT PEXIT".split())
    text_align = 32
    data_relocations = False

    def __init__(self, arch: str) -> None:
        self._arch = arch

    def assemble(
        self, text: str, offset: int, control: Control | None, known: int | None
    ) -> AssembledWord:
        """The word of a text; scheduling bits stand elsewhere."""
        made = assemble_line(text, offset, self._arch)
        return AssembledWord(made.word, made.reuse)

    def control_of(self, word: int | None) -> Control | None:
        """None: words hold no scheduling bits."""
        return None

    def padding(self, count: int) -> list[int]:
        """NOPs up to a whole bundle."""
        return [NOP_WORD] * (-count % self.layout.per_bundle)

    def finish(self, word: int, control: Control) -> int:
        """The word as it is."""
        return word

    def code(self, words: Sequence[int], groups: Sequence[int]) -> bytes:
        """The bundles, little-endian; a last one that is not full gets NOPs."""
        out = bytearray()
        fill = -len(words) % 3
        words, groups = [*words, *[NOP_WORD] * fill], [*groups, *[NEUTRAL_GROUP] * fill]
        for n in range(0, len(words), 3):
            out += struct.pack("<4Q", pack(*groups[n : n + 3]), *words[n : n + 3])
        return bytes(out)


class Singles:
    """sm_70 and later: every word holds its own scheduling bits."""

    layout = SINGLE
    relative = frozenset("BRA BRX BRXU BSSY CALL RET WARPSYNC".split())
    text_align = 128

    def __init__(self, arch: str) -> None:
        from gpudbg.architectures import age

        self._arch = arch
        self.data_relocations = age(arch)[0] >= _EXPLICIT_ADDENDS
        call = 75 if age(arch)[0] >= _EXPLICIT_ADDENDS else 58
        self.addresses = AddressRelocations(call, {"lo": 56, "hi": 57})

    def assemble(
        self, text: str, offset: int, control: Control | None, known: int | None
    ) -> AssembledWord:
        """The word of a text; `known` gives the bits that the text does not show."""
        bits = control if control is not None else self.control_of(known)
        wide = None if bits is None else volta.WideControl.decode(bits.encode())
        word = volta.assemble(text, offset, self._arch, wide, known)
        return AssembledWord(word, volta.WideControl.of(word).reuse)

    def control_of(self, word: int | None) -> Control | None:
        """Bits 125:105 of the word."""
        return None if word is None else volta.WideControl.of(word)

    def padding(self, count: int) -> list[int]:
        """None is needed."""
        return []

    def finish(self, word: int, control: Control) -> int:
        """The word with these scheduling bits in place of its own."""
        return word & ~volta.CONTROL_MASK | volta.WideControl.decode(control.encode()).bits

    def code(self, words: Sequence[int], groups: Sequence[int]) -> bytes:
        """The words, little-endian; they hold their groups."""
        return b"".join(word.to_bytes(16, "little") for word in words)


_EXPLICIT_ADDENDS = 90
"""The first architecture whose files have addends in the relocations (`.rela`)."""


@cache
def family_of(arch: str) -> AssemblyFamily:
    """The family of an architecture."""
    return Singles(arch) if is_wide(arch) else Bundles(arch)
