"""The physid special register: which thread context of the chip a thread runs in.

Source: NV50 CUDA notes, "Thread hierarchy".  Later documentation gives the first three fields
wider ranges with the same starts; the extra bits are 0 on every chip, so a value with them set
decodes by the wide ranges and is reported as beyond the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpudbg.bits import Field
from gpudbg.errors import UsageError

from .hierarchy import LANES_PER_QUAD, Chip, Hierarchy, compressed_id

#: Field -> (bits of the notes, bits of the later documentation).
FIELDS = {
    "lane": (Field(4, 0), Field(7, 0)),
    "warp": (Field(12, 8), Field(15, 8)),
    "mp": (Field(17, 16), Field(19, 16)),
    "tp": (Field(23, 20), Field(23, 20)),
}
UNUSED = Field(31, 24)


@dataclass(frozen=True, slots=True)
class PhysId:
    """One thread context: TP, MP, warp and lane ids."""

    tp: int
    mp: int
    warp: int
    lane: int

    @property
    def quad(self) -> int:
        """Quad within the warp."""
        return self.lane // LANES_PER_QUAD

    @property
    def quad_lane(self) -> int:
        """Lane within the quad."""
        return self.lane % LANES_PER_QUAD

    def encode(self) -> int:
        """The register's value.

        Raises:
            UsageError: an id does not fit its field.
        """
        word = 0
        for name, (field, _) in FIELDS.items():
            value = getattr(self, name)
            if not 0 <= value < 1 << field.width:
                raise UsageError(f"{name} {value} does not fit physid bits {field.hi}:{field.lo}")
            word = field.put(word, value)
        return word

    @classmethod
    def decode(cls, word: int) -> PhysId:
        """The context a register value names."""
        return cls(**{name: wide.get(word) for name, (_, wide) in FIELDS.items()})


def strange_bits(word: int) -> list[str]:
    """Which bits of a physid value no chip sets, one phrase each."""
    notes = [
        f"{name} {wide.get(word)} is beyond bits {field.hi}:{field.lo}"
        for name, (field, wide) in FIELDS.items()
        if wide.get(word) != field.get(word)
    ]
    if UNUSED.get(word):
        notes.append(f"bits 31:24 are 0x{UNUSED.get(word):02x}; no field is known there")
    return notes


def describe(
    word: int, hierarchy: Hierarchy | None = None, chip: Chip | None = None
) -> dict[str, Any]:
    """A physid value by field; with a hierarchy also compressed ids and whether it exists.

    Returns:
        JSON-able dict with the field names of the address cases (lane, warp, mp, tp).
    """
    ident = PhysId.decode(word)
    notes = strange_bits(word)
    data: dict[str, Any] = {
        "physid": word,
        "physid_hex": f"0x{word:08x}",
        "lane": ident.lane,
        "warp": ident.warp,
        "mp": ident.mp,
        "tp": ident.tp,
        "quad": ident.quad,
        "quad_lane": ident.quad_lane,
    }
    if chip is not None and ident.warp >= chip.warps_per_mp:
        notes.append(
            f"warp {ident.warp} does not exist: an MP of this chip has {chip.warps_per_mp} warps"
        )
    if hierarchy is not None:
        active = bool(hierarchy.tp_mask >> ident.tp & 1 and hierarchy.mp_mask >> ident.mp & 1)
        data |= {
            "tp_mask": hierarchy.tp_mask,
            "mp_mask": hierarchy.mp_mask,
            "compressed_tp": compressed_id(hierarchy.tp_mask, ident.tp),
            "compressed_mp": compressed_id(hierarchy.mp_mask, ident.mp),
            "active": active,
        }
        if not active:
            notes.append("its TP or MP is not active on this chip")
    data["notes"] = notes
    return data
