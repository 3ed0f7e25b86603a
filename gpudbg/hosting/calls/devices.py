"""The device: its name, attributes and properties. There is one."""

from __future__ import annotations

import struct
from functools import cache

from gpudbg.architectures import age
from gpudbg.hosting.cuda_errors import (
    INVALID_DEVICE,
    INVALID_VALUE,
    PEER_UNSUPPORTED,
    CudaError,
)
from gpudbg.hosting.memory import TOTAL_BYTES
from gpudbg.hosting.process import HostProcess
from gpudbg.hosting.table import table_lines
from gpudbg.sm.launch import RESERVED_SHARED, limits_of

BUS = b"0000:01:00.0\0"
UUID = b"gpudbg emulated\0"
PROPERTIES_BYTES = 1032
PROPERTIES_13_BYTES = 1008
LINEAR_WIDTH = 69
"""CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH."""
_KEPT = (
    (0, 0, 384), (388, 384, 4), (396, 388, 8), (408, 396, 8), (420, 404, 188), (612, 592, 28),
    (640, 624, 28), (672, 652, 20), (696, 672, 84), (780, 784, 224),
)  # fmt: skip
"""Where runs of fields lie in CUDA 12's structure, in CUDA 13's, and their bytes."""
_NAME, _UUID_AT, _MEMORY = 0, 256, 288


@cache
def _rows() -> tuple[tuple[int, str, str], ...]:
    rows = (line.split() for line in table_lines("attributes.tbl"))
    return tuple((int(row[0]), row[1], row[2]) for row in rows)


@cache
def attributes(arch: str, sms: int) -> dict[int, int]:
    """Value of each attribute."""
    limits = limits_of(arch)
    number = age(arch)[0]
    known = {
        "sms": sms,
        "major": number // 10,
        "minor": number % 10,
        "threads": limits.warps * 32,
        "shared": limits.shared,
        "block_shared": limits.cta_shared,
        "blocks": limits.ctas,
        "reserved": RESERVED_SHARED if number >= 80 else 0,
        "clusters": int(number >= 90),
    }
    return {n: known[text] if text in known else int(text) for n, text, _ in _rows()}


def graph_memory(process: HostProcess, device: int, attribute: int) -> bytes:
    """`cuDeviceGetGraphMemAttribute`: graphs' memory is among the rest here, and not counted."""
    require(device)
    if attribute not in range(4):
        raise CudaError(INVALID_VALUE)
    return bytes(8)


def set_graph_memory(process: HostProcess, device: int, attribute: int, value: memoryview) -> None:
    """High-water marks are set to zero."""
    require(device)
    if attribute not in (1, 3) or any(value):
        raise CudaError(INVALID_VALUE)


def require(device: int) -> None:
    """CudaError for any other device than the first."""
    if device:
        raise CudaError(INVALID_DEVICE)


def get(process: HostProcess, ordinal: int) -> int:
    require(ordinal)
    return 0


def count(process: HostProcess) -> int:
    return 1


def device_name(process: HostProcess) -> bytes:
    """What programs print."""
    return f"gpudbg emulated {process.machine.device.arch}".encode() + b"\0"


def name(process: HostProcess, length: int, device: int) -> bytes:
    require(device)
    return device_name(process)[: max(length - 1, 0)] + b"\0"


def uuid(process: HostProcess, device: int) -> bytes:
    require(device)
    return UUID


def memory(process: HostProcess, device: int) -> int:
    require(device)
    return TOTAL_BYTES


def attribute(process: HostProcess, number: int, device: int) -> int:
    require(device)
    found = _attributes(process).get(number)
    if found is None:
        raise CudaError(INVALID_VALUE)
    return found


def _attributes(process: HostProcess) -> dict[int, int]:
    device = process.machine.device
    return attributes(device.arch, device.gpu.num_sms)


def linear_width(process: HostProcess, device: int) -> int:
    """Texels of a texture on linear memory."""
    return attribute(process, LINEAR_WIDTH, device)


def capability(process: HostProcess, device: int) -> tuple[int, int]:
    require(device)
    return process.machine.major, process.machine.minor


def properties(process: HostProcess, device: int) -> bytes:
    require(device)
    made = bytearray(PROPERTIES_BYTES)
    text = device_name(process)
    made[_NAME : _NAME + len(text)] = text
    made[_UUID_AT : _UUID_AT + 16] = UUID
    struct.pack_into("<Q", made, _MEMORY, TOTAL_BYTES)
    values = _attributes(process)
    for number, _, place in _rows():
        if place != "-":
            at, _, size = place.partition(":")
            struct.pack_into("<q" if size == "8" else "<i", made, int(at), values[number])
    return bytes(made)


def properties_13(process: HostProcess, device: int) -> bytes:
    """The structure as CUDA 13 has it, without what it has dropped."""
    older = properties(process, device)
    made = bytearray(PROPERTIES_13_BYTES)
    for begin, to, size in _KEPT:
        made[to : to + size] = older[begin : begin + size]
    return bytes(made)


def bus(process: HostProcess, length: int, device: int) -> bytes:
    require(device)
    if length < len(BUS):
        raise CudaError(INVALID_VALUE)
    return BUS


def by_bus(process: HostProcess, text: str) -> int:
    if text.lower() not in (BUS[:-1].decode(), "01:00.0", "0000:01:00"):
        raise CudaError(INVALID_DEVICE)
    return 0


def peer(process: HostProcess, device: int, other: int) -> int:
    require(device)
    require(other)
    return 0


def peer_attribute(process: HostProcess, number: int, device: int, other: int) -> int:
    raise CudaError(INVALID_DEVICE)


def no_peer(process: HostProcess, context: int, *flags: int) -> None:
    raise CudaError(PEER_UNSUPPORTED)


def no_peer_device(process: HostProcess, device: int, *flags: int) -> None:
    raise CudaError(INVALID_DEVICE)


def affinity(process: HostProcess, kind: int, device: int) -> int:
    return 0
