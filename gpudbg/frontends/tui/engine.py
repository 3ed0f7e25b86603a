"""Engine: runs work on the session in one thread, so that the screen never blocks.

One job at a time; what is typed meanwhile waits in `gpudbg.frontends.tui.inputs`.  When a job
ends, the new `ScreenView` is made in the same thread and posted with the answer.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from textual.message import Message

from gpudbg.dataclass import dataclass
from gpudbg.debug import EngineThread, Outcome, Output, SessionMeter
from gpudbg.errors import InternalError, ModelGap, error_for_user
from gpudbg.frontends.tui.collect import Collector
from gpudbg.frontends.tui.messages import JobDone
from gpudbg.frontends.tui.view import Running, ScreenView

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession

Work = Callable[["DebugSession"], "Output | None"]


class EngineHost(Protocol):
    """The interface that the engine needs of the screen: a thread-safe queue of messages."""

    def post_message(self, message: Message) -> bool:
        """Deliver a message from any thread."""


@dataclass(slots=True)
class Job:
    """One piece of work for the engine thread, and its label for the stop line."""

    label: str
    work: Work


class Engine:
    """The engine thread of the terminal UI: one job at a time, its result posted as a message."""

    def __init__(self, session: DebugSession, collector: Collector, host: EngineHost) -> None:
        self.session = session
        self.collector = collector
        self._host = host
        self._thread = EngineThread()
        self._current: Job | None = None
        self.jobs = 0
        """Number of jobs started."""
        self._meter = SessionMeter(session)

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return self._current is not None

    def submit(self, label: str, work: Work) -> bool:
        """Carry out work in the engine's thread; False while a job runs."""
        if self._current is not None:
            return False
        job = self._current = Job(label, work)
        self.jobs += 1
        self._meter = SessionMeter(self.session)
        # Drop an interrupt that came too late: interrupts are sent only while a job runs.
        self.session.forget_interrupt()
        self._thread.start(self.session, lambda: self._carry_out(job), self._tell)
        return True

    def _tell(self, outcome: Outcome[JobDone]) -> None:
        """Post a job's outcome to the screen.

        Raises:
            Exception: an internal error of the engine, which must not pass unseen.
        """
        if outcome.error is not None:
            raise outcome.error
        assert outcome.answer is not None
        self._host.post_message(outcome.answer)

    def join(self, seconds: float) -> bool:
        """Wait for the engine's thread; False where it still works then."""
        return self._thread.join(seconds)

    def quick(self, work: Work) -> ScreenView | None:
        """Run short work in the calling thread. Returns None, and does nothing, while a job runs.

        Raises:
            GpudbgError: what the work raises.
        """
        if self._current is not None:
            return None
        work(self.session)
        return self.collector.take()

    def interrupt(self) -> None:
        """Interrupt the running job."""
        if self._current is not None:
            self.session.interrupt()

    def running(self, shown: ScreenView) -> Running | None:
        """Progress figures of the running job; None when idle."""
        job = self._current
        if job is None:
            return None
        return Running(job.label, self._meter.now(), shown.tick)

    def finished(self) -> None:
        """Mark the engine idle: the screen has taken the job's answer."""
        self._current = None

    def _carry_out(self, job: Job) -> JobDone:
        output: Output | None = None
        error, gap, view = "", False, None
        try:
            output = job.work(self.session)
        except Exception as e:
            shown = error_for_user(e)
            error, gap = str(shown), isinstance(shown, ModelGap)
            if isinstance(shown, InternalError) and shown is not e:
                error += f"\n{traceback.format_exc()}"
        try:
            view = self.collector.take()
        except Exception as e:
            error = error or f"the stop cannot be shown: {type(e).__name__}: {e}"
        return JobDone(job.label, view, output, error, gap)
