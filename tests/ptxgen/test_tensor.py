"""`mma` of every shape and type gives what its model says: layouts, metadata, scales, rounding.

`make test` takes some of each group, each on one of its architectures in turn; `make test-all`
every one on all.
"""

from __future__ import annotations

import pytest

from tests.ptxgen.runner import DATA, Case, Suite, failures, run
from tests.variants import full, some

SUITE = Suite(DATA / "tensor.zip")
TARGETS = ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90", "sm_120a")


def _chosen(group: str) -> list[Case]:
    by_name: dict[str, list[Case]] = {}
    for case in SUITE.cases(*TARGETS):
        if case.group == group:
            by_name.setdefault(case.entry["name"], []).append(case)
    if full():
        return [case for cases in by_name.values() for case in cases]
    return some(group, [cases[n % len(cases)] for n, cases in enumerate(by_name.values())], 8)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("group", SUITE.groups())
def test_group(group: str) -> None:
    cases = _chosen(group)
    assert cases
    wrong = [line for case in cases for line in failures(case, run(case))]
    assert not wrong, "\n".join(wrong[:40])


def test_suite_is_complete() -> None:
    """The count is that of the last recording: a shrunk file would test less."""
    assert len(SUITE.manifest["entries"]) >= 237
    met = {target for entry in SUITE.manifest["entries"] for target in entry["cubin"]}
    assert met == set(TARGETS)
