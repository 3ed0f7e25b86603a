"""Launches of host programs: from what is asked for to a grid, and to the error that a program
gets for how it ended."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from gpudbg.debug.stops.cuda_exceptions import ASSERT, exception_of
from gpudbg.errors import GpudbgError, UsageError
from gpudbg.hosting.cuda_errors import COOPERATIVE_TOO_LARGE, OUT_OF_RESOURCES, CudaError
from gpudbg.launch.prepare import Argument
from gpudbg.mem.checkpoint import Checkpoint

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.device.subscription import Subscription
    from gpudbg.formats.program import CodeImage, Kernel, Program
    from gpudbg.hosting.process import HostProcess, LaunchRequest
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.gpu import Grid

FAILED, TIMEOUT, ILLEGAL_ADDRESS = 719, 702, 700
_BY_EXCEPTION: Final = {
    1: 700, 2: 714, 3: 714, 4: 715, 5: 700, 6: 716, 7: 717, 8: 718, 9: 714, 10: 700, 11: 716,
    ASSERT: 710, 14: 700,
}  # fmt: skip
"""cuda-gdb's exception -> the error code that a program gets."""


def begin(request: LaunchRequest) -> Grid:
    """The grid of a launch, at its kernel's entry.

    Raises:
        CudaError: it cannot be launched.
    """
    try:
        return request.function.module.loaded.module.launch(
            request.function.kernel.name,
            request.grid,
            request.block,
            request.params,
            request.shared,
            request.cluster,
        )
    except UsageError as error:
        code = COOPERATIVE_TOO_LARGE if request.cooperative else OUT_OF_RESOURCES
        raise CudaError(code, str(error)) from error


def code_of(event: StopEvent | Stop, asserted: bool = False) -> int:
    """CUDA's error for how a run ended; 0 where it came to its end."""
    if event.kind == "exited":
        return 0
    if asserted:
        return _BY_EXCEPTION[ASSERT]
    if event.kind == "deadlock":
        return TIMEOUT
    faults = getattr(event, "faults", None) or getattr(event, "errors", ())
    if faults:
        return _BY_EXCEPTION.get(exception_of(faults[0].name), FAILED)
    return FAILED


class HostLaunch:
    """A launch that a host program asked for, as a session has it (`Launchable`).

    Attributes:
        request: what was asked for.
        process: who asked.
        subscriptions: observers that listen until the session ends.
    """

    ready = True

    def __init__(self, process: HostProcess, request: LaunchRequest, grid: Grid | None = None):
        self.process, self.request = process, request
        self.subscriptions: set[Subscription] = set()
        self._grid = grid
        self._given = grid is not None
        self._checkpoint: Checkpoint | None = None
        self._next = 0
        self._others: list[Grid] = []

    @property
    def loaded(self) -> LoadedProgram:
        """The program on its device."""
        return self.request.function.module.loaded

    @property
    def program(self) -> Program:
        """The module's content."""
        return self.loaded.program

    @property
    def image(self) -> CodeImage:
        """The module at its addresses."""
        return self.loaded.module.image

    @property
    def kernel(self) -> Kernel:
        """What is launched."""
        return self.request.function.kernel

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The parameters' values; what points into an allocation is named after it."""
        from gpudbg.hosting.arguments import arguments_of

        return arguments_of(self.loaded, self.kernel, self.request.params)

    @property
    def next_address(self) -> int:
        """Where what the launch makes for itself in device memory begins."""
        return self._next

    def begin(self) -> Grid:
        """A new grid; the first call launches, later ones restore device memory first."""
        if self._given and self._grid is not None:
            self._given = False
            return self._grid
        memory = self.loaded.device.gpu.memory
        if self._checkpoint is None:
            self._checkpoint = memory.checkpoint()
        else:
            self._checkpoint.restore()
        if self._grid is not None:
            self._grid.dispose()
        self._next = memory.next_address
        self._grid = begin(self.request)
        return self._grid

    def begin_again(self, now: Grid) -> Grid:
        """The grid as `begin` gave it last, beside the one there is; memory is restored first."""
        gpu = self.loaded.device.gpu
        assert self._checkpoint is not None
        for allocation in now.owned:
            gpu.memory.free(allocation)
        self._checkpoint.restore()
        gpu.memory.next_address = self._next
        gpu.launches -= 1
        self._others.append(begin(self.request))
        return self._others[-1]

    def release(self) -> None:
        """Give back what the launch has on its device."""
        for subscription in list(self.subscriptions):
            subscription.cancel()
        for grid in (self._grid, *self._others):
            if grid is not None:
                grid.dispose()
        self._others.clear()
        self._grid = None
        self._checkpoint = None


class Runs:
    """Carries launches out to their end, without a debugger.

    Attributes:
        stops: what ended launches before their end: the first of each process.
        gaps: what could not be run.
    """

    def __init__(self) -> None:
        self.stops: list[Stop] = []
        self.gaps: list[str] = []

    def __call__(self, process: HostProcess, request: LaunchRequest) -> None:
        """Run a kernel; a fault is what later calls of the process get."""
        grid = begin(request)
        session: list[DebugSession] = []

        def shown() -> DebugSession:
            if not session:
                session.append(session_of(HostLaunch(process, request, grid)))
            return session[0]

        def hangs(times: int) -> object:
            from gpudbg.debug.stops.hanging import hang_of

            return hang_of(shown(), times)

        try:
            event = grid.run(hang_check=hangs)  # type: ignore[arg-type]
            if event.kind != "exited":
                asserted = is_assert(event)
                self.stops.append(shown().runner.end_run(event))
                process.sticky = code_of(event, asserted)
        except GpudbgError as error:
            self.gaps.append(f"{request.function.kernel.name}: {error}")
            process.sticky = FAILED
        finally:
            if session:
                session[0].close()
            else:
                grid.dispose()


def is_assert(event: StopEvent | Stop) -> bool:
    """Whether a run was ended by a failed assertion of the program."""
    return any("assert" in line.lower() for line in event.detail)


def session_of(launch: HostLaunch) -> DebugSession:
    """A session of a launch."""
    from gpudbg.api.console import commands
    from gpudbg.debug.session import DebugSession

    return DebugSession(launch, commands)
