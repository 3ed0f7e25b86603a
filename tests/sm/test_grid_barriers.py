"""Barriers of a whole grid: launches of kernels that have them are cooperative."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from tests.sanitizer.test_pairs import cubin

CUBIN = Path(__file__).parent / "data" / "grid_barrier"
"""grid_barrier.cu, compiled by NVRTC 12.9 for each architecture."""
ENGINES = ("step", "run")


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", ["sm_52", "sm_75", "sm_80", "sm_90", "sm_120"])
def test_blocks_wait_for_the_whole_grid(arch: str) -> None:
    """A scan over four blocks; polling takes few instructions, as many on every engine: before
    sm_70, without YIELD, the loop's branch says that it polls."""
    values = np.arange(7, 7 + 256, dtype=np.int32)
    counts = set()
    for engine in ENGINES:
        program = gpudbg.load(str(CUBIN / f"{arch}.cubin"), engine=engine)
        summed, mirrored = (program.device.buffer(x) for x in (values, np.zeros(256, np.int32)))
        stop = program.launch(grid=4, block=64, args=[summed, mirrored]).run()
        assert stop.kind == "exited"
        assert np.array_equal(summed.array(), np.cumsum(values))
        assert np.array_equal(mirrored.array(), np.cumsum(values)[::-1])
        counts.add(stop.instructions)
    assert len(counts) == 1
    assert max(counts) < 20_000


def test_a_grid_that_does_not_run_at_once_has_no_workspace() -> None:
    """As in a launch that is not cooperative: the barrier traps."""
    program = gpudbg.load(str(CUBIN / "sm_80.cubin"), num_sms=1)
    buffers = [program.device.buffer(np.zeros(64 * 100, np.int32)) for _ in "ab"]
    assert program.launch(grid=100, block=64, args=buffers).run().kind == "trap"


def test_a_loop_without_yield_gives_its_turn_away() -> None:
    """Lanes that go on together poll without one on sm_70 and later, too."""
    counts = set()
    for engine in ENGINES:
        program = gpudbg.load(cubin("mixed", "sm_80"), engine=engine)
        flag, data, out = (program.device.buffer(np.zeros(64, np.int32)) for _ in "abc")
        stop = program.launch("sysfence_ok", grid=2, block=64, args=[flag, data, out]).run()
        assert (stop.kind, out.array()[0]) == ("exited", 9)
        counts.add(stop.instructions)
    assert len(counts) == 1
    assert max(counts) < 2_000
