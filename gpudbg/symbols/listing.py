"""A program's code as rows: offset, word, control word, text, source line; no machine needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudbg.errors import DecodeError
from gpudbg.isa.spa5.sched import BUNDLE_BYTES, Control, groups, instructions

if TYPE_CHECKING:
    from gpudbg.formats.program import CodeImage

WORD_BYTES = 8


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One instruction of the listing.

    `pc` is the code address, `offset` what nvdisasm prints; `control` is the 21-bit control
    group; `text` the disassembly, or the reason why the word encodes nothing (`legal` False).
    `pair` is "{" or "}" on the halves of a dual-issue pair.
    """

    pc: int
    offset: int
    word: int
    control: int
    text: str
    legal: bool
    pair: str = ""


def control_words(code: bytes) -> Iterator[tuple[int, int]]:
    """(offset, 64-bit control word) of every bundle."""
    for at in range(0, len(code) - WORD_BYTES + 1, BUNDLE_BYTES):
        yield at, int.from_bytes(code[at : at + WORD_BYTES], "little")


def lines(code: bytes, arch: str, base: int = 0) -> list[CodeLine]:
    """Every instruction of a section's code.

    Args:
        code: the bytes, from a bundle's start.
        arch: "sm_50", ...
        base: code address of the first byte.
    """
    out: list[CodeLine] = []
    paired = False
    for offset, word, control in instructions(code):
        out.append(_line(arch, base + offset, offset, word, control, paired))
        paired = _opens(control) and not paired
    return out


def section_pcs(image: CodeImage, section: str) -> list[int]:
    """Code addresses of a section's instructions, in order, without decoding anything."""
    place = next(p for p in image.placements if p.section == section)
    start = place.address - image.base
    code = image.code[start : start + place.size]
    return [place.address + offset for offset, _, _ in instructions(code)]


def code_line(image: CodeImage, pc: int) -> CodeLine | None:
    """The one instruction at a code address; None where there is none."""
    where = image.section_offset(pc)
    if where is None or pc % WORD_BYTES or where[1] % BUNDLE_BYTES == 0:
        return None
    offset = where[1]
    at = pc - image.base
    word = int.from_bytes(image.code[at : at + WORD_BYTES], "little")
    control = _control(image, at)
    return _line(image.program.arch, pc, offset, word, control, _second(image, at, offset))


def _second(image: CodeImage, at: int, offset: int) -> bool:
    """Whether an instruction is a pair's second: an odd number of openers stands before it."""
    paired = False
    while offset > WORD_BYTES:
        back = WORD_BYTES * (2 if offset % BUNDLE_BYTES == WORD_BYTES else 1)
        at, offset = at - back, offset - back
        if not _opens(_control(image, at)):
            break
        paired = not paired
    return paired


def _control(image: CodeImage, at: int) -> int:
    """The control group of the instruction at an offset of the image."""
    bundle = at - at % BUNDLE_BYTES
    slot = at % BUNDLE_BYTES // WORD_BYTES - 1
    return groups(int.from_bytes(image.code[bundle : bundle + WORD_BYTES], "little"))[slot]


def _opens(control: int) -> bool:
    """Whether a control group starts a dual-issue pair."""
    return Control.decode(control).dual_issue


def _line(arch: str, pc: int, offset: int, word: int, control: int, paired: bool) -> CodeLine:
    from gpudbg.isa.spa5.decode import decode

    try:
        text, legal = decode(word, arch).text(offset, control), True
    except DecodeError as e:
        text, legal = f"(illegal: {e.reason})", False
    pair = "}" if paired else "{" if _opens(control) else ""
    return CodeLine(pc, offset, word, control, text, legal, pair)


def section_lines(image: CodeImage, section: str) -> list[CodeLine]:
    """Every instruction of one placed .text section."""
    place = next(p for p in image.placements if p.section == section)
    start = place.address - image.base
    return lines(image.code[start : start + place.size], image.program.arch, place.address)
