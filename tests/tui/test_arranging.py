"""Panes moved, resized, named and saved; gdb's window commands; a layout file that is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from gpudbg.errors import CommandError
from gpudbg.frontends.tui import layout
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.changed import Changes, edge_to, laid_over, moved, taller
from gpudbg.frontends.tui.saved import Saved
from gpudbg.frontends.tui.widgets.console import ConsolePane
from tests.narrowing import there
from tests.tui.helpers import focused_widget

from .helpers import appearance, current, make_app, open_first, press, screen_text, settle
from .test_layout import SHAPES

EDGES = st.dictionaries(
    st.sampled_from([f"{side} {n}" for side in ("left", "right") for n in range(4)]),
    st.integers(-100, 100),
)
CHANGES = st.builds(
    Changes,
    st.sampled_from(list(layout.PRESETS)),
    st.none() | st.integers(-10, 400),
    EDGES,
    st.integers(2, 8).flatmap(lambda n: st.permutations(range(n))).map(tuple),
    st.lists(st.sampled_from(layout.ORDER)).map(tuple),
)


@given(st.integers(60, 260), st.integers(16, 90), SHAPES, CHANGES)
def test_changes_never_overlap_or_lose_a_cell(
    width: int, height: int, shape: Any, changes: Any
) -> None:
    design = layout.arrange(width, height, shape, changes.split, changes.preset)
    found = laid_over(design, changes)
    cells: set[tuple[int, int]] = set()
    rects = [*(s.rect for s in found.slots), *found.rows.values()]
    if found.splitter is not None:
        rects.append(found.splitter)
    for x, y, w, h in rects:
        assert w > 0
        assert h > 0
        area = {(i, j) for i in range(x, x + w) for j in range(y, y + h)}
        assert not cells & area
        cells |= area
    assert len(cells) == width * height
    assert sorted(s.panes for s in found.slots) == sorted(s.panes for s in design.slots)


@given(CHANGES)
def test_changes_survive_the_file(changes: Any) -> None:
    assert Changes.of_json(json.loads(json.dumps(changes.to_json()))) == changes


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_a_pane_grows_and_moves(size: tuple[int, int]) -> None:
    design = layout.arrange(*size, layout.LayoutShape(8, 16))
    for n, slot in enumerate(design.slots):
        grown = laid_over(design, taller(design, Changes(), slot.rect, 2)).slots[n].rect
        assert grown[3] == slot.rect[3] + 2
        most = taller(design, Changes(), slot.rect, 99)
        high = laid_over(design, most).slots[n].rect
        assert high[3] > grown[3]
        # One key press leaves the limit, however often the other was pressed against it.
        assert laid_over(design, taller(design, most, high, -1)).slots[n].rect[3] == high[3] - 1
        away = moved(design, Changes(), slot.rect, 1)
        there = laid_over(design, away).slots[(n + 1) % len(design.slots)]
        assert there.panes == slot.panes
        assert laid_over(design, moved(design, away, there.rect, -1)) == design


def app_with(where: Path) -> GpudbgApp:
    return GpudbgApp(open_first(), [], appearance(), saved=Saved.read(where))


def height(app: GpudbgApp, pane: str) -> int:
    return app.main.line_pane(pane).size.height


def said(app: GpudbgApp) -> str:
    return "\n".join(r.text for r in app.main.query_one(ConsolePane).answers.lines)


async def command(app: GpudbgApp, pilot: Pilot[int], line: str) -> None:
    app.main.run_command(line)
    await settle(app, pilot)
    await pilot.pause()


@pytest.mark.full(instead="test_gdbs_window_commands")
async def test_a_saved_layout_comes_back(tmp_path: Path) -> None:
    where = tmp_path / "state" / "layouts.json"
    app = app_with(where)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        before, column = height(app, "code"), there(there(app.main.arrangement).splitter)[0]
        await press(app, pilot, "ctrl+up", "ctrl+up", "ctrl+right", "5", "greater_than_sign")
        assert height(app, "code") == before + 2
        assert there(there(app.main.arrangement).splitter)[0] == column + 4
        assert not where.exists(), "only the user saves"
        await command(app, pilot, "layout save my own")
        assert "saved as 'my own'" in said(app)
        place = there(there(app.main.arrangement).slot_of("memory")).rect
        await command(app, pilot, "layout default")
        assert height(app, "code") == before
        await command(app, pilot, "layout my own")
        assert height(app, "code") == before + 2
    again = app_with(where)
    async with again.run_test(size=(120, 40)) as pilot:
        await settle(again, pilot)
        assert height(again, "code") == before + 2
        assert there(there(again.main.arrangement).slot_of("memory")).rect == place
        await command(again, pilot, "layout delete my own")
        await command(again, pilot, "layout my own")
        assert "no layout is called 'my own'" in said(again)
    assert json.loads(where.read_text())["layouts"] == {}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"layouts": 5}', '{"layouts": {"a": 5}}', "\x00", "[" * 10_000,
     '{"layouts": {"a": {"medium": {"preset": "no"}}}}', '{"layouts": {"a": {"medium": []}}}',
     '{"layouts": {"a": {"medium": {"edges": {"left 0": "x"}}}}}',
     '{"layouts": {"a": {"medium": {"order": [true]}}}}'],
)  # fmt: skip
def test_a_broken_file_is_told_and_kept(tmp_path: Path, text: str) -> None:
    where = tmp_path / "layouts.json"
    where.write_text(text)
    saved = Saved.read(where)
    assert str(where) in saved.trouble
    assert "layout save" in saved.trouble
    saved.save("mine", {"medium": Changes("asm")})
    assert Saved.read(where).layouts == {"mine": {"medium": Changes("asm")}}
    assert where.with_suffix(".broken").read_text() == text


async def test_a_broken_file_opens_the_design_with_a_message(tmp_path: Path) -> None:
    where = tmp_path / "layouts.json"
    where.write_text("{")
    app = app_with(where)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        assert "cannot be read" in said(app)
        assert height(app, "code") > 10


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(CommandError, match="cannot write"):
        Saved.read(blocked / "layouts.json").save("a", {})


@pytest.mark.full(instead="test_gdbs_window_commands")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_asm_src_and_split_show_instructions_source_or_both(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_with(tmp_path / "layouts.json")
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        for line in ("break 19", "continue", "layout asm"):
            await command(app, pilot, line)
        code, source = app.main.line_pane("code"), app.main.line_pane("source")
        here = app.session.symbols.line(there(current(app).pc))
        texts = code.texts[1:]
        assert any("\u25ba0178" in t for t in texts)
        assert not any("__syncthreads" in t or "threadIdx.x <" in t for t in texts)
        await command(app, pilot, "layout src")
        marked = [t for t in source.texts if "\u25ba" in t]
        assert len(marked) == 1
        assert marked[0].startswith(f"\u25cf\u25ba   {there(here).number}  ")
        assert "best[threadIdx.x + step]" in marked[0]
        app.main.set_focus(source)
        await press(app, pilot, "down", "down", "b")
        points = current(app).points
        assert len(points) == 2
        number = there(app.session.symbols.line(points[1].addresses[0])).number
        assert source.texts[there(source.cursor) - source.top + 1].startswith(
            f"\u25cf {number:5}  "
        )
        await command(app, pilot, "layout split")
        assert any("\u25ba" in t for t in source.texts)
        assert any("\u25ba0178" in t for t in code.texts)
        await command(app, pilot, "layout default")
        assert any("\u25ba0178" in t for t in code.texts)
        assert any("best[threadIdx.x + step]" in t for t in code.texts)


async def test_the_console_takes_the_whole_screen_and_wide_tables_pan(tmp_path: Path) -> None:
    app = app_with(tmp_path / "layouts.json")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await command(app, pilot, "layout cmd")
        console = app.main.query_one(ConsolePane)
        assert (console.size.width, console.size.height) == (80, 21)
        assert app.focused is console.prompt
        head = "  ".join(f"column{n:02}" for n in range(16))
        console.log_lines([head, head.replace("column", "values")])
        await pilot.pause()
        rows = console.answers.texts[-2:]
        assert [r.split()[0] for r in rows] == ["column00", "values00"], "a row each, not wrapped"
        assert "other columns" in console.answers.texts[0]
        for _ in range(5):
            await press(app, pilot, "right")
        rows = console.answers.texts[-2:]
        assert [r.split()[-1] for r in rows] == ["column15", "values15"]
        assert rows[0].index("column15") == rows[1].index("values15") < 72
        for _ in range(5):
            await press(app, pilot, "left")
        assert console.answers.texts[-2].startswith(" column00")
        await press(app, pilot, "escape")
        assert focused_widget(app) is console.answers
        await press(app, pilot, "colon")
        await command(app, pilot, "layout default")
        assert app.main.line_pane("code").display


async def test_gdbs_window_commands(tmp_path: Path) -> None:
    app = app_with(tmp_path / "layouts.json")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        for name, panes in (("asm", ["code"]), ("src", ["source"]), ("split", ["source", "code"])):
            await command(app, pilot, f"layout {name}")
            shown = [p for p in ("source", "code") if app.main.line_pane(p).display]
            assert shown == panes
            assert all(app.main.line_pane(p).size.width == 120 for p in panes)
            assert not app.main.line_pane("warps").display
        await command(app, pilot, "layout regs")
        assert app.main.line_pane("registers").display
        await command(app, pilot, "focus regs")
        assert app.main.focused_pane() == "registers"
        await command(app, pilot, "focus next")
        assert app.main.focused_pane() == "console"
        await command(app, pilot, "focus cmd")
        assert app.main.focused_pane() == "console"
        await command(app, pilot, "layout default")
        await command(app, pilot, "focus src")
        assert app.main.focused_pane() == "source"
        await command(app, pilot, "focus asm")
        assert app.main.focused_pane() == "code"
        await command(app, pilot, "focus lane 3")
        assert there(app.session.focus).lane == 3
        before = height(app, "code")
        await command(app, pilot, "winheight asm +3")
        assert height(app, "code") == before + 3
        await command(app, pilot, "wh code 12")
        assert height(app, "code") == 12
        for line in ("winheight", "winheight nosuch 3", "layout nosuch", "layout save asm"):
            await command(app, pilot, line)
        for words in ("winheight PANE", "no pane 'nosuch'", "called 'nosuch'", "designed layout"):
            assert words in said(app)
        await command(app, pilot, "refresh")
        await command(app, pilot, "tui enable")
        await command(app, pilot, "layout")
        assert "the terminal UI is on" in said(app)
        assert "in use: default with changes" in said(app)
        assert any("Code" in line for line in screen_text(app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_an_edge_goes_where_it_is_dragged(size: tuple[int, int]) -> None:
    design = layout.arrange(*size, layout.LayoutShape(8, 16))
    tops = {s.rect[1] for s in design.slots}
    for n, slot in enumerate(design.slots):
        changes = edge_to(design, Changes(), slot.rect, slot.rect[1] - 1)
        stands = laid_over(design, changes).slots[n].rect
        if slot.rect[1] == min(tops):
            assert changes == Changes(), "the highest edge is the screen's"
            continue
        assert stands[1] == slot.rect[1] - 1
        # Beyond the neighbour it stops, and comes back with the first row back.
        far = edge_to(design, changes, stands, 0)
        highest = laid_over(design, far).slots[n].rect
        back = edge_to(design, far, highest, highest[1] + 1)
        assert laid_over(design, back).slots[n].rect[1] == highest[1] + 1


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_mouse_drags_a_title_rule(tmp_path: Path, size: tuple[int, int]) -> None:
    where = tmp_path / "layouts.json"
    app = app_with(where)
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        before = height(app, "code")
        for widget in (app.main.query_one(ConsolePane).answers, app.main.line_pane("code")):
            top = widget.region.y
            await pilot.mouse_down(offset=(40, top))
            await pilot.hover(offset=(40, max(top - 2, 0)))
            await pilot.mouse_up(offset=(40, max(top - 2, 0)))
            await pilot.hover(offset=(40, max(top - 5, 0)))
            await settle(app, pilot)
            if widget.pane == "log":
                assert widget.region.y == top - 2, "it follows, and no longer when let go"
            else:
                assert widget.region.y == top, "the first pane's rule stays"
        shrunk = "memory" if size[0] >= 110 else "registers" if size[1] >= 32 else "lanes"
        assert app.main.line_pane(shrunk).display
        if size[0] < 110:
            assert height(app, "code") == before
        await command(app, pilot, "layout save")
        edges = json.loads(where.read_text())["layouts"]["mine"]
        assert [-2] == [v for c in edges.values() for v in c["edges"].values()]
        await press(app, pilot, "1", "z")
        pane = app.main.line_pane("code")
        await pilot.mouse_down(offset=(40, pane.region.y))
        await pilot.hover(offset=(40, 9))
        await pilot.mouse_up(offset=(40, 9))
        assert app.main.zoom == "code", "a zoomed pane has no edges"


@pytest.mark.full(instead="test_gdbs_window_commands")
async def test_the_heavy_rule_is_the_focused_panes() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        for key, title in (("5", "5 Memory"), ("1", "1 Code"), ("4", "4 Registers")):
            await press(app, pilot, key)
            heavy = [line for line in screen_text(app) if "━" + title in line]
            assert len(heavy) == 1
            assert sum("━━" in line for line in screen_text(app)) == 1
