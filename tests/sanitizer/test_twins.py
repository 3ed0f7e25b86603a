"""Defects beside clean twins, on code whose lanes run in lock-step and on code where they do not.

`python -m tests.sanitizer.test_twins` compiles `twins.cu` (one kernel a line) anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpudbg

HERE = Path(__file__).parent
ARCHITECTURES = ("sm_52", "sm_80")
I32 = np.int32


def zeros(count: int) -> Any:
    return np.zeros(count, I32)


BYTES = np.arange(256, dtype=np.uint8)
REALS = np.linspace(0, 1, 64, dtype=np.float32)
FOURS = np.zeros((64, 4), np.float32)
SMALL = np.arange(2048, dtype=I32) % 8
WIDE = np.arange(64, dtype=I32)


class Twin(NamedTuple):
    """A launch, and (kind, space, severity) of what it has."""

    grid: int
    block: int
    args: list[Any]
    found: set[tuple[str, str | None, str]]
    independent: set[tuple[str, str | None, str]] | None = None
    """From sm_70 on, where that is something else."""


UNSET = ("uninitialised", "shared", "error")
RACE_SHARED = ("race", "shared", "error")
RACE_GLOBAL = ("race", "global", "error")
TWINS = {
    "hist": Twin(2, 64, [BYTES, zeros(32), 256], set()),
    "hist_bad": Twin(2, 64, [BYTES, zeros(32), 256], {RACE_SHARED, UNSET}, {RACE_SHARED}),
    "fsum": Twin(2, 64, [REALS, np.zeros(2, np.float32)], set()),
    "fmaxs": Twin(2, 64, [REALS, zeros(2)], set()),
    "lock": Twin(4, 32, [zeros(1), zeros(1)], set()),
    "lock_bad": Twin(4, 32, [zeros(1), zeros(1)], {RACE_GLOBAL}),
    "vec": Twin(1, 64, [FOURS, FOURS], set()),
    "vec_bad": Twin(1, 64, [FOURS, FOURS], {RACE_SHARED}),
    "wred": Twin(1, 32, [SMALL, zeros(1)], set()),
    "wred_bad": Twin(1, 32, [SMALL, zeros(1)], set(), {RACE_SHARED}),
    "flags": Twin(2, 32, [zeros(1), zeros(1), zeros(1)], set()),
    "flags_bad": Twin(2, 32, [zeros(1), zeros(1), zeros(1)], {RACE_GLOBAL}),
    "same": Twin(2, 32, [zeros(1)], {("race", "global", "warning")}),
    "pf": Twin(1, 32, [zeros(4)], set()),
    "loc": Twin(1, 32, [SMALL, zeros(32), 16], set()),
    "loc_bad": Twin(1, 32, [WIDE, zeros(32), 16], {("uninitialised", "local", "error")}),
    "dfree": Twin(1, 1, [zeros(1)], {("double_free", "global", "error")}),
    "smask": Twin(1, 32, [zeros(1)], set()),
    "smask_bad": Twin(1, 32, [zeros(1)], set(), {("sync", None, "error")}),
    "dbuf": Twin(1, 64, [SMALL, zeros(64), 8], set()),
    "lastb": Twin(3, 32, [WIDE, zeros(3), zeros(1)], set()),
    "lastb_bad": Twin(3, 32, [WIDE, zeros(3), zeros(1)], {RACE_GLOBAL}),
    "split_bad": Twin(1, 64, [WIDE, zeros(64)], {("sync", None, "error")}),
    "halves": Twin(1, 32, [WIDE, zeros(32)], set()),
    "halves_bad": Twin(1, 32, [WIDE, zeros(32)], set(), {RACE_SHARED}),
    "partsum_bad": Twin(1, 64, [WIDE, zeros(1), 50], {UNSET}),
    "partmax_bad": Twin(1, 64, [WIDE, zeros(1), 50], {UNSET}),
    "both": Twin(1, 64, [WIDE, zeros(64), 50], set()),
    "both_bad": Twin(1, 64, [WIDE, zeros(64), 50], {UNSET}),
    # The read always comes first: what is forgotten about reads is missing here.
    "after": Twin(2, 32, [zeros(1), zeros(1), zeros(1)], set()),
    "after_bad": Twin(2, 32, [zeros(1), zeros(1), zeros(1)], {RACE_GLOBAL}),
    "over": Twin(1, 32, [WIDE, zeros(32)], set()),
    "over_bad": Twin(1, 32, [WIDE, zeros(32)], set(), {RACE_SHARED}),
}
INDEPENDENT = {
    "lanelock": Twin(1, 64, [zeros(1)], set()),
    "lanelock_bad": Twin(1, 64, [zeros(1)], {RACE_SHARED}),
}
"""Code that lanes in lock-step would never end."""


def line_of(kernel: str) -> int:
    rows = (HERE / "twins.cu").read_text().splitlines()
    return next(n for n, row in enumerate(rows, 1) if f" {kernel}(" in row)


@pytest.mark.in_turn(8)
@pytest.mark.parametrize(
    ("kernel", "arch"),
    [(k, a) for k in TWINS for a in ARCHITECTURES] + [(k, "sm_80") for k in INDEPENDENT],
)
def test_twin(kernel: str, arch: str) -> None:
    twin = (TWINS | INDEPENDENT)[kernel]
    report = gpudbg.check(
        str(HERE / f"twins.{arch}.cubin"), kernel, grid=twin.grid, block=twin.block,
        args=twin.args, max_instructions=200_000,
    )  # fmt: skip
    want = twin.found
    if arch == "sm_80" and twin.independent is not None:
        want = twin.independent
    found = {(f.kind, f.space, f.severity) for f in report.findings if f.severity != "note"}
    assert found == want
    lines = {a.line for f in report.findings for a in f.accesses}
    assert lines <= {line_of(kernel)}
    assert (report.status == "clean") == (not want)


def build() -> None:
    """Compile the kernels."""
    from tests.kernels_own.build import nvrtc

    text = (HERE / "twins.cu").read_text()
    for arch in ARCHITECTURES:
        options = [f"--gpu-architecture={arch}", "--generate-line-info"]
        (HERE / f"twins.{arch}.cubin").write_bytes(nvrtc(text, "twins.cu", options))


if __name__ == "__main__":
    build()
