"""The terminal goes away while SIGHUP is ignored, or SIGTERM comes: the program ends, tidily."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.launching import FIRST

from .helpers import PATIENCE_S

LEFT_THE_SCREEN = b"\x1b[?1049l"

Running = tuple["subprocess.Popen[bytes]", int]


def read_until(master: int, text: bytes) -> None:
    seen = b""
    end = time.monotonic() + PATIENCE_S
    while text not in seen:
        assert time.monotonic() < end, seen[-500:]
        if select.select([master], [], [], 1)[0]:
            seen += os.read(master, 1 << 16)


@pytest.fixture
def running() -> Iterator[Running]:
    """The terminal UI with its first screen painted, SIGHUP ignored; and the terminal."""
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        program = subprocess.Popen(
            [sys.executable, "-m", "gpudbg", str(FIRST)],
            stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGHUP, before)
        os.close(slave)
    try:
        read_until(master, b"Entry")
        yield program, master
    finally:
        if program.poll() is None:
            program.kill()
        program.wait()


@pytest.mark.full(instead="test_sigterm_leaves_the_terminal_as_it_was")
def test_a_closed_terminal_ends_the_application(running: Running) -> None:
    program, master = running
    os.close(master)
    program.wait(PATIENCE_S)


def test_sigterm_leaves_the_terminal_as_it_was(running: Running) -> None:
    """While nothing is to do, too: a loop that waits for input does not look for messages."""
    program, master = running
    while select.select([master], [], [], 0.3)[0]:
        os.read(master, 1 << 16)
    program.terminate()
    read_until(master, LEFT_THE_SCREEN)
    assert program.wait(PATIENCE_S) == 128 + signal.SIGTERM
    os.close(master)
