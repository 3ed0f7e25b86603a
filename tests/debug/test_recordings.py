"""Recordings: the same states on another machine, refusals by name, damaged files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.api.recordings import resume
from gpudbg.cli import main
from gpudbg.debug.history.replay import DepartureError
from gpudbg.debug.recording import taking
from gpudbg.errors import LoadError
from gpudbg.formats.recording import Recording, decode, encode
from tests import kernel_cases as kc
from tests.debug.history_walks import of_case, recorded_walk
from tests.debug.recording_mutants import outcome
from tests.engine import machines
from tests.launching import FIRST
from tests.variants import number

SESSIONS = Path("sessions").resolve()
FAULTY = SESSIONS / "out_of_bounds" / "out_of_bounds.cubin"
WALKED = ("warp_ops-base-sm_62", "int_arith-special-sm_61", "matmul_tiled-n40-sm_61")
CASES = {case.id: case for case in kc.cases() if case.id in WALKED}


def edited(engine: str, path: Path) -> dict[int, str]:
    """A recording of a launch in which many things were changed; hashes by tick."""
    seen = {}
    with gpudbg.open(FIRST, engine=engine) as session:
        session.step(5)
        warp = session.warp()
        warp.R[3, 7] = 77
        warp.P[1, 5] = True
        session.step(2, scope="cta")
        session.command("set var *(@shared int*)0 = 9")
        session.command("set var *(@global int*)&out[0] = 5")
        session.run(max_instructions=300)
        session.bookmark("halfway there", note="from here on\nout is wrong")
        session.goto(200)
        session.command("set var $P3 = 1")
        session.step(4)
        session.run()
        for tick in (0, 5, 40, 150, 199, 201, 260, session.tick):
            session.goto(tick)
            seen[session.tick] = session.state_hash()
        session.command('note "the end"')
        session.save_recording(path)
        assert session.state_hash() == seen[session.tick]
    return seen


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ["step", "run"])
def test_a_recording_has_every_state(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "x.gpurec"
    seen = edited(engine, path)
    with gpudbg.open(path) as session:
        assert session.finished
        assert session.tick == max(seen)
        for tick, hashed in reversed(seen.items()):
            session.goto(tick)
            assert session.state_hash() == hashed
        (tick, told), _ = session.bookmarks.items()
        assert told == ("halfway there", "from here on\nout is wrong")
        row = session.command("info bookmarks").data[0]
        assert row == {"tick": tick, "text": told[0], "note": "from here on out is wrong"}
        session.command(f"goto {tick}")
        session.command("note")
        session.command("delete bookmark halfway there")
        assert list(session.bookmarks.values()) == [("", "the end")]
        again = tmp_path / "y.gpurec"
        session.save_recording(again)
    with gpudbg.open(again) as session:
        session.goto(150)
        assert session.state_hash() == seen[150]
        assert session.restart().kind == "step"
        assert session.run().kind == "exited"


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("number", range(3))
def test_recorded_walks(number: int, tmp_path: Path) -> None:
    """`make fuzz` walks a hundred times."""
    case = CASES[WALKED[number]]
    assert not recorded_walk(
        of_case(case), ("step", "run")[number % 2], number, tmp_path / "x.gpurec"
    )


def test_damaged_recordings_are_refused(tmp_path: Path) -> None:
    """`make fuzz` opens ten thousand."""
    edited("step", tmp_path / "x.gpurec")
    data = (tmp_path / "x.gpurec").read_bytes()
    assert [words for n in range(number(40, 120)) if (words := outcome(data, n, 0))] == []


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("moves", {"who": (0, 30)}, "no block is in place 30 of SM 0 to be stepped"),
        ("edits", {"tick": 1 << 31}, "does not come to instruction"),
    ],
    ids=["a block that is not there", "an instruction that never comes"],
)
def test_moves_that_cannot_be_done_are_refused(
    part: str, change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    """Hashes fit: a step of no block ended in no message, one of a warp that has exited in none
    either, as it was made for ever."""
    edited("run", tmp_path / "x.gpurec")
    made = decode((tmp_path / "x.gpurec").read_bytes(), "forged")
    rows = list(getattr(made.launch.followed, part))
    kinds = [getattr(row, "kind", "") for row in rows]
    at = len(rows) - 1 if part == "edits" else kinds.index("step_cta")
    rows[at] = replace(rows[at], **change)
    parts: dict[str, Any] = {part: tuple(rows)}
    launch = replace(made.launch, followed=replace(made.launch.followed, **parts))
    with pytest.raises(LoadError, match=words):
        resume(decode(encode(Recording(launch, made.sections)), "forged"))


def test_a_fault_is_recorded_and_opens_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the program's files, source text and buffers' names included."""
    home = tmp_path / "home"
    shutil.copytree(FAULTY.parent, home)
    monkeypatch.chdir(tmp_path)
    words = ["run", str(home / FAULTY.name), "--record-on-fault", "f.gpurec", "--jobs", "2"]
    assert main(words) == 3
    said = capsys.readouterr().err
    assert "  recorded in f.gpurec: " in said
    assert "takes one host thread" in said
    shutil.rmtree(home)
    assert main(["run", "f.gpurec"]) == 3
    assert "at the end of buffer in (argument 0)" in capsys.readouterr().err
    words = ["reverse-stepi 3", "print in[1]", "list"]
    assert main(["f.gpurec", "--batch", *(w for x in words for w in ("-ex", x))]) == 0
    said = capsys.readouterr().out
    assert "out[i] = 0.25f * left" in said
    assert "LDG.E R0, [R2]" in said


