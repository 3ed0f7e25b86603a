"""Frozen records that frontends read agree with the machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gpudbg
from gpudbg.debug.launched import engine_trouble, launch_shape, run_counts
from gpudbg.debug.progress import SessionMeter
from gpudbg.debug.session import DebugSession
from gpudbg.debug.values import barrier_states as barriers
from gpudbg.debug.values import spaces
from gpudbg.debug.values.changes import ChangeMark
from gpudbg.debug.values.trap_words import trap_state

SESSIONS = Path(__file__).resolve().parents[2] / "sessions"


def test_shape_and_counts(session: DebugSession) -> None:
    shape = launch_shape(session)
    config = session.grid.config
    assert (shape.grid, shape.block) == ((4, 1, 1), (64, 1, 1))
    assert (shape.warps, shape.blocks) == (2, 4)
    assert shape.resident_warps == config.warps * config.ctas_per_sm
    assert (shape.shared_bytes, shape.registers) == (config.shared_bytes, config.registers)
    assert (shape.sms, shape.arch) == (len(session.grid.sms), session.grid.gpu.arch)
    assert run_counts(session).total == 0
    session.run()
    counts = run_counts(session)
    assert (counts.done, counts.waiting) == (4, 0)
    assert counts.total == session.grid.total > 0
    assert engine_trouble(session) == ""


def test_a_session_that_is_not_launched_has_a_shape() -> None:
    from gpudbg.api.opening import launch_parser, open_session

    path = SESSIONS.parent / "tests/data/kernels/cubin/sm_50/saxpy.cubin"
    session = open_session(path, launch_parser().parse_args([]), may_wait=True)
    assert launch_shape(session).shared_bytes == 0
    assert run_counts(session).total == 0


def test_meter_follows_a_restart(session: DebugSession) -> None:
    meter = SessionMeter(session)
    session.run()
    first = meter.now()
    assert (first.total, first.done) == (session.grid.total, 4)
    session.restart()
    assert (meter.now().total, meter.now().rate) == (0, 0)


def test_spaces(session: DebugSession) -> None:
    rows = spaces.allocations(session)
    assert {(a.base, a.size) for a in rows} == {(a.base, a.size) for a in session.allocations()}
    first = rows[0]
    assert spaces.mapped(session, first.base) == spaces.mapped(session, first.base + 1) == first
    assert spaces.mapped(session, 0) is None
    warp = session.focused()
    assert spaces.shared_extent(session).size == warp.cta.shared.size
    local = spaces.local_extent(session)
    assert (local.start, local.size) == (warp.local.start, warp.local.high)
    assert 0 in spaces.constant_extents(session)


def test_a_mark_counts_what_a_run_changed(session: DebugSession) -> None:
    read, written = (a.buffer for a in session.launch.arguments[:2])
    mark = ChangeMark(session)
    assert not mark.touched(written)
    assert mark.changed(written) == 0
    session.run()
    assert mark.touched(written)
    assert not mark.touched(read)
    assert mark.changed(written) == int(np.count_nonzero(written.array()))
    assert not ChangeMark(session).touched(written)


def test_barriers_of_a_deadlock() -> None:
    session = gpudbg.open(SESSIONS / "barrier_count/barrier_count.cubin")
    stop = session.run()
    assert stop.kind == "deadlock"
    assert stop.sm is not None
    assert stop.warp is not None
    state = barriers.waited_for(session, stop.sm, stop.warp)
    assert state is not None
    slot = session.focused().cta.barriers.slots[state.number]
    assert (state.arrived, state.expected) == (slot.arrived, slot.count)
    assert state.counted
    assert stop.warp in state.there
    block = {w.slot for w in session.focused().cta.live}
    assert {*state.there, *(w.slot for w in state.absent)} == block
    assert barriers.barriers(session)[state.number] == state


def test_traps_in_the_handler() -> None:
    session = gpudbg.open(SESSIONS / "trap_handler/scatter.cubin")
    session.cont()
    state, warp = trap_state(session), session.focused()
    saved = session.grid.traps.state(warp)
    assert state.warp is not None
    assert state.warp == state.warps[0]
    assert (state.warp.inside, state.warp.cause) == (True, "WARP_ERROR")
    assert (state.warp.pc, state.warp.active) == (saved["saved_pc"], saved["saved_active"])
    assert state.warp.cause_words == saved["cause"]
    placed = session.grid.traps.handler
    assert placed is not None
    assert (state.handler, state.entry) == (placed.handler.name, placed.entry)
