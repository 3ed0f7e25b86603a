"""More defects of asynchronous code, and of strong accesses, beside clean twins of our own.

`python -m tests.sanitizer.test_async_more` compiles `async_more.cu` (one kernel a line) anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg
from tests.sanitizer.test_async_twins import line_of

HERE = Path(__file__).parent
EARLY = {
    "ring3": "",
    "ring3_count": "race/pending:e",
    "ring3_tail": "race/pending:e",
    "ring3_tail_all": "",
    "lanes": "",
    "lanes_no_sync": "race/read_write:e",
    "refill": "",
    "refill_early": "race/read_write:e",
    "zeros": "",
    "zeros_past": "out_of_bounds/past_end:e",
    "same_place": "race/write_write:e",
    "half_waits": "race/pending:e",
    "half_copies": "",
    "source_over": "race/pending:e",
    "source_after": "",
    "named": "",
    "named_early": "race/pending:e",
    "neighbours": "",
    "neighbours_over": "race/write_write:e",
    "left": "sync/pending_at_exit:n",
    "ignored": "race/pending:e sync/ignored_wait:n",
    "bar_reused": "",
    "phases": "",
    "phases_one": "race/read_write:e",
    "count_over": "sync/deadlock:e",
    "constant_path": "race/read_only_path:w",
    "plain_path": "",
    "sizes": "race/mixed_size:e",
    "sizes_same": "",
    "sizes_atomic": "race/mixed_size:w",
    "block_atomic": "race/scope:e",
    "gpu_atomic": "",
    "hand_shared": "",
    "hand_shared_relaxed": "race/read_write:e",
    "hand_global": "",
    "hand_global_relaxed": "race/read_write:e",
    "hand_global_cta": "race/read_write:e race/scope:e",
    "hand_fences": "",
}
LATE = {
    "one_waits": "",
    "one_waits_alone": "race/read_write:e",
    "other_bar": "race/pending:e",
    "other_bar_too": "",
    "few_bytes": "sync/deadlock:e",
    "two_copies": "",
    "two_copies_over": "race/pending:e",
    "phased": "",
    "phased_stuck": "race/read_write:e sync/deadlock:e",
    "stores": "",
    "stores_one_group": "race/pending:e",
    "stores_zero": "",
    "store_uncommitted": "race/pending:e",
    "reduces": "",
    "reduces_atomic": "",
    "reduces_plain": "race/atomic_plain:e",
    "across": "",
    "across_no_wait": "race/read_write:e",
    "across_source": "race/pending:e",
    "across_source_after": "",
    "remote": "",
    "remote_narrow": "race/scope:e",
    "remote_relaxed": "race/scope:e",
    "arrives_late": "race/exit:e",
    "arrives_waited": "",
    "at_once": "race/entry:e",
    "many": "",
    "many_early": "race/read_write:e",
    "reread": "",
    "reread_unfenced": "race/proxy:w",
    "through_global": "",
    "through_all": "",
    "through_unfenced": "race/proxy:e",
    "bytes_again": "",
    "init_unordered": "race/read_write:e",
    "init_ordered": "",
    "skipped": "sync/phase_skipped:w",
    "not_skipped": "",
    "drops": "",
    "not_dropped": "sync/deadlock:e",
    "odd_target": "misaligned/:e",
    "odd_source": "misaligned/:e",
    "past_source": "out_of_bounds/past_end:e",
    "past_shared": "out_of_bounds/past_end:e",
    "high_rank": "out_of_bounds/no_allocation:e",
    "own_rank": "",
    "mixed_hang": "sync/deadlock:e",
    "mixed_kinds": "sync/mixed_groups:n",
}

TWO_BLOCKS = (
    "across remote arrives at_once many high_rank own_rank mixed_hang reduces sizes block_atomic "
    "gpu_atomic hand_global hand_fences"
).split()
ONE_WARP = (
    "lanes arrives at_once bytes_again skipped not_skipped drops not_dropped high_rank own_rank "
    "mixed_hang block_atomic gpu_atomic hand_global hand_fences sizes"
).split()
CASES = [("sm_80", name) for name in EARLY] + [("sm_90a", name) for name in EARLY | LATE]


def _of(kernel: str, names: list[str]) -> bool:
    return any(kernel == name or kernel.startswith(f"{name}_") for name in names)


def verdict(report: Any) -> set[str]:
    """`kind/cause:severity` of each finding; how it ended, where that is something else."""
    found = {f"{f.kind}/{f.cause}:{f.severity[0]}" for f in report.findings}
    return found | ({report.status} if report.status in ("gap", "fault") else set())


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("arch", "kernel"), CASES)
def test_twin(arch: str, kernel: str) -> None:
    program = gpudbg.load(str(HERE / f"async_more.{arch}.cubin"))
    given, out = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
    block = 32 if _of(kernel, ONE_WARP) else 64
    report = gpudbg.check(
        program, kernel, grid=1 + _of(kernel, TWO_BLOCKS), block=block,
        args=[program.device.buffer(given), program.device.buffer(out)], max_instructions=20_000,
    )  # fmt: skip
    want = set((EARLY | LATE)[kernel].split())
    if arch == "sm_80":
        # There a test is a load like others.
        want.discard("sync/ignored_wait:n")
    assert verdict(report) == want, report.lines()
    lines = {a.line for f in report.findings for a in f.accesses}
    assert lines <= {line_of(kernel, "async_more.cu")}


def build() -> None:
    """Compile the kernels."""
    from tests.kernels_own.build import nvrtc

    for name, archs in (("async_more", ("sm_80", "sm_90a")), ("async_groups", ("sm_90a",))):
        text = (HERE / f"{name}.cu").read_text()
        for arch in archs:
            options = [f"--gpu-architecture={arch}", "--generate-line-info"]
            made = nvrtc(text, f"{name}.cu", options)
            (HERE / f"{name}.{arch}.cubin").write_bytes(made)


if __name__ == "__main__":
    build()
