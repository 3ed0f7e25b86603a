"""Drawn: a widget that makes its lines itself, without borders, padding or opacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from textual.filter import ANSIToTruecolor
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.color import Color


class Drawn(Widget):
    """Textual asks every widget of a painted region for its lines, whether they changed or not,
    and works out styles, gutters and colours of each on the way: more than half of what painting
    a step costs.  Here lines are taken as they were drawn."""

    _ground: Color | None = None

    @property
    def size(self) -> Size:
        """Columns and rows; Textual looks the place up and takes borders off each time."""
        return self._size

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """Textual sends `Resize` only where its map of the screen was not looked at in between."""
        changed = size != self._size
        sends = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:
            self.sized()
        return sends

    def sized(self) -> None:
        """It has another size."""
        raise NotImplementedError

    def forget_size(self) -> None:
        """It was hidden and will be shown: it has no size until it has its place."""
        self._size = Size(0, 0)

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Paint again.

        Textual passes this on by three messages: to the widget, to its screen, to the screen.
        """
        screen = self.screen if self._is_mounted and self.is_attached else None
        plain = repaint and not (layout or recompose or self._layout_required)
        if not plain or screen is None or self not in screen._compositor:
            return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
        if self.display:
            self._set_dirty(*regions)
            if not screen._dirty_widgets:
                screen.check_idle()
            screen._dirty_widgets.add(self)
        return self

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region."""
        width = self._size.width
        strips = [self.render_line(y) for y in crop.line_range]
        # Colours of a palette are true colours: only filters that take them away have work to do.
        filters = [f for f in self.get_line_filters() if not isinstance(f, ANSIToTruecolor)]
        if filters:
            if self._ground is None:
                self._ground = self.background_colors[1]
            for each in filters:
                strips = [line.apply_filter(each, self._ground) for line in strips]
        if crop.column_span != (0, width):
            strips = [line.crop(*crop.column_span) for line in strips]
        return strips

    def notify_style_update(self) -> None:
        """Another theme: another ground."""
        self._ground = None
        super().notify_style_update()
