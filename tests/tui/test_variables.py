"""Variables and frames of a -G build; names in the source; the source-first layout."""

from __future__ import annotations

from textual.widgets import Input

from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.chrome import KeyRow
from gpudbg.frontends.tui.widgets.console import LogPane
from gpudbg.frontends.tui.widgets.source import TEXT, SourcePane
from gpudbg.frontends.tui.widgets.variables import FramesPane, VariablesPane
from tests.narrowing import there

from .helpers import ROOT, current, make_app, open_first, open_kernel, press, screen_text, settle

SOURCE = ROOT / "tests" / "data" / "source"
NESTED = "--grid 1 --block 32 --arg out=f32[32]:zeros --arg f32:2.5".split()


def put(pane: LinePane, key: tuple[object, ...]) -> None:
    pane.cursor = next(n for n, r in enumerate(pane._content.rows) if r.key == key)


def said(app: GpudbgApp) -> str:
    return " ".join(" ".join(app.main.query_one("#pane-log", LogPane).texts).split())


async def test_variables_open_change_and_show_32_lanes() -> None:
    session = open_kernel(SOURCE / "cubin" / "nested_struct.sm_52-G.cubin", NESTED)
    app = make_app(session)
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        assert current(app).variables == (), "nothing is read while no pane shows it"
        for line in (f"directory {SOURCE}", "break 11", "continue"):
            app.main.run_command(line)
            await settle(app, pilot)
        await press(app, pilot, "V", "S")
        variables, frames = app.main.query_one(VariablesPane), app.main.query_one(FramesPane)
        assert variables.display
        assert frames.display
        assert len(frames.texts) == 3, "the function and the kernel"
        assert "scaled" in frames.texts[1]
        assert "nested_struct" in frames.texts[2]
        text = "\n".join(variables.texts)
        assert all(name in text for name in ("v", "s", "r"))
        # The caller's names, once its frame is selected.
        put(frames, ("frame", 1))
        await press(app, pilot, "enter")
        assert session.frame_level == 1
        assert there(frames.texts[2]).lstrip().startswith("\u25ba")
        scene = next(v for v in current(app).variables if v.name == "sc")
        assert (scene.inner, scene.opened) == (True, False)
        i = next(v for v in current(app).variables if v.name == "i")
        assert there(i.lanes).cells == tuple(str(n) for n in range(32))
        # A structure is opened, and an array in it, and an element.
        app.main.focus_pane("variables")
        for path in ("sc", "sc.rays", "sc.rays[0]", "sc.rays[0].org"):
            put(variables, ("variable", path))
            await press(app, pilot, "enter")
        lines = {v.path: v for v in current(app).variables}
        assert there(lines["sc.rays[0].org.x"].lanes).cells[:3] == ("0", "1", "2")
        assert lines["sc.rays[0].org.x"].depth == 4
        assert any("\u2581\u2581\u2581\u2582" in t and " id " in t for t in variables.texts)
        # What a step changes is marked; closing takes the rows away.
        await press(app, pilot, "n")
        assert any(v.changed for v in current(app).variables)
        put(variables, ("variable", current(app).variables[0].path))
        assert not any("cannot be drawn" in t for t in screen_text(app))


async def test_names_in_the_source_and_the_source_first_layout() -> None:
    session = open_kernel(SOURCE / "cubin" / "nested_struct.sm_52-G.cubin", NESTED)
    app = make_app(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        for line in (f"directory {SOURCE}", "break 11", "continue", "layout source"):
            app.main.run_command(line)
            await settle(app, pilot)
        source, code = app.main.query_one(SourcePane), app.main.line_pane("code")
        assert source.size.height > 2 * code.size.height, "instructions are folded"
        assert app.main.query_one(VariablesPane).display
        assert app.main.query_one(FramesPane).display
        app.main.set_focus(source)
        await press(app, pilot, "i")
        assert "r.z = 0 in lane 0" in said(app)
        assert "s = 2.5 in lane 0   32 lanes: uniform".replace("   ", " ") in said(app)
        app.main.run_command("up")
        await settle(app, pilot)
        assert source.cursor == 27 - 1, "the line of the frame's call"
        await press(app, pilot, "i")
        assert "scaled: Vec (Vec, float)" in said(app)
        assert "sc.rays[r].org = {x = 0, y = 0, z = 0.5} in lane 0" in said(app)
        text = source.line_text(16)
        assert "int i" in text
        at = source.region
        put_at = (at.x + TEXT + text.index("i ="), at.y + 1 + 16 - source.top)
        await pilot.hover(offset=put_at)
        await settle(app, pilot)
        assert "i = 0 in lane 0   32 lanes: lane" in app.main.query_one(KeyRow).text
        assert not isinstance(app.focused, Input)
        # The layout stays on a terminal of another size; Enter needs no cursor.
        await pilot.resize_terminal(80, 24)
        await settle(app, pilot)
        assert source.display
        assert source.size.height > code.size.height
        app.main.focus_pane("variables")
        assert app.main.query_one(VariablesPane).cursor is None
        await press(app, pilot, "enter", "enter")
        assert any(v.opened for v in current(app).variables)


async def test_without_variables_it_says_so() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "V")
        text = "\n".join(app.main.query_one(VariablesPane).texts)
        assert "a build with -G" in text
        assert "n" in text
        await press(app, pilot, "S")
        assert "block_max" in app.main.query_one(FramesPane).texts[1]
