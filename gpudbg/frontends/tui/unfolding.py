"""The console unfolded: an answer longer than the console is read over what stands above it.

A pure function of the places of an arrangement.  Nothing is kept: the next thing the user does
elsewhere folds the console again, and every pane stands where it stood.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from gpudbg.frontends.tui.changed import MIN_HEIGHT
from gpudbg.frontends.tui.layout import Rect

CONSOLE = "pane-console"
SPLITTER = "splitter"
UPPERMOST = 5
"""Rows that the uppermost panes keep: a title and what is around the cursor."""
MOST = 0.6
"""Part of the rows between the fixed ones that an unfolded console may take."""

Panes = dict[str, Rect]


def unfolded(places: Panes, area: Rect, rows: int, wide: bool, focused: str) -> Panes:
    """Places with a console that is as high as its answer, as far as there is room.

    Args:
        places: widget id -> rectangle, the console's among them.
        area: everything between the fixed rows.
        rows: of the console with its title and its prompt.
        wide: over the whole width, as its tables are wider than it is.
        focused: id of the pane that has the focus, which never goes.
    """
    x, y, width, height = places[CONSOLE]
    bottom = y + height
    if wide:
        x, width = area[0], area[2]
    panes = {n: r for n, r in places.items() if n.startswith("pane-") and n != CONSOLE}
    columns = [c for c in _columns(panes) if any(_overlaps(r, x, width) for r in c.values())]
    tops = [min(r[1] for r in column.values()) + _least(column, focused) for column in columns]
    start = max(bottom - min(rows, int(area[3] * MOST)), *tops, area[1])
    start = min(start, y)
    out = dict(places)
    for column in columns:
        lowered = _lowered(column, start, focused)
        for name in column:
            del out[name]
        out |= lowered
    out[CONSOLE] = (x, start, width, bottom - start)
    if wide and SPLITTER in out:
        left, above, one, high = out[SPLITTER]
        out[SPLITTER] = (left, above, one, min(high, start - above))
    return out


def _overlaps(place: Rect, x: int, width: int) -> bool:
    return place[0] < x + width and x < place[0] + place[2]


def _columns(panes: Panes) -> list[Panes]:
    """Panes that stand above one another, those beside each other in such a column included."""
    out: list[Panes] = []
    for name, place in panes.items():
        apart, joined = [], {name: place}
        for column in out:
            if any(_overlaps(r, place[0], place[2]) for r in column.values()):
                joined |= column
            else:
                apart.append(column)
        out = [*apart, joined]
    return out


def _bands(column: Panes) -> list[list[str]]:
    """The panes of a column from the top, those beside each other together."""
    names = sorted(column, key=lambda n: column[n][1])
    return [list(band) for _, band in groupby(names, key=lambda n: column[n][1])]


def _least(column: Panes, focused: str) -> int:
    """Rows that a column needs, whatever the console says."""
    below = (name for band in _bands(column)[1:] for name in band)
    return UPPERMOST + (MIN_HEIGHT if focused in below else 0)


def _lowered(column: Panes, start: int, focused: str) -> Panes:
    """The column's panes where it ends at `start`: the lower ones give way first, then they go."""
    bands = _bands(column)
    heights = [column[band[0]][3] for band in bands]
    excess = sum(heights) - (start - column[bands[0][0]][1])
    for at in range(len(bands) - 1, -1, -1):
        keeps = UPPERMOST if at == 0 else MIN_HEIGHT if focused in bands[at] else 0
        left = max(heights[at] - max(excess, 0), min(keeps, heights[at]))
        left = left if left >= min(MIN_HEIGHT, heights[at]) else 0
        excess -= heights[at] - left
        heights[at] = left
    # What went as a whole may have given more than was wanted.
    heights[0] -= min(excess, 0)
    return dict(_stacked(column, bands, heights))


def _stacked(
    column: Panes, bands: list[list[str]], heights: list[int]
) -> Iterable[tuple[str, Rect]]:
    top = column[bands[0][0]][1]
    for band, height in zip(bands, heights, strict=True):
        for name in band if height else ():
            yield name, (column[name][0], top, column[name][2], height)
        top += height
