"""Commands about code: disassemble, list, info line, info symbol."""

from __future__ import annotations

import re
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.answers import HERE, Format, Listing, Notice, Sections, column, computed, typed_row
from gpudbg.dataclass import dataclass
from gpudbg.debug import function_places
from gpudbg.debug.commands.memory import place_of
from gpudbg.debug.commands.table import command
from gpudbg.debug.commands.uniform import known_lanes
from gpudbg.debug.symbols import Line
from gpudbg.debug.values.backtrace import selected_line, selected_pc
from gpudbg.debug.values.variables import known_variables
from gpudbg.debug.views import gdb_text
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError
from gpudbg.symbols.listing import CodeLine

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@typed_row
class CodeRow:
    """An instruction as a listing shows it; `lines` are its source lines, where asked for, and
    itself; `remark` is what the code says of lanes there, where asked for.
    """

    offset: int = column("offset", Format("{:04x}".format))
    word: int = column()
    control: int = column()
    text: str = column("instruction")
    file: str | None = column()
    line: int | None = column()
    lines: tuple[str, ...] = column(key="")
    remark: str = column(default="")
    source = computed("source", lambda row: f"{Path(row.file).name}:{row.line}" if row.file else "")
    here = computed("", lambda row: row.lines[-1].startswith(("=>", "*=>")), show=HERE)


@dataclass(frozen=True, slots=True)
class CodeStyle:
    """What a listing of code shows.

    Attributes:
        raw: words too.
        source: source lines too.
        lanes: what the code says of lanes: how results lie, where and why lanes may part.
        whole, filled: of gdb's lines: they lie in one function; addresses are filled up with
            zeros.
    """

    raw: bool = False
    source: bool = False
    lanes: bool = False
    whole: bool = False
    filled: bool = False


PLAIN = CodeStyle()


def instruction_listing(
    session: DebugSession, rows: list[CodeLine], style: CodeStyle = PLAIN
) -> Listing:
    """Instructions as console lines; `=>` marks where the focused warp stands.  In gdb's lines
    `*>` marks the instruction of its error, and `*=>` both.

    Under `set addresses code` they are gdb's lines: the addresses of `disassemble` are filled up
    with zeros, those of `x/i` are not.
    """
    shown = _gdb_line if gdb_text.wanted(session) else _line
    marks = _Marks.of(session)
    last: Line | None = None
    found = []
    remarks = lane_remarks(session, rows) if style.lanes else {}
    width = max((len(row.text) for row in rows if row.pc in remarks), default=0)
    for row in rows:
        line = session.symbols.line(row.pc)
        remark = remarks.get(row.pc, "")
        lines = [shown(session, row, marks, style)]
        if remark:
            lines[0] += f"{' ' * (width - len(row.text))}  # {remark}"
        if style.source and line is not None and line != last:
            lines = [*_source_lines(session, line, last), *lines]
            last = line
        found.append(
            CodeRow(
                row.offset,
                row.word,
                row.control,
                row.text,
                line.file if line else None,
                line.number if line else None,
                tuple(lines),
                remark,
            )
        )
    return Listing(tuple(found), attrgetter("lines"))


def lane_remarks(session: DebugSession, rows: list[CodeLine]) -> dict[int, str]:
    """What the code says of lanes at instructions of the launched kernel, by pc.

    Raises:
        CommandError: nothing is launched, or nothing is claimed of the kernel.
    """
    reasons = known_lanes(session)
    found = {row.pc: reasons.remark(row.pc - session.symbols.base) for row in rows}
    return {pc: text for pc, text in found.items() if text}


@dataclass(frozen=True, slots=True)
class _Marks:
    """What is marked: where the focused warp stands, its error, breakpoints."""

    here: int
    error: int | None
    points: frozenset[int]

    @classmethod
    def of(cls, session: DebugSession) -> _Marks:
        here = selected_pc(session) if session.focus is not None else -1
        points = frozenset(a for b in session.breakpoints for a in b.addresses)
        return cls(session.symbols.layout.first(here), gdb_text.error_pc(session), points)


def _source_lines(session: DebugSession, line: Line, last: Line | None) -> list[str]:
    """The source line above its instructions; in gdb's lines below its file's name."""
    text = source_text(session, line)
    if not gdb_text.wanted(session):
        return [f"{line}" + (f"  {text}" if text else "")]
    file = [f"{line.file}:"] if last is None or last.file != line.file else []
    return [*file, f"{line.number}\t{text}"]


