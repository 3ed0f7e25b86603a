"""construct view of register words, built from the same rows as the masks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from construct import BitsInteger, BitStruct

from gpudbg.regs.port import ALL_WORDS
from gpudbg.regs.special import SPECIAL_REGISTERS
from gpudbg.regs.words import BitRow, Family


def field_key(row: BitRow) -> str:
    """A name unique within its word: reserved rows carry their bits."""
    return f"reserved_{row.bits.hi}_{row.bits.lo}" if row.reserved else row.name


@cache
def word_schema(rows: tuple[BitRow, ...]) -> Any:
    """The construct of a word whose `rows` tile it; parses and builds big-endian bytes."""
    ordered = sorted(rows, key=lambda row: row.bits.lo, reverse=True)
    return BitStruct(*(field_key(row) / BitsInteger(row.bits.width) for row in ordered))


def parse_word(rows: tuple[BitRow, ...], word: int) -> dict[str, int]:
    """Every field of `word` through construct, reserved ones included, lowest bits first."""
    size = sum(row.bits.width for row in rows) // 8
    parsed = word_schema(rows).parse(word.to_bytes(size, "big"))
    return {field_key(row): int(parsed[field_key(row)]) for row in rows}


def build_word(rows: tuple[BitRow, ...], values: Mapping[str, int]) -> int:
    """The word with the given fields, missing ones zero, through construct."""
    filled = {field_key(row): values.get(field_key(row), 0) for row in rows}
    return int.from_bytes(word_schema(rows).build(filled), "big")


def all_row_sets() -> dict[str, tuple[BitRow, ...]]:
    """Every distinct word of the package: special registers (both SPA forms) and port words."""
    sets: dict[str, tuple[BitRow, ...]] = {}
    for register in SPECIAL_REGISTERS:
        for spa in ("5.0", "5.3"):
            sets[f"{register.name} SPA {spa}"] = register.fields(spa)
    for word in ALL_WORDS:
        for family in Family:
            if family in word.families:
                sets[f"{word.name} {family}"] = word.rows_for(family)
    return sets
