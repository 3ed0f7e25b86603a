"""The DWARF 2 of `-G` cubins, as NVRTC and ptxas write it: access, and what was inlined where.

Every function has a section of its own and all addresses are offsets in it; without relocations
each subprogram begins at 0, so a section is found by a subprogram's linkage name.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

from gpudbg.formats.program import Program

MAX_BYTES = 16 << 20
"""Of .debug_info that is read."""
MAX_DEPTH = 64
"""Of nested blocks and inlined calls."""
SHT_RELA, R_CUDA_64 = 4, 2
_RELOCATION = struct.Struct("<QQq")
"""Offset, symbol and kind, addend."""
SECTIONS = (".debug_info", ".debug_abbrev", ".debug_str")


class FunctionLines(NamedTuple):
    """Lines of a function: from its declaration to the next function's.

    Attributes:
        file: by its number in the line table.
        first, last: inclusive.
    """

    file: int
    first: int
    last: int

    def holds(self, file: int, line: int) -> bool:
        """Whether a line is one of them."""
        return self.file == file and self.first <= line <= self.last


class InlinedRange(NamedTuple):
    """Code that a call left in its caller.

    Attributes:
        low, high: offsets in the section, half-open.
        file: the call site's file by its number in the line table.
        line: the call site's line.
        function: the inlined function's linkage name, else its name.
        body: the inlined function's lines, and `caller` those of whoever calls it; None where
            they are not recorded.
    """

    low: int
    high: int
    file: int
    line: int
    function: str
    body: FunctionLines | None = None
    caller: FunctionLines | None = None

    def is_callers(self, file: int, line: int) -> bool:
        """Whether a line within the range is the caller's: its call, or what is passed to it."""
        if self.body is None or self.body.holds(file, line):
            return False
        called = (file, line) == (self.file, self.line)
        return called or (self.caller is not None and self.caller.holds(file, line))

    def is_own(self, file: int, line: int) -> bool:
        """Whether a line is the inlined function's and not its caller's."""
        if self.body is None or self.caller is None:
            return False
        return self.body.holds(file, line) and not self.caller.holds(file, line)


def dwarf_of(program: Program) -> DWARFInfo | None:
    """A program's debug information; None where it has none, or more than is read."""
    found = {n: relocated(program, n) for n in SECTIONS if n in program.sections}
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


def relocated(program: Program, name: str) -> bytes:
    """A section's bytes with the addends of its relocations: offsets in functions, of sections
    without an address.

    Up to sm_89 the bytes hold the same numbers.  From sm_90 on they are those from before ptxas
    made the code shorter, and the addends alone are right.
    """
    section = program.sections.get(name)
    if section is None:
        return b""
    data = bytearray(section.data)
    for table in program.sections.values():
        if table.type != SHT_RELA or table.info != section.index:
            continue
        whole = len(table.data) // _RELOCATION.size * _RELOCATION.size
        for offset, kind, addend in _RELOCATION.iter_unpack(table.data[:whole]):
            if kind & 0xFFFFFFFF == R_CUDA_64 and offset + 8 <= len(data):
                struct.pack_into("<q", data, offset, addend)
    return bytes(data)


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
        bodies = _bodies(info)
        found = {
            section: tuple(_inlined(die, bodies, bodies.get(linkage_name(die)), MAX_DEPTH))
            for section, die in subprograms(info)
        }
    except Exception:
        # A damaged section is as good as none: lines are still there.
        return {}
    return {section: rows for section, rows in found.items() if rows}


def _bodies(info: DWARFInfo) -> dict[str, FunctionLines]:
    """Lines of each function by its linkage name.

    A lambda's are its enclosing function's, too: that one is not ended by it.
    """
    begun: dict[int, list[tuple[int, str]]] = {}
    for unit in info.iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            line = number_of(die, "DW_AT_decl_line")
            if die.tag == "DW_TAG_subprogram" and line:
                file = number_of(die, "DW_AT_decl_file") or 0
                begun.setdefault(file, []).append((line, linkage_name(die)))
    return {
        name: FunctionLines(file, line, _last_line(name, [row for row in rows if row[0] > line]))
        for file, rows in begun.items()
        for line, name in rows
    }


def _last_line(name: str, later: Sequence[tuple[int, str]]) -> int:
    """The last line of a function before the next one that is not declared in it."""
    inner = f"_ZZ{len(name)}{name}" if not name.startswith("_Z") else f"_ZZ{name[2:]}"
    return min((line for line, other in later if not other.startswith(inner)), default=1 << 31) - 1


def _inlined(
    die: Any, bodies: Mapping[str, FunctionLines], caller: FunctionLines | None, depth: int
) -> Iterator[InlinedRange]:
    for child in die.iter_children() if depth else ():
        inner = caller
        if child.tag == "DW_TAG_inlined_subroutine":
            extent, function = extent_of(child), linkage_name(origin_of(child))
            inner = bodies.get(function)
            if extent is not None:
                file = number_of(child, "DW_AT_call_file") or 0
                line = number_of(child, "DW_AT_call_line") or 0
                yield InlinedRange(*extent, file, line, function, inner, caller)
        if child.tag in ("DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"):
            yield from _inlined(child, bodies, inner, depth - 1)
