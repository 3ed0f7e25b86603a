"""The history screen: what it draws agrees with the run; every key and the mouse."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

import gpudbg
from gpudbg.debug.pictures import TimelinePicture, take_timeline, warp_of
from gpudbg.debug.trace.timeline import BARRIER, RUNS
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.past import Past
from gpudbg.frontends.tui.screens.ask import AskScreen
from gpudbg.frontends.tui.screens.branches import BranchesScreen
from gpudbg.frontends.tui.screens.history import HistoryScreen
from gpudbg.frontends.tui.screens.panes import ConsoleScreen
from gpudbg.frontends.tui.widgets.chrome import AppBar, KeyRow, StopLine
from gpudbg.frontends.tui.widgets.console import LogPane
from gpudbg.frontends.tui.widgets.history_panes import PastLine
from gpudbg.frontends.tui.widgets.timeline import LABEL, TimelinePane, cells_of, nice_step
from tests.narrowing import a, there
from tests.tui.helpers import focused_widget, shown_screen

from .helpers import (
    current,
    make_app,
    on_main,
    open_first,
    open_kernel,
    press,
    screen_text,
    settle,
    view_of,
)
from .test_trap import SCATTER

STOPS = ("tbreak *0x28", "continue", "break block_max+0x168 if blockIdx.x == 0",
         "continue", "continue", "continue")  # fmt: skip
"""Stops at ticks 0, 3, 33, 48, 63; the last three of one warp."""


def recorded(*lines: str) -> Any:
    session = open_first()
    for line in ("set timeline on", *lines):
        session.command(line)
    return session


async def opened(app: GpudbgApp, pilot: Pilot[int], lines: Any = STOPS, keys: Any = ("h",)) -> Any:
    """The screen over a session that came here by commands, a picture kept of every stop.

    A stop for each warp: ticks and stops are asked for by number below.
    """
    await settle(app, pilot)
    for line in ("set gather off", *lines):
        app.main.run_command(line)
        await settle(app, pilot)
    await press(app, pilot, *keys)
    assert isinstance(app.screen, HistoryScreen)
    return app.screen


def header(screen: HistoryScreen) -> str:
    return screen.query_one(PastLine).text


def said(app: GpudbgApp) -> str:
    """What the console says, however it is wrapped."""
    return " ".join(" ".join(app.main.query_one("#pane-log", LogPane).texts).split())


# ---- pictures --------------------------------------------------------------------------------
def picture(
    window: Any = None,
    cells: int = 60,
    cursor: Any = None,
    lines: Any = ("break 19", "continue", "continue"),
) -> Any:
    session = recorded(*lines)
    view = view_of(session)
    tick = view.tick if cursor is None else cursor
    return session, view, take_timeline(session, view, view, [view], tick, window, cells, 64, [4])


def test_columns_and_ticks_are_each_others_inverse() -> None:
    for window, cells in [(None, 60), ((20, 120), 37), ((100, 130), 99)]:
        _, _, p = picture(window, cells)
        assert p.columns <= min(cells, p.stop - p.start)
        assert p.columns * p.stretch <= cells
        for column in range(p.columns):
            assert p.column(p.tick(column)) == column
        assert p.column(p.stop) == p.columns - 1
        assert p.column(p.start - 1) is None


def test_the_focused_warps_row_is_what_an_observer_sees() -> None:
    class Truth(gpudbg.Observer):
        def __init__(self) -> None:
            self.rows: list[tuple[int, int, int]] = []

        def instruction(self, warp: Any, pc: int, instruction: Any, lanes: int) -> None:
            self.rows.append((warp.cta.number, warp.index, lanes))

    session = open_first()
    session.break_at("19")
    truth = Truth()
    with session.subscribe(truth):
        session.cont()
        session.cont()
    _, view, p = picture(cells=1000)
    mine = p.tracks[0]
    assert mine.mine
    assert (p.columns, p.stretch) == (view.tick, 1000 // view.tick)
    for tick, (cta, index, lanes) in enumerate(truth.rows):
        if (cta, index) == warp_of(view, view.focus_row):
            assert mine.track.states[tick] == RUNS
            assert lanes == 0 or mine.track.lanes[tick] == lanes.bit_count()
        else:
            assert mine.track.states[tick] != RUNS
    waits = next(t for t in p.tracks if t.slot == 0)
    assert waits.track.states[-1] == BARRIER
    assert p.writes[0].columns
    assert all(mine.track.states[c] == RUNS for c in p.writes[0].columns)


def test_stops_tell_what_was_not_recorded() -> None:
    session = open_first()
    views = [view_of(session)]
    session.break_at("19")
    for _ in range(2):
        session.cont()
        views.append(view_of(session))
    now = views[-1]
    p = take_timeline(session, now, now, views, now.tick, None, 60, 64, [4])
    assert (p.first, p.recording) == (None, False)
    known = {n for n, state in enumerate(p.tracks[0].track.states) if state != "?"}
    assert known == {p.column(v.tick) for v in views if v.tick and v.warps[1].executed}
    assert p.executed.startswith("now, next is 0178")


def test_numbers_of_the_ruler_are_round() -> None:
    assert [nice_step(span, 6) for span in (1, 30, 99, 1258, 7351, 1_000_000)] == [
        1, 5, 20, 500, 2000, 200_000,
    ]  # fmt: skip


def test_the_kept_stop_at_or_before_a_tick() -> None:
    past = Past()
    session = recorded()
    for number in (5, 5, 10):
        past.keep(view_of(session))
        session.step(number)
    assert past.at(0, 0) == 0
    assert [past.at(t, 0) for t in (4, 5, 9, 10, 99)] == [0, 1, 1, 2, 2]
    assert past.at(7, 2) == 2, "none kept before: the earliest"
    assert past.at(7, 9) is None


# ---- the screen ------------------------------------------------------------------------------
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_it_shows_the_way_here(size: tuple[int, int]) -> None:
    app = make_app(open_first())
    async with app.run_test(size=size) as pilot:
        screen = await opened(app, pilot, ("set timeline on", *STOPS))
        shown = screen_text(app)
        text = "\n".join(shown)
        assert "Breakpoint 2" in shown[0]
        assert "In the past" not in shown[0]
        assert any(line.startswith("\u25ba0   CTA 0") and "\u2587" in line for line in shown)
        assert "63 \u25cf Breakpoint 2" in text
        assert "since 48  15 ticks" in text
        assert "Last writer of R" in text
        rows = [line for line in shown if line.startswith("  writes R")]
        assert len(rows) == (2 if size[0] >= 180 else 1)
        if size[0] < 110:
            assert "\u25ba0168" not in text
            await press(app, pilot, "4")
            text = "\n".join(screen_text(app))
        assert "\u25ba0168" in text
        assert not any("cannot be drawn" in line for line in screen_text(app))
        await press(app, pilot, "5")
        assert app.focused is screen.paths
        assert "run" in "\n".join(screen_text(app))
        await press(app, pilot, "h")
        assert on_main(app)


async def test_keys_go_through_stops_ticks_and_events() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, ("set timeline on", *STOPS))
        now = app.main.current
        assert "End now" not in screen.query_one(KeyRow).text
        await press(app, pilot, "shift+left")
        assert "In the past  tick 48 of 63   15 ticks before now" in header(screen)
        assert "End now" in screen.query_one(KeyRow).text
        assert "as of 48" in screen.code.texts[0]
        assert "33 \u2192 48" in screen.changed.texts[0]
        await press(app, pilot, "left")
        tick = screen.timeline.cursor_tick
        assert 33 < tick < 48
        assert f"tick {tick} of 63" in header(screen)
        assert any("panes show the stop at 33" in t for t in screen.timeline.texts)
        assert "as of 33" in screen.code.texts[0]
        await press(app, pilot, "shift+left")
        assert screen.timeline.cursor_tick == 33, "from between two stops to the one shown"
        await press(app, pilot, "right", "shift+right")
        assert screen.timeline.cursor_tick == 48
        await press(app, pilot, "comma", "comma", "comma")
        assert screen.timeline.cursor_tick == 0
        assert "Entry" in header(screen)
        await press(app, pilot, "comma")
        assert "no earlier event" in said(app)
        await press(app, pilot, "shift+left")
        assert "no earlier stop of this launch is kept" in said(app)
        await press(app, pilot, "full_stop")
        assert screen.timeline.cursor_tick == 3
        await press(app, pilot, "end")
        assert app.main.past.shown is None
        assert app.main.current is now
        assert "In the past" not in header(screen)
        await press(app, pilot, "shift+right")
        assert "no later stop" in said(app)
        await press(app, pilot, "home")
        assert screen.timeline.cursor_tick == 0
        await press(app, pilot, "escape")
        assert "In the past" in app.main.query_one("#stopline", StopLine).text, (
            "Esc closes one thing"
        )
        await press(app, pilot, "h")
        assert a(HistoryScreen, app.screen).timeline.cursor_tick == 0, (
            "and h comes back to the same tick"
        )


@pytest.mark.full(instead="test_the_machine_goes_back_by_keys")
async def test_go_to_a_tick_says_what_it_shows() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, ("set timeline on", *STOPS))
        await press(app, pilot, "g")
        assert isinstance(app.screen, AskScreen)
        await press(app, pilot, *"40", "enter")
        assert screen.timeline.cursor_tick == 40
        assert "no stop at 40: the panes show the one before it, at 33" in said(app)
        view = app.main.past.shown
        assert there(view).tick == 33
        await press(app, pilot, "g", *"99999", "enter")
        assert "the launch has ticks 0 to 63" in said(app)
        assert app.main.past.shown is None
        await press(app, pilot, "g", *"soon", "enter")
        assert "'soon' is no tick" in said(app)


async def test_the_machine_goes_back_by_keys() -> None:
    """An instruction, to the cursor of the history screen, to the stop before, a line."""
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot, ("set timeline on", *STOPS))
        await press(app, pilot, "escape")
        assert app.session.tick == 63
        await press(app, pilot, "backspace")
        assert app.session.tick == 62
        await press(app, pilot, "h", "backspace")
        assert app.session.tick == 61
        await press(app, pilot, "g", *"40", "enter", "enter", "escape")
        assert app.session.tick == 40
        assert app.main.current is not None
        assert app.main.current.tick == 40
        await press(app, pilot, "C")
        assert app.session.tick == 33
        await press(app, pilot, "P")
        assert app.session.tick < 33
        await press(app, pilot, "f5")
        assert app.session.tick == 33


@pytest.mark.full(instead="test_branches_are_gone_to_named_compared_and_deleted")
async def test_bookmarks_are_set_named_and_dropped() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, STOPS, ("h", "shift+left"))
        await press(app, pilot, "m")
        assert isinstance(app.focused, Input)
        await press(app, pilot, *"second turn", "enter")
        assert app.session.timeline.bookmarks == {48: "second turn"}
        assert any("48 \u25ca second turn" in t for t in screen.stops.texts)
        assert any("\u25ca" in t and t.startswith("  events") for t in screen.timeline.texts)
        await press(app, pilot, "end", "comma", "comma", "full_stop")
        assert screen.timeline.cursor_tick == 48
        assert any("\u25ca second turn" in t for t in screen.timeline.texts[-8:])
        await press(app, pilot, "d")
        assert not app.session.timeline.bookmarks
        await press(app, pilot, "d")
        assert "no bookmark at tick 48" in said(app)


async def test_who_wrote_goes_from_writer_to_writer() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, ("set timeline on", *STOPS))
        lane, view = current(app).lane, app.main.current
        warp = warp_of(there(view), there(there(view).focus_row))
        await press(app, pilot, "R", *"R2", "enter")
        assert any("Last writer of R2" in t for t in screen.changed.texts)
        writers = app.session.timeline.written(warp, 2, 0, there(view).tick, lane)
        for expected in writers[:-3:-1]:
            await press(app, pilot, "W")
            assert screen.timeline.cursor_tick == expected.tick
            code = app.session.symbols.instruction(expected.pc)
            assert screen.code.key == ("pc", expected.pc)
            assert there(code).text.split()[1].startswith("R2")
        await press(app, pilot, "home", "W")
        assert "no write of R2 in lane" in said(app)
        await press(app, pilot, "R", *"R999", "enter")
        assert "R999 is no register" in said(app)
        await press(app, pilot, "end", "R", "enter", "3", "down", "down", "enter")
        name = screen.changed.key[1]
        assert any(t.startswith(f"  writes {name}") for t in screen.timeline.texts)
        before = screen.changed.texts
        await press(app, pilot, "x")
        assert screen.changed.texts != before


@pytest.mark.full(instead="test_keys_go_through_stops_ticks_and_events")
async def test_zoom_is_around_the_cursor() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(
            app, pilot, ("set timeline on", "break 19", "continue", "continue"), ("h",)
        )
        whole = screen.timeline.picture
        await press(app, pilot, "shift+left", "plus", "plus")
        near: TimelinePicture = screen.timeline.picture
        assert near.stop - near.start == whole.stop // 4
        assert near.start <= 145 <= near.stop
        await press(app, pilot, *["left"] * 3)
        assert screen.timeline.cursor_tick < 145
        for _ in range(4):
            await press(app, pilot, "plus")
        assert screen.timeline.picture.stop - screen.timeline.picture.start >= 8
        ticks = {screen.timeline.cursor_tick}
        for _ in range(12):
            await press(app, pilot, "left")
            assert screen.timeline.picture.column(screen.timeline.cursor_tick) is not None
            ticks.add(screen.timeline.cursor_tick)
        assert len(ticks) == 13, "a column is a tick, and the window goes along"
        await press(app, pilot, "minus")
        assert screen.timeline.picture.stop - screen.timeline.picture.start >= 16
        await press(app, pilot, "0")
        assert (screen.timeline.picture.start, screen.timeline.picture.stop) == (0, whole.stop)


@pytest.mark.full(instead="test_keys_go_through_stops_ticks_and_events")
async def test_mouse_clicks_drags_and_scrolls() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, ("set timeline on", *STOPS, "continue"))
        pane = screen.timeline
        at = pane.region
        p = pane.picture
        x = at.x + LABEL
        await pilot.mouse_down(offset=(x + 2, at.y + 1))
        await settle(app, pilot)
        assert there(app.main.past.shown).tick == 0
        await pilot.hover(offset=(x + p.column(40) * p.stretch, at.y + 1))
        await settle(app, pilot)
        assert there(app.main.past.shown).tick == 33
        assert app.session.tick == 97, "held: only the pictures of stops are looked at"
        await pilot.mouse_up(offset=(x + p.column(40) * p.stretch, at.y + 1))
        await settle(app, pilot)
        here = p.tick(p.column(40))
        assert (app.session.tick, current(app).tick, pane.cursor_tick) == (here, here, here)
        assert app.main.past.shown is None, "the machine stands there"
        await pilot.hover(offset=(x, at.y + 1))
        await settle(app, pilot)
        assert pane.cursor_tick == here, "not held any more"
        # What is yet to come from there stays on the timeline.
        p = there(pane.picture)
        assert (p.end, p.here) == (97, here)
        mine = next(t for t in p.tracks if t.mine)
        assert RUNS in mine.track.states[there(p.column(here)) + 1 :]
        cells = pane._warp(p, mine).spans
        assert any(style == "dim" for _, style in cells)
        assert f"{here} of 97" in app.main.query_one(AppBar).text
        await press(app, pilot, "end")
        assert (app.session.tick, pane.cursor_tick) == (97, 97)
        await press(app, pilot, "less_than_sign")
        assert pane.cursor_tick == 87
        await press(app, pilot, "greater_than_sign", "enter")
        assert app.session.tick == 97
        row = next(n for n, t in enumerate(screen.stops.texts) if " 97 " in t)
        await pilot.click(offset=(screen.stops.region.x + 16, screen.stops.region.y + row))
        await settle(app, pilot)
        assert app.main.past.shown is None
        row = next(n for n, t in enumerate(pane.texts) if t.startswith(" 0   CTA 0"))
        await pilot.click(offset=(at.x + 1, at.y + row))
        await settle(app, pilot)
        assert there(current(app).focus_row).slot == 0
        assert pane.texts[2].startswith("\u25ba0   CTA 0")
        await press(app, pilot, "shift+left")
        await pilot.click(offset=(at.x + 1, at.y + row))
        await settle(app, pilot)
        assert "End goes to the present" in said(app)


@pytest.mark.full(instead="test_go_to_a_tick_says_what_it_shows")
async def test_its_own_command_line() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(app, pilot, STOPS)
        assert not screen.console.display
        await press(app, pilot, "colon", *"bookmark here", "home", "end", "enter")
        assert app.session.timeline.bookmarks == {63: "here"}
        assert any("63 \u25ca here" in t for t in screen.stops.texts)
        assert shown_screen(app) is screen
        await press(app, pilot, "escape")
        assert focused_widget(app) is screen.timeline


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("keys", [("h",), ("t",)])
async def test_escape_leaves_a_command_line_that_was_clicked(keys: tuple[str, ...]) -> None:
    """Nothing had the focus before: it goes to the screen's first pane."""
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, *keys)
        screen = app.screen
        assert isinstance(screen, ConsoleScreen)
        screen.console._from = None
        screen.set_focus(screen.console.prompt)
        await press(app, pilot, "escape")
        assert app.focused in (*screen.panes, screen.console.answers)


