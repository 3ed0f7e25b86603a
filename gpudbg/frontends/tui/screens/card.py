"""Card: a floating frame of rows over the main screen; Esc closes exactly one thing."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.text import Row, Span, lay_out, row, strip

LEAST = (40, 8)
"""Columns and rows a frame is laid out for at least."""


class CardFrame(Widget, can_focus=True):
    """Rows inside a box."""

    def __init__(
        self,
        appearance: Appearance,
        rows: list[Row],
        width: int,
        role: str,
        title: str = "",
        foot: str = "",
    ) -> None:
        super().__init__(id="frame")
        self.appearance = appearance
        self.rows = rows
        self.frame_width = width
        self.role = role
        self.heading = title
        self.foot = foot
        self.styles.width = width
        self.styles.height = len(rows) + 2

    def replace(self, rows: list[Row]) -> None:
        """Replace the rows in the frame."""
        self.appearance.changes += rows != self.rows
        self.rows = rows
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Top, a row between two sides, or bottom."""
        g, width = self.appearance.glyphs, self.frame_width
        if y == 0:
            return self._edge(g.top_left, g.top_right, self.heading)
        if y == self.size.height - 1:
            return self._edge(g.low_left, g.low_right, self.foot)
        line = self.rows[y - 1] if y - 1 < len(self.rows) else Row()
        inner = lay_out(line, width - 2, g.cut)
        side: Span = (g.column, self.role)
        return strip(Row((side, *inner, side)), width, self.appearance.palette, g.cut)

    def _edge(self, left: str, right: str, words: str) -> Strip:
        g, width = self.appearance.glyphs, self.frame_width
        text = f"{g.rule} {words} " if words else ""
        return strip(
            row(
                (left, self.role),
                (text, "muted" if words else self.role),
                (g.rule * (width - 2 - len(text)), self.role),
                (right, self.role),
            ),
            width,
            self.appearance.palette,
            g.cut,
        )

    @property
    def texts(self) -> list[str]:
        """The card as bare text."""
        return [r.text.rstrip() for r in self.rows]


class CardScreen(ModalScreen[str | None]):
    """A modal screen with one frame; subclasses give its rows."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("card")

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.appearance = appearance

    def frame(self, width: int, height: int) -> CardFrame:
        """The frame for a terminal of this size."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The frame."""
        # On a smaller terminal the frame is clipped, as every pane is.
        width, height = self.app.size
        yield self.frame(max(width, LEAST[0]), max(height, LEAST[1]))

    def action_close(self) -> None:
        """Esc."""
        self.dismiss(None)

    def on_click(self, event: object) -> None:
        """A click beside the card closes it."""
        if getattr(event, "widget", None) is self:
            self.dismiss(None)
