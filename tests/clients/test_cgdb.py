"""cgdb debugs a kernel through gpudbg: a gdb console and `new-ui mi` under a source window.

Needs cgdb (`apt-get install cgdb`).
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kit import KERNELS, drain, gdb_script

CGDB = shutil.which("cgdb")
pytestmark = pytest.mark.skipif(CGDB is None, reason="cgdb is not installed")

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")


class Screen:
    """A program on a terminal; what it has written so far, without escapes."""

    def __init__(self, command: list[str], home: Path) -> None:
        self.child, self.fd = pty.fork()
        if self.child == 0:
            env = {**os.environ, "TERM": "xterm", "HOME": str(home)}
            os.execve(command[0], command, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._bytes = b""

    def text(self) -> str:
        """All of it."""
        return ESCAPES.sub("", self._bytes.decode("utf-8", "replace"))

    def type(self, line: str, shown: str, seconds: float = 60.0) -> None:
        """A line; up to what it makes the program write."""
        begin = len(self._bytes)
        os.write(self.fd, line.encode())
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._bytes += drain(self.fd)
            new = ESCAPES.sub("", self._bytes[begin:].decode("utf-8", "replace"))
            if re.search(shown, new):
                return
        raise AssertionError(f"no {shown!r} after {line!r}: {self.text()[-1500:]}")

    def close(self) -> None:
        """End it."""
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.fd)


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    """cgdb on walk.cubin."""
    assert CGDB is not None
    made = Screen([CGDB, "-d", gdb_script(tmp_path), str(KERNELS / "walk.cubin")], tmp_path)
    yield made
    made.close()


def test_session(screen: Screen) -> None:
    screen.type("", r"\(gdb\) ")
    screen.type("break walk.cu:28\n", r"Breakpoint 1 at 0x\w+: file .*walk.cu, line 28\.")
    screen.type("run\n", r"thread hit Breakpoint 1, walk<<<")
    # The source window shows the file and its arrow at the line.
    screen.type("next\n", r"26[^\n]*twice\(v\)|2[0-9][^\n]*>")
    screen.type("print counter\n", r"\$1 = 5")
    screen.type("bt\n", r"#0 .* at walk.cu:\d+")
    screen.type("delete\n", r"\(gdb\) ")
    screen.type("continue\n", r"exited normally")
