"""Memory of CTAs that begin together: their blocks, shared memory, records and local memory.

A launch places as many CTAs as fit, hundreds of warps; one piece of memory for each kind, filled in
by rows, is made in a fraction of the time of an array for every warp.  A CTA that Python puts in
the place of another gets memory of its own, so that who still holds the old one sees its end.

The *descriptor* of a CTA is what compiled code knows of it (`schedule.compiled`), then the
addresses of its warps' records.  Offsets are bytes, words are i64 unless said otherwise: number
(-1: it has ended and nothing followed), warps that have not exited, warps, pointer to the count of
instructions issued on its SM, shared memory and its size, barriers allocated, whether it began
here, then for 16 barriers the threads arrived and whether Python must handle it, whether any
barrier may be in use, and more of barriers.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gpudbg.isa.operands import Access
from gpudbg.mem.lanes import FULL, U32, WARP_SIZE
from gpudbg.mem.local import LocalMemory
from gpudbg.mem.pages import address_of, zeroed, zeroed_part
from gpudbg.mem.store import ByteStore, padded_size
from gpudbg.sm import record as rec

if TYPE_CHECKING:
    from gpudbg.sm.launch import Dim, LaunchConfig

NUMBER, LIVE, WARPS, ISSUED, SHARED, SHARED_SIZE, ALLOCATED, RENEWED = range(0, 64, 8)
ARRIVED: Final = 64
SPECIAL: Final = 128
IN_USE: Final = 192
THREADS, TOTAL, VOTES, *REDUCED = range(200, 584, 64)
PHASE: Final = (ARRIVED, THREADS, TOTAL, VOTES, *REDUCED)
"""Words of 16 barriers each that begin anew with every phase."""
LIVE_THREADS, ALL_THREADS, RANK = 584, 592, 600
"""i64: threads that have not ended, and those there were, where lanes have pcs of their own and
barriers count threads; 0: warps are counted.  The rank in the cluster, where addresses have it."""
CLUSTER: Final = 608
"""ptr: what compiled code knows of its cluster (`clusters.cluster`), or 0."""
MBARRIERS, MBARRIER_PLACES = 616, 624
"""i64: mbarriers that compiled code began or (bit 0 of a place) ended since Python last read this;
u32: their places."""
MOST_MBARRIERS: Final = 30
BLOCK_BYTES: Final = MBARRIER_PLACES + 4 * MOST_MBARRIERS
"""Of a block without the addresses of records."""

UNTOUCHED: Final = 1
"""Epoch word behind a new record's pointers: local memory is zero unless Python writes to it."""

LINE: Final = 128
"""Bytes between data of different threads: the host may fetch cache lines in pairs."""


class ArenaPlace(NamedTuple):
    """Which CTA goes where: its number, the SM, the CTA slot; its warps have slots in a row."""

    number: int
    sm: int
    slot: int


Bytes = npt.NDArray[np.uint8]


class ArenaBeginning:
    """What is in an arena before its CTAs' first instruction.

    Attributes:
        records: with the first entries of their stacks.
        blocks: of the CTAs.
        written: what the code writes, for which `parts` were made.
        parts: of the arena that are put back, each with what was there.
    """

    __slots__ = ("blocks", "parts", "records", "written")

    def __init__(self, records: Bytes, blocks: bytes) -> None:
        self.records, self.blocks = records, blocks
        self.written: Access | None = None
        self.parts: list[tuple[Bytes, Bytes]] = []


class Edits:
    """Counts changes of the launch's warps and blocks from outside."""

    count = 0


