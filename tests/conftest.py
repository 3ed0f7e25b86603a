"""What all tests share: a cache of compiled code of their own."""

from __future__ import annotations

import os
import tempfile

import pytest

from gpudbg.sm.engines.llvm import cache


def pytest_configure(config: pytest.Config) -> None:
    """Processes that tests begin have the same one; the user's is left alone.

    It is in pytest's own cache, so that the next run need not compile everything again.
    """
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return
    kept = getattr(config, "cache", None)
    if kept is not None:
        folder = str(kept.mkdir("gpudbg-code"))
    else:
        folder = tempfile.mkdtemp(prefix="gpudbg-code-")
    os.environ[cache.FOLDER] = folder
    os.environ.pop(cache.SIZE, None)
