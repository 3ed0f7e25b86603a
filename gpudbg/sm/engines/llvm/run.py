"""The run engine: compiled code takes turns as the schedule says, the step engine does the rest.

`RunEngine.advance` runs a grid until something needs attention.  While it does, the state of the
schedule, of barriers and of which CTA is where belongs to compiled code (`loop`); it is written
back before the step engine executes an instruction, as far as that can see it, and completely
before `advance` returns.  Registers, masks, stacks and memory are shared all the time.

With several host threads (`team`) each has a share of the CTAs (`worker`).  Whatever needs Python
stops all of them at the ends of their turns; it is then handled as on one thread (policy
`host-threads`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.mem.lanes import FULL
from gpudbg.mem.pages import address_of
from gpudbg.sm import record as rec
from gpudbg.sm.conditions import Condition, Conditions
from gpudbg.sm.engines.llvm import layout, loop
from gpudbg.sm.engines.llvm.kernel.listing import indirect_entries
from gpudbg.sm.engines.llvm.kernel.special import FIXED, LAUNCH_SREGS
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.program import GOOD, QUICK, Program, program_of
from gpudbg.sm.engines.llvm.shares import Shares
from gpudbg.sm.engines.llvm.threads import Ticker
from gpudbg.sm.sregs import ROWS, SregFile, registers_read
from gpudbg.sm.turns import LONGEST

if TYPE_CHECKING:
    from gpudbg.sm.engines.llvm.worker import Worker
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState

CALL = 4_000_000
"""Warp instructions of a thread's calls at the beginning of a run: tens of milliseconds."""
SOON = 0.02
"""Seconds after which a ticker ends calls (`threads.Ticker`): starting one costs something."""

NO_LIMIT = 1 << 62
ENOUGH = 8
"""Arrivals at a breakpoint whose condition does not hold, after which code tests it."""
SOME = 4096
"""Warp instructions of threads together that are worth a call."""
MOST_ENTRIES = 4096
"""Places reached by computed branches that are taken into a program."""


