"""The integer suite: every module's variants."""

from __future__ import annotations

from tests.ptxgen import (
    int_arith,
    int_atomic,
    int_bits,
    int_control,
    int_memory,
    int_video,
    int_warp,
)
from tests.ptxgen.case import Variant

MODULES = (int_arith, int_atomic, int_bits, int_control, int_memory, int_video, int_warp)


def variants() -> list[Variant]:
    """All integer variants, in module order; a form met twice counts once."""
    found: dict[tuple[str, str], Variant] = {}
    for module in MODULES:
        for variant in module.variants():
            found.setdefault((variant.group, variant.entry), variant)
    return list(found.values())
