"""Streams and events.

Work runs to its end where it is asked for, so that every stream is done at any time
(`gpudbg info policy`: host-launches).  Events keep when they were recorded.
"""

from __future__ import annotations

import struct
import time
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.hosting.cuda_errors import INVALID_HANDLE, INVALID_VALUE, CudaError
from gpudbg.hosting.memory import PRIMARY
from gpudbg.hosting.process import HostProcess

DEFAULTS = (0, 1, 2)
"""The default stream: as it is, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD."""
LEAST, GREATEST = 0, -5
NO_TIMING, PRIORITY = 2, 8
SHORTEST_MS = 0.001


@dataclass(slots=True, eq=False)
class HostStream:
    """A stream.

    Attributes:
        flags, priority: as it was made.
        attributes: values that were set, by number.
    """

    flags: int = 0
    priority: int = 0
    attributes: dict[int, bytes] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class HostEvent:
    """An event.

    Attributes:
        flags: as it was made.
        at: seconds when it was recorded; None before.
    """

    flags: int = 0
    at: float | None = None


def stream_of(process: HostProcess, handle: int) -> HostStream:
    """A stream; CudaError for what is none."""
    return HostStream() if handle in DEFAULTS else process.get(handle, HostStream)


def create(process: HostProcess, flags: int) -> int:
    process.check()
    if flags not in (0, 1):
        raise CudaError(INVALID_VALUE)
    return process.keep(HostStream(flags))


def create_plain(process: HostProcess) -> int:
    return create(process, 0)


def create_with(process: HostProcess, flags: int, priority: int) -> int:
    process.check()
    return process.keep(HostStream(flags, max(GREATEST, min(LEAST, priority))))


def destroy(process: HostProcess, handle: int) -> None:
    process.get(handle, HostStream)
    del process.objects[handle]


def query(process: HostProcess, handle: int) -> None:
    synchronize(process, handle)


def synchronize(process: HostProcess, handle: int) -> None:
    stream_of(process, handle)
    process.check()


def synchronize_all(process: HostProcess) -> None:
    process.check()


def check(process: HostProcess) -> None:
    process.check()


def wait(process: HostProcess, handle: int, event: int, flags: int) -> None:
    stream_of(process, handle)
    process.get(event, HostEvent)
    process.check()


def priorities(process: HostProcess) -> tuple[int, int]:
    return LEAST, GREATEST


def priority(process: HostProcess, handle: int) -> int:
    return stream_of(process, handle).priority


def flags(process: HostProcess, handle: int) -> int:
    return stream_of(process, handle).flags


def number(process: HostProcess, handle: int) -> int:
    stream_of(process, handle)
    return handle


def context(process: HostProcess, handle: int) -> int:
    stream_of(process, handle)
    return PRIMARY


def device(process: HostProcess, handle: int) -> int:
    stream_of(process, handle)
    return 0


def attribute(process: HostProcess, handle: int, number: int) -> bytes:
    """`cuStreamGetAttribute`: preferences, which change nothing here; the priority counts."""
    found = stream_of(process, handle)
    if number == PRIORITY:
        return struct.pack("<i60x", found.priority)
    return found.attributes.get(number, bytes(64))


def set_attribute(process: HostProcess, handle: int, number: int, value: memoryview) -> None:
    found = stream_of(process, handle)
    if number == PRIORITY:
        (given,) = struct.unpack_from("<i", value)
        found.priority = max(GREATEST, min(LEAST, given))
    elif number:
        found.attributes[number] = bytes(value)
    else:
        raise CudaError(INVALID_VALUE)


def copy_attributes(process: HostProcess, to: int, source: int) -> None:
    found, other = stream_of(process, to), stream_of(process, source)
    found.priority, found.attributes = other.priority, dict(other.attributes)


# ---- events ------------------------------------------------------------------------------
def event(process: HostProcess, flags: int) -> int:
    process.check()
    return process.keep(HostEvent(flags))


def event_plain(process: HostProcess) -> int:
    return event(process, 0)


def event_destroy(process: HostProcess, handle: int) -> None:
    process.get(handle, HostEvent)
    del process.objects[handle]


def record(process: HostProcess, handle: int, stream: int) -> None:
    process.check()
    stream_of(process, stream)
    process.get(handle, HostEvent).at = time.monotonic()


def record_with(process: HostProcess, handle: int, stream: int, flags: int) -> None:
    record(process, handle, stream)


def event_query(process: HostProcess, handle: int) -> None:
    process.get(handle, HostEvent)
    process.check()


def event_wait(process: HostProcess, handle: int) -> None:
    event_query(process, handle)


def elapsed(process: HostProcess, begin: int, end: int) -> float:
    """Milliseconds of this machine between two events, which are no GPU's."""
    process.check()
    first, last = process.get(begin, HostEvent), process.get(end, HostEvent)
    if first.at is None or last.at is None or (first.flags | last.flags) & NO_TIMING:
        raise CudaError(INVALID_HANDLE)
    return max((last.at - first.at) * 1e3, SHORTEST_MS) if first is not last else 0.0
