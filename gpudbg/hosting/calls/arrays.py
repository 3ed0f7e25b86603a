"""CUDA arrays and copies of boxes of rows."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.hosting.cuda_errors import INVALID_VALUE, NOT_SUPPORTED, CudaError
from gpudbg.hosting.process import HostProcess

SIDE = struct.Struct("<4QI4x6Q")
"""x, y, z, level, kind, host, device, array, reserved, pitch, height."""
EXTENT = struct.Struct("<3Q")
HOST, DEVICE, ARRAY = 1, 2, 3


@dataclass(frozen=True, slots=True)
class BoxSide:
    """One side of a copy of rows in device memory.

    Attributes:
        address: of the first byte.
        pitch, height: bytes of a row, rows of a slice.
    """

    address: int
    pitch: int
    height: int

    def row(self, y: int, z: int) -> int:
        """Address of a row."""
        return self.address + y * self.pitch + z * self.pitch * self.height


def _side(process: HostProcess, box: memoryview, at: int) -> BoxSide:
    x, y, z, _level, kind, _host, device, _array, _, pitch, height = SIDE.unpack_from(box, at)
    if kind == ARRAY:
        raise CudaError(NOT_SUPPORTED)
    if kind != DEVICE:
        raise CudaError(INVALID_VALUE)
    return BoxSide(device + x + y * pitch + z * pitch * height, pitch, height)


def _rows(box: memoryview) -> tuple[int, Iterator[tuple[int, int]]]:
    width, height, depth = EXTENT.unpack_from(box, 2 * SIDE.size)
    return width, ((y, z) for z in range(depth) for y in range(height))


def box_in(process: HostProcess, box: memoryview, data: memoryview) -> None:
    """Dense bytes of the host become rows."""
    process.check()
    side, (width, rows) = _side(process, box, SIDE.size), _rows(box)
    content = np.frombuffer(data, np.uint8)
    for n, (y, z) in enumerate(rows):
        found, at = process.machine.span(side.row(y, z), width)
        found.writable()[at : at + width] = content[n * width : n * width + width]
        process.machine.mark(found, at, width)


def box_out(process: HostProcess, box: memoryview, size: int) -> bytes:
    """Rows as dense bytes."""
    process.check()
    side, (width, rows) = _side(process, box, 0), _rows(box)
    parts = []
    for y, z in rows:
        found, at = process.machine.span(side.row(y, z), width)
        parts.append(found.data[at : at + width].tobytes())
    return b"".join(parts)


def box(process: HostProcess, given: memoryview) -> None:
    """Rows of the device to rows of the device."""
    box_in_view = box_out(process, given, 0)
    box_in(process, given, memoryview(box_in_view))


def element(process: HostProcess, array: int) -> int:
    raise CudaError(NOT_SUPPORTED)
