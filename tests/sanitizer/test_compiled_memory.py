"""Bad accesses alone are looked for on compiled code: the findings are the step engine's."""

from __future__ import annotations

import pytest

import gpudbg
from gpudbg.sanitizer.monitor import RefusedMonitor
from tests.sanitizer.cases import Case, cases, prepare


@pytest.mark.parametrize(
    "case",
    [c for c in cases() if c.checks["class"].startswith("memory")][::3],
    ids=lambda case: case.id,
)
def test_findings_are_those_of_the_step_engine(case: Case) -> None:
    found = []
    for checks in (("memory",), ("memory", "sync")):
        program, _, launches = prepare(case)
        program.device.gpu.engine = "run" if len(checks) == 1 else "step"
        report = gpudbg.check(program, launches=launches, checks=checks)
        found.append(
            {(f.kind, f.cause, f.count, f.where) for f in report.findings if f.kind != "sync"}
        )
    assert found[0] == found[1]


def test_compiled_code_runs() -> None:
    program = gpudbg.load("tests/data/bench/cubin/saxpy.sm_50.cubin", engine="run")
    numbers = program.device.empty(1024, "float32")
    with program.launch(grid=4, block=256, args=[numbers, numbers, 1024, 2.0]) as session:
        with session.subscribe(RefusedMonitor((), lambda pc: None)):
            assert session.run().kind == "exited"
        assert session.grid.fast is not None
