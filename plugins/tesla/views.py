"""The hierarchy map and the address ruler: pure functions of a snapshot and a width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .hierarchy import Chip, Hierarchy
from .mangle import LOCAL_IN_BLOCK, LocalLayout, StackLayout
from .options import DEFAULT_CHIPSET, DEFAULT_MP_MASK, DEFAULT_TP_MASK
from .physid import PhysId

MIN_WIDTH = 20


@dataclass(frozen=True, slots=True)
class TeslaSnapshot:
    """What the two views draw.

    Args:
        chip: the chip.
        units: its active TPs and MPs.
        focus: the thread context to mark, or None.
        layout: local or stack memory, for the ruler.
        address: segment-relative address the ruler marks.
    """

    chip: Chip
    units: Hierarchy
    focus: PhysId | None = None
    layout: LocalLayout | StackLayout | None = None
    address: int = 0


def _snapshot(given: Any) -> TeslaSnapshot:
    """The snapshot itself; for any other object (an SM's) the default machine."""
    if isinstance(given, TeslaSnapshot):
        return given
    units = Hierarchy(DEFAULT_TP_MASK, DEFAULT_MP_MASK)
    chip = Chip(DEFAULT_CHIPSET)
    return TeslaSnapshot(
        chip, units, None, LocalLayout.make(chip, units, halfwarps=2, log_alloc=7, no_clamp=1)
    )


def _clip(lines: Sequence[str], width: int) -> list[str]:
    width = max(width, MIN_WIDTH)
    return [line if len(line) <= width else line[: width - 1] + "…" for line in lines]


def hierarchy(snapshot: Any, width: int) -> list[str]:
    """One row a TP: its active MPs, the focused thread's path marked."""
    held = _snapshot(snapshot)
    units, focus = held.units, held.focus
    lines = [
        f"NV{held.chip.chipset:02X} {held.chip.sm_version.name}  "
        f"{units.tp_count} TP x {units.mp_count} MP x {held.chip.warps_per_mp} warps x 32 lanes"
    ]
    for tp in range(units.tp_mask.bit_length()):
        if not units.tp_mask >> tp & 1:
            lines.append(f"  TP{tp:<2} ·")
            continue
        cells = []
        for mp in units.mps:
            mine = focus is not None and (focus.tp, focus.mp) == (tp, mp)
            cells.append(f"[MP{mp}]" if mine else f" MP{mp} ")
        mark = "▶" if focus is not None and focus.tp == tp else " "
        lines.append(f"{mark} TP{tp:<2} {' '.join(cells)}")
    if focus is not None:
        lines += [f"physid 0x{focus.encode():08x}: warp {focus.warp}, lane {focus.lane}"]
        lanes = "".join("■" if lane == focus.lane else "□" for lane in range(32))
        quads = " ".join(lanes[i : i + 4] for i in range(0, 32, 4))
        lines.append(f"quads {quads}")
    return _clip(lines, width)


def ruler(snapshot: Any, width: int) -> list[str]:
    """An address taken apart: group by group, to scale, and bit by bit within its block."""
    held = _snapshot(snapshot)
    layout = held.layout
    if layout is None:
        return _clip(["no address chosen"], width)
    group = layout.group
    outer, owner, offset = group.split(held.address)
    within = held.address % group.tps_size
    tp_slot = within // group.warps_size
    steps = [
        ("outer", outer, group.tps_size),
        ("TP", tp_slot, group.warps_size),
        ("warp", within % group.warps_size // group.mps_size, group.mps_size),
        ("MP", within % group.mps_size // group.block, group.block),
    ]
    terms = " + ".join(f"{name} {index}x0x{size:x}" for name, index, size in steps)
    lines = [f"0x{held.address:08x} = {terms} + 0x{offset:x}"]
    rows = (
        ("TPs", within, group.tps_size, group.tp_slots),
        ("warps", within % group.warps_size, group.warps_size, group.warp_slots),
        ("MPs", within % group.mps_size, group.mps_size, group.hierarchy.mp_count),
    )
    for name, at, size, parts in rows:
        lines.append(f"{name:<6}{_bar(at, size, parts, max(width, MIN_WIDTH) - 7)}")
    lines.append("nobody: a hole of the rounded TP count" if owner is None else _who(held, layout))
    if isinstance(layout, LocalLayout):
        lines += _bits(offset, layout)
    return _clip(lines, width)


def _who(held: TeslaSnapshot, layout: LocalLayout | StackLayout) -> str:
    found = layout.position(held.address)
    assert found.owner is not None
    where = f"TP {found.owner.tp} MP {found.owner.mp} warp {found.owner.warp}"
    if isinstance(layout, LocalLayout):
        local = layout.position(held.address)
        return f"{where} lane {local.lane}, l[0x{local.addr:x}]"
    stack = layout.position(held.address)
    return f"{where}, entry {stack.entry} byte {stack.byte}"


def _bar(at: int, size: int, parts: int, width: int) -> str:
    """A bar of `parts` equal cells with the position marked, to scale."""
    mark = min(at * width // size, width - 1)
    cells = []
    for column in range(width):
        edge = column * parts // width != (column - 1) * parts // width
        cells.append("▼" if column == mark else "│" if edge else "─")
    return "".join(cells)


def _bits(offset: int, layout: LocalLayout) -> list[str]:
    names, digits = [], []
    for bit in range(6 + layout.halfwarps, -1, -1):
        for field, source, bits in LOCAL_IN_BLOCK:
            if field.lo <= bit <= field.hi:
                names.append(f"{source[0]}{bits.lo + bit - field.lo}")
        digits.append(f" {offset >> bit & 1}")
    return ["block " + " ".join(names), "     " + " ".join(digits) + "  (a l[] address, l lane)"]
