"""Which thread may ask a session's machine: while one runs it, no other."""

from __future__ import annotations

from threading import get_ident

from gpudbg.errors import CommandError

ANY = 0
"""Marks a machine at rest, which any thread may ask; no thread has this number."""
NOBODY = -1


class Ownership:
    """The thread that a session's machine belongs to; at rest it belongs to whoever asks.

    Attributes:
        thread: its number (`threading.get_ident`), or `ANY`, or `NOBODY` while one is about to
            begin.
    """

    __slots__ = ("thread",)

    def __init__(self) -> None:
        self.thread = ANY

    def require(self) -> None:
        """Refuse a call from another thread than the one that runs the machine.

        Raises:
            CommandError: the machine is at work in another thread.
        """
        if self.thread and self.thread != get_ident():
            raise CommandError(
                "the machine runs in another thread", "interrupt it and wait for its stop"
            )
