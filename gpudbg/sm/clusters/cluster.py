"""The CTAs of a cluster, and their barrier: UCGABAR_ARV arrives, UCGABAR_WAIT waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudbg.sm import record as rec

if TYPE_CHECKING:
    from gpudbg.sm.state import Cta, WarpState


class Cluster:
    """CTAs that are resident together.

    Attributes:
        ctas: by rank, x fastest, finished ones included.
        phase: how often the barrier has been complete.
    """

    __slots__ = ("_came", "ctas", "phase")

    def __init__(self, ctas: list[Cta]) -> None:
        self.ctas = ctas
        self.phase = 0
        self._came: dict[tuple[int, int], int] = {}

    def rank(self, cta: Cta) -> int:
        """The rank of one of the CTAs."""
        return self.ctas.index(cta)

    def live(self) -> Iterator[WarpState]:
        """Warps that have not exited."""
        return (warp for cta in self.ctas for warp in cta.live)

    # ---- the barrier -------------------------------------------------------------------
    def arrive(self, warp: WarpState) -> None:
        """Record a warp's arrival; it counts once, whichever of its lanes arrive."""
        self._came[self._key(warp)] = self.phase

    def waits(self, warp: WarpState) -> bool:
        """Whether a warp must wait: the phase in which it arrived is not complete."""
        return self._came.get(self._key(warp), -1) == self.phase

    def complete(self) -> bool:
        """Begin the next phase if all live warps have arrived. Returns whether it did."""
        if not self._came or not all(self.waits(warp) for warp in self.live()):
            return False
        self.phase += 1
        self._came.clear()
        return True

    def arrived(self) -> tuple[int, int]:
        """Warps that have come to the present phase, and those it waits for."""
        live = list(self.live())
        return sum(map(self.waits, live)), len(live)

    def came(self) -> list[tuple[int, int]]:
        """The warps that have arrived in the present phase, as (CTA number, warp number in the
        CTA).
        """
        return sorted(key for key, phase in self._came.items() if phase == self.phase)

    def missing(self) -> list[WarpState]:
        """Live warps that have not arrived."""
        return [warp for warp in self.live() if not self.waits(warp)]

    def _key(self, warp: WarpState) -> tuple[int, int]:
        return warp.cta.number, warp.index


def waiting_at_cluster(warp: WarpState) -> bool:
    """Whether a warp waits for its cluster."""
    return bool(warp.words[rec.STATUS] == rec.AT_CLUSTER)
