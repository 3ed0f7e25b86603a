"""The device that host programs share, and where its memory lies in theirs.

Three ranges of addresses never meet: the host's own, device memory, and memory that both have.
The last one is a file in memory which host programs map at the same addresses (managed, pinned and
registered memory): each side sees what the other wrote, and nothing is copied.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gpudbg.api.device import Device
from gpudbg.architectures import is_wide
from gpudbg.dataclass import dataclass
from gpudbg.hosting.channel import FACTS
from gpudbg.hosting.cuda_errors import INVALID_VALUE, OUT_OF_MEMORY, CudaError
from gpudbg.mem.device import Allocation
from gpudbg.mem.pages import storage
from gpudbg.mem.store import padded_size

if TYPE_CHECKING:
    import numpy.typing as npt

    from gpudbg.api.programs import LoadedProgram
    from gpudbg.formats.program import Program

SHARED_BYTES = 16 << 30
"""Addresses of shared memory of a process; pages are there when they are touched."""
SHARED_BEGIN = 0x40_0000_0000
MOST_PROCESSES = 32
_NARROW = 0x7_0500_0000, 0x3F_0000_0000
_WIDE = 0x700_0000_0000, 0x5000_0000_0000
"""Device memory, with 40 bits and with 49; not where Linux puts libraries, stacks and heaps."""
TOTAL_BYTES = 16 << 30
"""Memory of the device as programs see it (*modelled*)."""
PRIMARY = 0x5000_0000
"""Handle of the primary context."""
_UNIT = mmap.PAGESIZE


class MemoryOwner(Protocol):
    """A process that has memory here."""

    allocated: set[int]
    """Addresses of its device memory."""


@dataclass(slots=True, eq=False)
class SharedBlock:
    """An allocation in memory that both have.

    Attributes:
        allocation: as the device sees it.
        offset, size: in the file, whole pages.
        kind: "pinned", "managed" or "registered".
        flags: as the program gave them.
        advice: what was said of ranges of it: what, begin, end, value.
    """

    allocation: Allocation
    offset: int
    size: int
    kind: str
    flags: int
    advice: list[tuple[object, int, int, object]] = field(default_factory=list)


class SharedMemory:
    """Memory that a process shares with the device.

    Attributes:
        begin, end: addresses in the process and on the device.
        file: its file.
    """

    def __init__(self, begin: int, size: int) -> None:
        self.begin, self.end = begin, begin + size
        self.file = os.memfd_create("gpudbg-shared", os.MFD_CLOEXEC)
        os.ftruncate(self.file, size)
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_NORESERVE", 0x4000)
        self._map = mmap.mmap(self.file, size, flags=flags)
        self._bytes: npt.NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)
        self._next = 0
        self._gaps: list[tuple[int, int]] = []
        self.held: dict[int, SharedBlock] = {}

    def take(self, size: int) -> tuple[int, npt.NDArray[np.uint8]]:
        """Offset and bytes of room for `size`, whole pages and zero.

        Raises:
            CudaError: there is none.
        """
        whole = max(-(-size // _UNIT) * _UNIT, _UNIT)
        for n, (at, room) in enumerate(self._gaps):
            if room == whole:
                del self._gaps[n]
                return at, self._bytes[at : at + whole]
        at = self._next
        if at + whole > self.end - self.begin:
            raise CudaError(OUT_OF_MEMORY)
        self._next += whole + _UNIT
        return at, self._bytes[at : at + whole]

    def give_back(self, offset: int, size: int) -> None:
        """Free room."""
        whole = max(-(-size // _UNIT) * _UNIT, _UNIT)
        self._map.madvise(mmap.MADV_REMOVE, offset, whole)
        self._gaps.append((offset, whole))


class ExportedThings:
    """What processes let others have, by numbers that are never given twice."""

    def __init__(self) -> None:
        self._things: list[object] = []

    def number(self, thing: object) -> int:
        """Its number; the same for the same thing."""
        for n, known in enumerate(self._things):
            if known is thing:
                return n
        self._things.append(thing)
        return len(self._things) - 1

    def get(self, number: int) -> object | None:
        """What has a number."""
        return self._things[number] if number < len(self._things) else None


class HostDevice:
    """An emulated GPU as host programs see it.

    Attributes:
        device: the device.
        allocations: of device memory that programs asked for, by address.
        launches: how many programs have asked for.
        used: bytes of those allocations.
        marking: somebody asks which bytes were never written.
        middle: from here on lie addresses that programs reserve.
        exported: what handles between processes stand for.
    """

    def __init__(self, device: Device, marking: bool = False) -> None:
        self.device = device
        self.marking = marking
        self.begin, self.end = _WIDE if is_wide(device.arch) else _NARROW
        device.gpu.memory.next_address = self.begin
        self.middle = self._reserved = self.begin + (self.end - self.begin) // 2
        self.allocations: dict[int, Allocation] = {}
        self.arenas: dict[MemoryOwner, SharedMemory] = {}
        self.exported = ExportedThings()
        self.launches = 0
        self.used = 0
        self.made = 0

    @property
    def major(self) -> int:
        """Compute capability: its first number."""
        return int(self.device.arch[3:].rstrip("af")) // 10

    @property
    def minor(self) -> int:
        """Its second number."""
        return int(self.device.arch[3:].rstrip("af")) % 10

    def facts(self, process: MemoryOwner) -> tuple[bytes, int]:
        """What a process gets when it connects, and the file of its shared memory."""
        arena = self.arena(process)
        words = self.begin, self.end, arena.begin, arena.end, PRIMARY
        return FACTS.pack(*words), arena.file

    def arena(self, process: MemoryOwner) -> SharedMemory:
        """A process's shared memory."""
        if process not in self.arenas:
            place = SHARED_BEGIN + len(self.arenas) % MOST_PROCESSES * SHARED_BYTES
            self.arenas[process] = SharedMemory(place, SHARED_BYTES)
        return self.arenas[process]

    def forget(self, process: MemoryOwner) -> None:
        """A process has ended, or reset its device: what it had is freed."""
        for address in list(process.allocated):
            self.free(process, address)
        for base in list(self.arena(process).held):
            self.unmap_shared(process, base)

    def adopt(self, process: MemoryOwner, program: Program) -> LoadedProgram:
        """Place a program; segments with managed variables lie in memory that both have."""
        managed = {found.segment for found in program.globals.values() if found.managed}

        def allocate(name: str, size: int) -> Allocation:
            if name not in managed:
                return self.device.gpu.memory.allocate(size, f"segment {name}", "global")
            base = self.map_shared(process, size, "managed", 1)
            return self.arena(process).held[base].allocation

        return self.device.adopt(program, allocate if managed else None)

    def mark(self, allocation: Allocation, at: int, size: int) -> None:
        """A host wrote bytes: they are nobody's no longer."""
        if allocation.marks is not None:
            allocation.marks[at : at + size] = 0xFF

    # ---- device memory -----------------------------------------------------------------
    def allocate(self, process: MemoryOwner, size: int, name: str) -> int:
        """Address of new device memory of a process.

        Raises:
            CudaError: there is no room.
        """
        if size > TOTAL_BYTES - self.used:
            raise CudaError(OUT_OF_MEMORY)
        self.made += 1
        return self._keep(process, self.device.gpu.memory.allocate(size, f"{name} #{self.made}"))

    def allocate_at(self, process: MemoryOwner, address: int, size: int, name: str) -> int:
        """Memory where a program has freed some, which nobody has had since.

        Raises:
            CudaError: there is no room, or somebody has that place.
        """
        memory = self.device.gpu.memory
        if size > TOTAL_BYTES - self.used or memory.find(address) is not None:
            raise CudaError(OUT_OF_MEMORY)
        self.made += 1
        padded, _ = storage(padded_size(size))
        return self._keep(process, memory.place(address, size, f"{name} #{self.made}", padded))

    def _keep(self, process: MemoryOwner, made: Allocation) -> int:
        if self.marking:
            self.device.gpu.memory.leave_uninitialized(made)
        process.allocated.add(made.base)
        self.allocations[made.base] = made
        self.used += made.size
        return made.base

    def free(self, process: MemoryOwner, address: int) -> None:
        """Give device memory back.

        Raises:
            CudaError: it is none.
        """
        found = self.allocations.pop(address, None)
        if found is None:
            raise CudaError(INVALID_VALUE)
        process.allocated.discard(address)
        self.used -= found.size
        self.device.gpu.memory.free(found)

    def reserve(self, size: int, alignment: int) -> int:
        """Addresses of device memory where nothing is.

        Raises:
            CudaError: there are none left.
        """
        base = -(-self._reserved // alignment) * alignment
        if base + size > self.end:
            raise CudaError(OUT_OF_MEMORY)
        # A gap behind shows what reaches too far.
        self._reserved = base + size + alignment
        return base

    def spans(self, address: int, size: int) -> Iterator[tuple[Allocation, int, int]]:
        """Allocations in a row that hold bytes: each, where they begin in it, and how many.

        Raises:
            CudaError: some of the bytes are in none.
        """
        while size:
            found = self.device.gpu.memory.find(address)
            if found is None:
                raise CudaError(INVALID_VALUE, self.device.gpu.memory.describe(address, size))
            part = min(size, found.end - address)
            if part < size and found.base < self.middle:
                raise CudaError(INVALID_VALUE, self.device.gpu.memory.describe(address, size))
            yield found, address - found.base, part
            address, size = address + part, size - part

    def span(self, address: int, size: int) -> tuple[Allocation, int]:
        """The allocation that holds bytes, and where they begin in it.

        Raises:
            CudaError: no allocation holds them all.
        """
        found = self.device.gpu.memory.find(address)
        if found is None or address + size > found.end:
            raise CudaError(INVALID_VALUE, self.device.gpu.memory.describe(address, size))
        return found, address - found.base

    # ---- shared memory -----------------------------------------------------------------
    def map_shared(self, process: MemoryOwner, size: int, kind: str, flags: int) -> int:
        """Address of new memory that process and device both have."""
        arena = self.arena(process)
        offset, room = arena.take(size)
        base = arena.begin + offset
        self._place(arena, base, size, offset, room, kind, flags)
        return base

    def register(self, process: MemoryOwner, address: int, size: int, flags: int) -> int:
        """Offset in the file of room for memory of the host, which the device sees there, too."""
        arena = self.arena(process)
        offset, room = arena.take(size)
        self._place(arena, address, size, offset, room, "registered", flags)
        return offset

    def _place(
        self,
        arena: SharedMemory,
        base: int,
        size: int,
        offset: int,
        room: npt.NDArray[np.uint8],
        kind: str,
        flags: int,
    ) -> None:
        self.made += 1
        padded = room[: padded_size(size)]
        name = f"{kind} memory #{self.made}"
        made = self.device.gpu.memory.place(base, size, name, padded)
        arena.held[base] = SharedBlock(made, offset, size, kind, flags)

    def shared_at(self, process: MemoryOwner, address: int) -> SharedBlock | None:
        """The shared allocation that holds an address."""
        for held in self.arena(process).held.values():
            if held.allocation.base <= address < held.allocation.base + max(held.size, 1):
                return held
        return None

    def unmap_shared(self, process: MemoryOwner, address: int) -> SharedBlock:
        """Free shared memory.

        Raises:
            CudaError: it is none.
        """
        arena = self.arena(process)
        held = arena.held.pop(address, None)
        if held is None:
            raise CudaError(INVALID_VALUE)
        if not held.allocation.freed:
            # A module frees its variables itself.
            self.device.gpu.memory.free(held.allocation)
        if held.kind != "registered":
            arena.give_back(held.offset, held.size)
        return held