@pytest.mark.full(instead="test_it_shows_the_way_here")
async def test_other_warps_scroll_where_there_are_more_than_rows() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(app, pilot, ("set timeline on", "continue"))
        pane = screen.timeline
        first = next(t for t in pane.texts if t.startswith("   CTA"))
        assert any("more warp" in t for t in pane.texts)
        await press(app, pilot, "1", "pagedown")
        assert first not in pane.texts
        await press(app, pilot, "pageup")
        assert first in pane.texts


@pytest.mark.full(instead="test_it_shows_the_way_here")
async def test_a_small_launch_is_recorded_before_anybody_looks() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, ("break 19", "continue", "delete", "continue"))
        assert current(app).snapshot.finished
        text = "\n".join(screen_text(app))
        assert "Recorded from" not in text
        picture = screen.timeline.picture
        assert (picture.first, picture.end) == (0, 1258)
        assert all(RUNS in t.track.states for t in picture.tracks)
        assert "not recorded" not in text


@pytest.mark.full(instead="test_it_shows_the_way_here")
async def test_recording_begins_when_it_is_opened_and_says_so() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        app.session.settings.set("timeline", "auto")
        await settle(app, pilot)
        assert not app.session.timeline.recording, "nobody pays before"
        screen = await opened(app, pilot, STOPS)
        assert app.session.timeline.recording
        text = "\n".join(screen.timeline.texts)
        assert "Recorded from tick 63 on; `r` starts again and records all of it." in text
        await press(app, pilot, "space", "space")
        assert app.main.current.tick == 65
        assert screen.timeline.picture.end == 65
        assert any("63 " in t for t in screen.timeline.texts)
        await press(app, pilot, "r")
        assert app.main.current.tick == 0
        assert "no earlier" not in said(app)
        await press(app, pilot, "space", "space", "space")
        text = "\n".join(screen.timeline.texts)
        assert "Recorded from" not in text
        assert screen.timeline.picture.tracks[0].track.states == "rrr"
        assert "of earlier launches" in screen.stops.texts[0]


