"""The tutorial of Triton: all of it, with kernels that Triton compiled; and with Triton itself."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import doc_blocks
from tests.doc_blocks import FILE, Player, refreshed
from tests.manual.triton_page import CUBINS, PAGE, compiled, stand_in

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_with_stored_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments, launches, lines and recordings go the way they go with Triton."""
    stand_in(monkeypatch)
    assert _placed(refreshed(TEXT, PAGE.name, tmp_path)) == _placed(TEXT)


def _placed(text: str) -> str:
    """The text without where arrays lie: that depends on what else is on this process's device."""
    return re.sub(r"0x7fa[0-9a-f]{9}", "0x7fa……", text)


def test_every_kernel_of_the_page_is_stored_and_no_other() -> None:
    files = {compiled(match["content"]) for match in FILE.finditer(TEXT)}
    assert files == set(CUBINS.glob("*.cubin"))
    assert len(files) == 3


class _Processes(Player):
    """Scripts run in processes of their own, as the reader's do."""

    def _command_line(self, words: list[str]) -> list[str]:
        if words[0] != "python":
            return super()._command_line(words)
        done = subprocess.run(
            [sys.executable, *words[1:]], capture_output=True, text=True, timeout=300,
            env=os.environ | {"TRITON_DEFAULT_FP_FUSION": "1"},
        )  # fmt: skip
        assert done.stderr == "", shlex.join(words)
        return done.stdout.splitlines()


@pytest.mark.full(instead="test_the_page_with_stored_kernels")
def test_the_page_with_triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    monkeypatch.setattr(doc_blocks, "Player", _Processes)
    assert refreshed(TEXT, PAGE.name, tmp_path) == TEXT
