"""DebugSession: one launch under control, and the only door for frontends.

A session is made by `program.launch(...)`.  It stands before the kernel's first instruction,
runs and steps the grid through `gpudbg.sm.gpu.Grid`, and answers questions about the stop:
focus, breakpoints, expressions, warps, memory.  Everything it returns is plain or frozen data.

    session.break_at("saxpy+0x48", condition="$R4 > 3")
    stop = session.cont()
    session.warp(3).lane(5).R[4]
    session.execute("info warps")
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gpudbg import html
from gpudbg.debug import stepping
from gpudbg.debug.breakpoints import gathering
from gpudbg.debug.breakpoints.events import EVERY_STOP, Watching
from gpudbg.debug.breakpoints.setting import Breaking
from gpudbg.debug.breakpoints.watchpoints import Watchpoints, lines_of
from gpudbg.debug.displays import Displays
from gpudbg.debug.focus import focus as focus_module
from gpudbg.debug.focus.focus import Focus
from gpudbg.debug.inferior import AGAIN, Inferior, Launch
from gpudbg.debug.interrupts import interruptible
from gpudbg.debug.look import Looking
from gpudbg.debug.script import Line, Player, Scope, play
from gpudbg.debug.script.blocks import statements
from gpudbg.debug.script.host import SessionHost
from gpudbg.debug.settings import SCOPES, Settings
from gpudbg.debug.stops.maker import entry_stop, make_stop, opened_stop
from gpudbg.debug.stops.stop import Stop, Trigger, dim, stop_html
from gpudbg.debug.symbols import Origin, Symbols
from gpudbg.debug.trace.timeline import Timeline
from gpudbg.debug.traps import SessionTraps
from gpudbg.debug.values import evaluation
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.values.frames import call_depth
from gpudbg.debug.values.lanes import array_mask
from gpudbg.debug.warp_view import WarpView, code_html
from gpudbg.errors import CommandError, GpudbgError, UsageError
from gpudbg.expr import Result, evaluate, parse_condition
from gpudbg.expr.evaluate import uniform
from gpudbg.expr.types import I32
from gpudbg.formats.launch import MissingArguments
from gpudbg.public import public_names
from gpudbg.sm.events import StopEvent
from gpudbg.validation import maybe_whole, one_of, whole
from gpudbg.validation import text as given_text

if TYPE_CHECKING:
    from gpudbg.debug.commands.registry import Command, Output
    from gpudbg.debug.snapshot import Snapshot
    from gpudbg.launch.opening import Opening
    from gpudbg.sm.device_output import DeviceOutput
    from gpudbg.sm.grid import HangCheck
    from gpudbg.sm.state import WarpState

Dim3 = tuple[int, int, int]


class DebugSession(Inferior, Watching, Breaking, Looking):
    """A launch that can be stopped, inspected, changed and stepped.

    Attributes:
        program, kernel: what was launched; `launch.arguments` are its arguments.
        stop: why it stands; `stops` are all stops so far.
        focus: the warp and lane that questions are about (`set_focus`).
        breakpoints: those set (`break_at`, `watch_at`).
        settings: those of the console's `set`.

    >>> with gpudbg.open("sessions/first_steps/first_steps.cubin") as session:
    ...     print(session.stop)
    ...     print(session.step(3))
    ...     print(session.run())
    at the entry of block_max
    block_max+0x28 first_steps.cu:10, block (0,0,0) thread (0,0,0) (sm 0 warp 0 lane 0)
    block_max ended after 1,258 warp instructions
    """

    def __init__(self, launch: Launch) -> None:
        Inferior.__init__(self, launch, Scope())
        Watching.__init__(self)
        Breaking.__init__(self)
        # Without `close` the same happens when nobody has the session any more.
        self._release = weakref.finalize(self, launch.release)
        self._release.atexit = False
        self.displays = Displays(self)
        self.scripting = SessionHost(self, self.scope)
        self.stop_listeners: list[Callable[[Stop], None]] = []
        self.print_listeners: list[Callable[[str], None]] = []
        self._printed: list[str] = []
        self.quit_requested = False
        self.quit_code: int | None = None
        self.last_line = ""
        self.opening: Opening | None = None
        self._planned = False
        self.timeline = Timeline(self)
        self.use_settings(self.settings)
        self.examine_state: tuple[str, int, int, str] | None = None
        self.list_state: tuple[str, int, int] | None = None
        self.observing: dict[str, Any] = {}
        self.backlog = gathering.Backlog()
        self._arrived = (0, 0)
        self.checks: dict[str, Any] = {}
        self.traps = SessionTraps(self)
        self.watchpoints = Watchpoints(self)
        self._stand()

    __dir__ = public_names
    _INTERNAL = frozenset(
        """accepted accepts arguments_changed backlog breakpoint_at callbacks carry_out checks
        complete_expression context dispatch displays end_run enter_inlined examine_state
        fetch_array fetch_bytes focused forget_interrupt frame_level global_address grid halted
        hits integer killed lane last_line list_state location_text native_condition note_write
        observing opening origin plain_command plan print_listeners printed quit_code
        quit_requested read_focused read_memory require_launchable require_launched require_open
        require_stopped resolve_breakpoints run_to_stop running scope scripting shown_pc
        shows_code_addresses skipped_inline sources special special_names stop_listeners symbols
        take_printed tell_arrivals test timeline traps use_settings value_history variables
        warps_where watchpoints would_stop write_focused written""".split()
    )
    """What the frontends and other parts of the debugger use of a session."""

    def __repr__(self) -> str:
        grid, block = dim(self.grid.grid), dim(self.grid.block)
        head = f"{self.symbols.kernel_name}<<<{grid}, {block}>>>"
        return f"<DebugSession {head}: {self.stop.message if self.stop else 'not launched'}>"

    def _repr_html_(self) -> str:
        return session_html(self)

    # ---- life --------------------------------------------------------------------------
    def __enter__(self) -> DebugSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session: what its launch made is freed, whatever else is on the device stays.

        Buffers made of arrays, of a launch table's buffers and images, the contents kept for a
        restart and the observers of the session go; buffers made by `Device.buffer` stay.
        Afterwards the session refuses use; its stops, kernel and program can still be looked at.

        Raises:
            UsageError: the kernel is running, in another thread or below this call.

        >>> buffer = session.launch.arguments[0].buffer
        >>> session.close()
        >>> session, session.stop.kind, buffer.freed
        (<closed session of block_max>, 'step', True)
        """
        if self.running:
            raise UsageError(
                f"{self.kernel.name} is running and cannot be closed", "interrupt() ends the run"
            )
        self._release()
        faulted = self.faulted
        kept = {name: value for name, value in vars(self).items() if name in KEPT}
        refused = frozenset(vars(self)) - set(KEPT)
        vars(self).clear()
        vars(self).update(kept, _refused=refused, _faulted=faulted)
        self.__class__ = ClosedSession

    def use_settings(self, settings: Settings) -> None:
        """Take settings over; those that the device keeps show its values."""
        settings.attach(self.grid.gpu)
        timeline = self.timeline
        settings.on_change("timeline", timeline.set_mode)
        self.settings = settings

    def require_launchable(self) -> None:
        """UsageError, saying what is missing, where `restart` could not launch."""
        if self._planned and self.opening is not None:
            trouble = self.opening.trouble(self.opening.loaded(self.launch.loaded).program)
            if trouble is not None:
                raise trouble

    def restart(self) -> Stop:
        """Launch from the beginning; device memory is restored first.

        Raises:
            UsageError: what the launch lacks, where it was not complete when the program was
                opened.
        """
        if self._planned and self.opening is not None:
            return self._carry_out(self.opening)
        return self._begin()

    def _carry_out(self, opening: Opening) -> Stop:
        """Launch what was planned; a launch that fails leaves the program open."""
        loaded = opening.loaded(self.launch.loaded)
        launch = opening.launch(loaded)
        self._use(launch)
        try:
            stop = self._begin()
            self.traps.install_from(launch.table)
        except GpudbgError:
            self._use(opening.idle(loaded))
            self._begin()
            raise
        self._planned = False
        return stop

    def plan(self, opening: Opening) -> None:
        """What the next `restart` launches; a session that has not launched shows its kernel.

        Raises:
            UsageError: the program has no such kernel, or the flags cannot be read.
            LoadError: the part of the file with that kernel cannot be read.
        """
        loaded = opening.loaded(self.launch.loaded)
        idle = opening.idle(loaded)
        with suppress(MissingArguments):
            opening.table(loaded.program)
        self.opening, self._planned = opening, True
        if not self.launched:
            self._use(idle)
            self._begin()

    def _use(self, launch: Launch) -> None:
        """Take another launch's program and kernel over; breakpoints are looked up again."""
        other = launch.image is not self.launch.image
        # Who observes this session goes on observing it.
        launch.subscriptions, self.launch.subscriptions = self.launch.subscriptions, set()
        self.focus = None
        self._release()
        self._release = weakref.finalize(self, launch.release)
        self._release.atexit = False
        self.launch, self.program, self.kernel = launch, launch.program, launch.kernel
        self.symbols = Symbols(launch.program, launch.image, launch.kernel)
        if other:
            for row in self.breakpoints:
                if row.watch is None:
                    row.addresses, row.places = (), ()
            self.resolve_breakpoints()
            self._renew_checks()

    def _renew_checks(self) -> None:
        """Checks look at one code image: for another one they begin anew."""
        from gpudbg.debug.checks import attach, detach

        for name in list(self.checks):
            detach(self, name)
            attach(self, name)

    def _begin(self) -> Stop:
        self.grid = self.launch.begin()
        self.backlog = gathering.Backlog()
        self.arguments_changed = False
        self.traps.attach()
        self.killed = False
        self.focus = None
        self.list_state = None
        self.timeline.launched()
        return self._stand()

    def _stand(self) -> Stop:
        """Before the first instruction; without a launch nowhere."""
        if not self.launched:
            self.stop = opened_stop(self)
            return self.stop
        self._focus_first()
        return self._record(entry_stop(self))

    @property
    def output(self) -> DeviceOutput:
        """What the device printed (printf, assert), since the device was made."""
        return self.grid.gpu.output

    def printed(self, text: str) -> None:
        """Tell what a `dprintf` printed; the next stop tells it where nobody listens."""
        for listener in self.print_listeners:
            listener(text)
        if not self.print_listeners:
            self._printed.append(text)

    def take_printed(self) -> list[str]:
        """Lines that were printed since the last look."""
        text, self._printed = "".join(self._printed), []
        return text.splitlines()

    def kill(self) -> None:
        """Abandon the launch."""
        self.grid.abandon()
        self.killed = True
        self.focus = None

    def install_trap_handler(self, source: Any, entry: str | None = None, number: int = 0) -> None:
        """Install a trap handler; see `SessionTraps.install`."""
        self.traps.install(source, entry, number)

    def check(self, name: str) -> Any:
        """Start a check such as "hazards"; see `gpudbg.debug.checks`."""
        from gpudbg.debug.checks import attach

        return attach(self, name)

    # ---- running -----------------------------------------------------------------------
    @interruptible
    def run(self, max_instructions: int | None = None) -> Stop:
        """Run to the end, a fault or `max_instructions`; breakpoints do not stop it.

        Raises:
            UsageError: `max_instructions` is no integer of at least 1.
            CommandError: the kernel has ended already.
        """
        most = maybe_whole(max_instructions, "max_instructions", 1)
        self._require_running()
        if (untold := self._untold()) is not None:
            return untold
        self.traps.running(stop_on_entry=False)
        check = self._hang_check() if most is None else None
        return self.end_run(self.grid.run(max_instructions=most, hang_check=check))

    @interruptible
    def run_to_stop(self, max_instructions: int | None = None) -> Stop:
        """Run once until a breakpoint, a fault, the end, or `max_instructions`."""
        self._require_running()
        self.traps.running()
        addresses = self.breakpoints.addresses()
        watching = self.watchpoints.arm()
        event = gathering.next_event(self)
        if event is None:
            # Whoever sets a limit has it: what goes round is told at the limit.
            check = self._hang_check() if max_instructions is None else None
            event = self.grid.run(
                breakpoints=addresses,
                accept=self.accepts if addresses else None,
                until=self.watchpoints.met if watching else None,
                max_instructions=max_instructions,
                hang_check=check,
                conditions=self.native_condition if addresses else None,
            )
        if event.kind == "breakpoint" and self.settings.shown("gather") == "on":
            event = gathering.gather(self, event, self.focus)
        return self.end_run(event)

    def _hang_check(self) -> HangCheck | None:
        """What proves a hang while the machine runs, where it is asked to."""
        if self.settings.shown("stop-on-hang") == "off":
            return None
        # Few runs last until somebody asks.
        from gpudbg.debug.stops.hanging import hang_of

        return lambda times: hang_of(self, times)

    def _untold(self) -> Stop | None:
        """The stop for what ended a gathering and has not been told: it comes before anything."""
        if not self.backlog.events:
            return None
        event = gathering.next_event(self)
        assert event is not None
        return self.end_run(event)

    def tell_arrivals(
        self, arrivals: Sequence[gathering.Arrival], chosen: gathering.Arrival
    ) -> None:
        """The stop to come is about these warps, told from one of them."""
        self._hits, self._notes = list(chosen.hits), list(chosen.notes)
        self._accept_lane, self._accept_lanes = chosen.lane, chosen.lanes
        threads = sum(a.lanes.bit_count() for a in arrivals)
        self._arrived = (len(arrivals), threads)

    @interruptible
    def step(self, count: int = 1, scope: str | None = None, over: bool = False) -> Stop:
        """Execute `count` instructions of the focused warp, its CTA, its SM or everything.

        With `over`, a call runs until it returns.  A breakpoint met on the way ends the step.

        Args:
            count: instructions, at least 1.
            scope: "warp", "cta", "sm" or "all"; None is the setting `step`.
            over: run calls through.

        Raises:
            UsageError: a count below 1 or that is no integer; no such scope.
            CommandError: nothing is left to step.

        >>> session.step().pc, session.step(4).pc
        (16, 56)
        """
        count = whole(count, "count", 1)
        moved = self.settings.shown("step") if scope is None else one_of(scope, "scope", SCOPES)
        self.require_stopped()
        if (untold := self._untold()) is not None:
            return untold
        self.watchpoints.arm()
        event: StopEvent | None = None
        for _ in range(count):
            warp = self.focused()
            event = self._step_once(moved, over)
            if event.kind == "step" and self.watchpoints.met(warp if moved == "warp" else None):
                break
            if event.kind != "step" or self.finished or warp.status == "exited":
                break
            if self.breakpoint_at(warp):
                return self.end_run(event, kind="breakpoint")
        assert event is not None
        return self.end_run(event)

    @interruptible
    def step_line(self, count: int = 1, over: bool = False) -> Stop:
        """Step to another source line `count` times, the CTA running along.

        With `over`, calls run through.  See `gpudbg.debug.stepping` for what a line's end is.

        Raises:
            UsageError: a count below 1 or that is no integer.
            CommandError: nothing is left to step.
        """
        count = whole(count, "count", 1)
        self._require_movable()
        if (untold := self._untold()) is not None:
            return untold
        self.traps.running()
        stop = self.stop
        for _ in range(count):
            stop = stepping.step_line(self, over)
            if stop.kind != "step":
                break
        assert stop is not None
        return stop

    @interruptible
    def until(self, location: str | int | None = None) -> Stop:
        """Run the focused warp to `location`, or forward past its present line (out of a loop).

        Args:
            location: as for `break_at`.

        Raises:
            UsageError: the location is neither a text nor an integer.
            CommandError: no such place, or nothing is left to run.
        """
        place = self.location_text(location)
        self._require_movable()
        if (untold := self._untold()) is not None:
            return untold
        self.traps.running()
        return stepping.until(self, place)

    @interruptible
    def finish(self, level: int = 0) -> Stop:
        """Run until the focused warp has returned from the function of frame `level`.

        Raises:
            UsageError: a level below 0 or that is no integer.
            CommandError: the warp is in the kernel itself.
        """
        level = whole(level, "level", 0)
        self._require_movable()
        if (untold := self._untold()) is not None:
            return untold
        self.traps.running()
        return stepping.finish(self, level)

    def jump(self, location: str | int) -> None:
        """Let the focused warp go on at another instruction; nothing runs yet.

        Args:
            location: as for `break_at`.

        Raises:
            UsageError: the location is neither a text nor an integer.
            CommandError: no such place, or the location is several.
        """
        place = self.location_text(location)
        self._require_movable()
        found = self.symbols.resolve(place, self.origin()).addresses
        if len(found) != 1:
            raise CommandError(f"{location} is {len(found)} places", "jump needs one address")
        warp = self.focused()
        warp.pc = found[0]
        warp.shown = warp.executed

    def leave_function(self) -> None:
        """Let the focused warp return from a function it has just entered; nothing runs.

        Raises:
            CommandError: it is in the kernel itself, or further on, where the function may have
                saved registers that only it can restore.
        """
        self._require_movable()
        stepping.leave_function(self, self.focused())

    def interrupt(self) -> None:
        """Stop a running machine soon; safe from any thread and from a signal handler."""
        self.scripting.interrupted = True
        super().interrupt()

    def forget_interrupt(self) -> None:
        """Drop an interrupt that came when nothing ran, so that it does not stop the next run."""
        self.scripting.interrupted = False
        super().forget_interrupt()

    def _require_running(self) -> None:
        self.require_launched()
        if self.finished:
            raise CommandError("the kernel has ended", AGAIN)
        if self.faulted and not (self.stop and self.stop.hang):
            raise CommandError("the machine is stopped by an error and cannot go on", AGAIN)

    def _step_once(self, scope: str, over: bool) -> StopEvent:
        if self.faulted:
            self._require_running()
        warp = self.focused()
        if scope != "warp":
            self.traps.running()
        if scope == "cta":
            return self.grid.step_cta(warp.cta)
        if scope == "sm":
            return self.grid.step_sm(warp.sm)
        if scope == "all":
            return self.grid.step_all()
        depth = call_depth(warp)
        through = self.traps.stepping(warp)
        event = self.grid.step_warp(warp, through=through)
        while over and event.kind == "step" and call_depth(warp) > depth:
            if self.watchpoints.met(warp):
                break
            event = self.grid.step_warp(warp, through=through)
        return event

    def _require_movable(self) -> None:
        self.require_stopped()
        if self.faulted:
            self._require_running()

    def halted(self, why: str) -> Stop:
        """The stop where an exception ended a run, such as a gap of the model."""
        return self.end_run(StopEvent("trap", total=self.grid.total, detail=(why,)))

    def enter_inlined(self) -> Stop:
        """Step into the inlined call at the present pc: nothing runs, the frame changes."""
        skipped = self.skipped_inline - 1
        stop = self._record(make_stop(self, "step", StopEvent("step", total=self.grid.total), ()))
        self.skipped_inline = skipped
        return stop

    # ---- stops -------------------------------------------------------------------------
    def end_run(self, event: StopEvent, kind: str | None = None) -> Stop:
        """Turn a machine event into the session's stop, and move the focus to it."""
        kind = kind or event.kind
        self.traps.stopped()
        seen = self.watchpoints.take()
        if kind == "step" and seen:
            kind, event = "breakpoint", self._watch_stop(event, seen)
        if kind == "breakpoint":
            if event.kind == "breakpoint":
                assert event.sm is not None
                assert event.warp is not None
                self.focus = Focus(event.sm, event.warp, self._accept_lane)
            elif self.focus is not None:
                self.focus = Focus(self.focus.sm, self.focus.warp, self._accept_lane)
        elif event.sm is not None and event.warp is not None and kind != "step":
            self.focus = Focus(event.sm, event.warp, event.lane or 0)
        self._repair_focus()
        hits = tuple(self._hits) if kind == "breakpoint" else ()
        arrived, self._arrived = self._arrived, (0, 0)
        if hits and not seen and not arrived[0]:
            arrived = (1, self._accept_lanes.bit_count())
        if hits:
            event = replace(event, detail=(*event.detail, *self._notes))
        stop = make_stop(self, kind, event, hits, arrived)
        stop = replace(stop, watch=seen if hits else ())
        points = [self.breakpoints.get(number) for number in hits]
        self.scripting.met = [row.commands for row in points if row.commands]
        self.scripting.resumed = True
        self.scripting.silent = any(row.silent for row in points)
        for number in hits:
            if self.breakpoints.get(number).temporary:
                self.breakpoints.remove(number)
        return self._record(stop)

    def _watch_stop(self, event: StopEvent, seen: tuple[Trigger, ...]) -> StopEvent:
        """A run or step that a watchpoint ended: the focus goes to the lane that touched it."""
        first = seen[0]
        self.focus = Focus(first.sm, first.warp, first.lane)
        self._accept_lane = first.lane
        self._hits, self._notes = [trigger.number for trigger in seen], self.watchpoints.notes
        lines = [line for trigger in seen for line in lines_of(trigger)]
        lines.append(f"by {self.symbols.describe_line(self.symbols.pc(first.pc))}")
        return replace(event, detail=(*event.detail, *lines))

    def _record(self, stop: Stop) -> Stop:
        self.stop = stop
        self.frame_level = 0
        self.skipped_inline = 0
        self.list_state = None
        if stop.kind == "breakpoint" and self.focus is not None:
            self.skipped_inline = stepping.skipped_at_breakpoint(self, self.focused().pc)
        self.stops.append(stop)
        if self.finished and not stop.faulted:
            self.variables["$_exitcode"] = uniform(0, I32)
        for listener in (*EVERY_STOP, *self.stop_listeners):
            listener(stop)
        return stop

    # ---- focus -------------------------------------------------------------------------
    def _focus_first(self) -> None:
        warp = next(iter(self.grid.warps()), None)
        if warp is not None:
            self.focus = Focus(warp.sm, warp.slot, focus_module.first_lane(warp.active))

    def _repair_focus(self) -> None:
        """After a run the focused warp may be gone: take the nearest one that is left."""
        resident = [w for w in self.grid.warps() if w.status != "exited"]
        if not resident:
            self.focus = None
            return
        focus = self.focus
        same = [w for w in resident if focus and (w.sm, w.slot) == (focus.sm, focus.warp)]
        warp = same[0] if same else resident[0]
        lane = focus.lane if same and focus else focus_module.first_lane(warp.active)
        if not warp.valid >> lane & 1:
            lane = focus_module.first_lane(warp.active)
        self.focus = Focus(warp.sm, warp.slot, lane)

    def set_focus(self, text: str) -> Focus:
        """Move the focus: `sm 0 warp 3 lane 5`, `block 1 thread (5,0,0)`.

        Raises:
            CommandError: no such warp or thread is resident.
        """
        text = given_text(text, "focus", "block 1 thread (5,0,0)")
        self.require_stopped()
        self.focus = focus_module.parse_focus(text, self.grid, self.focus)
        return self.focus

    def focus_on(self, sm: int, warp: int, lane: int) -> Focus:
        """Move the focus to a resident warp's lane; errors as `set_focus`."""
        sm, warp, lane = whole(sm, "sm", 0), whole(warp, "warp", 0), whole(lane, "lane", 0, 31)
        return self.set_focus(f"sm {sm} warp {warp} lane {lane}")

    # ---- looking -----------------------------------------------------------------------
    def warp(self, index: int | None = None, sm: int | None = None) -> WarpView:
        """A resident warp by slot (on the focused SM unless given); the focused one by default.

        >>> warp = session.warp(3)
        >>> warp.block, warp.lane(5).thread, warp.status
        ((2, 0, 0), (37, 0, 0), 'ready')
        """
        if index is None and sm is not None:
            raise UsageError(f"which warp of sm {sm}?", "index is its slot there")
        if index is None:
            state = self.focused()
        else:
            index, sm = whole(index, "index", 0), maybe_whole(sm, "sm", 0)
            if sm is None:
                sm = self.focus.sm if self.focus else 0
            state = self._slot(sm, index)
        return WarpView(self, state)

    def _slot(self, sm: int, index: int) -> WarpState:
        for w in self.grid.warps():
            if (w.sm, w.slot) == (sm, index):
                return w
        raise UsageError(f"sm {sm} has no resident warp {index}")

    def warps(self) -> Iterator[WarpView]:
        """Every resident warp by (sm, slot)."""
        for w in self.grid.warps():
            yield WarpView(self, w)

    def warps_where(self, condition: str = "") -> Iterator[WarpState]:
        """Resident warps with an active lane where an expression holds; all without one.

        Raises:
            CommandError: it assigns, or cannot be computed in an active lane.
        """
        tree = parse_condition(condition) if condition.strip() else None
        for state in self.grid.warps():
            if tree is not None:
                result = evaluate(tree, WarpContext(self, state))
                failed = state.active & ~array_mask(result.valid)
                if failed:
                    raise CommandError(
                        f"{condition}: no value in lane {focus_module.first_lane(failed)} of "
                        f"warp {state.slot} on sm {state.sm}: {result.why}"
                    )
                if not state.active & array_mask(result.truth()):
                    continue
            yield state

    def evaluate(self, text: str) -> Result:
        """An expression's value in the 32 lanes of the focused warp.

        >>> session.evaluate("threadIdx.x * 2 + 1").values[:4]
        array([1, 3, 5, 7], dtype=uint32)
        """
        return evaluation.evaluate(self, given_text(text, "expression", "$R4 + 1"))

    def integer(self, text: str, what: str = "a number") -> int:
        """An expression's value in the focused lane; see `evaluation.integer`."""
        return evaluation.integer(self, text, what)

    def context(self) -> WarpContext:
        """What expressions see: the focused warp; at the end, what a launch leaves."""
        return evaluation.context_of(self)

    def origin(self) -> Origin:
        """Where locations are read from: the focus, the settings, the source path."""
        return evaluation.origin(self)

    # ---- commands ----------------------------------------------------------------------
    def command(self, line: str) -> Output:
        """Carry out a console command; an empty line repeats the last one that repeats.

        Several lines are a script: blocks up to their `end`, one answer.

        Raises:
            GpudbgError: unknown command, bad argument, or nothing to act on.
        """
        text = line if "\n" in line else line.strip() or self.last_line
        player = Player(self.scripting)
        player.add(statements(text.split("\n")))
        return self.carry_out(player)

    def carry_out(self, player: Player) -> Output:
        """Carry out all that is left of a script; what it answers, put together.

        Raises:
            GpudbgError: what failed, naming file and line.
        """
        from gpudbg.debug.commands.registry import Output, joined

        self.scripting.begin()
        answers: list[tuple[str, Output]] = []
        scripted = False

        def one(line: Line) -> None:
            nonlocal scripted
            scripted = scripted or player.scripted
            answers.append((line.text, self.plain_command(line.text)))

        play(player, one)
        if scripted:
            self.last_line = ""
        elif not answers:
            return Output()
        elif len(answers) == 1:
            return answers[0][1]
        data = [{"command": text.strip(), "data": output.data} for text, output in answers]
        return joined([output for _, output in answers], data)

    def plain_command(self, line: str) -> Output:
        """Carry out a line that is no block, file nor user command."""
        from gpudbg.debug.commands.registry import load

        text = line.strip()
        self.scripting.met = []
        found, argument = load().resolve(text)
        self.last_line = text if found.repeats else ""
        before = self.stop
        output = self.dispatch(found, argument)
        if self.stop is not before and self.stop is not None and self.stop.kind == "interrupted":
            self.scripting.interrupted = True
        return output

    def dispatch(self, found: Command, argument: str) -> Output:
        """Carry out a resolved command without touching what an empty line repeats."""
        if found.needs == "stopped":
            self.require_stopped()
        return found.handler(self, argument)

    def snapshot(self, previous: Snapshot | None = None) -> Snapshot:
        """The stopped machine as frozen data; `previous` decides what counts as changed.

        >>> snapshot = session.snapshot()
        >>> [(w.sm, w.slot, w.block, w.state) for w in snapshot.warps][:2]
        [(0, 0, (0, 0, 0), 'ready'), (0, 1, (0, 0, 0), 'ready')]
        """
        from gpudbg.debug.snapshot import take

        return take(self, (point.to_json() for point in self.breakpoints), previous)

    def execute(self, line: str) -> Any:
        """Carry out a console command and return its data.

        >>> [row["state"] for row in session.execute("info warps")][:3]
        ['ready', 'ready', 'ready']
        """
        return self.command(given_text(line, "line", "info warps")).data


