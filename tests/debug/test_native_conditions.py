"""Conditions that compiled code tests: the same answers as `evaluate`, and few calls of it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.breakpoints import setting as breaking
from gpudbg.debug.values.context import WarpContext
from gpudbg.debug.values.lanes import mask_array
from gpudbg.expr import evaluate, parse
from gpudbg.expr.native import native
from gpudbg.sm.engines.llvm.run import ENOUGH
from tests.tui.helpers import ROOT

SAXPY = ROOT / "tests/data/bench/cubin/saxpy.sm_50.cubin"
THREADS = 32 * 256
PLACE = 0x98


def session(engine: str = "run") -> Any:
    program = gpudbg.load(SAXPY, engine=engine)
    x = program.device.buffer(np.arange(THREADS, dtype=np.float32))
    y = program.device.buffer(np.ones(THREADS, np.float32))
    args = [x, y, np.int32(THREADS), np.float32(2)]
    return program.launch(grid=THREADS // 256, block=256, args=args)


def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seen: list[int] = []

    def counted(tree: Any, context: Any) -> Any:
        seen.append(1)
        return evaluate(tree, context)

    monkeypatch.setattr(breaking, "evaluate", counted)
    return seen


@pytest.mark.parametrize(
    "condition",
    ["$R4 == 12345", "threadIdx.x > 5000", "$F4 > 1e30 && $F4 < 0", "blockIdx.x * blockDim.x == 7",
     "!($R2 | 1)", "P0 && $R5 < 0", "(threadIdx.x & 3) - 4 == 1"],
)  # fmt: skip
def test_a_condition_that_never_holds_is_tested_in_compiled_code(
    condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = calls(monkeypatch)
    s = session()
    point = s.break_at(PLACE, condition=condition)
    assert s.run_to_stop().kind == "exited"
    assert point.hits == 0
    assert len(seen) <= ENOUGH + 2, "arrivals that Python was asked about, of 256"


@pytest.mark.parametrize("condition", ["$R4 / 0 == 1", "*(@global int*)$L4 == 3"])
def test_what_can_fail_or_reads_memory_is_asked_of_python(condition: str) -> None:
    s = session()
    assert native(parse(condition), WarpContext(s, s.warp().state)) is None


def test_stops_are_the_same_on_both_engines() -> None:
    told = []
    for engine in ("step", "run"):
        s = session(engine)
        late = s.break_at(PLACE, condition="blockIdx.x == 29 && threadIdx.x == 77")
        often = s.break_at("saxpy+0xb8", condition="(threadIdx.x & 127) == 5", ignore=40)
        stops = []
        while (stop := s.run_to_stop()).kind == "breakpoint":
            stops.append((stop.block, stop.thread, stop.pc, stop.breakpoints, stop.instructions))
        told.append((stops, late.hits, often.hits))
    assert told[0] == told[1]
    assert (told[0][1], told[0][2]) == (1, 64)
    assert ((29, 0, 0), (77, 0, 0), PLACE) in [row[:3] for row in told[0][0]]


def test_another_condition_takes_the_place_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    s = session()
    point = s.break_at(PLACE, condition="blockIdx.x == 20 && threadIdx.x == 3")
    assert s.run_to_stop().block == (20, 0, 0)
    s.breakpoints.set_condition(point.number, "blockIdx.x == 25 && threadIdx.x == 250")
    stop = s.run_to_stop()
    assert (stop.block, stop.thread) == ((25, 0, 0), (250, 0, 0))
    s.breakpoints.set_condition(point.number, None)
    assert s.run_to_stop().kind == "breakpoint", "without one every warp stops"
    s.breakpoints.remove(point.number)
    assert s.run_to_stop().kind == "exited"


def _random(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice((
            "$R4", "$R0", "$F4", "P0", "threadIdx.x", "blockIdx.x", "blockDim.x", "$F2", "7", "0",
            "0xffffffffu", "-3", "1.5", "2.0f", "100000", "$R3",
        ))  # fmt: skip
    op = rng.choice(("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "&", "|", "^", "&&", "||"))
    a, b = _random(rng, depth - 1), _random(rng, rng.randrange(depth))
    return rng.choice((f"({a} {op} {b})", f"({a} {op} {b})", f"!({a} {op} {b})"))


def test_random_conditions_mean_what_evaluate_says() -> None:
    """On the step engine's interface, whose operations compiled code shares."""
    rng = random.Random(3)
    s = session("step")
    s.break_at("saxpy+0xb8")
    s.run_to_stop()
    warp = s.warp().state
    values = np.random.default_rng(1)
    for n in (0, 2, 3, 4):
        warp.R[n] = values.integers(0, 1 << 32, 32, np.uint32)
        warp.R[n][::3] = values.choice(np.array([0, 7, 0x7FC00000, 0xBF800000, 1 << 31], np.uint32))
    warp.predicates[0] = 0x0F0F1234
    engine = s.grid.engine
    engine.warp, engine.sm = warp, s.grid.sms[warp.sm]
    taken = 0
    for _ in range(1500):
        text = _random(rng, rng.randint(1, 3))
        context = WarpContext(s, warp)
        try:
            tree = parse(text)
            want = evaluate(tree, context)
        except gpudbg.GpudbgError:
            continue
        condition = native(tree, context)
        if condition is None:
            continue
        taken += 1
        with np.errstate(all="ignore"):
            got = mask_array(condition.holds(engine))
        assert (got == want.truth()).all(), text
    assert taken > 300


def test_instructions_are_told_as_without_a_condition() -> None:
    class Count(gpudbg.Observer):
        def __init__(self) -> None:
            self.pcs: list[int] = []

        def instructions(self, batch: Any) -> None:
            self.pcs += batch.pc.tolist()

    told = []
    for condition in (None, "blockIdx.x == 30 && threadIdx.x == 9"):
        s = session()
        if condition:
            s.break_at(PLACE, condition=condition)
        with s.subscribe(Count()) as count:
            while s.run_to_stop().kind == "breakpoint":
                pass
        told.append(count.pcs)
    assert told[0] == told[1]
