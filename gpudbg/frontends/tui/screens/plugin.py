"""A plugin's pane on a screen of its own; one that is broken says so in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container
from textual.widget import Widget
from textual.widgets import Static

from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import one_line
from gpudbg.frontends.tui.screens.side import SideScreen
from gpudbg.frontends.tui.view import Running, ScreenView

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen
    from gpudbg.plugin import Entry


def make_widget(entry: Entry) -> Widget:
    """The plugin's widget; a message in its place where it cannot be had."""
    try:
        kind = entry.load()
        made = kind()
        if not isinstance(made, Widget):
            raise TypeError(f"{entry.call} is no Textual widget but {type(made).__name__}")
        return made
    except Exception as error:
        words = f"The pane {entry.name} of plugin {entry.plugin} cannot be shown:"
        return Static(f" {words}\n {type(error).__name__}: {error}", markup=False, id="broken")


class PluginScreen(SideScreen):
    """See the module text."""

    SCOPE = "plugin"

    def __init__(
        self, main: MainScreen, appearance: Appearance, entry: Entry, failed: str = ""
    ) -> None:
        """The pane of an entry; with `failed`, those words in its place."""
        state = "-failed" if failed else ""
        super().__init__(main, appearance, f"plugin-{entry.plugin}-{entry.name}{state}")
        self.entry = entry
        self.failed = failed

    def compose(self) -> ComposeResult:
        """Its name, the pane, how to leave."""
        yield Static(f" {self.entry.name}  {self.entry.help}", markup=False, classes="line")
        pane = make_widget(self.entry) if not self.failed else Static(
            self.failed, markup=False, id="broken"
        )  # fmt: skip
        yield Container(pane)
        yield Static(f" {one_line(self.SCOPE, {})}", markup=False, classes="line")

    def broken(self, error: Exception) -> None:
        """The pane failed after it was made: its place says how.

        On a fresh screen: one whose layout was broken off does not draw its other widgets.
        """
        if self.failed or not self.is_current:
            return
        words = f"The pane {self.entry.name} of plugin {self.entry.plugin} has failed:"
        self.failed = f" {words}\n {type(error).__name__}: {error}"
        fresh = PluginScreen(self.main, self.appearance, self.entry, self.failed)
        self.app.call_later(self.app.switch_screen, fresh)

    def show(self, view: ScreenView, running: Running | None) -> None:
        """Hand the machine's snapshot to panes that want it: those with a `show_snapshot`."""
        for widget in self.query_one(Container).children:
            wants = getattr(widget, "show_snapshot", None)
            if callable(wants):
                try:
                    wants(view.snapshot)
                except Exception as error:
                    self.broken(error)
