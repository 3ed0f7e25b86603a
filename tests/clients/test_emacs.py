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
