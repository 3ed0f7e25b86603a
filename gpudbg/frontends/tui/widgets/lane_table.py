"""Lane table: a row for every lane of the focused warp, a column for every value."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from gpudbg.answers import coordinates
from gpudbg.dataclass import dataclass
from gpudbg.debug.pictures import LaneRow
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings
from gpudbg.frontends.tui.text import Row, Span, fit, row
from gpudbg.frontends.tui.view import ScreenView
from gpudbg.frontends.tui.widgets.base import Content, LinePane
from gpudbg.frontends.tui.widgets.lane_axis import PATH_ROLES

ROWS = 34
"""Title, names, 32 lanes."""
WIDEST_NAME = 24
"""Columns of a name; the watch table has all of it."""


@dataclass(frozen=True, slots=True)
class LaneColumn:
    """One value: its name, a text for each lane, and its width."""

    value: LaneRow
    cells: tuple[str, ...]
    width: int


def columns_of(view: ScreenView) -> list[LaneColumn]:
    """Expressions first, then registers that were written, then predicates."""
    found = []
    for value in (*view.watches, *view.registers):
        cells = value.cells
        if value.mask >= 0:
            cells = tuple(str(value.mask >> lane & 1) for lane in range(32))
        if not cells or (value.why and not value.valid):
            continue
        widest = max(len(text) for text in cells)
        found.append(LaneColumn(value, cells, max(widest, min(len(value.name), WIDEST_NAME))))
    return found


class LaneTablePane(LinePane):
    """See the module text.

    Attributes:
        first: the first column that is shown; left and right move it.
    """

    number, title, pane = "4", "Lanes", "lanetable"
    empty = "Nothing runs. `r` starts the kernel again."
    BINDINGS: ClassVar[list[BindingType]] = bindings("lanes")

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.first = 0

    def content(self, view: ScreenView, width: int, height: int) -> Content:
        """Names, then the lanes."""
        focus, g = view.focus_row, self.appearance.glyphs
        if focus is None:
            return Content((), "")
        threads = [self._thread(view, lane) for lane in range(32)]
        wide = max(len("thread"), *(len(t) for t in threads))
        columns = columns_of(view)
        self.first = max(0, min(self.first, len(columns) - 1))
        shown = self._fitting(columns[self.first :], width - wide - 17)
        head: list[Span] = [(f" lane  {'thread':<{wide}}  path  ", "muted")]
        head += [(fit(c.value.name, c.width, g.cut).strip().rjust(c.width) + "  ", self._style(c))
                 for c in shown]  # fmt: skip
        rows = [row(*head)]
        for lane in range(32):
            if focus.valid >> lane & 1:
                rows.append(self._lane(view, lane, threads[lane], wide, shown))
        return Content(rows, self._right(columns, len(shown)))

    def _right(self, columns: list[LaneColumn], count: int) -> str:
        if count >= len(columns):
            return f"{len(columns)} columns"
        left_right = "Left Right" if self.appearance.glyphs.name == "ascii" else "\u2190 \u2192"
        last = self.first + count
        return f"columns {self.first + 1} to {last} of {len(columns)}   {left_right} others"

    @staticmethod
    def _style(column: LaneColumn) -> str:
        if column.value.changed:
            return "now.b"
        return "you" if column.value.section == "watch" else "text.b"

    @staticmethod
    def _fitting(columns: list[LaneColumn], room: int) -> list[LaneColumn]:
        out: list[LaneColumn] = []
        for column in columns:
            room -= column.width + 2
            if room < -2 and out:
                break
            out.append(column)
        return out

    @staticmethod
    def _thread(view: ScreenView, lane: int) -> str:
        focus, (x, y, _) = view.focus_row, view.snapshot.block
        assert focus is not None
        n = focus.index_in_cta * 32 + lane
        return coordinates((n % x, n // x % y, n // (x * y)), view.snapshot.block)

    def _lane(
        self, view: ScreenView, lane: int, thread: str, wide: int, shown: list[LaneColumn]
    ) -> Row:
        focus, g, bit = view.focus_row, self.appearance.glyphs, 1 << lane
        assert focus is not None
        mine = lane == view.lane
        active = bool(focus.active & bit)
        style = "you.b" if mine else "text" if active else "dim"
        letter = view.letters[lane]
        path = "exited" if focus.exited & bit else "fault" if focus.faulty & bit else letter
        role = PATH_ROLES.get(path, "stop" if path == "fault" else "dim")
        spans: list[Span] = [
            (g.pc if mine else " ", "you"),
            (f"{lane:3}   {thread:<{wide}}  ", style),
            (f"{path:6}", role),
        ]
        for column in shown:
            value = column.value
            text = column.cells[lane].rjust(column.width) + "  "
            if value.shape.odd & bit:
                spans.append((text, "stop.b"))
            elif value.changed & bit and active:
                spans.append((text, "now"))
            else:
                same = value.shape.flat and active and not mine
                spans.append((text, "muted" if same else style))
        return row(*spans, key=("lane", lane), tint="lane-band" if mine else "")

    def action_pan(self, by: int) -> None:
        """Columns after, or before, those that are seen."""
        self.first = max(0, self.first + by)
        self.redraw()
