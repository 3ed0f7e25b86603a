"""The parts of the API that a script meets first: opening, traces, buffers, parts of a session."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.trace import log as trace_log
from gpudbg.errors import CommandError, LoadError, UsageError

ROOT = Path(__file__).resolve().parents[2]
STEPS = ROOT / "sessions/first_steps/first_steps.cubin"
BARRIER = ROOT / "sessions/divergent_barrier/divergent_barrier.cubin"


@pytest.fixture
def session() -> gpudbg.DebugSession:
    return gpudbg.open(STEPS)


# ---- opening ---------------------------------------------------------------------------
def test_open_takes_the_table_beside_the_program_and_what_is_said_wins(tmp_path: Path) -> None:
    session = gpudbg.open(STEPS, grid=2, block=(32, 1), args=["in", "out", "i32:64"], num_sms=1)
    assert (session.grid.grid, session.grid.block) == ((2, 1, 1), (32, 1, 1))
    assert len(session.grid.sms) == 1
    assert session.run().kind == "exited"
    table = tmp_path / "other.toml"
    table.write_text(STEPS.with_suffix(".toml").read_text().replace("grid = 4", "grid = 1"))
    assert gpudbg.open(STEPS, launch=table).grid.grid == (1, 1, 1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"kernel": "nothing"}, UsageError, "no kernel 'nothing'"),
        ({"args": ["nonsense"]}, UsageError, "nonsense"),
        ({"launch": "nowhere.toml"}, LoadError, "nowhere.toml"),
        ({"engine": "warp"}, UsageError, "engine"),
    ],
)
def test_open_refuses(options: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        gpudbg.open(STEPS, **options)  # type: ignore[arg-type]


def test_the_same_seed_is_the_same_run() -> None:
    runs = []
    for _ in range(2):
        session = gpudbg.open(STEPS, seed=5)
        with session.trace("access") as log:
            session.run()
        runs.append(log)
    assert runs[0] == runs[1]


# ---- traces ----------------------------------------------------------------------------
def test_a_trace_is_plain_data_of_what_was_asked_for(session: gpudbg.DebugSession) -> None:
    with session.trace("access", "barrier", block=(2, 0, 0)) as log:
        session.run()
    assert {entry.event for entry in log} == {"access", "barrier"}
    assert {entry.block for entry in log} == {(2, 0, 0)}
    loads = [e for e in log if (e.kind, e.space) == ("load", "global")]
    loads.sort(key=lambda entry: entry.index)
    assert [len(e.lanes) for e in loads] == [32, 32]
    first = session.launch.arguments[0].value + 4 * 128
    assert loads[0].addresses == tuple(first + 4 * i for i in range(32))
    assert loads[0].at(first + 7) == ((1, 0, 0),)
    assert loads[0].at(first + 4 * 32) == ()
    assert loads[0].line is not None
    assert loads[0].line.number == 11
    with pytest.raises(dataclasses.FrozenInstanceError):
        loads[0].sm = 3  # type: ignore[misc]


def test_a_trace_makes_entries_when_they_are_asked_for(
    session: gpudbg.DebugSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    kind = trace_log.TraceEntry

    def counted(**given: Any) -> trace_log.TraceEntry:
        made.append(1)
        return kind(**given)

    monkeypatch.setattr(trace_log, "TraceEntry", counted)
    with session.trace("access", "barrier", "warp_end") as log:
        session.run()
    assert len(log) > 90
    assert not made, "the machine ran, and nobody asked"
    assert log[-1] == log[len(log) - 1] == list(log)[-1]
    assert [e.offset for e in log[3:6]] == [log[n].offset for n in (3, 4, 5)]
    with pytest.raises(IndexError):
        log[len(log)]


def test_a_trace_as_arrays_says_what_its_entries_say(session: gpudbg.DebugSession) -> None:
    with session.trace("access", "barrier", "fault") as log:
        session.run()
    table = log.arrays()
    assert {len(column) for column in table.values()} == {len(log)}
    for n, entry in enumerate(log):
        assert tuple(table["block"][n]) == entry.block
        names = ("event", "kind", "space", "size", "offset", "sm", "warp", "index")
        assert [table[name][n] for name in names] == [getattr(entry, name) for name in names]
        lanes = [k for k in range(32) if table["lanes"][n] >> k & 1]
        assert tuple(lanes) == entry.lanes
        if entry.event == "access":
            assert tuple(table["addresses"][n][lanes].tolist()) == entry.addresses
    log.clear()
    assert len(log) == 0
    assert log == []
    assert log.arrays()["addresses"].shape == (0, 32)


def test_a_trace_ends_with_its_block(session: gpudbg.DebugSession) -> None:
    with session.trace() as log:
        session.step(3)
    assert [entry.offset for entry in log] == [0x8, 0x10, 0x18]
    session.step(3)
    assert len(log) == 3


def test_a_trace_of_a_place_sees_guards(session: gpudbg.DebugSession) -> None:
    with session.trace("instruction", at="block_max+0x168") as log:
        session.run()
    assert {entry.offset for entry in log} == {0x168}
    active = {len(entry.lanes) for entry in log}
    assert min(active) < 32, "the loop goes on for some lanes only"


def test_faults_and_ends_are_traced() -> None:
    session = gpudbg.open(ROOT / "sessions/out_of_bounds/out_of_bounds.cubin")
    with session.trace("fault", "warp_end") as log:
        session.run()
    (fault,) = [entry for entry in log if entry.event == "fault"]
    assert (fault.detail, fault.threads) == ("MMU_FAULT", ((57, 0, 0),))
    assert "MMU_FAULT" in str(fault)


def test_a_trace_refuses_what_is_not_there(session: gpudbg.DebugSession) -> None:
    with pytest.raises(UsageError, match="no event 'breath'"), session.trace("breath"):
        pass
    with pytest.raises(CommandError), session.trace(at="nowhere"):
        pass


# ---- buffers and callbacks -------------------------------------------------------------
def test_buffers_by_name_and_position(session: gpudbg.DebugSession) -> None:
    session.set_buffer("in", np.zeros(256))
    session.set_buffer(1, [7, 7, 7, 7])
    assert not session.buffer(0).any()
    assert session.buffer("out").tolist() == [7] * 4
    session.run()
    assert session.buffer("out").tolist() == [0] * 4
    for wrong in ("nothing", 9, 2):
        with pytest.raises(UsageError):
            session.set_buffer(wrong, [1])
    with pytest.raises(UsageError, match="12 bytes do not fill 16"):
        session.set_buffer("out", [1, 2, 3])


def test_events_of_a_kind_that_does_not_exist(session: gpudbg.DebugSession) -> None:
    with pytest.raises(UsageError, match="no kind of stop is called 'lunch'"):
        session.events("lunch")


def test_a_session_and_subscriptions_are_context_managers() -> None:
    with gpudbg.open(BARRIER) as session:
        seen: list[int] = []
        with session.on("barrier", lambda warp, arrival, released: seen.append(warp.slot)):
            session.run()
        assert sorted(set(seen)) == [0, 1, 2]


SESSION_NAMES = """
allocations bookmark bookmarks branch branches break_at breakpoint breakpoints buffer check close
closed
command compare_branch cont delete_branch evaluate
events execute faulted finish finished focus focus_on fragments goto goto_place install_trap_handler
instruction interrupt jump kernel kill launch launched leave_function memory name_branch note on
on_hit output
program restart reverse_cont reverse_finish reverse_next reverse_step reverse_step_line
reverse_until run save_recording set_buffer set_focus settings snapshot sreg state_hash step
step_line stop stops subscribe tick trace unsubscribe until warp warps watch_at who_read who_wrote
why
""".split()


def test_a_session_lists_what_scripts_use_and_nothing_else() -> None:
    with gpudbg.open(STEPS) as session:
        assert dir(session) == SESSION_NAMES
