"""Console pane: answers above, a prompt below, with completion and history."""

from __future__ import annotations

import re
import textwrap
from collections import deque
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Paste
from textual.strip import Strip
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input

from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.text import Row, row, strip
from gpudbg.frontends.tui.view import Running, ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane

PROMPT = " (gpudbg) "
AROUND_ANSWER = 2
"""Rows of the console beside the answers: the title, the prompt."""
KEPT_LINES = 5000
KEPT_HISTORY = 1000

Complete = Callable[[str], list[str]]


class History:
    """Lines typed before; up and down walk the ones that begin as the typed text does."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._at: int | None = None
        self._typed = ""

    def add(self, line: str) -> None:
        """A line was entered."""
        if line.strip() and (not self.lines or self.lines[-1] != line):
            self.lines = [*self.lines[-KEPT_HISTORY + 1 :], line]
        self._at = None

    def walk(self, by: int, typed: str) -> str | None:
        """The next line up (-1) or down (1); None where there is none."""
        if self._at is None:
            self._typed, self._at = typed, len(self.lines)
        at = self._at + by
        while 0 <= at < len(self.lines) and not self.lines[at].startswith(self._typed):
            at += by
        if at < 0:
            return None
        self._at = min(at, len(self.lines))
        return self.lines[self._at] if self._at < len(self.lines) else self._typed

    def reset(self) -> None:
        """The text was edited: walk from the end again."""
        self._at = None


class Newest(Suggester):
    """Suggests the newest line of history that begins as typed, else a command's completion."""

    def __init__(self, history: History, complete: Complete) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._history = history
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        """The rest of the line, dim behind the cursor."""
        if not value.strip():
            return None
        for line in reversed(self._history.lines):
            if line.startswith(value) and line != value:
                return line
        found = self._complete(value)
        return found[0] if found and found[0].startswith(value) else None


class Prompt(Input):
    """The line being typed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("prompt")

    def __init__(self, history: History, complete: Complete) -> None:
        super().__init__(
            id="prompt", compact=True, suggester=Newest(history, complete), select_on_focus=False
        )
        self.cursor_blink = False
        self._history = history
        self._complete = complete

    def action_walk(self, by: int) -> None:
        """History."""
        found = self._history.walk(by, self.value)
        if found is not None:
            self.value = found
            self.cursor_position = len(found)

    def action_cursor_left(self, select: bool = False) -> None:
        """Move the cursor left; in an empty line, pan the answers to the left."""
        if self.value:
            super().action_cursor_left(select)
        else:
            self.screen.query_one(ConsolePane).answers.action_pan(-1)

    def action_cursor_right(self, select: bool = False) -> None:
        """Move the cursor right; in an empty line, pan the answers to the right."""
        if self.value:
            super().action_cursor_right(select)
        else:
            self.screen.query_one(ConsolePane).answers.action_pan(1)

    def action_clear_line(self) -> None:
        """Drop what is typed."""
        self.value = ""

    def action_complete(self) -> None:
        """Extend to what all completions share; list them when that adds nothing."""
        found = self._complete(self.value)
        if not found:
            return
        common = found[0]
        for text in found[1:]:
            while not text.startswith(common):
                common = common[:-1]
        if len(common) > len(self.value):
            closed = len(found) == 1 and not common.endswith(("(", ":", "["))
            self.value = common + (" " if closed else "")
            self.cursor_position = len(self.value)
        elif len(found) > 1:
            console = self.screen.query_one(ConsolePane)
            words = [f.rsplit(" ", 1)[-1] if " " in self.value else f for f in found]
            more = f"  … {len(words) - 40} more" if len(words) > 40 else ""
            console.answers.begin()
            console.log_lines(["  ".join(words[:40]) + more], "muted")
            self.post_message(messages.Listed())

    def action_scroll_answers(self, by: int) -> None:
        """A page of the answers up or down, while typing."""
        answers = self.screen.query_one(ConsolePane).answers
        answers.scroll(by * max(answers.body - 1, 1))
        answers.redraw()

    def action_leave(self) -> None:
        """Back to the pane the user came from."""
        self.screen.query_one(ConsolePane).leave()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A line was entered; an empty one repeats, as in gdb."""
        event.stop()
        # `:` opens the prompt; where it is open already, the key is typed.
        self.post_message(messages.CommandEntered(event.value.lstrip(": ")))

    def taken(self, line: str) -> None:
        """The line is carried out: it goes from the prompt to the history."""
        self._history.add(line)
        self.value = ""

    def _on_paste(self, event: Paste) -> None:
        """Several lines are entered one by one; what follows the last line's end is typed."""
        *lines, last = event.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if not lines:
            # Textual goes on to the method of the base class.
            return
        event.prevent_default()
        event.stop()
        self.insert_text_at_cursor(lines[0])
        self.post_message(messages.LinesPasted([self.value, *lines[1:]], last))

    def watch_value(self, value: str) -> None:
        """Edited text starts a new walk unless the walk itself wrote it."""
        if value not in self._history.lines:
            self._history.reset()