def _line(session: DebugSession, row: CodeLine, marks: _Marks, style: CodeStyle) -> str:
    mark = ("=>" if row.pc == marks.here else "  ") + ("*" if row.pc in marks.points else " ")
    word = f"{row.hex}  " if style.raw else ""
    return f"{mark} {row.offset:04x}  {word}{row.text}"


def _gdb_line(session: DebugSession, row: CodeLine, marks: _Marks, style: CodeStyle) -> str:
    word = row.word.to_bytes(row.size, "little").hex(" ") + "\t" if style.raw else ""
    name, offset = session.symbols.function_offset(row.pc)
    address = f"0x{row.pc:016x}" if style.filled else f"0x{row.pc:x}"
    place = f"{address} <+{offset}>" if style.whole else f"{address} <{name}+{offset}>"
    return f"{gdb_text.mark(row.pc, marks.here, marks.error)}{place}:\t{word}{row.text}"


DETAILS = """\
disassemble               around the focused pc     disassemble KERNEL  a whole function
disassemble 0x40,0x80     a range of offsets        disassemble 0x40,+0x40
/r adds the words, /s the source lines, as in gdb
/u adds what the code says of a warp's lanes, as `info uniform`: how those of a result and of an
address lie (`uniform`, `base + 4*lane`, `varying`); of a branch, EXIT, barrier or exchange whether
lanes may part there, by which predicate, and what wrote it"""


@command(
    "disassemble",
    "disas",
    usage="disassemble[/rsu] [FUNCTION | START,END | START,+LENGTH]",
    help="instructions of a function or range",
    group="code",
    details=DETAILS,
    completer=lambda s, text: s.symbols.complete_location(text),
)
def disassemble(session: DebugSession, argument: str) -> Listing:
    """Show instructions."""
    text = argument.strip()
    flags = ""
    if text.startswith("/"):
        flags, _, text = text[1:].partition(" ")
        if set(flags) - set("rsmu"):
            raise CommandError(
                f"'/{flags}' is not understood", "/r words, /s source lines, /u lanes"
            )
    rows, ends = _rows(session, text.strip())
    listing = bool(set("sm") & set(flags))
    codes = gdb_text.wanted(session)
    whole = codes and ends is None
    style = CodeStyle("r" in flags, listing, "u" in flags, whole=whole, filled=codes)
    found = instruction_listing(session, rows, style)
    if not codes or not rows:
        return found
    if ends is None:
        head = f"for function {session.symbols.function(rows[0].pc)}:"
    else:
        head = f"from 0x{ends[0]:x} to 0x{ends[1]:x}:"
    head = f"Dump of assembler code {head}"
    return replace(found, title=(head,), foot=("End of assembler dump.",))


def _rows(session: DebugSession, text: str) -> tuple[list[CodeLine], tuple[int, int] | None]:
    """Instructions that `disassemble` is asked for, and the ends of a range."""
    symbols = session.symbols
    if not text:
        here = selected_pc(session) if session.focus is not None else symbols.base
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
def list_(session: DebugSession, argument: str) -> Listing:
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
    here = selected_line(session) if session.focus is not None else None
    at = here.number if here is not None and here.file == file else None
    rows = tuple(SourceRow(file, n, lines[n - 1], n == at) for n in shown)
    return Listing(rows, SourceRow.gdb_line if gdb_text.wanted(session) else str)


@typed_row
class SourceRow:
    """A line of source."""

    file: str = column()
    line: int = column()
    text: str = column()
    here: bool = column(key="")

    def __str__(self) -> str:
        return f"{'=>' if self.here else '  '} {self.line:4}  {self.text}"

    def gdb_line(self) -> str:
        """The line as gdb lists it."""
        return f"{self.line}\t{self.text}"


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
    # The second number is a line of the file that the first names.
    if high.isdecimal():
        return begin.file, max(begin.number, 1), parse_int(high, "line number")
    last = _listed_line(session, high).number
    return begin.file, max(begin.number, 1), last


def listed_until(session: DebugSession) -> tuple[str, int, int]:
    """(file, first, last) lines that were listed last; before that, the current one.

    Raises:
        CommandError: the program has no line table.
    """
    if session.list_state is not None:
        file, first, after = session.list_state
        return file, first, after - 1
    line = _current_line(session)
    return line.file, line.number, line.number


