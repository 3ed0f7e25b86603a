"""Going back: every state of a launch again, forward in the past, branches, gdb's commands."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.history import pace, replay
from gpudbg.debug.history.history import NO_MORE
from gpudbg.sm import record as rec
from gpudbg.sm import state_hash
from gpudbg.sm.grid import Grid
from gpudbg.sm.schedule.plan import SchedulePlan
from tests import kernel_cases as kc
from tests.debug.history_walks import modern, of_case, of_story, walk
from tests.engine import machines

FIRST = str(Path("sessions/first_steps/first_steps.cubin"))
FAULTY = str(Path("sessions/out_of_bounds/out_of_bounds.cubin"))
PRINTS = """extern "C" __global__ void k(int *x)
{ printf("%d\\n", threadIdx.x); __syncthreads(); x[threadIdx.x] = 1; printf("end\\n"); }"""
WALKED = (
    "warp_ops-base-sm_62",
    "sregs-ids-sm_60",
    "matmul_tiled-n40-sm_61",
    "int_arith-special-sm_61",
)
CASES = {case.id: case for case in kc.cases() if case.id in WALKED}


@pytest.fixture(params=["step", "run"])
def session(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A session of a small program on each engine."""
    with gpudbg.open(FIRST, engine=request.param) as opened:
        yield opened


