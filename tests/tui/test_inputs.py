"""Inputs that arrive together are carried out one after the other, each to its end."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.events import Key, Paste, Resize
from textual.geometry import Size
from textual.pilot import Pilot

from gpudbg.debug.session import DebugSession
from gpudbg.debug.story_files import stories
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.handlers import running
from gpudbg.frontends.tui.screens.help import HelpScreen
from gpudbg.frontends.tui.screens.main import MainScreen
from gpudbg.frontends.tui.screens.origin import OriginScreen
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.console import ConsolePane
from tests.narrowing import there
from tests.variants import number

from .helpers import (
    OOB,
    PATIENCE_S,
    burst,
    make_app,
    on_main,
    open_endless,
    open_first,
    open_kernel,
    press,
    screen_text,
    settle,
)


class Slow:
    """A session whose commands take a moment; everything else is the session's own."""

    def __init__(self, session: DebugSession, seconds: float = 0.02) -> None:
        self._session = session
        self._seconds = seconds
        self.lines: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def command(self, line: str) -> Any:
        self.lines.append(line)
        time.sleep(self._seconds)
        return self._session.command(line)

    def plain_command(self, line: str) -> Any:
        """What typed lines become, one by one."""
        self.lines.append(line)
        time.sleep(self._seconds)
        return self._session.plain_command(line)


@asynccontextmanager
async def started(session: DebugSession, size: Any = (120, 40), **more: Any) -> Any:
    """An application that is drawn."""
    app = make_app(session, **more)
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        yield app, pilot


async def test_two_enters_at_a_prompt_close_it_once() -> None:
    async with started(open_first(), (80, 24)) as (app, pilot):
        await burst(app, pilot, "/", *"EXIT", "enter", "enter")
        assert isinstance(app.screen, MainScreen)
        pane = app.main.query_one(CodePane)
        assert "EXIT" in pane.view.code.code(pane.view.code.entries[pane.cursor].pc).text


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("key", ["/", "g", "M", "R"])
@pytest.mark.parametrize("end", ["enter", "escape"])
async def test_no_prompt_is_closed_twice(key: str, end: str) -> None:
    async with started(open_first(), (80, 24)) as (app, pilot):
        await burst(app, pilot, key, "4", end, end)
        assert on_main(app)
        await burst(app, pilot, "space")
        assert app.session.grid.total == 1


async def test_a_pane_that_one_key_opens_has_its_rows_for_the_next() -> None:
    async with started(open_first(), (80, 24)) as (app, pilot):
        await burst(app, pilot, "M", "0", "enter", "enter", "enter")
        assert isinstance(app.screen, OriginScreen)
        assert "shared 0x0" in "\n".join(screen_text(app))


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("key", ["?", "w", "t", "h", "G"])
async def test_a_screen_opened_and_left_in_one_write(key: str) -> None:
    async with started(open_first()) as (app, pilot):
        await burst(app, pilot, key, "escape", "space", key, "escape", "escape", "escape", "space")
        assert on_main(app)
        assert app.session.grid.total == 2


async def test_a_command_and_f5_in_one_write() -> None:
    async with started(open_first()) as (app, pilot):
        app.engine.session = Slow(app.session)
        await burst(app, pilot, ":", *"break first_steps.cu:11", "enter", "f5")
        assert app.session.stop.kind == "breakpoint"


async def test_commands_typed_ahead_run_in_order() -> None:
    async with started(open_first()) as (app, pilot):
        app.engine.session = slow = Slow(app.session)
        lines = ["print 1", "stepi", "print 2", "stepi 3", "print 3"]
        await burst(
            app, pilot, ":", *(k for line in lines for k in (*line, "enter")), "escape", "l"
        )
        assert slow.lines == lines
        assert app.session.grid.total == 4
        assert app.session.focus.lane == 1


async def test_lines_of_the_command_line_come_before_keys() -> None:
    session = open_first()
    command = session.command

    def slow(line: str) -> Any:
        time.sleep(0.02)
        return command(line)

    held: Any = session
    held.command = slow
    app = make_app(session, ["stepi 2", "break *0x48"])
    async with app.run_test(size=(120, 40)) as pilot:
        await burst(app, pilot, "f5")
        assert there(session.stop).kind == "breakpoint"


