"""The thread that runs a session's machine for an interactive frontend.

It does one piece of work at a time.  While that lasts the session is its thread's
(`gpudbg.debug.ownership`): what another thread asks of the machine is refused at once.
`DebugSession.interrupt` and the counters of `gpudbg.debug.launched` and `gpudbg.debug.progress`
may be asked for from anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread, get_ident
from typing import TYPE_CHECKING, Generic, TypeVar

from gpudbg.dataclass import dataclass
from gpudbg.debug.ownership import ANY, NOBODY
from gpudbg.errors import CommandError

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.debug.ownership import Ownership

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Answer]):
    """How a piece of work ended: with an answer, or with the exception that ended it."""

    answer: Answer | None = None
    error: BaseException | None = None


class EngineThread:
    """Carries out work on sessions in a thread of its own.

    Every method may be called from any thread but the engine's.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._busy = False
        self._thread: Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether a piece of work lasts."""
        return self._busy

    def start(
        self,
        session: Inferior,
        work: Callable[[], Answer],
        on_done: Callable[[Outcome[Answer]], None],
    ) -> None:
        """Begin a piece of work.

        Args:
            session: what it works on, and what is its alone until it ends.
            work: is called in the engine's thread.
            on_done: is called there with the outcome, when the session is free again and `start`
                may be called.  It is to hand the outcome to the frontend's own thread.

        Raises:
            CommandError: a piece of work lasts.
        """
        with self._lock:
            if self._busy:
                raise CommandError("the engine is at work", "interrupt it and wait for its stop")
            self._busy = True
        owner = session.ownership
        owner.thread = NOBODY
        self._thread = Thread(
            target=self._carry_out, args=(owner, work, on_done), name="engine", daemon=True
        )
        self._thread.start()

    def _carry_out(
        self,
        owner: Ownership,
        work: Callable[[], Answer],
        on_done: Callable[[Outcome[Answer]], None],
    ) -> None:
        owner.thread = get_ident()
        try:
            outcome = Outcome(work())
        except BaseException as error:
            outcome = Outcome(error=error)
        owner.thread = ANY
        self._busy = False
        on_done(outcome)

    def join(self, seconds: float) -> bool:
        """Wait until the thread has left its last piece of work; False where it has not by then.

        Compiled code must not be torn down under a thread that has just left it.
        """
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()
