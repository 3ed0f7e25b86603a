"""The debugger's commands: gdb's names and abbreviations first, cuda-gdb's GPU commands beside
them.

The TUI console, `session.execute()`, `-x` files and MI's `-interpreter-exec console` all use this
table; `families.load` fills it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from gpudbg.debug.commands.absent import ABSENT
from gpudbg.debug.registry import Command, CommandTable, Needs

if TYPE_CHECKING:
    from gpudbg.answers import Answer
    from gpudbg.debug.session import DebugSession

Handler = Callable[["DebugSession", str], "Answer"]
Entered = TypeVar("Entered", bound=Handler)
Completer = Callable[["DebugSession", str], list[str]]

TABLE: CommandTable[DebugSession] = CommandTable(ABSENT)
"""The command table; filled as families of commands are imported."""


def command(
    *names: str,
    usage: str = "",
    help: str,  # noqa: A002 - reads as the word it is at every use
    group: str,
    needs: Needs = "launch",
    details: str = "",
    repeats: bool = False,
    completer: Completer | None = None,
) -> Callable[[Entered], Entered]:
    """Decorator: enter a handler in the table under these names (the first is the full one)."""

    def enter(handler: Entered) -> Entered:
        row = Command(
            names, usage or names[0], help, group, needs, handler, details, repeats, completer
        )
        TABLE.add(row)
        return handler

    return enter
