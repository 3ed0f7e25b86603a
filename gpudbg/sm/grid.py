"""Run control of one launch: advance some warps, return one `StopEvent`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from gpudbg.bits import lanes_of
from gpudbg.errors import UsageError
from gpudbg.formats.program import CodeImage, Kernel
from gpudbg.mem.constant import ConstantBanks
from gpudbg.sm import record as rec
from gpudbg.sm.barriers.step import warp_exited
from gpudbg.sm.clusters.cluster import waiting_at_cluster
from gpudbg.sm.conditions import Conditions
from gpudbg.sm.counters import Counters
from gpudbg.sm.engines.contract import (
    AtBreakpoint,
    NeedsStep,
    Pause,
    Request,
    WarpEngine,
    WarpExited,
)
from gpudbg.sm.engines.step import NO_TURN, StepEngine
from gpudbg.sm.events import StopEvent, StopKind, WarpFault
from gpudbg.sm.faults import TrapRaised, WarpErrorRaised
from gpudbg.sm.hang_checks import HangChecks
from gpudbg.sm.launch import Dim, LaunchConfig
from gpudbg.sm.launched import Launched
from gpudbg.sm.moves import CutStep, MoveListener, RecordedOrder
from gpudbg.sm.observer import Observers
from gpudbg.sm.reports import fault_of, merged
from gpudbg.sm.schedule.step import Schedule
from gpudbg.sm.state import Cta, WarpState
from gpudbg.sm.trace import BATCHED, Trace
from gpudbg.sm.trap.flow import TrapFlow
from gpudbg.sm.trap.handler import Handler
from gpudbg.sm.trap.handler import install as place_handler

if TYPE_CHECKING:
    from gpudbg.mem.device import Allocation
    from gpudbg.sm.gpu import Gpu

_NO_SKID = frozenset(("EXIT", "BAR", "BPT", "RTT", "IDE", ""))
"""Mnemonics at which an imprecise error is reported at the latest."""

_WAITING = (rec.AT_BARRIER, rec.AT_CLUSTER)
"""Statuses of warps that other warps can release."""

STEP_SLICE = 1024
"""Instructions between two checks of the interrupt flag while one warp is stepped."""
RELEASE_ATTEMPT = 100_000
"""Instructions a barrier's CTA gets alone before the whole grid runs to release a stepped warp."""

Accept = Callable[[WarpState], bool]
HangCheck = Callable[[int], tuple[WarpState, tuple[str, ...]] | None]


Arguments = ParamSpec("Arguments")


