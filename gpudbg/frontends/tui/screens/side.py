"""SideScreen: a screen over the main one that shares its session, debug focus and run keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from gpudbg.frontends.tui.actions import BY_ID
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.view import Running, View

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen

MAIN_ACTIONS = (
    "lane_next", "lane_back", "warp_next", "warp_back", "cta_next", "cta_back",
    "stepi", "next", "step", "continue", "interrupt", "restart", "help", "theme", "quit",
)  # fmt: skip
"""Actions of the main screen that work on every side screen; key maps change their keys."""


class SideScreen(Screen[None]):
    """See the module text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(
                BY_ID[name].keys,
                f"main('{name}')",
                name,
                id=name,
                show=False,
                priority=name == "interrupt",
            )
            for name in MAIN_ACTIONS
        ),
        Binding("colon", "console", "command", show=False),
        Binding("escape", "close", "back", show=False),
    ]

    def __init__(self, main: MainScreen, appearance: Appearance, name: str) -> None:
        super().__init__(id=name)
        self.main = main
        self.appearance = appearance

    def show(self, view: View, running: Running | None) -> None:
        """A new picture."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """The present picture."""
        if self.main.current is not None:
            self.show(self.main.current, None)

    def action_main(self, name: str) -> None:
        """An action of the main screen."""
        self.main.action_do(name)

    def action_close(self) -> None:
        """Back to the screen below."""
        self.dismiss(None)

    def action_console(self) -> None:
        """The command line is on the main screen."""
        self.dismiss(None)
        self.main.action_do("console")