@pytest.fixture
def checkpoints_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs have a checkpoint on their way after every few instructions, and few are kept."""
    for name, value in {
        "EVERY": 0.0,
        "FIRST": 0.0,
        "SPACING": 0,
        "_LEAST": 37,
        "_SLICE": 1e-9,
    }.items():
        monkeypatch.setattr(pace, name, value)
    monkeypatch.setattr(replay, "FAR", 100)
    monkeypatch.setattr(replay, "MOST", 8)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("number", range(6))
def test_random_walks_come_to_the_same_states(number: int, request: Any) -> None:
    """Forward, back, edits, branches; `make fuzz` walks two hundred times."""
    if number % 3:
        request.getfixturevalue("checkpoints_everywhere")
    trouble = walk(
        of_case(CASES[WALKED[number % len(WALKED)]]), ("step", "run")[number % 2], number, 8
    )
    assert not trouble


@pytest.mark.parametrize(
    ("story", "seed"), [("barrier_count", 12060), ("barrier_count", 21115), ("bpt_pause", 21062)]
)
def test_walks_over_stops_that_execute_nothing(story: str, seed: int) -> None:
    """A deadlock that a step finds at once, single steps that clear status words between them, a
    trap of another warp than the one whose step was taken back."""
    assert not walk(of_story(story), "run", seed)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("number", range(9))
def test_walks_over_clusters_copies_and_warp_groups(number: int) -> None:
    """As the others, of sm_90."""
    assert not walk(modern()[number], ("step", "run")[number % 2], number)


def test_a_change_in_a_branch_leaves_the_words_of_another_as_they_were() -> None:
    """Branches have the same moves up to where they part: words of the SMs at the last of these
    are those that the user saw on each."""
    assert not walk(random.Random(77008).choice(modern()), "run", 77008)


@pytest.mark.in_turn(1)
def test_every_tick_can_be_gone_to(session: Any) -> None:
    """By `goto`, and by steps back; a straight run has the same states."""
    total = session.run().instructions
    for tick in (1, 64, 65, total - 1):
        with gpudbg.open(FIRST, engine="step") as straight:
            straight.run(max_instructions=tick)
            assert session.goto(tick).instructions == tick
            assert session.state_hash() == straight.state_hash()
    assert session.goto(total).kind == "exited"


def test_a_step_back_is_undone_by_a_step(session: Any) -> None:
    """Tick and state are the same again, wherever the launch stands."""
    session.run(max_instructions=300)
    for _ in range(3):
        tick, before = session.tick, session.state_hash()
        assert session.reverse_step().instructions == tick - 1
        assert session.step().instructions == tick
        assert session.state_hash() == before
        session.reverse_step(7)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ["step", "run"])
def test_a_step_past_a_barrier_is_followed_by_single_instructions(engine: str) -> None:
    """The turns of others that it let run go on where the way back has cut them."""
    case = next(case for case in kc.cases() if case.kernel == "bitonic_sort")
    with machines.launch(case, engine) as session:
        session.run(max_instructions=314)
        while session.step().instructions - session.history.replay.moves[-1].before < 50:
            pass
        for _ in range(8):
            session.reverse_step()
            tick, hashed = session.tick, session.state_hash()
            session.reverse_step()
            assert session.step().instructions == tick
            assert session.state_hash() == hashed


def test_an_ended_and_a_faulted_launch_go_back() -> None:
    """The fault comes again at the same place."""
    with gpudbg.open(FAULTY) as session:
        fault = session.run()
        assert fault.faulted
        before, tick = session.state_hash(), session.tick
        back = session.reverse_step()
        assert (back.kind, back.instructions, back.faulted) == ("step", tick, False)
        assert (back.warp, back.sm, back.pc) == (fault.warp, fault.sm, fault.pc)
        again = session.step()
        assert (again.kind, again.errors) == (fault.kind, fault.errors)
        assert session.state_hash() == before


@pytest.mark.in_turn(1)
def test_reverse_continue_finds_the_last_breakpoint_met(session: Any) -> None:
    """One stop after another, the same ones as forward, in reverse order."""
    session.break_at("first_steps.cu:19", condition="threadIdx.x == 0")
    session.settings.set("gather", "off")
    forward = [(s.instructions, s.block, s.lane) for s in session.events("breakpoint")]
    backward = []
    while (stop := session.reverse_cont()).kind == "breakpoint":
        backward.append((stop.instructions, stop.block, stop.lane))
    assert backward == forward[::-1]
    assert stop.instructions == 0
    assert NO_MORE in stop.detail


def test_reverse_continue_stands_before_the_store_that_a_watchpoint_saw(session: Any) -> None:
    """Whoever wrote a word last, from the end of the launch on."""
    session.command("watch out[2]")
    session.breakpoints.get(1).enabled = False
    session.run()
    session.breakpoints.get(1).enabled = True
    stop = session.reverse_cont()
    assert isinstance(stop, gpudbg.WatchpointStop)
    assert session.buffer("out")[2] == 0
    assert "STG" in session.instruction().text
    assert stop.block == (2, 0, 0)


def test_lines_and_calls_backwards(session: Any) -> None:
    """A line's first instruction, then the line before."""
    session.break_at("first_steps.cu:21")
    stop = session.cont()
    back = session.reverse_step_line()
    assert back.line is not None
    assert back.line != 21
    assert back.instructions < stop.instructions
    assert (back.warp, back.sm) == (stop.warp, stop.sm)
    place = session.reverse_until("first_steps.cu:10")
    assert place.line == 10
    # Without a place: a line, and out of the loop, which begins higher up in the code.
    session.goto(session.history.end_tick)
    here, pc = session.tick, session.stop.pc
    back = session.reverse_until()
    assert session.tick < here
    assert pc is None or (back.pc is not None and back.pc < pc)


def test_exec_direction_and_the_outermost_frame(session: Any) -> None:
    """gdb's words for both; `step` goes back while it is asked to."""
    session.run(max_instructions=200)
    with pytest.raises(gpudbg.CommandError, match="outermost frame"):
        session.reverse_finish()
    session.command("set exec-direction reverse")
    session.command("stepi 3")
    assert session.tick == 197
    with pytest.raises(gpudbg.CommandError, match="Already in reverse mode"):
        session.command("reverse-stepi")
    session.command("continue")
    assert session.tick == 0
    session.command("set exec-direction forward")
    session.command("stepi")
    assert session.tick == 1


def test_an_edit_in_the_past_is_a_branch(session: Any) -> None:
    """Nothing is lost: the way that was recorded is another branch."""
    end = session.run()
    before = session.buffer("out").copy()
    session.goto(0)
    session.set_buffer("in", np.zeros(256, np.int32))
    session.run()
    changed = session.buffer("out").tolist()
    assert changed != before.tolist()
    assert [row["number"] for row in session.execute("info branches")] == [1, 2]
    assert [(row.parent, row.begins_at, row.left_at) for row in session.branches] == [
        (None, None, 0), (1, 0, None),
    ]  # fmt: skip
    session.command("branch 1")
    assert session.tick == end.instructions
    assert session.buffer("out").tolist() == before.tolist()
    session.command("branch 2")
    assert session.buffer("out").tolist() == changed


