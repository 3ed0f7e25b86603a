"""Watchpoints against the same run taken instruction by instruction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.debug.stops.stop import Stop
from gpudbg.errors import CommandError
from gpudbg.expr import evaluate, parse
from tests.launching import launch_block_max
from tests.mi.client import KERNELS
from tests.narrowing import there

Make = Callable[[], DebugSession]
MAXIMA = [2340, 4727, 5022, 4223]


def changes(session: DebugSession, expression: str) -> list[tuple[int, int]]:
    """(instructions so far, new value) at every change, by looking after each instruction."""
    out = []
    context = session.context()
    last = 0
    while not session.finished:
        session.run(max_instructions=1)
        now = int(evaluate(parse(expression), context).values[0])
        if now != last:
            assert session.stop is not None
            out.append((session.stop.instructions, now))
            last = now
    return out


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("expression", ["*(@shared int*)4", "arg1[0]", "$R2", "$P0"])
def test_a_watchpoint_stops_at_every_change(make_session: Make, expression: str) -> None:
    session = make_session()
    session.watch_at(expression)
    seen = []
    for stop in session.events("breakpoint"):
        (trigger,) = stop.watch
        assert stop.breakpoints == (1,)
        seen.append((stop.instructions, trigger.new))
    looked = changes(make_session(), expression)
    assert len(looked) > 0
    words = {"false": 0, "true": 1}
    assert [(n, words[v] if v in words else int(v)) for n, v in seen] == looked
    assert session.buffer(1).tolist() == MAXIMA


def executed(session: DebugSession) -> list[tuple[int, str]]:
    """Offset and text of what lane 0 of the first warp executes."""
    with session.trace("instruction", block=(0, 0, 0)) as log:
        session.run()
    return [(e.offset, e.text) for e in log if e.index == 0 and 0 in e.lanes]


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ["step", "run"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rwatch $R2", r" [^,]+,.*\bR2\b|\[R2\b"),
        ("watch -store $R2", r"^(?!@)\S+ R2\b"),
        ("rwatch $P0", r"^@!?P0|,.*\bP0\b"),
        ("rwatch %tid.x", "SR_TID.X"),
        ("rwatch c[0x0][0x140]", r"c\[0x0\] ?\[0x140\]"),
        ("awatch c[0x0][0x144]", r"c\[0x0\] ?\[0x144\]"),
    ],
)
def test_instructions_that_touch_a_place(engine: str, line: str, words: str) -> None:
    ran = executed(launch_block_max())
    wanted = [offset for offset, text in ran if re.search(words, text)]
    session = launch_block_max(engine)
    session.command(line)
    stops = [stop for stop in session.events("breakpoint") if stop.block == (0, 0, 0)]
    met = [s.watch[0].pc for s in stops if s.thread == (0, 0, 0)]
    # A guard is read in lanes that it keeps from executing, too.
    unguarded = {offset for offset, text in ran if not text.startswith("@")}
    assert [pc for pc in met if pc in unguarded] == [pc for pc in wanted if pc in unguarded]
    assert not Counter(wanted) - Counter(met)
    assert wanted


def test_the_focus_goes_to_who_wrote(session: DebugSession) -> None:
    session.watch_at("arg1[2]")
    stop = session.cont()
    assert (stop.kind, stop.block, stop.thread) == ("breakpoint", (2, 0, 0), (0, 0, 0))
    assert stop.watch[0].new == str(MAXIMA[2])
    assert "STG" in session.command(f"x/i {stop.watch[0].pc}").text
    assert stop.detail[:3] == (
        "Hardware watchpoint 1: arg1[2]",
        "Old value = 0",
        f"New value = {MAXIMA[2]}",
    )


def test_reads_and_accesses(make_session: Make) -> None:
    session = make_session()
    session.command("rwatch arg0[70]")
    stop = session.cont()
    assert (stop.block, stop.thread) == ((1, 0, 0), (6, 0, 0))
    assert stop.watch[0].old == stop.watch[0].new == str(70 * 37)
    assert session.cont().kind == "exited"
    session = make_session()
    session.command("awatch *(@shared int*)0")
    kinds = [stop.watch[0].old == stop.watch[0].new for stop in session.events("breakpoint")]
    assert True in kinds
    assert False in kinds


def test_stepping_stops_at_a_watchpoint(session: DebugSession) -> None:
    session.watch_at("*(@shared int*)0")
    stop = session.step(1000)
    assert (stop.kind, stop.breakpoints) == ("breakpoint", (1,))
    session.command("delete 1")
    assert session.step(3).kind == "step"


def test_conditions_counts_and_callbacks(session: DebugSession) -> None:
    seen: list[str] = []

    def note(_: object, stop: Stop) -> bool:
        seen.append(stop.watch[0].new)
        return False

    session.watch_at("arg1[0]@4", callback=note)
    session.watch_at("arg1[1]", condition="blockIdx.x == 7")
    assert session.cont().kind == "exited"
    assert len(seen) == 4
    rows = session.execute("info breakpoints")
    assert [(r["watch"], r["hits"]) for r in rows] == [("write", 4), ("write", 0)]


def test_a_run_without_watchpoints_costs_nothing(session: DebugSession) -> None:
    session.watch_at("arg1[0]")
    session.step()
    assert session.watchpoints in session.grid.gpu.observers.members
    session.command("disable 1")
    session.step()
    assert session.watchpoints not in session.grid.gpu.observers.members


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("watch 3 + 4", "a value, not a place"),
        ("watch arg1[100000]", "cannot watch arg1[100000]"),
        ("watch c[0][0x140]", "no instruction writes this constant bank"),
        ("watch %tid.x", "SR_TID.X stays as it is while a warp runs"),
        ("watch %clock", "each one changes it"),
        ("watch -store %tid.x", "no instruction writes SR_TID.X"),
        ("watch", "an expression is missing"),
        ("watch nosuch", "nosuch"),
    ],
)
def test_what_cannot_be_watched(session: DebugSession, line: str, words: str) -> None:
    with pytest.raises(CommandError, match=re.escape(words)):
        session.command(line)


@pytest.mark.parametrize(
    ("focus", "command"),
    [
        (0, "finish"),
        *((f, c) for f in (0, 2, 3) for c in ("until stores.cu:16", "next 9", "stepi 400 cta")),
    ],
)
def test_who_touched_a_place_while_the_block_runs_along(command: str, focus: str) -> None:
    with gpudbg.open(KERNELS / "stores.cubin") as session:
        session.break_at("put", condition="threadIdx.x == 0")
        session.cont()
        session.watch_at("place")
        session.set_focus(f"warp {focus}")
        for _ in range(3):
            session.command(command)
            if there(session.stop).watch:
                break
        (seen,) = there(session.stop).watch
        code = there(session.symbols.instruction(session.symbols.pc(seen.pc))).text
        assert (seen.new, "STG" in code) == (str(100 + seen.warp), True)
        assert there(session.stop).warp == seen.warp


def test_a_register_of_another_warp_is_watched_in_line_steps() -> None:
    with gpudbg.open(KERNELS / "stores.cubin") as session:
        session.break_at("put", condition="threadIdx.x == 0")
        session.cont()
        session.set_focus("warp 2")
        session.watch_at("$R5")
        session.set_focus("warp 0")
        stop = session.finish()
        assert stop.watch
        assert (stop.watch[0].warp, stop.warp) == (2, 2)
        code = session.symbols.instruction(session.symbols.pc(stop.watch[0].pc))
        assert "R5" in there(code).text
