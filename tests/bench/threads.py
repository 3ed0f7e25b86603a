"""What `--jobs 2` gives: one thread, two threads, and two processes at once, in turn.

    threads.py [--kernels saxpy,sgemm] [--rounds 9] [--json FILE]

Two processes that run the same kernel at the same time show what the host has for two threads:
processors that share a core, or that other guests use, give less than twice as much.  For each
round the ratios are formed of runs that follow one another; shown are their medians, then those of
the rounds in which the host had two processors to give, and how many these were.  The latter
flatter: a run of one thread that was slowed down makes both ratios larger.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import bench
import suite

RUNS = 8
"""Of each kind in a round."""
TWO_PROCESSORS = 1.9
"""What two processes get at least where the host has two processors to give."""


class Process:
    """A process that runs kernels when told to."""

    def __init__(self, jobs: int) -> None:
        self._child = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--worker", str(jobs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, kernel: str) -> None:
        """Have it run a kernel some times."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{kernel}\n")
        self._child.stdin.flush()

    def seconds(self) -> float:
        """The median of these runs."""
        assert self._child.stdout is not None
        found = json.loads(self._child.stdout.readline())
        assert found["correct"], "wrong output"
        return statistics.median(found["seconds"])

    def run(self, kernel: str) -> float:
        """`begin` and `seconds`."""
        self.begin(kernel)
        return self.seconds()

    def end(self) -> None:
        """No more kernels."""
        self._child.communicate()


def work(jobs: int) -> None:
    """What a `Process` does."""
    known: dict[str, tuple[Any, bench.Run]] = {}
    for line in sys.stdin:
        kernel = line.strip()
        if kernel not in known:
            problem = suite.problem(kernel, "full")
            known[kernel] = problem, bench.gpudbg_run(problem, jobs, {})
            known[kernel][1]()
        problem, once = known[kernel]
        runs = [once() for _ in range(RUNS)]
        found = {"seconds": [s for s, _ in runs], "correct": problem.correct(runs[-1][1])}
        print(json.dumps(found), flush=True)


def measured(kernel: str, rounds: int, processes: list[Process]) -> dict[str, Any]:
    """One kernel: seconds on one and two threads, and ratios."""
    one, other, two = processes
    for process in processes:
        process.run(kernel)
    rows = []
    for _ in range(rounds):
        alone, together = one.run(kernel), two.run(kernel)
        one.begin(kernel)
        other.begin(kernel)
        both = (one.seconds() + other.seconds()) / 2
        rows.append((alone, together, alone / together, 2 * alone / both))
    names = "one_s", "two_s", "threads", "processes"
    columns = zip(names, zip(*rows, strict=True), strict=True)
    found: dict[str, Any] = {name: statistics.median(column) for name, column in columns}
    whole = [threads for _, _, threads, processes in rows if processes >= TWO_PROCESSORS]
    return found | {"whole_rounds": len(whole), "whole": statistics.median(whole or [math.nan])}


def main() -> int:
    """Measure, print a table, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default=",".join(suite.NAMES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, default=bench.OUT / "threads.json", metavar="FILE")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        work(options.worker)
        return 0
    if why := bench.missing("gpudbg-2"):
        print(f"skipped: two threads ({why})")
        return 0
    processes = [Process(jobs) for jobs in (1, 1, 2)]
    results = {}
    print(f"{'':11s} one thread  two threads  ratio  two processes  with two processors")
    for kernel in options.kernels.split(","):
        row = results[kernel] = measured(kernel, options.rounds, processes)
        print(
            f"{kernel:11s} {row['one_s'] * 1e3:7.2f} ms  {row['two_s'] * 1e3:8.2f} ms"
            f"  {row['threads']:.2f}x  {row['processes']:9.2f}x"
            f"  {row['whole']:.2f}x in {row['whole_rounds']} of {options.rounds}",
            flush=True,
        )
    for process in processes:
        process.end()
    means = []
    for name in ("threads", "processes", "whole"):
        known = [row[name] for row in results.values() if not math.isnan(row[name])]
        means.append(statistics.geometric_mean(known) if known else math.nan)
    print(f"{'geometric mean':35s}  {means[0]:.2f}x  {means[1]:9.2f}x  {means[2]:.2f}x")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
