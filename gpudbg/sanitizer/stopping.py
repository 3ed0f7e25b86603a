"""A check that is ended early, by a time limit or by a person: what it has found stays."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


class CheckStopper:
    """Ends the runs of a check, all passes together.

    Attributes:
        why: why it was ended, in words, or "".
    """

    def __init__(self) -> None:
        self.why = ""
        self._session: DebugSession | None = None
        self._trial = False
        self._limit: tuple[float, float] | None = None

    def stop(self, why: str) -> None:
        """End the present run, and those to come; safe from any thread."""
        self.why = self.why or why
        self._interrupt()

    def checking(self, what: str) -> str:
        """What a run of the check does, for reports of progress: it is looked at as a whole on
        compiled code, then, if anything may be wrong, exactly.
        """
        return f"{what} is checked{'' if self._trial else ', one instruction at a time'}"

    def end_trial(self) -> None:
        """End the present run if it is only a screening pass."""
        if self._trial:
            self._interrupt()

    def _interrupt(self) -> None:
        if self._session is not None:
            self._session.interrupt()

    @contextmanager
    def watching(self, session: DebugSession, trial: bool = False) -> Iterator[None]:
        """Context in which `stop` ends the session's run; `trial`: it is a screening pass."""
        self._session, self._trial = session, trial
        if self.why:
            session.interrupt()
        try:
            yield
        finally:
            self._session, self._trial = None, False

    @contextmanager
    def limited(self, seconds: float | None) -> Iterator[None]:
        """Context that limits a check's time; screening gets half of it, so that the exact pass
        keeps the rest.
        """
        if seconds is None:
            yield
            return
        self._limit = (time.monotonic(), seconds)
        with self.limited_as_before():
            yield

    @contextmanager
    def limited_as_before(self) -> Iterator[None]:
        """Context with the limit under which the process was forked: timers do not survive a
        fork.
        """
        if self._limit is None:
            yield
            return
        begin, seconds = self._limit
        gone = time.monotonic() - begin
        why = f"stopped after {seconds:g} seconds (--timeout)"
        timers = [
            threading.Timer(max(0.0, seconds / 2 - gone), self.end_trial),
            threading.Timer(max(0.0, seconds - gone), self.stop, (why,)),
        ]
        for timer in timers:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()
