"""Memory that host and device both have: managed, pinned and registered."""

from __future__ import annotations

import struct

from gpudbg.hosting.cuda_errors import INVALID_VALUE, NOT_REGISTERED, CudaError
from gpudbg.hosting.memory import SharedBlock
from gpudbg.hosting.process import HostProcess

KINDS = ("pinned", "managed")


def allocate(process: HostProcess, size: int, kind: int, flags: int) -> int:
    process.check()
    if not size:
        return 0
    return process.machine.map_shared(process, size, KINDS[kind], flags)


def managed(process: HostProcess, size: int, flags: int) -> int:
    process.check()
    if not size or flags not in (1, 2):
        raise CudaError(INVALID_VALUE)
    return process.machine.map_shared(process, size, "managed", flags)


def free(process: HostProcess, address: int) -> None:
    process.check()
    if address:
        process.machine.unmap_shared(process, address)


def register(process: HostProcess, address: int, size: int, flags: int) -> int:
    process.check()
    return process.machine.register(process, address, size, flags)


def unregister(process: HostProcess, address: int) -> int:
    process.check()
    held = process.machine.shared_at(process, address)
    if held is None or held.kind != "registered":
        raise CudaError(NOT_REGISTERED)
    return process.machine.unmap_shared(process, held.allocation.base).size


def _held(process: HostProcess, address: int) -> SharedBlock:
    held = process.machine.shared_at(process, address)
    if held is None:
        raise CudaError(INVALID_VALUE)
    return held


def device_address(process: HostProcess, address: int, flags: int) -> int:
    _held(process, address)
    return address


def flags(process: HostProcess, address: int) -> int:
    return _held(process, address).flags


def range_attribute(
    process: HostProcess, size: int, attribute: int, address: int, count: int
) -> bytes:
    """Advice is not kept: preferred and last locations are none, nothing is read mostly."""
    _held(process, address)
    return struct.pack("<i", 0 if attribute == 1 else -2)[:size]
