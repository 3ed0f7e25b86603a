"""Lists to choose from that hold with any input at any size, and the command palette with one.

Textual's list knows no lines while it has no room (a terminal of few rows) or is being filled anew:
a page up or down, and a click on a row that has gone, then end the application.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.command import CommandList, CommandPalette
from textual.events import Click
from textual.widgets import OptionList

if TYPE_CHECKING:
    _List = OptionList
else:
    # Textual takes the names that style a widget from its first base that is one.
    _List = object


class _Steady(_List):
    """A list without lines ignores pages, and clicks on what it no longer holds."""

    def action_page_up(self) -> None:
        """A page up."""
        if self._laid_out:
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """A page down."""
        if self._laid_out:
            super().action_page_down()  # type: ignore[no-untyped-call]

    @property
    def _laid_out(self) -> bool:
        """Whether the lines of all options are known."""
        return len(self._index_to_line) >= self.option_count > 0

    async def _on_click(self, event: Click) -> None:
        chosen = event.style.meta.get("option")
        if chosen is not None and chosen >= self.option_count:
            event.prevent_default()


class Choices(_Steady, OptionList):
    """A list to choose from."""


class PaletteChoices(_Steady, CommandList, can_focus=False):
    """The palette's list."""


class CommandChooser(CommandPalette):
    """The command palette over `PaletteChoices`."""

    def compose(self) -> ComposeResult:
        """Textual's own, with another list."""
        for widget in super().compose():
            yield PaletteChoices() if type(widget) is CommandList else widget
