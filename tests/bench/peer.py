"""One cell of somebody else's benchmark: `peer.py [--jobs N] KERNEL SIZE REPS`.

Runs a kernel of `suite` on the run engine and prints a JSON object on the last line: `seconds` of
each run (the launch alone, after one that compiles), `checksum` and `correct`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import bench
import suite
import wide


def main() -> int:
    """Measure one kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("kernel", choices=[*suite.NAMES, *wide.PROBLEMS])
    parser.add_argument("size", choices=("full", "small", "tiny"))
    parser.add_argument("reps", type=int)
    options = parser.parse_args()
    problem = suite.problem(options.kernel, options.size)
    report: dict[str, object] = {}
    once = bench.gpudbg_run(problem, options.jobs, report)
    report["first_s"], outputs = once()
    seconds: list[float] = []
    begin = time.perf_counter()
    least, most = options.reps, 10 * options.reps
    while len(seconds) < least or (len(seconds) < most and time.perf_counter() - begin < 1):
        spent, outputs = once()
        seconds.append(spent)
    report |= {
        "seconds": seconds,
        "checksum": problem.checksum(outputs),
        "correct": problem.correct(outputs),
    }
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
