"""What a program has, as gdb lists it: info functions, variables, types, files; info address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpudbg.answers import Card, Listing, Notice, column, typed_row
from gpudbg.answers.data import record_data
from gpudbg.dataclass import dataclass
from gpudbg.debug.commands.table import command
from gpudbg.debug.symbols import as_written
from gpudbg.debug.values.backtrace import selected_pc
from gpudbg.debug.views import gdb_text
from gpudbg.debug.views.variable_places import scope_words, static_place
from gpudbg.errors import CommandError
from gpudbg.expr.types import declaration
from gpudbg.patterns import user_pattern
from gpudbg.symbols.dwarf_types import declared_variables
from gpudbg.symbols.mangled import function_name
from gpudbg.symbols.variable_types import source_name

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
    wanted = user_pattern(argument)
    found = SymbolList(what, argument, tuple(r for r in rows if wanted.search(r.name)))
    return Card(found, lambda symbols: tuple(symbols.lines()))


@command(
    "info functions",
    usage="info functions [REGEX]",
    help="kernels and device functions, by source file",
    group="status",
    needs="nothing",
)
def functions_answer(session: DebugSession, argument: str) -> Card:
    """List functions.

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
    """List module and shared variables: with type and line where debug information has them."""
    return _card("variables", argument, _variable_rows(session))


def _variable_rows(session: DebugSession) -> Iterator[SymbolRow]:
    places = {name: session.memory.address_of(name) for name in session.program.globals}
    places |= {var.name: var.offset for var in session.program.shared_vars}
    for row in declared_variables(session.program):
        address = places.pop(row.symbol, None)
        if address is not None and row.type is not None and row.file:
            name = declaration(row.type, source_name(row.symbol))
            yield SymbolRow(name, address, as_written(row.file), row.line or None)
    known = session.program.globals
    yield from (SymbolRow(n, places[n], "", None) for n in known if n in places)


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


# ---- one symbol ----------------------------------------------------------------------------------
@command(
    "info address",
    usage="info address SYMBOL",
    help="where a function, a variable or an argument is",
    group="status",
    needs="nothing",
)
def info_address(session: DebugSession, argument: str) -> Notice:
    """Say what a symbol is, and its place."""
    name = argument.strip()
    if not name:
        raise CommandError("Argument required.", "info address SYMBOL")
    words = scope_words(session, selected_pc(session)).get(name) if session.launched else None
    if words is not None:
        return Notice(words.replace(f"Symbol {name}", f'Symbol "{name}"', 1), words)
    place = _variable_place(session, name)
    if place is not None:
        return Notice(f'Symbol "{name}" is {place[0]}.', place[1])
    try:
        found = session.symbols.resolve(name, session.origin())
    except CommandError:
        found = None
    if found is None or not re.match(r"[A-Za-z_:]", name):
        raise CommandError(f'No symbol "{name[:80]}" in current context.')
    shown = gdb_text.place if gdb_text.wanted(session) else _offset_words
    pcs = found.addresses
    where = ", ".join(shown(session, pc) for pc in pcs)
    kind = "a function" if len(pcs) == 1 else f"{len(pcs)} functions"
    return Notice(f'Symbol "{name}" is {kind} at {where}.', list(pcs))


def _offset_words(session: DebugSession, pc: int) -> str:
    return session.symbols.describe(pc)


def _variable_place(session: DebugSession, name: str) -> tuple[str, dict[str, Any]] | None:
    """Where a variable or an argument is: as words and as data; None: it is neither."""
    static = static_place(session, name)
    if static is not None:
        return static
    kernel = session.kernel
    names = [a.name for a in session.launch.arguments] if session.launched else []
    if name in names:
        at = kernel.param_base + kernel.params[names.index(name)].offset
        return (
            f"an argument of {kernel.name}, at c[0x0][0x{at:x}]; where it is after the entry is "
            "not known",
            {"space": "const", "address": at, "size": kernel.params[names.index(name)].size},
        )
    return None


@command(
    "demangle",
    usage="demangle [--] NAME",
    help="a C++ function as it was written",
    group="status",
    needs="nothing",
)
def demangle(session: DebugSession, argument: str) -> Notice:
    """Read a mangled name."""
    name = argument.strip().removeprefix("--").strip()
    if not name:
        raise CommandError("Usage: demangle [--] NAME")
    found = function_name(name)
    if found is None:
        raise CommandError(f'Can\'t demangle "{name[:200]}"')
    return Notice(found, found)


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
