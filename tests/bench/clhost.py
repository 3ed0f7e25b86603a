"""Smallest OpenCL host that works through ctypes, so that oclgrind (preloaded) and PoCL (ICD) run
the same code.  Under `oclgrind` the calls must be looked up in the process itself."""

import ctypes
import os
import time

import numpy as np


def _lib():
    if "oclgrind" in os.environ.get("LD_PRELOAD", "") or os.environ.get("OCLGRIND"):
        lib = ctypes.CDLL(None)
        if hasattr(lib, "clGetPlatformIDs"):
            return lib
    return ctypes.CDLL("libOpenCL.so.1")


P = ctypes.c_void_p


class CL:
    def __init__(self) -> None:
        lib = self.lib = _lib()
        for f in (
            "clCreateContext",
            "clCreateCommandQueue",
            "clCreateProgramWithSource",
            "clCreateKernel",
            "clCreateBuffer",
        ):
            getattr(lib, f).restype = P
        n = ctypes.c_uint()
        plats = (P * 8)()
        self._ok(lib.clGetPlatformIDs(8, plats, ctypes.byref(n)))
        self.dev = P()
        self._ok(
            lib.clGetDeviceIDs(
                P(plats[0]), ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(self.dev), None
            )
        )
        e = ctypes.c_int()
        self.ctx = P(
            lib.clCreateContext(None, 1, ctypes.byref(self.dev), None, None, ctypes.byref(e))
        )
        self._ok(e.value)
        self.q = P(lib.clCreateCommandQueue(self.ctx, self.dev, ctypes.c_ulong(0), ctypes.byref(e)))
        self._ok(e.value)

    @staticmethod
    def _ok(rc) -> None:
        if rc != 0:
            raise RuntimeError(f"OpenCL error {rc}")

    def kernel(self, source, name, options=b""):
        e = ctypes.c_int()
        src = ctypes.c_char_p(source)
        prog = P(
            self.lib.clCreateProgramWithSource(
                self.ctx, 1, ctypes.byref(src), None, ctypes.byref(e)
            )
        )
        self._ok(e.value)
        rc = self.lib.clBuildProgram(prog, 1, ctypes.byref(self.dev), options, None, None)
        if rc != 0:
            buf = ctypes.create_string_buffer(1 << 16)
            self.lib.clGetProgramBuildInfo(
                prog, self.dev, 0x1183, ctypes.c_size_t(len(buf)), buf, None
            )
            raise RuntimeError(buf.value.decode())
        k = P(self.lib.clCreateKernel(prog, name.encode(), ctypes.byref(e)))
        self._ok(e.value)
        return k

    def run(self, k, bufs, scalars, grid, block):
        """One launch on fresh device buffers; returns seconds and leaves outputs in `bufs`."""
        lib, e, mems = self.lib, ctypes.c_int(), []
        for i, b in enumerate(bufs):
            m = P(
                lib.clCreateBuffer(
                    self.ctx,
                    ctypes.c_ulong(1 | 32),
                    ctypes.c_size_t(b.nbytes),
                    b.ctypes.data_as(P),
                    ctypes.byref(e),
                )
            )
            self._ok(e.value)
            mems.append(m)
            self._ok(lib.clSetKernelArg(k, i, ctypes.c_size_t(8), ctypes.byref(m)))
        for j, s in enumerate(scalars):
            v = np.array([s])
            self._ok(
                lib.clSetKernelArg(
                    k, len(bufs) + j, ctypes.c_size_t(v.itemsize), v.ctypes.data_as(P)
                )
            )
        d = len(grid)
        g = (ctypes.c_size_t * d)(*[a * b for a, b in zip(grid, block, strict=True)])
        local = (ctypes.c_size_t * d)(*block)
        self._ok(lib.clFinish(self.q))
        t = time.perf_counter()
        self._ok(lib.clEnqueueNDRangeKernel(self.q, k, d, None, g, local, 0, None, None))
        self._ok(lib.clFinish(self.q))
        t = time.perf_counter() - t
        for b, m in zip(bufs, mems, strict=True):
            self._ok(
                lib.clEnqueueReadBuffer(
                    self.q,
                    m,
                    1,
                    ctypes.c_size_t(0),
                    ctypes.c_size_t(b.nbytes),
                    b.ctypes.data_as(P),
                    0,
                    None,
                    None,
                )
            )
            lib.clReleaseMemObject(m)
        return t
