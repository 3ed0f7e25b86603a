"""Identity of a launch's warps by number, for records that must not keep the warps alive."""

from __future__ import annotations

from typing import Final

from gpudbg.dataclass import dataclass
from gpudbg.sm.residency.step import coordinates

MOST_WARPS: Final = 64
"""Warps that a CTA can have: a warp's number in the grid is its CTA's times this, plus its own."""


@dataclass(frozen=True, slots=True)
class LaunchedWarps:
    """Where the warps of a launch are, by their numbers.

    Attributes:
        base: number of the first one.
        grid, block: dimensions.
    """

    base: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class WarpPlace:
    """A warp, which may have ended."""

    number: int
    launched: LaunchedWarps

    @property
    def index(self) -> int:
        """Number of the warp in its CTA."""
        return (self.number - self.launched.base) % MOST_WARPS

    @property
    def cta(self) -> int:
        """The number of its CTA in the grid."""
        return (self.number - self.launched.base) // MOST_WARPS

    @property
    def block(self) -> tuple[int, int, int]:
        """Coordinates of its CTA."""
        return coordinates(self.cta, self.launched.grid)

    def thread(self, lane: int) -> tuple[int, int, int]:
        """CUDA thread coordinates of a lane."""
        return coordinates(32 * self.index + lane, self.launched.block)
