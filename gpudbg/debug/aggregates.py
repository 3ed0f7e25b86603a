"""Arrays and structures in memory as text and as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudbg.debug.expr.types import Array, CType, Pointer, Scalar, Struct
from gpudbg.debug.format import format_bits, format_value

MAX_SHOWN = 64
"""Elements of an array that are shown."""


def data_value(type_: CType, raw: bytes) -> Any:
    """Bytes as numbers, lists and dicts."""
    match type_:
        case Scalar():
            return np.frombuffer(raw[: type_.size], type_.dtype)[0].item()
        case Pointer():
            return int.from_bytes(raw[: type_.size], "little")
        case Array(target, count):
            return [data_value(target, piece) for piece in _pieces(raw, target.size, count)]
        case Struct(_, fields, _):
            return {f.name: data_value(f.type, raw[f.offset :]) for f in fields}


def data_text(type_: CType, raw: bytes, letter: str | None = None) -> str:
    """Bytes as gdb prints a value: `{scale = 1.5, v = {1, 2, 3}}`, `"text"`."""
    match type_:
        case Scalar(_, kind, size):
            return format_value(np.frombuffer(raw[:size], type_.dtype)[0], kind, size, letter)
        case Pointer():
            number = int.from_bytes(raw[: type_.size], "little")
            return format_bits(number, type_.size, letter or "x")
        case Struct(_, fields, _):
            parts = (f"{f.name} = {data_text(f.type, raw[f.offset :], letter)}" for f in fields)
            return "{" + ", ".join(parts) + "}"
        case Array(target, count):
            if letter is None and isinstance(target, Scalar) and target.name == "char":
                return char_text(raw[:count])
            cells = [data_text(target, p, letter) for p in _pieces(raw, target.size, count)]
            more = f", … {count - MAX_SHOWN} more" if count > MAX_SHOWN else ""
            return "{" + ", ".join(cells) + more + "}"


def char_text(raw: bytes) -> str:
    """An array of `char` as a C string; the zeros at its end but one are left out, as in gdb."""
    text = raw.rstrip(b"\0")
    cells = []
    for byte in text[: MAX_SHOWN * 4]:
        char = chr(byte)
        if char in '"\\':
            cells.append("\\" + char)
        else:
            cells.append(char if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(cells) + ('"' if len(text) <= MAX_SHOWN * 4 else '"…')


def _pieces(raw: bytes, size: int, count: int) -> list[bytes]:
    shown = min(count, MAX_SHOWN, len(raw) // size)
    return [raw[n * size : (n + 1) * size] for n in range(shown)]
