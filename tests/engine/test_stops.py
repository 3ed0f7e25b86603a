"""Stops at random instructions, breakpoints and engine changes leave the same state."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from tests import kernel_cases as kc
from tests.engine import fuzz_stops, machines, tiers

KERNELS = (
    "atomics_shared", "barriers", "bitonic_sort", "crc32", "divergence", "double_ops",
    "fault_oob_global",
    "fault_shared_oob", "fault_divergent_barrier", "fault_trap", "func_ptr", "generic_ptr",
    "jump_table", "libm_math", "local_array", "matmul_tiled", "ptx_control", "recursion",
    "scan_block", "switch_tree", "warp_ops",
)  # fmt: skip


def _case(kernel: str, variant: str = "sm_50") -> kc.Case:
    return next(iter(kc.load(kernel, variant)))


@pytest.mark.in_turn(take="matmul_tiled ptx_control warp_ops fault_trap")
@pytest.mark.parametrize("kernel", KERNELS)
def test_random_stops(kernel: str) -> None:
    case = _case(kernel)
    step, run = machines.launch(case, "step"), machines.launch(case, "run")
    rng = random.Random(kernel)
    for _ in range(12):
        count = rng.randrange(1, rng.choice((20, 200, 2000)))
        first, second = (s.run(max_instructions=count) for s in (step, run))
        assert first.kind == second.kind
        states = machines.grid_state(step.grid), machines.grid_state(run.grid)
        assert machines.difference(states[0], states[1]) == ""
        if first.kind != "limit":
            break


@pytest.mark.in_turn(take="barriers crc32")
@pytest.mark.parametrize("kernel", KERNELS[:12])
def test_engines_take_turns(kernel: str) -> None:
    """One launch handed from engine to engine ends as on the step engine alone."""
    case = _case(kernel)
    alone, mixed = machines.launch(case, "step"), machines.launch(case, "run")
    fast = mixed.grid.fast
    rng = random.Random(kernel)
    for _ in range(12):
        count = rng.randrange(1, 400)
        mixed.grid.fast = rng.choice((fast, None))
        first, second = (s.run(max_instructions=count) for s in (alone, mixed))
        assert first.kind == second.kind
        if first.kind != "limit":
            break
    states = machines.grid_state(alone.grid), machines.grid_state(mixed.grid)
    assert machines.difference(states[0], states[1]) == ""


TOKEN = """
.arch sm_50
.kernel probe
.shared 256
    S2R R0, SR_TID.X ;
    SSY after ;
    IADD R1, R0, 0x1 ;
    LDS.U.32 R2, [R1] ;
after:
    EXIT ;
"""


def test_a_token_is_pushed_once_where_the_next_instruction_fails() -> None:
    found = []
    for engine in ("step", "run"):
        program = gpudbg.load(assemble_file(TOKEN).cubin(), engine=engine)
        session = program.launch("probe", grid=1, block=32, args=[])
        assert session.run().kind == "warp_error"
        found.append(machines.grid_state(session.grid))
    assert machines.difference(found[0], found[1]) == ""


@pytest.mark.full(instead="test_random_stops")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("kernel", ["divergence", "scan_block", "matmul_tiled", "saxpy"])
def test_breakpoints(kernel: str) -> None:
    case = _case(kernel)
    # A session that nobody keeps gives up its launch.
    sessions = [machines.launch(case, engine) for engine in ("step", "run")]
    grids = [session.grid for session in sessions]
    code = sorted({w.pc for w in grids[0].warps()})[0]
    rng = random.Random(kernel)
    stops = []
    for n in range(1, 40):
        pc = code + 8 * rng.randrange(1, 60)
        if pc & 31 and grids[0].code.placement_at(pc) is not None:
            stops.append(pc)
        if len(stops) == 3 or n == 39:
            break
    for _ in range(25):
        events = [grid.run(breakpoints=stops, max_instructions=5000) for grid in grids]
        assert events[0] == events[1]
        states = [machines.grid_state(grid) for grid in grids]
        assert machines.difference(states[0], states[1]) == ""
        if events[0].kind not in ("breakpoint", "limit"):
            break


def test_condition_that_refuses() -> None:
    """A breakpoint whose condition fails does not stop, and is asked as often on both engines."""
    case = _case("scan_block")
    asked: list[list[tuple[int, int, int]]] = []
    for engine in ("step", "run"):
        session = machines.launch(case, engine)
        grid = session.grid
        seen: list[tuple[int, int, int]] = []
        pc = next(iter(grid.warps())).pc + 16

        def accept(warp: object, seen: list[tuple[int, int, int]] = seen) -> bool:
            seen.append((warp.sm, warp.slot, warp.executed))  # type: ignore[attr-defined]
            return False

        assert grid.run(breakpoints=[pc], accept=accept).kind == "exited"
        asked.append(seen)
    assert asked[0] == asked[1]
    assert asked[0]


@pytest.mark.full(instead="test_random_stops")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("kernel", ["atomics_shared", "fault_shared_oob", "libm_math"])
def test_stops_over_the_whole_run(kernel: str) -> None:
    """A sample of `make fuzz`, which has 1,000 stops of every kernel."""
    count, difference = fuzz_stops.compare(_case(kernel), 15, random.Random(kernel))
    assert difference == ""
    assert count >= 2


@pytest.mark.parametrize("effort", ["least", "plain"])
def test_polling_blocks_stopped_anywhere(effort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn in which a warp yielded gives way whatever ends it, a barrier too."""
    tiers.use(effort, monkeypatch)
    values, blocks = np.arange(128 * 40, dtype=np.uint32), 40
    cubin = Path(__file__).parents[1] / "kernels_own" / "cubin" / "look_back.sm_90.cubin"
    sessions = []
    for engine in ("step", "run"):
        program = gpudbg.load(str(cubin), engine=engine, num_sms=2)
        arrays = [values, values * 0, np.zeros(blocks, np.uint64), np.zeros(1, np.int32)]
        sessions.append(program.launch(grid=blocks, block=128, args=arrays))
    for _ in range(12):
        kinds = {session.run(max_instructions=199).kind for session in sessions}
        states = [machines.grid_state(session.grid) for session in sessions]
        assert not machines.difference(states[0], states[1])
        if kinds != {"limit"}:
            break
    assert len(kinds) == 1
