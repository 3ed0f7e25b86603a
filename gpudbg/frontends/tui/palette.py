"""What the command palette finds: actions, console commands, warps, code, themes, key maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from gpudbg.debug.commands import load
from gpudbg.frontends.tui import keymaps, theme
from gpudbg.frontends.tui.actions import ACTIONS
from gpudbg.frontends.tui.base_app import BaseApp
from gpudbg.frontends.tui.handlers.code import goto_place
from gpudbg.frontends.tui.keys import keys_text, local
from gpudbg.frontends.tui.screens.main import MainScreen
from gpudbg.loading import known_plugins

Entry = tuple[str, str, Callable[[], object]]
MAX_WARPS = 128


class PaletteProvider(Provider):
    """The command palette's provider: all entries in one list."""

    @property
    def gpudbg(self) -> BaseApp:
        """The application."""
        assert isinstance(self.app, BaseApp)
        return self.app

    @property
    def main(self) -> MainScreen:
        """The screen below all others."""
        return next(s for s in self.app.screen_stack if isinstance(s, MainScreen))

    async def discover(self) -> Hits:
        """Before anything is typed: the actions."""
        for words, about, run in self._actions(self.main):
            yield DiscoveryHit(words, run, help=about)

    async def search(self, query: str) -> Hits:
        """Entries that match; a query without a match is offered as a console command."""
        matcher = self.matcher(query)
        best = 0.0
        for words, about, run in self.entries():
            score = matcher.match(words)
            if score > 0:
                best = max(best, score)
                yield Hit(score, matcher.highlight(words), run, help=about)
        if not best:
            main = self.main
            yield Hit(
                0.1,
                f"console: {query}",
                partial(main.run_command, query),
                help="as a console command",
            )

    def entries(self) -> Iterator[Entry]:
        """All entries."""
        main = self.main
        yield from self._actions(main)
        for command in load().commands:
            need = " " if command.usage.strip() != command.name else ""
            run = partial(main.type_command, command.name + need)
            yield command.name, command.help, run
        yield from self._appearances()
        for entry in known_plugins().panes.values():
            about = f"{entry.help}  (plugin {entry.plugin})"
            yield f"pane {entry.name}", about, partial(self.gpudbg.open_plugin, entry)
        view = main.current
        if view is None:
            return
        for w in view.warps[:MAX_WARPS]:
            words = f"warp {w.slot} of SM {w.sm}"
            yield words, w.why or w.where, partial(main.focus_warp, w.sm, w.slot)
        for function in main.session.program.functions.values():
            yield f"go to {function.label}", "code", partial(goto_place, main, function.label)

    def _actions(self, main: MainScreen) -> Iterator[Entry]:
        """Yield actions of the screen that the palette was opened over, then the main screen's."""
        for a in local(str(getattr(self.screen, "SCOPE", ""))):
            if a.help and "{key}" not in a.do:
                yield a.help, keys_text(a.keys), partial(self.screen.run_action, a.do)
        table = self.gpudbg.key_table
        for a in ACTIONS:
            yield a.help, keys_text(table[a.id]), partial(main.action_do, a.id)

    def _appearances(self) -> Iterator[Entry]:
        app = self.gpudbg
        for name in theme.PALETTES:
            yield f"theme {name}", "colours", partial(app.set_appearance, theme=name)
        for name in ("unicode", "ascii"):
            yield f"glyphs {name}", "marks", partial(app.set_appearance, glyphs=name)
        for name in keymaps.NAMES:
            yield f"key map {name}", "keys", partial(app.set_keys, name)
