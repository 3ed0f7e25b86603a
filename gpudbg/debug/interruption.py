"""Ctrl-C while the machine runs: a stop of kind `interrupted`, for every caller of a session."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from gpudbg.debug.ownership import ANY

if TYPE_CHECKING:
    from types import FrameType

    from gpudbg.debug.inferior import Inferior

_SIGINT: Final = int(signal.SIGINT)
_default: Final = signal.default_int_handler
# Plain integers in place of `signal`'s enumerations, whose construction takes as long as a short
# launch.
_plain: Final[Any] = getattr(signal, "_signal", signal)
_get, _set = _plain.getsignal, _plain.signal

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Stoppable = TypeVar("Stoppable", bound="Inferior")


@contextmanager
def interrupts(session: Inferior) -> Iterator[None]:
    """Ctrl-C inside stops the running machine instead of ending the program."""
    with _handler(lambda *_: session.interrupt()):
        yield


def interruptible(
    method: Callable[Concatenate[Stoppable, Arguments], Answer],
) -> Callable[Concatenate[Stoppable, Arguments], Answer]:
    """A method of a session whose run Ctrl-C ends; the method returns a stop `interrupted`.

    Only where Python would raise KeyboardInterrupt: a handler of the caller's own is left alone.
    A second Ctrl-C raises it, should the machine not come to a stop.  Meanwhile the session is its
    thread's (`gpudbg.debug.ownership`): what others ask of the machine is refused.
    """

    @functools.wraps(method)
    def call(session: Stoppable, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        owner = session.ownership
        if outermost := owner.thread == ANY:
            owner.thread = get_ident()
        else:
            owner.require()
        session.running += 1
        try:
            return guarded(session, *args, **kwargs)
        finally:
            session.running -= 1
            if outermost:
                owner.thread = ANY

    def guarded(session: Stoppable, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        if _get(_SIGINT) is not _default:
            return method(session, *args, **kwargs)
        pressed = False

        def stop(number: int, frame: FrameType | None) -> None:
            nonlocal pressed
            if pressed:
                signal.default_int_handler(number, frame)
            pressed = True
            session.interrupt()

        try:
            _set(_SIGINT, stop)
        except ValueError:
            # Outside the main thread signals belong to its owner.
            return method(session, *args, **kwargs)
        try:
            return method(session, *args, **kwargs)
        finally:
            _set(_SIGINT, _default)
            if pressed:
                session.forget_interrupt()

    return call


@contextmanager
def _handler(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """A SIGINT handler for a while; none outside the main thread, whose owner handles signals."""
    try:
        previous = signal.signal(signal.SIGINT, handler)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def before_crash_message(message: Callable[[], None]) -> None:
    """Register a function to call before a crash of compiled code is reported; the crash ends the
    process.
    """
    from gpudbg.sm.engines.llvm import crash

    crash.before_message(message)
