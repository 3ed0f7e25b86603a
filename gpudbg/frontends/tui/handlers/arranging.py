"""Arranging the main screen: panes moved and resized, layouts named, gdb's window commands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.errors import CommandError
from gpudbg.frontends.tui import layout
from gpudbg.frontends.tui.changed import Changes, moved, taller
from gpudbg.frontends.tui.handlers import SCREEN_COMMANDS, both_directions, handles
from gpudbg.frontends.tui.saved import DEFAULT
from gpudbg.frontends.tui.screen_lines import pane_of
from gpudbg.frontends.tui.screens.board import Board

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen


EDGE_COLUMNS = 4
"""Columns by which one key press moves the vertical line."""


# ---- keys ----------------------------------------------------------------------------------
def _taller(screen: MainScreen, by: int) -> None:
    _grow(screen, screen.focused_pane(), by)


def _grow(screen: MainScreen, pane: str, by: int) -> None:
    place = _unzoomed(screen, pane)
    if place is not None and screen.design is not None:
        screen.change(taller(screen.design, screen.changes, place, by))


def _unzoomed(screen: MainScreen, pane: str) -> layout.Rect | None:
    """The rectangle of a pane with zoom off; None where it has no place."""
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
    screen.change(replace(screen.changes, split=column + (-by if right else by)))


@handles("pane_taller")
def pane_taller(screen: MainScreen) -> None:
    """Make the focused pane one row taller."""
    _taller(screen, 1)


@handles("pane_lower")
def pane_lower(screen: MainScreen) -> None:
    """Make the focused pane one row lower."""
    _taller(screen, -1)


@handles("pane_wider")
def pane_wider(screen: MainScreen) -> None:
    """Widen the focused pane's column."""
    _wider(screen, EDGE_COLUMNS)


@handles("pane_narrower")
def pane_narrower(screen: MainScreen) -> None:
    """Narrow the focused pane's column."""
    _wider(screen, -EDGE_COLUMNS)


@both_directions("move")
def move_pane(screen: MainScreen, by: int) -> None:
    """Move the focused pane to the next or previous place."""
    pane = screen.focused_pane()
    place = _unzoomed(screen, pane)
    if place is not None and screen.design is not None:
        if pane != "console":
            # Bring it to the front first: a place moves with the pane that shows in it.
            screen.bring_front(pane)
        screen.change(moved(screen.design, screen.changes, place, by))
        screen.focus_pane(pane)


# ---- commands ------------------------------------------------------------------------------
def _focus(screen: MainScreen, words: list[str]) -> list[str]:
    if words[0] in ("next", "prev"):
        screen.action_do("pane_next" if words[0] == "next" else "pane_back")
    else:
        screen.focus_pane(words[0])
    return []


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
        screen.change(screen.changes)
    elif name in layout.PRESETS:
        layouts.design(name)
        screen.change(Changes(name))
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
    saved.save(name, screen.gpudbg.layouts.now, screen.gpudbg.layouts.appearance)
    return [f"saved as {name!r} in {saved.path}; the next start takes it"]


def _delete(screen: MainScreen, words: list[str]) -> list[str]:
    screen.gpudbg.layouts.saved.delete(" ".join(words))
    return [f"deleted layout {' '.join(words)!r}"]


def _winheight(screen: MainScreen, words: list[str]) -> list[str]:
    pane = pane_of(words[0]) if words else ""
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


SCREEN_COMMANDS.update(
    {
        "focus": _focus,
        "layout": _layout,
        "layout save": _save,
        "layout delete": _delete,
        "winheight": _winheight,
        "refresh": _refresh,
        "tui enable": _enable,
        "tui disable": _disable,
    }
)
