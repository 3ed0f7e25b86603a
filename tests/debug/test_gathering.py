"""`set gather on`: one stop for the warps that reach a breakpoint, and nothing lost on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from tests.mi.client import KERNELS, Client, console_text

MANY = KERNELS / "many.cubin"
MIXED = KERNELS / "mixed.cubin"
BLOCKS, WARPS = 64, 128


def session_of(path: str | Path, engine: str = "step", **options: Any) -> DebugSession:
    session = gpudbg.open(path, engine=engine, **options)
    session.settings.set("gather", "on")
    return session


@pytest.fixture
def many() -> Iterator[DebugSession]:
    with session_of(MANY) as session:
        yield session


@pytest.mark.full(instead="test_one_stop_for_each_wave_of_resident_warps")
def test_python_has_a_stop_for_each_warp_unless_asked() -> None:
    with gpudbg.open(MANY) as session:
        session.break_at("many.cu:11")
        stops = list(session.events("breakpoint"))
    assert len(stops) == WARPS
    assert {(s.arrived_warps, s.arrived_threads) for s in stops} == {(1, 32)}


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ["step", "run"])
def test_one_stop_for_each_wave_of_resident_warps(engine: str) -> None:
    with session_of(MANY, engine) as session:
        point = session.break_at("many.cu:11")
        resident = len(list(session.warps()))
        stops = list(session.events("breakpoint"))
        assert point.hits == WARPS
        assert sum(s.arrived_warps for s in stops) == WARPS
        assert sum(s.arrived_threads for s in stops) == 32 * WARPS
        assert len(stops) == -(-WARPS // resident) < 10
        assert stops[0].message.endswith(f"; {resident} warps, {32 * resident:,} threads are there")
        result = session.buffer("out").tolist()
    with gpudbg.open(MANY) as plain:
        plain.run()
        assert plain.buffer("out").tolist() == result


@pytest.mark.full(instead="test_one_stop_for_each_wave_of_resident_warps")
def test_both_engines_gather_alike() -> None:
    seen = []
    for engine in ("step", "run"):
        with session_of(MANY, engine) as session:
            session.break_at("many.cu:8", condition="blockIdx.x % 3 == 1", ignore=5)
            session.break_at("many.cu:11")
            stops = [str(s) for s in session.events()]
            hits = [b.hits for b in session.breakpoints]
            seen.append((stops, hits, session.grid.total))
    assert seen[0] == seen[1]
    assert len(seen[0][0]) > 2


def test_conditions_and_ignore_counts_decide_what_counts(many: DebugSession) -> None:
    point = many.break_at("many.cu:11", condition="blockIdx.x == 7 && threadIdx.x % 2", ignore=1)
    stop = many.cont()
    assert (stop.arrived_warps, stop.arrived_threads) == (1, 16)
    assert (stop.block, point.hits, point.ignore) == ((7, 0, 0), 2, 0)
    assert many.cont().kind == "exited"


def test_a_temporary_breakpoint_stops_once_for_all(many: DebugSession) -> None:
    many.break_at("many.cu:11", temporary=True)
    assert many.cont().arrived_warps > 1
    assert not list(many.breakpoints)
    assert many.cont().kind == "exited"


@pytest.mark.full(instead="test_one_stop_for_each_wave_of_resident_warps")
def test_the_focus_stays_where_it_was_when_that_warp_arrives(many: DebugSession) -> None:
    many.set_focus("block 3 thread (37,0,0)")
    many.break_at("many.cu:11")
    stop = many.cont()
    assert (stop.block, stop.thread) == ((3, 0, 0), (37, 0, 0))
    many.restart()
    many.set_focus("block 3 thread (37,0,0)")
    many.breakpoints.set_condition(1, "threadIdx.x == 2")
    stop = many.cont()
    assert (stop.block, stop.thread) == ((0, 0, 0), (2, 0, 0))


def test_other_breakpoints_are_told_by_the_next_continue(many: DebugSession) -> None:
    # Line 8 stops the second warps only; the first ones reach line 11 past it.
    many.break_at("many.cu:8", condition="threadIdx.x >= 32")
    many.break_at("many.cu:11")
    stops = list(many.events("breakpoint"))
    hits = [b.hits for b in many.breakpoints]
    assert hits == [BLOCKS, WARPS]
    total = {1: 0, 2: 0}
    for stop in stops:
        assert len(stop.breakpoints) == 1
        total[stop.breakpoints[0]] += stop.arrived_warps
    assert total == {1: BLOCKS, 2: WARPS}
    assert len(stops) <= 4


def mixed(line: int, engine: str) -> DebugSession:
    session = session_of(MIXED, engine)
    session.break_at(f"mixed.cu:{line}", condition="threadIdx.x < 32")
    return session


@pytest.mark.parametrize("engine", ["step", "run"])
def test_an_error_on_the_way_is_the_next_stop(engine: str) -> None:
    with mixed(7, engine) as session:
        stop = session.cont()
        assert (stop.kind, stop.breakpoints, stop.warp) == ("breakpoint", (1,), 0)
        assert not session.faulted
        assert any("MMU_FAULT" in text for text in stop.detail)
        stop = session.cont()
        assert [(e.name, e.warp) for e in stop.errors] == [("MMU_FAULT", 3)]
        assert session.faulted


@pytest.mark.parametrize("command", ["stepi", "next", "finish", "until", "continue"])
def test_it_comes_before_any_other_movement(command: str) -> None:
    with mixed(7, "step") as session:
        session.cont()
        try:
            session.command(command)
        except gpudbg.GpudbgError:
            assert command == "finish"
            return
        assert session.stop is not None
        assert session.stop.errors[0].name == "MMU_FAULT"


def test_a_watchpoint_on_the_way_is_the_next_stop(many: DebugSession) -> None:
    many.break_at("many.cu:8", condition="blockIdx.x == 0")
    many.watch_at("out[64]")
    assert many.cont().breakpoints == (1,)
    stop = many.cont()
    assert (stop.breakpoints, stop.watch[0].expression) == ((2,), "out[64]")
    assert stop.block == (1, 0, 0)


def test_loops_that_never_end_are_left_and_barriers_wait() -> None:
    with session_of(MIXED) as session:
        session.settings.set("gather-limit", "2000")
        session.break_at("mixed.cu:17", condition="threadIdx.x / 32 == 5")
        session.buffer("out")
        warps = list(session.warps())
        before = session.grid.total
        stop = session.cont()
        assert stop.kind in ("breakpoint", "warp_error")
        assert session.grid.total - before <= 2000 * len(warps) + 10_000


def test_a_restart_forgets_what_was_left() -> None:
    with mixed(7, "step") as session:
        session.cont()
        session.restart()
        assert not session.runner.gathering.backlog.events
        assert session.cont().breakpoints == (1,)


def test_one_f5_under_an_ide() -> None:
    with Client("-q", "-i=mi2", str(MANY)) as client:
        client.ok("-break-insert many.cu:11")
        begin = len(client.records)
        stop = client.go("-exec-run")
        assert (stop["arrived-warps"], stop["arrived-threads"]) == ("128", "4096")
        assert "[128 warps, 4,096 threads are there]" in console_text(client.records[begin:])
        row = client.ok("-break-info 1")["BreakpointTable"]["body"][0]
        assert row["times"] == "128"
        assert client.go("-exec-continue") == {"reason": "exited-normally"}
        client.ok("-gdb-set gather off")
        client.go("-exec-run")
        assert client.go("-exec-continue")["reason"] == "breakpoint-hit"
