"""Virtual memory: addresses that are reserved, memory without an address, and one at the other."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.hosting.cuda_errors import INVALID_VALUE, OUT_OF_MEMORY, CudaError
from gpudbg.hosting.memory import TOTAL_BYTES
from gpudbg.hosting.process import HostProcess
from gpudbg.mem.pages import zeroed
from gpudbg.mem.store import padded_size

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from gpudbg.mem.device import Allocation

GRANULARITY = 2 << 20
"""Sizes and addresses are multiples of it (*documented* for all of these devices)."""
READ_WRITE = 3
HANDLE_TYPES = struct.Struct("<I")
POSIX_FILE = 1
"""CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, in `requestedHandleTypes` of the properties."""


@dataclass(slots=True, eq=False)
class PhysicalMemory:
    """Memory without an address of its own.

    Attributes:
        size: in bytes.
        content: them.
        properties: as it was asked for.
        mapped: how often it is mapped.
        handles: how many there are, of all processes.
    """

    size: int
    content: npt.NDArray[np.uint8]
    properties: bytes
    mapped: int = 0
    handles: int = 1


@dataclass(slots=True, eq=False)
class MappedRange:
    """Memory at an address.

    Attributes:
        handle, memory: what is there.
        allocation: as the device sees it.
    """

    handle: int
    memory: PhysicalMemory
    allocation: Allocation

    @property
    def address(self) -> int:
        """Where it is."""
        return self.allocation.base


def _whole(size: int) -> None:
    if not size or size % GRANULARITY:
        raise CudaError(INVALID_VALUE)


def reserve(process: HostProcess, size: int, alignment: int, wanted: int, flags: int) -> int:
    process.check()
    _whole(size)
    return process.machine.reserve(size, max(alignment, GRANULARITY))


def give_back(process: HostProcess, address: int, size: int) -> None:
    _whole(size)


def create(process: HostProcess, size: int, properties: memoryview, flags: int) -> int:
    process.check()
    _whole(size)
    if size > TOTAL_BYTES - process.machine.used:
        raise CudaError(OUT_OF_MEMORY)
    process.machine.used += size
    return process.keep(PhysicalMemory(size, zeroed(padded_size(size)), bytes(properties)))


def _drop(process: HostProcess, memory: PhysicalMemory) -> None:
    if not (memory.handles or memory.mapped):
        process.machine.used -= memory.size


def release(process: HostProcess, handle: int) -> None:
    memory = process.get(handle, PhysicalMemory)
    memory.handles -= 1
    del process.objects[handle]
    _drop(process, memory)


def export(process: HostProcess, handle: int) -> int:
    """`cuMemExportToShareableHandle`: a number of the memory, which a file descriptor holds."""
    memory = process.get(handle, PhysicalMemory)
    (asked,) = HANDLE_TYPES.unpack_from(memory.properties, 4)
    if not asked & POSIX_FILE:
        raise CudaError(INVALID_VALUE)
    return process.machine.exported.number(memory)


def import_number(process: HostProcess, number: int) -> int:
    """`cuMemImportFromShareableHandle`: a handle of the same memory."""
    process.check()
    memory = process.machine.exported.get(number)
    if not isinstance(memory, PhysicalMemory) or not (memory.handles or memory.mapped):
        raise CudaError(INVALID_VALUE)
    memory.handles += 1
    return process.keep(memory)


def map_memory(
    process: HostProcess, address: int, size: int, offset: int, handle: int, flags: int
) -> None:
    process.check()
    _whole(size)
    memory = process.get(handle, PhysicalMemory)
    if offset or size != memory.size or process.machine.device.gpu.memory.find(address):
        raise CudaError(INVALID_VALUE)
    process.machine.made += 1
    name = f"cuMemMap #{process.machine.made}"
    placed = process.machine.device.gpu.memory.place(address, size, name, memory.content)
    memory.mapped += 1
    process.mapped[address] = MappedRange(handle, memory, placed)


def unmap(process: HostProcess, address: int, size: int) -> None:
    found = [a for a in process.mapped if address <= a < address + size]
    if not found:
        raise CudaError(INVALID_VALUE)
    for at in found:
        gone = process.mapped.pop(at)
        process.machine.device.gpu.memory.free(gone.allocation)
        gone.memory.mapped -= 1
        _drop(process, gone.memory)


def _mapped(process: HostProcess, address: int) -> MappedRange:
    found: MappedRange
    for found in process.mapped.values():
        if found.address <= address < found.allocation.end:
            return found
    raise CudaError(INVALID_VALUE)


def set_access(process: HostProcess, address: int, size: int, access: memoryview) -> None:
    """The only device may read and write what is mapped (*modelled*)."""
    _mapped(process, address)


def access(process: HostProcess, location: memoryview, address: int) -> int:
    _mapped(process, address)
    return READ_WRITE


def granularity(process: HostProcess, properties: memoryview, option: int) -> int:
    return GRANULARITY


def properties(process: HostProcess, handle: int) -> bytes:
    return process.get(handle, PhysicalMemory).properties


def retain(process: HostProcess, address: int) -> int:
    found = _mapped(process, address)
    if found.handle not in process.objects:
        found.memory.handles += 1
        process.objects[found.handle] = found.memory
    return found.handle
