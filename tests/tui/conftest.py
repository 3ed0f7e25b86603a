"""A bug that the screen would survive fails its test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _show_bugs(monkeypatch):
    monkeypatch.setenv("GPUDBG_TRACEBACK", "1")
