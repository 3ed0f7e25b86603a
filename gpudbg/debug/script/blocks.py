"""Lines of commands to statements; blocks (`if`, `while`, `define` …) go up to `end`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError

MAX_NESTING = 200
"""Blocks inside each other."""

_HEAD = re.compile(
    r"(if|while|define|document|commands?|python|py|guile|gu)(?![\w.-])\s*(.*)", re.S
)
_KINDS = {"command": "commands", "py": "python", "guile": "python", "gu": "python"}
RAW = ("document", "python")
"""Blocks whose lines are text."""


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """A command line: its text, and its file and line ("" and 0 where it was typed)."""

    text: str
    file: str = ""
    number: int = 0

    @property
    def place(self) -> str:
        """`FILE:LINE: `, or nothing."""
        return f"{self.file}:{self.number}: " if self.file else ""


@dataclass(slots=True)
class ScriptBlock:
    """A block; `other` is what stands behind `else`."""

    kind: str
    argument: str
    head: ScriptLine
    body: list[Statement] = field(default_factory=list)
    other: list[Statement] | None = None

    def add(self, statement: Statement) -> None:
        """One more statement."""
        (self.body if self.other is None else self.other).append(statement)


Statement = ScriptLine | ScriptBlock


def head_of(text: str) -> tuple[str, str] | None:
    """(kind, argument) of a line that begins a block."""
    match = _HEAD.match(text.strip())
    if match is None:
        return None
    kind = _KINDS.get(match[1], match[1])
    if kind == "python" and match[2]:
        return None
    return kind, match[2].strip()


class BlockReader:
    """Takes lines, gives whole statements.

    A line that ends in a backslash goes on in the next one, where lines can be joined (gdb does
    not under MI).  Empty lines and lines that begin with `#` count in text blocks only.
    """

    def __init__(self, file: str = "", joins: bool = True) -> None:
        self.file = file
        self._joins = joins
        self._open: list[ScriptBlock] = []
        self._held = ""
        self._from = 0

    @property
    def pending(self) -> bool:
        """Whether more lines have to follow."""
        return bool(self._open or self._held)

    @property
    def opened(self) -> ScriptLine | None:
        """The line that began the outermost open block."""
        return self._open[0].head if self._open else None

    def clear(self) -> None:
        """Forget what is open."""
        self._open.clear()
        self._held = ""

    def feed(self, text: str, number: int = 0) -> Statement | None:
        """One more line; the statement that it completes.

        Raises:
            CommandError: `else` or `end` out of place, or blocks that nest too deeply.
        """
        if self._joins and text.endswith("\\") and not text.endswith("\\\\"):
            self._from = self._from if self._held else number
            self._held += text[:-1]
            return None
        if self._held:
            text, number, self._held = self._held + text, self._from, ""
        inside = self._open[-1] if self._open else None
        if inside is not None and inside.kind in RAW:
            if text.strip() == "end":
                return self._close()
            inside.body.append(ScriptLine(text, self.file, number))
            return None
        line = ScriptLine(text.lstrip(), self.file, number)
        word = text.strip()
        if not word or word[0] == "#":
            return None
        if word == "end" and inside is not None:
            return self._close()
        if word == "else" and inside is not None and inside.kind == "if":
            if inside.other is not None:
                self._fail(line, "a second `else`")
            inside.other = []
            return None
        head = head_of(word)
        if head is not None:
            if len(self._open) >= MAX_NESTING:
                self._fail(line, f"blocks nest more than {MAX_NESTING} deep")
            self._open.append(ScriptBlock(*head, line))
            return None
        if inside is not None:
            inside.add(line)
            return None
        return line

    def finish(self) -> Statement | None:
        """No line follows.

        Raises:
            CommandError: a block is open.
        """
        held, self._held = self._held, ""
        if held:
            return self.feed(held, self._from)
        if self._open:
            head = self._open[-1].head
            self._open.clear()
            raise CommandError(f"{head.place}{short(head.text)}: there is no `end` to it")
        return None

    def _close(self) -> Statement | None:
        block = self._open.pop()
        if not self._open:
            return block
        self._open[-1].add(block)
        return None

    def _fail(self, line: ScriptLine, why: str) -> None:
        self.clear()
        raise CommandError(f"{line.place}{short(line.text)}: {why}")


def short(text: str, most: int = 80) -> str:
    """A line for a message."""
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text.strip())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def statements(texts: Sequence[str], file: str = "") -> list[Statement]:
    """The statements of some lines.

    Raises:
        CommandError: as `BlockReader.feed` and `BlockReader.finish`.
    """
    reader = BlockReader(file)
    found = [reader.feed(text, number) for number, text in enumerate(texts, 1)]
    found.append(reader.finish())
    return [one for one in found if one is not None]


def shown_lines(body: Sequence[Statement], indent: int = 0) -> Iterator[str]:
    """Statements as text, blocks indented."""
    waiting: list[tuple[Statement | str, int]] = [(one, indent) for one in reversed(body)]
    while waiting:
        one, depth = waiting.pop()
        lead = "  " * depth
        if isinstance(one, str):
            yield lead + one
        elif isinstance(one, ScriptLine):
            yield lead + one.text
        else:
            yield f"{lead}{one.kind} {one.argument}".rstrip()
            raw = one.kind in RAW
            waiting.append(("end", depth))
            if one.other is not None:
                waiting += [(o, depth + 1) for o in reversed(one.other)]
                waiting.append(("else", depth))
            waiting += [(o, 0 if raw else depth + 1) for o in reversed(one.body)]
