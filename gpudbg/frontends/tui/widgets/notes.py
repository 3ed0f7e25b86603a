"""Notes: a shipped story beside its program; Enter on a command carries it out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from gpudbg.debug import Story
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.text import Row, Span, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane

RESULT: Final = 12
"""Lines of a command's result that are shown under it."""


def wrapped(text: str, width: int, style: str = "text") -> list[Row]:
    """A paragraph as rows; what stands in backquotes is what one can type, without them."""
    indent = "   " if text.startswith("* ") else " "
    pieces = text.split("`") if text.count("`") % 2 == 0 else [text]
    plain = "".join(pieces)
    code = [n % 2 == 1 for n, piece in enumerate(pieces) for _ in piece]
    parts = textwrap.wrap(plain, max(width - 2, 20), subsequent_indent=indent[1:])
    rows = []
    at = 0
    for part in parts:
        spans: list[Span] = [(" ", style)]
        for letter in part:
            # The wrapped text has lost some blanks and got an indent.
            while at < len(plain) and plain[at] != letter and plain[at].isspace():
                at += 1
            same = at < len(plain) and plain[at] == letter
            spans.append((letter, "you" if same and code[at] else style))
            at += same
        rows.append(row(*_joined(spans)))
    return rows or [Row()]


def _joined(spans: Sequence[Span]) -> Iterator[Span]:
    """Letters of one style together."""
    for style, letters in groupby(spans, key=lambda span: span[1]):
        yield "".join(letter for letter, _ in letters), style


def paragraphs(lines: tuple[str, ...]) -> list[str]:
    """Lines of Markdown joined to paragraphs and list entries."""
    out: list[str] = []
    for line in lines:
        text = line.strip()
        if out and out[-1] and text and not text.startswith(("* ", "- ", "#")):
            out[-1] += " " + text
        else:
            out.append(text)
    return out


class NotesPane(LinePane):
    """See the module text."""

    number, title, pane = "H", "Notes", "notes"
    empty = "These are your own programs: no story is told about them. `G` lists the stories."

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.story: Story | None = None
        self.done: set[int] = set()
        self.results: dict[int, tuple[tuple[str, ...], str]] = {}
        self._asked: int | None = None

    def tell(self, story: Story | None) -> None:
        """Another story, or none."""
        self.story, self.done, self.top, self.cursor = story, set(), 0, None
        self.results, self._asked = {}, None
        self.redraw()

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Notes, then the story: narration and its commands."""
        story = self.story
        if story is None:
            return Content(())
        g = self.appearance.glyphs
        rows = [row((f" {story.title}", "text.b"))]
        for text in paragraphs(story.notes):
            rows += wrapped(text, width, "muted")
        number = 0
        for beat in story.beats:
            rows += [Row(), *wrapped(beat.text, width)] if beat.text else [Row()]
            for command in beat.commands:
                mark = g.changed if number in self.done else g.pc
                style = "dim" if number in self.done else "you"
                key = ("story", number, command)
                rows.append(row((f"  {mark} ", style), (command, style), key=key))
                rows += self._result(number, width)
                number += 1
        return Content(rows, "Enter runs a command" if number else "")

    def _result(self, number: int, width: int) -> list[Row]:
        """What a command answered, under it."""
        lines, error = self.results.get(number, ((), ""))
        rows = [row((f"    {line}", "text")) for line in lines[:RESULT]]
        if len(lines) > RESULT:
            words = (
                f"    {self.appearance.glyphs.cut} {len(lines) - RESULT} more lines in the console"
            )
            rows.append(row((words, "dim")))
        return rows + [row((f"    {line}", "stop")) for line in error.splitlines()]

    @property
    def awaits(self) -> bool:
        """Whether a command of the story is being carried out."""
        return self._asked is not None

    def ran(self, number: int) -> None:
        """A command is carried out: mark it, go to the next."""
        self.done.add(number)
        self._asked = number
        self.redraw()
        self.action_move(1)

    def answer(self, lines: Sequence[str], error: str) -> None:
        """The end of a command: what it said is shown under it, if it is the one of the story."""
        number, self._asked = self._asked, None
        if number is None:
            return
        self.results[number] = tuple(lines), error
        here = self.key
        self.redraw()
        for at, line in enumerate(self._content.rows):
            if line.key == here and here is not None:
                self.cursor = at
        self._place(number)
        self.redraw()

    def _place(self, number: int) -> None:
        """Scroll so that a command, its result and what comes next are in sight; where there is
        no room for all of it, from the command on."""
        rows = self._content.rows
        first = next((n for n, r in enumerate(rows) if r.key and r.key[1] == number), 0)  # type: ignore[index]
        last = self.cursor if self.cursor is not None and self.cursor > first else len(rows) - 1
        # The last row of the body says how much is below.
        self.top = min(max(self.top, last - self.body + 2), first)
        self.top = max(0, min(self.top, len(rows) - self.body))

    def action_open(self) -> None:
        """Enter: on text above a command, go to the command first."""
        if self.key is None:
            self.action_move(1)
        else:
            super().action_open()

    def out_of_sight(self) -> bool:
        """Whether the cursor's command is not seen; then it comes into sight."""
        if self.cursor is None:
            return False
        before = self.top
        self.reveal(self.cursor)
        self.redraw()
        return self.top != before
