"""BaseApp: the services that the application offers its screens (the *desk* of the glossary)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App
from textual.css.query import NoMatches

from gpudbg.errors import EXIT_CLEAN, EXIT_FAULT
from gpudbg.frontends.tui import keymaps
from gpudbg.frontends.tui.glyphs import SETS
from gpudbg.frontends.tui.keys import Keys, keys_text
from gpudbg.frontends.tui.screens.ask import AskScreen
from gpudbg.frontends.tui.theme import PALETTES
from gpudbg.frontends.tui.widgets.base import LinePane
from gpudbg.frontends.tui.widgets.chrome import KeyRow, OneLine, Splitter
from gpudbg.frontends.tui.widgets.console import ConsolePane

if TYPE_CHECKING:
    from textual.events import Key

    from gpudbg.debug import DebugSession
    from gpudbg.frontends.tui.appearance import Appearance
    from gpudbg.frontends.tui.engine import Engine
    from gpudbg.frontends.tui.inputs import Inputs
    from gpudbg.frontends.tui.layouts import Layouts
    from gpudbg.frontends.tui.seen import Seen
    from gpudbg.plugin import Entry


class BaseApp(App[int]):
    """The application as its screens see it.

    Attributes:
        session, engine: what is debugged, and what runs it.
        inputs: what was typed and not yet delivered.
        pressed: the key that is being carried out.
        appearance, layouts, keymap_name: as the user has them.
        seen: which stories were opened.
        asks_launch: whether a program that has not launched opens with its launch form.
    """

    session: DebugSession
    engine: Engine
    inputs: Inputs
    pressed: Key | None
    appearance: Appearance
    layouts: Layouts
    keymap_name: str
    seen: Seen
    asks_launch: bool

    # ---- screens -----------------------------------------------------------------------
    def open_screen(self, name: str) -> None:
        """Open a screen: help, watch, trap, surface, history, findings or gallery."""
        raise NotImplementedError

    def open_program(self, path: Path) -> None:
        """Close this program and open another. Refused while the machine runs."""
        raise NotImplementedError

    def open_plugin(self, entry: Entry) -> None:
        """Open a plugin's pane on a screen of its own."""
        raise NotImplementedError

    def ask(
        self,
        question: str,
        example: str,
        then: Callable[[str], None],
        empty: bool = False,
        value: str = "",
    ) -> None:
        """Ask for a line of input, preset to `value`; `then` is called with the answer."""

        def answered(text: str | None) -> None:
            if text is not None and (text or empty):
                then(text)

        self.push_screen(AskScreen(question, example, value), answered)

    # ---- keys --------------------------------------------------------------------------
    @property
    def key_table(self) -> Keys:
        """The key map in use."""
        return keymaps.keymap(self.keymap_name)

    def key(self, action: str) -> str:
        """The first key of a main-screen action, spelled for people (`^P`, `S-F11`)."""
        return keys_text(self.key_table[action], 1)

    # ---- words -------------------------------------------------------------------------
    def _all_key_rows(self) -> Iterator[KeyRow]:
        """The key rows of all screens, the uppermost first."""
        for screen in reversed(self.screen_stack):
            # Textual remembers the one it found; a query of all walks through every widget.
            with suppress(NoMatches):
                yield screen.query_one(KeyRow)

    def say(self, text: str, role: str) -> None:
        """Show a short message in the key row of the uppermost screen that has one."""
        for row in self._all_key_rows():
            row.say(text, role)
            return

    # ---- appearance and keys ----------------------------------------------------------------
    def set_appearance(self, theme: str | None = None, glyphs: str | None = None) -> None:
        """Set the palette or glyph set on every screen at once; `layout save` stores it."""
        if theme is not None:
            self.appearance.palette = PALETTES[theme]
            self.theme = f"gpudbg-{theme}"
            self.layouts.appearance["theme"] = theme
        if glyphs is not None:
            self.appearance.glyphs = SETS[glyphs]
            self.layouts.appearance["ascii"] = "on" if glyphs == "ascii" else "off"
        for screen in self.screen_stack:
            for widget in screen.query("*"):
                if isinstance(widget, LinePane | ConsolePane):
                    widget.restyle()
                elif isinstance(widget, OneLine):
                    widget.redraw()
                    widget.refresh()
                elif isinstance(widget, Splitter):
                    widget.refresh()

    def set_keys(self, name: str) -> None:
        """Set the key map; `layout save` stores it."""
        self.layouts.appearance["keymap"] = name
        self.use_keys(name)

    def use_keys(self, name: str) -> None:
        """Install a key map by name."""
        self.keymap_name = name
        self.set_keymap(keymaps.changes(name))

    # ---- the end -----------------------------------------------------------------------
    def leave(self) -> None:
        """End the application: interrupt what runs and drop inputs that wait."""
        self.inputs.close()
        self.engine.interrupt()
        self.exit(EXIT_FAULT if self.session.faulted else EXIT_CLEAN)
