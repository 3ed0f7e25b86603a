"""Both engines at many stop points of every sample kernel: `make fuzz` runs it with 1,000 each.

    python -m tests.engine.fuzz_stops [--stops 1000] [--seed 1] [--variant sm_50] [KERNEL...]

Two launches of a case, one on the step engine and one on the run engine (which also changes engines
at random), stop at the same random counts of instructions, spread over the whole run; the whole
state must be equal at each, and at the end.
"""

from __future__ import annotations

import argparse
import random
import sys

from tests import kernel_cases as kc
from tests.engine import machines

LONGEST = 300_000
"""Warp instructions of a case that are looked at."""


def compare(case: kc.Case, stops: int, rng: random.Random) -> tuple[int, str]:
    """Stop points compared, and the first difference or ""."""
    whole = machines.launch(case, "run")
    whole.run(max_instructions=LONGEST)
    total = whole.grid.total
    points = sorted(rng.sample(range(1, total + 1), min(stops, total)))
    step, run = machines.launch(case, "step"), machines.launch(case, "run")
    fast = run.grid.fast
    last = None if total < LONGEST else total
    for n, point in enumerate([*points, last], 1):
        run.grid.fast = fast if rng.random() < 0.8 else None
        more = None if point is None else point - step.grid.total
        if more == 0:
            continue
        kinds = [s.run(max_instructions=more).kind for s in (step, run)]
        states = machines.grid_state(step.grid), machines.grid_state(run.grid)
        found = machines.difference(*states)
        if found or kinds[0] != kinds[1]:
            return n, f"at {step.grid.total} of {total}: {kinds} {found}"
        if kinds[0] != "limit":
            break
    return n, ""


def main() -> int:
    """Run the campaign; 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stops", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", default="sm_50")
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    failed = 0
    for case in kc.cases(options.variant, names=options.kernels or None):
        rng = random.Random(f"{case.id}/{options.seed}")
        count, difference = compare(case, options.stops, rng)
        print(f"{case.id:40} {count:5} stops  {difference or 'equal'}", flush=True)
        failed += bool(difference)
    print(f"{failed} cases differ" if failed else "all equal")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
