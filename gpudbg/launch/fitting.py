"""Arguments made to fit the types a kernel declares, or refused by name.

Where the source, the PTX or the mangled name tells a parameter's type, a number arrives as that
number or not at all:

| parameter | takes |
|---|---|
| integer | integers that fit, of any width; one above the signed range as the same bits, as in C |
| floating point | floats, rounded as C does; integers that it holds exactly |
| bool | True and False, 0 and 1 |
| pointer | buffers and arrays of its element type, signed or not; integers as addresses |
| of another type | bytes, and whatever has its size |

A float is never an integer, not even 3.0 (as `operator.index`).  `void *`, `char *` and pointers to
structures take buffers of any type.  Without a declaration only sizes are checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpudbg.device.device import DeviceBuffer
from gpudbg.errors import UsageError
from gpudbg.expr.types import TYPES, Scalar
from gpudbg.formats.initdata import DTYPES, dtype_name
from gpudbg.formats.launch import (
    PLAIN,
    Arg,
    BufferArg,
    ImageArg,
    Launch,
    ObjectArg,
    ScalarArg,
    TensorArg,
)
from gpudbg.formats.program import Kernel
from gpudbg.toolchain.signatures import Parameter

ANY_ELEMENT = ("char", "signed char", "unsigned char")
"""Elements of bytes: buffers of any type are taken."""
RAW_RULES = ("hex", "file")
"""Init rules that give bytes, whatever the element type of the table is."""


def fitted(kernel: Kernel, declared: Sequence[Parameter], table: Launch) -> tuple[Arg, ...]:
    """The launch's arguments, each as its parameter's type has it.

    Raises:
        UsageError: one that cannot arrive as it was given: which, what is wanted, what was given.
    """
    if len(declared) != len(table.args):
        return table.args
    rows = enumerate(zip(declared, table.args, strict=True))
    return tuple(_Fit(kernel, n, parameter, table).fit(arg) for n, (parameter, arg) in rows)


class _Fit:
    """One argument and its parameter."""

    def __init__(self, kernel: Kernel, number: int, parameter: Parameter, table: Launch) -> None:
        self.kernel = kernel
        self.number = number
        self.parameter = parameter
        self.table = table
        self.type = TYPES.get(parameter.type)

    @property
    def wanted(self) -> str:
        """The parameter's type as its source writes it."""
        name = self.parameter.type or "void"
        return f"{name} *" if self.parameter.pointer else name

    def refused(self, given: str, hint: str, value: object = None) -> UsageError:
        """The complaint: `argument 1, a=2.5: int is wanted, a float is given`."""
        shown = "…" if value is None else repr(value)
        return UsageError(
            f"kernel {self.kernel.name}: argument {self.number}, {self.parameter.name}={shown}: "
            f"{self.wanted} is wanted, {given} is given",
            hint,
        )

    def fit(self, arg: Arg) -> Arg:
        """The argument, converted."""
        if self.parameter.pointer:
            return self._pointer(arg)
        if self.type is None:
            return arg
        if isinstance(arg, ScalarArg):
            return arg if isinstance(arg.value, bytes) else self._number(arg, arg.value, self.type)
        if isinstance(arg, ImageArg):
            return arg
        if self.type.size == 8 and self.type.kind in "iu" and not isinstance(arg, ImageArg):
            # A device address as an integer.
            return arg
        hint = f"pass a number: {self.parameter.name} is no pointer"
        raise self.refused(self._given(arg), hint)

    # ---- numbers -----------------------------------------------------------------------
    def _number(self, arg: ScalarArg, value: int | float, wanted: Scalar) -> Arg:
        given = _number_words(arg)
        name = self.parameter.name
        if wanted.kind == "f":
            return ScalarArg(f"f{wanted.size * 8}", self._float(value, given, wanted))
        if not isinstance(value, int):
            nearest = f"int({value}) is {int(value)}" if np.isfinite(value) else "it has no integer"
            raise self.refused(given, f"{nearest}; an integer parameter takes no float", value)
        if wanted.kind == "b":
            if value not in (0, 1):
                raise self.refused(given, "True or False, 1 or 0", value)
            return ScalarArg("u8", value)
        bits = wanted.size * 8
        if not -(1 << bits - 1) <= value < 1 << bits:
            raise self.refused(given, f"{name} has {bits} bits: {value} does not fit", value)
        return ScalarArg(f"{wanted.kind}{bits}", value)

    def _float(self, value: int | float, given: str, wanted: Scalar) -> float:
        with np.errstate(over="ignore"):
            try:
                made = float(np.array(float(value)).astype(wanted.dtype))
            except OverflowError:
                made = float("inf")
        if made != value and (isinstance(value, int) or np.isinf(made)):
            why = "is too large for it" if np.isinf(made) else f"would be {made!r}"
            raise self.refused(given, f"{value} {why}", value)
        return float(value)

    # ---- pointers ----------------------------------------------------------------------
    def _pointer(self, arg: Arg) -> Arg:
        if isinstance(arg, ScalarArg):
            if isinstance(arg.value, float) and self.type is not None:
                hint = "pass an array, a device buffer, an address, or 0 for a null pointer"
                raise self.refused(_number_words(arg), hint, arg.value)
            if isinstance(arg.value, int) and self.type is not None:
                return replace(arg, dtype="int") if arg.dtype != "u64" else arg
            return arg
        dtype = self._dtype(arg)
        if dtype is not None and not self._holds(dtype, arg):
            hint = f"convert it: {self.parameter.name}.astype(np.{_numpy_name(self.type)})"
            if self.table.source != "Python":
                hint = f"give it the element type {self.parameter.short}"
            raise self.refused(self._given(arg), hint)
        return arg

    def _holds(self, dtype: np.dtype[Any], arg: Arg) -> bool:
        """Whether a pointer to the declared type may point at such elements."""
        wanted = self.type
        if wanted is None or wanted.name in ANY_ELEMENT or dtype.kind in "Vc":
            return True
        if isinstance(arg, BufferArg) and dtype.itemsize == 1:
            spec = self.table.buffers.get(arg.buffer)
            if spec is not None and spec.init.rule in RAW_RULES:
                return True
        if dtype.itemsize != wanted.size:
            return False
        kinds = {"f": "fu" if wanted.size == 2 else "f", "b": "biu"}.get(wanted.kind, "iu")
        return dtype.kind in kinds

    def _dtype(self, arg: Arg) -> np.dtype[Any] | None:
        """Element type of what an argument points at; None where it has none."""
        if isinstance(arg, BufferArg):
            spec = self.table.buffers.get(arg.buffer)
            if spec is None:
                return None
            return spec.given if spec.given is not None else DTYPES.get(spec.dtype)
        if isinstance(arg, ObjectArg) and isinstance(arg.source, DeviceBuffer):
            return None if hasattr(arg.source, "handle") else arg.source.dtype
        return None

    def _given(self, arg: Arg) -> str:
        if isinstance(arg, TensorArg):
            return "a tensor map"
        dtype = self._dtype(arg)
        what = "array" if self.table.source == "Python" and isinstance(arg, BufferArg) else "buffer"
        if dtype is None:
            return "a device address or handle"
        name = str(dtype) if self.table.source == "Python" else dtype_name(dtype) or str(dtype)
        return f"{_with_article(name)} {what}"


def _number_words(arg: ScalarArg) -> str:
    if arg.dtype in PLAIN:
        return "a float" if arg.dtype == "float" else "an integer"
    return _with_article(arg.dtype)


def _with_article(name: str) -> str:
    """`an i32`, `an f32`, `an int64`, `a float64`."""
    spelled = name[0] == "i" or (name[0] == "f" and name[1:].isdigit())
    return f"an {name}" if spelled else f"a {name}"


def _numpy_name(type_: Scalar | None) -> str:
    return str(type_.dtype) if type_ is not None else "uint8"
