"""Navigation in code: go to a place, search, follow branches, show earlier stops, filter warps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui.handlers import both_directions, handles
from gpudbg.frontends.tui.handlers.memory import search_memory
from gpudbg.frontends.tui.widgets.code import CodePane

if TYPE_CHECKING:
    from gpudbg.debug.pictures import CodeIndex
    from gpudbg.frontends.tui.screens.main import MainScreen


@handles("goto")
def goto(screen: MainScreen) -> None:
    """Ask for a place in the code."""
    screen.gpudbg.ask(
        "Go to", "kernel+0x48, file.cu:12, 12, *0x48", lambda text: goto_place(screen, text)
    )


def goto_place(screen: MainScreen, text: str) -> None:
    """Show a place."""
    try:
        found = screen.session.symbols.resolve(text, screen.session.origin())
    except GpudbgError as e:
        screen.note(str(e))
        return
    if screen.current is not None:
        screen.focus_pane("code")
        screen.query_one(CodePane).go_to(screen.current.code.row(found.addresses[0]))


@handles("search")
def search(screen: MainScreen) -> None:
    """Ask for text in the code, a value in memory, or a condition on warps.

    An empty answer finds the next one; all warps.
    """
    if screen.focused_pane() == "warps":
        screen.gpudbg.ask(
            "Warps with a lane where", "$R4 > 3, blockIdx.x == 2, $P0; empty: all warps",
            lambda text: choose_warps(screen, text), empty=True, value=screen.options.where,
        )  # fmt: skip
        return
    if screen.focused_pane() == "memory":
        screen.gpudbg.ask(
            "Search this memory", screen.last_value or "0x1f, -3, 1.5, text",
            lambda text: search_memory(screen, text), empty=True,
        )  # fmt: skip
        return
    screen.gpudbg.ask(
        "Search the code",
        screen.last_search or "mnemonic, register, source text",
        lambda text: search_code(screen, text),
        empty=True,
    )


def choose_warps(screen: MainScreen, text: str) -> None:
    """Show the warps that meet a condition; all where it is empty."""
    if screen.engine.busy:
        screen.refuse()
        return
    try:
        list(screen.session.warps_where(text))
    except GpudbgError as e:
        screen.note(str(e))
        return
    screen.options.where = text
    screen.quick(lambda s: None)
    screen.line_pane("warps").action_move(-1_000_000)


SEARCHED_ROWS = 2000
"""Rows of the listing searched per piece of work: each may have to be decoded."""


def search_code(screen: MainScreen, text: str) -> None:
    """The next row that holds the text."""
    view, pane = screen.current, screen.query_one(CodePane)
    text = text or screen.last_search
    if view is None or not text:
        return
    screen.last_search = text
    _search_rows(screen, view.code, text, pane.cursor or 0, 1)


def _search_rows(screen: MainScreen, code: CodeIndex, text: str, start: int, first: int) -> None:
    """Search `SEARCHED_ROWS` rows from the `first` after `start` on, then queue the rest behind
    pending draws.

    It continues in the screen's own queue, so that later inputs wait for its end.
    """
    end = min(first + SEARCHED_ROWS, len(code.entries) + 1)
    found = code.find(text, start, rows=range(first, end))
    if found is None and end <= len(code.entries):
        screen.call_later(_search_rows, screen, code, text, start, end)
        return
    if found is None:
        screen.note(f"{text!r} is not in the code", "muted")
        return
    screen.focus_pane("code")
    screen.query_one(CodePane).go_to(found)


def follow_branch(screen: MainScreen, pc: int) -> None:
    """Show the target of the branch at a pc."""
    view = screen.current
    assert view is not None
    if screen.focused_pane() == "source":
        show_pc(screen, pc)
        return
    target = view.code.target(pc)
    if target is not None:
        screen.query_one(CodePane).go_to(view.code.row(target))


def show_pc(screen: MainScreen, pc: int) -> None:
    """Show a code address in the code pane, and put the pane's focus there."""
    if screen.current is not None:
        screen.focus_pane("code")
        screen.query_one(CodePane).go_to(screen.current.code.row(pc))


def show_offset(screen: MainScreen, offset: int) -> None:
    """Show an offset of the kernel in the code pane."""
    assert screen.current is not None
    pc = screen.session.symbols.pc(offset)
    screen.query_one(CodePane).go_to(screen.current.code.row(pc))


def show_stop(screen: MainScreen, number: int) -> None:
    """Show an earlier stop in every pane; one whose picture is not kept shows its place in the
    code.
    """
    if screen.current is None:
        return
    stop = screen.session.stops[number]
    if screen.past.show(number, screen.current):
        screen.note(stop.message, "text")
        screen.draw()
        return
    if stop.pc is not None:
        show_offset(screen, stop.pc)
    screen.note(stop.message, "text")


@both_directions("stop")
def move_stop(screen: MainScreen, by: int) -> None:
    """Show the kept stop after or before the shown one."""
    found = screen.past.beside(by)
    if found is None:
        screen.note("no later stop" if by > 0 else "no earlier stop is kept", "muted")
    else:
        show_stop(screen, found)


def show_point(screen: MainScreen, number: int) -> None:
    """Show where a breakpoint is."""
    assert screen.current is not None
    point = next((p for p in screen.current.points if p.number == number), None)
    if point is not None and point.addresses:
        screen.query_one(CodePane).go_to(screen.current.code.row(point.addresses[0]))
