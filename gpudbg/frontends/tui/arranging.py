"""Arranging the main screen: panes moved and resized, layouts named, gdb's window commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.debug.commands.families import load
from gpudbg.debug.commands.screen import GROUP
from gpudbg.errors import CommandError, GpudbgError
from gpudbg.frontends.tui import layout
from gpudbg.frontends.tui.changed import Changes, edge_to, moved, taller
from gpudbg.frontends.tui.doings import doing
from gpudbg.frontends.tui.saved import DEFAULT, Layout, Saved
from gpudbg.frontends.tui.screens.board import Board
from gpudbg.frontends.tui.widgets.console import ConsolePane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen

EDGE_COLUMNS = 4
"""Columns that a key moves the vertical line."""

GDB_PANES = {"src": "source", "asm": "code", "cmd": "console", "regs": "registers"}
"""gdb's window names -> panes."""


class Layouts:
    """The layout in use, and the saved ones.

    Attributes:
        saved: the file.
        now: changes by size of terminal; a size without any is as designed.
        look: what the user chose of theme, key map and glyphs, by name of the setting.
    """

    def __init__(self, saved: Saved) -> None:
        self.saved = saved
        self.now: Layout = dict(saved.layouts.get(saved.current, {}))
        self.look = dict(saved.look)

    def changes(self, size: str) -> Changes:
        """What is changed on terminals of a size."""
        return self.now.get(size, Changes())

    def use(self, name: str) -> None:
        """Take a saved layout.

        Raises:
            CommandError: there is none of that name.
        """
        if name not in self.saved.layouts:
            presets = ", ".join(layout.PRESETS)
            raise CommandError(f"no layout is called {name!r}", f"{presets}; {self.saved.hint()}")
        self.now = dict(self.saved.layouts[name])


def change(screen: MainScreen, changes: Changes) -> None:
    """Take changes for this size of terminal and place the panes."""
    screen.zoom = None
    screen.gpudbg.layouts.now[layout.size_of(screen.size.width)] = changes
    screen.rearrange()
    screen.reload_memory()


def front(screen: MainScreen, pane: str) -> None:
    """Let a pane show in its slot."""
    changes = screen.changes
    fronts = (*(p for p in changes.fronts if p != pane), pane)
    size = layout.size_of(screen.size.width)
    screen.gpudbg.layouts.now[size] = replace(changes, fronts=fronts)


# ---- keys ----------------------------------------------------------------------------------
def _taller(screen: MainScreen, by: int) -> None:
    _grow(screen, screen.focused_pane(), by)


def _grow(screen: MainScreen, pane: str, by: int) -> None:
    place = _unzoomed(screen, pane)
    if place is not None and screen.design is not None:
        change(screen, taller(screen.design, screen.changes, place, by))


def drag_edge(screen: MainScreen, pane: str, row: int) -> None:
    """Put the upper edge of a pane where the mouse is; a zoomed pane has none."""
    place = screen.query_one(Board).places.get(f"pane-{pane}")
    if place is None or screen.design is None or screen.zoom is not None:
        return
    made = edge_to(screen.design, screen.changes, place, row)
    if made != screen.changes:
        change(screen, made)


def _unzoomed(screen: MainScreen, pane: str) -> layout.Rect | None:
    """Where a pane stands when nothing is zoomed; None: nowhere."""
    if screen.zoom is not None:
        screen.zoom = None
        screen.rearrange()
    return screen.query_one(Board).places.get(f"pane-{pane}")


def _wider(screen: MainScreen, by: int) -> None:
    shown = screen.arrangement
    if shown is None or shown.splitter is None:
        screen.note("one column has no vertical line to move", "muted")
        return
    place = _unzoomed(screen, screen.focused_pane())
    column = shown.splitter[0]
    right = place is not None and place[0] > column
    change(screen, replace(screen.changes, split=column + (-by if right else by)))


def _move(screen: MainScreen, by: int) -> None:
    pane = screen.focused_pane()
    place = _unzoomed(screen, pane)
    if place is not None and screen.design is not None:
        if pane != "console":
            # It moves as what it is, not as what its new place would show.
            front(screen, pane)
        change(screen, moved(screen.design, screen.changes, place, by))
        screen.focus_pane(pane)


@doing("pane_taller")
def pane_taller(screen: MainScreen) -> None:
    """A row more for the focused pane."""
    _taller(screen, 1)


@doing("pane_lower")
def pane_lower(screen: MainScreen) -> None:
    """A row less."""
    _taller(screen, -1)


@doing("pane_wider")
def pane_wider(screen: MainScreen) -> None:
    """More of the width for the focused pane's column."""
    _wider(screen, EDGE_COLUMNS)


@doing("pane_narrower")
def pane_narrower(screen: MainScreen) -> None:
    """Less of it."""
    _wider(screen, -EDGE_COLUMNS)


