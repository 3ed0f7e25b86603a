"""Go to random ticks of launches, both engines: each state is that of a straight run there:

python -m tests.debug.fuzz_positions [--positions 1000] [--seed 0] [--kernel NAME ...]
python -m tests.debug.fuzz_positions --bench small     the kernels of tests/bench, at a size
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gpudbg
from tests import kernel_cases as kc
from tests.engine import machines

MOST = {"run": 5_000_000, "step": 100_000}
"""Warp instructions of a launch that are looked at, by engine."""
PIECES = 24
"""Checkpoints of a launch, at random places: the ways back are short, so that a thousand positions
take a minute on the step engine; `--pieces 0`: none but those that the session takes by itself."""


BENCH = Path("tests/bench").resolve()
Opened = tuple[str, Callable[[str], Any]]
"""A launch: its name, and what makes its session by engine."""


def cases() -> Iterator[Opened]:
    """The sample kernels."""
    for case in kc.cases():
        yield case.name, partial(machines.launch, case)


def benchmarks(size: str) -> Iterator[Opened]:
    """The kernels of the benchmark suite at a size."""
    sys.path.insert(0, str(BENCH))
    suite: Any = importlib.import_module("suite")

    def launch(name: str, engine: str) -> Any:
        cubin = BENCH.parent / "data" / "bench" / "cubin" / f"{name}.sm_50.cubin"
        problem = suite.problem(name, size)
        program = gpudbg.load(str(cubin), engine=engine)
        arguments = [*(program.device.buffer(b) for b in problem.bufs), *problem.scalars]
        return program.launch(grid=problem.grid, block=problem.block, args=arguments)

    for name in suite.NAMES:
        yield name, partial(launch, name)


def _length(opened: Callable[[str], Any], engine: str) -> int:
    """Warp instructions of a launch that are looked at."""
    with opened("run") as session:
        session.run(max_instructions=MOST[engine])
        return int(session.tick)


def _run_in_pieces(session: Any, length: int, pieces: int, draw: random.Random) -> None:
    """Run a launch, with a checkpoint behind each of so many runs."""
    replay = session.history.replay
    for tick in [*sorted(draw.sample(range(1, length), min(pieces, length - 1))), length]:
        if session.faulted or session.finished:
            return
        session.run(max_instructions=tick - session.tick)
        replay.mark(replay.end)


def wrong_positions(
    launch: Opened, engine: str, count: int, seed: int, pieces: int = PIECES
) -> tuple[int, list[int]]:
    """How many positions were gone to, and those that had another state."""
    name, opened = launch
    draw = random.Random(f"{name} {engine} {seed}")
    with opened(engine) as straight, opened(engine) as session:
        _run_in_pieces(session, _length(opened, engine), pieces, draw)
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
    parser.add_argument("--pieces", type=int, default=PIECES)
    parser.add_argument("--kernel", nargs="*")
    parser.add_argument("--seconds", type=int, help="begin no other kernel after so long")
    parser.add_argument("--bench", choices=("small", "tiny"))
    options = parser.parse_args()
    begun, total, bad = time.process_time(), 0, 0
    for launch in benchmarks(options.bench) if options.bench else cases():
        name = launch[0]
        if options.kernel and name not in options.kernel:
            continue
        if options.seconds and time.process_time() - begun > options.seconds:
            print(f"stops before {name}")
            break
        for engine in ("run", "step"):
            try:
                count, wrong = wrong_positions(
                    launch, engine, options.positions, options.seed, options.pieces
                )
            except gpudbg.GpudbgError as error:
                count, wrong = 0, [0]
                print(f"{name}, engine {engine}: {error}")
            total, bad = total + count, bad + len(wrong)
            if options.bench:
                print(f"{name}, engine {engine}: {count} positions, {len(wrong)} wrong", flush=True)
            if wrong:
                print(f"{name}, engine {engine}: {sorted(wrong)[:8]} differ", flush=True)
    print(f"{total} positions, {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
