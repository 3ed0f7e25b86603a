"""Recorded PTX variants of integer, memory, warp and control instructions give what PTX says.

The large groups hold every combination of types and selectors; a run takes each eighth of them,
starting at a different one per group, and all of the small groups.  GPUDBG_ALL_VARIANTS=1 in the
environment takes them all.
"""

from __future__ import annotations

import zlib

import pytest

from tests.ptxgen.runner import DATA, Case, Suite, failures, run
from tests.variants import full

SUITE = Suite(DATA / "int.zip")
LARGE = 40
STRIDE = 8


def _chosen(group: str) -> list[Case]:
    cases = [c for c in SUITE.cases() if c.group == group]
    if len(cases) <= LARGE or full():
        return cases
    return cases[zlib.crc32(group.encode()) % STRIDE :: STRIDE]


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
