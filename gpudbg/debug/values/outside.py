"""Surface accesses outside their surface: by instruction, and at which edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass
from gpudbg.debug.values.images import unit_of
from gpudbg.sm.images.access import OutsideLane, SurfaceAccess

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.device.images import DeviceImage

SIDES = {("x", "low"): "left", ("x", "high"): "right", ("y", "low"): "top", ("y", "high"): "bottom"}


@dataclass(frozen=True, slots=True)
class OutsideRow:
    """The lanes of one instruction that were outside so far, and the last access of them."""

    pc: int
    where: str
    clamp: str
    lanes: int
    last: tuple[OutsideLane, ...]
    warp: str


def outside_of(
    inferior: Inferior, image: DeviceImage
) -> tuple[tuple[OutsideRow, ...], dict[str, frozenset[int]]]:
    """Instructions that left an image; the rows and columns where, of the last accesses."""
    unit = unit_of(inferior)
    edges: dict[str, set[int]] = {side: set() for side in SIDES.values()}
    last: dict[tuple[int, str], SurfaceAccess] = {}
    for access in unit.log if unit is not None else ():
        if not isinstance(access, SurfaceAccess) or access.image.index != image.index:
            continue
        last[access.pc, access.clamp] = access
        _mark(access, edges)
    rows = tuple(
        OutsideRow(
            pc,
            inferior.symbols.describe_line(pc),
            clamp,
            unit.outside.get((pc, clamp), 0) if unit is not None else 0,
            access.lanes_outside(),
            f"block {access.block} warp {access.warp}",
        )
        for (pc, clamp), access in sorted(last.items())
    )
    return rows, {side: frozenset(found) for side, found in edges.items()}


def _mark(access: SurfaceAccess, edges: dict[str, set[int]]) -> None:
    """Enter the rows and columns of the lanes outside."""
    landing = access.landing
    rows = landing.coords.get("y")
    texel = access.image.levels[0].texel
    for n in range(32):
        if not access.outside >> n & 1:
            continue
        for (axis, bound), side in SIDES.items():
            hit = (landing.low if bound == "low" else landing.high).get(axis)
            if hit is None or not hit[n]:
                continue
            if axis == "x":
                edges[side].add(int(rows[n]) if rows is not None else 0)
            else:
                edges[side].add(int(landing.x_bytes[n]) // texel)
