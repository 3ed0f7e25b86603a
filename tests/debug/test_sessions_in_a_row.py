"""Sessions of one kernel in a row: the machine of one serves the next, and nobody can tell."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.interop.launcher import ReadyLaunch, run
from gpudbg.sm.repeated import RepeatedLaunches
from tests.launching import FIRST

LENGTHS = 250, 3, 250, 129


@pytest.fixture
def loaded() -> gpudbg.LoadedProgram:
    return gpudbg.load(FIRST, engine="run")


def launched(loaded: gpudbg.LoadedProgram, length: int) -> DebugSession:
    rng = np.random.default_rng(length)
    values = rng.integers(0, 9999, 256, dtype=np.int32)
    return loaded.launch("block_max", 4, 64, [values, np.zeros(4, np.int32), length])


def told(session: DebugSession) -> list[object]:
    """What a session says at its entry, at its end and when it has gone back."""
    entry = session.stop, session.state_hash(), session.execute("info sm port")
    end = session.run(), session.state_hash(), session.buffer(1).tolist()
    port = session.execute("info sm port")
    back = session.reverse_step(), session.state_hash(), session.tick
    again = session.goto(20), session.state_hash()
    return [entry, end, port, back, again]


def test_the_second_session_has_the_grid_of_the_first(loaded: gpudbg.LoadedProgram) -> None:
    grids = []
    for length in LENGTHS:
        with launched(loaded, length) as session:
            grids.append(id(session.grid))
            assert session.run().kind == "exited"
    assert len(set(grids[1:])) == 1, "the first run had to compile"
    for _ in range(2):
        session = launched(loaded, 250)
        assert session.run().kind == "exited"
        assert id(session.grid) in grids
        del session
        gc.collect()


def test_it_tells_what_a_new_one_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry, port, end, hash, and its past: beside sessions of which each has a new grid."""

    def tell() -> tuple[list[list[str]], int]:
        loaded = gpudbg.load(FIRST, engine="run")
        found, same = [], 0
        for length in LENGTHS:
            with launched(loaded, length) as session:
                session.run()
                grid = session.grid
            with launched(loaded, length) as session:
                same += session.grid is grid
                found.append([str(part) for part in told(session)])
        return found, same

    kept, same = tell()
    monkeypatch.setattr(RepeatedLaunches, "keep", lambda *args: False)
    assert tell() == (kept, 0)
    assert same >= len(LENGTHS) - 1


@pytest.mark.parametrize(
    "touch",
    [
        lambda session: session.step(3),
        lambda session: session.warp(0).lane(3).R,
        lambda session: session.execute("set $R0 = 5"),
        lambda session: session.break_at("block_max+0x48"),
        lambda session: session.check("hazards"),
        lambda session: session.execute("watch shared[0]"),
    ],
)
def test_a_session_that_was_touched_leaves_no_grid(
    loaded: gpudbg.LoadedProgram, touch: Callable[[DebugSession], object]
) -> None:
    """Stepped, looked at, changed, with breakpoints or checks: the next one begins anew."""
    with launched(loaded, 250) as session:
        first = session.grid
        touch(session)
        stop = session.cont()
        while stop.kind != "exited":
            stop = session.cont()
    with launched(loaded, 250) as session:
        assert session.grid is not first
        assert session.run().instructions == stop.instructions


def test_calls_of_kernels_have_no_session(
    loaded: gpudbg.LoadedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that comes to its end makes none; one that faults has its card."""
    made: list[str] = []
    begin = DebugSession.__init__

    def noted(session: DebugSession, *args: Any) -> None:
        made.append("session")
        begin(session, *args)

    monkeypatch.setattr(DebugSession, "__init__", noted)
    values, out = np.arange(256, dtype=np.int32), np.zeros(4, np.int32)
    for _ in range(3):
        stop = run(ReadyLaunch(loaded, "block_max", 4, 64, [values, out, 250]))
        assert str(stop) == "block_max ended after 1,085 warp instructions"
    assert not made
    assert out.tolist() == [73, 137, 207, 264]
    with pytest.raises(gpudbg.KernelError, match=r"OUT_OF_RANGE|out of|0x40"):
        run(ReadyLaunch(loaded, "block_max", 4, 64, [np.uint64(64), out, 250]))
    assert made == ["session"]
    assert not list(loaded.device.sessions)
