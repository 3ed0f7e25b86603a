"""Panes as pure functions of a view: what their rows say at known stops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpudbg.analysis.contents import means, not_finite
from gpudbg.analysis.lane_shape import guess_kind, shape
from gpudbg.debug.pictures import OutputRow
from gpudbg.debug.snapshot import StackEntry
from gpudbg.debug.values.operands import float_words, next_words, operand_values
from gpudbg.debug.warp_paths import letters, paths
from gpudbg.frontends.tui.glyphs import ASCII, UNICODE
from gpudbg.frontends.tui.text import plain
from gpudbg.frontends.tui.widgets.code import CodeRows, control_words, fitting, text_spans
from gpudbg.frontends.tui.widgets.lane_axis import Axis, axis_for, ruler
from gpudbg.frontends.tui.widgets.lists import MarksPane, OutputPane, StopsPane, plot, thinned
from gpudbg.frontends.tui.widgets.memory import page_rows, word_text
from gpudbg.frontends.tui.widgets.paths import path_line
from gpudbg.frontends.tui.widgets.registers import interesting, lane_line, named_lines, opened
from gpudbg.frontends.tui.widgets.warps import groups, state_words, warp_line, why_words
from tests.narrowing import there

from .helpers import (
    DIVERGE,
    LOOP,
    ROOT,
    appearance,
    make_app,
    open_first,
    open_kernel,
    settle,
    view_of,
)

AXIS = Axis(1)


@pytest.fixture(scope="module")
def diverged() -> Any:
    session = open_kernel("divergence", DIVERGE)
    session.break_at("13")
    session.cont()
    return session


@pytest.fixture(scope="module")
def entry_view() -> Any:
    return view_of(open_first())


# ---- lane shapes and paths -------------------------------------------------------------
def _shape(values: Any, active: int = 0xFFFFFFFF, kind: str = "i") -> Any:
    return shape(np.array(values, np.float64), active, 0xFFFFFFFF, kind)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([7] * 32, "uniform"),
        (list(range(416, 448)), "416+lane"),
        ([100 + 4 * i for i in range(32)], "100+4·lane"),
        ([i % 3 for i in range(32)], "3 values"),
        ([(i * 7) % 31 for i in range(32)], "0..30"),
    ],
)
def test_sameness_collapses_into_words(values: Any, words: str) -> None:
    assert _shape(values).words == words


def test_parked_lanes_do_not_count() -> None:
    values = [5 if i < 16 else 9 for i in range(32)]
    assert _shape(values, 0x0000FFFF).words == "uniform in a"


def test_the_odd_lane_is_found_and_left_out_of_the_scale() -> None:
    values = [i % 7 for i in range(32)]
    values[12] = 412
    found = _shape(values)
    assert found.odd == 1 << 12
    assert found.words.endswith("× 12")
    assert max(found.levels[i] for i in range(32) if i != 12) == 6


def test_floats_are_recognised() -> None:
    assert guess_kind(np.arange(1, 33, dtype=np.float32).view(np.uint32)) == "f"
    assert guess_kind(np.arange(32, dtype=np.uint32)) == "i"


def test_paths_say_where_every_lane_waits() -> None:
    stack = (
        StackEntry("SSY", 0xFF, 0x190, 0x190, "k+0x190"),
        StackEntry("DIV", 0x0C, 0x1C8, 0x1C8, "k+0x1c8"),
    )
    found = paths(0x03, 0x80, 0x168, stack)
    assert [(p.letter, p.mask, p.words) for p in found] == [
        ("a", 0x03, "2 run"),
        ("b", 0x0C, "2 else"),
        ("c", 0x70, "3 joined"),
    ]
    assert letters(found)[:9] == "aabbccc  "


def test_every_live_lane_is_on_exactly_one_path(diverged: Any) -> None:
    for _ in range(40):
        view = view_of(diverged)
        row = view.focus_row
        union = 0
        for p in view.paths:
            assert not union & p.mask
            union |= p.mask
        assert union == there(row).valid & ~there(row).exited
        diverged.step()


# ---- what the next instruction does ------------------------------------------------------
def test_a_tried_instruction_leaves_no_trace() -> None:
    session = open_first()
    for _ in range(60):
        warp = session.warp().state
        before = warp.record.copy()
        told = next_words(session, warp, 0, ">")
        assert (warp.record == before).all()
        pc = warp.pc
        values = {f"R{i}": int(warp.R[i][0]) for i in range(warp.R.shape[0])}
        session.step()
        after = session.warp().state
        for part in told.split("  "):
            words = part.split()
            if len(words) == 4 and words[2] == ">" and words[0].startswith("R"):
                index = int(words[0][1:])
                assert int(words[3], 0) & 0xFFFFFFFF == int(after.R[index][0]), hex(pc)
                assert int(words[1], 0) & 0xFFFFFFFF == values[words[0]]


def test_operands_are_named_in_the_text() -> None:
    session = open_first()
    for _ in range(20):
        warp = session.warp().state
        code = session.symbols.instruction(warp.pc)
        for value in operand_values(session, warp, 0, warp.pc):
            name = value.name.split(":")[0]
            assert there(code).text[value.column :].startswith(name)
        session.step()


# ---- panes -------------------------------------------------------------------------------
def test_code_rows_show_source_marks_and_what_happens_next(entry_view: Any) -> None:
    rows = CodeRows(entry_view, appearance(), 58)
    texts = plain(rows[0:8])
    assert "__global__ void block_max" in texts[0]
    assert texts[1].startswith(" ►0008   ^     MOV R1, c[0x0][0x20]")
    assert "R1 → 0x1000000" in texts[1], "it was never written: there is no value before"
    assert rows[1].tint == "now-bg"


def test_wide_code_shows_control_words(entry_view: Any) -> None:
    texts = plain(CodeRows(entry_view, appearance(), 103)[0:4])
    assert ":-:-:" in texts[1]


@pytest.mark.parametrize(
    ("control", "text"),
    [(0x7E6, "--:-:-:y:06"), (0x7F6, "--:-:-:-:06"), (0x0FD | 1 << 11, " 0:0:7:-:13")],
)
def test_control_words(control: Any, text: str) -> None:
    shown = control_words(control)
    assert shown.split(":")[4] == text.split(":")[4]
    assert shown.split(":")[3] == text.split(":")[3]


def test_instruction_colours_follow_what_it_does() -> None:
    assert text_spans("@!P0 BRA 0x110")[1][1].startswith("path-b")
    assert text_spans("LDG.E R2, [R2]")[1][1].startswith("path-c")
    assert text_spans("IADD R2, R2, R3")[1][1] == "text.b"
    assert text_spans("@!P0 BRA 0x110")[0][0].strip() == "@!P0"


def test_lanes_line_up_in_every_pane(diverged: Any) -> None:
    view = view_of(diverged)
    rows = [
        warp_line(groups(view, 12)[0], view, AXIS, UNICODE),
        *(path_line(p, n, view, AXIS, UNICODE) for n, p in enumerate(view.paths)),
        *(lane_line(v, view, AXIS, UNICODE) for v in view.registers),
    ]
    for line in rows:
        head = line.text[:16]
        assert len(head) == 16, line.text
        if line.lanes is not None:
            assert line.lanes == (16, 1)
            assert line.text[48] == " ", line.text


def test_wide_panes_give_a_lane_two_cells() -> None:
    assert axis_for(61).cell == 1
    assert axis_for(96).cell == 2
    assert ruler(Axis(1), "-") == "0-------8-------16------24----31"
    assert len(ruler(Axis(2), "-")) == 64
    assert Axis(2).lane_at(16 + 63) == 31
    assert Axis(1).lane_at(15) is None


def test_the_focused_warp_shows_its_paths_as_letters(diverged: Any) -> None:
    view = view_of(diverged)
    text = warp_line(groups(view, 12)[0], view, AXIS, ASCII).text
    lanes = text[16:48]
    assert set(lanes) & set("bcd")
    assert lanes.count("#") == there(view.focus_row).active.bit_count()
    assert text.rstrip().endswith(f"{there(view.focus_row).active.bit_count()}/32")


def test_equal_warps_fold_and_every_warp_is_shown_once(diverged: Any) -> None:
    view = view_of(diverged)
    mine = [w for w in view.warps if w.sm == view.sm]
    for height in (3, 8, 20, 200):
        slots = [w.slot for g in groups(view, height) for w in g.rows]
        assert sorted(slots) == sorted(w.slot for w in mine)
    folded = groups(view, 4)
    assert max(len(g.rows) for g in folded) > 1
    text = warp_line(max(folded, key=lambda g: len(g.rows)), view, AXIS, UNICODE).text
    assert f"x{max(len(g.rows) for g in folded)}" in text


def test_state_words_and_why() -> None:
    session = open_first()
    session.command("break first_steps.cu:19")
    for _ in range(40):
        session.step(3)
        view = view_of(session)
        for w in view.warps:
            assert state_words(w)
            assert f"warp {w.slot}" in why_words(w)
            if w.state == "barrier":
                assert state_words(w).startswith("bar ")


def test_registers_by_interest(diverged: Any) -> None:
    view = view_of(diverged)
    first = interesting(view)[0]
    assert first.name in view.operands or first.changed
    assert {v.name for v in interesting(view)} == {v.name for v in view.registers}


def test_an_opened_register_shows_32_values(diverged: Any) -> None:
    view = view_of(diverged)
    value = next(v for v in view.registers if v.name == "R0")
    texts = plain(opened(value, view, AXIS, UNICODE))
    # Eight digits a value: four of them fit side by side, and none is cut.
    assert len(texts) == 8
    assert sum(len(t.split()) for t in texts) == 32 + 8 + 2
    assert UNICODE.cut not in "".join(texts)


def test_changed_means_since_this_warp_was_last_shown() -> None:
    from gpudbg.frontends.tui.collect import Collector
    from gpudbg.frontends.tui.view import ViewOptions

    session = open_first()
    collector = Collector(session, ViewOptions())
    collector.take()
    session.step()
    view = collector.take()
    changed = [v.name for v in view.registers if v.changed]
    assert changed == ["R1"]
    session.focus_on(0, 1, 0)
    assert not [v.name for v in collector.take().registers if v.changed]
    session.focus_on(0, 0, 0)
    assert [v.name for v in collector.take().registers if v.changed] == ["R1"]


def test_memory_rows() -> None:
    view = view_of(open_first(), space="global")
    rows = plain(page_rows(there(view.memory), "hex"))
    assert rows[0].startswith("+0000 ")
    assert there(view.memory).label.startswith("in  i32[256]  0x")
    assert word_text((-3 & 0xFFFFFFFF).to_bytes(4, "little"), "i32") == "-3"
    assert word_text(np.float32(1.5).tobytes(), "f32") == "1.5"


def test_a_buffer_plot_has_the_shape_of_its_values() -> None:
    def drawn(array: Any, parts: int = 8) -> Any:
        return "".join(text for text, _ in plot(means(array, parts), UNICODE))

    bars = UNICODE.bars
    assert drawn(np.arange(8)) == "".join(bars[round(n * 6 / 7)] for n in range(8))
    assert drawn(np.full(100, 3.0), 10) == bars[0] * 10
    assert drawn(np.zeros(0)) == ""
    odd = np.arange(8, dtype=np.float16)
    odd[3], odd[6] = np.nan, np.inf
    assert [n for n, mark in enumerate(drawn(odd)) if mark == UNICODE.cross] == [3, 6]
    assert drawn(np.array([-1.7e308, 0, 1.7e308])) == bars[0] + bars[3] + bars[6]
    assert thinned(means(np.arange(40.0), 40), 10) == [1.5 + 4 * n for n in range(10)]


def test_watches_of_every_kind() -> None:
    session = open_first()
    view = view_of(session, watches=["$R6", "threadIdx.x*4", "1 == 1", "nonsense_name", "$pc"])
    by_name = {w.name: w for w in view.watches}
    assert by_name["threadIdx.x*4"].shape.words == "4·lane"
    assert by_name["nonsense_name"].valid == 0
    assert "nonsense_name" in by_name["nonsense_name"].why
    assert by_name["$pc"].shape.words == "uniform"


def test_a_wide_value_stands_whole_in_one_row_where_it_is_uniform() -> None:
    session = open_first()
    wide = "R1 + 0x100000000000"
    view = view_of(session, watches=[wide, "threadIdx.x + 0x100000000000", "shared[3]"])
    rows = [plain(named_lines(w, view, AXIS, UNICODE, 60)) for w in view.watches]
    uniform, varied, never = rows
    assert [t.split() for t in uniform] == [
        ["R1", "+", "0x100000000000", "17592186044416", "uniform"]
    ]
    assert varied[0].endswith("17592186044416")
    assert len(varied) == 2
    assert [t.strip() for t in never] == ["shared[3]  never written"]


def test_what_the_console_displays_is_watched() -> None:
    session = open_first()
    for line in ("display/x threadIdx.x + 15", "display n", "display/4xw $R2"):
        session.execute(line)
    view = view_of(session, watches=["n"])
    assert [w.name for w in view.watches] == ["n", "threadIdx.x + 15"]
    assert view.watches[1].focus_text == "0xf"


# ---- buffers -------------------------------------------------------------------------------
def test_a_changed_buffer_comes_first_and_says_what_is_no_number() -> None:
    still = OutputRow("in", "f32", 4, 0x100, True, np.zeros(4, np.float32))
    values = np.array([1, np.nan, np.inf, np.nan], np.float32)
    strange = str(not_finite(values))
    changed = OutputRow("out", "f32", 4, 0x200, False, values, 3, strange)
    view = replace(view_of(open_first()), outputs=(still, changed))
    rows = plain(OutputPane(appearance()).content(view, 80, 20).rows)
    assert rows[0].split()[0] == "out"
    assert "2 NaN, first 1  1 inf, first 2" in rows[0]
    assert not any("NaN" in text for text in rows[2:])


def test_a_watchpoint_is_named_as_one() -> None:
    session = open_first()
    session.command("watch out[0]")
    session.cont()
    view = view_of(session)
    (seen,) = view.snapshot.stop.watch
    assert view.stop_title == f"Watchpoint 1  out[0] was {seen.old}, is {seen.new}"
    assert "Watchpoint 1" in plain(StopsPane(appearance()).content(view, 80, 9).rows)[0]
    assert "watchpoint out[0]" in plain(MarksPane(appearance()).content(view, 80, 9).rows)[0]


def test_of_lanes_that_write_one_word_the_last_is_named() -> None:
    session = open_kernel("fault_infinite_loop", LOOP)
    session.command("until *0x68")
    for line in ("set print-lanes all", "set var $R2 = &out[0]", "set var $R0 = $lane + 7"):
        session.command(line)
    session.command("watch out[0]")
    stop = session.cont()
    assert (stop.lane, stop.watch[0].new) == (31, "38")


def test_next_words_read_floats_as_floats() -> None:
    session = open_kernel("saxpy", SAXPY)
    said = []
    while not session.finished:
        said.append(next_words(session, session.warp().state, there(session.focus).lane))
        session.step()
    assert any(w.endswith(" -> 4.5") for w in said), said
    assert any(w.endswith(" 4.5") and ":" in w for w in said), "what the store writes"
    assert float_words(0x42300000) == "44.0"
    assert float_words(0x3DCCCCCD) == "0.1"
    assert float_words(0x501502F9) == "1e+10"


SAXPY = (
    "--kernel saxpy --grid 1 --block 32 --arg i32:32 --arg f32:1.5 --arg x=f32[32]:fill(value=3) "
    "--arg y=f32[32]:zeros"
).split()


def test_words_about_an_instruction_give_way_to_it() -> None:
    words = "R8 0.0078125 -> 1080.0  R9 262720.0 -> 1080.0"
    assert fitting(words, 45) == words
    assert fitting(words, 44) == fitting(words, 22) == "R8 0.0078125 -> 1080.0"
    assert fitting(words, 21) == fitting(words, -3) == ""


async def test_the_instruction_at_the_pc_is_whole_beside_what_it_does() -> None:
    app = make_app(open_kernel(ROOT / "sessions" / "tensor_tile" / "tensor_tile.cubin"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        for line in ("break 20", "continue"):
            app.main.run_command(line)
            await settle(app, pilot)
        here = next(t for t in app.main.line_pane("code").texts if "0120" in t)
        assert "HMMA.16816.F32 R8, R8, R12, RZ" in here
        assert "R8 0.0078125 \u2192 1080.0" in here or "1080" not in here
