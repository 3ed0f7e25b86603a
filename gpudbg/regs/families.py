"""Which chip generation an architecture is, and how its debugger registers lie."""

from __future__ import annotations

import functools
import re

from gpudbg.regs.port import LAYOUTS, REPORT_MASKS, PortAddressLayout
from gpudbg.regs.words import Family

_FAMILY_OF_MAJOR = {
    2: Family.FERMI,
    3: Family.KEPLER,
    5: Family.MAXWELL,
    6: Family.PASCAL,
    8: Family.AMPERE,
    9: Family.HOPPER,
    10: Family.BLACKWELL,
    11: Family.BLACKWELL,
    12: Family.BLACKWELL,
}
_ARCH = re.compile(r"sm_(\d{2,3})[af]?")


def version_of(arch: str) -> tuple[int, int] | None:
    """(9, 0) for sm_90 and sm_90a; None for what is no architecture."""
    found = _ARCH.fullmatch(arch)
    return divmod(int(found[1]), 10) if found else None


def family_of(arch: str) -> Family | None:
    """The generation of an architecture; None where it is not known.  sm_89 counts as Ampere, whose
    multiprocessors and registers it has."""
    version = version_of(arch)
    if version is None:
        return None
    if version[0] == 7:
        return Family.TURING if version[1] == 5 else Family.VOLTA
    return _FAMILY_OF_MAJOR.get(version[0])


@functools.cache
def port_layout(arch: str) -> PortAddressLayout:
    """Where an architecture's debugger registers lie."""
    family = family_of(arch)
    return next((layout for layout in LAYOUTS if family in layout.families), LAYOUTS[0])


@functools.cache
def report_masks(arch: str) -> tuple[int, int]:
    """(warp, global) report masks as drivers set them; of Ampere's later chips those of GA102."""
    family, version = family_of(arch), version_of(arch)
    rows = [row for row in REPORT_MASKS if row.who == "NVRM" and family in row.families]
    if family is Family.AMPERE:
        chip = "GA100" if version == (8, 0) else "GA102"
        rows = [row for row in rows if chip in row.chips]
    row = rows[0]
    return row.warp, row.globals
