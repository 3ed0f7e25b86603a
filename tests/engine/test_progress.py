"""What a long run tells a terminal and a log."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest

from gpudbg.debug import progress
from gpudbg.frontends.console.console import Console
from tests import kernel_cases as kc
from tests.engine import machines


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0)
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0)


def _session(engine: str) -> Any:
    return machines.launch(next(iter(kc.load("reduce_sum", "sm_50"))), engine)


@pytest.mark.parametrize("engine", ["step", "run"])
def test_console_tells_a_terminal(engine: str) -> None:
    session, err = _session(engine), Terminal()
    assert Console(session, io.StringIO(), err).execute("continue")
    lines = err.getvalue().split("\r\x1b[K")
    ctas = session.grid.config.ctas
    assert f" of {ctas:,} blocks" in lines[1]
    assert "warp instructions/s" in lines[1]
    assert lines[-1] == ""
    assert session.grid.gpu.on_progress is None


def test_a_log_has_nothing_of_a_short_run() -> None:
    session, err = _session("run"), io.StringIO()
    assert Console(session, io.StringIO(), err).execute("continue")
    assert err.getvalue() == ""


def test_a_log_has_a_line_when_twice_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    session, err, now = _session("step"), io.StringIO(), [100.0]
    grid = session.grid
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log = progress.Log(err)
    for seconds in (0, 5, 9.9, 10, 12, 19, 21, 41, 43, 90):
        now[0] = 100.0 + seconds
        log.tell(grid)
    told = [line.split(": ")[2].split("  ")[0] for line in err.getvalue().splitlines()]
    assert told == ["10.0 s", "21.0 s", "43.0 s", "1 min 30 s"]
    assert err.getvalue().startswith("gpudbg: the run goes on: 10.0 s  0 of ")


def test_a_log_says_what_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are of the moment the line is written at; an outer report keeps its own."""
    session, err, now, what = _session("step"), io.StringIO(), [100.0], ["a first look"]
    grid = session.grid
    gpu = grid.gpu
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with progress.progress_logged(gpu, lambda: what[0], err):
        told = gpu.on_progress
        assert told is not None
        told(grid)
        what[0], now[0] = "launch 2 is checked", 111.0
        with progress.progress_logged(gpu, lambda: "inner", err):
            assert gpu.on_progress is told
        told(grid)
    assert gpu.on_progress is None
    assert err.getvalue().startswith("gpudbg: launch 2 is checked: 11.0 s  0 of ")


def test_time_left_goes_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _session("step")
    grid, now = session.grid, [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    meter = progress.Meter(grid)
    assert meter.now(grid).left is None
    now[0] = 130.0
    residency = grid._residency
    monkeypatch.setattr(residency, "finished_ctas", 1)
    told = meter.now(grid)
    assert told.left == pytest.approx(30.0 * (grid.config.ctas - 1))
    assert told.line().startswith("30.0 s  1 of ")


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.25, "1.2 s"), (61, "1 min 01 s"), (7260, "2 h 01 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert progress.duration(seconds) == text
