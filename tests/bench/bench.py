"""Speed of the run engine beside its peers: one table and one JSON file.

    make bench                          every kernel at full size, peers that are installed
    bench.py --kernels saxpy,sgemm --size small --reps 3 --json out.json
    bench.py --suite wide               the other twenty (`wide.py`)
    bench.py --level x86-64-v3          the run engine again, as on a host without AVX-512
    scaling.py                          cost against grid size and against divergence

Peers: `native` is the plain C of `kernels/` by gcc -O3 -march=native, `native-scalar` the same
without vectors, `pocl` and `oclgrind` run the OpenCL of `kernels/`, `gpuocelot` emulates its PTX,
which was compiled from the sources of the cubins.  Those that are not installed are named and
skipped; `apt-get install gcc pocl-opencl-icd ocl-icd-libopencl1 oclgrind` installs all that have
packages, and GPUOCELOT names the `libgpuocelot.so` of one that is built.  Times are warm kernel
times of one thread, compiling excluded: the median of at least five runs.  Each cell runs in a
process of its own, and its output is checked.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import glob
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import numpy as np  # noqa: E402
import suite  # noqa: E402
import wide  # noqa: E402

from tests.levels import LEVELS, has, stand_for  # noqa: E402

CUBINS = HERE.parent / "data" / "bench" / "cubin"
OUT = HERE.parents[1] / "build" / "bench"
"""Where results go unless one says otherwise; git ignores it."""
OPENCL = ("pocl", "oclgrind")
PEERS = ("gpudbg-2", "step", "native", "native-scalar", *OPENCL, "gpuocelot")
"""Columns beside the run engine on one thread: "gpudbg-2" is that with two host threads, "step" our
step engine."""
OURS = "gpudbg-"
"""Begins the names of columns of our own: "gpudbg-2" and "gpudbg-" with a level."""
OCELOT = os.environ.get("GPUOCELOT", "")
SLOW_PEERS = {"step": 1, "oclgrind": 1, "gpuocelot": 3}
"""Peers that take seconds -> runs."""

Run = Callable[[], tuple[float, list[Any]]]
Results = dict[tuple[str, str], dict[str, Any]]


def machine() -> str:
    """The processor and how many of it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{os.cpu_count()} x {name}"


def missing(peer: str) -> str:
    """Why a peer cannot run here, or ""."""
    if peer.startswith("native"):
        return "" if shutil.which("gcc") else "no gcc"
    if peer == f"{OURS}2":
        return "" if (os.cpu_count() or 1) > 1 else "one processor"
    if peer == "step":
        return ""
    if (level := peer.removeprefix(OURS)) in LEVELS:
        return "" if has(level) else "the host has less"
    if peer not in PEERS:
        return f"no peer of this name; there are {', '.join(PEERS)}"
    if peer not in OPENCL:
        return "" if Path(OCELOT).is_file() else "in no package; GPUOCELOT names libgpuocelot.so"
    if not ctypes.util.find_library("OpenCL"):
        return "no OpenCL loader"
    if peer == "oclgrind":
        return "" if shutil.which("oclgrind") else "oclgrind is not installed"
    return "" if glob.glob("/etc/OpenCL/vendors/*pocl*") else "PoCL is not installed"


# ---- one cell, in a process of its own ------------------------------------------------------


def _native(problem: Any, scalar: bool, report: dict[str, Any]) -> Run:
    """The C function of a kernel."""
    library = os.path.join(tempfile.mkdtemp(), "kernel.so")
    options = ["-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared"]
    options.append(f"-ffp-contract={'off' if problem.name in suite.NO_FMA else 'fast'}")
    if scalar:
        options += ["-fno-tree-vectorize", "-fno-tree-slp-vectorize"]
    source = str(next((HERE / "kernels").glob(f"**/{problem.name}.c")))
    begin = time.perf_counter()
    subprocess.run(["gcc", *options, source, "-o", library, "-lm"], check=True)
    report["compile_s"] = time.perf_counter() - begin
    function = getattr(ctypes.CDLL(library), problem.name)
    function.restype = None

    def once() -> tuple[float, list[Any]]:
        buffers = problem.fresh()
        arguments = [b.ctypes.data_as(ctypes.c_void_p) for b in buffers]
        for value in problem.native_scalars or problem.scalars:
            kind = ctypes.c_float if isinstance(value, np.floating) else ctypes.c_int
            arguments.append(kind(value.item()))
        start = time.perf_counter()
        function(*arguments)
        return time.perf_counter() - start, buffers

    return once


def _opencl(problem: Any, peer: str, report: dict[str, Any]) -> Run:
    """The OpenCL kernel on PoCL or Oclgrind."""
    from clhost import CL

    host = CL()
    plain = HERE / "kernels" / f"{problem.name}.cl"
    source = plain.read_bytes() if plain.exists() else wide.source(problem.name).encode()
    begin = time.perf_counter()
    kernel = host.kernel(source, problem.name, b"" if peer == "pocl" else b"-O2")
    report["compile_s"] = time.perf_counter() - begin

    def once() -> tuple[float, list[Any]]:
        buffers = problem.fresh()
        spent = host.run(kernel, buffers, problem.scalars, problem.grid, problem.block)
        return spent, buffers

    return once


