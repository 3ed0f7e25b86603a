"""Every recorded PTX variant of float, half and conversion instructions gives what PTX says.

`make test` takes some of each group, each on one of its architectures in turn; `make test-all`
every one on all.
"""

from __future__ import annotations

import pytest

from tests.ptxgen.runner import DATA, Suite, failures, run
from tests.variants import in_turn, some

SUITES = {
    name: Suite(DATA / f"{name}.zip")
    for name in ("float", "convert", "half", "float_atom", "cuda_math")
}
GROUPS = [(name, group) for name, suite in SUITES.items() for group in suite.groups()]


@pytest.mark.in_turn(6)
@pytest.mark.parametrize(("name", "group"), GROUPS, ids=lambda x: x)
def test_group(name: str, group: str) -> None:
    found = [c for c in SUITES[name].cases() if c.group == group]
    cases = some(group, in_turn(found, lambda case: case.entry["name"]), 12)
    assert cases
    wrong = [line for case in cases for line in failures(case, run(case))]
    assert not wrong, "\n".join(wrong[:40])


def test_suites_are_complete() -> None:
    """The counts are those of the last recording: a shrunk file would test less."""
    counts = {name: len(suite.manifest["entries"]) for name, suite in SUITES.items()}
    assert counts["float"] >= 500
    assert counts["convert"] >= 450
    assert counts["half"] >= 400
