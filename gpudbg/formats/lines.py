"""Line tables: which source line an instruction came from, inlined calls included.

`.debug_line` (from -lineinfo and -G) maps code to source files; `.nv_debug_line_sass` maps it
to the PTX text that the cubin carries in `.nv_debug_ptx_txt`.  Both are DWARF 2 line number
programs with one extension by NVIDIA, found by comparing nvcc's output with nvdisasm -gi:

* The header may end with the offset (u32) of function names in `.debug_str`.
* Extended opcode 0x90 (ULEB context, ULEB name): the rows that follow belong to a function
  inlined at row `context` (1-based, in this sequence; 0 ends inlining), named by the string at
  that offset.

Addresses in a line program are zeros with a relocation that names the function's section.
"""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gpudbg.dataclass import dataclass
from gpudbg.formats.elf import Strings, as_load_error
from gpudbg.formats.program import Program, Relocation

if TYPE_CHECKING:
    from gpudbg.formats.dwarf import InlinedRange

DEBUG_LINE = ".debug_line"
PTX_LINE = ".nv_debug_line_sass"
DEBUG_INFO = ".debug_info"
PTX_TEXT = ".nv_debug_ptx_txt"
PTX_FILE = "<ptx>"

_SET_ADDRESS, _END_SEQUENCE, _INLINED = 2, 1, 0x90
_MAX_DEPTH = 64
_MAX_LINE = 1 << 31
_MOST_INLINED = 1 << 23
"""Rows times inlined calls of a program that are looked at."""
_ROWS_PER_WORD, _MORE_ROWS = 4, 1 << 16
"""Most rows of a table: so many for a word of code, and so many more.  Compilers write under 2."""


class InlinedCall(NamedTuple):
    """A call that was inlined.

    Attributes:
        file: index in `LineTable.files` of the call site.
        line: line of the call site.
        function: the inlined function's name (mangled), or "".
        copy: where its code begins, which tells calls of one line apart; 0 where that is not
            recorded (-lineinfo).
    """

    file: int
    line: int
    function: str
    copy: int = 0


