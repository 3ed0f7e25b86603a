"""What compiling a kernel costs: processor time for each SASS instruction.

    python tests/bench/compiling.py [--suite all] [--kernels saxpy,sgemm] [--json FILE]
    python tests/bench/compiling.py --vs TREE       beside another checkout of this project

Each kernel is launched once in a process of its own in which another kernel has run, without
objects on disk.  What counts is what the launch compiles on the way to its last code (for whole
warps, and for any lanes where warps lack some), as in bench.py's column "compile"; quick code, with
which `engine="auto"` begins, is told beside it.  The run-time library, which all kernels share,
is in neither.  Times are the least of `--rounds` processes, NOPs are no instructions.

A kernel is "uniform" (mostly) where at least two thirds of the instructions that write registers or
predicates write what is uniform or affine, as `info uniform` says for blocks of the launch's shape,
"varying" where at most one third does, else "mixed".  With `--vs` a tree's process is followed by
the other's; ratios are ours over theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OURS = HERE.parents[1]
sys.path[:0] = [str(HERE), str(OURS)]

import suite  # noqa: E402
import wide  # noqa: E402

CUBINS = HERE.parent / "data" / "bench" / "cubin"
OUT = OURS / "build" / "bench" / "compiling.json"
SUITES = {
    "nine": [*suite.NAMES],
    "wide": [*wide.PROBLEMS],
    "sm_80": [f"{name}.sm_80" for name in suite.NAMES],
}
SUITES["all"] = [name for names in list(SUITES.values()) for name in names]
WARM_UP = ("transpose", "saxpy")
"""The kernel that runs before, and the one before that."""
UNIFORM, VARYING = 2 / 3, 1 / 3
"""Least and most part of the instructions for the class of this name."""
WHAT = ("compile", "quick")
Row = dict[str, Any]


def class_of(share: float) -> str:
    """A kernel's class by the part of its results that is uniform or affine."""
    if share >= UNIFORM:
        return "uniform"
    return "varying" if share <= VARYING else "mixed"


def share(listing: Any, block: tuple[int, ...]) -> float | None:
    """The part of a listing's instructions with results that write what is uniform or affine; None
    in checkouts without the analysis."""
    try:
        from gpudbg.sm.cfg import Flow
        from gpudbg.sm.lanes.analysis import LaneAnalysis
        from gpudbg.sm.lanes.values import of_block
    except ImportError:
        return None
    x, y, z = (*block, 1, 1)[:3]
    flow = Flow.of(listing.code, listing.arch, listing.entry)
    known = LaneAnalysis(flow, listing.arch, of_block((x, y, z)), listing.entry)
    found = []
    for offset in flow.instructions:
        results = [*known.results(offset).values(), *known.masks(offset).values()]
        if results:
            found.append(None not in results)
    return sum(found) / len(found)


# ---- one kernel, in a process of its own ----------------------------------------------------


class Watch:
    """Adds up the processor time of compiling, and of the compiler library in it."""

    def __init__(self) -> None:
        from gpudbg.sm.engines.llvm import build, program

        # The class had another name in older checkouts.
        kind: Any = getattr(program, "CompiledProgram", None) or program.Program  # type: ignore[attr-defined]
        self._compile, self._object_of = kind.compile, build.object_of
        self.seconds = self.library = 0.0
        self.versions: list[bool] = []
        kind.compile = lambda held, full, effort: self._compiled(held, full, effort)
        build.object_of = self._made

    def _compiled(self, program: Any, full: bool, effort: int) -> Any:
        begun = time.process_time()
        made = self._compile(program, full, effort)
        self.seconds += time.process_time() - begun
        self.versions.append(full)
        return made

    def _made(self, text: str, level: int, passes: Any = "none") -> bytes:
        begun = time.process_time()
        made = self._object_of(text, level, passes)
        if passes == "none":
            self.library += time.process_time() - begun
        return made

    def taken(self) -> Row:
        """What was compiled since the last time."""
        found = {"s": self.seconds, "library_s": self.library, "versions": self.versions}
        self.seconds, self.library, self.versions = 0.0, 0.0, []
        return found


def launched(name: str, arch: str, problem: Any) -> tuple[Any, bool]:
    """The compiled program of a launch, and whether the output was right."""
    import gpudbg

    program = gpudbg.load(str(CUBINS / f"{name}.{arch}.cubin"), engine="run")
    buffers = [program.device.buffer(b) for b in problem.bufs]
    arguments = [*buffers, *problem.scalars]
    session: Any = program.launch(grid=problem.grid, block=problem.block, args=arguments)
    session.grid.run()
    compiled = session.grid.fast.engine.program
    return compiled, problem.correct([b.array() for b in buffers])


def cell(name: str, arch: str, size: str) -> Row:
    """Launch a kernel once; what compiling it took."""
    watch = Watch()
    other = WARM_UP[name == WARM_UP[0]]
    warm, _ = launched(other, "sm_50", suite.problem(other, "tiny"))
    warm.compile(False, 0)
    watch.taken()
    problem = suite.problem(name, size)
    program, correct = launched(name, arch, problem)
    found: Row = {"compile": watch.taken(), "correct": correct}
    # Quick code is for any mask; older checkouts made it for whole warps, too.
    apart = "plain" not in dir(program)
    for full in sorted(set(found["compile"]["versions"]) if apart else {False}):
        program.compile(full, 0)
    found["quick"] = watch.taken()
    found["share"] = share(program.listing, problem.block)
    found["instructions"] = sum(insn.op != "NOP" for insn in program.listing.code.values())
    return found


