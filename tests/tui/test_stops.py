"""Faults, traps, deadlocks, running kernels, interrupts, quitting, and panes that fail."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gpudbg.frontends.tui.screens.card import CardFrame
from gpudbg.frontends.tui.screens.fault import FaultScreen
from gpudbg.frontends.tui.widgets.chrome import KeyRow, StopLine
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.console import ConsolePane
from tests.narrowing import there
from tests.tui.helpers import offset_at

from .helpers import (
    OOB,
    TRAP,
    current,
    make_app,
    on_main,
    open_endless,
    open_first,
    open_kernel,
    press,
    screen_text,
    settle,
)

BIG = (120, 40)


async def test_fault_card_says_what_where_who_and_why() -> None:
    app = make_app(open_kernel("fault_oob_global", OOB))
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "f5")
        assert isinstance(app.screen, FaultScreen)
        text = "\n".join(app.screen.query_one(CardFrame).texts)
        assert "Out-of-range store   global memory, 4 bytes" in text
        assert "fault_oob_global+0xd0  fault_oob_global.cu:8" in text
        assert "CTA 0  warp 1  lane 5   thread 37" in text
        assert "R2:R3 = 0x4705000000 = p + 4*arg2" in text
        assert "256 GiB past the end" in text
        assert "0x17 MMU_FAULT" in text
        # As the trap inspector marks them, from the one table of registers.
        assert (text.count("documented"), text.count("inferred")) == (2, 1)
        assert "the largest index in range is 63" in text
        await press(app, pilot, "escape")
        assert on_main(app)
        assert "Out-of-range store" in app.main.query_one(StopLine).text
        await press(app, pilot, "exclamation_mark")
        assert isinstance(app.screen, FaultScreen)
        await press(app, pilot, "M")
        assert there(current(app).memory).space == "global"
        assert app.main.focused_pane() == "memory"
        await press(app, pilot, "exclamation_mark", "r")
        assert app.session.grid.total == 0


async def test_fault_card_fits_80x24() -> None:
    app = make_app(open_kernel("fault_oob_global", OOB))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "f5")
        frame = app.screen.query_one(CardFrame)
        assert frame.size.height <= 24
        assert any("documented" in t or "inferred" in t for t in frame.texts)
        assert any("Esc close" in t for t in frame.texts)
        await press(app, pilot, "enter")
        code = app.main.query_one(CodePane)
        assert offset_at(app, code) == 0xD0


async def test_trap_has_a_card_and_goes_on() -> None:
    app = make_app(open_kernel("fault_trap", TRAP))
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "f5")
        assert isinstance(app.screen, FaultScreen)
        text = "\n".join(app.screen.query_one(CardFrame).texts)
        assert "Trap" in text
        assert "BPT.TRAP" in text
        await press(app, pilot, "escape")


async def test_deadlock_names_who_waits() -> None:
    flags = "--grid 1 --block 64 --arg flag=i32[1]:zeros --arg out=i32[64]:zeros".split()
    app = make_app(open_kernel("fault_divergent_barrier", flags))
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "f5")
        assert isinstance(app.screen, FaultScreen)
        text = "\n".join(app.screen.query_one(CardFrame).texts)
        assert "Deadlock   no warp can go on" in text
        assert "barrier" in text


async def test_a_running_kernel_shows_progress_and_stops_at_once() -> None:
    app = make_app(open_endless())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        app.main.action_do("continue")
        for _ in range(100):
            await asyncio.sleep(0.02)
            if "Running" in app.main.query_one(StopLine).text:
                break
        assert "instructions/s" in app.main.query_one(StopLine).text
        assert "^C stop" in app.main.query_one(KeyRow).text
        assert "as of 0" in app.main.line_pane("registers").texts[0]
        app.main.action_do("stepi")
        assert any(
            "running; ^C stops it" in t for t in app.main.query_one(ConsolePane).answers.texts
        )
        app.main.action_do("interrupt")
        await settle(app, pilot)
        assert "Interrupted in a hang" in app.main.query_one(StopLine).text
        said = "\n".join(r.text for r in app.main.query_one(ConsolePane).answers.lines)
        assert "until another thread changes flag[0] (now 0)" in said
        await press(app, pilot, "2", "home")
        assert "(3 instructions) until" in "\n".join(app.main.line_pane("warps").texts)
        total = app.session.grid.total
        await press(app, pilot, "1", "space")
        assert app.session.grid.total == total + 1
        # Between such stops `i` looks for the one warp that is asked for.
        await press(app, pilot, "2", "home", "i")
        last = [r.text for r in app.main.query_one(ConsolePane).answers.lines][-4:]
        assert any("from here it repeats " in t for t in last)


async def test_an_interrupt_that_comes_late_stops_nothing() -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        app.session.interrupt()
        await press(app, pilot, "space")
        assert there(app.session.stop).kind == "step"


async def test_quit_ends_with_the_sessions_code() -> None:
    app = make_app(open_kernel("fault_oob_global", OOB))
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "f5", "escape")
        await pilot.press("q")
    assert app.return_value == 3


async def test_a_pane_that_fails_says_so_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gpudbg.frontends.tui.widgets.paths import PathsPane

    def broken(self: PathsPane, view: Any, width: int, height: int) -> None:
        raise KeyError("lane 33")

    monkeypatch.setattr(PathsPane, "content", broken)
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "space")
        texts = app.main.line_pane("paths").texts
        assert any("KeyError: 'lane 33'" in t for t in texts)
        assert app.session.grid.total == 1
        assert "R1" in "\n".join(app.main.line_pane("registers").texts)


async def test_a_row_that_fails_spoils_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudbg.frontends.tui.widgets.code import CodeRows

    real = CodeRows._instruction

    def broken(self: CodeRows, pc: int, arrow: Any) -> Any:
        if self.rows.offset(pc) == 0x18:
            raise ValueError("bad row")
        return real(self, pc, arrow)

    monkeypatch.setattr(CodeRows, "_instruction", broken)
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        text = "\n".join(screen_text(app))
        assert "ValueError: bad row" in text
        assert "MOV R1" in text


async def test_quitting_stops_what_runs() -> None:
    app = make_app(open_endless())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        app.main.action_do("continue")
        await asyncio.sleep(0.1)
        app.main.action_do("quit")
        await asyncio.sleep(0.05)
    assert app.return_value == 0


async def test_a_card_leads_to_the_command_line() -> None:
    app = make_app(open_kernel("fault_oob_global", OOB))
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "f5")
        assert isinstance(app.screen, FaultScreen)
        await press(app, pilot, "colon", *"print 3", "enter")
        assert on_main(app)
        assert there(app.session.stop).errors, "what was typed were no keys of the card"
        assert "= 3" in app.main.query_one(ConsolePane).answers.lines[-1].text


async def test_a_long_answer_can_be_paged_while_typing() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(app, pilot)
        answers = app.main.query_one(ConsolePane).answers
        assert "PgUp" not in answers.texts[0], "hints are no answer"
        await press(app, pilot, "colon", *"x/60i 0", "enter")
        assert " more above  PgUp" in answers.texts[0]
        for _ in range(60):
            if any("(gpudbg) x/60i 0" in text for text in answers.texts):
                break
            await press(app, pilot, "pageup")
        assert any("MOV R1" in text for text in answers.texts)
        await press(app, pilot, *"p 1", "enter")
        assert any(text.endswith("= 1") for text in answers.texts)
        assert "PgUp" not in answers.texts[0]


@pytest.mark.full(instead="test_fault_card_says_what_where_who_and_why")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("size", [(80, 24), BIG])
async def test_a_card_is_clicked(size: tuple[int, int]) -> None:
    app = make_app(open_kernel("fault_oob_global", OOB))

    async def click(words: str, shift: int = 0, below: int = 0) -> None:
        lines = screen_text(app)
        y = next(n for n, line in enumerate(lines) if words in line)
        frame = app.screen.query_one(CardFrame).region
        x = lines[y].index(words) + shift
        await pilot.click(CardFrame, offset=(x - frame.x, y + below - frame.y))
        await settle(app, pilot)

    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "f5")
        await click("Who")
        assert isinstance(app.screen, FaultScreen), "there is nothing to do there"
        await click(" close")
        assert on_main(app)
        await press(app, pilot, "exclamation_mark")
        await click("├─")
        assert app.main.focused_pane() == "memory"
        await press(app, pilot, "exclamation_mark")
        await click("go there")
        assert app.main.focused_pane() == "code"
        if size == BIG:
            await press(app, pilot, "exclamation_mark")
            await click("Lanes  0", len("Lanes  ") + 9)
            assert isinstance(app.screen, FaultScreen), "the ruler is not the lanes"
            await click("Lanes  0", len("Lanes  ") + 9, below=1)
            assert there(app.session.focus).lane == 9
