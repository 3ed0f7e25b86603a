"""The address calculator: an access explained from coordinates to bytes, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpudbg.mem.surface import (
    GOB_BYTES,
    GOB_ROWS,
    GOB_WIDTH,
    VIEWS,
    SurfaceLayout,
    SurfacePlace,
    View,
    layout_of,
)
from gpudbg.mem.surface_bounds import AXIS_NAMES, DIMS, Landing, coordinates, land
from gpudbg.regs.texheader import TextureHeader

SIZES = {
    "U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "U32": 4, "S32": 4, "F32": 4, "F16X2": 4,
    "SD32": 4, "64": 8, "U64": 8, "S64": 8, "SD64": 8, "128": 16,
}  # fmt: skip
"""Access size by any of its names -> bytes."""

DIM_OF_TYPE = {
    "ONE_D": "1D", "ONE_D_BUFFER": "1D_BUFFER", "ONE_D_ARRAY": "1D_ARRAY", "TWO_D": "2D",
    "TWO_D_NO_MIPMAP": "2D", "TWO_D_ARRAY": "2D_ARRAY", "CUBEMAP": "2D_ARRAY",
    "CUBEMAP_ARRAY": "2D_ARRAY", "THREE_D": "3D",
}  # fmt: skip
"""Texture type -> the dimension of an instruction made for it."""

_VIEW_KEYS: dict[View, str] = {"vm": "vm", "raw16bx2": "raw16bx2"}


def layout_data(layout: SurfaceLayout) -> dict[str, int]:
    """Sizes of a block-linear layout by the cases' names; {} for the others."""
    if layout.kind != "BLOCKLINEAR":
        return {}
    x, y, z = layout.blocks
    return {
        "blocks_x": x,
        "blocks_y": y,
        "blocks_z": z,
        "block_bytes": layout.block_bytes,
        "bytes_per_layer": layout.layer_bytes,
    }


def explain_access(
    header: TextureHeader, dim: str, registers: Sequence[int], size: int, ba: bool, clamp: str
) -> dict[str, Any]:
    """What one lane's access does: bounds, clamp, address in both views.

    Args:
        dim: the instruction's dimension.
        registers: values of Ra, Ra+1, Ra+2.
        size: bytes of the access.
        ba: x counts bytes.
        clamp: IGN, NEAR or TRAP.
    """
    layout = layout_of(header)
    rows = [np.array([value & 0xFFFF_FFFF], np.uint32) for value in registers]
    landing = land(layout, header.axes, coordinates(dim, clamp, rows), size, 1 if ba else size)
    coords = {AXIS_NAMES[a]: int(landing.coords[a][0]) for a in landing.coords}
    outside = [AXIS_NAMES[a] for a in landing.low if landing.low[a][0] or landing.high[a][0]]
    data: dict[str, Any] = {
        "coords": {"x": 0, "y": 0, "z": 0, "layer": 0} | coords,
        "x_bytes": int(landing.x_bytes[0]),
        "out_of_bounds": outside,
    }
    if outside and (clamp != "NEAR" or not landing.possible):
        return data | {"outcome": "trap" if clamp == "TRAP" else "dropped_or_zero"}
    moved = {AXIS_NAMES[a]: int(v[0]) for a, v in landing.clamped.items()}
    moved = {"x_bytes": moved.pop("x"), **moved}
    if outside:
        data["clamped_to"] = moved
    if landing.misaligned[0]:
        return data | {"outcome": "misaligned"}
    offsets = _offsets(layout, landing)
    data["outcome"] = "access"
    for view, key in _VIEW_KEYS.items():
        data[f"address_{key}"] = f"0x{header.address + offsets[view]:x}"
        data[f"offset_{key}"] = offsets[view]
    found = layout.place(offsets["vm"])
    if found is not None:
        data["steps"] = steps(layout, found)
    return data


def _offsets(layout: SurfaceLayout, landing: Landing) -> dict[View, int]:
    at = landing.clamped
    return {view: int(layout.offset(at["x"], at["y"], at["z"], at["l"], view)[0]) for view in VIEWS}


def steps(layout: SurfaceLayout, place: SurfacePlace) -> list[str]:
    """How a place's offset comes about, one line per step."""
    lines = []
    if layout.layers > 1:
        lines.append(f"layer {place.layer} x {layout.layer_bytes} bytes")
    if layout.kind == "PITCH":
        return [*lines, f"row {place.y} x pitch {layout.pitch} + byte {place.x_bytes}"]
    if place.block is None:
        return [*lines, f"byte {place.x_bytes} of the row"]
    index, (bx, by, bz) = place.block
    x, y = place.gob_xy
    rows = GOB_ROWS << layout.height_log2
    return [
        *lines,
        f"block ({bx}, {by}, {bz}) = number {index}: x byte {place.x_bytes} / {GOB_WIDTH}, "
        f"y {place.y} / {rows}, z {place.z} / {1 << layout.depth_log2}; "
        f"{index} x {layout.block_bytes} = {index * layout.block_bytes}",
        f"GOB {place.gob} of the block: + {place.gob * GOB_BYTES}",
        f"byte column {x}, row {y} of the GOB: + {layout_inner(x, y, 'vm')} (vm) or "
        f"+ {layout_inner(x, y, 'raw16bx2')} (raw 16Bx2)",
    ]


def layout_inner(x: int, y: int, view: View) -> int:
    """Offset in a GOB."""
    from gpudbg.mem.surface import GOB_VIEWS

    return int(GOB_VIEWS[view][0](x, y))


def explain_offset(header: TextureHeader, offset: int, view: View) -> dict[str, Any]:
    """What lies at a byte offset of a surface: coordinates, or padding."""
    layout = layout_of(header)
    place = layout.place(offset, view)
    data: dict[str, Any] = {"offset": offset, "address": f"0x{header.address + offset:x}"}
    data["view"] = view
    if place is None:
        return data | {"outcome": "outside", "nbytes": layout.nbytes}
    data["outcome"] = "texel" if place.inside else "padding"
    data["coords"] = {
        "x": place.x_bytes // layout.texel,
        "y": place.y,
        "z": place.z,
        "layer": place.layer,
    }
    data["x_bytes"] = place.x_bytes
    data["byte_of_texel"] = place.x_bytes % layout.texel
    if place.block is not None:
        index, block = place.block
        data |= {"block": index, "block_xyz": list(block), "gob": place.gob}
        data |= {"gob_xy": list(place.gob_xy)}
    return data | {"steps": steps(layout, place)}


def usual_dim(header: TextureHeader) -> str:
    """The dimension an instruction for this header has."""
    return DIM_OF_TYPE.get(header.texture_type, "2D")


__all__ = ["DIMS", "SIZES", "explain_access", "explain_offset", "layout_data", "usual_dim"]
