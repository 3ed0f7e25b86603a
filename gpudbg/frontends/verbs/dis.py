"""gpudbg dis: disassembly as cuobjdump prints it, with control words, source, blocks and graphs."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import indent
from typing import Any

from gpudbg.answers import Card, Listing, column, data_of, typed_row
from gpudbg.arguments import Parser
from gpudbg.debug.views import dumps
from gpudbg.errors import EXIT_CLEAN
from gpudbg.frontends.verbs.common import emit
from gpudbg.listing import ListingOptions, listed_functions, listed_texts, offset_range
from gpudbg.loading import call_plugin, known_plugins, read_bytes
from gpudbg.options import add_compiler_options, add_verb_options
from gpudbg.toolchain import flag_options


def parser() -> argparse.ArgumentParser:
    """The verb's flags."""
    p = Parser(prog="gpudbg dis", description="Disassemble a cubin, or raw instruction words.")
    add_verb_options(p, "dis")
    add_compiler_options(p)
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
    options = _options(args)
    if args.json:
        records = (dumps(data_of(Card(f, list)), indent=2) for f in listed_functions(options))
        print("[" + ",".join("\n" + indent(text, "  ") for text in records) + "\n]")
        return EXIT_CLEAN
    for text in listed_texts(options):
        print(text)
    return EXIT_CLEAN


def _options(args: argparse.Namespace) -> ListingOptions:
    """What the flags say: each has its option's name."""
    given = {name: getattr(args, name) for name in ListingOptions._fields if hasattr(args, name)}
    given |= {"kernel": tuple(args.kernel or ()), "compile": flag_options(args)}
    return ListingOptions(**given)


@typed_row
class ForeignRow:
    """An instruction of a plugin's set."""

    offset: int = column()
    code: str = column(key="bytes")
    text: str = column()

    def with_words(self) -> str:
        """Its line, the bytes in groups of four."""
        return f"{self.offset:6x}:  {bytes.fromhex(self.code).hex(' ', 4):24} {self.text}"

    def without_words(self) -> str:
        """Its line without the bytes."""
        return f"{self.offset:6x}:  {self.text}"


def _foreign(args: argparse.Namespace) -> int:
    """The whole file as instructions of a plugin's instruction set."""
    entry = known_plugins().find("isa", args.isa)
    data = read_bytes(args.program)
    made = call_plugin(entry, entry.load)
    isa = call_plugin(entry, made) if isinstance(made, type) else made
    low, high = offset_range(args.range)
    found = call_plugin(entry, lambda: [_foreign_row(r) for r in isa.disassemble(data, 0)])
    rows = tuple(
        ForeignRow(at, data[at : at + size].hex(), words)
        for at, size, words in found
        if low <= at < high
    )
    shown = ForeignRow.without_words if args.no_bytes else ForeignRow.with_words
    if rows or args.json:
        emit(Listing(rows, shown), args.json)
    return EXIT_CLEAN


def _foreign_row(row: Any) -> tuple[int, int, str]:
    """An instruction of a plugin's: its address, how many bytes it has (or these), its text."""
    at, given, words = row
    size = len(given) if isinstance(given, bytes | bytearray) else int(given)
    if at < 0 or size < 1:
        raise ValueError(f"an instruction of {size} bytes at {at}")
    return int(at), size, str(words)
