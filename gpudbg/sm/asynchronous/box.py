"""A box of a tensor: its elements in global memory, and their places in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.formats.tensor_map import TYPES, TensorMap

Places = npt.NDArray[np.int64]
Inside = npt.NDArray[np.bool_]

_FILLS = {
    "f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f32.ftz": 0x7FFFFFFF, "tf32": 0x7FFFFFFF,
    "tf32.ftz": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF,
}  # fmt: skip
"""NaNs that fill elements outside a tensor (*modelled*: which NaN is not public)."""


@dataclass(frozen=True, slots=True)
class Box:
    """The elements of a copy in the order in which they lie in shared memory before the swizzle.

    Attributes:
        offsets: bytes from the tensor's first element; meaningless for elements outside it.
        inside: which of them are in the tensor.
    """

    offsets: Places
    inside: Inside


def tile(given: TensorMap, corner: Sequence[int]) -> Box:
    """The elements of a box whose first element is at `corner` (coordinates, innermost first)."""
    steps = given.steps if given.interleave else (1, *given.steps[1:])
    axes = [
        start + step * np.arange(count, dtype=np.int64)
        for start, step, count in zip(corner, steps, given.counts, strict=True)
    ]
    return _of_axes(given, axes)


class Whole(NamedTuple):
    """A box inside its tensor, as strided bytes of global memory.

    Attributes:
        first: bytes from the tensor's first element to the box's.
        shape, strides: in bytes, outermost dimension first.
        size: bytes from its first one to behind its last one.
    """

    first: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int


def whole(given: TensorMap, corner: Sequence[int]) -> Whole | None:
    """The box of `tile` where all of it is inside the tensor; None: some is not, or elements do not
    follow one another, or are not delivered as they are."""
    name = TYPES[given.type]
    if given.interleave or name.startswith("tf32") or name.endswith("ftz"):
        return None
    counts, steps = given.counts, (1, *given.steps[1:])
    for start, step, count, size in zip(corner, steps, counts, given.sizes, strict=True):
        if start < 0 or start + step * (count - 1) >= size:
            return None
    apart = [_stride(given, n) for n in range(given.rank)]
    first = sum(start * stride for start, stride in zip(corner, apart, strict=True))
    row = counts[0] * given.element_bytes
    shape = (*counts[:0:-1], row)
    strides = (*(steps[n] * apart[n] for n in range(given.rank - 1, 0, -1)), 1)
    last = sum((count - 1) * stride for count, stride in zip(shape, strides, strict=True))
    return Whole(first, shape, strides, last + 1)


def rows(given: TensorMap, column: int, chosen: Sequence[int]) -> Box:
    """The elements of a gather: parts of the chosen rows of a matrix, each as wide as the map's
    box.
    """
    across = column + np.arange(given.counts[0], dtype=np.int64)
    return _of_axes(given, [across, np.array(chosen, np.int64)])


def _of_axes(given: TensorMap, axes: Sequence[Places]) -> Box:
    """The elements at all combinations of the axes' coordinates, dimension 0 fastest."""
    rank = given.rank
    offsets = np.zeros((1,) * rank, np.int64)
    inside = np.ones((1,) * rank, bool)
    for n, axis in enumerate(axes):
        shape = tuple(-1 if rank - 1 - n == m else 1 for m in range(rank))
        offsets = offsets + (axis * _stride(given, n)).reshape(shape)
        inside = inside & ((axis >= 0) & (axis < given.sizes[n])).reshape(shape)
    return Box(offsets.reshape(-1), inside.reshape(-1))


def _stride(given: TensorMap, dimension: int) -> int:
    return given.element_bytes if dimension == 0 else given.strides[dimension - 1]


def columns(given: TensorMap, corner: Sequence[int], shift: Sequence[int]) -> Box:
    """The elements of an im2col copy: some channels of consecutive pixels.

    Args:
        corner: coordinates (c, w[, h[, d]], n) of the first pixel's filter base.
        shift: offsets in the filter of w, h, d.
    """
    column = given.im2col
    assert column is not None
    first = list(corner[1:-1])
    low = list(column.lower)
    high = [size - 1 + upper for size, upper in zip(given.sizes[1:-1], column.upper, strict=True)]
    steps = given.steps[1:-1]
    channels = corner[0] + np.arange(column.channels, dtype=np.int64)
    offsets, inside = [], []
    at, number = first[:], corner[-1]
    for _ in range(column.pixels):
        place = [a + b for a, b in zip(at, shift, strict=True)]
        good = all(0 <= p < size for p, size in zip(place, given.sizes[1:-1], strict=True))
        good = good and 0 <= number < given.sizes[-1]
        base = sum(p * given.strides[n] for n, p in enumerate(place))
        base += number * given.strides[-1]
        offsets.append(base + channels * given.element_bytes)
        inside.append((channels >= 0) & (channels < given.sizes[0]) & good)
        number += _advance(at, low, high, steps)
    return Box(np.concatenate(offsets), np.concatenate(inside))


def _advance(at: list[int], low: list[int], high: list[int], steps: Sequence[int]) -> int:
    """Go to the next pixel of the bounding box; 1 where the next image begins."""
    for n in range(len(at)):
        at[n] += steps[n]
        if at[n] <= high[n]:
            return 0
        at[n] = low[n]
    return 1


def fill(given: TensorMap) -> bytes:
    """The bytes of an element that lies outside the tensor, by the map's fill mode."""
    value = _FILLS.get(TYPES[given.type], 0) if given.fill else 0
    return value.to_bytes(given.element_bytes, "little")


def swizzled(addresses: Places, mode: int) -> Places:
    """Swizzled shared-memory addresses; `mode` is 0 none, 1 32 bytes, 2 64 bytes, 3 128 bytes."""
    if not mode:
        return addresses
    mask = (1 << mode) - 1
    return addresses ^ ((addresses >> 7 & mask) << 4)


def delivered(elements: npt.NDArray[np.uint8], given: TensorMap) -> npt.NDArray[np.uint8]:
    """Convert loaded elements by their type: tf32 loses its low bits, .ftz flushes subnormals."""
    name = TYPES[given.type]
    if not name.startswith("tf32") and not name.endswith("ftz"):
        return elements
    words = elements.reshape(-1).view(np.uint32).copy()
    if name.startswith("tf32"):
        words &= np.uint32(0xFFFF_E000)
    if name.endswith("ftz"):
        words[words & np.uint32(0x7F80_0000) == 0] &= np.uint32(0x8000_0000)
    return words.view(np.uint8).reshape(elements.shape)
