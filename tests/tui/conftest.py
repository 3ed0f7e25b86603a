"""A bug that the screen would survive fails its test; what is remembered is the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUDBG_TRACEBACK", "1")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("GPUDBG_KEYMAP", "GPUDBG_THEME", "GPUDBG_ASCII"):
        monkeypatch.delenv(name, raising=False)
