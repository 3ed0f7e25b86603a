"""vim's termdebug debugs a kernel through gpudbg: on a prompt, and in terminal windows (`new-ui`).

Needs vim with the termdebug package (`apt-get install vim`).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.clients.kit import run_on_terminal

VIM = shutil.which("vim")
SCRIPT = Path(__file__).with_name("vim_session.vim")
pytestmark = pytest.mark.skipif(VIM is None, reason="vim is not installed")


@pytest.mark.parametrize("session", ["walk", "endless"])
@pytest.mark.parametrize("mode", ["prompt", "term"])
def test_session(session: str, mode: str, tmp_path: Path) -> None:
    assert VIM is not None
    command = [VIM, "-u", "NONE", "-N", "-S", str(SCRIPT)]
    lines = run_on_terminal(command, tmp_path, SESSION=session, MODE=mode)
    assert [line for line in lines if line.startswith("FAIL")] == []
    assert len(lines) > 5
