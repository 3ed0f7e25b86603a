"""Run suites by hand and print what fails.

python -m tests.ptxgen.report [--target sm_50] [SUITE or FOLDER] [substring]
"""

from __future__ import annotations

import argparse
import time
import traceback
from pathlib import Path

from tests.ptxgen.runner import DATA, Suite, failures, run


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("suite")
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    named = DATA / f"{options.suite}.zip"
    suite = Suite(named if named.exists() else Path(options.suite))
    good, bad, start = 0, 0, time.perf_counter()
    for case in suite.cases(*options.target):
        if options.part not in case.id:
            continue
        try:
            lines = failures(case, run(case))
        except Exception as error:
            lines = [f"{case.id}: {type(error).__name__}: {error}"]
            if options.trace:
                traceback.print_exc()
        good, bad = good + (not lines), bad + bool(lines)
        if lines:
            print("\n".join(lines))
    print(f"{good} good, {bad} bad, {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
