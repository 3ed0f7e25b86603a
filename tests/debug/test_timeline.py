"""The timeline tells what was executed when: held against an observer of single instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.debug.story_files import stories
from gpudbg.debug.trace import record as records
from gpudbg.debug.trace.record import Record, lane_counts
from gpudbg.errors import CommandError
from tests.narrowing import there

FIRST = "first_steps"
CUBINS = Path(__file__).parents[1] / "data" / "kernels" / "cubin" / "sm_50"


class Truth(gpudbg.Observer):
    """(pc, lanes, CTA, warp) of every instruction, as the step engine calls them one by one."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int]] = []

    def instruction(self, warp: Any, pc: int, instruction: Any, lanes: int) -> None:
        self.rows.append((pc, lanes, warp.cta.number, warp.index))


def opened(name: Any = FIRST) -> Any:
    return gpudbg.open(stories()[name])


def truth_of(name: Any = FIRST) -> Any:
    session = opened(name)
    with session.subscribe(Truth()) as truth:
        session.run()
    return truth.rows


def test_nothing_is_observed_before_it_is_switched_on() -> None:
    session = opened()
    session.execute("info timeline")
    assert not session.grid.gpu.observers.members
    session.execute("set timeline on")
    assert session.timeline.recording
    session.execute("set timeline off")
    assert not session.grid.gpu.observers.members
    session.timeline.looked_at()
    assert not session.timeline.recording, "off means off"
    session.execute("set timeline auto")
    session.timeline.looked_at()
    assert session.timeline.recording


def test_every_tick_has_its_instruction_lanes_and_warp() -> None:
    truth = truth_of()
    session = opened()
    session.execute("set timeline on")
    session.run()
    found = [session.timeline.executed(tick) for tick in range(session.grid.total)]
    assert [(e.pc, e.lanes, *e.warp) for e in found] == truth
    assert session.timeline.executed(len(truth)) is None


def test_writers_and_stores_are_those_of_the_run() -> None:
    session = opened()
    session.execute("set timeline on")
    session.break_at("block_max+0x178")
    session.cont()
    session.cont()
    now, warp = session.grid.total, session.warp().state
    lane, key = session.focus.lane, (warp.cta.number, warp.index)
    written = session.timeline.written(key, 4, 0, now, lane)
    assert written
    last = written[-1]
    line = session.symbols.instruction(last.pc)
    assert line.text.split()[1] == "R4,"
    # Going there by steps: the value appears with this instruction and stays until now.
    value = session.warp().lane(lane).R[4]
    again = opened()
    again.cont(max_instructions=last.tick + 1)
    state = again.grid.warp(warp.sm, warp.slot)
    assert int(state.R[4][lane]) == value
    stores = session.timeline.stores(0, now)
    texts = {session.symbols.instruction(pc).text.split()[0] for pc, *_ in stores}
    assert texts == {"STS"}
    assert all(count >= 1 and 1 <= lanes <= 32 for _, _, count, lanes in stores)


def columns_by_hand(truth: Any, warp: Any, start: int, stop: int, columns: int) -> Any:
    """Most lanes per column, -1 where the warp executed nothing."""
    out = [-1] * columns
    for tick, (_, lanes, *who) in enumerate(truth):
        if start <= tick < stop and tuple(who) == warp:
            column = (tick - start) * columns // (stop - start)
            out[column] = max(out[column], lanes.bit_count())
    return out


@pytest.mark.parametrize(("start", "stop", "columns"), [(0, 1258, 60), (300, 700, 37), (90, 99, 9)])
def test_tracks_have_the_lanes_of_each_column(start: int, stop: int, columns: int) -> None:
    truth = truth_of()
    session = opened()
    session.execute("set timeline on")
    session.run()
    warps = sorted({tuple(row[2:]) for row in truth})
    for track in session.timeline.tracks(warps, start, stop, columns):
        by_hand = columns_by_hand(truth, track.warp, start, stop, columns)
        begins = next(n for n, row in enumerate(truth) if tuple(row[2:]) == track.warp)
        ends = max(n for n, row in enumerate(truth) if tuple(row[2:]) == track.warp)
        for n, lanes in enumerate(by_hand):
            low, high = (start + (stop - start) * c / columns for c in (n, n + 1))
            assert (track.states[n] == "r") == (lanes >= 0)
            if lanes > 0:
                assert track.lanes[n] == lanes
            elif lanes < 0 and high <= begins:
                assert track.states[n] == " "
            elif lanes < 0 and low > ends:
                assert track.states[n] == "x"
            elif lanes < 0:
                assert track.states[n] in "wb"


