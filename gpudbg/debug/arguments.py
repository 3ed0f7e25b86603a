"""Kernel arguments as rows of text, for frames and invocations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpudbg.debug.expr.types import TYPES
from gpudbg.debug.format import float_text

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """One argument: its name, C type, and value as text."""

    name: str
    type: str
    text: str


def argument_rows(session: DebugSession) -> list[ArgumentRow]:
    """The launched kernel's arguments, in order."""
    rows = []
    for index, argument in enumerate(session.launch.arguments):
        value = argument.value
        name = argument.name
        if argument.buffer is not None:
            rows.append(ArgumentRow(name, _pointer(argument), f"0x{int(value):x}"))
        elif isinstance(value, bytes) or value is None:
            size = session.kernel.params[index].size
            rows.append(ArgumentRow(name, f"unsigned char [{size}]", "{...}"))
        else:
            rows.append(ArgumentRow(name, _scalar(value), _text(value)))
    return rows


def _pointer(argument: Any) -> str:
    dtype = argument.buffer.dtype
    return f"{_names(dtype.kind, dtype.itemsize)} *"


def _names(kind: str, size: int) -> str:
    found = TYPES.get(f"{kind}{size * 8}")
    return found.name if found is not None else "bool" if kind == "b" else "void"


def _scalar(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return _names(dtype.kind, dtype.itemsize)
    plain: dict[type, str] = {bool: "bool", float: "float"}
    return plain.get(type(value), "int")


def _text(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if isinstance(value, float) or (dtype is not None and dtype.kind == "f"):
        return float_text(float(value), dtype.itemsize if dtype is not None else 4)
    return str(value)
