"""Types of module variables from the DWARF 2 of `-G` builds, by linkage name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from gpudbg.expr.types import (
    I32,
    NOTHING,
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
from gpudbg.formats.dwarf import dwarf_of, linkage_name, number_of, text_of
from gpudbg.formats.lines import numbered_file
from gpudbg.formats.program import Program
from gpudbg.symbols.mangled import short_name

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


_MADE: WeakKeyDictionary[Any, dict[int, Struct | None]] = WeakKeyDictionary()
"""Structures by the place of their description, for each file's debug information."""


def readable_name(name: str) -> str:
    """A type's or enumerator's name: those of templates, lambdas and scoped enumerations are
    mangled (`_Z3BoxIiE`)."""
    return short_name(name) if name.startswith("_Z") else name


def _member_name(name: str) -> str:
    """A member's name; that of a base class (`__b_4Base`, `__b_N2ns4BaseE`) as gdb shows it:
    `<Base>`, `<ns::Base>`."""
    base = name.removeprefix("__b_")
    mangled = base != name and re.match(r"\d|N\d", base) is not None
    return f"<{readable_name('_Z' + base)}>" if mangled else name


def read_variable_types(program: Program) -> dict[str, CType]:
    """The types of a program's file-scope variables; empty without (readable) DWARF.

    One whose extent is not declared is an array of no elements.
    """
    try:
        return dict(_variables(program))
    except Exception:
        # A damaged section is as good as none: symbols and sizes are still there.
        return {}


def _variables(program: Program) -> Iterator[tuple[str, CType]]:
    info = dwarf_of(program)
    if info is None:
        return
    for unit in info.iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            if die.tag != "DW_TAG_variable":
                continue
            name, type_ = linkage_name(die), type_of(die) or _unsized(die)
            if name and type_ is not None:
                yield name, type_


def _unsized(die: Any) -> Array | None:
    """An array whose first extent is not declared (`extern __shared__ float x[]`), of 0 elements;
    None where a DIE describes none."""
    array = _target(die)
    while array is not None and array.tag in _SAME:
        array = _target(array)
    if array is None or array.tag != "DW_TAG_array_type":
        return None
    element, (first, *inner) = type_of(array), _counts(array) or [1]
    if element is None or first is not None or not all(inner):
        return None
    for count in reversed(inner):
        element = Array(element, count or 1)
    return Array(element, 0)


class DeclaredVariable(NamedTuple):
    """A file-scope variable: its linkage name, its type, and where it is declared.

    Attributes:
        file: as the compiler wrote it; line: 0 where it is not recorded.
    """

    symbol: str
    type: CType | None
    file: str
    line: int


def declared_variables(program: Program) -> list[DeclaredVariable]:
    """The file-scope variables of a program; none without (readable) DWARF."""
    try:
        return list(_declared(program))
    except Exception:
        # As for types.
        return []


def _declared(program: Program) -> Iterator[DeclaredVariable]:
    info = dwarf_of(program)
    for unit in info.iter_CUs() if info is not None else ():
        for die in unit.get_top_DIE().iter_children():
            if die.tag == "DW_TAG_variable":
                file = number_of(die, "DW_AT_decl_file") or 0
                line = number_of(die, "DW_AT_decl_line") or 0
                yield DeclaredVariable(
                    linkage_name(die), type_of(die), numbered_file(program, file), line
                )


class NamedTypes:
    """The types that a program's debug information names; the names are read when first asked."""

    def __init__(self, program: Program) -> None:
        self._info = dwarf_of(program)
        self._dies: dict[str, Any] | None = None

    def find(self, name: str) -> CType | None:
        """The type of a name, with or without its namespaces; None where there is none."""
        try:
            if self._dies is None:
                self._dies = dict(self._read())
            found = self._dies.get(name)
            return None if found is None else _type(found, MAX_DEPTH)
        except Exception:
            # As for variables: damaged tables name nothing.
            self._dies = self._dies or {}
            return None

    def _read(self) -> Iterator[tuple[str, Any]]:
        for unit in self._info.iter_CUs() if self._info is not None else ():
            for die in _named(unit.get_top_DIE(), MAX_DEPTH):
                whole = readable_name(text_of(die, "DW_AT_name")).replace(" ", "")
                yield whole, die
                if "<" not in whole:
                    yield whole.rpartition("::")[2], die


