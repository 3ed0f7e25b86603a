"""The pytest plugin, as a project that uses it would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
TWINS = Path(__file__).parent / "twins.sm_52.cubin"
TESTS = f"""
import numpy as np, pytest

PROGRAM = {str(TWINS)!r}

def args():
    return [np.zeros((64, 4), np.float32), np.zeros((64, 4), np.float32)]

def test_clean(gpu):
    assert gpu.run(gpu.load(PROGRAM), "vec", block=64, args=args()).status == "clean"

def test_racy(gpu):
    gpu.run(PROGRAM, "vec_bad", block=64, args=args())

@pytest.mark.gpucheck("memory")
def test_looks_at_memory_alone(gpu):
    assert gpu.run(PROGRAM, "vec_bad", block=64, args=args()).checks == ("memory",)

def test_costs(gpu):
    report = gpu.check(PROGRAM, "vec", block=64, args=args(), performance=True)
    gpu.assert_no_bank_conflicts(report)
    gpu.assert_coalesced(report)
"""


@pytest.mark.full(instead="test_a_project")
def test_a_project_with_workers(pytester: pytest.Pytester) -> None:
    goes_through(pytester, "-n", "2")


def test_a_project(pytester: pytest.Pytester) -> None:
    goes_through(pytester)


def goes_through(pytester: pytest.Pytester, *workers: str) -> None:
    pytester.makepyfile(TESTS)
    plugin = ("-p", "gpudbg.frontends.pytest_plugin") if not _installed() else ()
    result = pytester.runpytest_subprocess(*plugin, *workers, "--gpudbg-sarif", "found.sarif")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*error: data race*", "*twins.cu:9*"])
    runs = json.loads((pytester.path / "found.sarif").read_text())["runs"]
    assert sorted(len(run["results"]) for run in runs) == [0, 0, 0, 1]


def _installed() -> bool:
    from importlib.metadata import entry_points

    return bool(entry_points(group="pytest11", name="gpudbg"))