def test_a_warp_at_a_barrier_is_drawn_waiting() -> None:
    session = opened()
    session.execute("set timeline on")
    session.break_at("first_steps.cu:19")
    session.cont()
    session.cont()
    assert session.grid.warp(0, 0).status == "barrier"
    rows = {(tuple(r["block"]), r["index"]): r for r in session.execute("info timeline")["warps"]}
    assert rows[(0, 0, 0), 0]["timeline"].endswith("======")
    assert "=" not in rows[(0, 0, 0), 1]["timeline"]
    assert rows[(1, 0, 0), 0]["timeline"].strip() == ""


def test_recording_from_the_middle_says_so_and_a_restart_records_all() -> None:
    session = opened()
    session.step(20)
    session.execute("set timeline on")
    session.step(10)
    data = session.execute("info timeline")
    assert (data["recorded_from"], data["ticks"]) == (20, 30)
    assert data["warps"][0]["timeline"] == "?" * 20 + "8" * 10
    assert "recorded from tick 20" in session.command("info timeline").text
    session.restart()
    assert session.timeline.present().end == 0
    session.step(5)
    assert session.execute("info timeline")["warps"][0]["timeline"] == "8" * 5


def test_what_runs_after_it_was_switched_off_is_not_known() -> None:
    session = opened()
    session.execute("set timeline on")
    session.step(10)
    session.execute("set timeline off")
    session.step(10)
    data = session.execute("info timeline")
    assert (data["recording"], data["warps"][0]["timeline"]) == (False, "8" * 10 + "?" * 10)
    assert session.timeline.executed(9) is not None
    assert session.timeline.executed(15) is None
    session.restart()
    assert session.execute("info timeline")["recorded_from"] is None


@pytest.mark.parametrize("story", ["trap_handler", "out_of_bounds", "bpt_pause"])
def test_ticks_agree_with_the_machine_over_traps_and_faults(story: str) -> None:
    session = opened(story)
    session.execute("set timeline on")
    for _ in range(4):
        if session.finished or session.faulted:
            break
        session.cont()
        record = session.timeline.present()
        assert record.end == session.grid.total
        last = session.timeline.executed(record.end - 1)
        assert last is not None
        assert session.symbols.instruction(last.pc) is not None
    events = session.timeline.events()
    assert [e.tick for e in events] == sorted(e.tick for e in events)
    assert events[0].text.startswith("at the entry")


def test_bookmarks_and_windows() -> None:
    session = opened()
    session.step(12)
    assert session.execute("bookmark before the loop") == {"tick": 12, "text": "before the loop"}
    assert session.execute("bookmark")["text"] == "before the loop"
    session.step(3)
    assert session.execute("bookmark")["text"] == "mark 2"
    session.restart()
    session.run()
    data = session.execute("info timeline 10 14")
    assert data["window"] == [10, 14]
    assert [(e["kind"], e["text"]) for e in data["events"]] == [("bookmark", "before the loop")]
    for bad in ("5", "9 3", "0 99999", "a b"):
        with pytest.raises(CommandError):
            session.execute(f"info timeline {bad}")


def test_only_stops_of_the_present_launch_count() -> None:
    session = opened()
    session.step(5)
    session.restart()
    session.step(2)
    stops = [e for e in session.timeline.events() if e.kind == "stop"]
    assert [(e.tick, e.stop) for e in stops] == [(0, 2), (2, 3)]


# ---- long runs -------------------------------------------------------------------------------
def rows_of(count: int, warps: int = 4, turn: int = 16) -> Any:
    """Rows as the machine makes them: warps take turns, lanes grow with the warp."""
    tick = np.arange(count, dtype=np.int64)
    warp = tick // turn % warps
    return np.stack([tick % 97 * 8, (1 << (8 * warp + 8)) - 1, warp], axis=1)


