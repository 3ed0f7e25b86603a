"""Code: disassemble, list, info line, info symbol."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import Output
from gpudbg.debug.stops.standing import standing_pc
from gpudbg.debug.symbols import Line
from gpudbg.debug.views import gdb_text
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError
from gpudbg.symbols.listing import CodeLine

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


def instruction_rows(
    session: DebugSession,
    rows: list[CodeLine],
    raw: bool = False,
    source: bool = False,
    whole: bool = False,
    filled: bool = False,
) -> Output:
    """Instructions as console lines; `=>` marks where the focused warp stands.  In gdb's lines
    `*>` marks the instruction of its error, and `*=>` both.

    Under `set addresses code` they are gdb's lines: `whole` ones lie in one function, the
    addresses of `disassemble` are `filled` up with zeros, those of `x/i` are not.
    """
    codes = gdb_text.wanted(session)
    here = standing_pc(session, session.warp().state) if session.focus is not None else -1
    here = session.symbols.layout.first(here)
    points = {a for b in session.breakpoints for a in b.addresses}
    lines: list[str] = []
    last: Line | None = None
    data = []
    error = gdb_text.error_pc(session)
    for row in rows:
        line = session.symbols.line(row.pc)
        if source and line is not None and line != last:
            text = source_text(session, line)
            if codes:
                lines += [f"{line.file}:"] if last is None or last.file != line.file else []
                lines.append(f"{line.number}\t{text}")
            else:
                lines.append(f"{line}" + (f"  {text}" if text else ""))
            last = line
        mark = ("=>" if row.pc == here else "  ") + ("*" if row.pc in points else " ")
        word = f"{row.hex}  " if raw else ""
        if codes:
            word = row.word.to_bytes(row.size, "little").hex(" ") + "\t" if raw else ""
            name, offset = session.symbols.function_offset(row.pc)
            address = f"0x{row.pc:016x}" if filled else f"0x{row.pc:x}"
            place = f"{address} <+{offset}>" if whole else f"{address} <{name}+{offset}>"
            lines.append(f"{gdb_text.mark(row.pc, here, error)}{place}:\t{word}{row.text}")
        else:
            lines.append(f"{mark} {row.offset:04x}  {word}{row.text}")
        data.append(
            {
                "offset": row.offset,
                "word": row.word,
                "control": row.control,
                "text": row.text,
                "file": line.file if line else None,
                "line": line.number if line else None,
            }
        )
    return Output(tuple(lines), data)


DETAILS = """\
disassemble               around the focused pc     disassemble KERNEL  a whole function
disassemble 0x40,0x80     a range of offsets        disassemble 0x40,+0x40
/r adds the words, /s the source lines, as in gdb"""


@command(
    "disassemble",
    "disas",
    usage="disassemble[/rs] [FUNCTION | START,END | START,+LENGTH]",
    help="instructions of a function or range",
    group="code",
    details=DETAILS,
    completer=lambda s, text: s.symbols.complete_location(text),
)
def disassemble(session: DebugSession, argument: str) -> Output:
    """Show instructions."""
    text = argument.strip()
    flags = ""
    if text.startswith("/"):
        flags, _, text = text[1:].partition(" ")
        if set(flags) - set("rsm"):
            raise CommandError(f"'/{flags}' is not understood", "/r words, /s source lines")
    rows, ends = _rows(session, text.strip())
    listing = bool(set("sm") & set(flags))
    codes = gdb_text.wanted(session)
    whole = codes and ends is None
    out = instruction_rows(
        session, rows, raw="r" in flags, source=listing, whole=whole, filled=codes
    )
    if not codes or not rows:
        return out
    if ends is None:
        head = f"for function {session.symbols.function(rows[0].pc)}:"
    else:
        head = f"from 0x{ends[0]:x} to 0x{ends[1]:x}:"
    head = f"Dump of assembler code {head}"
    return Output((head, *out.lines, "End of assembler dump."), out.data)


def _rows(session: DebugSession, text: str) -> tuple[list[CodeLine], tuple[int, int] | None]:
    """Instructions that `disassemble` is asked for, and the ends of a range."""
    symbols = session.symbols
    if not text:
        here = (
            standing_pc(session, session.warp().state)
            if session.focus is not None
            else symbols.base
        )
        if gdb_text.wanted(session):
            return symbols.function_rows(here), None
        return symbols.around(here, 8, 16), None
    start_text, comma, end_text = (part.strip() for part in text.partition(","))
    first = _edge(session, start_text)
    if not comma:
        found = symbols.image.function_at(first)
        if found is None:
            return symbols.around(first, 0, 16), None
        function, _ = found
        begin = symbols.image.address_in(function.section, function.offset)
        return symbols.function_rows(begin), None
    if end_text.startswith("+"):
        last = first + parse_int(end_text[1:], "length")
    else:
        last = _edge(session, end_text)
    if last - first > MAX_RANGE:
        raise CommandError(f"{text}: the range is too long")
    return symbols.rows_between(first, last), (first, last)


MAX_RANGE = 1 << 22
"""Bytes that one `disassemble` shows."""


def _edge(session: DebugSession, text: str) -> int:
    """A code address: one that is written as a number need not be an instruction's."""
    if re.fullmatch(r"0x[0-9a-fA-F]+|\d+", text):
        number = parse_int(text, "address")
        return number if gdb_text.wanted(session) else session.symbols.code_address(number)
    if re.match(r"0x|\d|\$", text):
        text = f"*{text}"
    return session.symbols.resolve(text, session.origin()).addresses[0]