COLUMNS = re.compile(r"\S {2,}(?=\S)")
"""The gap between two columns of a table."""


def is_table(text: str) -> bool:
    """Whether a line is a row of a table: wrapped, its columns would not stand under the others."""
    return len(COLUMNS.findall(text)) >= 2


def wrap(line: Row, width: int, pan: int = 0) -> list[Row]:
    """A long answer over several rows, the later ones indented; short ones as they are.

    Rows of tables stay one row each, without their first `pan` columns.
    """
    text = line.text
    if is_table(text):
        return [row((text[pan:], line.spans[-1][1]))] if pan else [line]
    if len(text) <= width or width < 24:
        return [line]
    style = line.spans[-1][1]
    parts = textwrap.wrap(
        text, width, subsequent_indent="     ", drop_whitespace=False, break_on_hyphens=False
    )
    return [row((part, style)) for part in parts]


class LogPane(LinePane):
    """The answers."""

    number, title, pane = "6", "Console", "log"
    can_focus = True
    BINDINGS: ClassVar[list[BindingType]] = bindings("log")

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.lines: deque[Row] = deque(maxlen=KEPT_LINES)
        self._count = 0
        self._asked: Row | None = None
        self.pan = 0

    def action_pan(self, by: int) -> None:
        """Pan tables wider than the pane by half its width, `by` times (negative: left)."""
        widest = max((len(r.text) for r in self.lines if is_table(r.text)), default=0)
        half = max(self.size.width // 2, 1)
        self.pan = max(0, min(self.pan + by * half, -(-(widest - self.size.width) // half) * half))
        self.redraw()

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Everything said so far."""
        rows: list[Row] = []
        start = 0
        for line in self.lines:
            if line is self._asked:
                start = len(rows) + 1
            rows += wrap(line, width, self.pan)
        if len(rows) != self._count:
            self._count = len(rows)
            self.top = len(rows)
        # Of the last answer: what came before is as old as it is long.
        above = max(0, min(self.top, len(rows) - height)) - start
        more = f"{above} more above  PgUp" if above > 0 and self._asked is not None else ""
        seen = rows[max(min(self.top, len(rows) - height), 0) :][:height]
        if self.pan or any(len(r.text) > width for r in seen):
            arrows = "Left Right" if self.appearance.glyphs.name == "ascii" else "\u2190 \u2192"
            more = f"{arrows} other columns   {more}".rstrip()
        return Content(rows, more)

    def ask(self, line: Row) -> None:
        """A command: the answer begins here."""
        self._asked = line
        self.say([line])

    def begin(self) -> None:
        """An answer to a key begins behind what was said."""
        self._asked = self.lines[-1] if self.lines else None

    def answer(self, width: int) -> tuple[int, bool]:
        """Rows that the last answer needs with its command; whether its tables are wider."""
        lines = list(self.lines)
        start = next((n for n, line in enumerate(lines) if line is self._asked), 0)
        rows = sum(len(wrap(line, width)) for line in lines[start:])
        return rows, any(len(r.text) > width and is_table(r.text) for r in lines[start:])

    def say(self, rows: list[Row]) -> None:
        """Add rows and show the last one, from its first column."""
        self.pan = 0
        self.lines.extend(rows)
        self.top = len(self.lines)
        self.redraw()

    def show(self, view: ScreenView, running: Running | None = None) -> None:
        """Answers never grow old: they stay readable while the machine runs."""
        super().show(view, None)

    @property
    def place_name(self) -> str:
        """The answers and the prompt are one pane."""
        return ConsolePane.pane

    def body_row(self, index: int, y: int) -> Row:
        """No `more` note: the newest line is at the bottom."""
        rows = self._content.rows
        return rows[index] if 0 <= index < len(rows) else Row()

    def sized(self) -> None:
        """Keep the newest line in view."""
        # Lines may take several rows each: `content` counts them and goes to the last one.
        self._count = -1
        self._drawn = []
        self.redraw()


class PromptMark(Widget):
    """`(gpudbg)` before the prompt."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.appearance = appearance

    def render_line(self, y: int) -> Strip:
        """The mark."""
        return strip(row((PROMPT, "you")), len(PROMPT), self.appearance.palette, "")


class ConsolePane(Vertical):
    """Answers and prompt."""

    pane = "console"

    def __init__(
        self, appearance: Appearance, complete: Complete, like: ConsolePane | None = None
    ) -> None:
        """`like`: another screen's, whose answers and history this one shares."""
        super().__init__(id="pane-console")
        self.appearance = appearance
        self.history: History = History() if like is None else like.history
        self.answers = LogPane(appearance)
        if like is not None:
            self.answers.lines = like.answers.lines
        self.prompt = Prompt(self.history, complete)
        self._from: Widget | None = None

    def compose(self) -> ComposeResult:
        """Answers, then the prompt's row."""
        yield self.answers
        with Horizontal():
            yield PromptMark(self.appearance)
            yield self.prompt

    def show(self, view: ScreenView, running: Running | None = None) -> None:
        """The title follows the run."""
        self.answers.show(view, running)

    def enter(self, text: str = "") -> None:
        """Type here; Esc returns to where the focus was."""
        if self.screen.focused is not self.prompt:
            self._from = self.screen.focused
        if text:
            self.prompt.value = text
            self.prompt.cursor_position = len(text)
        # At once: text typed right behind the key must not go to the old pane.
        self.screen.set_focus(self.prompt)

    def leave(self) -> None:
        """Esc."""
        target = self._from if self._from is not None and self._from.is_attached else None
        if target is None or not target.display:
            target = self._elsewhere()
        self.screen.set_focus(target)

    def _elsewhere(self) -> Widget:
        """Where Esc leads when the prompt was clicked: the code pane, else the screen's first."""
        panes = [p for p in self.screen.query(LinePane) if p.display and p is not self.answers]
        # Without another pane the console has the whole screen: its answers take the keys.
        first = panes[0] if panes else self.answers
        return next((p for p in panes if p.id == "pane-code"), first)

    def rows_of_answer(self, width: int) -> tuple[int, bool]:
        """Rows of a console of a width that shows the last answer whole; whether it is a table
        that is wider."""
        rows, wider = self.answers.answer(width)
        return rows + AROUND_ANSWER, wider

    def log_lines(self, lines: list[str], role: str = "text") -> None:
        """Answers of a command."""
        self.answers.say([row((f" {line}", role)) for line in lines])

    def log_command(self, line: str) -> None:
        """The command as it was entered."""
        self.answers.ask(row((PROMPT, "you"), (line, "text")))

    def restyle(self) -> None:
        """Draw again after a change of theme."""
        self.answers.restyle()
        self.query_one(PromptMark).refresh()