class Enumerators:
    """The enumerators that a program's debug information names; read when first asked."""

    def __init__(self, program: Program) -> None:
        self._info = dwarf_of(program)
        self._rows: dict[str, tuple[int, Any]] | None = None

    def find(self, name: str) -> tuple[int, CType] | None:
        """Value and type of `RED`, `Mode::busy`; None where there is none."""
        try:
            if self._rows is None:
                self._rows = dict(self._read())
            found = self._rows.get(name)
            type_ = None if found is None else _type(found[1], MAX_DEPTH)
        except Exception:
            # As for variables: damaged tables name nothing.
            self._rows = self._rows or {}
            return None
        return None if found is None or type_ is None else (found[0], type_)

    def _read(self) -> Iterator[tuple[str, tuple[int, Any]]]:
        for unit in self._info.iter_CUs() if self._info is not None else ():
            for die in _named(unit.get_top_DIE(), MAX_DEPTH, anonymous=True):
                if die.tag != "DW_TAG_enumeration_type":
                    continue
                owner = readable_name(text_of(die, "DW_AT_name"))
                for child in itertools.islice(die.iter_children(), MAX_FIELDS):
                    name = readable_name(text_of(child, "DW_AT_name"))
                    row = number_of(child, "DW_AT_const_value") or 0, die
                    yield name, row
                    # `cfg::low` is also `cfg::Level::low`.
                    scope, _, last = name.rpartition("::")
                    if scope != owner and owner:
                        yield f"{owner}::{last}", row


def _named(die: Any, depth: int, anonymous: bool = False) -> Iterator[Any]:
    """Descriptions of types with a name below one, in namespaces and structures, too."""
    for child in die.iter_children() if depth else ():
        if child.tag in _READERS or child.tag == "DW_TAG_typedef":
            named = anonymous or "DW_AT_name" in child.attributes
            if named and "DW_AT_declaration" not in child.attributes:
                yield child
        if child.tag in _INSIDE:
            yield from _named(child, depth - 1, anonymous)


