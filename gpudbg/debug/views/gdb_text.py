"""gdb's and cuda-gdb's own lines for breakpoints, source lines, registers and memory.

Commands answer with these under `set addresses code`, as GDB/MI and the gdb-like prompt have it,
for the people and programs that read gdb.  Wording and columns: recorded from gdb 13.1; registers
as in the CUDA-GDB manual ("Inspecting Program State").
"""

from __future__ import annotations

from operator import attrgetter
from pathlib import PurePath
from typing import TYPE_CHECKING

from gpudbg.answers import Listing, column, typed_row
from gpudbg.answers.formats import YES
from gpudbg.debug.stops import standing
from gpudbg.debug.symbols import as_written
from gpudbg.debug.values.context import function_label
from gpudbg.debug.views import text as views
from gpudbg.debug.views.aggregates import Style, char_text
from gpudbg.debug.views.format import format_bits
from gpudbg.debug.views.registers import (
    predicate_names,
    register_bits,
    register_names,
    register_text,
)
from gpudbg.errors import CommandError
from gpudbg.expr.types import VOID, Pointer, Scalar
from gpudbg.symbols.mangled import short_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpudbg.debug.breakpoints.rows import BreakpointRow, LocationRow
    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.symbols import Line
    from gpudbg.expr.evaluation import Result

PER_LINE = {1: 8, 2: 8, 4: 4, 8: 2}
"""Bytes of a unit -> units in a line of `x`."""

MOST_CHARACTERS = 200
"""Of a string that a pointer leads to."""
GROUPS = ("system", "general", "all")
"""Groups of `info registers`; all but the first stand for every register."""


def wanted(session: DebugSession) -> bool:
    """Whether commands answer as gdb does."""
    return session.settings.shown("addresses") == "code"


def place(session: DebugSession, pc: int) -> str:
    """`0x1068 <walk+104>`; `walk+0x68` where offsets are shown."""
    if not wanted(session):
        return session.symbols.describe(pc)
    return f"0x{pc:x}{label(session, pc)}"


def error_pc(session: DebugSession) -> int | None:
    """`$errorpc` of the focused warp, None where it has no error."""
    focus, errors = session.focus, session.stop.errors if session.stop is not None else ()
    if focus is None or (focus.sm, focus.warp) not in {(e.sm, e.warp) for e in errors}:
        return None
    return standing.error_pc(session, session.focused())


def mark(pc: int, here: int, error: int | None) -> str:
    """What stands before an instruction: `=>` the pc, as in cuda-gdb `*>` the error, `*=>` both."""
    if pc == error:
        return "*=> " if pc == here else "*> "
    return "=> " if pc == here else "   "


def label(session: DebugSession, pc: int) -> str:
    """` <walk+104>`, or nothing outside the code."""
    name, offset = session.symbols.function_offset(pc)
    return f" <{name}+{offset}>" if name else ""


def code_pointer(session: DebugSession, expression: str) -> str | None:
    """`$pc` as gdb shows it, a pointer with its place; None for any other expression."""
    if not wanted(session) or expression.strip() not in ("$pc", "$errorpc") or not session.focus:
        return None
    pc = int(session.evaluate(expression).values[session.focus.lane])
    return f"(void (*)()) 0x{pc:x}{label(session, pc)}"


# ---- breakpoints -----------------------------------------------------------------------
def announcement(session: DebugSession, row: Breakpoint) -> str:
    """What is said of a breakpoint just set."""
    if not wanted(session) or row.watch is not None:
        return row.announce()
    word = f"{'Temporary breakpoint' if row.temporary else 'Breakpoint'} {row.number}"
    if not row.addresses:
        return f"{word} ({row.location}) pending."
    first = row.addresses[0]
    line = row.line or session.symbols.line(first)
    if len(row.addresses) > 1:
        return f"{word} at 0x{first:x}: {line or row.location}. ({len(row.addresses)} locations)"
    where = f": file {as_written(line.file)}, line {line.number}." if line else ""
    return f"{word} at 0x{first:x}{where}"


