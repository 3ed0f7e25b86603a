"""Launches from Python in a row: the same as the first one, at a fraction of the work."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.interop.launcher import ReadyLaunch, run

CUBIN = Path(__file__).parents[2] / "sessions/first_steps/first_steps.cubin"


def _program() -> tuple[Any, Any, Any]:
    program = gpudbg.load(CUBIN)
    values = program.device.buffer(np.arange(64, dtype=np.int32) % 50, "values")
    return program, values, program.device.buffer(np.zeros(1, np.int32), "out")


def _launch(program: Any, *args: object, **sizes: Any) -> Any:
    with program.launch("block_max", **({"grid": 1, "block": 64} | sizes), args=args) as session:
        session.run()
        launch = session.launch
        return launch.table, launch.arguments, launch.params, [str(stop) for stop in session.stops]


def test_the_second_launch_of_a_kind_is_the_first_one() -> None:
    program, values, out = _program()
    first = _launch(program, values, out, 64)
    names = [buffer.allocation.name for buffer in (values, out)]
    assert _launch(program, values, out, 64) == first
    assert [buffer.allocation.name for buffer in (values, out)] == names
    assert names == ["buffer values (argument 0)", "buffer out (argument 1)"]
    assert out.array()[0]
    for count in (np.int32(64), np.uint8(64), np.int64(64)):
        assert _launch(program, values, out, count)[2:] == first[2:]
    assert _launch(program, values, out, -1)[2] != first[2]


@pytest.mark.parametrize(
    ("number", "other"), [(2, 1 << 31), (2, 1 << 40), (2, -(1 << 31) - 1), (2, 64.0), (2, True)]
)
def test_values_that_do_not_fit_are_treated_as_at_the_first_launch(
    number: int, other: object
) -> None:
    def outcome(program: Any, args: list[Any]) -> object:
        try:
            return _launch(program, *args)[2]
        except gpudbg.UsageError as error:
            return str(error)

    program, values, out = _program()
    args = [values, out, 64]
    args[number] = other
    fresh = outcome(program, args)
    _launch(program, values, out, 64)
    _launch(program, values, out, 64)
    assert outcome(program, args) == fresh


def test_what_is_no_longer_right_is_refused() -> None:
    program, values, out = _program()
    _launch(program, values, out, 64)
    stranger = gpudbg.Device("sm_50").buffer(np.zeros(64, np.int32))
    with pytest.raises(gpudbg.UsageError, match="another device"):
        _launch(program, stranger, out, 64)
    with pytest.raises(gpudbg.UsageError, match="float32"):
        _launch(program, program.device.buffer(np.zeros(64, np.float32)), out, 64)
    with pytest.raises(gpudbg.UsageError, match="grid"):
        _launch(program, values, out, 64, grid=True)
    program.device.close()
    with pytest.raises(gpudbg.UsageError, match="closed"):
        _launch(program, values, out, 64)


def _calls(action: Any) -> int:
    """Calls of Python functions."""
    seen = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal seen
        seen += event == "call"

    for _ in range(3):
        action()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return seen


def test_a_launch_is_few_calls_whatever_memory_is_live() -> None:
    """Each is about 0.4 us: 714 and 523 of them were two thirds more than there is to do."""
    program, values, out = _program()
    program.device.gpu.engine = "run"
    host, most = np.arange(64, dtype=np.int32), np.zeros(1, np.int32)
    ready = ReadyLaunch(program, "block_max", 1, 64, [host, most, 64], ["values", "out", "n"])

    def launched() -> None:
        with program.launch("block_max", grid=1, block=64, args=[values, out, 64]) as session:
            session.run()

    few = _calls(launched), _calls(lambda: run(ready))
    held = [program.device.buffer(np.zeros(1 << 18, np.uint8)) for _ in range(64)]
    many = _calls(launched), _calls(lambda: run(ready))
    assert held
    assert max(few[0], many[0]) < 560
    assert max(few[1], many[1]) < 390
    assert most[0]
