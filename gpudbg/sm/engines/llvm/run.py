"""The run engine: runs warps in compiled code by the schedule, and returns where it needs help.

`RunEngine.advance` runs a launch until something needs attention, and returns what (`contract`).
While it is in a run, the state of the schedule, of barriers and of which CTA is where belongs to
compiled code (`schedule.compiled`); it is written back before the step engine executes an
instruction, as far as that can see it, and completely by `suspend`.  Registers, masks, stacks and
memory are shared all the time.

With several host threads each has some of the CTAs (`worker`).  Whatever needs Python stops all of
them at the ends of their turns; it is then handled as on one thread (policy `host-threads`).
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from gpudbg.mem.lanes import FULL
from gpudbg.mem.pages import address_of
from gpudbg.sm import record as rec
from gpudbg.sm.conditions import Condition, Conditions
from gpudbg.sm.engines.contract import (
    AtBreakpoint,
    EngineReport,
    ExitReason,
    NeedsStep,
    Pause,
    Request,
    WarpExited,
)
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.kernel.listing import indirect_entries
from gpudbg.sm.engines.llvm.launched_program import marked_spaces, program_for, traced
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.program import GOOD, QUICK, CompiledProgram
from gpudbg.sm.engines.llvm.threads import Ticker
from gpudbg.sm.engines.llvm.worker import Worker
from gpudbg.sm.engines.llvm.workers import Beginning, Workers
from gpudbg.sm.launched import Launched
from gpudbg.sm.selection import MOST_OWNERS, MOST_RANGES, NO_TESTS
from gpudbg.sm.state import WarpState

CALL = 4_000_000
"""Warp instructions of a thread's calls at the beginning of a run: tens of milliseconds."""
SOON = 0.02
"""Seconds after which a ticker ends calls (`threads.Ticker`), which costs something to start."""

NO_LIMIT = 1 << 62
ENOUGH = 8
"""Arrivals at a breakpoint whose condition does not hold, after which code tests it."""
SOME = 4096
"""Least warp instructions, of all threads together, that are worth a call."""
OFTEN = 32
"""If fewer warp instructions than this lie between two touches of selected places, the step engine
goes on for longer,
"""
MOST_DOUBLED = 8
"""doubling each time, at most this often."""
MOST_STEPPED = 32
"""Times that the step engine takes the place of code for any lanes that has yet to be made, where
whole warps are not as their code expects, or go on where it has no block (`kernel.seldom`): most
such accesses fault, and who stops at breakpoints does not wait for a compiler."""
MOST_ENTRIES = 4096
"""Most targets of computed branches added to a program."""