DISPLAYS = ("Auto-display expressions now in effect:", "Num Enb Expression")
"""What stands above `info display`."""


def breakpoint_listing(rows: Sequence[BreakpointRow], none: str) -> Listing:
    """`info breakpoints`; `none` is said where there are no rows."""
    title = ("Num     Type           Disp Enb Address            What",) if rows else ()
    return Listing(tuple(rows), breakpoint_lines, none, title)


def breakpoint_lines(row: BreakpointRow) -> list[str]:
    """A breakpoint's lines of `info breakpoints`."""
    at, what = "", row.location
    if row.watch is None:
        one = row.locations[0] if len(row.locations) == 1 else None
        at = breakpoint_address(row)
        what = row.original if not row.locations else _in_words(one) if one is not None else ""
    disposition = "del" if row.temporary else "keep"
    out = [
        f"{row.number:<7} {row.type:<14} {disposition:<4} {YES.text(row.enabled):<3} "
        f"{at:<18} {what}"
    ]
    if row.condition:
        out.append(f"\tstop only if {row.condition}")
    if row.hits:
        out.append(f"\tbreakpoint already hit {row.hits} time{'s' if row.hits > 1 else ''}")
    if row.ignore:
        out.append(f"\tignore next {row.ignore} hits")
    out += [f"        {text}" for text in row.commands]
    for place in row.locations if len(row.locations) > 1 else ():
        number = f"{row.number}.{place.number}"
        on, address = YES.text(place.enabled), f"0x{place.pc:016x}"
        out.append(f"{number:<27} {on:<3} {address:<18} {_in_words(place)}")
    return out


def breakpoint_address(row: BreakpointRow) -> str:
    """What gdb gives as a breakpoint's address."""
    if not row.locations:
        return "<PENDING>"
    return "<MULTIPLE>" if len(row.locations) > 1 else f"0x{row.locations[0].pc:016x}"


def _in_words(place: LocationRow) -> str:
    line = place.line
    at = f" at {PurePath(line.file).name}:{line.number}" if line is not None else ""
    return f"in {place.inside}{at}" if place.inside else ""


# ---- source ----------------------------------------------------------------------------
def line_words(session: DebugSession, pc: int, line: Line | None) -> str:
    """One line of `info line`: where a source line's instructions begin and end."""
    address = "address " if wanted(session) else ""
    if line is None:
        return f"No line number information available for {address}{place(session, pc)}"
    name = PurePath(line.file).name
    symbols = session.symbols
    first, end = symbols.line_extent(pc)
    return (
        f'Line {line.number} of "{name}" starts at {address}{place(session, first)} '
        f"and ends at {place(session, end) if wanted(session) else symbols.describe_end(end)}."
    )


# ---- registers -------------------------------------------------------------------------
@typed_row
class GdbRegister:
    """A register in gdb's line."""

    name: str = column()
    value: int | float = column()
    line: str = column(key="")


def register_listing(session: DebugSession, words: Sequence[str], letter: str | None) -> Listing:
    """The registers `info registers` is asked for.

    Raises:
        CommandError: there is none of a name.
    """
    known = register_names(session)
    by_lower = {n.lower(): n for n in known}
    rows: list[GdbRegister] = []
    for word in words or ("all",):
        name = word.lstrip("$")
        if name not in GROUPS and name.lower() not in by_lower:
            rows.append(_other(session, name, letter))
            continue
        group = predicate_names(session) if name == "system" else known
        for one in group if name in GROUPS else (by_lower[name.lower()],):
            value = register_bits(session, one)[0]
            rows.append(GdbRegister(one, value, _register_line(session, one, letter)))
    return Listing(tuple(rows), attrgetter("line"), by="name", value="value")


def _register_line(session: DebugSession, name: str, letter: str | None) -> str:
    """`R0             0xf0                240`"""
    if letter:
        return f"{name:<15}{register_text(session, name, letter)}"
    natural = register_text(session, name, "N")
    return f"{name:<15}{register_text(session, name, 'x'):<19}{natural}"


