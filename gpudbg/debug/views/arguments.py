"""Kernel arguments as rows of text, for frames and invocations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpudbg.answers import column, typed_row
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.views.format import float_text
from gpudbg.debug.views.gdb_text import listed_text
from gpudbg.expr.evaluation import Result
from gpudbg.expr.types import TYPES, Array, Pointer, Scalar, Struct
from gpudbg.toolchain.signatures import known

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.values.backtrace import Frame


@typed_row
class ArgumentRow:
    """One argument: its name, C type, and the launch's value as text.

    `entry` is the name that frames and expressions have for it: without debug information the value
    is the one at the kernel's entry, whatever the program has done to its variable since.
    """

    name: str = column()
    type: str = column()
    text: str = column()
    present: bool = column(key="", default=False)
    """Whether the value is the variable's, not the one at the kernel's entry."""

    @property
    def entry(self) -> str:
        """`n@entry`"""
        return self.name if self.present else f"{self.name}@entry"


def argument_rows(session: DebugSession) -> list[ArgumentRow]:
    """The launched kernel's arguments, in order."""
    rows = []
    for index, argument in enumerate(session.launch.arguments):
        value = argument.value
        name = argument.name
        if session.arguments_changed and session.focus is not None:
            # A user has assigned one: what the kernel reads from here on.
            result = session.evaluate(f"arg{index}")
            lane = session.focus.lane
            if isinstance(result.type, Scalar):
                value = result.values[lane]
            elif isinstance(result.type, Pointer):
                value = int(result.values[lane])
        if argument.buffer is not None:
            rows.append(ArgumentRow(name, _pointer(argument), f"0x{int(value):x}"))
        elif isinstance(value, bytes) or value is None:
            size = session.kernel.params[index].size
            rows.append(ArgumentRow(name, f"unsigned char [{size}]", "{...}"))
        else:
            rows.append(ArgumentRow(name, _scalar(value), _text(value)))
    return rows


def frame_arguments(session: DebugSession, frame: Frame) -> list[ArgumentRow]:
    """The arguments known in a call frame: its parameters, where debug information tells of them;
    else the launch's in the kernel's own, and none in others."""
    known = WarpContext(session, session.focused(), frame.level).variables()
    if known is not None and known.scopes():
        return [
            _parameter(session, variable.name, known.value(variable))
            for variable, _ in known.variables()
            if variable.parameter
        ]
    return argument_rows(session) if frame.own else []


def _parameter(session: DebugSession, name: str, value: Result) -> ArgumentRow:
    """A variable as a frame's line shows it: structures and arrays in short, as gdb does."""
    whole = isinstance(value.type, Struct | Array)
    text = "..." if whole else listed_text(session, value, session.lane)
    return ArgumentRow(name, str(value.type), text, present=True)


def argument_doubts(session: DebugSession) -> list[str]:
    """Scalars that were given as another type than the source has, so that they read otherwise."""
    out = []
    declared = known(session.program, session.kernel)
    for argument, parameter in zip(session.launch.arguments, declared, strict=False):
        kind, value = TYPES.get(parameter.type), argument.value
        if parameter.pointer or kind is None or argument.buffer is not None:
            continue
        raw = _bytes(value, parameter.size)
        if raw is None or kind.size != len(raw):
            continue
        read = np.frombuffer(raw, kind.dtype)[0]
        if read != value and not (read != read and value != value):
            word = "a float" if isinstance(value, float | np.floating) else "an integer"
            out.append(
                f"{argument.name} = {_text(value)} was given as {word}; the source has "
                f"{parameter.type}: the kernel reads {_text(read)}"
            )
    return out


def _bytes(value: Any, size: int) -> bytes | None:
    """A scalar's bytes as it was given; None where it is no number of that size."""
    if isinstance(value, int | np.integer):
        return (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")
    if isinstance(value, float | np.floating) and size in (2, 4, 8):
        return np.array(value, f"f{size}").tobytes()
    return None


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
