"""Tensor maps that a caller asks for: what `cuTensorMapEncodeTiled` and `…Im2col` are in CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpudbg import validation as given
from gpudbg.errors import UsageError
from gpudbg.formats import tensor_map as form
from gpudbg.formats.initdata import dtype_name

WORDS = {"int8": "u8", "i8": "u8", "int16": "u16", "i16": "u16", "bool": "u8"}
"""Element types that a tensor map has no number of its own for."""


class DeviceTensorMap(bytes):
    """The 128 bytes of a tensor map: an argument for a `const __grid_constant__ CUtensorMap`
    parameter, or the contents of a buffer that a kernel takes a pointer to.

    >>> rows = program.device.buffer(np.zeros((64, 32), np.float32))
    >>> program.device.tensor_map(rows, box=(16, 32), swizzle=128)
    <tensor map: f32[64, 32], box [16, 32], swizzle 128B>
    """

    @property
    def parts(self) -> form.TensorMap:
        """Its fields, dimensions innermost first."""
        return form.decode(self)

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        parts = self.parts
        name = form.TYPES[parts.type]
        words = f"{name}{list(reversed(parts.sizes))}, box {list(reversed(parts.box))}"
        if parts.swizzle:
            words += f", swizzle {form.SWIZZLES[parts.swizzle]}"
        return f"<tensor map: {words}>"


def make_tensor_map(
    address: int,
    box: Sequence[int] | None,
    *,
    shape: Sequence[int],
    strides: Sequence[int] | None,
    dtype: Any,
    steps: Sequence[int] | None,
    swizzle: Any,
    interleave: Any,
    fill: str,
    im2col: dict[str, Any] | None,
) -> DeviceTensorMap:
    """`EmulatedDevice.tensor_map`, which says what the arguments are."""
    kind, sizes = _type(dtype), _sizes(shape)
    rank = len(sizes)
    element = form.TYPE_BYTES[kind]
    spans = _spans(sizes, strides, element)
    column = None if im2col is None else _im2col(im2col, rank)
    if box is None and column is None:
        raise UsageError("box is missing", "elements along each axis that a copy spans")
    extent = (1,) * rank if box is None else _numbers(box, "box", rank)
    made = form.TensorMap(
        address=address,
        type=kind,
        sizes=sizes[::-1],
        strides=spans[::-1],
        box=extent[::-1],
        steps=(_numbers(steps, "element_strides", rank) if steps is not None else (1,) * rank)[
            ::-1
        ],
        swizzle=_mode(swizzle, "swizzle", form.SWIZZLES),
        interleave=_mode(interleave, "interleave", form.INTERLEAVES),
        fill=form.FILLS.index(given.one_of(fill, "fill", form.FILLS)),
        im2col=column,
    )
    trouble = made.trouble()
    if trouble:
        raise UsageError(f"tensor map: {trouble}")
    return DeviceTensorMap(form.encode(made))


def _type(dtype: Any) -> int:
    """The number of an element type."""
    name = dtype if isinstance(dtype, str) else dtype_name(np.dtype(dtype)) or str(np.dtype(dtype))
    return form.TYPES.index(given.one_of(WORDS.get(name, name), "dtype", form.TYPES))


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    if not 1 <= len(shape) <= form.MOST_RANK:
        raise UsageError(f"a tensor map has 1 to {form.MOST_RANK} axes, not {len(shape)}")
    return _numbers(shape, "shape", len(shape))


def _numbers(values: Sequence[int], name: str, count: int) -> tuple[int, ...]:
    if isinstance(values, int | np.integer):
        values = [int(values)]
    found = tuple(given.whole(value, name, 1) for value in values)
    if len(found) != count:
        raise UsageError(f"{name} has {len(found)} numbers; the tensor has {count} axes")
    return found


def _spans(sizes: tuple[int, ...], strides: Sequence[int] | None, element: int) -> tuple[int, ...]:
    """Bytes from an element to the next along every axis but the last."""
    if strides is None:
        out, size = [], element
        for count in sizes[:0:-1]:
            size *= count
            out.append(size)
        return tuple(reversed(out))
    found = tuple(given.whole(value, "strides", 1) for value in strides)
    if len(found) == len(sizes):
        if found[-1] != element:
            text = f"strides: elements of the last axis lie {found[-1]} bytes apart"
            raise UsageError(text, f"a tensor map has them side by side, {element} bytes apart")
        found = found[:-1]
    if len(found) != len(sizes) - 1:
        raise UsageError(f"strides has {len(found)} numbers; the tensor has {len(sizes)} axes")
    return found


def _mode(value: Any, name: str, known: tuple[str, ...]) -> int:
    """A swizzle or interleave: 0 or None, bytes, or a word of the list."""
    if value in (None, 0, "", "none"):
        return 0
    word = f"{value}B" if isinstance(value, int) else value
    return known.index(given.one_of(word, name, known))


def _im2col(options: dict[str, Any], rank: int) -> form.Im2col:
    if rank < 3:
        raise UsageError("im2col needs a tensor of 3 axes or more: (N, [D, [H,]] W, C)")
    unknown = set(options) - {"lower", "upper", "channels", "pixels"}
    if unknown or not {"channels", "pixels"} <= set(options):
        raise UsageError("im2col takes lower, upper, channels and pixels")

    def corner(name: str) -> tuple[int, ...]:
        values = options.get(name, (0,) * (rank - 2))
        found = tuple(given.whole(v, f"im2col {name}", -(1 << 15), (1 << 15) - 1) for v in values)
        if len(found) != rank - 2:
            raise UsageError(f"im2col {name} has {len(found)} numbers, wanted {rank - 2}")
        return found[::-1]

    channels = given.whole(options["channels"], "im2col channels", 1, 256)
    pixels = given.whole(options["pixels"], "im2col pixels", 1, 1024)
    return form.Im2col(corner("lower"), corner("upper"), channels, pixels)