def _advances(
    method: Callable[Concatenate[Grid, Arguments], StopEvent],
) -> Callable[Concatenate[Grid, Arguments], StopEvent]:
    """Decorator of methods that advance a grid: logs the move where there is a log, and flushes
    observers' batches at its end.  A grid in its past lets its recorded order carry the move out
    instead.
    """
    kind = method.__name__

    @functools.wraps(method)
    def call(grid: Grid, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> StopEvent:
        if grid.past is not None:
            return grid.past.carry_out(kind, args, kwargs)
        log = grid.log
        move = None if log is None else log.begin(kind, args, kwargs)
        event: StopEvent | None = None
        try:
            event = method(grid, *args, **kwargs)
            return event
        finally:
            if (trace := grid.launched.trace) is not None:
                trace.flush()
            if log is not None and move is not None:
                log.end(move, event)

    return call


class Grid:
    """One launch: resident CTAs, waiting CTAs, and the methods that advance them.

    Attributes:
        gpu: the `Gpu` it runs on.
        launched: the state that it shares with its engines.
        sms: the SMs; `sm.warps[slot]` is a warp or None.
        engine: executes one warp.
        fast: runs all warps in compiled code; None where only the step engine runs.
        faults: warp errors so far, in order.
        traps: status words, and the trap handler if there is one.
        flow: what a run does about traps.
        counters: performance counters to keep, where the program reads one.
        owned: device memory that goes with the launch.
        log: notes what the launch is made to do; None: nobody will go back.
        past: carries moves out while the launch stands before its present.
        limit: warp instructions of the launch at which every method stops with kind `limit`.
        cut: where a step of one warp was cut off there; the next one goes on with it.
    """

    def __init__(self, gpu: Gpu, launched: Launched, engine: StepEngine) -> None:
        self.gpu: Gpu = gpu
        self.launched = launched
        self.engine = engine
        self.faults: list[WarpFault] = []
        self.fast: WarpEngine | None = None
        self.traps = launched.traps
        self._residency = launched.residency
        self.sms = launched.sms
        self._interrupt = threading.Event()
        self._started = False
        self._halted: list[WarpState] = []
        self.flow = TrapFlow(self, launched.traps)
        self.counters: Counters | None = None
        self.owned: list[Allocation] = []
        self.log: MoveListener | None = None
        self.past: RecordedOrder | None = None
        self._pause: int | None = None
        self.limit: int | None = None
        self.cut: CutStep | None = None

    # ---- looking -----------------------------------------------------------------------

    @property
    def config(self) -> LaunchConfig:
        """Kernel, dimensions and sizes."""
        return self.launched.config

    @property
    def code(self) -> CodeImage:
        """The program at its code addresses; pcs are addresses in it."""
        return self.launched.code

    @property
    def schedule(self) -> Schedule:
        """The schedule: which warp runs next."""
        return self.launched.schedule

    @property
    def _hang_checks(self) -> HangChecks:
        """When the run is checked for a hang."""
        return self.launched.hang_checks

    @property
    def total(self) -> int:
        """Warp instructions issued since launch."""
        return self.launched.total

    @property
    def trace(self) -> Trace | None:
        """Instructions and accesses not yet handed to observers who take them in batches."""
        return self.launched.trace

    @property
    def kernel(self) -> Kernel:
        """The kernel that was launched."""
        return self.config.kernel

    @property
    def grid(self) -> Dim:
        """CTAs in x, y, z."""
        return self.config.grid

    @property
    def block(self) -> Dim:
        """Threads of a CTA in x, y, z."""
        return self.config.block

    @property
    def finished(self) -> bool:
        """Every CTA has ended."""
        return self.launched.finished

    @property
    def ctas_done(self) -> int:
        """CTAs that have finished."""
        return self._residency.finished_ctas

    @property
    def ctas_waiting(self) -> int:
        """CTAs that have not begun."""
        return self._residency.waiting

    @property
    def entry(self) -> int:
        """Code address where warps begin."""
        return self.launched.code.program.layout.first(self._residency.entry)

    @property
    def interrupted(self) -> bool:
        """Whether `interrupt` was called and no method has returned for it yet."""
        return self._interrupt.is_set()

    def warps(self) -> Iterator[WarpState]:
        """Resident warps by (sm, slot), exited ones of unfinished CTAs included."""
        return iter(self._residency.ring)

    def warp(self, sm: int, slot: int) -> WarpState:
        """The resident warp at hardware coordinates.

        Raises:
            UsageError: there is none.
        """
        if 0 <= sm < len(self.sms) and 0 <= slot < len(self.sms[sm].warps):
            found = self.sms[sm].warps[slot]
            if found is not None:
                return found
        raise UsageError(f"no warp {slot} on SM {sm}")

    def ctas(self) -> Iterator[Cta]:
        """Resident CTAs by (sm, slot)."""
        return self._residency.ctas()

    def find_block(self, block: Dim) -> Cta | None:
        """The resident CTA with these coordinates; None: waiting or finished."""
        return next((cta for cta in self.ctas() if cta.block == block), None)

    def barrier_words(self, warp: WarpState) -> str:
        """What a waiting warp waits for: "waits at barrier 1: 32 of 64 threads arrived"."""
        number = warp.barrier
        if number is None and waiting_at_cluster(warp):
            arrived, expected = warp.cta.cluster.arrived()
            return f"waits for its cluster: {arrived} of {expected} warps arrived"
        if number is None:
            return ""
        arrived, expected = warp.cta.barriers.slots[number].arrived, warp.cta.expected(number)
        return f"waits at barrier {number}: {arrived} of {expected} threads arrived"

    # ---- advancing ---------------------------------------------------------------------

    @_advances
    def step_warp(
        self,
        warp: WarpState,
        count: int = 1,
        until: Callable[[WarpState], bool] | None = None,
        through: bool = False,
    ) -> StopEvent:
        """Execute `count` instructions of one warp; others stand still.

        Ends early with any other stop kind than `step`, when the warp exits, and when `until`,
        called after each of its instructions, is true.  A warp that waits at a barrier first
        lets other warps run until it is released (kind `deadlock` if that cannot be).

        In single-step mode every instruction outside the trap handler takes the warp into the
        handler, where there is one; `through` then runs it until it leaves that or pauses.
        """
        before = self._begin()
        done = 0
        trap = self.sms[warp.sm].trap
        cut, self.cut = self.cut, None
        while done < count and warp.words[rec.STATUS] != rec.DONE:
            stepping = trap.stepping and not warp.in_trap
            if cut is not None and cut.acted:
                event, yields, done = None, not cut.handling, done + 1
            else:
                event = self._await_release(warp, before, cut)
                if event is not None:
                    return event
                executed, cut = warp.executed, None
                size = 1 if stepping else min(count - done, STEP_SLICE)
                event = self._advance(warp, size, before, None, until)
                done += warp.executed - executed
                yields = self.engine.polled or self.engine.yielded
            if event is None and yields:
                event = self._others_run(warp, before, cut)
            handling, cut = cut is not None and cut.handling, None
            if event is None and handling:
                event = self._handle(warp, before)
            elif event is None and stepping and warp.words[rec.STATUS] != rec.DONE:
                event = self._step_done(warp, before, through)
            if event is not None:
                return event
            self.tick()
            if self._interrupted():
                return self.event("interrupted", warp, before)
        if self.finished:
            return self.event("exited", None, before)
        return self.event("step", warp, before)

    @_advances
    def run_warp(
        self,
        warp: WarpState,
        count: int,
        breakpoints: Collection[int] = (),
        until: Callable[[WarpState], bool] | None = None,
    ) -> StopEvent:
        """Up to `count` instructions of one ready warp alone, to the next breakpoint pc.

        The kind is `step` when nothing else ended it; the pc it begins at is not looked up.
        """
        before = self._begin()
        stepping = self.sms[warp.sm].trap.stepping and not warp.in_trap
        stops = frozenset(breakpoints) or None
        event = self._advance(warp, 1 if stepping else count, before, stops, until)
        if stepping and (event is None or event.kind == "step"):
            event = self._stepped(warp, before) or event
        if event is None and self._interrupted():
            event = self.event("interrupted", warp, before)
        return event or self.event("step", warp, before)

    def _step_done(self, warp: WarpState, before: int, through: bool) -> StopEvent | None:
        """Finish a single step; with `through` run the handler to its end."""
        if not self.flow.completed(warp):
            return None
        if not through:
            entered = ["in the trap handler: a completed single step"]
            return replace(self.event("trap", warp, before, entered), counted=True)
        return self._handle(warp, before)

    def _handle(self, warp: WarpState, before: int) -> StopEvent | None:
        """Run the handler until the warp leaves it."""
        while warp.in_trap and warp.words[rec.STATUS] == rec.READY:
            event = self._advance(warp, STEP_SLICE, before)
            if event is None and self._interrupted():
                event = self.event("interrupted", warp, before)
            if event is not None:
                if event.kind == "limit":
                    self.cut = CutStep(True, handling=True)
                return event
        return None

    @_advances
    def step_cta(self, cta: Cta) -> StopEvent:
        """One instruction of every ready warp of the CTA, by slot."""
        return self._step_each(cta.warps)

    @_advances
    def step_sm(self, sm: int) -> StopEvent:
        """One instruction of every ready warp of the SM, by slot."""
        return self._step_each(list(self.sms[sm].resident()))

    @_advances
    def step_all(self) -> StopEvent:
        """One instruction of every ready warp of every SM, by (sm, slot)."""
        return self._step_each(self._residency.ring)

    def expect_hangs(self) -> None:
        """Have runs check early and often for a hang."""
        self._hang_checks.sooner()

    def follow(self) -> None:
        """For a hang check: have it called at the end of the next turn, too."""
        self._hang_checks.follow(self.total)

    @_advances
    def run(
        self,
        *,
        breakpoints: Collection[int] = (),
        accept: Accept | None = None,
        until: Callable[[WarpState], bool] | None = None,
        selected: bool = False,
        max_instructions: int | None = None,
        hang_check: HangCheck | None = None,
        conditions: Conditions | None = None,
    ) -> StopEvent:
        """Run by the schedule to a stop.

        Args:
            breakpoints: pcs; the stop is before the instruction.  A warp that already stopped
                at its present instruction does not stop there again.
            accept: called at a breakpoint pc with the warp; False lets it run on (conditions,
                ignore counts).  Must not run the grid.
            until: called after every instruction with the warp that executed it; True stops
                with kind `step`.
            selected: `until` can become true only by what observers have selected: compiled code
                runs what cannot touch it.
            conditions: of a breakpoint's pc, the condition under which `accept` would say yes.
            max_instructions: stop with kind `limit` after this many.
            hang_check: called now and then, at the same places on every engine, where no CTA
                has ended for long, with how often it was; the warp and the words of a hang if it
                proves one, which then ends the run with kind `deadlock`.  Must not run the grid.

        Raises:
            ModelGap: an instruction or register without semantics; the warp stands at it.
        """
        before = self._begin()
        stops = frozenset(breakpoints) or None
        last = None if max_instructions is None else before + max_instructions
        fast = self._fast_engine() if until is None or selected else None
        self._pause = None if self.log is None else self.log.next_pause()
        return self._run_to(last, before, fast, stops, accept, until, hang_check, conditions)

    def _run_to(
        self,
        last: int | None,
        before: int,
        fast: WarpEngine | None,
        stops: frozenset[int] | None,
        accept: Accept | None,
        until: Callable[[WarpState], bool] | None,
        hang_check: HangCheck | None,
        conditions: Conditions | None,
    ) -> StopEvent:
        """Run to a stop, or to a total of instructions."""
        while True:
            self.tick()
            if self._interrupted():
                return self.event("interrupted", self.schedule.warp, before)
            if fast is not None and not self.unread() and self._ready(fast):
                check = None if hang_check is None else self._hang_checks.at
                soon = min((at for at in (check, self._pause) if at is not None), default=None)
                request = Request(stops or frozenset(), conditions, last, soon)
                stopped = self._run_compiled(fast, request, accept, until, before)
                if stopped is not None:
                    return stopped
                if self.finished:
                    return self.event("exited", None, before)
            if self.unread():
                self._listen()
                continue
            if (
                hang_check is not None
                and self.total >= self._hang_checks.at
                and self.schedule.between
            ):
                looks = self._hang_checks
                due = looks.followed() or looks.due(self.total, self.ctas_done)
                found = hang_check(self._hang_checks.times) if due else None
                if found is not None:
                    return replace(self.event("deadlock", found[0], before, found[1]), hang=True)
                continue
            warp = self.schedule.next(self._residency.ring)
            if warp is None:
                if self.fill():
                    continue
                return self._idle(before)
            if last is not None and self.total >= last:
                return self.event("limit", warp, before)
            if self._passes_pause():
                continue
            if stops and self.meets(warp, stops, accept):
                return self.event("breakpoint", warp, before)
            stepping = self.sms[warp.sm].trap.stepping and not warp.in_trap
            count = NO_TURN if last is None else last - self.total
            event = self._advance(
                warp, 1 if stepping else count, before, stops, until, self.schedule.left
            )
            if stepping and (event is None or event.kind == "step"):
                # Also where `until` ends the run here: the instruction is complete.
                event = self._stepped(warp, before) or event
            if event is not None:
                return event

    def _passes_pause(self) -> bool:
        """Notify the log once a run has passed its pause. Returns whether it did so now."""
        log = self.log
        if log is None or self._pause is None or self.total < self._pause:
            return False
        log.paused()
        self._pause = log.next_pause()
        return True

    def _ready(self, fast: WarpEngine) -> bool:
        """Whether there is compiled code to run; waits for code that is nearly ready."""
        if not fast.ready():
            while fast.compiling():
                self.tick()
                if self._interrupt.is_set():
                    return False
            if not fast.ready():
                return False
        if not self.launched.marking and self.engine.written is not None:
            # Compiled code does not mark what it stores.
            self.engine.written = None
            self.gpu.memory.lose_marks()
        return True

    def _run_compiled(
        self,
        fast: WarpEngine,
        request: Request,
        accept: Accept | None,
        until: Callable[[WarpState], bool] | None,
        before: int,
    ) -> StopEvent | None:
        """Run compiled code. Returns the event that ends the run; None: the step engine
        continues.
        """
        due = self._hang_checks.at
        try:
            while True:
                reason = fast.advance(request)
                match reason:
                    case Pause.HAND_OVER | Pause.FINISHED:
                        return None
                    case Pause.TICK:
                        pass
                    case Pause.VACANT:
                        self.fill()
                    case WarpExited(warp):
                        self.warp_done(warp)
                    case AtBreakpoint(warp):
                        if self.meets(warp, request.stops, accept):
                            return self.event("breakpoint", warp, before)
                    case NeedsStep(warp, count):
                        left = self.schedule.left
                        event = self._advance(warp, count, before, request.stops, until, left)
                        if event is not None:
                            return event
                        if self.total >= self._hang_checks.at < due:
                            # Many polls in a row made the next hang check due early.
                            return None
                if self.unread():
                    return None
                self.tick()
                if self._interrupted():
                    return self.event("interrupted", self.schedule.warp, before)
        finally:
            for warp in fast.suspend():
                self.warp_done(warp)

    def interrupt(self) -> None:
        """Ask a running method to stop with kind `interrupted`; safe from any thread or signal."""
        self._interrupt.set()
        if self.fast is not None:
            self.fast.ask_to_stop()

    def note_edit(self) -> None:
        """Count a change from outside to state other than device memory, made or about to be
        made.
        """
        self._residency.edits.count += 1

    @property
    def edits(self) -> int:
        """Number of changes from outside to state other than device memory."""
        return self._residency.edits.count

    def forget_interrupt(self) -> None:
        """Drop an `interrupt` that no method has returned for."""
        self._interrupt.clear()

    def install(self, handler: Handler) -> None:
        """Place a trap handler for this launch; warps in an earlier one keep running that."""
        placed = place_handler(
            handler, self.code, self.gpu.memory, self.config.registers, len(self.sms)
        )
        launched = self.launched
        self.traps.handler = placed
        self.owned += placed.owned
        launched.code = placed.image
        self.engine.replace_code(placed.image)
        if self.fast is not None and not self.total:
            self.fast.renew()
        launched.handler_banks = ConstantBanks({**launched.constants.banks, **placed.banks})

    def keep_counters(self) -> bool:
        """Keep performance counters unless uncounted instructions have passed. Returns whether they
        are kept.
        """
        counters = self.engine.sregs.machine.counters
        if self.counters is None and counters is not None and self.total == 0:
            resident = [warp for sm in self.sms for warp in sm.resident()]
            for warp in resident:
                counters.warp_begin(warp)
            for cta in {id(warp.cta): warp.cta for warp in resident}.values():
                counters.cta_begin(cta)
            self.counters = counters
        return self.counters is not None

    @property
    def watched_only(self) -> bool:
        """Every observer promises to change nothing."""
        return all(member.looks_only for member in self.launched.observers.members)

    def begin_again(self) -> None:
        """Reset run control after a completed run in compiled code (`sm.repeated`)."""
        self.launched.hang_checks = HangChecks()
        self._interrupt.clear()
        self._pause = self.limit = None

    def let_go(self) -> None:
        """Drop references to those who ran it: it waits for `begin_again`."""
        self.log = None
        self.traps.on_event = lambda sm, text: None
        self.flow.stop_on_entry = True

    def abandon(self) -> None:
        """Abandon the launch: remove all CTAs and begin none."""
        self._residency.clear()

    def dispose(self) -> None:
        """Take the launch apart once it runs no more, so that its memory is free at once:
        its parts keep one another.
        """
        self._residency.dispose()
        self._halted.clear()
        for allocation in self.owned:
            if not allocation.freed:
                self.gpu.memory.free(allocation)
        self.owned.clear()
        self.log = self.past = None
        self.schedule.warp = None
        self.traps.on_event = lambda sm, text: None
        self.engine.let_go()
        self.launched.observers = Observers()
        self.launched.trace = None
        if self.fast is not None:
            self.fast.dispose()
            self.fast = None
        if hasattr(self, "flow"):
            del self.flow

    # ---- the pieces of a run -----------------------------------------------------------

    def start(self) -> None:
        """Place the first CTAs; runs do it by themselves."""
        if not self._started:
            self._started = True
            if self.counters is not None:
                launched = self.launched
                launched.observers = launched.observers.with_added(self.counters)
            self.fill()

    def observed(self, event: str | None = None) -> bool:
        """Whether there are observers: at all, or of one event."""
        return self.launched.observed(event)

    def tick(self) -> None:
        """Report progress of a run."""
        if self.gpu.on_progress is not None:
            self.gpu.on_progress(self)

    def _fast_engine(self) -> WarpEngine | None:
        """The run engine, where this launch has one and no observer needs single instructions."""
        observers = self.launched.observers
        if self.fast is None or observers.steps or self.traps.needs_step_engine:
            return None
        stepped = observers.selecting and observers.selection().stepped
        return None if stepped else self.fast

    def _begin(self) -> int:
        """Set up for a run: first CTAs placed, stopped warps ready again; the total so far."""
        if not self._started:
            self.start()
        self._listen()
        for warp in self._halted:
            if warp.words[rec.STATUS] in (rec.TRAPPED, rec.FAULTED):
                warp.words[rec.STATUS] = rec.READY
                self.traps.resumed(warp)
        self._halted.clear()
        return self.launched.total

    def unread(self) -> bool:
        """Whether the last observer of batches left during a run."""
        trace = self.launched.trace
        if trace is None:
            return False
        hooks = self.gpu.observers.hooks
        return not any(hooks[kind] for kind in trace.kinds)

    def _listen(self) -> None:
        """Take over the present set of observers."""
        observers = self.gpu.observers
        if self.counters is not None:
            observers = observers.with_added(self.counters)
        elif observers is self.launched.observers and not observers.members:
            return
        kinds = tuple(event for event in BATCHED if observers.hooks[event])
        trace = self.trace if kinds else None
        if kinds and (trace is None or trace.kinds != kinds):
            trace = Trace(kinds, self.gpu.layout)
        if trace is not None:
            observers = Observers(observers.members, trace)
        self.launched.trace, self.launched.observers = trace, observers
        self.engine.observers = observers if observers.members else None

    def _advance(
        self,
        warp: WarpState,
        count: int,
        before: int,
        stops: Collection[int] | None = None,
        until: Callable[[WarpState], bool] | None = None,
        turn: int = NO_TURN,
    ) -> StopEvent | None:
        """Execute instructions of a ready warp. Returns the event that ended it, or None."""
        executed = warp.executed
        launched = self.launched
        if (room := self.schedule.room) is not None:
            count = min(count, room)
        if self.limit is not None:
            count = min(count, self.limit - launched.total)
            if count <= 0:
                return self.event("limit", warp, before)
        if launched.handler_banks is not None:
            banks = launched.handler_banks if warp.in_trap else launched.constants
            self.engine.constants = banks
        try:
            outcome = self.engine.run(warp, self.sms[warp.sm], count, stops, until, turn)
        finally:
            spent = warp.executed - executed
            launched.total += spent
            self.schedule.spend(warp, spent)
            if turn != NO_TURN:
                engine = self.engine
                self.schedule.settle(engine.turn_over, engine.polled or engine.yielded)
                if engine.turn_over or warp.words[rec.STATUS] != rec.READY:
                    # Otherwise compiled code continues the turn, or the step that stopped in its
                    # middle.
                    self._hang_checks.polled(engine.polled, self.total)
        if warp.words[rec.STATUS] == rec.DONE:
            self.warp_done(warp)
        if outcome == "until":
            return self.event("step", warp, before)
        if outcome not in ("fault", "trap"):
            return None
        counted = warp.executed
        event = self._faulted(warp, before) if outcome == "fault" else self._trapped(warp, before)
        if event is None and until is not None and warp.executed > counted and until(warp):
            # The handler's unit completed this instruction, so the engine has not passed it to
            # `until`.
            return self.event("step", warp, before)
        return event

    def _stepped(self, warp: WarpState, before: int) -> StopEvent | None:
        """Apply single-step mode after an instruction of code outside the handler."""
        if warp.words[rec.STATUS] == rec.DONE or not self.flow.completed(warp):
            if self.traps.handler is not None:
                return None
            return self.event("step", warp, before)
        return self.flow.entered(warp, before, "a completed single step")

    def meets(self, warp: WarpState, stops: Collection[int], accept: Accept | None) -> bool:
        """Whether the warp stops at its breakpoint now; each arrival is considered once."""
        if warp.pc not in stops or warp.shown == warp.executed:
            return False
        warp.shown = warp.executed
        return accept is None or accept(warp)

    def _step_each(self, warps: Iterable[WarpState]) -> StopEvent:
        before = self._begin()
        return self.step_round([w for w in warps if w.words[rec.STATUS] == rec.READY], before)

    def step_round(self, ready: list[WarpState], before: int) -> StopEvent:
        """One instruction of each of some warps; `before`: the total when the step began."""
        stopped: list[StopEvent] = []
        for warp in ready:
            event = self._advance(warp, 1, before)
            if event is not None:
                stopped.append(event)
                if event.kind != "warp_error":
                    break
        if stopped:
            return merged(stopped)
        if not ready or self.finished:
            return self._idle(before)
        return self.event("step", ready[0], before)

    def _others_run(
        self, warp: WarpState, before: int, cut: CutStep | None = None
    ) -> StopEvent | None:
        """Give every other warp a turn, since a stepped warp polls or yields. Returns an event that
        ended one, or None.

        Args:
            cut: where this was cut off, to go on there.
        """
        others, count = list(self._residency.ring), self.schedule.quantum
        if cut is not None:
            others, count = list(cut.others), cut.left
        for n, other in enumerate(others):
            if other is warp or other.words[rec.STATUS] != rec.READY:
                continue
            event, left = self._turn(other, count, before)
            if event is not None:
                if event.kind == "limit":
                    self.cut = CutStep(True, tuple(others[n:]), left, 0)
                return event
            count = self.schedule.quantum
        return None

    def _await_release(self, warp: WarpState, before: int, cut: CutStep | None) -> StopEvent | None:
        """Let others run until a waiting warp leaves its barrier. Returns an event if it cannot."""
        if cut is not None or warp.words[rec.STATUS] in _WAITING:
            event = self._release(warp, before, cut)
            if event is not None:
                return event
        if warp.words[rec.STATUS] == rec.STUCK:
            return self.event("deadlock", warp, before, self._waiting())
        return None

    def _release(
        self, warp: WarpState, before: int, cut: CutStep | None = None
    ) -> StopEvent | None:
        """Run others until a warp leaves its barrier. Returns an event if it cannot.

        Args:
            cut: where this was cut off, to go on there.
        """
        spent = 0 if cut is None else cut.spent
        other: WarpState | None
        while cut is not None or warp.words[rec.STATUS] in _WAITING:
            if cut is not None:
                other, count, cut = cut.others[0], cut.left, None
            else:
                other, count = self._releasing(warp, spent), self.schedule.quantum
            if other is None:
                return self.event("deadlock", warp, before, self._waiting())
            executed = other.executed
            event, left = self._turn(other, count, before)
            spent += other.executed - executed
            if event is None and self._interrupted():
                event = self.event("interrupted", warp, before)
            if event is not None:
                if event.kind == "limit":
                    self.cut = CutStep(False, (other,), left, spent)
                return event
        return None

    def _releasing(self, warp: WarpState, spent: int) -> WarpState | None:
        """The warp to run next so that another leaves its barrier, after `spent` instructions of
        others.
        """
        alone = spent < RELEASE_ATTEMPT and warp.words[rec.STATUS] == rec.AT_BARRIER
        if not alone:
            return self.schedule.next(self._residency.ring)
        return next((w for w in warp.cta.warps if w.words[rec.STATUS] == rec.READY), None)

    def _turn(self, other: WarpState, count: int, before: int) -> tuple[StopEvent | None, int]:
        """Another warp's turn while one is stepped: an event that ends it, and instructions that
        are left of it where that is `limit`."""
        executed = other.executed
        event = self._advance(other, count, before)
        left = count - (other.executed - executed)
        over = event is not None or self.limit is None or self.total < self.limit
        if not over and left and other.words[rec.STATUS] == rec.READY:
            if not self.engine.turn_over:
                event = self.event("limit", other, before)
        return event, left

    def halt(self, warp: WarpState, status: int) -> None:
        """Halt a warp until the next run or step."""
        warp.words[rec.STATUS] = status
        self._halted.append(warp)

    def warp_done(self, warp: WarpState) -> None:
        """Handle a warp's exit: its barriers, its CTA, its SM."""
        cta = warp.cta
        self.launched.observers.emit("warp_end", warp)
        warp_exited(cta)
        if not cta.live:
            self.launched.observers.emit("cta_end", cta)
            for following in self._residency.retire(cta):
                self._announce(following)

    def _announce(self, cta: Cta) -> None:
        for warp in cta.warps:
            self.launched.observers.emit("warp_begin", warp)
        self.launched.observers.emit("cta_begin", cta)

    def _interrupted(self) -> bool:
        if self._interrupt.is_set():
            self._interrupt.clear()
            return True
        return False

    # ---- events ------------------------------------------------------------------------

    def event(
        self,
        kind: StopKind,
        warp: WarpState | None,
        before: int,
        detail: Iterable[str] = (),
    ) -> StopEvent:
        """The event that ends a run, with the place of a warp."""
        total = self.launched.total
        executed = total - before
        if warp is None or (warp.words[rec.STATUS] == rec.DONE and kind == "interrupted"):
            return StopEvent(kind, executed=executed, total=total, detail=tuple(detail))
        lanes = lanes_of(warp.active)
        return StopEvent(
            kind,
            warp.sm,
            warp.slot,
            lanes[0] if lanes else 0,
            warp.pc,
            executed=executed,
            total=total,
            detail=tuple(detail),
        )

    def fill(self) -> bool:
        """Begin CTAs where there is room, at first and after some were given back; whether any."""
        placed = self._residency.fill() if self._residency.waiting else []
        for cta in placed:
            self._announce(cta)
        return bool(placed)

    def _idle(self, before: int) -> StopEvent:
        """The event when no warp is ready: the grid has finished, or what is left waits forever."""
        if self.finished:
            return self.event("exited", None, before)
        paused = next((w for w in self._residency.ring if w.words[rec.STATUS] == rec.TRAPPED), None)
        if paused is not None:
            event = self.event("trap", paused, before, ["every warp that can run is paused"])
            return replace(event, counted=True)
        waiting = next(w for w in self._residency.ring if w.words[rec.STATUS] != rec.DONE)
        return self.event("deadlock", waiting, before, self._waiting())

    def _waiting(self) -> list[str]:
        """Lines about every live warp that waits, and what its barriers hold."""
        lines = []
        for cta in self.ctas():
            lines += [f"block {cta.block}: {line}" for line in cta.barrier_words()]
            for warp in cta.live:
                state = self.barrier_words(warp) or warp.status
                waits = warp.status == "barrier"
                place = self.code.describe(
                    self.code.program.layout.before(warp.pc) if waits else warp.pc
                )
                lines.append(f"SM {warp.sm} warp {warp.slot}, block {cta.block}: {state}, {place}")
        return lines

    def _trapped(self, warp: WarpState, before: int) -> StopEvent | None:
        trap = self.engine.fault
        assert isinstance(trap, TrapRaised)
        return self.flow.trapped(warp, trap, before)

    def trap_stop(self, warp: WarpState, trap: TrapRaised, before: int) -> StopEvent:
        """The machine stops at a BPT, which has no effect when the warp goes on."""
        self.halt(warp, rec.TRAPPED)
        self.tell_trap(warp, trap)
        return self.event("trap", warp, before, [str(trap)])

    def tell_trap(self, warp: WarpState, trap: TrapRaised) -> None:
        """Tell the observers of a trap."""
        self.launched.observers.emit("trap", warp, trap.mode, trap.imm)

    def count_issued(self, warp: WarpState) -> None:
        """One more instruction of a warp, which the engine did not count."""
        self.sms[warp.sm].issued += 1
        self.launched.total += 1
        self.schedule.spend(warp, 1)

    def _faulted(self, warp: WarpState, before: int) -> StopEvent | None:
        error = self.engine.fault
        assert isinstance(error, WarpErrorRaised)
        return self.fault_stop(warp, error, before)

    def fault_stop(self, warp: WarpState, error: WarpErrorRaised, before: int) -> StopEvent | None:
        """A warp error: the handler is entered, or the machine stops."""
        origin = warp.pc
        lanes = lanes_of(error.lanes or self.engine.exec & warp.active or warp.active)
        if self.flow.is_late(warp, error):
            self._skid(warp)
        fault = fault_of(self.gpu.memory, self.code, warp, error, lanes, origin)
        self.faults.append(fault)
        self.launched.observers.emit("fault", warp, fault)
        entry = self.flow.faulted(warp, error, fault)
        if warp.words[rec.STATUS] == rec.DONE:
            self.warp_done(warp)
        if entry is not None:
            return self.flow.entered(warp, before, entry) if entry else None
        self.halt(warp, rec.FAULTED)
        return StopEvent(
            "warp_error",
            warp.sm,
            warp.slot,
            lanes[0],
            warp.pc,
            (fault,),
            self.total - before,
            self.total,
            (fault.detail,),
        )

    def _skid(self, warp: WarpState) -> None:
        """An imprecise error: the access counts as done without effect, and the warp goes on."""
        warp.quads[rec.EXECUTED] += 1
        self.count_issued(warp)
        warp.pc = self.flow.following(warp)
        for _ in range(self.traps.options.skid):
            if self.engine.mnemonic(warp.pc) in _NO_SKID:
                break
            executed = warp.executed
            outcome = self.engine.run(warp, self.sms[warp.sm], 1)
            spent = warp.executed - executed
            self.launched.total += spent
            self.schedule.spend(warp, spent)
            if outcome in ("fault", "trap", "blocked"):
                break
