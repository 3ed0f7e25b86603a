"""Texture sampling: coordinates to texels, address modes, point and linear filters.

Filtering follows the CUDA C Programming Guide, appendix on texture fetching: point takes
T[floor(x)], linear takes x - 0.5, whose fraction has 8 bits.  Where hardware rounds that fraction
and the weighted sum is not public; here the fraction is rounded to nearest and the sum is made in
f64 and rounded once (*modelled*).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.errors import ModelGap
from gpudbg.mem.device import DeviceMemory
from gpudbg.mem.surface import SurfaceLayout
from gpudbg.regs.texheader import Sampler, TextureHeader
from gpudbg.sm.images import texels
from gpudbg.sm.images.pools import Image

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
TexelListener = Callable[[npt.NDArray[np.uint64], int, int], None]
"""Called before a read, with the texels' addresses, the lane mask and the bytes of each."""

WRAP, MIRROR, EDGE, BORDER, CLAMP_OGL, ONCE_EDGE, ONCE_BORDER, ONCE_OGL = range(8)
POINT, LINEAR = 1, 2
FRACTION_STEPS = 256
"""Steps of a linear filter's weight (*documented*: 8 bits of fraction)."""
FAR = float(1 << 40)
"""Coordinates beyond are cut, so that they fit int64; no texture is that large."""


@dataclass(frozen=True, slots=True)
class TexelPosition:
    """One texel per lane.

    Attributes:
        x, y, z, layer: texel coordinates, inside the level.
        border: lanes that take the border colour instead.
    """

    x: I64
    y: I64
    z: I64
    layer: I64
    border: Bools


def address(index: I64, size: int, mode: int) -> tuple[I64, Bools]:
    """(texel inside, takes the border) of texel indices along one axis."""
    outside = np.zeros(index.shape, np.bool_)
    if mode >= ONCE_EDGE:
        index = np.where(index < 0, -1 - index, index)
        mode = {ONCE_EDGE: EDGE, ONCE_BORDER: BORDER, ONCE_OGL: CLAMP_OGL}[mode]
    if mode == WRAP:
        return index % size, outside
    if mode == MIRROR:
        folded = index % (2 * size)
        return np.where(folded < size, folded, 2 * size - 1 - folded), outside
    if mode in (BORDER, CLAMP_OGL):
        outside = (index < 0) | (index >= size)
    return np.clip(index, 0, size - 1), outside


def scaled(value: F64, size: int, mode: int, normalized: bool) -> F64:
    """A coordinate in texels; NaN becomes 0 (*modelled*)."""
    number = np.nan_to_num(value, nan=0.0, posinf=FAR, neginf=-FAR)
    if normalized:
        number = number * size
    if mode in (CLAMP_OGL, ONCE_OGL):
        number = np.clip(number, 0.0 if mode == CLAMP_OGL else -float(size), float(size))
    return np.clip(number, -FAR, FAR)


def neighbours(number: F64, linear: bool) -> list[tuple[I64, F64]]:
    """(texel index, weight) along one axis."""
    if not linear:
        return [(np.floor(number).astype(np.int64), np.ones(number.shape))]
    shifted = number - 0.5
    low = np.floor(shifted)
    weight = np.rint((shifted - low) * FRACTION_STEPS) / FRACTION_STEPS
    first = low.astype(np.int64)
    return [(first, 1.0 - weight), (first + 1, weight)]


def read(
    memory: DeviceMemory,
    image: Image,
    level: int,
    spot: TexelPosition,
    lanes: Bools,
    listener: TexelListener | None,
) -> list[Any]:
    """X Y Z W of one texel per lane as 32-bit patterns; 0 in lanes that do not execute.

    Args:
        listener: is called before bytes are read: addresses, mask of lanes, bytes of each.

    Raises:
        MemoryFault: a texel lies outside device memory.
        ModelGap: a format without conversion.
    """
    header = image.header
    assert header is not None
    if not header.format.modelled:
        raise ModelGap(f"texel format {header.format.name} of {image.name} is not modelled")
    words = _words(memory, header, image.levels[level], spot, lanes & ~spot.border, listener)
    found = texels.unpack(header, words)
    if header.srgb:
        for c in "RGB":
            if c in found:
                found[c] = texels.bits_of(_linear_light(texels.floats_of(found[c])))
    values = texels.swizzle(header, found, spot.x.shape)
    return [np.where(lanes, v, np.uint32(0)) for v in values]


def _linear_light(value: F64) -> F64:
    """sRGB to linear (IEC 61966-2-1)."""
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _words(
    memory: DeviceMemory,
    header: TextureHeader,
    layout: SurfaceLayout,
    spot: TexelPosition,
    lanes: Bools,
    listener: TexelListener | None,
) -> list[Any]:
    """The texels' bytes as 32-bit words."""
    size = layout.texel
    step = size if size in (1, 2, 4) else 4
    words = []
    for n in range(0, size, step):
        offset = layout.offset(spot.x * size + n, spot.y, spot.z, spot.layer)
        where = np.asarray(offset, np.int64).astype(np.uint64) + np.uint64(header.address)
        words.append(_gather(memory, where, step, lanes, listener))
    return words


def _gather(
    memory: DeviceMemory, where: Any, size: int, lanes: Bools, listener: TexelListener | None
) -> Any:
    """`size` bytes at each lane's address, zero-extended to 32 bits."""
    out = np.zeros(where.shape, np.uint32)
    if not lanes.any():
        return out
    mask = sum(1 << int(n) for n in np.flatnonzero(lanes))
    if listener is not None:
        listener(where, mask, size)
    return memory.gather(where, mask, size, False)[0]


def is_linear(header: TextureHeader, sampler: Sampler, level: float = 0.0) -> bool:
    """Whether the filter is linear; integer formats are never filtered."""
    chosen = sampler.mag_filter if level <= 0 else min(sampler.min_filter, LINEAR)
    return chosen == LINEAR and header.type_name not in texels.INTEGERS
