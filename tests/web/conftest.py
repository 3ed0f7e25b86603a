"""What a session remembers goes to a folder of the test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _own_state(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
