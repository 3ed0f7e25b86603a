"""Groups of lanes in records, commands and steps; the shipped kernels of sm_75 and later."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.debug.stops.spinning import spin_of
from gpudbg.debug.story_files import sessions_folder
from gpudbg.debug.values.barrier_states import barriers
from gpudbg.debug.values.lane_groups import LaneGroup, group_of, lane_groups
from tests.debug.modern import launched


def groups(session: DebugSession) -> tuple[LaneGroup, ...]:
    return lane_groups(session.warp().state)


def test_every_live_lane_is_in_one_group_and_waits_for_lanes_that_are_elsewhere() -> None:
    """Along a diverging kernel: masks are disjoint, and what is missing has not come."""
    session = launched("divergence", "sm_80")
    warp = session.warp().state
    seen: set[str] = set()
    for _ in range(150):
        session.step()
        found = groups(session)
        together = 0
        for group in found:
            assert not together & group.mask
            together |= group.mask
            assert not group.missing & group.mask
            assert group.missing & ~group.members == 0
            assert group.waits_at == (f"B{group.number}" if group.state == "converging" else "")
        assert together == warp.valid & ~warp.exited
        assert [g.state for g in found].count("running") == 1
        seen |= {g.state for g in found}
    assert seen == {"running", "ready", "converging"}


def test_a_step_is_one_of_the_focused_lanes_group() -> None:
    """Siblings run in between; the lane's own pc moves from one instruction to its next."""
    session = launched("divergence", "sm_80")
    path: dict[int, list[int]] = {}
    for lane in (0, 9):
        session.restart()
        session.command(f"lane {lane}")
        warp = session.warp().state
        path[lane] = []
        for _ in range(120):
            before = group_of(warp, lane)
            assert before is not None
            path[lane].append(before.pc)
            stop = session.step()
            after = group_of(warp, lane)
            if after is None:
                break
            assert (stop.lane, stop.pc) == (lane, session.symbols.offset(after.pc))
            assert after.pc != before.pc
    assert path[0] != path[9]


def test_info_warps_has_a_line_for_each_group() -> None:
    session = launched("divergence", "sm_80")
    session.step(30)
    output = session.command("info warps")
    row: dict[str, Any] = output.data[0]
    assert row["active"] == row["groups"][0]["lanes"]
    assert {g["state"] for g in row["groups"]} >= {"running", "converging"}
    waiting = next(g for g in row["groups"] if g["state"] == "converging")
    assert waiting["waits_at"] == "B0"
    assert waiting["members"] == row["valid"]
    lines = output.text.split("\n")
    assert sum("waiting at B0 for lanes" in line for line in lines) == 1
    assert sum(line.startswith("*") for line in lines) == 2, "the warp, and the focused group"
    lanes = session.command("info lanes").data
    assert len({lane["pc"] for lane in lanes}) == len(row["groups"])
    threads = session.command("info threads").data
    assert all(group["pc"] is not None for group in threads)


def test_lanes_that_wait_are_shown_where_they_go_on() -> None:
    """The focus on a lane that waits: its group's pc, lanes and what it waits for."""
    session = launched("divergence", "sm_80")
    session.step(30)
    waiting = next(g for g in groups(session) if g.state == "converging")
    lane = (waiting.mask & -waiting.mask).bit_length() - 1
    session.command(f"lane {lane}")
    shot = session.snapshot()
    assert shot.detail is not None
    row = shot.detail.row
    assert (row.pc, row.active) == (waiting.pc, waiting.mask)
    assert "waiting at B0 for lanes" in row.why
    kinds = {entry.kind for entry in shot.detail.stack}
    assert "RUNNING" in kinds
    assert session.command("print/x $pc").text.endswith(f"0x{row.offset:x}")
    stop = session.step()
    assert stop.lane == lane, "others run until it is this group's turn"
    assert stop.pc != row.offset


def test_older_warps_have_no_groups() -> None:
    session = launched("divergence", "sm_50")
    session.step(40)
    assert groups(session) == ()
    assert session.command("info warps").data[0]["groups"] == []


def test_a_spin_lock_that_makes_progress_is_no_hang() -> None:
    """While others yield, a lane at its BSYNC is nearer to going on without them each time."""
    session = gpudbg.open(str(sessions_folder() / "spin_lock_ends" / "spin_lock_ends.cubin"))
    session.run(max_instructions=40)
    while not session.finished:
        for warp in session.grid.warps():
            spin = spin_of(session, warp)
            assert spin is None or not spin.repeats
        session.run(max_instructions=37)
    assert session.buffer("counter").tolist() == [32]


DEAD = """extern "C" __global__ void dead(int *out) {
    int i = threadIdx.x;
    if (i < 7) { out[i] = 1; __syncwarp(0xff); out[i] = 2; }
    else { out[i] = 3; __syncwarp(0xffffff81); out[i] = 4; }
    out[i] += 1;
}"""


def test_a_deadlock_says_which_lanes_wait_for_which() -> None:
    """Lanes 0 to 6 wait for lane 7, which waits with others for lane 0."""
    program = gpudbg.compile(DEAD, arch="sm_80")
    stop = program.launch("dead", grid=1, block=32, args=[np.zeros(32, np.int32)]).run()
    assert stop.kind == "deadlock"
    text = "\n".join(stop.detail)
    assert "lanes 0-6 at dead+0x" in text
    assert "waiting in WARPSYNC for lane 7" in text
    assert "lanes 7-31 at dead+0x" in text
    assert "waiting in WARPSYNC for lane 0" in text


def test_barriers_count_threads_of_parts_of_a_warp() -> None:
    """A barrier that some lanes of a warp have come to, and who has not."""
    source = """extern "C" __global__ void k(int *out) {
        if (threadIdx.x < 40) { asm volatile("bar.sync 1, 64;"); out[threadIdx.x] = 2; }
    }"""
    program = gpudbg.compile(source, arch="sm_80")
    session = program.launch("k", grid=1, block=64, args=[np.zeros(64, np.int32)])
    assert session.run().kind == "deadlock"
    state = barriers(session)[1]
    assert (state.arrived, state.expected, state.gone_on, state.there) == (40, 64, 0, (0, 1))
    assert len(session.command("info barriers").data) == 2
