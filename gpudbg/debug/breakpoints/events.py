"""What scripts hang onto a session: iteration over stops, callbacks, breakpoints for a while.

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
from typing import TYPE_CHECKING, Any, get_args

from gpudbg.debug.part import Part
from gpudbg.debug.stops.stop import Stop, StopKind
from gpudbg.debug.trace.log import TraceLog
from gpudbg.debug.trace.tracer import Tracer
from gpudbg.device.subscription import Subscription
from gpudbg.errors import UsageError
from gpudbg.sm.observer import EVENTS, Hooked, Observer
from gpudbg.validation import function as given_function
from gpudbg.validation import maybe_whole, text

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.table import Breakpoint, BreakpointTable
    from gpudbg.debug.inferior import Launch
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.settings import Settings
    from gpudbg.sm.gpu import Grid

Callback = Callable[["DebugSession", Stop], object]
"""Called when a breakpoint is met; False lets the machine run on, anything else stops."""


EVERY_STOP: list[Callable[[Stop], None]] = []
"""Called at every stop of every session."""


def observer_of(event: str, function: Callable[..., None]) -> Observer:
    """An observer with one hook.

    Raises:
        UsageError: no such event.
    """
    if event not in EVENTS:
        raise UsageError(f"no event {event!r}", "events: " + ", ".join(EVENTS))
    return Hooked({event: function})


class Watching(Part):
    """The part of a `DebugSession` that runs on, iterates and calls back."""

    if TYPE_CHECKING:
        breakpoints: BreakpointTable
        settings: Settings
        grid: Grid
        launch: Launch
        stop: Stop | None

        @property
        def finished(self) -> bool:
            """Of the session."""

        @property
        def faulted(self) -> bool:
            """Of the session."""

        def break_at(self, *args: Any, **kwargs: Any) -> Breakpoint:
            """Of the session."""

        def run_to_stop(self, max_instructions: int | None = None) -> Stop:
            """Of the session."""

    def __init__(self) -> None:
        super().__init__()
        self.callbacks: dict[int, Callback] = {}

    # ---- running -----------------------------------------------------------------------
    def cont(self, max_instructions: int | None = None) -> Stop:
        """Run until a breakpoint, a fault, the end, or `max_instructions`.

        Without a number the setting `max-instructions` counts; 0 there is no limit.  A
        breakpoint whose callback returns False does not end the run.

        Raises:
            UsageError: `max_instructions` is no integer of at least 1.
            CommandError: the kernel has ended already.
        """
        left = maybe_whole(max_instructions, "max_instructions", 1)
        left = left or self.settings.number("max-instructions") or None
        while True:
            before = self.grid.total
            stop = self.run_to_stop(left)
            if not self._passes(stop):
                return stop
            if left is not None:
                left -= self.grid.total - before
                if left <= 0:
                    return stop

    def _passes(self, stop: Stop) -> bool:
        """Whether every breakpoint met has a callback and all of them say False."""
        hit = [self.callbacks.get(number) for number in stop.breakpoints]
        if stop.kind != "breakpoint" or not any(hit):
            return False
        answers = [f(self._whole, stop) if f else None for f in hit]
        return all(answer is False for answer in answers)

    def events(self, *kinds: str, max_instructions: int | None = None) -> Iterator[Stop]:
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
        while not self.finished and not self.faulted:
            stop = self.cont(max_instructions)
            if not kinds or stop.kind in kinds:
                yield stop
            if stop.kind in ("limit", "interrupted"):
                return

    # ---- breakpoints -------------------------------------------------------------------
    def on_hit(self, point: Breakpoint | int, callback: Callback | None) -> None:
        """Call back when a breakpoint is met; None takes the callback away.

        Raises:
            CommandError: no such breakpoint.

        >>> seen = []
        >>> def note(session, stop):
        ...     seen.append(session.warp().lane(stop.lane).R[4])
        ...     return False
        >>> session.on_hit(session.break_at("block_max+0x178"), note)
        >>> session.cont().kind, seen
        ('exited', [257, 921, 1821, 1171, 2787, 3867, 4098, 1442])
        """
        number = point if isinstance(point, int) else point.number
        self.breakpoints.get(number)
        self.callbacks.pop(number, None)
        if callback is not None:
            self.callbacks[number] = given_function(callback, "callback")

    @contextmanager
    def breakpoint(self, location: str | int | None = None, **options: Any) -> Iterator[Breakpoint]:
        """A breakpoint for the length of a `with` block; arguments as `break_at`.

        >>> with session.breakpoint("block_max+0x178"):
        ...     print(session.cont().pc)
        376
        >>> session.cont().kind
        'exited'
        """
        point = self.break_at(location, **options)
        try:
            yield point
        finally:
            if any(row.number == point.number for row in self.breakpoints):
                self.breakpoints.remove(point.number)

    # ---- observers ---------------------------------------------------------------------
    def subscribe(self, observer: Observer) -> Subscription:
        """Attach an observer to the machine's events, until it is cancelled, the `with` block
        ends, or the session does.

        >>> class Stores(gpudbg.Observer):
        ...     count = 0
        ...     def access(self, warp, space, kind, address, lanes, size):
        ...         self.count += kind == "store"
        >>> with session.subscribe(Stores()) as stores:
        ...     session.run().kind
        'exited'
        >>> stores.count
        35
        """
        if not isinstance(observer, Observer):
            raise UsageError(f"an observer is a gpudbg.Observer, not a {type(observer).__name__}")
        return Subscription(self.grid.gpu, observer, self.launch.subscriptions)

    def unsubscribe(self, observer: Observer) -> None:
        """Detach an observer that `subscribe` attached; nothing happens to others."""
        for found in [s for s in self.launch.subscriptions if s.observer is observer]:
            found.cancel()

    def on(self, event: str, function: Callable[..., None]) -> Subscription:
        """Attach a function to one event of `gpudbg.Observer`.

        Raises:
            UsageError: no such event.

        >>> def arrived(warp, arrival, released):
        ...     print(f"warp {warp.slot} comes, {len(released)} go on")
        >>> with session.on("barrier", arrived):
        ...     stop = session.cont(max_instructions=200)
        warp 0 comes, 0 go on
        warp 1 comes, 2 go on
        warp 1 comes, 0 go on
        warp 0 comes, 2 go on
        """
        return self.subscribe(observer_of(event, given_function(function, "function")))

    @contextmanager
    def trace(
        self,
        *events: str,
        at: str | int | None = None,
        block: tuple[int, int, int] | None = None,
    ) -> Iterator[TraceLog]:
        """Write down what happens in a `with` block; the log fills while the machine runs.

        The log is a sequence of `TraceEntry`; `log.arrays()` gives all of it as NumPy arrays.
        A trace of accesses runs in compiled code, as one of barriers, traps, faults, begins and
        ends does; one of instructions runs on the step engine.  Entries are in the order of
        events, with `jobs` too: a run that is observed takes one host thread.

        Args:
            events: "instruction", "access", "barrier", "trap", "fault", "warp_begin",
                "warp_end"; none means instructions.
            at: only there: a location as for `break_at`; a source line means all of it.
            block: only this blockIdx.

        Raises:
            UsageError: no such event.
            CommandError: no such place.

        >>> with session.trace("access", at="first_steps.cu:11", block=(1, 0, 0)) as log:
        ...     stop = session.run()
        >>> [(entry.index, entry.kind, entry.space, entry.lanes[:3]) for entry in log]
        [(0, 'load', 'global', (0, 1, 2)), (1, 'load', 'global', (0, 1, 2))]
        """
        tracer = Tracer(self._whole, events, at, block)
        with self.subscribe(tracer.observer()):
            yield tracer.entries
