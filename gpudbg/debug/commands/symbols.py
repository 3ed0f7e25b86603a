"""What a program has, as gdb lists it: info variables, info types, info files; `functions`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpudbg.answers import Card, Listing, column, typed_row
from gpudbg.answers.data import record_data
from gpudbg.debug.commands.table import command
from gpudbg.debug.symbols import as_written
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@typed_row
class SymbolRow:
    """A function or variable: its source line where one is known, else its address."""

    name: str = column()
    address: int = column()
    file: str = column()
    line: int | None = column()

    def __str__(self) -> str:
        return f"{self.line}:\t{self.name};" if self.file else f"0x{self.address:016x}  {self.name}"


@dataclass(frozen=True, slots=True)
class SymbolList:
    """Symbols of one kind, those that match a pattern."""

    what: str
    pattern: str
    rows: tuple[SymbolRow, ...]

    def lines(self) -> Iterator[str]:
        """Symbols by source file, those without one at the end."""
        match = f' matching regular expression "{self.pattern}":' if self.pattern else ":"
        yield f"All {'' if self.pattern else 'defined '}{self.what}{match}"
        for file in sorted({row.file for row in self.rows}, key=lambda f: (not f, f)):
            yield ""
            yield f"File {file}:" if file else "Non-debugging symbols:"
            yield from (str(row) for row in self.rows if row.file == file)

    def to_json(self) -> list[Any]:
        """The symbols."""
        return [record_data(row) for row in self.rows]


def _card(what: str, argument: str, rows: Iterator[SymbolRow]) -> Card:
    try:
        wanted = re.compile(argument)
    except (re.error, RecursionError, OverflowError) as error:
        raise CommandError(f"Invalid regexp: {error}") from None
    found = SymbolList(what, argument, tuple(r for r in rows if wanted.search(r.name)))
    return Card(found, lambda symbols: tuple(symbols.lines()))


def functions(session: DebugSession, argument: str) -> Card:
    """gdb's `info functions`.

    Raises:
        CommandError: the pattern is no regular expression.
    """
    rows = (
        SymbolRow(name, pc, as_written(line.file) if line else "", line.number if line else None)
        for name, pc, line in session.symbols.function_places()
    )
    return _card("functions", argument, rows)


@command(
    "info variables",
    usage="info variables [REGEX]",
    help="module variables and their addresses",
    group="status",
    needs="nothing",
)
def info_variables(session: DebugSession, argument: str) -> Card:
    """List module variables, of which only the place is known."""
    names = session.program.globals
    rows = (SymbolRow(n, session.memory.address_of(n), "", None) for n in names)
    return _card("variables", argument, rows)


@command(
    "info types",
    usage="info types [REGEX]",
    help="types of the program: a line table names none",
    group="status",
    needs="nothing",
)
def info_types(session: DebugSession, argument: str) -> Card:
    """List types."""
    assert session.program is not None
    return _card("types", argument, iter(()))


@typed_row
class SectionRow:
    """A section of code and where it lies."""

    begin: int = column()
    end: int = column()
    name: str = column()

    def __str__(self) -> str:
        return f"\t0x{self.begin:016x} - 0x{self.end:016x} is {self.name}"


@command(
    "info files",
    "info target",
    help="the program's file, and where its code lies",
    group="status",
    needs="nothing",
)
def info_files(session: DebugSession, argument: str) -> Listing:
    """Where the program's code is."""
    path, placements = session.program.path, session.symbols.image.placements
    return Listing(
        tuple(SectionRow(p.address, p.address + p.size, p.section) for p in placements),
        title=(f'Symbols from "{path}".', "Local exec file:", f"\t`{path}'."),
    )
