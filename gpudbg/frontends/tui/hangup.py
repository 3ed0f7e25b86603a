"""Leave when the terminal is gone, or when a signal asks the program to end.

A terminal that is closed sends SIGHUP, but programs started by nohup, some shells and some session
managers ignore it.  Reading then gives an end of file at once, for ever: a screen would spin.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from typing import Protocol

GRACE_S = 1.0
"""How long the application may take to end: writing to a dead terminal can block it."""
EXIT_HANGUP = 128 + signal.SIGHUP if hasattr(signal, "SIGHUP") else 129
_MODES = (1000, 1003, 1006, 1004, 2004)
LEAVE_SCREEN = b"".join(b"\x1b[?%dl" % mode for mode in _MODES) + b"\x1b[<u\x1b[?1049l\x1b[?25h\r\n"
"""Escape sequences that reset the terminal: mouse, focus events, bracketed paste and extended keys
off; primary screen; cursor on.
"""
EXIT_TERMINATED = 128 + signal.SIGTERM
"""What a shell reports of a program that this signal ended."""


class Application(Protocol):
    """The part of the application that hang-ups and signals need."""

    def hang_up(self) -> None:
        """The terminal is gone: end; called in another thread."""

    def terminate(self) -> None:
        """End, and leave the terminal as it was; called in the main thread."""


def give_back_on_crash() -> None:
    """Restore the terminal before the message of a native crash (`gpudbg.sm.engines.llvm.crash`),
    which ends the process at once.
    """
    from gpudbg.debug import before_crash_message

    if sys.__stdin__ is None or not sys.__stdin__.isatty():
        return
    import termios

    descriptor = sys.__stdin__.fileno()
    kept = termios.tcgetattr(descriptor)

    def give_back() -> None:
        termios.tcsetattr(descriptor, termios.TCSANOW, kept)
        os.write(2, LEAVE_SCREEN)

    before_crash_message(give_back)


def watch(application: Application) -> None:
    """Notify the application of SIGTERM and of standard input's other end closing."""
    signal.signal(signal.SIGTERM, lambda number, frame: application.terminate())
    if not hasattr(select, "poll") or sys.__stdin__ is None:
        return
    descriptor = sys.__stdin__.fileno()

    def wait() -> None:
        poll = select.poll()
        # No events asked for: only a hangup or an error wakes it.
        poll.register(descriptor, 0)
        poll.poll()
        last = threading.Timer(GRACE_S, os._exit, (EXIT_HANGUP,))
        last.daemon = True
        last.start()
        application.hang_up()

    threading.Thread(target=wait, name="hangup", daemon=True).start()
