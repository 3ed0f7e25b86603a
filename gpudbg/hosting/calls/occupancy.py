"""How many blocks fit on an SM, by the same rules as launches."""

from __future__ import annotations

from gpudbg.errors import UsageError
from gpudbg.hosting.cuda_errors import INVALID_VALUE, CudaError
from gpudbg.hosting.process import HostFunction, HostProcess
from gpudbg.sm.launch import limits_of, plan


def blocks(process: HostProcess, handle: int, block: int, dynamic: int) -> int:
    function = process.get(handle, HostFunction)
    if block <= 0:
        raise CudaError(INVALID_VALUE)
    arch = process.machine.device.arch
    size = (block, 1, 1)
    try:
        made = plan(
            function.kernel, arch, (1, 1, 1), size, dynamic, None, None, calls=False, raw=False
        )
    except UsageError:
        return 0
    return made.ctas_per_sm


def blocks_with(process: HostProcess, handle: int, block: int, dynamic: int, flags: int) -> int:
    return blocks(process, handle, block, dynamic)


def dynamic(process: HostProcess, handle: int, count: int, block: int) -> int:
    """Bytes that each of so many blocks on an SM may have beside its static shared memory."""
    function = process.get(handle, HostFunction)
    if count <= 0:
        raise CudaError(INVALID_VALUE)
    limits = limits_of(process.machine.device.arch)
    most = min(limits.shared // count, limits.cta_shared)
    return max(most - function.kernel.shared_static_bytes, 0)
