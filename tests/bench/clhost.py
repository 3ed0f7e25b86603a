"""Smallest OpenCL host that works through ctypes, so that oclgrind (preloaded) and PoCL (ICD) run
the same code.  Under `oclgrind` the calls must be looked up in the process itself."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

P = ctypes.c_void_p
DEVICE_TYPE_ALL = 0xFFFFFFFF
PROGRAM_BUILD_LOG = 0x1183
READ_WRITE, COPY_HOST_PTR = 1 << 0, 1 << 5
HANDLES = (
    "clCreateContext",
    "clCreateCommandQueue",
    "clCreateProgramWithSource",
    "clCreateKernel",
    "clCreateBuffer",
)
"""Functions that give a pointer."""


def _library() -> ctypes.CDLL:
    if "oclgrind" in os.environ.get("LD_PRELOAD", "") or os.environ.get("OCLGRIND"):
        library = ctypes.CDLL(None)
        if hasattr(library, "clGetPlatformIDs"):
            return library
    return ctypes.CDLL("libOpenCL.so.1")


def _ok(code: int) -> None:
    if code != 0:
        raise RuntimeError(f"OpenCL error {code}")


class CL:
    """A context and a queue on the first device."""

    def __init__(self) -> None:
        self._library = _library()
        for name in HANDLES:
            getattr(self._library, name).restype = P
        platforms = (P * 8)()
        self._call("clGetPlatformIDs", 8, platforms, ctypes.byref(ctypes.c_uint()))
        self._device = P()
        self._call(
            "clGetDeviceIDs", P(platforms[0]), ctypes.c_ulong(DEVICE_TYPE_ALL), 1,
            ctypes.byref(self._device), None,
        )  # fmt: skip
        self._context = self._made(
            "clCreateContext", None, 1, ctypes.byref(self._device), None, None
        )
        self._queue = self._made(
            "clCreateCommandQueue", self._context, self._device, ctypes.c_ulong(0)
        )

    def _call(self, name: str, *arguments: Any) -> None:
        """A function that gives an error code."""
        _ok(getattr(self._library, name)(*arguments))

    def _made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """A function that gives a handle, and an error code in its last argument."""
        code = ctypes.c_int()
        handle = P(getattr(self._library, name)(*arguments, ctypes.byref(code)))
        _ok(code.value)
        return handle

    def kernel(self, source: bytes, name: str, options: bytes = b"") -> ctypes.c_void_p:
        """A kernel of a program, compiled."""
        text = ctypes.c_char_p(source)
        program = self._made(
            "clCreateProgramWithSource", self._context, 1, ctypes.byref(text), None
        )
        code = self._library.clBuildProgram(
            program, 1, ctypes.byref(self._device), options, None, None
        )
        if code != 0:
            log = ctypes.create_string_buffer(1 << 16)
            self._library.clGetProgramBuildInfo(
                program, self._device, PROGRAM_BUILD_LOG, ctypes.c_size_t(len(log)), log, None
            )
            raise RuntimeError(log.value.decode())
        return self._made("clCreateKernel", program, name.encode())

    def run(
        self,
        kernel: ctypes.c_void_p,
        bufs: Sequence[npt.NDArray[Any]],
        scalars: Sequence[np.generic],
        grid: Sequence[int],
        block: Sequence[int],
    ) -> float:
        """One launch on fresh device buffers; returns seconds and leaves outputs in `bufs`."""
        memories = [self._buffer(b) for b in bufs]
        for i, memory in enumerate(memories):
            self._call("clSetKernelArg", kernel, i, ctypes.c_size_t(8), ctypes.byref(memory))
        for i, scalar in enumerate(scalars, len(bufs)):
            value = np.array([scalar])
            size = ctypes.c_size_t(value.itemsize)
            self._call("clSetKernelArg", kernel, i, size, value.ctypes.data_as(P))
        seconds = self._timed(kernel, grid, block)
        for array, memory in zip(bufs, memories, strict=True):
            self._call(
                "clEnqueueReadBuffer", self._queue, memory, 1, ctypes.c_size_t(0),
                ctypes.c_size_t(array.nbytes), array.ctypes.data_as(P), 0, None, None,
            )  # fmt: skip
            self._library.clReleaseMemObject(memory)
        return seconds

    def _buffer(self, array: npt.NDArray[Any]) -> ctypes.c_void_p:
        """Device memory with a copy of an array."""
        return self._made(
            "clCreateBuffer", self._context, ctypes.c_ulong(READ_WRITE | COPY_HOST_PTR),
            ctypes.c_size_t(array.nbytes), array.ctypes.data_as(P),
        )  # fmt: skip

    def _timed(self, kernel: ctypes.c_void_p, grid: Sequence[int], block: Sequence[int]) -> float:
        """Seconds of a launch alone."""
        dimensions = len(grid)
        sizes = ctypes.c_size_t * dimensions
        everything = sizes(*(a * b for a, b in zip(grid, block, strict=True)))
        self._call("clFinish", self._queue)
        start = time.perf_counter()
        self._call(
            "clEnqueueNDRangeKernel", self._queue, kernel, dimensions, None, everything,
            sizes(*block), 0, None, None,
        )  # fmt: skip
        self._call("clFinish", self._queue)
        return time.perf_counter() - start
