"""The sample kernels on compiled code: results and final state; of rare ones a variant in turn.

A run has one case of most kernels, not the largest, and `make test-all` has all;
`test_forms.py` has every instruction on both engines.
"""

from __future__ import annotations

import functools

import pytest

import gpudbg
from tests import kernel_cases as kc
from tests.variants import full, in_turn

NO_IMAGES = ("surface_", "texture_")
COMMON = (
    "atomics_global", "atomics_shared", "barriers", "bitonic_sort", "convert", "crc32",
    "divergence", "float_ops", "func_ptr", "jump_table", "generic_ptr", "int64_arith",
    "int_arith", "libm_math", "local_array", "matmul_tiled", "memory_widths", "mufu_math",
    "nbody", "reduce_sum", "saxpy", "scan_block", "switch_tree", "transpose", "video_simd",
    "warp_ops",
)  # fmt: skip
"""Kernels without rare instructions: they run in compiled code alone."""
LARGE = {
    ("convert", "float_edges"), ("double_ops", "special"), ("float_ops", "special"),
    ("int64_arith", "special"), ("libm_math", "f32"),
}  # fmt: skip
"""The cases whose code is the largest of their kernel's."""
CASES = [
    *(case for case in kc.cases("sm_50") if case.kernel in COMMON),
    *(
        case
        for case in kc.some("sm_50", "sm_61")
        if case.kernel not in COMMON and not case.kernel.startswith(NO_IMAGES)
    ),
]
assert {(case.kernel, case.name) for case in CASES} >= LARGE
REPRESENTED = {
    # What has these instructions at less cost.
    "atomics_shared": "atomics_global; test_modern_kernels.py has it too",
    "bitonic_sort": "reduce_sum", "scan_block": "reduce_sum", "transpose": "matmul_tiled",
    "divergence": "switch_tree; test_build.py compares its state on both engines",
    "double_ops": "test_forms.py, which has every form on both engines", "float_ops": "the same",
    "int64_arith": "the same", "int_arith": "the same", "nbody": "mufu_math",
    "local_array": "memory_widths, recursion; test_modern_kernels.py has it too",
}  # fmt: skip
"""Kernels of the second tier alone, and what stands for them."""
assert REPRESENTED.keys() <= {case.kernel for case in CASES}
if not full():
    CASES = in_turn(
        [
            case
            for case in CASES
            if (case.kernel, case.name) not in LARGE and case.kernel not in REPRESENTED
        ],
        lambda case: case.kernel,
        first=True,
    )
FIRST = {kernel: next(iter(kc.load(kernel, "sm_50"))).name for kernel in COMMON}


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_kernel(case: kc.Case) -> None:
    outcome = kc.run(case, functools.partial(gpudbg.load, engine="run"))
    assert not kc.check(case, outcome)
    if FIRST.get(case.kernel) == case.name:
        grid = outcome.sessions[-1].grid
        engine = grid.fast.engine
        assert engine is not None
        assert sum(engine.exits.values()) <= grid.total // 20