def test_branches_are_named_compared_and_deleted(session: Any) -> None:
    """As a user would, by number or name; numbers are not given again."""
    session.run()
    session.goto(500)
    session.warp().R[4, 3] = 7
    session.step(5)
    session.command('branch name "R4 is 7"')
    tick, hashed = session.tick, session.state_hash()
    (row,) = (r for r in session.compare_branch(1, 500) if "R4" in r.where)
    assert (row.where.split()[-3:], row.count, row.this_branch) == (["R4", "lane", "3"], 1, 7)
    assert session.compare_branch(1, 499) == ()
    assert any(": not there" in r.where for r in session.compare_branch(1))
    assert (session.tick, session.state_hash()) == (tick, hashed)
    session.goto(100)
    session.warp().P[0, 0] = not session.warp().P[0, 0]
    session.step(5)
    assert [(r.number, r.parent, r.current) for r in session.branches] == [
        (1, None, False), (2, 1, False), (3, 2, True),
    ]  # fmt: skip
    assert session.branch("R4 is 7").kind == "step"
    assert session.state_hash() == hashed
    session.delete_branch(3)
    session.goto(50)
    session.warp().R[0, 0] = 1
    session.step()
    assert [row.number for row in session.branches] == [1, 2, 4]
    for line, words in {
        "branch delete 4": "is the one that is followed",
        "branch delete 3": "no branch 3",
        "branch three": "no branch 'three'",
        "branch name 5": "is a number",
        "branch name R4 is 7": "another branch is called",
        "branch compare 1 9999": "branch 4 does not come to tick 9,999",
        "branch compare 4": "is the one that is followed",
        "branch compare": "which one",
        "branch": "which branch",
    }.items():
        with pytest.raises(gpudbg.CommandError, match=words):
            session.command(line)
    assert session.branches[-1].current
    assert session.tick == 51


def test_the_state_hash_tells_any_bit(session: Any) -> None:
    """One changed bit of each kind changes it; focus and settings do not."""
    session.run(max_instructions=300)
    before = session.state_hash()
    session.set_focus("block 1 thread (3,0,0)")
    session.command("set print-lanes all")
    assert session.state_hash() == before
    warp = session.warp()
    state = warp.state
    changes: dict[str, Callable[[], object]] = {
        "register": lambda: warp.R.__setitem__((4, 3), warp.R[4, 3] ^ 1),
        "predicate": lambda: warp.P.__setitem__((0, 3), not warp.P[0, 3]),
        "flag": lambda: state.cc.__setitem__(0, state.cc[0] ^ 1),
        "mask": lambda: setattr(state, "active", state.active ^ 2),
        "shared": lambda: state.cta.shared.data.__setitem__(0, state.cta.shared.data[0] ^ 1),
        "global": lambda: session.set_buffer("out", session.buffer("out") ^ 1),
        "constant": lambda: session.memory.write("bank", 0x20, b"\x01"),
        "port": lambda: session.command("trap port write HWW_WARP_ESR_REPORT_MASK 1"),
    }
    for kind, change in changes.items():
        change()
        now = session.state_hash()
        assert now != before, kind
        before = now


