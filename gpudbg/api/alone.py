"""Launches that nobody looks at while they run: to their end, without a session.

A session is made where there is something to look at: a fault, a deadlock, a dropped access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.api.console import commands
from gpudbg.debug.stops.maker import exit_stop
from gpudbg.debug.stops.stop import EVERY_STOP

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.session import DebugSession
    from gpudbg.debug.stops.repeating import HangSearch
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.launch.prepare import ProgramLaunch
    from gpudbg.sm.grid import HangCheck
    from gpudbg.sm.state import WarpState


def run_alone(loaded: LoadedProgram, launch: ProgramLaunch) -> tuple[Stop, Callable[[], None]]:
    """Run a launch to its end, or to what ends it before.

    Args:
        launch: ready to begin, without a trap handler of its own.

    Returns:
        The stop, as `DebugSession.run` gives it; what frees the launch, to be called once.

    Raises:
        ModelGap: an instruction that has no semantics.
    """
    gpu = loaded.device.gpu
    session: DebugSession | None = None

    def shown() -> DebugSession:
        nonlocal session
        if session is None:
            session = _session_of(launch)
        return session

    def free() -> None:
        (launch.release if session is None else session.close)()

    try:
        if gpu.on_fault.goes_on:
            return shown().run(), free
        grid = launch.begin_once()
        event = grid.run(hang_check=hang_check(shown))
        if session is None and event.kind == "exited":
            stop = exit_stop(loaded.program, launch.kernel, event)
            for listener in EVERY_STOP:
                listener(stop)
            return stop, free
        return shown().runner.end_run(event), free
    except BaseException:
        free()
        raise


def _session_of(launch: ProgramLaunch) -> DebugSession:
    from gpudbg.debug.session import DebugSession

    return DebugSession(launch, commands)


def hang_check(shown: Callable[[], DebugSession]) -> HangCheck:
    """What proves that a launch hangs, where a session is made for the proof alone.

    Args:
        shown: gives the session of the launch.
    """

    search: HangSearch | None = None

    def check(times: int) -> tuple[WarpState, tuple[str, ...]] | None:
        nonlocal search
        if search is None:
            # Few runs last until somebody asks.
            from gpudbg.debug.stops.repeating import HangSearch

            search = HangSearch(shown())
        return search(times)

    return check
