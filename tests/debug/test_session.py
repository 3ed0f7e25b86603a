"""DebugSession: running, stepping, breakpoints, focus, state, restart, determinism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.errors import CommandError, UsageError


def expected_maxima() -> list[int]:
    values = (np.arange(256, dtype=np.int64) * 37) % 5000
    sums = [v + sum(int(d) for d in str(v)) if i < 250 else 0 for i, v in enumerate(values)]
    return [int(max(sums[b * 64 : b * 64 + 64])) for b in range(4)]


def test_runs_to_the_end_with_the_right_output(session: DebugSession) -> None:
    assert session.stop is not None
    assert session.stop.pc == 8
    stop = session.run()
    assert stop.kind == "exited"
    assert session.buffer(1).tolist() == expected_maxima()
    assert session.finished


def test_stop_is_frozen(session: DebugSession) -> None:
    stop = session.step()
    with pytest.raises(FrozenInstanceError):
        stop.kind = "exited"  # type: ignore[misc]


def test_step_moves_one_warp_one_instruction(session: DebugSession) -> None:
    before = {(w.sm, w.index): w.pc for w in session.warps()}
    stop = session.step()
    assert (stop.kind, stop.pc, stop.instructions) == ("step", 0x10, 1)
    moved = [k for w in session.warps() if before[(k := (w.sm, w.index))] != w.pc]
    assert moved == [(stop.sm, stop.warp)]


@pytest.mark.parametrize(("scope", "moved"), [("cta", 2), ("sm", 4), ("all", 8)])
def test_step_scopes(session: DebugSession, scope: str, moved: int) -> None:
    session.step(scope=scope)
    assert sum(1 for w in session.warps() if w.pc == 0x10) == moved


def test_breakpoint_stops_every_warp_once_per_arrival(session: DebugSession) -> None:
    session.break_at("block_max+0x178")
    seen = set()
    while (stop := session.cont()).kind == "breakpoint":
        assert stop.pc == 0x178
        seen.add((stop.block, stop.sm, stop.warp))
    assert len(seen) == 8
    assert stop.kind == "exited"


def test_condition_focuses_the_first_lane_where_it_holds(session: DebugSession) -> None:
    point = session.break_at("block_max+0x70", condition="blockIdx.x == 1 && threadIdx.x == 37")
    stop = session.cont()
    assert stop.breakpoints == (point.number,)
    assert (stop.block, stop.thread, stop.lane) == ((1, 0, 0), (37, 0, 0), 5)
    assert session.cont().kind == "exited"


def test_ignore_count_and_temporary(session: DebugSession) -> None:
    session.break_at("block_max+0x178", ignore=7)
    assert session.cont().kind == "breakpoint"
    assert session.cont().kind == "exited"
    session.restart()
    session.breakpoints.remove(1)
    session.break_at("block_max+0x178", temporary=True)
    assert session.cont().kind == "breakpoint"
    assert len(session.breakpoints) == 0
    assert session.cont().kind == "exited"


def test_breakpoint_by_line_function_and_star(session: DebugSession) -> None:
    by_line = session.break_at("first_steps.cu:16")
    assert by_line.addresses
    assert session.symbols.line(by_line.addresses[0]).number == 16  # type: ignore[union-attr]
    assert session.break_at("*0x48").addresses == (session.symbols.pc(0x48),)
    assert session.break_at("block_max").addresses == (session.symbols.pc(8),)
    assert session.break_at(0x20).addresses == (session.symbols.pc(0x28),)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("nowhere", "not defined"),
        ("block_max+0x99999", "outside the program"),
        ("*0x4c", "not an instruction"),
        ("other.cu:3", "first_steps.cu"),
        ("first_steps.cu:9999", "No line 9999 in file"),
    ],
)
def test_bad_locations_say_why(session: DebugSession, location: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        session.break_at(location)


def test_condition_that_does_not_parse_is_refused(session: DebugSession) -> None:
    with pytest.raises(CommandError, match="ends too early"):
        session.break_at("block_max", condition="1 +")
    assert len(session.breakpoints) == 0


def test_max_instructions_stops_with_limit(session: DebugSession) -> None:
    stop = session.run(max_instructions=100)
    assert (stop.kind, stop.instructions) == ("limit", 100)
    assert session.run().kind == "exited"


def test_step_line_reaches_another_line(session: DebugSession) -> None:
    first = session.symbols.line(session.warp().state.pc)
    stop = session.step_line()
    assert stop.kind == "step"
    assert session.symbols.line(session.warp().state.pc) != first


def test_until_runs_the_focused_warp_there(session: DebugSession) -> None:
    session.until("block_max+0x178")
    assert session.warp().pc == 0x178
    focused = session.warp()
    others = [w.pc for w in session.warps() if w.block != focused.block]
    assert set(others) == {8}
    session.restart()
    session.settings.set("step-along", "none")
    session.until("block_max+0x178")
    assert [w.pc for w in session.warps()].count(8) == len(list(session.warps())) - 1


def test_until_goes_on_with_others_when_the_focused_warp_ends() -> None:
    """What was asked for is the place; a stop elsewhere, in another warp, says nothing."""
    walk = Path(__file__).resolve().parents[1] / "mi" / "kernels" / "walk.cubin"
    session = gpudbg.open(walk)
    session.break_at("32")
    session.cont()
    assert session.until("24").kind == "breakpoint"  # Another warp is at the end as well.
    stop = session.until("24")
    assert (stop.kind, stop.line, stop.block) == ("step", 24, (1, 0, 0))
    session.command("delete")
    assert session.until("24").kind == "exited"


def test_finish_outside_a_function_says_so(session: DebugSession) -> None:
    with pytest.raises(CommandError, match="kernel itself"):
        session.finish()


def test_warp_and_lane_views_read_and_write(session: DebugSession) -> None:
    session.until("block_max+0x58")
    warp = session.warp()
    assert warp.R[2].tolist() == list(range(32))
    assert warp.lane(5).R[2] == 5
    warp.lane(5).R[2] = 99
    assert session.warp().R[2][5] == 99
    warp.R[3] = np.float32(1.5)
    assert warp.R[3][0] == 0x3FC00000
    warp.P[0] = True
    assert warp.P[0].all()
    warp.lane(3).P[0] = False
    assert not warp.P[0][3]
    assert warp.threads[7].tolist() == [7, 0, 0]
    with pytest.raises(UsageError, match="R254"):
        warp.R[254]


def test_focus_by_hardware_and_by_thread(session: DebugSession) -> None:
    focus = session.set_focus("block (1,0,0) thread (40,0,0)")
    assert session.warp().block == (1, 0, 0)
    assert focus.lane == 8
    session.set_focus("sm 0 warp 1 lane 3")
    assert session.warp().lane(3).thread == (35, 0, 0)
    for bad in ("block 77", "lane 55", "warp 63", "thread (900,0,0)", "nonsense 4", ""):
        with pytest.raises(CommandError):
            session.set_focus(bad)


def test_expressions_at_a_stop(session: DebugSession) -> None:
    session.until("block_max+0x58")
    values = session.evaluate("$R2 + threadIdx.x * 2").values
    assert values.tolist() == [3 * i for i in range(32)]
    assert session.evaluate("blockDim.x").values[0] == 64
    assert session.evaluate("%tid.x").values[4] == 4
    assert session.evaluate("SR_LANEID").values[9] == 9
    assert session.evaluate("param2").values[0] == 250
    assert session.evaluate("$pc").values[0] == 0x58
    address = int(session.evaluate("param0").values[0])
    first = session.evaluate(f"*(@global int*)0x{address + 8:x}")
    assert first.values[0] == 74


def test_writing_memory_through_expressions(session: DebugSession) -> None:
    session.execute("set shared[3] = 77")
    assert session.evaluate("shared[3]").values[0] == 77
    assert session.warp().state.cta.shared.data[12] == 77


def test_restart_restores_memory_and_state(session: DebugSession) -> None:
    session.run()
    first = session.buffer(1).copy()
    session.restart()
    assert session.buffer(1).tolist() == [0, 0, 0, 0]
    assert session.run().kind == "exited"
    assert session.buffer(1).tolist() == first.tolist()


def test_same_inputs_same_stops(make_session: Callable[[], DebugSession]) -> None:
    def trace() -> list[tuple[object, ...]]:
        s = make_session()
        s.break_at("block_max+0x168")
        return [(t.sm, t.warp, t.instructions) for t in _stops(s)]

    assert trace() == trace()


def _stops(session: DebugSession) -> list[gpudbg.Stop]:
    out = []
    while (stop := session.cont()).kind != "exited":
        out.append(stop)
    return out


def test_going_on_after_the_end_is_refused(session: DebugSession) -> None:
    session.run()
    for move in (session.run, session.cont, session.step):
        with pytest.raises(CommandError, match="run"):
            move()


def test_kill_ends_the_launch(session: DebugSession) -> None:
    session.kill()
    with pytest.raises(CommandError, match=r"ended|not running"):
        session.cont()
    session.restart()
    assert session.run().kind == "exited"


def test_buffer_by_name_and_position(session: DebugSession) -> None:
    assert session.buffer("arg1").shape == (4,)
    with pytest.raises(UsageError, match="scalar"):
        session.buffer(2)
    with pytest.raises(UsageError, match="no argument"):
        session.buffer(9)


def test_snapshot_marks_what_changed(session: DebugSession) -> None:
    first = session.snapshot()
    session.step(2)
    second = session.snapshot(first)
    assert second.detail is not None
    assert second.detail.changed == {1, 4} - (
        {4} if not second.detail.registers[4].any() else set()
    )
    assert len(second.warps) == 8
    assert first.detail is not None
    assert first.detail.registers is not second.detail.registers