def flips_of(session: Any, warp: Any) -> dict[str, tuple[Callable[[], object], ...]]:
    """A change of each architectural thing of a warp and its launch, and how to take it back."""
    grid, trap = session.grid, session.grid.sms[warp.sm].trap
    flips: dict[str, tuple[Callable[[], object], ...]] = {}

    def flip(name: str, data: Any, at: Any = 0) -> None:
        def change() -> None:
            data[at] = data[at] ^ 1

        flips[name] = change, change

    def put(name: str, owner: Any, field: str, value: Any) -> None:
        old = getattr(owner, field)
        flips[name] = lambda: setattr(owner, field, value), lambda: setattr(owner, field, old)

    for name, slot in rec.FIELDS.items():
        if name not in state_hash._HOST:
            flip(f"record {name}", warp.record, slot.offset)
    for row in dataclasses.fields(trap):
        if row.name not in ("frozen", "pause"):
            value = getattr(trap, row.name)
            put(f"port {row.name}", trap, row.name, value ^ 2 if type(value) is int else not value)
    flip("register", warp.R, (1, 31))
    if warp.local.words.size:
        flip("local", warp.local.words.reshape(-1))
    if warp.cta.shared.data.size:
        flip("shared", warp.cta.shared.data)
    flip("constant", grid.launched.constants.banks[0].writable(), 64)
    for allocation in grid.gpu.memory.allocations():
        flip(f"global {allocation.name}", allocation.writable())
    if len(list(grid.warps())) > 1:
        put("who runs next", grid.schedule, "position", grid.schedule.position + 1)
    put("heap", grid.gpu.heap, "used", grid.gpu.heap.used + 16)
    if warp.has_groups:
        flip("uniform register", warp.UR, (1, 0))
        assert warp.shown_groups.parked
        put("waiting lanes", warp.shown_groups.parked[0], "pc", warp.pc + 16)
    return flips


@pytest.mark.parametrize("story", ["first_steps", "spill_windows", "spin_lock_ends"])
def test_one_bit_of_each_kind_is_another_state(story: str) -> None:
    """Of registers, masks, convergence, every memory, ports, counters and the schedule."""
    with gpudbg.open(f"sessions/{story}/{story}.cubin") as session:
        session.grid.keep_counters()
        warp = session.warp().state
        for _ in range(30):
            session.step()
            if warp.has_groups and warp.shown_groups.parked:
                break
        before = session.state_hash()
        for name, (change, back) in flips_of(session, warp).items():
            change()
            assert session.state_hash() != before, name
            back()
            assert session.state_hash() == before, name
        assert session.grid.counters is not None
        session.grid.counters.preset(0, 4, 77)
        assert session.state_hash() != before
    assert len(rec.FIELDS) > len(state_hash._HOST)


def test_a_trap_handler_and_what_it_interrupts_are_of_the_state() -> None:
    """Its constants, its code, and the local memory of the code that it interrupts."""
    with gpudbg.open("sessions/trap_handler/scatter.cubin") as session:
        session.command("set trap-entry stop")
        session.run()
        before = session.state_hash()
        assert any(w.outer is not None for w in session.grid.warps())
        warp = next(w for w in session.grid.warps() if w.outer is not None)
        assert warp.outer is not None
        words = warp.outer.words.reshape(-1)
        if words.size:
            words[0] ^= 1
            assert session.state_hash() != before
            words[0] ^= 1
        placed = session.grid.traps.handler
        assert placed is not None
        placed.banks[0x11].writable()[0x20] ^= 1
        assert session.state_hash() != before
        placed.banks[0x11].writable()[0x20] ^= 1
        assert session.state_hash() == before
        session.grid.traps.handler = None
        assert session.state_hash() != before


def test_a_cluster_its_mbarriers_and_copies_are_of_the_state() -> None:
    """Who has come to its barrier, words of mbarriers with what copies have counted on them, sums
    of warp groups; copies are complete when they are made, so that none is under way."""
    with modern()[8][1]("step", 0) as session:
        seen: set[str] = set()
        while not session.stop.finished and len(seen) < 3:
            session.run(max_instructions=500)
            for cta in session.grid.ctas():
                flips: list[tuple[str, Any, Any]] = []
                if came := cta.cluster.came():
                    warp = next(w for w in cta.warps if (cta.number, w.index) in came)
                    flips.append(("cluster", warp.quads, rec.CAME))
                flips += [("mbarrier", cta.shared.writable(), at) for at in cta.mbarriers]
                flips += [("sum", w.R, (24, 0)) for w in cta.warps if len(w.R) > 24]
                before = session.state_hash()
                for kind, data, at in flips:
                    data[at] ^= 1
                    assert session.state_hash() != before, kind
                    data[at] ^= 1
                    assert session.state_hash() == before
                    seen.add(kind)
        assert seen == {"cluster", "mbarrier", "sum"}


