"""Linkers: inputs become one cubin."""

from __future__ import annotations

from gpudbg.dataclass import dataclass
from gpudbg.errors import CompileError, UsageError
from gpudbg.hosting.calls.modules import cubin_of
from gpudbg.hosting.cuda_errors import INVALID_PTX, INVALID_VALUE, NO_COMPILER, CudaError
from gpudbg.hosting.linker import LinkInput
from gpudbg.hosting.linker import link as linked_cubin
from gpudbg.hosting.process import HostProcess


@dataclass(slots=True, eq=False)
class HostLinker:
    """A linker.

    Attributes:
        inputs: so far.
        cubin: the result; empty before.
    """

    inputs: list[LinkInput]
    cubin: bytes = b""


def create(process: HostProcess) -> int:
    process.check()
    return process.keep(HostLinker([]))


def add(process: HostProcess, handle: int, kind: int, name: str, data: memoryview) -> None:
    given = LinkInput(kind, name or "input", bytes(data))
    process.get(handle, HostLinker).inputs.append(given)


def link(process: HostProcess, handle: int) -> int:
    """Length of the cubin; `linked` gives it."""
    process.check()
    found = process.get(handle, HostLinker)
    if not found.inputs:
        raise CudaError(INVALID_VALUE)
    if len(found.inputs) == 1 and not _relocatable(found.inputs[0].data):
        found.cubin = cubin_of(process, found.inputs[0].data)[0]
        return len(found.cubin)
    try:
        found.cubin = linked_cubin(found.inputs, process.machine.device.arch)
    except CompileError as error:
        raise CudaError(INVALID_PTX, str(error)) from error
    except UsageError as error:
        raise CudaError(NO_COMPILER, str(error)) from error
    return len(found.cubin)


def _relocatable(data: bytes) -> bool:
    """Whether an ELF file is an object that has not been linked."""
    return data.startswith(b"\x7fELF") and data[16:18] == b"\x01\x00"


def linked(process: HostProcess, most: int, handle: int) -> bytes:
    return process.get(handle, HostLinker).cubin[:most]


def destroy(process: HostProcess, handle: int) -> None:
    process.objects.pop(handle, None)
