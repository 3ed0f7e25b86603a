"""A program's code as rows: offset, word, control word, text, source line; no machine needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudbg.code_layout import CodeLayout, layout_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import DecodeError
from gpudbg.isa.control import Control
from gpudbg.isa.family import decode
from gpudbg.isa.layout import group_at, instructions

if TYPE_CHECKING:
    from gpudbg.formats.program import CodeImage


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One instruction of the listing.

    `pc` is the code address, `offset` what nvdisasm prints; `control` is the 21-bit control
    group; `text` the disassembly, or the reason why the word encodes nothing (`legal` False).
    `pair` is "{" or "}" on the halves of a dual-issue pair, `size` the bytes of the word.
    """

    pc: int
    offset: int
    word: int
    control: int
    text: str
    legal: bool
    pair: str = ""
    size: int = 8

    @property
    def hex(self) -> str:
        """The word in hexadecimal, all its digits."""
        return f"{self.word:0{2 * self.size}x}"


def control_words(code: bytes, layout: CodeLayout) -> Iterator[tuple[int, int]]:
    """(offset, 64-bit control word) of every bundle; none where instructions hold their own."""
    if layout.has_control_words:
        for at in range(0, len(code) - layout.word_bytes + 1, layout.bundle_bytes):
            yield at, layout.word_at(code, at)


def lines(code: bytes, arch: str, base: int = 0) -> list[CodeLine]:
    """Every instruction of a section's code.

    Args:
        code: the bytes, from a bundle's start.
        arch: "sm_50", ...
        base: code address of the first byte.
    """
    out: list[CodeLine] = []
    paired = False
    layout = layout_of(arch)
    for offset, word, control in instructions(code, layout):
        out.append(_line(arch, base + offset, offset, word, control, paired))
        paired = _opens(layout, control) and not paired
    return out


def section_pcs(image: CodeImage, section: str) -> list[int]:
    """Code addresses of a section's instructions, in order, without decoding anything."""
    place = next(p for p in image.placements if p.section == section)
    start = place.address - image.base
    size = len(image.code[start : start + place.size])
    return [place.address + offset for offset in image.program.layout.offsets(size)]


def code_line(image: CodeImage, pc: int) -> CodeLine | None:
    """The one instruction at a code address; None where there is none."""
    where, layout = image.section_offset(pc), image.program.layout
    if where is None or not layout.holds_instruction(where[1]):
        return None
    offset, at = where[1], pc - image.base
    word, control = layout.word_at(image.code, at), group_at(image.code, layout, at)
    return _line(image.program.arch, pc, offset, word, control, _second(image, at, offset))


def _second(image: CodeImage, at: int, offset: int) -> bool:
    """Whether an instruction is a pair's second: an odd number of openers stands before it."""
    layout = image.program.layout
    paired = False
    while layout.has_control_words and offset > layout.word_bytes:
        back = offset - layout.before(offset)
        at, offset = at - back, offset - back
        if not _opens(layout, group_at(image.code, layout, at)):
            break
        paired = not paired
    return paired


def _opens(layout: CodeLayout, control: int) -> bool:
    """Whether a control group starts a dual-issue pair."""
    return layout.has_control_words and Control.decode(control).dual_issue


def _line(arch: str, pc: int, offset: int, word: int, control: int, paired: bool) -> CodeLine:
    try:
        text, legal = decode(word, arch).text(offset, control), True
    except DecodeError as e:
        text, legal = f"(illegal: {e.reason})", False
    layout = layout_of(arch)
    pair = "}" if paired else "{" if _opens(layout, control) else ""
    return CodeLine(pc, offset, word, control, text, legal, pair, layout.word_bytes)
