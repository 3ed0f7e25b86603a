"""Help page: every action by group with its keys in the active map; type to filter."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key

from gpudbg.frontends.tui.actions import ACTIONS, GROUPS, Action, keys_text
from gpudbg.frontends.tui.keymaps import keymap
from gpudbg.frontends.tui.look import Look
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
        Binding("backspace", "erase", "erase", show=False),
    ]

    def __init__(self, look: Look, map_name: str) -> None:
        super().__init__(look)
        self.map_name = map_name
        self.typed = ""
        self._columns = 3

    def frame(self, width: int, height: int) -> Frame:
        """As wide as there is room, three columns from 110."""
        wide = min(width - 2, 112)
        self._columns = 3 if wide >= 100 else 2
        rows = self._rows(wide)[: height - 3]
        return Frame(
            self.look,
            rows,
            wide,
            "you",
            f"Keys   {self.map_name} key map",
            "type to search   Esc closes",
        )

    def _rows(self, width: int) -> list[Row]:
        found = help_rows(self.map_name, self.typed, self._columns, width, self.look.glyphs.cut)
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

    def _filter(self) -> None:
        frame = self.query_one(Frame)
        frame.replace(self._rows(frame.frame_width))

    def action_close(self) -> None:
        """Esc: first the filter, then the page."""
        if self.typed:
            self.typed = ""
            self._filter()
        else:
            self.dismiss(None)
