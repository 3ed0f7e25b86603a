"""Assigns the CTAs of a launch to host threads, and runs these.

Each thread has a `Worker` with some of the resident CTAs and takes new ones from a counter that all
share; one that has none steals some (`runtime.work_stealing`).  What they did is counted in the
launch when a call returns; the rest is taken over as far as it is needed, and all of it at last
(`Workers.leave`).
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from gpudbg.isa.operands import Access
from gpudbg.mem.local import LocalMemory
from gpudbg.mem.pages import address_of, zeroed
from gpudbg.mem.store import padded_size
from gpudbg.sm.engines.llvm import build, crash, layout
from gpudbg.sm.engines.llvm.threads import ThreadPool, acquire_pool, release_pool, wake_early
from gpudbg.sm.engines.llvm.worker import Worker, find_all_ctas, pointer
from gpudbg.sm.launched import Launched
from gpudbg.sm.residency import arena
from gpudbg.sm.state import Cta

WORTH = 1_000_000
"""Warp instructions of a run from which on several threads are used."""
MOST_TAKEN, EVEN = 1024, 4
"""CTAs that one of several threads takes at a time: at most this many, and a fraction of those that
wait.  Neighbouring CTAs usually access neighbouring memory, which a processor prefetches."""
SHORT = 20_000
"""Fewer instructions than this between two stops of all threads count as a short run."""
MOST_SHORT = 32
"""After this many short runs in a row one thread runs alone, for `ALONE` instructions."""
ALONE = 2_000_000

_EPOCHS = itertools.count(arena.UNTOUCHED + 1)
"""Source of epoch numbers: periods in which only compiled code changes warps; each is used once."""


@cache
def _functions(called: frozenset[str], shared: bool) -> tuple[tuple[int, int], ...]:
    """(Index in the environment's table, address) of library functions, built if need be; `shared`:
    variants with atomics for memory that other threads access.
    """
    library = build.library()
    return tuple(
        (
            layout.FUNCTIONS + 8 * layout.FUNCTION_INDEX[name],
            library.address(layout.symbol(name, shared)),
        )
        for name in sorted(called)
    )


@cache
def _loop(library: build.Library) -> Callable[[int], int]:
    """The grid loop."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
    return prototype(library.address(layout.GRID_LOOP))


class Beginning(NamedTuple):
    """What one worker alone is given before a launch runs.

    Attributes:
        fields: its environment, as bytes.
        ctas: those that are resident, by identity.
        homes: their memory.
    """

    fields: bytes
    ctas: dict[int, Cta]
    homes: set[arena.Arena | None]


class Workers:
    """The workers of a launch.

    Attributes:
        launched: the launch.
        workers: one for each host thread; the first one runs in the caller's thread.
        lead: the one whose turn is the schedule's.
    """

    def __init__(self, launched: Launched, entry: int, equip: Callable[[Worker], None]) -> None:
        """Makes the workers, without CTAs.

        Args:
            entry: where warps begin.
            equip: tells a new worker what depends on the program.
        """
        self.launched = launched
        self._entry, self._equip = entry, equip
        self._counter = zeroed(arena.LINE).data.cast("q")
        self._last = launched.config.ctas
        self._table = launched.memory.table()
        self._memory_changes = -1
        self._prepared = 0
        self._wipe = False
        self._short = self._alone_until = 0
        self._pool: ThreadPool | None = None
        self._homes: set[arena.Arena | None] = set()
        self._called: frozenset[str] = frozenset()
        self._call = _loop(build.library())
        self._watch = crash.CrashWatch(self)
        crash.install()
        self.made = [self._worker(n == 0) for n in range(self._most())]
        self.workers = self.made[:1]
        self.lead = self.workers[0]

    def _worker(self, first: bool = False) -> Worker:
        """Make a worker, and set the fields that do not change during the launch."""
        launched = self.launched
        config = launched.config
        worker = Worker(launched, address_of(np.asarray(self._counter)), first)
        worker.set(layout.SHARED_WINDOW, launched.memory.layout.shared_window)
        worker.set(layout.SHARED_BYTES, config.shared_bytes)
        if launched.marking:
            worker.set(layout.SHARED_MARKS, padded_size(config.shared_bytes))
            local = LocalMemory.bytes_of(config.local_bytes, config.local_low)
            worker.set(layout.LOCAL_MARKS, local)
        constants = launched.constants
        for number, store in constants.banks.items():
            worker.set(layout.BANKS + 16 * number, pointer(store))
            worker.set(layout.BANKS + 16 * number + 8, constants.bound(number))
        worker.set(layout.WIDE, not config.layout.has_control_words)
        worker.put("grid_x", config.grid[0])
        worker.put("grid_y", config.grid[1])
        worker.put("entry", self.launched.config.layout.first(self._entry))
        self._equip(worker)
        return worker

    def equip_all(self) -> None:
        """Equip all workers for another program."""
        for worker in self.made:
            self._equip(worker)

    def use(
        self,
        full: int,
        masked: int,
        complete: int,
        writes: frozenset[int],
        called: frozenset[str],
    ) -> None:
        """Have workers run the code at these addresses, with these sites that write, and which
        calls these functions of the library.

        Args:
            complete: address of the function that makes final registers, or 0.
        """
        self._called = called
        for worker in self.workers:
            worker.mark_writes(writes)
            worker.set_code(full, masked)
            worker.set(layout.COMPLETE, complete)
            self._link(worker, len(self.workers) > 1)

    # ---- threads -----------------------------------------------------------------------

    def jobs(self, limit: int) -> int:
        """Host threads to use for a run up to `limit` instructions."""
        launched = self.launched
        if launched.total < self._alone_until or launched.observers.everywhere:
            return 1
        return 1 if limit - launched.total < WORTH else self._most()

    def _most(self) -> int:
        """Host threads that the resident CTAs can occupy."""
        jobs = self.launched.jobs if self._pool is None else self._pool.most + 1
        if jobs == 1:
            return 1
        return max(1, min(jobs, len(self.launched.residency.ring) // self.launched.config.warps))

    def wake(self, limit: int) -> int:
        """Wake the thread pool for a run that is long enough; threads, with the caller's."""
        if self.launched.jobs == 1:
            return 1
        self._pool = acquire_pool(self.launched.jobs - 1)
        jobs = self.jobs(limit)
        self._pool.wake(jobs - 1)
        return jobs

    def release(self) -> None:
        """Give the thread pool back."""
        if self._pool is not None:
            release_pool(self._pool)
            self._pool = None

    def wake_early(self) -> None:
        """Wake the thread pool before a run that is expected soon."""
        if len(self.workers) > 1:
            wake_early(self.launched.jobs - 1, len(self.workers) - 1)

    def ask_to_stop(self, stop: bool = True) -> None:
        """Have compiled code return to Python soon; safe from any thread."""
        for worker in self.made:
            worker.ask_to_stop(stop)

    def all_idle(self) -> bool:
        """Whether every worker returned because no warp is ready."""
        return all(worker.why == layout.IDLE for worker in self.workers)

    def run(self, most: int, limit: int) -> None:
        """Run all workers until one needs Python, or for about `most` instructions."""
        launched, workers = self.launched, self.workers
        jobs, start, residency = len(workers), launched.total, launched.residency
        # Every thread ends its turn; the way to a limit is finished on one.
        spare = jobs * launched.schedule.longest_turn if jobs > 1 else 0
        most = min(most, limit - start - spare)
        memory = launched.memory
        for worker in workers:
            worker.prepare(most // jobs)
            if launched.handler_banks is not None:
                worker.write_local_ranges()
        memory.running(1)
        try:
            with self._watch:
                if jobs > 1 and self._pool is not None:
                    self._pool.run(workers)
                else:
                    workers[0].why = self._call(workers[0].address)
        finally:
            memory.running(-1)
        for worker in workers:
            residency.finished_ctas += worker.account()
        residency.started = min(self._counter[0], self._last)
        self._remove_finished()
        if jobs > 1 and not launched.finished:
            needed = any(w.why not in (layout.LIMIT, layout.IDLE) for w in workers)
            short = needed and launched.total - start < SHORT
            self._short = self._short + 1 if short else 0
            if self._short >= MOST_SHORT:
                self._short, self._alone_until = 0, launched.total + ALONE

    # ---- what others may have written ----------------------------------------------------

    def may_be_modified(self) -> bool:
        """Whether Python code may have written to registers or local memory of resident warps."""
        return any(home is None or home.seen or home.local_seen for home in self._homes)

    def _local_may_be_modified(self) -> bool:
        """Whether Python code may have written to local memory of resident warps."""
        return any(home is None or home.local_seen for home in self._homes)

    def needs_wipe(self, written: Access) -> bool:
        """Whether registers that the code does not write may be other than zero: then a warp that
        begins in the place of another one has all of them wiped.

        Args:
            written: what the code writes.
        """
        launched = self.launched
        if launched.observers.everywhere or launched.traps.handler is not None:
            return True
        for home in self._homes:
            if home is None:
                return True
            if home.seen and home.holds_other(written):
                return True
        return False

    def wipe_reused(self, wipe: bool) -> None:
        """Set whether a warp that begins in the place of another one has all registers wiped."""
        self._wipe = wipe
        for worker in self.made:
            worker.put("wipe", wipe)

    # ---- CTAs ----------------------------------------------------------------------------

    def unbalanced(self, limit: int) -> bool:
        """Whether the CTAs should be distributed again."""
        if len(self.workers) == 1:
            return self.launched.jobs > 1 and self.jobs(limit) > 1
        counts = [len(worker.ctas) for worker in self.workers]
        return self.jobs(limit) == 1 or (min(counts) == 0 and max(counts) > 1)

    def distribute(self, jobs: int) -> None:
        """Distribute the resident CTAs among workers; the schedule's turn goes to the first one."""
        launched = self.launched
        residency = launched.residency
        self._assign(jobs)
        self._counter[0] = residency.started
        chunk = MOST_TAKEN if jobs > 1 else 0
        if self._prepared != len(self.workers):
            self._memory_changes, self._prepared = -1, len(self.workers)
        buffers = {} if launched.trace is None else launched.trace.buffers()
        heard = launched.observed("warp_end") or launched.observed("cta_end")
        for worker in self.workers:
            for kind, buffer in buffers.items():
                worker.set(layout.TRACES[kind], address_of(buffer.words))
            self._set_drain(worker)
            worker.put("tell", bool(heard))
            worker.put("quantum", launched.schedule.quantum)
            worker.put("wipe", self._wipe)
            worker.set_numbers(residency.hand_out(), chunk, EVEN * jobs)
            worker.reset_turn()
        # Later CTAs may wait for numbers that were given back, and must not take their room.
        self._last = residency.started if residency.returned else launched.config.ctas
        for worker in self.workers:
            worker.put("ctas", self._last)
        self.lead = self.workers[0]
        self.refresh(self.lead)
        if jobs > 1:
            self.lead.reset_turn()

    def beginning(self) -> Beginning | None:
        """What `distribute` has just given to one worker, for launches of the same kind; None
        where there are several, which write to more than their environments."""
        if len(self.workers) > 1:
            return None
        (worker,) = self.workers
        return Beginning(worker.environment(), dict(worker.ctas), self._homes)

    def begin_again(self, beginning: Beginning) -> None:
        """As `distribute` for a launch that stands where that of `beginning` did."""
        (worker,) = self.workers
        worker.restore(beginning.fields, beginning.ctas)
        self._homes = beginning.homes
        self._counter[0] = self.launched.residency.started
        self.lead = worker
        self._renew_table()

    def _set_drain(self, worker: Worker) -> None:
        """Say who empties a full trace."""
        trace = self.launched.trace
        given = (0, 0, 0)
        if trace is not None and trace.drain is not None:
            (buffer,) = trace.buffers().values()
            given = (*trace.drain, address_of(buffer.words))
        places = layout.DRAIN, layout.DRAIN_CONTEXT, layout.DRAIN_ROWS
        for place, address in zip(places, given, strict=True):
            worker.set(place, address)

    def _assign(self, jobs: int) -> None:
        """Assign the resident CTAs to so many workers, consecutive ones to each."""
        while len(self.made) < jobs:
            self.made.append(self._worker())
        self.workers = self.made[:jobs]
        ctas = self._residents()
        for n, worker in enumerate(self.workers):
            self._link(worker, jobs > 1)
            worker.assign(ctas[n * len(ctas) // jobs : (n + 1) * len(ctas) // jobs], keep=False)

    def _residents(self) -> list[Cta]:
        """Resident CTAs: for one thread as the schedule has them; for several in the order of their
        numbers, in which those follow one another that wait for the one before."""
        ctas = list(self.launched.residency.ctas())
        self._homes = {cta.home for cta in ctas}
        if len(self.workers) > 1:
            ctas.sort(key=lambda cta: cta.number)
        return ctas

    def _link(self, worker: Worker, shared: bool) -> None:
        """Fill a worker's function table; `shared`: variants with atomics for memory that other
        threads access.
        """
        wanted = self._called, shared
        if worker.linked != wanted:
            worker.linked = wanted
            for place, address in _functions(*wanted):
                worker.set(place, address)

    def reassign(self, worker: Worker) -> None:
        """A CTA of the worker has ended in Python: assign it the one that took its place."""
        self._counter[0] = self.launched.residency.started
        others = {key for w in self.workers if w is not worker for key in w.ctas}
        worker.assign([cta for cta in self._residents() if id(cta) not in others], keep=True)
        self.refresh(worker)

    def refresh(self, worker: Worker) -> None:
        """Update the workers after the step engine has executed for a worker's present warp."""
        worker.write_turn()
        epoch = next(_EPOCHS) if self._local_may_be_modified() else arena.UNTOUCHED
        for each in self.workers:
            each.put("epoch", epoch)
        self._renew_table()

    def _renew_table(self) -> None:
        """Where allocations have changed: their table, and nothing known of accesses."""
        memory = self.launched.memory
        if memory.changes != self._memory_changes:
            self._memory_changes = memory.changes
            self._table = memory.table()
            at = address_of(self._table)
            for each in self.workers:
                each.set(layout.TABLE, at)
                each.set(layout.TABLE_COUNT, len(self._table))
                each.forget_sites()

    def _remove_finished(self) -> None:
        """Free the places of CTAs that ended while none was waiting."""
        residency = self.launched.residency
        if residency.finished_ctas == self.launched.config.ctas:
            residency.clear()
            for worker in self.workers:
                worker.ctas.clear()
            return
        if self._pool is not None and self._pool.moved:
            gone = find_all_ctas(self.workers)
        else:
            gone = [cta for worker in self.workers for cta in worker.take_finished()]
        if gone:
            residency.take_off(gone)

    def write_back(self) -> None:
        """Write everything that compiled code did back to the launch's state."""
        launched, schedule = self.launched, self.launched.schedule
        self.lead.read_turn()
        if launched.finished:
            return
        for worker in self.workers:
            worker.read_descriptors()
            if unused := worker.unused():
                launched.residency.hand_back(unused)
        if len(self.workers) > 1:
            # Position in the ring of all warps; turns of other threads end here.
            ring = launched.residency.ring
            places = (n for n, warp in enumerate(ring, 1) if warp is schedule.warp)
            schedule.position = next(places, 0)
