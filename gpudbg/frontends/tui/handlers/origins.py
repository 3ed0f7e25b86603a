"""Handle Enter on a value: show which instruction wrote it, and go there on request."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from gpudbg.errors import GpudbgError
from gpudbg.frontends.tui.handlers import handles
from gpudbg.frontends.tui.handlers.memory import follow_pointer
from gpudbg.frontends.tui.handlers.watches import toggle_values
from gpudbg.frontends.tui.screens.origin import (
    QUICK,
    OriginScreen,
    WrittenValue,
    place_writer,
    register_writer,
)
from gpudbg.frontends.tui.screens.why import WhyScreen
from gpudbg.frontends.tui.widgets.console import ConsolePane
from gpudbg.frontends.tui.widgets.memory import MemoryPane

if TYPE_CHECKING:
    from gpudbg.frontends.tui.screens.main import MainScreen

WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}
"""C type of a memory-pane word, by its size in bytes."""
DEEP = 3
"""Depth to which the tree of a value's sources is opened at first."""
VALUES = ("register", "predicate", "special", "watch", "byte")
"""Kinds of rows that show a value."""


def origin_of(screen: MainScreen, key: Any) -> WrittenValue | None:
    """Describe the value a row shows; None where the row shows none."""
    view = screen.current
    if view is None or view.focus_row is None:
        return None
    if key[0] == "byte":
        return _word(screen, key)
    kind, name = key
    rows = view.watches if kind == "watch" else (*view.registers, *view.specials)
    found = next((r for r in rows if (r.section, r.name) == (kind, name)), None)
    if found is None:
        return None
    place = {"special": "", "watch": name}.get(kind, f"${name}")
    who = f"{name} of lane {view.lane} of warp {view.focus_row.slot}"
    there = (*(("place",) if place else ()), *(("values",) if found.cells else ()))
    register = name.lstrip("$").upper()
    return WrittenValue(
        who, found.focus_text, place,
        register_writer(screen.session, view, register)
        or place_writer(screen.session, view, place),
        there,
    )  # fmt: skip


def _word(screen: MainScreen, key: Any) -> WrittenValue | None:
    pane = screen.query_one(MemoryPane)
    word = pane.word_at(key[2])
    if word is None:
        return None
    address, text = word
    place = f"*(@{key[1]} {WORDS[pane.word_bytes]}*)0x{address:x}"
    writer = "" if screen.current is None else place_writer(screen.session, screen.current, place)
    return WrittenValue(f"{key[1]} 0x{address:x}", text, place, writer, ("place", "pointer"))


def ask_origin(screen: MainScreen, key: Any) -> None:
    """Open the origin card of a row's value and carry out the chosen answer."""
    origin = origin_of(screen, key)
    if origin is None:
        return

    def answered(word: str | None) -> None:
        if word == "go":
            _go(screen, origin.place)
        elif word == "why":
            ask_why(screen, origin.place)
        elif word == "values":
            toggle_values(screen, str(key[1]), key[0] == "watch")
        elif word == "pointer":
            follow_pointer(screen, key[1], key[2])

    screen.app.push_screen(OriginScreen(screen.appearance, origin), answered)


def ask_why(screen: MainScreen, place: str) -> None:
    """Show the tree of values that a value was computed from; for a long launch print it in the
    console.
    """
    if screen.current is None or screen.current.tick > QUICK:
        screen.run_command(f"why {place}")
        return
    try:
        top = screen.session.why(place, DEEP)
    except GpudbgError as error:
        screen.note(str(error))
        return

    def answered(tick: int | None) -> None:
        if tick is not None:
            screen.run_command(f"goto {tick}")

    screen.app.push_screen(WhyScreen(screen.session, top), answered)


def _go(screen: MainScreen, place: str) -> None:
    line = f"who-wrote {place}"
    screen.query_one(ConsolePane).log_command(line)
    screen.run_job("Looking for who wrote it", lambda session: session.command(line))


@handles("writer")
def writer(screen: MainScreen) -> None:
    """Go to the instruction that wrote the value under the cursor, without a card."""
    name = screen.focused_pane()
    key: Hashable = screen.line_pane(name).key if name != "console" else None
    if not isinstance(key, tuple) or key[0] not in VALUES:
        screen.note("W goes to who wrote a value: choose a register, a word of memory or a watch")
        return
    origin = origin_of(screen, key)
    if origin is None or not origin.place:
        screen.note(f"{key[1]} is computed: no instruction writes it", "muted")
    else:
        _go(screen, origin.place)
