"""The sections of a file that are wanted, as text and as records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from gpudbg.architectures import is_wide
from gpudbg.code_layout import layout_of
from gpudbg.errors import LoadError, UsageError
from gpudbg.formats.program import Program
from gpudbg.formats.reading import read_bytes
from gpudbg.launch import kernel_name
from gpudbg.listing.sections import (
    FunctionRow,
    Line,
    ListedSection,
    ListingOptions,
    comment_column,
    function,
    graph,
    heading,
    threads_of,
)
from gpudbg.loading.programs import open_members
from gpudbg.symbols import known_names

if TYPE_CHECKING:
    from gpudbg.formats.fatbin import FatbinImage

Picked = list[tuple[ListedSection, list[Line]]]
"""Sections, each with its lines that are shown."""


def listed_functions(options: ListingOptions) -> Iterator[FunctionRow]:
    """Every function as a record.

    Raises:
        LoadError: the file cannot be read.
        UsageError: no such function, nothing in the range, or flags that do not fit the file.
    """
    for _, _, pairs in _picked(options):
        for section, rows in pairs:
            yield FunctionRow.of(section, rows, options)


def listed_texts(options: ListingOptions) -> Iterator[str]:
    """Every section as text, a program at a time: a library has too many to hold.

    Raises:
        as `listed_functions`.
    """
    for image, program, pairs in _picked(options):
        if options.cfg:
            for section, _ in pairs:
                yield graph(section, options.cfg)
        else:
            if image is not None and not options.directives and not options.kernel:
                yield "\n".join(_member(image, program))
            yield from _text(program, pairs, options)


def _picked(
    options: ListingOptions,
) -> Iterator[tuple[FatbinImage | None, Program | None, Picked]]:
    """Each program with its sections that are wanted, and the lines in the range."""
    low, high = offset_range(options.range)
    # What is wrong with it is said before anything is listed.
    threads_of(options)
    for image, program, sections in _programs(options):
        for section in sections:
            if options.braces and section.wide:
                raise UsageError(
                    f"--braces is not there for 128-bit instructions ({section.arch})",
                    "they have no dual issue",
                )
        picked = [[x for x in s.lines if low <= x.address < high] for s in sections]
        yield image, program, list(zip(sections, picked, strict=True))


def _member(image: FatbinImage, program: Program | None) -> Iterator[str]:
    """What stands before the listing of an entry of a fat binary."""
    yield from image.heading()
    if program is None and image.kind == "elf":
        yield f"// not listed: no instructions of {image.arch} are known here"


def _text(program: Program | None, pairs: Picked, options: ListingOptions) -> Iterator[str]:
    """A program's sections as cuobjdump prints them."""
    if not pairs and (program is None or options.kernel):
        return
    arch = pairs[0][0].arch if program is None else program.arch
    width = comment_column(section for section, _ in pairs)
    if options.directives and program is not None:
        from gpudbg.assembler import frame_directives, module_directives

        yield "\n".join(module_directives(program))
    yield "\n".join(heading(program, arch))
    for section, rows in pairs:
        yield "\n".join(function(section, rows, options, width))
    if options.directives and program is not None:
        yield "\n".join(frame_directives(program))


def _programs(
    options: ListingOptions,
) -> Iterator[tuple[FatbinImage | None, Program | None, list[ListedSection]]]:
    """Each program with the sections of it that are wanted, and the entry that it is in a file."""
    if options.raw:
        yield None, None, [_raw(options, read_bytes(options.program))]
        return
    wanted, found = set(options.kernel), set()
    near: list[str] = []
    longest = 0
    for image, program in open_members(options.program, options.arch, options.compile):
        if program is None:
            yield image, None, []
            continue
        named = {kernel_name(program, name) or name: name for name in wanted}
        sections = []
        for section in program.code_sections:
            name = section.removeprefix(".text.")
            if wanted and name not in named:
                near.append(name)
                continue
            found.add(named.get(name, name))
            sections.append(
                ListedSection(program, name, program.sections[section].data, program.arch)
            )
        longest = max(longest, *(len(section.code) for section in sections), 0)
        yield image, program, sections
    if offset_range(options.range)[0] >= longest > 0:
        raise UsageError(
            f"--range {options.range!r}: no instruction is there",
            f"code ends at 0x{longest:x}",
        )
    unknown = wanted - found
    if unknown:
        name = min(unknown)
        raise UsageError(f"{options.program} has no function {name!r}", known_names(name, near))


def _raw(options: ListingOptions, data: bytes) -> ListedSection:
    arch = options.arch or "sm_50"
    size, unit = layout_of(arch).bundle_bytes, "words" if is_wide(arch) else "bundles"
    if len(data) % size or not data:
        raise LoadError(
            f"{len(data)} bytes are not whole {size}-byte {unit}",
            path=options.program,
            offset=len(data) - len(data) % size,
        )
    name = PurePath(options.program).stem
    return ListedSection(None, name, data, arch)


def offset_range(text: str | None) -> tuple[int, int]:
    """START:END as offsets; everything without a text.

    Raises:
        UsageError: it is none, or holds nothing.
    """
    if text is None:
        return 0, 1 << 62
    start, colon, end = text.partition(":")
    try:
        low, high = int(start or "0", 0), int(end, 0) if end else 1 << 62
    except ValueError:
        colon = ""
    if not colon:
        raise UsageError(f"--range {text!r} is not START:END", "e.g. --range 0x40:0x80")
    if not 0 <= low < high:
        raise UsageError(f"--range {text!r} holds nothing", "END lies behind START, from 0 on")
    return low, high
