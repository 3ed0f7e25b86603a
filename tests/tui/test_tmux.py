"""A walk through the real thing: `gpudbg demo` in a real terminal, driven by keys."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from .helpers import CUBINS, OOB, PATIENCE_S, ROOT

TMUX = shutil.which("tmux")
pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


class Terminal:
    """One program in a tmux server of its own."""

    def __init__(self, command: list[str], width: int, height: int) -> None:
        self.socket = f"gpudbg-{uuid.uuid4().hex[:8]}"
        env = {**os.environ, "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        env.pop("NO_COLOR", None)
        line = " ".join(f"'{part}'" for part in command) + "; echo code=$?; sleep 600"
        self._tmux(
            "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(ROOT), line, env=env
        )

    def _tmux(self, *words: str, env: dict[str, str] | None = None) -> str:
        assert TMUX is not None
        done = subprocess.run(
            [TMUX, "-L", self.socket, "-f", "/dev/null", *words],
            capture_output=True, text=True, check=True, timeout=PATIENCE_S, env=env,
        )  # fmt: skip
        return done.stdout

    def keys(self, *names: str) -> None:
        """Press keys by tmux's names."""
        self._tmux("send-keys", *names)

    def text(self) -> str:
        """The screen."""
        return self._tmux("capture-pane", "-p")

    def wait(self, until: Callable[[str], object] | str, seconds: float = PATIENCE_S) -> str:
        """The screen once it holds a text."""
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if until in text if isinstance(until, str) else until(text):
                return text
            assert time.monotonic() < end, f"no {until!r} on the screen:\n{text}"
            time.sleep(0.1)

    def close(self) -> None:
        """End the server."""
        words = [TMUX or "tmux", "-L", self.socket, "kill-server"]
        subprocess.run(words, check=False, timeout=PATIENCE_S)


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


def test_first_steps_from_entry_to_output(terminal):
    screen = terminal("demo", width=80, height=24)
    first = screen.wait("Entry")
    assert "block_max+0x8" in first
    screen.keys("Space")
    screen.wait("block_max+0x10")
    screen.keys(":", "break first_steps.cu:11", "Enter")
    screen.wait("Breakpoint 1 at")
    screen.keys("Escape", "F5")
    screen.wait(lambda text: "Breakpoint 1  block_max" in text)
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
    screen.wait("code=0")


def test_a_fault_ends_with_its_card_and_code_3(terminal):
    screen = terminal(str(CUBINS / "fault_oob_global.cubin"), *OOB)
    screen.wait("Entry")
    screen.keys("F5")
    card = screen.wait("Out-of-range store   global memory, 4 bytes")
    assert "past the end" in card
    screen.keys("Escape")
    screen.wait(lambda text: "inferred" not in text)
    screen.keys("q")
    screen.wait("code=3")