@pytest.mark.full(instead="test_it_shows_the_way_here")
async def test_switched_off_only_stops_are_shown() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, ("set timeline off", *STOPS))
        assert not app.session.timeline.recording
        text = "\n".join(screen.timeline.texts)
        assert "`set timeline on` records" in text
        assert any("not recorded: the timeline is off" in t for t in screen.changed.texts)
        await press(app, pilot, "W")
        assert "the timeline is off" in said(app)
        await press(app, pilot, "shift+left")
        assert "tick 48 of 63" in header(screen)


@pytest.mark.full(instead="test_the_machine_goes_back_by_keys")
async def test_steps_come_back_to_the_present_and_a_run_dims() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, ("set timeline on", *STOPS), ("h", "shift+left", "left"))
        await press(app, pilot, "space")
        assert "In the past" not in header(screen)
        assert current(app).tick == 64
        assert screen.cursor is None
        await press(app, pilot, "c", "c")
        assert any(e.tick == current(app).tick for e in screen.timeline.picture.events)


@pytest.mark.full(instead="test_steps_come_back_to_the_present_and_a_run_dims")
async def test_the_end_and_a_resize_in_the_past() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        lines = ("set timeline on", *STOPS, "delete", "continue")
        screen = await opened(app, pilot, lines)
        text = "\n".join(screen_text(app))
        assert "Finished" in header(screen)
        assert "CTA 3 w1" in text
        assert "35 stores" in text
        assert "out  4 elements changed" in text
        await press(app, pilot, "shift+left", "shift+left")
        assert "tick 48 of 1,258" in header(screen)
        await pilot.resize_terminal(80, 24)
        await settle(app, pilot)
        assert "tick 48 of 1,258" in header(screen)
        assert screen.timeline.picture.columns == cells_of(80)
        assert "Esc back" in screen.query_one(KeyRow).text


