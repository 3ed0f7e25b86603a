"""A host thread of a launch: its environment, its CTAs and its place in the schedule.

A run on one thread has one worker with every resident CTA.  With several, each has some of the
CTAs, warps of a CTA together, and takes new ones from the counter they share; what else compiled
code writes without atomics (site caches, scratch, counts) each has for itself.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Container, Mapping, Sequence

import numpy as np

from gpudbg.mem.local import LocalMemory
from gpudbg.mem.pages import address_of, zeroed
from gpudbg.mem.store import ByteStore
from gpudbg.mem.windows import WINDOW_BYTES
from gpudbg.sm import record as rec
from gpudbg.sm.barriers import descriptor
from gpudbg.sm.barriers.phase import Barriers
from gpudbg.sm.convergence import kept
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.launched import Launched
from gpudbg.sm.residency import arena
from gpudbg.sm.residency.step import coordinates
from gpudbg.sm.schedule.step import Schedule
from gpudbg.sm.state import Cta, WarpState

ISSUED = layout.ENVIRONMENT_BYTES // 8
"""First word behind a worker's environment: instructions issued on each SM, then its ring."""
_NUMBER, _LIVE, _ISSUED = arena.NUMBER // 8, arena.LIVE // 8, arena.ISSUED // 8
_RENEWED, _RECORDS = arena.RENEWED // 8, arena.BLOCK_BYTES // 8
_AT = {name: offset // 8 for name, offset in layout.FIELD.items()}
"""Field of the grid loop -> word of the environment."""
_STOP, _LIMIT = layout.STOP // 8, _AT["limit"]
_TOTAL, _FINISHED, _BEFORE = _AT["total"], _AT["finished"], _AT["before"]
_POSITION, _STAY, _CURRENT = _AT["position"], _AT["stay"], _AT["current"]
_POLLS = _AT["polls"]
_MARKED, _MARKING = layout.MARKED // 8, layout.MARKING // 8
_IDLE_TURNS = _AT["idle"]


def pointer(store: ByteStore) -> int:
    """Where a store's bytes lie in the host's memory."""
    return address_of(store.data)


class Worker:
    """What one host thread needs to run compiled code.

    Attributes:
        launched: the launch.
        address: of its environment, behind which it has the counts and the ring it writes.
        ctas: its CTAs by identity; in the ring, each has its warps in a row, in this order.
        why: what the last call returned.
        linked: the functions in its table, and whether they are those for several threads.
    """

    def __init__(self, launched: Launched, counter: int, first: bool) -> None:
        """A worker without CTAs.

        Args:
            counter: address of the number of the next CTA, shared by all workers.
            first: runs in the caller's thread, and counts where the launch has room for it.
        """
        self.launched = launched
        config, sms = launched.config, len(launched.sms)
        self._first = first
        self._ring = ISSUED + sms
        words = self._ring + sms * config.ctas_per_sm * config.warps
        # Pad by a cache line: the next one belongs to another thread.
        memory = zeroed(8 * words + 2 * arena.LINE)
        self.address = address_of(memory)
        self._bytes = memory.data
        self._fields = self._bytes.cast("q")
        self._issued = self._fields[ISSUED : self._ring]
        if first:
            self._issued = launched.residency.issued[:sms]
        self._issued_at = address_of(np.asarray(self._issued))
        self.ctas: dict[int, Cta] = {}
        self._before = [0] * sms
        self.why = layout.LIMIT
        self.linked: tuple[frozenset[str], bool] | None = None
        self.set(layout.LOCAL_START, WINDOW_BYTES)
        self.put("next", counter)
        self.put("ring", self.address + 8 * self._ring)
        self.put("issued", self._issued_at)

    # ---- fields ------------------------------------------------------------------------

    def set(self, offset: int, value: int) -> None:
        """Write a field of the environment by its offset."""
        self._fields[offset // 8] = value

    def put(self, name: str, value: int) -> None:
        """Write a field of the grid loop."""
        self._fields[_AT[name]] = value

    def field(self, name: str) -> int:
        """Read a field of the grid loop."""
        return self._fields[_AT[name]]

    def environment(self) -> bytes:
        """All of its fields and its ring."""
        return bytes(self._bytes)

    def restore(self, environment: bytes, ctas: dict[int, Cta]) -> None:
        """Have fields, ring and CTAs as they were; what is known of accesses stays."""
        self._bytes[:] = environment
        self.ctas.clear()
        self.ctas.update(ctas)

    def ask_to_stop(self, stop: bool = True) -> None:
        """Set or clear the request to return at the next turn; safe from any thread."""
        self._fields[_STOP] = stop

    def new_sites(self, count: int) -> None:
        """Allocate empty site cache entries for the accesses of a program."""
        self._sites = zeroed(count * layout.SITE_BYTES + arena.LINE)
        self._sites_used = False
        self._site_words = self._sites.view(np.int64)
        self._writes: frozenset[int] = frozenset()
        self._written = np.empty(0, np.int64)
        self.set(layout.SITES, address_of(self._sites))

    def forget_sites(self) -> None:
        """Clear the site cache, since allocations have changed."""
        if self._sites_used:
            self._clear_sites()

    def set_code(self, full: int, masked: int) -> None:
        """Set the addresses of both versions, and clear the site cache where they are others: what
        it has besides windows is of one version."""
        if [self._fields[at // 8] for at in (layout.FULL_CODE, layout.MASKED_CODE)] != [
            full,
            masked,
        ]:
            self.forget_sites()
        self.set(layout.FULL_CODE, full)
        self.set(layout.MASKED_CODE, masked)

    def mark_writes(self, writes: frozenset[int]) -> None:
        """Set which accesses write, and clear the site cache: entries may be for reads only."""
        if writes != self._writes:
            self._writes = writes
            at = np.fromiter(writes, np.int64, len(writes))
            self._written = (at * layout.SITE_BYTES + layout.SITE_WRITES) // 8
            self._clear_sites()

    def _clear_sites(self) -> None:
        """Empty site cache entries, which say whether their accesses write."""
        self._sites_used = False
        self._sites.fill(0)
        self._site_words[self._written] = 1

    def running(self) -> dict[str, int | list[int]]:
        """Where the warp whose turn it is stood when that began; {} before the first one."""
        slot = self._fields[layout.SLOT // 8]
        if not slot:
            return {}
        at = ctypes.c_uint64.from_address(slot).value
        header = (ctypes.c_uint64 * (rec.HEADER_BYTES // 8)).from_address(at)
        words = memoryview(header).cast("B").cast("I")
        block = list(words[rec.CTAID : rec.CTAID + 3])
        pc = header[rec.PC] & ~layout.FRESH
        return {"pc": pc, "warp": words[rec.INDEX], "block": block, "active": words[rec.ACTIVE]}

    # ---- residents -----------------------------------------------------------------------

    def assign(self, ctas: list[Cta], keep: bool) -> None:
        """Assign CTAs to it.

        Args:
            ctas: in the order in which the ring has their warps.
            keep: CTAs it has already are as compiled code left them.
        """
        home = ctas[0].home if ctas else None
        known = self.ctas if keep else {}
        self.ctas = {id(cta): cta for cta in ctas}
        if home is not None and home.fresh and len(ctas) == home.count and self._untouched():
            self._fields[self._ring : self._ring + len(home.ring)] = home.ring
        else:
            self._write_ring(ctas, known)
        self.put("ring_count", len(ctas) * self.launched.config.warps)
        self.write_local_ranges()

    def _untouched(self) -> bool:
        """Whether an arena's initial descriptors are right for this worker."""
        launched = self.launched
        handler = launched.traps.handler is not None
        return self._first and not (launched.total or handler or launched.observed("barrier"))

    def _write_ring(self, ctas: list[Cta], known: Container[int]) -> None:
        """Write the ring and the CTAs' descriptors; of known CTAs only what can have changed."""
        at, count, fields = self._ring, self.launched.config.warps, self._fields
        begun, ask = self.launched.total > 0, self.launched.observed("barrier")
        for cta in ctas:
            words = cta.descriptor
            if id(cta) not in known:
                words[_ISSUED] = self._issued_at + 8 * cta.sm
                descriptor.write(cta, ask)
            if begun:
                words[_LIVE] = len(cta.live)
            fields[at : at + count] = words[_RECORDS : _RECORDS + count]
            at += count
        for home in {id(cta.home): cta.home for cta in ctas}.values():
            if home is not None:
                home.fresh = False

    def write_local_ranges(self) -> None:
        """Write the ranges of local addresses: empty while a warp is in the trap handler, which has
        other local memory than the kernel's, to which records point."""
        config = self.launched.config
        if not self.ctas or not (config.local_bytes or config.local_low):
            return
        high, low, start = LocalMemory.ranges(config.local_bytes, config.local_low)
        size = high + low
        self.put("local_bytes", size)
        if any(warp.outer is not None for cta in self.ctas.values() for warp in cta.warps):
            low, start, size = 0, WINDOW_BYTES, 0
        self.set(layout.LOCAL_LOW, low)
        self.set(layout.LOCAL_START, start)
        self.set(layout.LOCAL_BYTES, size)

    # ---- to compiled code ------------------------------------------------------------------

    def write_turn(self) -> None:
        """Write the schedule's turn, and the descriptor of the CTA whose turn it is."""
        schedule = self.launched.schedule
        self.put("left", schedule.left)
        self.put("position", schedule.position)
        self.put("stay", schedule.stay)
        self.put("polls", schedule.polls)
        checks = self.launched.hang_checks
        self.put("idle", checks.polls)
        self.put("patience", checks.patience)
        self.put("current", self._place_of(schedule))
        warp = schedule.warp
        if warp is not None and id(warp.cta) in self.ctas:
            if warp.has_groups:
                kept.keep(warp)
            descriptor.write(warp.cta, self.launched.observed("barrier"))
            warp.cta.descriptor[_LIVE] = len(warp.cta.live)

    def set_numbers(self, numbers: range, chunk: int, spread: int) -> None:
        """Set the numbers of CTAs to begin before it takes others from the shared count.

        Args:
            chunk: how many at a time at most; 0: no other thread takes from the count.
            spread: it takes one of so many that wait at the time.
        """
        self.put("own", numbers.start)
        self.put("own_end", numbers.stop)
        self.put("chunk", chunk)
        self.put("spread", spread)

    def reset_turn(self) -> None:
        """Write that no turn is in progress."""
        for name, value in (
            ("left", 0),
            ("position", 0),
            ("stay", 0),
            ("polls", 0),
            ("idle", 0),
            ("patience", self.launched.hang_checks.patience),
            ("current", -1),
        ):
            self.put(name, value)

    def _place_of(self, schedule: Schedule) -> int:
        """The ring position of the warp whose turn it is, or -1."""
        warp = schedule.warp
        if warp is None or schedule.left <= 0:
            return -1
        ring = self._fields[self._ring : self._ring + self.field("ring_count")].tolist()
        at = warp.quads[rec.SELF]
        return ring.index(at) if at in ring else -1

    def prepare(self, limit: int) -> None:
        """Write the counts, before a call that runs up to about `limit` instructions."""
        self._sites_used = True
        self._fields[_LIMIT] = limit
        self._fields[_MARKED] = self._fields[_MARKING] = -1
        issued, before = self._issued, self._before
        for n, sm in enumerate(self.launched.sms):
            issued[n] = before[n] = sm.issued
        self._fields[_BEFORE] = self.launched.total

    # ---- from compiled code ----------------------------------------------------------------

    def account(self) -> int:
        """Add the last call's counts to the launch's. Returns the number of CTAs that ended in
        it.
        """
        fields, issued, before = self._fields, self._issued, self._before
        for n, sm in enumerate(self.launched.sms):
            sm.issued += issued[n] - before[n]
        self.launched.total += fields[_TOTAL]
        finished = fields[_FINISHED]
        fields[_TOTAL] = fields[_FINISHED] = 0
        return finished

    def unused(self) -> range:
        """Give back the numbers of CTAs that it took and did not begin."""
        numbers = range(self.field("own"), self.field("own_end"))
        self.put("own_end", 0)
        return numbers

    def take_finished(self) -> list[Cta]:
        """Remove, and return, the CTAs that ended while none was waiting."""
        if self.field("ring_count") == len(self.ctas) * self.launched.config.warps:
            return []
        found = [cta for cta in self.ctas.values() if cta.descriptor[_NUMBER] < 0]
        for cta in found:
            del self.ctas[id(cta)]
        return found

    def find_ctas(self, known: Mapping[int, Cta]) -> None:
        """Look up which CTAs are in its ring.

        Args:
            known: CTAs by the address of the first warp's record.
        """
        end, step = self._ring + self.field("ring_count"), self.launched.config.warps
        ctas = [known[at] for at in self._fields[self._ring : end : step].tolist()]
        self.ctas = {id(cta): cta for cta in ctas}

    def read_turn(self) -> WarpState | None:
        """Read its turn into the schedule, with the descriptor of that CTA; the warp."""
        schedule, fields = self.launched.schedule, self._fields
        schedule.position, schedule.stay = fields[_POSITION], fields[_STAY]
        schedule.polls = bool(fields[_POLLS])
        self.launched.hang_checks.polls = fields[_IDLE_TURNS]
        warp = self.current()
        if warp is None:
            schedule.left = 0
            return None
        schedule.warp, schedule.left = warp, self.field("left")
        self.read_descriptor(warp.cta)
        return warp

    def current(self) -> WarpState | None:
        """The warp whose turn it is."""
        place = self._fields[_CURRENT]
        if place < 0:
            return None
        number, index = divmod(place, self.launched.config.warps)
        cta = next(itertools.islice(self.ctas.values(), number, None))
        return cta.warps[index]

    def read_descriptors(self) -> None:
        """Read the descriptors of all its CTAs."""
        for cta in self.ctas.values():
            self.read_descriptor(cta)

    def read_descriptor(self, cta: Cta) -> None:
        """Read a CTA's number and barriers from its descriptor."""
        words = cta.descriptor
        if words[_RENEWED]:
            words[_RENEWED] = 0
            cta.number = words[_NUMBER]
            cta.block = coordinates(cta.number, self.launched.config.grid)
            cta.barriers = Barriers(self.launched.config.barriers)
            for warp in cta.warps:
                warp.shown = -1
                if warp.quads[rec.PC] & layout.FRESH:
                    _clear(warp)
        descriptor.read(cta)


def find_all_ctas(workers: Sequence[Worker]) -> list[Cta]:
    """Look up which worker has which CTAs after some were stolen; the CTAs that no worker has: they
    have ended while none was waiting."""
    before = [cta for worker in workers for cta in worker.ctas.values()]
    known = {cta.warps[0].quads[rec.SELF]: cta for cta in before}
    for worker in workers:
        worker.find_ctas(known)
    here = {key for worker in workers for key in worker.ctas}
    return [cta for cta in before if id(cta) not in here]


def _clear(warp: WarpState) -> None:
    """Zero what compiled code zeroes when a warp begins in the place of another one."""
    warp.quads[rec.PC] &= ~layout.FRESH
    warp.R[:] = 0
    warp.UR[:] = 0
    flags = range(rec.CC, rec.CC + len(rec.FLAG_NAMES))
    for place in (*range(rec.PRED, rec.PRED + 7), *range(rec.UPRED, rec.UPRED + 7), *flags):
        warp.words[place] = 0
