"""Types of expression values: C scalars, pointers with an address space, arrays, structures.

Names follow C and CUDA (`unsigned int`, `float`) with short forms (`u32`, `f32`); sizes are those
of CUDA device code (LP64).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpudbg.dataclass import dataclass

Kind = Literal["i", "u", "f", "b"]

SPACES = ("global", "shared", "local", "generic", "const", "code")
"""Address spaces a pointer may name, as in cuda-gdb's `(@shared int*)`."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number type: `kind` i signed, u unsigned, f float, b bool; `size` in bytes.

    Attributes:
        names: of an enumeration's values.
    """

    name: str
    kind: Kind
    size: int
    names: tuple[tuple[int, str], ...] = ()

    def enumerator(self, value: int) -> str | None:
        """An enumeration's name for a value; of one whose values are bits, those that are set:
        `(hot | unknown: 0x8)`.  None: it has none.
        """
        for known, name in self.names:
            if known == value:
                return name
        # As gdb does: no value has more than one bit.
        if value <= 0 or any(known < 0 or known.bit_count() > 1 for known, _ in self.names):
            return None
        parts, rest = [], value
        for known, name in self.names:
            if known & rest:
                parts.append(name)
                rest &= ~known
        if rest:
            parts.append(f"unknown: 0x{rest:x}")
        return f"({' | '.join(parts)})"

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The NumPy dtype of one value."""
        return np.dtype("bool") if self.kind == "b" else np.dtype(f"{self.kind}{self.size}")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer into `space`; `target` is what it points at.

    `text` is how sources write one to a function; `const`: what it points at is const.
    """

    space: str
    target: CType
    text: str = field(default="", compare=False)
    const: bool = field(default=False, compare=False)

    @property
    def size(self) -> int:
        """Bytes a pointer occupies: 8 for global and generic, 4 for windows."""
        return 8 if self.space in ("global", "generic", "code") else 4

    def __str__(self) -> str:
        return self.text or f"({spelled(self)})"


@dataclass(frozen=True, slots=True)
class Array:
    """`count` elements in memory."""

    target: CType
    count: int

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self.target.size * self.count

    def __str__(self) -> str:
        return spelled(self)


@dataclass(frozen=True, slots=True)
class StructField:
    """A member of a structure: where it begins in it, in bytes.

    Attributes:
        bits: of a bit-field the lowest bit in its number, and how many there are.
        reference: its value is the address of what its name means (`[&]` of a lambda).
    """

    name: str
    type: CType
    offset: int
    bits: tuple[int, int] | None = None
    reference: bool = False

    def content(self, raw: bytes) -> bytes:
        """Its bytes in those of the structure; of a bit-field as a number of its type."""
        piece = raw[self.offset : self.offset + self.type.size]
        if self.bits is None:
            return piece
        signed = isinstance(self.type, Scalar) and self.type.kind == "i"
        number = bit_field(int.from_bytes(piece, "little"), self.bits, signed)
        return (number & ((1 << 8 * self.type.size) - 1)).to_bytes(self.type.size, "little")


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """A structure or union in memory; `size` in bytes; `keyword` is the word before its name.

    One that points at its own kind (`struct Node { Node *next; }`) has itself in its fields.
    """

    name: str
    fields: tuple[StructField, ...] = field(repr=False)
    size: int
    keyword: str = field(default="struct", repr=False)

    @property
    def _members(self) -> tuple[tuple[str, int, str], ...]:
        return tuple((f.name, f.offset, str(f.type)) for f in self.fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        same = self.name == other.name and self.size == other.size
        return same and self._members == other._members

    def __hash__(self) -> int:
        return hash((self.name, self.size))

    def member_names(self) -> Iterator[str]:
        """Its members' names, those of base classes and of members without a name among them."""
        for row in self.fields:
            if row.name and not row.name.startswith("<"):
                yield row.name
            elif isinstance(row.type, Struct):
                yield from row.type.member_names()

    def field(self, name: str) -> StructField | None:
        """The member of a name, one of a base class or a member without a name among them."""
        for row in self.fields:
            if row.name == name:
                return row
        for row in self.fields:
            if (not row.name or row.name.startswith("<")) and isinstance(row.type, Struct):
                inner = row.type.field(name)
                if inner is not None:
                    return replace(inner, offset=row.offset + inner.offset)
        return None

    def __str__(self) -> str:
        return self.name


CType = Scalar | Pointer | Array | Struct


def spelled(type_: CType, inner: str = "", qualifiers: str = "") -> str:
    """A type around what it declares, as cuda-gdb writes it: `const @global int * @local *`.

    Args:
        inner: the declared name, with the `*` and `[4]` of what is made of this type.
        qualifiers: of this type: `const`, and the space it lies in.
    """
    if isinstance(type_, Array):
        return spelled(type_.target, f"{inner}[{type_.count}]", qualifiers)
    if not isinstance(type_, Pointer) or type_.text:
        return f"{qualifiers} {type_} {inner}".strip()
    sign = f"* {qualifiers} {inner}".rstrip() if qualifiers else f"*{inner}"
    if isinstance(type_.target, Array):
        sign = f"({sign})"
    return spelled(type_.target, sign, f"{'const ' * type_.const}@{type_.space}")


