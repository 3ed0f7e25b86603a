"""gpudbg dis: disassembly as cuobjdump prints it, with control words, source, blocks and graphs."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from textwrap import indent
from typing import Any

from gpudbg.analysis import cfg
from gpudbg.api.opening import open_programs
from gpudbg.architectures import LISTED, is_wide
from gpudbg.code_layout import layout_of
from gpudbg.debug.views.json_text import dumps
from gpudbg.errors import EXIT_CLEAN, LoadError, UsageError
from gpudbg.formats.program import Program
from gpudbg.formats.reading import read_bytes
from gpudbg.frontends.verbs.common import Parser, emit_json, known_names, plain_kernel
from gpudbg.isa.spa5 import text
from gpudbg.loading import foreign
from gpudbg.symbols import listing
from gpudbg.toolchain.options import add_compile_flags, flag_options

ADDRESS_COLUMNS = 16
"""Columns of `        /*0008*/`."""


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


class WideSection:
    """One section of 128-bit code to print."""

    def __init__(self, program: Program | None, name: str, code: bytes, arch: str) -> None:
        from gpudbg.isa.volta import text as wide_text

        self.program = program
        self.name = name
        self.arch = arch
        self.lines = list(wide_text.lines(code, arch))

    def check(self, args: argparse.Namespace) -> None:
        """Refuse what is not there for 128-bit instructions.

        Raises:
            UsageError: names the flag.
        """
        for flag in ("braces", "directives"):
            if getattr(args, flag):
                raise UsageError(
                    f"--{flag} is not there for 128-bit instructions ({self.arch})",
                    "the plain listing is",
                )

    def function(self, args: argparse.Namespace, low: int, high: int) -> Iterator[str]:
        """The function as cuobjdump -sass lays it out."""
        yield f"\n\tcode for {self.arch}\n\t\tFunction : {self.name}"
        source = SourceLines(self) if args.source else None
        blocks = {b.start: b for b in _blocks(self)} if args.blocks else {}
        bodies = {row.address: row.body() for row in self.lines}
        width = max(map(len, bodies.values()), default=0)
        margin = " " * (ADDRESS_COLUMNS + width + 2)
        for row in self.lines:
            if not low <= row.address < high:
                continue
            if row.address in blocks:
                yield _block_words(blocks[row.address])
            if source is not None:
                yield from source.new_lines(row.address)
            first, second = row.halves
            line = f"        /*{row.address:04x}*/{bodies[row.address]:<{width}}"
            line += f"  {row.control}" if args.control == "fields" else ""
            line += "" if args.no_bytes else f"  {first}"
            line += f"  // illegal: {row.error}" if row.error else ""
            yield line.rstrip()
            if args.control == "hex" and not args.no_bytes:
                yield margin + second
        yield "\t\t" + "." * 10 + "\n"

    def json(self, low: int, high: int, args: argparse.Namespace) -> dict[str, Any]:
        """The function as data."""
        out: dict[str, Any] = {
            "function": self.name,
            "arch": self.arch,
            "instructions": [
                {
                    "offset": x.address,
                    "word": f"{x.word:#034x}",
                    "control": x.word >> 105,
                    "control_text": str(x.control),
                    "text": x.text,
                    "legal": x.insn is not None,
                    "reason": x.error,
                }
                for x in self.lines
                if low <= x.address < high
            ],
        }
        return out | _block_rows(self, args)


class Section:
    """One code section to print: its lines, name, and source lines by offset."""

    def __init__(self, program: Program | None, name: str, code: bytes, arch: str) -> None:
        self.program = program
        self.name = name
        self.arch = arch
        self.code = code
        self.lines = list(text.lines(code, arch))

    def bodies(self, braces: bool) -> dict[int, str]:
        """The lines' texts in their column, by address."""
        return {row.address: row.body(braces) for row in self.lines}


