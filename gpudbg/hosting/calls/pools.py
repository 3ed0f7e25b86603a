"""Memory pools: names for where asynchronous allocations come from."""

from __future__ import annotations

import struct

from gpudbg.dataclass import dataclass
from gpudbg.hosting.calls import memory
from gpudbg.hosting.calls.devices import require
from gpudbg.hosting.cuda_errors import INVALID_VALUE, NOT_SUPPORTED, CudaError
from gpudbg.hosting.process import HostProcess

READ_WRITE = 3
"""CU_MEM_ACCESS_FLAGS_PROT_READWRITE."""
DEVICE_LOCATION = 1
"""cudaMemLocationTypeDevice."""
_FLAGS = (1, 2, 3)
THRESHOLD = 4
"""Attributes: what memory may be used again for (ints), and what a pool keeps."""


@dataclass(slots=True, eq=False)
class MemoryPool:
    """A pool.

    Attributes:
        attributes: those that were set.
        allocated: addresses of memory from it.
        high: most bytes that it has had at once since a program asked for a new count.
    """

    attributes: dict[int, int]
    allocated: set[int]
    high: int = 0

    def used(self, process: HostProcess) -> int:
        """Bytes from it that have not been freed."""
        known = process.machine.allocations
        self.allocated = {address for address in self.allocated if address in known}
        return sum(known[address].size for address in self.allocated)


RESERVED, RESERVED_HIGH, USED, USED_HIGH = 5, 6, 7, 8
"""Attributes that are counts; what is reserved is here what is used (*modelled*)."""


def default(process: HostProcess, device: int) -> int:
    require(device)
    for handle, thing in process.objects.items():
        if isinstance(thing, MemoryPool):
            return handle
    return process.keep(MemoryPool({}, set()))


def current(process: HostProcess, device: int) -> int:
    first = default(process, device)
    return process.pool if process.pool in process.objects else first


def use(process: HostProcess, device: int, pool: int) -> None:
    require(device)
    process.get(pool, MemoryPool)
    process.pool = pool


def _device_at(location: memoryview) -> int:
    """The device of a `cudaMemLocation`; memory of the host has no pools here."""
    kind, number = struct.unpack_from("<ii", location)
    if kind != DEVICE_LOCATION:
        raise CudaError(NOT_SUPPORTED)
    return int(number)


def default_at(process: HostProcess, location: memoryview, kind: int) -> int:
    return default(process, _device_at(location))


def current_at(process: HostProcess, location: memoryview, kind: int) -> int:
    return current(process, _device_at(location))


def use_at(process: HostProcess, location: memoryview, kind: int, pool: int) -> None:
    use(process, _device_at(location), pool)


def create(process: HostProcess, properties: memoryview) -> int:
    default(process, 0)
    return process.keep(MemoryPool({}, set()))


def destroy(process: HostProcess, pool: int) -> None:
    process.get(pool, MemoryPool)
    if pool == default(process, 0):
        raise CudaError(INVALID_VALUE)
    del process.objects[pool]


def allocate(process: HostProcess, size: int, pool: int, stream: int) -> int:
    found = process.get(pool, MemoryPool)
    address = memory.allocate_async(process, size, stream)
    found.allocated.add(address)
    found.high = max(found.high, found.used(process))
    return address


def allocate_async(process: HostProcess, size: int, stream: int) -> int:
    """From the device's current pool."""
    return allocate(process, size, current(process, 0), stream)


def set_attribute(process: HostProcess, pool: int, number: int, value: memoryview) -> None:
    found = process.get(pool, MemoryPool)
    given: int = struct.unpack_from("<Q" if number not in _FLAGS else "<i", value)[0]
    if number in (RESERVED_HIGH, USED_HIGH):
        if given:
            raise CudaError(INVALID_VALUE)
        found.high = 0
    elif number in _FLAGS or number == THRESHOLD:
        found.attributes[number] = given
    else:
        raise CudaError(INVALID_VALUE)


def attribute(process: HostProcess, pool: int, number: int) -> bytes:
    found = process.get(pool, MemoryPool)
    if number in (RESERVED, USED):
        return struct.pack("<Q", found.used(process))
    if number in (RESERVED_HIGH, USED_HIGH):
        return struct.pack("<Q", found.high)
    if number in _FLAGS:
        return struct.pack("<i", found.attributes.get(number, 1))
    if number != THRESHOLD:
        raise CudaError(INVALID_VALUE)
    return struct.pack("<Q", found.attributes.get(number, 0))


def access(process: HostProcess, pool: int) -> int:
    """The device reads and writes its memory."""
    process.get(pool, MemoryPool)
    return READ_WRITE
