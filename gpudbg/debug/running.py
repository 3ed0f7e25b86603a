"""Running and stepping the machine of an inferior, and the stops this ends in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from gpudbg.debug.attached import Attached
from gpudbg.debug.breakpoints.gathering import Gathering
from gpudbg.debug.breakpoints.setting import BreakpointHits, Breakpoints
from gpudbg.debug.breakpoints.watched import lines_of
from gpudbg.debug.breakpoints.watchpoints import Watchpoints
from gpudbg.debug.focus.focus import Focus, first_lane
from gpudbg.debug.inferior import AGAIN
from gpudbg.debug.inlined import skipped_at_breakpoint
from gpudbg.debug.stops.maker import entry_stop, make_stop, opened_stop, with_card
from gpudbg.debug.stops.stop import EVERY_STOP, ExitStop
from gpudbg.debug.values.backtrace import call_depth
from gpudbg.debug.values.lane_groups import RUNNING, group_of
from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import uniform
from gpudbg.expr.types import I32
from gpudbg.sm.events import StopEvent, StopKind

if TYPE_CHECKING:
    from weakref import ref

    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.script.host import SessionHost
    from gpudbg.debug.stops.records import Trigger
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.debug.traps import SessionTraps
    from gpudbg.errors import UsageError
    from gpudbg.sm.grid import HangCheck
    from gpudbg.sm.state import WarpState


PATIENCE = 10_000
"""Instructions that other groups of a warp may execute while the focused lane's group waits for its
turn.
"""


EXIT_CODE_0 = uniform(0, I32)
"""$_exitcode of a kernel that has come to its end."""


class StopListener(Protocol):
    """Something notified of a stop before any front end."""

    def stopped(self) -> None:
        """The machine has stopped."""


class Runner(Attached["Inferior"]):
    """Runs and steps an inferior's machine, and makes the stop that each ends in.

    Attributes:
        breakpoints, watchpoints: what ends a run.
        gathering: how warps come together at a breakpoint.
        history: the launch's past, which is notified of a stop before any front end.
    """

    def __init__(
        self,
        inferior: Inferior,
        breakpoints: Breakpoints,
        watchpoints: Watchpoints,
        traps: SessionTraps,
        scripting: SessionHost,
    ) -> None:
        super().__init__(inferior)
        self.breakpoints, self.watchpoints = breakpoints, watchpoints
        self.gathering = Gathering(inferior, breakpoints, watchpoints)
        self._traps, self._scripting = traps, scripting
        self.history: ref[StopListener] | None = None

    @property
    def inferior(self) -> Inferior:
        """The inferior. Raises UsageError when it is gone."""
        return self._inferior

    # ---- whether it can run ------------------------------------------------------------
    def require_running(self) -> None:
        """Raise CommandError where nothing is left to run, or an error has ended the launch."""
        inferior = self._inferior
        inferior.require_launched()
        if inferior.finished:
            raise CommandError("the kernel has ended", AGAIN)
        if inferior.faulted and not (inferior.stop and inferior.stop.hang):
            raise CommandError("the machine is stopped by an error and cannot go on", AGAIN)

    def require_movable(self) -> None:
        """Raise CommandError where the focused warp cannot go on."""
        self._inferior.require_stopped()
        if self._inferior.faulted:
            self.require_running()

    # ---- running -----------------------------------------------------------------------
    def run(self, most: int | None, *, prove_hangs: bool = False, early: bool = False) -> Stop:
        """Run past breakpoints; see `DebugSession.run`.

        Args:
            prove_hangs: look for hangs although there is a limit; `early`: early and often, where
                instructions take long.
        """
        self.require_running()
        if (untold := self.untold()) is not None:
            return untold
        self._traps.running(stop_on_entry=False)
        check = self.hang_check() if most is None or prove_hangs else None
        if early:
            self._inferior.grid.expect_hangs()
        return self.end_run(self._inferior.grid.run(max_instructions=most, hang_check=check))

    def run_to_stop(self, max_instructions: int | None) -> Stop:
        """Run once until a breakpoint, a fault, the end, or `max_instructions`."""
        self.require_running()
        self._traps.running()
        points = self.breakpoints
        addresses = points.addresses()
        watching = self.watchpoints.arm()
        event = self.gathering.next_event()
        if event is None:
            # With an explicit limit no hang is looked for: a loop without progress ends at the
            # limit.
            check = self.hang_check() if max_instructions is None else None
            event = self._inferior.grid.run(
                breakpoints=addresses,
                accept=points.accepts if addresses else None,
                until=self.watchpoints.met if watching else None,
                selected=watching,
                max_instructions=max_instructions,
                hang_check=check,
                conditions=points.native_condition if addresses else None,
            )
        gathers = self._inferior.settings.shown("gather") == "on"
        if event.kind == "breakpoint" and gathers and self._inferior.grid.past is None:
            event = self.gathering.gather(event)
        return self.end_run(event)

    def hang_check(self) -> HangCheck | None:
        """The function by which the machine proves a hang during a run; None where it is not to
        look for one.
        """
        inferior = self._inferior
        if inferior.settings.shown("stop-on-hang") == "off":
            return None
        # Imported late: few runs last until the first look for a hang.
        from gpudbg.debug.stops.repeating import HangSearch

        return HangSearch(inferior)

    def untold(self) -> Stop | None:
        """The stop for an event that ended a gathering and is still to be reported, before all
        others.
        """
        event = self.gathering.untold()
        return None if event is None else self.end_run(event)

    def run_freely(self) -> None:
        """Carry out the debugger port's sequence before a free run."""
        self._traps.running()

    def step(self, count: int, scope: str, over: bool) -> Stop:
        """Execute instructions; see `DebugSession.step`."""
        inferior = self._inferior
        inferior.require_stopped()
        if (untold := self.untold()) is not None:
            return untold
        self.watchpoints.arm()
        event: StopEvent | None = None
        for _ in range(count):
            warp = inferior.focused()
            event = self._step_once(scope, over)
            if event.kind == "step" and self.watchpoints.met(warp if scope == "warp" else None):
                break
            if event.kind != "step" or inferior.finished or warp.status == "exited":
                break
            if self.breakpoints.stops_now(warp):
                return self.end_run(event, kind="breakpoint")
        assert event is not None
        return self.end_run(event)

    def _step_once(self, scope: str, over: bool) -> StopEvent:
        inferior = self._inferior
        if inferior.faulted:
            self.require_running()
        warp, grid = inferior.focused(), inferior.grid
        if scope != "warp":
            self._traps.running()
        if scope == "cta":
            return grid.step_cta(warp.cta)
        if scope == "sm":
            return grid.step_sm(warp.sm)
        if scope == "all":
            return grid.step_all()
        depth = call_depth(inferior, warp)
        through = self._traps.stepping(warp)
        event = self._step_group(warp, through)
        while over and event.kind == "step" and call_depth(inferior, warp) > depth:
            if self.watchpoints.met(warp):
                break
            event = self._step_group(warp, through)
        return event

    def _step_group(self, warp: WarpState, through: bool) -> StopEvent:
        """One instruction of the focused warp; from sm_70 on of the focused lane's group.

        Other groups of the warp run before, as the schedule has it, until it is that one's turn;
        for long the rest of the grid, too: they may wait for it.
        """
        grid, lane = self._inferior.grid, self._inferior.lane
        before, bit = grid.total, 1 << lane
        while True:
            own, left = group_of(warp, lane), grid.total - before
            if own is not None and own.state != RUNNING and left >= PATIENCE:
                return grid.run(until=lambda w: w is warp and bool(w.active & bit))
            event = grid.step_warp(warp, through=through)
            if own is None or own.state == RUNNING or event.kind != "step":
                return event
            now = group_of(warp, lane)
            if now is None or now.pc != own.pc or self.watchpoints.met(warp):
                return event
            if self.breakpoints.stops_now(warp):
                return replace(event, kind="breakpoint")

    def enter_inlined(self) -> Stop:
        """Step into the inlined call at the present pc: nothing runs, the frame changes."""
        inferior = self._inferior
        inferior.skipped_inline -= 1
        event = StopEvent("step", total=inferior.grid.total)
        return self._record(make_stop(inferior, "step", event))

    # ---- stops -------------------------------------------------------------------------
    def stand(self, trouble: UsageError | None = None) -> Stop:
        """The stop before the first instruction; without a launch nowhere.

        Args:
            trouble: why nothing can be launched.
        """
        inferior = self._inferior
        if not inferior.launched:
            inferior.stop = opened_stop(inferior, trouble)
            return inferior.stop
        warp = next(iter(inferior.grid.warps()), None)
        if warp is not None:
            inferior.focus = Focus(warp.sm, warp.slot, first_lane(warp.active))
        inferior.skipped_inline = 0
        return self._record(entry_stop(inferior))

    def adopt_entry(self, entry: Stop, focus: Focus | None) -> None:
        """Know of the stop before the first instruction, behind which the launch is already."""
        self._inferior.focus = focus
        self._note(entry)

    def adopt_end(self, stop: Stop) -> None:
        """Know of a run to the launch's end, whose stop its user has seen."""
        self._traps.stopped()
        history = None if self.history is None else self.history()
        if history is not None:
            history.stopped()
        self._inferior.focus = None
        self._note(stop)

    def end_run(
        self,
        event: StopEvent,
        kind: StopKind | None = None,
        skips: Callable[[], int] = lambda: 0,
    ) -> Stop:
        """Turn a machine event into the inferior's stop, and move the focus to what it is about.

        Args:
            skips: how many inlined calls a step that arrived has not entered.
        """
        kind = kind or event.kind
        self._traps.stopped()
        history = None if self.history is None else self.history()
        if history is not None:
            history.stopped()
        seen = self.watchpoints.take()
        if kind == "step" and seen:
            kind, event = "breakpoint", self._watch_stop(event, seen)
        self._move_focus(event, kind)
        met = self.breakpoints.met if kind == "breakpoint" else BreakpointHits()
        hits = tuple(met.hits)
        arrived = self.gathering.take_arrived()
        if hits and not seen and not arrived[0]:
            arrived = (1, met.lanes.bit_count())
        if hits:
            event = replace(event, detail=(*event.detail, *met.notes))
        points = [self.breakpoints.get(number) for number in hits]
        watched = bool(points) and points[0].watch is not None
        self._inferior.skipped_inline = self._skipped(kind, skips)
        stop = make_stop(self._inferior, kind, event, hits, arrived, watched, seen if hits else ())
        self._scripting.stopped_at(points)
        self._forget(points, seen)
        return self._record(stop)

    def _skipped(self, kind: StopKind, skips: Callable[[], int]) -> int:
        """How many inlined calls at the pc have not been entered yet, at a stop of this kind."""
        inferior = self._inferior
        if inferior.focus is None or kind not in ("breakpoint", "step"):
            return 0
        if kind == "step":
            return skips()
        pc = inferior.focused().pc
        return skipped_at_breakpoint(inferior.symbols, self.breakpoints.at(pc), pc)

    def _forget(self, points: list[Breakpoint], seen: tuple[Trigger, ...]) -> None:
        """Delete temporary breakpoints that were met, and watchpoints whose frame was left."""
        gone = {row.number for row in points if row.temporary}
        for number in gone | {trigger.number for trigger in seen if trigger.over}:
            self.breakpoints.remove(number)

    def _watch_stop(self, event: StopEvent, seen: tuple[Trigger, ...]) -> StopEvent:
        """The event of a run or step that a watchpoint ended; moves the focus to the lane that
        touched the place.
        """
        inferior, first = self._inferior, seen[0]
        inferior.focus = Focus(first.sm, first.warp, first.lane)
        hits, notes = [trigger.number for trigger in seen], self.watchpoints.notes
        self.breakpoints.met = BreakpointHits(hits, notes, lane=first.lane)
        lines = [line for trigger in seen for line in lines_of(trigger)]
        symbols = inferior.symbols
        if not first.over:
            lines.append(f"by {symbols.describe_line(symbols.pc(first.pc))}")
        return replace(event, detail=(*event.detail, *lines))

    def _record(self, stop: Stop) -> Stop:
        inferior = self._inferior
        inferior.stop = stop
        if stop.failed and (line := inferior.record_failure()):
            stop = with_card(inferior, replace(stop, recorded=line))
        self._note(stop)
        for listener in EVERY_STOP:
            listener(stop)
        return stop

    def _note(self, stop: Stop) -> None:
        """A stop that the user sees."""
        inferior = self._inferior
        inferior.stop = stop
        inferior.frame_level = 0
        inferior.list_state = None
        inferior.stops.append(stop)
        if inferior.finished and not stop.faulted:
            inferior.variables["$_exitcode"] = EXIT_CODE_0

    def program_finished(self, message: str) -> Stop:
        """The stop after the last launch of a host program."""
        inferior = self._inferior
        inferior.focus, inferior.killed = None, True
        return self._record(ExitStop(message, kernel=inferior.kernel.name))

    def adopt(self) -> None:
        """Forget everything under way: the inferior has been moved to another place of its
        launch.
        """
        self._traps.attach()
        self._traps.driver.adopt()
        self.gathering.forget()
        self.watchpoints.take()

    def stands_after_step(self) -> None:
        """Note that the inferior stands where a step ended."""
        self._traps.driver.stands_after_step()

    # ---- focus -------------------------------------------------------------------------
    def _move_focus(self, event: StopEvent, kind: StopKind) -> None:
        """Move the focus to the warp and lane that a stop is about."""
        inferior = self._inferior
        focus = inferior.focus
        if kind == "breakpoint":
            lane = self.breakpoints.met.lane
            if event.kind == "breakpoint":
                assert event.sm is not None
                assert event.warp is not None
                inferior.focus = Focus(event.sm, event.warp, lane)
            elif focus is not None:
                inferior.focus = Focus(focus.sm, focus.warp, lane)
        elif event.sm is not None and event.warp is not None and kind != "step":
            inferior.focus = Focus(event.sm, event.warp, event.lane or 0)
        self._repair_focus()

    def _repair_focus(self) -> None:
        """Move the focus to the nearest remaining warp, where the focused one ended during the
        run.
        """
        inferior = self._inferior
        grid, focus = inferior.grid, inferior.focus
        if focus is not None and focus.sm < len(grid.sms):
            # Check the focused warp only: this runs at every step, and a scan of all warps would
            # dominate it.
            warp = grid.sms[focus.sm].warps[focus.warp]
            if warp is not None and warp.status != "exited":
                if not warp.valid >> focus.lane & 1:
                    inferior.focus = Focus(warp.sm, warp.slot, first_lane(warp.active))
                return
        resident = next((w for w in grid.warps() if w.status != "exited"), None)
        inferior.focus = (
            Focus(resident.sm, resident.slot, first_lane(resident.active)) if resident else None
        )
