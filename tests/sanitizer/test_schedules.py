"""Schedules that show what a race does: found, made short, written down and replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.assembler import assemble_file
from gpudbg.cli import main
from gpudbg.errors import UsageError
from gpudbg.sanitizer.schedules import RunOutcome, plan_of, shortened
from gpudbg.sm.schedule.plan import SchedulePlan
from tests.sanitizer.cases import Case, cases, prepare


@pytest.mark.parametrize("plan", [SchedulePlan(), SchedulePlan(7, (1, 2, 4000)), plan_of(8, 3, 90)])
def test_a_plan_is_a_seed_a_text_and_a_file(plan: SchedulePlan, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(plan.to_json()))
    assert SchedulePlan.of(plan.seed) == plan
    assert SchedulePlan.read(plan.text) == plan
    assert SchedulePlan.read(str(file)) == plan
    assert SchedulePlan.of(4_000_000_000) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "a.json:1: no schedule file"),
        ('{"schema": "other"}', "its schema is not gpudbg-schedule/2"),
        ('{"schema": "gpudbg-schedule/2", "order": 1, "switches": [0]}', "ticks from 1 on"),
    ],
)
def test_what_is_no_schedule_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        SchedulePlan.read(str(file))
    with pytest.raises(UsageError, match="such as 3:17,40"):
        SchedulePlan.read("3:x")


def test_only_the_switches_that_matter_are_kept() -> None:
    """Here a switch at tick 20 or later than that shows it."""
    tried: list[SchedulePlan] = []

    def run(plan: SchedulePlan) -> RunOutcome:
        tried.append(plan)
        wrong = any(tick >= 20 for tick in plan.switches)
        return RunOutcome(("exited",), (("out", str(wrong), bytes([wrong, 0, 0, 0])),), 50)

    shown = shortened(SchedulePlan(3, (5, 11, 40)), run(SchedulePlan()), run)
    assert shown is not None
    assert shown.plan.order == 0
    assert len(shown.plan.switches) == 1
    assert 20 <= shown.plan.switches[0] < 40
    assert shown.what == "out differs from byte 0 on: 0x00000001, not 0x00000000"
    assert shortened(SchedulePlan(3, (5,)), run(SchedulePlan()), run) is None


def case(name: str) -> Case:
    return next(c for c in cases() if c.id == name)


def results(program: Any, launches: list[dict[str, Any]], made: dict[str, Any]) -> bytes:
    for launch in launches:
        with program.launch(**launch) as session:
            session.run()
    return b"".join(buffer.array().tobytes() for buffer in made.values())


def test_a_race_is_shown_and_replayed() -> None:
    program, _, launches = prepare(case("shift-no_barrier"))
    report = gpudbg.check(program, launches=launches, schedules=3)
    assert report.schedule is not None
    text = "\n".join(report.lines())
    assert f"replay with --schedule {report.schedule.text}" in text
    assert report.to_json()["schedule"]["switches"] == list(report.schedule.plan.switches)
    found = []
    for seed in (0, report.schedule.plan.seed, report.schedule.plan.seed):
        program, made, launches = prepare(case("shift-no_barrier"))
        program.device.gpu.seed = seed
        found.append(results(program, launches, made))
    assert found[0] != found[1] == found[2]


def test_a_clean_program_has_nothing_to_show() -> None:
    program, _, launches = prepare(case("shift-clean"))
    report = gpudbg.check(program, launches=launches, schedules=4)
    assert report.schedule is None
    assert report.status == "clean"


def test_the_command_line_refuses_a_broken_schedule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.json"
    file.write_text("no")
    kernel = "sessions/first_steps/first_steps.cubin"
    assert main(["check", kernel, "--schedule", str(file)]) == 2
    assert f"{file}:1: no schedule file" in capsys.readouterr().err


BUMP = """
.kernel bump
.param 8
    S2R R0, SR_TID.X ;
    SHL R0, R0, 0x2 ;
    IADD R2.CC, R0, c[0x0][0x140] ;
    IADD.X R3, RZ, c[0x0][0x144] ;
    LDG.E R4, [R2] ;
    IADD R4, R4, 0x1 ;
    STG.E [R2], R4 ;
    EXIT ;
"""


def test_an_update_is_lost_between_two_instructions_that_nothing_separates() -> None:
    """Both blocks add one to each word; there is neither a branch nor a barrier on the way."""
    image = assemble_file(BUMP).cubin()
    words = np.zeros(32, np.int32)
    report = gpudbg.check(image, grid=2, block=32, args=[words], schedules=5)
    assert report.schedule is not None
    (switch,) = report.schedule.plan.switches
    # After the first block's load, the fifth instruction, and before its store, the seventh.
    assert switch in (5, 6)
    # Every run began with the array as it was given, the one whose results stay, too.
    assert set(words.tolist()) == {2}
    program = gpudbg.load(image)
    for seed, total in ((0, 2), (report.schedule.plan.seed, 1)):
        program.device.gpu.seed = seed
        with program.launch(grid=2, block=32, args=[np.zeros(32, np.int32)]) as session:
            session.run()
            assert set(session.buffer(0).tolist()) == {total}
            session.goto(3)
            session.run()
            assert set(session.buffer(0).tolist()) == {total}


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("engine", ["step", "run"])
def test_a_schedule_of_many_switches_is_replayed(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its seed is a number of any length, on both engines and in recordings."""
    plan = SchedulePlan(3, (1, 5, 9, 40, 41, 1000))
    file, recording = tmp_path / "a.json", tmp_path / "a.gpurec"
    file.write_text(json.dumps(plan.to_json()))
    kernel = "sessions/first_steps/first_steps.cubin"
    for given in (str(file), plan.text):
        assert main(["run", kernel, "--schedule", given, "--engine", engine]) == 0
    assert main(["record", kernel, "--schedule", str(file), "-o", str(recording)]) == 0
    assert main(["--batch", "-ex", "bt", str(recording)]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err
    with gpudbg.open(str(recording)) as session:
        assert session.grid.gpu.seed == plan.seed