@pytest.mark.full(instead="test_it_shows_the_way_here")
async def test_gathering_warps_leaves_nothing_out() -> None:
    """What the other warps did on their way to a breakpoint is in the history, tick by tick."""

    class Truth(gpudbg.Observer):
        rows: ClassVar[list[tuple[int, int, int]]] = []

        def instruction(self, warp: Any, pc: int, instruction: Any, lanes: int) -> None:
            self.rows.append((pc, lanes, warp.cta.number << 32 | warp.index))

    app = make_app(open_first())
    app.session.subscribe(Truth())
    lines = ("set gather on", "set timeline on", "break 19", "continue")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, lines)
        assert app.session.stops[-1].arrived_warps == 8
        record = there(app.session.timeline.present())
        assert record.rows(0, record.end).tolist() == [list(row) for row in Truth.rows]
        picture = screen.timeline.picture
        assert picture.end == len(Truth.rows) == current(app).tick == 650
        assert len(picture.tracks) == 4, "of the SM in focus"
        assert all(RUNS in t.track.states for t in picture.tracks)
        await press(app, pilot, "space", "shift+left")
        assert f"tick {len(Truth.rows) - 1} of {len(Truth.rows)}" in header(screen)


async def test_traps_and_faults_are_events() -> None:
    app = make_app(open_kernel(SCATTER))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(app, pilot, ("set timeline on", "continue"), ("escape", "h"))
        assert any("warp 1 enters the trap handler" in t for t in screen.stops.texts)
        row = next(t for t in screen.timeline.texts if t.startswith("  events"))
        assert "\u00d7" in row
        assert not any("cannot be drawn" in t for t in screen_text(app))


