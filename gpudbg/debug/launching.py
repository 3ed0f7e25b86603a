"""Launch control: starts, restarts, replaces or abandons the launch of a session."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from gpudbg.debug.attached import Attached, Owner
from gpudbg.debug.stops.stop import ExitStop
from gpudbg.debug.symbols import Symbols
from gpudbg.errors import GpudbgError
from gpudbg.formats.launch import MissingArguments

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.setting import Breakpoints
    from gpudbg.debug.history.history import LaunchHistory
    from gpudbg.debug.inferior import Inferior, Launchable
    from gpudbg.debug.running import Runner
    from gpudbg.debug.stops.stop import Stop
    from gpudbg.debug.trace.timeline import Timeline
    from gpudbg.debug.traps import SessionTraps
    from gpudbg.launch.opening import Opening


class LaunchSource(Protocol):
    """The source of a session's launches under `gpudbg exec`: a host program.

    Attributes:
        over: it has ended; `run` needs it started again.
        code: what it ended with, as a shell has it; 0 before.
        crash: the signal that ended it, or "".
        dropped: a line for each wild access that its launches went on without.
    """

    over: bool
    dropped: list[str]

    @property
    def code(self) -> int:
        """See the class."""

    @property
    def crash(self) -> str:
        """See the class."""

    def next(self, stop: Stop | None) -> Launchable | None:
        """The next launch; None after the last one.

        Args:
            stop: how the one before ended.
        """

    def stands(self, number_of_points: int) -> bool:
        """Whether the launch that `next` gave is a stop at its entry."""

    def finished(self) -> str:
        """The message after the last launch."""


class LaunchControl(Attached[Owner]):
    """Launches an inferior's kernel, and what another launch was planned with.

    Attributes:
        opening: how the program was opened: path, flags and table; None where Python launched it.
        planned: whether the next launch is made from `opening`.
        source: where the next launches come from; None: the one there is is all.
    """

    def __init__(
        self,
        inferior: Owner,
        breakpoints: Breakpoints,
        traps: SessionTraps,
        runner: Runner,
        timeline: Timeline,
        history: LaunchHistory,
        code_changed: Callable[[Owner], None],
    ) -> None:
        super().__init__(inferior)
        self._breakpoints, self._traps, self._runner = breakpoints, traps, runner
        self._timeline, self._history = timeline, history
        self._code_changed = code_changed
        self.opening: Opening | None = None
        self.planned = False
        self.source: LaunchSource | None = None
        self._releaser = Releaser.of(inferior, inferior.launch)

    def release(self) -> None:
        """Free what the launch made on its device."""
        self._releaser.free()

    def require_launchable(self) -> None:
        """Raise UsageError, naming what is missing, where `restart` could not launch."""
        if self.planned and self.opening is not None:
            loaded = self.opening.loaded(self._inferior.launch.loaded)
            trouble = self.opening.trouble(loaded.program)
            if trouble is not None:
                raise trouble

    def restart(self) -> Stop:
        """Launch from the beginning, or what was planned; see `DebugSession.restart`."""
        if self.planned and self.opening is not None:
            return self._carry_out(self.opening)
        return self._begin()

    def run_to_stop(self, most: int | None) -> Stop:
        """Run once until a stop; through the launches of a source until one of them has a stop."""
        source = self.source
        if source is None:
            return self._runner.run_to_stop(most)
        while True:
            inferior = self._inferior
            if inferior.finished or inferior.faulted:
                launch = source.next(inferior.stop)
                if launch is None:
                    return self._runner.program_finished(source.finished())
                self._use(launch)
                stop = self._begin()
                if source.stands(len(list(self._breakpoints))):
                    return stop
            stop = self._runner.run_to_stop(most)
            if not isinstance(stop, ExitStop):
                return stop

    def plan(self, opening: Opening) -> None:
        """What the next `restart` launches; see `DebugSession.plan`."""
        loaded = opening.loaded(self._inferior.launch.loaded)
        idle = opening.idle(loaded)
        with suppress(MissingArguments):
            opening.table(loaded.program)
        self.opening, self.planned = opening, True
        if not self._inferior.launched:
            self._use(idle)
            self._begin()

    def kill(self) -> None:
        """Abandon the launch."""
        inferior = self._inferior
        inferior.grid.abandon()
        inferior.killed = True
        inferior.focus = None

    def _carry_out(self, opening: Opening) -> Stop:
        """Launch as planned; where that fails, the program stays open without a launch."""
        loaded = opening.loaded(self._inferior.launch.loaded)
        launch = opening.launch(loaded)
        self._use(launch)
        try:
            stop = self._begin()
            self._traps.install_from(launch.table)
        except GpudbgError:
            self._use(opening.idle(loaded))
            self._begin()
            raise
        self.planned = False
        return stop

    def _use(self, launch: Launchable) -> None:
        """Switch to another launch's program and kernel, and resolve the breakpoints again."""
        inferior = self._inferior
        other = launch.image is not inferior.launch.image
        # Observers of the session are carried over to the new launch.
        launch.subscriptions, inferior.launch.subscriptions = inferior.launch.subscriptions, set()
        inferior.focus = None
        self.release()
        self._releaser = Releaser.of(inferior, launch)
        inferior.launch, inferior.program, inferior.kernel = launch, launch.program, launch.kernel
        inferior.symbols = Symbols(launch.program, launch.image, launch.kernel)
        if other:
            self._breakpoints.resolve_again()
            self._code_changed(inferior)

    def _begin(self) -> Stop:
        inferior = self._inferior
        inferior.grid = inferior.launch.begin()
        self._runner.gathering.forget()
        self._runner.watchpoints.forget_frames()
        inferior.arguments_changed = False
        self._traps.attach()
        inferior.killed = False
        inferior.focus = None
        inferior.list_state = None
        self._timeline.launched()
        self._history.launched()
        if inferior.launched or self.opening is None:
            return self._runner.stand()
        return self._runner.stand(self.opening.trouble(inferior.program))


class Releaser(weakref.ref["Inferior"]):
    """Frees a launch, once: when it is called, or when the session is garbage-collected.

    Not when the program ends.  `weakref.finalize` does the same and takes as long as a short
    launch's whole run.
    """

    __slots__ = ("_release",)

    _release: Callable[[], object]

    @classmethod
    def of(cls, inferior: Inferior, launch: Launchable) -> Releaser:
        """Args: launch: what is freed."""
        made = cls(inferior, _gone)
        made._release = launch.release
        _RELEASERS[id(made)] = made
        return made

    def free(self) -> None:
        """Free it, unless that was done."""
        if _RELEASERS.pop(id(self), None) is not None:
            self._release()

    def forget(self) -> None:
        """Another one frees the launch."""
        _RELEASERS.pop(id(self), None)


_RELEASERS: dict[int, Releaser] = {}
atexit.register(_RELEASERS.clear)


def _gone(releaser: weakref.ref[Inferior]) -> None:
    assert isinstance(releaser, Releaser)
    releaser.free()
