"""All instruction forms, compiled from the tables once, on first use."""

from __future__ import annotations

import re
from functools import cache

from . import (
    forms_float,
    forms_flow,
    forms_gfx,
    forms_half,
    forms_int,
    forms_mem,
    forms_surf,
    forms_tex,
    forms_video,
)
from .spec import Form, parse_table

_TABLES = (
    forms_int,
    forms_float,
    forms_half,
    forms_video,
    forms_mem,
    forms_surf,
    forms_tex,
    forms_flow,
    forms_gfx,
)


@cache
def all_forms() -> tuple[Form, ...]:
    """Every form of every family and architecture."""
    return tuple(form for module in _TABLES for form in parse_table(module.TABLE, module.OPTIONS))


# A modifier field; an operand that is a name, unless a modifier is called after it; such a
# modifier; modifiers that the form implies.
_NAMES = re.compile(r"\.([\w+]+)[@!]|(\w+):N=[^,|\s]++(?! [^,|]*=)|\s=(\w+)|means=(\S+)")


def modifier_names() -> frozenset[str]:
    """Every modifier name of the tables, from their text: no form has to be compiled for it."""
    out: set[str] = set()
    for module in _TABLES:
        for fields, slot, export, means in _NAMES.findall(f"{module.OPTIONS} {module.TABLE}"):
            out |= {*fields.split("+"), slot, export}
            out |= {fixed.partition(":")[0] for fixed in means.split(",")}
    return frozenset(out - {""})


def mnemonics(arch: str = "sm_50") -> tuple[str, ...]:
    """Mnemonics of an architecture, sorted."""
    return tuple(sorted({f.op for f in all_forms() if arch in f.archs}))
