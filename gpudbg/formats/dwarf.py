"""The DWARF 2 of `-G` cubins, as NVRTC and ptxas write it: access, and what was inlined where.

Every function has a section of its own and all addresses are offsets in it; without relocations
each subprogram begins at 0, so a section is found by a subprogram's linkage name.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

from gpudbg.formats.program import Program

MAX_BYTES = 16 << 20
"""Of .debug_info that is read."""
MAX_DEPTH = 64
"""Of nested blocks and inlined calls."""
SECTIONS = (".debug_info", ".debug_abbrev", ".debug_str")


class InlinedRange(NamedTuple):
    """Code that a call left in its caller.

    Attributes:
        low, high: offsets in the section, half-open.
        file: the call site's file by its number in the line table.
        line: the call site's line.
        function: the inlined function's linkage name, else its name.
    """

    low: int
    high: int
    file: int
    line: int
    function: str


def dwarf_of(program: Program) -> DWARFInfo | None:
    """A program's debug information; None where it has none, or more than is read."""
    found = {n: program.sections[n].data for n in SECTIONS if n in program.sections}
    if ".debug_info" not in found or len(found[".debug_info"]) > MAX_BYTES:
        return None

    def section(name: str) -> DebugSectionDescriptor | None:
        data = found.get(name)
        if data is None:
            return None
        return DebugSectionDescriptor(io.BytesIO(data), name, 0, len(data), 0)

    code = DWARFInfo.__init__.__code__
    keys = code.co_varnames[2 : code.co_argcount]
    fields: dict[str, Any] = {key: section("." + key.removesuffix("_sec")) for key in keys}
    return DWARFInfo(DwarfConfig(True, "CUDA", 8), **fields)


def text_of(die: Any, name: str) -> str:
    """An attribute that is a string; "" where it is not there."""
    found = die.attributes.get(name)
    return found.value.decode("utf-8", "replace") if found is not None else ""


def number_of(die: Any, name: str) -> int | None:
    """An attribute that is a number; None where it is not there."""
    found = die.attributes.get(name)
    return found.value if found is not None and isinstance(found.value, int) else None


def linkage_name(die: Any) -> str:
    """A function's or variable's mangled name, else its name."""
    return text_of(die, "DW_AT_MIPS_linkage_name") or text_of(die, "DW_AT_name")


def origin_of(die: Any) -> Any:
    """The DIE that an inlined copy stands for; itself where it is no copy."""
    if "DW_AT_abstract_origin" in die.attributes:
        return die.get_DIE_from_attribute("DW_AT_abstract_origin")
    return die


def extent_of(die: Any) -> tuple[int, int] | None:
    """(low, high) offsets of a DIE with code; DWARF 2 writes both as addresses."""
    low, high = number_of(die, "DW_AT_low_pc"), number_of(die, "DW_AT_high_pc")
    return (low, high) if low is not None and high is not None and low < high else None


def subprograms(info: DWARFInfo) -> Iterator[tuple[str, Any]]:
    """Functions with code: the section each has, and its DIE."""
    for unit in info.iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            if die.tag == "DW_TAG_subprogram" and extent_of(die) is not None:
                yield f".text.{linkage_name(die)}", die


def inlined_ranges(program: Program) -> Mapping[str, tuple[InlinedRange, ...]]:
    """Inlined calls by section, callers first; empty without (readable) DWARF."""
    try:
        info = dwarf_of(program)
        if info is None:
            return {}
        found = {section: tuple(_inlined(die, MAX_DEPTH)) for section, die in subprograms(info)}
    except Exception:
        # A damaged section is as good as none: lines are still there.
        return {}
    return {section: rows for section, rows in found.items() if rows}


def _inlined(die: Any, depth: int) -> Iterator[InlinedRange]:
    for child in die.iter_children() if depth else ():
        if child.tag == "DW_TAG_inlined_subroutine":
            extent = extent_of(child)
            if extent is not None:
                file, line = (
                    number_of(child, "DW_AT_call_file"),
                    number_of(child, "DW_AT_call_line"),
                )
                yield InlinedRange(*extent, file or 0, line or 0, linkage_name(origin_of(child)))
        if child.tag in ("DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"):
            yield from _inlined(child, depth - 1)
