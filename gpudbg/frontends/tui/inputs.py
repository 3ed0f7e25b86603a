"""Inputs: one queue of keys, pasted text, mouse events and command lines, in the order they came.

Textual puts a key into the queue of the widget that has the focus when the key arrives, and looks
up its binding only after it has bubbled through the queues of all ancestors.  Keys that arrive
together are thus spread over queues before the first has moved the focus, opened a prompt or
closed one.  Here each input is carried out to its end before the next one is delivered: all
messages it caused are handled, a screen it opened is mounted and focused, and the job it gave the
engine is done.

A run that lasts is shown in the stop line; inputs that come after that are delivered at once,
unless earlier ones still wait, so that help, panes and the prompt work during a long run.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from textual.events import Callback, InputEvent, Key, MouseMove, Paste

from gpudbg.dataclass import dataclass
from gpudbg.frontends.tui.keys import INTERRUPT

if TYPE_CHECKING:
    from textual.app import App
    from textual.message_pump import MessagePump
    from textual.screen import Screen

    from gpudbg.frontends.tui.engine import Engine

PATIENCE_S = 2.0
"""Seconds a widget may take to answer: one removed meanwhile never does, and must not block later
inputs.
"""
QUIET_TRIPS = 2


@dataclass(frozen=True, slots=True)
class InputLine:
    """A console line of the command line or of a sourced file."""

    text: str


Item = InputEvent | Paste | InputLine


@dataclass(frozen=True, slots=True)
class Delivery:
    """The callbacks by which the queue delivers inputs.

    Attributes:
        deliver: carry out one whose turn it is.
        delivered: everything that it caused is done.
        failed: end with the error that it raised.
        engine: what runs the machine now.
        lasting: whether a run lasts, as the stop line tells.
        say_waiting: tell how many wait.
    """

    deliver: Callable[[Item], Awaitable[None]]
    delivered: Callable[[Item], None]
    failed: Callable[[Exception], None]
    engine: Callable[[], Engine]
    lasting: Callable[[], bool]
    say_waiting: Callable[[int], None]


@dataclass(slots=True)
class _Entry:
    item: Item
    now: bool = False
    """Whether it is delivered even while the machine runs."""


class Inputs:
    """The queue and the task that empties it; see the module text."""

    def __init__(self, app: App[int], delivery: Delivery) -> None:
        self._app = app
        self._do = delivery
        self._waiting: deque[_Entry] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._delivering = False
        self._interrupt: Key | None = None
        self._closed = False

    # ---- in ------------------------------------------------------------------------------
    def put(self, event: InputEvent | Paste) -> None:
        """An input from the terminal."""
        if self._closed:
            return
        engine = self._do.engine()
        if (
            isinstance(event, Key)
            and event.key == INTERRUPT
            and not (self.idle and not engine.busy)
        ):
            # An interrupt concerns the running job, whatever screen is open and whatever waits: it
            # comes first.
            self._waiting.clear()
            self._interrupt = event if self._delivering and not engine.busy else None
            engine.interrupt()
            return
        if isinstance(event, MouseMove) and self._waiting:
            if isinstance(self._waiting[-1].item, MouseMove):
                self._waiting.pop()
        lasting = self._do.lasting()
        held = bool(self._waiting) and not self._waiting[-1].now
        if lasting and held:
            self._do.say_waiting(len(self._waiting) + 1)
        self._waiting.append(_Entry(event, now=lasting and not held))
        self._wake.set()

    def put_lines(self, lines: Iterable[str]) -> None:
        """Queue console lines ahead of everything that waits."""
        self._waiting.extendleft(_Entry(InputLine(text)) for text in [*lines][::-1])
        self._wake.set()

    def take_repeats(self, event: Key) -> list[Key]:
        """Take the presses of the same key that follow at the head of the queue."""
        found: list[Key] = []
        while self._waiting:
            item = self._waiting[0].item
            if not isinstance(item, Key) or item.key != event.key:
                break
            found.append(item)
            self._waiting.popleft()
        return found

    def drop_repeats(self, keys: Iterable[str]) -> None:
        """Forget presses of these keys at the head of the queue."""
        chosen = set(keys)
        while self._waiting:
            item = self._waiting[0].item
            if not isinstance(item, Key) or item.key not in chosen:
                break
            self._waiting.popleft()

    def wake(self) -> None:
        """The engine has finished a job."""
        self._wake.set()

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is being delivered."""
        return not self._waiting and not self._delivering

    # ---- life ----------------------------------------------------------------------------
    def start(self) -> None:
        """Begin to deliver: called when the main screen is mounted."""
        self._task = asyncio.create_task(self._run(), name="inputs")

    def close(self) -> None:
        """Deliver nothing any more: the application ends."""
        self._closed = True
        self._waiting.clear()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    async def _run(self) -> None:
        while not self._closed:
            entry = self._next()
            if entry is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            self._delivering = True
            try:
                await self._do.deliver(entry.item)
                await self._settle()
                self._late_interrupt()
                self._do.delivered(entry.item)
            except Exception as error:
                # Like Textual's own queues: end the application and show the error.
                self._do.failed(error)
                return
            finally:
                self._delivering = False

    def _late_interrupt(self) -> None:
        """Deliver an interrupt that overtook the input ahead of it, which has since started a run,
        or none.
        """
        key, self._interrupt = self._interrupt, None
        if key is not None and self._do.engine().busy:
            self._do.engine().interrupt()
        elif key is not None:
            self._waiting.appendleft(_Entry(key))

    def _next(self) -> _Entry | None:
        """The input to deliver now; None: there is none, or it waits for the engine."""
        if not self._waiting or (self._do.engine().busy and not self._waiting[0].now):
            return None
        return self._waiting.popleft()

    # ---- to the end ----------------------------------------------------------------------
    async def _settle(self) -> None:
        """Wait until everything between the focused widget and the application is handled.

        One quiet trip is not enough: a widget still busy when the trip began may have posted a
        message to a queue that the trip had already passed.
        """
        quiet = 0
        while quiet < QUIET_TRIPS and not self._closed:
            app = self._app
            screen = app.screen
            start = app.focused or screen
            trip = _Trip([*start.ancestors_with_self])
            await trip.made()
            same = app.screen is screen and (app.focused or screen) is start
            quiet = quiet + 1 if same and trip.quiet else 0
            if quiet == QUIET_TRIPS and await _laid_out(app.screen):
                quiet = 0