async def test_every_step_typed_ahead_is_carried_out_and_drawn_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "HELD_S", PATIENCE_S)
    async with started(open_first()) as (app, pilot):
        app.engine.session = slow = Slow(app.session)
        taken = app.engine.collector.taken
        await burst(app, pilot, *["space"] * 6)
        assert app.session.grid.total == 6
        assert slow.lines == ["stepi"] * 6
        # The first press, and the five that came meanwhile.
        assert app.engine.collector.taken - taken <= 3
        texts = app.main.query_one(ConsolePane).answers.texts
        assert not any("running" in t for t in texts)


async def test_steps_end_soon_after_their_key_is_released() -> None:
    async with started(open_first()) as (app, pilot):
        app.engine.session = slow = Slow(app.session, 0.12)
        await burst(app, pilot, *["space"] * 40)
        assert 8 <= len(slow.lines) < 20
        await burst(app, pilot, "l")
        assert app.session.focus.lane == 1


async def test_another_key_ends_a_row_of_steps() -> None:
    async with started(open_first()) as (app, pilot):
        await burst(app, pilot, "space", "space", "l", "space", "b", "space")
        assert app.session.grid.total == 4
        assert app.session.focus.lane == 1
        assert len(list(app.session.breakpoints)) == 1


async def test_steps_typed_ahead_end_at_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "HELD_S", PATIENCE_S)
    session = open_kernel("fault_oob_global", OOB)
    async with started(session) as (app, pilot):
        app.engine.session = slow = Slow(session, 0.001)
        await burst(app, pilot, *["space"] * 60)
        assert there(session.stop).errors
        assert len([s for s in session.stops if s.errors]) == 1
        assert len(slow.lines) < 60


async def test_an_interrupt_drops_what_waits() -> None:
    async with started(open_endless()) as (app, pilot):
        await burst_of(app, "f5", "b", "space", "ctrl+c")
        await settle(app, pilot)
        # All of it was in one write: not even the run has begun.
        assert app.session.grid.total == 0
        await burst_of(app, "f5")
        await until(pilot, lambda: app.engine.busy)
        await burst_of(app, "b", "space", "ctrl+c")
        await settle(app, pilot)
        assert app.session.stop.kind == "interrupted"
        assert not list(app.session.breakpoints)


