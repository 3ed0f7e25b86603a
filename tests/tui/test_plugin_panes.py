"""Plugin panes: opened from the palette, and a broken one stays in its place."""

from __future__ import annotations

import pytest
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from gpudbg.errors import PluginError
from gpudbg.frontends.tui.palette import Everything
from gpudbg.frontends.tui.screens.plugin import PluginScreen
from gpudbg.plugin import Entry

from .helpers import make_app, open_first, press, screen_text, settle


class Good(Vertical):
    """Shows the kernel of the machine's snapshot."""

    def compose(self) -> ComposeResult:
        yield Static("nothing yet", id="good")

    def show_snapshot(self, snapshot):
        self.seen = snapshot.kernel


class BadCompose(Vertical):
    def compose(self) -> ComposeResult:
        raise ValueError("no picture today")


class BadSnapshot(Vertical):
    def show_snapshot(self, snapshot):
        raise IndexError("past the end")


def missing(entry):
    raise PluginError("plugin 'p' has no such module")


def entry_of(found):
    loader = found if found is missing else lambda entry: found
    return Entry("panes", "probe", "mod:Cls", help="a pane", plugin="p", loader=loader)


async def test_palette_opens_bundled_panes():
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        found = {w: run for w, _, run in Everything(app.main).entries() if w.startswith("pane ")}
        assert "pane tesla" in found
        found["pane tesla"]()
        await settle(app, pilot)
        assert isinstance(app.screen, PluginScreen)
        assert app.screen.query("#tesla-ruler")
        assert not app.screen.query("#broken")
        await press(app, pilot, "escape")
        assert app.screen is app.main


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (BadCompose, "no picture today"),
        (BadSnapshot, "past the end"),
        (missing, "no such module"),
        (dict, "no Textual widget"),
    ],
)
async def test_a_broken_pane_shows_its_error_in_place(found, words):
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.open_plugin(entry_of(found))
        for _ in range(3):
            await settle(app, pilot)
        assert words in "\n".join(screen_text(app))
        await press(app, pilot, "escape")
        assert app.screen is app.main
        await press(app, pilot, "space")
        assert app.session.grid.total == 1


async def test_a_pane_gets_the_machines_snapshot():
    app = make_app(open_first())
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(app, pilot)
        app.open_plugin(entry_of(Good))
        await settle(app, pilot)
        assert app.screen.query_one(Good).seen == "block_max"
