"""Sessions that nobody has asked anything yet: launched, run to the end and closed, as tests do.

A session's parts (breakpoints, history, the driver of the debugger port, …) take longer to make
than a short kernel runs.  A `FreshSession` has none.  Its first run is noted; whoever asks for
anything else has the parts made, and they know of that run what they would know had they been there
from the beginning: the move in the history, the accesses to the port, the stop at the entry.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from gpudbg.debug.history.first_run import EntryNotes, FirstRun
from gpudbg.debug.history.move_log import edits_of
from gpudbg.debug.inferior import MOST_STOPS
from gpudbg.debug.interruption import interruptible
from gpudbg.debug.launching import Releaser
from gpudbg.debug.ownership import Ownership
from gpudbg.debug.session import ClosedSession, DebugSession
from gpudbg.debug.stops.maker import exit_stop
from gpudbg.debug.stops.stop import EVERY_STOP, Stop
from gpudbg.latest import Latest
from gpudbg.validation import maybe_whole

if TYPE_CHECKING:
    from gpudbg.debug.session import Commands
    from gpudbg.debug.stops.repeating import HangSearch
    from gpudbg.launch.prepare import ProgramLaunch
    from gpudbg.sm.grid import Grid
    from gpudbg.sm.state import WarpState


def session_of(launch: ProgramLaunch, commands: Commands) -> DebugSession:
    """A session at a launch's entry: without parts where one of that kind has stood there."""
    grid, kind = launch.begin_before_session(), launch.repeats
    if kind is None:
        return DebugSession(launch, commands)
    if isinstance(kind.notes, EntryNotes) and _unobserved(grid):
        return FreshSession(launch, commands, grid, kind.notes)
    session = DebugSession(launch, commands)
    if session.stop is not None:
        kind.notes = EntryNotes(session.stop, session.focus, frozenset(vars(session)))
    return session


def _unobserved(grid: Grid) -> bool:
    """Whether nobody listens to stops or to what a machine does, and errors stop it."""
    gpu = grid.gpu
    return not (EVERY_STOP or gpu.observers.members or gpu.on_fault.goes_on)


class FreshSession(DebugSession):
    """A session without parts, which becomes one with them when somebody asks for one."""

    def __init__(
        self, launch: ProgramLaunch, commands: Commands, grid: Grid, notes: EntryNotes
    ) -> None:
        """Args:
        grid: what `launch.begin` gives next.
        notes: of launches of this kind.
        """
        self.launch, self.command_table = launch, commands
        self.program, self.kernel = launch.program, launch.kernel
        self.grid = grid
        self.ownership = Ownership()
        self.running = 0
        itself = weakref.ref(self)
        self._past = FirstRun(grid, notes, lambda: _complete(itself()))
        self._releaser = Releaser.of(self, launch)

    def __getattr__(self, name: str) -> Any:
        if name not in self._past.notes.names:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.ownership.require()
        _complete(self)
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        _complete(self)
        return dir(self)

    def run(self, max_instructions: int | None = None) -> Stop:
        """See `DebugSession.run`."""
        most, past, grid = (
            maybe_whole(max_instructions, "max_instructions", 1),
            self._past,
            self.grid,
        )
        if (
            most is not None
            or past.begun
            or past.edits != edits_of(grid)
            or not _unobserved(grid)
            or self.ownership.thread
        ):
            _complete(self)
            return self.run(most)
        return self._run_first()

    @interruptible
    def _run_first(self) -> Stop:
        """The first run, which alone needs no parts where it comes to the launch's end."""
        self._past.resume()
        event = self.grid.run(hang_check=_HangCheck(self))
        if event.kind != "exited" or type(self) is not FreshSession:
            _complete(self)
            return self.runner.end_run(event)
        self.stop = exit_stop(self.program, self.kernel, event)
        return self.stop

    def close(self) -> None:
        """See `DebugSession.close`."""
        self.require_closable()
        self._releaser.free()
        past, stop, kernel, program = (
            self._past,
            self.__dict__.get("stop"),
            self.kernel,
            self.program,
        )
        self.__dict__ = {"_past": past, "_stop": stop, "kernel": kernel, "program": program}
        self.__class__ = ClosedFreshSession  # type: ignore[assignment]


class _HangCheck:
    """Whether the launch hangs, for `Grid.run`; few runs last until somebody asks."""

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._search: HangSearch | None = None

    def __call__(self, times: int) -> tuple[WarpState, tuple[str, ...]] | None:
        if self._search is None:
            from gpudbg.debug.stops.repeating import HangSearch

            _complete(self._session)
            self._search = HangSearch(self._session)
        return self._search(times)


def _complete(session: DebugSession | None) -> None:
    """Have a session's parts made, unless it has them."""
    if not isinstance(session, FreshSession):
        return
    held = dict(session.__dict__)
    past, stop = session._past, held.get("stop")
    session._releaser.forget()
    session.__dict__.clear()
    session.__class__ = DebugSession  # type: ignore[assignment]
    DebugSession.__init__(
        session, held["launch"], held["command_table"], past if past.begun else None
    )
    session.ownership, session.running = held["ownership"], held["running"]
    if stop is not None:
        session.runner.adopt_end(stop)


class ClosedFreshSession(ClosedSession):
    """A closed session that never had parts."""

    _past: FirstRun
    _stop: Stop | None

    def __getattr__(self, name: str) -> Any:
        if name == "_faulted":
            return False
        if name == "_refused":
            return self._past.notes.names
        if name not in ("stop", "stops"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        entry = self._past.entry
        self.stops = Latest(MOST_STOPS)
        for stop in filter(None, (entry, self._stop)):
            self.stops.append(stop)
        self.stop = self._stop or entry
        return getattr(self, name)
