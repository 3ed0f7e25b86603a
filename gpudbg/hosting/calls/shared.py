"""Memory that host and device both have: managed, pinned and registered."""

from __future__ import annotations

import struct

from gpudbg.hosting.cuda_errors import (
    ALREADY_REGISTERED,
    INVALID_DEVICE,
    INVALID_VALUE,
    NOT_REGISTERED,
    CudaError,
)
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
    if any(
        held.allocation.base < address + size and address < held.allocation.base + held.size
        for held in process.machine.arena(process).held.values()
    ):
        raise CudaError(ALREADY_REGISTERED)
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


# ---- what a program says of ranges of managed memory -----------------------------------------
READ_MOSTLY, PREFERRED, ACCESSED_BY, LAST_PREFETCH = 1, 2, 3, 4
"""cudaMemRangeAttribute."""
PREFERRED_KIND, PREFERRED_NUMBER, PREFETCH_KIND, PREFETCH_NUMBER = 5, 6, 7, 8
HOST, NOWHERE = -1, -2
"""cudaCpuDeviceId, cudaInvalidDeviceId."""
_LOCATIONS = {0: NOWHERE, 1: 0, 2: HOST, 3: HOST, 4: HOST}
"""cudaMemLocationType -> a device's number; host memory of a NUMA node is the host's."""
_PAGE = 4096


def _location(location: int) -> int:
    """The device number of a `cudaMemLocation` in a register."""
    kind, number = location & 0xFFFF_FFFF, location >> 32
    if kind not in _LOCATIONS or (kind == 1 and number):
        raise CudaError(INVALID_DEVICE)
    return _LOCATIONS[kind]


def _place(device: int) -> int:
    if device not in (0, HOST):
        raise CudaError(INVALID_DEVICE)
    return device


def _managed(process: HostProcess, address: int, count: int) -> SharedBlock:
    """CudaError where a range is not all in one piece of managed memory."""
    held = process.machine.shared_at(process, address)
    inside = held is not None and address + count <= held.allocation.base + held.size
    if held is None or not inside or held.kind != "managed" or not count:
        raise CudaError(INVALID_VALUE)
    return held


def _note(held: SharedBlock, what: object, address: int, count: int, value: object) -> None:
    begin = address // _PAGE * _PAGE
    held.advice.append((what, begin, address + count, value))


def advise(process: HostProcess, address: int, count: int, advice: int, device: int) -> None:
    """Notes what a program would like; `range_attribute` tells it."""
    held = _managed(process, address, count)
    if advice in (1, 2):
        _note(held, READ_MOSTLY, address, count, int(advice == 1))
    elif advice in (3, 4):
        _note(held, PREFERRED, address, count, _place(device) if advice == 3 else NOWHERE)
    elif advice in (5, 6):
        _note(held, (ACCESSED_BY, _place(device)), address, count, advice == 5)
    else:
        raise CudaError(INVALID_VALUE)


def advise_at(process: HostProcess, address: int, count: int, advice: int, location: int) -> None:
    anywhere = advice in (1, 2, 4)
    advise(process, address, count, advice, 0 if anywhere else _location(location))


def prefetch(process: HostProcess, address: int, count: int, device: int) -> None:
    """Nothing moves: both have the same memory."""
    process.check()
    _note(_managed(process, address, count), LAST_PREFETCH, address, count, _place(device))


def prefetch_to(process: HostProcess, address: int, count: int, location: int) -> None:
    prefetch(process, address, count, _location(location))


def _said(held: SharedBlock, what: object, address: int, count: int, nothing: object) -> object:
    """What was said last of all pages of a range; `nothing` where that is not the same for all."""
    edges = {address, *(e for w, *span, _ in held.advice if w == what for e in span[:2])}
    found = {
        next(
            (
                value
                for w, begin, end, value in reversed(held.advice)
                if w == what and begin <= at < end
            ),
            nothing,
        )
        for at in edges
        if address <= at < address + count
    }
    return found.pop() if len(found) == 1 else nothing


def range_attribute(
    process: HostProcess, size: int, attribute: int, address: int, count: int
) -> bytes:
    """`cuMemRangeGetAttribute`."""
    held = _managed(process, address, count)
    if attribute == ACCESSED_BY:
        devices = [d for d in (0, HOST) if _said(held, (ACCESSED_BY, d), address, count, False)]
        listed = [*devices, *[NOWHERE] * (size // 4)][: size // 4]
        return struct.pack(f"<{len(listed)}i", *listed)
    if attribute == READ_MOSTLY:
        return struct.pack("<i", _said(held, READ_MOSTLY, address, count, 0))[:size]
    asked = PREFERRED if attribute in (PREFERRED, PREFERRED_KIND, PREFERRED_NUMBER) else 0
    asked = LAST_PREFETCH if attribute in (LAST_PREFETCH, PREFETCH_KIND, PREFETCH_NUMBER) else asked
    if not asked:
        raise CudaError(INVALID_VALUE)
    place = _said(held, asked, address, count, NOWHERE)
    if attribute in (PREFERRED_KIND, PREFETCH_KIND):
        place = {0: 1, HOST: 2}.get(place, 0) if isinstance(place, int) else 0
    return struct.pack("<i", place)[:size]
