"""`return`: from anywhere in a function the caller gets back what it had when it called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.bits import lanes_of
from gpudbg.debug.session import DebugSession
from gpudbg.debug.values.backtrace import call_depth, frames
from gpudbg.debug.values.lane_groups import group_of
from gpudbg.errors import CommandError
from gpudbg.sm.state import WarpState
from tests import variants

DATA = Path(__file__).parent / "data"
"""calls.cu through NVRTC: calls in divergent code, recursion, a function pointer, f64 division."""
POINTS = {
    "sm_52": (24, 33, 47, 66, 103, 151, 190, 215, 240, 270, 300, 333),
    "sm_80": (24, 33, 47, 66, 103, 151, 190, 215, 240, 270, 300, 333),
}
"""Instructions of the warp, or of lane 3's group, after which it returns."""


def launched(arch: str) -> DebugSession:
    program = gpudbg.load(DATA / f"calls.{arch}.cubin", engine="step", num_sms=1)
    session = program.launch(args=[np.zeros(32, "i4"), np.arange(8, dtype="i4"), 3])
    session.command("lane 3")
    return session


def place(warp: WarpState) -> tuple[int, int]:
    """(pc, lanes) of lane 3's group."""
    group = group_of(warp, 3)
    return (warp.pc, warp.active) if group is None else (group.pc, group.mask)


def walk(session: DebugSession, count: int) -> list[tuple[np.ndarray, int, int]]:
    """Execute so many instructions of lane 3; (registers, lanes, stack depth) behind its calls."""
    warp = session.warp().state
    calls: list[tuple[np.ndarray, int, int]] = []
    while count and warp.status != "exited":
        mine = bool(warp.active >> 3 & 1)
        before = call_depth(session, warp)
        assert session.grid.step_warp(warp).kind == "step"
        count -= mine
        now = call_depth(session, warp)
        del calls[now:]
        if mine and now > before:
            calls.append((warp.R.copy(), place(warp)[1], len(warp.stack)))
    return calls


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", POINTS)
def test_the_callers_registers_come_back(arch: str) -> None:
    returned = set()
    for count in variants.some(arch, POINTS[arch], 6):
        session = launched(arch)
        calls = walk(session, count)
        warp = session.warp().state
        depth = call_depth(session, warp)
        assert len(calls) == depth
        if not depth:
            continue
        pc = session.symbols.layout.first(place(warp)[0])
        facts = session.symbols.call_frames.facts(pc)
        assert facts is not None
        rows = frames(session)
        level = max(f.level for f in rows if f.physical == depth)
        session.frame_level = level
        session.leave_function()
        returned.add(session.symbols.function(pc))
        now, lanes = place(warp)
        assert now == rows[level + 1].pc
        registers, called, entries = calls[-1]
        if not warp.has_groups:
            assert (lanes, len(warp.stack)) == (called, entries - 1)
        for number in facts.touched & facts.kept:
            if number < len(registers):
                mine = list(lanes_of(lanes))
                assert np.array_equal(warp.R[number][mine], registers[number][mine]), number
        assert session.run(max_instructions=100_000).kind == "exited"
        session.close()
    assert {"leaf", "rec", "mid"} <= returned


@pytest.mark.parametrize("arch", POINTS)
def test_leaving_several_calls_at_once(arch: str) -> None:
    """`return` in an outer frame leaves those inside it, too; the rest of the launch is as ever."""
    session = launched(arch)
    session.break_at("leaf")
    session.command("set gather off")
    session.run_to_stop()
    session.step(3)
    assert [f.function for f in frames(session)] == ["leaf", "mid", "k"]
    session.command("up")
    answer = session.command("return")
    assert answer.lines[0].startswith("#0")
    assert "k" in answer.lines[0]
    assert [f.function for f in frames(session)] == ["k"]
    session.command("delete")
    assert session.run(max_instructions=100_000).kind == "exited"


@pytest.mark.parametrize(
    ("arch", "place"), [("sm_52", "PRET"), ("sm_52", "JMX"), ("sm_80", "CALL.ABS.NOINC")]
)
@pytest.mark.parametrize("command", ["return", "finish"])
def test_leaving_while_a_call_through_a_pointer_is_prepared(
    arch: str, place: str, command: str
) -> None:
    """Up to sm_62 the return address of such a call is there before its jump."""
    program = gpudbg.load(DATA.parents[1] / f"data/source/cubin/via.{arch}-G.cubin")
    session = program.launch("via", grid=1, block=32, args=[np.zeros(32, "i4")])
    session.break_at("apply")
    session.run_to_stop()
    session.command("delete")
    while f"  {place} " not in session.command("x/i $pc").text:
        session.step(1)
    assert [f.function for f in frames(session)] == ["apply", "via"]
    session.command(command)
    assert [f.function for f in frames(session)] == ["via"]
    assert session.run(max_instructions=100_000).kind == "exited"


def test_what_cannot_be_left_is_refused_by_name() -> None:
    session = launched("sm_52")
    with pytest.raises(CommandError, match="from the kernel itself"):
        session.command("return")
    session.break_at("leaf")
    session.run_to_stop()
    with pytest.raises(CommandError, match="which register a function's result is in"):
        session.command("return 5")
    session.command("delete")
    facts = session.symbols.call_frames.facts(session.warp().state.pc)
    assert facts is not None
    session.step(10)
    state = session.warp().state
    before = state.saved().tobytes()
    # A place that no path leads to, as in code that jumps through a table.
    here = session.symbols.layout.first(state.pc)
    facts.before[here] = {p: v for p, v in facts.before[here].items() if p != ("S", -8)}
    with pytest.raises(CommandError, match=r"from leaf\+0x[0-9a-f]+: R2 cannot be found"):
        session.leave_function()
    assert state.saved().tobytes() == before
