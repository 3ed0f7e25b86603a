"""Layouts: the arrangement in use by size of terminal, and the saved ones."""

from __future__ import annotations

from gpudbg.errors import CommandError
from gpudbg.frontends.tui import layout
from gpudbg.frontends.tui.changed import Changes
from gpudbg.frontends.tui.saved import Layout, Saved


class Layouts:
    """The layout in use, and the saved ones.

    Attributes:
        saved: the file.
        now: changes by size of terminal; a size without any is as designed.
        appearance: what the user chose of theme, key map and glyphs, by name of the setting.
    """

    def __init__(self, saved: Saved) -> None:
        self.saved = saved
        self.now: Layout = dict(saved.layouts.get(saved.current, {}))
        self.appearance = dict(saved.appearance)

    def changes(self, size: str) -> Changes:
        """The changes on terminals of a size."""
        return self.now.get(size, Changes())

    def design(self, name: str) -> None:
        """Use a designed layout on terminals of every size whose panes were not moved or
        resized.
        """
        for size in layout.SIZES:
            if (known := self.changes(size)) == Changes(known.preset):
                self.now[size] = Changes(name)

    def use(self, name: str) -> None:
        """Use a saved layout.

        Raises:
            CommandError: there is none of that name.
        """
        if name not in self.saved.layouts:
            presets = ", ".join(layout.PRESETS)
            raise CommandError(f"no layout is called {name!r}", f"{presets}; {self.saved.hint()}")
        self.now = dict(self.saved.layouts[name])
