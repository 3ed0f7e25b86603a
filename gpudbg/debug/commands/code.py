"""Code: disassemble, list, info line, info symbol."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.debug.commands.registry import Output, command
from gpudbg.debug.listing import CodeLine
from gpudbg.debug.symbols import Line
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


def instruction_rows(
    session: DebugSession,
    rows: list[CodeLine],
    raw: bool = False,
    source: bool = False,
    whole: bool = False,
) -> Output:
    """Instructions as console lines; `=>` marks where the focused warp stands.

    Under `set addresses code` they are gdb's lines; `whole` ones lie in one function.
    """
    codes = session.settings.shown("addresses") == "code"
    here = session.warp().state.pc if session.focus is not None else -1
    if here % 32 == 0:
        here += 8
    points = {a for b in session.breakpoints for a in b.addresses}
    lines: list[str] = []
    last: Line | None = None
    data = []
    for row in rows:
        line = session.symbols.line(row.pc)
        if source and line is not None and line != last:
            text = source_text(session, line)
            lines.append(f"{line}" + (f"  {text}" if text else ""))
            last = line
        mark = ("=>" if row.pc == here else "  ") + ("*" if row.pc in points else " ")
        word = f"{row.word:016x}  " if raw else ""
        if codes:
            name, offset = session.symbols.function_offset(row.pc)
            place = f"<+{offset}>" if whole else f"<{name}+{offset}>"
            lines.append(f"{mark[:2]} 0x{row.pc:016x} {place}:\t{word}{row.text}")
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
    rows = _rows(session, text.strip())
    listing = bool(set("sm") & set(flags))
    codes = session.settings.shown("addresses") == "code"
    out = instruction_rows(session, rows, raw="r" in flags, source=listing, whole=codes)
    if not codes or not rows:
        return out
    name = session.symbols.function(rows[0].pc)
    head = f"Dump of assembler code for function {name}:"
    return Output((head, *out.lines, "End of assembler dump."), out.data)


def _rows(session: DebugSession, text: str) -> list[CodeLine]:
    symbols = session.symbols
    if not text:
        here = session.warp().state.pc if session.focus is not None else symbols.base
        if session.settings.shown("addresses") == "code":
            return symbols.function_rows(here)
        return symbols.around(here, 8, 16)
    start_text, comma, end_text = text.partition(",")
    star = start_text.strip()
    first = symbols.resolve(f"*{star}" if re.match(r"0x|\d|\$", star) else star, session).addresses[
        0
    ]
    if not comma:
        found = symbols.image.function_at(first)
        if found is None:
            return symbols.around(first, 0, 16)
        function, _ = found
        return symbols.function_rows(symbols.image.address_in(function.section, function.offset))
    end_text = end_text.strip()
    if end_text.startswith("+"):
        last = first + int(end_text[1:], 0)
    else:
        last = symbols.resolve(f"*{end_text}", session).addresses[0]
    return [r for r in symbols.listing if first <= r.pc < last]


def source_lines(session: DebugSession, file: str) -> list[str] | None:
    """The text of a source file, found by the session's source path; None when not found."""
    return session.sources.lines(file)


def source_text(session: DebugSession, line: Line) -> str:
    """One line of source, or an empty string."""
    return session.sources.text(line.file, line.number)


@command(
    "list",
    "l",
    usage="list [LINE | FILE:LINE | FUNCTION]",
    help="source lines",
    group="code",
    repeats=True,
    details="An empty line goes on with the next ones.",
)
def list_(session: DebugSession, argument: str) -> Output:
    """Show source."""
    size = session.settings.number("listsize")
    file, first = _list_start(session, argument.strip(), size)
    lines = source_lines(session, file)
    if lines is None:
        raise CommandError(f"the source file {file} is not here", "put it beside the program")
    if first > len(lines):
        raise CommandError(f"{file} has {len(lines)} lines")
    shown = range(max(first, 1), min(max(first, 1) + size, len(lines) + 1))
    session.list_state = (file, shown.stop)
    here = session.symbols.line(session.warp().state.pc) if session.focus is not None else None
    out = []
    for n in shown:
        mark = "=>" if here is not None and (here.file, here.number) == (file, n) else "  "
        out.append(f"{mark} {n:4}  {lines[n - 1]}")
    data = [{"file": file, "line": n, "text": lines[n - 1]} for n in shown]
    return Output(tuple(out), data)


def _list_start(session: DebugSession, text: str, size: int) -> tuple[str, int]:
    if not text:
        if session.list_state is not None:
            return session.list_state
        pc = session.warp().state.pc if session.focus is not None else session.symbols.base + 8
        line = session.symbols.line(pc)
        if line is None:
            raise CommandError("the program has no line table", "compile it with -lineinfo")
        return line.file, max(line.number - size // 2, 1)
    m = re.fullmatch(r"(?:(.+):)?(\d+)", text)
    if m and m[1]:
        known = [f for f in session.symbols.files if Path(f).name == Path(m[1]).name]
        return (known[0] if known else m[1]), max(int(m[2]) - size // 2, 1)
    if m:
        file = session.symbols.resolve(None, session) if session.focus is not None else None
        line = session.symbols.line(file.addresses[0]) if file else None
        name = line.file if line else (session.symbols.files or ("",))[0]
        return name, max(int(m[2]) - size // 2, 1)
    pc = session.symbols.resolve(text, session).addresses[0]
    line = session.symbols.line(pc)
    if line is None:
        raise CommandError(f"{text} has no source line")
    return line.file, max(line.number - size // 2, 1)


@command(
    "info line",
    usage="info line [LOCATION]",
    help="source line of a place, and its instructions",
    group="code",
)
def info_line(session: DebugSession, argument: str) -> Output:
    """Line to addresses, or address to line."""
    found = session.symbols.resolve(argument.strip() or None, session)
    rows = []
    for pc in found.addresses:
        line = session.symbols.line(pc)
        rows.append(
            {
                "offset": session.symbols.offset(pc),
                "where": session.symbols.describe(pc),
                "file": line.file if line else None,
                "line": line.number if line else None,
            }
        )
    lines = [
        f"{r['where']} is line {r['line']} of {r['file']}"
        if r["line"]
        else f"{r['where']} has no line"
        for r in rows
    ]
    return Output(tuple(lines), rows)


@command(
    "info symbol", usage="info symbol ADDRESS", help="function at a code address", group="code"
)
def info_symbol(session: DebugSession, argument: str) -> Output:
    """Name an address."""
    pc = session.symbols.resolve(f"*{argument.strip()}", session).addresses[0]
    text = session.symbols.describe(pc)
    return Output((text,), text)


@command("info source", "info sources", help="source files of the line table", group="code")
def info_source(session: DebugSession, argument: str) -> Output:
    """List source files."""
    files = list(session.symbols.files)
    lines = [f if source_lines(session, f) is not None else f"{f}  (not found here)" for f in files]
    return Output(tuple(lines or ["the program has no line table"]), files)
