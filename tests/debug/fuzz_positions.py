"""Go to random ticks of launches, both engines: each state is that of a straight run there:

python -m tests.debug.fuzz_positions [--positions 1000] [--seed 0] [--kernel NAME ...]
"""

from __future__ import annotations

import argparse
import random
import sys
import time

import gpudbg
from tests import kernel_cases as kc
from tests.engine import machines

MOST = {"run": 5_000_000, "step": 20_000}
"""Warp instructions of a launch that are looked at, by engine."""


def wrong_positions(case: kc.Case, engine: str, count: int, seed: int) -> tuple[int, list[int]]:
    """How many positions were gone to, and those that had another state."""
    draw = random.Random(f"{case.name} {engine} {seed}")
    with machines.launch(case, engine) as straight, machines.launch(case, engine) as session:
        session.run(max_instructions=MOST[engine])
        ticks = sorted(draw.sample(range(session.tick + 1), min(count, session.tick)))
        hashes = {}
        for tick in ticks:
            if straight.finished or straight.faulted:
                break
            if tick > straight.tick:
                straight.run(max_instructions=tick - straight.tick)
            if straight.tick == tick:
                hashes[tick] = straight.state_hash()
        order = list(hashes)
        draw.shuffle(order)
        wrong = []
        for tick in order:
            session.goto(tick)
            if session.state_hash() != hashes[tick]:
                wrong.append(tick)
        return len(order), wrong


def main() -> int:
    """Go there, say what was wrong; 1 if something was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernel", nargs="*")
    parser.add_argument("--seconds", type=int, help="begin no other kernel after so long")
    options = parser.parse_args()
    begun, total, bad = time.process_time(), 0, 0
    for case in kc.cases():
        if options.kernel and case.name not in options.kernel:
            continue
        if options.seconds and time.process_time() - begun > options.seconds:
            print(f"stops before {case.name}")
            break
        for engine in ("run", "step"):
            try:
                count, wrong = wrong_positions(case, engine, options.positions, options.seed)
            except gpudbg.GpudbgError as error:
                count, wrong = 0, [0]
                print(f"{case.name}, engine {engine}: {error}")
            total, bad = total + count, bad + len(wrong)
            if wrong:
                print(f"{case.name}, engine {engine}: {sorted(wrong)[:8]} differ", flush=True)
    print(f"{total} positions, {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