def _ocelot(problem: Any) -> Run:
    """The PTX emulator of gpuocelot."""
    library = ctypes.CDLL(OCELOT)
    source = (HERE / "kernels" / f"{problem.name}.ptx").read_bytes()
    shape = [*(*problem.block, 1, 1)[:3], *(*problem.grid, 1, 1)[:3]]

    def once() -> tuple[float, list[Any]]:
        buffers = problem.fresh()
        scalars = [int.from_bytes(value.tobytes(), "little") for value in problem.scalars]
        values = [*(b.ctypes.data for b in buffers), *scalars]
        arguments = (ctypes.c_void_p * len(values))(*values)
        start = time.perf_counter()
        library.ptx_run(source, len(values), arguments, *shape, 0)
        return time.perf_counter() - start, buffers

    return once


def gpudbg_run(problem: Any, jobs: int, report: dict[str, Any], engine: str = "run") -> Run:
    """The cubin on an engine; what it compiled and executed goes to `report`."""
    import gpudbg

    cubin = CUBINS / f"{problem.name}.{problem.arch}.cubin"
    program = gpudbg.load(str(cubin), engine=engine, jobs=jobs)
    buffers = [program.device.buffer(b) for b in problem.bufs]

    def once() -> tuple[float, list[Any]]:
        for buffer, content in zip(buffers, problem.bufs, strict=True):
            buffer.write(content)
        arguments = [*buffers, *problem.scalars]
        session = program.launch(grid=problem.grid, block=problem.block, args=arguments)
        start = time.perf_counter()
        session.grid.run()
        spent = time.perf_counter() - start
        report["thread_instructions"] = 32 * session.grid.total
        fast = session.grid.fast
        ran = fast.report() if fast is not None else None
        if ran is not None:
            report["compile_s"] = ran.seconds
            report["exits"] = sum(ran.exits.values())
        return spent, [b.array() for b in buffers]

    return once


def cell(peer: str, kernel: str, size: str, reps: int) -> dict[str, Any]:
    """Measure one peer on one kernel."""
    problem = suite.problem(kernel, size)
    report: dict[str, Any] = {}
    if peer.startswith("native"):
        once = _native(problem, peer.endswith("scalar"), report)
    elif peer in OPENCL:
        once = _opencl(problem, peer, report)
    elif peer == "gpuocelot":
        once = _ocelot(problem)
    else:
        if (level := peer.removeprefix(OURS)) in LEVELS:
            stand_for(level)
        engine = "step" if peer == "step" else "run"
        once = gpudbg_run(problem, 2 if peer == f"{OURS}2" else 1, report, engine)
    reps = SLOW_PEERS.get(peer, reps)
    if peer not in SLOW_PEERS:
        report["first_s"], _ = once()
    seconds: list[float] = []
    begin = time.perf_counter()
    while len(seconds) < reps or (len(seconds) < 10 * reps and time.perf_counter() - begin < 1):
        spent, outputs = once()
        seconds.append(spent)
    return report | {"seconds": seconds, "correct": problem.correct(outputs)}


def measured(peer: str, kernel: str, size: str, reps: int) -> dict[str, Any]:
    """`cell` in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--cell", peer, kernel, size]
    command.append(str(reps))
    if peer == "oclgrind":
        command = ["oclgrind", "--num-threads", "1", "--max-wgsize", "1024", *command]
    environment = dict(
        os.environ,
        POCL_MAX_PTHREAD_COUNT="1",
        OCLGRIND=str(int(peer == "oclgrind")),
        GPUDBG_NO_CACHE="1",
    )
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": "timed out"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"error": (done.stderr or done.stdout).strip().splitlines()[-1:]}
    return dict(json.loads(lines[-1]))


def pooled(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """One cell from those of several rounds: median and best of all runs."""
    for found in rounds:
        if "error" in found:
            return found
    seconds = [spent for found in rounds for spent in found["seconds"]]
    return rounds[0] | {
        "seconds": seconds,
        "median_s": statistics.median(seconds),
        "best_s": min(seconds),
        "runs": len(seconds),
        "correct": all(found["correct"] for found in rounds),
    }


# ---- the table --------------------------------------------------------------------------------


def _ratio(value: float) -> str:
    return f"{value:.2f}x" if value >= 0.01 else f"1/{1 / value:,.0f}"


def _shown(result: dict[str, Any] | None, ours: dict[str, Any] | None = None) -> str:
    """Median and best time of a cell; and our median time over its own."""
    if result is None or "error" in result:
        return "-"
    digits = 0 if result["median_s"] > 1 else 2
    text = f"{result['median_s'] * 1e3:.{digits}f} / {result['best_s'] * 1e3:.{digits}f}"
    if ours is not None:
        text += f" ({_ratio(ours['median_s'] / result['median_s'])})"
    return text if result["correct"] else f"{text} WRONG"


def table(results: Results, kernels: list[str], peers: list[str]) -> str:
    """Markdown: a row for each kernel, milliseconds as median / best, with our time over the
    peer's; then the means of these."""
    head = ["ms: median / best", "gpudbg", "compile", "G thread-instr/s", *peers]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    for kernel in kernels:
        ours = results[kernel, "run"]
        if "error" in ours:
            lines.append(f"| {kernel} | {ours['error']} |")
            continue
        rate = ours["thread_instructions_per_s"] / 1e9
        row = [kernel, _shown(ours), f"{ours['compile_s'] * 1e3:.0f}", f"{rate:.1f}"]
        row += [_shown(results.get((kernel, peer)), ours) for peer in peers]
        lines.append("| " + " | ".join(row) + " |")
    for what, words in (("median_s", "medians"), ("best_s", "bests")):
        means = [_mean(results, kernels, peer, what) for peer in peers]
        lines.append(
            f"| our time / theirs, geometric mean of {words} | | | | {' | '.join(means)} |"
        )
    return "\n".join(lines)


