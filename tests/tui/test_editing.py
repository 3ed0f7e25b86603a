"""`e` changes the value under the cursor, by the console's `set var`."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Label

from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.screens.edit import EditScreen
from gpudbg.frontends.tui.widgets.memory import MemoryPane
from gpudbg.frontends.tui.widgets.registers import RegistersPane
from tests.narrowing import a, there

from .helpers import current, make_app, on_main, open_first, press, screen_text, settle


def go_to(app: GpudbgApp, pane: str, wanted: Any) -> None:
    """The cursor on the row with a key."""
    app.main.focus_pane(pane)
    shown = app.main.line_pane(pane)
    shown.cursor = next(i for i, r in enumerate(shown._content.rows) if r.key == wanted)
    shown.redraw()


async def answer(app: GpudbgApp, pilot: Pilot[int], text: str) -> None:
    assert isinstance(app.screen, EditScreen)
    a(Input, app.focused).value = text
    await press(app, pilot, "enter")


async def test_registers_and_predicates() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, *6 * ["space"], "l")
        warp, lane = app.session.warp().state, there(app.session.focus).lane
        assert lane == 1
        kept = warp.R[0].copy()
        go_to(app, "registers", ("register", "R0"))
        await press(app, pilot, "e")
        assert a(Input, app.focused).value == f"0x{kept[lane]:x}"
        assert a(Input, app.focused).selected_text == a(Input, app.focused).value
        await answer(app, pilot, "0x1234 + $lane")
        assert warp.R[0][lane] == 0x1235
        kept[lane] = 0x1235
        assert (warp.R[0] == kept).all()
        text = "\n".join(screen_text(app))
        assert "00001235" in text
        assert "set var $R0 = 0x1234 + $lane" in text
        await press(app, pilot, "x", "x", "e")
        await answer(app, pilot, "1.5")
        assert warp.R[0][lane] == 0x3FC00000
        app.main.query_one(RegistersPane).toggle("zero")
        # Neighbours that nothing has written share a row; a predicate that has one is edited there.
        go_to(app, "registers", ("never", "P0-P6"))
        await press(app, pilot, "e")
        assert on_main(app)
        assert "changes one by name" in screen_text(app)[-1]
        app.main.run_command("set var $P3 = 1")
        await settle(app, pilot)
        go_to(app, "registers", ("predicate", "P3"))
        await press(app, pilot, "e")
        assert a(Input, app.focused).value == "1"
        await answer(app, pilot, "$lane == 1")
        assert int(warp.predicates[3]) == 1 << lane


async def test_an_error_stays_in_place_and_escape_changes_nothing() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, *6 * ["space"])
        go_to(app, "registers", ("register", "R0"))
        kept = app.session.warp().state.R[0].copy()
        await press(app, pilot, "e")
        await answer(app, pilot, "nothere")
        assert isinstance(app.screen, EditScreen)
        assert 'No symbol "nothere"' in str(app.screen.query_one("#state", Label).content)
        assert a(Input, app.focused).value == "nothere"
        await press(app, pilot, "escape")
        assert on_main(app)
        assert (app.session.warp().state.R[0] == kept).all()


@pytest.mark.full(instead="test_registers_and_predicates")
async def test_memory_by_column() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "M", *"in", "enter")
        pane = app.main.query_one(MemoryPane)
        base = there(current(app).memory).base
        await press(app, pilot, "home", "down", "right", "right")
        assert there(pane.word_at(base + 16))[0] == base + 24
        await press(app, pilot, "e")
        await answer(app, pilot, "-2")
        assert int(app.session.buffer("in")[6]) & 0xFFFFFFFF == 0xFFFFFFFE
        await press(app, pilot, *4 * ["x"], "e")
        await press(app, pilot, "escape")
        assert pane.form == "hex64"
        await press(app, pilot, "right")
        assert (pane.cursor, pane.word) == (2, 0)
        await press(app, pilot, "x", "e")
        await answer(app, pilot, "2.5")
        assert app.session.buffer("in")[8:10].tobytes().hex() == "0000000000000440"
        # A click puts the cursor on a word.
        await press(app, pilot, "x")
        start = sum(len(t) for t, _ in pane._content.rows[0].spans[:4])
        await pilot.click("#pane-memory", offset=(start + 1, 1))
        await settle(app, pilot)
        assert (pane.cursor, pane.word) == (0, 1)


@pytest.mark.full(instead="test_registers_and_predicates")
async def test_what_is_read_only_says_so() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        go_to(app, "registers", ("special", "SR_LANEID"))
        await press(app, pilot, "e")
        assert on_main(app)
        assert "special registers are read-only" in "\n".join(screen_text(app))
        app.options.space = "const"
        await press(app, pilot, "5", "space")
        await press(app, pilot, "home", "e")
        assert "constant memory is read-only" in "\n".join(screen_text(app))
        await press(app, pilot, "1", "e")
        assert "code is read-only" in "\n".join(screen_text(app))
        await press(app, pilot, "7", "shift+left")
        go_to(app, "registers", app.main.line_pane("registers")._content.rows[0].key)
        await press(app, pilot, "e")
        assert on_main(app)
        assert "this is an earlier stop" in "\n".join(screen_text(app))