def _blocks(section: Section | WideSection) -> list[cfg.Block]:
    """Basic blocks of a section, with the targets of indirect branches that the file lists."""
    kernel = section.program.kernels.get(section.name) if section.program is not None else None
    branches = kernel.indirect_branches if kernel is not None else ()
    known = {b.offset: b.targets for b in branches if b.targets}
    words = ((x.address, x.word) for x in section.lines)
    return cfg.Flow(words, section.arch, known).blocks()


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
    """Every section as text, one at a time: a library has too many to hold."""
    last: Program | None = None
    for section in _sections(args):
        if isinstance(section, WideSection):
            section.check(args)
            if args.json:
                yield "\n" + indent(dumps(section.json(low, high, args), indent=2), "  ")
            elif args.cfg:
                yield _graph(section, args.cfg)
            else:
                yield "\n".join(section.function(args, low, high))
            continue
        rows = [x for x in section.lines if low <= x.address < high]
        if args.json:
            yield "\n" + indent(dumps(_json(section, rows, args), indent=2), "  ")
            continue
        if args.directives and not args.cfg and section.program is not last:
            from gpudbg.assembler.emit import module_directives

            assert section.program is not None
            yield "\n".join(module_directives(section.program))
        last = section.program
        if args.cfg:
            yield _graph(section, args.cfg)
        else:
            yield "\n".join(_function(section, rows, args))


def _foreign(args: argparse.Namespace) -> int:
    """The whole file as instructions of a plugin's instruction set."""
    entry = foreign.plugins().find("isa", args.isa)
    data = read_bytes(args.program)
    made = foreign.call(entry, entry.load)
    isa = made() if isinstance(made, type) else made
    low, high = _range(args.range)
    found = foreign.call(entry, lambda: [_foreign_row(r) for r in isa.disassemble(data, 0)])
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
    start, _, end = text.partition(":")
    try:
        return int(start or "0", 0), int(end, 0) if end else 1 << 62
    except ValueError:
        raise UsageError(f"--range {text!r} is not START:END", "e.g. --range 0x40:0x80") from None


def _sections(args: argparse.Namespace) -> Iterator[Section | WideSection]:
    if args.raw:
        yield _raw(args, read_bytes(args.program))
        return
    wanted, found = set(args.kernel or ()), set()
    near: list[str] = []
    for program in open_programs(args.program, args.arch, flag_options(args)):
        named = {plain_kernel(program, name) or name: name for name in wanted}
        for section in program.code_sections:
            name = section.removeprefix(".text.")
            if wanted and name not in named:
                near.append(name)
                continue
            found.add(named.get(name, name))
            made = WideSection if is_wide(program.arch) else Section
            yield made(program, name, program.sections[section].data, program.arch)
    unknown = wanted - found
    if unknown:
        name = min(unknown)
        raise UsageError(f"{args.program} has no function {name!r}", known_names(name, near))


def _raw(args: argparse.Namespace, data: bytes) -> Section | WideSection:
    arch = args.arch or "sm_50"
    size, unit = layout_of(arch).bundle_bytes, "words" if is_wide(arch) else "bundles"
    if len(data) % size or not data:
        raise LoadError(
            f"{len(data)} bytes are not whole {size}-byte {unit}",
            path=args.program,
            offset=len(data) - len(data) % size,
        )
    name = PurePath(args.program).stem
    return (WideSection if is_wide(arch) else Section)(None, name, data, arch)


# ---- text ------------------------------------------------------------------------------
def _function(section: Section, rows: list[text.Line], args: argparse.Namespace) -> Iterator[str]:
    """One function as cuobjdump -sass lays it out, with what the flags add."""
    yield f"\n\tcode for {section.arch}\n\t\tFunction : {section.name}"
    if args.directives and section.program is not None:
        from gpudbg.assembler.emit import function_directives

        yield from function_directives(section.program, section.name)
    controls = dict(listing.control_words(section.code, layout_of(section.arch)))
    blocks = {b.start: b for b in _blocks(section)} if args.blocks else {}
    source = SourceLines(section) if args.source else None
    bodies = section.bodies(args.braces)
    width = max(map(len, bodies.values()), default=0)
    margin = " " * (ADDRESS_COLUMNS + width + 2)
    bundle = -1
    for row in rows:
        at = row.address & ~31
        if args.control == "hex" and at != bundle:
            bundle = at
            yield f"{margin}/* {controls[at]:#018x} */"
        if row.address in blocks:
            yield _block_words(blocks[row.address])
        if source is not None:
            yield from source.new_lines(row.address)
        yield _line(row, bodies[row.address].ljust(width), args)
    yield "\t\t" + "." * 10 + "\n"


