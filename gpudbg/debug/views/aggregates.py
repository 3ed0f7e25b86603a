"""Arrays and structures in memory as text and as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.debug.views.format import format_bits, format_value
from gpudbg.expr.halves import is_half, numbers_of
from gpudbg.expr.types import Array, CType, Pointer, Scalar, Struct, StructField

if TYPE_CHECKING:
    from gpudbg.debug.settings import Settings

MAX_SHOWN = 1 << 16
"""Elements of an array that are shown at most."""


Follow = Callable[[int, int], bytes | None]
"""What lies at a generic address, so many bytes; None where that cannot be read."""


def _nowhere(address: int, size: int) -> bytes | None:
    """Nothing is read."""
    return None


Label = Callable[[Pointer, int], str]


def _no_label(type_: Pointer, number: int) -> str:
    """Nothing is known of where pointers lead."""
    return ""


def data_value(type_: CType, raw: bytes, follow: Follow = _nowhere) -> Any:
    """Bytes as numbers, lists and dicts; of a reference what it is to."""
    match type_:
        case Scalar():
            return np.frombuffer(raw[: type_.size], type_.dtype)[0].item()
        case Pointer():
            return int.from_bytes(raw[: type_.size], "little")
        case Array(target, count):
            pieces = _pieces(raw, target.size, count)
            return [data_value(target, piece, follow) for piece in pieces]
        case Struct(_, fields, _):
            return {f.name: _member_value(f, f.content(raw), follow) for f in fields}


def _member_value(field: StructField, raw: bytes, follow: Follow) -> Any:
    there = _referred(field, raw, follow)
    # What a reference leads to may hold one that leads back.
    return data_value(field.type, raw, follow) if there is None else data_value(*there)


def _referred(field: StructField, raw: bytes, follow: Follow) -> tuple[CType, bytes] | None:
    """Type and bytes of what a member is a reference to; None of others, or where it is gone."""
    if not field.reference or not isinstance(field.type, Pointer):
        return None
    target = field.type.target
    found = follow(int.from_bytes(raw[: field.type.size], "little"), target.size)
    return None if found is None else (target, found)


@dataclass(frozen=True, slots=True)
class Style:
    """How values are shown: `set print elements`, `set output-radix`, `set print pretty`.

    `limit` are the elements of an array that are shown; `radix` is the print letter of integers
    that no other format was asked for; `pretty` gives each member of a structure a line.  `label`
    says what a pointer leads to, behind its address: ` <table+8>`.
    """

    limit: int = 64
    radix: str | None = None
    pretty: bool = False
    label: Label = _no_label

    @classmethod
    def of(cls, settings: Settings, label: Label = _no_label) -> Style:
        """The style set by `print elements`, `print pretty` and `output-radix`."""
        limit = settings.number("print elements") or MAX_SHOWN
        pretty = settings.shown("print pretty") == "on"
        return cls(min(limit, MAX_SHOWN), RADIX[settings.shown("output-radix")], pretty, label)

    def letter(self, type_: CType, asked: str | None) -> str | None:
        """The print letter of a value of a type: `s` is its own, a `char` is a character, too."""
        asked = None if asked == "s" else asked
        if asked is None and isinstance(type_, Scalar) and type_.name == "char":
            return "c"
        if asked is None and isinstance(type_, Scalar) and type_.kind in "iu":
            return self.radix
        return asked


RADIX = {"8": "o", "10": None, "16": "x"}
"""`set output-radix` -> the print letter."""
PLAIN = Style()


def data_text(
    type_: CType,
    raw: bytes,
    letter: str | None = None,
    style: Style = PLAIN,
    depth: int = 0,
    follow: Follow = _nowhere,
) -> str:
    """Bytes as gdb prints a value: `{scale = 1.5, v = {1, 2, 3}}`, `"text"`.

    Args:
        depth: structures and arrays that it is in.
    """
    letter = None if letter == "s" else letter
    match type_:
        case Scalar(_, kind, size, _):
            value = np.frombuffer(raw[:size], type_.dtype)[0]
            named = type_.enumerator(int(value)) if type_.names and letter is None else None
            if named is not None:
                return named
            return format_value(value, kind, size, style.letter(type_, letter))
        case Pointer():
            number = int.from_bytes(raw[: type_.size], "little")
            words = format_bits(number, type_.size, letter or "x")
            return words if letter else words + style.label(type_, number)
        case Struct() if letter is None and is_half(type_):
            number = numbers_of(type_, np.frombuffer(raw[:2], np.uint16))[0]
            return format_value(number, "f", 4, None)
        case Struct(_, fields, _):
            parts = (
                (f"{f.name} = " if f.name else "")
                + _member_text(f, f.content(raw), letter, style, depth + 1, follow)
                for f in fields
            )
            if not style.pretty:
                return "{" + ", ".join(parts) + "}"
            end = "\n" + "  " * depth
            return "{" + ",".join(f"{end}  {part}" for part in parts) + end + "}"
        case Array(target, count):
            if letter is None and isinstance(target, Scalar) and target.name == "char":
                return char_text(raw[:count], style.limit)
            shown = _pieces(raw, target.size, min(count, style.limit))
            cells = [data_text(target, p, letter, style, depth + 1, follow) for p in shown]
            more = f", … {count - len(cells)} more" if count > len(cells) else ""
            return "{" + ", ".join(cells) + more + "}"


def _member_text(
    field: StructField, raw: bytes, letter: str | None, style: Style, depth: int, follow: Follow
) -> str:
    """A member; of a reference `@ADDRESS: value`, as gdb has it."""
    there = _referred(field, raw, follow)
    if not field.reference or there is None:
        return "@" * field.reference + data_text(field.type, raw, letter, style, depth, follow)
    address = data_text(field.type, raw)
    return f"@{address}: {data_text(*there, letter, style, depth)}"


def char_text(raw: bytes, limit: int) -> str:
    """An array of `char` as a C string; the zeros at its end but one are left out, as in gdb."""
    text = raw.rstrip(b"\0")
    cells = []
    for byte in text[:limit]:
        char = chr(byte)
        if char in '"\\':
            cells.append("\\" + char)
        else:
            cells.append(char if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(cells) + ('"' if len(text) <= limit else '"…')


def _pieces(raw: bytes, size: int, count: int) -> list[bytes]:
    shown = min(count, MAX_SHOWN, len(raw) // max(size, 1))
    return [raw[n * size : (n + 1) * size] for n in range(shown)]
