"""The CTAs of a cluster, and their barrier: UCGABAR_ARV arrives, UCGABAR_WAIT waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.mem.pages import address_of, zeroed
from gpudbg.sm import record as rec
from gpudbg.sm.residency import arena

if TYPE_CHECKING:
    from gpudbg.sm.state import Cta, WarpState


COUNT, PHASE, BLOCKS = 0, 8, 16
"""Bytes of what compiled code knows of a cluster, i64 each: how many CTAs it has, the phase of its
barrier, then the addresses of the CTAs' descriptors by rank."""


class Cluster:
    """CTAs that are resident together.

    Attributes:
        ctas: by rank, x fastest, finished ones included.
        words: what compiled code knows of it, as i64; every descriptor has its address.
    """

    __slots__ = ("ctas", "words")

    def __init__(self, ctas: list[Cta]) -> None:
        self.ctas = ctas
        memory = zeroed(BLOCKS + 8 * len(ctas))
        self.words = memory.data.cast("q")
        self.words[COUNT // 8] = len(ctas)
        for rank, cta in enumerate(ctas):
            if cta.home is not None:
                self.words[BLOCKS // 8 + rank] = address_of(np.asarray(cta.descriptor))
                cta.descriptor[arena.CLUSTER // 8] = address_of(memory)

    @property
    def phase(self) -> int:
        """How often the barrier has been complete."""
        return self.words[PHASE // 8]

    def rank(self, cta: Cta) -> int:
        """The rank of one of the CTAs."""
        return self.ctas.index(cta)

    def live(self) -> Iterator[WarpState]:
        """Warps that have not exited."""
        return (warp for cta in self.ctas for warp in cta.live)

    # ---- the barrier -------------------------------------------------------------------
    def arrive(self, warp: WarpState) -> None:
        """Record a warp's arrival; it counts once, whichever of its lanes arrive."""
        warp.quads[rec.CAME] = self.phase + 1

    def waits(self, warp: WarpState) -> bool:
        """Whether a warp must wait: the phase in which it arrived is not complete."""
        return bool(warp.quads[rec.CAME] == self.phase + 1)

    def complete(self) -> bool:
        """Begin the next phase if all live warps have arrived. Returns whether it did."""
        live = list(self.live())
        if not live or not all(map(self.waits, live)):
            return False
        self.words[PHASE // 8] += 1
        return True

    def arrived(self) -> tuple[int, int]:
        """Warps that have come to the present phase, and those it waits for."""
        live = list(self.live())
        return sum(map(self.waits, live)), len(live)

    def came(self) -> list[tuple[int, int]]:
        """The warps that have arrived in the present phase, as (CTA number, warp number in the
        CTA).
        """
        warps = (warp for cta in self.ctas for warp in cta.warps)
        return sorted((warp.cta.number, warp.index) for warp in warps if self.waits(warp))

    def missing(self) -> list[WarpState]:
        """Live warps that have not arrived."""
        return [warp for warp in self.live() if not self.waits(warp)]


def waiting_at_cluster(warp: WarpState) -> bool:
    """Whether a warp waits for its cluster."""
    return bool(warp.words[rec.STATUS] == rec.AT_CLUSTER)
