"""Arrays of other libraries as NumPy arrays: DLPack, `__array__`, `__array_interface__`.

PyTorch tensors, JAX arrays, pandas columns and the like are taken where they lie in host memory;
what lies in a real GPU's memory is refused, since nothing here can read it.
"""

from __future__ import annotations

import sys
from array import array
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudbg.errors import UsageError

HOST_DEVICES = (1, 3)
"""DLPack's device types whose memory the host reads: kDLCPU, kDLCUDAHost."""


_BYTES = ("B", "b", "c")
"""Formats of views of plain bytes: a parameter's own, not an array."""


def host_value(value: Any, what: object) -> Any:
    """An argument as a launch takes it: array-likes become NumPy arrays, the rest stays.

    Args:
        value: the argument.
        what: how messages call it ("argument 0").

    Raises:
        UsageError: an array that cannot be read here, or a list, whose element type is open.
    """
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        _refuse_masked(value, what)
        found = getattr(value, "device_view", None)
        if found is not None:
            return found
    if isinstance(value, memoryview) and value.format not in _BYTES:
        return _elements(value, what)
    if isinstance(value, np.ndarray | np.generic | int | float | bytes | bytearray | memoryview):
        return value
    if isinstance(value, list | tuple | range | set | dict):
        raise UsageError(
            f"{what} is a {type(value).__name__}, whose elements have no size",
            "pass a NumPy array of the kernel's type: np.array(…, dtype=np.float32)",
        )
    if value is None:
        raise UsageError(f"{what} is None", "a null pointer is 0")
    if isinstance(getattr(value, "address", None), int | np.integer):
        return value
    if isinstance(getattr(value, "handle", None), int | np.integer):
        return value
    found = _array_of(value, what)
    return value if found is None else found


def host_array(value: Any, what: object) -> npt.NDArray[Any]:
    """Anything array-like, lists included, as a NumPy array; errors as `host_value`."""
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        _refuse_masked(value, what)
    found = value if isinstance(value, np.ndarray) else _array_of(value, what)
    try:
        made = np.asarray(value) if found is None else found
    except ValueError as error:
        raise UsageError(f"{what} is no array: {error}") from None
    if made.dtype.kind in "OU":
        raise UsageError(f"{what} holds no numbers but {_kind(value)}: it cannot be copied")
    return made


def converted(value: Any, dtype: np.dtype[Any], what: object) -> npt.NDArray[Any]:
    """Anything array-like with elements of a type; errors as `host_value`."""
    found = value if isinstance(value, np.ndarray) else _array_of(value, what)
    try:
        return np.ascontiguousarray(np.asarray(value if found is None else found, dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{what} cannot become {dtype}: {error}") from None


def _elements(view: memoryview, what: object) -> npt.NDArray[Any]:
    """A view that says what its elements are, as an array."""
    try:
        return np.asarray(view)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"{what}, a memoryview, gives no array: {reason}") from None


def _refuse_masked(value: Any, what: object) -> None:
    # `np.ma` would be loaded by its name; there are no such arrays before it is.
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(value, masked.MaskedArray):
        raise UsageError(f"{what} is a masked array", "fill it first: `x.filled(0)`")


def _kind(value: Any) -> str:
    """What a value without numbers is, for a message."""
    return f"a {type(value).__name__}" if not isinstance(value, np.ndarray) else str(value.dtype)


def _array_of(value: Any, what: object) -> npt.NDArray[Any] | None:
    """An object of another library as an array; None where it does not say that it is one."""
    if isinstance(value, type):
        return None
    if isinstance(value, array):
        return np.asarray(value)
    _refuse_device_memory(value, what)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    reasons = []
    for protocol, read in (("__dlpack__", np.from_dlpack), ("__array__", np.asarray)):
        if not hasattr(value, protocol):
            continue
        try:
            return np.asarray(read(value))
        except Exception as error:  # whatever the other library raises
            reasons.append(str(error).strip().partition("\n")[0] or type(error).__name__)
    if reasons:
        raise UsageError(
            f"{_named(what, kind)}, gives no array: {'; '.join(dict.fromkeys(reasons))}"
        )
    return np.asarray(value) if hasattr(value, "__array_interface__") else None


def _named(what: object, kind: str) -> str:
    """An argument and its type; its declaration ends with a comma of its own."""
    return f"{str(what).removesuffix(',')}, a {kind}"


def _refuse_device_memory(value: Any, what: object) -> None:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    hint = "copy it to the host first: `x.cpu()`, `x.get()`, `np.asarray(x)`"
    if getattr(value, "__cuda_array_interface__", None) is not None:
        raise UsageError(f"{_named(what, kind)}, lies in a GPU's memory", hint)
    if hasattr(value, "__dlpack_device__"):
        device = int(value.__dlpack_device__()[0])
        if device not in HOST_DEVICES:
            where = f"memory of DLPack device {device}"
            raise UsageError(f"{_named(what, kind)}, lies in {where}", hint)
