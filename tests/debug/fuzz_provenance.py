"""Ask who wrote and read places of launches at random, both engines:

python -m tests.debug.fuzz_provenance [--count 100] [--start 0]
"""

from __future__ import annotations

import argparse
import random
import sys

from gpudbg.debug.provenance import search
from tests import kernel_cases as kc
from tests.debug.provenance_oracle import trouble_of


def main() -> int:
    """Ask, say how often an answer was wrong; 1 if one was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--start", type=int, default=0)
    options = parser.parse_args()
    cases = [case for case in kc.cases() if not case.error]
    wrong = 0
    for number in range(options.start, options.start + options.count):
        draw = random.Random(number)
        # Short stretches, so that long ones are there.
        search.NEAR = draw.choice([16, 64, 4096])
        trouble = trouble_of(draw.choice(cases), draw.choice(["run", "run", "step"]), number)
        if trouble:
            wrong += 1
            print(trouble, flush=True)
    print(f"{options.count} launches, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