class Arena:
    """Memory of CTAs that begin together.

    Attributes:
        config: the launch.
        count: CTAs.
        blocks: by CTA, as i64.
        words, quads: all records as u32 and u64, one after the other, and then the entries of all
            stacks, the first ones first.
        ring: addresses of the records by (SM, slot), as i64.
        fresh: nobody has written to the blocks since.
        seen: somebody has had arrays of a warp's registers, predicates or flags, and may have
            written to them.
        local_seen: the same for a warp's local memory.
        edits: of the launch.
        stride: bytes from a record to the next.
        records: address of the first one.
    """

    __slots__ = (
        "_begun",
        "_block_bytes",
        "_local",
        "_records",
        "_shared",
        "_stacks",
        "_step",
        "blocks",
        "config",
        "count",
        "edits",
        "fresh",
        "local_seen",
        "quads",
        "records",
        "ring",
        "seen",
        "stride",
        "words",
    )

    def __init__(
        self,
        config: LaunchConfig,
        entry: int,
        places: list[ArenaPlace],
        issued: int,
        edits: Edits | None = None,
    ) -> None:
        """Memory of CTAs before their first instruction.

        Args:
            entry: where their warps begin.
            issued: address of the counts of instructions issued, by SM.
            edits: of the launch.
        """
        self.config = config
        self.edits = edits or Edits()
        self.count = count = len(places)
        # Avoid multiples of 128: equal fields of many warps would share few cache sets.
        self.stride = _whole(rec.record_bytes(config.registers + config.uniform), LINE) + LINE // 2
        # Pad to cache lines: CTAs may belong to different host threads.
        row = _whole(config.warps * rec.ENTRY_BYTES, LINE)
        self._step = count * row
        self._stacks = _whole(count * config.warps * self.stride, LINE)
        size = self._stacks + self._step * (config.stack_entries + rec.SPARE_ENTRIES)
        self._begun = self._stacks + 2 * self._step
        self._records = zeroed_part(size, self._begun)
        self.words = self._records.data.cast("I")
        self.quads = self._records.data.cast("Q")
        self.records = address_of(self._records)
        # Marks of written bytes lie behind the contents (`gpudbg.sm.written`).
        shared_bytes = _whole(2 * padded_size(config.shared_bytes), LINE)
        self._shared = zeroed(count * shared_bytes).reshape(count, shared_bytes)
        local = LocalMemory.bytes_of(config.local_bytes, config.local_low)
        self._local = zeroed(2 * count * config.warps * local).reshape(
            count, config.warps, 2 * local
        )
        self._block_bytes = _whole(BLOCK_BYTES + 8 * config.warps, LINE)
        blocks = zeroed(count * self._block_bytes)
        table = blocks.view(np.int64).reshape(count, -1)
        self.blocks = blocks.data.cast("q")
        self._begin(entry, places, issued, table)
        self.fresh = True
        self.seen = self.local_seen = False

    def _begin(
        self, entry: int, places: list[ArenaPlace], issued: int, table: npt.NDArray[np.int64]
    ) -> None:
        """Fill in headers and blocks of the CTAs."""
        config, count = self.config, self.count
        rows = self._records[: count * config.warps * self.stride]
        rows = rows.reshape(count, config.warps, self.stride)
        header = rows[..., : rec.HEADER_BYTES]
        header[:] = _headers(config, entry)
        words, quads = rows.view(np.uint32), rows.view(np.int64)
        place = np.array(places, np.int64)
        number, sm, slot = place.T
        x, y, _ = config.grid
        for n, value in enumerate((number % x, number // x % y, number // (x * y))):
            words[..., rec.CTAID + n] = value[:, None]
        warp = slot[:, None] * config.warps + np.arange(config.warps)
        words[..., rec.VIRTUAL_ID] = rec.virtual_id(sm[:, None], slot[:, None], warp) & FULL
        first = self.stride * np.arange(count * config.warps).reshape(count, config.warps)
        row = self._step // count
        cta, warp = np.arange(count)[:, None] * row, np.arange(config.warps) * rec.ENTRY_BYTES
        quads[..., rec.STACK] = self._stacks + cta + warp - first
        words[..., rec.STACK_STEP] = self._step
        own = quads[..., rec.SELF]
        own[:] = self.records + first
        shared = address_of(self._shared) + self._shared.shape[1] * np.arange(count)
        local = self._local
        pointers = quads[..., rec.POINTERS :]
        pointers[..., 0] = shared[:, None]
        if local.size:
            pointers[..., 1] = address_of(local) + first // self.stride * local.shape[2]
        pointers[..., 2] = (address_of(table) + self._block_bytes * np.arange(count))[:, None]
        table[:, NUMBER // 8] = number
        table[:, LIVE // 8] = table[:, WARPS // 8] = config.warps
        table[:, ISSUED // 8] = issued + 8 * sm
        table[:, SHARED // 8] = shared
        table[:, SHARED_SIZE // 8] = config.shared_bytes
        table[:, ALLOCATED // 8] = config.barriers
        if not config.layout.has_control_words:
            table[:, LIVE_THREADS // 8] = table[:, ALL_THREADS // 8] = config.threads
        table[:, BLOCK_BYTES // 8 : BLOCK_BYTES // 8 + config.warps] = own
        self.ring = memoryview(array("q", own[np.lexsort((slot, sm))].tobytes()))

    def holds_other(self, written: Access) -> bool:
        """Whether a warp's registers, predicates or flags are not 0 where nothing writes them."""
        rows = self._records[: self.count * self.config.warps * self.stride]
        words = rows.view(np.uint32).reshape(-1, self.stride // 4)
        start = rec.HEADER_BYTES // 4
        for index in set(range(self.config.registers)) - written.registers:
            if words[:, start + 32 * index : start + 32 * (index + 1)].any():
                return True
        start += 32 * self.config.registers
        for index in set(range(self.config.uniform)) - written.uniform:
            if words[:, start + 32 * index : start + 32 * (index + 1)].any():
                return True
        others = [rec.PRED + index for index in set(range(7)) - written.predicates]
        others += [rec.UPRED + index for index in set(range(7)) - written.uniform_predicates]
        if not written.cc:
            others += range(rec.CC, rec.CC + len(rec.FLAG_NAMES))
        return bool(words[:, others].any())

    # ---- once more ---------------------------------------------------------------------

    @property
    def held_bytes(self) -> int:
        """Bytes that resetting to the beginning writes."""
        return self._begun + self.blocks.nbytes + self._shared.nbytes + self._local.nbytes

    @property
    def untouched(self) -> bool:
        """Whether only compiled code has accessed its warps' registers and memory."""
        return not (self.seen or self.local_seen)

    def beginning(self) -> ArenaBeginning:
        """Records and blocks, to be put back by `begin_again`."""
        return ArenaBeginning(self._records[: self._begun].copy(), self.blocks.tobytes())

    def begin_again(self, beginning: ArenaBeginning, written: Access) -> None:
        """Reset the CTAs to before their first instruction.

        Args:
            written: what the code that ran writes; other registers are as they were.
        """
        if beginning.written is not written:
            beginning.written, beginning.parts = written, self._parts(beginning, written)
        for now, then in beginning.parts:
            now[:] = then
        self.blocks.cast("B")[:] = beginning.blocks
        if self._shared.size:
            self._shared.fill(0)
        if self._local.size:
            self._local.fill(0)
        self.fresh = True

    def _parts(self, beginning: ArenaBeginning, written: Access) -> list[tuple[Bytes, Bytes]]:
        """Parts of the records that code can change, each with what was there: headers with the
        first registers, uniform registers, stacks."""
        config = self.config
        registers, uniform = (
            max((n + 1 for n in numbers if n < count), default=0)
            for numbers, count in (
                (written.registers, config.registers),
                (written.uniform, config.uniform),
            )
        )
        first = rec.record_bytes(config.registers)
        columns = [slice(0, rec.record_bytes(registers))]
        if uniform:
            columns.append(slice(first, first + rec.record_bytes(uniform) - rec.HEADER_BYTES))
        rows, end = self.count * config.warps, self.count * config.warps * self.stride
        both = self._records[: self._begun], beginning.records
        now, then = (part[:end].reshape(rows, self.stride) for part in both)
        made = [(now[:, part], then[:, part]) for part in columns]
        return [*made, (both[0][end:], both[1][end:])]

    # ---- a CTA's, a warp's -------------------------------------------------------------

    def block(self, n: int) -> memoryview:
        """The block of CTA `n` as i64."""
        size = self._block_bytes // 8
        return self.blocks[n * size : (n + 1) * size]

    def shared(self, n: int) -> ByteStore:
        """The shared memory of CTA `n`."""
        size = self.config.shared_bytes
        whole = padded_size(size)
        return ByteStore(size, self._shared[n, :whole], self._shared[n, whole : 2 * whole])

    def local(self, n: int, warp: int) -> LocalMemory:
        """The local memory of a warp of CTA `n`."""
        self.local_seen = True
        config = self.config
        row = self._local[n, warp]
        half = len(row) // 2
        return LocalMemory(config.local_bytes, config.local_low, row[:half], row[half:])

    def record(self, n: int, warp: int) -> npt.NDArray[np.uint8]:
        """The record of a warp of CTA `n`."""
        start = (n * self.config.warps + warp) * self.stride
        size = rec.record_bytes(self.config.registers + self.config.uniform)
        return self._records[start : start + size]

    def stack(self, n: int, warp: int) -> npt.NDArray[np.uint8]:
        """The divergence stack of a warp of CTA `n`, a row an entry."""
        rows = self._records[self._stacks :].reshape(-1, self._step)
        start = n * (self._step // self.count) + warp * rec.ENTRY_BYTES
        return rows[:, start : start + rec.ENTRY_BYTES]


def _whole(size: int, unit: int) -> int:
    return size + -size % unit


def _headers(config: LaunchConfig, entry: int) -> npt.NDArray[np.uint8]:
    """The headers of a CTA's warps before their first instruction, what differs by CTA left out."""
    layout = config.layout
    return _kept_headers(
        config.block, config.registers, config.stack_entries, layout.first(entry), config.uniform
    )


@lru_cache(maxsize=64)
def _kept_headers(
    block: Dim, registers: int, capacity: int, entry: int, uniform: int
) -> npt.NDArray[np.uint8]:
    x, y, z = block
    count = -(-x * y * z // WARP_SIZE)
    headers = np.zeros((count, rec.HEADER_BYTES), np.uint8)
    rec.lay_out(headers, registers, capacity, uniform)
    words = headers.view(np.uint32)
    lanes: U32 = np.arange(count * WARP_SIZE, dtype=np.uint32)
    coordinates = (lanes % x, lanes // x % y, lanes // (x * y))
    for n, row in enumerate(coordinates):
        at = rec.TID + n * WARP_SIZE
        words[:, at : at + WARP_SIZE] = row.reshape(count, WARP_SIZE)
    valid = np.full(count, FULL, np.uint32)
    valid[-1] >>= np.uint32(count * WARP_SIZE - x * y * z)
    words[:, rec.VALID] = words[:, rec.ACTIVE] = valid
    words[:, rec.INDEX] = np.arange(count)
    quads = headers.view(np.uint64)
    quads[:, rec.PC] = entry
    quads[:, rec.POINTERS + 3] = UNTOUCHED
    return headers
