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
from dataclasses import field, replace
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.attached import Attached
from gpudbg.debug.breakpoints.setting import BreakpointHits, Breakpoints
from gpudbg.debug.breakpoints.watchpoints import Watchpoints

if TYPE_CHECKING:
    from gpudbg.debug.focus.focus import Focus
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.stops.records import Trigger
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.state import WarpState

SLICE = 256
"""Instructions that one warp executes before the next has its turn."""


@dataclass(frozen=True, slots=True)
class WarpArrival:
    """A warp that has reached the breakpoint, and the breakpoints it meets there."""

    warp: WarpState
    met: BreakpointHits


@dataclass(slots=True)
class Backlog:
    """Results of a gathering that later stops are to report.

    Attributes:
        waiting: warps that came to other breakpoints, the first one first.
        events: what else ended a gathering, with what watchpoints saw.
    """

    waiting: list[WarpState] = field(default_factory=list)
    events: list[tuple[StopEvent, tuple[Trigger, ...]]] = field(default_factory=list)


class Gathering(Attached["Inferior"]):
    """The gathering of an inferior's warps at breakpoints.

    Attributes:
        backlog: what the last one left.
        arrived: how many warps and threads the stop to come is about; 0 where nothing gathered.
    """

    def __init__(
        self, inferior: Inferior, breakpoints: Breakpoints, watchpoints: Watchpoints
    ) -> None:
        super().__init__(inferior)
        self._breakpoints, self._watchpoints = breakpoints, watchpoints
        self.backlog = Backlog()
        self.arrived = (0, 0)

    def forget(self) -> None:
        """Drop all results: a new launch begins."""
        self.backlog = Backlog()
        self.arrived = (0, 0)

    def take_arrived(self) -> tuple[int, int]:
        """Warps and threads that the coming stop is about; cleared by the call, so that one stop
        reports it.
        """
        arrived, self.arrived = self.arrived, (0, 0)
        return arrived

    def next_event(self) -> StopEvent | None:
        """An event that a gathering found and no stop has reported; None: the machine may run."""
        backlog, grid = self.backlog, self._inferior.grid
        if backlog.events:
            event, seen = backlog.events.pop(0)
            self._watchpoints.restore(seen)
            return event
        resident = list(grid.warps())
        while backlog.waiting:
            warp = backlog.waiting.pop(0)
            if warp in resident and self._breakpoints.stops_now(warp):
                return grid.event("breakpoint", warp, grid.total)
        return None

    def untold(self) -> StopEvent | None:
        """The event that ended a gathering, if it is unreported: the next stop is for it."""
        return self.next_event() if self.backlog.events else None

    def gather(self, event: StopEvent) -> StopEvent:
        """Let the other warps come to the breakpoint that `event` is about.

        The focus is where it was before the run: it stays on its warp and lane where these
        arrived.

        Args:
            event: a stop at a breakpoint, that of the warp accepted last.

        Returns:
            The event of the warp whose view the stop takes.
        """
        inferior = self._inferior
        grid = inferior.grid
        assert event.sm is not None
        assert event.warp is not None
        first = grid.warp(event.sm, event.warp)
        numbers = set(self._breakpoints.met.hits)
        arrivals = [self._arrival(first)]
        limit = inferior.settings.number("gather-limit")
        begun = {w: w.executed for w in grid.warps() if w is not first}
        moving = [w for w in begun if w.status in ("ready", "barrier")]
        points = self._breakpoints.addresses()
        while any(w.status == "ready" for w in moving):
            for warp in list(moving):
                if warp.status == "exited" or warp.executed - begun[warp] >= limit:
                    moving.remove(warp)
                elif warp.status == "ready":
                    left = limit - (warp.executed - begun[warp])
                    outcome = self._advance(warp, points, numbers, min(SLICE, left))
                    if isinstance(outcome, WarpArrival):
                        arrivals.append(outcome)
                    if outcome is not None:
                        moving.remove(warp)
                    if outcome == "ended":
                        moving.clear()
                        break
        chosen = _chosen(arrivals, inferior.focus)
        self._breakpoints.met = chosen.met
        self.arrived = (len(arrivals), sum(a.met.lanes.bit_count() for a in arrivals))
        began = event.total - event.executed
        found = grid.event("breakpoint", chosen.warp, began, self._left_words())
        return replace(found, detail=(*event.detail, *found.detail))

    def _advance(
        self, warp: WarpState, points: Collection[int], numbers: Collection[int], count: int
    ) -> WarpArrival | str | None:
        """Run one warp for up to `count` instructions.

        Returns:
            The warp's arrival at the breakpoint; "waits" at another breakpoint that stops it;
            "ended" where something else ended the whole gathering; else None.
        """
        at = self._condition_met(warp, points, numbers)
        if at is not None:
            return at
        watching = self._watchpoints
        until = watching.met if watching.watched else None
        event = self._inferior.grid.run_warp(warp, count, points, until)
        seen = watching.take()
        if event.kind == "interrupted":
            return "ended"
        if event.kind != "step" or seen:
            self.backlog.events.append((event, seen))
            return "ended"
        if warp.status == "exited":
            return None
        return self._condition_met(warp, points, numbers)

    def _condition_met(
        self, warp: WarpState, points: Collection[int], numbers: Collection[int]
    ) -> WarpArrival | str | None:
        """Its arrival, where a warp stands at the breakpoint; "waits" at another one; else None."""
        if warp.pc not in points or warp.shown == warp.executed:
            return None
        here = {b.number for b in self._breakpoints.at(warp.pc)}
        if not here & set(numbers) and self._breakpoints.would_stop(warp):
            self.backlog.waiting.append(warp)
            return "waits"
        return self._arrival(warp) if self._breakpoints.stops_now(warp) else None

    def _arrival(self, warp: WarpState) -> WarpArrival:
        return WarpArrival(warp, self._breakpoints.met)

    def _left_words(self) -> tuple[str, ...]:
        """Lines that announce what the next `continue` will report."""
        out = []
        for event, seen in self.backlog.events:
            what = "a watchpoint was met" if seen else event.kind.replace("_", " ")
            fault = event.faults[0].name if event.faults else what
            out.append(f"meanwhile, sm {event.sm} warp {event.warp}: {fault}; `continue` tells it")
        if self.backlog.waiting:
            count = len(self.backlog.waiting)
            word = "warp has" if count == 1 else "warps have"
            out.append(f"{count} other {word} come to another breakpoint; `continue` tells it")
        return tuple(out)


def _chosen(arrivals: list[WarpArrival], previous: Focus | None) -> WarpArrival:
    """The arrival whose view the stop takes: the focused warp's, else the first."""
    for arrival in arrivals:
        warp = arrival.warp
        if previous is None or (warp.sm, warp.slot) != (previous.sm, previous.warp):
            continue
        if arrival.met.lanes >> previous.lane & 1:
            return WarpArrival(warp, replace(arrival.met, lane=previous.lane))
    return arrivals[0]
