"""What a launch costs in processor time beside memory that is live on its device, as ratios.

    python tests/bench/launches.py [--launches 40] [--json FILE]

A small kernel is launched, run and closed on a device that holds nothing else, one buffer of 64 MB,
16 buffers of 4 MB, and 1,000 buffers of 64 KB.  The medians of rounds that take turns are divided
by that of the empty device; a launch is to cost at most 1.5 times as much whatever is live.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import numpy as np  # noqa: E402

import gpudbg  # noqa: E402

CUBIN = HERE.parent / "data" / "bench" / "cubin" / "saxpy.sm_50.cubin"
LIVE = {
    "nothing": (0, 0),
    "1 x 64 MB": (1, 64 << 20),
    "16 x 4 MB": (16, 4 << 20),
    "1,000 x 64 KB": (1000, 64 << 10),
}
"""What is live -> buffers, bytes of each."""
ROUNDS = 9
MOST = 1.5


def machine(engine: str, live: tuple[int, int]) -> Any:
    """A program on a device with so much live memory, and what keeps that."""
    program = gpudbg.load(str(CUBIN), engine=engine)
    count, size = live
    held = [program.device.buffer(np.ones(size, np.uint8)) for _ in range(count)]
    return program, held


def seconds(program: Any, launches: int) -> float:
    """Processor time of a launch."""
    x, y = np.ones(256, np.float32), np.ones(256, np.float32)
    arguments = [x, y, np.int32(256), np.float32(2)]
    start = time.process_time()
    for _ in range(launches):
        with program.launch(grid=1, block=256, args=arguments) as session:
            session.run()
    return (time.process_time() - start) / launches


def measured(engine: str, launches: int) -> dict[str, tuple[float, float]]:
    """What is live -> microseconds of a launch, ratio to that of the empty device."""
    machines = {name: machine(engine, live) for name, live in LIVE.items()}
    for program, _ in machines.values():
        seconds(program, 3)
    rows: dict[str, list[float]] = {name: [] for name in LIVE}
    for _ in range(ROUNDS):
        for name, (program, _) in machines.items():
            rows[name].append(seconds(program, max(1, launches // ROUNDS)))
    median = {name: statistics.median(row) for name, row in rows.items()}
    return {name: (1e6 * value, value / median["nothing"]) for name, value in median.items()}


def main() -> int:
    """Print the table; 1 where a ratio is above what it may be."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--launches", type=int, default=90)
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    found = {engine: measured(engine, args.launches) for engine in ("step", "run")}
    print(f"{'live':16}" + "".join(f"{engine:>12} {'ratio':>6}" for engine in found))
    for name in LIVE:
        cells = "".join(f"{rows[name][0]:9.0f} us {rows[name][1]:6.2f}" for rows in found.values())
        print(f"{name:16}{cells}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))
    worst = max(ratio for rows in found.values() for _, ratio in rows.values())
    print(f"worst ratio {worst:.2f}, at most {MOST}")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