async def burst_of(app: GpudbgApp, *keys: str) -> None:
    """Keys in one write, not waited for."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else None))


async def until(pilot: Pilot[int], there: Any) -> None:
    """Wait for something that a key brings about while the machine runs."""
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end
        await pilot.pause(0.01)


async def lasting(app: GpudbgApp, pilot: Pilot[int]) -> None:
    """Wait until the stop line counts a run."""
    await until(pilot, lambda: app.main.running_now() is not None)


def says(app: GpudbgApp, words: str) -> Any:
    """Whether the console holds some words."""
    return any(words in t for t in app.main.query_one(ConsolePane).answers.texts)


async def test_a_run_that_lasts_leaves_help_panes_and_quitting() -> None:
    async with started(open_endless()) as (app, pilot):
        await burst_of(app, "f5")
        await lasting(app, pilot)
        await burst_of(app, "question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await burst_of(app, "escape", "tab")
        await until(pilot, lambda: app.main.focused_pane() != "code")
        await burst_of(app, "space")
        await until(pilot, lambda: says(app, "^C stops"))
        await burst_of(app, "q")
        await until(pilot, lambda: app._exit)


@pytest.mark.full(instead="test_commands_typed_ahead_run_in_order")
async def test_a_line_entered_during_a_run_stays_in_the_prompt() -> None:
    async with started(open_endless()) as (app, pilot):
        await burst_of(app, "f5")
        await lasting(app, pilot)
        await burst_of(app, "colon", *"info", "enter")
        prompt = app.main.query_one(ConsolePane).prompt
        await until(pilot, lambda: says(app, "^C stops"))
        assert prompt.value == "info"
        await burst_of(app, "ctrl+c")
        await settle(app, pilot)
        assert app.session.stop.kind == "interrupted"


async def test_an_interrupt_reaches_the_run_from_every_screen() -> None:
    async with started(open_endless()) as (app, pilot):
        for key in ("ctrl+p", "w", "G", "question_mark", "slash")[: number(2, 5)]:
            await burst_of(app, "f5")
            await lasting(app, pilot)
            await burst_of(app, key)
            await pilot.pause(0.05)
            await burst_of(app, "ctrl+c")
            await settle(app, pilot)
            assert app.session.stop.kind == "interrupted", key
            await burst(app, pilot, "escape", "escape")


async def test_quitting_forgets_what_comes_after() -> None:
    async with started(open_first()) as (app, pilot):
        await burst_of(app, "space", "q", "space", "/", "enter", "enter", "f5")
        await until(pilot, lambda: app._exit)
        assert app.session.grid.total == 1
        assert app.return_code in (0, None)


@pytest.mark.full(instead="test_commands_typed_ahead_run_in_order")
async def test_sizes_and_keys_in_turn() -> None:
    async with started(open_first()) as (app, pilot):
        for n in range(30):
            size = Size(40 + n * 7 % 160, 8 + n * 5 % 50)
            app.post_message(Resize(size, size))
            await burst_of(
                app, ("space", "tab", "z", "slash", "escape", "question_mark", "escape")[n % 7]
            )
        await settle(app, pilot)
        await burst(app, pilot, "escape", "escape", "escape")
        assert on_main(app)


async def test_lines_pasted_at_the_prompt_are_entered_one_by_one() -> None:
    async with started(open_first()) as (app, pilot):
        app.engine.session = slow = Slow(app.session)
        await burst(app, pilot, ":", Paste("stepi\nbreak *0x48\n\ncontinue\nprin"), "t", " ", "1")
        assert slow.lines == ["stepi", "break *0x48", "continue"]
        assert app.main.query_one(ConsolePane).prompt.value == "print 1"


async def test_text_pasted_where_nothing_is_typed_is_told() -> None:
    async with started(open_first()) as (app, pilot):
        await burst(app, pilot, Paste("q\nq"))
        assert on_main(app)
        assert any("paste" in t for t in app.main.query_one(ConsolePane).answers.texts)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("opened", ["", "w", "t", "h", "G", "?"])
async def test_a_key_that_does_nothing_says_so(opened: str) -> None:
    async with started(open_first()) as (app, pilot):
        if opened:
            await burst(app, pilot, opened)
        await burst(app, pilot, "f7")
        assert "F7 does nothing here" in "\n".join(screen_text(app))
        assert not app._notifications
        # It is there until the next input.
        await burst(app, pilot, "tab")
        assert "F7 does nothing here" not in "\n".join(screen_text(app))


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("key", ["delete", "E", "exclamation_mark", "escape", "enter"])
async def test_an_action_without_an_object_says_so(key: str) -> None:
    async with started(open_first()) as (app, pilot):
        app.main.focus_pane("marks" if key in ("delete", "E", "enter") else "paths")
        await settle(app, pilot)
        await burst(app, pilot, key)
        assert any(w in screen_text(app)[-1] for w in ("does nothing here", "no fault"))


async def test_enter_sets_a_cursor_where_there_is_none() -> None:
    async with started(open_first()) as (app, pilot):
        app.main.focus_pane("paths")
        await settle(app, pilot)
        pane = app.main.line_pane("paths")
        assert pane.key is None
        await burst(app, pilot, "enter")
        assert pane.key is not None
        assert "does nothing here" not in screen_text(app)[-1]


async def test_a_key_at_the_end_of_the_timeline_says_so() -> None:
    async with started(open_first()) as (app, pilot):
        await burst(app, pilot, "space", "h", "right")
        assert "does nothing here" in screen_text(app)[-1]
        await burst(app, pilot, "left")
        assert "does nothing here" not in screen_text(app)[-1]


async def test_words_of_side_screens_cover_nothing() -> None:
    async with started(open_first(), (80, 24)) as (app, pilot):
        await burst(app, pilot, "h", "d")
        assert not app._notifications
        assert "no bookmark at tick" in screen_text(app)[-1]


async def test_escape_closes_the_help_whatever_is_typed() -> None:
    async with started(open_first()) as (app, pilot):
        await burst(app, pilot, "?", *"step", "escape")
        assert on_main(app)


async def test_cards_open_on_a_terminal_of_any_size() -> None:
    async with started(open_kernel("fault_oob_global", OOB), (1, 1)) as (app, pilot):
        await burst(app, pilot, "?", "escape", "f5", "escape", "!", "escape", "t", "escape")
        assert on_main(app)


@pytest.mark.full(instead="test_a_screen_opened_and_left_in_one_write")
async def test_a_run_that_ends_while_a_screen_opens_finds_it_unbuilt() -> None:
    """Two screens and a step in one write: the picture comes when the screen has no widgets yet."""
    async with started(open_first(), (120, 40)) as (app, pilot):
        for key in ("w", "t", "h", "G"):
            app.post_message(Key(key, key))
            while app.screen is app.main:
                await asyncio.sleep(0)
            app.main.draw()
            await settle(app, pilot)
            await burst(app, pilot, "escape")
        assert on_main(app)


async def test_the_prompt_may_have_the_focus_when_another_pane_is_zoomed() -> None:
    async with started(open_first(), (80, 24)) as (app, pilot):
        await burst(app, pilot, ":")
        app.main.zoom = "notes"
        app.main.rearrange()
        await settle(app, pilot)
        assert app.main.focused_pane() == "notes"


async def test_a_search_in_a_long_listing_is_done_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gpudbg.debug.pictures import CodeIndex
    from gpudbg.frontends.tui.handlers import code

    monkeypatch.setattr(code, "SEARCHED_ROWS", 10)
    pieces = []
    find = CodeIndex.find

    def counted(
        self: CodeIndex, text: str, start: int, back: bool = False, rows: Any = None
    ) -> Any:
        pieces.append(len(rows))
        return find(self, text, start, back, rows)

    monkeypatch.setattr(CodeIndex, "find", counted)
    async with started(open_first()) as (app, pilot):
        await burst(app, pilot, "/", *"EXIT", "enter", "k")
        pane = app.main.query_one(CodePane)
        assert "EXIT" in pane.view.code.code(pane.view.code.entries[pane.cursor + 1].pc).text
        assert len(pieces) > 3
        assert max(pieces) == 10
        pieces.clear()
        await burst(app, pilot, "/", *"no such", "enter")
        assert sum(pieces) == len(app.main.current.code.entries)
        assert "is not in the code" in screen_text(app)[-1]


async def test_a_long_word_leaves_room_for_keys() -> None:
    async with started(open_first(), (80, 24)) as (app, pilot):
        app.main.note("a word " * 30)
        await settle(app, pilot)
        last = screen_text(app)[-1]
        assert last.startswith(" a word a word")
        assert "F5 run" in last
        assert "? help" in last


@pytest.mark.parametrize(
    ("story", "keys", "key", "words"),
    [
        ("surface_clamp", ("f5", "v"), "space", "the kernel is not running"),
        ("first_steps", ("w",), "C", "No more reverse-execution history"),
        ("first_steps", ("G",), "l", "l does nothing here"),
    ],
)
async def test_over_the_console_a_key_that_changes_nothing_says_why(
    story: str, keys: tuple[str, ...], key: str, words: str
) -> None:
    """The answer is in the console, which another screen covers: its key row says it, too."""
    async with started(open_kernel(stories()[story])) as (app, pilot):
        await press(app, pilot, *keys)
        shown = app.screen
        await press(app, pilot, key)
        assert app.screen is shown
        assert words in screen_text(app)[-1]
        # It is there until the next input, and moving the focus needs no words.
        if not words.startswith("l "):
            await press(app, pilot, "l")
            assert words not in screen_text(app)[-1]
