"""Locations that name functions: every function, copy and inlined call that a name means."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError
from gpudbg.formats.names import plain_name
from gpudbg.symbols.function_names import named_by, readable
from gpudbg.symbols.parameters import first_statement

if TYPE_CHECKING:
    from gpudbg.debug.symbols import Symbols
    from gpudbg.formats.program import Function

_FLAGS = ("-function", "-source", "-line", "-qualified")


@dataclass(frozen=True, slots=True)
class ExplicitLocation:
    """A location in parts, as `-source a.cu -function f` and `a.cu:f` write it.

    Attributes:
        source: a file's name; empty where none is given.
        function: a function's name; empty where a line is given.
        line: a line's number; empty where a function is given.
        qualified: whether the function's name is complete with its namespaces.
    """

    source: str = ""
    function: str = ""
    line: str = ""
    qualified: bool = False

    @property
    def text(self) -> str:
        """The location in one word."""
        what = self.function or self.line
        return f"{self.source}:{what}" if self.source else what


def explicit(text: str) -> ExplicitLocation | None:
    """The parts of `-source FILE -line N` or `-function NAME`; None for any other location.

    Raises:
        CommandError: a part that nothing follows, or one that is unknown.
    """
    if not re.match(r"-[a-z]", text):
        return None
    found = ExplicitLocation()
    pieces = re.split(r"(?:^|\s+)(-[a-z]+)(?=\s|$)", text)
    for word, value in zip(pieces[1::2], pieces[2::2], strict=True):
        flag = next((f for f in _FLAGS if f.startswith(word)), None)
        if flag is None:
            raise CommandError(f"invalid explicit argument, {word!r}", "known: " + " ".join(_FLAGS))
        if flag == "-qualified":
            named = in_file(value.strip() or found.function)
            source = named.source or found.source
            found = replace(found, qualified=True, function=named.function, source=source)
        elif not value.strip():
            raise CommandError(f'missing argument for "{flag}"', "-source FILE -function NAME")
        else:
            parts = {"source": found.source, "function": found.function, "line": found.line}
            found = ExplicitLocation(**parts | {flag[1:]: value.strip()}, qualified=found.qualified)
    if found.function and found.line:
        raise CommandError(
            "a location has -function or -line, not both", f"-function {found.function}"
        )
    if not found.function and not found.line:
        raise CommandError(
            "Source filename requires function, label, or line offset.",
            f"-source {found.source or 'FILE'} -line N, or -function NAME",
        )
    return found


def in_file(text: str) -> ExplicitLocation:
    """`a.cu:ns::f` in its parts; a single colon ends the file's name."""
    m = re.fullmatch(r"([^:(<']*[^:(<'\s]):(?!:)\s*(.+)", text.strip(), re.DOTALL)
    return (
        ExplicitLocation(m[1], m[2].strip())
        if m is not None
        else ExplicitLocation(function=text.strip())
    )


def begins(symbols: Symbols, wanted: ExplicitLocation) -> dict[int, str]:
    """Where the functions begin that a name means, with their names; the launched kernel's first.

    Raises:
        CommandError: there is none; near names are given.
    """
    found = _inlined(symbols, wanted) | _functions(symbols, wanted)
    if not found:
        raise _unknown(symbols, wanted)
    order = sorted(found, key=lambda pc: (not symbols.in_kernel(pc), pc))
    return {pc: readable(found[pc]) for pc in order}


def begin(symbols: Symbols, name: str) -> int:
    """The pc where the one function begins that `name+0x10` counts from.

    Raises:
        CommandError: there is none, or functions of different names could be meant.
    """
    wanted = in_file(name)
    rows = list(symbols.program.functions.values())
    exact = [f for f in rows if name in (f.name, f.label, plain_name(f.label))]
    places = {
        symbols.image.address_in(f.section, f.offset): f.label
        for f in exact or (f for f in rows if named_by(f.label, wanted.function))
    }
    if wanted.source:
        places = {pc: label for pc, label in places.items() if _declared_in(symbols, pc, wanted)}
    mine = {pc: label for pc, label in places.items() if symbols.in_kernel(pc)} or places
    if not mine:
        raise _unknown(symbols, wanted)
    names = sorted({readable(label) for label in mine.values()})
    if len(names) > 1:
        raise CommandError(
            f"{name} is {len(names)} functions: an offset counts from one of them",
            "one of: " + ", ".join(names),
        )
    return min(mine)


def _functions(symbols: Symbols, wanted: ExplicitLocation) -> dict[int, str]:
    """Where functions with code of their own begin -> their labels."""
    out = {}
    for f in symbols.program.functions.values():
        if f.name != wanted.function and not named_by(
            f.label, wanted.function, qualified=wanted.qualified
        ):
            continue
        pc = symbols.image.address_in(f.section, f.offset)
        if not wanted.source or _declared_in(symbols, pc, wanted):
            out[symbols.layout.first(body(symbols, f, pc))] = f.label
    return out


def body(symbols: Symbols, function: Function, pc: int) -> int:
    """Where the body of the function that begins at a pc does.

    In a `-G` build behind the code that brings the parameters to where their variables are: at its
    first statement, where the PTX of the build tells, else behind the code of its header's line.
    In other builds at its first instruction.
    """
    if not symbols.program.debug:
        return pc
    section, offset = function.section, function.offset
    begin = first_statement(symbols.program, section)
    if begin is not None:
        return symbols.image.address_in(section, begin)
    rows = [r for r in symbols.lines.rows if r.section == section and r.start >= offset]
    first = next((r for r in rows if r.line != rows[0].line and r.end > r.start), None)
    return pc if first is None else symbols.image.address_in(section, first.start)


def _declared_in(symbols: Symbols, pc: int, wanted: ExplicitLocation) -> bool:
    """Whether the function that begins at a pc is in the file."""
    calls, line = symbols.calls(pc), symbols.line(symbols.layout.first(pc))
    own = calls[-1].line if calls else line
    return own is not None and symbols.same_file(own.file, wanted.source)


def _inlined(symbols: Symbols, wanted: ExplicitLocation) -> dict[int, str]:
    """Where the copies of a function begin that were inlined -> the function's label."""
    found: dict[tuple[object, ...], tuple[int, str]] = {}
    for row in symbols.lines.rows:
        calls = row.inlined
        if row.start == row.end or not calls:
            continue
        for n, call in enumerate(calls):
            if not named_by(call.function, wanted.function, wanted.qualified):
                continue
            file = symbols.lines.files[calls[n - 1].file if n else row.file]
            if wanted.source and not symbols.same_file(file, wanted.source):
                continue
            pc = symbols.layout.first(symbols.image.address_in(row.section, row.start))
            copy = (row.section, calls[n:])
            found[copy] = min(found.get(copy, (pc, "")), (pc, call.function))
    return dict(found.values())


def _unknown(symbols: Symbols, wanted: ExplicitLocation) -> CommandError:
    labels = {f.label for f in symbols.program.functions.values()}
    inlined = {c.function for row in symbols.lines.rows for c in row.inlined}
    names = sorted({plain_name(n) for n in labels | inlined if n})
    near = difflib.get_close_matches(wanted.function, names, n=3) or names[:6]
    # Overloads that differ in parameters only: list those that exist.
    bare = wanted.function.partition("(")[0].partition("<")[0]
    same = sorted({readable(n) for n in labels | inlined if n and named_by(n, bare)})
    where = f' in "{wanted.source}"' if wanted.source else ""
    return CommandError(
        f'Function "{wanted.function}" not defined{where}.', "known: " + ", ".join(same or near)
    )
