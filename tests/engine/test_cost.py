"""What a launch and a run cost in Python around compiled code, counted in calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from tests import kernel_cases as kc
from tests.calls import calls_of

LAUNCH, RUN = 650, 160
"""Most calls of a launch, and of a run to its end, whatever the warps."""
BLOCK = 14
"""Most calls that each further resident block of one warp costs a launch."""


@pytest.fixture(scope="module")
def program() -> Any:
    """A program whose code is compiled."""
    case = next(iter(kc.load("saxpy", "sm_50")))
    made = gpudbg.load(str(case.cubin), engine="run")
    _launch(made, 1)().run()
    return made


def _launch(program: Any, blocks: int) -> Any:
    """A way to launch saxpy with blocks of 32 threads."""
    data = np.ones(32 * blocks, np.float32)
    x, y = program.device.buffer(data), program.device.buffer(data)
    arguments = [np.int32(len(data)), np.float32(2), x, y]
    return lambda: program.launch("saxpy", grid=blocks, block=32, args=arguments)


def _cost(program: Any, blocks: int) -> tuple[int, int]:
    """Calls of a launch and of a run, both done before."""
    launch = _launch(program, blocks)
    launch().run()
    made: list[Any] = []
    first = calls_of(lambda: made.append(launch()))
    grid = made[0].grid
    return first, calls_of(grid.run)


def test_calls(program: Any) -> None:
    launch, run = _cost(program, 1)
    assert launch < LAUNCH
    assert run < RUN
    further = 31
    more, same = _cost(program, 1 + further)
    assert more < launch + further * BLOCK
    assert same == run
