"""Kernels whose shape made first launches slow: a plane of a volume, one busy thread, few of them.

`first.py` measures them.  They are of the shapes of PolyBench's 3DCONV and GRAMSCHMIDT, written
anew.  The cubins in `tests/data/bench/cubin` were compiled from `kernels/shapes` by

    python tests/bench/shapes.py

which needs NVRTC.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from suite import Problem, close, f32  # noqa: E402

KERNELS = HERE / "kernels" / "shapes"
CUBINS = HERE.parent / "data" / "bench" / "cubin"
ARCHS = ("sm_50", "sm_80")
SIDES = (96, 48, 16)
ORDERS = (1024, 256, 64)


def _conv3d(size: int) -> Problem:
    n = SIDES[size]
    a = f32(n**3, 61)
    v, i = a.reshape(n, n, n).astype(np.float64), n // 2
    low, here, high = v[i - 1], v[i], v[i + 1]
    up, mid, down = slice(0, -2), slice(1, -1), slice(2, None)
    made = (
        2 * low[up, up] + 4 * high[up, up] + 5 * low[up, mid] + 7 * high[up, mid]
        - 8 * low[up, down] + 10 * high[up, down] - 3 * here[up, mid] + 6 * here[mid, mid]
        - 9 * here[down, mid] + 2 * low[down, up] + 4 * high[down, down]
    )  # fmt: skip
    ref = np.zeros((n, n, n))
    ref[i, 1:-1, 1:-1] = made
    return Problem(
        (-(-n // 32), -(-n // 8)), (32, 8), [a, np.zeros(n**3, np.float32)], [1],
        [np.int32(n), np.int32(i)], close(ref.ravel(), 1e-3),
    )  # fmt: skip


def _gramnorm(size: int) -> Problem:
    n = ORDERS[size]
    a = f32(n * n, 62)
    ref = np.linalg.norm(a.reshape(n, n)[:, 3].astype(np.float64))
    return Problem(
        (n // 64,), (64,), [a, np.zeros(1, np.float32)], [1], [np.int32(n), np.int32(3)],
        close(np.array([ref]), 1e-4),
    )  # fmt: skip


def _gramupdate(size: int) -> Problem:
    n = ORDERS[size]
    a, column = f32(n * n, 63), n // 4
    q = f32(n, 64) / np.float32(n)
    whole = a.reshape(n, n).astype(np.float64)
    common = q.astype(np.float64) @ whole
    common[: column + 1] = 0
    ref = whole - np.outer(q, common)
    return Problem(
        (n // 64,), (64,), [a, q, np.zeros(n, np.float32)], [0, 2],
        [np.int32(n), np.int32(column)],
        lambda got: close(ref.ravel(), 1e-3)(got[:1]) and close(common, 1e-3)(got[1:]),
    )  # fmt: skip


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "conv3d": _conv3d,
    "gramnorm": _gramnorm,
    "gramupdate": _gramupdate,
}


def main() -> None:
    """Compile the cubins."""
    from gpudbg.toolchain.compile import compile_cuda
    from gpudbg.toolchain.options import CompileOptions

    for name in PROBLEMS:
        for arch in ARCHS:
            # A line table would name the folder it was compiled in.
            options = CompileOptions(arch=arch, lineinfo=False)
            source = (KERNELS / f"{name}.cu").read_text()
            compiled: Any = compile_cuda(source, f"{name}.cu", options)
            path = CUBINS / f"{name}.{arch}.cubin"
            path.write_bytes(compiled.cubin)
            print(path.name, len(compiled.cubin))


if __name__ == "__main__":
    main()
