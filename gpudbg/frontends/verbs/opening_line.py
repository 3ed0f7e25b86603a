"""The first line: what is being opened, on the terminal before anything large is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

NO_SCREEN = ("--batch", "--console", "--json", "--headless", "--list", "-h", "--help")
"""Flags of sessions that draw no screen."""
CLEAR = "\r\x1b[K"


@contextmanager
def opening_line(words: Sequence[str]) -> Iterator[None]:
    """Say what is being opened where a screen will be drawn, and take it back at the end.

    The screen covers the line; nothing of it is left behind, be it an error that ends the command.
    """
    name = next((w for w in words if not w.startswith("-")), "")
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and "TEXTUAL_DRIVER" not in os.environ
    if not terminal or os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        yield
        return
    if any(w in NO_SCREEN for w in words):
        yield
        return
    shown = "".join(c for c in os.path.basename(name) if c.isprintable())
    sys.stdout.write(f"gpudbg: opening {shown or 'the first story'} …"[:79])
    sys.stdout.flush()
    try:
        yield
    finally:
        sys.stdout.write(CLEAR)
        sys.stdout.flush()
