"""Emacs's `M-x gdb` and `M-x gud-gdb` debug a kernel, on a terminal as a user's Emacs has one.

Needs emacs (`apt-get install emacs-nox`).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.clients.kit import run_on_terminal

EMACS = shutil.which("emacs")
SCRIPT = Path(__file__).with_name("emacs_session.el")
pytestmark = pytest.mark.skipif(EMACS is None, reason="emacs is not installed")


@pytest.mark.parametrize("session", ["walk", "endless", "gud"])
def test_session(session: str, tmp_path: Path) -> None:
    assert EMACS is not None
    command = [EMACS, "-nw", "-Q", "-l", str(SCRIPT)]
    lines = run_on_terminal(command, tmp_path, SESSION=session)
    assert [line for line in lines if line.startswith("FAIL")] == []
    assert len(lines) > 5


FIRST = {
    "break walk.cu:28": "^Breakpoint 1 at 0x",
    "list": "int i = blockIdx.x",
    "print counter": r"^\$1 = 5",
    "info functions": "digits",
    "x/4i walk": "MOV",
    "help step": "step",
}


@pytest.mark.parametrize("line", FIRST)
def test_first_line(line: str, tmp_path: Path) -> None:
    """What is typed first at the prompt is answered."""
    assert EMACS is not None
    command = [EMACS, "-nw", "-Q", "-l", str(SCRIPT)]
    lines = run_on_terminal(command, tmp_path, SESSION="first", FIRST=line, ANSWER=FIRST[line])
    assert [row for row in lines if row.startswith("FAIL")] == []
    assert {"ok answer", "ok second line"} <= set(lines)
