"""Thread hierarchy: chips, SM versions, and the active TPs and MPs of PMC 0x1540.

Source: NV50 CUDA notes, "Thread hierarchy" and the table of CUDA revisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpudbg.bits import Field, lanes_of
from gpudbg.errors import UsageError

TP_MASK = Field(15, 0)
MP_MASK = Field(27, 24)
MAX_TPS = 10
MAX_MPS = 3
QUADS_PER_WARP = 8
LANES_PER_QUAD = 4
SPS_PER_MP = 8
SHARED_BYTES_PER_MP = 0x4000
NVA0 = 0xA0


@dataclass(frozen=True, slots=True)
class SmVersion:
    """One CUDA revision and what it allows.

    Args:
        name: `sm_10` .. `sm_13`.
        revision: `1.0` .. `1.3`.
        chips: chip ids the notes name; others are inferred by `sm_version_of`.
        features: what the revision has beyond the first, in the notes' words.
    """

    name: str
    revision: str
    chips: tuple[int, ...]
    features: tuple[str, ...]

    def allows(self, feature: str) -> bool:
        """Whether the revision has a feature of `FEATURES`."""
        return feature in self.features


FEATURES = {
    "atomics_g32": "atomic 32-bit instructions on g[]",
    "breakpoints": "breakpoints",
    "atomics_g64": "atomic 64-bit instructions on g[]",
    "atomics_s32": "atomic 32-bit instructions on s[]",
    "vote": "vote instructions",
    "doubles": "double-precision floating-point instructions",
}
_SM11 = ("atomics_g32", "breakpoints")
_SM12 = (*_SM11, "atomics_g64", "atomics_s32", "vote")

SM_VERSIONS = (
    SmVersion("sm_10", "1.0", (0x50,), ()),
    SmVersion("sm_11", "1.1", (0x84, 0x86, 0x92, 0x94, 0x96, 0x98), _SM11),
    SmVersion("sm_12", "1.2", (0xA5, 0xA8), _SM12),
    SmVersion("sm_13", "1.3", (0xA0,), (*_SM12, "doubles")),
)

#: Chips the notes leave open, with what the guess stands on.
_INFERRED = {
    0xA3: ("sm_12", "shares the compute class of NVA5 and NVA8"),
    0xAA: ("sm_12", "NVA0 or later without double precision"),
    0xAC: ("sm_12", "NVA0 or later without double precision"),
    0xAF: ("sm_12", "NVA0 or later without double precision"),
}


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip of the family.

    Args:
        chipset: the id, 0x50..0xaf (NV50 is 0x50, NVA0 is 0xa0).
    """

    chipset: int

    def __post_init__(self) -> None:
        if not 0x50 <= self.chipset <= 0xAF:
            raise UsageError(
                f"chipset 0x{self.chipset:x} is not of the Tesla family", "0x50 to 0xaf"
            )

    @property
    def nva0_or_later(self) -> bool:
        """The one distinction the address formulas make."""
        return self.chipset >= NVA0

    @property
    def chipset_class(self) -> str:
        """`pre-nva0` or `nva0+`."""
        return "nva0+" if self.nva0_or_later else "pre-nva0"

    @property
    def warps_per_mp(self) -> int:
        """Warp contexts of one MP: 24 before NVA0, 32 from it on."""
        return 32 if self.nva0_or_later else 24

    @property
    def registers_per_mp(self) -> int:
        """32-bit registers of one MP: 8192 before NVA0, 16384 from it on."""
        return 16384 if self.nva0_or_later else 8192

    @property
    def sm_version(self) -> SmVersion:
        """The CUDA revision; `sm_version_basis` says how sure that is."""
        names = {version.name: version for version in SM_VERSIONS}
        for version in SM_VERSIONS:
            if self.chipset in version.chips:
                return version
        if self.chipset in _INFERRED:
            return names[_INFERRED[self.chipset][0]]
        if self.chipset < 0x80:
            return names["sm_10"]
        return names["sm_12" if self.nva0_or_later else "sm_11"]

    @property
    def sm_version_basis(self) -> str:
        """`documented`, or `inferred: why`."""
        if any(self.chipset in version.chips for version in SM_VERSIONS):
            return "documented"
        why = _INFERRED.get(self.chipset, ("", "its place in the family"))[1]
        return f"inferred: {why}"

    def to_json(self) -> dict[str, Any]:
        """Limits and features by name."""
        version = self.sm_version
        return {
            "chipset": self.chipset,
            "chipset_class": self.chipset_class,
            "sm_version": version.name,
            "sm_version_basis": self.sm_version_basis,
            "features": list(version.features),
            "warps_per_mp": self.warps_per_mp,
            "registers_per_mp": self.registers_per_mp,
            "shared_bytes_per_mp": SHARED_BYTES_PER_MP,
            "sps_per_mp": SPS_PER_MP,
            "quads_per_warp": QUADS_PER_WARP,
            "lanes_per_quad": LANES_PER_QUAD,
        }


