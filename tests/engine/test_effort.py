"""Sample kernels on code that is compiled well; the other tests compile with the least effort.

Those whose code is large are left to `make test-all`.
"""

from __future__ import annotations

import functools

import pytest

import gpudbg
from gpudbg.sm.engines.llvm import build
from gpudbg.sm.engines.llvm import program as program_module
from tests import kernel_cases as kc
from tests.variants import full


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    "kernel",
    [
        "barriers", "half_conv", "matmul_tiled", "memory_widths", "nbody", "reduce_sum", "saxpy",
        "warp_ops", *(("bitonic_sort", "crc32", "divergence") if full() else ()),
    ],
)  # fmt: skip
def test_kernel(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(build.LEAST_EFFORT, raising=False)
    monkeypatch.setattr(program_module, "_programs", {})
    case = next(iter(kc.load(kernel, "sm_50")))
    outcome = kc.run(case, functools.partial(gpudbg.load, engine="run"))
    assert not kc.check(case, outcome)
