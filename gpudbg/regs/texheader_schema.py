"""construct view of texture headers and samplers, built from the same rows as the masks."""

from __future__ import annotations

from functools import cache
from typing import Any

from construct import BitsInteger, BitStruct

from gpudbg.regs.texfields import HEADER_BYTES, LAYOUTS, SAMPLER_ROWS, HeaderField

SCHEMAS = (*LAYOUTS, "SAMPLER")
"""Names that `header_schema` knows."""


def rows_of(layout: str) -> tuple[HeaderField, ...]:
    """The rows of a header layout, or of "SAMPLER"."""
    return SAMPLER_ROWS if layout == "SAMPLER" else LAYOUTS[layout]


@cache
def header_schema(layout: str) -> Any:
    """The construct of a layout; parses and builds 32 big-endian bytes."""
    rows = sorted(rows_of(layout), key=lambda row: row.bits.lo, reverse=True)
    return BitStruct(*(row.name / BitsInteger(row.bits.width) for row in rows))


def parse(layout: str, value: int) -> dict[str, int]:
    """Every field of 256 bits through construct, reserved ones included, lowest bits first."""
    parsed = header_schema(layout).parse(value.to_bytes(HEADER_BYTES, "big"))
    return {row.name: int(parsed[row.name]) for row in rows_of(layout)}


def build(layout: str, values: dict[str, int]) -> int:
    """The 256 bits with the given fields, missing ones zero, through construct."""
    filled = {row.name: values.get(row.name, 0) for row in rows_of(layout)}
    return int.from_bytes(header_schema(layout).build(filled), "big")
