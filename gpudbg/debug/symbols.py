"""Names and lines: locations to pcs, pcs to `kernel+0x48` and `file:line`, the code listing.

A pc is a code address of the placed program (`formats.program.CodeImage`); an offset is what
nvdisasm prints and users type, relative to the launched kernel's section.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from gpudbg.architectures import is_wide
from gpudbg.code_layout import layout_of
from gpudbg.dataclass import dataclass
from gpudbg.debug import function_places
from gpudbg.debug.stops.records import CallSite
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError
from gpudbg.symbols.function_names import readable
from gpudbg.symbols.listing import CodeLine, code_line, section_pcs
from gpudbg.symbols.mangled import short_name
from gpudbg.symbols.variable_types import source_name

if TYPE_CHECKING:
    from gpudbg.analysis.call_frames import CallFrames
    from gpudbg.debug.function_places import ExplicitLocation
    from gpudbg.formats.lines import LineTable
    from gpudbg.formats.program import CodeImage, Global, Kernel, Program


@dataclass(frozen=True, slots=True)
class Location:
    """Where a breakpoint goes.

    Attributes:
        addresses: its pcs.
        text: the location as it is shown.
        line: the line where it is one.
        functions: names of the functions that begin at the pcs, where a name was written.
    """

    addresses: tuple[int, ...]
    text: str
    line: Line | None = None
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A source line; it equals another of the same file, and its number (`entry.line == 16`)."""

    file: str
    number: int

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Line):
            return self.number == other.number and self.file == other.file
        return self.number == other if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.number)

    def __int__(self) -> int:
        return self.number

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.number}"


class Inlined(NamedTuple):
    """A call that was inlined.

    Attributes:
        function: the inlined function's name.
        line: the line that calls it.
        copy: what tells calls of one line apart, where debug information does.
    """

    function: str
    line: Line
    copy: int


