"""Board: the widget that holds all panes and puts each where the arrangement says."""

from __future__ import annotations

from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.strip import Strip
from textual.widget import Widget

from gpudbg.frontends.tui.layout import Rect
from gpudbg.frontends.tui.widgets.drawn import Drawn


class BoardLayout(Layout):
    """Children at the rectangles of `Board.places`."""

    name = "board"

    def arrange(
        self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True
    ) -> ArrangeResult:
        """Placements of the children that have a place."""
        assert isinstance(parent, Board)
        out = []
        for child in children:
            place = parent.places.get(child.id or "")
            if place is not None:
                out.append(WidgetPlacement(Region(*place), NULL_OFFSET, NULL_SPACING, child))
        return out


class Board(Drawn):
    """See the module text."""

    _blank: Strip | None = None

    def __init__(self, *children: Widget) -> None:
        super().__init__(*children, id="board")
        self.places: dict[str, Rect] = {}
        self._board_layout = BoardLayout()

    @property
    def layout(self) -> Layout:
        """Our own."""
        return self._board_layout

    def sized(self) -> None:
        """The children have their places by the arrangement."""

    def render_line(self, y: int) -> Strip:
        """Nothing: the children are on it."""
        if self._blank is None or self._blank.cell_length != self.size.width:
            self._blank = Strip.blank(self.size.width, self.rich_style)
        return self._blank

    def notify_style_update(self) -> None:
        """Another theme: another ground."""
        self._blank = None
        super().notify_style_update()

    def place(self, places: dict[str, Rect]) -> None:
        """Put widgets (by id) at rectangles; the others are hidden."""
        self.places = places
        for child in self.children:
            shown = (child.id or "") in places
            if shown and not child.display and isinstance(child, Drawn):
                child.forget_size()
            child.display = shown
        # Textual keeps a widget's arrangement by size and children; ours changed by itself.
        self._clear_arrangement_cache()
        self.refresh(layout=True)
