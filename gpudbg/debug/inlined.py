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
    """How many inlined calls deeper than `chain` a pc lies; 0 where it is not inside the chain."""
    here = chain_of(symbols, pc)
    return len(here) - len(chain) if here[: len(chain)] == chain else 0


def beside(symbols: Symbols, pc: int, chain: Chain) -> int:
    """Depth of a pc in inlined copies beside `chain`, counted from the caller at which it left the
    chain; 0 inside the chain or in that caller.
    """
    here = chain_of(symbols, pc)
    common = sum(1 for _ in takewhile(bool, map(eq, here, chain)))
    return len(here) - common if common < len(chain) else 0


def line_in(symbols: Symbols, pc: int, chain: Chain) -> Line | None:
    """The source line of a pc as seen by the frame with these inlined calls; where the pc lies
    deeper, the line of the call.
    """
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