def declaration(type_: CType, name: str) -> str:
    """A variable as C declares it: `int m[2][3]`."""
    if isinstance(type_, Pointer) and "(*)" in type_.text:
        return type_.text.replace("(*)", f"(*{name})", 1)
    return spelled(type_, name)


def value_bytes(type_: CType) -> NDArray[np.bool_]:
    """Which bytes of a type belong to a value; the others are between the members of structures."""
    found = np.ones(max(type_.size, 1), bool)
    if isinstance(type_, Array) and type_.count:
        return np.tile(value_bytes(type_.target), type_.count)
    if isinstance(type_, Struct) and type_.fields:
        found[:] = False
        for row in type_.fields:
            found[row.offset : row.offset + row.type.size] |= value_bytes(row.type)
    return found


def base_offset(derived: CType, base: CType) -> int | None:
    """Where a base class begins in a structure, in bytes; None where it is none of its bases."""
    if not isinstance(derived, Struct) or not isinstance(base, Struct) or derived == base:
        return None
    for row in derived.fields:
        if row.name.startswith("<") and isinstance(row.type, Struct):
            inner = 0 if row.type == base else base_offset(row.type, base)
            if inner is not None:
                return row.offset + inner
    return None


_ROWS: tuple[tuple[Kind, int, str, tuple[str, ...]], ...] = (
    ("i", 1, "char", ("signed char", "s8", "i8", "int8_t", "int8")),
    ("u", 1, "unsigned char", ("u8", "uint8_t", "uint8", "uchar", "byte", "b8")),
    ("i", 2, "short", ("short int", "s16", "i16", "int16_t", "int16")),
    (
        "u",
        2,
        "unsigned short",
        ("unsigned short int", "u16", "uint16_t", "uint16", "ushort", "b16"),
    ),
    ("i", 4, "int", ("signed", "signed int", "s32", "i32", "int32_t", "int32")),
    ("u", 4, "unsigned int", ("unsigned", "u32", "uint32_t", "uint32", "uint", "b32")),
    ("i", 8, "long", ("long int", "long long", "long long int", "s64", "i64", "int64_t", "int64")),
    (
        "u",
        8,
        "unsigned long",
        (
            "unsigned long int",
            "unsigned long long",
            "unsigned long long int",
            "u64",
            "uint64_t",
            "uint64",
            "size_t",
            "ulong",
            "b64",
        ),
    ),
    ("f", 2, "half", ("f16", "__half", "float16")),
    ("f", 4, "float", ("f32", "float32")),
    ("f", 8, "double", ("f64", "float64")),
    ("b", 1, "bool", ("pred",)),
)

TYPES: dict[str, Scalar] = {}
for _kind, _size, _name, _aliases in _ROWS:
    for _n in (_name, *_aliases):
        TYPES[_n] = Scalar(_name, _kind, _size)

TYPE_WORDS = frozenset(word for name in TYPES for word in name.split()) | {"void"}
"""Words that can begin or continue a type name."""

BOOL = TYPES["bool"]
VOID = Scalar("void", "i", 4)
"""Of a `$name` that was never set."""
NOTHING = Scalar("void", "u", 1)
"""What a `void *` points at: it counts bytes, and has no value."""
I32, U32, I64, U64 = TYPES["int"], TYPES["u32"], TYPES["long"], TYPES["u64"]
F16, F32, F64 = TYPES["half"], TYPES["float"], TYPES["double"]
U8 = TYPES["u8"]


def bit_field(number: int, bits: tuple[int, int], signed: bool) -> int:
    """Some bits of a number: the lowest one and how many; the highest is the sign, if any."""
    shift, width = bits
    found = number >> shift & ((1 << width) - 1)
    return found - (1 << width) if signed and found >> width - 1 & 1 else found


def common(a: Scalar, b: Scalar) -> Scalar:
    """The usual arithmetic conversions of C for a binary operator."""
    if a.kind == "f" or b.kind == "f":
        floats = [t for t in (a, b) if t.kind == "f"]
        size = max(t.size for t in floats)
        return F64 if size == 8 else F32
    a, b = promote(a), promote(b)
    size = max(a.size, b.size)
    unsigned = any(t.kind == "u" and t.size == size for t in (a, b))
    return {(4, False): I32, (4, True): U32, (8, False): I64, (8, True): U64}[size, unsigned]


def promote(a: Scalar) -> Scalar:
    """Integer promotion: what is smaller than int becomes int."""
    if a.kind == "f":
        return F32 if a.size == 2 else a
    return I32 if a.size < 4 or a.kind == "b" else a
