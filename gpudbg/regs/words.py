"""What every register table is made of: certainty marks, chip families, fields, words.

A register word is a row of fields; masks, text, JSON and the construct view all come from it.
Bit positions are inclusive (high, low) pairs as the manuals write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from gpudbg.bits import Field, mask
from gpudbg.dataclass import dataclass

Json = dict[str, Any]


class Certainty(StrEnum):
    """How a fact is known; the three words used in every document and listing."""

    DOCUMENTED = "documented"
    INFERRED = "inferred"
    MODELLED = "modelled"


class Family(StrEnum):
    """NVIDIA chip generations, oldest first."""

    FERMI = "Fermi"
    KEPLER = "Kepler"
    MAXWELL = "Maxwell"
    PASCAL = "Pascal"
    VOLTA = "Volta"
    TURING = "Turing"
    AMPERE = "Ampere"
    HOPPER = "Hopper"
    BLACKWELL = "Blackwell"


FERMI_KEPLER = (Family.FERMI, Family.KEPLER)
MAXWELL_PASCAL = (Family.MAXWELL, Family.PASCAL)
ALL_FAMILIES = tuple(Family)


class FieldKind(StrEnum):
    """How a field's bits are to be read.

    `IN_PLACE` fields carry an amount whose low bits are always zero (bytes, multiple of 16 MiB):
    the amount is the word masked, not shifted.
    """

    UINT = "unsigned"
    FLAG = "flag"
    MASK = "lane mask"
    F32 = "float"
    IN_PLACE = "in place"


@dataclass(frozen=True, slots=True)
class BitRow:
    """One field of a register word.

    Attributes:
        name: short name as the source gives it, or ours where the source has none.
        bits: position in the word.
        meaning: one line.
        values: (value, name) pairs of the values that have a name.
        certainty: how the field (not its position alone) is known.
        reserved: True when the source calls the bits reserved, zero or unused.
        note: what a reader should know beyond the meaning, e.g. what the mark rests on.
        kind: how to read the bits.
        unit: what the number counts.
        group: name of the wider field the source nests this one in.
    """

    name: str
    bits: Field
    meaning: str
    values: tuple[tuple[int, str], ...] = ()
    certainty: Certainty = Certainty.DOCUMENTED
    reserved: bool = False
    note: str = ""
    kind: FieldKind = FieldKind.UINT
    unit: str = ""
    group: str = ""

    def amount(self, word: int) -> int:
        """The number the field stands for in `word`."""
        return word & self.bits.mask if self.kind is FieldKind.IN_PLACE else self.bits.get(word)

    def value_name(self, value: int) -> str | None:
        """The name of a field value, if it has one."""
        return next((name for number, name in self.values if number == value), None)


def reserved(hi: int, lo: int, meaning: str = "reserved, reads zero") -> BitRow:
    """A row for bits that carry nothing."""
    return BitRow("reserved", Field(hi, lo), meaning, reserved=True)


def complete(rows: tuple[BitRow, ...], width: int = 32) -> tuple[BitRow, ...]:
    """`rows`, high bits last, with a reserved row for every uncovered bit of a `width`-bit word.

    Raises:
        ValueError: two rows overlap or a row reaches past the word.
    """
    filled: list[BitRow] = []
    next_bit = 0
    for row in sorted(rows, key=lambda r: r.bits.lo):
        if row.bits.lo < next_bit or row.bits.hi >= width:
            raise ValueError(f"field {row.name} {row.bits} overlaps or leaves {width} bits")
        if row.bits.lo > next_bit:
            filled.append(reserved(row.bits.lo - 1, next_bit))
        filled.append(row)
        next_bit = row.bits.hi + 1
    if next_bit < width:
        filled.append(reserved(width - 1, next_bit))
    return tuple(filled)


def implemented_mask(rows: tuple[BitRow, ...]) -> int:
    """The bits of a word that some non-reserved row covers."""
    covered = 0
    for row in rows:
        if not row.reserved:
            covered |= row.bits.mask
    return covered


def encode(rows: tuple[BitRow, ...], values: Mapping[str, int]) -> int:
    """The word with the named fields set and everything else zero.

    Raises:
        ValueError: an unknown field name, or a value that does not fit its field.
    """
    by_name = {row.name: row for row in rows if not row.reserved}
    word = 0
    for name, value in values.items():
        row = by_name.get(name)
        if row is None:
            raise ValueError(f"no field {name!r}; fields: {', '.join(by_name)}")
        if not 0 <= value <= mask(row.bits.width):
            raise ValueError(f"{value} does not fit field {name} ({row.bits.width} bits)")
        word = row.bits.put(word, value)
    return word


def decode(rows: tuple[BitRow, ...], word: int) -> dict[str, int]:
    """Every non-reserved field's value in `word`, lowest bits first."""
    return {row.name: row.bits.get(word) for row in rows if not row.reserved}


@dataclass(frozen=True, slots=True)
class RegisterWord:
    """A register word: its fields, which may differ between chip families.

    Attributes:
        name: the name drivers and headers use.
        meaning: one line.
        variants: (families, complete rows) pairs; the families of all pairs are disjoint.
        aliases: short names accepted on command lines.
        clearing: how the host clears it; empty when it does not.
        look_at: what to inspect next.
    """

    name: str
    meaning: str
    variants: tuple[tuple[tuple[Family, ...], tuple[BitRow, ...]], ...]
    aliases: tuple[str, ...] = ()
    clearing: str = ""
    look_at: str = ""

    @property
    def rows(self) -> tuple[BitRow, ...]:
        """The fields on Maxwell, the family the emulated SM belongs to by default."""
        return self.rows_for(Family.MAXWELL)

    def rows_for(self, family: Family) -> tuple[BitRow, ...]:
        """The fields on `family`.

        Raises:
            ValueError: the family does not have the register.
        """
        for families, rows in self.variants:
            if family in families:
                return rows
        raise ValueError(f"{self.name} is not known on {family}")

    @property
    def families(self) -> tuple[Family, ...]:
        """Every family that has the register."""
        return tuple(f for families, _ in self.variants for f in families)
