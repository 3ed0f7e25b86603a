"""Open damaged recordings, and recordings of random walks:

python -m tests.debug.fuzz_recordings [--count 10000] [--walks 100] [--seed 0]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests import kernel_cases as kc
from tests.debug.history_walks import of_case, recorded_walk, special
from tests.debug.recording_mutants import outcome
from tests.debug.test_recordings import edited


def main() -> int:
    """Open them, say how often something was wrong; 1 if it was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--walks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.gpurec"
        seen = edited("run", path)
        data, right = path.read_bytes(), seen[max(seen)]
        for number in range(options.count):
            trouble = outcome(data, number, options.seed, right)
            wrong += bool(trouble)
            if trouble:
                print(trouble, flush=True)
            if number % 500 == 499:
                print(f"{number + 1} mutants, {wrong} wrong", flush=True)
        launches = [*(of_case(case) for case in kc.cases()), *special()]
        for number in range(options.seed, options.seed + options.walks):
            draw = random.Random(number)
            launch, engine = draw.choice(launches), draw.choice(["step", "run"])
            trouble = recorded_walk(launch, engine, number, path)
            wrong += bool(trouble)
            if trouble:
                print(trouble, flush=True)
            if (number - options.seed) % 25 == 24:
                print(f"{number + 1 - options.seed} walks", flush=True)
    print(f"{options.count} mutants, {options.walks} walks, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