def compressed_id(mask: int, index: int) -> int:
    """How many active units come before unit `index`: the id the address formulas use."""
    return (mask & ((1 << index) - 1)).bit_count()


def expand_id(mask: int, compressed: int) -> int | None:
    """The physical id of the active unit number `compressed`, or None past the last."""
    active = lanes_of(mask)
    return active[compressed] if 0 <= compressed < len(active) else None


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The active TPs of a chip and the active MPs of each TP (the same in every TP).

    Args:
        tp_mask: PMC 0x1540 bits 15:0.
        mp_mask: PMC 0x1540 bits 27:24.

    Raises:
        UsageError: a mask is empty or wider than its field.
    """

    tp_mask: int
    mp_mask: int

    def __post_init__(self) -> None:
        for name, mask, field in (
            ("TP", self.tp_mask, TP_MASK),
            ("MP", self.mp_mask, MP_MASK),
        ):
            if mask == 0:
                raise UsageError(f"no {name} is active: the {name} mask is 0")
            if not 0 < mask < 1 << field.width:
                raise UsageError(f"{name} mask 0x{mask:x} does not fit {field.width} bits")

    @classmethod
    def from_pmc(cls, value: int) -> Hierarchy:
        """From the value of PMC register 0x1540; other bits are ignored."""
        return cls(TP_MASK.get(value), MP_MASK.get(value))

    @property
    def pmc(self) -> int:
        """The two masks as PMC 0x1540 holds them."""
        return MP_MASK.put(TP_MASK.put(0, self.tp_mask), self.mp_mask)

    @property
    def tps(self) -> tuple[int, ...]:
        """Ids of the active TPs, ascending."""
        return lanes_of(self.tp_mask)

    @property
    def mps(self) -> tuple[int, ...]:
        """Ids of the active MPs of each TP, ascending."""
        return lanes_of(self.mp_mask)

    @property
    def tp_count(self) -> int:
        """Number of active TPs."""
        return self.tp_mask.bit_count()

    @property
    def mp_count(self) -> int:
        """Number of active MPs in each TP."""
        return self.mp_mask.bit_count()

    def check(self, tp: int, mp: int) -> None:
        """Raise UsageError unless TP `tp` and MP `mp` are active."""
        for name, index, mask in (("TP", tp, self.tp_mask), ("MP", mp, self.mp_mask)):
            if index < 0 or not mask >> index & 1:
                active = ", ".join(map(str, lanes_of(mask)))
                raise UsageError(f"{name} {index} is not active", f"active: {active}")

    def notes(self) -> list[str]:
        """What in the masks goes beyond the documented counts."""
        rows = (("TPs", self.tp_count, MAX_TPS), ("MPs per TP", self.mp_count, MAX_MPS))
        return [
            f"{count} {name}: the notes know 1 to {most}" for name, count, most in rows
            if count > most
        ]  # fmt: skip

    def to_json(self, chip: Chip | None = None) -> dict[str, Any]:
        """Masks, counts and ids; with a chip also its limits and totals."""
        data: dict[str, Any] = {
            "pmc_1540": self.pmc,
            "pmc_1540_hex": f"0x{self.pmc:08x}",
            "tp_mask": self.tp_mask,
            "mp_mask": self.mp_mask,
            "tp_count": self.tp_count,
            "mp_count": self.mp_count,
            "tps": list(self.tps),
            "mps": list(self.mps),
            "mps_total": self.tp_count * self.mp_count,
        }
        if chip is not None:
            warps = self.tp_count * self.mp_count * chip.warps_per_mp
            data |= chip.to_json() | {
                "warps_total": warps,
                "threads_total": warps * QUADS_PER_WARP * LANES_PER_QUAD,
            }
        return data
