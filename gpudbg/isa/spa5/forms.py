"""All instruction forms, compiled from the tables once, on first use."""

from __future__ import annotations

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


def mnemonics(arch: str = "sm_50") -> tuple[str, ...]:
    """Mnemonics of an architecture, sorted."""
    return tuple(sorted({f.op for f in all_forms() if arch in f.archs}))
