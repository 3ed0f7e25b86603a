"""Memory pools: names for where asynchronous allocations come from."""

from __future__ import annotations

import struct

from gpudbg.dataclass import dataclass
from gpudbg.hosting.calls.devices import require
from gpudbg.hosting.calls.memory import allocate_async
from gpudbg.hosting.process import HostProcess

READ_WRITE = 3
"""CU_MEM_ACCESS_FLAGS_PROT_READWRITE."""


@dataclass(slots=True, eq=False)
class MemoryPool:
    """A pool.

    Attributes:
        attributes: those that were set.
    """

    attributes: dict[int, int]


def default(process: HostProcess, device: int) -> int:
    require(device)
    for handle, thing in process.objects.items():
        if isinstance(thing, MemoryPool):
            return handle
    return process.keep(MemoryPool({}))


def current(process: HostProcess, device: int) -> int:
    return default(process, device)


def use(process: HostProcess, device: int, pool: int) -> None:
    require(device)
    process.get(pool, MemoryPool)


def create(process: HostProcess, properties: memoryview) -> int:
    default(process, 0)
    return process.keep(MemoryPool({}))


def destroy(process: HostProcess, pool: int) -> None:
    process.get(pool, MemoryPool)
    del process.objects[pool]


def allocate(process: HostProcess, size: int, pool: int, stream: int) -> int:
    process.get(pool, MemoryPool)
    return allocate_async(process, size, stream)


def set_attribute(process: HostProcess, pool: int, number: int, value: memoryview) -> None:
    process.get(pool, MemoryPool).attributes[number] = struct.unpack_from("<Q", value)[0]


def attribute(process: HostProcess, pool: int, number: int) -> bytes:
    found = process.get(pool, MemoryPool).attributes.get(number, int(number in (1, 2, 3)))
    used = number in (5, 6, 7, 8)
    return struct.pack("<Q", process.machine.used if used else found)


def access(process: HostProcess, pool: int) -> int:
    """The device reads and writes its memory."""
    process.get(pool, MemoryPool)
    return READ_WRITE