def _around(session: DebugSession, line: Line, size: int) -> tuple[str, int]:
    return line.file, max(line.number - size // 2, 1)


def _current_line(session: DebugSession) -> Line:
    if session.focus is not None:
        line = selected_line(session)
    else:
        line = session.symbols.line(session.symbols.layout.first(session.symbols.base))
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
def info_line(session: DebugSession, argument: str) -> Listing:
    """Line to addresses, or address to line."""
    places = session.symbols.resolve(argument.strip() or None, session.origin()).addresses
    if not argument.strip() and session.focus is not None and session.frame_level:
        # A return address lies behind its call: show the line of the call.
        places = (session.symbols.layout.before(places[0]),)
    return Listing(tuple(_extent(session, pc) for pc in places), attrgetter("words"))


@typed_row
class ExtentRow:
    """Where the instructions of a source line begin."""

    offset: int = column()
    where: str = column()
    file: str | None = column()
    line: int | None = column()
    words: str = column(key="")


def _extent(session: DebugSession, pc: int) -> ExtentRow:
    line = session.symbols.line(pc)
    return ExtentRow(
        session.symbols.offset(pc),
        session.symbols.describe(pc),
        line.file if line else None,
        line.number if line else None,
        gdb_text.line_words(session, pc, line),
    )


@command(
    "info symbol",
    usage="info symbol ADDRESS",
    help="the function or variable at an address",
    group="code",
)
def info_symbol(session: DebugSession, argument: str) -> Notice:
    """Name an address."""
    text = argument.strip()
    if not text:
        raise CommandError("Argument required (address).", "info symbol ADDRESS")
    variable = _variable_at(session, text)
    if variable:
        return Notice(variable, variable)
    named = re.fullmatch(r"(\w+::)*[A-Za-z_]\w*", text) is not None
    if named:  # A function, whose breakpoints come behind its first statements.
        pc = function_places.begin(session.symbols, text)
    else:
        pc = session.symbols.resolve(f"*{text}", session.origin()).addresses[0]
    text = session.symbols.describe(pc)
    section = session.symbols.image.section_offset(pc)
    name, offset = session.symbols.function_offset(pc)
    name = session.symbols.signatures(pc)[-1] if name else ""
    if section is None or not gdb_text.wanted(session):
        inside = f"  ({name}+0x{offset:x})" if offset else f"  ({name})"
        return Notice(text if text.startswith(name) or not name else text + inside, text)
    shown = f"{name} + {offset}" if offset else name
    return Notice(f"{shown} in section {section[0]}", text)


def _variable_at(session: DebugSession, text: str) -> str:
    """`table + 4 in global memory`; empty where the text is no address in a variable."""
    if session.focus is None:
        return ""
    try:
        space, address = place_of(session, text)
    except CommandError:
        return ""
    label = gdb_text.variable_label(session, space, address).strip()[1:-1]
    name, plus, offset = label.partition("+")
    return f"{name}{f' + {offset}' if plus else ''} in {space} memory" if name else ""


@command("info source", help="the source file of the focused line", group="code")
def info_source(session: DebugSession, argument: str) -> Notice | Sections:
    """Say where the current source file is."""
    if not session.symbols.has_lines:
        return Notice("No current source file: the program has no line table.")
    file = session.list_state[0] if session.list_state else _current_line(session).file
    lines = source_lines(session, file)
    out = [f"Current source file is {file}"]
    if lines is None:
        out.append("It is not here; `directory DIR` or `set substitute-path FROM TO` finds it.")
    else:
        out.append(f"Located in {session.sources.fullname(file)}")
        out.append(f"Contains {len(lines)} line{'' if len(lines) == 1 else 's'}.")
    out += ["Source language is c++.", f"Known by {_known_by(session)}."]
    return Sections(tuple(map(Notice, out)), file)


def _known_by(session: DebugSession) -> str:
    variables = known_variables(session.program).functions
    return "the debug information of -G" if variables else "the line table of -lineinfo"


@command("info sources", help="source files of the line table", group="code")
def info_sources(session: DebugSession, argument: str) -> Listing:
    """List source files."""
    files = tuple(session.symbols.files)
    missing = frozenset(f for f in files if source_lines(session, f) is None)
    return Listing(
        files,
        lambda file: f"{file}  (not found here)" if file in missing else file,
        empty="the program has no line table",
    )
