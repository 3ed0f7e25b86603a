"""CUDA arrays, and copies of boxes of rows between them, linear memory and the host."""

from __future__ import annotations

import struct

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.hosting.cuda_errors import INVALID_HANDLE, INVALID_VALUE, CudaError
from gpudbg.hosting.images import FORMATS, NUMBERS, Box, ChannelFormat, CudaArray, make_array
from gpudbg.hosting.process import HostProcess

SIDE = struct.Struct("<4QI4x6Q")
"""x, y, z, level, kind, host, device, array, reserved, pitch, height."""
EXTENT = struct.Struct("<3Q")
HOST, DEVICE, ARRAY = 1, 2, 3
DESCRIPTOR = struct.Struct("<5i")
"""`cudaChannelFormatDesc`: bits of x, y, z and w, and the kind."""
PLAIN = struct.Struct("<QQII")
"""`CUDA_ARRAY_DESCRIPTOR`: width, height, format, channels."""
DEEP = struct.Struct("<QQQIII")
"""`CUDA_ARRAY3D_DESCRIPTOR`: the same with a depth, and flags."""
_KINDS = "iuf"
"""cudaChannelFormatKind: signed, unsigned, float."""


# ---- formats -----------------------------------------------------------------------------
def format_of_channels(desc: bytes | memoryview) -> ChannelFormat:
    """The format of a `cudaChannelFormatDesc`.

    Raises:
        CudaError: no array has it.
    """
    *bits, kind = DESCRIPTOR.unpack_from(desc)
    used = [n for n in bits if n]
    if not used or len(set(used)) > 1 or used[0] not in (8, 16, 32) or kind >= len(_KINDS):
        raise CudaError(INVALID_VALUE)
    name = f"{_KINDS[kind]}{used[0] // 8}"
    if name not in NUMBERS or len(used) == 3:
        raise CudaError(INVALID_VALUE)
    return ChannelFormat(name, len(used))


def channels_of_format(found: ChannelFormat) -> bytes:
    """The inverse."""
    bits = 8 * int(found.kind[1])
    filled = [bits] * found.channels + [0] * (4 - found.channels)
    return DESCRIPTOR.pack(*filled, _KINDS.index(found.kind[0]))


def format_of_number(number: int, channels: int) -> ChannelFormat:
    """The format of a CUarray_format.

    Raises:
        CudaError: no such format, or it is not modelled.
    """
    if number not in FORMATS or channels not in (1, 2, 4):
        raise CudaError(INVALID_VALUE)
    return ChannelFormat(FORMATS[number], channels)


# ---- arrays ------------------------------------------------------------------------------
def create_runtime(process: HostProcess, desc: memoryview, extent: memoryview, flags: int) -> int:
    process.check()
    return process.keep(make_array(process, format_of_channels(desc), EXTENT.unpack(extent), flags))


def create_flat(process: HostProcess, desc: memoryview, width: int, height: int, flags: int) -> int:
    process.check()
    return process.keep(make_array(process, format_of_channels(desc), (width, height, 0), flags))


def create_plain(process: HostProcess, desc: memoryview) -> int:
    process.check()
    width, height, number, channels = PLAIN.unpack_from(desc)
    return process.keep(
        make_array(process, format_of_number(number, channels), (width, height, 0), 0)
    )


def create(process: HostProcess, desc: memoryview) -> int:
    process.check()
    width, height, depth, number, channels, flags = DEEP.unpack_from(desc)
    found = format_of_number(number, channels)
    return process.keep(make_array(process, found, (width, height, depth), flags))


def _most_levels(extent: tuple[int, ...]) -> int:
    return max(extent).bit_length()


def create_levels_runtime(
    process: HostProcess, desc: memoryview, extent: memoryview, levels: int, flags: int
) -> int:
    process.check()
    sizes = EXTENT.unpack(extent)
    count = max(1, min(levels, _most_levels(sizes)))
    return process.keep(make_array(process, format_of_channels(desc), sizes, flags, count))


def create_levels(process: HostProcess, desc: memoryview, levels: int) -> int:
    process.check()
    width, height, depth, number, channels, flags = DEEP.unpack_from(desc)
    count = max(1, min(levels, _most_levels((width, height, depth))))
    found = format_of_number(number, channels)
    return process.keep(make_array(process, found, (width, height, depth), flags, count))


def level(process: HostProcess, handle: int, number: int) -> int:
    """One level as an array."""
    found = process.get(handle, CudaArray)
    if number >= found.levels:
        raise CudaError(INVALID_VALUE)
    return process.keep(found.of_level(number, handle))