def _line(row: text.Line, body: str, args: argparse.Namespace) -> str:
    line = f"        /*{row.address:04x}*/{body}"
    if args.control == "fields":
        line += f"  {row.control}"
    if not args.no_bytes:
        line += f"  /* {row.word:#018x} */"
    if row.error:
        line += f"  // illegal: {row.error}"
    return line.rstrip()


def _block_words(block: cfg.Block) -> str:
    edges = ", ".join(f"{e.kind} {e.target:04x}" for e in block.edges)
    tail = f" -> {edges}" if edges else ""
    ends = f" -> {block.ends}" if block.ends else ""
    return f"  // block {block.start:04x}..{block.last:04x}{tail}{ends}"


def _graph(section: Section | WideSection, form: str) -> str:
    """The control-flow graph, as text or for Graphviz ("dot")."""
    blocks = _blocks(section)
    if form == "dot":
        return cfg.to_dot(section.name, blocks, {x.address: x.text for x in section.lines})
    return "\n".join([section.name, *(_block_words(b).replace("  // ", "  ") for b in blocks)])


class SourceLines:
    """Source lines of a section, handed out when they change."""

    def __init__(self, section: Section | WideSection) -> None:
        from gpudbg.formats.lines import read_lines

        if section.program is None:
            raise UsageError("raw words have no source lines")
        self._table = read_lines(section.program)
        if not self._table.rows:
            raise UsageError(
                f"{section.program.path} has no line table", "compile it with -lineinfo"
            )
        self._section = ".text." + section.name
        self._folder = Path(section.program.path).parent
        self._last: tuple[int, int] | None = None
        self._texts: dict[int, list[str] | None] = {}

    def new_lines(self, offset: int) -> list[str]:
        """The source line of an offset when it is not the one before."""
        row = self._table.lookup(self._section, offset)
        if row is None or (row.file, row.line) == self._last:
            return []
        self._last = (row.file, row.line)
        name = PurePath(self._table.files[row.file]).name
        words = self._text(row.file, row.line)
        return [f"  // {name}:{row.line}" + (f"  {words}" if words else "")]

    def _text(self, file: int, line: int) -> str:
        if file not in self._texts:
            path = Path(self._table.files[file])
            found = next((p for p in (path, self._folder / path.name) if p.is_file()), None)
            self._texts[file] = found.read_text(errors="replace").splitlines() if found else None
        lines = self._texts[file]
        return lines[line - 1].rstrip() if lines and 0 < line <= len(lines) else ""


# ---- JSON ------------------------------------------------------------------------------
def _json(section: Section, rows: list[text.Line], args: argparse.Namespace) -> dict[str, Any]:
    out: dict[str, Any] = {
        "function": section.name,
        "arch": section.arch,
        "instructions": [
            {
                "offset": x.address,
                "word": f"{x.word:#018x}",
                "control": x.group,
                "control_text": str(x.control),
                "text": x.text,
                "dual": "{" if x.opens else "}" if x.closes else "",
                "legal": x.insn is not None,
                "reason": x.error,
            }
            for x in rows
        ],
    }
    return out | _block_rows(section, args)


def _block_rows(section: Section | WideSection, args: argparse.Namespace) -> dict[str, Any]:
    """Basic blocks as data, where --blocks or --cfg asks for them."""
    if not (args.blocks or args.cfg):
        return {}
    return {
        "blocks": [
            {
                "start": b.start,
                "last": b.last,
                "edges": [{"target": e.target, "kind": e.kind} for e in b.edges],
                "ends": b.ends,
            }
            for b in _blocks(section)
        ]
    }
