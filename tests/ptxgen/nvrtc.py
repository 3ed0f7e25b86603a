"""Compile CUDA C++ with NVRTC (library path in GPUDBG_NVRTC)."""

from __future__ import annotations

import ctypes
import os
import sys


def compile_cuda(text: str, target: str) -> bytes | str:
    """The cubin, or the compiler's log.

    Raises:
        SystemExit: 2, NVRTC is not named.
    """
    if not (path := os.environ.get("GPUDBG_NVRTC")):
        print(f"{target}: set GPUDBG_NVRTC to the path of libnvrtc.so.12", file=sys.stderr)
        raise SystemExit(2)
    library = ctypes.CDLL(path)
    program = ctypes.c_void_p()
    source = text.encode()
    library.nvrtcCreateProgram(ctypes.byref(program), source, b"in.cu", 0, None, None)
    options = (ctypes.c_char_p * 1)(f"--gpu-architecture={target}".encode())
    failed = library.nvrtcCompileProgram(program, 1, options)
    kind = "ProgramLog" if failed else "CUBIN"
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    content = ctypes.create_string_buffer(max(size.value, 1))
    getattr(library, f"nvrtcGet{kind}")(program, content)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return content.raw.decode(errors="replace") if failed else content.raw[: size.value]
