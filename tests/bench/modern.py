"""Code for sm_80 on the run engine: beside the same kernels' code for sm_50, and tensor cores.

    python tests/bench/modern.py [--kernels saxpy,sgemm] [--size small] [--reps 5] [--json FILE]

Both builds of a kernel run in turn in one process; the ratio is that of the best times
(processor time, so that other work on the machine counts less).  Compiled code is not kept on
disk, or compiling would be compared with reading.  The last row is an f16 matrix product by
mma.sync (`gemm_f16.cu`) beside NumPy's float32 `@` on one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["GPUDBG_NO_CACHE"] = "1"
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import numpy as np  # noqa: E402
import suite  # noqa: E402

CUBINS = HERE.parent / "data" / "bench" / "cubin"
KERNELS = "saxpy sgemm stencil reduce nbody mandelbrot histogram bitonic sha256".split()
ARCHS = ("sm_50", "sm_80")


def _launches(kernel: str, arch: str, problem: Any) -> Callable[[], dict[str, Any]]:
    """A way to run a build of a kernel once."""
    import gpudbg

    program = gpudbg.load(str(CUBINS / f"{kernel}.{arch}.cubin"), engine="run")
    buffers = [program.device.buffer(b) for b in problem.bufs]

    def once() -> dict[str, Any]:
        for buffer, content in zip(buffers, problem.bufs, strict=True):
            buffer.write(content)
        session = program.launch(
            grid=problem.grid, block=problem.block, args=[*buffers, *problem.scalars]
        )
        start = time.process_time()
        session.grid.run()
        spent = time.process_time() - start
        fast = session.grid.fast
        found = fast.report() if fast is not None else None
        assert found is not None, "llvmlite is not installed"
        return {
            "seconds": spent,
            "compile_s": found.seconds,
            # Older sets are padded: a quarter of some kernels are NOPs, which cost nothing.
            "instructions": sum(insn.op != "NOP" for insn in found.code.values()),
            "exits": sum(found.exits.values()),
            "correct": problem.correct([b.array() for b in buffers]),
        }

    return once


def builds(kernel: str, size: str, reps: int) -> dict[str, Any]:
    """Both builds of a kernel, run in turn."""
    problem = suite.problem(kernel, size)
    ways = {arch: _launches(kernel, arch, problem) for arch in ARCHS}
    rows: dict[str, list[dict[str, Any]]] = {arch: [] for arch in ARCHS}
    for _ in range(reps + 1):
        for arch, once in ways.items():
            rows[arch].append(once())
    best = {arch: min(row["seconds"] for row in found[1:]) for arch, found in rows.items()}
    each = {a: found[-1]["compile_s"] / found[-1]["instructions"] for a, found in rows.items()}
    return {
        "best_s": best,
        "ratio": best["sm_80"] / best["sm_50"],
        "compile_ratio": each["sm_80"] / each["sm_50"],
        "whole_ratio": rows["sm_80"][-1]["compile_s"] / rows["sm_50"][-1]["compile_s"],
        "correct": all(row["correct"] for found in rows.values() for row in found),
    }


def tensor(n: int, reps: int) -> dict[str, Any]:
    """The matrix product."""
    import gpudbg

    random = np.random.default_rng(1)
    a, b = (random.standard_normal((n, n)).astype(np.float16) for _ in range(2))
    program = gpudbg.load(str(CUBINS / "gemm_f16.sm_80.cubin"), engine="run")
    buffers = [program.device.buffer(m) for m in (a, b.T.copy(), np.zeros((n, n), np.float32))]
    wide = a.astype(np.float32), b.astype(np.float32)
    ours, theirs = [], []
    for _ in range(reps + 1):
        session = program.launch(grid=(n // 64, n // 64), block=128, args=[*buffers, np.int32(n)])
        start = time.process_time()
        session.grid.run()
        ours.append(time.process_time() - start)
        start = time.process_time()
        product = wide[0] @ wide[1]
        theirs.append(time.process_time() - start)
    found = buffers[2].array().reshape(n, n)
    best = {"gpudbg": min(ours[1:]), "numpy": min(theirs[1:])}
    close = bool(np.allclose(found, product, rtol=1e-3, atol=1e-2))
    return {"best_s": best, "ratio": best["gpudbg"] / best["numpy"], "correct": close}


def main() -> int:
    """Print the table; 1 when a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--size", default="full")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    results = {k: builds(k, options.size, options.reps) for k in options.kernels.split(",")}
    results["gemm_f16"] = tensor(512, options.reps)
    print("| ms, best | sm_50 or NumPy | sm_80 | ratio | compiling an instruction | a kernel |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, row in results.items():
        other, ours = (1e3 * seconds for seconds in sorted_times(row["best_s"]))
        compiling = f"{row['compile_ratio']:.2f}x" if "compile_ratio" in row else ""
        whole = f"{row['whole_ratio']:.2f}x" if "whole_ratio" in row else ""
        wrong = "" if row["correct"] else " WRONG"
        times = f"{other:.2f} | {ours:.2f}{wrong} | {row['ratio']:.2f}x"
        print(f"| {name} | {times} | {compiling} | {whole} |")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))
    return 0 if all(row["correct"] for row in results.values()) else 1


def sorted_times(best: dict[str, float]) -> tuple[float, float]:
    """What we are held against, and ours."""
    return (best["sm_50"], best["sm_80"]) if "sm_50" in best else (best["numpy"], best["gpudbg"])


if __name__ == "__main__":
    sys.exit(main())
