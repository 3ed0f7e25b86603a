"""Watchpoints in compiled code against the step engine; `fuzz_watch` has hundreds of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.history import history
from tests import kernel_cases as kc
from tests.engine import fuzz_watch, machines

CASES = {case.id: case for arch in ("sm_50", "sm_80") for case in kc.cases(arch)}


@pytest.mark.in_turn(take="constant_mem-base-sm_50-3")
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("constant_mem-base-sm_50", 3),
        ("cpasync_gemm-base-sm_80", 3),
        ("memory_widths-base-sm_50", 2),
    ],
)
def test_both_engines_stop_alike(name: str, seed: int) -> None:
    count, difference = fuzz_watch.compare(CASES[name], seed)
    assert not difference
    assert count


def saxpy(engine: str) -> Any:
    """A session, and the program's other buffer."""
    case = next(iter(kc.load("saxpy", "sm_50")))
    program = gpudbg.load(str(case.cubin), engine=engine)
    data = np.arange(2048, dtype=np.float32)
    x, y, other = (program.device.buffer(data) for _ in range(3))
    args = [np.int32(len(data)), np.float32(2), x, y]
    return program.launch("saxpy", grid=64, block=32, args=args), y, other


def stepped(session: Any) -> int:
    """Instructions that compiled code has left to the step engine."""
    report = session.grid.fast.report()
    return 0 if report is None else sum(report.exits.values())


@pytest.mark.parametrize(
    ("place", "most"),
    [("unused", 0), ("element", 3), ("$R0", 16)],
)
def test_code_that_cannot_touch_a_place_runs_compiled(place: str, most: int) -> None:
    session, y, other = saxpy("run")
    at = {
        "unused": f"*(@global float*)0x{other.address + 64:x}",
        "element": f"*(@global float*)0x{y.address + 1000:x}",
    }
    session.watch_at(at.get(place, place))
    stops = sum(stop.kind == "breakpoint" for stop in session.events())
    assert session.finished
    assert stepped(session) <= most
    assert (stops > 0) == (place in ("element", "$R0"))
    assert y.array()[7] == 3 * 7


def test_a_place_that_every_warp_touches() -> None:
    session, y, _ = saxpy("run")
    session.watch_at(f"*(@global float*)0x{y.address:x}@2048", "access", condition="1 == 2")
    assert session.cont().kind == "exited"
    # Each of 64 warps loads and stores, and leaves to the step engine once.
    assert stepped(session) == 64
    assert machines.grid_state(session.grid)["done"] == (64, 0)


@pytest.mark.parametrize("engine", ["step", "run"])
def test_going_back_meets_the_same(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "WINDOW", 200)
    session, y, _ = saxpy(engine)
    session.watch_at(f"*(@global float*)0x{y.address + 4 * 62:x}@4")
    session.watch_at("$R0")
    met = [stop.watch for stop in session.events("breakpoint")]
    back = []
    while (stop := session.reverse_cont()).kind == "breakpoint":
        back.append(stop.watch)
    assert len(met) > 2
    assert back == met[::-1]