def measured(kernel: str, size: str, tree: Path) -> Row:
    """`cell` in a process of its own, with a tree's package."""
    code = f"import sys; sys.path.insert(0, {str(tree)!r}); sys.path.insert(1, {str(HERE)!r}); "
    code += "import json, compiling; sys.path.insert(0, sys.path.pop(sys.path.index("
    code += f"{str(tree)!r}))); print(json.dumps(compiling.cell(*sys.argv[1:])), flush=True)"
    name, _, arch = kernel.partition(".")
    command = [sys.executable, "-c", code, name, arch or suite.problem(name, size).arch, size]
    environment = {**os.environ, "GPUDBG_NO_CACHE": "1", "PYTHONPATH": str(tree)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip() or "failed").splitlines()[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


# ---- the table --------------------------------------------------------------------------------


def least(rounds: list[Row]) -> Row:
    """Of several rounds the one that took least, for each kind of code."""
    for found in rounds:
        if "error" in found:
            return found
    best = {what: min((r[what] for r in rounds), key=lambda part: part["s"]) for what in WHAT}
    return rounds[0] | best | {"correct": all(r["correct"] for r in rounds)}


def row(kernel: str, size: str, trees: list[Path], rounds: int) -> Row:
    """A kernel in each tree, one after the other."""
    runs = [[measured(kernel, size, tree) for tree in trees] for _ in range(rounds)]
    found: Row = {"kernel": kernel}
    found["trees"] = [least(list(of)) for of in zip(*runs, strict=True)]
    part = found["trees"][0].get("share")
    found |= {"share": part, "class": "" if part is None else class_of(part)}
    if len(trees) > 1 and not any("error" in tree for tree in found["trees"]):
        ours, theirs = found["trees"]
        found["ratio"] = {what: ours[what]["s"] / theirs[what]["s"] for what in WHAT}
    return found


def line(found: Row) -> str:
    """A row of the table."""
    if errors := [tree["error"] for tree in found["trees"] if "error" in tree]:
        return f"| {' | '.join([found['kernel'], *errors])} |"
    cells = [found["kernel"], f"{found['class']} {found['share']:.2f}"]
    ours = found["trees"][0]
    count = ours["instructions"]
    cells.append(f"{count}")
    for what in WHAT:
        made = ours[what]
        cells.append(f"{1e3 * made['s']:.0f} ({1e3 * made['library_s']:.0f})")
        cells.append(f"{1e3 * made['s'] / count:.2f}")
        cells += [f"{found['ratio'][what]:.2f}x"] if "ratio" in found else []
    wrong = "" if all(tree["correct"] for tree in found["trees"]) else " WRONG"
    return f"| {' | '.join(cells)} |{wrong}"


def means(rows: Iterable[Row]) -> list[str]:
    """Geometric means of the ratios: of each class, and of all."""
    told = [r for r in rows if "ratio" in r]
    lines = []
    for kind in ("uniform", "mixed", "varying", "all"):
        of = [r["ratio"] for r in told if kind in (r["class"], "all")]
        if of:
            each = [
                f"{what} {statistics.geometric_mean(r[what] for r in of):.2f}x" for what in WHAT
            ]
            lines.append(f"{kind}: {len(of)} kernels, {', '.join(each)}")
    return lines


def main() -> int:
    """Print the table, write the JSON; 1 where an output is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=tuple(SUITES), default="nine", help="%(default)s")
    parser.add_argument("--kernels", help="all of the suite", metavar="NAME[.ARCH],...")
    parser.add_argument("--vs", type=Path, metavar="TREE", help="another checkout, measured too")
    parser.add_argument("--size", choices=suite.SIZES, default="small", help="%(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="%(default)s")
    parser.add_argument("--json", type=Path, default=OUT, metavar="FILE", help="%(default)s")
    options = parser.parse_args()
    kernels = options.kernels.split(",") if options.kernels else SUITES[options.suite]
    if unknown := [name for name in kernels if name not in SUITES["all"]]:
        parser.error(f"no kernels: {', '.join(unknown)}")
    if options.vs and not (options.vs / "gpudbg").is_dir():
        parser.error(f"--vs {options.vs}: no checkout of this project")
    trees = [OURS, *([options.vs.resolve()] if options.vs else [])]
    ratio = " ratio |" if options.vs else ""
    print(
        "| processor ms (compiler library) | share uniform or affine | instructions "
        f"| compile | each |{ratio} quick | each |{ratio}"
    )
    print("|---|---|" + "--:|" * (7 if options.vs else 5))
    rows = []
    for kernel in kernels:
        rows.append(row(kernel, options.size, trees, options.rounds))
        print(line(rows[-1]), flush=True)
    print("\n".join(means(rows)))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    about = {"size": options.size, "trees": [str(tree) for tree in trees], "results": rows}
    options.json.write_text(json.dumps(about, indent=1) + "\n")
    right = all(tree.get("correct", True) for r in rows for tree in r["trees"])
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
