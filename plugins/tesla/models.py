"""Local, stack and global memory and the register file in the shape the plugin contract gives.

Positions are dicts with the field names of the decoders' JSON output; a key of the
configuration is spelt as there too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpudbg.errors import UsageError

from .globalmem import GlobalSpace
from .hierarchy import Chip, Hierarchy
from .mangle import LocalLayout, Owner, StackLayout, halfwarps_of
from .options import DEFAULT_CHIPSET, DEFAULT_MP_MASK, DEFAULT_TP_MASK


def _ids(position: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[int, ...]:
    missing = [key for key in keys if key not in position]
    if missing:
        raise UsageError(f"a position needs {', '.join(missing)}")
    return tuple(int(position[key]) for key in keys)


def owner_json(owner: Owner | None) -> dict[str, Any]:
    """Who lies at an address; all None in a hole."""
    if owner is None:
        return {"warp": None, "mp": None, "tp": None, "warps": [], "hole": True}
    return {
        "warp": owner.warp,
        "mp": owner.mp,
        "tp": owner.tp,
        "warps": list(owner.warps),
        "hole": False,
    }


@dataclass(frozen=True, slots=True)
class LocalModel:
    """Local memory: position keys addr, lane, warp, mp, tp."""

    chipset: int = DEFAULT_CHIPSET
    tp_mask: int = DEFAULT_TP_MASK
    mp_mask: int = DEFAULT_MP_MASK
    program: str = "CP"
    warp_halves_method: int = 2
    local_warps_log_alloc: int = 7
    no_clamp: int = 1

    @property
    def layout(self) -> LocalLayout:
        """The layout of this configuration."""
        return LocalLayout.make(
            Chip(self.chipset),
            Hierarchy(self.tp_mask, self.mp_mask),
            halfwarps=halfwarps_of(self.warp_halves_method, self.program),
            log_alloc=self.local_warps_log_alloc,
            no_clamp=self.no_clamp,
        )

    def address_of(self, position: Mapping[str, Any]) -> int:
        """The segment-relative address of a byte of l[]."""
        return self.layout.address(*_ids(position, ("addr", "lane", "warp", "mp", "tp")))

    def position_of(self, address: int) -> dict[str, Any]:
        """Whose byte lies at a segment-relative address."""
        found = self.layout.position(address)
        return {"addr": found.addr, "lane": found.lane, **owner_json(found.owner)}


@dataclass(frozen=True, slots=True)
class StackModel:
    """Stack memory: position keys entry, warp, mp, tp."""

    chipset: int = DEFAULT_CHIPSET
    tp_mask: int = DEFAULT_TP_MASK
    mp_mask: int = DEFAULT_MP_MASK
    stack_warps_log_alloc: int = 7
    no_clamp: int = 1

    @property
    def layout(self) -> StackLayout:
        """The layout of this configuration."""
        return StackLayout.make(
            Chip(self.chipset),
            Hierarchy(self.tp_mask, self.mp_mask),
            log_alloc=self.stack_warps_log_alloc,
            no_clamp=self.no_clamp,
        )

    def address_of(self, position: Mapping[str, Any]) -> int:
        """The segment-relative address of an entry."""
        return self.layout.address(*_ids(position, ("entry", "warp", "mp", "tp")))

    def position_of(self, address: int) -> dict[str, Any]:
        """Whose entry lies at a segment-relative address."""
        found = self.layout.position(address)
        return {"entry": found.entry, "byte": found.byte, **owner_json(found.owner)}


@dataclass(frozen=True, slots=True)
class GlobalModel:
    """One global space: position key reg, the 32-bit g[] address."""

    base: int = 0
    pitch: int = 0x100
    limit: int = 0xFFFFFFFF
    mode: int = 1

    @property
    def space(self) -> GlobalSpace:
        """The space; raises DataError for a value its method would refuse."""
        space = GlobalSpace(self.base, self.pitch, self.limit, self.mode)
        space.check()
        return space

    def address_of(self, position: Mapping[str, Any]) -> int:
        """The memory address of a reference."""
        access = self.space.access(*_ids(position, ("reg",)))
        if access.out_of_bounds:
            raise UsageError(f"g[0x{access.reg:x}] is out of bounds")
        return access.address

    def position_of(self, address: int) -> dict[str, Any]:
        """The reference that goes to a memory address."""
        return self.space.access(self.space.reg_of(address)).to_json()
