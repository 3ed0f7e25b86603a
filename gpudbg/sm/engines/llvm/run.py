"""The run engine: compiled code takes turns as the schedule says, the step engine does the rest.

`RunEngine.advance` runs a grid until something needs attention.  While it does, the state of the
schedule, of barriers and of which CTA is where belongs to compiled code (`loop`); it is written
back before the step engine executes an instruction, as far as that can see it, and completely
before `advance` returns.  Registers, masks, stacks and memory are shared all the time.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.mem.store import ByteStore
from gpudbg.sm import record as rec
from gpudbg.sm.barrier import Barriers
from gpudbg.sm.engines.llvm import build, layout, loop
from gpudbg.sm.engines.llvm.emitter import COMPILED_SREGS
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.listing import indirect_entries
from gpudbg.sm.engines.llvm.program import GOOD, QUICK, Program, program_of
from gpudbg.sm.residency import coordinates
from gpudbg.sm.scheduler import Schedule
from gpudbg.sm.sregs import ROWS, SregFile
from gpudbg.sm.state import Cta, WarpState
from gpudbg.sm.turns import LONGEST

if TYPE_CHECKING:
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.grid import Grid

CHUNK = 4_000_000
"""Warp instructions after which compiled code returns to see whether it was interrupted."""

NO_LIMIT = 1 << 62
MOST_ENTRIES = 4096
"""Places reached by computed branches that are taken into a program."""


class _Slot:
    """A CTA as the grid loop sees it."""

    __slots__ = ("cta", "words")

    def __init__(self, cta: Cta) -> None:
        self.cta = cta
        count = len(cta.warps)
        self.words = np.zeros(loop.CTA_BYTES // 8 + count, np.int64)

    @property
    def address(self) -> int:
        return int(self.words.ctypes.data)


class RunEngine:
    """Compiled execution of one launch.

    Attributes:
        grid: the launch.
        program: its code.
        exits: pc of an instruction that the step engine executed -> how often.
    """

    def __init__(self, grid: Grid, entry: int, good: bool = True) -> None:
        """Args: good: compile well at once; else quickly, and improve in the background."""
        self.grid = grid
        self.good = good
        self.entry = entry
        self.exits: Counter[int] = Counter()
        self.env = np.zeros(layout.ENVIRONMENT_BYTES + 64, np.uint8)
        self._at = self.env.ctypes.data + -self.env.ctypes.data % 64
        start = self._at - self.env.ctypes.data
        self.env = self.env[start : start + layout.ENVIRONMENT_BYTES]
        self._fields = self.env.view(np.int64)
        self._slots: dict[int, _Slot] = {}
        self._issued = np.zeros(len(grid.sms), np.int64)
        self._ring = np.zeros(1, np.int64)
        self._memory_changes = -1
        self._warp_at: dict[int, WarpState] = {}
        self._stops: frozenset[int] = frozenset()
        self._entries = {entry}
        self.program = self._program(self._entries)
        self._call = self._functions()
        self._constants()

    # ---- set-up ------------------------------------------------------------------------

    def _program(self, entries: set[int]) -> Program:
        grid = self.grid
        engine = grid.engine
        banks = {n: engine.constants.bound(n) for n in engine.constants.banks}
        sregs: frozenset[int] = frozenset()
        if isinstance(engine.sregs, SregFile):
            rows = engine.sregs.rows
            sregs = frozenset(n for n in COMPILED_SREGS if rows.get(n) is ROWS.get(n))
        program = program_of(grid.code, entries, grid.config.registers, banks, sregs)
        self._sites = np.zeros(program.sites * layout.SITE_BYTES // 8, np.int64)
        self._marks = np.zeros(len(grid.code.code) // 8 + 64, np.uint8)
        self._set(layout.SITES, self._sites.ctypes.data)
        self._set(layout.MARKS, self._marks.ctypes.data)
        return program

    def _functions(self) -> Callable[[int], int]:
        """Fill the function table; the grid loop."""
        library = build.library()
        for name, index in layout.FUNCTION_INDEX.items():
            self._set(layout.FUNCTIONS + 8 * index, library.address(layout.symbol(name)))
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
        return prototype(library.address(loop.SYMBOL))

    def _constants(self) -> None:
        """What does not change during the launch."""
        grid = self.grid
        config = grid.config
        self._set(layout.SHARED_WINDOW, grid.gpu.layout.shared_window)
        self._set(layout.SHARED_BYTES, config.shared_bytes)
        constants = grid.engine.constants
        for number, store in constants.banks.items():
            self._set(layout.BANKS + 16 * number, _pointer(store))
            self._set(layout.BANKS + 16 * number + 8, constants.bound(number))
        self._put("quantum", grid.schedule.quantum)
        self._put("ctas", config.ctas)
        self._put("grid_x", config.grid[0])
        self._put("grid_y", config.grid[1])
        self._put("entry", self.entry if self.entry & 31 else self.entry + 8)

    def _set(self, offset: int, value: int) -> None:
        self._fields[offset // 8] = value

    def _put(self, name: str, value: int) -> None:
        self._fields[loop.FIELD[name] // 8] = value

    def _field(self, name: str) -> int:
        return int(self._fields[loop.FIELD[name] // 8])

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
        if grid.total >= limit or not self._can_run():
            return None
        self._mark(frozenset(stops or ()))
        self._renew()
        try:
            while True:
                if grid._interrupted():
                    return self._stop("interrupted", before)
                self._put("limit", min(limit, grid.total + CHUNK))
                why = self._call(self._at)
                self._see()
                if why == loop.IDLE or grid.total >= limit:
                    return None
                if why == loop.LIMIT:
                    # Better code may have come; its blocks need their marks.
                    self._mark(self._stops)
                    continue
                event = self._attend(why & 255, before, stops, accept)
                if event is not None:
                    return event
        finally:
            self._leave()

    def _can_run(self) -> bool:
        """Whether compiled code knows this grid's schedule and traps."""
        return self.grid.schedule.seed == 0

    def _stop(self, kind: str, before: int) -> StopEvent:
        return self.grid.event(kind, self.grid.schedule.warp, before)  # type: ignore[arg-type]

    def _attend(
        self,
        why: int,
        before: int,
        stops: Collection[int] | None,
        accept: Callable[[WarpState], bool] | None,
    ) -> StopEvent | None:
        """Do what compiled code left to Python; the event that ends the run, if it does."""
        grid = self.grid
        warp = grid.schedule.warp
        assert warp is not None
        if why == Left.SWITCH:
            self.program.version(False, GOOD if self.good else QUICK)
            if not self.good:
                self.program.improve_later()
            self._mark(self._stops)
            return None
        if why == Left.DONE:
            grid.warp_done(warp)
            self._renew()
            return None
        if why == Left.MISS and self._grown(warp.pc):
            return None
        if stops and grid._meets(warp, stops, accept):
            return grid.event("breakpoint", warp, before)
        count = 1
        if why != Left.STEP or not self.program.is_slow(warp.pc):
            count = self.program.stretch(warp.pc)
        self.exits[warp.pc] += 1
        resident = grid._residency.ended
        event = grid._advance(warp, count, before, stops, None, grid.schedule.left)
        if grid._residency.ended != resident or warp.words[rec.STATUS] == rec.DONE:
            self._renew()
        else:
            self._tell()
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
        self.program = self._program(more)
        self._mark(self._stops)
        self._memory_changes = -1
        self._tell()
        return True

    # ---- breakpoints -------------------------------------------------------------------

    def _mark(self, stops: frozenset[int]) -> None:
        """Have compiled code leave before blocks with a breakpoint."""
        self._stops = stops
        self._marks[:] = 0
        self._use_code()
        base = self.program.listing.base
        for head, end in self.program.heads().items() if stops else ():
            if any(head <= pc <= end for pc in stops):
                self._marks[(head - base) // 8] = 1

    def _use_code(self) -> None:
        """Have the best code there is run."""
        program = self.program
        full = program.version(True, GOOD if self.good else QUICK)
        self._set(layout.FULL_CODE, full.address)
        self._set(layout.MASKED_CODE, 0 if program.masked is None else program.masked.address)

    # ---- state to and from compiled code ---------------------------------------------------

    def _renew(self) -> None:
        """Residency, barriers and the schedule, for compiled code."""
        grid = self.grid
        residency = grid._residency
        self._slots = {}
        self._warp_at = {}
        for sm in grid.sms:
            self._issued[sm.index] = sm.issued
            for cta in sm.ctas:
                if cta is not None:
                    self._place(cta)
        if residency.ring:
            local = residency.ring[0].local
            self._set(layout.LOCAL_LOW, local.low)
            self._set(layout.LOCAL_START, local.start)
            self._set(layout.LOCAL_BYTES, local.size)
        place = {id(warp): at for at, warp in self._warp_at.items()}
        self._ring = np.array([place[id(warp)] for warp in residency.ring] or [0], np.int64)
        self._put("ring", self._ring.ctypes.data)
        self._put("ring_count", len(residency.ring))
        self._put("started", residency.started)
        self._put("ended", residency.ended)
        self._tell()

    def _place(self, cta: Cta) -> None:
        """A resident CTA and its warps."""
        slot = _Slot(cta)
        words = slot.words
        words[loop.NUMBER // 8] = cta.number
        words[loop.LIVE // 8] = len(cta.live)
        words[loop.WARPS // 8] = len(cta.warps)
        words[loop.ISSUED // 8] = self._issued[cta.sm :].ctypes.data
        words[loop.SHARED // 8] = _pointer(cta.shared)
        words[loop.SHARED_SIZE // 8] = cta.shared.size
        words[loop.ALLOCATED // 8] = cta.barriers.allocated
        self._slots[id(cta)] = slot
        shared, at = int(words[loop.SHARED // 8]), slot.address
        for warp in cta.warps:
            record = warp.record.ctypes.data
            quads = warp.quads
            quads[layout.SHARED_POINTER // 8] = shared
            quads[layout.LOCAL_POINTER // 8] = warp.local.words.ctypes.data
            quads[layout.CTA_POINTER // 8] = at
            words[loop.CTA_BYTES // 8 + warp.index] = record
            self._warp_at[record] = warp
        self._tell_barriers(slot)

    def _tell_barriers(self, slot: _Slot) -> None:
        arrived = slot.words.view(np.int32)
        for n, barrier in enumerate(slot.cta.barriers.slots):
            plain = barrier.count is None and not barrier.total and barrier.all_true
            plain = plain and not barrier.any_true and not any(barrier.waiting.values())
            arrived[loop.ARRIVED // 4 + n] = barrier.arrived
            arrived[loop.SPECIAL // 4 + n] = 0 if plain else -1
        slot.words[loop.IN_USE // 8] = any(barrier.arrived for barrier in slot.cta.barriers.slots)

    def _tell(self) -> None:
        """What a step of the present warp can have changed."""
        grid = self.grid
        schedule = grid.schedule
        self._put("left", schedule.left)
        self._put("position", schedule._position)
        self._put("stay", schedule._stay)
        self._put("total", grid.total)
        self._put("current", self._place_of(schedule))
        for sm in grid.sms:
            self._issued[sm.index] = sm.issued
        warp = schedule.warp
        if warp is not None and id(warp.cta) in self._slots:
            slot = self._slots[id(warp.cta)]
            self._tell_barriers(slot)
            slot.words[loop.LIVE // 8] = len(warp.cta.live)
        memory = grid.gpu.memory
        if memory.changes != self._memory_changes:
            self._memory_changes = memory.changes
            rows = [(a.base, a.size, _pointer(a)) for a in memory.allocations()]
            self._table = np.array(rows or [(0, 0, 0)], np.int64)
            self._set(layout.TABLE, self._table.ctypes.data)
            self._set(layout.TABLE_COUNT, len(rows))
            self._sites[:] = 0

    def _place_of(self, schedule: Schedule) -> int:
        """The ring position of the warp whose turn it is, or -1."""
        warp = schedule.warp
        if warp is None or schedule.left <= 0:
            return -1
        at = warp.record.ctypes.data
        count = self._field("ring_count")
        found = np.flatnonzero(self._ring[:count] == at)
        return int(found[0]) if found.size else -1

    def _see(self) -> None:
        """What compiled code did, as far as a step of the present warp can see it."""
        grid = self.grid
        schedule = grid.schedule
        grid.total = self._field("total")
        schedule._position = self._field("position")
        schedule._stay = self._field("stay")
        for sm in grid.sms:
            sm.issued = int(self._issued[sm.index])
        residency = grid._residency
        residency.started, residency.ended = self._field("started"), self._field("ended")
        if self._field("ring_count") != len(residency.ring):
            self._take_off()
        current = self._field("current")
        if current < 0:
            schedule.left = 0
            return
        warp = self._warp_at[int(self._ring[current])]
        schedule.warp, schedule.left = warp, self._field("left")
        self._see_cta(self._slots[id(warp.cta)])

    def _see_cta(self, slot: _Slot) -> None:
        """One CTA's place in the grid and barriers."""
        words, cta = slot.words, slot.cta
        if words[loop.RENEWED // 8]:
            words[loop.RENEWED // 8] = 0
            cta.number = int(words[loop.NUMBER // 8])
            cta.block = coordinates(cta.number, self.grid.config.grid)
            cta.barriers = Barriers(cta, self.grid.config.barriers)
            for warp in cta.warps:
                warp.shown = -1
        arrived = words.view(np.int32)
        for n, barrier in enumerate(cta.barriers.slots):
            count = int(arrived[loop.ARRIVED // 4 + n])
            if (count or barrier.arrived) and not arrived[loop.SPECIAL // 4 + n]:
                barrier.arrived = count
                barrier.waiting = {
                    w.index: barrier.waiting.get(w.index, "")
                    for w in cta.warps
                    if w.words[rec.STATUS] == rec.AT_BARRIER and w.words[rec.BAR_WAIT] == n
                }

    def _take_off(self) -> None:
        """Free the places of CTAs that ended while none was waiting."""
        residency = self.grid._residency
        for slot in list(self._slots.values()):
            if slot.words[loop.NUMBER // 8] < 0:
                cta = slot.cta
                sm = residency.sms[cta.sm]
                sm.ctas[cta.slot] = None
                for warp in cta.warps:
                    sm.warps[warp.slot] = None
                del self._slots[id(cta)]
        residency._renew()

    def _leave(self) -> None:
        """Everything compiled code did."""
        self._see()
        for slot in self._slots.values():
            self._see_cta(slot)


def _pointer(store: ByteStore) -> int:
    return int(store.data.ctypes.data)
