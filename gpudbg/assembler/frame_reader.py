"""Directives of a file's frame (`frame`), read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudbg.assembler.frame import (
    HEADER_KEYS,
    PART_KEYS,
    SEGMENT_FIELDS,
    SYMBOL_KEYS,
    FileFrame,
    FramePart,
)

if TYPE_CHECKING:
    from gpudbg.assembler.directives import DirectiveFiles
    from gpudbg.assembler.reader import SassLine

_STRING = re.compile(r'\s*"([^"]*)"\s*(?:,|$)')
MAX_PARTS = 1 << 17


def _frame(files: DirectiveFiles, line: SassLine) -> FileFrame:
    if files.frame is None:
        raise files.error(line, "outside of a frame", ".elf before")
    return files.frame


def _part(files: DirectiveFiles, line: SassLine) -> FramePart:
    frame = _frame(files, line)
    if not frame.parts:
        raise files.error(line, "outside of a section", ".part before")
    return frame.parts[-1]


def _fields(
    files: DirectiveFiles, line: SassLine, words: list[str], keys: tuple[str, ...]
) -> dict[str, int]:
    """`key=value` words."""
    out = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in keys:
            raise files.error(line, f"{word!r}", " ".join(f"{key}=" for key in keys))
        out[key] = files.number(line, value, 0, (1 << 64) - 1)
    return out


def _bytes(files: DirectiveFiles, line: SassLine, text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise files.error(line, f"{text[:20]!r} are no bytes", "hexadecimal digits") from None


def elf(files: DirectiveFiles, line: SassLine) -> None:
    """.elf: a frame begins"""
    if files.frame is not None:
        raise files.error(line, "a second frame", "one .elf")
    files.frame = FileFrame(_fields(files, line, line.argument.split(), HEADER_KEYS))


def part(files: DirectiveFiles, line: SassLine) -> None:
    """.part: a section of the frame begins"""
    frame = _frame(files, line)
    if len(frame.parts) >= MAX_PARTS:
        raise files.error(line, "too many sections", f"at most {MAX_PARTS}")
    name, *words = line.argument.split() or [""]
    made = FramePart(name.removeprefix("?"), _fields(files, line, words, PART_KEYS))
    frame.parts.append(made)
    files.begin_part(made.content)


def strings(files: DirectiveFiles, line: SassLine) -> None:
    """.strings: zero-terminated strings"""
    at, content = 0, _part(files, line).content
    while at < len(line.argument):
        found = _STRING.match(line.argument, at)
        if found is None:
            raise files.error(line, f"{line.argument[at : at + 20]!r}", '"text", "text"')
        content += found[1].encode("latin-1", "replace") + b"\0"
        at = found.end()


def symbol(files: DirectiveFiles, line: SassLine) -> None:
    """.symbol: a row of the symbol table"""
    name, *words = line.argument.split() or [""]
    row = (name.removeprefix("?"), _fields(files, line, words, SYMBOL_KEYS))
    _part(files, line).symbols.append(row)


def hexadecimal(files: DirectiveFiles, line: SassLine) -> None:
    """.hex: contents"""
    _part(files, line).content += _bytes(files, line, line.argument)


def segment(files: DirectiveFiles, line: SassLine) -> None:
    """.segment: a program header"""
    words = [word.strip() for word in line.argument.split(",")]
    if len(words) != SEGMENT_FIELDS:
        raise files.error(line, f"{len(words)} numbers", f"{SEGMENT_FIELDS}")
    row = tuple(files.number(line, word, 0, (1 << 64) - 1) for word in words)
    _frame(files, line).segments.append(row)


def patch(files: DirectiveFiles, line: SassLine) -> None:
    """.patch: bytes between sections"""
    at, _, data = line.argument.partition(",")
    row = (files.number(line, at.strip()), _bytes(files, line, data.strip()))
    _frame(files, line).patches.append(row)


HANDLERS: dict[str, Callable[[DirectiveFiles, SassLine], None]] = {
    "elf": elf,
    "part": part,
    "strings": strings,
    "symbol": symbol,
    "hex": hexadecimal,
    "segment": segment,
    "patch": patch,
}
