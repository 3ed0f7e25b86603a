"""Conditions that cannot be computed stop and say why; conditions that would assign are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpudbg.debug.session import DebugSession
from gpudbg.debug.stops.stop import Stop
from gpudbg.errors import CommandError

Make = Callable[[], DebugSession]
UNCOMPUTABLE = {
    "1/0": "division by zero",
    "1 % ($R255 * 2) == 1": "division by zero",
    "(1/0) == 3": "division by zero",
    "!(1/0)": "division by zero",
    "-(1/0)": "division by zero",
    "(long)(1/0)": "division by zero",
    "(1/0) << 2": "division by zero",
    "(1/0) ? 0 : 0": "division by zero",
    "0 || 1/0": "division by zero",
    "1 && 1/0": "division by zero",
    "(int*)16 + 1/0 == 0": "division by zero",
    "shared[999999] > 1": "outside shared memory",
    "shared[1/0]": "division by zero",
    "*(@global int*)0x10 > 1": "0x10",
    "c[0x0][0x7fffffff] == 1": "outside constant bank",
    "c[0x3f][0] == 1": "no constant bank",
    "1 << ($lane - 40)": "negative count",
}
"""Condition -> what the stop says of it."""


def told(stop: Stop, number: int, why: str) -> bool:
    start = f"error in testing the condition of breakpoint {number}, "
    return any(line.startswith(start) and why in line for line in stop.detail)


@pytest.mark.parametrize("condition", UNCOMPUTABLE)
def test_a_breakpoint_stops_and_says_so(make_session: Make, condition: str) -> None:
    session = make_session()
    session.break_at("block_max+0x168", condition=condition)
    stop = session.cont()
    assert stop.kind == "breakpoint"
    assert told(stop, 1, UNCOMPUTABLE[condition]), stop.detail


def test_only_the_lanes_that_run_count(session: DebugSession) -> None:
    """A lane for which it cannot be computed is named; lanes that skip the right side are not."""
    session.break_at("block_max+0x168", condition="1/($lane - 3) == 77")
    stop = session.cont()
    assert (stop.lane, stop.kind) == (3, "breakpoint")
    assert "in lane 3: division by zero" in stop.detail[0]
    session.breakpoints.set_condition(1, "$lane != 3 && 1/($lane - 3) == 1")
    stop = session.cont()
    assert (stop.lane, stop.detail) == (4, ())


def test_ignore_counts_do_not_hide_it(session: DebugSession) -> None:
    session.break_at("block_max+0x168", condition="1/0", ignore=100)
    assert told(session.cont(), 1, "division by zero")


def test_steps_and_until_stop_at_it(session: DebugSession) -> None:
    session.break_at("block_max+0x38", condition="shared[999999] == 0")
    assert told(session.step(20), 1, "outside shared memory")
    session.breakpoints.remove(1)
    session.break_at("block_max+0x168", condition="1/0")
    assert told(session.until("block_max+0x178"), 2, "division by zero")


def test_a_watchpoint_stops_and_says_so(session: DebugSession) -> None:
    session.command("watch out[0] if 1/0")
    stop = session.cont()
    assert stop.breakpoints == (1,)
    assert "error in testing the condition of watchpoint 1, 1/0," in " ".join(stop.detail)


def test_the_console_and_the_json_have_it(session: DebugSession) -> None:
    session.command("break block_max+0x168 if 1/0")
    shown = session.command("continue")
    assert "division by zero" in shown.text
    assert "division by zero" in " ".join(shown.data["detail"])


def test_a_display_says_so(session: DebugSession) -> None:
    assert "division by zero" in session.command("display 1/0").text


def test_a_filter_says_so(session: DebugSession) -> None:
    with pytest.raises(CommandError, match="division by zero"):
        list(session.warps_where("1/0"))


@pytest.mark.parametrize(
    "line",
    [
        "break block_max+0x168 if $R4 = 3",
        "tbreak block_max+0x168 if 1 && ($R4 = 3)",
        "condition 1 $R4 = 3",
        "watch out[0] if shared[$R4 = 3] == 1",
    ],
)
def test_assignments_are_refused(session: DebugSession, line: str) -> None:
    session.command("break block_max+0x168")
    before = session.warp().R[4].tolist()
    with pytest.raises(CommandError, match="compare with =="):
        session.command(line)
    assert session.warp().R[4].tolist() == before
    assert len(session.breakpoints) == 1
    assert session.breakpoints.get(1).condition is None


def test_a_condition_is_that_of_its_own_breakpoint(session: DebugSession) -> None:
    """Two breakpoints at one place: one's lanes are not the other's."""
    session.break_at("block_max+0x38", condition="$lane == 9")
    session.break_at("block_max+0x38")
    stop = session.cont()
    assert (stop.breakpoints, stop.lane) == ((1, 2), 0)
