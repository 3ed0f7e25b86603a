"""Random watchpoints in sample kernels, stop by stop on both engines: `make fuzz` runs hundreds.

    python -m tests.engine.fuzz_watch [--rounds 8] [--seed 1] [--variant sm_50] [KERNEL...]

Places are mostly such as the kernel accesses; conditions and ignore counts are random, too.  Each
stop's record, the counts of the watchpoints and the whole state must be equal, and so the end.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

from tests import kernel_cases as kc
from tests.engine import machines, watched_programs

LONGEST = 60_000
"""Warp instructions of a case that are looked at."""


def compare(case: kc.Case, seed: int) -> tuple[int, str]:
    """Stops compared, and the first difference or ""."""
    touched = watched_programs.accesses(machines.launch(case, "run"), LONGEST)
    step, run = machines.launch(case, "step"), machines.launch(case, "run")
    words = [watched_programs.watch(session, touched, 0, seed) for session in (step, run)]
    assert words[0] == words[1]
    count = 0
    while count < watched_programs.STOPS and (most := LONGEST - step.grid.total) > 0:
        ends = [watched_programs.stop_of(session, most) for session in (step, run)]
        found = machines.difference(machines.grid_state(step.grid), machines.grid_state(run.grid))
        if found or ends[0] != ends[1]:
            return count, f"at {step.grid.total}, watching {words[0]}: {ends} {found}"
        if ends[0][0] != "breakpoint":
            break
        count += 1
    return count, ""


def main() -> int:
    """Run the campaign; 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", default="sm_50")
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    watched_programs.compile_quickly()
    failed = 0
    for case in kc.cases(options.variant, names=options.kernels or None):
        rng = random.Random(f"{case.id}/{options.seed}")
        seen: Counter[int] = Counter()
        for _ in range(options.rounds):
            count, difference = compare(case, rng.randrange(1 << 30))
            seen[count] += 1
            if difference:
                print(f"{case.id}: {difference}", flush=True)
                failed += 1
        stops = sum(count * times for count, times in seen.items())
        print(f"{case.id:40} {options.rounds:3} rounds {stops:5} stops", flush=True)
    print(f"{failed} rounds differ" if failed else "all equal")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
