"""Focus: the warp and lane looked at, by hardware (sm, warp, lane) or CUDA coordinates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpudbg.answers.words import dim
from gpudbg.dataclass import dataclass
from gpudbg.debug.views.format import parse_int
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.sm.gpu import Grid
    from gpudbg.sm.state import WarpState

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Focus:
    """A lane of a resident warp: SM index, warp slot on it, lane 0..31."""

    sm: int
    warp: int
    lane: int


def thread_of(warp: WarpState, lane: int) -> Dim3:
    """threadIdx of a lane."""
    x, y, z = (int(v) for v in warp.tid[:, lane])
    return (x, y, z)


def first_lane(mask: int) -> int:
    """Lowest set bit of a lane mask; 0 when empty."""
    return (mask & -mask).bit_length() - 1 if mask else 0


def describe(grid: Grid, focus: Focus) -> str:
    """The focus in one line, by hardware and by software coordinates."""
    warp = grid.warp(focus.sm, focus.warp)
    return (
        f"block {dim(warp.cta.block)} thread {dim(thread_of(warp, focus.lane))}"
        f"  sm {focus.sm} warp {focus.warp} lane {focus.lane}"
    )


_WORD = re.compile(r"(sm|warp|lane|block|thread|kernel|grid|device)\s*(\(?[-\d][\d,\s]*\)?)?")


def parse_focus(text: str, grid: Grid, current: Focus | None) -> Focus:
    """The focus that `sm 0 warp 3 lane 5` or `block 1 thread (5,0,0)` names.

    What is not given stays as it is; a new block keeps the thread where it exists, a new warp
    keeps the lane.

    Raises:
        CommandError: no such warp or thread is resident.
    """
    wanted: dict[str, list[int]] = {}
    rest = _WORD.sub("", text).strip(" ,\t")
    if rest:
        raise CommandError(
            f"{rest!r} is no coordinate", "use sm N, warp N, lane N, block (x,y,z), thread (x,y,z)"
        )
    for m in _WORD.finditer(text):
        if not m[2]:
            raise CommandError(f"'{m[1]}' needs a number", f"{m[1]} 0")
        parts = [p for p in re.split(r"[,\s]+", m[2].strip("() ")) if p]
        wanted[m[1]] = [parse_int(p, "coordinate") for p in parts]
    if not wanted:
        raise CommandError("no coordinate was given", "focus block 1 thread 5, or focus warp 3")
    if "block" in wanted or "thread" in wanted:
        return _by_thread(wanted, grid, current)
    return _by_hardware(wanted, grid, current)


def _by_hardware(wanted: dict[str, list[int]], grid: Grid, current: Focus | None) -> Focus:
    base = current or next((Focus(w.sm, w.slot, 0) for w in grid.warps()), None)
    if base is None:
        raise CommandError("no warp is resident")
    sm = wanted.get("sm", [base.sm])[0]
    slots = [w for w in grid.warps() if w.sm == sm]
    if not slots:
        raise CommandError(f"no warp is resident on sm {sm}")
    default = base.warp if sm == base.sm else slots[0].slot
    slot = wanted.get("warp", [default])[0]
    warp = next((w for w in slots if w.slot == slot), None)
    if warp is None:
        have = ", ".join(str(w.slot) for w in slots[:8]) + (" …" if len(slots) > 8 else "")
        raise CommandError(f"sm {sm} has no warp {slot}", f"resident: {have}")
    lane = wanted.get("lane", [base.lane])[0]
    if not 0 <= lane < 32 or not warp.valid >> lane & 1:
        if "lane" in wanted:
            raise CommandError(f"warp {slot} has no lane {lane}")
        lane = first_lane(warp.active or warp.valid)
    return Focus(sm, slot, lane)


def _by_thread(wanted: dict[str, list[int]], grid: Grid, current: Focus | None) -> Focus:
    here = grid.warp(current.sm, current.warp) if current is not None else None
    block = _coordinates(wanted["block"]) if "block" in wanted else None
    if block is None:
        if here is None:
            raise CommandError("no block has the focus", "focus block (0,0,0) thread (0,0,0)")
        block = here.cta.block
    warps = [w for w in grid.warps() if w.cta.block == block]
    if not warps:
        raise CommandError(f"block {dim(block)} is not resident", "it has finished or not begun")
    if "thread" in wanted:
        thread = _coordinates(wanted["thread"])
    elif here is not None and current is not None:
        thread = thread_of(here, current.lane)
    else:
        thread = (0, 0, 0)
    for w in warps:
        for lane in range(32):
            if w.valid >> lane & 1 and thread_of(w, lane) == thread:
                return Focus(w.sm, w.slot, lane)
    if "thread" in wanted:
        raise CommandError(f"block {dim(block)} has no thread {dim(thread)}")
    return Focus(warps[0].sm, warps[0].slot, first_lane(warps[0].valid))


def _coordinates(parts: list[int]) -> Dim3:
    if not 1 <= len(parts) <= 3:
        raise CommandError("a coordinate has one to three numbers")
    padded = [*parts, 0, 0][:3]
    return (padded[0], padded[1], padded[2])
