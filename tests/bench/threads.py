"""What `--jobs 2` gives, where the host has two processors to give.

    threads.py [--kernels saxpy,sgemm] [--size large] [--rounds 15] [--seconds 180] [--json FILE]
    threads.py --jobs 1,2,4,8,16 --size large       more threads, on grids of 4,096 blocks or more

Both processors of a guest may be on one core of its host, or with other guests, for seconds or
minutes.  Right before and after each measurement of one and of two threads, work that has nothing
to do with the kernels tells how much the host has (`processors`): twice as much on two processors
as on one.  It measures until each kernel has enough rounds in which the host had that both times,
or time is over.  The table has those rounds, then the ones in which both processors seem to be on
one core; "host" is what the work beside got.

`--jobs` measures any numbers of threads in all rounds, whatever the host has; its last rows tell
what the host gives so many threads of plain integer work, and of memory.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import bench
import suite
from processors import Memory, Processors

TWO = 1.9
"""Two processors get at least so much more done than one."""
ONE_CORE = 1.85
"""Two halves of a core get at most so much more done than one."""


class Round(NamedTuple):
    """Seconds on one and two threads, and what the host had before and after."""

    one: float
    two: float
    before: float
    after: float


class Rounds:
    """What was measured of one kernel."""

    def __init__(self, kernel: str, size: str, jobs: tuple[int, ...] = (1, 2)) -> None:
        self.kernel = kernel
        self._problem = suite.problem(kernel, size)
        self.blocks = math.prod(self._problem.grid)
        self._runs = [bench.gpudbg_run(self._problem, count, {}) for count in jobs]
        self.rows: list[Round] = []
        self.seconds: list[list[float]] = []
        for _ in range(4):
            self._seconds()

    def _seconds(self) -> list[float]:
        """On each number of threads: the second of two runs that follow one another."""
        found = []
        for once in self._runs:
            once()
            seconds, outputs = once()
            assert self._problem.correct(outputs), f"wrong output of {self.kernel}"
            found.append(seconds)
        return found

    def measure(self, processors: Processors) -> None:
        """One more round."""
        before = processors.there()
        one, two = self._seconds()
        self.rows.append(Round(one, two, before, processors.there()))

    def measure_all(self) -> None:
        """One more round of any numbers of threads."""
        self.seconds.append(self._seconds())

    def medians(self) -> list[float]:
        """Of these rounds: seconds on each number of threads."""
        return [statistics.median(column) for column in zip(*self.seconds, strict=True)]

    def rows_with(self, two_processors: bool) -> list[Round]:
        """Those in which the host had two processors, or seemed to have one."""
        if two_processors:
            return [row for row in self.rows if min(row.before, row.after) >= TWO]
        return [row for row in self.rows if max(row.before, row.after) <= ONE_CORE]

    def found(self, two_processors: bool) -> dict[str, Any]:
        """Medians of these rounds."""
        rows = self.rows_with(two_processors)

        def median(values: list[float]) -> float:
            return statistics.median(values or [math.nan])

        return {
            "rounds": len(rows),
            "one_s": median([row.one for row in rows]),
            "two_s": median([row.two for row in rows]),
            "ratio": median([row.one / row.two for row in rows]),
            "host": median([x for row in rows for x in (row.before, row.after)]),
        }


def _mean(ratios: list[float]) -> float:
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    return statistics.geometric_mean(known) if known else math.nan


def two_threads(kernels: list[Rounds], rounds: int, seconds: float) -> dict[str, Any]:
    """Measure one and two threads, print a table; what goes to the JSON."""
    processors = Processors()
    end = time.monotonic() + seconds
    # All in turn: the host changes while this runs.
    while time.monotonic() < end:
        for kernel in kernels:
            kernel.measure(processors)
        if all(len(kernel.rows_with(True)) >= rounds for kernel in kernels):
            break
    results = {k.kernel: {"two": k.found(True), "one_core": k.found(False)} for k in kernels}
    print(f"{'':11s}  two processors{'':34s}one core")
    for name, row in results.items():
        two, shared = row["two"], row["one_core"]
        print(
            f"{name:11s}{two['one_s'] * 1e3:6.2f} ms, {two['two_s'] * 1e3:5.2f} ms:"
            f" {two['ratio']:.2f}x (host {two['host']:.2f}x) in {two['rounds']:3d}"
            f"   {shared['ratio']:.2f}x (host {shared['host']:.2f}x) in {shared['rounds']:3d}"
        )
    for key, what in (("two", "two processors"), ("one_core", "one core")):
        mean = _mean([row[key]["ratio"] for row in results.values()])
        print(f"geometric mean, {what}: {mean:.2f}x")
    return results


def many_threads(
    kernels: list[Rounds], jobs: tuple[int, ...], rounds: int, seconds: float
) -> dict[str, Any]:
    """Measure any numbers of threads, print a table; what goes to the JSON."""
    hosts = {
        what: [kind(count) for count in jobs]
        for what, kind in (("host", Processors), ("memory", Memory))
    }
    found: dict[str, list[list[float]]] = {what: [] for what in hosts}
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(kernels[0].seconds) < rounds:
        for kernel in kernels:
            kernel.measure_all()
        for what, each in hosts.items():
            found[what].append([host.there() for host in each])
    print(f"{'threads':25s}" + "".join(f"{count:7d} " for count in jobs))
    results: dict[str, Any] = {"jobs": jobs, "rounds": len(kernels[0].seconds), "kernels": {}}
    ratios = []
    for kernel in kernels:
        times = kernel.medians()
        ratios.append([times[0] / each for each in times])
        what = f"{kernel.kernel}, {kernel.blocks} blocks"
        print(f"{what:25s}{times[0] * 1e3:5.1f}ms " + _row(ratios[-1][1:]))
        results["kernels"][kernel.kernel] = {"blocks": kernel.blocks, "seconds": times}
    means = [_mean(list(column)) for column in zip(*ratios, strict=True)]
    print(f"{'geometric mean':25s}" + _row(means))
    for what, rows in found.items():
        given = results[what] = [statistics.median(c) for c in zip(*rows, strict=True)]
        print(f"{what:25s}" + _row(given))
    return results


def _row(ratios: list[float]) -> str:
    return "".join(f"{ratio:7.2f}x" for ratio in ratios)


def main() -> int:
    """Measure, print a table, write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default=",".join(suite.NAMES))
    parser.add_argument("--size", choices=suite.SIZES, default="full")
    parser.add_argument("--jobs", help="numbers of threads, 1 first", metavar="1,N,...")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--json", type=Path, default=bench.OUT / "threads.json", metavar="FILE")
    options = parser.parse_args()
    jobs = tuple(int(count) for count in (options.jobs or "1,2").split(","))
    if jobs[0] != 1:
        parser.error(f"--jobs {options.jobs}: the first number is 1")
    if why := bench.missing("gpudbg-2"):
        print(f"skipped: two threads ({why})")
        return 0
    try:
        kernels = [Rounds(name, options.size, jobs) for name in options.kernels.split(",")]
    except IndexError:
        parser.error(f"not all of {options.kernels} have the size {options.size}")
    if options.jobs:
        results = many_threads(kernels, jobs, options.rounds, options.seconds)
    else:
        results = two_threads(kernels, options.rounds, options.seconds)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