_REFERENCES = ("DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
_INSIDE = ("DW_TAG_namespace", "DW_TAG_structure_type", "DW_TAG_union_type")


def type_of(die: Any) -> CType | None:
    """The type of what a DIE describes; None where it is none that expressions have."""
    return _type_of(die, MAX_DEPTH)


def is_reference(die: Any) -> bool:
    """Whether what a DIE describes is a C++ reference."""
    while "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
        if die.tag not in _SAME:
            return die.tag in _REFERENCES
    return False


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
    key = (number_of(die, "DW_AT_encoding") or 0, number_of(die, "DW_AT_byte_size") or 0)
    return TYPES.get(_KINDS.get(key, ""))


def _pointer(die: Any, depth: int) -> CType:
    found, target = _type_of(die, depth), _target(die)
    kind = NOTHING if _without_names(target) is None else found if found is not None else U8
    return Pointer("generic", kind, _function_text(die, depth), _is_const(target))


def _is_const(die: Any) -> bool:
    """Whether a type says `const` of itself, in a typedef or by what it is an array of."""
    while die is not None and die.tag in (*_SAME, "DW_TAG_array_type"):
        if die.tag == "DW_TAG_const_type":
            return True
        die = _target(die)
    return False


def _without_names(die: Any) -> Any:
    """A type without typedefs and qualifiers; None of `void`."""
    while die is not None and die.tag in _SAME:
        die = _target(die)
    return None if die is None or die.tag == "DW_TAG_unspecified_type" else die


def _function_text(die: Any, depth: int) -> str:
    """`int (*)(int, float)` of a pointer to a function; empty of others."""
    target = _target(die)
    if target is None or target.tag != "DW_TAG_subroutine_type" or depth <= 0:
        return ""
    return _spelled(target, "(*)", depth - 1)


# ---- types as sources write them -----------------------------------------------------------
_QUALIFIERS = {"DW_TAG_const_type": "const", "DW_TAG_volatile_type": "volatile"}
_SIGNS = {
    "DW_TAG_pointer_type": "*",
    "DW_TAG_reference_type": "&",
    "DW_TAG_rvalue_reference_type": "&&",
}
_AROUND = ("DW_TAG_array_type", "DW_TAG_subroutine_type")
"""What stands behind the name of what is declared: a pointer to it needs parentheses."""


def function_type(die: Any) -> str:
    """A function's type as gdb writes it: `int (const P * const, float)`."""
    return _signature(die, "", MAX_DEPTH)


def _target(die: Any) -> Any:
    """The DIE of a type that another one is made from; None for `void`."""
    return die.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in die.attributes else None


def _signature(die: Any, inner: str, depth: int) -> str:
    """`result inner(parameters)` of a function or a function's type."""
    parameters = [
        _spelled(_target(child), "", depth - 1)
        for child in itertools.islice(die.iter_children(), MAX_FIELDS)
        if child.tag == "DW_TAG_formal_parameter"
    ]
    return _spelled(_target(die), f"{inner}({', '.join(parameters) or 'void'})", depth - 1)


def _spelled(die: Any, inner: str, depth: int) -> str:
    """A type around what it declares (`*` of a pointer, `[4]` of an array), in C's syntax."""
    if depth <= 0:
        return "..."
    if die is None or die.tag == "DW_TAG_unspecified_type":
        return f"void {inner}".rstrip()
    words: list[str] = []
    while die is not None and die.tag in _QUALIFIERS:
        words.append(_QUALIFIERS[die.tag])
        die = _target(die)
    if words:
        qualifiers = " ".join(sorted(words))
        if die is not None and die.tag in _SIGNS:
            return _spelled(die, f" {qualifiers} {inner}".rstrip(), depth - 1)
        return f"{qualifiers} {_spelled(die, inner, depth - 1)}"
    if die.tag in _SIGNS:
        target, sign = _target(die), _SIGNS[die.tag] + inner
        around = target is not None and target.tag in _AROUND
        return _spelled(target, f"({sign})" if around else sign, depth - 1)
    if die.tag == "DW_TAG_array_type":
        sizes = "".join(f"[{count or ''}]" for count in _counts(die))
        return _spelled(_target(die), inner + sizes, depth - 1)
    if die.tag == "DW_TAG_subroutine_type":
        return _signature(die, inner, depth - 1)
    name = readable_name(text_of(die, "DW_AT_name")) or "{...}"
    return f"{name} {inner}".rstrip()


def _structure(die: Any, depth: int) -> CType | None:
    """A structure's type, made once: it may point at its own kind."""
    known = _MADE.setdefault(die.dwarfinfo, {})
    if die.offset not in known:
        size = number_of(die, "DW_AT_byte_size")
        keyword = "union" if die.tag == "DW_TAG_union_type" else "struct"
        name = readable_name(text_of(die, "DW_AT_name")) or f"{keyword} {{...}}"
        made = known[die.offset] = None if size is None else Struct(name, (), size, keyword)
        fields = None if size is None else _fields(die, size, depth)
        if fields is not None and "DW_AT_declaration" not in die.attributes:
            object.__setattr__(made, "fields", fields)
        else:
            known[die.offset] = None
    return known[die.offset]


def _fields(die: Any, size: int, depth: int) -> tuple[StructField, ...] | None:
    """A structure's members; None where the type of one is none that expressions have."""
    rows: list[StructField] = []
    for child in die.iter_children():
        if child.tag != "DW_TAG_member" or len(rows) >= MAX_FIELDS:
            continue
        row = _member(child, depth)
        # Damaged tables: a member lies inside of its structure.
        if row is None or not 0 <= row.offset <= size - row.type.size:
            return None
        rows.append(row)
    return tuple(rows)


def _member(die: Any, depth: int) -> StructField | None:
    type_, name = _type_of(die, depth), _member_name(text_of(die, "DW_AT_name"))
    width = number_of(die, "DW_AT_bit_size")
    if type_ is None or width is None:
        if type_ is None:
            return None
        return StructField(name, type_, _offset(die), reference=is_reference(die))
    # DWARF 2 counts bits from the highest one of the number that holds them.
    size = number_of(die, "DW_AT_byte_size") or type_.size
    if not isinstance(type_, Scalar) or width <= 0 or size not in (1, 2, 4, 8):
        return None
    shift = 8 * size - (number_of(die, "DW_AT_bit_offset") or 0) - width
    if type_.kind == "b" and size == 1 and shift >= 0:
        return StructField(name, type_, _offset(die), (shift, width))
    kind = "s" if type_.kind == "i" else "u"
    held = replace(TYPES[f"{kind}{8 * size}"], name=type_.name, names=type_.names)
    return StructField(name, held, _offset(die), (shift, width)) if shift >= 0 else None


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
    type_, counts = _type_of(die, depth), _counts(die)
    if type_ is None or not counts or not all(counts):
        return None
    for count in reversed(counts):
        type_ = Array(type_, count or 1)
    return type_


def _counts(die: Any) -> list[int | None]:
    """The sizes of an array's dimensions; None of one that is not recorded."""
    counts = []
    for child in die.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            last = number_of(child, "DW_AT_upper_bound")
            count = number_of(child, "DW_AT_count")
            counts.append(count if count is not None else None if last is None else last + 1)
    return counts


def _enumeration(die: Any, depth: int) -> CType | None:
    size = number_of(die, "DW_AT_byte_size") or 4
    names = tuple(
        (number_of(c, "DW_AT_const_value") or 0, readable_name(text_of(c, "DW_AT_name")))
        for c in itertools.islice(die.iter_children(), MAX_FIELDS)
    )
    signed = any(value < 0 for value, _ in names)
    base = TYPES.get(f"{'s' if signed else 'u'}{size * 8}", I32 if signed else U32)
    name = readable_name(text_of(die, "DW_AT_name")) or base.name
    return Scalar(name, base.kind, base.size, names)


_READERS = {
    "DW_TAG_base_type": _base,
    "DW_TAG_pointer_type": _pointer,
    **dict.fromkeys(_REFERENCES, _pointer),
    "DW_TAG_structure_type": _structure,
    "DW_TAG_union_type": _structure,
    "DW_TAG_array_type": _array,
    "DW_TAG_enumeration_type": _enumeration,
}
