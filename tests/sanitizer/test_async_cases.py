"""Copies, mbarriers, clusters, views: cases with known verdicts; what must be found is, and nothing
else."""

from __future__ import annotations

import pytest

import gpudbg
from tests.sanitizer.cases import Case, cases_beside, prepare, wrong


@pytest.mark.in_turn(12)
@pytest.mark.parametrize("case", list(cases_beside()), ids=lambda case: case.id)
def test_verdict(case: Case) -> None:
    program, made, launches = prepare(case)
    report = gpudbg.check(program, launches=launches, max_instructions=2_000_000)
    assert wrong(case, report, made) == []


def test_verdicts_do_not_depend_on_the_schedule() -> None:
    chosen = ("stages-reuse_too_early-sm_80", "bulk_in-no_wait-sm_90a", "dsmem-early_exit-sm_90a")
    for case in (c for c in cases_beside() if c.id in chosen):
        found = []
        for seed in (0, 3):
            program, _, launches = prepare(case)
            report = gpudbg.check(program, launches=launches, seed=seed)
            found.append({(f.kind, f.cause, f.relation, f.fingerprint) for f in report.findings})
        assert found[0] == found[1]