def source_lines(session: DebugSession, file: str) -> list[str] | None:
    """The text of a source file, found by the session's source path; None when not found."""
    return session.sources.lines(file)


def source_text(session: DebugSession, line: Line) -> str:
    """One line of source, or an empty string."""
    return session.sources.text(line.file, line.number)


LIST_HELP = """\
list             around the focused line, then the lines after those shown
list -           the lines before those shown
list 20   list walk.cu:20   list walk   list *0x48     around a place
list 10,20   list 10,   list ,20    from a line, to a line
An empty line goes on with the next ones."""


@command(
    "list",
    "l",
    usage="list [- | LINE | FILE:LINE | FUNCTION | *ADDRESS | FIRST,LAST]",
    help="source lines",
    group="code",
    repeats=True,
    details=LIST_HELP,
)
def list_(session: DebugSession, argument: str) -> Output:
    """Show source."""
    file, first, last = _list_range(session, argument.strip())
    lines = source_lines(session, file)
    if lines is None:
        raise CommandError(
            f"the source file {file} is not here", "`directory DIR` says where to search for it"
        )
    if first > len(lines):
        name = Path(file).name
        raise CommandError(f'Line number {first} out of range; "{name}" has {len(lines)} lines.')
    shown = range(first, min(last, len(lines)) + 1)
    session.list_state = (file, first, shown.stop)
    session.last_line = "list -" if argument.strip() == "-" else "list"
    data = [{"file": file, "line": n, "text": lines[n - 1]} for n in shown]
    if gdb_text.wanted(session):
        return Output(tuple(f"{n}\t{lines[n - 1]}" for n in shown), data)
    here = (
        session.symbols.line(standing_pc(session, session.warp().state))
        if session.focus is not None
        else None
    )
    out = []
    for n in shown:
        mark = "=>" if here is not None and (here.file, here.number) == (file, n) else "  "
        out.append(f"{mark} {n:4}  {lines[n - 1]}")
    return Output(tuple(out), data)


def _list_range(session: DebugSession, text: str) -> tuple[str, int, int]:
    """(file, first, last) lines of what `list` is asked for."""
    size = session.settings.number("listsize") or 1 << 20
    state = session.list_state
    if text in ("", "-"):
        if state is None:
            file, first = _around(session, _current_line(session), size)
            return file, first, first + size - 1
        file, first, after = state
        if not text:
            return file, after, after + size - 1
        if first <= 1:
            raise CommandError(f"Already at the start of {Path(file).name}.")
        return file, max(first - size, 1), first - 1
    low, comma, high = (part.strip() for part in text.partition(","))
    if not comma:
        file, first = _around(session, _listed_line(session, low), size)
        return file, first, first + size - 1
    if not low:
        end = _listed_line(session, high)
        return end.file, max(end.number - size + 1, 1), end.number
    begin = _listed_line(session, low)
    if not high:
        return begin.file, max(begin.number, 1), begin.number + size - 1
    # The second one is a line of the first one's file.
    if high.isdecimal():
        return begin.file, max(begin.number, 1), parse_int(high, "line number")
    last = _listed_line(session, high).number
    return begin.file, max(begin.number, 1), last


