"""Memory and events of one process in another one: all processes have the same device, so that an
address means the same in each.
"""

from __future__ import annotations

import struct

from gpudbg.hosting.calls.streams import HostEvent
from gpudbg.hosting.cuda_errors import INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, CudaError
from gpudbg.hosting.process import HostProcess

HANDLE = struct.Struct("<8sIIQQ32x")
"""Mark, process, kind, what it is, and a number that a later one at its place has not."""
_MARK = b"gpudbgIP"
_MEMORY, _EVENT = 1, 2


def memory(process: HostProcess, address: int) -> bytes:
    """`cuIpcGetMemHandle`: a handle of the allocation that holds an address."""
    process.check()
    found = process.machine.allocations.get(process.machine.span(address, 0)[0].base)
    if found is None or found.base not in process.allocated:
        raise CudaError(INVALID_VALUE)
    number = process.machine.exported.number(found)
    return HANDLE.pack(_MARK, process.pid, _MEMORY, found.base, number)


def _taken(process: HostProcess, data: memoryview, kind: int) -> object:
    """What a handle of another process stands for.

    Raises:
        CudaError: it is none, what it stood for is gone, or it is of this very process.
    """
    mark, pid, given, _, number = HANDLE.unpack(data)
    found = process.machine.exported.get(number)
    if mark != _MARK or given != kind or found is None:
        raise CudaError(INVALID_HANDLE)
    if pid == process.pid:
        raise CudaError(INVALID_CONTEXT, "an IPC handle is opened by the process that made it")
    return found


def open_memory(process: HostProcess, data: memoryview) -> int:
    """Where the memory lies."""
    process.check()
    found = _taken(process, data, _MEMORY)
    base: int = HANDLE.unpack(data)[3]
    if process.machine.allocations.get(base) is not found:
        raise CudaError(INVALID_HANDLE)
    process.opened.add(base)
    return base


def close_memory(process: HostProcess, address: int) -> None:
    if address not in process.opened:
        raise CudaError(INVALID_VALUE)
    process.opened.discard(address)


def event(process: HostProcess, handle: int) -> bytes:
    """`cuIpcGetEventHandle`."""
    number = process.machine.exported.number(process.get(handle, HostEvent))
    return HANDLE.pack(_MARK, process.pid, _EVENT, handle, number)


def open_event(process: HostProcess, data: memoryview) -> int:
    """The same event, by a handle of this process."""
    process.check()
    return process.keep(_taken(process, data, _EVENT))