def _other(session: DebugSession, name: str, letter: str | None) -> GdbRegister:
    """Special registers and coordinates."""
    try:
        result = session.evaluate("$" + name)
    except CommandError:
        result = None
    if result is None or result.type == VOID or session.focus is None:
        raise CommandError(f"Invalid register `{name}'")
    lane = session.focus.lane
    text = views.value_text(result, lane, letter)
    return GdbRegister(name, result.values[lane].item(), f"{name:<15}{text}")


# ---- memory ----------------------------------------------------------------------------
def memory_labels(
    session: DebugSession, space: str, address: int, unit: int, count: int
) -> list[str]:
    """What stands before each line of `x`: its address, and the variable there."""
    starts = range(address, address + count * unit, PER_LINE[unit] * unit)
    return [f"0x{at:x}{variable_label(session, space, at)}" for at in starts]


def memory_lines(values: Sequence[int], unit: int, letter: str, labels: Sequence[str]) -> list[str]:
    """`x`: address, variable, and units between tabs; hexadecimal ones with their zeros."""
    shown = "z" if letter == "x" else letter
    count = PER_LINE[unit]
    cells = [format_bits(v, unit, shown) for v in values]
    if letter == "t":
        cells = [cell.zfill(8 * unit) for cell in cells]
    return [f"{at}:\t" + "\t".join(cells[n * count :][:count]) for n, at in enumerate(labels)]


def style_of(session: DebugSession) -> Style:
    """How a session shows values, with what pointers lead to."""
    return Style.of(session.settings, lambda type_, number: pointer_label(session, type_, number))


def listed_text(session: DebugSession, value: Result, lane: int) -> str:
    """A number or pointer as lists of variables and frames have it: pointers without their type."""
    style = style_of(session)
    if isinstance(value.type, Pointer) and value.valid[lane]:
        number = int(value.values[lane])
        return f"0x{number:x}{style.label(value.type, number)}"
    return views.value_text(value, lane, style.letter(value.type, None))


def pointer_label(session: DebugSession, type_: Pointer, number: int) -> str:
    """What stands behind a pointer's address: a function, a string, a variable, or nothing."""
    if not number or type_.space not in ("generic", "global", "const", "code"):
        return ""
    if type_.text:
        layout, image = session.symbols.layout, session.symbols.image
        if type_.space == "code":
            number = session.symbols.code_address(number)
        found = image.function_at(layout.first(number))
        if found is None:
            return ""
        name, offset = function_label(session.symbols, number), found[1]
        return f" <{name}>" if offset <= layout.first(0) else f" <{name}+{offset}>"
    if isinstance(type_.target, Scalar) and type_.target.name == "char":
        return _string(session, number)
    words = variable_label(session, type_.space, number)
    return _vtable(words) if words.startswith(" <_ZTV") else words


def _vtable(words: str) -> str:
    """` <vtable for Der+16>` of ` <_ZTV3Der+16>`."""
    name, plus, offset = words[2:-1].partition("+")
    return f" <vtable for {short_name('_Z' + name.removeprefix('_ZTV'))}{plus}{offset}>"


def _string(session: DebugSession, address: int) -> str:
    """The characters that a `char *` leads to, up to the zero behind them."""
    limit = session.settings.number("print elements") or MOST_CHARACTERS
    found = b""
    while len(found) < min(limit, MOST_CHARACTERS) and not found.endswith(b"\0"):
        byte = session.memory.at(address + len(found), 1)
        if byte is None:
            return ""
        found += byte
    return f" {char_text(found, limit)}"


def variable_label(session: DebugSession, space: str, address: int) -> str:
    """` <counter+4>` of a module variable, or nothing."""
    if space not in ("global", "generic", "const"):
        return ""
    for name, row in session.program.globals.items():
        offset = address - session.memory.address_of(name)
        if 0 <= offset < row.size:
            return f" <{name}+{offset}>" if offset else f" <{name}>"
    return ""
