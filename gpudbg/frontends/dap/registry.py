"""The table of requests.

A handler takes the adapter and the request's arguments and returns the response's body, or
`LATER` where it answers by itself.  `running` says what happens while the program runs: "ok" (it
answers), "pause" (the program is halted for a moment and goes on), "refuse".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError
from gpudbg.frontends.dap.protocol import Body

WhileRunning = Literal["ok", "pause", "refuse"]
Handler = Callable[[Any, Body], "Body | None"]
"""Takes the adapter, which knows the table and so is not named here, and the arguments."""
LATER: Body = {"later": True}
"""A handler's answer comes by `Adapter.writer` when its work is done."""


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One row."""

    name: str
    handler: Handler
    running: WhileRunning


TABLE: dict[str, RequestRow] = {}
"""Rows are there once their family was imported; see `families.load`."""


def request(*names: str, running: WhileRunning = "refuse") -> Callable[[Handler], Handler]:
    """Decorator: enter a handler under these names."""

    def enter(handler: Handler) -> Handler:
        for name in names:
            TABLE[name] = RequestRow(name, handler, running)
        return handler

    return enter


def text_of(arguments: Body, name: str, default: str | None = None) -> str:
    """An argument that is a text.

    Raises:
        CommandError: it is missing, or of another type.
    """
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise CommandError(f"{name}: a text is wanted, not {value!r}")
    return value


def whole_of(arguments: Body, name: str, default: int | None = None) -> int:
    """An argument that is an integer; errors as `text_of`."""
    value: Any = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise CommandError(f"{name}: a number is wanted, not {value!r}")
    return value


def rows_of(arguments: Body, name: str) -> list[Body]:
    """An argument that is a list of objects; errors as `text_of`."""
    value: Any = arguments.get(name) or []
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise CommandError(f"{name}: a list of objects is wanted")
    return value
