"""The families of commands, and the table with all of them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gpudbg.debug.commands.table import TABLE

if TYPE_CHECKING:
    from gpudbg.debug.registry import CommandTable
    from gpudbg.debug.session import DebugSession

FAMILIES = (
    "run",
    "launch",
    "break_",
    "info",
    "data",
    "expressions",
    "focus",
    "code",
    "frames",
    "cuda",
    "settings",
    "scripts",
    "memory",
    "several",
    "prefixes",
    "searching",
    "screen",
    "checks",
    "special",
    "images",
    "engine",
    "plugins",
    "trap",
    "fragments",
    "timeline",
    "history",
    "provenance",
    "symbols",
    "uniform",
)
"""Modules of this package that enter commands."""


@cache
def load() -> CommandTable[DebugSession]:
    """The table with every family entered."""
    for family in FAMILIES:
        import_module(f"gpudbg.debug.commands.{family}")
    return TABLE
