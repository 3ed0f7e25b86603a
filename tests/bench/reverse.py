"""Going back: what recording costs a run, and what a step back costs after runs of four lengths.

    python tests/bench/reverse.py [--megabytes 64] [--instructions 250,500,1000,2000] [--reps 3]

The kernel writes to all of its memory again and again (`kernels/churn.cu`), so that checkpoints
cannot share any of it.  Goals: recording 1.3 times the plain run at most (in turn, best of each), a
step back within a second and 500 MB whatever the run's length (millions of warp instructions),
`reverse-continue` over the whole run in three times its time; all in processor time.  Writes
reverse.svg: both against the run's length, where the broken line is what grows with it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from scaling import OUT, Point, plot  # noqa: E402

CUBIN = HERE.parent / "data" / "bench" / "cubin" / "churn.sm_50.cubin"
_PAGE = 4096


def resident() -> int:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE >> 20


def launch(megabytes: int, millions: int, record: bool) -> Any:
    """A session before its first instruction."""
    import numpy as np

    import gpudbg

    count = megabytes << 18
    program = gpudbg.load(str(CUBIN), engine="run")
    x = program.device.buffer(np.zeros(count, np.float32))
    # About 34.5 instructions for 32 elements.
    rounds = max(1, round(millions * 1e6 / (count / 32 * 34.5)))
    session = program.launch(grid=4, block=256, args=[x, count, rounds])
    if not record:
        session.grid.log = None
    return session


def recording(megabytes: int, millions: int, reps: int) -> None:
    """A run that can be gone back in beside one that cannot."""
    best = {True: float("inf"), False: float("inf")}
    for _ in range(reps):
        for record in best:
            with launch(megabytes, millions, record) as session:
                best[record] = min(best[record], seconds(session.run))
    print(f"recording: {best[True]:.2f} s / {best[False]:.2f} s = {best[True] / best[False]:.2f}")


def steps_back(megabytes: int, millions: int) -> tuple[Point, Point]:
    """The first step back, later ones, and back to the beginning.

    Returns:
        Millions of instructions with the seconds of the dearest step back, and of the way back.
    """
    with launch(megabytes, millions, True) as session:
        forward = seconds(session.run)
        took = [seconds(session.reverse_step) for _ in range(4)]
        size = resident()
        back = seconds(session.reverse_cont)
        print(
            f"{session.history.end_tick:15,} instructions: run {forward:6.2f} s, step back "
            f"{took[0]:.2f} s, then {min(took[1:]):.2f} s, {size} MB; "
            f"reverse-continue {back / forward:.2f} of the run"
        )
        length = round(session.history.end_tick / 1e6)
        return (length, max(took)), (length, back)


def seconds(call: Callable[[], Any]) -> float:
    """Processor seconds of a call."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--instructions", default="250,500,1000,2000")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER")
    options = parser.parse_args()
    lengths = [int(text) for text in options.instructions.split(",")]
    recording(options.megabytes, lengths[0], options.reps)
    found = [steps_back(options.megabytes, millions) for millions in lengths]
    panels = [
        ("a step back", "millions of instructions", [step for step, _ in found]),
        ("reverse-continue", "millions of instructions", [back for _, back in found]),
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "reverse.svg").write_text(plot(panels))


if __name__ == "__main__":
    main()
