"""The application driven by keys, mouse and console on quick sessions."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from gpudbg.frontends.tui import keymaps
from gpudbg.frontends.tui.actions import BY_ID
from gpudbg.frontends.tui.explain import explain
from gpudbg.frontends.tui.screens.board import Board
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.chrome import AppBar, KeyRow, SmStrip, StopLine
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.console import ConsolePane, History
from gpudbg.frontends.tui.widgets.memory import MemoryPane
from gpudbg.frontends.tui.widgets.registers import RegistersPane
from tests.narrowing import a, there
from tests.tui.helpers import offset_at, pc_at

from .helpers import (
    DIVERGE,
    ROOT,
    current,
    make_app,
    open_first,
    open_kernel,
    press,
    screen_text,
    settle,
    view_of,
)

BIG = (120, 40)


@pytest.mark.parametrize("name", keymaps.NAMES)
def test_no_key_of_a_map_does_two_things(name: str) -> None:
    seen: dict[str, str] = {}
    for action, keys in keymaps.keymap(name).items():
        for key in keys.split(","):
            assert key not in seen, f"{key}: {seen.get(key)} and {action}"
            seen[key] = action
    assert set(keymaps.keymap(name)) == set(BY_ID)


async def test_first_picture_answers_why_where_who() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        stop = app.main.query_one(StopLine).text
        assert "Entry" in stop
        assert "block_max+0x8" in stop
        assert "warp 0" in stop
        assert "lane 0" in stop
        assert "32 of 32 lanes" in stop
        assert "first_steps.cubin" in app.main.query_one(AppBar).text
        assert app.main.query_one(SmStrip).text.startswith(" SM0 0 ►▫  2 ▫▫")
        assert app.main.focused_pane() == "code"


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (100, 50), (130, 26)])
async def test_nothing_is_cut_off_at_any_size(size: tuple[int, int]) -> None:
    app = make_app(open_kernel("divergence", DIVERGE))
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "space", "space")
        lines = screen_text(app)
        assert len(lines) == size[1]
        assert "Step" in "".join(lines[:2])
        assert "help" in lines[-1]
        assert any("divergence" in line for line in lines[:2])
        for pane in app.main.query(LinePane):
            if pane.display:
                assert "cannot be drawn" not in "\n".join(pane.texts)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(("palette", "marks"), [("mono", "ascii"), ("light", "unicode")])
async def test_other_looks(palette: str, marks: str) -> None:
    app = make_app(open_kernel("divergence", DIVERGE), palette=palette, marks=marks)
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "space")
        if marks == "ascii":
            assert all(line.isascii() for line in screen_text(app))


async def test_stepping_keys() -> None:
    app = make_app(open_first())
    session = app.session
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "space")
        assert there(session.stop).pc == 0x10
        assert "R1" in [r.name for r in current(app).registers if r.changed]
        line = session.symbols.line(session.warp().state.pc)
        await press(app, pilot, "n")
        assert session.symbols.line(session.warp().state.pc) != line
        before = session.grid.total
        await press(app, pilot, "s", "f10", "f11")
        assert session.grid.total > before
        await press(app, pilot, "r")
        assert session.grid.total == 0
        assert "Entry" in app.main.query_one(StopLine).text
        await press(app, pilot, "f5")
        assert session.finished
        assert "Finished, 4 of 4 CTAs, no faults" in app.main.query_one(StopLine).text
        await press(app, pilot, "r", "c")
        assert session.finished


async def test_finished_shows_output_and_only_keys_that_work() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        assert "F5 run" in app.main.query_one(KeyRow).text
        await press(app, pilot, "f5")
        keys = app.main.query_one(KeyRow).text
        assert "F5 run" not in keys
        assert "r restart" in keys
        output = app.main.line_pane("output")
        assert output.display
        assert any(t.split()[:2] == ["out", "i32[4]"] for t in output.texts)
        await press(app, pilot, "space")
        assert "the kernel" in "".join(app.main.query_one(ConsolePane).answers.texts[-2:])


async def test_focus_keys_move_lane_warp_and_cta() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "l", "l", "L")
        assert there(app.session.focus).lane == 1
        await press(app, pilot, "right_square_bracket")
        assert there(app.session.focus).warp == 1
        await press(app, pilot, "left_square_bracket")
        assert there(app.session.focus).warp == 0
        await press(app, pilot, "right_curly_bracket")
        assert current(app).cta == "1"
        assert there(app.session.focus).sm == 1
        await press(app, pilot, "left_curly_bracket")
        assert current(app).cta == "0"


@pytest.mark.full(instead="test_focus_keys_move_lane_warp_and_cta")
async def test_things_of_note_are_lanes_where_paths_begin() -> None:
    session = open_kernel("divergence", DIVERGE)
    session.break_at("13")
    session.cont()
    app = make_app(session)
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        seen = set()
        for _ in range(6):
            await press(app, pilot, "full_stop")
            seen.add(there(session.focus).lane)
        assert len(seen) > 1
        here = there(session.focus).lane
        await press(app, pilot, "full_stop", "comma")
        assert there(session.focus).lane == here


async def test_breakpoint_by_key_by_mouse_and_its_pane() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "j", "j", "b")
        assert [p.addresses for p in current(app).points]
        code = app.main.query_one(CodePane)
        assert any("●" in t for t in code.texts)
        await press(app, pilot, "f9")
        assert not current(app).points
        row = next(i for i, t in enumerate(code.texts) if "SSY" in t)
        await pilot.click("#pane-code", offset=(0, row))
        await settle(app, pilot)
        assert len(current(app).points) == 1
        await press(app, pilot, "0")
        assert app.main.focused_pane() == "marks"
        await press(app, pilot, "j", "E")
        assert not current(app).points[0].enabled
        assert any(" o " in t for t in app.main.line_pane("marks").texts)
        await press(app, pilot, "d")
        assert not current(app).points


async def test_run_to_cursor() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, *"jjjjj", "U")
        code = app.main.query_one(CodePane)
        assert pc_at(app, code) == app.session.warp().state.pc
        assert app.session.grid.total > 1


async def test_condition_asks_in_the_console() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "B")
        prompt = app.main.query_one("#prompt", Input)
        assert prompt.value.startswith("break block_max+0x8 if ")
        assert prompt.has_focus


async def test_panes_by_digit_tab_and_zoom() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        for key, pane in [("2", "warps"), ("3", "paths"), ("4", "registers"), ("5", "memory")]:
            await press(app, pilot, key)
            assert app.main.focused_pane() == pane
        for key, pane in [("7", "stops"), ("8", "watch"), ("9", "output"), ("0", "marks")]:
            await press(app, pilot, key)
            assert app.main.focused_pane() == pane
            assert app.main.line_pane(pane).display
        await press(app, pilot, "z")
        assert app.main.line_pane("marks").size.height == 36
        assert not app.main.line_pane("code").display
        await press(app, pilot, "escape")
        assert app.main.line_pane("code").display
        await press(app, pilot, "1", "tab")
        assert app.main.focused_pane() == "warps"
        await press(app, pilot, "shift+tab")
        assert app.main.focused_pane() == "code"
        for key, pane in [("O", "output"), ("7", "stops"), ("m", "marks")]:
            await press(app, pilot, key)
            assert app.main.focused_pane() == pane


async def test_small_screen_swaps_its_middle_pane() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        assert app.main.line_pane("lanes").display
        await press(app, pilot, "5")
        assert app.main.line_pane("memory").display
        assert not app.main.line_pane("lanes").display
        await press(app, pilot, "2", "4")
        assert app.main.focused_pane() == "registers"
        assert "tick" in app.main.query_one(KeyRow).text


async def test_console_runs_completes_and_remembers() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        console = app.main.query_one(ConsolePane)
        await press(app, pilot, "colon")
        prompt = app.main.query_one("#prompt", Input)
        await press(app, pilot, *"info line", "enter")
        assert any(
            "Line 4 of" in t and "starts at block_max+0x8" in t for t in console.answers.texts
        )
        await press(app, pilot, *"disa", "tab")
        assert prompt.value.startswith("disa")
        await press(app, pilot, "ctrl+u", *"tbr", "tab")
        assert prompt.value == "tbreak "
        await press(app, pilot, "ctrl+u", "up")
        assert prompt.value == "info line"
        await press(app, pilot, "down")
        assert prompt.value == ""
        await press(app, pilot, *"stepi 2", "enter")
        assert app.session.grid.total == 2
        await press(app, pilot, "enter")
        assert app.session.grid.total == 4
        await press(app, pilot, *"nosuch", "enter")
        assert any('Undefined command: "nosuch"' in t for t in console.answers.texts)
        await press(app, pilot, "escape")
        assert app.main.focused_pane() == "code"
        await press(app, pilot, "6")
        assert prompt.has_focus


async def test_console_lists_completions() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "colon", *"info s", "tab")
        assert any("sms" in t for t in app.main.query_one(ConsolePane).answers.texts)


def test_history_walks_lines_that_begin_as_typed() -> None:
    history = History()
    for line in ("break 3", "info warps", "break 7", "break 7"):
        history.add(line)
    assert history.lines == ["break 3", "info warps", "break 7"]
    assert history.walk(-1, "br") == "break 7"
    assert history.walk(-1, "br") == "break 3"
    assert history.walk(-1, "br") is None
    assert history.walk(1, "br") == "break 7"
    assert history.walk(1, "br") == "br"


@pytest.mark.full(instead="test_enter_follows_branches_paths_stops_and_buffers")
async def test_memory_pane_goes_where_it_is_told() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "M", *"in", "enter")
        page = current(app).memory
        assert there(page).space == "global"
        assert there(page).label.startswith("in ")
        pane = app.main.query_one(MemoryPane)
        assert pane.form == "i32", "the source says `const int *in`"
        first = app.session.buffer("in")[0]
        assert str(first) in app.main.line_pane("memory").texts[1]
        await press(app, pilot, "x")
        assert pane.form == "f32"
        await press(app, pilot, "plus")
        assert there(current(app).memory).address > there(page).address
        await press(app, pilot, "minus", "o")
        assert there(current(app).memory).label.startswith("out ")
        await press(app, pilot, "o", "o")
        assert there(current(app).memory).space == "const"
        await press(app, pilot, "o")
        assert there(current(app).memory).space == "map"
        await press(app, pilot, "o")
        assert there(current(app).memory).space == "shared"


async def test_registers_formats_and_opened_rows() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "space", "4", "j", "j", "x")
        assert app.options.register_format == "d"
        assert any("16777216" in t for t in app.main.line_pane("registers").texts)
        height = len(app.main.query_one(RegistersPane)._content.rows)
        await press(app, pilot, "plus")
        assert len(app.main.query_one(RegistersPane)._content.rows) == height + 8
        await press(app, pilot, "minus")
        assert len(app.main.query_one(RegistersPane)._content.rows) == height


async def test_watch_an_expression() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "a", *"threadIdx.x*4", "enter")
        assert [w.name for w in current(app).watches] == ["threadIdx.x*4"]
        assert any("4·lane" in t for t in app.main.line_pane("watch").texts)
        await press(app, pilot, "a", *"nosuchname", "enter")
        assert len(current(app).watches) == 1
        await press(app, pilot, "8", "j", "d")
        assert not current(app).watches


async def test_goto_and_search() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "g", *"19", "enter")
        code = app.main.query_one(CodePane)
        where = pc_at(app, code)
        assert there(app.session.symbols.line(where)).number >= 19
        await press(app, pilot, "slash", *"BAR.SYNC", "enter")
        text = there(current(app).code.code(pc_at(app, code))).text
        assert "BAR" in text
        first = code.cursor
        await press(app, pilot, "slash", "enter")
        assert code.cursor != first
        await press(app, pilot, "slash", *"zzz", "enter")
        assert any("is not in the code" in t for t in app.main.query_one(ConsolePane).answers.texts)


async def test_explain_says_what_a_row_is() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "i")
        texts = app.main.query_one(ConsolePane).answers.texts
        assert any("writes R1" in t for t in texts)
        assert any("control:" in t for t in texts)
        await press(app, pilot, "2", "j", "j", "i")
        assert any("has not begun" in t for t in app.main.query_one(ConsolePane).answers.texts)


async def test_mouse_focuses_lanes_and_warps() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        texts = app.main.line_pane("registers").texts
        shown = next(n for n, text in enumerate(texts) if "TID.X" in text)
        await pilot.click("#pane-registers", offset=(16 + 9, shown))
        await settle(app, pilot)
        assert there(app.session.focus).lane == 9
        await pilot.click("#pane-warps", offset=(16 + 5, 2))
        await settle(app, pilot)
        assert (there(app.session.focus).warp, there(app.session.focus).lane) == (1, 5)
        strip = app.main.query_one(SmStrip).text
        await pilot.click("#strip", offset=(strip.index("▫▫"), 0))
        await settle(app, pilot)
        assert current(app).cta == "2"


@pytest.mark.full(instead="test_focus_keys_move_lane_warp_and_cta")
async def test_neighbours_in_a_title_can_be_clicked() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        title = app.main.line_pane("memory").texts[0]
        await pilot.click("#pane-memory", offset=(title.index("Stops"), 0))
        await settle(app, pilot)
        assert app.main.line_pane("stops").display


async def test_text_typed_right_behind_the_colon_goes_to_the_console() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        app.main.action_do("console")
        assert app.main.focused is app.main.query_one("#prompt", Input)


async def test_after_a_restart_nothing_counts_as_changed() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "space", "r")
        assert not [v.name for v in current(app).registers if v.changed]


async def test_the_first_line_says_what_to_press() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        assert "Space one instruction" in app.main.query_one(ConsolePane).answers.texts[1]


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("pane", "key", "says"),
    [
        ("paths", "j", "path a runs at block_max+0x8"),
        ("registers", "j", "no instruction on the way here"),
        ("warps", "j", "warp 0 has not begun"),
    ],
)
async def test_explain_in_every_pane(pane: str, key: str, says: str) -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        app.main.focus_pane(pane)
        await press(app, pilot, key, "i")
        assert any(says in t for t in app.main.query_one(ConsolePane).answers.texts)


def test_a_barrier_says_who_is_there_and_who_is_not() -> None:
    session = open_first()
    while not any(w.status == "barrier" for w in session.grid.warps()):
        session.command("stepi")
    view = view_of(session)
    bar = next(
        pc for pc in session.symbols.pcs if "BAR." in there(session.symbols.instruction(pc)).text
    )
    for key in (("pc", bar), ("pc", view.pc), ("warp", 0, 0)):
        text = "\n".join(explain(session, view, key))
        assert "barrier 0 of block (0,0,0): 32 of 64 threads have arrived" in text
        assert "it waits for 64, all live threads" in text
        assert "arrived: warp 0" in text
        assert "not there: warp 1 has not begun, and stands at block_max+0x8" in text


def test_lanes_that_wait_for_each_other_are_told_at_their_barrier_and_path() -> None:
    session = open_kernel(ROOT / "sessions" / "spin_lock_ends" / "spin_lock_ends.cubin")
    while not any(g.waits_at for g in there(view_of(session).focus_row).groups):
        session.step()
    view = view_of(session)
    texts = {pc: there(session.symbols.instruction(pc)).text for pc in session.symbols.pcs}
    bsync = next(pc for pc, text in texts.items() if "BSYNC" in text)
    waiting = next(g for g in there(view.focus_row).groups if g.waits_at)
    path = next(p for p in view.paths if p.mask == waiting.lanes)
    for key in (("pc", bsync), ("pc", waiting.pc), ("path", path.level, path.offset)):
        text = "\n".join(explain(session, view, key))
        assert f"{waiting.line}" in text
        assert "not there: lanes 1-31, next to run at count_up+0x80" in text
        assert "token" not in text


@pytest.mark.full(instead="test_console_runs_completes_and_remembers")
async def test_an_answer_longer_than_the_console_is_read_over_what_is_above() -> None:
    session = open_kernel(ROOT / "sessions" / "barrier_count" / "barrier_count.cubin")
    app = make_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "f5", "escape")
        before = dict(app.main.query_one(Board).places)
        await press(app, pilot, "i")
        shown = "\n".join(screen_text(app))
        assert "it waits for 128, as many as its instruction says" in " ".join(shown.split())
        assert shown.count("arrived: warp 2") == 1
        assert "nobody is left to come: the other 32 threads" in shown
        assert app.main.query_one(CodePane).has_focus
        # Until the next key elsewhere; a story's answers and stops are read where they stand.
        await press(app, pilot, "j")
        assert app.main.query_one(Board).places == before
        # `:` in the prompt is the key that opens it.
        await press(app, pilot, "colon", ":", *"info barriers", "enter")
        shown = "\n".join(screen_text(app))
        assert "(gpudbg) info barriers" in shown
        assert "Undefined" not in shown
        assert app.main.query_one(Board).places != before
        await press(app, pilot, *"info s", "tab")
        assert "stack  stops  surfaces" in "\n".join(screen_text(app))
        await press(app, pilot, "escape")
        assert app.main.query_one(Board).places == before


async def test_without_a_chosen_row_the_focused_warp_is_explained() -> None:
    session = open_first()
    while not any(w.status == "barrier" for w in session.grid.warps()):
        session.command("stepi")
    app = make_app(session)
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "2", "i")
        texts = app.main.query_one(ConsolePane).answers.texts
        assert any("arrived: warp 0" in t for t in texts)


def test_a_watched_register_is_never_written_as_in_its_pane() -> None:
    view = view_of(open_first(), watches=["R9", "$r1", "threadIdx.x"])
    assert [w.why for w in view.watches] == ["never written", "never written", ""]


async def test_enter_follows_branches_paths_stops_and_buffers() -> None:
    session = open_kernel("divergence", DIVERGE)
    session.break_at("13")
    session.cont()
    app = make_app(session)
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        code = app.main.query_one(CodePane)
        await press(app, pilot, "3", "j", "j", "enter")
        path = current(app).paths[1]
        shown = offset_at(app, code)
        assert shown in {p.offset for p in current(app).paths} or path.mask == 0
        await press(app, pilot, "slash", *"BRA", "enter", "enter")
        await press(app, pilot, "9", "j", "enter")
        assert app.main.focused_pane() == "memory"
        assert there(current(app).memory).space == "global"
        await press(app, pilot, "7", "j", "enter")
        assert any("breakpoint 1" in t for t in app.main.query_one(ConsolePane).answers.texts)


@pytest.mark.full(instead="test_focus_keys_move_lane_warp_and_cta")
async def test_warps_are_chosen_by_a_condition() -> None:
    app = make_app(open_kernel("divergence", DIVERGE))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        pane = app.main.line_pane("warps")
        await press(app, pilot, "2", "slash", *"blockIdx.x == 2", "enter")
        found = [w["warp"] for w in app.session.execute("info warps blockIdx.x == 2")]
        assert len(found) == 8
        assert "31 8 of 64" in pane.texts[0]
        assert "where blockIdx.x == 2" in pane.texts[-1]
        keys = {r.key for r in pane._content.rows if r.key}
        assert {a(tuple, k)[2] for k in keys} == set(found)
        await press(app, pilot, "slash", "ctrl+u", *"$R1 == 99", "enter")
        assert "No warp." in pane.texts[1]
        assert "where $R1 == 99" in pane.texts[2]
        await press(app, pilot, "slash", "ctrl+u", *"nosuch", "enter")
        assert app.options.where == "$R1 == 99", "a mistake changes nothing"
        assert 'No symbol "nosuch"' in app.main.query_one(ConsolePane).answers.lines[-1].text
        await press(app, pilot, "slash", "ctrl+u", "enter")
        assert "64 warps" in pane.texts[0]


async def test_at_the_end_the_keys_are_those_that_still_do_something() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        keys = app.main.query_one(KeyRow)
        assert "l lane" in keys.text
        await press(app, pilot, "c")
        assert "r restart" in keys.text
        for words in ("l lane", "R live", "w watch", "F5 run"):
            assert words not in keys.text
