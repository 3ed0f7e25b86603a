"""Rows of a program's code: instructions and their source lines, decoded on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.commands.code import source_text

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.symbols import Line
    from gpudbg.symbols import CodeLine


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """One row: an instruction (`pc`), a source line above one (`line`), or a function's name."""

    pc: int
    line: Line | None = None
    label: str = ""


class CodeIndex:
    """Rows of a program's code by number, and the row of every pc.

    Building it looks up a source line per instruction but decodes nothing; instructions are
    decoded when their row is shown.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._symbols = session.symbols
        self.entries: list[CodeEntry] = []
        self.row_of: dict[int, int] = {}
        self._firsts: dict[str, dict[int, int]] = {}
        self.has_lines = session.symbols.has_lines
        last: Line | None = None
        for pc in session.symbols.pcs:
            label = self._label(pc)
            if label:
                self.entries.append(CodeEntry(pc, label=label))
                last = None
            line = session.symbols.line(pc) if self.has_lines else None
            if line is not None and line != last:
                self.entries.append(CodeEntry(pc, line=line))
                last = line
            self.row_of[pc] = len(self.entries)
            self.entries.append(CodeEntry(pc))
        self.with_source, self._rows_with_source = self.entries, self.row_of

    def interleave(self, on: bool) -> bool:
        """Whether source lines stand among the instructions; true where that changes the rows."""
        if on == (self.entries is self.with_source):
            return False
        if on:
            self.entries, self.row_of = self.with_source, self._rows_with_source
            return True
        self.entries = [e for e in self.with_source if e.line is None]
        self.row_of = {e.pc: n for n, e in enumerate(self.entries) if not e.label}
        return True

    def line(self, pc: int) -> Line | None:
        """The source line of an instruction."""
        return self._symbols.line(pc) if self.has_lines else None

    def file_lines(self, file: str) -> list[str] | None:
        """The text of a file by line; None where it is not here."""
        return self._session.sources.lines(file) if file else None

    def lines_at(self, file: str) -> dict[int, int]:
        """Numbers of the lines of a file that have code -> their first instruction's pc."""
        if file not in self._firsts:
            found: dict[int, int] = {}
            for entry in self.with_source:
                if entry.line is not None and entry.line.file == file:
                    found.setdefault(entry.line.number, entry.pc)
            self._firsts[file] = found
        return self._firsts[file]

    def _label(self, pc: int) -> str:
        """A function's name where a second function begins."""
        if not self.entries:
            return ""
        found = self._symbols.image.function_at(pc)
        if found is None or self._symbols.layout.start(found[1]):
            return ""
        return self._symbols.program.shown(found[0].label)

    def row(self, pc: int) -> int:
        """The row of an instruction; a bundle's start means its first instruction."""
        return self.row_of.get(self.first(pc), 0)

    def first(self, pc: int) -> int:
        """The instruction an address means: a bundle's start stands for its first one."""
        return self._symbols.layout.first(pc)

    def start(self, pc: int) -> int:
        """The start of the bundle whose first instruction this is; itself elsewhere."""
        return self._symbols.layout.start(pc)

    def code(self, pc: int) -> CodeLine | None:
        """The instruction."""
        return self._symbols.instruction(pc)

    def source(self, line: Line) -> str:
        """The text of a source line, empty where the file is not here."""
        return source_text(self._session, line)

    def offset(self, pc: int) -> int:
        """A pc as users know it."""
        return self._symbols.offset(pc)

    @property
    def base(self) -> int:
        """The code address of the kernel's section."""
        return self._symbols.base

    def is_foreign(self, pc: int) -> bool:
        """Whether a pc lies in code of its own, such as a trap handler: its offsets start at 0."""
        place = self._symbols.image.section_offset(pc)
        return place is not None and place[0] != self._symbols.kernel.section

    def shown(self, pc: int) -> str:
        """A pc as the listing shows it: an offset into its own code."""
        code = self.code(pc) if self.is_foreign(pc) else None
        return f"{code.offset if code is not None else self.offset(pc):04x}"

    def place(self, pc: int) -> str:
        """A pc as the listing shows it, with a name where it lies in code of its own."""
        found = self._symbols.image.function_at(pc) if self.is_foreign(pc) else None
        name = f" {self._symbols.program.shown(found[0].label)}" if found is not None else ""
        return self.shown(pc) + name

    def target(self, pc: int) -> int | None:
        """Where a direct branch goes, as a pc."""
        from gpudbg.debug.values.operands import instruction_at

        insn = instruction_at(self._session, pc)
        if insn is None:
            return None
        code = self.code(pc)
        assert code is not None
        goal = insn.target(code.offset)
        return None if goal is None else pc - code.offset + goal

    def find(
        self, text: str, start: int, back: bool = False, rows: range | None = None
    ) -> int | None:
        """The next row from `start` whose instruction or source holds `text`, around the end.

        Args:
            rows: which rows after `start` are looked at; None: all.
        """
        wanted = text.lower()
        count = len(self.entries)
        for n in rows or range(1, count + 1):
            at = (start - n if back else start + n) % count
            entry = self.entries[at]
            if entry.line is not None:
                shown = self.source(entry.line)
            elif entry.label:
                shown = entry.label
            else:
                code = self.code(entry.pc)
                shown = f"{code.offset:04x} {code.text}" if code else ""
            if wanted in shown.lower():
                return at
        return None