def destroy(process: HostProcess, handle: int) -> None:
    process.check()
    if not handle:
        return
    found = process.get(handle, CudaArray)
    del process.objects[handle]
    if not found.parent:
        process.machine.free(process, found.address)


def destroy_driver(process: HostProcess, handle: int) -> None:
    if not handle:
        raise CudaError(INVALID_HANDLE)
    destroy(process, handle)


def info(process: HostProcess, handle: int) -> tuple[bytes, bytes, int]:
    found = process.get(handle, CudaArray)
    return channels_of_format(found.format), EXTENT.pack(*found.extent), found.flags


def descriptor(process: HostProcess, handle: int) -> bytes:
    found = process.get(handle, CudaArray)
    width, height, _ = found.extent
    return PLAIN.pack(width, height, NUMBERS[found.format.kind], found.format.channels)


def deep_descriptor(process: HostProcess, handle: int) -> bytes:
    found = process.get(handle, CudaArray)
    number = NUMBERS[found.format.kind]
    return DEEP.pack(*found.extent, number, found.format.channels, found.flags) + bytes(4)


def channels(process: HostProcess, handle: int) -> bytes:
    return channels_of_format(process.get(handle, CudaArray).format)


def element(process: HostProcess, handle: int) -> tuple[int, int]:
    """Bytes of a texel, and of a row."""
    found = process.get(handle, CudaArray)
    return found.format.texel, found.layout.row_bytes


# ---- copies ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class LinearSide:
    """One side of a copy of rows in device memory.

    Attributes:
        process: whose.
        address: of the first byte.
        pitch, height: bytes of a row, rows of a slice.
    """

    process: HostProcess
    address: int
    pitch: int
    height: int

    def _rows(self, depth: int, height: int) -> list[tuple[int, int, int]]:
        return [
            (z, y, self.address + (y + z * self.height) * self.pitch)
            for z in range(depth)
            for y in range(height)
        ]

    def get(self, depth: int, height: int, width: int) -> Box:
        """The bytes of a box."""
        out = np.empty((depth, height, width), np.uint8)
        for z, y, row in self._rows(depth, height):
            found, at = self.process.machine.span(row, width)
            out[z, y] = found.data[at : at + width]
        return out

    def put(self, content: Box) -> None:
        """Replace them."""
        depth, height, width = content.shape
        for z, y, row in self._rows(depth, height):
            found, at = self.process.machine.span(row, width)
            found.writable()[at : at + width] = content[z, y]
            self.process.machine.mark(found, at, width)


@dataclass(frozen=True, slots=True)
class ArraySide:
    """One side in an array.

    Attributes:
        array: which.
        place: x in bytes, y and z.
    """

    array: CudaArray
    place: tuple[int, int, int]

    def get(self, depth: int, height: int, width: int) -> Box:
        """The bytes of a box."""
        found: Box = self.array.allocation.data[
            self.array.places(*self.place, width, height, depth)
        ]
        return found

    def put(self, content: Box) -> None:
        """Replace them."""
        depth, height, width = content.shape
        places = self.array.places(*self.place, width, height, depth)
        memory = self.array.allocation
        memory.writable()[places] = content
        if memory.marks is not None:
            memory.marks[places] = 0xFF


def _side(process: HostProcess, box: memoryview, at: int) -> LinearSide | ArraySide:
    x, y, z, _level, kind, _host, device, array, _, pitch, height = SIDE.unpack_from(box, at)
    if kind == ARRAY:
        return ArraySide(process.get(array, CudaArray), (x, y, z))
    if kind != DEVICE:
        raise CudaError(INVALID_VALUE)
    return LinearSide(process, device + x + y * pitch + z * pitch * height, pitch, height)


def _shape(box: memoryview) -> tuple[int, int, int]:
    width, height, depth = EXTENT.unpack_from(box, 2 * SIDE.size)
    return depth, height, width


def box_in(process: HostProcess, box: memoryview, data: memoryview) -> None:
    """Dense bytes of the host become rows."""
    process.check()
    _side(process, box, SIDE.size).put(np.frombuffer(data, np.uint8).reshape(_shape(box)))


def box_out(process: HostProcess, box: memoryview, size: int) -> bytes:
    """Rows as dense bytes."""
    process.check()
    return _side(process, box, 0).get(*_shape(box)).tobytes()


def box(process: HostProcess, given: memoryview) -> None:
    """Rows of the device to rows of the device."""
    process.check()
    content = _side(process, given, 0).get(*_shape(given))
    _side(process, given, SIDE.size).put(content)
