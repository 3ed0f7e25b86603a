"""Sessions on the shipped first program: four blocks of two warps that diverge and reduce."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession

FIRST = Path(__file__).resolve().parents[2] / "sessions" / "first_steps" / "first_steps.cubin"


@pytest.fixture
def make_session() -> Callable[[], DebugSession]:
    """A function that launches block_max on fresh memory."""

    def make() -> DebugSession:
        program = gpudbg.load(FIRST)
        values = (np.arange(256, dtype=np.int32) * 37) % 5000
        return program.launch(
            "block_max", grid=4, block=64, args=[values, np.zeros(4, np.int32), np.int32(250)]
        )

    return make


@pytest.fixture
def session(make_session: Callable[[], DebugSession]) -> DebugSession:
    """A session at the entry of block_max."""
    return make_session()
