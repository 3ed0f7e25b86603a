"""Help, palette, warp watch, key maps, themes, command files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Input

from gpudbg.frontends.tui import keymaps, messages
from gpudbg.frontends.tui.actions import ACTIONS
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.screens.card import CardFrame
from gpudbg.frontends.tui.screens.help import HelpScreen
from gpudbg.frontends.tui.screens.watch import WatchScreen, distribution, stands_out
from gpudbg.frontends.tui.widgets.chrome import StopLine
from gpudbg.frontends.tui.widgets.console import ConsolePane
from tests.narrowing import a, there

from .helpers import (
    DIVERGE,
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

BIG = (120, 40)


async def test_help_lists_every_action_and_filters() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "question_mark")
        assert isinstance(app.screen, HelpScreen)
        text = "\n".join(app.screen.query_one(CardFrame).texts)
        for action in ACTIONS:
            if not action.id.endswith("_back"):
                assert action.help in text, action.id
        await press(app, pilot, *"lane")
        assert "run to the next stop" not in "\n".join(app.screen.query_one(CardFrame).texts)
        await press(app, pilot, "backspace", "escape", "escape")
        assert on_main(app)


async def test_palette_finds_actions_commands_warps_and_themes() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        from gpudbg.frontends.tui.palette import PaletteProvider

        provider = PaletteProvider(app.main)
        words = [w for w, _, _ in provider.entries()]
        assert {"run to the next stop", "info warps", "warp 1 of SM 0", "theme light"} <= set(words)
        assert {"key map gdb", "glyphs ascii", "go to block_max"} <= set(words)
        await press(app, pilot, "ctrl+p")
        await press(app, pilot, *"theme light")
        await pilot.pause(0.3)
        await press(app, pilot, "enter")
        assert app.appearance.palette.name == "light"


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("name", keymaps.NAMES)
async def test_key_maps_step(name: str) -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        app.set_keys(name)
        key = keymaps.keymap(name)["stepi"].split(",")[0]
        await press(app, pilot, key)
        assert app.session.grid.total == 1


@pytest.mark.full(instead="test_key_maps_step")
async def test_theme_key_goes_round() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "T")
        assert app.appearance.palette.name == "light"
        assert app.theme == "gpudbg-light"


async def test_copy_takes_the_panes_text() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "2", "y")
        assert "Warps" in app.clipboard


async def test_startup_commands_run_in_order() -> None:
    app = make_app(open_first(), ["break first_steps.cu:11", "continue"])
    async with app.run_test(size=BIG) as pilot:
        for _ in range(5):
            await settle(app, pilot)
        assert "Breakpoint 1" in app.main.query_one(StopLine).text


async def test_messages_carry_rows_and_lanes() -> None:
    got: list[Message] = []
    app = make_app(open_first())
    async with app.run_test(size=BIG, message_hook=got.append) as pilot:
        await settle(app, pilot)
        await pilot.click("#pane-warps", offset=(16 + 3, 1))
        await settle(app, pilot)
        await press(app, pilot, "space")
    clicks = [m for m in got if isinstance(m, messages.RowClicked)]
    assert clicks[0].key == ("warp", 0, 0)
    assert clicks[0].lane == 3
    assert any(isinstance(m, messages.JobDone) and m.view is not None for m in got)


LONG = "in[threadIdx.x + blockIdx.x * blockDim.x] * 2 + 1 - threadIdx.x / 4"


async def watching(app: GpudbgApp, pilot: Pilot[int], *expressions: str) -> Any:
    """The watch screen over a divergent warp."""
    await settle(app, pilot)
    for line in ("break 13", "continue", "continue"):
        app.main.run_command(line)
        await settle(app, pilot)
    app.main.options.watches = list(expressions)
    app.main.quick(lambda s: None)
    await press(app, pilot, "w")
    assert isinstance(app.screen, WatchScreen)
    return app.screen


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_watch_shows_names_in_full_and_a_uniform_value_in_one_row(
    size: tuple[int, int],
) -> None:
    app = make_app(open_kernel("divergence", DIVERGE))
    async with app.run_test(size=size) as pilot:
        screen = await watching(app, pilot, LONG, "blockIdx.x", "$R4")
        texts = screen.table.texts
        assert any(LONG in t for t in texts)
        at = next(n for n, t in enumerate(texts) if t.startswith(" blockIdx.x "))
        assert texts[at].endswith(" uniform")
        assert texts[at + 1].startswith(" $R4"), "nothing of a uniform value is opened"
        ruler = texts[0].index("0\u2501")
        bars = {t.index("\u2500") for t in texts[1:] if "\u2500" * 8 in t}
        assert bars == {ruler}, "lane 0 stands under its number"
        await press(app, pilot, "escape", "8")
        pane = app.main.line_pane("watch")
        joined = "".join(t.strip() for t in pane.texts)
        assert LONG.replace(" ", "") in joined.replace(" ", "")


@pytest.mark.full(instead="test_watch_screen_shows_values_and_what_stands_out")
async def test_every_lane_has_a_row_where_there_is_room_and_on_t() -> None:
    app = make_app(open_kernel("divergence", DIVERGE))
    async with app.run_test(size=(200, 60)) as pilot:
        screen = await watching(app, pilot, "threadIdx.x", "$R4")
        pane = screen.lanes
        assert pane.display
        head, *rows = pane.texts[1:]
        assert len(rows) == 32
        assert all(name in head for name in ("threadIdx.x", "$R4", "R0", "R6", "P0"))
        registers = {v.name: v for v in current(app).registers}
        column = head.index(" R0") + 3
        assert [t[:column].split()[-1] for t in rows] == list(registers["R0"].cells)
        mine = next(t for t in rows if t.startswith("\u25ba"))
        assert mine.split()[1] == str(current(app).lane)
        await press(app, pilot, "4", "down", "down", "down", "enter")
        assert current(app).lane == 2
        assert "cannot be drawn" not in "\n".join(screen_text(app))
    app = make_app(open_kernel("divergence", DIVERGE))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await watching(app, pilot, "threadIdx.x", "$R4")
        assert not screen.lanes.display
        await press(app, pilot, "t")
        assert screen.lanes.display
        assert not screen.table.display
        head = screen.lanes.texts[1]
        await press(app, pilot, "right", "right")
        assert screen.lanes.texts[1] != head
        assert "columns 3 to" in screen.lanes.texts[0]
        await press(app, pilot, "t")
        assert screen.table.display


async def test_watch_screen_shows_values_and_what_stands_out() -> None:
    session = open_kernel("divergence", DIVERGE)
    session.break_at("13")
    session.cont()
    app = make_app(session)
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "w")
        screen = app.screen
        assert isinstance(screen, WatchScreen)
        assert any("threadIdx.x" in t for t in screen.table.texts)
        await press(app, pilot, "a", *"$lane*3", "enter")
        assert "3·lane" in "\n".join(screen.table.texts)
        await press(app, pilot, "a", *"$lane == 5 ? 9000 : $lane & 1", "enter")
        assert len(app.options.watches) >= 3
        await press(app, pilot, *"jjjjjjjjjjjj", "o", "o")
        assert screen.values.order == "count"
        lane = there(session.focus).lane
        await press(app, pilot, "full_stop")
        assert there(session.focus).lane != lane
        await press(app, pilot, "comma", "l", "L", "space")
        assert "Step" in screen.query_one(StopLine).text
        count = len(app.options.watches)
        await press(app, pilot, "d")
        assert len(app.options.watches) == count - 1
        await press(app, pilot, "e")
        a(Input, app.focused).value = "$pc"
        await press(app, pilot, "enter")
        assert "$pc" in app.options.watches
        await press(app, pilot, "escape")
        assert on_main(app)


def test_distribution_orders_and_sentences() -> None:
    session = open_first()
    view = view_of(session, watches=["$lane & 3", "$lane == 7 ? 5000 : $lane & 3", "$R99"])
    plain_value, odd, broken = view.watches
    active = there(view.focus_row).active
    by_value = distribution(plain_value, active, "value")
    assert [text for text, _ in by_value] == ["0", "1", "2", "3"]
    assert sum(len(lanes) for _, lanes in by_value) == 32
    assert distribution(odd, active, "count")[-1] == ("5000", [7])
    assert any("lane 7" in line and "5000" in line for line in stands_out(odd, view))
    assert "no value here" in stands_out(broken, view)[0]


async def test_command_files_run_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "walk.gdb"
    file.write_text("# a comment\nstepi 2\n\nstepi\n")
    app = make_app(open_first(), [f"source {file}", "stepi 4"])
    async with app.run_test(size=BIG) as pilot:
        for _ in range(6):
            await settle(app, pilot)
        assert app.session.grid.total == 7
        await press(app, pilot, "colon", *"source /no/such/file", "enter")
        texts = app.main.query_one(ConsolePane).answers.texts
        assert any("cannot read /no/such/file" in t for t in texts)


@pytest.mark.full(instead="test_watch_screen_shows_values_and_what_stands_out")
async def test_the_line_between_the_columns_can_be_moved() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        app.main.post_message(messages.SplitMoved(50))
        await settle(app, pilot)
        await pilot.pause(0.1)
        assert app.main.line_pane("code").size.width == 50
        assert app.main.line_pane("warps").size.width == 69


@pytest.mark.full(instead="test_watch_screen_shows_values_and_what_stands_out")
async def test_a_new_expression_is_the_one_shown_below() -> None:
    app = make_app(open_kernel("divergence", DIVERGE))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "w", "a", *"threadIdx.x * 3", "enter")
        assert there(a(WatchScreen, app.screen).table.selected()).name == "threadIdx.x * 3"
        assert "of threadIdx.x * 3" in a(WatchScreen, app.screen).values.texts[0]
        await press(app, pilot, "e", "end", *" + 1", "enter")
        assert "of threadIdx.x * 3 + 1" in a(WatchScreen, app.screen).values.texts[0]


async def test_help_scrolls_where_not_all_of_it_fits() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "question_mark")
        frame = app.screen.query_one(CardFrame)
        seen = "\n".join(frame.texts)
        assert "more rows" in frame.foot
        while "more rows" in frame.foot:
            await press(app, pilot, "pagedown")
            seen += "\n".join(frame.texts)
        for action in ACTIONS:
            if not action.id.endswith("_back"):
                assert action.help in seen, action.id
        await press(app, pilot, *["pageup"] * 9)
        assert "one instruction" in "\n".join(frame.texts)
        await press(app, pilot, *"theme")
        assert "more rows" not in frame.foot
        assert "next colour theme" in "\n".join(frame.texts)
