"""Types of module variables from the DWARF 2 of `-G` builds, by linkage name."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

from gpudbg.expr.types import (
    I32,
    TYPES,
    U8,
    U32,
    Array,
    CType,
    Pointer,
    Scalar,
    Struct,
    StructField,
)
from gpudbg.formats.program import Program

MAX_BYTES = 16 << 20
"""Of .debug_info that is read."""
MAX_DEPTH = 24
MAX_FIELDS = 4096

_KINDS = {
    (2, 1): "bool",
    (4, 4): "f32", (4, 8): "f64", (4, 2): "f16",
    **{(code, size): f"s{size * 8}" for code in (5, 6) for size in (1, 2, 4, 8)},
    **{(code, size): f"u{size * 8}" for code in (7, 8) for size in (1, 2, 4, 8)},
}  # fmt: skip
"""DW_AT_encoding and bytes -> a type of expressions."""
_SAME = ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_typedef", "DW_TAG_restrict_type")


def read_variable_types(program: Program) -> dict[str, CType]:
    """The types of a program's file-scope variables; empty without (readable) DWARF."""
    try:
        return dict(_variables(program))
    except Exception:
        # A damaged section is as good as none: symbols and sizes are still there.
        return {}


def _variables(program: Program) -> Iterator[tuple[str, CType]]:
    info = _dwarf(program)
    if info is None:
        return
    for unit in info.iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            if die.tag != "DW_TAG_variable":
                continue
            name = _text(die, "DW_AT_MIPS_linkage_name") or _text(die, "DW_AT_name")
            type_ = _type_of(die, MAX_DEPTH)
            if name and type_ is not None:
                yield name, type_


def _dwarf(program: Program) -> DWARFInfo | None:
    names = (".debug_info", ".debug_abbrev", ".debug_str")
    found = {n: program.sections[n].data for n in names if n in program.sections}
    if ".debug_info" not in found or len(found[".debug_info"]) > MAX_BYTES:
        return None

    def section(name: str) -> DebugSectionDescriptor | None:
        data = found.get(name)
        if data is None:
            return None
        return DebugSectionDescriptor(io.BytesIO(data), name, 0, len(data), 0)

    fields: dict[str, Any] = {}
    for key in DWARFInfo.__init__.__code__.co_varnames[2 : DWARFInfo.__init__.__code__.co_argcount]:
        fields[key] = section("." + key.removesuffix("_sec"))
    return DWARFInfo(DwarfConfig(True, "CUDA", 8), **fields)


def _text(die: Any, name: str) -> str:
    found = die.attributes.get(name)
    return found.value.decode("utf-8", "replace") if found is not None else ""


def _number(die: Any, name: str) -> int | None:
    found = die.attributes.get(name)
    return found.value if found is not None and isinstance(found.value, int) else None


def _type_of(die: Any, depth: int) -> CType | None:
    if depth <= 0 or "DW_AT_type" not in die.attributes:
        return None
    return _type(die.get_DIE_from_attribute("DW_AT_type"), depth)


def _type(die: Any, depth: int) -> CType | None:
    if die.tag in _SAME:
        return _type_of(die, depth - 1)
    reader = _READERS.get(die.tag)
    return reader(die, depth - 1) if reader is not None else None


def _base(die: Any, depth: int) -> CType | None:
    key = (_number(die, "DW_AT_encoding") or 0, _number(die, "DW_AT_byte_size") or 0)
    return TYPES.get(_KINDS.get(key, ""))


def _pointer(die: Any, depth: int) -> CType:
    target = die.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in die.attributes else None
    while target is not None and target.tag in _SAME and "DW_AT_type" in target.attributes:
        target = target.get_DIE_from_attribute("DW_AT_type")
    if target is not None and target.tag in ("DW_TAG_structure_type", "DW_TAG_union_type"):
        # Lists and trees point at their own kind: one level is followed.
        found = _structure(target, min(depth, 2)) if depth > 2 else None
    else:
        found = _type(target, depth) if target is not None else None
    return Pointer("generic", found if found is not None else U8)


def _structure(die: Any, depth: int) -> CType | None:
    size = _number(die, "DW_AT_byte_size")
    rows: list[StructField] = []
    for child in die.iter_children():
        if child.tag != "DW_TAG_member" or len(rows) >= MAX_FIELDS:
            continue
        type_ = _type_of(child, depth)
        if type_ is None or "DW_AT_bit_size" in child.attributes:
            return None
        rows.append(StructField(_text(child, "DW_AT_name"), type_, _offset(child)))
    if size is None or not rows:
        return None
    return Struct(_text(die, "DW_AT_name") or "struct {...}", tuple(rows), size)


def _offset(member: Any) -> int:
    """DW_AT_data_member_location: a number, or `DW_OP_plus_uconst n`."""
    found = member.attributes.get("DW_AT_data_member_location")
    if found is None:
        return 0
    if isinstance(found.value, int):
        return found.value
    value = 0
    for n, byte in enumerate(found.value[1:]):
        value |= (byte & 0x7F) << 7 * n
    return value


def _array(die: Any, depth: int) -> CType | None:
    type_ = _type_of(die, depth)
    counts = []
    for child in die.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            last = _number(child, "DW_AT_upper_bound")
            count = _number(child, "DW_AT_count")
            counts.append(count if count is not None else None if last is None else last + 1)
    if type_ is None or not counts or not all(counts):
        return None
    for count in reversed(counts):
        type_ = Array(type_, count or 1)
    return type_


def _enumeration(die: Any, depth: int) -> CType | None:
    size = _number(die, "DW_AT_byte_size") or 4
    values = (_number(c, "DW_AT_const_value") or 0 for c in die.iter_children())
    signed = any(v < 0 for v in values)
    base = TYPES.get(f"{'s' if signed else 'u'}{size * 8}", I32 if signed else U32)
    return Scalar(_text(die, "DW_AT_name") or base.name, base.kind, base.size)


_READERS = {
    "DW_TAG_base_type": _base,
    "DW_TAG_pointer_type": _pointer,
    "DW_TAG_reference_type": _pointer,
    "DW_TAG_structure_type": _structure,
    "DW_TAG_union_type": _structure,
    "DW_TAG_array_type": _array,
    "DW_TAG_enumeration_type": _enumeration,
}
