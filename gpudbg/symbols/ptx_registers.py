"""Where PTX registers are in the machine, by pc: `.nv_debug_info_reg_sass` of `-G` cubins.

For each function its linkage name, a count, and rows: which 32-bit piece of which PTX register lies
in which register of the machine, from a pc to another (offsets in the function's section).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from gpudbg.formats.program import Program

SECTION = ".nv_debug_info_reg_sass"
GENERAL, HALF, PREDICATE = 5, 4, 2
"""Classes of registers: R, a 16-bit half of one (2 R + 1 for the high half), P."""


class PieceRow(NamedTuple):
    """A piece of a PTX register for a stretch of code.

    Attributes:
        part: which 32 bits; 0 are the lowest.
        kind: the class of register it is in.
        number: of that register.
        low, high: offsets, half-open.
    """

    part: int
    kind: int
    number: int
    low: int
    high: int


Pieces = Mapping[str, Mapping[str, tuple[PieceRow, ...]]]


def read_pieces(program: Program) -> Pieces:
    """Function (linkage name) -> PTX register -> its rows.

    Of a damaged section there is what comes before the damage.
    """
    section = program.sections.get(SECTION)
    found: dict[str, dict[str, list[PieceRow]]] = {}
    if section is not None:
        try:
            _read(section.data, found)
        except (ValueError, struct.error):
            pass
    return {f: {n: tuple(rows) for n, rows in names.items()} for f, names in found.items()}


def width_of(name: str) -> int | None:
    """How many bytes a PTX register holds, by its name; None of a predicate and other names."""
    return next((size for prefix, size in _WIDTHS.items() if _numbered(name, prefix)), None)


_WIDTHS = {"%rs": 2, "%h": 2, "%r": 4, "%f": 4, "%rd": 8, "%fd": 8}
"""Prefixes of the names that the compiler gives registers; `%h` are halves."""


def _numbered(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name[len(prefix) :].isdigit()


def _read(data: bytes, found: dict[str, dict[str, list[PieceRow]]]) -> None:
    at = 0
    while at < len(data):
        function, at = _string(data, at)
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
        rows = found.setdefault(function, {})
        for _ in range(count):
            (part,) = struct.unpack_from("<I", data, at)
            name, at = _string(data, at + 4)
            register, low, high = struct.unpack_from("<3I", data, at)
            at += 12
            piece = PieceRow(part, register >> 24, register & 0xFFFFFF, low, high)
            rows.setdefault(name, []).append(piece)


def _string(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode("latin-1"), end + 1
