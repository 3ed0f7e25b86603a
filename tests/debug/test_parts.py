"""The parts of a session by themselves: on an inferior, without a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.breakpoints.events import Events
from gpudbg.debug.breakpoints.setting import Breakpoints
from gpudbg.debug.breakpoints.table import BreakpointTable
from gpudbg.debug.checks import Checks
from gpudbg.debug.focus.focus import Focus
from gpudbg.debug.inferior import Inferior
from gpudbg.debug.inspection import SessionMemory
from gpudbg.debug.script.scope import Scope
from gpudbg.debug.session import DebugSession
from gpudbg.debug.stops.stop import BreakpointStop, Stop
from gpudbg.errors import CommandError, UsageError
from gpudbg.formats.launch import python_launch
from gpudbg.launch.prepare import prepare

STEPS = Path(__file__).resolve().parents[2] / "sessions/first_steps/first_steps.cubin"
VALUES = np.arange(100, 228, dtype=np.int32)


@pytest.fixture
def inferior() -> Iterator[Inferior]:
    program = gpudbg.load(str(STEPS))
    args = [program.device.buffer(VALUES), program.device.buffer(np.zeros(2, np.int32)), 128]
    launch = prepare(program, python_launch(None, 2, 64, args, 0))
    made = Inferior(launch, Scope())
    made.focus = Focus(0, 0, 3)
    yield made
    launch.release()


def test_a_session_inherits_from_its_inferior_alone() -> None:
    assert DebugSession.__mro__[1:] == (Inferior, object)


def test_parts_that_are_asked_for_keep_their_session() -> None:
    assert gpudbg.open(STEPS).memory("in", 4).array(np.int32).tolist() == [250]
    assert [stop.kind for stop in gpudbg.open(STEPS).events()] == ["exited"]


def test_a_pending_breakpoint_keeps_its_callback() -> None:
    with gpudbg.open(STEPS) as session:
        seen: list[Stop] = []

        def keep(stop: Stop) -> bool:
            seen.append(stop)
            return False

        point = session.break_at(
            "later.cu:3", pending=True, callback=lambda session, stop: keep(stop)
        )
        point.location = "block_max+0x28"
        session.breakpoints.resolve_pending()
        assert session.cont().kind == "exited"
        assert len(seen) == 8


def test_what_is_internal_is_there() -> None:
    with gpudbg.open(STEPS) as session:
        assert {name for name in session._INTERNAL if not hasattr(session, name)} == set()


def test_memory(inferior: Inferior) -> None:
    memory = SessionMemory(inferior)
    assert memory("in", 16).array(np.int32).tolist() == [100, 101, 102, 103]
    address = memory("in").address
    memory.write("global", address, b"\7\0\0\0")
    assert memory.read("global", address, 4) == b"\7\0\0\0"
    assert inferior.written == [(address, 4)]
    assert memory.buffer(0)[:2].tolist() == [7, 101]
    with pytest.raises(UsageError, match="no argument 9"):
        memory.buffer(9)


def test_breakpoints_say_who_meets_them(inferior: Inferior) -> None:
    points = Breakpoints(inferior)
    point = points.set_at(None, condition="threadIdx.x == 37 || threadIdx.x == 40")
    first, second = list(inferior.grid.warps())[:2]
    assert (points.would_stop(first), points.would_stop(second)) == (False, True)
    assert point.hits == 0, "looking does not count"
    assert points.accepts(second)
    assert (points.met.hits, points.met.lane, points.met.lanes) == ([1], 5, 1 << 5 | 1 << 8)
    assert point.hits == 1
    with pytest.raises(CommandError):
        points.set_at("nowhere")


def test_breakpoints_print(inferior: Inferior) -> None:
    points = Breakpoints(inferior)
    points.set_at(None).dprintf = '"thread %d\\n", threadIdx.x'
    warp = next(iter(inferior.grid.warps()))
    assert not points.accepts(warp)
    assert (points.take_printed(), points.take_printed()) == (["thread 0"], [])


def test_breakpoints_of_another_table_keep_their_numbers(inferior: Inferior) -> None:
    before = BreakpointTable()
    before.add("block_max+0x10", ())
    points = Breakpoints(inferior)
    points.adopt(before)
    assert [row.number for row in points.resolve_pending()] == [1]
    assert points.set_at("block_max+0x28").number == 2
    assert points.get(1).places == ("block_max+0x10",)


def test_events_go_on_where_callbacks_say_so(inferior: Inferior) -> None:
    points = Breakpoints(inferior)
    number = points.set_at("block_max+0x28").number
    left = [BreakpointStop("", lane=n, breakpoints=(number,)) for n in range(4)]
    asked: list[int | None] = []

    def run(owner: Inferior, most: int | None) -> Stop:
        asked.append(most)
        return left.pop(0)

    events = Events(inferior, points, {}, run)
    events.on_hit(number, lambda owner, stop: owner is inferior and stop.lane == 2)
    assert events.cont().lane == 2
    assert asked == [None] * 3
    events.on_hit(number, None)
    assert next(events("breakpoint", max_instructions=5)).lane == 3
    assert asked[-1] == 5


def test_checks(inferior: Inferior) -> None:
    checks = Checks(inferior)
    check = checks.attach("hazards")
    assert checks.attach("hazards") is checks.get("hazards") is check
    assert check in inferior.grid.gpu.observers.members
    checks.renew()
    assert checks.get("hazards") is not check
    checks.detach("hazards")
    assert checks.get("hazards") is None
    assert not inferior.grid.gpu.observers.members


def test_parts_do_not_keep_the_inferior(inferior: Inferior) -> None:
    other = Inferior(inferior.launch, Scope())
    points = Breakpoints(other)
    del other
    with pytest.raises(UsageError, match="the session of this Breakpoints is gone"):
        points.set_at("block_max")
