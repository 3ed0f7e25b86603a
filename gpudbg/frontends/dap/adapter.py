"""The adapter: one client, one program, and the thread that runs it.

Messages, ends of runs and the end of the input come through one queue, one after the other.  A
run goes on in the engine's thread (`EngineThread`); meanwhile requests that need the machine are
refused, or halt it for a moment, as their rows in the table say.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from gpudbg.dataclass import dataclass
from gpudbg.debug import EngineThread, Outcome, SessionMeter
from gpudbg.debug.focus import WarpIds
from gpudbg.debug.stops import InterruptStop, Stop
from gpudbg.errors import CommandError, GpudbgError, error_for_user
from gpudbg.frontends.dap.handles import Handles
from gpudbg.frontends.dap.points import Points
from gpudbg.frontends.dap.protocol import (
    Body,
    ClientRequest,
    FramingError,
    MessageWriter,
    Unreadable,
    parsed,
    read_messages,
    with_lines,
)
from gpudbg.frontends.dap.registry import LATER, RequestRow
from gpudbg.frontends.dap.telling import stopped_body

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

Work = Callable[[], Any]
NOT_OPEN = "no program is open: `launch` comes first"
RUNNING = "the program runs: pause it first"
PROGRESS_SECONDS = 1.0
"""Of a run, until its progress is reported to the client."""


@dataclass(slots=True)
class EngineRun:
    """Work of the engine's thread.

    Attributes:
        work: what runs; its answer is a `Stop`, or something that `done` takes.
        again: whether it is started again after a halt for a moment.
        reason: DAP's reason where it ends as a step does.
        done: takes the outcome in place of telling a stop.
    """

    work: Work
    again: bool = False
    reason: str = "step"
    done: Callable[[Outcome[Any]], None] | None = None


class Adapter:
    """See the module text.

    Attributes:
        writer: where messages go.
        session: the program's session, or None.
        configuration: of `launch` or `attach`.
        ids: warps as threads.
        handles: frames and variables that the client knows by number.
        points: the client's breakpoints.
        client: what `initialize` said.
        current: the request that is handled.
        exiting: the loop ends after this message.
    """

    def __init__(self, send: Callable[[bytes], None], table: Mapping[str, RequestRow]) -> None:
        """Args: send: takes bytes for the client.  table: what it can ask (`families.load`)."""
        lock = threading.Lock()

        def locked(data: bytes) -> None:
            with lock:
                send(data)

        self.writer = MessageWriter(locked)
        self.events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.session: DebugSession | None = None
        self.configuration: Body = {}
        self.configured = False
        self.begun = False
        self.ids = WarpIds()
        self.handles = Handles()
        self.points = Points(self.opened, self.say)
        self.client: Body = {}
        self.exiting = False
        self.current = ClientRequest(0, "", {})
        self.run: EngineRun | None = None
        self.afterwards: list[Callable[[], None]] = []
        self._table = table
        self._held: list[ClientRequest] = []
        self._engine = EngineThread()
        self._progress: int | None = None
        self._meter: SessionMeter | None = None

    # ---- the loop ------------------------------------------------------------------------
    def serve(self, stream: IO[bytes]) -> None:
        """Answer what comes until the client leaves."""
        threading.Thread(target=self._read, args=(stream,), daemon=True, name="dap").start()
        try:
            while not self.exiting:
                try:
                    self._next()
                except OSError:
                    raise
                except Exception as error:
                    # One event; the next is waited for.
                    self.say(f"{error_for_user(error)}\n", "stderr")
        finally:
            self.shut_down()
            self._answer_the_rest()

    def _answer_the_rest(self) -> None:
        """Messages that came with the last one: who leaves twice is not left waiting."""
        with suppress(queue.Empty):
            while True:
                what, value = self.events.get_nowait()
                if what != "message":
                    continue
                if isinstance(value, ClientRequest) and value.command == "disconnect":
                    self.writer.answer(value, None)
                elif isinstance(value, ClientRequest):
                    self.writer.refuse(value, "the client has disconnected")

    def _read(self, stream: IO[bytes]) -> None:
        try:
            for body in read_messages(stream):
                self.events.put(("message", parsed(body)))
        except FramingError as error:
            self.events.put(("broken", str(error)))
        except (OSError, ValueError):
            pass
        self.events.put(("end", None))

    def _next(self) -> None:
        try:
            what, value = self.events.get(timeout=PROGRESS_SECONDS if self.run else None)
        except queue.Empty:
            self._tell_progress()
            return
        match what:
            case "message":
                self.handle(value)
            case "finished":
                self._finished(*value)
            case "broken":
                self.say(f"gpudbg: {value}; the connection ends\n", "stderr")
            case "end":
                self.exiting = True

    def handle(self, message: ClientRequest | Unreadable) -> None:
        """One message."""
        if isinstance(message, Unreadable):
            if message.command or message.seq:
                self.writer.refuse(message, message.why)
            else:
                self.say(f"gpudbg: {message.why}\n", "stderr")
            return
        row = self._table.get(message.command)
        if row is None:
            self.writer.refuse(message, f"{message.command}: no such request")
            return
        if self.run is not None and row.running == "pause":
            self._held.append(message)
            if self.session is not None:
                self.session.interrupt()
            return
        if self.run is not None and row.running == "refuse":
            self.writer.refuse(message, RUNNING)
            return
        self.current = message
        try:
            arguments = message.arguments
            if self.writer.first_line != 1:
                arguments = with_lines(arguments, 1 - self.writer.first_line)
            body = row.handler(self, arguments)
        except Exception as error:
            self.afterwards.clear()
            why = str(error_for_user(error))
            self.writer.refuse(message, why, message.command in ("launch", "attach"))
        else:
            if body is not LATER:
                self.writer.answer(message, body)
            self._after()

    def _after(self) -> None:
        """What may follow the response only."""
        rest, self.afterwards = self.afterwards, []
        for work in rest:
            work()

    # ---- state ---------------------------------------------------------------------------
    def opened(self) -> DebugSession:
        """The session.

        Raises:
            CommandError: nothing was launched.
        """
        if self.session is None:
            raise CommandError(NOT_OPEN)
        return self.session

    def stopped(self) -> DebugSession:
        """The session of a launch that stands and has not ended; errors as `opened`."""
        session = self.opened()
        if session.focus is None:
            raise CommandError("the program has ended")
        return session

    @contextmanager
    def selecting(
        self, thread: int, level: int = 0, lane: int | None = None
    ) -> Iterator[DebugSession]:
        """A thread, frame and lane for one request; the focus is as before afterwards."""
        session = self.stopped()
        focus, before = session.focus, session.frame_level
        try:
            self.ids.select(session, thread)
            if lane is not None and session.focus is not None:
                session.focus_on(session.focus.sm, session.focus.warp, lane)
            session.frame_level = level
            yield session
        finally:
            session.focus, session.frame_level = focus, before

    def say(self, text: str, category: str = "console") -> None:
        """Text for the client's console; from any thread."""
        self.writer.event("output", {"category": category, "output": text})

    def changed(self, *areas: str) -> None:
        """Tell that what the client has seen of some areas is old."""
        if self.client.get("supportsInvalidatedEvent"):
            self.writer.event("invalidated", {"areas": list(areas)})

    def memory_changed(self, reference: str, count: int) -> None:
        """Tell that bytes were written, to clients that show memory."""
        if self.client.get("supportsMemoryEvent") and count > 0:
            body = {"memoryReference": reference, "offset": 0, "count": count}
            self.writer.event("memory", body)

    # ---- running -------------------------------------------------------------------------
    def start(self, run: EngineRun) -> None:
        """Let the engine's thread work once the response is out.

        Raises:
            CommandError: no program.
        """
        session = self.opened()
        session.forget_interrupt()
        self.run = run
        self.afterwards.append(self._launch_run)

    def _launch_run(self) -> None:
        run, session = self.run, self.session
        assert run is not None
        assert session is not None
        self._meter = SessionMeter(session)

        def finished(outcome: Outcome[Any]) -> None:
            self.events.put(("finished", (run, outcome)))

        self._engine.start(session, run.work, finished)

    def _finished(self, run: EngineRun, outcome: Outcome[Any]) -> None:
        """The engine's thread is done."""
        if run is not self.run:
            return
        self.run = None
        self._end_progress()
        held, self._held = self._held, []
        halted = bool(held) and isinstance(outcome.answer, InterruptStop)
        if run.done is not None:
            run.done(outcome)
        for message in held:
            self.handle(message)
        if self.session is None or self.run is not None or self.exiting:
            return
        if halted and run.again:
            self.start(run)
            self._after()
        elif run.done is None:
            self.tell_stop(outcome.answer, run.reason, outcome.error)

    def tell_stop(self, stop: Stop | None, reason: str, error: BaseException | None = None) -> None:
        """Where the program stands now."""
        session = self.opened()
        if error is not None:
            self.say(f"{error_for_user(error)}\n", "stderr")
        self.handles.forget()
        self.tell_breakpoints()
        stop = stop if isinstance(stop, Stop) else session.stop
        new, gone = self.ids.sync(session)
        for number in gone:
            self.writer.event("thread", {"reason": "exited", "threadId": number})
        for number in new:
            self.writer.event("thread", {"reason": "started", "threadId": number})
        if session.finished and not session.faulted and not self.configuration.get("stopAtExit"):
            self.end(stop.message if stop is not None else "")
            return
        thread = self.ids.focused(session) or 1
        self.writer.event("stopped", stopped_body(thread, self.points, stop, reason))

    def tell_breakpoints(self) -> None:
        """Tell what became of breakpoints: console lines change them, some end with a frame."""
        for change in self.points.changes():
            self.writer.event("breakpoint", change)

    def end(self, words: str = "", code: int = 0) -> None:
        """The program is over."""
        if words:
            self.say(f"{words}\n")
        self.begun = False
        self.writer.event("exited", {"exitCode": code})
        self.writer.event("terminated")

    def pause(self) -> None:
        """Stop what runs; nothing when nothing does."""
        if self.run is not None and self.session is not None:
            self.session.interrupt()

    def halt(self) -> None:
        """Stop what runs and wait for it; no event is sent."""
        run = self.run
        if run is None or self.session is None:
            return
        self.session.interrupt()
        kept: list[tuple[str, Any]] = []
        while True:
            event = self.events.get()
            if event[0] == "finished" and event[1][0] is run:
                break
            kept.append(event)
        for event in kept:
            self.events.put(event)
        self.run = None
        self._end_progress()

    def shut_down(self) -> None:
        """Leave nothing running."""
        self.halt()
        self._engine.join(5.0)
        if self.session is not None:
            with suppress(GpudbgError):
                self.session.close()
            self.session = None

    # ---- progress ------------------------------------------------------------------------
    def _tell_progress(self) -> None:
        """A run lasts: say how far it is, to clients that show it."""
        if not self.client.get("supportsProgressReporting") or self._meter is None:
            return
        now = self._meter.now()
        percent = min(100 * now.done // now.ctas, 100) if now.ctas else 0
        body = {"message": now.line(), "percentage": percent}
        if self._progress is None:
            self._progress = self.current.seq
            start = {"title": "The kernel runs", "cancellable": True, **body}
            self.writer.event("progressStart", {"progressId": str(self._progress), **start})
        else:
            self.writer.event("progressUpdate", {"progressId": str(self._progress), **body})

    def _end_progress(self) -> None:
        if self._progress is not None:
            self.writer.event("progressEnd", {"progressId": str(self._progress)})
            self._progress = None