def test_a_planned_schedule_is_of_the_state() -> None:
    """Which warps a plan has put behind others."""
    with gpudbg.open(FIRST, seed=SchedulePlan(1, (20, 60)).seed) as session:
        session.run(max_instructions=100)
        schedule, before = session.grid.schedule, session.state_hash()
        assert schedule._behind
        behind = dict(schedule._behind)
        schedule._behind = {who: -turn for who, turn in behind.items()} if len(behind) > 1 else {}
        assert session.state_hash() != before
        schedule._behind = behind
        assert session.state_hash() == before


def test_output_is_printed_once(tmp_path: Path) -> None:
    """What a kernel printed is not printed again by a run that is carried out again."""
    source = tmp_path / "k.cu"
    source.write_text(PRINTS)
    program = gpudbg.load(str(source))
    with program.launch(block=2, args=[np.zeros(2, np.int32)]) as session:
        session.run()
        printed = session.output.text
        assert printed.count("end") == 2
        session.goto(5)
        session.reverse_step()
        session.run()
        assert session.output.text == printed


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("reverse-stepi", "No more reverse-execution history"),
        ("rsi 0", "count"),
        ("goto 99999", "does not come to tick"),
        ("goto x", "tick"),
        ("branch 7", "no branch 7"),
    ],
)
def test_what_cannot_be_done_is_said(line: str, words: str) -> None:
    """In one line each."""
    with gpudbg.open(FIRST) as session:
        if line.startswith("goto"):
            session.run()
        try:
            text = session.command(line).text
        except gpudbg.GpudbgError as error:
            text = str(error)
        assert words in text


@pytest.mark.in_turn(1)
def test_who_wrote_a_word_last(session: Any) -> None:
    """From the end of the launch; breakpoints do not stop the way there and are as they were."""
    session.break_at("first_steps.cu:11")
    session.run()
    stop = session.who_wrote("out[2]")
    assert isinstance(stop, gpudbg.WatchpointStop)
    assert stop.block == (2, 0, 0)
    assert "STG" in session.instruction().text
    register = session.instruction().reads[-1]
    assert session.who_wrote(f"${register}").instructions < stop.instructions
    assert [(point.number, point.enabled) for point in session.breakpoints] == [(1, True)]
    with pytest.raises(gpudbg.CommandError, match="nothing has changed in"):
        session.who_wrote("in[3]")
    assert session.break_at("first_steps.cu:12").number == 2


