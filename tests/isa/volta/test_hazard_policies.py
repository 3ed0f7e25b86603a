"""`info policy hazard` shows the numbers that hazard checks use."""

from __future__ import annotations

from gpudbg.isa.volta.latency import TIMING
from gpudbg.sm.policy import POLICIES

ROWS = {p.name: p for p in POLICIES if p.name.startswith("hazard-")}
FILES = {"R0": "registers", "P0": "predicates", "UR4": "uniform registers"}


def test_rows_name_the_latencies_that_are_checked() -> None:
    least, tested = ROWS["hazard-stall-wide"].rule.split("tests it:")
    for resource, words in FILES.items():
        assert f" {words} {TIMING.latency(resource, tested=False)}" in least
        safe = f"{words} {TIMING.safe_latency(resource, tested=False)}"
        assert safe in ROWS["hazard-stall-scheduler"].rule
    assert f"uniform predicates {TIMING.latency('UP0', tested=True)}" in tested


def test_judgements_are_not_called_documented() -> None:
    assert {p.certainty for p in ROWS.values()} == {"inferred", "modelled"}
    assert " 6 cycles " in ROWS["hazard-tensor"].rule
