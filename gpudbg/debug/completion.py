"""Completion of a console line from the command table, for every frontend that has a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.errors import GpudbgError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

LOCATIONS = ("break", "tbreak", "until", "disassemble", "list", "info line")
EXPRESSIONS = ("print", "x", "display", "set var", "condition")


def complete(session: DebugSession, text: str) -> list[str]:
    """Whole lines that go on from what was typed; empty when nothing fits."""
    table = session.command_table()
    line = text.lstrip()
    if not line:
        return []
    names = table.words(line)
    if names and not line.endswith(" "):
        return names
    try:
        found, argument = table.resolve(line)
    except GpudbgError:
        return names
    if argument:
        argument += text[len(text.rstrip()) :]
    head = text[: len(text) - len(argument)] if argument else text
    if not argument and not text.endswith(" "):
        return []
    try:
        if found.completer is not None:
            options = found.completer(session, argument)
        elif found.name in LOCATIONS:
            options = session.symbols.complete_location(argument)
        elif found.name in EXPRESSIONS and session.focus is not None:
            options = session.complete_expression(argument)
        else:
            options = []
    except GpudbgError:
        return []
    children = [n for n in table.words(found.name + " ") if n.startswith(line)]
    return [head + o for o in options] + children
