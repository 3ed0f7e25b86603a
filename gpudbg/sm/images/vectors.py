"""Runs of registers as image instructions read and write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpudbg.mem.lanes import U32
from gpudbg.sm.engines.step import StepEngine
from gpudbg.sm.faults import WarpErrorRaised

RZ = 255


def _check(index: int, count: int) -> None:
    """A vector ends below RZ."""
    if index != RZ and index + count > RZ:
        raise WarpErrorRaised("OOR_REG", 0, f"R{index} and {count - 1} more reach beyond R254")


def read_rows(engine: StepEngine, index: int, count: int) -> list[U32]:
    """Copies of `count` registers from `index` on, 32 lanes each; RZ reads as zeros.

    Raises:
        WarpErrorRaised: OOR_REG.
    """
    _check(index, count)
    if index == RZ:
        return [np.zeros(32, np.uint32) for _ in range(count)]
    return [engine.reg(index + n).copy() for n in range(count)]


def write_rows(engine: StepEngine, index: int, values: Sequence[Any]) -> None:
    """Write values to the registers from `index` on; RZ takes none.

    Raises:
        WarpErrorRaised: OOR_REG.
    """
    _check(index, len(values))
    if index != RZ:
        for n, value in enumerate(values):
            engine.reg_write(index + n, np.ascontiguousarray(value, np.uint32))
