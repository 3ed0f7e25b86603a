"""The first and the tenth launch of 45 kernels beside the step engine alone, as ratios.

    python tests/bench/first.py [--kernels NAME ...] [--size small] [--json FILE]

Each kernel is launched ten times in a process of its own whose cache holds the run-time library,
which every program shares, and no kernel: once with `engine="auto"`, the default, and once on the
step engine; another kernel has run before, so that what a process imports is not counted.  A first
launch is to take no longer than the step engine's: what is not worth its code is stepped.
Processor time is that of the process that launches: copies of it, which compile meanwhile, have
their own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import shapes  # noqa: E402
import suite  # noqa: E402
import wide  # noqa: E402

CUBINS = HERE.parent / "data" / "bench" / "cubin"
LAUNCHES = 10
LONG = 20.0
"""Seconds of stepping after which only the first launch is measured."""
WARM_UP = "gramnorm"
"""The kernel that runs before, compiled where there is a compiler."""
ARCHS = ("sm_50", "sm_80")


def corpus() -> list[tuple[str, str]]:
    """Every kernel with what its cubin is for."""
    names = [*suite.NAMES, *wide.PROBLEMS, *shapes.PROBLEMS]
    return [(n, arch) for n in names for arch in ARCHS if (CUBINS / f"{n}.{arch}.cubin").exists()]


def launches(name: str, arch: str, size: str, engine: str) -> dict[str, Any]:
    """Times and processor times of launches in a row, and whether the output is right."""
    import gpudbg

    warm = "run" if engine == "auto" else engine
    other = gpudbg.load(str(CUBINS / f"{WARM_UP}.{arch}.cubin"), engine=warm)
    small = suite.problem(WARM_UP, "small")
    arguments = [*map(other.device.buffer, small.bufs), *small.scalars]
    with other.launch(grid=small.grid, block=small.block, args=arguments) as session:
        session.run()
    problem = suite.problem(name, size)
    program = gpudbg.load(str(CUBINS / f"{name}.{arch}.cubin"), engine=engine)
    buffers = [program.device.buffer(b) for b in problem.bufs]
    seconds: list[float] = []
    cpu: list[float] = []
    while len(seconds) < LAUNCHES and sum(seconds) < LONG:
        for buffer, content in zip(buffers, problem.bufs, strict=True):
            buffer.write(content)
        start, began = time.perf_counter(), time.process_time()
        arguments = [*buffers, *problem.scalars]
        shape = problem.grid, problem.block
        with program.launch(None, *shape, args=arguments) as session:
            session.run().check()
            total = session.grid.total
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - began)
    right = problem.correct([b.array() for b in buffers])
    return {"seconds": seconds, "cpu": cpu, "instructions": total, "correct": right}


def fill(folder: Path) -> None:
    """Compile the whole run-time library into a cache."""
    os.environ["GPUDBG_CACHE"] = str(folder)
    from gpudbg.sm.engines.llvm import build, layout

    for name in layout.FUNCTION_INDEX:
        build.library().address(layout.symbol(name))


def measured(name: str, arch: str, size: str, engine: str, library: Path) -> dict[str, Any]:
    """`launches` in a process of its own, without code of kernels from before."""
    command = [sys.executable, str(Path(__file__).resolve()), "--cell", name, arch, size, engine]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(library, folder, dirs_exist_ok=True)
        environment = {**os.environ, "GPUDBG_CACHE": folder}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip() or "failed").splitlines()[-1]}
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def row(name: str, arch: str, size: str, library: Path) -> dict[str, Any]:
    """A kernel on both engines, and the ratios."""
    auto, step = (measured(name, arch, size, engine, library) for engine in ("auto", "step"))
    found: dict[str, Any] = {"kernel": name, "arch": arch, "auto": auto, "step": step}
    if "error" in auto or "error" in step:
        return found
    found["first"] = auto["seconds"][0] / step["seconds"][0]
    found["cpu"] = auto["cpu"][0] / step["cpu"][0]
    found["tenth"] = auto["seconds"][-1] / step["seconds"][-1]
    return found


def line(found: dict[str, Any]) -> str:
    """A row of the table."""
    name = f"{found['kernel']:14} {found['arch']}"
    auto, step = found["auto"], found["step"]
    if "first" not in found:
        return f"{name}  {auto.get('error') or step.get('error')}"
    right = "" if auto["correct"] and step["correct"] else "  WRONG OUTPUT"
    ms = [1e3 * s for s in (auto["seconds"][0], step["seconds"][0], auto["seconds"][-1])]
    return (
        f"{name} {step['instructions']:12,} {ms[0]:10.1f} {ms[1]:10.1f} {found['first']:7.2f} "
        f"{found['cpu']:7.2f} {ms[2]:10.2f} {found['tenth']:8.4f}{right}"
    )


def main() -> int:
    """Measure and print; 1 where an output is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", nargs="+", metavar="NAME")
    parser.add_argument("--size", default="small", choices=suite.SIZES)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--cell", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        name, arch, size, engine = options.cell
        print(json.dumps(launches(name, arch, size, engine)))
        return 0
    head = "instructions   first ms    step ms   ratio     cpu   tenth ms    ratio"
    print(f"{'kernel':14} {'':5} {head}", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder))
        for name, arch in corpus():
            if options.kernels and name not in options.kernels:
                continue
            rows.append(row(name, arch, options.size, Path(folder)))
            print(line(rows[-1]), flush=True)
    whole = [r for r in rows if "first" in r]
    for which in ("first", "cpu", "tenth"):
        mean = statistics.geometric_mean([r[which] for r in whole])
        worst = max(whole, key=lambda r: r[which])
        print(
            f"{which}: geometric mean {mean:.4f}, at most {worst[which]:.2f} "
            f"({worst['kernel']}, {worst['arch']})"
        )
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    return int(any("first" not in r or not r["auto"]["correct"] for r in rows))


if __name__ == "__main__":
    sys.exit(main())
