"""What `gpudbg check` costs: a checked run beside the same run without checks, on the run engine.

    python tests/bench/checks.py [--kernels saxpy,sgemm] [--size small] [--reps 3]
                                   [--checks memory] [--arch sm_80]

Both run in turn in one process; a ratio is that of the best processor times.  The last line is the
geometric mean.  Goals: memory 1.5, race 10 (shared) and 20 (global), init 3.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import suite  # noqa: E402

CUBINS = HERE.parent / "data" / "bench" / "cubin"
KERNELS = "saxpy sgemm stencil reduce nbody mandelbrot histogram bitonic sha256".split()


def ratio(
    kernel: str, size: str, reps: int, checks: tuple[str, ...], arch: str
) -> tuple[float, float]:
    """Best seconds without and with checks."""
    import gpudbg

    problem: Any = suite.problem(kernel, size)
    program = gpudbg.load(str(CUBINS / f"{kernel}.{arch}.cubin"), engine="run")
    buffers = [program.device.buffer(b) for b in problem.bufs]
    launch = {
        "grid": problem.grid, "block": problem.block, "args": [*buffers, *problem.scalars],
    }  # fmt: skip
    plain, checked = [], []
    for _ in range(reps + 1):
        start = time.process_time()
        with program.launch(**launch) as session:
            session.run()
        plain.append(time.process_time() - start)
        start = time.process_time()
        report = gpudbg.check(program, checks=checks, **launch)
        checked.append(time.process_time() - start)
        assert report.status == "clean", report.lines()
    return min(plain[1:]), min(checked[1:])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--size", default="small")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--checks", default="memory")
    parser.add_argument("--arch", default="sm_50")
    args = parser.parse_args()
    ratios = []
    for kernel in args.kernels.split(","):
        plain, checked = ratio(
            kernel, args.size, args.reps, tuple(args.checks.split(",")), args.arch
        )
        ratios.append(checked / plain)
        print(f"{kernel:12}{plain * 1e3:10.1f} ms{checked * 1e3:10.1f} ms{ratios[-1]:8.2f}x")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{'mean':12}{'':26}{mean:8.2f}x  ({args.checks}, {args.arch})")


if __name__ == "__main__":
    main()
