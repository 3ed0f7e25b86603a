"""Breakpoints as records: what lists, announcements, `--json` and GDB/MI are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from gpudbg.answers import ABSENT, column, computed, typed_row
from gpudbg.answers.formats import COUNT, LIST, YES, Format
from gpudbg.debug.breakpoints.watched import KIND_WORDS, TYPE_WORDS
from gpudbg.debug.script.blocks import shown_lines

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.debug.sources import SourcePath
    from gpudbg.debug.symbols import Line, Symbols


@typed_row
class LocationRow:
    """A breakpoint's location, as `disable 1.2` numbers it.

    `function` is the function named by the user, or else the one that holds the address; `inside`
    is the function of the source line, which may be inlined there.  `fullname` is the path at which
    the line's file was found.
    """

    number: int = column()
    enabled: bool = column(None, YES)
    place: str = column()
    function: str = column()
    pc: int = column(key="")
    inside: str = column(key="")
    line: Line | None = column(key="")
    fullname: str = column(key="")


def _type(row: BreakpointRow) -> str:
    return "dprintf" if row.dprintf else TYPE_WORDS[row.watch]


def _where(row: BreakpointRow) -> str:
    return "<MULTIPLE>" if len(row.places) > 1 else " ".join(row.places) or "(pending)"


def _what(row: BreakpointRow) -> str:
    printed = f", {row.dprintf}" if row.dprintf else ""
    return row.location + printed + (f" if {row.condition}" if row.condition else "")


def _hits(row: BreakpointRow) -> str:
    return str(row.hits) + (f" (ignore {row.ignore})" if row.ignore else "")


@typed_row
class BreakpointRow:
    """A breakpoint's present state as a row.

    `locations` are its addresses in full, where a program was asked for them; `original` is the
    location as it was written, `thread` the number of the one warp that it is for, `cost` how runs
    look after a watchpoint.
    """

    number: int = column("Num", COUNT)
    location: str = column()
    addresses: tuple[int, ...] = column(None, LIST)
    places: tuple[str, ...] = column(None, LIST)
    condition: str | None = column()
    type = computed("Type", _type)
    temporary: bool = column("Disp", Format(lambda on: "del" if on else "keep"))
    enabled: bool = column("Enb", YES)
    where = computed("Where", _where)
    what = computed("What", _what)
    ignore: int = column()
    hits: int = column()
    times = computed("Hits", _hits)
    watch: str | None = column()
    dprintf: str = column()
    commands: tuple[str, ...] = column(None, LIST)
    original: str = column(key="")
    thread: int | None = column(key="")
    locations: tuple[LocationRow, ...] = column(key="", default=())
    cost: str = column(default=ABSENT)

    @property
    def title(self) -> str:
        """A short description of what it stops at."""
        return f"{KIND_WORDS[self.watch].lower()} {self.location}" if self.watch else self.location

    def below(self) -> Iterator[str]:
        """The lines below it in a list: its locations where there are several, then its
        commands.
        """
        several = self.locations if len(self.locations) > 1 else ()
        wide = max((len(at.place) for at in several), default=0)
        for at in several:
            mark = YES.text(at.enabled)
            yield f"{self.number}.{at.number:<4} {mark}  {at.place:<{wide}}  in {at.function}"
        for text in self.commands:
            yield f"        {text}"
        if self.cost is not ABSENT:
            yield f"        {self.cost}"


def breakpoint_row(point: Breakpoint) -> BreakpointRow:
    """A breakpoint without its locations."""
    return BreakpointRow(
        number=point.number,
        location=point.location,
        addresses=point.addresses,
        places=point.places,
        condition=point.condition,
        temporary=point.temporary,
        enabled=point.enabled,
        ignore=point.ignore,
        hits=point.hits,
        watch=point.watch.target.kind if point.watch is not None else None,
        dprintf=point.dprintf,
        commands=tuple(shown_lines(point.commands)),
        original=point.written,
        thread=point.thread,
    )


class CodeOwner(Protocol):
    """The code and sources that locations are looked up in: a session."""

    @property
    def symbols(self) -> Symbols:
        """Names and lines."""

    @property
    def sources(self) -> SourcePath:
        """Source files."""


def located_row(owner: CodeOwner | None, point: Breakpoint) -> BreakpointRow:
    """A breakpoint with its locations; without a program only their addresses are known."""
    found = (_location(owner, point, n) for n in range(len(point.addresses)))
    return replace(breakpoint_row(point), locations=tuple(found))


def _location(owner: CodeOwner | None, point: Breakpoint, index: int) -> LocationRow:
    pc = point.addresses[index]
    on = pc not in point.disabled
    if owner is None:
        return LocationRow(index + 1, on, "", "", pc, "", None, "")
    symbols = owner.symbols
    named = point.functions[index] if point.functions else symbols.function(pc)
    line = point.line or symbols.line(pc)
    inside = inlined_function(symbols, pc, line)
    fullname = owner.sources.fullname(line.file) if line is not None else ""
    place = point.places[index]
    return LocationRow(index + 1, on, place, named, pc, inside, line, fullname)


def inlined_function(symbols: Symbols, pc: int, line: Line | None) -> str:
    """The function that a line at a pc is in, with its parameters, as gdb has it: of an inlined
    call, where the line is in it.
    """
    names = symbols.signatures(pc)
    inner = symbols.line(pc)
    for name, call in zip(names, symbols.calls(pc), strict=False):
        if inner == line:
            return name
        inner = call.line
    return names[-1] if names else ""
