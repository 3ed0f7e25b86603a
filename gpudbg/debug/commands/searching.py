"""Searching the source: search, forward-search, reverse-search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import Listing
from gpudbg.debug.commands.code import SourceRow, listed_until, source_lines
from gpudbg.debug.commands.table import command
from gpudbg.debug.views import gdb_text
from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import uniform
from gpudbg.expr.types import I32
from gpudbg.patterns import user_pattern

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


def _search(session: DebugSession, argument: str, step: int) -> Listing:
    """The next line, in a direction, that matches.

    Raises:
        CommandError: there is none, or no source, or the pattern is wrong.
    """
    wanted = user_pattern(argument)
    file, first, last = listed_until(session)
    lines = source_lines(session, file)
    if lines is None:
        raise CommandError(
            f"the source file {file} is not here", "`directory DIR` says where to search for it"
        )
    number = last + 1 if step > 0 else min(first, len(lines) + 1) - 1
    while 1 <= number <= len(lines):
        if wanted.search(lines[number - 1]):
            session.list_state = (file, number, number + 1)
            session.variables["$_"] = uniform(number, I32)
            row = SourceRow(file, number, lines[number - 1], False)
            return Listing((row,), SourceRow.gdb_line if gdb_text.wanted(session) else str)
        number += step
    raise CommandError("Expression not found")


@command(
    "search",
    "forward-search",
    "fo",
    usage="search REGEX",
    help="the next source line that matches, after the last one listed",
    group="code",
)
def search(session: DebugSession, argument: str) -> Listing:
    """Search forward."""
    return _search(session, argument, 1)


@command(
    "reverse-search",
    "rev",
    usage="reverse-search REGEX",
    help="the nearest source line that matches, before the last one listed",
    group="code",
)
def reverse_search(session: DebugSession, argument: str) -> Listing:
    """Search backward."""
    return _search(session, argument, -1)
