"""What watchpoints cost: runs under one beside the same run without, on the run engine.

    python tests/bench/watching.py [--kernels saxpy,sgemm] [--size small] [--reps 5] [--json OUT]

Four runs in turn in one process: without a watchpoint; with one for writes on a buffer that nobody
touches; with one on an element of the output, whose stops are passed; with one on the register
that the fewest instructions write, in lane 0 of the first warp, whose stops are passed.  A ratio is
that of the best processor times of whole sessions' runs; the first round, which compiles, does not
count.  The last lines are the geometric mean and the worst.  Goal: 1.5 for the first.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import suite  # noqa: E402

CUBINS = HERE.parent / "data" / "bench" / "cubin"
KERNELS = "saxpy sgemm stencil reduce nbody mandelbrot histogram bitonic sha256".split()
CASES = ("nobody", "element", "register")
Row = dict[str, Any]


def cold_register(session: Any) -> str:
    """The register that the fewest instructions of a kernel write that has run."""
    code = session.grid.fast.report().code.values()
    written = Counter(n for insn in code for n in insn.writes().registers)
    return f"$R{min(written, key=lambda n: (written[n], n))}"


def watched(session: Any, case: str, problem: Any, unused: Any, register: str) -> None:
    """Set the watchpoint of a case."""
    if case == "nobody":
        session.watch_at(f"*(@global int*)0x{unused.address + 64:x}")
    elif case == "element":
        session.watch_at(f"arg{problem.outs[0]}[0]")
    elif case == "register":
        session.watch_at(register)


def seconds(session: Any) -> tuple[float, int]:
    """Processor seconds to the end, and stops on the way."""
    begun, stops = time.process_time(), 0
    while session.cont().kind == "breakpoint":
        stops += 1
    return time.process_time() - begun, stops


def measured(kernel: str, size: str, reps: int, cases: tuple[str, ...]) -> Row:
    """Best seconds of each case, and its stops."""
    import gpudbg

    problem: Any = suite.problem(kernel, size)
    program = gpudbg.load(str(CUBINS / f"{kernel}.sm_50.cubin"), engine="run")
    buffers = [program.device.buffer(b) for b in problem.bufs]
    unused = program.device.buffer(problem.bufs[0])
    best: Row = {}
    register = ""
    for turn in range(reps + 1):
        for case in ("plain", *cases):
            for buffer, content in zip(buffers, problem.bufs, strict=True):
                buffer.write(content)
            arguments = [*buffers, *problem.scalars]
            with program.launch(grid=problem.grid, block=problem.block, args=arguments) as session:
                watched(session, case, problem, unused, register)
                took, stops = seconds(session)
                register = register or cold_register(session)
            assert problem.correct([b.array() for b in buffers]), (kernel, case)
            old = best.get(case, {}).get("seconds", math.inf)
            best[case] = {"seconds": min(old, took) if turn > 1 else took, "stops": stops}
    return best


def printed(kernel: str, row: Row, cases: tuple[str, ...]) -> None:
    """A line of the table."""
    plain = row["plain"]["seconds"]
    cells = [
        f"{row[case]['seconds'] / plain:8.2f}x ({row[case]['stops']:4} stops)" for case in cases
    ]
    print(f"{kernel:12}{plain * 1e3:9.1f} ms", *cells, flush=True)


def summary(name: str, choose: Callable[[list[float]], float], rows: dict[str, Row]) -> None:
    """A last line."""
    cases = [case for case in next(iter(rows.values())) if case != "plain"]
    of = {c: [r[c]["seconds"] / r["plain"]["seconds"] for r in rows.values()] for c in cases}
    print(f"{name:12}{'':12}", *(f"{choose(of[case]):8.2f}x{'':13}" for case in cases))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--size", default="full")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    cases = tuple(args.cases.split(","))
    rows = {}
    for kernel in args.kernels.split(","):
        rows[kernel] = measured(kernel, args.size, args.reps, cases)
        printed(kernel, rows[kernel], cases)
    summary("mean", lambda of: math.exp(sum(map(math.log, of)) / len(of)), rows)
    summary("worst", max, rows)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
