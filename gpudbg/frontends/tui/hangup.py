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
"""No mouse, focus, brackets around what is pasted nor extended keys; first screen, cursor."""
EXIT_TERMINATED = 128 + signal.SIGTERM
"""What a shell reports of a program that this signal ended."""


class Application(Protocol):
    """The message on standard error."""

    def hang_up(self) -> None:
        """The terminal is gone: end; called in another thread."""

    def terminate(self) -> None:
        """End, and leave the terminal as it was; called in the main thread."""


def give_back_on_crash() -> None:
    """Have the terminal as it is now, without the screen, before the message of a crash
    (`gpudbg.sm.engines.llvm.crash`), which ends the process at once."""
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
    """Tell the application when SIGTERM comes and when standard input's other end goes away."""
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
