"""The user's changes to an arrangement: panes moved, edges dragged, panes brought to the front.

Changes are stored relative to the designed arrangement, so that they apply to another terminal
height or kernel too: an edge stops at the minimum height of a pane, and an order of panes applies
only where the number of places is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.frontends.tui.layout import PRESETS, Arrangement, PaneSlot, Rect

MIN_HEIGHT = 3
"""Least rows of a pane: its title and two rows."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to the arrangement of one size of terminal.

    Attributes:
        preset: one of `PRESETS`.
        split: column of the vertical line; None where the design has it.
        edges: name of a horizontal edge ("left 0" is the left column's first) -> rows moved down.
        order: for every place, the number of the slot that stands there; empty: as designed.
        fronts: panes that show in their slot.
    """

    preset: str = "default"
    split: int | None = None
    edges: Mapping[str, int] = field(default_factory=dict)
    order: tuple[int, ...] = ()
    fronts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The changes as JSON data; entries that equal the design are left out."""
        rows = {
            "preset": self.preset if self.preset != "default" else None,
            "split": self.split,
            "edges": dict(self.edges),
            "order": list(self.order),
            "fronts": list(self.fronts),
        }
        return {name: value for name, value in rows.items() if value or value == 0}

    @classmethod
    def of_json(cls, data: object) -> Changes:
        """From plain data.

        Raises:
            ValueError: not what `to_json` gives; says what.
        """
        if not isinstance(data, dict):
            raise ValueError("a size's changes must be a table")
        unknown = set(data) - {"preset", "split", "edges", "order", "fronts"}
        if unknown:
            raise ValueError(f"unknown key {min(unknown)!r}")
        preset, split = data.get("preset", "default"), data.get("split")
        edges, order = data.get("edges", {}), data.get("order", [])
        fronts = data.get("fronts", [])
        if preset not in PRESETS:
            raise ValueError(f"no layout is called {preset!r}")
        if split is not None and not _whole(split):
            raise ValueError("'split' must be a column")
        if not isinstance(edges, dict) or not all(_whole(v) for v in edges.values()):
            raise ValueError("'edges' must be rows by name")
        if not isinstance(order, list) or not all(_whole(v) for v in order):
            raise ValueError("'order' must be numbers")
        if not isinstance(fronts, list) or not all(isinstance(v, str) for v in fronts):
            raise ValueError("'fronts' must be names of panes")
        return cls(preset, split, edges, tuple(order), tuple(fronts))


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10_000


def laid_over(design: Arrangement, changes: Changes) -> Arrangement:
    """Apply the user's changes to a designed arrangement."""
    slots = list(design.slots)
    for column in ("left", "right"):
        slots = _moved_edges(slots, design, column, changes.edges)
    if sorted(changes.order) == list(range(len(slots))):
        panes = [slot.panes for slot in slots]
        slots = [
            replace(slot, panes=panes[n]) for slot, n in zip(slots, changes.order, strict=True)
        ]
    return replace(design, slots=tuple(slots))


def fronts_of(arrangement: Arrangement, changes: Changes) -> dict[PaneSlot, str]:
    """The pane that shows in each slot where the user chose one; the last choice counts."""
    out: dict[PaneSlot, str] = {}
    for pane in changes.fronts:
        slot = arrangement.slot_of(pane)
        if slot is not None:
            out[slot] = pane
    return out


def column_of(design: Arrangement, rect: Rect) -> str:
    """The name of the column (`left`, `right`) that a rectangle lies in."""
    return "right" if design.splitter is not None and rect[0] > design.splitter[0] else "left"


def _edges(slots: list[PaneSlot], design: Arrangement, column: str) -> list[int]:
    """Screen rows of the horizontal edges of a column: its top first, its bottom last."""
    rects = [s.rect for s in slots if column_of(design, s.rect) == column]
    return sorted({r[1] for r in rects} | {r[1] + r[3] for r in rects})


def _moved_edges(
    slots: list[PaneSlot], design: Arrangement, column: str, moved: Mapping[str, int]
) -> list[PaneSlot]:
    old = _edges(slots, design, column)
    if len(old) < 3:
        return slots
    new = list(old)
    for n in range(1, len(old) - 1):
        new[n] = old[n] + moved.get(f"{column} {n - 1}", 0)
    # Enforce the minimum height of every place, downwards and then upwards.
    for n in range(1, len(new) - 1):
        new[n] = max(new[n], new[n - 1] + min(MIN_HEIGHT, old[n] - old[n - 1]))
    for n in range(len(new) - 2, 0, -1):
        new[n] = min(new[n], new[n + 1] - min(MIN_HEIGHT, old[n + 1] - old[n]))
    to = dict(zip(old, new, strict=True))
    out = []
    for slot in slots:
        x, y, width, height = slot.rect
        if column_of(design, slot.rect) == column:
            y, height = to[y], to[y + height] - to[y]
        out.append(replace(slot, rect=(x, y, width, height)))
    return out


def _number(shown: Arrangement, place: Rect) -> int | None:
    return next((n for n, slot in enumerate(shown.slots) if slot.rect == place), None)


def taller(design: Arrangement, changes: Changes, place: Rect, by: int) -> Changes:
    """Changes that make a place taller by a number of rows; lower where that is negative."""
    shown = laid_over(design, changes)
    number = _number(shown, place)
    if number is None:
        return changes
    slot = shown.slots[number]
    column = column_of(design, slot.rect)
    edges = _edges(list(shown.slots), design, column)
    start = _edges(list(design.slots), design, column)
    top, bottom = edges.index(slot.rect[1]), edges.index(slot.rect[1] + slot.rect[3])
    # Move the lower edge; the upper one where the lower is the last or cannot move.
    for edge, rows in ((bottom, by), (top, -by)):
        if not 0 < edge < len(edges) - 1:
            continue
        # Relative to the edge's present row, so that the first opposite move takes effect.
        to = edges[edge] - start[edge] + rows
        found = replace(changes, edges={**changes.edges, f"{column} {edge - 1}": to})
        if laid_over(design, found).slots[number].rect[3] != slot.rect[3]:
            return found
    return changes


def edge_to(design: Arrangement, changes: Changes, place: Rect, row: int) -> Changes:
    """Changes that put a place's upper edge on a screen row, or as near as the panes allow."""
    shown = laid_over(design, changes)
    number = _number(shown, place)
    if number is None:
        return changes
    column = column_of(design, place)
    edges = _edges(list(shown.slots), design, column)
    start = _edges(list(design.slots), design, column)
    top = edges.index(place[1])
    if top == 0:
        return changes
    to = min(max(row, edges[top - 1] + 1), edges[top + 1] - 1) - start[top]
    found = replace(changes, edges={**changes.edges, f"{column} {top - 1}": to})
    stands = laid_over(design, found).slots[number].rect[1] - start[top]
    # Store the clamped row, not the requested one: dragging back takes effect at once.
    return replace(changes, edges={**changes.edges, f"{column} {top - 1}": stands})


def moved(design: Arrangement, changes: Changes, place: Rect, by: int) -> Changes:
    """Changes that swap what stands in a place with the next place (`by` 1) or the one before."""
    shown = laid_over(design, changes)
    here = _number(shown, place)
    if here is None:
        return changes
    count = len(shown.slots)
    order = list(changes.order)
    if sorted(order) != list(range(count)):
        order = list(range(count))
    there = (here + by) % count
    order[here], order[there] = order[there], order[here]
    return replace(changes, order=tuple(order))
