"""The console commands that sessions of the Python API get."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudbg.debug.registry import CommandTable
    from gpudbg.debug.session import DebugSession


def commands() -> CommandTable[DebugSession]:
    """The debugger's table; it is imported when a session asks for its first command."""
    from gpudbg.debug.commands.families import load

    return load()
