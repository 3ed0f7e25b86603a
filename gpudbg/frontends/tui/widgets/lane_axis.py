"""The lane axis: every pane with lanes puts lane n in the same column.

Sixteen columns of label, 32 lanes of one or two cells, a blank, then words.
"""

from __future__ import annotations

from functools import lru_cache

from gpudbg.analysis import LaneShape
from gpudbg.dataclass import dataclass
from gpudbg.debug.pictures import LaneRow
from gpudbg.frontends.tui.glyphs import Glyphs
from gpudbg.frontends.tui.text import Span

LABEL = 16
LANES = 32
PATH_ROLES = {"a": "run", "b": "path-b", "c": "path-c", "d": "path-d"}


@dataclass(frozen=True, slots=True)
class Axis:
    """Where lanes stand in a pane: `cell` columns each from column `start`."""

    cell: int = 1
    start: int = LABEL

    @property
    def width(self) -> int:
        """Columns of the 32 lanes."""
        return LANES * self.cell

    def lane_at(self, column: int) -> int | None:
        """The lane drawn in a column."""
        lane = (column - self.start) // self.cell
        return lane if 0 <= lane < LANES and column >= self.start else None


def axis_for(width: int) -> Axis:
    """Two cells a lane where 16 + 64 + 12 columns fit."""
    return Axis(2 if width >= LABEL + 64 + 13 else 1)


def ruler(axis: Axis, rule: str) -> str:
    """`0-------8-------16------24----31` over the lanes."""
    out = [rule] * axis.width
    for lane in (0, 8, 16, 24):
        text = str(lane)
        out[lane * axis.cell : lane * axis.cell + len(text)] = list(text)
    out[axis.width - 2 :] = list("31")
    return "".join(out)


def join(cells: list[Span]) -> tuple[Span, ...]:
    """Neighbouring cells of one style as one span."""
    out: list[Span] = []
    for text, style in cells:
        if out and out[-1][1] == style:
            out[-1] = (out[-1][0] + text, style)
        else:
            out.append((text, style))
    return tuple(out)


def grounded(style: str, lane: int, focus: int) -> str:
    """The style with the focus lane's band behind it."""
    return f"{style}/lane-band" if lane == focus and "/" not in style else style


def bar_spans(
    row: LaneRow, lane: int, active: int, live: int, axis: Axis, glyphs: Glyphs
) -> tuple[Span, ...]:
    """32 bars of a value: changed amber, focus lane blue, parked dim, outliers crossed."""
    if row.mask >= 0:
        return _mask_spans(row.mask, row.valid & live, row.changed, active, lane, axis.cell, glyphs)
    if not row.valid:
        return ((" " * axis.width, "dim"),)
    return _bars(
        row.shape, row.valid & live, row.changed, row.zero, active, lane, axis.cell, glyphs
    )


@lru_cache(maxsize=4096)
def _bars(
    shape: LaneShape, valid: int, changed: int, zero: bool, active: int, focus: int, cell: int,
    glyphs: Glyphs,
) -> tuple[Span, ...]:  # fmt: skip
    cells: list[Span] = []
    for lane in range(LANES):
        bit = 1 << lane
        if not valid & bit:
            cells.append((glyphs.never * cell, grounded("faint", lane, focus)))
            continue
        mark, style = _bar(shape, lane, bit, active, changed, zero, glyphs)
        if lane == focus and style not in ("bg/stop",):
            style = "you/lane-band" if active & bit else "dim/lane-band"
        cells.append((mark * cell, style))
    return join(cells)


def _bar(
    shape: LaneShape, lane: int, bit: int, active: int, changed: int, zero: bool, glyphs: Glyphs
) -> Span:
    if shape.odd & bit:
        return glyphs.cross, "bg/stop"
    parked = not active & bit
    style = "faint" if parked else "now" if changed & bit else "dim" if zero else "text"
    if shape.flat and (not parked or shape.words == "uniform"):
        now = changed & bit and not parked
        return glyphs.flat, "now" if now else "dim" if zero else "muted"
    return glyphs.bars[shape.levels[lane]], style


@lru_cache(maxsize=4096)
def _mask_spans(
    mask: int, valid: int, changed: int, active: int, focus: int, cell: int, glyphs: Glyphs
) -> tuple[Span, ...]:
    cells: list[Span] = []
    for lane in range(LANES):
        bit = 1 << lane
        on = bool(mask & bit)
        if not valid & bit:
            cells.append((glyphs.never * cell, grounded("faint", lane, focus)))
            continue
        style = "faint"
        if active & bit:
            style = ("now" if changed & bit else "text") if on else "dim"
        if lane == focus:
            style = "you/lane-band" if active & bit else "dim/lane-band"
        cells.append(((glyphs.true if on else glyphs.false) * cell, style))
    return join(cells)
