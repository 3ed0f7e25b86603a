"""Which code of the run engine a test has: that which is compiled first, or the better one."""

from __future__ import annotations

import pytest

from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm import program as programs


def use(effort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have "plain" code, or "least": better code, made with the least effort."""
    monkeypatch.setenv(build.LEAST_EFFORT, effort)
    monkeypatch.setattr(programs, "_programs", {})
