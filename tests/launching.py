"""Sessions for tests: a shipped story, a program with flags, `block_max` launched from Python.

`tests/conftest.py` offers these as fixtures.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import gpudbg
from gpudbg.api.opening import launch_parser, open_session
from gpudbg.debug.session import DebugSession

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = ROOT / "sessions"
FIRST = SESSIONS / "first_steps" / "first_steps.cubin"
"""The shipped first program: four blocks of two warps that diverge and reduce."""


def story_path(name: str) -> Path:
    """The cubin of a shipped story."""
    return SESSIONS / name / f"{name}.cubin"


def open_story(name: str) -> DebugSession:
    """A session of a shipped story with its own launch table."""
    return gpudbg.open(story_path(name))


def open_with(
    path: str | os.PathLike[str], flags: Sequence[str] = (), may_wait: bool = False
) -> DebugSession:
    """A session of a program as the command line opens it."""
    return open_session(Path(path), launch_parser().parse_args([*flags]), may_wait=may_wait)


def launch_block_max(engine: str = "auto") -> DebugSession:
    """A session at the entry of the first program's kernel, on memory of its own."""
    values = (np.arange(256, dtype=np.int32) * 37) % 5000
    return gpudbg.load(FIRST, engine=engine).launch(
        "block_max", grid=4, block=64, args=[values, np.zeros(4, np.int32), np.int32(250)]
    )
