"""What a process of a host program has on the device."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from gpudbg.dataclass import dataclass
from gpudbg.hosting.cuda_errors import INVALID_HANDLE, CudaError

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.formats.program import Kernel
    from gpudbg.hosting.memory import HostDevice

Dim = tuple[int, int, int]


@runtime_checkable
class Closing(Protocol):
    """What has something on the device beside memory."""

    def close(self) -> None:
        """Give it back."""


Thing = TypeVar("Thing")


@dataclass(slots=True)
class HostModule:
    """A module that a host program loaded.

    Attributes:
        handle: how it calls it.
        loaded: the program on the device.
        functions: those it asked for, by name.
    """

    handle: int
    loaded: LoadedProgram
    functions: dict[str, int]


@dataclass(slots=True)
class HostFunction:
    """A kernel of it.

    Attributes:
        module, kernel: what it is.
        dynamic: most dynamic shared memory that the program allowed.
        large_clusters: whether it allowed clusters of more than 8 blocks.
    """

    module: HostModule
    kernel: Kernel
    dynamic: int
    large_clusters: bool = False


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """A launch that a host program asks for.

    Attributes:
        function: the kernel.
        grid, block, cluster: dimensions; None: no clusters.
        shared: bytes of dynamic shared memory.
        cooperative: all blocks are to be resident.
        params: parameter bytes.
        number: of the launch, from 1.
    """

    function: HostFunction
    grid: Dim
    block: Dim
    cluster: Dim | None
    shared: int
    cooperative: bool
    params: bytes
    number: int = 0


Launch = Callable[["HostProcess", LaunchRequest], None]
"""Runs a kernel to its end, or notes that it is asked for; CudaError where it cannot begin."""


class HostProcess:
    """One process: its handles, its context, the error that has ended the context.

    Attributes:
        machine: the device.
        pid: its number.
        launch: carries launches out.
        sticky: the code that every call gets after a kernel has faulted; 0.
        objects: what its handles are.
        retained: how often it holds the primary context.
        contexts: those it made.
        allocated: addresses of its device memory.
        mapped: memory that is mapped, by address (`calls.mapping`).
        opened: memory of other processes, by address (`calls.ipc`).
        pool: handle of the current memory pool; 0: the default one.
    """

    def __init__(self, machine: HostDevice, pid: int, launch: Launch) -> None:
        self.machine = machine
        self.pid = pid
        self.launch = launch
        self.sticky = 0
        self.objects: dict[int, Any] = {}
        self.retained = 0
        self.flags = 0
        self.pool = 0
        self.contexts: set[int] = set()
        self.limits: dict[int, int] = {}
        self.allocated: set[int] = set()
        self.mapped: dict[int, Any] = {}
        self.opened: set[int] = set()
        self._handles = count(0x5000_0010, 0x10)

    def keep(self, thing: Any) -> int:
        """A handle for something."""
        handle = next(self._handles)
        self.objects[handle] = thing
        return handle

    def get(self, handle: int, kind: type[Thing]) -> Thing:
        """What a handle is.

        Raises:
            CudaError: no such thing.
        """
        found = self.objects.get(handle)
        if not isinstance(found, kind):
            raise CudaError(INVALID_HANDLE)
        return found

    def check(self) -> None:
        """CudaError with the sticky code, where there is one."""
        if self.sticky:
            raise CudaError(self.sticky)

    def reset(self) -> None:
        """What it had is freed, and a fault is forgotten."""
        for thing in self.objects.values():
            if isinstance(thing, Closing):
                thing.close()
        self.objects.clear()
        self.contexts.clear()
        self.opened.clear()
        for found in self.mapped.values():
            self.machine.device.gpu.memory.free(found.allocation)
        self.mapped.clear()
        self.machine.forget(self)
        self.sticky = self.retained = 0
