"""Device memory: named allocations in a sparse virtual address space.

Allocations lie far apart (`GUARD_BYTES`) and addresses are not used twice while others are left, so
an overrun or a use after free lands outside every live allocation and can be explained.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.errors import UsageError
from gpudbg.mem.check import Offsets, alignment_fault, clean, misaligned, suspects
from gpudbg.mem.checkpoint import Checkpoint, Journal, Storage
from gpudbg.mem.faults import NULL_BYTES, MemoryFault, null_words, unmapped_words
from gpudbg.mem.lanes import U32, U64, bools, first_lane
from gpudbg.mem.pages import address_of
from gpudbg.mem.store import ByteStore
from gpudbg.mem.windows import AddressLayout

GUARD_BYTES = 1 << 20
ALIGN_BYTES = 1 << 12
MOST_ADDRESS = 1 << 56
"""Behind the last address that an allocation can have: a host's own are among them."""
MOST_FREED = 1024
"""Freed allocations that are remembered for messages."""
_EMPTY = np.empty(0, np.uint8)
_BASE, _SIZE, _HOST, _MOMENT, _MARKS = range(5)
"""Words of a row of `DeviceMemory.table`."""


class Allocation(ByteStore):
    """One allocation of device memory.

    `data` can only be read, so that nobody writes past the checkpoints: see `writable`.

    Attributes:
        base: address of its first byte.
        name: how messages call it, such as "argument 3" or "variable coeff".
        tag: what kind of owner it has: "buffer", "global", "heap", "image"...
        freed: no longer accessible; without contents, remembered for messages.
        uninitialized: nobody gave it contents: on a GPU it holds anything until it is written.
    """

    __slots__ = ("_journal", "_moment", "_row", "base", "freed", "name", "tag", "uninitialized")

    def __init__(
        self,
        base: int,
        size: int,
        name: str,
        tag: str,
        journal: Journal | None = None,
        padded: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        """Args: padded: its storage (`ByteStore`); None: new."""
        super().__init__(size, padded)
        self.base = base
        self.name = name
        self.tag = tag
        self.freed = self.uninitialized = False
        self._journal = journal or Journal()
        self._moment = self._journal.moment
        self._row: npt.NDArray[np.int64] | None = None
        self._protect()

    def _protect(self) -> None:
        self.data = self.data.view()
        self.data.setflags(write=False)

    def writable(self) -> npt.NDArray[np.uint8]:
        """Its bytes, to be written to before anything else happens.

        The checkpoints since the last time keep what they are now.
        """
        self._journal.writes += 1
        if self._moment != self._journal.moment:
            self._keep()
        return self._padded[: self.size]

    def scatter(self, offsets: Offsets, lanes: int, size: int, values: Sequence[U32]) -> None:
        if self._moment != self._journal.moment:
            self._keep()
        super().scatter(offsets, lanes, size, values)

    def _keep(self) -> None:
        self._journal.keep(self, self._moment)
        self._moment = self._journal.moment
        if self._row is not None:
            self._row[_MOMENT] = self._moment

    def enter(self, row: npt.NDArray[np.int64]) -> None:
        """Take a row of `DeviceMemory.table`."""
        self._row = row
        host = address_of(self._padded)
        row[:] = self.base, 0 if self.freed else self.size, host, self._moment, self._apart()

    def _apart(self) -> int:
        """Bytes from its storage to its marks; 0 without any."""
        return 0 if self.marks is None else address_of(self.marks) - address_of(self._padded)

    def without_contents(self) -> None:
        """Nobody gave it contents: what is written from now on is marked."""
        self.uninitialized = True
        self.marked()
        if self._row is not None:
            self._row[_MARKS] = self._apart()

    def lose_marks(self) -> None:
        """What is written is marked no longer."""
        self.marks = None
        if self._row is not None:
            self._row[_MARKS] = 0

    def release(self) -> Storage:
        """Become a freed one, without contents; what held them."""
        held = self._padded, self.marks, self.pages
        self.marks = None
        self.freed = True
        self._padded = self.data = _EMPTY
        self.pages = None
        self._forget_views()
        if self._row is not None:
            self._row[_SIZE] = self._row[_HOST] = self._row[_MARKS] = 0
        self._row = None
        return held

    def take_back(self, held: Storage) -> None:
        """Be there again, with what `release` gave; its row in the table is the caller's."""
        self._padded, self.marks, self.pages = held
        self.data = self._padded[: self.size]
        self.freed = False
        self._forget_views()
        self._protect()

    @property
    def end(self) -> int:
        """Address after the last byte."""
        return self.base + self.size

    def __repr__(self) -> str:
        state = " freed" if self.freed else ""
        return f"<{self.name}: 0x{self.base:x}..0x{self.end:x}{state}>"


class DeviceMemory:
    """All allocations of one GPU, with access by lanes, by bytes and by explanation.

    Attributes:
        layout: address windows.
        changes: allocations made and freed, and checkpoints, so far.
        live: allocations that have not been freed.
        uninitialized: how many allocations nobody gave contents, freed ones included.
        load_for_store: what is loaded now is about to be written to.
        journal: checkpoints, and how often somebody has changed contents or allocations.
        next_address: where the next allocation begins, while there is room.
    """

    def __init__(self, layout: AddressLayout) -> None:
        self.layout = layout
        self.changes = 0
        self.live = 0
        self.load_for_store = False
        self.uninitialized = 0
        self.next_address = layout.heap_base
        self.journal = Journal()
        self._rows = np.zeros((64, 5), np.int64)
        self._bases: list[int] = []
        self._allocations: list[Allocation] = []
        self._freed: deque[Allocation] = deque()
        self._running = 0
        self._late: list[Storage] = []

    # ---- allocation --------------------------------------------------------------------

    def allocate(self, size: int, name: str, tag: str = "buffer") -> Allocation:
        """A zeroed allocation of `size` bytes.

        Raises:
            UsageError: negative size, or the address space is full.
        """
        if size < 0:
            raise UsageError(f"cannot allocate {size} bytes")
        base = self._room(size)
        try:
            made = Allocation(base, size, name, tag, self.journal)
        except MemoryError as error:
            raise UsageError(f"cannot allocate {size} bytes: host memory is full") from error
        self._enter(made)
        return made

    def place(
        self,
        base: int,
        size: int,
        name: str,
        padded: npt.NDArray[np.uint8] | None = None,
        tag: str = "buffer",
    ) -> Allocation:
        """An allocation at an address of one's choosing, where `allocate` puts none.

        Args:
            padded: its storage, which somebody else may see, too; None: new.

        Raises:
            UsageError: no such address, or another allocation is there.
        """
        if base <= 0 or size < 0 or base + size > MOST_ADDRESS:
            raise UsageError(f"device memory has no {size} bytes at 0x{base:x}")
        last = bisect_right(self._bases, base + max(size, 1) - 1)
        before = next((a for a in reversed(self._allocations[:last]) if not a.freed), None)
        if before is not None and before.end > base:
            raise UsageError(f"device memory: 0x{base:x} is {self.describe(base, size)}")
        try:
            made = Allocation(base, size, name, tag, self.journal, padded)
        except MemoryError as error:
            raise UsageError(f"cannot allocate {size} bytes: host memory is full") from error
        self._enter(made)
        return made

    def _enter(self, made: Allocation) -> None:
        """One more allocation."""
        self.changes += 1
        self.journal.writes += 1
        self.live += 1
        place = bisect_right(self._bases, made.base)
        self._bases.insert(place, made.base)
        self._allocations.insert(place, made)
        if place == len(self._bases) - 1 and place + 1 < len(self._rows):
            made.enter(self._rows[place + 1])
        else:
            self._enter_all()

    def leave_uninitialized(self, allocation: Allocation) -> None:
        """An allocation was made without contents: its zeros are nobody's."""
        if not allocation.uninitialized:
            allocation.without_contents()
            self.uninitialized += 1
            self.journal.writes += 1
            # What compiled code knows of it, it must ask for again.
            self.changes += 1

    def lose_marks(self) -> None:
        """Somebody is about to write without marks; a restart has them again."""
        for allocation in self._allocations if self.uninitialized else ():
            if allocation.marks is not None:
                allocation.writable()
                allocation.lose_marks()

    def _room(self, size: int) -> int:
        """An address with so many bytes behind it that nobody has had, while there is one."""
        base = self.next_address
        after = _after(base, size)
        if not after >> self.layout.bits:
            self.next_address = after
            return base
        # What was freed longest ago may be the start of a gap, too.
        self._forget_freed(0)
        base = self.layout.heap_base
        for allocation in self._allocations:
            if _after(base, size) <= allocation.base:
                return base
            base = _after(allocation.base, allocation.size)
        if _after(base, size) >> self.layout.bits:
            raise UsageError(f"device memory: no room for {size} bytes at 0x{base:x}")
        self.next_address = _after(base, size)
        return base

    def free(self, allocation: Allocation) -> None:
        """Make an allocation inaccessible and give its memory back.

        Raises:
            UsageError: it was freed before.
        """
        if allocation.freed:
            raise UsageError(f"{allocation.name} at 0x{allocation.base:x} was freed before")
        held = allocation.release()
        if self._running:
            # Compiled code of another thread may know where it lies.
            self._late.append(held)
        self.journal.free(allocation, held)
        self.journal.writes += 1
        self.changes += 1
        self.live -= 1
        self._freed.append(allocation)
        if len(self._freed) > 2 * MOST_FREED:
            self._forget_freed(MOST_FREED)

    def revive(self, allocation: Allocation, checkpoint: Checkpoint) -> None:
        """Have an allocation again that was freed after a checkpoint which keeps such."""
        assert checkpoint.freed is not None
        allocation.take_back(checkpoint.freed.pop(allocation))
        self.changes += 1
        self.live += 1
        if allocation in self._freed:
            self._freed.remove(allocation)
        if allocation in self._allocations:
            place = self._allocations.index(allocation)
            del self._bases[place], self._allocations[place]
        # Behind what has been at its address since: the last one of an address is looked up.
        place = bisect_right(self._bases, allocation.base)
        self._bases.insert(place, allocation.base)
        self._allocations.insert(place, allocation)
        self._enter_all()

    def _forget_freed(self, most: int) -> None:
        """Remember so many freed allocations at most, those that were freed last."""
        while len(self._freed) > most:
            self._freed.popleft()
        known = set(self._freed)
        self._allocations = [a for a in self._allocations if not a.freed or a in known]
        self._bases = [a.base for a in self._allocations]
        self._enter_all()

    def running(self, more: int) -> None:
        """Compiled code is about to run (1), or has returned (-1)."""
        self._running += more
        if not self._running:
            self._late.clear()

    def allocations(self, *, freed: bool = False) -> Iterator[Allocation]:
        """Live allocations by address; with `freed` those of the dead ones that are remembered."""
        return (a for a in self._allocations if freed or not a.freed)

    def table(self) -> npt.NDArray[np.int64]:
        """(base, bytes, host address, moment, bytes from there to its marks or 0) of allocations
        by address, freed ones with 0 bytes.

        The moment is that of the last checkpoint before somebody wrote to it.  The first row is of
        no allocation: its moment is the last checkpoint's.
        """
        return self._rows[: len(self._allocations) + 1]

    def _enter_all(self) -> None:
        """Write the table anew."""
        # A new one: compiled code on another thread may be reading the old one.
        self._rows = np.zeros((2 * len(self._allocations) + 64, 5), np.int64)
        self._rows[0, _MOMENT] = self.journal.moment
        for row, allocation in zip(self._rows[1:], self._allocations, strict=False):
            allocation.enter(row)

    def checkpoint(self, keeps_freed: bool = False) -> Checkpoint:
        """The contents of all allocations as they are now.

        Args:
            keeps_freed: of those that are freed afterwards, too (`revive`).
        """
        made = self.journal.checkpoint(keeps_freed)
        self._rows[0, _MOMENT] = made.moment
        # What compiled code knows it may write to, it must ask for again.
        self.changes += 1
        return made

    def find(self, address: int) -> Allocation | None:
        """The live allocation that holds `address`."""
        place = bisect_right(self._bases, address) - 1
        if place < 0:
            return None
        found = self._allocations[place]
        return None if found.freed or address >= found.end else found

    def find_freed(self, address: int) -> Allocation | None:
        """The freed allocation that held `address`, if it is remembered."""
        place = bisect_right(self._bases, address) - 1
        if place < 0:
            return None
        found = self._allocations[place]
        return found if found.freed and address < found.end else None

    # ---- explanation -------------------------------------------------------------------

    def nearest(self, address: int) -> Allocation | None:
        """The allocation, live or freed, that holds an address or lies next to it."""
        place = bisect_right(self._bases, address) - 1
        around = [self._allocations[i] for i in (place, place + 1) if 0 <= i < len(self._bases)]
        return min(around, key=lambda a: _gap(a, address), default=None)

    def describe(self, address: int, size: int = 1) -> str:
        """Where an access lies: "12 bytes past the end of argument 3 (4096 bytes)"."""
        if 0 <= address < NULL_BYTES and self.layout.heap_base >= NULL_BYTES:
            return null_words(address)
        allocation = self.nearest(address)
        if allocation is None:
            return "no device memory is allocated"
        owner = f"{allocation.name} ({allocation.size} bytes)"
        if allocation.freed:
            owner += ", which was freed"
        return place_words(address, size, allocation.base, allocation.end, owner)

    # ---- bytes -------------------------------------------------------------------------

    def read(self, address: int, count: int) -> bytes:
        """`count` bytes within one allocation.

        Raises:
            UsageError: the range is not inside one live allocation.
        """
        found, place = self._range(address, count)
        return found.data[place].tobytes()

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Replace bytes within one allocation; errors as `read`."""
        found, place = self._range(address, len(data))
        found.writable()[place] = np.frombuffer(data, np.uint8)

    def _range(self, address: int, count: int) -> tuple[Allocation, slice]:
        """The allocation that holds a range, and where in it."""
        found = self.find(address)
        if found is None or address + count > found.end:
            where = self.describe(address if found is None else found.end)
            raise UsageError(f"no device memory at 0x{address:x}, {count} bytes: {where}")
        start = address - found.base
        return found, slice(start, start + count)

    # ---- lanes -------------------------------------------------------------------------

    def gather(self, addresses: U64, lanes: int, size: int, signed: bool) -> list[U32]:
        """Read `size` bytes at 32 addresses; see `ByteStore.gather`.

        Raises:
            MemoryFault: MISALIGNED_ADDR, OOR_ADDR (beyond the address space) or MMU_FAULT.
        """
        one = self.locate(addresses, lanes, size)
        if one is not None:
            if self.load_for_store:
                one[0].writable()
            return one[0].gather(one[1], lanes, size, signed)
        parts = [
            allocation.gather(offsets, part, size, signed)
            for allocation, offsets, part in self.split(addresses, lanes, size)
        ]
        total = parts[0]
        for values in parts[1:]:
            total = [a | b for a, b in zip(total, values, strict=True)]
        return total

    def scatter(self, addresses: U64, lanes: int, size: int, values: Sequence[U32]) -> None:
        """Write `size` bytes at 32 addresses, all checked before the first write."""
        one = self.locate(addresses, lanes, size)
        if one is not None:
            one[0].scatter(one[1], lanes, size, values)
            return
        for allocation, offsets, part in self.split(addresses, lanes, size):
            allocation.scatter(offsets, part, size, values)

    def locate(self, addresses: U64, lanes: int, size: int) -> tuple[Allocation, U64] | None:
        """The one allocation all lanes access, with offsets in it; None when `split` must say."""
        found = self.find(int(addresses[first_lane(lanes)]))
        if found is None:
            return None
        offsets = clean(addresses - np.uint64(found.base), lanes)
        return None if suspects(offsets, lanes, size, found.size) else (found, offsets)

    def split(
        self, addresses: U64, lanes: int, size: int
    ) -> list[tuple[Allocation, npt.NDArray[Any], int]]:
        """(allocation, offsets, lanes) per allocation touched, or the fault."""
        bad = misaligned(addresses, lanes, size)
        if bad:
            raise alignment_fault(addresses, bad, size, "global")
        owners: dict[int, tuple[Allocation, int]] = {}
        missing = 0
        for lane, address in enumerate(addresses.tolist()):
            if not lanes >> lane & 1:
                continue
            found = self.find(address)
            if found is None or address + size > found.end:
                missing |= 1 << lane
            else:
                owners[found.base] = (found, owners.get(found.base, (found, 0))[1] | 1 << lane)
        if missing:
            raise self._unmapped(int(addresses[first_lane(missing)]), missing, size)
        return [
            (found, np.where(bools(part), addresses - np.uint64(found.base), np.uint64(0)), part)
            for found, part in owners.values()
        ]

    def _unmapped(self, address: int, lanes: int, size: int) -> MemoryFault:
        if address >> self.layout.bits:
            text = f"address 0x{address:x} is beyond the {self.layout.bits}-bit address space"
            return MemoryFault("OOR_ADDR", lanes, address, "global", text)
        text = unmapped_words(address, size)
        return MemoryFault("MMU_FAULT", lanes, address, "global", text, unmapped=True)


def _after(base: int, size: int) -> int:
    """The first address for an allocation behind another one."""
    end = base + max(size, 1) + GUARD_BYTES
    return end + -end % ALIGN_BYTES


def _gap(allocation: Allocation, address: int) -> int:
    """Bytes between an address and an allocation; 0 inside."""
    return max(allocation.base - address, address - allocation.end + 1, 0)


def unwrapped(address: int, end: int, bits: int) -> int:
    """The address, negative where going below 0 is the shorter way to it from memory at 0."""
    below = address - (1 << bits)
    return below if -below < address - end else address


def place_words(address: int, size: int, base: int, end: int, owner: str) -> str:
    """Where an access lies relative to `owner`'s bytes from `base` to before `end`."""
    if address < base:
        return f"{_bytes(base - address)} before {owner}"
    if address >= end:
        past = address - end
        return f"{_bytes(past)} past the end of {owner}" if past else f"at the end of {owner}"
    over = address + size - end
    text = f"{_bytes(address - base)} into {owner}"
    return f"{text}, {_bytes(over)} beyond its end" if over > 0 else text


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"
