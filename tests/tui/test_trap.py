"""Trap inspector: words as fields, saved state, the handler, the log; every key and click."""

from __future__ import annotations

from typing import Any

import pytest

from gpudbg.frontends.tui.screens.ask import AskScreen
from gpudbg.frontends.tui.screens.card import CardFrame
from gpudbg.frontends.tui.screens.fault import FaultScreen
from gpudbg.frontends.tui.screens.trap import TrapScreen, WordCard
from gpudbg.frontends.tui.trap_texts import take
from gpudbg.frontends.tui.widgets.console import LogPane
from gpudbg.frontends.tui.widgets.lists import stop_line
from gpudbg.frontends.tui.widgets.trap_panes import (
    SAVED_AT,
    SAVED_WIDTH,
    SavedPane,
    bit_at,
    bit_column,
)
from tests.narrowing import a, there
from tests.tui.helpers import shown_screen

from .helpers import (
    ROOT,
    appearance,
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

SCATTER = ROOT / "sessions" / "trap_handler" / "scatter.cubin"


def in_handler() -> Any:
    """The shipped story, at the entry of its handler: warp 1 has stored past a buffer."""
    session = open_kernel(SCATTER)
    session.cont()
    assert session.warp().state.in_trap
    return session


def test_bits_and_columns_are_each_others_inverse() -> None:
    columns = [bit_column(b) for b in range(32)]
    assert len(set(columns)) == 32
    assert [bit_at(c) for c in columns] == list(range(32))
    assert bit_at(bit_column(4) + 1) is None


def test_picture_agrees_with_the_machine() -> None:
    session = in_handler()
    trap = take(session)
    words = {w.name: w for w in trap.words}
    warp = session.warp().state
    assert words["SR_WarpErrorStatus"].value == session.grid.traps.warp_status(warp)
    errors = next(f for f in words["SR_WarpErrorStatus"].fields if f.name == "WarpErrors")
    assert (errors.hi, errors.lo, errors.value_name) == (7, 0, "MMU_FAULT")
    assert words["HWW_WARP_ESR"].value == session.traps.port.peek(0, "HWW_WARP_ESR")
    assert words["DBGR_CONTROL0"].writable
    assert not words["SR_GlobalErrorStatus"].writable
    assert dict(trap.masks)["VALID"] == 1 << warp.slot
    saved = {name: (value, text) for name, value, text in trap.saved}
    assert saved["Cause"][1] == "a warp error"
    assert saved["Return"][0] == "00e8"
    assert saved["Active"] == ("ffffffff", "lanes 0-31")
    assert trap.entry == session.grid.traps.handler.entry
    assert trap.log[-1].register == "HWW_WARP_ESR"


def test_a_stop_in_the_handler_is_told_by_its_own_offset() -> None:
    view = view_of(in_handler())
    assert view.stops[-1].kind == "trap"
    line = stop_line(view.stops[-1], view.code, 1, True, appearance().glyphs)
    assert line.spans[-1][0] == "0008 trap_handler"


def test_without_the_screen_nothing_is_collected() -> None:
    assert view_of(open_first()).trap is None
    assert view_of(open_first(), trap=True).trap is not None


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_inspector_shows_words_handler_and_log(size: tuple[int, int]) -> None:
    app = make_app(in_handler())
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "escape", "t")
        assert isinstance(app.screen, TrapScreen)
        shown = "\n".join(screen_text(app))
        assert "SR_WarpErrorStatus  0x00000017" in shown
        assert "MMU_FAULT" in shown
        assert size[0] < 110 or "inferred" in shown
        assert "documented" in shown
        assert "scatter+0xe8" in shown
        if size[0] < 110:
            await press(app, pilot, "3")
            assert "STL [RZ], R0" in "\n".join(screen_text(app))
            await press(app, pilot, "4")
            shown = "\n".join(screen_text(app))
        assert "HWW_WARP_ESR" in shown
        assert "enters the trap handler" in shown
        await press(app, pilot, "t")
        assert on_main(app)
        assert not app.options.trap


