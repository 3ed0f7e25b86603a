"""Tensor maps: the driver's encoder, by our own layout of the 128 bytes."""

from __future__ import annotations

import struct
from dataclasses import replace

from gpudbg.formats.tensor_map import SWIZZLES, TYPES, Im2col, TensorMap, decode, encode
from gpudbg.hosting.cuda_errors import INVALID_VALUE, NOT_SUPPORTED, CudaError
from gpudbg.hosting.process import HostProcess

DRIVER_TYPES = (
    "u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32",
    "tf32.ftz",
)  # fmt: skip
"""CUtensorMapDataType; those that follow are packed elements of 4 and 6 bits."""
FIRST_MAPS = 9
"""Major number of the first devices that read them."""


def _numbers(data: memoryview, kind: str) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def _map(
    process: HostProcess,
    kind: int,
    address: int,
    sizes: memoryview,
    strides: memoryview,
    box: tuple[int, ...],
    steps: memoryview,
    interleave: int,
    swizzle: int,
    fill: int,
    column: Im2col | None = None,
) -> bytes:
    """Raises:
    CudaError: what a map cannot say, or a form that is not there.
    """
    if process.machine.major < FIRST_MAPS:
        arch = process.machine.device.arch
        raise CudaError(NOT_SUPPORTED, f"tensor maps need --arch sm_90 or later, not {arch}")
    if not 0 <= kind < len(DRIVER_TYPES):
        raise CudaError(NOT_SUPPORTED, f"tensor maps of element type {kind} are not supported")
    if not 0 <= swizzle < len(SWIZZLES):
        raise CudaError(NOT_SUPPORTED, f"tensor maps of swizzle {swizzle} are not supported")
    if interleave not in (0, 1, 2) or fill not in (0, 1):
        raise CudaError(INVALID_VALUE)
    made = TensorMap(
        address=address,
        type=TYPES.index(DRIVER_TYPES[kind]),
        sizes=_numbers(sizes, "Q"),
        strides=_numbers(strides, "Q"),
        box=box,
        steps=_numbers(steps, "I"),
        swizzle=swizzle,
        interleave=interleave,
        fill=fill,
        im2col=column,
    )
    if trouble := made.trouble():
        raise CudaError(INVALID_VALUE, f"tensor map: {trouble}")
    return encode(made)


def tiled(
    process: HostProcess,
    kind: int,
    rank: int,
    address: int,
    sizes: memoryview,
    strides: memoryview,
    box: memoryview,
    steps: memoryview,
    interleave: int,
    swizzle: int,
    fill: int,
) -> bytes:
    """`cuTensorMapEncodeTiled`."""
    extent = _numbers(box, "I")
    return _map(
        process, kind, address, sizes, strides, extent, steps, interleave, swizzle, fill
    )  # fmt: skip


def columns(
    process: HostProcess,
    kind: int,
    rank: int,
    address: int,
    sizes: memoryview,
    strides: memoryview,
    lower: memoryview,
    upper: memoryview,
    channels: int,
    pixels: int,
    steps: memoryview,
    interleave: int,
    swizzle: int,
    fill: int,
) -> bytes:
    """`cuTensorMapEncodeIm2col`."""
    if rank < 3:
        raise CudaError(INVALID_VALUE, "tensor map: im2col needs 3 dimensions or more")
    column = Im2col(_numbers(lower, "i"), _numbers(upper, "i"), channels, pixels)
    flat = (1,) * rank
    return _map(
        process, kind, address, sizes, strides, flat, steps, interleave, swizzle, fill, column
    )  # fmt: skip


def moved(process: HostProcess, data: memoryview, address: int) -> bytes:
    """`cuTensorMapReplaceAddress`: the map with another address."""
    made = replace(decode(bytes(data)), address=address)
    if trouble := made.trouble():
        raise CudaError(INVALID_VALUE, f"tensor map: {trouble}")
    return encode(made)
