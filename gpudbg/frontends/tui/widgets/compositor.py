"""LineCompositor: paints lines of drawn widgets as they are, where nothing lies over them.

For a few changed lines Textual asks every widget of the screen for all its lines, cuts each at
the edges of all others and joins them again.  The panes of our screens stand beside each other:
a changed line is looked up and sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip

from gpudbg.frontends.tui.widgets.drawn import Drawn

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from textual.widget import Widget

Tile = tuple[int, int, Drawn, int]
"""First column, end, the widget there, the screen line of its first one."""


class LinesUpdate(CompositorUpdate):
    """Lines to send, each with its place on the screen."""

    def __init__(self, lines: list[tuple[int, int, Strip]]) -> None:
        self.lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for x, y, strip in self.lines:
            yield Control.move_to(x, y).segment
            yield from strip

    def render_segments(self, console: Console) -> str:
        """The update as a terminal reads it."""
        return "".join(
            f"\x1b[{y + 1};{x + 1}H{strip.render(console)}" for x, y, strip in self.lines
        )


class LineCompositor(Compositor):
    """A compositor that copies changed lines of drawn widgets straight to the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._tiles: list[list[Tile]] = []
        self._tiled_for: object = None

    def render_partial_update(self) -> ChopsUpdate | LinesUpdate | None:  # type: ignore[override]
        """What changed: its lines; as Textual does it where they are not all drawn ones."""
        lines = self._lines()
        if lines is None:
            return super().render_partial_update()
        self._dirty_regions.clear()
        return LinesUpdate(lines) if lines else None

    def _lines(self) -> list[tuple[int, int, Strip]] | None:
        rows = self._rows()
        out = []
        for y, at, end in self._regions_to_spans(self._dirty_regions):
            for start, stop, widget, top in rows[y] if 0 <= y < len(rows) else ():
                if start <= at < stop and at < end:
                    line = Region(0, y - top, stop - start, 1)
                    out.append((start, y, widget.render_lines(line)[0]))
                    at = stop
            if at < min(end, self.size.width) and y < len(rows):
                return None
        return out

    def _rows(self) -> list[list[Tile]]:
        """Drawn widgets that nothing lies over, by line of the screen and column."""
        widgets = self.visible_widgets
        if self._tiled_for is not widgets:
            self._tiled_for = widgets
            self._tiles = _tiled(widgets, self.size.height)
        return self._tiles


def _tiled(widgets: dict[Widget, tuple[Region, Region]], height: int) -> list[list[Tile]]:
    """See `LineCompositor._rows`; `widgets` begin with the uppermost."""
    rows: list[list[Tile]] = [[] for _ in range(height)]
    above: list[Region] = []
    for widget, (region, clip) in widgets.items():
        whole = clip.contains_region(region)
        if isinstance(widget, Drawn) and whole and not any(map(region.overlaps, above)):
            for y in range(max(region.y, 0), min(region.bottom, height)):
                rows[y].append((region.x, region.right, widget, region.y))
        above.append(region)
    for row in rows:
        row.sort(key=lambda tile: tile[0])
    return rows
