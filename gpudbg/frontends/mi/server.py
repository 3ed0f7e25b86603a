"""The loop: lines of clients, ends of runs, Ctrl-C, one after the other in one thread."""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gpudbg.debug.commands import load as load_commands
from gpudbg.debug.script import Player
from gpudbg.debug.stops import InterruptStop
from gpudbg.errors import error_for_user
from gpudbg.frontends.mi import records, shown
from gpudbg.frontends.mi.bridge import Bridge, Run
from gpudbg.frontends.mi.commands.families import load as load_mi
from gpudbg.frontends.mi.commands.registry import Answer
from gpudbg.frontends.mi.console import go_on, is_command, run_console
from gpudbg.frontends.mi.dispatch import answer_line
from gpudbg.frontends.mi.ui import Event, Ui
from gpudbg.frontends.mi.words import version_lines


class Server:
    """One debugger process, or one connection: a first client, others by `new-ui`."""

    def __init__(self, first: Ui, events: queue.SimpleQueue[Event] | None = None) -> None:
        self.events: queue.SimpleQueue[Event] = events or queue.SimpleQueue()
        self.bridge = Bridge(self.events, is_command)
        self.first = first
        self._startup: list[str] = []
        self._held: list[Event] = []

    def serve(self, startup: Sequence[str], quiet: bool = False, batch: bool = False) -> None:
        """Greet, carry out the startup lines, then answer until the client leaves.

        Args:
            startup: console lines, one after the other, each when the one before has stopped.
            quiet: no banner.
            batch: leave after the startup lines.
        """
        self._startup = [*startup, *(["quit"] if batch else [])]
        self.greet(self.first)
        if not quiet:
            for line in version_lines():
                self.first.stream("~", f"{line}\n")
        # Both tables now: the first line that somebody types is answered at once.
        load_commands()
        load_mi()
        try:
            self._next_startup()
            if self.bridge.run is None and not self.bridge.exiting:
                self.first.ready()
            self.first.listen(self.events)
            while not self.bridge.exiting and not self.first.dead:
                self._handle_safely(self.events.get())
        finally:
            self.bridge.shut_down()
            for ui in self.bridge.uis:
                ui.flush()
                ui.close()

    def greet(self, ui: Ui) -> None:
        """Make a client known; MI begins with a record, never with plain text."""
        self.bridge.uis.append(ui)
        if ui.kind == "mi":
            ui.put(records.notification("thread-group-added", {"id": shown.GROUP}))
            ui.flush()

    def _handle_safely(self, event: Event) -> None:
        """One event; a defect on its way is printed, and the next event is waited for."""
        try:
            self.handle(event)
        except Exception as error:
            for ui in self.bridge.uis:
                ui.stream("&", f"{error_for_user(error)}\n")
            self.bridge.prompts()

    def handle(self, event: Event) -> None:
        """One event."""
        what, who, text = event
        if self._waits(event):
            self._held.append(event)
            return
        if what == "finished":
            assert isinstance(who, Run)
            if who is self.bridge.run:
                self.bridge.finished(who)
                self._go_on()
                # A console has its prompt when its own lines can come, as in gdb.
                early = bool(self._startup) and self.first.kind == "console"
                if not early:
                    self.bridge.prompts()
                self._next_startup()
                if early:
                    self.bridge.prompts()
                self._go_through_held()
        elif what == "line":
            assert isinstance(who, Ui)
            if who in self.bridge.uis:
                answer_line(self.bridge, who, text)
                self.bridge.flush()
        elif what == "eof":
            assert isinstance(who, Ui)
            if who is self.first:
                self.bridge.exiting = True
            elif who in self.bridge.uis:
                self.bridge.uis.remove(who)
                who.close()

    def _waits(self, event: Event) -> bool:
        """Whether a console's line has to wait for the program to stop, as gdb's console does.

        So does the end of a file or pipe; a terminal that ends has been closed.
        """
        what, who, _ = event
        if self.bridge.run is None or not isinstance(who, Ui) or who.kind != "console":
            return False
        return what == "line" or (what == "eof" and not os.isatty(who.read_fd))

    def _go_through_held(self) -> None:
        """Lines typed while the program ran, until one lets it run again."""
        while self._held and self.bridge.run is None and not self.bridge.exiting:
            self.handle(self._held.pop(0))

    def _next_startup(self) -> None:
        while self._startup and self.bridge.run is None and not self.bridge.exiting:
            line = self._startup.pop(0)
            self._console(line)
        self.bridge.flush()

    def _console(self, line: str) -> None:
        """A line nobody typed: errors are printed, a run starts."""
        self._tell(lambda: run_console(self.bridge, self.first, line))

    def _tell(self, work: Callable[[], Answer]) -> None:
        bridge = self.bridge
        try:
            answer = work()
        except Exception as e:
            self.first.stream("&", f"{error_for_user(e)}\n")
            return
        bridge.breakpoint_changes()
        bridge.mark_selection()
        if answer.kind in ("running", "killed"):
            bridge.running_records()
            bridge.flush()
        if answer.kind == "running":
            bridge.launch_run()
        elif answer.kind == "killed":
            bridge.killed_by_signal()

    def _go_on(self) -> None:
        """After a stop: the commands of breakpoints that were met, and the script that waits."""
        bridge = self.bridge
        player, bridge.waiting = bridge.waiting or Player(bridge.host), None
        session = bridge.session
        if session is not None and isinstance(session.stop, InterruptStop):
            player.clear()
        player.hit()
        if not player.done:
            self._tell(lambda: go_on(bridge, self.first, player))


@contextmanager
def interrupts(bridge: Bridge) -> Iterator[None]:
    """Ctrl-C and SIGINT stop a running program; nothing happens when it is stopped."""
    before = signal.signal(signal.SIGINT, lambda *_: bridge.interrupt())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
