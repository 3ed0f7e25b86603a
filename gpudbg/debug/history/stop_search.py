"""Which breakpoints and watchpoints were met up to a position, without counting hits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.history.replay import Position, Replay, SearchInterruptedError
from gpudbg.debug.stops.records import Trigger
from gpudbg.sm.events import StopEvent

if TYPE_CHECKING:
    from gpudbg.debug.running import Runner
    from gpudbg.sm.state import WarpState


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a backward move ends.

    Attributes:
        at: the state.
        warp: CTA number and index of the warp that it is about, or None.
        breakpoint: that warp meets a breakpoint there.
        seen: what watchpoints saw one instruction later.
    """

    at: Position
    warp: tuple[int, int] | None = None
    breakpoint: bool = False
    seen: tuple[Trigger, ...] = ()


class StopSearch:
    """Finds stops while a launch is replayed."""

    def __init__(self, runner: Runner, replay: Replay) -> None:
        self._runner, self._replay = runner, replay
        self._points, self._watch = runner.breakpoints, runner.watchpoints

    def last(self, high: Position) -> Destination | None:
        """Go on to a position; the last stop before it.

        Raises:
            SearchInterruptedError: it was interrupted.
        """
        kept = [(point, point.hits, point.ignore) for point in self._points]
        addresses, watching = self._points.addresses(), self._watch.arm()
        found: Destination | None = None
        try:
            with self._replay.quiet(self._watch if watching else None):
                while self._replay.at < high:
                    met = self._next(high, addresses, watching)
                    if met is not None and met.at < high:
                        found = met
        finally:
            self._watch.take()
            for point, hits, ignore in kept:
                point.hits, point.ignore = hits, ignore
        return found

    def _next(
        self, high: Position, addresses: frozenset[int], watching: bool
    ) -> Destination | None:
        """Replay to the next stop, or to the end of a move. Returns the stop, or None."""
        replay = self._replay
        asked: dict[str, object] = {}
        if addresses:
            asked |= {"breakpoints": addresses, "accept": self._points.would_stop}
        if watching:
            asked |= {"until": self._watch.met, "selected": True}
        last = high.tick if high.moves == replay.at.moves else None
        event = replay.onward(last, asked)
        if event is not None and event.kind == "interrupted":
            raise SearchInterruptedError(event)
        return None if event is None else self._target(event)

    def _target(self, event: StopEvent) -> Destination | None:
        replay = self._replay
        who = self._who(event)
        if event.kind == "breakpoint":
            return Destination(replay.at, who, breakpoint=True)
        # A trigger for a left frame is none here: going backwards, the frame is entered.
        if event.kind == "step" and (seen := tuple(t for t in self._watch.take() if not t.over)):
            # Stand before the instruction: the old value is still there.
            before = replay.before(replay.at) or replay.at
            trigger = seen[0]
            warp = replay.grid.sms[trigger.sm].warps[trigger.warp]
            return Destination(before, None if warp is None else _key(warp), seen=seen)
        if event.kind in ("warp_error", "trap"):
            return Destination(replay.at, who)
        return None

    def _who(self, event: StopEvent) -> tuple[int, int] | None:
        if event.sm is None or event.warp is None:
            return None
        warp = self._replay.grid.sms[event.sm].warps[event.warp]
        return None if warp is None else _key(warp)


def _key(warp: WarpState) -> tuple[int, int]:
    return warp.cta.number, warp.index
