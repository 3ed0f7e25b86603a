"""Launches of a host program as a debugger has them: one session, from launch to launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.errors import UsageError
from gpudbg.hosting.cuda_errors import CudaError
from gpudbg.hosting.launching import (
    HostLaunch,
    code_of,
    is_assert,
    require_possible,
    session_of,
)

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.hosting.execution import Execution


class HostLaunches:
    """Where a session's launches come from (`LaunchSource`).

    Attributes:
        stop_at: number of the launch to stop at; None: at each, while there are no breakpoints.
        over: the program has ended.
        dropped: a line for each wild access that launches went on without.
    """

    def __init__(self, execution: Execution, stop_at: int | None = None) -> None:
        self._execution = execution
        self._launch: HostLaunch | None = None
        self.stop_at = stop_at
        self.over = False
        self.dropped: list[str] = []

    def first(self) -> DebugSession | None:
        """A session at the first launch to stop at; None where the program makes none."""
        launch = self.next(None)
        while launch is not None and not self._wanted(launch):
            launch = self._passed(launch)
        if launch is None:
            return None
        session = session_of(launch)
        session.launching.source = self
        # Kernels of modules that are not loaded yet can be named.
        session.execute("set breakpoint pending on")
        return session

    def next(self, stop: Stop | None) -> HostLaunch | None:
        """The next launch, after the one before has ended as `stop` says."""
        server = self._execution.server
        if self._launch is not None:
            if stop is not None:
                number = self._launch.request.number
                rows = stop.detail if stop.dropped else ()
                self.dropped += [f"launch {number}: {row.strip()}" for row in rows]
                self._launch.process.sticky = code_of(stop, is_assert(stop))
            self._launch = None
            server.complete()
        while (found := server.serve()) is not None:
            process, request = found
            try:
                require_possible(request)
            except CudaError as error:
                server.complete(error.code)
                continue
            self._launch = HostLaunch(process, request)
            return self._launch
        return None

    @property
    def code(self) -> int:
        """What the program ended with, as a shell has it; 0 before."""
        return self._execution.program.code if self.over else 0

    @property
    def crash(self) -> str:
        """The signal that ended it, or ""."""
        return self._execution.program.crash if self.over else ""

    def stands(self, number_of_points: int) -> bool:
        """Whether the present launch is a stop at its entry."""
        if self._launch is None or not self._wanted(self._launch):
            return False
        return not number_of_points or self.stop_at == self._launch.request.number

    def finished(self) -> str:
        """What is said after the last launch."""
        program = self._execution.program
        program.drain()
        self.over = True
        launches = self._execution.machine.launches
        count = f"{launches} launch" + ("es" if launches != 1 else "")
        last = f"{program.called} ended with exit code {program.code} after {count}"
        return "\n".join([last, *(f"  {row}" for row in self.dropped)])

    def run_on(self, session: DebugSession | None) -> None:
        """No stop any more: what is left of the program runs to its end."""
        if session is not None:
            stop = session.stop
            if not session.finished and not session.faulted:
                stop = session.run()
                if stop.failed:
                    # Nobody has been shown it.
                    self._execution.runs.stops.append(stop)
            # The session keeps its launch: the answer is all that the program waits for.
            if self._launch is not None:
                assert stop is not None
                self._launch.process.sticky = code_of(stop, is_assert(stop))
                self._launch = None
                self._execution.server.complete()
        while (launch := self.next(None)) is not None:
            self._passed_on(launch)

    def _wanted(self, launch: HostLaunch) -> bool:
        return self.stop_at is None or launch.request.number >= self.stop_at

    def _passed(self, launch: HostLaunch) -> HostLaunch | None:
        """Run a launch to its end; the next one."""
        self._passed_on(launch)
        return self.next(None)

    def _passed_on(self, launch: HostLaunch) -> None:
        self._execution.runs(launch.process, launch.request)
        self._launch = None
        self._execution.server.complete()


def open_host_program(execution: Execution) -> DebugSession:
    """A session at a program's first launch; its device goes with it.

    Raises:
        UsageError: the program launches nothing.
    """
    session = HostLaunches(execution).first()
    if session is None:
        program = execution.program
        execution.close()
        raise UsageError(
            f"{program.called} ended with exit code {program.code} and launched nothing"
        )
    return session
