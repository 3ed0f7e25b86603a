"""GpudbgApp: the Textual application around one debug session."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.command import CommandPalette
from textual.driver import Driver
from textual.events import Event, InputEvent, Key, MouseDown, Paste
from textual.message import Message
from textual.screen import SystemModalScreen
from textual.widgets import Input, OptionList

from gpudbg.debug import launch_shape
from gpudbg.errors import EXIT_CLEAN, GpudbgError
from gpudbg.frontends.starting import collect_again
from gpudbg.frontends.tui import glyphs, hangup, keymaps, terminal, theme
from gpudbg.frontends.tui.appearance import Appearance
from gpudbg.frontends.tui.base_app import BaseApp
from gpudbg.frontends.tui.collect import Collector
from gpudbg.frontends.tui.engine import Engine
from gpudbg.frontends.tui.handlers import (
    arranging,
    breakpoints,
    code,
    editing,
    memory,
    moving,
    origins,
    rows,
    running,
    screens,
    watches,
)
from gpudbg.frontends.tui.inputs import Delivery, InputLine, Inputs
from gpudbg.frontends.tui.keys import key_name
from gpudbg.frontends.tui.layouts import Layouts
from gpudbg.frontends.tui.palette import PaletteProvider
from gpudbg.frontends.tui.saved import Saved
from gpudbg.frontends.tui.saved import path as saved_path
from gpudbg.frontends.tui.screens.main import MainScreen
from gpudbg.frontends.tui.screens.side import SideScreen
from gpudbg.frontends.tui.seen import Seen
from gpudbg.frontends.tui.view import ViewOptions
from gpudbg.frontends.tui.widgets.options import CommandChooser

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.plugin import Entry

SWITCH_SECONDS = 0.001
"""Switch interval of Python's threads, seconds: how often the engine thread hands over to the
screen.
"""


SIDE_SCREENS = {
    "watch": ("gpudbg.frontends.tui.screens.watch", "WatchScreen"),
    "trap": ("gpudbg.frontends.tui.screens.trap", "TrapScreen"),
    "surface": ("gpudbg.frontends.tui.screens.surface", "SurfaceScreen"),
    "history": ("gpudbg.frontends.tui.screens.history", "HistoryScreen"),
    "findings": ("gpudbg.frontends.tui.screens.findings", "FindingsScreen"),
    "gallery": ("gpudbg.frontends.tui.screens.gallery", "GalleryScreen"),
}
"""Screens opened over the main one: name -> (module, class); imported when first opened."""

HANDLER_MODULES = (
    arranging, breakpoints, code, editing, memory, moving, origins, rows, running, screens, watches,
)  # fmt: skip
"""Modules whose import enters the handlers of `actions.py` into the handler tables."""


class GpudbgApp(BaseApp):
    """The Textual application: one debug session on one terminal."""

    TITLE = "gpudbg"
    COMMANDS: ClassVar = {PaletteProvider}
    ENABLE_COMMAND_PALETTE = True
    CSS_PATH = "gpudbg.tcss"

    def __init__(
        self,
        session: DebugSession,
        startup: list[str] | None = None,
        appearance: Appearance | None = None,
        notes: bool = False,
        saved: Saved | None = None,
        seen: Seen | None = None,
    ) -> None:
        self.seen = seen or Seen()
        self.layouts = Layouts(saved or Saved(saved_path()))
        chosen = self.layouts.appearance.get
        self.appearance = appearance or Appearance(
            theme.choose(saved=chosen("theme", "")), glyphs.choose(saved=chosen("ascii", ""))
        )
        super().__init__()
        for palette in theme.PALETTES.values():
            self.register_theme(palette.theme())
        self.theme = f"gpudbg-{self.appearance.palette.name}"
        self.keymap_name = keymaps.DEFAULT
        self._take(session, notes)
        self._asked_keys = os.environ.get(keymaps.VARIABLE, "")
        self.inputs = Inputs(self, self._delivery())
        self.inputs.put_lines(startup or [])
        self.asks_launch = not startup
        self.pressed = None
        self._before: tuple[object, ...] = ()
        self._unfolded: tuple[int, bool] | None = None

    def _take(self, session: DebugSession, notes: bool) -> None:
        """Make the options, engine and main screen of a session."""
        self.session = session
        session.settings.set("gather", "on")
        session.settings.set("timeline", "small")
        self.options = ViewOptions(watches=[])
        if not launch_shape(session).shared_bytes:
            self.options.space = "global"
        self.engine = Engine(session, Collector(session, self.options), self)
        self.main = MainScreen(session, self.engine, self.options, self.appearance, notes)
        self._offer_settings(session)

    def _offer_settings(self, session: DebugSession) -> None:
        """Register the commands that change the screen (`set theme`, key maps, layouts); they run
        in the engine's thread and hand their changes to this one.
        """

        def offer(
            name: str,
            choices: Iterable[str],
            shown: Callable[[], str],
            change: Callable[[str], None],
        ) -> None:
            def later(value: str) -> None:
                self.call_later(change, value)

            session.settings.adopt(name, tuple(choices), shown, later)

        offer("theme", theme.PALETTES, lambda: self.appearance.palette.name, self.set_appearance)
        offer("keymap", keymaps.NAMES, lambda: self.keymap_name, self.set_keys)
        offer(
            "ascii",
            ("on", "off"),
            lambda: "on" if self.appearance.glyphs is glyphs.ASCII else "off",
            lambda value: self.set_appearance(glyphs="ascii" if value == "on" else "unicode"),
        )

    # ---- the engine's way back ---------------------------------------------------------
    def post_message(self, message: Message) -> bool:
        """Engine messages go to the main screen, whatever lies over it."""
        from gpudbg.frontends.tui.messages import JobDone

        if isinstance(message, JobDone) and self.main.is_attached:
            return self.main.post_message(message)
        return super().post_message(message)

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver for this terminal; what it reads comes in whole sequences."""
        return terminal.guarded(super().get_driver_class())

    # ---- inputs ------------------------------------------------------------------------
    async def on_event(self, event: Event) -> None:
        """Inputs from the terminal go through the queue; all else is Textual's."""
        if isinstance(event, InputEvent | Paste) and not event.is_forwarded:
            self.inputs.put(event)
        else:
            await super().on_event(event)

    def _delivery(self) -> Delivery:
        """How the input queue delivers: to the main screen and engine of the moment."""
        return Delivery(
            deliver=self.deliver,
            delivered=self.delivered,
            failed=self.show_bug,
            engine=lambda: self.engine,
            lasting=lambda: self.main.running_now() is not None,
            say_waiting=lambda count: self.main.say_waiting(count),
        )

    async def deliver(self, item: InputEvent | Paste | InputLine) -> None:
        """Carry out one input: post a key or paste to Textual, run a command line."""
        self.pressed = item if isinstance(item, Key) else None
        if isinstance(item, Key | MouseDown | Paste):
            for row in self._all_key_rows():
                row.unsay()
        self._before = self._state()
        self._unfolded = self.main.unfolded
        if isinstance(item, InputLine):
            self.main.run_command(item.text)
        elif isinstance(item, Paste) and not isinstance(self.focused, Input):
            self.main.note("text can be pasted at a prompt; `:` opens the command line")
        else:
            await super().on_event(item)

    def delivered(self, item: InputEvent | Paste | InputLine) -> None:
        """Called when everything an input caused has been handled; reports a key that did nothing.

        An unfolded answer stays until a key is pressed elsewhere or the next answer comes.
        """
        if isinstance(item, Key | MouseDown) and not self.engine.busy:
            kept = self.main.focused_pane() == "console"
            if self._unfolded is self.main.unfolded and not kept:
                self.main.fold()
        if not isinstance(item, Key) or isinstance(self.screen, SystemModalScreen):
            return
        if not self.engine.busy and self._state() == self._before:
            self.say(f"{key_name(item.key)} does nothing here", "muted")

    def _state(self) -> tuple[object, ...]:
        """The state that an effective input changes; equal before and after means the key did
        nothing.
        """
        focused = self.focused
        typed: object = None
        if isinstance(focused, Input):
            typed = focused.value, focused.selection
        elif isinstance(focused, OptionList):
            typed = focused.highlighted, focused.option_count, getattr(self.screen, "said", "")
        return (self.screen, focused, typed, self.engine.jobs, self.appearance.changes)

    @property
    def at_rest(self) -> bool:
        """Whether no input waits, none is being carried out, and the machine does not run."""
        return self.inputs.idle and not self.engine.busy and not self.message_queue_size

    def show_bug(self, error: Exception) -> None:
        """End with a bug's traceback."""
        self._handle_exception(error)

    # ---- life --------------------------------------------------------------------------
    def on_mount(self) -> None:
        """Open the main screen, then carry out the commands given on the command line."""
        self.push_screen(self.main)
        name = self._asked_keys or self.layouts.appearance.get("keymap", "")
        self.use_keys(name if name in keymaps.NAMES else keymaps.DEFAULT)
        if self._asked_keys not in ("", *keymaps.NAMES):
            names = ", ".join(keymaps.NAMES)
            words = f"{keymaps.VARIABLE}: no key map is called {self._asked_keys!r}; {names}"
            self.call_after_refresh(self.main.note, words)
        self.call_after_refresh(self._opened)

    def _opened(self) -> None:
        """Start delivering inputs: called when the first picture has been painted."""
        self.main.paint()
        collect_again()
        self.inputs.start()

    async def action_quit(self) -> None:
        """Textual's own key to quit."""
        self.leave()

    def terminate(self) -> None:
        """SIGTERM: end, and leave the terminal as it was."""
        self.engine.interrupt()
        if self._loop is not None:
            # Post to the loop rather than exit here: a signal handler alone does not wake a loop
            # that waits for input.
            leave = partial(self.call_later, self.exit, hangup.EXIT_TERMINATED)
            self._loop.call_soon_threadsafe(leave)

    def hang_up(self) -> None:
        """The terminal is gone; called in the thread that watches it."""
        try:
            self.call_from_thread(self.leave)
        except RuntimeError:
            # The application has ended, or is ending, by itself.
            return

    # ---- appearance and keys ----------------------------------------------------------------
    def use_keys(self, name: str) -> None:
        """Install a key map by name."""
        super().use_keys(name)
        if self.main.current is not None:
            self.main.show_keys()
        for screen in self.screen_stack:
            if isinstance(screen, SideScreen):
                screen.show_keys()

    def _handle_exception(self, error: Exception) -> None:
        """A bug in a plugin's pane shows in that pane; any other ends the application."""
        if getattr(self.screen, "entry", None) is not None:
            from gpudbg.frontends.tui.screens.plugin import PluginScreen

            if isinstance(self.screen, PluginScreen):
                self.screen.broken(error)
                return
        super()._handle_exception(error)

    def action_command_palette(self) -> None:
        """Open the command palette: every action, command, warp and place, searched by name."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandChooser(id="--command-palette"))

    # ---- screens -----------------------------------------------------------------------
    def open_screen(self, name: str) -> None:
        """Open a screen; one that is open is not opened twice."""
        if name == "help":
            from gpudbg.frontends.tui.screens.help import HelpScreen

            scope = str(getattr(self.screen, "SCOPE", ""))
            self.push_screen(HelpScreen(self.appearance, self.keymap_name, scope))
            return
        module, kind = SIDE_SCREENS[name]
        found = getattr(import_module(module), kind)
        if not any(type(s) is found for s in self.screen_stack):
            self.push_screen(found(self.main, self.appearance))

    def open_program(self, path: Path) -> None:
        """Close this program and open another. Refused while the machine runs."""
        import argparse

        from gpudbg.api import add_launch_flags, open_session

        parser = argparse.ArgumentParser()
        add_launch_flags(parser)
        try:
            session = open_session(path, parser.parse_args([]))
        except GpudbgError as e:
            self.main.note(str(e))
            return
        old = self.session
        self._take(session, notes=True)
        self.switch_screen(self.main)
        self.call_after_refresh(self.main.paint)
        old.close()

    def open_plugin(self, entry: Entry) -> None:
        """Open a plugin's pane on a screen of its own."""
        from gpudbg.frontends.tui.screens.plugin import PluginScreen

        self.push_screen(PluginScreen(self.main, self.appearance, entry))


def run_app(session: DebugSession, startup: list[str] | None = None) -> int:
    """Run the terminal UI until the user quits. Returns the session's exit code."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    app = GpudbgApp(session, startup, notes=True, saved=Saved.read(), seen=Seen.read())
    hangup.watch(app)
    hangup.give_back_on_crash()
    try:
        code = app.run()
    finally:
        sys.setswitchinterval(interval)
    return EXIT_CLEAN if code is None else code
