"""Launches of host programs: from what is asked for to a grid, and to the error that a program
gets for how it ended."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from gpudbg.api.alone import hang_check
from gpudbg.debug.stops.cuda_exceptions import ASSERT, exception_of
from gpudbg.errors import GpudbgError, UsageError
from gpudbg.formats.launch import Launch
from gpudbg.hosting.cuda_errors import COOPERATIVE_TOO_LARGE, OUT_OF_RESOURCES, CudaError
from gpudbg.launch.beginnings import Beginnings
from gpudbg.launch.prepare import Argument
from gpudbg.options import RECORD_ON_FAULT

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.device.subscription import Subscription
    from gpudbg.formats.program import CodeImage, Kernel, Program
    from gpudbg.hosting.process import HostProcess, LaunchRequest
    from gpudbg.sm.events import StopEvent
    from gpudbg.sm.gpu import Grid, Module
    from gpudbg.sm.repeated import RepeatedLaunch

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
        return _module_of(request).launch(
            request.function.kernel.name,
            request.grid,
            request.block,
            request.params,
            request.shared,
            request.cluster,
        )
    except UsageError as error:
        raise _refused(request, error) from error


def _module_of(request: LaunchRequest) -> Module:
    return request.function.module.loaded.module


def _refused(request: LaunchRequest, error: UsageError) -> CudaError:
    code = COOPERATIVE_TOO_LARGE if request.cooperative else OUT_OF_RESOURCES
    return CudaError(code, str(error))


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
        beginnings: its grids, and what they begin from.
    """

    ready = True

    def __init__(self, process: HostProcess, request: LaunchRequest, grid: Grid | None = None):
        self.process, self.request = process, request
        self.subscriptions: set[Subscription] = set()
        self._given = grid
        self.beginnings = Beginnings(self.loaded.device.gpu, grid)

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

    @property
    def params(self) -> bytes:
        """The parameter bytes."""
        return self.request.params

    @cached_property
    def table(self) -> Launch:
        """What was asked for as a launch table says it: recordings hold that."""
        asked = self.request
        return Launch(
            kernel=self.kernel.name,
            grid=asked.grid,
            block=asked.block,
            cluster=asked.cluster,
            shared_bytes=asked.shared,
            source=self.program.path,
        )

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The parameters' values; what points into an allocation is named after it."""
        from gpudbg.hosting.arguments import arguments_of

        return arguments_of(self.loaded, self.kernel, self.request.params)

    @property
    def next_address(self) -> int:
        """Where what the launch makes for itself in device memory begins."""
        return self.beginnings.next_address

    def begin(self) -> Grid:
        """The grid that was launched before, once; else a new one, memory being restored first."""
        given, self._given = self._given, None
        return self.beginnings.begin(self._launched) if given is None else given

    def begin_again(self, now: Grid) -> Grid:
        """The grid as `begin` gave it last, beside the one there is: `Beginnings.begin_again`."""
        return self.beginnings.begin_again(now, self._launched)

    def _launched(self) -> Grid:
        return begin(self.request)

    def release(self) -> None:
        """Give back what the launch has on its device."""
        for subscription in list(self.subscriptions):
            subscription.cancel()
        self.beginnings.end()


class Runs:
    """Carries launches out to their end, without a debugger.

    Attributes:
        recording: file for a recording of the first launch that fails; "" for none.
        stops: what ended launches before their end: the first of each process.
        gaps: what could not be run.
    """

    def __init__(self, recording: str = "") -> None:
        self.recording = recording
        self.stops: list[Stop] = []
        self.gaps: list[str] = []

    def __call__(self, process: HostProcess, request: LaunchRequest) -> None:
        """Run a kernel; a fault is what later calls of the process get."""
        if self.recording and not self.stops:
            self._run_recorded(process, request)
            return
        grid, again = self._begin(request)
        session: list[DebugSession] = []

        def shown() -> DebugSession:
            if not session:
                session.append(session_of(HostLaunch(process, request, grid)))
            return session[0]

        try:
            event = grid.run(hang_check=hang_check(shown))
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
            elif not _keep(request, again):
                grid.dispose()

    def _run_recorded(self, process: HostProcess, request: LaunchRequest) -> None:
        """Run a kernel in a session of its own, which knows how the launch began."""
        from gpudbg.debug.stops.stop import ExitStop

        session = opened(process, request)
        session.settings.set(RECORD_ON_FAULT.flag, self.recording)
        try:
            stop = session.run()
            process.sticky = code_of(stop, is_assert(stop))
            if not isinstance(stop, ExitStop):
                self.stops.append(stop)
        except GpudbgError as error:
            self.gaps.append(f"{request.function.kernel.name}: {error}")
            process.sticky = FAILED
        finally:
            session.close()

    def _begin(self, request: LaunchRequest) -> tuple[Grid, RepeatedLaunch | None]:
        """`begin`, by the grid of an earlier launch of its kind where there is one."""
        shape = request.function.kernel.name, request.grid, request.block, request.params
        try:
            repeated = request.function.module.loaded.device.repeated
            module = _module_of(request)
            return repeated.launch(module, *shape, request.shared, request.cluster)
        except UsageError as error:
            raise _refused(request, error) from error


def _keep(request: LaunchRequest, again: RepeatedLaunch | None) -> bool:
    """Keep a launch that has ended for others of its kind; whether that can be."""
    loaded = request.function.module.loaded
    return loaded.device.repeated.keep(loaded.module, again, request.cluster)


def is_assert(event: StopEvent | Stop) -> bool:
    """Whether a run was ended by a failed assertion of the program."""
    return any("assert" in line.lower() for line in event.detail)


def opened(process: HostProcess, request: LaunchRequest) -> DebugSession:
    """A session of a launch that is asked for.

    Raises:
        CudaError: it cannot begin: that is the program's mistake, and no launch.
    """
    require_possible(request)
    return session_of(HostLaunch(process, request))


def require_possible(request: LaunchRequest) -> None:
    """CudaError where a launch cannot begin: that is the program's mistake, and no launch."""
    begin(request).dispose()
    _module_of(request).gpu.launches -= 1


def session_of(launch: HostLaunch) -> DebugSession:
    """A session of a launch."""
    from gpudbg.api.console import commands
    from gpudbg.debug.session import DebugSession

    return DebugSession(launch, commands)
