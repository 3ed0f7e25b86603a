"""Every case with a known verdict: what must be found is, and nothing else."""

from __future__ import annotations

import pytest

import gpudbg
from tests.sanitizer.cases import Case, cases, prepare, wrong


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.id)
def test_verdict(case: Case) -> None:
    program, made, launches = prepare(case)
    report = gpudbg.check(
        program, launches=launches, performance=bool(case.checks.get("performance")),
        max_instructions=2_000_000,
    )  # fmt: skip
    assert wrong(case, report, made) == []


def test_verdicts_do_not_depend_on_the_schedule() -> None:
    chosen = [c for c in cases() if c.id in ("shift-no_barrier", "ring-one_launch", "shift-clean")]
    for case in chosen:
        found = []
        for seed in (0, 7):
            program, _, launches = prepare(case)
            report = gpudbg.check(program, launches=launches, seed=seed)
            found.append({(f.kind, f.relation, f.fingerprint) for f in report.findings})
        assert found[0] == found[1]


def test_more_schedules_leave_the_results_of_the_first() -> None:
    case = next(c for c in cases() if c.id == "shift-clean")
    program, made, launches = prepare(case)
    report = gpudbg.check(program, launches=launches, schedules=3)
    assert report.schedules_run == 3
    assert wrong(case, report, made) == []
