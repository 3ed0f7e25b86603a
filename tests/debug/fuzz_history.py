"""Walk forward and back over launches at random, both engines:

python -m tests.debug.fuzz_history [--count 200] [--start 0] [--special | --modern]
"""

from __future__ import annotations

import argparse
import random
import sys

from tests import kernel_cases as kc
from tests.debug.history_walks import modern, of_case, special, walk


def main() -> int:
    """Walk, say how often something was wrong; 1 if it was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument(
        "--special", action="store_true", help="traps, handlers, barriers, atomics, second launches"
    )
    parser.add_argument(
        "--modern", action="store_true", help="sm_75 and later: clusters, copies, tensors"
    )
    options = parser.parse_args()
    if options.modern:
        launches = modern()
    else:
        launches = special() if options.special else [of_case(case) for case in kc.cases()]
    wrong = 0
    for number in range(options.start, options.start + options.count):
        draw = random.Random(number)
        trouble = walk(draw.choice(launches), draw.choice(["step", "run"]), number)
        if trouble:
            wrong += 1
            print(trouble, flush=True)
    print(f"{options.count} walks, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
