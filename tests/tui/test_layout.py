"""The arrangement of panes: every cell used once, nothing moves on a step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.frontends.tui import layout
from gpudbg.frontends.tui.unfolding import CONSOLE, unfolded

SHAPES = st.builds(layout.LayoutShape, st.integers(1, 64), st.integers(1, 255))


@given(st.integers(60, 260), st.integers(16, 90), SHAPES)
def test_every_cell_belongs_to_one_thing(width: int, height: int, shape: Any) -> None:
    found = layout.arrange(width, height, shape)
    cells: set[tuple[int, int]] = set()
    rects = [*layout.choose(found).values(), *found.rows.values()]
    if found.splitter is not None:
        rects.append(found.splitter)
    for x, y, w, h in rects:
        assert w > 0
        assert h > 0
        area = {(i, j) for i in range(x, x + w) for j in range(y, y + h)}
        assert not cells & area
        cells |= area
    assert len(cells) == width * height


@given(st.integers(60, 260), st.integers(16, 90), SHAPES)
def test_every_pane_can_be_reached(width: int, height: int, shape: Any) -> None:
    found = layout.arrange(width, height, shape)
    reachable = {p for s in found.slots for p in s.panes}
    assert {"code", "warps", "paths", "registers", "memory", "console"} <= reachable
    assert {"output", "stops", "watch", "marks"} <= reachable


@pytest.mark.parametrize("preset", ["default", "source"])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60)])
def test_lane_panes_have_room_for_label_lanes_and_words(
    width: int, height: int, preset: str
) -> None:
    found = layout.arrange(width, height, layout.LayoutShape(64, 32), preset=preset)
    lanes = ["lanes"] if width < 110 else ["warps", "paths", "registers", "variables"]
    for pane, (_, _, w, h) in layout.choose(found).items():
        if pane in lanes:
            assert w >= 16 + 32 + 12
            assert h >= 6


def test_80x24_is_the_designed_one() -> None:
    found = layout.choose(layout.arrange(80, 24, layout.LayoutShape(8, 16)))
    assert {p: r[3] for p, r in found.items()} == {"code": 10, "lanes": 8, "console": 3}


def test_a_chosen_pane_takes_its_slot() -> None:
    found = layout.arrange(120, 40, layout.LayoutShape(8, 16))
    slot = found.slot_of("stops")
    assert slot is not None
    assert "stops" in layout.choose(found, {slot: "stops"})
    assert "memory" not in layout.choose(found, {slot: "stops"})


def test_a_zoomed_pane_keeps_the_fixed_rows() -> None:
    found = layout.arrange(120, 40, layout.LayoutShape(8, 16))
    assert layout.zoomed(found, "registers") == (0, 3, 120, 36)


@given(
    st.integers(60, 260), st.integers(16, 90), st.integers(1, 90), st.booleans(), st.data(),
    st.sampled_from(sorted(layout.PRESETS)),
)  # fmt: skip
def test_an_unfolded_console_covers_panes_but_not_the_focused_one(
    width: int, height: int, rows: int, wide: bool, data: Any, preset: str
) -> None:
    found = layout.arrange(width, height, layout.LayoutShape(8, 16), preset=preset)
    places = {f"pane-{p}": r for p, r in layout.choose(found).items()}
    area = layout.zoomed(found, "console")
    focused = data.draw(st.sampled_from(sorted(places)))
    out = unfolded(places, area, rows, wide, focused)
    cells: set[tuple[int, int]] = set()
    for rect in out.values():
        here = _cells(rect)
        assert here
        assert not cells & here
        cells |= here
    assert all(area[1] <= y < area[1] + area[3] for _, y in cells)
    assert focused in out
    assert out[CONSOLE][3] >= places[CONSOLE][3]
    assert not wide or out[CONSOLE][2] == width
    uncovered = len({c for r in places.values() for c in _cells(r)} - cells)
    assert uncovered == 0, "no blank is left"


def _cells(rect: layout.Rect) -> set[tuple[int, int]]:
    x, y, w, h = rect
    return {(i, j) for i in range(x, x + w) for j in range(y, y + h)}