async def _laid_out(screen: Screen[object]) -> bool:
    """Wait for the layout that an input asked for; whether it asked for one.

    A pane that was brought up has no size before that, thus no rows for the next key.
    """
    if not screen._layout_required:
        return False
    done = asyncio.Event()
    screen.call_after_refresh(done.set)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await done.wait()
    except TimeoutError:
        return False
    return True


def _empty(pump: MessagePump) -> bool:
    """Whether nothing waits in a pump's queue; its loop looks one message ahead."""
    return not pump.message_queue_size and getattr(pump, "_pending_message", None) is None


class _Stage:
    """The callback that a trip queues at one message pump."""

    _param_count = 0
    """Number of parameters, read by Textual instead of inspecting the signature."""

    def __init__(self, trip: _Trip, at: int) -> None:
        self._trip = trip
        self._at = at

    def __call__(self) -> None:
        self._trip.arrived(self._at)


class _Trip:
    """A callback that goes through the queues of a widget and its ancestors, as a key does.

    Attributes:
        quiet: no queue held anything behind the callback, nor holds anything at its end.
    """

    def __init__(self, pumps: list[MessagePump]) -> None:
        self._pumps = pumps
        self._end = asyncio.Event()
        self.quiet = True
        self._go(0)

    async def made(self) -> None:
        """Wait until the callback has passed the last queue."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._end.wait()
        except TimeoutError:
            self.quiet = True

    def _go(self, at: int) -> None:
        while at < len(self._pumps):
            # A closed pump accepts no message; its queued ones went with it.
            if self._pumps[at].post_message(Callback(_Stage(self, at))):
                return
            at += 1
        self.quiet &= all(_empty(p) or not p.is_running for p in self._pumps)
        self._end.set()

    def arrived(self, at: int) -> None:
        """Record that the callback was handled at a pump."""
        behind = not _empty(self._pumps[at])
        self.quiet &= not behind
        self._go(at if behind else at + 1)
