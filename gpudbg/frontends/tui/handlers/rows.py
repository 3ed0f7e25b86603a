"""Handle keys and clicks on rows: explain, open, follow, copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudbg.debug.focus import first_lane
from gpudbg.frontends.tui import explain, messages
from gpudbg.frontends.tui.handlers import EVENTS, handles
from gpudbg.frontends.tui.handlers.breakpoints import toggle_break
from gpudbg.frontends.tui.handlers.code import follow_branch, show_offset, show_point, show_stop
from gpudbg.frontends.tui.handlers.memory import show_memory
from gpudbg.frontends.tui.handlers.moving import focus_on
from gpudbg.frontends.tui.handlers.names import (
    explain_source,
    hovered,
    select_frame,
    toggle_variable,
)
from gpudbg.frontends.tui.handlers.origins import ask_origin
from gpudbg.frontends.tui.handlers.screens import run_story_command
from gpudbg.frontends.tui.handlers.watches import toggle_values
from gpudbg.frontends.tui.widgets.console import ConsolePane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen


@handles("explain")
def explain_row(screen: MainScreen) -> None:
    """Explain the row under the cursor in the console."""
    pane = screen.focused_pane()
    key = screen.line_pane(pane).key if pane != "console" else None
    if screen.current is None:
        return
    if key is None:
        # No row is chosen: explain the focused one.
        focus = screen.current.focus_row
        if pane == "warps" and focus is not None:
            key = ("warp", focus.sm, focus.slot)
        elif pane == "code" and screen.current.pc is not None:
            key = ("pc", screen.current.pc)
    lines = explain_source(screen) if pane == "source" else []
    lines = lines or explain.explain(screen.session, screen.current, key)
    screen.answer(lines)


@handles("more")
def more(screen: MainScreen) -> None:
    """Open the row; in the memory pane, show the next page."""
    _open_or_page(screen, 1)


@handles("less")
def less(screen: MainScreen) -> None:
    """Fold the row; in the memory pane, show the previous page."""
    _open_or_page(screen, -1)


def _open_or_page(screen: MainScreen, by: int) -> None:
    name = screen.focused_pane()
    if name == "memory" and screen.current is not None and screen.current.memory is not None:
        page = screen.current.memory
        options = screen.options
        options.space = page.space
        options.address = max(page.address + by * options.page_rows * 16, page.base)
        screen.quick(lambda s: None)
        return
    key = screen.line_pane(name).key if name != "console" else None
    if isinstance(key, tuple):
        toggle_values(screen, str(key[1]), key[0] == "watch")


@handles("copy")
def copy(screen: MainScreen) -> None:
    """Copy the focused pane's text to the clipboard."""
    name = screen.focused_pane()
    pane = screen.query_one(ConsolePane).answers if name == "console" else screen.line_pane(name)
    screen.app.copy_to_clipboard("\n".join(pane.texts))
    screen.note(f"copied {len(pane.texts)} lines of {pane.title}", "muted")


@handles("clicked", EVENTS)
def clicked(screen: MainScreen, event: messages.RowClicked) -> None:
    """Handle a click: on the gutter it sets a breakpoint, on a lane or warp it moves the focus."""
    key = event.key
    if not isinstance(key, tuple):
        return
    view = screen.current
    if view is None:
        return
    if key[0] == "pc" and event.column <= 1:
        toggle_break(screen, key[1])
    elif key[0] == "warp":
        row = view.snapshot.warp_row(key[1], key[2])
        if row is not None and row.state != "exited":
            lane = event.lane if event.lane is not None else view.lane
            if not row.valid >> lane & 1:
                lane = first_lane(row.active or row.valid)
            focus_on(screen, row, lane)
    elif event.lane is not None and view.focus_row is not None:
        if view.focus_row.valid >> event.lane & 1:
            focus_on(screen, view.focus_row, event.lane)


@handles("opened", EVENTS)
def opened(screen: MainScreen, event: messages.RowOpened) -> None:
    """Handle Enter or a double click on a row: follow what it stands for."""
    key = event.key
    if not isinstance(key, tuple) or screen.current is None:
        return
    kind = key[0]
    follow: dict[str, Callable[[], None]] = {
        "pc": lambda: follow_branch(screen, key[1]),
        "warp": lambda: clicked(screen, messages.RowClicked(event.pane, key, None, 9)),
        "path": lambda: show_offset(screen, key[2]),
        "register": lambda: ask_origin(screen, key),
        "special": lambda: ask_origin(screen, key),
        "predicate": lambda: ask_origin(screen, key),
        "watch": lambda: ask_origin(screen, key),
        "variable": lambda: toggle_variable(screen, key[1]),
        "frame": lambda: select_frame(screen, key[1]),
        "fold": lambda: toggle_values(screen, "zero", False),
        "byte": lambda: ask_origin(screen, key),
        "buffer": lambda: show_memory(screen, "global", key[2]),
        "allocation": lambda: show_memory(screen, "global", key[1]),
        "stop": lambda: show_stop(screen, key[1]),
        "story": lambda: run_story_command(screen, key[1], key[2]),
        "point": lambda: show_point(screen, key[1]),
    }
    if kind in follow:
        follow[kind]()


@handles("name_hovered", EVENTS)
def name_hovered(screen: MainScreen, event: messages.NameHovered) -> None:
    """Handle the mouse moving onto a name in the source."""
    hovered(screen, event.name)
