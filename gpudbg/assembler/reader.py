"""Lines of a .sass file: comments, control words and notations taken off, labels and text left.

What lies in which kind of line is described in the package's docstring.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.errors import AssembleError
from gpudbg.isa.control import Control

_ADDRESS = re.compile(r"\s*([0-9a-fA-F]{4,8})\s*$")
_WORD = re.compile(r"\s*0x([0-9a-fA-F]{16})\s*$")
_NOTATION = re.compile(r"\[?\s*B[0-9-]{6}:R\S*:W[^\s\]]*\s*\]?")
_LABEL = re.compile(r"\s*([.$A-Za-z_][\w.$@]*)\s*:(?!:)")
_ANNOTATION = re.compile(r"\(\*.*?\*\)")
_CODE_FOR = re.compile(r"\s*code for (sm_\d+[af]?)\s*$")
_FUNCTION = re.compile(r"\s*Function : (\S+)\s*$")
_NOISE = re.compile(
    r"\s*(?:\.{5,}|=+|Fatbin (?:elf|ptx) code:|(?:arch|code version|producer|host|compile_size|"
    r"identifier|compressed|has debug info|ptxasOptions) ?=?.*)\s*$"
)
_DIRECTIVE = re.compile(r"\s*\.(\w+)\b")
MAX_ERRORS = 50
"""Errors of a file after which nobody reads on."""
BRACES = frozenset("{} \t")


@dataclass(frozen=True, slots=True)
class Piece:
    """One instruction's text; `columns` gives the file's column of each character (1-based)."""

    text: str
    columns: tuple[int, ...]


@dataclass(slots=True)
class SassLine:
    """What one line of the file says.

    Attributes:
        number: line number, from 1.
        labels: labels defined there.
        directive: name without the dot, or "".
        argument: the directive's argument text.
        column: where the argument starts.
        pieces: instructions.
        control: their control group, when a notation gives it.
        address: the address in a comment before the text.
        words: words in comments: after instructions their words, alone a control word.
        alone: the line has nothing but such words.
        closes: the line ends with a closing brace instead of a semicolon.
    """

    number: int
    labels: list[str] = field(default_factory=list)
    directive: str = ""
    argument: str = ""
    column: int = 1
    pieces: list[Piece] = field(default_factory=list)
    control: Control | None = None
    address: int | None = None
    words: list[int] = field(default_factory=list)
    alone: bool = False
    closes: bool = False


class Reader:
    """Splits a file into `SassLine`s.

    Args:
        text: the file.
        path: its name, for messages.
    """

    def __init__(self, text: str, path: str | None) -> None:
        self.path = path
        self.errors: list[AssembleError] = []
        self._lines = text.splitlines()
        self._open = False

    def lines(self) -> Iterator[SassLine]:
        """The lines that say something; errors are noted, and the next line is read."""
        number = 0
        for number, raw in enumerate(self._lines, 1):
            try:
                line = self._line(number, raw)
            except AssembleError as e:
                self.note(e)
                continue
            if line is not None:
                yield line
        if self._open:
            self.note(self.error("the comment does not end", number, None, "'*/'"))

    def note(self, error: AssembleError) -> None:
        """Remember an error, so that the rest of the file is read for more.

        Raises:
            AssembleError: these are enough.
        """
        self.errors.append(error)
        if len(self.errors) >= MAX_ERRORS:
            raise AssembleError.of_all(self.errors, cut=True)

    def check(self) -> None:
        """Raise what was noted.

        Raises:
            AssembleError: all errors so far.
        """
        if self.errors:
            raise AssembleError.of_all(self.errors)

    def error(
        self, message: str, line: int, column: int | None, expected: str | None = None
    ) -> AssembleError:
        """An error at a place of the file."""
        return AssembleError(message, path=self.path, line=line, column=column, expected=expected)

    def _line(self, number: int, raw: str) -> SassLine | None:
        text, comments = self._strip(raw)
        line = SassLine(number)
        for column, comment in comments:
            if found := _WORD.match(comment):
                line.words.append(int(found[1], 16))
            elif (found := _ADDRESS.match(comment)) and not text[:column].strip():
                line.address = int(found[1], 16)
        if not text.strip():
            line.alone = True
            return line if line.words else None
        text = _ANNOTATION.sub(lambda m: " " * len(m[0]), text)
        if found := _CODE_FOR.match(text):
            line.directive, line.argument = "arch", found[1]
            return line
        if found := _FUNCTION.match(text):
            line.directive, line.argument = "kernel", found[1]
            return line
        if _NOISE.match(text):
            return None
        return self._statement(line, self._notation(line, text))

    def _strip(self, raw: str) -> tuple[str, list[tuple[int, str]]]:
        """The line with comments blanked out, and the comments with their columns."""
        out = []
        comments: list[tuple[int, str]] = []
        at = 0
        while at < len(raw):
            if self._open:
                end = raw.find("*/", at)
                stop = len(raw) if end < 0 else end + 2
                self._open = end < 0
                out.append(" " * (stop - at))
            elif raw.startswith("//", at):
                stop = len(raw)
            elif raw.startswith("/*", at):
                end = raw.find("*/", at + 2)
                stop = len(raw) if end < 0 else end + 2
                self._open = end < 0
                if end >= 0:
                    comments.append((at, raw[at + 2 : end]))
                out.append(" " * (stop - at))
            else:
                starts = [p for p in (raw.find("//", at), raw.find("/*", at)) if p >= 0]
                stop = min(starts, default=len(raw))
                out.append(raw[at:stop])
            at = stop
        return "".join(out).expandtabs(1), comments

    def _notation(self, line: SassLine, text: str) -> str:
        """Take the control notation off the text."""
        found = _NOTATION.search(text)
        if found is None:
            return text
        shown = found[0].strip("[] \t")
        if shown.count(":") == 4:
            shown += ":----"
        try:
            line.control = Control.parse(shown)
        except AssembleError as e:
            raise self.error(
                f"control notation {found[0].strip()!r}", line.number, found.start() + 1, e.expected
            ) from None
        return text[: found.start()] + " " * len(found[0]) + text[found.end() :]

    def _statement(self, line: SassLine, text: str) -> SassLine | None:
        start = 0
        while found := _LABEL.match(text, start):
            line.labels.append(found[1])
            start = found.end()
        directive = _DIRECTIVE.match(text, start)
        if directive and directive[1] != "word":
            line.directive = directive[1]
            rest = text[directive.end() :]
            line.argument = rest.strip().rstrip(";").strip()
            line.column = directive.end() + 1 + len(rest) - len(rest.lstrip())
            return line
        body = text[start:].rstrip()
        line.closes = body.endswith("}")
        at = start
        for part in body.split(";"):
            piece = Piece(part, tuple(range(at + 1, at + len(part) + 1)))
            if part.lstrip().startswith("&") and line.pieces:
                before = line.pieces[-1]
                line.pieces[-1] = Piece(
                    before.text + " " + part, (*before.columns, at, *piece.columns)
                )
            elif part and not BRACES.issuperset(part):
                line.pieces.append(piece)
            at += len(part) + 1
        return line if line.pieces or line.labels or line.words else None


def is_word(piece: Piece) -> bool:
    """Whether a piece is `.word ...`: an instruction among instructions, data among data."""
    return piece.text.lstrip().startswith(".word")


def as_directive(line: SassLine) -> SassLine:
    """The line of a `.word` as the directive it is among data."""
    (piece, *_) = line.pieces
    lead = len(piece.text) - len(piece.text.lstrip())
    argument = piece.text[lead + len(".word") :]
    column = piece.columns[lead] + len(".word") + len(argument) - len(argument.lstrip())
    return SassLine(line.number, directive="word", argument=argument.strip(), column=column)
