"""Lanes of a warp that wait for one another: each comes to its turn, soon, on both engines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.sm.convergence import groups
from gpudbg.sm.engines.step import StepEngine

CUBINS = Path(__file__).parent / "data" / "lanes_that_wait"
ENGINES = ("step", "run")
LANES = 8


def _value(turns: int) -> int:
    value = 0
    for _ in range(turns):
        value = value * 3 + 1
    return value


@pytest.mark.in_turn(take="ticket-sm_90-1000")
@pytest.mark.parametrize(
    ("kernel", "cubin", "most"),
    [
        ("ticket", "sm_80", 8_000),
        ("ticket", "sm_75", 16_000),
        ("ticket", "sm_90", 1_000),
        ("semaphore", "semaphore.sm_75", 9_000),
    ],
)
def test_each_lane_has_its_turn(
    kernel: str, cubin: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "SYNC_PATIENCE", 256)
    counts = set()
    for engine in ENGINES:
        program = gpudbg.load(str(CUBINS / f"{cubin}.cubin"), engine=engine)
        out, words = (program.device.buffer(np.zeros(LANES, np.int32)) for _ in "ab")
        session = program.launch(kernel, grid=1, block=LANES, args=[out, words])
        stop = session.run(max_instructions=100_000)
        assert stop.kind == "exited"
        assert out.array().tolist() == [_value(LANES)] * LANES
        counts.add(stop.instructions)
    assert len(counts) == 1
    assert counts.pop() < most


def test_a_loop_of_part_of_a_warp_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for its lanes, however often they go round."""
    times, run = [0], StepEngine.run

    def counted(self: StepEngine, *given: object, **named: object) -> object:
        times[0] += 1
        return run(self, *given, **named)  # type: ignore[arg-type]

    program = gpudbg.load(str(CUBINS / "sm_80.cubin"), engine="run")
    words = np.array([20_000], np.int32)
    session = program.launch("around", grid=1, block=16, args=[np.zeros(16, np.int32), words])
    monkeypatch.setattr(StepEngine, "run", counted)
    assert session.run().kind == "exited"
    assert times[0] < 100
