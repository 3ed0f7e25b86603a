"""The script interface to stops: iteration over them, callbacks, breakpoints for a `with` block.

for stop in session.events("breakpoint"):          # every hit, to the end of the launch
    print(stop.thread, session.evaluate("$R4").values[stop.lane])

session.break_at("saxpy+0x48", callback=lambda session, stop: stop.lane == 5)   # False: run on

with session.trace("access", at="saxpy.cu:7") as log:       # plain data: who, where, which lanes
    session.run()

with session.on("access", lambda warp, space, kind, address, lanes, size: ...):
    session.run()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, get_args

from gpudbg.debug import observing
from gpudbg.debug.attached import Owner
from gpudbg.debug.stops.stop import CUT_SHORT, BreakpointStop, Stop, StopKind
from gpudbg.debug.trace.log import TraceLog
from gpudbg.debug.trace.tracer import Tracer
from gpudbg.errors import UsageError
from gpudbg.sm.observer import EVENTS, Hooked, Observer
from gpudbg.validation import function as given_function
from gpudbg.validation import maybe_whole, text

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.table import Breakpoint, BreakpointTable
    from gpudbg.device.subscription import Subscription


def observer_of(event: str, function: Callable[..., None]) -> Observer:
    """An observer with one hook.

    Raises:
        UsageError: no such event.
    """
    if event not in EVENTS:
        raise UsageError(f"no event {event!r}", "events: " + ", ".join(EVENTS))
    return Hooked({event: function})


class Events(Generic[Owner]):
    """A session's events for scripts: iteration over stops, breakpoint callbacks, observers."""

    def __init__(
        self,
        owner: Owner,
        breakpoints: BreakpointTable,
        callbacks: dict[int, Callable[[Owner, Stop], object]],
        run_to_stop: Callable[[Owner, int | None], Stop],
    ) -> None:
        """Events of the session `owner`.

        Args:
            callbacks: by breakpoint, filled by `on_hit`.
            run_to_stop: runs an owner once, for so many instructions at most.
        """
        self._owner, self._breakpoints = owner, breakpoints
        self._callbacks, self._run_to_stop = callbacks, run_to_stop

    # ---- stops -------------------------------------------------------------------------
    def cont(self, max_instructions: int | None = None) -> Stop:
        """Run to a stop that no callback passes by; see `DebugSession.cont`."""
        owner = self._owner
        left = maybe_whole(max_instructions, "max_instructions", 1)
        left = left or owner.settings.number("max-instructions") or None
        while True:
            before = owner.grid.total
            stop = self._run_to_stop(owner, left)
            if not self._passes(owner, stop):
                return stop
            if left is not None:
                left -= owner.grid.total - before
                if left <= 0:
                    return stop

    def _passes(self, owner: Owner, stop: Stop) -> bool:
        """Whether the stop is to be passed: every breakpoint met has a callback, and each returned
        False.
        """
        hit = [self._callbacks.get(number) for number in stop.breakpoints]
        if not isinstance(stop, BreakpointStop) or not any(hit):
            return False
        answers = [f(owner, stop) if f else None for f in hit]
        return all(answer is False for answer in answers)

    def __call__(self, *kinds: str, max_instructions: int | None = None) -> Iterator[Stop]:
        """Run from stop to stop until nothing is left to run.

        Args:
            kinds: kinds of stop to yield ("breakpoint", "exited", …); none means all.
            max_instructions: as for `cont`, for each part of the run.

        Raises:
            UsageError: a kind that does not exist.

        >>> session.break_at("first_steps.cu:19", condition="threadIdx.x == 0").number
        1
        >>> [stop.block for stop in session.events("breakpoint")]
        [(0, 0, 0), (2, 0, 0), (1, 0, 0), (3, 0, 0)]
        """
        maybe_whole(max_instructions, "max_instructions", 1)
        unknown = {text(kind, "kind", "breakpoint") for kind in kinds} - set(get_args(StopKind))
        if unknown:
            known = ", ".join(get_args(StopKind))
            raise UsageError(f"no kind of stop is called {min(unknown)!r}", f"kinds: {known}")
        return self._stops(kinds, max_instructions)

    def _stops(self, kinds: tuple[str, ...], max_instructions: int | None) -> Iterator[Stop]:
        owner = self._owner
        while not owner.finished and not owner.faulted:
            stop = self.cont(max_instructions)
            if not kinds or stop.kind in kinds:
                yield stop
            if isinstance(stop, CUT_SHORT):
                return

    def on_hit(
        self, point: Breakpoint | int, callback: Callable[[Owner, Stop], object] | None
    ) -> None:
        """Call back when a breakpoint is met; see `DebugSession.on_hit`."""
        number = point if isinstance(point, int) else point.number
        self._breakpoints.get(number)
        self._callbacks.pop(number, None)
        if callback is not None:
            self._callbacks[number] = given_function(callback, "callback")

    # ---- observers ---------------------------------------------------------------------
    def subscribe(self, observer: Observer) -> Subscription:
        """Attach an observer to the machine's events; see `DebugSession.subscribe`."""
        return observing.subscribe(self._owner, observer)

    def unsubscribe(self, observer: Observer) -> None:
        """Detach an observer that `subscribe` attached; nothing happens to others."""
        observing.unsubscribe(self._owner, observer)

    def on(self, event: str, function: Callable[..., None]) -> Subscription:
        """Attach a function to one event; see `DebugSession.on`."""
        return self.subscribe(observer_of(event, given_function(function, "function")))

    @contextmanager
    def trace(
        self,
        *events: str,
        at: str | int | None = None,
        block: tuple[int, int, int] | None = None,
    ) -> Iterator[TraceLog]:
        """Record events for the length of a `with` block; see `DebugSession.trace`."""
        tracer = Tracer(self._owner, events, at, block)
        with self.subscribe(tracer.observer()):
            yield tracer.entries
