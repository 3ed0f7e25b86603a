"""Device memory: allocations, copies, fills, and what an address is."""

from __future__ import annotations

import struct

import numpy as np

from gpudbg.hosting.cuda_errors import INVALID_VALUE, NOT_SUPPORTED, CudaError
from gpudbg.hosting.memory import PRIMARY, TOTAL_BYTES
from gpudbg.hosting.process import HostProcess

PITCH = 512
"""Rows of pitched memory begin at multiples of this (*documented* for all of these devices)."""
HOST, DEVICE, MANAGED = 1, 2, 3
"""`cudaMemoryType`; the driver's CUmemorytype has 1 and 2 alike."""


def allocate(process: HostProcess, size: int) -> int:
    process.check()
    if not size:
        raise CudaError(INVALID_VALUE)
    return process.machine.allocate(process, size, "cuMemAlloc")


def allocate_runtime(process: HostProcess, size: int) -> int:
    process.check()
    return process.machine.allocate(process, size, "cudaMalloc") if size else 0


def allocate_async(process: HostProcess, size: int, stream: int) -> int:
    process.check()
    if not size:
        raise CudaError(INVALID_VALUE)
    return process.machine.allocate(process, size, "cudaMallocAsync")


def allocate_again(process: HostProcess, address: int, size: int) -> None:
    """A graph's memory, which a program may have freed after an earlier launch of it."""
    process.check()
    if address not in process.machine.allocations:
        process.machine.allocate_at(process, address, size, "memory of a graph")


def allocate_pitch(process: HostProcess, width: int, height: int, element: int) -> tuple[int, int]:
    process.check()
    if element not in (4, 8, 16) or not width or not height:
        raise CudaError(INVALID_VALUE)
    pitch = -(-width // PITCH) * PITCH
    return process.machine.allocate(process, pitch * height, "cuMemAllocPitch"), pitch


def allocate_pitch_runtime(process: HostProcess, width: int, height: int) -> tuple[int, int]:
    process.check()
    pitch = -(-width // PITCH) * PITCH
    if not width or not height:
        return 0, pitch
    return process.machine.allocate(process, pitch * height, "cudaMallocPitch"), pitch


def free(process: HostProcess, address: int) -> None:
    process.check()
    if not address:
        return
    if process.machine.shared_at(process, address) is not None:
        process.machine.unmap_shared(process, address)
    else:
        process.machine.free(process, address)


def free_runtime(process: HostProcess, address: int) -> None:
    free(process, address)


def free_async(process: HostProcess, address: int, stream: int) -> None:
    free(process, address)


def info(process: HostProcess) -> tuple[int, int]:
    process.check()
    return TOTAL_BYTES - process.machine.used, TOTAL_BYTES


def range(process: HostProcess, address: int) -> tuple[int, int]:  # noqa: A001 - CUDA's word
    found, _ = process.machine.span(address, 0)
    return found.base, found.size


# ---- copies ------------------------------------------------------------------------------
def copy_in(process: HostProcess, to: int, data: memoryview) -> None:
    process.check()
    if not data:
        return
    content, done = np.frombuffer(data, np.uint8), 0
    for found, at, size in list(process.machine.spans(to, len(data))):
        found.writable()[at : at + size] = content[done : done + size]
        process.machine.mark(found, at, size)
        done += size


def copy_out(process: HostProcess, address: int, size: int) -> bytes:
    process.check()
    if not size:
        return b""
    parts = process.machine.spans(address, size)
    return b"".join(found.data[at : at + n].tobytes() for found, at, n in parts)


def copy(process: HostProcess, to: int, address: int, size: int) -> None:
    process.check()
    if not size:
        return
    copy_in(process, to, memoryview(copy_out(process, address, size)))


def fill(
    process: HostProcess, to: int, pitch: int, value: int, width: int, across: int, rows: int
) -> None:
    """Rows of `across` bytes get a value of `width` bytes over and over."""
    process.check()
    if not across or not rows:
        return
    if to % width:
        raise CudaError(INVALID_VALUE)
    whole = (rows - 1) * pitch + across
    found, at = process.machine.span(to, whole)
    target = found.writable()
    if across % width:
        raise CudaError(INVALID_VALUE)
    lines = [(at, whole)] if rows == 1 or pitch == across else _lines(at, pitch, across, rows)
    for start, size in lines:
        # Allocations lie at multiples of what is written.
        target[start : start + size].view(f"<u{width}")[:] = value & (1 << 8 * width) - 1
        process.machine.mark(found, start, size)


def _lines(at: int, pitch: int, across: int, rows: int) -> list[tuple[int, int]]:
    """Where each row begins, and its bytes."""
    return [(start, across) for start in np.arange(at, at + rows * pitch, pitch).tolist()]


# ---- what an address is ------------------------------------------------------------------
def pointer(process: HostProcess, attribute: int, address: int) -> bytes:
    """`cuPointerGetAttribute`."""
    shared = process.machine.shared_at(process, address)
    found = process.machine.device.gpu.memory.find(address)
    if found is None:
        raise CudaError(INVALID_VALUE)
    managed = shared is not None and shared.kind == "managed"
    host = shared is not None and not managed
    values = {
        1: PRIMARY,
        2: HOST if host else DEVICE,
        3: address,
        6: 0,
        7: found.base >> 8 & 0xFFFFFFFF,
        8: int(managed),
        9: 0,
        10: 0,
        11: found.base,
        12: found.size,
        13: 1,
        14: 0,
        15: 3,
        17: 0,
    }
    if attribute == 4 and shared is not None:
        return struct.pack("<Q", address)
    if attribute not in values:
        raise CudaError(INVALID_VALUE if attribute == 4 else NOT_SUPPORTED)
    return struct.pack("<Q", values[attribute])


def pointer_attributes(process: HostProcess, address: int) -> bytes:
    """`cudaPointerGetAttributes`: memory that CUDA does not know is no error."""
    shared = process.machine.shared_at(process, address)
    found = process.machine.device.gpu.memory.find(address)
    if found is None:
        return struct.pack("<iiQQ", 0, -2, 0, address)
    if shared is None:
        return struct.pack("<iiQQ", DEVICE, 0, address, 0)
    kind = MANAGED if shared.kind == "managed" else HOST
    return struct.pack("<iiQQ", kind, 0, address, address)
