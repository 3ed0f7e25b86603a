"""The sample kernels on compiled code: results and final state (one variant of each, in turn)."""

from __future__ import annotations

import functools

import pytest

import gpudbg
from tests import kernel_cases as kc

NO_IMAGES = ("surface_", "texture_")
CASES = [c for c in kc.some("sm_50", "sm_61") if not c.kernel.startswith(NO_IMAGES)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_kernel(case: kc.Case) -> None:
    outcome = kc.run(case, functools.partial(gpudbg.load, engine="run"))
    assert not kc.check(case, outcome)


@pytest.mark.parametrize(
    "kernel",
    [
        "atomics_global", "atomics_shared", "barriers", "bitonic_sort", "convert", "crc32",
        "divergence", "float_ops", "func_ptr", "jump_table", "generic_ptr", "int64_arith",
        "int_arith", "libm_math", "local_array", "matmul_tiled", "memory_widths", "mufu_math",
        "nbody", "reduce_sum", "saxpy", "scan_block", "switch_tree", "transpose", "video_simd",
        "warp_ops",
    ],
)  # fmt: skip
def test_common_code_does_not_leave(kernel: str) -> None:
    """Kernels without rare instructions run in compiled code alone."""
    case = next(iter(kc.load(kernel, "sm_50")))
    outcome = kc.run(case, functools.partial(gpudbg.load, engine="run"))
    grid = outcome.sessions[-1].grid
    engine = grid.fast.engine
    assert engine is not None
    assert sum(engine.exits.values()) <= grid.total // 20
