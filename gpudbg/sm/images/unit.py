"""The texture and surface unit, to which a launch's engine passes its image instructions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from gpudbg.architectures import is_wide
from gpudbg.mem.lanes import FULL, first_lane, pack
from gpudbg.sm.images.pools import ImagePools

if TYPE_CHECKING:
    from gpudbg.sm.engines.step import StepEngine
    from gpudbg.sm.images.access import InvalidAccess, SurfaceAccess, Writers
    from gpudbg.sm.state import WarpState

LOG_LENGTH = 512
"""Accesses outside a surface that are kept in full; all are counted."""

Handler = Callable[["ImageUnit", "StepEngine", Any], None]


@cache
def handlers() -> dict[str, Handler]:
    """Mnemonic -> what executes it; imported at a program's first image instruction."""
    from gpudbg.sm.images import surfaces, textures

    return {
        **dict.fromkeys(("SULD", "SUST", "SURED", "SUATOM"), surfaces.execute),
        **dict.fromkeys(("TEX", "TEXS", "TXD"), textures.fetch),
        **dict.fromkeys(("TLD", "TLDS"), textures.load),
        **dict.fromkeys(("TLD4", "TLD4S"), textures.gather),
        "TXQ": textures.query,
        "TMML": textures.level,
    }


class ImageUnit:
    """The texture and surface unit of one launch.

    Attributes:
        pools: the GPU's headers and samplers.
        coverage: pixel shader launches: masks of covered pixels, one per warp of the grid and
            repeated when there are fewer; None is compute.
        log: the last accesses outside a surface or through an invalid header.
        outside: (pc, clamp) -> lanes that were outside so far.
        writers: header index -> who wrote its texels.
    """

    def __init__(
        self, pools: ImagePools, grid: tuple[int, int, int], warps: int,
        coverage: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.pools = pools
        self.coverage = tuple(coverage) if coverage else None
        self.log: deque[SurfaceAccess | InvalidAccess] = deque(maxlen=LOG_LENGTH)
        self.outside: dict[tuple[int, str], int] = {}
        self.writers: dict[int, Writers] = {}
        self._grid = grid
        self._warps = warps

    def __call__(self, engine: StepEngine, name: str, insn: Any) -> None:
        """Execute one instruction of the engine's warp."""
        if is_wide(insn.arch):
            from gpudbg.sm.images.wide import translated

            insn = translated(insn)
        handlers()[name](self, engine, insn)

    def cta_number(self, warp: WarpState) -> int:
        """Linear number of a warp's CTA, x fastest."""
        x, y, z = warp.block
        return x + self._grid[0] * (y + self._grid[1] * z)

    def covered(self, warp: WarpState) -> int:
        """Lanes whose updates count: all in compute, covered pixels in a pixel shader."""
        if self.coverage is None:
            return FULL
        number = self.cta_number(warp) * self._warps + warp.index
        return self.coverage[number % len(self.coverage)]

    def note(self, access: SurfaceAccess, warp: WarpState) -> None:
        """Keep what an access did: lanes outside, and who wrote."""
        if access.outside:
            key = (access.pc, access.clamp)
            self.outside[key] = self.outside.get(key, 0) + access.outside.bit_count()
            self.log.append(access)
        header = access.image.header
        if access.kind == "load" or not access.live or header is None:
            return
        from gpudbg.sm.images.access import Writers

        found = self.writers.get(access.image.index)
        layout = access.image.levels[0]
        shape = (layout.layers, layout.depth, layout.height, layout.width)
        if found is None or found.shape != shape:
            found = self.writers[access.image.index] = Writers(shape)
        found.record(access, warp, self.cta_number(warp), layout.texel)

    def handles(self, engine: StepEngine, insn: Any, bindless: Any, lanes: int) -> Any:
        """(handle, lanes) groups of an instruction.

        Args:
            bindless: the register row with handles, or None for the immediate index.
        """
        if bindless is None and hasattr(insn, "handle"):
            return [(insn.handle(engine), lanes)]
        if bindless is None:
            word = engine.const(self.pools.bank, 4 * insn.o["tex"].value)
            return [(int(word[0]), lanes)]
        first = bindless[first_lane(lanes)]
        same = pack(bindless == first) & lanes
        if same == lanes:
            return [(int(first), lanes)]
        groups: dict[int, int] = {}
        for lane, value in enumerate(bindless.tolist()):
            if lanes >> lane & 1:
                groups[value] = groups.get(value, 0) | 1 << lane
        return list(groups.items())
