"""Launches: what a program asks for, checked as a driver checks it."""

from __future__ import annotations

import struct
from typing import cast

from gpudbg.hosting.calls.modules import SHARED_DEFAULT, most_threads
from gpudbg.hosting.calls.occupancy import blocks
from gpudbg.hosting.cuda_errors import (
    COOPERATIVE_TOO_LARGE,
    INVALID_CLUSTER_SIZE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    CudaError,
)
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
    if cluster is not None:
        _check_cluster(process, function, grid, cluster)
    static = function.kernel.shared_static_bytes
    if words[6] > max(function.dynamic, SHARED_DEFAULT - static):
        # More needs cudaFuncAttributeMaxDynamicSharedMemorySize.
        raise CudaError(INVALID_VALUE)
    if words[7]:
        _check_residency(process, handle, grid, block, words[6])
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


PORTABLE_CLUSTER, LARGEST_CLUSTER = 8, 16
"""Blocks of a cluster: on every device that has clusters, and where a kernel is allowed more."""


def _check_cluster(process: HostProcess, function: HostFunction, grid: Dim, cluster: Dim) -> None:
    """CudaError where a grid cannot be made of such clusters."""
    if process.machine.major < 9:
        raise CudaError(NOT_SUPPORTED, "clusters need sm_90 or later: give --arch sm_90")
    size = cluster[0] * cluster[1] * cluster[2]
    most = LARGEST_CLUSTER if function.large_clusters else PORTABLE_CLUSTER
    if not size or size > most or any(g % c for g, c in zip(grid, cluster, strict=True)):
        raise CudaError(INVALID_CLUSTER_SIZE)


def _check_residency(
    process: HostProcess, handle: int, grid: Dim, block: Dim, dynamic: int
) -> None:
    """CudaError where the blocks of a cooperative launch do not fit on the device at once."""
    per_sm = blocks(process, handle, block[0] * block[1] * block[2], dynamic)
    if grid[0] * grid[1] * grid[2] > per_sm * process.machine.device.gpu.num_sms:
        raise CudaError(COOPERATIVE_TOO_LARGE)
