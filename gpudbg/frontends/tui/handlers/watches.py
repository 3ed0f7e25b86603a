"""Watch expressions (add, delete), the number format of registers, the tracked register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug.commands import known_lanes
from gpudbg.debug.pictures import REGISTER_FORMATS
from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui.handlers import handles
from gpudbg.frontends.tui.widgets.lists import WatchPane
from gpudbg.frontends.tui.widgets.memory import MemoryPane
from gpudbg.frontends.tui.widgets.registers import RegistersPane

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.frontends.tui.screens.main import MainScreen


@handles("add_watch")
def add_watch(screen: MainScreen) -> None:
    """Ask for an expression and add it to the watch pane."""
    screen.gpudbg.ask(
        "Watch an expression in 32 lanes",
        "R4, threadIdx.x*4, shared[3]",
        lambda text: watch_expression(screen, text),
    )


def watch_expression(screen: MainScreen, text: str) -> None:
    """Add an expression to the watch pane."""
    try:
        if screen.session.focus is not None and not screen.engine.busy:
            screen.session.evaluate(text)
    except GpudbgError as e:
        screen.note(str(e))
        return
    if text not in screen.options.watches:
        screen.options.watches.append(text)
    screen.quick(lambda s: None)
    if screen.app.screen is screen:
        screen.focus_pane("watch")


def drop_watch(screen: MainScreen, name: str | None) -> None:
    """Delete a watch expression."""
    shown = screen.session.displays.rows.values()
    numbers = [row.number for row in shown if row.expression == name]
    if name in screen.options.watches:
        screen.options.watches.remove(name)

    def forget(session: DebugSession) -> None:
        for number in numbers:
            session.displays.remove(number)

    screen.quick(forget)


@handles("format")
def next_format(screen: MainScreen) -> None:
    """Switch between hex, decimal and float: in the memory pane while it has the focus, else for
    registers.
    """
    if screen.focused_pane() == "memory":
        screen.query_one(MemoryPane).next_form()
        return
    options = screen.options
    at = REGISTER_FORMATS.index(options.register_format)
    options.register_format = REGISTER_FORMATS[(at + 1) % len(REGISTER_FORMATS)]
    screen.quick(lambda s: None)


@handles("track")
def track(screen: MainScreen) -> None:
    """Mark in the code where a register lives: the row's, or the one that is asked for."""
    key = screen.line_pane(screen.focused_pane()).key if screen.focused_pane() != "console" else ""
    if isinstance(key, tuple) and key[0] == "register":
        track_register(screen, key[1])
    else:
        screen.gpudbg.ask(
            "Mark where a register lives", "R4; empty: what is written next",
            lambda text: track_register(screen, text), empty=True,
        )  # fmt: skip


def track_register(screen: MainScreen, text: str) -> None:
    """Mark a register by name; an empty name goes back to what the next instruction writes."""
    name = text.strip().lstrip("$").upper()
    if name and not (name[0] == "R" and name[1:].isdecimal() and int(name[1:]) < 255):
        screen.note(f"{text} is no register; R0 to R254 are")
        return
    screen.options.tracked = int(name[1:]) if name else None
    screen.quick(lambda s: None)


@handles("lane_claims")
def lane_claims(screen: MainScreen) -> None:
    """Show or hide in the code pane what the lanes of each result have in common, and where they
    may part.
    """
    options = screen.options
    options.lanes = not options.lanes
    if not screen.quick(known_lanes if options.lanes else lambda s: None):
        options.lanes = False


@handles("single")
def single(screen: MainScreen) -> None:
    """Switch the registers pane between one lane in every format and all lanes."""
    pane = screen.query_one(RegistersPane)
    pane.single = not pane.single
    pane.redraw()


def toggle_values(screen: MainScreen, name: str, watched: bool) -> None:
    """Open or close a row's 32 values."""
    if watched:
        screen.query_one(WatchPane).toggle(name)
    else:
        screen.query_one(RegistersPane).toggle(name)
