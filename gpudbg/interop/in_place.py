"""Arrays of the host that a launch reads and writes in place.

A kernel gets an address, and may go to any element of the array behind it: what is copied is the
memory from an array's first byte to its last.  Arrays that share bytes are copied as one.  What the
kernel has written is copied back at every stop, so that an array is what the device has.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.debug.stops.stop import EVERY_STOP, Stop
from gpudbg.device.device import DeviceBuffer
from gpudbg.errors import UsageError
from gpudbg.launch.prepare import ProgramLaunch

if TYPE_CHECKING:
    from gpudbg.api.device import Device
    from gpudbg.debug.session import DebugSession
    from gpudbg.device.views import DeviceView

Array = npt.NDArray[Any]
ALIGNED = 16
"""Compilers take it for granted that addresses which they see are multiples of so much."""


def byte_bounds(array: Array) -> tuple[int, int]:
    """Host addresses of an array's first byte and behind its last."""
    low = high = int(array.__array_interface__["data"][0])
    if array.flags.c_contiguous or not array.size:
        return low, low + array.nbytes
    for count, stride in zip(array.shape, array.strides, strict=True):
        reach = (count - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + array.itemsize


class HostRange:
    """Bytes of the host that one or several arrays lie in, and their copy on the device.

    Attributes:
        low, high: host addresses of the first byte and behind the last.
        arrays: those in it.
        name: what messages call them, or "".
        buffer: the copy.
    """

    def __init__(self, low: int, high: int, arrays: list[Array]) -> None:
        self.low, self.high = low, high
        self.arrays = arrays
        self.name = ""
        self.buffer: DeviceBuffer | None = None
        self._warned = False

    @cached_property
    def host(self) -> npt.NDArray[np.uint8]:
        """The bytes themselves."""
        count = self.high - self.low
        if not count:
            return np.empty(0, np.uint8)
        first = self.arrays[0]
        if len(self.arrays) == 1 and type(first) is np.ndarray and first.flags.c_contiguous:
            return first.reshape(-1).view(np.uint8)
        return np.asarray(HostMemory(self.arrays, self.low, (count,), None, np.dtype(np.uint8)))

    def copy_back(self) -> None:
        """Have the host's bytes as the device's are; arrays that are only read stay."""
        assert self.buffer is not None
        if self.buffer.freed:
            return
        now, host = self.buffer.allocation.data, self.host
        if len(self.arrays) == 1 and self.arrays[0].flags.writeable:
            host[:] = now
            return
        for array in self.arrays:
            low, high = (
                byte_bounds(array) if len(self.arrays) > 1 else (self.low, self.low + len(host))
            )
            part = slice(low - self.low, high - self.low)
            if array.flags.writeable:
                host[part] = now[part]
            elif not self._warned and not np.array_equal(host[part], now[part]):
                self._warned = True
                warnings.warn(
                    f"{self.name or 'an argument'} cannot be written: what the kernel wrote is not"
                    " in it (np.array(…) makes a copy that can be)",
                    stacklevel=2,
                )


class ArraysInPlace:
    """The arrays of a launch on a device."""

    def __init__(self, device: Device, arrays: Sequence[Array], names: Sequence[str] = ()) -> None:
        """Copy arrays to the device.

        Args:
            names: of the arrays, for messages; fewer, or "", where they have none.
        """
        self._ranges = merged(arrays)
        named = {id(a): name for a, name in zip(arrays, names, strict=False)}
        self._whole: dict[int, DeviceBuffer] = {}
        """Arrays that a buffer is the copy of, by identity."""
        for one in self._ranges:
            first = one.arrays[0]
            if len(one.arrays) == 1:
                called = named.get(id(first), "")
            else:
                called = " and ".join(
                    dict.fromkeys(filter(None, (named.get(id(a)) for a in one.arrays)))
                )
            one.name = called
            made = one.buffer = device.buffer_of_bytes(one.host, called or None)
            if len(one.arrays) == 1 and first.flags.c_contiguous and first.nbytes == made.nbytes:
                made.dtype, made.shape = first.dtype, first.shape
                self._whole[id(first)] = made

    def view(self, array: Array) -> DeviceBuffer | DeviceView:
        """The argument for one of the arrays."""
        whole = self._whole.get(id(array))
        if whole is not None:
            return whole
        low, high = byte_bounds(array)
        one = next(r for r in self._ranges if r.low <= low and high <= r.high and _holds(r, array))
        assert one.buffer is not None
        if one.buffer.shape == array.shape and one.buffer.dtype == array.dtype:
            return one.buffer
        at = int(array.__array_interface__["data"][0]) - one.low
        return one.buffer.view(array.shape, array.strides, at, array.dtype)

    def follow(self, session: DebugSession) -> None:
        """Copy back at each stop of a session, and free the copies with it."""
        launch = session.launch
        assert isinstance(launch, ProgramLaunch)
        launch.keep(r.buffer for r in self._ranges if r.buffer is not None)
        if _at_stop not in EVERY_STOP:
            EVERY_STOP.append(_at_stop)
        _FOLLOWING[session] = self

    def copy_back(self) -> None:
        """Have every array as it is on the device."""
        for one in self._ranges:
            one.copy_back()

    def free(self) -> None:
        """Free the copies."""
        for one in self._ranges:
            if one.buffer is not None and not one.buffer.freed:
                one.buffer.free()


_FOLLOWING: weakref.WeakKeyDictionary[DebugSession, ArraysInPlace] = weakref.WeakKeyDictionary()
"""Session -> the arrays of its launch."""


def _at_stop(stop: Stop) -> None:
    if not _FOLLOWING:
        return
    for session, arrays in list(_FOLLOWING.items()):
        if session.stop is stop:
            arrays.copy_back()


def _holds(one: HostRange, array: Array) -> bool:
    return any(held is array for held in one.arrays)


def merged(arrays: Sequence[Array]) -> list[HostRange]:
    """The ranges of arrays; those that share bytes become one."""
    found: list[HostRange] = []
    if len(arrays) == 1:
        return [HostRange(*byte_bounds(arrays[0]), [arrays[0]])]
    spans = sorted((*byte_bounds(a), n) for n, a in enumerate(arrays))
    for low, high, n in spans:
        if found and low < found[-1].high:
            last = found[-1]
            last.high = max(last.high, high)
            if not _holds(last, arrays[n]):
                last.arrays.append(arrays[n])
        elif not any(_holds(one, arrays[n]) for one in found):
            found.append(HostRange(low, high, [arrays[n]]))
    for one in found:
        if len(one.arrays) > 1:
            # Addresses inside are as far from multiples of 16 as the host's.
            one.low -= one.low % ALIGNED
    return found


_NUMBERS = (np.generic, int, float)
"""Values that stay what they are; most arguments are these."""


def host_arrays(values: Sequence[object], what: Sequence[str]) -> list[object]:
    """Arguments with NumPy arrays, on the same memory, in place of arrays of other libraries.

    Raises:
        UsageError: an array that is not in host memory, or that only a copy can be had of.
    """
    from gpudbg.device.hostdata import host_value

    made: list[object] = []
    for n, value in enumerate(values):
        if isinstance(value, _NUMBERS) or (type(value) is np.ndarray and not value.dtype.hasobject):
            made.append(value)
            continue
        name = (what[n] if n < len(what) else "") or f"argument {n}"
        if isinstance(value, tuple):
            made.append(tuple(host_arrays(value, [name] * len(value))))
            continue
        here = value if isinstance(value, np.ndarray) else _tensor(value)
        found = host_value(value if here is None else here, name)
        if isinstance(found, np.ndarray) and found.dtype.hasobject:
            raise UsageError(f"{name} is an array of {found.dtype}: it cannot be copied")
        made.append(found)
    return made


_TYPES = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8}
"""Element types of PyTorch that NumPy has no name for, by size."""


def _tensor(value: Any) -> Array | None:
    """A PyTorch tensor on the CPU as an array on its memory, gradients and bfloat16 included."""
    if not hasattr(value, "data_ptr") or getattr(value, "is_cuda", False):
        return None
    if not all(hasattr(value, name) for name in ("stride", "shape", "element_size", "dtype")):
        return None
    word = str(value.dtype).rpartition(".")[2]
    kind = np.dtype(_TYPES.get(word, word.replace("bool", "bool_")))
    shape = tuple(map(int, value.shape))
    strides = tuple(int(s) * kind.itemsize for s in value.stride())
    return np.asarray(HostMemory(value, int(value.data_ptr()), shape, strides, kind))


class HostMemory:
    """Memory of another object, as NumPy takes it; that object stays."""

    def __init__(
        self, owner: object, address: int, shape: Any, strides: Any, kind: np.dtype[Any]
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "strides": strides,
            "typestr": kind.str,
        }
