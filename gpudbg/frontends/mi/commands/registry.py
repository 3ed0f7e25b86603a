"""The table of MI commands.

A handler takes a `MiCall` and returns the fields of `^done`, or an `Answer` of another kind.
`running` says what happens while the program runs: "ok" (it answers), "pause" (the program is
halted for a moment and goes on), "refuse" (gdb's error that the thread is running).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.frontends.mi.bridge import Bridge
    from gpudbg.frontends.mi.ui import Ui

WhileRunning = Literal["ok", "pause", "refuse"]


@dataclass(slots=True)
class MiCall:
    """One MI command line.

    Attributes:
        bridge: the session and its clients.
        ui: who asked.
        words: arguments behind --thread, --frame and --all.
        thread, frame: as asked for, or None.
        text: all of the arguments, as typed.
    """

    bridge: Bridge
    ui: Ui
    name: str
    words: list[str]
    thread: int | None
    frame: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A result other than plain `^done`: its class and fields."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)


Handler = Callable[[MiCall], "dict[str, Any] | Answer | None"]


@dataclass(frozen=True, slots=True)
class MiCommand:
    """One row.

    Attributes:
        selects: --thread and --frame hold for this command only; else the handler uses them.
    """

    name: str
    handler: Handler
    running: WhileRunning
    selects: bool


TABLE: dict[str, MiCommand] = {}
"""Rows are there once their family was imported; see `families.load`."""


def mi(
    *names: str, running: WhileRunning = "refuse", selects: bool = True
) -> Callable[[Handler], Handler]:
    """Decorator: enter a handler under these names (without the dash)."""

    def enter(handler: Handler) -> Handler:
        for name in names:
            TABLE[name] = MiCommand(name, handler, running, selects)
        return handler

    return enter
