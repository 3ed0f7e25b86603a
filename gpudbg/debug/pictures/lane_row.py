"""One value across the lanes of a warp, with its text in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.dataclass import dataclass

if TYPE_CHECKING:
    from gpudbg.analysis.lane_shape import LaneShape


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One value across the 32 lanes: a register, predicate, special register or expression.

    `bits` are raw 32- or 64-bit patterns, `valid` the lanes that have a value, `focus_text` the
    focused lane's value.  A predicate's or flag's mask is in `mask` (-1: none).
    """

    name: str
    section: str
    focus_text: str
    shape: LaneShape
    changed: int = 0
    mask: int = -1
    valid: int = 0xFFFFFFFF
    cells: tuple[str, ...] = ()
    why: str = ""
    index: int = -1
    zero: bool = False
