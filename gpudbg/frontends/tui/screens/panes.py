"""PaneScreen: a side screen of the main screen's build, stop line and strip over panes over keys.

Where there is room every pane shows.  Otherwise one pane keeps its place and the others share the
rest: the one asked for last shows, the hidden ones are names in its title.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.events import Resize
from textual.widget import Widget

from gpudbg.frontends.tui import messages
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.screens.board import Board
from gpudbg.frontends.tui.screens.side import SideScreen
from gpudbg.frontends.tui.view import Running, ScreenView
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.chrome import KeyRow, SmStrip, StopLine

if TYPE_CHECKING:
    from gpudbg.frontends.tui.layout import Rect
    from gpudbg.frontends.tui.screens.main import MainScreen

STRIP_FROM = 30
"""Rows from which the strip of warps has a row."""


class PaneScreen(SideScreen):
    """See the module text.

    Attributes:
        panes: by number, from 1.
        stays: the pane that shows on a narrow screen, too.
        lower: the one that shares the narrow screen with it now.
    """

    MARK: ClassVar[str] = ""
    """Letter of the widgets' ids."""
    OPTION: ClassVar[str] = ""
    """The collector's option that is on while the screen is open, if it needs one."""

    def __init__(
        self,
        main: MainScreen,
        appearance: Appearance,
        name: str,
        panes: tuple[LinePane, ...],
        stays: LinePane,
        lower: LinePane,
    ) -> None:
        super().__init__(main, appearance, name)
        self.panes = panes
        self.stays = stays
        self.lower = lower

    def extras(self) -> tuple[Widget, ...]:
        """Further widgets of the screen."""
        return ()

    def stop_line(self) -> StopLine:
        """The first row."""
        return StopLine(self.appearance, f"{self.MARK}-stopline")

    def compose(self) -> ComposeResult:
        """Stop line, strip, panes, keys."""
        yield Board(
            self.stop_line(),
            SmStrip(self.appearance, f"{self.MARK}-strip"),
            *self.panes,
            *self.extras(),
            KeyRow(self.appearance, f"{self.MARK}-keys"),
        )

    def on_mount(self) -> None:
        """Ask the collector for what this screen shows from now on."""
        self.show_keys()
        if self.OPTION:
            setattr(self.main.options, self.OPTION, True)
        self.again()

    def on_unmount(self) -> None:
        """It is no longer shown."""
        if self.OPTION:
            setattr(self.main.options, self.OPTION, False)

    def again(self) -> None:
        """Request a new picture, unless the machine runs: the next stop brings one."""
        if not self.main.engine.busy:
            self.main.quick(lambda s: None)

    def on_resize(self, event: Resize) -> None:
        """Place the panes."""
        self.place()

    def panes_at(self, top: int, width: int, rows: int) -> dict[str, Rect]:
        """Places of the panes that show, in `rows` rows from `top` on."""
        raise NotImplementedError

    def place(self) -> None:
        """The frame, and the panes in it."""
        width, height = self.size
        if not width or not height:
            return
        places: dict[str, Rect] = {
            f"{self.MARK}-stopline": (0, 0, width, 1),
            f"{self.MARK}-keys": (0, height - 1, width, 1),
        }
        top = 1
        if height >= STRIP_FROM:
            places[f"{self.MARK}-strip"] = (0, 1, width, 1)
            top = 2
        places |= self.panes_at(top, width, height - top - 1)
        hidden = [p for p in self.panes if f"pane-{p.pane}" not in places]
        for pane in self.panes:
            pane.tabs = ()
        self.lower.tabs = tuple((p.number, p.title, p.pane) for p in hidden)
        self.query_one(Board).place(places)
        shown = self.main.past.shown or self.main.current
        if shown is not None:
            self.show(shown, None)

    def show(self, view: ScreenView, running: Running | None) -> None:
        """Show a new picture, deferred until the panes exist."""
        if self.query(StopLine):
            self.query_one(StopLine).show(view, running)
            self.query_one(SmStrip).show(view, running)
            for pane in self.panes:
                pane.show(view, running)
            self.query_one(KeyRow).show(view, running)
        self.show_more(view, running)

    def show_more(self, view: ScreenView, running: Running | None) -> None:
        """Show the picture in widgets besides the panes."""

    # ---- actions -------------------------------------------------------------------------
    def action_pane(self, number: int) -> None:
        """A digit: that pane; on a narrow screen it takes the lower part."""
        pane = self.panes[number - 1]
        if not pane.display and pane is not self.stays:
            self.lower = pane
            self.place()
        self.set_focus(pane)

    def on_pane_asked(self, event: messages.PaneAsked) -> None:
        """A click on a hidden pane's name."""
        event.stop()
        self.action_pane([p.pane for p in self.panes].index(event.pane) + 1)


class ConsoleScreen(PaneScreen):
    """A side screen with a command line of its own; on a narrow screen `:` brings it up."""

    def __init__(
        self,
        main: MainScreen,
        appearance: Appearance,
        name: str,
        panes: tuple[LinePane, ...],
        stays: LinePane,
        lower: LinePane,
    ) -> None:
        super().__init__(main, appearance, name, panes, stays, lower)
        self.console = main.second_console(appearance)
        self.typing = False

    def extras(self) -> tuple[Widget, ...]:
        """The command line."""
        return (self.console,)

    def show_more(self, view: ScreenView, running: Running | None) -> None:
        """Show the picture in the console."""
        if self.console.is_mounted:
            self.console.show(view, running)

    def action_pane(self, number: int) -> None:
        """A digit: that pane; the one after the last is the command line."""
        if number > len(self.panes):
            self.action_console()
        else:
            super().action_pane(number)

    def action_console(self) -> None:
        """The command line; on a narrow screen it comes up from below."""
        if not self.console.display:
            self.typing = True
            self.place()
        self.console.enter()

    def on_command_entered(self, event: messages.CommandEntered) -> None:
        """What was typed is carried out as on the main screen."""
        event.stop()
        self.main.enter_command(event.line, self.console)

    def on_lines_pasted(self, event: messages.LinesPasted) -> None:
        """Several at once."""
        event.stop()
        self.main.paste_lines(event, self.console)
