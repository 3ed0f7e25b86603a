"""SideScreen: a screen over the main one that shares its session, debug focus and run keys."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.keys import bindings, key_row
from gpudbg.frontends.tui.view import Running, ScreenView
from gpudbg.frontends.tui.widgets.chrome import KeyRow
from gpudbg.frontends.tui.widgets.compositor import LineCompositor

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen


class SideScreen(Screen[None]):
    """See the module text."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("side")

    SCOPE: ClassVar[str] = ""
    """Of the screen's actions in the registry."""
    APART: ClassVar[bool] = False
    """Whether the screen shows nothing of the session, so that running and focus keys are
    disabled.
    """

    def __init__(self, main: MainScreen, appearance: Appearance, name: str) -> None:
        super().__init__(id=name)
        self.main = main
        self.appearance = appearance
        self._compositor = LineCompositor()

    def show(self, view: ScreenView, running: Running | None) -> None:
        """A new picture."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """The present picture."""
        if self.main.current is not None:
            self.show(self.main.current, None)

    # ---- keys ------------------------------------------------------------------------------
    def there(self) -> Collection[str]:
        """Conditions of this screen's actions that hold now."""
        return ()

    def show_keys(self) -> None:
        """The key row: the screen's actions with their keys in the present map."""
        table = self.main.gpudbg.key_table
        arrows = self.appearance.glyphs.name != "ascii"
        found = key_row(self.SCOPE, table, self.there(), arrows)
        for line in self.query(KeyRow):
            line.keys = tuple((key, word) for key, word, _ in found)
            line.pinned = self.pinned_keys()
            line.redraw()

    def pinned_keys(self) -> tuple[tuple[str, str], ...]:
        """Keys that always show, with their words."""
        return ((self.main.gpudbg.key("help"), "help"),)

    def action_main(self, name: str) -> None:
        """An action of the main screen."""
        if not self.APART or name in ("help", "quit", "theme", "interrupt"):
            self.main.action_do(name)

    def action_close(self) -> None:
        """Back to the screen below."""
        self.dismiss(None)

    def action_console(self) -> None:
        """Leave for the main screen's command line."""
        self.dismiss(None)
        self.main.action_do("console")
