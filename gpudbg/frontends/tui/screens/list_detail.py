"""ListDetailScreen: a side screen with a list, its chosen entry in full, and the key row below."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.events import Resize

from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.layout import Rect
from gpudbg.frontends.tui.screens.board import Board
from gpudbg.frontends.tui.screens.side import SideScreen
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.chrome import KeyRow


class ListDetailScreen(SideScreen):
    """See the module text.

    Attributes:
        list_pane, about: the list, and the pane of the chosen entry.
    """

    KEYS: ClassVar[str]
    """Id of the key row."""
    WIDE: ClassVar[int]
    """Columns from which the panes stand beside each other; else the list is above."""
    LIST_PART: ClassVar[tuple[float, float]]
    """Part of the columns, and of the rows, that the list gets."""

    list_pane: LinePane
    about: LinePane

    def compose(self) -> ComposeResult:
        """Yield the list, the entry in full, and the keys."""
        yield Board(self.list_pane, self.about, KeyRow(self.appearance, self.KEYS))

    def on_mount(self) -> None:
        """Show the first picture, with the first entry chosen."""
        self.show_keys()
        super().on_mount()

    def on_resize(self, event: Resize) -> None:
        """Place the panes for the new size."""
        self.query_one(Board).place(self._places())
        if self.main.current is not None:
            self.show(self.main.current, None)

    def _places(self) -> dict[str, Rect]:
        width, rows = self.size[0], self.size[1] - 1
        chosen, full = (pane.id or "" for pane in (self.list_pane, self.about))
        places: dict[str, Rect] = {self.KEYS: (0, rows, width, 1)}
        if width >= self.WIDE:
            left = int(width * self.LIST_PART[0])
            places[chosen], places[full] = (0, 0, left, rows), (left, 0, width - left, rows)
        else:
            top = max(int(rows * self.LIST_PART[1]), 4)
            places[chosen], places[full] = (0, 0, width, top), (0, top, width, rows - top)
        return places

    def show_chosen(self) -> None:
        """Show the entry under the cursor in full."""
        raise NotImplementedError

    def on_row_clicked(self, event: messages.RowClicked) -> None:
        """Choose the clicked entry."""
        event.stop()
        self.show_chosen()
