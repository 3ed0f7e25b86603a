"""Recorded PTX variants of integer, memory, warp and control instructions give what PTX says.

The large groups hold every combination of types and selectors; `make test` takes some of each, at
equal distances, and `make test-all` every one.
"""

from __future__ import annotations

import pytest

from tests.ptxgen.runner import DATA, Case, Suite, failures, run
from tests.variants import some

SUITE = Suite(DATA / "int.zip")
MOST = 6


def _chosen(group: str) -> list[Case]:
    return some(group, [c for c in SUITE.cases() if c.group == group], MOST)


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("group", SUITE.groups())
def test_group(group: str) -> None:
    cases = _chosen(group)
    assert cases
    wrong = [line for case in cases for line in failures(case, run(case))]
    assert not wrong, "\n".join(wrong[:40])


def test_suite_is_complete() -> None:
    """The count is that of the last recording: a shrunk file would test less."""
    assert len(SUITE.manifest["entries"]) >= 4100
    assert not SUITE.manifest["refused_by_ptxas"]
