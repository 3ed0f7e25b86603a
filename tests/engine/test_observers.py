"""Observers of instructions in batches: the same on both engines, and what makes runs step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpudbg.sm import trace
from gpudbg.sm.observer import Observer
from tests import kernel_cases as kc
from tests.engine import machines

KERNELS = (
    "barriers", "divergence", "fault_shared_oob", "func_ptr", "matmul_tiled", "scan_block",
)  # fmt: skip


class Batches(Observer):
    """Everything of every batch, and other events between them."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []
        self.sizes: list[int] = []

    def instructions(self, batch: trace.Batch) -> None:
        self.sizes.append(len(batch))
        self.rows.append(np.stack([batch.pc, batch.lanes, batch.cta, batch.warp], axis=1))

    @property
    def all(self) -> list[list[int]]:
        return [list(map(int, row)) for row in np.concatenate(self.rows)]


class Ends(Batches):
    """Also where warps and CTAs begin and end."""

    def warp_begin(self, warp: Any) -> None:
        self._note(0, warp.cta.number, warp.index)

    def warp_end(self, warp: Any) -> None:
        self._note(1, warp.cta.number, warp.index)

    def cta_end(self, cta: Any) -> None:
        self._note(2, cta.number, 0)

    def _note(self, kind: int, cta: int, warp: int) -> None:
        self.rows.append(np.array([[-1, kind, cta, warp]]))


class Each(Observer):
    """Every instruction as it comes."""

    def __init__(self) -> None:
        self.all: list[list[int]] = []

    def instruction(self, warp: Any, pc: int, instruction: Any, lanes: int) -> None:
        self.all.append([pc, lanes, warp.cta.number, warp.index])


def _seen(kernel: str, engine: str, observer: Any, parts: int = 1) -> Any:
    session = machines.launch(next(iter(kc.load(kernel, "sm_50"))), engine)
    with session.subscribe(observer):
        for _ in range(parts - 1):
            if session.run(max_instructions=150).kind != "limit":
                return session
        session.run()
    return session


@pytest.mark.in_turn(take="barriers")
@pytest.mark.parametrize("kernel", KERNELS)
def test_both_engines_tell_the_same(kernel: str) -> None:
    each, step = Each(), Batches()
    _seen(kernel, "step", each)
    _seen(kernel, "step", step)
    assert step.all == each.all
    run = Batches()
    session = _seen(kernel, "run", run, parts=3)
    assert session.grid.fast.engine is not None
    assert run.all == each.all
    if kernel == "scan_block":
        assert max(run.sizes) > 900


@pytest.mark.full(instead="test_both_engines_tell_the_same")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("kernel", ["barriers", "reduce_sum"])
def test_order_among_events(kernel: str) -> None:
    """A warp's instructions come before its end, on both engines."""
    step, run = Ends(), Ends()
    _seen(kernel, "step", step)
    _seen(kernel, "run", run)
    assert step.all == run.all
    kinds = {row[1] for row in run.all if row[0] == -1}
    assert {1, 2} <= kinds


@pytest.mark.full(instead="test_both_engines_tell_the_same")
def test_observed_runs_leave_the_same_state() -> None:
    alone = machines.launch(next(iter(kc.load("scan_block", "sm_50"))), "run")
    assert alone.run().kind == "exited"
    seen = _seen("scan_block", "run", Ends())
    states = machines.grid_state(alone.grid), machines.grid_state(seen.grid)
    assert machines.difference(*states) == ""


def test_single_instructions_need_the_step_engine() -> None:
    session = _seen("reduce_sum", "run", Each())
    assert session.grid.fast.engine is None


@pytest.mark.full(instead="test_both_engines_tell_the_same")
def test_no_observer_no_rows() -> None:
    """Without an observer code does not note anything, also after one has gone."""
    session = machines.launch(next(iter(kc.load("scan_block", "sm_50"))), "run")
    with session.subscribe(Batches()):
        session.run(max_instructions=500)
        assert session.grid.fast.engine.program.traced
    assert session.run().kind == "exited"
    assert session.grid.trace is None
    assert not session.grid.fast.engine.program.traced
