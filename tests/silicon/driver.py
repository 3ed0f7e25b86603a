"""A small part of the CUDA driver API by ctypes: devices, modules, memory, launches."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

import numpy as np

LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
MAJOR, MINOR, COOPERATIVE = 75, 76, 95
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR, _COOPERATIVE_LAUNCH."""
MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, _NON_PORTABLE_CLUSTER_SIZE_ALLOWED."""
LAUNCH_COOPERATIVE, LAUNCH_CLUSTER = 2, 4
"""CU_LAUNCH_ATTRIBUTE_COOPERATIVE, _CLUSTER_DIMENSION."""


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: a number, and a union of 64 bytes."""

    _fields_ = (("kind", c_uint), ("pad", c_uint), ("value", c_uint * 16))


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        *((name, c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("stream", c_void_p),
        ("attributes", c_void_p),
        ("count", c_uint),
    )


class NoDriverError(Exception):
    """There is no driver, or no device, and why."""


class DriverError(Exception):
    """A call of the driver failed.

    Attributes:
        name: such as CUDA_ERROR_ILLEGAL_ADDRESS.
    """

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__(f"{call}: {name} ({code})")
        self.code, self.name = code, name


def library() -> ctypes.CDLL:
    """The driver's library.

    Raises:
        NoDriverError: it is not installed.
    """
    for name in LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NoDriverError(f"no CUDA driver: none of {', '.join(LIBRARIES)} is installed")


class Gpu:
    """The first device, with its primary context.

    Attributes:
        name: the card's.
        capability: such as (9, 0).
    """

    def __init__(self) -> None:
        self._cuda = library()
        try:
            self._call("cuInit", c_uint(0))
            device = c_int()
            self._call("cuDeviceGet", byref(device), c_int(0))
        except DriverError as error:
            raise NoDriverError(f"no CUDA device: {error}") from None
        self._device = device
        text = ctypes.create_string_buffer(128)
        self._call("cuDeviceGetName", text, c_int(128), device)
        self.name = text.value.decode()
        self.capability = (self._attribute(MAJOR), self._attribute(MINOR))
        context = c_void_p()
        self._call("cuDevicePrimaryCtxRetain", byref(context), device)
        self._call("cuCtxSetCurrent", context)

    @property
    def arch(self) -> str:
        """`sm_90`"""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    def runs(self, arch: str) -> bool:
        """Whether the card runs cubins of an architecture: of its major number, not newer."""
        number = arch.removeprefix("sm_").split("-")[0]
        if not number.isdecimal():
            # sm_90a and others with a letter run on that very architecture.
            return number[:-1] == f"{self.capability[0]}{self.capability[1]}"
        major, minor = divmod(int(number), 10)
        return major == self.capability[0] and minor <= self.capability[1]

    def _attribute(self, number: int) -> int:
        value = c_int()
        self._call("cuDeviceGetAttribute", byref(value), c_int(number), self._device)
        return value.value

    def _call(self, name: str, *arguments: Any) -> None:
        code = int(getattr(self._cuda, name)(*arguments))
        if code:
            words = c_char_p()
            self._cuda.cuGetErrorName(c_int(code), byref(words))
            raise DriverError(name, code, (words.value or b"unknown error").decode())

    def module(self, image: bytes) -> Module:
        """A module of a cubin, or of PTX text that the driver compiles."""
        handle = c_void_p()
        data = ctypes.create_string_buffer(image)
        self._call("cuModuleLoadData", byref(handle), data)
        return Module(self, handle)

    @property
    def driver(self) -> str:
        """The newest CUDA version that the driver takes, such as 13.0."""
        number = c_int()
        self._call("cuDriverGetVersion", byref(number))
        return f"{number.value // 1000}.{number.value % 1000 // 10}"

    def tensor_map(self, address: int, row: Mapping[str, Any]) -> bytes:
        """A tensor map's 128 bytes, as the driver encodes them.

        Args:
            address: of the first element.
            row: numbers for cuTensorMapEncodeTiled, or ...Im2col where it has `lower`.
        """
        rank = len(row["sizes"])
        # The driver wants the map at a multiple of 64.
        space = ctypes.create_string_buffer(192)
        at = -ctypes.addressof(space) % 64
        given = [
            c_void_p(ctypes.addressof(space) + at), c_int(row["type"]), c_uint(rank),
            c_uint64(address), (c_uint64 * rank)(*row["sizes"]),
            (c_uint64 * max(rank - 1, 1))(*row["strides"]),
        ]  # fmt: skip
        steps, name = (c_uint * rank)(*row["steps"]), "cuTensorMapEncodeTiled"
        if "lower" in row:
            name = "cuTensorMapEncodeIm2col"
            corners = [(c_int * (rank - 2))(*row[key]) for key in ("lower", "upper")]
            given += [*corners, c_uint(row["channels"]), c_uint(row["pixels"]), steps]
        else:
            given += [(c_uint * rank)(*row["box"]), steps]
        rest = ("interleave", "swizzle", "promotion", "fill")
        self._call(name, *given, *(c_int(row.get(key, 0)) for key in rest))
        return space.raw[at : at + 128]

    def buffer(self, array: np.ndarray[Any, Any]) -> Buffer:
        """Device memory with the contents of an array."""
        return Buffer(self, array)


class Buffer:
    """Device memory.

    Attributes:
        address: where it lies.
    """

    def __init__(self, gpu: Gpu, array: np.ndarray[Any, Any]) -> None:
        self._gpu = gpu
        self._like = np.ascontiguousarray(array)
        address = c_uint64()
        gpu._call("cuMemAlloc_v2", byref(address), c_size_t(max(self._like.nbytes, 1)))
        self.address = address.value
        self.write(self._like)

    def write(self, array: np.ndarray[Any, Any]) -> None:
        """Other contents."""
        data = np.ascontiguousarray(array)
        size, pointer = c_size_t(data.nbytes), data.ctypes.data_as(c_void_p)
        self._gpu._call("cuMemcpyHtoD_v2", c_uint64(self.address), pointer, size)

    def array(self) -> np.ndarray[Any, Any]:
        """The contents."""
        out = np.empty_like(self._like)
        size, pointer = c_size_t(out.nbytes), out.ctypes.data_as(c_void_p)
        self._gpu._call("cuMemcpyDtoH_v2", pointer, c_uint64(self.address), size)
        return out

    def free(self) -> None:
        """Give it back."""
        self._gpu._call("cuMemFree_v2", c_uint64(self.address))


class Module:
    """Loaded code."""

    def __init__(self, gpu: Gpu, handle: c_void_p) -> None:
        self._gpu, self._handle = gpu, handle

    def write_symbol(self, name: str, array: np.ndarray[Any, Any]) -> None:
        """Set a module variable."""
        address, size = c_uint64(), c_size_t()
        self._gpu._call(
            "cuModuleGetGlobal_v2", byref(address), byref(size), self._handle, name.encode()
        )
        data = np.ascontiguousarray(array)
        count = c_size_t(min(data.nbytes, size.value))
        self._gpu._call("cuMemcpyHtoD_v2", address, data.ctypes.data_as(c_void_p), count)

    def launch(
        self,
        entry: str,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[bytes],
        shared: int = 0,
        cluster: Sequence[int] | None = None,
        cooperative: bool = False,
    ) -> None:
        """Launch and wait for the end; arguments are their bytes.

        Raises:
            DriverError: also of what the kernel did.
        """
        function = c_void_p()
        self._gpu._call("cuModuleGetFunction", byref(function), self._handle, entry.encode())
        if shared > 48 * 1024:
            attribute = c_int(MAX_DYNAMIC_SHARED)
            self._gpu._call("cuFuncSetAttribute", function, attribute, c_int(shared))
        held = [ctypes.create_string_buffer(raw, len(raw)) for raw in arguments]
        pointers = (c_void_p * max(len(held), 1))(*(ctypes.addressof(one) for one in held))
        attributes = (_Attribute * 2)()
        count = 0
        if cluster is not None:
            # Clusters of more than 8 blocks want to be asked for.
            self._gpu._call("cuFuncSetAttribute", function, c_int(NON_PORTABLE_CLUSTER), c_int(1))
            attributes[count].kind = LAUNCH_CLUSTER
            attributes[count].value[:3] = [*cluster, 1, 1][:3]
            count += 1
        if cooperative:
            attributes[count].kind = LAUNCH_COOPERATIVE
            attributes[count].value[0] = 1
            count += 1
        config = _Config(*grid, *block, shared, None, ctypes.addressof(attributes), count)
        taken = ctypes.cast(pointers, POINTER(c_void_p))
        self._gpu._call("cuLaunchKernelEx", byref(config), function, taken, c_void_p())
        self._gpu._call("cuCtxSynchronize")

    def unload(self) -> None:
        """Give it back."""
        self._gpu._call("cuModuleUnload", self._handle)


def about() -> dict[str, str]:
    """The card and its driver."""
    gpu = Gpu()
    return {"card": gpu.name, "arch": gpu.arch, "driver": gpu.driver}
