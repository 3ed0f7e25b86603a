"""Names of special registers: `NUMBER NAME[ ARCHS]` in `tables/sregs.tbl`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_UNNAMED = re.compile(r"SR(\d{1,4})")
_NUMBERS = 256


@cache
def special_names(tables: str) -> dict[int, str]:
    """Number to name for the tables of an architecture ("80")."""
    out = {}
    text = (files(__package__) / "tables" / "sregs.tbl").read_text(encoding="utf-8")
    for line in text.splitlines():
        number, name, *archs = line.split()
        if not archs or tables in archs[0].split(","):
            out[int(number)] = name
    return out


def special_name(number: int, tables: str) -> str:
    """The name nvdisasm prints; `SRn` for a number without one."""
    return special_names(tables).get(number, f"SR{number}")


@cache
def _numbers(tables: str) -> dict[str, int]:
    return {name.upper(): number for number, name in special_names(tables).items()}


def special_number(name: str, tables: str) -> int | None:
    """The number of a name; None for a name that the architecture does not have."""
    known = _numbers(tables).get(name.upper())
    if known is not None:
        return known
    found = _UNNAMED.fullmatch(name)
    return int(found[1]) if found and int(found[1]) < _NUMBERS else None
