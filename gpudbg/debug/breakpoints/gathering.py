"""A stop at a breakpoint gathers the warps that reach it, so that one `continue` passes them all.

Under `set gather on` (the default of the terminal UI and of MI), once a warp has met a breakpoint
the other resident warps run on, in rounds of `SLICE` instructions by (SM, slot), each until it

* reaches the same breakpoint, where its condition and ignore count decide as for the first one;
* reaches another breakpoint that stops it: it waits there, uncounted, for the next `continue`;
* waits at a barrier, ends, or has spent `gather-limit` instructions.

Blocks that begin meanwhile stand still.  What goes wrong on the way (an error, a trap, a
watchpoint) ends the gathering and is the next stop: the breakpoint came first.  The order depends
on the machine's state alone, and both engines leave it to the same code.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gpudbg.debug.focus.focus import Focus

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop, Trigger
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.state import WarpState

SLICE = 256
"""Instructions a warp has before the next one's turn."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A warp at the breakpoint: the numbers it met, the lanes they stop, the lane to look at."""

    warp: WarpState
    hits: tuple[int, ...]
    notes: tuple[str, ...]
    lanes: int
    lane: int


@dataclass(slots=True)
class Backlog:
    """What a gathering left for the stops to come.

    Attributes:
        waiting: warps that came to other breakpoints, the first one first.
        events: what else ended a gathering, with what watchpoints saw.
    """

    waiting: list[WarpState] = field(default_factory=list)
    events: list[tuple[StopEvent, tuple[Trigger, ...]]] = field(default_factory=list)


def next_event(session: DebugSession) -> StopEvent | None:
    """What a gathering met before and no stop has told, if anything; else the machine may run."""
    backlog = session.backlog
    if backlog.events:
        event, seen = backlog.events.pop(0)
        session.watchpoints.restore(seen)
        return event
    resident = list(session.grid.warps())
    while backlog.waiting:
        warp = backlog.waiting.pop(0)
        if warp in resident and session.breakpoint_at(warp):
            return session.grid.event("breakpoint", warp, session.grid.total)
    return None


def gather(session: DebugSession, event: StopEvent, previous: Focus | None) -> StopEvent:
    """Let the other warps come to the breakpoint that `event` is about.

    Args:
        session: its last `accepts` was for the warp of the event.
        event: a stop at a breakpoint.
        previous: the focus before the run: it stays on its warp and lane where these arrived.

    Returns:
        The event of the warp that the stop is told from.
    """
    assert event.sm is not None
    assert event.warp is not None
    first = session.grid.warp(event.sm, event.warp)
    numbers = set(session.hits)
    arrivals = [_arrival(session, first)]
    limit = session.settings.number("gather-limit")
    begun = {w: w.executed for w in session.grid.warps() if w is not first}
    moving = [w for w in begun if w.status in ("ready", "barrier")]
    points = session.breakpoints.addresses()
    while any(w.status == "ready" for w in moving):
        for warp in list(moving):
            if warp.status == "exited" or warp.executed - begun[warp] >= limit:
                moving.remove(warp)
            elif warp.status == "ready":
                left = limit - (warp.executed - begun[warp])
                outcome = _advance(session, warp, points, numbers, min(SLICE, left))
                if isinstance(outcome, Arrival):
                    arrivals.append(outcome)
                if outcome is not None:
                    moving.remove(warp)
                if outcome == "ended":
                    moving.clear()
                    break
    chosen = _chosen(arrivals, previous)
    session.tell_arrivals(arrivals, chosen)
    began = event.total - event.executed
    found = session.grid.event("breakpoint", chosen.warp, began, backlog_words(session))
    return replace(found, detail=(*event.detail, *found.detail))


def _advance(
    session: DebugSession,
    warp: WarpState,
    points: Collection[int],
    numbers: Collection[int],
    count: int,
) -> Arrival | str | None:
    """Some instructions of one warp; its arrival, "waits" elsewhere, or that all has "ended"."""
    at = _look(session, warp, points, numbers)
    if at is not None:
        return at
    watching = session.watchpoints
    event = session.grid.run_warp(warp, count, points, watching.met if watching.watched else None)
    seen = watching.take()
    if event.kind == "interrupted":
        return "ended"
    if event.kind != "step" or seen:
        session.backlog.events.append((event, seen))
        return "ended"
    if warp.status == "exited":
        return None
    return _look(session, warp, points, numbers)


def _look(
    session: DebugSession, warp: WarpState, points: Collection[int], numbers: Collection[int]
) -> Arrival | str | None:
    """What it means that a warp stands where it does."""
    if warp.pc not in points or warp.shown == warp.executed:
        return None
    here = {b.number for b in session.breakpoints.at(warp.pc)}
    if not here & set(numbers) and session.would_stop(warp):
        session.backlog.waiting.append(warp)
        return "waits"
    if session.breakpoint_at(warp):
        return _arrival(session, warp)
    return None


def _arrival(session: DebugSession, warp: WarpState) -> Arrival:
    hits, notes, lanes, lane = session.accepted
    return Arrival(warp, tuple(hits), tuple(notes), lanes, lane)


def _chosen(arrivals: list[Arrival], previous: Focus | None) -> Arrival:
    """The arrival that the stop is told from: where the user was looking, else the first."""
    for arrival in arrivals:
        warp = arrival.warp
        if previous is None or (warp.sm, warp.slot) != (previous.sm, previous.warp):
            continue
        if arrival.lanes >> previous.lane & 1:
            lane = previous.lane
            return Arrival(warp, arrival.hits, arrival.notes, arrival.lanes, lane)
    return arrivals[0]


def arrival_words(stop: Stop) -> str:
    """`128 warps, 4,096 threads are there`; nothing of a stop that gathered no others."""
    if stop.arrived_warps < 2:
        return ""
    return f"{stop.arrived_warps:,} warps, {stop.arrived_threads:,} threads are there"


def backlog_words(session: DebugSession) -> tuple[str, ...]:
    """What waits to be told by the next `continue`."""
    out = []
    for event, seen in session.backlog.events:
        what = "a watchpoint was met" if seen else event.kind.replace("_", " ")
        fault = event.faults[0].name if event.faults else what
        out.append(f"meanwhile, sm {event.sm} warp {event.warp}: {fault}; `continue` tells it")
    if session.backlog.waiting:
        count = len(session.backlog.waiting)
        word = "warp has" if count == 1 else "warps have"
        out.append(f"{count} other {word} come to another breakpoint; `continue` tells it")
    return tuple(out)
