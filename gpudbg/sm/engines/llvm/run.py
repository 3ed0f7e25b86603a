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

import ctypes
import itertools
import time
from array import array
from collections import Counter
from collections.abc import Callable, Collection
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.mem.lanes import FULL
from gpudbg.mem.pages import address_of, zeroed
from gpudbg.sm import arena
from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import build, layout, loop
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.listing import indirect_entries
from gpudbg.sm.engines.llvm.program import GOOD, QUICK, Program, program_of
from gpudbg.sm.engines.llvm.special import FIXED, LAUNCH_SREGS
from gpudbg.sm.engines.llvm.threads import Team, Ticker, leave_team, look_ahead, take_team
from gpudbg.sm.engines.llvm.worker import Worker, find_all, pointer
from gpudbg.sm.sregs import ROWS, SregFile, registers_read
from gpudbg.sm.turns import LONGEST

if TYPE_CHECKING:
    from gpudbg.sm.arena import Arena
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState

CALL = 4_000_000
"""Warp instructions of a thread's calls at the beginning of a run: tens of milliseconds."""
WORTH = 1_000_000
"""Warp instructions of a run from which several threads pay."""
SOON = 0.02
"""Seconds after which a ticker ends calls (`threads.Ticker`): starting one costs something."""

_EPOCHS = itertools.count(arena.UNTOUCHED + 1)
"""Stretches in which only compiled code changes warps; never the same number twice."""

NO_LIMIT = 1 << 62
MOST_ENTRIES = 4096
"""Places reached by computed branches that are taken into a program."""

MOST_TAKEN, EVEN = 1024, 4
"""CTAs that one of several threads takes at a time: so many at most, and a part of its share of
those that wait.  As a rule neighbours use memory side by side, which a processor fetches ahead."""
SHORT = 20_000
"""Instructions between two stops of all threads under which threads do not pay."""
MOST_SHORT = 32
"""So many short stops in a row, and one thread goes on alone for `ALONE` instructions."""
ALONE = 2_000_000


@cache
def _functions(library: build.Library, shared: bool) -> memoryview:
    """The library's addresses by `layout.FUNCTION_INDEX`."""
    symbols = (layout.symbol(name, shared) for name in layout.FUNCTION_INDEX)
    return memoryview(array("q", [library.address(symbol) for symbol in symbols]))


