"""Both engines at many stop points of every sample kernel: `make fuzz` runs it with 1,000 each.

    python -m tests.engine.fuzz_stops [--stops 1000] [--seed 1] [--variant sm_50] [--shapes]
        [KERNEL...]

Two launches of a case, one on the step engine and one on the run engine (which also changes engines
at random), stop at the same random counts of instructions, spread over the whole run; the whole
state must be equal at each, and at the end.

With `--shapes` a case has a block of any shape in place of its own: what a kernel does is then its
own affair, and faults, deadlocks and loops without an end must be the same, too.
"""

from __future__ import annotations

import argparse
import random
import sys

from gpudbg.errors import UsageError
from tests import kernel_cases as kc
from tests.engine import machines
from tests.engine.fuzz_random import outcome
from tests.engine.random_programs import random_block

LONGEST = 300_000
"""Warp instructions of a case that are looked at."""


def compare(
    case: kc.Case, stops: int, rng: random.Random, block: tuple[int, int, int] | None = None
) -> tuple[int, str]:
    """Stop points compared, and the first difference or ""."""
    whole = machines.launch(case, "run", block=block)
    outcome(whole, LONGEST)
    total = whole.grid.total
    points = sorted(rng.sample(range(1, total + 1), min(stops, total)))
    step, run = (machines.launch(case, engine, block=block) for engine in ("step", "run"))
    fast = run.grid.fast
    last = None if total < LONGEST else total
    for n, point in enumerate([*points, last], 1):
        run.grid.fast = fast if rng.random() < 0.8 else None
        more = None if point is None else point - step.grid.total
        if more == 0:
            continue
        ends = [outcome(session, more or LONGEST) for session in (step, run)]
        states = machines.grid_state(step.grid), machines.grid_state(run.grid)
        found = machines.difference(*states)
        if found or ends[0] != ends[1]:
            return n, f"at {step.grid.total} of {total}: {ends} {found}"
        if ends[0][0] != "limit":
            break
    return n, ""


def main() -> int:
    """Run the campaign; 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stops", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", default="sm_50")
    parser.add_argument("--shapes", action="store_true", help="blocks of any shape")
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    failed = 0
    for case in kc.cases(options.variant, names=options.kernels or None):
        rng = random.Random(f"{case.id}/{options.seed}")
        block = random_block(rng, rng.choice((96, 256, 1024))) if options.shapes else None
        shape = "" if block is None else "x".join(map(str, block))
        try:
            count, difference = compare(case, options.stops, rng, block)
        except UsageError as error:
            # More threads than the kernel was compiled for.
            print(f"{case.id:40} {shape:9} {error}", flush=True)
            continue
        print(f"{case.id:40} {shape:9}{count:5} stops  {difference or 'equal'}", flush=True)
        failed += bool(difference)
    print(f"{failed} cases differ" if failed else "all equal")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
