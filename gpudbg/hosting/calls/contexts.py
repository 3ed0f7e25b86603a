"""Contexts: one primary one, and those that a program makes; all have the same device."""

from __future__ import annotations

from gpudbg.hosting.calls.devices import require
from gpudbg.hosting.cuda_errors import INVALID_CONTEXT, INVALID_VALUE, CudaError
from gpudbg.hosting.memory import PRIMARY
from gpudbg.hosting.process import HostProcess

API_VERSION = 3020
LIMITS = {0: 1024, 1: 1 << 20, 2: 8 << 20, 3: 2, 4: 2048, 5: 128, 6: 0}
"""CUlimit -> what it is until it is set: stack, printf buffer, heap, nesting, launches, fetches."""
STACK, HEAP = 0, 2


def create(process: HostProcess, flags: int, device: int) -> int:
    require(device)
    made = process.keep("context")
    process.contexts.add(made)
    return made


def destroy(process: HostProcess, context: int) -> None:
    if context not in process.contexts:
        raise CudaError(INVALID_CONTEXT)
    process.contexts.discard(context)
    process.objects.pop(context, None)


def retain(process: HostProcess, device: int) -> int:
    require(device)
    process.retained += 1
    return PRIMARY


def release_primary(process: HostProcess, device: int) -> None:
    require(device)
    if not process.retained:
        raise CudaError(INVALID_CONTEXT)
    process.retained -= 1


def reset(process: HostProcess, device: int) -> None:
    """Everything the process has is freed, a sticky error too."""
    require(device)
    process.reset()


def set_primary_flags(process: HostProcess, device: int, flags: int) -> None:
    require(device)
    process.flags = flags


def primary_state(process: HostProcess, device: int) -> tuple[int, int]:
    require(device)
    return process.flags, int(process.retained > 0)


def device(process: HostProcess) -> int:
    return 0


def flags(process: HostProcess) -> int:
    return process.flags


def set_flags(process: HostProcess, value: int) -> None:
    process.flags = value


def number(process: HostProcess, context: int) -> int:
    return context or PRIMARY


def version(process: HostProcess, context: int) -> int:
    return API_VERSION


def limit(process: HostProcess, kind: int) -> int:
    gpu = process.machine.device.gpu
    if kind not in LIMITS:
        raise CudaError(INVALID_VALUE)
    if kind == HEAP:
        return gpu.heap_bytes
    return process.limits.get(kind, LIMITS[kind])


def set_limit(process: HostProcess, kind: int, value: int) -> None:
    gpu = process.machine.device.gpu
    if kind not in LIMITS:
        raise CudaError(INVALID_VALUE)
    process.limits[kind] = value
    if kind == HEAP:
        gpu.heap_bytes = gpu.heap.limit = value
    if kind == STACK:
        gpu.stack_bytes = value


def cache(process: HostProcess) -> int:
    return 0


def accept(process: HostProcess) -> None:
    """What changes nothing here: preferences, hints, profilers."""
    process.check()
