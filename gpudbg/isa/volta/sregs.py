"""Names of special registers: `NUMBER NAME[ ARCHS]` in `tables/sregs.tbl`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


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
