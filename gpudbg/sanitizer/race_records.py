"""Race records: accesses by granule of four bytes, and ranges of asynchronous operations."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.sanitizer.clocks import Row, Rows
from gpudbg.sanitizer.facts import CTA
from gpudbg.sm.asynchronous.events import ByteRuns, Places

if TYPE_CHECKING:
    from gpudbg.sanitizer.launched_warps import WarpPlace
    from gpudbg.sanitizer.monitor import Touch

MOST_RECORDS = 24
"""Most write records of a granule, not counting unordered ones."""


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent of an asynchronous access, and what makes its completion known.

    Attributes:
        kind: copy (of a thread, to shared memory), bulk, gmma, remote.
        number: of its row in a clock.
        lanes: mask of the columns that count, `label` what must stand there.
        proxied: it reads and writes through the async proxy.
        what: what completes it, for messages.
    """

    kind: str
    number: int
    lanes: int
    label: int
    proxied: bool
    what: str = ""

    def pending(self, known: Row | None) -> int:
        """Mask of the copy's lanes whose completion is unknown to the owner of `known`."""
        if known is None:
            return self.lanes
        if not self.lanes & self.lanes - 1:
            return self.lanes if known[self.lanes.bit_length() - 1] < self.label else 0
        return self.lanes & int.from_bytes(
            np.packbits(known < self.label, bitorder="little").tobytes(), "little"
        )


@dataclass(slots=True)
class AccessRecord:
    """One warp instruction's access to a granule or a range.

    Attributes:
        warp, lanes, tick: whose, and when it was made or issued; `state`: the warp, for reports.
        bytes: mask of the granule's bytes; 0: a range.
        strong: scope, where it is strong.
        kind: load, store, atomic; init, arrive, wait of an mbarrier.
        size: bytes of a lane's access.
        agent: who makes it in the thread's stead.
        read_only: through the path of memory that nobody writes.
        number: in the order in which the granule's accesses were made.
        chain: what it reads, and other atomics read after it, is in the same one: an atomic reads
            what the last strong write left, and a store begins a new chain.
        unread: an atomic whose result nothing takes: what came before it is luck.
    """

    warp: int
    lanes: int
    tick: int
    bytes: int
    pc: int
    strong: int
    kind: str
    value: int | None
    state: WarpPlace
    block: int
    size: int = 4
    agent: Agent | None = None
    read_only: bool = False
    number: int = 0
    chain: int = 0
    unread: bool = False

    @property
    def writes(self) -> bool:
        """Whether it writes memory."""
        return self.kind in ("store", "atomic", "init")


@dataclass(slots=True)
class Cell:
    """The records of four bytes of memory.

    Attributes:
        number, chain: of the latest access.
        size: estimated bytes of memory, as last counted.
    """

    writes: list[AccessRecord] = field(default_factory=list)
    reads: list[AccessRecord] = field(default_factory=list)
    number: int = 0
    chain: int = 0
    size: int = 0

    def counted(self, made: AccessRecord) -> None:
        """Number an access and assign it to a chain of writes."""
        self.number += 1
        self.chain += made.kind == "store"
        made.number, made.chain = self.number, self.chain

    def observed(self, old: AccessRecord, made: AccessRecord, known: Rows, row: Row) -> bool:
        """Whether an access is ordered after a strong write through a read of that write.

        The PTX model's observation order: a strong write comes before what is after a strong read
        of its value, or of what a chain of atomics made of it.  Only the write itself is ordered:
        earlier work of its thread needs fences.  An atomic whose result nothing takes is no such
        read: the program cannot know what it read, so that another schedule has another order.
        """
        if not old.strong or not old.writes or old.agent is not None:
            return False
        return any(
            reads.strong
            and reads.kind != "store"
            and not reads.unread
            and reads.agent is None
            and reads.chain == old.chain
            and reads.number > old.number
            and reads.bytes == old.bytes
            and (reads.block == old.block or (reads.strong > CTA and old.strong > CTA))
            and _comes_after(reads, made, known, row)
            for reads in (*self.writes, *self.reads)
        )


def _comes_after(old: AccessRecord, made: AccessRecord, known: Rows, row: Row) -> bool:
    """Whether each lane of an access is ordered after some lane of an earlier one."""
    if old.warp == made.warp and not made.lanes & ~old.lanes:
        return True
    return not unordered(old, made, known, row)


def unordered(old: AccessRecord, made: AccessRecord, known: Rows, row: Row) -> int:
    """Lanes of an earlier access (or of its issue) that do not happen before this one.

    Args:
        known: what the later access comes after, by warp; `row`: of its own warp.
    """
    ticks = row if old.warp == made.warp else known.get(old.warp)
    if ticks is None:
        return old.lanes
    lanes = old.lanes
    if not lanes & lanes - 1:
        found = lanes if ticks[lanes.bit_length() - 1] < old.tick else 0
    else:
        found = lanes & int.from_bytes(
            np.packbits(ticks < old.tick, bitorder="little").tobytes(), "little"
        )
    # A lane cannot race with itself.
    if old.warp == made.warp and found == made.lanes and not found & found - 1:
        return 0
    return found


def keep(records: list[AccessRecord], made: AccessRecord) -> None:
    """Add a record and drop those it supersedes."""
    agent = made.agent
    for n, old in enumerate(records):
        if (
            old.pc == made.pc
            and old.warp == made.warp
            and not old.lanes & ~made.lanes
            and not old.bytes & ~made.bytes
            and old.strong == made.strong
            and (old.agent is None) == (agent is None)
            and (agent is None or (old.agent is not None and old.agent.number == agent.number))
        ):
            records[n] = made
            return
    records.append(made)


def granules(touch: Touch) -> list[tuple[int, int, int]]:
    """(address / 4, mask of its bytes, lanes) of everything an access touches."""
    found: dict[tuple[int, int], int] = {}
    size = touch.size
    for lane, address in touch.by_lane():
        bit, end = 1 << lane, address + size
        number = address >> 2
        while number << 2 < end:
            low, high = max(address, number << 2), min(end, (number << 2) + 4)
            mask = ((1 << high - low) - 1) << (low & 3)
            key = (number, mask)
            found[key] = found.get(key, 0) | bit
            number += 1
    return [(number, mask, lanes) for (number, mask), lanes in found.items()]


# ---- ranges ------------------------------------------------------------------------------
@dataclass(slots=True)
class RangeRecord:
    """A range that an asynchronous operation reads or writes as a whole."""

    extent: ByteRuns
    record: AccessRecord

    def meets(self, other: ByteRuns) -> int | None:
        """First byte that both ranges contain; None where they are disjoint."""
        mine = self.extent
        if mine.low >= other.high or other.low >= mine.high:
            return None
        # For each run, the first run of the other that ends after its begin.
        at = np.searchsorted(other.ends, mine.starts, "right")
        inside = at < len(other.ends)
        found = np.flatnonzero(other.starts[at[inside]] < mine.ends[inside])
        if not len(found):
            return None
        first = np.flatnonzero(inside)[found[0]]
        return max(int(mine.starts[first]), int(other.starts[at[first]]))

    def touched(self, addresses: Places, size: int) -> Places:
        """Mask of the accesses that overlap the range."""
        mine = self.extent
        at = np.searchsorted(mine.ends, addresses, "right")
        inside = at < len(mine.ends)
        at = np.where(inside, at, 0)
        found: Places = np.flatnonzero(inside & (mine.starts[at] < addresses + size))
        return found
