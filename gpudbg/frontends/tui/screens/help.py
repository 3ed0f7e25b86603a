"""Help page: every action by group with its keys in the active map; type to filter."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key

from gpudbg.frontends.tui.actions import ACTIONS, GROUPS, Action, keys_text
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keymaps import keymap
from gpudbg.frontends.tui.screens.card import Card, Frame
from gpudbg.frontends.tui.text import Row, Span, fit, row

KEY_WIDTH = 9


def _paired(table: dict[str, str]) -> list[tuple[Action, str]]:
    """Actions with their keys; `x_back` joins the row of `x_next`."""
    out = []
    for a in ACTIONS:
        if a.id.endswith("_back"):
            continue
        keys = keys_text(table[a.id])
        other = a.id.removesuffix("_next") + "_back"
        if a.id.endswith("_next") and other in table:
            keys = f"{keys_text(table[a.id], 1)} {keys_text(table[other], 1)}"
        out.append((a, keys))
    return out


def help_rows(map_name: str, typed: str, columns: int, width: int, cut: str) -> list[Row]:
    """Actions in columns; with text typed, only those that hold it."""
    table = keymap(map_name)
    items: list[tuple[str, str]] = []
    for group in GROUPS:
        chosen = [
            (keys, a.help)
            for a, keys in _paired(table)
            if a.group == group and typed.lower() in f"{a.help} {a.label} {keys}".lower()
        ]
        if group == "Focus" and not typed:
            chosen += [("0 - 9", "pane by number"), ("j k", "rows"), ("Enter", "open, follow")]
        if chosen:
            items += [("", group), *chosen, ("", "")]
    per = -(-len(items) // columns)
    cell = (width - 4) // columns
    rows = []
    for n in range(per):
        spans: list[Span] = [(" ", "text")]
        for c in range(columns):
            at = c * per + n
            keys, words = items[at] if at < len(items) else ("", "")
            if keys:
                spans += [
                    (f"{keys:{KEY_WIDTH}} ", "you.b"),
                    (fit(words, cell - KEY_WIDTH - 2, cut) + " ", "text"),
                ]
            else:
                spans.append((f"{words:{cell}}", "text.b"))
        rows.append(row(*spans))
    return rows


class HelpScreen(Card):
    """The help page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "close", show=False),
        Binding("ctrl+u", "clear", "clear", show=False),
        Binding("backspace", "erase", "erase", show=False),
        Binding("down", "scroll(1)", "down", show=False),
        Binding("up", "scroll(-1)", "up", show=False),
        Binding("pagedown", "scroll(10)", "page down", show=False),
        Binding("pageup", "scroll(-10)", "page up", show=False),
    ]

    def __init__(self, appearance: Appearance, map_name: str) -> None:
        super().__init__(appearance)
        self.map_name = map_name
        self.typed = ""
        self._columns = 3
        self._top = 0
        self._room = 1

    def frame(self, width: int, height: int) -> Frame:
        """As wide as there is room, three columns from 110."""
        wide = min(width - 2, 112)
        self._columns = 3 if wide >= 100 else 2
        self._room = height - 3
        rows = self._rows(wide)
        shown, foot = self._shown(rows)
        return Frame(self.appearance, shown, wide, "you", f"Keys   {self.map_name} key map", foot)

    def _shown(self, rows: list[Row]) -> tuple[list[Row], str]:
        """The rows that fit from where the page was scrolled to, and the words below them."""
        self._top = max(0, min(self._top, len(rows) - self._room))
        below = len(rows) - self._top - self._room
        keys = f"PgDn {below} more rows   " if below > 0 else "PgUp   " if self._top else ""
        return rows[self._top :][: self._room], f"{keys}type to search   Esc closes"

    def _rows(self, width: int) -> list[Row]:
        found = help_rows(
            self.map_name, self.typed, self._columns, width, self.appearance.glyphs.cut
        )
        head = row((f" search: {self.typed}", "now")) if self.typed else Row()
        return [head, *(found or [row((" nothing is called that", "muted"))])]

    def on_key(self, event: Key) -> None:
        """Typing filters."""
        if event.is_printable and event.character:
            event.stop()
            self.typed += event.character
            self._filter()

    def action_erase(self) -> None:
        """Take back a letter."""
        self.typed = self.typed[:-1]
        self._filter()

    def action_clear(self) -> None:
        """Take back all of it."""
        self.typed = ""
        self._filter()

    def _filter(self) -> None:
        self._top = 0
        self.action_scroll(0)

    def action_scroll(self, by: int) -> None:
        """Rows up or down, where not all of them fit."""
        self._top += by
        frame = self.query_one(Frame)
        shown, frame.foot = self._shown(self._rows(frame.frame_width))
        frame.replace(shown)
