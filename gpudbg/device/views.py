"""Part of a device buffer as an array: what a launch promises to touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpudbg.errors import UsageError


class ViewStorage(Protocol):
    """What a view needs of the buffer it is part of."""

    dtype: np.dtype[Any]
    allocation: Any

    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def require_live(self) -> None: ...


class DeviceView:
    """Elements of a device buffer by shape and strides, as NumPy has them.

    As a kernel's argument it is the address of its first element; `gpudbg.check` holds accesses
    against its elements, not only against the buffer.

    Attributes:
        base: the buffer.
        shape, strides: elements and bytes along each axis.
        offset: bytes from the buffer's begin to the first element.
        dtype: of an element.

    >>> x = gpudbg.Device().buffer(np.arange(8)).view((4,), strides=(16,))
    >>> x.array()
    array([0, 2, 4, 6])
    """

    def __init__(
        self,
        base: ViewStorage,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
        dtype: np.dtype[Any],
    ) -> None:
        self.base, self.shape, self.strides = base, shape, strides
        self.offset, self.dtype = offset, dtype

    @property
    def address(self) -> int:
        """Device address of the first element."""
        return self.base.address + self.offset

    def array(self) -> npt.NDArray[Any]:
        """A copy of its elements as they are now."""
        self.base.require_live()
        data = self.base.allocation.data
        made: npt.NDArray[Any] = np.ndarray(
            self.shape, self.dtype, data, self.offset, self.strides
        ).copy()
        return made

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("a device buffer is read by a copy")
        return self.array() if dtype is None else self.array().astype(dtype)

    def __repr__(self) -> str:
        return f"<DeviceView {self.words} of {self.base.allocation.name}>"

    @property
    def words(self) -> str:
        """`int32[4, 8], strides (64, 4)`"""
        text = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        dense = _dense(self.shape, self.dtype.itemsize)
        return text if self.strides == dense else f"{text}, strides {self.strides}"


class BufferSlice(np.ndarray[Any, Any]):
    """Elements of a buffer as they were when they were asked for, a read-only copy; as a kernel's
    argument they are the view of the buffer that they were taken from (`device_view`)."""

    _of: tuple[ViewStorage, npt.NDArray[Any]] | None = None

    @classmethod
    def taken(cls, base: ViewStorage, whole: npt.NDArray[Any], index: Any) -> Any:
        """`whole[index]`, where `whole` is a copy of the buffer."""
        found = whole[index]
        if not isinstance(found, np.ndarray):
            return found
        if found.base is not None:
            part = found.view(cls)
            part._of = base, whole
            found = part
        found.flags.writeable = False
        return found

    def __array_finalize__(self, obj: Any) -> None:
        self._of = getattr(obj, "_of", None)

    @property
    def device_view(self) -> DeviceView | None:
        """The same elements in device memory; None for what was computed from them."""
        if self._of is None:
            return None
        base, whole = self._of
        place, start = (a.__array_interface__["data"][0] for a in (self, whole))
        if not start <= place < start + max(whole.nbytes, 1) or not whole.flags.c_contiguous:
            return None
        return DeviceView(base, self.shape, self.strides, place - start, self.dtype)

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __reduce__(self) -> Any:
        return self.copy().view(np.ndarray).__reduce__()


def _dense(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides, step = [], itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def make_view(
    base: ViewStorage,
    shape: int | Sequence[int],
    strides: int | Sequence[int] | None,
    offset: int,
    dtype: npt.DTypeLike | None,
) -> DeviceView:
    """A view of a buffer.

    Raises:
        UsageError: it is not inside the buffer, or shape and strides do not fit.
    """
    base.require_live()
    kind = base.dtype if dtype is None else np.dtype(dtype)
    sizes = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    if strides is None:
        steps = _dense(sizes, kind.itemsize)
    else:
        steps = (strides,) if isinstance(strides, int) else tuple(int(n) for n in strides)
    if len(steps) != len(sizes):
        raise UsageError(f"a view of {len(sizes)} axes has {len(steps)} strides")
    if any(n < 0 for n in sizes):
        raise UsageError(f"a view cannot have the shape {sizes}")
    if all(sizes):
        ends = [(n - 1) * step for n, step in zip(sizes, steps, strict=True)]
        low = offset + sum(min(0, end) for end in ends)
        high = offset + sum(max(0, end) for end in ends) + kind.itemsize
        if low < 0 or high > base.nbytes:
            raise UsageError(
                f"a view of bytes {low} to {high} is not inside the buffer of {base.nbytes}",
                "offset and strides count bytes",
            )
    return DeviceView(base, sizes, steps, offset, kind)