async def test_steps_move_the_handlers_pc_and_f_returns() -> None:
    session = in_handler()
    app = make_app(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "escape", "t")
        screen = a(TrapScreen, app.screen)
        before = screen.handler.texts[0]
        assert "trap_handler+0x8" in before
        await press(app, pilot, "space", "space")
        assert "trap_handler+0x18" in screen.handler.texts[0]
        assert any(t.startswith(" ►0018") for t in screen.handler.texts)
        lines = len(take(session).log)
        await press(app, pilot, "f")
        assert len(take(session).log) > lines


async def test_fields_are_found_explained_and_edited() -> None:
    session = in_handler()
    app = make_app(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "escape", "t", "full_stop")
        screen = a(TrapScreen, app.screen)
        assert screen.words.key == ("field", "SR_GlobalErrorStatus", 9, 9)
        await press(app, pilot, "full_stop", "i")
        assert isinstance(app.screen, WordCard)
        card = "\n".join(app.screen.query_one(CardFrame).texts)
        assert "WarpErrors" in card
        assert "memory management unit" in card
        await press(app, pilot, "escape", "comma", "e")
        assert shown_screen(app) is screen, "a word of the SM cannot be edited"
        key = ("field", "DBGR_STATUS0", 4, 4)
        await press(app, pilot, "plus")
        assert any("RUN_TRIGGER" in t for t in screen.words.texts)
        assert screen.words.go_to(("field", "TPC_EXCEPTION", 1, 1)) or screen.words.go_to(key)
        screen.words.flipped.add("HWW_WARP_ESR_REPORT_MASK")
        screen.words.redraw()
        assert screen.words.go_to(("field", "HWW_WARP_ESR_REPORT_MASK", 1, 1))
        old = session.traps.port.peek(0, "HWW_WARP_ESR_REPORT_MASK")
        await press(app, pilot, "e")
        assert isinstance(app.screen, AskScreen)
        await press(app, pilot, "0", "enter")
        await settle(app, pilot)
        assert session.traps.port.peek(0, "HWW_WARP_ESR_REPORT_MASK") == old & ~2
        assert any(r.kind == "write" for r in there(there(screen.log_pane.view).trap).log[-1:])


@pytest.mark.full(instead="test_inspector_shows_words_handler_and_log")
async def test_folds_masks_and_clicks() -> None:
    session = in_handler()
    app = make_app(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "escape", "t")
        screen = a(TrapScreen, app.screen)
        assert screen.words.go_to(("word", "SR_WarpErrorStatus"))
        await press(app, pilot, "enter")
        assert not any("WarpErrors  " in t for t in screen.words.texts)
        assert any("WarpErrors=MMU_FAULT" in t for t in screen.words.texts)
        await press(app, pilot, "enter")
        rows = screen.words._content.rows
        at = next(n for n, r in enumerate(rows) if r.key == ("bits", "SR_WarpErrorStatus"))
        await pilot.click("#pane-trapwords", offset=(bit_column(4), at + 1 - screen.words.top))
        await settle(app, pilot)
        assert screen.words.key == ("field", "SR_WarpErrorStatus", 7, 0)
        await press(app, pilot, "x")
        assert any("  23  MMU_FAULT" in t for t in screen.words.texts)
        assert screen.words.go_to(("mask", "VALID"))
        await press(app, pilot, "enter")
        assert session.focus.warp == 1


@pytest.mark.full(instead="test_inspector_shows_words_handler_and_log")
async def test_no_handler_and_no_warp_have_their_own_words() -> None:
    session = open_first()
    app = make_app(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "t")
        shown = "\n".join(screen_text(app))
        assert "No trap handler" in shown
        assert "not in the trap handler" in shown
        await press(app, pilot, "c")
        await settle(app, pilot)
        assert "No warp is left" in "\n".join(screen_text(app))
        await press(app, pilot, "colon")
        assert app.focused is a(TrapScreen, app.screen).console.prompt


async def test_the_card_at_a_handlers_entry_leads_to_the_inspector() -> None:
    app = make_app(in_handler())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        assert isinstance(app.screen, FaultScreen)
        card = "\n".join(app.screen.query_one(CardFrame).texts)
        assert "because of a warp error" in card
        assert "0x00000017" in card
        await press(app, pilot, "t")
        assert isinstance(app.screen, TrapScreen)


