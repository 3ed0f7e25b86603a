"""A walk through the real thing: `gpudbg demo` in a real terminal, driven by keys."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyte
import pytest

from .helpers import CUBINS, OOB, PATIENCE_S, ROOT

KEYS = {"Space": " ", "Enter": "\r", "Escape": "\x1b", "F5": "\x1b[15~"}
"""What a terminal sends for the keys that are no characters."""


class Terminal:
    """One program on a pseudo terminal whose screen pyte keeps."""

    def __init__(self, command: list[str], width: int, height: int) -> None:
        self._screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self.pid, self._fd = pty.fork()
        if not self.pid:
            os.chdir(ROOT)
            os.environ.update(LANG="C.UTF-8", TERM="xterm-256color")
            for name in ("NO_COLOR", "COLUMNS", "LINES"):
                os.environ.pop(name, None)
            os.execv(command[0], command)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except OSError:
                return
            if not data:
                return
            with self._lock:
                self._stream.feed(data)

    def keys(self, *names: str) -> None:
        """Press keys, or type texts."""
        for name in names:
            os.write(self._fd, KEYS.get(name, name).encode())
            # An escape byte followed at once by others is the beginning of a longer key.
            time.sleep(0.05 if name == "Escape" else 0)

    def text(self) -> str:
        """The screen."""
        with self._lock:
            return "\n".join(self._screen.display)

    def wait(self, until: Callable[[str], object] | str, seconds: float = PATIENCE_S) -> str:
        """The screen once it holds a text."""
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if until in text if isinstance(until, str) else until(text):
                return text
            assert time.monotonic() < end, f"no {until!r} on the screen:\n{text}"
            time.sleep(0.05)

    def code(self, seconds: float = PATIENCE_S) -> int:
        """The exit code, once the program has ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        raise AssertionError(f"it does not end:\n{self.text()}")

    def close(self) -> None:
        """End the program and its terminal."""
        if self.pid:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self._fd)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Makes terminals and ends them."""
    made: list[Terminal] = []

    def make(*words: str, width: int = 120, height: int = 40) -> Terminal:
        made.append(Terminal([sys.executable, "-m", "gpudbg", *words], width, height))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_first_steps_from_entry_to_output(terminal: Any) -> None:
    screen = terminal("demo", width=80, height=24)
    first = screen.wait("Entry")
    assert "block_max+0x8" in first
    screen.keys("Space")
    screen.wait("block_max+0x10")
    screen.keys(":", "break first_steps.cu:11", "Enter")
    screen.wait("Breakpoint 1 at")
    screen.keys("Escape", "F5")
    screen.wait("Breakpoint 1, 8 warps  block_max")
    for key in ("Breakpoint 2 at", "deleted breakpoint 2"):
        screen.keys("g")
        screen.wait("Go to")
        screen.keys("19", "Enter")
        # The question goes away before its answer has moved the cursor.
        screen.wait(lambda text: "Go to" not in text and re.search(r"^ +19 ", text, re.MULTILINE))
        screen.keys("b")
        screen.wait(key)
    screen.keys(":", "delete 1", "Enter")
    screen.wait("1 deleted")
    screen.keys("Escape", "F5")
    screen.wait("Finished, 4 of 4 CTAs")
    screen.keys("9")
    screen.wait("i32[4]")
    screen.keys("q")
    assert screen.code() == 0


@pytest.mark.full(instead="test_first_steps_from_entry_to_output")
def test_a_fault_ends_with_its_card_and_code_3(terminal: Any) -> None:
    screen = terminal(str(CUBINS / "fault_oob_global.cubin"), *OOB)
    screen.wait("Entry")
    screen.keys("F5")
    screen.wait("Out-of-range store   global memory, 4 bytes")
    screen.wait("past the end")
    screen.keys("Escape")
    screen.wait(lambda text: "Esc close" not in text)
    screen.keys("q")
    assert screen.code() == 3
