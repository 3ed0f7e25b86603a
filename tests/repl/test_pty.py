"""The prompt driven through a pseudo-terminal: keys in, screen text out."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]|\r")
TIMEOUT_S = 15
"""For a slow machine; a step takes well under a second."""


class Terminal:
    """A gpudbg in a pseudo-terminal."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.seen = ""
        env = {
            **os.environ,
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "PYTHONPATH": str(ROOT),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, "-m", "gpudbg", *words], env)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.fd, text.encode())

    def expect(self, text: str) -> str:
        """Wait for a text on the screen; what came before it."""
        end = time.monotonic() + TIMEOUT_S
        while text not in self.seen:
            left = end - time.monotonic()
            ready, _, _ = select.select([self.fd], [], [], max(left, 0))
            assert ready, f"{text!r} did not come; on the screen: {self.seen[-2000:]!r}"
            try:
                raw = os.read(self.fd, 1 << 16)
            except OSError:
                raw = b""
            assert raw, f"ended before {text!r}: {self.seen[-2000:]!r}"
            self.seen += ESCAPES.sub("", raw.decode(errors="replace"))
        before, _, self.seen = self.seen.partition(text)
        return before

    def end(self) -> int:
        """Wait for the end; the exit code."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            ready, _, _ = select.select([self.fd], [], [], 0.05)
            if ready:
                try:
                    os.read(self.fd, 1 << 16)
                except OSError:
                    continue
        raise AssertionError("it does not end")

    def close(self) -> None:
        """Leave nothing behind."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    program = str(ROOT / "sessions/spin_lock/spin_lock.cubin")
    started = Terminal(tmp_path, "repl", "--plain", program)
    yield started
    started.close()


def test_a_session_with_completion_and_ctrl_c(terminal: Terminal, tmp_path: Path) -> None:
    terminal.expect("at the entry of count_up")
    terminal.expect("gpudbg>")

    # Python and commands side by side.
    terminal.type("stepi\r")
    terminal.expect("count_up+0x10")
    terminal.type("6 * 7\r")
    terminal.expect("42")

    # Completion: an attribute, a command's second word, a register's number.
    terminal.type("dbg.snap\t")
    terminal.expect("shot")
    terminal.type("().kernel\r")
    terminal.expect("'count_up'")
    terminal.type("info warp\t\r")
    terminal.expect("################################")

    # A block of several lines.
    terminal.type("for i in range(2):\r")
    terminal.expect("...>")
    terminal.type("print('turn', i)\r\r")
    terminal.expect("turn 1")

    # Ctrl-C stops the machine, then Python, then drops a line; the prompt lives on.
    terminal.type("dbg.cont()\r")
    time.sleep(1.0)
    terminal.type("\x03")
    terminal.expect("interrupted at")
    terminal.type("while True: pass\r\r")
    time.sleep(0.5)
    terminal.type("\x03")
    terminal.expect("interrupted")
    terminal.expect("gpudbg>")
    terminal.type("unfinished(")
    terminal.expect("unfinished(")
    terminal.type("\x03")
    terminal.type("'still ' + 'here'\r")
    terminal.expect("'still here'")

    terminal.type("quit\r")
    assert terminal.end() == 0
    history = (tmp_path / "state/gpudbg/repl_history").read_text()
    assert "+dbg.cont()" in history


def test_a_projects_rc_asks_first(tmp_path: Path) -> None:
    (tmp_path / ".gpudbgrc").write_text("answer = 'from the project'\n")
    program = str(ROOT / "sessions/spin_lock/spin_lock.cubin")
    for key, shown in (("n", "NameError"), ("a", "'from the project'"), ("", "'from the project'")):
        terminal = Terminal(tmp_path, "repl", "--plain", program)
        try:
            if key:
                terminal.expect("Run it? [y]es, [a]lways, [N]o: ")
                terminal.type(f"{key}\r")
            terminal.expect("gpudbg>")
            terminal.type("answer\r")
            terminal.expect(shown)
            terminal.expect("gpudbg>")
            terminal.type("\x04")
            assert terminal.end() == 0
        finally:
            terminal.close()
