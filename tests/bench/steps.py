"""Processor time of one step in the terminal UI, from the key to the painted screen.

    python tests/bench/steps.py [--steps 50] [--size 120x40] [PROGRAM]

A key comes as the terminal's reader puts it into the application; what is painted is written
nowhere.  `tests/tui/test_speed.py` holds what the time comes from: calls, paints, rows built.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import sys
import time
from pathlib import Path

from textual.events import Key

from gpudbg.api import add_launch_flags, open_session
from gpudbg.frontends.starting import load_numpy
from gpudbg.frontends.tui.app import GpudbgApp

FIRST = Path(__file__).resolve().parents[2] / "sessions" / "first_steps" / "first_steps.cubin"
WARM = 5
REST_S = 0.002


async def measure(program: Path, steps: int, size: tuple[int, int]) -> list[float]:
    """Processor seconds of each step."""
    parser = argparse.ArgumentParser()
    add_launch_flags(parser)
    app = GpudbgApp(open_session(program, parser.parse_args([])))
    used = []
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.2)
        gc.collect()
        gc.freeze()
        for number in range(WARM + steps):
            began = time.process_time()
            app.post_message(Key("space", " "))
            await asyncio.sleep(0)
            while not app.at_rest or app.screen._dirty_widgets:
                await asyncio.sleep(REST_S)
            if number >= WARM:
                used.append(time.process_time() - began)
    return used


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?", type=Path, default=FIRST)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--size", default="120x40")
    args = parser.parse_args()
    width, _, height = args.size.partition("x")
    used = asyncio.run(measure(args.program, args.steps, (int(width), int(height))))
    middle, least = statistics.median(used) * 1000, min(used) * 1000
    print(f"a step at {args.size}: {middle:.1f} ms of processor time (least {least:.1f})")
    return 0


if __name__ == "__main__":
    load_numpy()
    sys.exit(main())