@pytest.mark.parametrize("how", ["reverse_next", "reverse_cont", "who_wrote"])
def test_an_interrupt_on_the_way_back_stops_it(
    how: str, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launch stands where that was, in the past, and the way on is the recorded one."""
    session.break_at("first_steps.cu:19", condition="threadIdx.x == 99")
    session.run()
    end, before = session.tick, session.state_hash()
    onward = replay.Replay._run_on

    def interrupted(states: replay.Replay, *rest: Any) -> Any:
        states.grid.interrupt()
        return onward(states, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(replay.Replay, "_run_on", interrupted)
        session.goto(end - 1)
        stop = session.who_wrote("out[2]") if how == "who_wrote" else getattr(session, how)()
    assert stop.kind == "interrupted"
    assert session.tick < end
    assert session.history.in_past
    assert session.goto(end).kind == "exited"
    assert session.state_hash() == before
    assert [point.number for point in session.breakpoints] == [1]


@pytest.mark.usefixtures("checkpoints_everywhere")
def test_a_long_run_has_checkpoints_on_its_way(session: Any) -> None:
    """One run is one move; a step back begins at the last checkpoint."""
    session.run()
    past = session.history.replay
    assert len(past.moves) == 1
    assert 4 < len(past.marks) <= 8 + 1
    end, hashed = session.tick, session.state_hash()
    assert end - past.marks[-1].at.tick < 200
    session.reverse_step(2)
    assert session.tick == end - 2
    session.goto(end)
    assert session.state_hash() == hashed


@pytest.mark.usefixtures("checkpoints_everywhere")
def test_pauses_do_not_hand_warps_to_the_step_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code ends a turn at a pause: the way to an exact count is the step engine's."""
    stepped = 0
    advance = Grid._advance

    def counted(grid: Grid, *args: Any) -> Any:
        nonlocal stepped
        before = grid.total
        try:
            return advance(grid, *args)
        finally:
            stepped += grid.total - before

    monkeypatch.setattr(Grid, "_advance", counted)
    with gpudbg.open(FIRST, engine="run") as session:
        stop = session.run()
        assert len(session.history.replay.marks) > 4
    assert stepped < stop.instructions / 4


@pytest.mark.parametrize("limit", ["MOST_MOVES", "MOST_CHANGES"])
def test_the_past_is_bounded(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many moves or changes the earlier ones are forgotten; the rest can be gone to."""
    monkeypatch.setattr(replay, limit, 6)
    seen = {}
    with gpudbg.open(FIRST) as session:
        for number in range(20):
            if limit == "MOST_CHANGES":
                session.warp().R[4, 3] = number
            session.step(scope="cta")
            seen[session.tick] = session.state_hash()
        first = session.history.replay.first.tick
        assert 0 < first < session.tick
        assert len(session.history.replay.moves) <= 12
        for tick in [tick for tick in seen if tick >= first]:
            session.goto(tick)
            if limit == "MOST_MOVES":
                assert session.state_hash() == seen[tick]
        with pytest.raises(gpudbg.CommandError, match="too long ago"):
            session.goto(first - 1)
        assert session.reverse_cont().instructions == first
        assert session.goto(session.history.end_tick).instructions == max(seen)
        assert session.state_hash() == seen[max(seen)]


def test_a_step_of_a_block_whose_warp_stands_at_a_trap_follows_the_order() -> None:
    """It went on as if it were the present, and what it did was put behind the launch's end."""
    _, opened = of_story("trap_handler")
    session = opened("step", 737)
    assert session.run(max_instructions=377).kind == "trap"
    tick = session.tick
    session.run()
    session.goto(tick)
    session.step(3, scope="cta")
    assert session.history.in_past
    assert session.tick > tick
    session.goto(session.history.end_tick)
    assert session.finished


def test_a_run_in_the_past_completes_a_single_step_that_it_stops_after() -> None:
    """It left out the entry into the handler."""
    story = of_story("trap_counter")
    for seed in (8115, 35):
        assert not walk(story, "run", seed)


def test_a_run_goes_on_where_a_branch_ended_behind_a_step() -> None:
    """The SM stayed in single-step mode there: `continue` was one instruction."""
    with gpudbg.open(FIRST, engine="run") as session:
        session.step(4)
        session.goto(2)
        session.warp().R[0, 0] = 5
        session.step()
        session.branch(1)
        assert session.tick == 4
        assert session.cont().kind == "exited"


CALLED = """.arch sm_61
.func helper
    IADD R0, R0, 0x1
    RET
.kernel k
    MOV R0, RZ
    NOP
    JCAL `(helper)
    NOP
    EXIT
"""


def test_until_goes_back_to_the_call_of_code_that_lies_before_it(tmp_path: Path) -> None:
    """A caller's line is one before, though its code lies behind."""
    path = tmp_path / "called.sass"
    path.write_text(CALLED)
    with gpudbg.open(path, grid=1, block=32) as session:
        assert session.step(3).line == 3
        assert session.reverse_until().line == 8


@pytest.mark.parametrize("engine", ["step", "run"])
def test_back_where_a_step_has_ended_a_block(engine: str, tmp_path: Path) -> None:
    """Its warp is not there any more when that step is gone over again."""
    path = tmp_path / "called.sass"
    path.write_text(CALLED)
    with gpudbg.open(path, grid=3, block=32, num_sms=1, engine=engine) as session:
        while session.history.replay.grid.ctas_done < 1:
            session.step()
        session.step(2)
        here, state = session.tick, session.state_hash()
        session.reverse_next()
        session.reverse_until()
        session.goto(here)
        assert session.state_hash() == state
