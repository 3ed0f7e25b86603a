"""The bridge: one `DebugSession` for the clients of one debugger process.

It keeps what MI's view of a program adds to a session: whether the client has started it, which
warps have which thread number, which breakpoint records clients have seen.  A run goes on in a
thread of its own; everything else happens in the thread that calls `Bridge`.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudbg.dataclass import dataclass
from gpudbg.debug import EngineThread, Outcome
from gpudbg.debug.breakpoints import located_row
from gpudbg.debug.focus import WarpIds
from gpudbg.debug.stops import BreakpointStop, InterruptStop, Stop, signal_of
from gpudbg.errors import UsageError, error_for_user
from gpudbg.frontends.mi import records, shown, stops
from gpudbg.frontends.mi.opened import NO_PROGRAM, NOT_STARTED, Opened
from gpudbg.frontends.mi.parser import MiError
from gpudbg.frontends.mi.program import open_target, read_target
from gpudbg.frontends.mi.scripting import BridgeHost
from gpudbg.frontends.mi.ui import Event, Kind, Ui, open_terminal
from gpudbg.frontends.mi.varobj import VarObjects

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession, FinishedValue
    from gpudbg.debug.script import Player

Fields = dict[str, Any]
Place = tuple[str, int]
INFERIOR = f"Inferior 1 (process {os.getpid()})"
NO_REGISTERS = "No registers."
RUNNING = "Selected thread is running."
BUSY = "Cannot execute this command while the selected thread is running."


@dataclass(slots=True)
class Run:
    """Work of the engine's thread.

    Attributes:
        work: what runs; returns the stop.
        finished: MI's reason when it comes to its end.
        again: what goes on after a pause.
        typed: a console line asked for it, so that its end is printed on the console too.
        stop, error: how it ended.
    """

    work: Callable[[], Stop]
    finished: str
    again: Callable[[], Stop]
    typed: bool = False
    stop: Stop | None = None
    error: BaseException | None = None


def interpreter_kind(name: str) -> tuple[Kind, int]:
    """Kind and MI version of an interpreter's name.

    Raises:
        MiError: no such interpreter.
    """
    if name == "console":
        return "console", 0
    if name not in ("mi", "mi1", "mi2", "mi3", "mi4"):
        raise MiError(f"Interpreter `{name}' unrecognized")
    return "mi", int(name[2:] or 4)


class Bridge(Opened):
    """See the module text.

    Attributes:
        uis: where records go.
        started: the client has run the program and it has not ended.
        target: a target was selected or the program was started.
        run: what the engine's thread does, or None.
        waiting: the script that goes on when the program stops.
        opener: makes the session of a path and its arguments.
    """

    def __init__(self, events: queue.SimpleQueue[Event], is_command: Callable[[str], bool]) -> None:
        """A bridge without a program.

        Args:
            events: what the engine's thread and clients tell.
            is_command: whether a console line names a command.
        """
        super().__init__()
        self.events = events
        self.uis: list[Ui] = []
        self.settings.set("addresses", "code")
        self.settings.set("gather", "on")
        self.path: str | None = None
        self.arguments: list[str] = []
        self.opened_with: list[str] = []
        self.started = False
        self.target = False
        self.run: Run | None = None
        self.finished_value: FinishedValue | None = None
        self.ids = WarpIds()
        self.variables = VarObjects()
        self.registers_seen: dict[int, dict[int, str]] = {}
        self.host = BridgeHost(self, is_command)
        self.waiting: Player | None = None
        self.opener: Callable[[str, list[str]], DebugSession] = open_target
        self.terminal: int | None = None
        self.cwd = os.getcwd()
        self._rows: dict[int, tuple[Any, ...]] = {}
        self._focus: tuple[int | None, int] = (None, 0)
        self._before: tuple[int | None, Place] = (None, ("", 0))
        self.names: list[str] = []
        self._engine = EngineThread()

    # ---- state -------------------------------------------------------------------------
    def loaded(self) -> DebugSession:
        """The session.

        Raises:
            MiError: no program is loaded.
        """
        if self.session is None:
            raise MiError(NO_PROGRAM)
        return self.session

    def process(self, missing: str = NO_REGISTERS) -> DebugSession:
        """The session of a started program that is stopped.

        Raises:
            MiError: in gdb's words, that clients look for.
        """
        if self.session is None or not self.started:
            raise MiError(missing)
        if self.run is not None:
            raise MiError(RUNNING)
        return self.session

    @contextmanager
    def selecting(self, thread: int | None, frame: int | None) -> Iterator[None]:
        """Another thread or frame for one command (`--thread T --frame F`)."""
        session = self.session
        if session is None or (thread is None and frame is None):
            yield
            return
        if self.run is not None:
            raise MiError(RUNNING)
        if not self.started:
            raise MiError(f"Invalid thread id: {thread}" if thread else NO_REGISTERS)
        focus, level = session.focus, session.frame_level
        try:
            if thread is not None:
                self.ids.select(session, thread)
            if frame is not None:
                from gpudbg.debug.values import frames

                if not 0 <= frame < len(frames(session)):
                    raise MiError("Invalid frame number.")
                session.frame_level = frame
            yield
        finally:
            session.focus, session.frame_level = focus, level

    def selected(self) -> int | None:
        """The thread that was selected when clients were last notified."""
        return self._focus[0]

    # ---- program -----------------------------------------------------------------------
    def open(self, path: str) -> None:
        """Load a program; breakpoints, settings and source path stay.

        Raises:
            GpudbgError: unreadable, or its launch does not fit.
        """
        self.end_process()
        self.session = None
        self.path = None
        full = str(Path(self.cwd) / path)
        try:
            session = self.opener(full, self.arguments)
        except UsageError as e:
            if self.opener is not open_target:
                raise
            # The file is good and its launch is not: `run` says it again.
            read_target(full, self.arguments)
            self.path = full
            self.say(f"{e}\n")
            return
        session.use_settings(self.settings)
        session.scripting.scope = self.host.scope
        session.value_history = self.values
        sources = session.sources
        sources.adopt(self.sources)
        self.sources = sources
        for row in self.breakpoints:
            row.addresses, row.places = (), ()
            row.location = row.written
        session.breakpoints.adopt(self.breakpoints)
        self.breakpoints = session.breakpoints
        self.session, self.path, self.opened_with = session, full, list(self.arguments)
        session.output.listeners.append(self._printed)
        session.breakpoints.print_listeners.append(self._logged)
        session.breakpoints.resolve_pending()
        if not session.launched and session.stop is not None:
            # No error: code can be read and breakpoints set; `run` says it again.
            self.say(f"{session.stop.message}\n")

    def begin(self) -> DebugSession:
        """Launch from the beginning: before the first instruction, warps numbered, announced.

        Raises:
            GpudbgError: the launch does not fit.
            MiError: no program.
        """
        if self.run is not None:
            raise MiError("The program is already being run.")
        if self.path is None:
            raise MiError("No executable specified, use `target exec'.")
        if self.session is None or self.opened_with != self.arguments or self._over():
            self.open(self.path)
        if self.session is None:
            self.opener(self.path, self.arguments)
        session = self.loaded()
        self.end_process()
        session.restart()
        session.breakpoints.resolve_pending()
        self.started = self.target = True
        self.registers_seen.clear()
        self.notify("thread-group-started", {"id": shown.GROUP, "pid": os.getpid()})
        self._threads()
        return session

    def revive(self) -> None:
        """A launch that has ended, or one that a recording holds, is to go back: the client has its
        program again.  Nothing where there is no past."""
        session = self.session
        if self.started or session is None or self.run is not None or self._over():
            return
        if session.launched and not session.killed and session.history.end_tick:
            self.started = self.target = True
            self.notify("thread-group-started", {"id": shown.GROUP, "pid": os.getpid()})

    def _over(self) -> bool:
        """Whether the launches came from a program that has ended."""
        source = None if self.session is None else self.session.launching.source
        return source is not None and source.over

    def end_process(self, code: str | None = "0") -> None:
        """Tell that the threads and the group have gone."""
        if not self.started:
            return
        self.started = False
        for number in self.ids.clear():
            self.notify("thread-exited", {"id": number, "group-id": shown.GROUP})
        fields: Fields = {"id": shown.GROUP}
        if code is not None:
            fields["exit-code"] = code
        self.notify("thread-group-exited", fields)
        self._focus = (None, 0)

    def _printed(self, text: str) -> None:
        """What the device prints; called from the engine's thread."""
        if self.terminal is not None:
            try:
                os.write(self.terminal, text.encode("utf-8", "surrogateescape"))
                return
            except OSError:
                self.terminal = None
        for ui in self.uis:
            ui.write(records.stream("@", text) if ui.kind == "mi" else text)

    def _logged(self, text: str) -> None:
        """What a dprintf prints; called from the engine's thread."""
        for ui in self.uis:
            ui.write(records.stream("~", text) if ui.kind == "mi" else text)

    def close_program(self) -> None:
        """Forget the program; breakpoints wait for the next one."""
        self.kill()
        if self.session is not None:
            self.session.close()
        self.session = self.path = None
        for row in self.breakpoints:
            row.addresses, row.places = (), ()

    def new_ui(self, interpreter: str, path: str) -> None:
        """Another client on a terminal of its own (gdb's `new-ui`).

        Raises:
            MiError: not an interpreter, or not a terminal.
        """
        kind, version = interpreter_kind(interpreter)
        try:
            fd = open_terminal(path)
        except (OSError, ValueError) as e:
            raise MiError(f"opening of terminal failed: {e}") from None
        ui = Ui(fd, fd, kind, version, path)
        ui.quiet_terminal()
        self.uis.append(ui)
        if kind == "mi":
            ui.put(records.notification("thread-group-added", {"id": shown.GROUP}))
            if self.started:
                group = {"id": shown.GROUP, "pid": os.getpid()}
                ui.put(records.notification("thread-group-started", group))
        ui.ready()
        ui.listen(self.events)

    # ---- telling -----------------------------------------------------------------------
    def notify(self, kind: str, fields: Fields, mark: str = "=") -> None:
        """A record for every MI client."""
        make = records.notification if mark == "=" else records.execution
        for ui in self.uis:
            if ui.kind == "mi":
                ui.put(make(kind, fields))

    def say(self, text: str) -> None:
        """Console text for everybody."""
        for ui in self.uis:
            ui.stream("~", text)

    def annotate(self) -> None:
        """The selected place, for editors that read it off a console."""
        for ui in self.uis:
            if ui.annotate and ui.kind == "console" and self.session is not None:
                ui.put(shown.annotation(self.session))

    def prompt(self, ui: Ui) -> None:
        """A prompt for one client, after all it has to hear."""
        ui.ready()

    def prompts(self) -> None:
        """A prompt for every client, after a stop."""
        if self.run is None and not self.exiting:
            for ui in self.uis:
                ui.ready()
        self.flush()

    def flush(self, but: Ui | None = None) -> None:
        """Send what is kept for clients."""
        for ui in self.uis:
            if ui is not but:
                ui.flush()

    def _threads(self) -> None:
        assert self.session is not None
        new, gone = self.ids.sync(self.session)
        for number in gone:
            self.notify("thread-exited", {"id": number, "group-id": shown.GROUP})
        for number in new:
            self.notify("thread-created", {"id": number, "group-id": shown.GROUP})

    def breakpoint_record(self, number: int, version: int) -> Fields:
        """A breakpoint's fields."""
        row = located_row(self.session, self.breakpoints.get(number))
        return shown.breakpoint_fields(row, version)

    def _seen(self) -> dict[int, tuple[Any, ...]]:
        return {
            b.number: (
                b.addresses,
                b.enabled,
                b.condition,
                b.hits,
                b.ignore,
                frozenset(b.disabled),
                b.temporary,
            )
            for b in self.breakpoints
        }

    def breakpoint_changes(self, but: Ui | None = None, deleted: bool = True) -> list[int]:
        """Tell clients what became of breakpoints since the last look; the deleted ones.

        Args:
            but: the MI client whose own command made the changes: it knows.
            deleted: tell deletions too (after a stop they come later).
        """
        old, new = self._rows, self._seen()
        gone = [n for n in old if n not in new]
        changed = [n for n in new if old.get(n) != new[n]]
        for ui in self.uis:
            if ui.kind != "mi" or ui is but:
                continue
            for n in changed:
                kind = "breakpoint-modified" if n in old else "breakpoint-created"
                fields = self.breakpoint_record(n, ui.version)
                ui.put(records.notification(kind, shown.breakpoint_result(fields)))
            for n in gone if deleted else ():
                ui.put(records.notification("breakpoint-deleted", {"id": n}))
        if not deleted:
            new |= {n: old[n] for n in gone}
        self._rows = new
        return gone

    def memory_changes(self, but: Ui | None = None) -> None:
        """Tell MI clients of memory that a line has written (`set var`, an assignment).

        Args:
            but: the MI client whose own command wrote it: it knows.
        """
        written = self.session.written if self.session is not None else []
        if not written or self.run is not None:
            return
        for ui in self.uis:
            for address, size in written if ui.kind == "mi" and ui is not but else ():
                fields = {
                    "thread-group": shown.GROUP,
                    "addr": shown.address(address),
                    "len": f"0x{size:x}",
                }
                ui.put(records.notification("memory-changed", fields))
        written.clear()

    def selection_changes(self) -> None:
        """Tell MI clients that a console command moved the focus or the frame."""
        session = self.session
        if session is None or not self.started or self.run is not None:
            return
        now = (self.ids.focused(session), session.frame_level)
        if now != self._focus and now[0] is not None:
            frame = shown.frame_fields(session, shown.selected_frame(session), args=True)
            self.notify("thread-selected", {"id": now[0], "frame": frame})
        self._focus = now

    def mark_selection(self) -> None:
        """The present selection is what clients know."""
        if self.session is not None and self.started and self.run is None:
            self._focus = (self.ids.focused(self.session), self.session.frame_level)

    # ---- running -----------------------------------------------------------------------
    def resume(
        self, work: Callable[[], Stop], finished: str, again: Callable[[], Stop] | None = None
    ) -> None:
        """Let the engine's thread work once the records so far are out (`launch_run`)."""
        session = self.process(NOT_STARTED)
        # Which warp had the focus and in which function, to tell a switch at the stop.
        thread = None if session.focus is None else self.ids.focused(session)
        self._before = (thread, self._place())
        self._focus = (thread, 0)
        self.run = Run(work, finished, again or work)
        session.forget_interrupt()

    def _place(self) -> Place:
        """Function and call depth of the focused warp."""
        from gpudbg.debug.values import frames

        assert self.session is not None
        if self.session.focus is None:
            # It has ended, and goes back.
            return "", 0
        rows = frames(self.session)
        return rows[0].function, len(rows)

    def running_records(self) -> None:
        """`*running`, before the engine starts."""
        self.notify("running", {"thread-id": "all"}, mark="*")

    def launch_run(self) -> None:
        """Start the engine's thread."""
        run = self.run
        session = self.session
        assert run is not None
        assert session is not None

        def finished(outcome: Outcome[Stop]) -> None:
            run.stop, run.error = outcome.answer, outcome.error
            self.events.put(("finished", run, ""))

        self._engine.start(session, run.work, finished)

    def interrupt(self) -> None:
        """Stop what runs, and a script; nothing else when nothing does."""
        self.host.interrupted = True
        if self.run is not None and self.session is not None:
            self.session.interrupt()

    def pause(self) -> Run | None:
        """Halt the engine without telling anybody; the run, or None when none was."""
        run = self.run
        if run is None:
            return None
        if self.session is not None:
            self.session.interrupt()
        waiting: list[Event] = []
        while True:
            event = self.events.get()
            if event[0] == "finished" and event[1] is run:
                break
            waiting.append(event)
        for kept in waiting:
            self.events.put(kept)
        self.run = None
        return run

    def go_on(self, run: Run | None) -> None:
        """After `pause`: run on, or report the stop that came first."""
        if run is None:
            return
        self.run = run
        if run.error is None and isinstance(run.stop, InterruptStop):
            assert self.session is not None
            run.stop, run.work = None, run.again
            self.session.forget_interrupt()
            self.launch_run()
        else:
            self.events.put(("finished", run, ""))

    def finished(self, run: Run) -> None:
        """The engine's thread is done: tell the stop."""
        session = self.session
        if session is None or run is not self.run:
            return
        self.run = None
        why: Fields | None = None
        if run.error is not None:
            why = self._failure(session, run.error)
        stop = run.stop or session.stop
        assert stop is not None
        if session.finished or session.focus is None:
            self.breakpoint_changes()
            self._launch_is_over(session)
            return
        self._threads()
        gone = self.breakpoint_changes(deleted=False)
        reason = why or stops.reason_fields(session, stop, run.finished, gone)
        value, self.finished_value = self.finished_value, None
        thread = self.ids.focused(session)
        silent = session.scripting.silent and isinstance(stop, BreakpointStop)
        try:
            if not silent and (run.typed or reason["reason"] not in stops.FINISHED):
                self._say_stop(session, stop, reason, thread)
            fields = stops.stopped_fields(session, stop, reason, thread)
            if value is not None and value.number and reason["reason"] == "function-finished":
                fields |= {"gdb-result-var": f"${value.number}", "return-value": value.value}
        except Exception as error:
            # A client that waits for the stop gets it, whatever cannot be said of it.
            self._complain(str(error_for_user(error)))
            fields = {**reason, "thread-id": thread or 0, "stopped-threads": "all"}
        self.notify("stopped", fields, mark="*")
        self.breakpoint_changes()
        self.mark_selection()

    def _say_stop(
        self, session: DebugSession, stop: Stop, reason: Fields, thread: int | None
    ) -> None:
        """A stop in words, and the displays."""
        before, place = self._before, self._place()
        switched, moved = thread != before[0], (thread, place) != before
        for text in stops.stop_words(session, stop, reason, thread, switched, moved):
            self.say(text)
        self.annotate()
        for text in session.displays.lines():
            self.say(f"{text}\n")

    def _complain(self, text: str) -> None:
        for ui in self.uis:
            ui.stream("&", f"{text}\n")

    def _failure(self, session: DebugSession, error: BaseException) -> Fields:
        """A run that ended by an exception: where it stands is a stop all the same."""
        text = str(error_for_user(error))
        self._complain(text)
        session.halted(text)
        return {
            "reason": "signal-received",
            "signal-name": "SIGILL",
            "signal-meaning": text.splitlines()[0] if text else "error",
        }

    def _launch_is_over(self, session: DebugSession) -> None:
        from gpudbg.debug.views import output_lines

        # What a host program had on the device has gone with it.
        lines = [] if self._over() else output_lines(session)
        for text in lines:
            self.say(f"{text}\n")
        source = session.launching.source
        for text in () if source is None else source.dropped:
            self.say(f"{text}\n")
        if source is not None and source.crash:
            self.say(f"\nProgram terminated with signal {source.crash}.\n")
            self.end_process(None)
            fields: Fields = {"reason": "exited-signalled", "signal-name": source.crash}
        elif source is not None and source.code:
            # gdb has exit codes in octal digits here.
            code = f"0{source.code:o}"
            self.say(f"[{INFERIOR} exited with code {code}]\n")
            self.end_process(code)
            fields = {"reason": "exited", "exit-code": code}
        else:
            self.say(f"[{INFERIOR} exited normally]\n")
            self.end_process()
            fields = {"reason": "exited-normally"}
        self.notify("stopped", fields, mark="*")

    def killed_by_signal(self) -> None:
        """`continue` after an error: the program is gone, as on hardware."""
        session = self.process(NOT_STARTED)
        signal = signal_of(session.stop) if session.stop is not None else None
        session.kill()
        self.end_process(None)
        fields: Fields = {"reason": "exited-signalled"}
        if signal is not None:
            self.say(f"\nProgram terminated with signal {signal.name}, {signal.meaning}.\n")
            fields |= {"signal-name": signal.name, "signal-meaning": signal.meaning}
        self.notify("stopped", fields, mark="*")

    def kill(self) -> None:
        """End the program without a stop record (gdb's `kill`)."""
        if self.run is not None:
            self.pause()
        if self.session is not None and self.started:
            self.session.kill()
            self.end_process(None)

    def shut_down(self) -> None:
        """Leave nothing running."""
        if self.run is not None:
            self.interrupt()
            run = self.run
            while run is self.run:
                event = self.events.get()
                if event[0] == "finished":
                    self.run = None
        self._engine.join(5.0)
        if self.session is not None:
            if self._printed in self.session.output.listeners:
                self.session.output.listeners.remove(self._printed)
            self.session.close()
