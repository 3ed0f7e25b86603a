"""Checks that are ended early keep what they have found; schedules side by side find the same.

`endless.sm_80.cubin` is `endless.cu` as NVRTC compiles it with `-lineinfo`.
"""

from __future__ import annotations

import signal
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from gpudbg.frontends.verbs.check import main
from gpudbg.sanitizer import CheckSettings, CheckStopper, LaunchPlan, check_plan

HERE = Path(__file__).parent
ENDLESS = str(HERE / "endless.sm_80.cubin")
TWINS = str(HERE / "twins.sm_80.cubin")


def test_time_that_is_over_ends_all_passes(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        [
            ENDLESS,
            "--kernel",
            "endless",
            "--arg",
            "out=i32[64]:zeros",
            "--block",
            "32",
            "--timeout",
            "1",
        ]
    )
    text = capsys.readouterr().out
    assert code == 3
    assert "stopped after 1 seconds (--timeout) at endless+0x" in text
    assert text.count("stopped after") == 1


def test_what_was_found_before_the_end_stays() -> None:
    """The second launch is ended before it begins."""
    program = gpudbg.load(ENDLESS)
    stopper, out = CheckStopper(), program.device.buffer(np.zeros(32, np.int32))
    begin = partial(_begin, out)

    def ended(program: Any) -> Any:
        stopper.stop("enough")
        return begin(program)

    plan = LaunchPlan(program, [begin, ended], stopper=stopper)
    report = check_plan(plan, CheckSettings(max_instructions=500))
    assert [f.kind for f in report.findings] == ["out_of_bounds"]
    assert (report.exit_code, report.launches_run) == (1, 1)

    stopper.stop("enough")
    again = check_plan(LaunchPlan(program, [begin], stopper=stopper))
    assert (again.status, again.exit_code, again.faults) == ("fault", 3, ("enough",))


def _begin(out: Any, program: Any) -> Any:
    return program.launch("endless", block=32, args=[out])


@pytest.mark.full(instead="test_time_that_is_over_ends_all_passes")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("kernel", ["lastb", "lastb_bad"])
def test_schedules_side_by_side_find_the_same(kernel: str) -> None:
    reports = []
    for jobs in (1, 3):
        program = gpudbg.load(TWINS)
        args = [np.arange(64, dtype=np.int32), np.zeros(3, np.int32), np.zeros(1, np.int32)]
        buffers = [program.device.buffer(a) for a in args]
        report = gpudbg.check(
            program, kernel, grid=3, block=32, args=buffers, schedules=5, jobs=jobs
        )
        reports.append((report, [b.array().tolist() for b in buffers]))
    (one, left), (other, left_there) = reports
    assert left == left_there
    assert [f.fingerprint for f in one.findings] == [f.fingerprint for f in other.findings]
    assert one.schedule_numbers == other.schedule_numbers == (0, 1, 2, 3, 4)
    assert (one.instructions, one.status) == (other.instructions, other.status)


@pytest.mark.parametrize(("width", "want"), [(32, None), (20, ("out_of_bounds", "past_end", 12))])
def test_a_surface_outside_of_its_format(width: int, want: Any) -> None:
    program = gpudbg.load(ENDLESS)
    surface = program.device.surface(np.zeros((8, width), np.int32))
    report = gpudbg.check(program, "surf", block=32, args=[surface, np.zeros(32, np.int32)])
    found = [(f.kind, f.cause, f.count) for f in report.findings]
    assert found == ([] if want is None else [want])
    assert all(f.space == "surface" for f in report.findings)
    assert report.exit_code == (1 if want else 0)


@pytest.mark.parametrize("arch", ["sm_52", "sm_80"])
@pytest.mark.parametrize("kernel", ["atomic_for_ever", "load_for_ever"])
def test_a_loop_round_a_refused_access_is_one_finding(kernel: str, arch: str) -> None:
    """What is left out gives 0 each time: that the loop never ends is shown, not waited for."""
    program = gpudbg.load(str(HERE / f"dropped.{arch}.cubin"))
    x = program.device.buffer(np.zeros(4, np.int32))
    report = gpudbg.check(
        program, kernel, block=32, args=[x, 64], checks=("memory", "sync"), max_instructions=100_000
    )
    assert [(f.kind, f.cause) for f in report.findings] == [("out_of_bounds", "past_end")]
    assert report.findings[0].where.endswith("; the loop round it never ends")
    assert (report.exit_code, report.faults) == (1, ())


def test_a_loop_that_a_refused_access_ends_goes_on() -> None:
    program = gpudbg.load(str(HERE / "dropped.sm_80.cubin"))
    x = program.device.buffer(np.zeros(4, np.int32))
    report = gpudbg.check(program, "atomic_once", args=[x, 64], checks=("memory", "sync"))
    assert [f.kind for f in report.findings] == ["out_of_bounds"]
    assert "never ends" not in report.findings[0].where
    assert x[0] == 1


def test_ctrl_c_ends_the_checks_of_all_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The launches behind the present one are not begun."""
    table = 'kernel = "endless"\nblock = 32\nargs = ["x"]\n[buffers.x]\ntype = "i32"\ncount = 64\n'
    (tmp_path / "e.cubin").write_bytes(Path(ENDLESS).read_bytes())
    for name in ("e.toml", "e.two.toml", "e.three.toml"):
        (tmp_path / name).write_text(table)
    timer = threading.Timer(0.5, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    code = main([str(tmp_path), "--checks", "sync", "--timeout", "20"])
    text = capsys.readouterr().out
    assert code == 3
    assert text.count("fault: stopped by Ctrl-C") == 3
