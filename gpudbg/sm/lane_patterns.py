"""Patterns of lanes: what a value has in common across a warp, as rows and offsets.

A value is *affine* where lane n holds `base of its row + offset of the lane`, modulo the width.  A
warp is one row of 32 lanes, or two of 16, four of 8, as the shapes of blocks give; every row has a
base of its own.  Offsets are plain integers; in normal form the least of each row is 0.  From the
most to the least that is known:

    known       one row whose base is a number: every lane's value is known
    uniform     one row, all offsets 0
    rows        two or four rows, all offsets 0: uniform in each
    affine      any offsets (`tid`, `4*tid`, `tid % 16`)
    varying     nothing; it has no pattern

Compiled code (`engines.llvm.ir.affine`) keeps bases in scalars; the static analysis
(`gpudbg.sm.lanes.analysis`) knows only that they exist.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

LANES: Final = 32
ROWS: Final = (1, 2, 4)
"""Numbers of rows that a warp is taken apart into."""
MOST_SPAN: Final = 1 << 30
"""Limit of the spread of a row's offsets: larger ones come from a wrapped sum and are no
pattern.
"""

Offsets = tuple[int, ...]
"""A number for each lane."""
ZEROS: Final[Offsets] = (0,) * LANES
LANE_IDS: Final[Offsets] = tuple(range(LANES))
LANE_REGISTERS: Final[dict[int, Offsets]] = {
    0: LANE_IDS,
    56: tuple(1 << n for n in LANE_IDS),
    57: tuple((1 << n) - 1 for n in LANE_IDS),
    58: tuple((2 << n) - 1 for n in LANE_IDS),
    59: tuple(0xFFFF_FFFF & ~((2 << n) - 1) for n in LANE_IDS),
    60: tuple(0xFFFF_FFFF & ~((1 << n) - 1) for n in LANE_IDS),
}
"""Special registers that depend on the lane only, by number: what each lane reads."""
THREAD_REGISTERS: Final = {33: 0, 34: 1, 35: 2}
"""Those of a thread's place in its block -> the axis."""


def row_of(lane: int, rows: int) -> int:
    """The row of a lane."""
    return lane * rows // LANES


def parts(offsets: Offsets, rows: int) -> list[Offsets]:
    """The offsets of each row."""
    size = LANES // rows
    return [offsets[n : n + size] for n in range(0, LANES, size)]


@lru_cache(maxsize=1024)
def normal(offsets: Offsets, rows: int) -> tuple[tuple[int, ...], Offsets] | None:
    """(What is added to each row's base, offsets in normal form); None where they are too far apart
    to be one."""
    least = tuple(min(part) for part in parts(offsets, rows))
    moved = tuple(offset - least[row_of(lane, rows)] for lane, offset in enumerate(offsets))
    return None if max(moved) >= MOST_SPAN else (least, moved)


@lru_cache(maxsize=1024)
def uniform_rows(offsets: Offsets, rows: int) -> int | None:
    """The least number of rows, at least `rows`, in each of which all lanes have one value."""
    for count in ROWS:
        if count >= rows and all(len(set(part)) == 1 for part in parts(offsets, count)):
            return count
    return None


@lru_cache(maxsize=256)
def thread_offsets(block: tuple[int, int, int], axis: int) -> tuple[Offsets, int | None] | None:
    """What `tid` of an axis is in every warp of a block: (offsets, the base where it is the same in
    all warps); None where it differs from warp to warp."""
    x, y, z = block
    threads = np.arange(-(-x * y * z // LANES) * LANES)
    found = (threads % x, threads // x % y, threads // (x * y))[axis].reshape(-1, LANES)
    bases = found.min(axis=1)
    offsets = found - bases[:, None]
    if (offsets != offsets[0]).any():
        return None
    return tuple(offsets[0].tolist()), int(bases[0]) if (bases == bases[0]).all() else None