def details(results: Results, kernels: list[str], peers: list[str]) -> str:
    """Markdown: compile time in ms where a peer tells it, and speed.

    What a peer compiles when it first runs a kernel is not in it.  Speed is in 10^9 of the cubin's
    thread instructions a second, whatever a peer makes of a kernel.
    """
    head = ["compile ms, G thread-instr/s", "gpudbg", *peers]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    for kernel in kernels:
        row = [kernel]
        for peer in ("run", *peers):
            found = results.get((kernel, peer), {})
            if "thread_instructions_per_s" not in found:
                row.append("-")
                continue
            compiled = f"{found['compile_s'] * 1e3:.0f}" if found.get("compile_s") else "-"
            row.append(f"{compiled}, {found['thread_instructions_per_s'] / 1e9:.3g}")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _mean(results: Results, kernels: list[str], peer: str, what: str) -> str:
    """The geometric mean of our time over a peer's."""
    pairs = [(results[kernel, "run"], results.get((kernel, peer), {})) for kernel in kernels]
    ratios = [ours[what] / found[what] for ours, found in pairs if what in ours and what in found]
    return _ratio(statistics.geometric_mean(ratios)) if ratios else "-"


def main() -> int:
    """Measure, print the table, write the JSON."""
    if sys.argv[1:2] == ["--cell"]:
        peer, kernel, size, reps = sys.argv[2:]
        print(json.dumps(cell(peer, kernel, size, int(reps))), flush=True)
        # Some peers do not survive their own end.
        os._exit(0)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=("nine", "wide"), default="nine", help="%(default)s")
    parser.add_argument("--kernels", help="all of the suite", metavar="NAME,...")
    parser.add_argument("--level", choices=tuple(LEVELS), help="one more column of ours")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--size", choices=("full", "small", "tiny"), default="full")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="all peers in turn so often: a host is not always as fast",
    )
    parser.add_argument(
        "--json", type=Path, default=OUT / "bench.json", metavar="FILE", help="%(default)s"
    )
    options = parser.parse_args()
    asked = [peer for peer in options.peers.split(",") if peer]
    asked[:0] = [f"{OURS}{options.level}"] if options.level else []
    skipped = {peer: why for peer in asked if (why := missing(peer))}
    peers = [peer for peer in asked if peer not in skipped]
    kernels = list(suite.NAMES if options.suite == "nine" else wide.PROBLEMS)
    kernels = options.kernels.split(",") if options.kernels else kernels
    if unknown := [name for name in kernels if name not in {*suite.NAMES, *wide.PROBLEMS}]:
        parser.error(f"no kernels: {', '.join(unknown)}")
    results = {}
    for kernel in kernels:
        rounds: dict[str, list[dict[str, Any]]] = {peer: [] for peer in ("run", *peers)}
        for number in range(options.rounds):
            for peer, found in rounds.items():
                if number == 0 or peer not in SLOW_PEERS:
                    found.append(measured(peer, kernel, options.size, options.reps))
        for peer, found in rounds.items():
            results[kernel, peer] = result = pooled(found)
            count = results[kernel, "run"].get("thread_instructions")
            if count and "median_s" in result:
                # Of the cubin's instructions, whatever a peer makes of the kernel.
                result["thread_instructions_per_s"] = count / result["median_s"]
            print(f"{kernel:11s} {peer:14s} {_shown(results[kernel, peer])}", file=sys.stderr)
    print(table(results, kernels, peers))
    print("\n" + details(results, kernels, peers) + "\n")
    for peer, why in skipped.items():
        print(f"skipped: {peer} ({why})")
    about = {"machine": machine(), "load": os.getloadavg()[0], "skipped": skipped}
    print(f"machine: {about['machine']}, load {about['load']:.1f} at the end")
    rows = [{"kernel": k, "peer": p, **r} for (k, p), r in results.items()]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(about | {"results": rows}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