@pytest.mark.full(instead="test_steps_move_the_handlers_pc_and_f_returns")
async def test_timeline_console_and_opening_by_itself() -> None:
    app = make_app(open_kernel(SCATTER))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "c", "escape", "t")
        screen = a(TrapScreen, app.screen)
        text = screen.timeline.texts
        assert "1 entry" in text[0]
        assert text[1].split()[0].startswith("0")
        assert "×" in text[2]
        entry = next(e for e in there(current(app).trap).log if "enters" in e.text)
        assert any(f"{entry.tick}  {entry.text}" in line for line in text)
        await press(app, pilot, "colon", *"print 6 * 7", "enter")
        assert app.screen is screen
        assert any("$1 = 42" in line for line in screen.console.answers.texts)
        assert any("$1 = 42" in line for line in app.main.query_one("#pane-log", LogPane).texts)
        await press(app, pilot, "escape", "a")
        assert app.options.trap_opens
        await press(app, pilot, "escape", "r", "c")
        assert isinstance(app.screen, TrapScreen)
        await press(app, pilot, "a")
        assert not app.options.trap_opens


@pytest.mark.full(instead="test_inspector_shows_words_handler_and_log")
async def test_small_inspector_brings_its_command_line_up() -> None:
    app = make_app(open_kernel(SCATTER))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "c", "escape", "t")
        assert not a(TrapScreen, app.screen).console.display
        await press(app, pilot, "6", *"print 6 * 7", "enter")
        assert any("$1 = 42" in line for line in screen_text(app))
        await press(app, pilot, "escape", "5")
        assert "Traps" in a(TrapScreen, app.screen).timeline.texts[0]
        assert a(TrapScreen, app.screen).timeline.display


@pytest.mark.full(instead="test_fields_are_found_explained_and_edited")
async def test_every_paused_warp_has_a_column() -> None:
    session = open_kernel(SCATTER, ["--block", "384"])
    session.step(3)
    session.command("trap stop")
    session.cont()
    app = make_app(session)
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "escape", "t")
        pane = app.screen.query_one(SavedPane)
        warps = [w for w in current(app).snapshot.warps if "handler" in w.why]
        each = there(current(app).trap).each
        assert sorted(w.slot for w in each) == sorted(w.slot for w in warps)
        assert len(each) > 7, "more than there is room for"
        assert each[0].slot == there(app.session.focus).warp
        head = next(t for t in pane.texts if t.startswith(" Warp"))
        shown = len(head.split()[1:-3])
        assert head.endswith(f"{len(each) - shown} more")
        pcs = next(t for t in pane.texts if t.startswith(" PC")).split()[1:]
        offsets = {
            w.slot: app.session.grid.traps.state(app.session.warp(w.slot).state) for w in each
        }
        symbols = app.session.symbols
        assert pcs == [f"{symbols.offset(offsets[w.slot]['saved_pc']):04x}" for w in each[:shown]]
        # A click on a column moves the focus there; its warp comes first then.
        at = pane.texts.index(head)
        await pilot.click("#pane-trapsaved", offset=(SAVED_AT + SAVED_WIDTH + 1, at))
        await settle(app, pilot)
        assert there(app.session.focus).warp == each[1].slot
        assert there(current(app).trap).each[0].slot == each[1].slot
    app = make_app(in_handler())
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "escape", "t")
        texts = app.screen.query_one(SavedPane).texts
        assert not any(t.startswith(" Warp") for t in texts), "one warp is told in words"


@pytest.mark.full(instead="test_every_paused_warp_has_a_column")
async def test_masks_are_open_while_rows_are_free() -> None:
    app = make_app(in_handler())
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "escape", "t")
        pane = a(TrapScreen, app.screen).words
        texts = "\n".join(pane.texts)
        mask = next(
            w for w in there(current(app).trap).words if w.name.endswith("WARP_ESR_REPORT_MASK")
        )
        assert any(f.name in texts for f in mask.fields if f.value)
        assert len(pane._content.rows) <= pane.body, "only as far as they fit"
        await pilot.resize_terminal(200, 40)
        await pilot.pause()
        assert not a(TrapScreen, app.screen).words.is_open(mask)