@dataclass(frozen=True, slots=True)
class CodePlace:
    """Where an instruction is in the source, with None for what is not known.

    `function` is the innermost one, inlined ones included; `inlined_at` are the calls through which
    it came into the code, innermost first.
    """

    file: str | None = None
    line: int | None = None
    function: str | None = None
    inlined_at: tuple[CallSite, ...] = ()

    def fields(self) -> dict[str, Any]:
        """The fields that `Stop`, `ErrorRecord` and `Trigger` have of a place."""
        return {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "inlined_at": self.inlined_at,
        }


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a location is read from: what it means depends on the focus and the settings.

    Attributes:
        pc: code address where the focused warp stands; None without one.
        codes: whether numbers are code addresses (`set addresses code`).
        integer: an expression's value in the focused lane, and what it is for messages.
        fullname: where a recorded file is here.
    """

    pc: int | None
    codes: bool
    integer: Callable[[str, str], int]
    fullname: Callable[[str], str]


class Symbols:
    """Locations, names and lines of one loaded program, seen from one kernel."""

    def __init__(self, program: Program, image: CodeImage, kernel: Kernel) -> None:
        from gpudbg.formats.lines import read_lines

        self.program = program
        self.image = image
        self.layout = layout_of(program.arch)
        self.kernel = kernel
        self.base = image.entries[kernel.name]
        self._lines: LineTable = read_lines(program)
        self._line_cache: dict[int, Line | None] = {}
        self._code_cache: dict[int, CodeLine | None] = {}
        self._bodies: dict[int, int] = {}
        self._calls_cache: dict[int, tuple[Inlined, ...]] = {}
        self._place_cache: dict[int, CodePlace] = {}

    # ---- pcs and offsets ---------------------------------------------------------------
    def offset(self, pc: int) -> int:
        """A pc as users know it: relative to the launched kernel's section."""
        return pc - self.base

    def pc(self, offset: int) -> int:
        """The code address of an offset in the launched kernel."""
        return self.base + offset

    def in_kernel(self, pc: int) -> bool:
        """Whether a pc lies in the launched kernel's own section, where offsets are from."""
        where = self.image.section_offset(pc)
        return where is None or where[0] == self.kernel.section

    def short(self, pc: int) -> str:
        """A pc for a column: `0048` in the kernel's section, `fib+0x8` in another one."""
        return f"{self.offset(pc):04x}" if self.in_kernel(pc) else self.describe(pc)

    def describe(self, pc: int) -> str:
        """`saxpy+0x48`, or a plain number outside the code."""
        return self.image.describe(pc)

    def describe_end(self, pc: int) -> str:
        """Like `describe`, for the pc behind an instruction, which may be its section's end."""
        if self.image.section_offset(pc) is not None:
            return self.describe(pc)
        last = self.layout.before(pc)
        name, plus, offset = self.describe(last).rpartition("+")
        return f"{name}+0x{int(offset, 16) + pc - last:x}" if plus else self.describe(pc)

    @cached_property
    def kernel_name(self) -> str:
        """The launched kernel's name for people."""
        return self.program.shown(self.kernel.name)

    def describe_line(self, pc: int, skipped: int = 0) -> str:
        """`saxpy+0x48  saxpy.cu:7`; `skipped` as for `place`."""
        line, calls = self.line(pc), self.calls(pc) if skipped else ()
        if 0 < skipped <= len(calls):
            line = calls[skipped - 1][1]
        return f"{self.describe(pc)} {line}" if line else self.describe(pc)

    def function(self, pc: int) -> str:
        """The label of the function at a pc, or an empty string."""
        found = self.image.function_at(pc)
        return short_name(found[0].label) if found else ""

    def variable(self, name: str) -> Global | None:
        """A module variable by its symbol or by its C++ name (`counter`, `ns::lut`)."""
        rows = self.program.globals
        if name in rows:
            return rows[name]
        found = [row for row in rows.values() if source_name(row.name) == name]
        last = [r for r in rows.values() if source_name(r.name).rpartition("::")[2] == name]
        matching = found or last
        return matching[0] if len(matching) == 1 else None

    # ---- lines -------------------------------------------------------------------------
    def line(self, pc: int) -> Line | None:
        """The source line of a pc."""
        if pc not in self._line_cache:
            self._line_cache[pc] = self._find_line(pc)
        return self._line_cache[pc]

    def _find_line(self, pc: int) -> Line | None:
        where = self.image.section_offset(pc)
        if where is None:
            return None
        row = self._lines.lookup(*where)
        return Line(self._lines.files[row.file], row.line) if row else None

    def calls(self, pc: int) -> tuple[Inlined, ...]:
        """Calls inlined at a pc, innermost first."""
        if pc not in self._calls_cache:
            where = self.image.section_offset(pc)
            row = self._lines.lookup(*where) if where is not None else None
            self._calls_cache[pc] = tuple(
                Inlined(short_name(c.function), Line(self._lines.files[c.file], c.line), c.copy)
                for c in (row.inlined if row else ())
            )
        return self._calls_cache[pc]

    def signatures(self, pc: int) -> tuple[str, ...]:
        """The functions that a pc is in, with their parameters: inlined ones, innermost first."""
        where = self.image.section_offset(pc)
        row = self._lines.lookup(*where) if where is not None else None
        found = self.image.function_at(pc)
        labels = [c.function for c in (row.inlined if row else ())]
        labels += [found[0].label] if found else []
        return tuple(readable(label) for label in labels)

    def place(self, pc: int, skipped: int = 0) -> CodePlace:
        """The source place of a pc as data.

        Args:
            skipped: so many inlined calls have not been entered yet: it is the place of the call.
        """
        if skipped:
            return self._place(pc, skipped)
        found = self._place_cache.get(pc)
        if found is None:
            found = self._place_cache[pc] = self._place(pc, 0)
        return found

    def _place(self, pc: int, skipped: int) -> CodePlace:
        line, calls = self.line(pc), self.calls(pc)
        if 0 < skipped <= len(calls):
            line, calls = calls[skipped - 1].line, calls[skipped:]
        own = self.function(pc) or None
        callers = [*(call.function for call in calls[1:]), own or ""]
        sites = tuple(
            CallSite(caller, call.line.file, call.line.number)
            for caller, call in zip(callers, calls, strict=False)
        )
        return CodePlace(
            line.file if line else None,
            line.number if line else None,
            (calls[0].function or None) if calls else own,
            sites,
        )

    @property
    def lines(self) -> LineTable:
        """The program's line table."""
        return self._lines

    @staticmethod
    def same_file(a: str, b: str) -> bool:
        """Whether two spellings name one source file."""
        return _same_file(a, b)

    @property
    def has_lines(self) -> bool:
        """Whether the program carries a line table."""
        return bool(self._lines.rows)

    @property
    def files(self) -> tuple[str, ...]:
        """Source files of the line table."""
        return tuple(self._lines.files)

    def line_starts(self, file: str, number: int) -> tuple[int, ...]:
        """Pcs where to stop for a line: one for each function and copy that has code of it."""
        out = []
        for index, name in enumerate(self._lines.files):
            if _same_file(name, file):
                out += [
                    self.image.address_in(section, self._behind_prologue(section, offset))
                    for section, offset in self._lines.breakpoints(index, number)
                ]
        return tuple(sorted(out))

    def _behind_prologue(self, section: str, offset: int) -> int:
        """Where a line that begins a function of a `-G` build has the function's parameters."""
        if not self.program.debug or self.layout.first(offset) != self.layout.first(0):
            return offset
        from gpudbg.symbols.parameters import begin_of_body, first_statement

        body = first_statement(self.program, section)
        row = self._lines.lookup(section, offset)
        if body is not None or row is None:
            return body or offset
        return begin_of_body(self.program, section, offset, row.end)

    def in_prologue(self, pc: int) -> bool:
        """Whether a function of a `-G` build that begins before a pc has not got its parameters."""
        found = self.image.function_at(pc) if self.program.debug else None
        if found is None:
            return False
        begin = pc - found[1]
        if begin not in self._bodies:
            self._bodies[begin] = function_places.body(self, found[0], begin)
        return pc < self._bodies[begin]

    def lines_with_code(self, file: str) -> list[int]:
        """Line numbers of a file that have instructions."""
        same = (i for i, n in enumerate(self._lines.files) if _same_file(n, file))
        return sorted({number for i in same for number in self._lines.lines_with_code(i)})

    def line_extent(self, pc: int) -> tuple[int, int]:
        """(first, end) pcs of the run of instructions around a pc that belong to its line."""
        line = self.line(pc)
        at = bisect_right(self._starts, self.layout.first(pc)) - 1
        low = high = max(at, 0)
        while low > 0 and self.line(self._starts[low - 1]) == line:
            low -= 1
        while high < len(self._starts) and self.line(self._starts[high]) == line:
            high += 1
        ends = high < len(self._starts)
        end = self._starts[high] if ends else self.layout.next(self._starts[-1])
        return self._starts[low], end

    # ---- locations ---------------------------------------------------------------------
    def resolve(self, text: str | None, origin: Origin | None = None) -> Location:
        """The pcs a location names.

        Raises:
            CommandError: no such kernel, function, file, line or address; near names are given.
        """
        spec = (text or "").strip()
        if not spec or spec[0] == "+":
            if origin is None or origin.pc is None:
                raise CommandError("a location is missing", "break KERNEL+0x48, *0x48 or FILE:LINE")
            delta = parse_int(spec[1:], "offset") if spec else 0
            return self._address(origin.pc + delta, None)
        if spec[0] == "*":
            return self._star(spec[1:].strip(), origin)
        if m := re.fullmatch(r"'([^']+)'::(.+)", spec):
            spec = f"{m[1]}:{m[2]}"
        parts = function_places.explicit(spec)
        spec = parts.text if parts is not None else spec
        if m := re.fullmatch(r"(.+?):(\d+)", spec):
            file = self.recorded_file(m[1], origin)
            return self._file_line(file, parse_int(m[2], "line number"))
        if spec.isdecimal():
            return self._file_line(self._default_file(origin), parse_int(spec, "line number"))
        if m := re.fullmatch(r"(.+?)\+\s*(\w+)\s*", spec):
            delta = parse_int(m[2], "offset")
            return self._address(function_places.begin(self, m[1].strip()) + delta, spec)
        return self._function(parts or function_places.in_file(spec), origin)

    def _star(self, rest: str, origin: Origin | None) -> Location:
        name, plus, _ = rest.partition("+")
        if plus and not name.strip()[:1].isdigit() and name.strip()[:1] != "$":
            return self.resolve(rest, origin)
        if origin is not None and origin.pc is not None and not rest[:1].isdigit():
            return self._address(self.code_address(origin.integer(rest, "an address")), None)
        codes = origin is not None and origin.codes
        number = parse_int(rest, "address")
        beyond = number >= len(self.kernel.code) and self.image.section_offset(number) is not None
        pc = self.code_address(number) if codes or beyond else self.pc(number)
        return self._address(pc, None)

    def code_address(self, number: int) -> int:
        """The pc that a number means: a code address, or below the code an offset in the kernel."""
        return number if number >= self.image.base else self.pc(number)

    def at(self, pc: int) -> Location:
        """The location of a code address.

        Raises:
            CommandError: no instruction is there.
        """
        return self._address(pc, None)

    def _address(self, pc: int, text: str | None) -> Location:
        if self.image.section_offset(pc) is None:
            raise CommandError(
                f"{self.offset(pc):#x} lies outside the program's code",
                f"{self.kernel_name} has 0x{len(self.kernel.code):x} bytes",
            )
        pc = self.layout.first(pc)
        if not self.layout.holds_instruction(pc):
            apart = f"instructions are {self.layout.word_bytes} bytes apart"
            shown = f"{self.offset(pc):#x}" if self.in_kernel(pc) else self.describe(pc)
            raise CommandError(f"{shown} is not an instruction", apart)
        return Location((pc,), text or self.describe(pc))

    def _function(self, wanted: ExplicitLocation, origin: Origin | None) -> Location:
        """Where the functions begin that a name means."""
        if wanted.source:
            file = self.recorded_file(wanted.source, origin)
            self.check_file(file)
            wanted = replace(wanted, source=file)
        try:
            found = function_places.begins(self, wanted)
            return Location(tuple(found), wanted.text, functions=tuple(found.values()))
        except CommandError:
            if wanted.text != "main":
                raise
            # What IDEs stop at first; a program of kernels begins with the launched one.
            return self._address(self.base, "main")

    def _default_file(self, origin: Origin | None) -> str:
        if origin is not None and origin.pc is not None:
            line = self.line(origin.pc)
            if line is not None:
                return line.file
        if not self.has_lines:
            raise CommandError(
                "the program has no line table", "compile it with -lineinfo, or use KERNEL+0x48"
            )
        return self._lines.files[self._lines.rows[0].file]

    def recorded_file(self, name: str, origin: Origin | None) -> str:
        """The line table's name of a file that may be named by where it was found here."""
        known = self._lines.files
        if origin is None or any(_same_file(n, name) for n in known) or "/" not in name:
            return name
        here = next((n for n in known if origin.fullname(n) == name), None)
        return here or _moved_file(known, name) or name

    def check_file(self, file: str) -> None:
        """CommandError for a file that the line table does not name."""
        if not any(_same_file(n, file) for n in self._lines.files):
            known = ", ".join(sorted({PurePath(n).name for n in self._lines.files}))
            table = f"the line table has {known}" if known else "the program has no line table"
            raise CommandError(f"No source file named {file}.", table)

    def _file_line(self, file: str, number: int) -> Location:
        if not self.has_lines:
            raise CommandError(
                "the program has no line table", "compile it with -lineinfo, or use KERNEL+0x48"
            )
        self.check_file(file)
        lines = self.lines_with_code(file)
        actual = next((n for n in lines if n >= number), None)
        if actual is None:
            raise CommandError(
                f'No line {number} in file "{PurePath(file).name}".',
                f"the last line with code is {lines[-1]}",
            )
        pcs = tuple(self.layout.first(pc) for pc in self.line_starts(file, actual))
        name = next(n for n in self._lines.files if _same_file(n, file))
        return Location(pcs, f"{PurePath(file).name}:{actual}", Line(name, actual))

    def complete_location(self, text: str) -> list[str]:
        """Functions and source files that start with what was typed."""
        names = [f.label for f in self.program.functions.values()]
        names += [short_name(n) for n in names]
        names += [PurePath(f).name + ":" for f in self._lines.files]
        return sorted({n for n in names if n.startswith(text)})

    # ---- code --------------------------------------------------------------------------
    @cached_property
    def pcs(self) -> tuple[int, ...]:
        """Code addresses of every instruction, the kernel's own section first; not decoded."""
        order = sorted(
            self.image.placements, key=lambda p: (p.section != self.kernel.section, p.address)
        )
        return tuple(pc for place in order for pc in section_pcs(self.image, place.section))

    @cached_property
    def listing(self) -> tuple[CodeLine, ...]:
        """Every instruction of the program, the kernel's own section first."""
        return tuple(line for pc in self.pcs if (line := self.instruction(pc)) is not None)

    @cached_property
    def _starts(self) -> list[int]:
        return sorted(self.pcs)

    @property
    def has_tensor_cores(self) -> bool:
        """Whether the program's architecture multiplies matrices: sm_70 and later."""
        return is_wide(self.program.arch)

    @cached_property
    def call_frames(self) -> CallFrames:
        """Where functions keep their return addresses, from sm_70 on."""
        from gpudbg.analysis.call_frames import CallFrames

        code, base, layout = self.image.code, self.image.base, self.layout

        def word(pc: int) -> int | None:
            inside = base <= pc <= base + len(code) - layout.word_bytes
            return layout.word_at(code, pc - base) if inside else None

        return CallFrames(word, self.program.arch, self._extent)

    def _extent(self, pc: int) -> tuple[int, int] | None:
        """(first, end) of the function at a pc; its symbol says how long it is."""
        found = self.image.function_at(pc)
        return None if found is None else (pc - found[1], pc - found[1] + found[0].size)

    def instruction(self, pc: int) -> CodeLine | None:
        """The instruction at a pc (a bundle's start means its first instruction)."""
        if pc not in self._code_cache:
            first = self.layout.first(pc)
            self._code_cache[pc] = code_line(self.image, first)
        return self._code_cache[pc]

    def rows_between(self, first: int, last: int) -> list[CodeLine]:
        """Instructions of which a byte lies in [first, last)."""
        low = bisect_right(self._starts, first - self.layout.word_bytes)
        out = []
        for pc in self._starts[low:]:
            if pc >= last:
                break
            row = self.instruction(pc)
            if row is not None:
                out.append(row)
        return out

    def function_rows(self, pc: int) -> list[CodeLine]:
        """Instructions of the function at a pc, up to the next function; [] outside the code."""
        found = self.image.function_at(pc)
        if found is None:
            return []
        begin = pc - found[1]
        starts = [
            self.image.address_in(f.section, f.offset) for f in self.program.functions.values()
        ]
        end = min((s for s in starts if s > begin), default=begin + found[0].size)
        return self.rows_between(begin, max(end, begin + 1))

    def block_starts(self, pc: int) -> list[int]:
        """Where basic blocks of the function at a pc begin."""
        from gpudbg.sm.cfg import Flow

        known = {
            self.pc(branch.offset): tuple(map(self.pc, branch.targets))
            for branch in self.kernel.indirect_branches
            if branch.targets
        }
        rows = ((row.pc, row.word) for row in self.function_rows(pc))
        return [block.start for block in Flow(rows, self.program.arch, known).blocks()]

    def function_offset(self, pc: int) -> tuple[str, int]:
        """(function, offset from its start) of a pc; an empty name outside the functions."""
        found = self.image.function_at(pc)
        return (short_name(found[0].label), found[1]) if found else ("", 0)

    def function_places(self) -> list[tuple[str, int, Line | None]]:
        """(name, pc, line) of every function of the program, by pc."""
        rows = []
        for fn in self.program.functions.values():
            pc = self.layout.first(self.image.address_in(fn.section, fn.offset))
            rows.append((short_name(fn.label), pc, self.line(pc)))
        return sorted(rows, key=lambda row: row[1])

    def line_rows(self, file: str) -> list[tuple[int, int]]:
        """(pc, line) of every row of a file's line table, by pc."""
        wanted = {i for i, n in enumerate(self._lines.files) if _same_file(n, file)}
        rows = [
            (self.layout.first(self.image.address_in(r.section, r.start)), r.line)
            for r in self._lines.rows
            if r.file in wanted and r.end > r.start
        ]
        return sorted(set(rows))

    def around(self, pc: int, before: int, after: int) -> list[CodeLine]:
        """Instructions near a pc, in listing order."""
        i = bisect_right(self._starts, self.layout.first(pc)) - 1
        low = max(i - before, 0)
        found = (self.instruction(p) for p in self._starts[low : i + after + 1])
        return [line for line in found if line is not None]


def as_written(file: str) -> str:
    """A recorded name as the compiler had it: NVRTC puts `/` before one without a directory."""
    path = PurePath(file)
    return path.name if path.parts[:1] == ("/",) and len(path.parts) == 2 else file


def _moved_file(known: Iterable[str], path: str) -> str | None:
    """The recorded file that an editor's absolute path means where the program was built elsewhere:
    the only one of that name, or the only one that shares most of its last folders."""
    if not PurePath(path).is_absolute():
        return None
    wanted, shared = PurePath(path).parts[::-1], dict[str, int]()
    for name in known:
        pairs = zip(PurePath(as_written(name)).parts[::-1], wanted, strict=False)
        shared[name] = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    most = max(shared.values(), default=0)
    best = [name for name, count in shared.items() if count == most]
    return best[0] if most and len(best) == 1 else None


def _same_file(a: str, b: str) -> bool:
    """Whether two spellings name one source file: one path ends with the other's parts."""
    if a == b:
        return True
    pa, pb = PurePath(as_written(a)).parts, PurePath(as_written(b)).parts
    n = min(len(pa), len(pb))
    return pa[-n:] == pb[-n:]