class RunEngine:
    """Compiled execution of one launch.

    Attributes:
        grid: the launch.
        program: its code.
        exits: pc of an instruction that the step engine executed -> how often.
        shares: its CTAs as host threads have them.
    """

    def __init__(self, grid: Grid, entry: int, good: bool = True) -> None:
        """Args: good: compile well at once; else quickly, and improve in the background."""
        self.grid = grid
        self.good = good
        self.entry = entry
        self.exits: Counter[int] = Counter()
        self._stops: frozenset[int] = frozenset()
        self._code = (0, 0)
        self._entries = {entry}
        self._conditions: dict[int, Condition] = {}
        self._asked: Conditions | None = None
        self._refused: Counter[int] = Counter()
        self._ahead: tuple[object, ...] | None = None
        self.program = self._program(self._entries)
        self.shares = Shares(grid, entry, self._equip)

    def dispose(self) -> None:
        """Nobody runs the launch any more: its shares need not keep it."""
        del self.shares

    # ---- set-up ------------------------------------------------------------------------

    def _program(self, entries: set[int]) -> Program:
        grid = self.grid
        engine = grid.engine
        banks = {n: engine.constants.bound(n) for n in engine.constants.banks}
        sregs: frozenset[int] = frozenset()
        if isinstance(engine.sregs, SregFile):
            rows = engine.sregs.rows
            sregs = frozenset([n for n in LAUNCH_SREGS if rows.get(n) is ROWS.get(n)])
        self._marks = np.zeros(len(grid.code.code) // 8 + 64, np.uint8)
        registers, row = grid.config.registers, grid.config.block[0]
        traced = self._traced()
        fixed = self._fixed()
        about = registers, banks, sregs, row, traced, fixed, self._conditions
        return program_of(grid.code, self.entry, entries, *about)

    def _traced(self) -> tuple[str, ...]:
        """What code notes for observers."""
        return () if self.grid.trace is None else self.grid.trace.kinds

    def _fixed(self) -> dict[int, int]:
        """Special registers that the code reads and that do not change during the launch."""
        grid = self.grid
        file = grid.engine.sregs
        read = FIXED & registers_read(grid.code.code)
        warp = next(iter(grid.warps()), None)
        if not read or warp is None or not isinstance(file, SregFile):
            return {}
        sm = grid.sms[warp.sm]
        values = ((n, file.rows.get(n)) for n in sorted(read))
        found = {n: 0 if row is None else row(file.machine, warp, sm) for n, row in values}
        return {n: value & FULL for n, value in found.items() if isinstance(value, int)}

    def _renew_program(self) -> None:
        """Other entries or another kind of code."""
        self.program = self._program(self._entries)
        self.shares.equip_all()

    def _equip(self, worker: Worker) -> None:
        """What depends on the program."""
        worker.new_sites(self.program.sites)
        worker.set(layout.MARKS, address_of(self._marks))

    # ---- running -----------------------------------------------------------------------

    def advance(
        self,
        before: int,
        stops: Collection[int] | None,
        accept: Callable[[WarpState], bool] | None,
        last: int | None,
        soon: int | None = None,
        conditions: Conditions | None = None,
    ) -> StopEvent | None:
        """Run the grid by its schedule.

        Args:
            before: instructions of the launch when the present run began.
            stops: breakpoint addresses.
            accept: as for `Grid.run`.
            last: instructions of the launch at which to stop, or None.
            conditions: of breakpoints, as for `Grid.run`.
            soon: instructions of the launch at which to return at the end of a turn, or None.

        Returns:
            The event that ended the run; None: the step engine must take it from here.
        """
        grid = self.grid
        longest = grid.schedule.quantum + LONGEST + 1
        limit = NO_LIMIT if last is None else last - longest
        if grid.total >= (limit if soon is None else min(limit, soon)) or grid.schedule.seed:
            return None
        self._asked = conditions
        kept = {pc: c for pc, c in self._conditions.items() if self._condition(pc, stops) == c}
        if self.program.traced != self._traced() or kept != self._conditions:
            self._conditions = kept
            self._renew_program()
        try:
            self._prepare(self.shares.gather(limit), frozenset(stops or ()))
            return self._rounds(before, stops, accept, limit, limit if soon is None else soon)
        finally:
            self.shares.part()

    def _rounds(
        self,
        before: int,
        stops: Collection[int] | None,
        accept: Callable[[WarpState], bool] | None,
        limit: int,
        soon: int,
    ) -> StopEvent | None:
        """`advance`, once everything is prepared."""
        grid, shares = self.grid, self.shares
        ticker: Ticker | None = None
        began = time.monotonic()
        try:
            while True:
                shares.ask_to_stop(False)
                grid.tick()
                if grid._interrupted():
                    return self._stop("interrupted", before)
                goal = min(limit, self._goal(soon))
                shares.run(goal if ticker else CALL * len(shares.workers), goal)
                if grid.finished:
                    return None
                event = self._after(before, stops, accept)
                if event is not None:
                    return event
                returned = grid._residency.returned and grid.fill()
                if not returned:
                    over = grid.total >= min(limit, soon) or grid.unread()
                    if over or shares.all_idle():
                        return None
                    if ticker is None and time.monotonic() - began > SOON:
                        ticker = Ticker(shares.ask_to_stop)
                if returned or shares.unbalanced(limit):
                    shares.leave()
                    shares.share(shares.jobs(limit))
                    self._use_code()
        finally:
            if ticker is not None:
                ticker.stop()
            shares.leave()

    def _goal(self, soon: int) -> int:
        """Instructions of the launch to run to, so that there are `soon` and not many more."""
        jobs, total = len(self.shares.workers), self.grid.total
        if jobs == 1 or soon >= NO_LIMIT:
            return soon
        # Threads end before a limit, by what their turns may take; each does something.
        return max(soon, total + SOME) + jobs * (self.grid.schedule.quantum + LONGEST)

    def ask_to_stop(self) -> None:
        """Have compiled code return to Python soon; safe from any thread."""
        self.shares.ask_to_stop()

    def _after(
        self,
        before: int,
        stops: Collection[int] | None,
        accept: Callable[[WarpState], bool] | None,
    ) -> StopEvent | None:
        """Do what each worker left to Python; the event that ends the run, if one does.

        A warp that needs Python stands before its instruction, unless it has exited: after an
        event the others of that kind may wait for the next run.
        """
        event: StopEvent | None = None
        shares = self.shares
        for worker in shares.workers:
            if worker.why in (loop.IDLE, loop.LIMIT):
                if worker is shares.lead:
                    worker.see()
                continue
            if event is not None and worker.why & 255 != Left.DONE:
                continue
            kept = self.grid.schedule.turn
            worker.see()
            found = self._attend(worker, before, stops, accept)
            if event is None:
                event, shares.lead = found, worker
            else:
                self.grid.schedule.turn = kept
        if self._code != self._addresses():
            # Better code has come; its blocks need their marks.
            self._mark(self._stops)
        return event

    def _stop(self, kind: str, before: int) -> StopEvent:
        return self.grid.event(kind, self.grid.schedule.warp, before)  # type: ignore[arg-type]

    def _attend(
        self,
        worker: Worker,
        before: int,
        stops: Collection[int] | None,
        accept: Callable[[WarpState], bool] | None,
    ) -> StopEvent | None:
        """Do what compiled code left to Python; the event that ends the run, if it does."""
        grid = self.grid
        warp = grid.schedule.warp
        assert warp is not None
        why = worker.why & 255
        if why == Left.SWITCH:
            self.program.version(False, GOOD if self.good else QUICK)
            if not self.good:
                self.program.improve_later()
            self._mark(self._stops)
            return None
        if why == Left.FULL and grid.trace is not None:
            grid.trace.flush()
            # Observers may have written to what compiled code relies on.
            self.shares.tell(worker)
            return None
        if why == Left.DONE:
            grid.warp_done(warp)
            self.shares.place(worker)
            return None
        if why == Left.MISS and self._grown(warp.pc):
            return None
        if stops and warp.pc in stops:
            if grid._meets(warp, stops, accept):
                return grid.event("breakpoint", warp, before)
            self._refuse(warp.pc, stops)
        if why == Left.BARRIER and grid.trace is not None and grid.trace.instructions is not None:
            grid.trace.instructions.count -= 1
        if why == Left.GUESS:
            self.program.refute(warp.pc, GOOD if self.good else QUICK)
            if not self.good:
                self.program.improve_later()
            self._mark(self._stops)
        if warp.pc not in self.program.listing.code:
            self.shares.stain(True)
        count = 1
        if why != Left.STEP or not self.program.is_slow(warp.pc):
            count = self.program.stretch(warp.pc)
        self.exits[warp.pc] += 1
        resident = grid._residency.ended
        # Such a load would leave to the step engine again and again if its store never comes.
        grid.gpu.memory.load_for_store = self.program.before_store(warp.pc)
        try:
            return grid._advance(warp, count, before, stops, None, grid.schedule.left)
        finally:
            grid.gpu.memory.load_for_store = False
            # Also where an instruction without semantics ends the run.
            if grid._residency.ended != resident or warp.words[rec.STATUS] == rec.DONE:
                self.shares.place(worker)
            else:
                self.shares.tell(worker)

    def _grown(self, pc: int) -> bool:
        """Take code that only computed branches reach into the program; false: it is there, or
        the program has grown often enough."""
        known = self.program.listing
        inside = not pc & 7 and self.grid.code.placement_at(pc) is not None
        if pc in known.heads or len(self._entries) >= MOST_ENTRIES or not inside:
            return False
        more = self._entries | indirect_entries(self.grid.code, pc)
        if pc in known.code:
            # In the middle of a block after a stop: the step engine goes to its end.
            return False
        self._entries = more
        self._renew_program()
        self._mark(self._stops)
        return True

    # ---- breakpoints -------------------------------------------------------------------

    def _mark(self, stops: frozenset[int]) -> None:
        """Have compiled code leave before blocks with a breakpoint."""
        if self._stops:
            self._marks[:] = 0
        self._stops = stops
        self._use_code()
        base = self.program.listing.base
        for head, end in self.program.heads().items() if stops else ():
            if any(head <= pc <= end for pc in stops if pc not in self._conditions):
                self._marks[(head - base) // 8] = 1

    def _condition(self, pc: int, stops: Collection[int] | None) -> Condition | None:
        """What compiled code can test at a breakpoint instead of leaving."""
        return self._asked(pc) if self._asked is not None and stops and pc in stops else None

    def _refuse(self, pc: int, stops: Collection[int]) -> None:
        """A breakpoint's condition did not hold: soon code is compiled that tests it."""
        self._refused[pc] += 1
        if self._refused[pc] != ENOUGH or pc in self._conditions:
            return
        condition = self._condition(pc, stops)
        if condition is not None:
            self._conditions = {**self._conditions, pc: condition}
            self._renew_program()
            self._mark(self._stops)

    def _use_code(self) -> None:
        """Have the best code there is run."""
        self.program.version(True, GOOD if self.good else QUICK)
        self._code = self._addresses()
        self.shares.use(*self._code, self.program.writes())

    def _addresses(self) -> tuple[int, int]:
        """Where the best code is, for full warps and for any; 0: there is none."""
        program = self.program
        full, masked = program.full, program.masked
        return 0 if full is None else full.address, 0 if masked is None else masked.address

    # ---- before a run ----------------------------------------------------------------------

    def _prepare(self, jobs: int, stops: frozenset[int]) -> None:
        """Share the CTAs and have code and marks in place, unless that was done ahead."""
        shares = self.shares
        ahead, self._ahead = self._ahead, None
        if ahead is None or stops or ahead != self._seen(jobs) or not self._plain():
            shares.share(jobs)
            self._mark(stops)
            shares.stain(bool(stops) or shares.stained(self.program.listing.written()))

    def prepare_ahead(self) -> None:
        """Do what the first run needs before it: as a rule it finds everything still so."""
        if self._plain():
            jobs = self.shares.jobs(NO_LIMIT)
            self.shares.share(jobs)
            self._mark(frozenset())
            self._ahead = self._seen(jobs)
            self.shares.look_ahead()

    def _seen(self, jobs: int) -> tuple[object, ...]:
        """What the CTAs are shared by, and where the code is."""
        return jobs, self.grid.gpu.memory.changes, self.grid.schedule.quantum, self._addresses()

    def _plain(self) -> bool:
        """Whether warps are as they were placed, and nobody wants to be told of more."""
        grid = self.grid
        begun = grid.total or grid._residency.ended
        told = grid.observed() or grid.traps.handler is not None
        return not (begun or told or self.shares.touched())
