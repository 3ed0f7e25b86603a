"""PTX variants on sm_75, 80, 89 and 90: what these added, and a sample of what sm_50 has.

`make test` takes some of each group, each on one of its architectures in turn; `make test-all`
every one on all.
"""

from __future__ import annotations

import pytest

from tests.ptxgen.runner import DATA, Case, Suite, failures, run
from tests.variants import full, some

SUITES = {
    name: Suite(DATA / f"{name}.zip") for name in ("modern_float", "modern_int", "modern_base")
}
GROUPS = [(name, group) for name, suite in SUITES.items() for group in suite.groups()]


def _chosen(name: str, group: str) -> list[Case]:
    by_name: dict[str, list[Case]] = {}
    for case in SUITES[name].cases():
        if case.group == group:
            by_name.setdefault(case.entry["name"], []).append(case)
    if full():
        return [case for cases in by_name.values() for case in cases]
    # Two by two, so that every architecture is met.
    return some(group, [c[n // 2 % len(c)] for n, c in enumerate(by_name.values())], 4)


@pytest.mark.in_turn(14)
@pytest.mark.parametrize(("name", "group"), GROUPS, ids=lambda x: x)
def test_group(name: str, group: str) -> None:
    cases = _chosen(name, group)
    assert cases
    wrong = [line for case in cases for line in failures(case, run(case))]
    assert not wrong, "\n".join(wrong[:40])


def test_suites_are_complete() -> None:
    """The counts are those of the last recording: a shrunk file would test less."""
    counts = {name: len(suite.manifest["entries"]) for name, suite in SUITES.items()}
    assert counts["modern_float"] >= 234
    assert counts["modern_int"] >= 404
    assert counts["modern_base"] >= 220
