"""Every key of every key map does the action the table says, on the main and the side screens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from textual.events import Key

from gpudbg.cli import usage
from gpudbg.frontends.tui import keymaps
from gpudbg.frontends.tui.actions import ACTIONS, BY_ID
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.handlers import HANDLERS
from gpudbg.frontends.tui.theme import PALETTES
from gpudbg.frontends.tui.widgets.console import ConsolePane

from .helpers import PATIENCE_S, make_app, open_first, press, screen_text, settle

BIG = (120, 40)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What was done, instead of doing it."""
    out = []
    for name in BY_ID:
        monkeypatch.setitem(HANDLERS, name, lambda screen, name=name: out.append(name))
    # Keys that Textual takes for itself, to the same end.
    monkeypatch.setattr(GpudbgApp, "action_command_palette", lambda app: out.append("palette"))
    monkeypatch.setattr(GpudbgApp, "leave", lambda app: out.append("quit"))
    return out


async def what_they_do(app: GpudbgApp, keys: Sequence[str], done: Any) -> Any:
    """What each key does (`pilot.press` would wait long after each)."""
    out = []
    for key in keys:
        done.clear()
        app.post_message(Key(key, key if len(key) == 1 else None))
        end = time.monotonic() + PATIENCE_S
        while not done and time.monotonic() < end:
            await asyncio.sleep(0.001)
        out.append((key, *done))
    return out


def keys_of(name: str, ids: Sequence[str]) -> Any:
    return [(key, i) for i in ids for key in keymaps.keymap(name)[i].split(",")]


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("name", keymaps.NAMES)
async def test_every_key_of_a_map(name: str, done: Any) -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        app.set_keys(name)
        panes = {a.panes[:1] for a in ACTIONS}
        for pane in panes:
            rows = keys_of(name, [a.id for a in ACTIONS if a.panes[:1] == pane])
            app.main.set_focus(app.main.line_pane((pane or ("code",))[0]))
            assert await what_they_do(app, [key for key, _ in rows], done) == rows


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("name", keymaps.NAMES)
async def test_main_keys_on_a_side_screen(name: str, done: Any) -> None:
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        app.set_keys(name)
        app.open_screen("watch")
        await settle(app, pilot)
        rows = keys_of(name, [a.id for a in ACTIONS if a.on_sides])
        assert await what_they_do(app, [key for key, _ in rows], done) == rows


async def test_the_key_row_and_the_help_show_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDBG_KEYMAP", "x64dbg")
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        assert screen_text(app)[-1].startswith(" F9 run  F8 next  s step  F7 instruction")
        assert any("F7 one instruction" in line for line in screen_text(app))
        await press(app, pilot, "f7")
        assert app.session.grid.total == 1
        await press(app, pilot, "question_mark")
        shown = "\n".join(screen_text(app))
        assert "x64dbg key map" in shown
        assert "F4 U" in shown


async def test_an_unknown_key_map_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDBG_KEYMAP", "emacs")
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        assert "no key map is called 'emacs'" in "\n".join(screen_text(app))
        assert app.keymap_name == keymaps.DEFAULT


async def test_a_bug_in_an_action_is_told_and_the_session_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GPUDBG_TRACEBACK")
    monkeypatch.setitem(HANDLERS, "zoom", lambda screen: [][0])
    app = make_app(open_first())
    async with app.run_test(size=BIG) as pilot:
        await settle(app, pilot)
        await press(app, pilot, "z", "space")
        said = [row.text for row in app.main.query_one(ConsolePane).answers.lines]
        assert " this is a bug in gpudbg: IndexError: list index out of range" in said
        assert app.session.grid.total == 1


def test_the_usage_names_every_theme_and_key_map() -> None:
    assert f"GPUDBG_THEME={'|'.join(PALETTES)}" in usage()
    assert f"{keymaps.VARIABLE}={'|'.join(keymaps.NAMES)}" in usage()