def test_a_long_run_stays_in_bounds_and_keeps_its_end_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("KEPT", 4096), ("ENTRIES", 2048), ("BUCKETS", 64), ("EVERY", 12)):
        monkeypatch.setattr(records, name, value)
    record = Record(0)
    rows = rows_of(600_000)
    for at in range(0, len(rows), 1000):
        record.add(rows[at : at + 1000])
        assert record._entries <= 2048 + 1000
    assert record.end == len(rows)
    assert record.end - record.exact >= 2048
    assert (record.rows(record.exact, record.end) == rows[record.exact :]).all()
    assert record.width > 64
    turns = record.turns(0, record.end, 50)
    for warp in range(4):
        mine = turns.who == warp
        assert (turns.lanes[mine] == 8 * warp + 8).all()
        # Every part of the run is there, though not every instruction was looked at.
        assert len(np.unique(turns.bucket[mine] // 10)) == 6


def test_many_short_warps_leave_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("KEPT", 1024), ("ENTRIES", 512), ("BUCKETS", 64)):
        monkeypatch.setattr(records, name, value)
    record = Record(0)
    rows = rows_of(100_000, warps=100_000)
    for at in range(0, len(rows), 500):
        record.add(rows[at : at + 500])
    assert record._entries <= 512 + 500
    who = record.turns(0, record.end, 100).who
    assert who.max() == rows[-1, 2]
    assert record.width * 64 <= record.end * 2


def test_lanes_are_counted() -> None:
    masks = np.array([0, 1, 0xFFFFFFFF, 0x80000000, 0x10001], np.int64)
    assert lane_counts(masks).tolist() == [0, 1, 32, 1, 2]


def test_a_row_for_each_tick_whatever_was_told() -> None:
    record = Record(0)
    record.add(rows_of(10))
    record.align(12)
    assert record.end == 12
    assert record.rows(10, 12)[:, 2].tolist() == [-1, -1]
    record.align(9)
    assert (record.end, len(record.rows(0, 9))) == (9, 9)


def test_small_launches_are_recorded_from_their_first_instruction() -> None:
    truth = truth_of()
    session = opened()
    session.execute("set timeline small")
    session.run()
    record = session.timeline.present()
    assert (record.first, record.end) == (0, len(truth))
    session.restart()
    session.step(5)
    record = session.timeline.present()
    assert (record.first, record.end) == (0, 5), "of the new launch, from its beginning"


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ["step", "run"])
def test_a_small_launch_that_gets_long_runs_on_unrecorded(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpudbg.debug.trace.timeline.SMALL_TICKS", 20_000)
    kernel = CUBINS / "fault_infinite_loop.cubin"
    arguments = ["flag=i32[1]:zeros", "out=i32[32]:zeros"]
    session = gpudbg.open(kernel, grid=1, block=32, args=arguments, engine=engine)
    session.execute("set stop-on-hang off")
    session.execute("set timeline small")
    assert session.timeline.recording
    session.cont(max_instructions=100_000)
    assert session.grid.total == 100_000
    assert session.grid.trace is None, "the run was told at once, not the next one"
    assert session.timeline.present() is None
    session.timeline.looked_at()
    session.cont(max_instructions=40_000)
    record = session.timeline.present()
    assert (there(record).first, there(record).end) == (100_000, 140_000), (
        "who looks has it as long as it takes"
    )
    session.restart()
    assert session.timeline.recording, "it goes on as it was asked for"


def test_large_launches_are_not_recorded_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudbg.debug.trace.timeline.SMALL_WARPS", 7)
    session = opened()
    session.execute("set timeline small")
    assert session.grid.config.warps * session.grid.config.ctas == 8
    session.run()
    assert session.timeline.record is None
    assert not session.grid.gpu.observers.members


def test_who_comes_back_to_the_beginning_has_begun_no_other_launch() -> None:
    session = opened()
    session.step(3)
    session.run()
    session.reverse_cont()
    assert session.tick == 0
    kinds = [event.tick for event in session.timeline.events() if event.kind == "stop"]
    assert kinds == sorted([0, 3, session.history.end_tick, 0])
    session.restart()
    assert len([e for e in session.timeline.events() if e.kind == "stop"]) == 1
