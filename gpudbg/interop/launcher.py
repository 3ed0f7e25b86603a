"""Kernels that are called as CUDA libraries call them: `kernel[grid, block](x, y, n)`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from gpudbg.dataclass import dataclass
from gpudbg.interop.in_place import ArraysInPlace, host_arrays
from gpudbg.toolchain.signatures import declare

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.sanitizer.report import CheckReport

Answer = TypeVar("Answer")
Dims = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReadyLaunch:
    """A launch that is ready to begin.

    Attributes:
        program: the program on its device.
        kernel: its name there.
        grid, block: sizes.
        args: values by parameter; arrays of the host are read and written in place.
        names: of the arguments, for messages.
        shared_bytes: dynamic shared memory.
        cluster: blocks of a cluster.
    """

    program: LoadedProgram
    kernel: str
    grid: Dims
    block: Dims
    args: Sequence[object]
    names: Sequence[str] = ()
    shared_bytes: int = 0
    cluster: Dims | None = None

    def placed(self) -> tuple[ArraysInPlace, list[object]]:
        """The arrays on the device, and the arguments with these in their place."""
        values = host_arrays(self.args, self.names)
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        names = [self.names[n] if n < len(self.names) else "" for n in range(len(values))]
        pointers = [isinstance(v, np.ndarray) for v in values]
        if all(names):
            declare(self.program.kernels[self.kernel], names, pointers)
        named = [n for n, v in zip(names, values, strict=True) if isinstance(v, np.ndarray)]
        held = ArraysInPlace(self.program.device, arrays, named)
        return held, [held.view(v) if isinstance(v, np.ndarray) else v for v in values]


def debug(launch: ReadyLaunch) -> DebugSession:
    """A session at the kernel's entry; arrays follow at each stop."""
    held, args = launch.placed()
    try:
        session = launch.program.launch(
            launch.kernel,
            launch.grid,
            launch.block,
            args,
            launch.shared_bytes,
            None,
            launch.cluster,
        )
    except BaseException:
        held.free()
        raise
    held.follow(session)
    return session


def run(launch: ReadyLaunch) -> Stop:
    """Run to the end; arrays are as the kernel left them.

    Raises:
        KernelError: a fault, a trap or a deadlock; the message is the fault card.
    """
    from gpudbg.api.alone import run_alone
    from gpudbg.api.programs import prepared

    held, args = launch.placed()
    try:
        sizes = launch.grid, launch.block
        row = *sizes, args, launch.shared_bytes, launch.cluster
        ready = prepared(launch.program, launch.kernel, *row)
        stop, free = run_alone(launch.program, ready)
        try:
            held.copy_back()
            return stop.check()
        finally:
            free()
    finally:
        held.free()


def checked(launch: ReadyLaunch, settings: Mapping[str, Any]) -> CheckReport:
    """Run with checks; arrays are as the kernel left them."""
    from gpudbg.sanitizer.run import check

    held, args = launch.placed()
    row: dict[str, Any] = {
        "kernel": launch.kernel,
        "grid": launch.grid,
        "block": launch.block,
        "args": args,
        "shared_bytes": launch.shared_bytes,
    }
    if launch.cluster is not None:
        row["cluster"] = launch.cluster
    try:
        report = check(launch.program, launches=[row], **settings)
        held.copy_back()
        return report
    finally:
        held.free()


Use = Callable[[ReadyLaunch], Answer]
"""What is done with a launch: `run`, `debug`, or a check."""


class Calling(Generic[Answer]):
    """`of[configuration](*args, **named)` with one use of the launch."""

    def __init__(self, kernel: KernelLauncher, use: Use[Answer]) -> None:
        self._kernel, self._use = kernel, use

    def __getitem__(self, configuration: Any) -> Callable[..., Answer]:
        def call(*args: object, **named: object) -> Answer:
            return self._kernel.begin(configuration, args, named, self._use)

        return call


class KernelLauncher(ABC):
    """A kernel that is called as its library calls it; each library has a class of its own.

    `kernel[grid, block](x, y, n)` runs it to its end, with arrays in place, and returns the stop;
    a fault is a `KernelError` with the fault card.
    """

    @abstractmethod
    def begin(
        self,
        configuration: Any,
        args: tuple[object, ...],
        named: dict[str, object],
        use: Use[Answer],
    ) -> Answer:
        """Compile for these arguments, and use the launch."""

    def __getitem__(self, configuration: Any) -> Callable[..., Stop]:
        return Calling(self, run)[configuration]

    @property
    def debug(self) -> Calling[DebugSession]:
        """`kernel.debug[grid, block](…)`: a session at the kernel's entry."""
        return Calling(self, debug)

    def check(self, **settings: Any) -> Calling[CheckReport]:
        """`kernel.check()[grid, block](…)`: the report of a check.

        Args:
            settings: as for `gpudbg.check`, such as `checks=("race",)`.
        """
        return Calling(self, lambda launch: checked(launch, settings))


def sizes(configuration: Any) -> tuple[Dims, Dims, int]:
    """Grid, block and shared bytes of `[grid, block, stream, shared]`.

    Raises:
        UsageError: not so many values.
    """
    from gpudbg.errors import UsageError

    if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
        raise UsageError(
            "a launch needs its grid and its block", "kernel[blocks, threads](arguments…)"
        )
    grid, block, *rest = configuration
    shared = rest[1] if len(rest) > 1 else 0
    return _dims(grid), _dims(block), int(shared)


def _dims(value: Any) -> Dims:
    return int(value) if isinstance(value, int | np.integer) else tuple(int(v) for v in value)