@pytest.mark.full(instead="test_it_shows_the_way_here")
async def test_it_reads_without_colour_and_unicode() -> None:
    app = make_app(open_first(), marks="ascii", palette="mono")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot, ("set timeline on", *STOPS), ("h", "shift+left", "left"))
        text = "\n".join(screen_text(app))
        assert text.isascii()
        assert "< In the past" in text
        assert "Left Right column" in text
        row = next(t for t in screen_text(app) if t.startswith(">0   CTA 0"))
        assert "666" in row


def test_the_panes_name_is_the_actions() -> None:
    from gpudbg.frontends.tui.actions import BY_ID

    assert BY_ID["history"].command == "info timeline"
    assert TimelinePane.pane == "timeline"


async def test_branches_are_gone_to_named_compared_and_deleted() -> None:
    """`b` on the time line; and the keys that run back out of calls, loops, to the cursor."""
    session = open_first()
    app = make_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        for line in ("stepi 40", "goto 10", "set var $R4 = 7", "stepi 5"):
            app.main.run_command(line)
            await settle(app, pilot)
        assert session.tick == 15
        await press(app, pilot, "h", "b", "n", *"seven", "enter")
        assert [row.name for row in session.branches] == ["", "seven"]
        await press(app, pilot, "b", "c")
        branches = a(BranchesScreen, app.screen)
        assert "* 2  from 1 at 10, to tick 15  seven" in "\n".join(screen_text(app))
        assert "choose another branch" in "\n".join(screen_text(app))
        await press(app, pilot, "up", "c")
        assert app.screen is branches
        text = "\n".join(screen_text(app))
        assert "R11 lane 0" in text
        assert "d delete   Esc close" in text
        assert "does nothing here" not in text
        await press(app, pilot, "enter")
        assert session.tick == 40
        assert session.branches[0].current
        await press(app, pilot, "b", "d")
        assert "is the one that is followed" in "\n".join(screen_text(app))
        await press(app, pilot, "down", "d")
        assert "branch 2 is deleted" in "\n".join(screen_text(app))
        assert len(session.branches) == 1
        await press(app, pilot, "escape", "escape")
        assert on_main(app)
        await press(app, pilot, "Y")
        assert session.tick < 40