class RunEngine:
    """Compiled execution of one launch.

    Attributes:
        launched: the launch.
        program: its code.
        exits: pc of an instruction that was left for -> how often.
        workers: its CTAs as host threads have them.
    """

    def __init__(self, launched: Launched, entry: int, good: bool = True) -> None:
        """Args: good: compile well at once; else quickly, and well once that has run long."""
        self.launched = launched
        self.good = good
        self.entry = entry
        self.exits: Counter[int] = Counter()
        self._elsewhere = 0
        self._stops: frozenset[int] = frozenset()
        self._code = (0, 0, 0)
        self._entries = {entry}
        self._conditions: dict[int, Condition] = {}
        self._asked: Conditions | None = None
        self._refused: Counter[int] = Counter()
        self._tests = NO_TESTS
        self._numbers: np.ndarray[Any, np.dtype[np.int64]] | None = None
        self._watched_at = self._doubled = 0
        self._ahead: tuple[object, ...] | None = None
        self._beginning: tuple[tuple[object, ...], Beginning | None] | None = None
        self._running: Generator[ExitReason, None, None] | None = None
        self._unattended: list[Worker] = []
        self.program = self._program(self._entries)
        self.workers = Workers(launched, entry, self._equip)

    def dispose(self) -> None:
        """Drop the workers, which keep the launch."""
        del self.workers

    @property
    def is_plain(self) -> bool:
        """Whether the run has no other goal than the launch's end."""
        return not (self._conditions or self._refused or self._tests or self._stops)

    def report(self) -> EngineReport:
        """How the launch has run so far."""
        program = self.program
        slow: dict[int, str] = {}
        for version in (program.full, program.masked):
            slow |= version.slow if version is not None else {}
        return EngineReport(program.listing.code, program.seconds, slow, self.exits)

    # ---- set-up ------------------------------------------------------------------------

    def _program(self, entries: set[int]) -> CompiledProgram:
        self._marks = np.zeros(len(self.launched.code.code) // 8 + 64, np.uint8)
        return program_for(self.launched, self.entry, entries, self._conditions, self._tests)

    def _renew_program(self) -> None:
        """Take the program for other entries, or with other instrumentation."""
        self.program = self._program(self._entries)
        self._beginning = None
        self.workers.equip_all()

    def _equip(self, worker: Worker) -> None:
        """Set a worker's fields that depend on the program."""
        worker.new_sites(self.program.sites)
        worker.set(layout.MARKS, address_of(self._marks))
        if self._numbers is not None:
            worker.set(layout.WATCHED, address_of(self._numbers))

    # ---- running -----------------------------------------------------------------------

    def advance(self, request: Request) -> ExitReason:
        """Run the launch by its schedule. Returns the exit reason."""
        if self._running is None:
            limit, soon = self._limits(request)
            if self.launched.total >= min(limit, soon) or self.launched.schedule.seed:
                return Pause.HAND_OVER
            return self._begin(request, limit, soon)
        return self._following()

    def _following(self) -> ExitReason:
        """The next exit reason of the run in progress."""
        assert self._running is not None
        reason = next(self._running, None)
        if reason is None:
            self._running = None
            return Pause.HAND_OVER
        return reason

    def suspend(self) -> list[WarpState]:
        """Write everything back to the launch's state; warps whose end has not been reported."""
        if self._running is None:
            return []
        schedule = self.launched.schedule
        reported = []
        for worker in self._unattended:
            # Other exit conditions are met again in the next run.
            if worker.why & 255 == Left.DONE:
                kept = schedule.turn
                warp = worker.read_turn()
                schedule.turn = kept
                assert warp is not None
                reported.append(warp)
        self._unattended = []
        running, self._running = self._running, None
        running.close()
        return reported

    def _limits(self, request: Request) -> tuple[int, int]:
        """(Total of instructions to run to at most, total at which to hand over)."""
        longest = self.launched.schedule.longest_turn + 1
        limit = NO_LIMIT if request.last is None else request.last - longest
        return limit, limit if request.soon is None else request.soon

    def _begin(self, request: Request, limit: int, soon: int) -> ExitReason:
        """Prepare a run and call compiled code for the first time; short launches end in that."""
        workers, stops = self.workers, request.stops
        self._instrument(request)
        # Without an exception: whether the launch has ended in the call.
        finished: bool | None = None
        try:
            self._prepare(workers.wake(limit), stops)
            began = time.monotonic()
            try:
                finished = self._call(limit, soon, False)
            finally:
                if finished is not False:
                    workers.write_back()
        finally:
            if finished is not False:
                workers.release()
        if finished:
            return Pause.FINISHED
        self._running = self._rounds(stops, limit, soon, began)
        return self._following()

    def _instrument(self, request: Request) -> None:
        """Switch to the program version that tests this run's conditions and writes the rows
        observers want.
        """
        self._asked = request.conditions
        program, kept = self.program, self._conditions
        if kept:
            kept = {pc: c for pc, c in kept.items() if self._condition(pc, request.stops) == c}
        if self._tests or self.launched.observers.selecting:
            self._select()
        wanted = traced(self.launched), marked_spaces(self.launched)
        same = (program.traced, program.marking) == wanted
        if not same or program.tests != self._tests or kept != self._conditions:
            self._conditions = kept
            self._renew_program()

    def _select(self) -> None:
        """Take over what observers have selected."""
        self._tests, numbers = self.launched.observers.selection().tests()
        if self._numbers is None:
            self._numbers = np.zeros((MOST_RANGES + MOST_OWNERS, 4), np.int64)
            self._beginning = None
            self.workers.equip_all()
        self._numbers[: len(numbers)] = np.array(numbers, np.int64).reshape(-1, 4)

    def _call(self, limit: int, soon: int, long: bool) -> bool:
        """Call compiled code, up to a goal; whether the launch has ended.

        Args:
            limit: instructions of the launch not to exceed.
            soon: those at which to hand over.
            long: something ends the call in time.
        """
        workers = self.workers
        goal = min(limit, self._goal(soon))
        called = time.monotonic()
        workers.run(goal if long else CALL * len(workers.workers), goal)
        self.program.has_run(time.monotonic() - called)
        # A stop request is served when this call returns.
        workers.ask_to_stop(False)
        return self.launched.finished

    def _rounds(
        self, stops: frozenset[int], limit: int, soon: int, began: float
    ) -> Generator[ExitReason, None, None]:
        """The rest of a run as exit reasons, from behind a call of compiled code on.

        It is advanced at once and closed at the end, which writes everything back.
        """
        launched, workers = self.launched, self.workers
        residency = launched.residency
        ticker: Ticker | None = None
        try:
            while True:
                yield from self._attend_all(stops)
                placed = residency.placed
                if residency.returned:
                    yield Pause.VACANT
                filled = residency.placed != placed
                if not filled:
                    if launched.total >= min(limit, soon) or workers.all_idle():
                        return
                    if ticker is None and time.monotonic() - began > SOON:
                        ticker = Ticker(workers.ask_to_stop)
                if filled or workers.unbalanced(limit):
                    workers.write_back()
                    workers.distribute(workers.jobs(limit))
                    self._use_code()
                yield Pause.TICK
                if self._call(limit, soon, ticker is not None):
                    yield Pause.FINISHED
        finally:
            if ticker is not None:
                ticker.stop()
            workers.write_back()
            workers.release()

    def _goal(self, soon: int) -> int:
        """Instructions of the launch to run to, to reach `soon` and exceed it by little."""
        jobs, total = len(self.workers.workers), self.launched.total
        if jobs == 1 or soon >= NO_LIMIT:
            return soon
        # Threads end before a limit, by what their turns may take; each does something.
        return max(soon, total + SOME) + jobs * self.launched.schedule.longest_turn

    def ask_to_stop(self) -> None:
        """Have compiled code return to Python soon; safe from any thread."""
        self.workers.ask_to_stop()

    def _attend_all(self, stops: frozenset[int]) -> Iterator[ExitReason]:
        """Exit reasons of the workers that returned to Python, one worker after another.

        A warp that needs Python stands before its instruction, unless it has exited.
        """
        workers = self.workers
        self._unattended = list(workers.workers)
        while self._unattended:
            worker = self._unattended.pop(0)
            if worker.why in (layout.IDLE, layout.LIMIT):
                if worker is workers.lead:
                    worker.read_turn()
                continue
            worker.read_turn()
            workers.lead = worker
            yield from self._attend(worker, stops)
        if self._code != self._addresses():
            # Better code was installed: its blocks need their marks.
            self._mark(self._stops)

    def _attend(self, worker: Worker, stops: frozenset[int]) -> Iterator[ExitReason]:
        """Exit reasons of a worker that returned to Python."""
        launched = self.launched
        warp = launched.schedule.warp
        assert warp is not None
        why = worker.why & 255
        if why == Left.SWITCH:
            whole = warp.words[rec.ACTIVE] == FULL
            if whole and (self._elsewhere < MOST_STEPPED or launched.schedule.left <= 0):
                # Also where the turn is over but for the block: it must not end here.
                self._elsewhere += 1
                yield from self._step(worker, warp, Left.STEP, warp.pc)
            else:
                self._compile_other()
        elif why == Left.FULL and launched.trace is not None:
            launched.trace.flush()
            # Observers may have changed state that compiled code relies on.
            self.workers.refresh(worker)
        elif why == Left.DONE:
            yield WarpExited(warp)
            self.workers.reassign(worker)
        elif why != Left.MISS or not self._grown(warp.pc):
            if warp.pc in stops:
                yield AtBreakpoint(warp)
                self._refuse(warp.pc, stops)
            behind = (worker.why >> 8) * layout.PC_UNIT if why == Left.STEP else 0
            yield from self._step(worker, warp, why, warp.pc + behind)

    def _compile_other(self) -> None:
        """Compile the version for warps with inactive lanes."""
        self.program.version(False, GOOD if self.good else QUICK)
        self._mark(self._stops)

    def _step(self, worker: Worker, warp: WarpState, why: int, cause: int) -> Iterator[ExitReason]:
        """Bail out: have the step engine execute a warp's instructions from its pc on.

        Args:
            cause: address of the instruction that it is for.
        """
        launched, program = self.launched, self.program
        if why == Left.BARRIER and launched.trace is not None:
            # Discard these rows: the step engine writes them again.
            for rows in (launched.trace.instructions, launched.trace.ordered, launched.trace.near):
                if rows is not None:
                    rows.count -= 1
        if why == Left.GUESS:
            program.refute(warp.pc, GOOD if self.good else QUICK)
            self._mark(self._stops)
        if warp.pc not in program.listing.code:
            self.workers.wipe_reused(True)
        count = 1
        if why != Left.STEP or not program.is_slow(warp.pc):
            count = program.stretch(warp.pc)
        if why == Left.WATCHED:
            count = self._watched(count)
        self.exits[cause] += 1
        before = launched.residency.finished_ctas
        # A load for a store would bail out again and again if its store never came.
        launched.memory.load_for_store = program.before_store(warp.pc)
        try:
            yield NeedsStep(warp, count)
        finally:
            launched.memory.load_for_store = False
            if program.marking != marked_spaces(self.launched):
                # `malloc` created memory without contents, whose marks the code must write.
                self._renew_program()
                self._mark(self._stops)
            # Also where an instruction without semantics ends the run.
            if launched.residency.finished_ctas != before or warp.words[rec.STATUS] == rec.DONE:
                self.workers.reassign(worker)
            else:
                self.workers.refresh(worker)

    def _watched(self, count: int) -> int:
        """Instructions for the step engine where something selected may be touched: `count`, and
        more where that happens again and again, since each exit costs what some of them do."""
        total = self.launched.total
        often = total - self._watched_at < OFTEN
        self._doubled = min(self._doubled + 1, MOST_DOUBLED) if often else 0
        self._watched_at = total + (count << self._doubled)
        return count << self._doubled

    def _grown(self, pc: int) -> bool:
        """Add code to the program that only computed branches reach; false where it is there
        already, or the program has been extended often enough."""
        known = self.program.listing
        width = known.layout.word_bytes
        inside = not pc % width and self.launched.code.placement_at(pc) is not None
        # In the middle of a block after a stop: the step engine executes up to its end.
        if (
            pc in known.heads
            or pc in known.code
            or len(self._entries) >= MOST_ENTRIES
            or not inside
        ):
            return False
        self._entries = self._entries | indirect_entries(self.launched.code, pc)
        self._renew_program()
        self._mark(self._stops)
        return True

    # ---- breakpoints -------------------------------------------------------------------

    def _mark(self, stops: frozenset[int]) -> None:
        """Mark the blocks with a breakpoint: compiled code leaves before them."""
        if self._stops:
            self._marks[:] = 0
        self._stops = stops
        self._use_code()
        base = self.program.listing.base
        asked = sorted(pc for pc in stops if pc not in self._conditions)
        for head, end in self.program.heads().items() if asked else ():
            first = bisect_left(asked, head)
            if first < len(asked) and asked[first] <= end:
                self._marks[(head - base) // 8] = 1

    def _condition(self, pc: int, stops: frozenset[int]) -> Condition | None:
        """The condition that compiled code can test at a breakpoint in place of leaving."""
        return self._asked(pc) if self._asked is not None and pc in stops else None

    def _refuse(self, pc: int, stops: frozenset[int]) -> None:
        """Count an arrival at a breakpoint whose condition does not hold; after several, compile
        code that tests it.
        """
        self._refused[pc] += 1
        if self._refused[pc] != ENOUGH or pc in self._conditions:
            return
        condition = self._condition(pc, stops)
        if condition is not None:
            # Compile all breakpoints with an equal condition at once.
            alike = {at: condition for at in stops if self._condition(at, stops) == condition}
            self._conditions = {**self._conditions, **alike, pc: condition}
            self._renew_program()
            self._mark(self._stops)

    def _use_code(self) -> None:
        """Have workers run the best code there is."""
        self.program.version(True, GOOD if self.good else QUICK)
        self._code = self._addresses()
        self.workers.use(*self._code, self.program.writes(), self.program.called())

    def _addresses(self) -> tuple[int, int, int]:
        """Addresses of the best code, for full warps, for any mask and for the final registers that
        the former leaves to be made; 0: there is none."""
        program = self.program
        full, masked = program.full, program.masked
        whole = (0, 0) if full is None else (full.address, full.complete)
        return whole[0], 0 if masked is None else masked.address, whole[1]

    # ---- before a run ----------------------------------------------------------------------

    def _prepare(self, jobs: int, stops: frozenset[int]) -> None:
        """Distribute the CTAs, and install code and marks, unless `prepare_ahead` did."""
        workers = self.workers
        ahead, self._ahead = self._ahead, None
        if ahead is None or stops or ahead != self._seen(jobs) or not self._plain():
            workers.distribute(jobs)
            self._mark(stops)
            workers.wipe_reused(bool(stops) or workers.needs_wipe(self.program.listing.written()))

    def prepare_ahead(self) -> None:
        """Prepare the first run in advance."""
        if not self._plain():
            return
        workers, jobs = self.workers, self.workers.jobs(NO_LIMIT)
        kind = jobs, self.launched.schedule.quantum, *self._addresses()
        known, beginning = self._beginning or (None, None)
        if beginning is not None and known == kind and not self._stops:
            workers.begin_again(beginning)
        else:
            workers.distribute(jobs)
            self._mark(frozenset())
            kind = jobs, self.launched.schedule.quantum, *self._addresses()
            self._beginning = kind, workers.beginning()
        self._ahead = self._seen(jobs)
        workers.wake_early()

    def _seen(self, jobs: int) -> tuple[object, ...]:
        """A key of everything the preparation depends on: threads, allocations, quantum, code."""
        launched = self.launched
        return jobs, launched.memory.changes, launched.schedule.quantum, self._addresses()

    def _plain(self) -> bool:
        """Whether warps are in the state in which they were placed, without observers or a trap
        handler.
        """
        launched = self.launched
        begun = launched.total or launched.residency.finished_ctas
        watched = launched.observed() or launched.traps.handler is not None
        return not (begun or watched or self.workers.may_be_modified())
