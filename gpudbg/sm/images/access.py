"""What one surface instruction did, lane by lane: for the log of accesses outside, and writers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudbg.answers import column, typed_row
from gpudbg.answers.formats import LIST
from gpudbg.dataclass import dataclass
from gpudbg.mem.lanes import U64, bools
from gpudbg.mem.surface_bounds import AXIS_NAMES, Landing
from gpudbg.sm.images.pools import Image
from gpudbg.sm.state import WarpState

KINDS = {"SULD": "load", "SUST": "store", "SURED": "reduction", "SUATOM": "atomic"}


@typed_row
class OutsideLane:
    """One lane outside a surface.

    Attributes:
        lane: the lane.
        coords: what its registers asked for, by coordinate name, x as the instruction counts it.
        outside: the coordinates that are outside, such as ("x too low", "y too high").
        did: what the clamp did: "dropped", "reads 0", "trap", or "moved to x=396 y=49".
    """

    lane: int = column()
    coords: dict[str, int] = column()
    outside: tuple[str, ...] = column(None, LIST)
    did: str = column()

    def __str__(self) -> str:
        coords = " ".join(f"{k} {v}" for k, v in self.coords.items())
        return f"  lane {self.lane:2}  {coords}: {', '.join(self.outside)}: {self.did}"


@dataclass(frozen=True, slots=True)
class SurfaceAccess:
    """One access of a surface by a warp.

    Attributes:
        op, kind: mnemonic, and load, store, reduction or atomic.
        pc: code address of the instruction.
        image: the surface.
        clamp: IGN, NEAR or TRAP.
        size: bytes of a lane's access.
        lanes: executing lanes that take part; `live` of them reach memory.
        outside: those outside the surface.
        landing: coordinates and clamp.
        addresses: device addresses of the live lanes.
        sm, warp, block: where the warp is.
    """

    op: str
    kind: str
    pc: int
    image: Image
    clamp: str
    size: int
    lanes: int
    live: int
    outside: int
    landing: Landing
    addresses: U64
    sm: int
    warp: int
    block: tuple[int, int, int]

    def lanes_outside(self) -> tuple[OutsideLane, ...]:
        """The lanes outside, with what was asked for and what was done."""
        return tuple(self._lane(int(n)) for n in np.flatnonzero(bools(self.outside)))

    def _lane(self, lane: int) -> OutsideLane:
        landing = self.landing
        words = []
        for axis in landing.low:
            if landing.low[axis][lane]:
                words.append(f"{AXIS_NAMES[axis]} too low")
            elif landing.high[axis][lane]:
                words.append(f"{AXIS_NAMES[axis]} too high")
        coords = {AXIS_NAMES[axis]: int(v[lane]) for axis, v in landing.coords.items()}
        return OutsideLane(lane, coords, tuple(words), self._did(lane))

    def _did(self, lane: int) -> str:
        if self.clamp == "TRAP":
            return "trap"
        if not self.live >> lane & 1:
            return "reads 0" if self.kind in ("load", "atomic") else "dropped"
        names = {"x": "x byte", **{a: n for a, n in AXIS_NAMES.items() if a != "x"}}
        moved = self.landing.clamped
        return "moved to " + " ".join(f"{names[a]} {int(moved[a][lane])}" for a in self.landing.low)


@dataclass(frozen=True, slots=True)
class InvalidAccess:
    """An access through a header that is no good, or to a disabled surface: it does nothing."""

    op: str
    pc: int
    image: Image
    lanes: int
    why: str
    sm: int
    warp: int
    block: tuple[int, int, int]


class Writers:
    """Who wrote each texel of one surface last.

    Attributes:
        pc, cta, thread: by texel: code address, linear CTA number, linear thread number in it.
        count: writes so far; 0 is a texel never written.
    """

    __slots__ = ("count", "cta", "pc", "shape", "thread")

    def __init__(self, shape: tuple[int, int, int, int]) -> None:
        """`shape` is (layers, depth, height, width)."""
        self.shape = shape
        self.pc: Any = np.zeros(shape, np.uint64)
        self.cta: Any = np.zeros(shape, np.uint32)
        self.thread: Any = np.zeros(shape, np.uint16)
        self.count: Any = np.zeros(shape, np.uint32)

    def record(self, access: SurfaceAccess, warp: WarpState, cta: int, texel: int) -> None:
        """Enter the live lanes of a store, reduction or atomic."""
        lanes = np.flatnonzero(bools(access.live))
        at = {axis: access.landing.clamped[axis][lanes] for axis in "xyzl"}
        first = at["x"] // texel
        for step in range(max(access.size // texel, 1)):
            x = np.minimum(first + step, self.shape[3] - 1)
            place = (at["l"], at["z"], at["y"], x)
            self.pc[place] = access.pc
            self.cta[place] = cta
            self.thread[place] = warp.index * 32 + lanes
            np.add.at(self.count, place, 1)