@doing("move_next")
def move_next(screen: MainScreen) -> None:
    """The focused pane to the next place."""
    _move(screen, 1)


@doing("move_back")
def move_back(screen: MainScreen) -> None:
    """The focused pane to the place before."""
    _move(screen, -1)


# ---- commands ------------------------------------------------------------------------------
def carry_out(screen: MainScreen, line: str) -> bool:
    """Carry out a command that arranges the screen; False: it is no such command."""
    try:
        command, argument = load().resolve(line)
    except CommandError:
        return False
    words = argument.split()
    if command.name == "focus" and len(words) == 1 and words[0] not in ("sm", "warp", "lane"):
        pane = _pane(words[0]) if words[0] not in ("next", "prev") else words[0]
        if not pane:
            return False
        _focus(screen, pane)
        return True
    if command.group != GROUP:
        return False
    try:
        say(screen, COMMANDS[command.name](screen, words))
    except GpudbgError as e:
        screen.note(str(e))
    return True


def concerns(line: str) -> bool:
    """Whether `carry_out` is who carries a line out."""
    try:
        command, argument = load().resolve(line)
    except CommandError:
        return False
    words = argument.split()
    if command.name == "focus" and len(words) == 1:
        return words[0] in ("next", "prev") or bool(_pane(words[0]))
    return command.group == GROUP


def _pane(word: str) -> str:
    """The pane a word names, or "": its name, its beginning, or gdb's name."""
    if word in GDB_PANES:
        return GDB_PANES[word]
    found = [name for name in layout.ORDER if name.startswith(word)]
    return found[0] if word in layout.ORDER or len(found) == 1 else ""


def _focus(screen: MainScreen, pane: str) -> None:
    if pane in ("next", "prev"):
        screen.action_do("pane_next" if pane == "next" else "pane_back")
    else:
        screen.focus_pane(pane)


def _layout(screen: MainScreen, words: list[str]) -> list[str]:
    layouts = screen.gpudbg.layouts
    if not words:
        return [
            f"designed: {', '.join(layout.PRESETS)}   {layouts.saved.hint()}",
            f"in use: {screen.changes.preset}" + (" with changes" if _changed(screen) else ""),
        ]
    name = " ".join(words)
    if name in layouts.saved.layouts:
        layouts.use(name)
        change(screen, screen.changes)
    elif name in layout.PRESETS:
        change(screen, Changes(name))
    else:
        layouts.use(name)
    return []


def _changed(screen: MainScreen) -> bool:
    return screen.changes != Changes(screen.changes.preset)


def _save(screen: MainScreen, words: list[str]) -> list[str]:
    name = " ".join(words) or screen.gpudbg.layouts.saved.current or DEFAULT
    if name in layout.PRESETS:
        raise CommandError(f"{name!r} is a designed layout", "save it under another name")
    saved = screen.gpudbg.layouts.saved
    saved.save(name, screen.gpudbg.layouts.now, screen.gpudbg.layouts.look)
    return [f"saved as {name!r} in {saved.path}; the next start takes it"]


def _delete(screen: MainScreen, words: list[str]) -> list[str]:
    screen.gpudbg.layouts.saved.delete(" ".join(words))
    return [f"deleted layout {' '.join(words)!r}"]


def _winheight(screen: MainScreen, words: list[str]) -> list[str]:
    pane = _pane(words[0]) if words else ""
    try:
        rows = int(words[1])
    except (IndexError, ValueError):
        raise CommandError("winheight PANE [+|-]ROWS", "such as: winheight code +3") from None
    place = _unzoomed(screen, pane)
    if place is None:
        raise CommandError(f"no pane {words[0]!r} is on the screen", ", ".join(layout.ORDER))
    _grow(screen, pane, rows if words[1][0] in "+-" else rows - place[3])
    return []


def _refresh(screen: MainScreen, words: list[str]) -> list[str]:
    screen.rearrange()
    screen.app.refresh(repaint=True, layout=True)
    return []


def _enable(screen: MainScreen, words: list[str]) -> list[str]:
    return ["the terminal UI is on; `layout` arranges its panes"]


def _disable(screen: MainScreen, words: list[str]) -> list[str]:
    return ["leave with q and start with `gpudbg --console PROG`; z zooms the console"]


COMMANDS: dict[str, Callable[[MainScreen, list[str]], list[str]]] = {
    "layout": _layout,
    "layout save": _save,
    "layout delete": _delete,
    "winheight": _winheight,
    "refresh": _refresh,
    "tui enable": _enable,
    "tui disable": _disable,
}
"""Commands of the group `screen`."""


def say(screen: MainScreen, lines: list[str]) -> None:
    """An answer, in the console."""
    if lines:
        screen.query_one(ConsolePane).log_lines(lines)
