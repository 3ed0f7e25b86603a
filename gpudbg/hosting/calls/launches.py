"""Launches: what a program asks for, checked as a driver checks it."""

from __future__ import annotations

import struct
from typing import cast

from gpudbg.hosting.calls.modules import SHARED_DEFAULT, most_threads
from gpudbg.hosting.cuda_errors import INVALID_VALUE, CudaError
from gpudbg.hosting.process import Dim, HostFunction, HostProcess, LaunchRequest

_SHAPE = struct.Struct("<3I3III3II Q".replace(" ", ""))


def launch(process: HostProcess, handle: int, shape: memoryview, params: memoryview) -> None:
    process.check()
    process.launch(process, request(process, handle, shape, params))


def request(
    process: HostProcess, handle: int, shape: memoryview, params: memoryview
) -> LaunchRequest:
    """What a message asks for.

    Raises:
        CudaError: no such kernel, or sizes that it cannot have.
    """
    function = process.get(handle, HostFunction)
    words = _SHAPE.unpack(shape)
    grid, block = cast(Dim, words[0:3]), cast(Dim, words[3:6])
    cluster = cast(Dim, words[8:11]) if any(words[8:11]) else None
    if not all(grid) or not all(block):
        raise CudaError(INVALID_VALUE)
    if block[0] * block[1] * block[2] > most_threads(process, function.kernel):
        threads = block[0] * block[1] * block[2]
        raise CudaError(INVALID_VALUE if threads > 1024 else 701)
    static = function.kernel.shared_static_bytes
    if words[6] > max(function.dynamic, SHARED_DEFAULT - static):
        # More needs cudaFuncAttributeMaxDynamicSharedMemorySize.
        raise CudaError(INVALID_VALUE)
    process.machine.launches += 1
    return LaunchRequest(
        function,
        grid,
        block,
        cluster,
        words[6],
        bool(words[7]),
        bytes(params),
        process.machine.launches,
    )
