"""Patterns of public suites (Indigo, ScoR, DataRaceBench) anew: defects beside clean twins.

`python -m tests.sanitizer.test_suites` compiles `suites.cu` (one kernel a line) anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpudbg
from tests.sanitizer.test_async_twins import line_of

HERE = Path(__file__).parent
ARCHITECTURES = ("sm_52", "sm_80")
I32 = np.int32


def zeros(count: int) -> Any:
    return np.zeros(count, I32)


class Pattern(NamedTuple):
    """A launch, and `kind/space:severity` of what it has."""

    grid: int
    block: int | tuple[int, int]
    args: list[Any]
    found: str = ""


INDEX = 4 * np.arange(61, dtype=I32)
LIST = np.random.default_rng(3).integers(0, 60, 240).astype(I32)
COUNT = I32(60)
IN = np.arange(1024, dtype=I32)
GRAPH = [INDEX, LIST, zeros(60), COUNT]
PULL = [INDEX, LIST, IN[:60].copy(), zeros(60), COUNT]
WORK = [INDEX, LIST, zeros(64), zeros(1), COUNT]
TWO = [zeros(2), zeros(2)]
SUM = [IN[:256].copy(), zeros(1)]
GLOBAL, SHARED, PAST = "race/global:e", "race/shared:e", "out_of_bounds/global:e"
PATTERNS = {
    "push": Pattern(2, 32, GRAPH),
    "push_no_atomic": Pattern(2, 32, GRAPH, GLOBAL),
    "push_no_guard": Pattern(2, 32, GRAPH, PAST),
    "pull": Pattern(2, 32, PULL),
    "pull_in_place": Pattern(2, 32, PULL, GLOBAL),
    "pull_bounds": Pattern(2, 32, PULL, PAST),
    "worklist": Pattern(2, 32, WORK),
    "worklist_no_atomic": Pattern(2, 32, WORK, GLOBAL),
    "flag_any": Pattern(2, 32, GRAPH),
    "flag_any_plain": Pattern(2, 32, GRAPH, "race/global:w"),
    "best": Pattern(2, 32, GRAPH),
    "best_checked": Pattern(2, 32, GRAPH),
    "best_plain": Pattern(2, 32, GRAPH, GLOBAL),
    "block_sum": Pattern(2, 128, SUM),
    "block_sum_sync": Pattern(2, 128, SUM, SHARED),
    "block_sum_plain": Pattern(2, 128, SUM, GLOBAL),
    "locked": Pattern(2, 32, TWO),
    "locked_no_release": Pattern(2, 32, TWO, GLOBAL),
    "locked_block_fence": Pattern(2, 32, TWO, GLOBAL),
    "message": Pattern(2, 32, TWO),
    "message_no_fence": Pattern(2, 32, TWO, GLOBAL),
    "ticket": Pattern(2, 32, TWO),
    "ticket_no_fence": Pattern(2, 32, TWO, GLOBAL),
    "shift": Pattern(1, 64, [zeros(65)]),
    "shift_race": Pattern(2, 64, [zeros(129)], GLOBAL),
    "strides": Pattern(2, 64, [zeros(256)]),
    "strides_race": Pattern(2, 64, [zeros(257)], GLOBAL),
    "halves": Pattern(2, 64, [zeros(256)]),
    "halves_race": Pattern(2, 64, [zeros(160)], GLOBAL),
    "indirect": Pattern(2, 64, [zeros(128), IN[:128][::-1].copy()]),
    "indirect twice": Pattern(2, 64, [zeros(128), IN[:128] // 2], GLOBAL),
    "bytes_apart": Pattern(2, 50, [np.zeros(100, np.uint8)]),
    "bits": Pattern(2, 48, [np.zeros(3, np.uint32)]),
    "bits_race": Pattern(2, 48, [np.zeros(3, np.uint32)], GLOBAL),
    "row_sum": Pattern(1, (32, 32), [IN, zeros(1024)]),
    "row_sum_race": Pattern(1, (32, 32), [IN, zeros(1024)], SHARED),
    "twice_used": Pattern(1, 64, [IN, zeros(192)]),
    "twice_used_race": Pattern(1, 64, [IN, zeros(192)], SHARED),
    "stale_part": Pattern(1, 64, [IN, zeros(64), I32(40)], "uninitialised/shared:e"),
    "whole_part": Pattern(1, 64, [IN, zeros(64), I32(40)]),
    "early_exit": Pattern(1, 64, [IN, zeros(64), I32(32)], "sync/None:w"),
}


@pytest.mark.in_turn(8)
@pytest.mark.parametrize(("name", "arch"), [(n, a) for n in PATTERNS for a in ARCHITECTURES])
def test_pattern(name: str, arch: str) -> None:
    pattern, kernel = PATTERNS[name], name.split()[0]
    program = gpudbg.load(str(HERE / f"suites.{arch}.cubin"))
    args = [program.device.buffer(a) if isinstance(a, np.ndarray) else a for a in pattern.args]
    report = gpudbg.check(
        program, kernel, grid=pattern.grid, block=pattern.block, args=args,
        max_instructions=100_000,
    )  # fmt: skip
    found = {f"{f.kind}/{f.space}:{f.severity[0]}" for f in report.findings if f.severity != "note"}
    if pattern.found.endswith(":e"):
        # What races may write the same value at times, too.
        found -= {pattern.found.replace(":e", ":w")}
    assert found == set(pattern.found.split()), report.lines()
    assert (report.status == "clean") == (not pattern.found)
    lines = {a.line for f in report.findings for a in f.accesses}
    assert lines <= {line_of(kernel, "suites.cu")}


def build() -> None:
    """Compile the kernels."""
    from tests.kernels_own.build import nvrtc

    text = (HERE / "suites.cu").read_text()
    for arch in ARCHITECTURES:
        options = [f"--gpu-architecture={arch}", "--generate-line-info"]
        (HERE / f"suites.{arch}.cubin").write_bytes(nvrtc(text, "suites.cu", options))


if __name__ == "__main__":
    build()
