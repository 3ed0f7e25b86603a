"""The table of CUDA functions, against the handlers and against NVIDIA's headers."""

from __future__ import annotations

import ctypes
import re
import struct
import subprocess
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.formats.tensor_map import TYPES, decode
from gpudbg.hosting.build import built_library
from gpudbg.hosting.calls import tensor_maps
from gpudbg.hosting.calls.devices import properties, properties_13
from gpudbg.hosting.cuda_errors import CudaError
from gpudbg.hosting.dispatch import call_of
from gpudbg.hosting.memory import HostDevice
from gpudbg.hosting.process import HostProcess
from gpudbg.hosting.table import BY_HAND, INTERNAL, absent, functions
from gpudbg.toolchain.installed import runtime_headers
from tests.hosting.cuda import require_compiler


def test_every_row_has_a_handler_that_takes_what_it_is_given() -> None:
    for row in functions():
        if row.handler == BY_HAND:
            continue
        call = call_of(row.number)
        assert call is not None
        given = signature(call.handler).bind(None, *row.given)
        assert len(given.args) == 1 + len(row.given), row.name


def test_names_are_said_once() -> None:
    names = [f.name for f in functions()] + list(absent())
    assert len(names) == len(set(names))


def test_parameters_are_as_many_as_the_headers_have() -> None:
    """Of those that are not by hand."""
    folders = [Path(d) for d in runtime_headers()]
    texts = [
        (folder / name).read_text(errors="replace")
        for folder in folders
        for name in ("cuda.h", "cuda_runtime_api.h")
        if (folder / name).is_file()
    ]
    if not texts:
        pytest.skip("NVIDIA's headers are not installed")
    declared = _declared("\n".join(texts))
    wrong = [
        (row.name, len(row.parameters), declared[row.name])
        for row in functions()
        if row.handler != BY_HAND
        and not row.name.startswith(INTERNAL)
        and row.name in declared
        and len(row.parameters) != declared[row.name]
    ]
    # CUDA 12's header declares the first version under a name that another has since.
    assert wrong == []


def test_the_properties_of_cuda_13_are_those_of_12_elsewhere() -> None:
    """Fields before and behind those that CUDA 13 has dropped, by the offsets of its header."""
    device = gpudbg.Device("sm_80", num_sms=7)
    process = HostProcess(HostDevice(device), 1, lambda process, request: None)
    older, newer = properties(process, 0), properties_13(process, 0)
    assert newer[:384] == older[:384]
    assert struct.unpack_from("<i", newer, 384) == struct.unpack_from("<i", older, 388) == (7,)
    threads_of_an_sm = struct.unpack_from("<i", newer, 604), struct.unpack_from("<i", older, 624)
    assert threads_of_an_sm == ((2048,), (2048,))


def _declared(text: str) -> dict[str, int]:
    """Name -> number of parameters."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    made = {}
    for name, listed in re.findall(r"(?:CUDAAPI|CUDARTAPI)\s+(\w+)\(([^;{]*?)\)\s*;", text):
        plain = listed.strip()
        made[name] = 0 if plain in ("", "void") else plain.count(",") + 1
    return made


def test_names_for_a_stream_of_each_thread_and_of_the_newest_runtime() -> None:
    """Functions written by hand have them, too; CUDA 13's library leads to the same ones."""
    require_compiler()
    folder = built_library()
    for name in ("libcudart.so.12", "libcudart.so.13"):
        library = ctypes.CDLL(str(folder / name))
        for function in ("cudaMemcpy_ptds", "cudaLaunchKernel_ptsz", "cudaStreamBeginCapture_ptsz"):
            assert getattr(library, function)
        library.cudaGetErrorString_ptsz.restype = ctypes.c_char_p
        assert library.cudaGetErrorString_ptsz(2) == b"out of memory"


@pytest.mark.parametrize("per_thread", [False, True])
def test_a_program_that_links_any_function_of_the_headers_begins(per_thread: bool) -> None:
    """Every one is exported: carried out, or named as not supported where it is called."""
    compiler, folders = require_compiler(), runtime_headers()
    if not folders:
        pytest.skip("NVIDIA's headers are not installed")
    words = [compiler, "-E", "-P", "-x", "c++", "-", *(f"-I{folder}" for folder in folders)]
    words += ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"] * per_thread
    libraries = {"libcuda.so.1": ("cuda.h", "cudaGL.h"), "libcudart.so.12": ("cuda_runtime_api.h",)}
    for name, headers in libraries.items():
        includes = "".join(f"#include <{header}>\n" for header in headers)
        done = subprocess.run(words, input=includes, capture_output=True, text=True, check=True)
        declared = set(
            re.findall(r"(?:CUresult|cudaError_t)\s+(cu\w+)\s*\([^;{]*\)\s*;", done.stdout)
        )
        library = ctypes.CDLL(str(built_library() / name))
        assert len(declared) > 300
        assert [one for one in sorted(declared) if not hasattr(library, one)] == []


def test_tensor_maps_are_those_of_the_device() -> None:
    device = gpudbg.Device("sm_90")
    buffer = device.empty((64, 128), np.float16)
    process = HostProcess(HostDevice(device), 1, lambda *_: None)
    ours = device.tensor_map(buffer, box=(16, 64), swizzle=128)

    def made(kind: int = 6, box: tuple[int, int] = (64, 16), swizzle: int = 3) -> bytes:
        given = ("2Q", 128, 64), ("1Q", 256), ("2I", *box), ("2I", 1, 1)
        sizes, strides, extent, steps = (
            memoryview(struct.pack(f"<{form}", *numbers)) for form, *numbers in given
        )
        return tensor_maps.tiled(
            process, kind, 2, buffer.address, sizes, strides, extent, steps, 0, swizzle, 0
        )

    assert made() == bytes(ours)
    moved = tensor_maps.moved(process, memoryview(made()), buffer.address + 4096)
    assert decode(moved) == replace(decode(made()), address=buffer.address + 4096)
    assert decode(made(9)).type == TYPES.index("bf16")
    refused: tuple[dict[str, Any], ...] = ({"box": (128, 16)}, {"kind": 14}, {"swizzle": 5})
    for arguments in refused:
        with pytest.raises(CudaError):
            made(**arguments)