@cache
def _loop(library: build.Library) -> Callable[[int], int]:
    """The grid loop."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
    return prototype(library.address(loop.SYMBOL))


class RunEngine:
    """Compiled execution of one launch.

    Attributes:
        grid: the launch.
        program: its code.
        exits: pc of an instruction that the step engine executed -> how often.
        workers: the host threads' shares; the first one runs in the caller's thread.
    """

    def __init__(self, grid: Grid, entry: int, good: bool = True) -> None:
        """Args: good: compile well at once; else quickly, and improve in the background."""
        self.grid = grid
        self.good = good
        self.entry = entry
        self.exits: Counter[int] = Counter()
        self._counter = zeroed(arena.LINE).data.cast("q")
        self._table = grid.gpu.memory.table()
        self._memory_changes = -1
        self._stops: frozenset[int] = frozenset()
        self._code = (0, 0)
        self._entries = {entry}
        self._short = 0
        self._has_stains = False
        self._alone_until = 0
        self._team: Team | None = None
        self._ahead: tuple[object, ...] | None = None
        self._call = _loop(build.library())
        self.program = self._program(self._entries)
        self._made = [self._worker(n == 0) for n in range(self._most())]
        self.workers = self._made[:1]
        self._lead = self.workers[0]
        self._homes: set[Arena | None] = set()

    # ---- set-up ------------------------------------------------------------------------

    def _program(self, entries: set[int]) -> Program:
        grid = self.grid
        engine = grid.engine
        banks = {n: engine.constants.bound(n) for n in engine.constants.banks}
        sregs: frozenset[int] = frozenset()
        if isinstance(engine.sregs, SregFile):
            rows = engine.sregs.rows
            sregs = frozenset(n for n in LAUNCH_SREGS if rows.get(n) is ROWS.get(n))
        self._marks = np.zeros(len(grid.code.code) // 8 + 64, np.uint8)
        registers, row = grid.config.registers, grid.config.block[0]
        traced = grid.trace is not None
        fixed = self._fixed()
        about = registers, banks, sregs, row, traced, fixed
        return program_of(grid.code, self.entry, entries, *about)

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

    def _worker(self, first: bool = False) -> Worker:
        """One more, with what does not change during the launch."""
        grid = self.grid
        config = grid.config
        worker = Worker(grid, address_of(np.asarray(self._counter)), first)
        worker.set(layout.SHARED_WINDOW, grid.gpu.layout.shared_window)
        worker.set(layout.SHARED_BYTES, config.shared_bytes)
        constants = grid.engine.constants
        for number, store in constants.banks.items():
            worker.set(layout.BANKS + 16 * number, pointer(store))
            worker.set(layout.BANKS + 16 * number + 8, constants.bound(number))
        worker.put("ctas", config.ctas)
        worker.put("grid_x", config.grid[0])
        worker.put("grid_y", config.grid[1])
        worker.put("entry", self.entry if self.entry & 31 else self.entry + 8)
        self._equip(worker)
        return worker

    def _renew_program(self) -> None:
        """Other entries or another kind of code."""
        self.program = self._program(self._entries)
        for worker in self._made:
            self._equip(worker)

    def _equip(self, worker: Worker) -> None:
        """What depends on the program."""
        worker.new_sites(self.program.sites)
        worker.set(layout.MARKS, address_of(self._marks))

    def _link(self, worker: Worker, shared: bool) -> None:
        """Fill its function table; `shared`: other threads may be at the same memory."""
        if worker.linked is not shared:
            worker.linked = shared
            worker.link(_functions(build.library(), shared))

    # ---- running -----------------------------------------------------------------------

    def advance(
        self,
        before: int,
        stops: Collection[int] | None,
        accept: Callable[[WarpState], bool] | None,
        last: int | None,
    ) -> StopEvent | None:
        """Run the grid by its schedule.

        Args:
            before: instructions of the launch when the present run began.
            stops: breakpoint addresses.
            accept: as for `Grid.run`.
            last: instructions of the launch at which to stop, or None.

        Returns:
            The event that ended the run; None: the step engine must take it from here.
        """
        grid = self.grid
        longest = grid.schedule.quantum + LONGEST + 1
        limit = NO_LIMIT if last is None else last - longest
        if grid.total >= limit or grid.schedule.seed:
            return None
        if self.program.traced is not (grid.trace is not None):
            self._renew_program()
        self._gather(limit)
        try:
            self._prepare(limit, frozenset(stops or ()))
            self._stain(bool(stops) or self._stained())
            return self._rounds(before, stops, accept, limit)
        finally:
            if self._team is not None:
                leave_team(self._team)
                self._team = None

    def _rounds(
        self,
        before: int,
        stops: Collection[int] | None,
        accept: Callable[[WarpState], bool] | None,
        limit: int,
    ) -> StopEvent | None:
        """`advance`, once everything is prepared."""
        grid = self.grid
        ticker: Ticker | None = None
        began = time.monotonic()
        try:
            while True:
                for worker in self.workers:
                    worker.ask_to_stop(False)
                grid.tick()
                if grid._interrupted():
                    return self._stop("interrupted", before)
                self._round(limit if ticker else CALL * len(self.workers), limit)
                if grid.finished:
                    return None
                event = self._after(before, stops, accept)
                if event is not None:
                    return event
                if grid._residency.returned and self._filled(limit):
                    continue
                if grid.total >= limit or self._all_idle():
                    return None
                if ticker is None and time.monotonic() - began > SOON:
                    ticker = Ticker(self.ask_to_stop)
                if self._unbalanced(limit):
                    self._leave()
                    self._share(limit)
                    self._use_code()
        finally:
            if ticker is not None:
                ticker.stop()
            self._leave()

    def _gather(self, limit: int) -> None:
        """Have threads look out for work, where there may be work for several."""
        if self.grid.gpu.jobs > 1:
            self._team = take_team(self.grid.gpu.jobs - 1)
            self._team.wake(self._jobs(limit) - 1)

    def _all_idle(self) -> bool:
        return all(worker.why == loop.IDLE for worker in self.workers)

    def _stained(self) -> bool:
        """Whether warps hold something where no code writes, or somebody is asked who may write."""
        grid = self.grid
        if grid.observed() or grid.traps.handler is not None:
            return True
        for home in self._homes:
            if home is None:
                return True
            if home.seen and home.holds_other(self.program.listing.written()):
                return True
        return False

    def _local_seen(self) -> bool:
        """Whether somebody but compiled code can have written to local memory."""
        return any(home is None or home.local_seen for home in self._homes)

    def _stain(self, stained: bool) -> None:
        self._has_stains = stained
        for worker in self._made:
            worker.put("stained", stained)

    def ask_to_stop(self) -> None:
        """Have compiled code return to Python soon; safe from any thread."""
        for worker in self.workers:
            worker.ask_to_stop()

    def _round(self, most: int, limit: int) -> None:
        """Run all workers until one needs Python, or for about `most` instructions."""
        grid = self.grid
        jobs, start, residency = len(self.workers), grid.total, grid._residency
        # Every thread ends its turn; the way to a limit is finished on one.
        spare = jobs * (grid.schedule.quantum + LONGEST) if jobs > 1 else 0
        most = min(most, limit - grid.total - spare)
        for worker in self.workers:
            worker.prepare(most // jobs)
            if grid.handler_banks is not None:
                worker.show_local()
        if jobs > 1 and self._team is not None:
            self._team.run(self.workers)
        else:
            first = self.workers[0]
            first.why = self._call(first.address)
        for worker in self.workers:
            residency.ended += worker.account()
        residency.started = min(self._counter[0], grid.config.ctas)
        self._take_off()
        if jobs > 1 and not grid.finished:
            needed = any(w.why not in (loop.LIMIT, loop.IDLE) for w in self.workers)
            short = needed and grid.total - start < SHORT
            self._short = self._short + 1 if short else 0
            if self._short >= MOST_SHORT:
                self._short, self._alone_until = 0, grid.total + ALONE

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
        for worker in self.workers:
            if worker.why in (loop.IDLE, loop.LIMIT):
                if worker is self._lead:
                    worker.see()
                continue
            if event is not None and worker.why & 255 != Left.DONE:
                continue
            kept = self.grid.schedule.turn
            worker.see()
            found = self._attend(worker, before, stops, accept)
            if event is None:
                event, self._lead = found, worker
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
            return None
        if why == Left.DONE:
            grid.warp_done(warp)
            self._place(worker)
            return None
        if why == Left.MISS and self._grown(warp.pc):
            return None
        if stops and grid._meets(warp, stops, accept):
            return grid.event("breakpoint", warp, before)
        if why == Left.BARRIER and grid.trace is not None:
            grid.trace.count -= 1
        if why == Left.GUESS:
            self.program.refute(warp.pc, GOOD if self.good else QUICK)
            if not self.good:
                self.program.improve_later()
            self._mark(self._stops)
        if warp.pc not in self.program.listing.code:
            self._stain(True)
        count = 1
        if why != Left.STEP or not self.program.is_slow(warp.pc):
            count = self.program.stretch(warp.pc)
        self.exits[warp.pc] += 1
        resident = grid._residency.ended
        event = grid._advance(warp, count, before, stops, None, grid.schedule.left)
        if grid._residency.ended != resident or warp.words[rec.STATUS] == rec.DONE:
            self._place(worker)
        else:
            self._tell(worker)
        return event

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
            if any(head <= pc <= end for pc in stops):
                self._marks[(head - base) // 8] = 1

    def _use_code(self) -> None:
        """Have the best code there is run."""
        self.program.version(True, GOOD if self.good else QUICK)
        self._code = full, masked = self._addresses()
        for worker in self.workers:
            worker.set(layout.FULL_CODE, full)
            worker.set(layout.MASKED_CODE, masked)

    def _addresses(self) -> tuple[int, int]:
        """Where the best code is, for full warps and for any; 0: there is none."""
        program = self.program
        full, masked = program.full, program.masked
        return 0 if full is None else full.address, 0 if masked is None else masked.address

    # ---- state to and from compiled code ---------------------------------------------------

    def _jobs(self, limit: int) -> int:
        """Host threads to use now."""
        grid = self.grid
        if grid.total < self._alone_until or grid.observed():
            return 1
        return 1 if limit - grid.total < WORTH else self._most()

    def _most(self) -> int:
        """Host threads that there is work for."""
        jobs = self.grid.gpu.jobs if self._team is None else self._team.most + 1
        if jobs == 1:
            return 1
        return max(1, min(jobs, len(self.grid._residency.ring) // self.grid.config.warps))

    def _unbalanced(self, limit: int) -> bool:
        """Whether the workers should share the CTAs anew."""
        if len(self.workers) == 1:
            return self.grid.gpu.jobs > 1 and self._jobs(limit) > 1
        counts = [len(worker.ctas) for worker in self.workers]
        return self._jobs(limit) == 1 or (min(counts) == 0 and max(counts) > 1)

    def _filled(self, limit: int) -> bool:
        """Begin CTAs that a thread took and gave back where there is room; whether there is."""
        placed = self.grid._residency.fill()
        for cta in placed:
            self.grid._announce(cta)
        if placed:
            self._leave()
            self._share(limit)
            self._use_code()
        return bool(placed)

    def _prepare(self, limit: int, stops: frozenset[int]) -> None:
        """Share the CTAs and have code and marks in place, unless that was done ahead."""
        ahead, self._ahead = self._ahead, None
        same = ahead == self._seen(limit) and self._plain() and not self._local_seen()
        if stops or not same:
            self._share(limit)
            self._mark(stops)

    def prepare_ahead(self) -> None:
        """Do what the first run needs before it: as a rule it finds everything still so."""
        if self._plain():
            self._share(NO_LIMIT)
            self._mark(frozenset())
            self._ahead = self._seen(NO_LIMIT)
            if len(self.workers) > 1:
                look_ahead(self.grid.gpu.jobs - 1, len(self.workers) - 1)

    def _seen(self, limit: int) -> tuple[object, ...]:
        """What `_share` and `_mark` go by, as long as the CTAs are as they were placed."""
        grid = self.grid
        return self._jobs(limit), grid.gpu.memory.changes, grid.schedule.quantum, self._addresses()

    def _plain(self) -> bool:
        """Whether the CTAs are as they were placed, and nobody wants more of them told."""
        grid = self.grid
        begun = grid.total or grid._residency.ended
        return not (begun or grid.observed() or grid.traps.handler is not None)

    def _share(self, limit: int) -> None:
        """Give the resident CTAs to workers, and the schedule's turn to the one that has it."""
        grid = self.grid
        jobs = self._jobs(limit)
        residency = grid._residency
        self._give_out(jobs)
        self._counter[0] = residency.started
        chunk = MOST_TAKEN if jobs > 1 else 0
        self._memory_changes = -1
        for worker in self.workers:
            if grid.trace is not None:
                worker.set(layout.TRACE, address_of(grid.trace.buffer))
            worker.put("tell", bool(grid.observed("warp_end") or grid.observed("cta_end")))
            worker.put("quantum", grid.schedule.quantum)
            worker.put("stained", self._has_stains)
            worker.give(residency.hand_out(), chunk, EVEN * jobs)
            worker.begin_anywhere()
        self._lead = self.workers[0]
        self._tell(self._lead)
        if jobs > 1:
            self._lead.begin_anywhere()

    def _give_out(self, jobs: int) -> None:
        """Give the resident CTAs to so many workers, to each some that follow one another: as a
        rule neighbours use memory side by side."""
        while len(self._made) < jobs:
            self._made.append(self._worker())
        self.workers = self._made[:jobs]
        ctas = list(self.grid.ctas())
        self._homes = {cta.home for cta in ctas}
        if jobs > 1:
            ctas.sort(key=lambda cta: cta.number)
        for n, worker in enumerate(self.workers):
            self._link(worker, jobs > 1)
            mine = ctas[n * len(ctas) // jobs : (n + 1) * len(ctas) // jobs]
            if jobs > 1:
                mine.sort(key=lambda cta: (cta.sm, cta.slot))
            worker.place(mine, keep=False)

    def _place(self, worker: Worker) -> None:
        """A CTA of the worker's has ended in Python: the one in its place is its own too."""
        self._counter[0] = self.grid._residency.started
        self._homes = {cta.home for cta in self.grid.ctas()}
        others = {key for w in self.workers if w is not worker for key in w.ctas}
        worker.place([cta for cta in self.grid.ctas() if id(cta) not in others], keep=True)
        self._tell(worker)

    def _tell(self, worker: Worker) -> None:
        """What a step of the present warp can have changed."""
        worker.tell()
        epoch = next(_EPOCHS) if self._local_seen() else arena.UNTOUCHED
        for each in self.workers:
            each.put("epoch", epoch)
        memory = self.grid.gpu.memory
        if memory.changes != self._memory_changes:
            self._memory_changes = memory.changes
            self._table = memory.table()
            at = address_of(self._table)
            for each in self.workers:
                each.set(layout.TABLE, at)
                each.set(layout.TABLE_COUNT, len(self._table))
                each.forget_sites()

    def _take_off(self) -> None:
        """Free the places of CTAs that ended while none was waiting."""
        residency = self.grid._residency
        if residency.ended == self.grid.config.ctas:
            residency.clear()
            for worker in self.workers:
                worker.ctas.clear()
            return
        if self._team is not None and self._team.moved:
            gone = find_all(self.workers)
        else:
            gone = [cta for worker in self.workers for cta in worker.gone()]
        if gone:
            residency.take_off(gone)

    def _leave(self) -> None:
        """Everything compiled code did."""
        schedule = self.grid.schedule
        self._lead.see()
        if self.grid.finished:
            return
        for worker in self.workers:
            worker.see_all()
            if unused := worker.unused():
                self.grid._residency.hand_back(unused)
        if len(self.workers) > 1:
            # The place in the ring of all warps; turns of other threads end here.
            ring = self.grid._residency.ring
            places = (n for n, warp in enumerate(ring, 1) if warp is schedule.warp)
            schedule._position = next(places, 0)
