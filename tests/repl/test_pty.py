"""The prompt driven through a pseudo-terminal: keys in, screen text out."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07|\x1b[=>]|\r")
TIMEOUT_S = 60
"""How long something may take to come on a machine that has other work; usually far below 1 s."""

SPIN_LOCK = str(ROOT / "sessions/spin_lock/spin_lock.cubin")
PROMPT = "gpudbg>"

TELL = "dbg.on('access', lambda *a, told=[]: told or told.append(print('machine', 'runs')))"
"""Print a line at the first access of the next run: from then on Ctrl-C belongs to the machine."""


class Terminal:
    """A gpudbg in a pseudo-terminal."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.seen = ""
        env = {
            **os.environ,
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "PYTHONPATH": str(ROOT),
            "IPYTHONDIR": str(folder / "ipython"),
            "COLUMNS": "200",
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        sys.stdout.flush()
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

    def say(self, line: str, shown: str) -> None:
        """Enter a line at a prompt that stands there, see what it brings, and the next prompt."""
        self.type(line + "\r")
        self.expect(shown)
        self.expect(PROMPT)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def begin(*words: str) -> Terminal:
        started.append(Terminal(tmp_path, *words))
        return started[-1]

    yield begin
    for terminal in started:
        terminal.close()


def test_a_session_with_completion_and_ctrl_c(
    start: Callable[..., Terminal], tmp_path: Path
) -> None:
    terminal = start("repl", "--plain", SPIN_LOCK)
    terminal.expect("at the entry of count_up")
    terminal.expect(PROMPT)

    # Python and commands side by side.
    terminal.say("stepi", "=> 0010")
    terminal.say("6 * 7", "42")
    terminal.say("dbg.warp(0)", "next   0010")
    terminal.say("!info threads", "(0,0,0)..(31,0,0)")

    # Completion: an attribute, a command's second word, a kernel, a number of several.
    terminal.type("dbg.snap\t")
    terminal.expect("snapshot")
    terminal.say("().kernel", "'count_up'")
    terminal.say("info warp\t", "################################")
    terminal.type("break cou\t")
    terminal.expect("count_up")
    terminal.say("+0x48", "Breakpoint 1 at count_up+0x48")
    terminal.say("clear count_up+0x48", "breakpoint 1")
    terminal.type("dbg.warp(0).lane(3\t")
    terminal.expect("31")
    terminal.type("\x03")
    terminal.expect(PROMPT)

    # A block of several lines.
    terminal.type("for i in range(2):\r")
    terminal.expect("...>")
    terminal.say("print('turn', i)\r", "turn 1")

    # Ctrl-C stops the machine, then Python, then drops a line; the prompt lives on.
    terminal.say(f"told = {TELL}; 'set' + 'up'", "'setup'")
    terminal.type("dbg.cont()\r")
    terminal.expect("machine runs")
    terminal.type("\x03")
    terminal.expect("interrupted at count_up")
    terminal.expect(PROMPT)
    terminal.type("while True: print('python', 'runs')\r\r")
    terminal.expect("python runs")
    terminal.type("\x03")
    terminal.expect("interrupted")
    terminal.expect(PROMPT)
    terminal.type("unfinished(")
    terminal.expect("unfinished(")
    terminal.type("\x03")
    terminal.expect(PROMPT)
    terminal.say("'still ' + 'here'", "'still here'")

    terminal.type("quit\r")
    assert terminal.end() == 0
    history = (tmp_path / "state/gpudbg/repl_history").read_text()
    assert "+dbg.cont()" in history


@pytest.mark.full(instead="test_a_session_with_completion_and_ctrl_c")
def test_ipython(start: Callable[..., Terminal], tmp_path: Path) -> None:

    terminal = start("repl", SPIN_LOCK)
    terminal.expect("In [1]: ")
    terminal.type("info thr\t")
    terminal.expect("threads")
    terminal.type("\r")
    terminal.expect("(0,0,0)..(31,0,0)")
    terminal.expect("In [2]: ")
    terminal.type(f"told = {TELL}\r")
    terminal.expect("In [3]: ")
    terminal.type("dbg.cont()\r")
    terminal.expect("machine runs")
    terminal.type("\x03")
    terminal.expect("interrupted at count_up")
    terminal.expect("In [4]: ")
    terminal.type("quit\r")
    assert terminal.end() == 0
    assert (tmp_path / "state/gpudbg/ipython_history.sqlite").is_file()


@pytest.mark.full(instead="test_a_session_with_completion_and_ctrl_c")
def test_a_projects_rc_asks_first(start: Callable[..., Terminal], tmp_path: Path) -> None:
    """Asked until it is trusted; trusted as it is, and asked again when it has changed."""
    rc = tmp_path / ".gpudbgrc"
    rc.write_text("answer = 'from the project'\n")
    for key, shown in (("n", "NameError"), ("a", "from the project"), ("", "from the project")):
        terminal = start("repl", "--plain", SPIN_LOCK)
        if key:
            terminal.expect("Run it? [y]es, [a]lways, [N]o: ")
            terminal.type(f"{key}\r")
        assert "Run it?" not in terminal.expect(PROMPT)
        terminal.say("answer", shown)
        terminal.type("\x04")
        assert terminal.end() == 0
    rc.write_text("answer = 'changed'\n")
    start("repl", "--plain", SPIN_LOCK).expect("Run it?")


@pytest.mark.full(instead="test_a_session_with_completion_and_ctrl_c")
def test_ctrl_c_at_the_consoles_prompt_drops_what_was_typed(start: Callable[..., Terminal]) -> None:
    """As in gdb: the session stays, whatever stood on the line or in a block."""
    terminal = start("--console", SPIN_LOCK)
    terminal.expect("(gpudbg) ")
    for typed, shown in (("", ""), ("while 1\r", ">"), ("conti", "conti")):
        terminal.type(typed)
        if shown:
            terminal.expect(shown)
        terminal.type("\x03")
        terminal.expect("Quit")
        terminal.expect("(gpudbg) ")
    terminal.type("print 6 * 7\r")
    terminal.expect("$1 = 42")
    terminal.type("quit\r")
    assert terminal.end() == 0


@pytest.mark.full(instead="test_a_session_with_completion_and_ctrl_c")
def test_a_session_that_goes_backwards(start: Callable[..., Terminal]) -> None:
    terminal = start("repl", "--plain", str(ROOT / "sessions/first_steps/first_steps.cubin"))
    terminal.expect("at the entry of block_max")
    terminal.expect(PROMPT)
    terminal.say("dbg.run().kind", "'exited'")
    terminal.say("end = dbg.state_hash(); 'kept'", "'kept'")
    terminal.say("who-wrote out[2]", "=> ")
    terminal.say("reverse-stepi 5", "=> ")
    terminal.say("watch out[2]", "watchpoint 1")
    terminal.say("continue", "Old value = 0")
    terminal.say("rc", "Old value = 0")
    terminal.say("delete 1", "1 deleted")
    terminal.say("set var $R3 = 7", "R3")
    terminal.say("stepi", "=> ")
    terminal.say("info branches", "2")
    terminal.say("branch 1", "ended after")
    terminal.say("'same' if dbg.state_hash() == end else 'other'", "'same'")
