"""Plugin panes: opened from the palette, and a broken one stays in its place."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Key
from textual.widgets import Static

from gpudbg.errors import PluginError
from gpudbg.frontends.tui.app import GpudbgApp
from gpudbg.frontends.tui.palette import PaletteProvider
from gpudbg.frontends.tui.screens.plugin import PluginScreen
from gpudbg.plugin import Entry

from .helpers import PATIENCE_S, make_app, on_main, open_first, press, screen_text, settle


class Good(Vertical):
    """Shows the kernel of the machine's snapshot."""

    def compose(self) -> ComposeResult:
        yield Static("nothing yet", id="good")

    def show_snapshot(self, snapshot: Any) -> None:
        self.seen = snapshot.kernel


class BadCompose(Vertical):
    def compose(self) -> ComposeResult:
        raise ValueError("no picture today")


class BadMount(Vertical):
    def on_mount(self) -> None:
        raise KeyError("no such register")


class BadRender(Static):
    def render(self) -> str:
        raise ZeroDivisionError("nothing to divide")


class BadTimer(Vertical):
    def on_mount(self) -> None:
        self.set_timer(0.01, self.late)

    def late(self) -> None:
        raise RuntimeError("too late")


class BadKey(Static, can_focus=True):
    def on_mount(self) -> None:
        self.focus()

    def on_key(self, event: Any) -> None:
        raise OSError("bad key")


class BadSnapshot(Vertical):
    def show_snapshot(self, snapshot: Any) -> None:
        raise IndexError("past the end")


async def shows(app: GpudbgApp, words: str) -> None:
    """Until the screen shows it; the pilot would wait for a widget that is dead."""
    end = time.monotonic() + PATIENCE_S
    while words not in "\n".join(screen_text(app)):
        assert time.monotonic() < end, screen_text(app)
        await asyncio.sleep(0.01)


def missing(entry: Any) -> None:
    raise PluginError("plugin 'p' has no such module")


def entry_of(found: Any) -> Any:
    loader = found if found is missing else lambda entry: found
    return Entry("panes", "probe", "mod:Cls", help="a pane", plugin="p", loader=loader)


async def test_palette_opens_bundled_panes() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        found = {
            w: run for w, _, run in PaletteProvider(app.main).entries() if w.startswith("pane ")
        }
        assert "pane tesla" in found
        found["pane tesla"]()
        await settle(app, pilot)
        assert isinstance(app.screen, PluginScreen)
        assert app.screen.query("#tesla-ruler")
        assert not app.screen.query("#broken")
        await press(app, pilot, "escape")
        assert on_main(app)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("found", "words"),
    [
        (BadCompose, "no picture today"),
        (BadMount, "no such register"),
        (BadRender, "nothing to divide"),
        (BadTimer, "too late"),
        (BadSnapshot, "past the end"),
        (missing, "no such module"),
        (dict, "no Textual widget"),
    ],
)
async def test_a_broken_pane_shows_its_error_in_place(found: Any, words: str) -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.open_plugin(entry_of(found))
        await shows(app, words)
        await press(app, pilot, "escape")
        assert on_main(app)
        await press(app, pilot, "space")
        assert app.session.grid.total == 1


async def test_a_key_that_breaks_a_pane_breaks_nothing_else() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.open_plugin(entry_of(BadKey))
        await settle(app, pilot)
        app.post_message(Key("k", "k"))
        await shows(app, "bad key")
        await press(app, pilot, "escape")
        assert on_main(app)


async def test_a_pane_gets_the_machines_snapshot() -> None:
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.open_plugin(entry_of(Good))
        await settle(app, pilot)
        assert app.screen.query_one(Good).seen == "block_max"
