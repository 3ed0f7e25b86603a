"""Stop history: earlier stops in every pane, and the way back to the present."""

from __future__ import annotations

from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.past import KEPT, Past
from gpudbg.frontends.tui.screens.main import MainScreen
from gpudbg.frontends.tui.widgets.chrome import StopLine
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.console import LogPane
from tests.narrowing import there

from .helpers import current, make_app, open_first, press, settle, view_of


def stop_line(app: GpudbgApp) -> str:
    return app.main.query_one(StopLine).text


async def test_earlier_stops_are_drawn_as_they_were() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "space", "space", "space")
        now = app.main.current
        assert (there(now).tick, there(now).past) == (3, None)
        registers = app.main.line_pane("registers").texts
        await press(app, pilot, "7", "shift+left", "shift+left")
        assert "In the past  tick 1 of 3" in stop_line(app)
        assert "block_max+0x10" in stop_line(app)
        assert app.main.current is now
        assert app.main.line_pane("registers").texts != registers
        assert any("\u25ba0010" in line for line in app.main.query_one(CodePane).texts)
        await press(app, pilot, "shift+right")
        assert "tick 2 of 3" in stop_line(app)
        await press(app, pilot, "shift+right")
        assert "In the past" not in stop_line(app)
        assert app.main.line_pane("registers").texts == registers
        await press(app, pilot, "shift+right")
        assert any("no later stop" in t for t in app.main.query_one("#pane-log", LogPane).texts)
        await press(app, pilot, "shift+left", "escape")
        assert "In the past" not in stop_line(app)
        await press(app, pilot, "shift+left", "space")
        assert current(app).tick == 4
        assert "In the past" not in stop_line(app)


async def test_enter_on_a_stop_shows_it() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.main.run_command("break first_steps.cu:13")
        await settle(app, pilot)
        await press(app, pilot, "c", "c", "7", "end", "enter")
        assert isinstance(app.screen, MainScreen)
        assert "In the past  tick 0" in stop_line(app)
        assert "Entry" in stop_line(app)


def test_the_oldest_pictures_go_first() -> None:
    past, view = Past(), view_of(open_first())
    from dataclasses import replace

    for n in range(KEPT + 5):
        past.keep(replace(view, stops_before=n))
    assert len(past.views) == KEPT
    assert min(past.views) == 5 + view.stop_number
    assert not past.show(0, view)
    assert past.beside(1) is None
    past.keep(view)
    assert list(past.views) == [view.stop_number]
