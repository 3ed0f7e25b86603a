"""Calls inlined at a pc: which there are, and which of them a stop has not entered yet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.debug.symbols import Line, Symbols


def chain_of(symbols: Symbols, pc: int) -> tuple[tuple[str, Line], ...]:
    """Calls inlined at a pc, outermost first."""
    return tuple(reversed(symbols.calls(pc)))


def deeper(symbols: Symbols, pc: int, chain: tuple[tuple[str, Line], ...]) -> int:
    """How many inlined calls a pc lies deeper than the chain; 0 when it lies elsewhere."""
    here = chain_of(symbols, pc)
    return len(here) - len(chain) if here[: len(chain)] == chain else 0


def line_in(symbols: Symbols, pc: int, chain: tuple[tuple[str, Line], ...]) -> Line | None:
    """The line of a pc as the frame with these inlined calls sees it: of the call, when deeper."""
    if deeper(symbols, pc, chain):
        return chain_of(symbols, pc)[len(chain)][1]
    return symbols.line(pc)


def skipped_at_breakpoint(symbols: Symbols, points: Iterable[Breakpoint], pc: int) -> int:
    """Inlined calls not entered yet at a breakpoint on the line that calls them.

    Args:
        points: the breakpoints at the pc.
    """
    wanted = {b.line for b in points if b.line is not None}
    for count, (_, line) in enumerate(symbols.calls(pc), 1):
        if line in wanted and symbols.line(pc) not in wanted:
            return count
    return 0
