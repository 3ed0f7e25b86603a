"""Help page: every action by group with its keys in the active map; type to filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Key

from gpudbg.frontends.tui.actions import ACTIONS, BY_NAME, GROUPS, TITLES, Action
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keymaps import keymap
from gpudbg.frontends.tui.keys import (
    Keys,
    bindings,
    help_keys,
    is_back,
    key_name,
    keys_of,
    keys_text,
    local,
    one_line,
    partner,
)
from gpudbg.frontends.tui.screens.card import CardFrame, CardScreen
from gpudbg.frontends.tui.text import Row, Span, fit, row

KEY_WIDTH = 9


def _groups(table: Keys, scope: str) -> Iterator[tuple[str, list[tuple[str, Action]]]]:
    """Title of each group, its actions and their keys; the screen's own group comes first."""
    if scope in TITLES:
        yield TITLES[scope], list(_with_keys(local(scope), table))
    everywhere = (*ACTIONS, *local("main"), *local("rows"))
    for group in GROUPS:
        chosen = (a for a in everywhere if (a.group or "Focus") == group)
        yield group, list(_with_keys(chosen, table))


def _with_keys(actions: Iterable[Action], table: Keys) -> Iterator[tuple[str, Action]]:
    """Keys of actions, both directions in one where there is room for both."""
    for action in actions:
        if action.help and not is_back(action):
            keys = help_keys(action, table)
            if len(keys) <= KEY_WIDTH + 1 or (other := partner(action)) is None:
                yield keys, action
                continue
            yield keys_text(keys_of(action, table), 1), action
            yield keys_text(keys_of(other, table), 1), other


def help_rows(
    map_name: str, scope: str, typed: str, columns: int, width: int, cut: str
) -> list[Row]:
    """Actions in columns; with text typed, only those that hold it."""
    table = keymap(map_name)
    items: list[tuple[str, str]] = []
    for group, actions in _groups(table, scope):
        chosen = [
            (keys, a.help)
            for keys, a in actions
            if typed.lower() in f"{a.help} {a.label} {keys}".lower()
        ]
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


class HelpScreen(CardScreen):
    """The help page."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("help")

    def __init__(self, appearance: Appearance, map_name: str, scope: str = "") -> None:
        super().__init__(appearance)
        self.map_name = map_name
        self.scope = scope
        self.typed = ""
        self._columns = 3
        self._top = 0
        self._room = 1

    def frame(self, width: int, height: int) -> CardFrame:
        """As wide as there is room, three columns from 110."""
        wide = min(width - 2, 112)
        self._columns = 3 if wide >= 100 else 2
        self._room = height - 3
        rows = self._rows(wide)
        shown, foot = self._shown(rows)
        return CardFrame(
            self.appearance, shown, wide, "you", f"Keys   {self.map_name} key map", foot
        )

    def _shown(self, rows: list[Row]) -> tuple[list[Row], str]:
        """The rows that fit from where the page was scrolled to, and the words below them."""
        self._top = max(0, min(self._top, len(rows) - self._room))
        below = len(rows) - self._top - self._room
        down, up = (key_name(BY_NAME[f"help.page_{side}"].keys) for side in ("next", "back"))
        keys = f"{down} {below} more rows   " if below > 0 else f"{up}   " if self._top else ""
        foot = f"{keys}type to search   {one_line('card', {})}"
        return rows[self._top :][: self._room], foot

    def _rows(self, width: int) -> list[Row]:
        found = help_rows(
            self.map_name, self.scope, self.typed, self._columns, width, self.appearance.glyphs.cut
        )
        head = row((f" search: {self.typed}", "now")) if self.typed else Row()
        return [head, *(found or [row((" nothing is called that", "muted"))])]

    def on_key(self, event: Key) -> None:
        """Filter by what is typed."""
        if event.is_printable and event.character:
            event.stop()
            self.typed += event.character
            self._filter()

    def action_erase(self) -> None:
        """Delete a letter of the filter."""
        self.typed = self.typed[:-1]
        self._filter()

    def action_clear(self) -> None:
        """Clear the filter."""
        self.typed = ""
        self._filter()

    def _filter(self) -> None:
        self._top = 0
        self.action_scroll(0)

    def action_scroll(self, by: int) -> None:
        """Rows up or down, where not all of them fit."""
        self._top += by
        frame = self.query_one(CardFrame)
        shown, frame.foot = self._shown(self._rows(frame.frame_width))
        frame.replace(shown)