@dataclass(frozen=True, slots=True)
class LineRow:
    """The source place of one range of instructions.

    Attributes:
        section: the .text section.
        start: first offset of the range.
        end: offset after it; equal to `start` for a place that has no instruction left of its
            own, such as the call site of a function that was inlined here.
        file: index in `LineTable.files`.
        line: line number, 1-based.
        inlined: calls that led here, innermost first.
    """

    section: str
    start: int
    end: int
    file: int
    line: int
    inlined: tuple[InlinedCall, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LineTable:
    """A program's line table.

    Attributes:
        files: file names as the compiler wrote them, with their directories.
        rows: all rows, by section and offset.
    """

    files: tuple[str, ...]
    rows: tuple[LineRow, ...]
    _starts: Mapping[str, tuple[list[int], list[LineRow]]] = field(repr=False)
    _functions: Mapping[str, list[int]] = field(repr=False)

    def lookup(self, section: str, offset: int) -> LineRow | None:
        """The row that covers an offset of a section, or None."""
        starts, rows = self._starts.get(section, ([], []))
        at = bisect_right(starts, offset) - 1
        return rows[at] if at >= 0 and offset < rows[at].end else None

    def file_indices(self, name: str) -> tuple[int, ...]:
        """Files that a name means: equal paths, else paths that end with it."""
        exact = tuple(i for i, known in enumerate(self.files) if known == name)
        tail = "/" + name.lstrip("/")
        return exact or tuple(i for i, known in enumerate(self.files) if known.endswith(tail))

    def _wanted(self, file: str | int) -> set[int]:
        """File indices by index or by name."""
        return {file} if isinstance(file, int) else set(self.file_indices(file))

    def addresses(self, file: str | int, line: int) -> tuple[tuple[str, int], ...]:
        """Where a line's code starts: (section, offset) of every stretch of it, inlined too."""
        wanted = self._wanted(file)
        found: dict[tuple[str, int], None] = {}
        until = ("", -1)
        for row in self.rows:
            if row.line == line and row.file in wanted:
                if until != (row.section, row.start):
                    found[(row.section, row.start)] = None
                if row.end > row.start:
                    until = (row.section, row.end)
        return tuple(found)

    def breakpoints(self, file: str | int, line: int) -> tuple[tuple[str, int], ...]:
        """Where to stop for `file:line`: its first instruction in each function and each
        inlined copy.  A line without code stands for the next line of the file that has some.

        The code of a call that was inlined is the calling line's, too: the line may have none of
        its own, or only what comes after the call.
        """
        exact = self.nearest_line(file, line)
        if exact is None:
            return ()
        wanted = self._wanted(file)
        first: dict[tuple[str, int, tuple[InlinedCall, ...]], int] = {}
        for row in self.rows:
            for there, number, inlined in _places_of(row):
                if number == exact and there in wanted:
                    starts = self._functions.get(row.section, [0])
                    function = bisect_right(starts, row.start)
                    first.setdefault((row.section, function, inlined), row.start)
        return tuple(dict.fromkeys((key[0], start) for key, start in first.items()))

    def nearest_line(self, file: str | int, line: int) -> int | None:
        """`line` when it has code, else the next line of the file that has some, else None."""
        wanted = self._wanted(file)
        return min((n for n in self._numbers(wanted) if n >= line), default=None)

    def lines_with_code(self, file: str | int) -> tuple[int, ...]:
        """Lines of a file that have code, ascending."""
        return tuple(sorted(self._numbers(self._wanted(file))))

    def _numbers(self, wanted: Collection[int]) -> set[int]:
        """Lines that have code in files, those with nothing but an inlined call among them."""
        return {
            number for row in self.rows for there, number, _ in _places_of(row) if there in wanted
        }


def _places_of(row: LineRow) -> Iterator[tuple[int, int, tuple[InlinedCall, ...]]]:
    """File and line of a row and of the calls that led to it, each with the calls around it."""
    yield row.file, row.line, row.inlined
    for depth, call in enumerate(row.inlined, 1):
        yield call.file, call.line, row.inlined[depth:]


@functools.lru_cache(maxsize=64)
def read_lines(program: Program, section: str = DEBUG_LINE) -> LineTable:
    """A program's line table; an empty one when the program has none.

    Args:
        program: the program.
        section: `DEBUG_LINE` (source files) or `PTX_LINE` (lines of the embedded PTX).

    Raises:
        LoadError: a damaged table.
    """
    files: list[str] = []
    rows: list[LineRow] = []
    found = program.sections.get(section)
    if found is not None:
        with as_load_error(program.path, f"line table {section}", found.offset):
            reader = _Reader(program, section)
            reader.run(found.data)
            files, rows = reader.files, reader.rows
            if section == DEBUG_LINE and DEBUG_INFO in program.sections:
                rows = list(_with_inlined(rows, program, reader.numbered))
    if not rows and section == DEBUG_LINE and program.marks and program.sources:
        files, rows = [next(iter(program.sources))], list(_marked(program))
    rows.sort(key=lambda r: (r.section, r.start, r.end))
    starts: dict[str, tuple[list[int], list[LineRow]]] = {}
    for row in rows:
        if row.end > row.start:
            offsets, owners = starts.setdefault(row.section, ([], []))
            offsets.append(row.start)
            owners.append(row)
    functions: dict[str, set[int]] = {}
    for fn in program.functions.values():
        functions.setdefault(fn.section, {0}).add(fn.offset)
    return LineTable(
        tuple(_as_given(name, program) for name in files),
        tuple(rows),
        MappingProxyType(starts),
        MappingProxyType({name: sorted(offsets) for name, offsets in functions.items()}),
    )


def numbered_file(program: Program, number: int) -> str:
    """The file that debug information means by a number; "" where the table has none."""
    found = program.sections.get(DEBUG_LINE)
    if found is None:
        return ""
    reader = _Reader(program, DEBUG_LINE)
    reader.run(found.data)
    if not 0 <= number < len(reader.numbered):
        return ""
    return _as_given(reader.files[reader.numbered[number]], program)


def _with_inlined(
    rows: list[LineRow], program: Program, numbered: Sequence[int]
) -> Iterator[LineRow]:
    """Rows of a `-G` build with the calls that its DWARF says were inlined there.

    Args:
        numbered: indices of files by their numbers in the table.
    """
    # The reader of DWARF takes long to load, and most programs have none.
    from gpudbg.formats.dwarf import inlined_ranges

    ranges = inlined_ranges(program)
    if sum(map(len, ranges.values())) * len(rows) > _MOST_INLINED:
        ranges = {}
    numbers = {index: number for number, index in enumerate(numbered)}
    for row in rows:
        mine = ranges.get(row.section, ())
        around = [r for r in mine if r.low <= row.end and row.start < r.high]
        cuts = {c for r in around for c in (r.low, r.high) if row.start < c < row.end}
        edges = [row.start, *sorted(cuts), row.end]
        file = numbers.get(row.file, -1)
        for low, high in itertools.pairwise(edges):
            inside = [r for r in around if r.low <= low < r.high and not _passing(row, r)]
            if low == row.start:
                inside += _entered(row, [r for r in around if r.low == high], high < row.end)
            else:
                inside += [r for r in around if r.high == low and r.is_own(file, row.line)]
            outside = (n for n, r in enumerate(inside) if r.is_callers(file, row.line))
            inside = inside[: next(outside, None)]
            calls = tuple(
                InlinedCall(numbered[r.file], r.line, r.function, r.low)
                for r in reversed(inside)
                if 0 <= r.file < len(numbered)
            )
            yield replace(row, start=low, end=high, inlined=calls[:_MAX_DEPTH]) if around else row


def _passing(row: LineRow, copy: InlinedRange) -> bool:
    """Whether a stretch of a line is the call's own though it reaches into the copy's range.

    What is passed to the copy by value is made ready there, under the line that calls.
    """
    return row.start < copy.low < row.end < copy.high and row.line == copy.line


def _entered(row: LineRow, begun: Sequence[InlinedRange], goes_on: bool) -> Sequence[InlinedRange]:
    """Of the inlined calls that begin where a stretch of a line ends, those it is in already.

    A copy's first instruction lies before its range.  It is known by its line: that of a call in
    the copy, or one that goes on inside.

    Args:
        begun: callers first.
        goes_on: whether the line goes on behind the stretch.
    """
    at = next((n for n, r in enumerate(begun) if r.line == row.line), None)
    return begun[:at] if at is not None else begun if goes_on else ()


def _as_given(recorded: str, program: Program) -> str:
    """A file's name as whoever compiled the text in it gave it: the compiler puts the folder that
    it was called in before it, and nothing need lie there.
    """
    for name in program.sources:
        if "/" not in name and recorded.endswith(f"/{name}"):
            return name
    return recorded


def _marked(program: Program) -> Iterator[LineRow]:
    """Rows of a program that was assembled from text: each line lasts until the next one's."""
    for section, marks in program.marks.items():
        owner = program.sections.get(section)
        ends = [offset for offset, _ in marks[1:]]
        last = owner.size if owner is not None else 0
        for (offset, line), end in zip(marks, [*ends, last], strict=True):
            yield LineRow(section, offset, end, 0, line)


def ptx_text(program: Program) -> tuple[str, ...]:
    """Lines of the PTX that a debug cubin carries; line N is item N-1."""
    section = program.sections.get(PTX_TEXT)
    if section is None:
        return ()
    return tuple(section.data.decode("utf-8", "backslashreplace").split("\0"))


class _Cursor:
    """Reads numbers from bytes; raises ValueError at their end."""

    def __init__(self, data: bytes, position: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = position
        self.end = len(data) if end is None else end

    def fixed(self, size: int, signed: bool = False) -> int:
        """A little-endian number of `size` bytes."""
        if self.at + size > self.end:
            raise ValueError(f"ends within a number at 0x{self.at:x}")
        raw = self.data[self.at : self.at + size]
        self.at += size
        return int.from_bytes(raw, "little", signed=signed)

    def leb(self, signed: bool = False) -> int:
        """A LEB128 number of up to ten bytes."""
        value = shift = 0
        for _ in range(10):
            byte = self.fixed(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value
        raise ValueError(f"number without end at 0x{self.at:x}")

    def string(self) -> str:
        """A zero-terminated string."""
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            raise ValueError(f"string without end at 0x{self.at:x}")
        text = self.data[self.at : end].decode("utf-8", "backslashreplace")
        self.at = end + 1
        return text


class _Place(NamedTuple):
    """One raw row of a sequence."""

    address: int
    file: int
    line: int
    inlined: tuple[InlinedCall, ...]


class _Header(NamedTuple):
    """What the line number program of one unit needs of its header."""

    min_length: int
    line_base: int
    line_range: int
    opcode_base: int
    lengths: tuple[int, ...]
    files: tuple[int, ...]
    names: int


class _Reader:
    """Runs the line number programs of one section.

    Attributes:
        rows: those read so far.
        numbered: indices of files by the numbers that the first unit gives them.
    """

    def __init__(self, program: Program, section: str) -> None:
        self.program = program
        self.ptx = section == PTX_LINE
        self._files: dict[str, int] = {}
        self.rows: list[LineRow] = []
        self.numbered: tuple[int, ...] = ()
        words = (
            sum(program.sections[name].size for name in program.code_sections)
            // program.layout.word_bytes
        )
        self._rows_left = _ROWS_PER_WORD * words + _MORE_ROWS
        self.symbols = {
            r.offset: self._target(r) for r in program.debug_relocations.get(section, ())
        }
        names = program.sections.get(".debug_str")
        self.names = Strings(names.data if names else b"", program.path)

    def _target(self, relocation: Relocation) -> tuple[str, int]:
        """(section, offset) of a relocated address."""
        symbol = self.program.symbols[relocation.symbol]
        return symbol.section, symbol.value + (relocation.addend or 0)

    def run(self, data: bytes) -> None:
        """Every unit of the section."""
        cursor = _Cursor(data)
        while cursor.at + 4 <= len(data):
            length = cursor.fixed(4)
            end = min(cursor.at + length, len(data))
            if length == 0:
                break
            unit = _Cursor(data, cursor.at, end)
            header = self._header(unit)
            self.numbered = self.numbered or header.files
            while unit.at < unit.end:
                self._sequence(unit, header)
            cursor.at = end

    def _header(self, unit: _Cursor) -> _Header:
        """The unit's header; `unit` stands at its first opcode afterwards."""
        version = unit.fixed(2)
        if not 2 <= version <= 4:
            raise ValueError(f"DWARF version {version} of a line program")
        size = unit.fixed(4)
        start = unit.at + size
        if start > unit.end:
            raise ValueError("header longer than its unit")
        head = _Cursor(unit.data, unit.at, start)
        min_length = head.fixed(1)
        if version == 4:
            head.fixed(1)
        head.fixed(1)
        line_base, line_range, opcode_base = head.fixed(1, True), head.fixed(1), head.fixed(1)
        if line_range == 0 or opcode_base == 0:
            raise ValueError("line range or opcode base of 0")
        lengths = tuple(head.fixed(1) for _ in range(opcode_base - 1))
        folders = [""]
        while name := head.string():
            folders.append(name)
        indices = [self._file(PTX_FILE)] if self.ptx else [-1]
        while name := head.string():
            folder = head.leb()
            head.leb(), head.leb()
            prefix = folders[folder] if folder < len(folders) else ""
            indices.append(self._file(f"{prefix.rstrip('/')}/{name}" if prefix else name))
        names = head.fixed(4) if head.end - head.at >= 4 else 0
        unit.at = start
        return _Header(
            min_length, line_base, line_range, opcode_base, lengths, tuple(indices), names
        )

    def _file(self, name: str) -> int:
        """Index of a file name."""
        return self._files.setdefault(name, len(self._files))

    @property
    def files(self) -> list[str]:
        """File names met, by index."""
        return list(self._files)

    def _place(self, places: list[_Place], place: _Place) -> None:
        """Add a raw row to its sequence.

        Raises:
            ValueError: more rows than the program's code can have places for.
        """
        self._rows_left -= 1
        if self._rows_left < 0:
            raise ValueError("many times more rows than the program has instructions")
        places.append(place)

    def _sequence(self, unit: _Cursor, header: _Header) -> None:
        """Rows up to the end of one sequence."""
        section, base, address, line, file = "", 0, 0, 1, 1
        chain: tuple[InlinedCall, ...] = ()
        places: list[_Place] = []
        while unit.at < unit.end:
            opcode = unit.fixed(1)
            if opcode >= header.opcode_base:
                step = opcode - header.opcode_base
                address += step // header.line_range * header.min_length
                line += header.line_base + step % header.line_range
                self._place(places, _Place(address, file, line, chain))
            elif opcode == 0:
                length = unit.leb()
                start = unit.at
                kind = unit.fixed(1) if length else -1
                if kind == _SET_ADDRESS:
                    section, base = self.symbols.get(unit.at, ("", 0))
                    address = base + unit.fixed(8)
                elif kind == _INLINED:
                    chain = self._chain(places, unit.leb(), unit.leb() + header.names, header)
                elif kind == _END_SEQUENCE:
                    unit.at = start + length
                    break
                unit.at = start + length
                if unit.at > unit.end:
                    raise ValueError("opcode longer than its unit")
            elif opcode == 1:
                self._place(places, _Place(address, file, line, chain))
            elif opcode == 2:
                address += unit.leb() * header.min_length
            elif opcode == 3:
                line += unit.leb(signed=True)
            elif opcode == 4:
                file = unit.leb()
            elif opcode == 8:
                address += (255 - header.opcode_base) // header.line_range * header.min_length
            elif opcode == 9:
                address += unit.fixed(2)
            else:
                for _ in range(header.lengths[opcode - 1]):
                    unit.leb()
        self._emit(section, places, address, header)

    def _chain(
        self, places: list[_Place], context: int, name: int, header: _Header
    ) -> tuple[InlinedCall, ...]:
        """The calls of rows inlined at row `context`, innermost first."""
        if not 0 < context <= len(places):
            return ()
        site = places[context - 1]
        file = header.files[site.file] if site.file < len(header.files) else -1
        text = self.names.at(name, name)
        return (InlinedCall(file, site.line, text), *site.inlined)[:_MAX_DEPTH]

    def _emit(self, section: str, places: list[_Place], end: int, header: _Header) -> None:
        """Add a sequence's rows; a row lasts until the next row with another address."""
        owner = self.program.sections.get(section)
        if owner is None:
            return
        for index, place in enumerate(places):
            follow = places[index + 1].address if index + 1 < len(places) else end
            file = header.files[place.file] if place.file < len(header.files) else -1
            sane = 0 <= place.address <= follow <= owner.size and 0 < place.line < _MAX_LINE
            if sane and file >= 0:
                row = LineRow(section, place.address, follow, file, place.line, place.inlined)
                self.rows.append(row)
