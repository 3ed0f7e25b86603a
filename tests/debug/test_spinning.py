"""Warps that go round: what is said, when it is not said, and that looking changes nothing."""

from __future__ import annotations

import pytest

from gpudbg.debug.stops.spinning import TRIED, hangs, known_spin, spin_lines, spin_of, spins
from gpudbg.frontends.tui.collect import Collector
from gpudbg.frontends.tui.view import ViewOptions
from gpudbg.sm.schedule.step import STAY
from tests import kernel_cases as kc
from tests.engine.machines import difference, grid_state, launch
from tests.narrowing import there
from tests.tui.helpers import ROOT, open_kernel

SPIN_LOCK = ROOT / "sessions" / "spin_lock" / "spin_lock.cubin"


def test_a_lock_that_its_own_warp_holds_is_a_hang() -> None:
    session = open_kernel(SPIN_LOCK)
    assert not spins(session), "nothing has run yet"
    stop = session.run_to_stop(max_instructions=2000)
    assert stop.kind == "limit"
    (spin,) = spins(session).values()
    words = f"repeats {spin.low:04x}..{spin.high:04x} ({spin.count} instructions) "
    assert spin.words == words + "until another thread changes lock[0] (now 1)"
    assert spin.low <= there(stop.pc) <= spin.high
    assert spin.tried < TRIED, "a loop that repeats is known after a few turns"
    assert hangs(session)
    assert [line.split()[0] for line in spin_lines(session)] == ["spins", "hang"]
    assert session.execute("info warps")[0]["why"] == spin.words
    view = Collector(session, ViewOptions()).take()
    assert (view.stop_title, view.stop_role) == ("Limit in a hang", "stop")
    assert view.warps[0].why == spin.words
    # One instruction on, it is another stop: nothing is said that was not looked for again.
    session.step()
    assert not spins(session)
    assert session.execute("info warps")[0]["why"] == ""
    assert there(spin_of(session, session.warp().state)).words == spin.words


def test_while_another_warp_can_go_on_it_is_no_hang() -> None:
    flags = "--grid 3 --block 64 --num-sms 1 --arg flag=i32[1]:zeros --arg out=i32[64]:zeros"
    session = open_kernel("fault_infinite_loop", flags.split())
    session.run_to_stop(max_instructions=40)
    assert known_spin(session, session.warp().state) is None, "nobody has asked"
    (spin,) = spins(session).values()
    assert "until another thread changes flag[0] (now 0)" in spin.words
    assert known_spin(session, session.warp().state) is spin
    assert not hangs(session)
    assert len(list(spin_lines(session))) == 1
    session.run_to_stop(max_instructions=4 * STAY)
    assert len(spins(session)) == 3
    assert hangs(session)
    first = next(spin_lines(session))
    assert "3 warps: repeat " in first
    # The lanes that the flag frees go on: it was the flag they waited for.
    session.evaluate("flag[0] = 1")
    assert session.run().kind == "exited"


@pytest.mark.full(instead="test_looking_changes_nothing_and_kernels_that_end_repeat_nothing")
def test_a_loop_that_counts_goes_round() -> None:
    session = launch(next(iter(kc.load("mandelbrot", "sm_50"))), "step")
    found = set()
    for _ in range(12):
        if session.run_to_stop(max_instructions=300).kind != "limit":
            break
        found |= {s.words.partition(" 0")[0] for s in spins(session).values()}
        assert all("write no memory" in s.words for s in spins(session).values())
        assert not hangs(session)
    assert found == {"goes round"}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "name", ["atomics_global", "atomics_shared", "histogram", "barriers", "recursion"]
)
def test_looking_changes_nothing_and_kernels_that_end_repeat_nothing(name: str) -> None:
    case = next(iter(kc.load(name, "sm_50")))
    plain, looked = (launch(case, "step") for _ in range(2))
    stops = 0
    for _ in range(40):
        one, two = (s.run_to_stop(max_instructions=97) for s in (plain, looked))
        assert one == two
        if one.kind != "limit":
            break
        stops += 1
        found = spins(looked).values()
        assert not any(s.repeats and s.inside for s in found), [s.words for s in found]
        assert not hangs(looked)
        assert difference(grid_state(plain.grid), grid_state(looked.grid)) == ""
    assert stops > 3
