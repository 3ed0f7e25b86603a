"""Calls inlined at a pc: which there are, and which of them a stop has not entered yet."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.debug.symbols import Inlined, Line, Symbols

Chain = tuple["Inlined", ...]
"""Inlined calls, outermost first."""


def chain_of(symbols: Symbols, pc: int) -> Chain:
    """Calls inlined at a pc, outermost first."""
    return tuple(reversed(symbols.calls(pc)))


def deeper(symbols: Symbols, pc: int, chain: Chain) -> int:
    """How many inlined calls a pc lies deeper than the chain; 0 when it lies elsewhere."""
    here = chain_of(symbols, pc)
    return len(here) - len(chain) if here[: len(chain)] == chain else 0


def beside(symbols: Symbols, pc: int, chain: Chain) -> int:
    """How many inlined calls a pc lies deeper than the caller from which it left the chain, into
    other copies; 0 when it is in the chain, or in that caller."""
    here = chain_of(symbols, pc)
    common = sum(1 for _ in takewhile(bool, map(eq, here, chain)))
    return len(here) - common if common < len(chain) else 0


def line_in(symbols: Symbols, pc: int, chain: Chain) -> Line | None:
    """The line of a pc as the frame with these inlined calls sees it: of the call, when deeper."""
    if deeper(symbols, pc, chain):
        return chain_of(symbols, pc)[len(chain)].line
    return symbols.line(pc)


def skipped_at_breakpoint(symbols: Symbols, points: Iterable[Breakpoint], pc: int) -> int:
    """Inlined calls not entered yet at a breakpoint on the line that calls them.

    Args:
        points: the breakpoints at the pc.
    """
    wanted = {b.line for b in points if b.line is not None}
    for count, call in enumerate(symbols.calls(pc), 1):
        if call.line in wanted and symbols.line(pc) not in wanted:
            return count
    return 0