KEPT = ("kernel", "program", "stop", "stops")
"""Attributes that stay after `DebugSession.close`."""


class ClosedSession(DebugSession):
    """What a session becomes when it is closed: whatever needs the machine is refused by name."""

    _refused: frozenset[str]
    _faulted: bool

    def close(self) -> None:
        """Nothing is left to do."""

    @property
    def closed(self) -> bool:
        """Whether `close` has ended it."""
        return True

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run."""
        return True

    @property
    def faulted(self) -> bool:
        """Whether the launch was ended by a warp error or a deadlock."""
        return self._faulted

    def __getattribute__(self, name: str) -> Any:
        own = name in ClosedSession.__dict__ or name in KEPT
        if own or (name.startswith("_")):
            return object.__getattribute__(self, name)
        if name in self._refused or hasattr(DebugSession, name):
            raise UsageError(
                f"the session of {self.kernel.name} is closed", "launch the kernel again"
            )
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return f"<closed session of {self.kernel.name}>"

    def _repr_html_(self) -> str:
        return html.heading(repr(self)[1:-1])


def session_html(live: DebugSession) -> str:
    """A session: what was launched, why it stands, and the code there."""
    head = repr(live)[1:-1]
    body = stop_html(live.stop) if live.stop is not None else ""
    return html.heading(head) + body + (code_html(live.warp()) if live.focus is not None else "")
