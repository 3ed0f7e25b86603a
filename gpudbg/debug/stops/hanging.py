"""Hang proofs: shows, in the middle of a run, that no warp can change anything any more.

A run is over for good when every warp that can run comes to repeat itself (`spinning`): none of
them stores anything new, so memory stays as it is, so all of them do the same for ever.  Warps at a
barrier wait for these, and blocks that have not begun wait for their places.  It is not said where
something else could change memory or warps: an observer that does not promise otherwise
(`Observer.looks_only`), a trap handler, single steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from gpudbg.answers.words import dim, lane_list
from gpudbg.debug.stops.spinning import TRIED, Spin, group_lines, spin_of
from gpudbg.debug.stops.standing import standing_pc

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.sm.state import WarpState

FIRST_TRIED: Final = 64
"""Instructions of a warp that the first trial runs ahead; each further trial runs twice as many."""
MOST_LINES: Final = 8
"""Barriers, and warps with parked lanes, that a report lists."""


def hang_of(inferior: Inferior, times: int) -> tuple[WarpState, tuple[str, ...]] | None:
    """A warp that repeats itself for ever and what is to be said, where all that can run do.

    Args:
        times: how often it was asked before, from 1.
    """
    if others_act(inferior):
        return None
    tried = min(TRIED, FIRST_TRIED << min(times - 1, 8))
    found: list[tuple[WarpState, Spin]] = []
    for warp in inferior.grid.warps():
        if warp.in_trap or warp.status == "trap":
            return None
        if warp.status != "ready":
            continue
        spin = spin_of(inferior, warp, tried)
        if spin is None or not spin.repeats:
            return None
        found.append((warp, spin))
    if not found:
        return None
    inside = next((warp for warp, spin in found if spin.inside), found[0][0])
    return inside, tuple(_lines(inferior, found))


def others_act(inferior: Inferior) -> bool:
    """Whether anything other than the warps could change memory."""
    grid = inferior.grid
    if grid.traps.handler is not None or any(sm.trap.stepping for sm in grid.sms):
        return True
    return not grid.watched_only


def _lines(inferior: Inferior, found: list[tuple[WarpState, Spin]]) -> Iterator[str]:
    yield "  hang    every warp that can run repeats a loop, and none stores what could end it"
    yield from group_lines(spin for _, spin in found)
    yield from _limited(_parked(inferior, [warp for warp, _ in found]), "warps with waiting lanes")
    yield from _limited(_barriers(inferior), "barriers")
    waiting = inferior.grid.ctas_waiting
    if waiting:
        many = "1 block has" if waiting == 1 else f"{waiting:,} blocks have"
        yield f"  waits   {many} not begun: every place is taken by blocks that do not end"


def _limited(lines: Iterator[str], what: str) -> Iterator[str]:
    """The first `MOST_LINES` lines, then a count of the rest."""
    every = list(lines)
    yield from every[:MOST_LINES]
    if len(every) > MOST_LINES:
        yield f"  waits   … {len(every) - MOST_LINES} more {what}"


def _parked(inferior: Inferior, warps: list[WarpState]) -> Iterator[str]:
    """Lines for warps that repeat themselves: the parked lanes that wait for their running ones."""
    for warp in warps:
        seen = warp.active | warp.exited
        for entry in reversed(warp.stack):
            lanes = entry.mask & ~seen
            seen |= lanes
            if lanes:
                place = inferior.symbols.describe_line(entry.target)
                yield (
                    f"  holds   warp {warp.slot} of block {dim(warp.cta.block)}: lanes "
                    f"{lane_list(lanes)} wait at {place} for the lanes that repeat, and keep "
                    "whatever lock they hold"
                )


def _barriers(inferior: Inferior) -> Iterator[str]:
    """Lines for barriers whose waiting warps depend on warps that repeat themselves."""
    for cta in inferior.grid.ctas():
        for warp in cta.live:
            words = inferior.grid.barrier_words(warp)
            if words:
                place = inferior.symbols.describe_line(standing_pc(inferior, warp))
                yield f"  waits   warp {warp.slot} of block {dim(cta.block)} {words}, {place}"
