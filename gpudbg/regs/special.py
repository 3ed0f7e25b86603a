"""The special registers SR0..SR255 of SPA 5.x: the whole table and its look-ups.

Source: the S2R/CS2R register table (SPA 5.0 text with its remarks on 5.3); names in capitals are
what the disassembler prints (nvdisasm 12.4, read back from S2R words for all 256 numbers).
Unimplemented registers and unused bits read zero; CS2R of an uncoupled register gives zero.
"""

from __future__ import annotations

import difflib

from gpudbg.regs.register_words import WORDS
from gpudbg.regs.special_types import (
    DEFAULT_SPA,
    SR_COUNT,
    RegisterScope,
    Shaders,
    SpecialRegister,
    disassembler_name,
    parse_spa,
)
from gpudbg.regs.table_reader import TableBlock, TableLine, blocks, field_rows
from gpudbg.regs.words import complete

__all__ = [
    "DEFAULT_SPA",
    "SPECIAL_REGISTERS",
    "SR_COUNT",
    "RegisterScope",
    "Shaders",
    "SpecialRegister",
    "coupled_numbers",
    "disassembler_name",
    "find_special",
    "nearest_special",
    "parse_spa",
]

_RESERVED_NOTES = {
    67: "by its name a read-and-clear alias of SR_WarpErrorStatus; reads zero as reserved",
}


def _reserved(number: int) -> SpecialRegister:
    """The row of a number the table gives no register."""
    names = dict.fromkeys(disassembler_name(number, arch) for arch in ("sm_50", "sm_52", "sm_60"))
    named = [name for name in names if name != f"SR{number}"]
    notes = []
    if named:
        notes.append(f"reserved in the source; the disassembler prints {' / '.join(named)}")
    if number in _RESERVED_NOTES:
        notes.append(_RESERVED_NOTES[number])
    return SpecialRegister(
        number,
        f"SR{number}",
        None,
        False,
        None,
        complete(()),
        reserved=True,
        note="; ".join(notes),
    )


def _named(block: TableBlock) -> SpecialRegister:
    """A row of the table."""
    head = block.head
    number, name, scope, shaders, *flags = head.words
    word, constant = head.options.get("fields"), head.options.get("constant")
    parts: list[list[TableLine]] = [[]]
    for line in block.body:
        if line.words[0] == "before":
            parts.append([])
        else:
            parts[-1].append(line)
    return SpecialRegister(
        int(number),
        name,
        RegisterScope[scope.upper()],
        "coupled" in flags,
        Shaders[shaders.upper()],
        WORDS[word].rows if word else field_rows(parts[0]),
        field_rows(parts[1]) if len(parts) > 1 else None,
        constant=int(constant, 0) if constant else None,
        note=head.text(),
        aliases=head.names("aka"),
    )


def _build() -> tuple[SpecialRegister, ...]:
    by_number = {row.number: row for row in map(_named, blocks("special"))}
    return tuple(by_number.get(n) or _reserved(n) for n in range(SR_COUNT))


SPECIAL_REGISTERS: tuple[SpecialRegister, ...] = _build()
"""All 256, index = number."""


def _names() -> dict[str, SpecialRegister]:
    names: dict[str, SpecialRegister] = {}
    for row in SPECIAL_REGISTERS:
        printed = (disassembler_name(row.number, arch) for arch in ("sm_50", "sm_52", "sm_60"))
        for name in (row.name, f"SR{row.number}", *row.aliases, *printed):
            names.setdefault(name.upper(), row)
    return names


_BY_NAME = _names()


def find_special(name_or_number: str | int) -> SpecialRegister | None:
    """The register of a number (`33`, `"33"`, `"SR33"`) or a name, in any case, `SR_` optional."""
    if isinstance(name_or_number, int):
        number = name_or_number
        return SPECIAL_REGISTERS[number] if 0 <= number < SR_COUNT else None
    text = name_or_number.strip().upper()
    if text.isascii() and text.isdecimal():
        return find_special(int(text)) if len(text) <= 3 else None
    return _BY_NAME.get(text) or _BY_NAME.get("SR_" + text)


def nearest_special(name: str, count: int = 3) -> tuple[str, ...]:
    """Register names that look like `name`, best first."""
    close = difflib.get_close_matches(name.strip().upper(), _BY_NAME, n=count * 3, cutoff=0.5)
    return tuple(dict.fromkeys(_BY_NAME[c].name for c in close))[:count]


def coupled_numbers() -> frozenset[int]:
    """SR numbers CS2R can read; every other reads zero through CS2R."""
    return frozenset(row.number for row in SPECIAL_REGISTERS if row.coupled)
