"""Schedules of a check in processes side by side, each with a copy of the device."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from gpudbg.sanitizer.merging import merged
from gpudbg.sanitizer.report import CheckReport

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from gpudbg.sanitizer.launch_plan import LaunchPlan
    from gpudbg.sanitizer.settings import CheckSettings

_LOST: Final = "a process that checked schedules {0} to {1} was lost"


def parts(schedules: int, jobs: int) -> list[tuple[int, int]]:
    """(first, count) of the schedules beside the plain one, split into even parts."""
    total = schedules - 1
    count = max(1, min(jobs, total))
    ends = [total * n // count for n in range(count + 1)]
    return [(1 + a, b - a) for a, b in pairwise(ends)]


def side_by_side(
    checked: Callable[..., CheckReport], launches: LaunchPlan, settings: CheckSettings, jobs: int
) -> CheckReport:
    """The report of all schedules, `jobs` parts of them at once.

    Args:
        checked: checks the plain schedule and, from a number on, as many as the settings say;
            with `plain=False` these alone.
    """
    rows = parts(settings.schedules, jobs)
    if len(rows) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return checked(launches, settings, 1)
    # Large buffers would be shared with a forked process until their contents are kept.
    kept = launches.program.device.gpu.memory.checkpoint()
    context = multiprocessing.get_context("fork")
    begun = []
    for first, count in rows[1:]:
        here, there = context.Pipe(duplex=False)
        some = replace(settings, schedules=count + 1)
        process = context.Process(
            target=_part, args=(checked, launches, some, first, there), daemon=True
        )
        process.start()
        there.close()
        begun.append((process, here, first, count))
    reports = []
    try:
        mine = replace(settings, schedules=rows[0][1] + 1)
        reports.append(checked(launches, mine, rows[0][0]))
        for process, here, first, count in begun:
            reports.append(_received(here, first, count, reports[0]))
            process.join()
    finally:
        for process, _, _, _ in begun:
            process.terminate()
        del kept
    one = reports[0]
    return replace(
        merged(reports), stop=one.stop, instructions=one.instructions, seconds=one.seconds
    )


def _part(
    checked: Callable[..., CheckReport], launches: LaunchPlan, settings: CheckSettings, first: int,
    there: Connection,
) -> None:  # fmt: skip
    """Body of a process: check its part and send the report."""
    with launches.stopper.limited_as_before():
        there.send(replace(checked(launches, settings, first, plain=False), stop=None))
    there.close()


def _received(here: Any, first: int, count: int, other: CheckReport) -> CheckReport:
    """The report of a process; a lost one counts as unable to judge."""
    try:
        report: CheckReport = here.recv()
    except EOFError:
        text = _LOST.format(first, first + count - 1)
        return CheckReport(gap=text, checks=other.checks, program=other.program)
    return report
