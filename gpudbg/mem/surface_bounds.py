"""Where a surface access lands: bounds, clamp, address (the rule is *modelled*, see below).

Let n be the bytes of the access and W the bytes of a row.  x counts bytes (.BA), or accesses of n
bytes; it is inside when 0 <= x and x + n <= W, the other coordinates when they are below their
size.  IGN drops an access outside, NEAR moves each coordinate to its range and rounds x down to a
multiple of n, TRAP stops.  A misaligned x inside the surface is an error of its own.
Source of the clamps: PTX ISA .zero .clamp .trap; which rule hardware follows is not public.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.mem.surface import SurfaceLayout

I64 = npt.NDArray[np.int64]

CLAMPS = ("IGN", "NEAR", "TRAP")
DIMS: dict[str, str] = {
    "1D": "x", "1D_BUFFER": "x", "1D_ARRAY": "xl", "2D": "xy", "2D_ARRAY": "xyl", "3D": "xyz",
}  # fmt: skip
"""Dimension of an instruction -> its coordinates in the order of Ra, Ra+1, Ra+2."""

AXIS_NAMES = {"x": "x", "y": "y", "z": "z", "l": "layer"}


@dataclass(frozen=True, slots=True)
class Landing:
    """Where the lanes of one access land.

    Attributes:
        coords: the coordinates as the registers give them, by axis letter (x y z l).
        x_bytes: x in bytes, before the clamp.
        low, high: lanes below and above the range, by axis letter.
        outside: lanes outside in any coordinate.
        clamped: coordinates of the access (x in bytes) where it takes place.
        misaligned: lanes inside whose x is not a multiple of the size.
        possible: lanes for which an access exists: False where the row is narrower than it.
    """

    coords: dict[str, I64]
    x_bytes: I64
    low: dict[str, npt.NDArray[np.bool_]]
    high: dict[str, npt.NDArray[np.bool_]]
    outside: npt.NDArray[np.bool_]
    clamped: dict[str, I64]
    misaligned: npt.NDArray[np.bool_]
    possible: bool


def coordinates(dim: str, clamp: str, registers: list[npt.NDArray[np.uint32]]) -> dict[str, I64]:
    """Register values as numbers: S32, layers U16, and x of 1D_BUFFER U32 unless clamped NEAR."""
    found: dict[str, I64] = {}
    for axis, value in zip(DIMS[dim], registers, strict=True):
        wide = value.astype(np.int64)
        if axis == "l":
            found[axis] = wide & 0xFFFF
        elif dim == "1D_BUFFER" and clamp != "NEAR":
            found[axis] = wide
        else:
            found[axis] = value.view(np.int32).astype(np.int64)
    return found


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _nearest(
    given: dict[str, I64], used: list[str], last: dict[str, int], size: int, outside: Any
) -> dict[str, I64]:
    """The coordinates that NEAR moves to; those of lanes inside stay what they are."""
    moved = {a: np.minimum(np.maximum(given[a], 0), max(last[a], 0)) for a in used}
    moved["x"] = np.where(outside, moved["x"] - moved["x"] % size, moved["x"])
    return moved


def land(
    layout: SurfaceLayout,
    axes: str,
    coords: dict[str, I64],
    size: int,
    scale: int,
) -> Landing:
    """Apply the bounds rule.

    Args:
        axes: the coordinates the surface has; others are ignored.
        coords: by axis letter.
        size: bytes of the access.
        scale: bytes that x counts in: 1 with .BA, else the access or texel size.
    """
    x = coords["x"] * scale if scale != 1 else coords["x"]
    last = {"x": layout.row_bytes - size, "y": layout.height - 1, "z": layout.depth - 1,
            "l": layout.layers - 1}  # fmt: skip
    used = [axis for axis in coords if axis in axes]
    given = {**coords, "x": x}
    low = {axis: given[axis] < 0 for axis in used}
    high = {axis: given[axis] > last[axis] for axis in used}
    outside: Any = low["x"] | high["x"]
    for axis in used[1:]:
        outside = outside | low[axis] | high[axis]
    zero = np.zeros(x.shape, np.int64)
    misaligned: Any = (x & (size - 1)) != 0 if scale % size and _is_power(size) else None
    if outside.any():
        clamped = _nearest(given, used, last, size, outside)
    else:
        clamped = {axis: given[axis] for axis in used}
    if misaligned is None:
        misaligned = zero != 0 if not scale % size else x % size != 0
    misaligned = misaligned & ~outside
    for axis in "yzl":
        clamped.setdefault(axis, zero)
    return Landing(coords, x, low, high, outside, clamped, misaligned, last["x"] >= 0)