def test_a_session_records_where_it_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a flag, a setting, and once: stops of the past write nothing; what cannot be recorded
    fails all the same."""
    flagged, chosen = tmp_path / "a.gpurec", tmp_path / "b.gpurec"
    words = ["--batch", "--record-on-fault", str(flagged), "-ex", "run", str(FAULTY)]
    assert main(words) == 3
    assert f"recorded in {flagged}: " in capsys.readouterr().out
    with gpudbg.open(FAULTY) as session:
        session.command(f"set record-on-fault {chosen}")
        stop = session.run()
        assert stop.recorded == f"recorded in {chosen}: {chosen.stat().st_size:,} bytes"
        assert stop.card[-1] == f"  {stop.recorded}"
        chosen.unlink()
        session.reverse_step(3)
        assert session.cont().faulted
        assert not chosen.exists()
        session.command(f"set record-on-fault {tmp_path}/no/x.gpurec")
        session.restart()
        assert session.run().recorded.startswith("not recorded: ")
        session.command(f"set record-on-fault {chosen}")
        session.restart()

        def departs(_: Any) -> Any:
            raise DepartureError("the run does not come to instruction 5 again")

        monkeypatch.setattr(taking, "take", departs)
        stop = session.run()
        assert stop.faulted
        assert stop.recorded.startswith("not recorded: the run does not come")
    for path in (flagged,):
        with gpudbg.open(path) as again:
            assert again.faulted


def test_the_verb_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.gpurec")
    assert main(["record", str(FIRST), "-o", path, "--max-instructions", "100"]) == 1
    with gpudbg.open(path) as session:
        assert session.tick == 100
        session.run()
        assert session.buffer("out").tolist() == [4974, 4970, 5026, 4994]
        with pytest.raises(gpudbg.CommandError, match="always recorded"):
            session.command("record full")
        with pytest.raises(gpudbg.CommandError, match="cannot write"):
            session.command(f"record save {tmp_path}/no/x.gpurec")
    capsys.readouterr()
    assert main([path, "--grid", "3"]) == 2
    assert "is a recording: --grid cannot be chosen" in capsys.readouterr().err
    assert main(["dis", path]) == 2
    assert "is a recording, no program" in capsys.readouterr().err
    data = Path(path).read_bytes()
    Path(path).write_bytes(b"X" + data[1:])
    assert main([path]) == 2
    assert "is no recording" in capsys.readouterr().err
    Path(path).write_bytes(data[:200])
    assert main([path]) == 2
    assert "at offset" in capsys.readouterr().err


def test_uninitialized_memory_stays_so(tmp_path: Path) -> None:
    text = 'extern "C" __global__ void k(int *a, int *b) { b[threadIdx.x] = a[threadIdx.x]; }'
    program = gpudbg.compile(text)
    device: Any = program.device
    device.buffer(np.arange(1000))
    a, b = device.empty(64, np.int32, name="a"), device.buffer(np.ones(64, np.int32), name="b")
    with program.launch(args=[a, b], grid=1, block=32) as session:
        session.run()
        session.save_recording(tmp_path / "x.gpurec")
        hashed = session.state_hash()
    with gpudbg.open(tmp_path / "x.gpurec") as again:
        assert again.state_hash() == hashed
        assert again.launch.arguments[0].buffer.allocation.uninitialized
        assert again.buffer("b")[:33].tolist() == [0] * 32 + [1]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("story", ["surface_clamp", "bpt_pause", "trap_handler", "trap_counter"])
def test_surfaces_and_trap_handlers_are_recorded(story: str, tmp_path: Path) -> None:
    """Headers and texels are device memory; a handler is there from the beginning."""
    path = tmp_path / "x.gpurec"
    with gpudbg.open(next(Path("sessions", story).glob("*.cubin"))) as session:
        session.run()
        tick, hashed = session.tick, session.state_hash()
        session.save_recording(path)
    with gpudbg.open(path) as again:
        assert (again.tick, again.state_hash()) == (tick, hashed)
        again.goto(tick // 2)
        again.run()
        assert again.state_hash() == hashed


def hashes(session: Any, ticks: Iterable[int]) -> dict[int, str]:
    """State hashes by tick; the launch stands at its end afterwards."""
    found = {}
    for tick in ticks:
        session.goto(tick)
        found[tick] = session.state_hash()
    session.goto(session.history.end_tick)
    return found


def test_a_handler_that_comes_later_is_recorded(tmp_path: Path) -> None:
    """Installed, given another argument, taken away, each between two moves."""
    shutil.copy(SESSIONS / "trap_handler" / "scatter.cubin", tmp_path)
    table = (SESSIONS / "trap_handler" / "scatter.toml").read_text()
    (tmp_path / "scatter.toml").write_text(table.partition("[trap]")[0])
    ticks = [0, 10, 11, 40, 100]
    with gpudbg.open(tmp_path / "scatter.cubin") as session:
        session.run(max_instructions=10)
        session.command(f"trap handler {SESSIONS}/trap_handler/save_state.sass")
        assert session.run().kind == "trap"
        session.command("trap argument 9")
        session.step(2)
        session.goto(30)
        session.command("trap handler off")
        assert session.run().kind == "warp_error"
        session.command("branch 1")
        ticks.append(session.tick)
        seen = hashes(session, ticks)
        session.save_recording(tmp_path / "x.gpurec")
    with gpudbg.open(tmp_path / "x.gpurec") as again:
        assert hashes(again, ticks) == seen
        assert again.grid.traps.handler is not None
        again.command("branch 2")
        assert again.grid.traps.handler is None


def test_texts_of_a_recording_cannot_steer_a_terminal(tmp_path: Path) -> None:
    with gpudbg.open(FIRST) as session:
        session.step(5)
        session.bookmark("\x1b[2Jhere", note="a\x07\nb")
        session.save_recording(tmp_path / "x.gpurec")
    with gpudbg.open(tmp_path / "x.gpurec") as again:
        text = again.command("info bookmarks").text
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "[2Jhere" in text


def test_branches_are_recorded(tmp_path: Path) -> None:
    """With their names, where they began, what was changed, and their ends."""
    with gpudbg.open(FIRST, engine="run") as session:
        session.step(5)
        session.warp().R[3, 7] = 77
        session.run(max_instructions=300)
        session.goto(100)
        session.command("set var *(@shared int*)0 = 9")
        session.run()
        session.name_branch("nine")
        session.command("branch 1")
        session.goto(50)
        session.command("set var $R2 = 4")
        session.run(max_instructions=100)
        ends = {}
        for number in (1, 3, 2):
            session.command(f"branch {number}")
            ends[number] = hashes(session, (5, 70, session.tick))
        rows = session.branches
        session.save_recording(tmp_path / "x.gpurec")
        assert session.branches == rows
        assert session.state_hash() == ends[2][1258]
    with gpudbg.open(tmp_path / "x.gpurec") as again:
        assert again.branches == rows
        for number in (2, 1, 3):
            again.command(f"branch {number}")
            assert hashes(again, ends[number]) == ends[number]
        again.goto(60)
        again.command("set var $R2 = 5")
        again.step()
        assert again.branches[-1].number == 4


def test_bound_references_are_recorded(tmp_path: Path) -> None:
    program = gpudbg.load("tests/data/kernels/cubin/sm_50/bound_images.cubin")
    device = program.device
    for name in ("tex_a", "surf_a", "surf_b"):
        make = device.texture if name == "tex_a" else device.surface
        program.bind(name, make(np.arange(32, dtype=np.uint32), dim="1d"))
    out = device.buffer(np.zeros(32, np.uint32), name="out")
    with program.launch(args=[out, np.uint32(20)]) as session:
        session.run()
        seen = hashes(session, (0, 10, session.tick))
        session.save_recording(tmp_path / "x.gpurec")
    with gpudbg.open(tmp_path / "x.gpurec") as again:
        assert hashes(again, seen) == seen
        assert np.array_equal(again.buffer("arg0"), out.array())
        again.restart()
        again.run()
        assert np.array_equal(again.buffer("arg0"), out.array())


def test_a_run_on_several_host_threads_is_recorded_where_one_comes_to_the_same(
    tmp_path: Path,
) -> None:
    with gpudbg.open(FIRST, engine="run") as session:
        session.grid.gpu.jobs = 2
        session.run()
        hashed = session.state_hash()
        session.save_recording(tmp_path / "x.gpurec")
        assert session.state_hash() == hashed
        assert session.grid.gpu.jobs == 2
        session.goto(20)
        session.command("set var $R3 = 7")
        session.run()
        with pytest.raises(gpudbg.CommandError, match="do not hold changes in a launch that runs"):
            session.save_recording(tmp_path / "x.gpurec")
    with gpudbg.open(tmp_path / "x.gpurec") as again:
        assert again.state_hash() == hashed
        assert again.reverse_step().kind == "step"


def test_accesses_that_are_dropped_are_recorded(tmp_path: Path) -> None:
    """Each move goes on without them where it did then, whatever holds now."""
    with gpudbg.open(FAULTY) as session:
        session.run(max_instructions=40)
        session.command("set on-fault continue")
        assert session.run().kind == "exited"
        session.command("set on-fault stop")
        seen = hashes(session, (39, 41, 200, session.tick))
        session.save_recording(tmp_path / "x.gpurec")
    with gpudbg.open(tmp_path / "x.gpurec") as again:
        assert hashes(again, seen) == seen
        assert not again.grid.gpu.on_fault.goes_on
        assert again.restart().kind == "step"
        assert again.run().kind == "warp_error"


def test_raw_words_are_recorded(tmp_path: Path) -> None:
    """With what the words do not say themselves; the file itself is not needed any more."""
    folder = Path("sessions/first_steps")
    with gpudbg.open(folder / "first_steps.cubin") as session:
        (tmp_path / "w.bin").write_bytes(session.kernel.code)
    raw = '\n[raw]\nparams = [8, 8, 4]\nshared_bytes = 256\n[sm]\narch = "sm_50"\n'
    (tmp_path / "w.toml").write_text((folder / "first_steps.toml").read_text() + raw)
    with gpudbg.open(tmp_path / "w.bin") as session:
        assert session.run().kind == "exited"
        hashed = session.state_hash()
        session.save_recording(tmp_path / "w.gpurec")
    (tmp_path / "w.bin").unlink()
    with gpudbg.open(tmp_path / "w.gpurec") as again:
        assert again.state_hash() == hashed
        assert again.reverse_step().kind == "step"


def test_options_that_change_on_the_way_are_carried_out_again(tmp_path: Path) -> None:
    """Each move has those that held while it went on, whatever holds now."""
    case = next(c for c in kc.cases("sm_50") if c.kernel == "fault_stack_overflow")
    path = tmp_path / "x.gpurec"
    with machines.launch(case, "run") as session:
        session.run(max_instructions=40)
        session.command("trap option call-limit 5")
        assert session.run().errors[0].name == "API_STACK_ERROR"
        tick, hashed = session.tick, session.state_hash()
        session.command("trap option call-limit 0")
        session.goto(20)
        assert session.run().kind == "warp_error"
        assert (session.tick, session.state_hash()) == (tick, hashed)
        assert session.grid.traps.options.call_limit == 0
        session.save_recording(path)
    with gpudbg.open(path) as again:
        assert (again.tick, again.state_hash()) == (tick, hashed)
        again.goto(20)
        assert again.run().errors[0].name == "API_STACK_ERROR"


def test_special_registers_of_a_launch_table_are_recorded(tmp_path: Path) -> None:
    folder = Path("sessions/first_steps")
    shutil.copy(folder / "first_steps.cubin", tmp_path / "w.cubin")
    special = '\n[special]\nmachine_id = 7\nswept = ["0.1"]\nqueue = { increment = 4, index = 9 }\n'
    (tmp_path / "w.toml").write_text((folder / "first_steps.toml").read_text() + special)
    with gpudbg.open(tmp_path / "w.cubin") as session:
        session.run(max_instructions=100)
        session.save_recording(tmp_path / "w.gpurec")
    with gpudbg.open(tmp_path / "w.gpurec") as again:
        assert again.command("print $SR_MACHINE_ID_0").text.split()[-1] == "7"
        queue = again.grid.gpu.special.queue
        assert queue is not None
        assert queue.index == 9
