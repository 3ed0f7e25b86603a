"""Device memory: named allocations in a sparse virtual address space.

Allocations lie far apart (`GUARD_BYTES`) and addresses are never used twice, so an overrun or a
use after free lands outside every live allocation and can be explained.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.errors import UsageError
from gpudbg.mem.check import alignment_fault, clean, misaligned, suspects
from gpudbg.mem.faults import MemoryFault
from gpudbg.mem.lanes import U32, U64, bools, first_lane
from gpudbg.mem.pages import address_of
from gpudbg.mem.store import ByteStore
from gpudbg.mem.windows import AddressLayout

GUARD_BYTES = 1 << 20
ALIGN_BYTES = 1 << 12


class Allocation(ByteStore):
    """One allocation of device memory.

    Attributes:
        base: address of its first byte.
        name: how messages call it, such as "argument 3" or "variable coeff".
        tag: what kind of owner it has: "buffer", "global", "heap", "image"...
        freed: no longer accessible; kept for messages.
    """

    __slots__ = ("base", "freed", "name", "tag")

    def __init__(self, base: int, size: int, name: str, tag: str) -> None:
        super().__init__(size)
        self.base = base
        self.name = name
        self.tag = tag
        self.freed = False

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
        changes: allocations made and freed so far.
    """

    def __init__(self, layout: AddressLayout) -> None:
        self.layout = layout
        self.changes = 0
        self._next = layout.heap_base
        self._table: tuple[int, npt.NDArray[np.int64]] | None = None
        self._bases: list[int] = []
        self._allocations: list[Allocation] = []

    # ---- allocation --------------------------------------------------------------------

    def allocate(self, size: int, name: str, tag: str = "buffer") -> Allocation:
        """A zeroed allocation of `size` bytes.

        Raises:
            UsageError: negative size, or the address space is full.
        """
        if size < 0:
            raise UsageError(f"cannot allocate {size} bytes")
        base = self._next
        following = base + max(size, 1) + GUARD_BYTES
        following += -following % ALIGN_BYTES
        if following >> self.layout.bits:
            raise UsageError(f"device memory: no room for {size} bytes at 0x{base:x}")
        try:
            made = Allocation(base, size, name, tag)
        except MemoryError as error:
            raise UsageError(f"cannot allocate {size} bytes: host memory is full") from error
        self._next = following
        self.changes += 1
        self._bases.append(base)
        self._allocations.append(made)
        return made

    def free(self, allocation: Allocation) -> None:
        """Make an allocation inaccessible; its address is not used again."""
        allocation.freed = True
        self.changes += 1

    def allocations(self, *, freed: bool = False) -> Iterator[Allocation]:
        """Live allocations by address; with `freed` the dead ones too."""
        return (a for a in self._allocations if freed or not a.freed)

    def table(self) -> npt.NDArray[np.int64]:
        """(base, bytes, host address) of the live allocations by address; kept while they stay."""
        if self._table is None or self._table[0] != self.changes:
            rows = [(a.base, a.size, address_of(a.data)) for a in self.allocations()]
            self._table = self.changes, np.array(rows, np.int64).reshape(-1, 3)
        return self._table[1]

    def find(self, address: int) -> Allocation | None:
        """The live allocation that holds `address`."""
        place = bisect_right(self._bases, address) - 1
        if place < 0:
            return None
        found = self._allocations[place]
        return None if found.freed or address >= found.end else found

    # ---- explanation -------------------------------------------------------------------

    def nearest(self, address: int) -> Allocation | None:
        """The allocation, live or freed, that holds an address or lies next to it."""
        place = bisect_right(self._bases, address) - 1
        around = [self._allocations[i] for i in (place, place + 1) if 0 <= i < len(self._bases)]
        return min(around, key=lambda a: _gap(a, address), default=None)

    def describe(self, address: int, size: int = 1) -> str:
        """Where an access lies: "12 bytes past the end of argument 3 (4096 bytes)"."""
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
        return self._range(address, count).tobytes()

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Replace bytes within one allocation; errors as `read`."""
        self._range(address, len(data))[:] = np.frombuffer(data, np.uint8)

    def _range(self, address: int, count: int) -> npt.NDArray[np.uint8]:
        found = self.find(address)
        if found is None or address + count > found.end:
            where = self.describe(address if found is None else found.end)
            raise UsageError(f"no device memory at 0x{address:x}, {count} bytes: {where}")
        start = address - found.base
        return found.data[start : start + count]

    # ---- lanes -------------------------------------------------------------------------

    def gather(self, addresses: U64, lanes: int, size: int, signed: bool) -> list[U32]:
        """Read `size` bytes at 32 addresses; see `ByteStore.gather`.

        Raises:
            MemoryFault: MISALIGNED_ADDR, OOR_ADDR (beyond the address space) or MMU_FAULT.
        """
        one = self.locate(addresses, lanes, size)
        if one is not None:
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
        text = f"no memory for {_bytes(size)} at 0x{address:x}"
        return MemoryFault("MMU_FAULT", lanes, address, "global", text)


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
