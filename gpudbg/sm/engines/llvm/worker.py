"""One host thread's share of a launch: its environment, its CTAs and its place in the schedule.

A run on one thread has one worker with every resident CTA.  With several, each has some of the
CTAs, warps of a CTA together, and takes new ones from the counter they share; what else compiled
code writes without atomics (site caches, scratch, counts) each has for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.mem.store import ByteStore
from gpudbg.sm import record as rec
from gpudbg.sm.barrier import Barriers
from gpudbg.sm.engines.llvm import barriers, layout, loop
from gpudbg.sm.residency import coordinates
from gpudbg.sm.state import Cta, WarpState

if TYPE_CHECKING:
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.scheduler import Schedule


def address(array: npt.NDArray[Any]) -> int:
    """Where an array lies in the host's memory; quicker than its `ctypes`."""
    return int(array.__array_interface__["data"][0])


def pointer(store: ByteStore) -> int:
    """Where a store's bytes lie in the host's memory."""
    return address(store.data)


class Slot:
    """A CTA as the grid loop sees it."""

    __slots__ = ("cta", "words")

    def __init__(self, cta: Cta) -> None:
        self.cta = cta
        count = len(cta.warps)
        self.words = np.zeros(loop.CTA_BYTES // 8 + count, np.int64)

    @property
    def records(self) -> list[int]:
        """Addresses of its warps' records."""
        found: list[int] = self.words[loop.CTA_BYTES // 8 :].tolist()
        return found


class Worker:
    """What one host thread needs to run compiled code.

    Attributes:
        grid: the launch.
        slots: its CTAs by identity.
        ring: pointers to its warps' records, by (SM, slot).
        why: what the last call returned.
        linked: its function table is filled: for one thread (False) or for several (True).
    """

    def __init__(self, grid: Grid, counter: npt.NDArray[np.int64]) -> None:
        """Args: counter: one element: the number of the next CTA, shared by all workers."""
        self.grid = grid
        raw = np.zeros(layout.ENVIRONMENT_BYTES + 64, np.uint8)
        start = -raw.ctypes.data % 64
        self.env = raw[start : start + layout.ENVIRONMENT_BYTES]
        self.address = address(self.env)
        self._fields: npt.NDArray[np.int64] = self.env.view(np.int64)
        self.slots: dict[int, Slot] = {}
        self.ring = np.zeros(1, np.int64)
        self._warp_at: dict[int, WarpState] = {}
        self._issued = np.zeros(len(grid.sms), np.int64)
        self._before = np.zeros(len(grid.sms), np.int64)
        self._sites = np.zeros(1, np.int64)
        self._ended = 0
        self.why = loop.LIMIT
        self.linked: bool | None = None
        self.put("next", address(counter))

    # ---- fields ------------------------------------------------------------------------

    def set(self, offset: int, value: int) -> None:
        """Write a field of the environment by its offset."""
        self._fields[offset // 8] = value

    def put(self, name: str, value: int) -> None:
        """Write a field of the grid loop."""
        self._fields[loop.FIELD[name] // 8] = value

    def field(self, name: str) -> int:
        """Read a field of the grid loop."""
        return int(self._fields[loop.FIELD[name] // 8])

    def ask_to_stop(self, stop: bool = True) -> None:
        """Have the call in progress return at the next turn; safe from any thread."""
        self._fields[layout.STOP // 8] = int(stop)

    def link(self, functions: npt.NDArray[np.int64]) -> None:
        """Fill its function table."""
        start = layout.FUNCTIONS // 8
        self._fields[start : start + len(functions)] = functions

    def new_sites(self, count: int) -> None:
        """Room for what its accesses remember of allocations, and nothing in it."""
        self._sites = np.zeros(count * layout.SITE_BYTES // 8, np.int64)
        self.set(layout.SITES, address(self._sites))

    def forget_sites(self) -> None:
        """Allocations have changed."""
        self._sites[:] = 0

    # ---- residents -----------------------------------------------------------------------

    def place(self, ctas: list[Cta], keep: bool) -> None:
        """Give it CTAs.

        Args:
            keep: CTAs it has already are as compiled code left them.
        """
        known = self.slots if keep else {}
        self.slots = {}
        if not keep:
            self._warp_at = {}
        for cta in ctas:
            slot = known.get(id(cta))
            if slot is None:
                slot = self._placed(cta)
            self.slots[id(cta)] = slot
            slot.words[loop.LIVE // 8] = len(cta.live)
        every = self.grid.warps()
        rows = [warp for warp in every if id(warp.cta) in self.slots]
        self._warp_at = {warp.quads[rec.SELF]: warp for warp in rows}
        self.ring = np.array(list(self._warp_at) or [0], np.int64)
        if rows:
            local = rows[0].local
            self.set(layout.LOCAL_LOW, local.low)
            self.set(layout.LOCAL_START, local.start)
            self.set(layout.LOCAL_BYTES, local.size)
        self.put("ring", address(self.ring))
        self.put("ring_count", len(rows))

    def _placed(self, cta: Cta) -> Slot:
        """A CTA that is new here, and its warps."""
        slot = Slot(cta)
        words = slot.words
        words[loop.NUMBER // 8] = cta.number
        words[loop.WARPS // 8] = len(cta.warps)
        words[loop.ISSUED // 8] = address(self._issued) + 8 * cta.sm
        words[loop.SHARED // 8] = pointer(cta.shared)
        words[loop.SHARED_SIZE // 8] = cta.shared.size
        words[loop.ALLOCATED // 8] = cta.barriers.allocated
        shared, at = int(words[loop.SHARED // 8]), address(words)
        locals_used = cta.warps[0].local.size
        for warp in cta.warps:
            quads = warp.quads
            quads[layout.SHARED_POINTER // 8] = shared
            quads[layout.LOCAL_POINTER // 8] = address(warp.local.words) if locals_used else 0
            quads[layout.CTA_POINTER // 8] = at
            words[loop.CTA_BYTES // 8 + warp.index] = warp.quads[rec.SELF]
        self._tell_barriers(slot)
        return slot

    def _tell_barriers(self, slot: Slot) -> None:
        barriers.tell(slot.words, slot.cta, self.grid.observed("barrier"))

    # ---- to compiled code ------------------------------------------------------------------

    def tell(self) -> None:
        """What a step of the present warp can have changed."""
        schedule = self.grid.schedule
        self.put("left", schedule.left)
        self.put("position", schedule._position)
        self.put("stay", schedule._stay)
        self.put("current", self._place_of(schedule))
        warp = schedule.warp
        if warp is not None and id(warp.cta) in self.slots:
            slot = self.slots[id(warp.cta)]
            self._tell_barriers(slot)
            slot.words[loop.LIVE // 8] = len(warp.cta.live)

    def begin_anywhere(self) -> None:
        """No turn is in progress."""
        for name, value in (("left", 0), ("position", 0), ("stay", 0), ("current", -1)):
            self.put(name, value)

    def _place_of(self, schedule: Schedule) -> int:
        """The ring position of the warp whose turn it is, or -1."""
        warp = schedule.warp
        if warp is None or schedule.left <= 0:
            return -1
        at = int(warp.quads[rec.SELF])
        found = np.flatnonzero(self.ring[: self.field("ring_count")] == at)
        return int(found[0]) if found.size else -1

    def call(self, function: Callable[[int], int], limit: int) -> None:
        """Run up to about `limit` instructions; `why` says what ended that."""
        self.put("total", 0)
        self.put("limit", limit)
        self.why = function(self.address)

    def prepare(self) -> None:
        """Counts as they stand, before a call."""
        for sm in self.grid.sms:
            self._issued[sm.index] = self._before[sm.index] = sm.issued
        self.put("ended", 0)
        self.put("before", self.grid.total)

    # ---- from compiled code ----------------------------------------------------------------

    def account(self) -> int:
        """Add what the last call did to the launch's counts; CTAs that ended in it."""
        self.grid.total += self.field("total")
        self.put("total", 0)
        for sm in self.grid.sms:
            sm.issued += int(self._issued[sm.index] - self._before[sm.index])
        ended = self.field("ended")
        self.put("ended", 0)
        return ended

    def gone(self) -> list[Cta]:
        """CTAs that ended while none was waiting; they are no longer its own."""
        if self.field("ring_count") == sum(len(s.cta.warps) for s in self.slots.values()):
            return []
        found = [s.cta for s in self.slots.values() if s.words[loop.NUMBER // 8] < 0]
        for cta in found:
            del self.slots[id(cta)]
        return found

    def see(self) -> WarpState | None:
        """Take its turn over into the schedule, with the CTA whose turn it is; the warp."""
        schedule = self.grid.schedule
        schedule._position = self.field("position")
        schedule._stay = self.field("stay")
        warp = self.current()
        if warp is None:
            schedule.left = 0
            return None
        schedule.warp, schedule.left = warp, self.field("left")
        self.see_cta(self.slots[id(warp.cta)])
        return warp

    def current(self) -> WarpState | None:
        """The warp whose turn it is."""
        place = self.field("current")
        return None if place < 0 else self._warp_at[int(self.ring[place])]

    def see_all(self) -> None:
        """Places in the grid and barriers of all its CTAs."""
        for slot in self.slots.values():
            self.see_cta(slot)

    def see_cta(self, slot: Slot) -> None:
        """One CTA's place in the grid and barriers."""
        words, cta = slot.words, slot.cta
        if words[loop.RENEWED // 8]:
            words[loop.RENEWED // 8] = 0
            cta.number = int(words[loop.NUMBER // 8])
            cta.block = coordinates(cta.number, self.grid.config.grid)
            cta.barriers = Barriers(cta, self.grid.config.barriers)
            for warp in cta.warps:
                warp.shown = -1
        barriers.see(words, cta)