def _around(session: DebugSession, line: Line, size: int) -> tuple[str, int]:
    return line.file, max(line.number - size // 2, 1)


def _current_line(session: DebugSession) -> Line:
    pc = (
        standing_pc(session, session.warp().state)
        if session.focus is not None
        else session.symbols.layout.first(session.symbols.base)
    )
    line = session.symbols.line(pc)
    if line is None:
        raise CommandError("the program has no line table", "compile it with -lineinfo")
    return line


def _listed_line(session: DebugSession, text: str) -> Line:
    """The line that a place of `list` means; a line number need not have code."""
    m = re.fullmatch(r"(?:(.+):)?(\d+)", text)
    if m and m[1]:
        known = [f for f in session.symbols.files if Path(f).name == Path(m[1]).name]
        return Line(known[0] if known else m[1], parse_int(m[2], "line number"))
    if m:
        state = session.list_state
        file = state[0] if state else _current_line(session).file
        return Line(file, parse_int(m[2], "line number"))
    line = session.symbols.line(session.symbols.resolve(text, session.origin()).addresses[0])
    if line is None:
        raise CommandError(f"{text} has no source line")
    return line


@command(
    "info line",
    usage="info line [LOCATION]",
    help="where the instructions of a source line begin and end",
    group="code",
)
def info_line(session: DebugSession, argument: str) -> Output:
    """Line to addresses, or address to line."""
    found = session.symbols.resolve(argument.strip() or None, session.origin())
    rows, lines = [], []
    for pc in found.addresses:
        line = session.symbols.line(pc)
        lines.append(gdb_text.line_words(session, pc, line))
        rows.append(
            {
                "offset": session.symbols.offset(pc),
                "where": session.symbols.describe(pc),
                "file": line.file if line else None,
                "line": line.number if line else None,
            }
        )
    return Output(tuple(lines), rows)


@command(
    "info symbol", usage="info symbol ADDRESS", help="function at a code address", group="code"
)
def info_symbol(session: DebugSession, argument: str) -> Output:
    """Name an address."""
    text = argument.strip()
    place = text if text.isidentifier() else f"*{text}"
    pc = session.symbols.resolve(place, session.origin()).addresses[0]
    text = session.symbols.describe(pc)
    section = session.symbols.image.section_offset(pc)
    if section is None or not gdb_text.wanted(session):
        return Output((text,), text)
    name, offset = session.symbols.function_offset(pc)
    shown = f"{name} + {offset}" if offset else name
    return Output((f"{shown} in section {section[0]}",), text)


@command("info source", help="the source file of the focused line", group="code")
def info_source(session: DebugSession, argument: str) -> Output:
    """Say where the current source file is."""
    if not session.symbols.has_lines:
        return Output(("No current source file: the program has no line table.",), None)
    file = session.list_state[0] if session.list_state else _current_line(session).file
    lines = source_lines(session, file)
    out = [f"Current source file is {file}"]
    if lines is None:
        out.append("It is not here; `directory DIR` or `set substitute-path FROM TO` finds it.")
    else:
        out.append(f"Located in {session.sources.fullname(file)}")
        out.append(f"Contains {len(lines)} line{'' if len(lines) == 1 else 's'}.")
    out += ["Source language is c++.", "Known by the line table of -lineinfo."]
    return Output(tuple(out), file)


@command("info sources", help="source files of the line table", group="code")
def info_sources(session: DebugSession, argument: str) -> Output:
    """List source files."""
    files = list(session.symbols.files)
    lines = [f if source_lines(session, f) is not None else f"{f}  (not found here)" for f in files]
    return Output(tuple(lines or ["the program has no line table"]), files)
