"""Breakpoints: set, change, enable and delete them at the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.frontends.tui.handlers import handles
from gpudbg.frontends.tui.handlers.watches import drop_watch
from gpudbg.frontends.tui.widgets.code import CodePane
from gpudbg.frontends.tui.widgets.console import ConsolePane
from gpudbg.frontends.tui.widgets.source import SourcePane

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.tui.screens.main import MainScreen


def cursor_pc(screen: MainScreen) -> int | None:
    view = screen.current
    if view is None:
        return None
    source = screen.query_one(SourcePane)
    if source.has_focus:
        return source.key[1] if isinstance(source.key, tuple) else None
    pane = screen.query_one(CodePane)
    if pane.cursor is not None and 0 <= pane.cursor < len(view.code.entries):
        return view.code.entries[pane.cursor].pc
    return view.pc


def place_of(screen: MainScreen, pc: int) -> str:
    """A pc as a location text that every command accepts."""
    symbols = screen.session.symbols
    if not symbols.in_kernel(pc):
        return f"*0x{pc:x}"
    return f"{symbols.kernel_name}+0x{symbols.offset(pc):x}"


def toggle_break(screen: MainScreen, pc: int) -> None:
    """Set or delete a breakpoint at a pc."""
    view = screen.current
    assert view is not None
    there = [p for p in view.points if pc in p.addresses]

    def change(session: DebugSession) -> None:
        if there:
            for p in there:
                session.breakpoints.remove(p.number)
            screen.note(f"deleted {', '.join(f'breakpoint {p.number}' for p in there)}", "muted")
        else:
            point = session.break_at(place_of(screen, pc))
            screen.note(point.announce(), "text")

    screen.quick(change)


@handles("break")
def break_here(screen: MainScreen) -> None:
    """Toggle at the cursor's row of Code."""
    pc = cursor_pc(screen)
    if pc is not None:
        toggle_break(screen, pc)


@handles("condition")
def condition(screen: MainScreen) -> None:
    """Ask for a condition and set it: on the row's breakpoint, or on a new one at the cursor."""
    view = screen.current
    pc = cursor_pc(screen)
    if view is None or pc is None:
        return
    found = next((p for p in view.points if pc in p.addresses), None)
    if found is not None:
        screen.query_one(ConsolePane).enter(f"condition {found.number} {found.condition}")
    else:
        screen.query_one(ConsolePane).enter(f"break {place_of(screen, pc)} if ")


def _selected(screen: MainScreen, pane: str, kind: str) -> Any:
    key = screen.line_pane(pane).key
    return key[1] if isinstance(key, tuple) and key[0] == kind else None


@handles("enable")
def enable(screen: MainScreen) -> None:
    """Enable or disable the row's breakpoint."""
    number = _selected(screen, "marks", "point")
    if number is None or screen.current is None:
        return
    point = next(p for p in screen.current.points if p.number == number)
    screen.quick(lambda s: s.breakpoints.enable(number, not point.enabled))


@handles("delete")
def delete(screen: MainScreen) -> None:
    """Delete the row's breakpoint or watch."""
    if screen.focused_pane() == "watch":
        drop_watch(screen, _selected(screen, "watch", "watch"))
        return
    number = _selected(screen, "marks", "point")
    if number is not None:
        screen.quick(lambda s: s.breakpoints.remove(number))
