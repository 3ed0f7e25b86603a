"""Defects of asynchronous code beside clean twins of our own.

`python -m tests.sanitizer.test_async_twins` compiles `async_twins.cu` (one kernel a line) anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg

HERE = Path(__file__).parent
RACE, SYNC = "race", "sync"
EARLY = {
    "commit_late": {(RACE, "pending")},
    "commit_clean": set(),
    "twice": {(RACE, "pending")},
    "store_over": {(RACE, "pending")},
    "bar_copies": set(),
    "bar_thread": {(RACE, "pending")},
    "bar_only_copies": {(RACE, "read_write")},
    "bar_data": set(),
    "bar_no_init_order": {(RACE, "read_write")},
}
LATE = {
    **EARLY,
    "ring": set(),
    "ring_early": {(RACE, "read_write")},
    "reinit": {(SYNC, "mbarrier_reinit")},
    "reinit_clean": set(),
    "no_init": {(SYNC, "mbarrier_uninitialised")},
    "bytes_touched": {(SYNC, "mbarrier_access")},
    "underflow": {(SYNC, "mbarrier_underflow"), (SYNC, "pending_at_exit")},
    "few": {(SYNC, "deadlock")},
    "store_waits": set(),
    "store_reads": {(RACE, "pending")},
    "store_leaves": {(SYNC, "pending_at_exit")},
    "fence_early": {(RACE, "proxy")},
    "fence_issuer": set(),
    "st_async": set(),
    "st_async_no_wait": {(RACE, "read_write")},
}
BLOCKS = {"ring": 96, "ring_early": 96, "reinit": 32, "reinit_clean": 32, "no_init": 32, "few": 32}
BLOCKS |= {"bytes_touched": 32, "underflow": 32, "st_async": 32, "st_async_no_wait": 32}
ONE_ARGUMENT = ("reinit", "reinit_clean", "no_init", "bytes_touched", "underflow", "few")
CASES = [("sm_80", name) for name in EARLY] + [("sm_90a", name) for name in LATE]


@pytest.mark.in_turn(7)
@pytest.mark.parametrize(("arch", "kernel"), CASES)
def test_twin(arch: str, kernel: str) -> None:
    numbers, out = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
    report = gpudbg.check(
        str(HERE / f"async_twins.{arch}.cubin"), kernel, block=BLOCKS.get(kernel, 64),
        grid=2 if kernel.startswith("st_async") else 1,
        args=[out] if kernel in ONE_ARGUMENT else [numbers, out], max_instructions=20_000,
    )  # fmt: skip
    found = {(f.kind, f.cause) for f in report.findings if f.severity != "note"}
    assert found == LATE[kernel], report.lines()
    assert {a.line for f in report.findings for a in f.accesses} <= {line_of(kernel)}
    assert (report.status == "clean") == (not found)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("kernel", "overlap", "want"),
    [
        ("second", True, set()),
        ("second_no_wait", False, set()),
        ("second_no_wait", True, {(RACE, "pending"), (SYNC, "missing_grid_wait")}),
        ("second_late", True, {(RACE, "pending")}),
    ],
)
def test_dependent_launch(kernel: str, overlap: bool, want: set[Any]) -> None:
    program = gpudbg.load(str(HERE / "async_twins.sm_90a.cubin"))
    x, y = (program.device.buffer(np.zeros(64, np.int32)) for _ in range(2))
    launches: list[dict[str, Any]] = [
        {"kernel": "first", "block": 64, "args": [x]},
        {"kernel": kernel, "block": 64, "args": [x, y], "overlap": overlap},
    ]
    report = gpudbg.check(program, launches=launches)
    assert {(f.kind, f.cause) for f in report.findings} == want
    assert all(f.relation == "launches" for f in report.findings if f.kind == RACE)


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    ("kernel", "want"),
    [("clean", set()), ("over", {(RACE, "pending")}), ("nofence", {(RACE, "proxy")})],
)
def test_product_of_a_warp_group(kernel: str, want: set[Any]) -> None:
    report = gpudbg.check(
        str(HERE / "products.sm_90a.cubin"), kernel, block=128,
        args=[np.ones(1152, np.uint16), np.zeros(512, np.float32)],
    )  # fmt: skip
    assert {(f.kind, f.cause) for f in report.findings} == want
    assert all("gmma_read" in [a.kind for a in f.accesses] for f in report.findings)


def line_of(kernel: str, source: str = "async_twins.cu") -> int:
    rows = (HERE / source).read_text().splitlines()
    heads = (f" {kernel}(", f" {kernel} (", f" {kernel} ARGS")
    return next(n for n, row in enumerate(rows, 1) if any(head in row for head in heads))


def build() -> None:
    """Compile the kernels."""
    from tests.kernels_own.build import nvrtc

    text = (HERE / "async_twins.cu").read_text()
    for arch in ("sm_80", "sm_90a"):
        options = [f"--gpu-architecture={arch}", "--generate-line-info"]
        (HERE / f"async_twins.{arch}.cubin").write_bytes(nvrtc(text, "async_twins.cu", options))
    made = nvrtc((HERE / "products.cu").read_text(), "products.cu", options)
    (HERE / "products.sm_90a.cubin").write_bytes(made)


if __name__ == "__main__":
    build()
