"""Notes: a shipped story told beside its program; Enter on a command carries it out."""

from __future__ import annotations

import textwrap

from gpudbg.debug.stories import Story
from gpudbg.frontends.tui.look import Look
from gpudbg.frontends.tui.text import Row, row
from gpudbg.frontends.tui.view import View
from gpudbg.frontends.tui.widgets.base import Content, LinePane


def wrapped(text: str, width: int, style: str = "text") -> list[Row]:
    """A paragraph as rows."""
    indent = "   " if text.startswith("* ") else " "
    parts = textwrap.wrap(text, max(width - 2, 20), subsequent_indent=indent[1:])
    return [row((f" {part}", style)) for part in parts] or [Row()]


def paragraphs(lines: tuple[str, ...]) -> list[str]:
    """Lines of Markdown joined to paragraphs and list entries."""
    out: list[str] = []
    for line in lines:
        text = line.strip().replace("`", "")
        if out and out[-1] and text and not text.startswith(("* ", "- ", "#")):
            out[-1] += " " + text
        else:
            out.append(text)
    return out


class NotesPane(LinePane):
    """See the module text."""

    number, title, pane = "H", "Notes", "notes"
    empty = "These are your own programs: no story is told about them. `G` lists the stories."

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self.story: Story | None = None
        self.done: set[int] = set()

    def tell(self, story: Story | None) -> None:
        """Another story, or none."""
        self.story, self.done, self.top, self.cursor = story, set(), 0, None
        self.redraw()

    def content(self, view: View, width: int, height: int) -> Content:
        """Notes, then the story: narration and its commands."""
        story = self.story
        if story is None:
            return Content(())
        g = self.look.glyphs
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
                number += 1
        return Content(rows, "Enter runs a command" if number else "")

    def ran(self, number: int) -> None:
        """A command was carried out: mark it, go to the next."""
        self.done.add(number)
        self.redraw()
        self.action_move(1)
