"""gpudbg dis: disassembly as cuobjdump prints it, with control words, source, blocks and graphs."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from textwrap import indent
from typing import TYPE_CHECKING, Any

from gpudbg.api import open_members
from gpudbg.architectures import LISTED, is_wide
from gpudbg.code_layout import layout_of
from gpudbg.debug.views import dumps
from gpudbg.errors import EXIT_CLEAN, LoadError, UsageError
from gpudbg.formats.program import Program
from gpudbg.formats.reading import read_bytes
from gpudbg.frontends.verbs.common import Parser, emit_json, known_names, plain_kernel
from gpudbg.frontends.verbs.dis_listing import (
    Line,
    ListedSection,
    as_json,
    comment_column,
    function,
    graph,
    heading,
)
from gpudbg.loading import call_plugin, known_plugins
from gpudbg.toolchain import add_compile_flags, flag_options

if TYPE_CHECKING:
    from gpudbg.formats.fatbin import FatbinImage


def parser() -> argparse.ArgumentParser:
    """The verb's flags."""
    p = Parser(prog="gpudbg dis", description="Disassemble a cubin, or raw instruction words.")
    p.add_argument("program")
    p.add_argument("--kernel", "-k", action="append", metavar="NAME", help="only this function")
    p.add_argument("--range", metavar="START:END", help="only these offsets, END excluded")
    p.add_argument("--raw", action="store_true", help="the file is bare 32-byte bundles")
    p.add_argument("--arch", choices=LISTED, help="architecture (of raw words)")
    p.add_argument(
        "--control",
        choices=("hex", "fields", "none"),
        default="hex",
        help="control words: as words (default), decoded beside each instruction, or not at all",
    )
    p.add_argument("--no-bytes", action="store_true", help="leave the words out")
    p.add_argument("--source", "-s", action="store_true", help="interleave source lines")
    p.add_argument("--blocks", action="store_true", help="mark basic blocks and their edges")
    p.add_argument("--cfg", choices=("text", "dot"), help="the control-flow graph instead")
    p.add_argument("--braces", action="store_true", help="mark dual-issue pairs, as nvdisasm does")
    p.add_argument(
        "--directives",
        action="store_true",
        help="add registers, parameters and data, so that `gpudbg asm` gives the same program",
    )
    p.add_argument("--json", action="store_true", help="the same as JSON")
    p.add_argument("--isa", metavar="NAME", help="an instruction set that a plugin adds")
    add_compile_flags(p)
    return p


def main(argv: list[str]) -> int:
    """Run the verb."""
    args = parser().parse_args(argv)
    with _no_collection():
        return _disassemble(args)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without cycle collection: a listing makes many objects and no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _disassemble(args: argparse.Namespace) -> int:
    if args.isa:
        return _foreign(args)
    low, high = _range(args.range)
    shown = _listings(args, low, high)
    if args.json:
        print("[" + ",".join(shown) + "\n]")
        return EXIT_CLEAN
    for listing_text in shown:
        print(listing_text)
    return EXIT_CLEAN


def _listings(args: argparse.Namespace, low: int, high: int) -> Iterator[str]:
    """Every section as text, a program at a time: a library has too many to hold."""
    for image, program, sections in _programs(args):
        for section in sections:
            if args.braces and section.wide:
                raise UsageError(
                    f"--braces is not there for 128-bit instructions ({section.arch})",
                    "they have no dual issue",
                )
        picked = [[x for x in s.lines if low <= x.address < high] for s in sections]
        pairs = list(zip(sections, picked, strict=True))
        if args.json:
            for section, rows in pairs:
                yield "\n" + indent(dumps(as_json(section, rows, args), indent=2), "  ")
        elif args.cfg:
            for section in sections:
                yield graph(section, args.cfg)
        else:
            if image is not None and not args.directives and not args.kernel:
                yield "\n".join(_member(image, program))
            yield from _text(program, pairs, args)


def _member(image: FatbinImage, program: Program | None) -> Iterator[str]:
    """What stands before the listing of an entry of a fat binary."""
    yield from image.heading()
    if program is None and image.kind == "elf":
        yield f"// not listed: no instructions of {image.arch} are known here"


def _text(
    program: Program | None, pairs: list[tuple[ListedSection, list[Line]]], args: argparse.Namespace
) -> Iterator[str]:
    """A program's sections as cuobjdump prints them."""
    if not pairs and (program is None or args.kernel):
        return
    arch = pairs[0][0].arch if program is None else program.arch
    width = comment_column(section for section, _ in pairs)
    if args.directives and program is not None:
        from gpudbg.assembler import frame_directives, module_directives

        yield "\n".join(module_directives(program))
    yield "\n".join(heading(program, arch))
    for section, rows in pairs:
        yield "\n".join(function(section, rows, args, width))
    if args.directives and program is not None:
        yield "\n".join(frame_directives(program))


def _foreign(args: argparse.Namespace) -> int:
    """The whole file as instructions of a plugin's instruction set."""
    entry = known_plugins().find("isa", args.isa)
    data = read_bytes(args.program)
    made = call_plugin(entry, entry.load)
    isa = made() if isinstance(made, type) else made
    low, high = _range(args.range)
    found = call_plugin(entry, lambda: [_foreign_row(r) for r in isa.disassemble(data, 0)])
    rows = [row for row in found if low <= row[0] < high]
    if args.json:
        emit_json(
            [
                {"offset": at, "bytes": data[at : at + size].hex(), "text": words}
                for at, size, words in rows
            ]
        )
        return EXIT_CLEAN
    for at, size, words in rows:
        shown = "" if args.no_bytes else f"{data[at : at + size].hex(' ', 4):24} "
        print(f"{at:6x}:  {shown}{words}")
    return EXIT_CLEAN


def _foreign_row(row: Any) -> tuple[int, int, str]:
    """An instruction of a plugin's: its address, how many bytes it has (or these), its text."""
    at, size, words = row
    return int(at), len(size) if isinstance(size, bytes | bytearray) else int(size), str(words)


def _range(text: str | None) -> tuple[int, int]:
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


def _programs(
    args: argparse.Namespace,
) -> Iterator[tuple[FatbinImage | None, Program | None, list[ListedSection]]]:
    """Each program with the sections of it that are wanted, and the entry that it is in a file."""
    if args.raw:
        yield None, None, [_raw(args, read_bytes(args.program))]
        return
    wanted, found = set(args.kernel or ()), set()
    near: list[str] = []
    longest = 0
    for image, program in open_members(args.program, args.arch, flag_options(args)):
        if program is None:
            yield image, None, []
            continue
        named = {plain_kernel(program, name) or name: name for name in wanted}
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
    low, _ = _range(args.range)
    if low >= longest > 0:
        raise UsageError(
            f"--range {args.range!r}: no instruction is there",
            f"code ends at 0x{longest:x}",
        )
    unknown = wanted - found
    if unknown:
        name = min(unknown)
        raise UsageError(f"{args.program} has no function {name!r}", known_names(name, near))


def _raw(args: argparse.Namespace, data: bytes) -> ListedSection:
    arch = args.arch or "sm_50"
    size, unit = layout_of(arch).bundle_bytes, "words" if is_wide(arch) else "bundles"
    if len(data) % size or not data:
        raise LoadError(
            f"{len(data)} bytes are not whole {size}-byte {unit}",
            path=args.program,
            offset=len(data) - len(data) % size,
        )
    name = PurePath(args.program).stem
    return ListedSection(None, name, data, arch)
