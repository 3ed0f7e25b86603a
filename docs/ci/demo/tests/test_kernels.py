"""Tests of kernels on a machine without a GPU; pytest has the fixture `gpu` from gpudbg."""

from pathlib import Path

import numpy as np
import pytest

KERNELS = Path(__file__).parents[1] / "kernels"


@pytest.mark.parametrize("count", [256, 201, 1])
def test_sums(gpu, count):
    given = np.arange(count, dtype=np.int32)
    sums = np.zeros(4, np.int32)
    gpu.launch(
        str(KERNELS / "tile_sum.cu"), "tile_sum", grid=4, block=64, args=[given, sums, count]
    )
    assert sums.sum() == given.sum()


@pytest.mark.gpucheck("memory")
def test_saxpy(gpu):
    x, y = np.ones(100, np.float32), np.full(100, 3, np.float32)
    gpu.launch(str(KERNELS / "saxpy.cu"), "saxpy", grid=2, block=64, args=[100, 2.0, x, y])
    assert (y == 5).all()


def test_loads_are_coalesced(gpu):
    args = [np.zeros(256, np.int32), np.zeros(4, np.int32), 256]
    report = gpu.check(
        str(KERNELS / "tile_sum.cu"), "tile_sum", grid=4, block=64, args=args, performance=True
    )
    report.assert_clean()
    report.assert_no_bank_conflicts()
    report.assert_coalesced(min_efficiency=0.9, line=5)
