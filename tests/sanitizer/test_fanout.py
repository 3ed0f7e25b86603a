"""Checks on a Dask cluster: parts that make one report, lost workers, cancelling."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudbg.errors import ModelGap
from gpudbg.frontends.verbs.check import _parser, checked_part
from gpudbg.frontends.verbs.check_fanout import _local, fanned_out, parts_of
from gpudbg.frontends.verbs.check_units import units_of
from gpudbg.sanitizer import CheckReport

ROOT = Path(__file__).parents[2]
KERNEL = str(ROOT / "sessions/first_steps/first_steps.cubin")
CHECKS = ("race", "init")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers, which find the tests."""
    distributed: Any = importlib.import_module("distributed")
    kept = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT)
    try:
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as made:
            yield made
    finally:
        os.environ.pop("PYTHONPATH")
        if kept is not None:
            os.environ["PYTHONPATH"] = kept


def flags(cluster: Any, *more: str) -> argparse.Namespace:
    given = [KERNEL, "--dask", cluster.scheduler_address, *more]
    found: argparse.Namespace = _parser().parse_args(given)
    return found


def dies_once(path: str, args: argparse.Namespace) -> CheckReport:
    """Its worker is killed in the middle of the first part of `race`."""
    mark = Path(args.output[0])
    if args.checks == "race" and not mark.exists():
        mark.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return checked_part(path, argparse.Namespace(**{**vars(args), "output": []}))


def sleeps(path: str, args: argparse.Namespace) -> CheckReport:
    time.sleep(60 * (args.checks == "race"))
    return CheckReport(program={"file": path, "arch": "sm_50"})


def test_a_check_is_parted_by_checks_and_schedules() -> None:
    args = _parser().parse_args([KERNEL, "--schedules", "7"])
    found = [(p.checks, p.first_schedule, p.schedules) for _, p in parts_of(KERNEL, args, CHECKS)]
    assert found == [("race", 1, 5), ("race", 5, 3), ("init", 1, 5), ("init", 5, 3)]
    alone = parts_of(KERNEL, _parser().parse_args([KERNEL]), CHECKS)
    assert [p.schedules for _, p in alone] == [1, 1]


def test_each_table_of_a_program_is_a_launch(tmp_path: Path) -> None:
    for name in ("k.cu", "k.toml", "k.large.toml", "other.toml", "l.cu", "l.toml"):
        (tmp_path / name).write_text("")
    args = _parser().parse_args([str(tmp_path)])
    found = [
        (Path(p).name, a.launch and Path(a.launch).name) for p, a in units_of([str(tmp_path)], args)
    ]
    assert found == [("k.cu", "k.toml"), ("k.cu", "k.large.toml"), ("l.cu", None)]
    chosen = ["--launch", str(tmp_path / "other.toml"), "--launch", str(tmp_path / "l.toml")]
    path = str(tmp_path / "k.cu")
    tables = [a.launch for _, a in units_of([path], _parser().parse_args([path, *chosen]))]
    assert tables == chosen[1::2]


@pytest.mark.full(instead="test_a_check_is_parted_by_checks_and_schedules")
def test_work_of_a_killed_worker_is_done_again(cluster: Any, tmp_path: Path) -> None:
    mark = tmp_path / "killed"
    args = flags(cluster, "--schedules", "2")
    args.output = [str(mark)]
    told: list[tuple[int, int]] = []
    reports = fanned_out([(KERNEL, args)], CHECKS, dies_once, lambda *n: told.append(n))
    assert mark.exists()
    assert told == [(1, 2), (2, 2)]
    report = reports[0]
    assert report.status == "clean"
    assert set(report.checks) == set(CHECKS)
    assert report.schedules_run == 2
    assert report.launches_run == 1


@pytest.mark.full(instead="test_a_check_is_parted_by_checks_and_schedules")
def test_ctrl_c_cancels_what_has_not_ended(cluster: Any) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    units = [(KERNEL, flags(cluster))]
    (report,) = fanned_out(units, ("init", "race"), sleeps, interrupt)
    assert (report.exit_code, report.faults) == (3, ("stopped by Ctrl-C",))


def test_workers_that_do_not_start_are_a_gap_with_a_reason() -> None:
    class Library:
        def LocalCluster(self, **_: object) -> None:  # noqa: N802 - Dask's name
            raise RuntimeError("Nanny failed to start.")

    with pytest.raises(ModelGap, match="the workers did not start: Nanny failed") as caught:
        _local(Library())
    assert caught.value.exit_code == 4
