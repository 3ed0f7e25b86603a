"""Vectors and words that compiled kernels keep on the host's stack, and how often they do.

    python tests/bench/spills.py [--suite wide|all] [--kernels saxpy,sgemm] [--level x86-64-v3]

A spill is a store of a register that the compiler library makes because registers do not suffice,
a reload a load of one.  It marks both in the assembly text of a kernel (`# 64-byte Spill`).  Four
counts for each kernel:

* `text`: of the code for whole warps and of that for any lanes, as it stands.
* `path`: of the blocks of instructions that were executed at least half as often as there are
  warps: what a warp goes through from its entry to its end, without exits, borders and what steps
  begin.
* `loops`: of those executed at least twice as often as there are warps.  (Loops as the compiler
  library sees them do not tell: a kernel can be entered in the middle of its own, so that most are
  one with the loop round the turns of its warps.)
* `executed`: over one whole launch, for each warp and for each of the kernel's own instructions
  that a warp executed.

All but the first are exact: a few instructions that change neither flags nor registers are put at
the beginning of each block of the same text, and add one to a counter of the block.  Where GNU as
is not installed or the host is not an x86-64, the first alone is told.  The library's functions,
which kernels call, are not in any count; what a call makes its caller keep on the stack is.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import math
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import bench
import suite
import wide

from gpudbg.sm.engines.llvm import build
from tests.levels import LEVELS, has, stand_for

SUITES = {
    "nine": suite.NAMES,
    "wide": list(wide.PROBLEMS),
    "all": [*suite.NAMES, *wide.PROBLEMS],
}
_COUNTS = "gpudbg_block_counts"
_FUNCTION = re.compile(r"([A-Za-z_$][\w$.]*):\s*(?:[#/]|$)")
_BLOCK = re.compile(r"(?:\.LBB\d+_\d+:|(?:#|//) %bb\.\d+:)\s*(?:(?:#|//)\s*%(\S+))?")
_MOVE = re.compile(r"\t.*(?:#|//) (\d+)-byte (?:Folded )?(Spill|Reload)")
_COUNT = """\tmovq\t%rax, {counts}(%rip)
\tmovq\t{counts}+{at}(%rip), %rax
\tleaq\t1(%rax), %rax
\tmovq\t%rax, {counts}+{at}(%rip)
\tmovq\t{counts}(%rip), %rax
"""
"""Adds one to a counter and leaves flags alone: they may hold a comparison of the block before."""


class Traffic(NamedTuple):
    """Stores of registers to the stack and loads from it, and their bytes."""

    spills: int = 0
    spill_bytes: int = 0
    reloads: int = 0
    reload_bytes: int = 0

    def times(self, factor: float) -> dict[str, float]:
        """Each number times a factor."""
        return {name: round(factor * n, 4) for name, n in self._asdict().items()}


NOTHING = Traffic()


def total(parts: Iterable[tuple[Traffic, int]]) -> Traffic:
    """The sum of traffic that occurs so many times each."""
    sums = [0, 0, 0, 0]
    for traffic, times in parts:
        sums = [s + n * times for s, n in zip(sums, traffic, strict=True)]
    return Traffic(*sums)


@dataclass
class Block:
    """Instructions that are executed one after another.

    Attributes:
        function: it belongs to.
        name: of the block of IR that it comes from; several may come from one.
        line: of the text, where the block's instructions begin (0-based).
        traffic: of its instructions.
    """

    function: str
    name: str
    line: int
    traffic: Traffic = NOTHING


def blocks_of(text: str) -> list[Block]:
    """The blocks of an assembly text, in its order."""
    found: list[Block] = []
    function = ""
    for number, line in enumerate(text.splitlines()):
        if block := _BLOCK.match(line):
            found.append(Block(function, block[1] or "", number + 1))
        elif match := _FUNCTION.match(line):
            function = match[1]
        elif found and (move := _MOVE.match(line)):
            size = int(move[1])
            one = Traffic(1, size) if move[2] == "Spill" else Traffic(0, 0, 1, size)
            found[-1].traffic = total([(found[-1].traffic, 1), (one, 1)])
    return found


def counting(text: str, blocks: list[Block]) -> str:
    """The text with a counter for each block; the first word of the counters is a scratch."""
    lines = text.splitlines()
    for index in reversed(range(len(blocks))):
        lines.insert(blocks[index].line, _COUNT.format(counts=_COUNTS, at=8 * index + 8).rstrip())
    room = f"\t.bss\n\t.globl\t{_COUNTS}\n\t.p2align\t3\n{_COUNTS}:\n\t.zero\t{8 * len(blocks) + 8}"
    return "\n".join([*lines, room, ""])


def can_count() -> bool:
    """Whether executions are counted on this host."""
    return shutil.which("as") is not None and platform.machine() == "x86_64"


class Version:
    """The code of a kernel for whole warps or for any lanes, which counts."""

    def __init__(self, ir: str, effort: int) -> None:
        """Args: ir: text of the module; effort: of the code generator."""
        here, binding = build.host(), build.llvm()
        build._set_options()
        machine = binding.Target.from_triple(here.triple).create_target_machine(
            cpu=here.cpu, features=here.features, opt=effort, reloc="pic", codemodel="small"
        )
        machine.set_asm_verbosity(True)
        module = binding.parse_assembly(ir, context=binding.create_context())
        self._text = str(machine.emit_assembly(module))
        self.blocks = blocks_of(self._text)
        self.code: build.Code | None = None

    def object(self) -> bytes:
        """The counting code."""
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder) / "kernel.s", Path(folder) / "kernel.o"
            source.write_text(counting(self._text, self.blocks))
            subprocess.run(["as", str(source), "-o", str(made)], check=True)
            return made.read_bytes()

    def counts(self) -> list[int]:
        """How often each block was executed; they begin anew."""
        if self.code is None:
            return [0] * len(self.blocks)
        words = (ctypes.c_uint64 * (len(self.blocks) + 1)).from_address(self.code.address(_COUNTS))
        found = list(words)[1:]
        ctypes.memset(ctypes.addressof(words), 0, ctypes.sizeof(words))
        return found


@contextlib.contextmanager
def _objects_by(make: Callable[[str, int], bytes]) -> Iterator[None]:
    """Have kernels' objects made by a function meanwhile."""
    before = build.object_of
    build.object_of = lambda text, level, passes="none": (
        make(text, level) if passes == "none" else before(text, level, passes)
    )
    try:
        yield
    finally:
        build.object_of = before


class Measured:
    """One kernel: its launch is run until its code is as good as it gets, then with counters."""

    def __init__(self, kernel: str, size: str) -> None:
        import gpudbg

        self._problem = suite.problem(kernel, size)
        cubin = bench.CUBINS / f"{kernel}.{self._problem.arch}.cubin"
        self._program = gpudbg.load(str(cubin), engine="run", jobs=1)
        self._buffers = [self._program.device.buffer(b) for b in self._problem.bufs]
        for _ in range(3):
            # The session is kept meanwhile: its engine ends with it.
            session = self._run()
            self.program = session.grid.fast.engine.program
            self.program.improve()

    def _run(self) -> Any:
        """One launch, finished."""
        for buffer, content in zip(self._buffers, self._problem.bufs, strict=True):
            buffer.write(content)
        arguments = [*self._buffers, *self._problem.scalars]
        grid, block = self._problem.grid, self._problem.block
        session = self._program.launch(grid=grid, block=block, args=arguments)
        session.grid.run()
        return session

    def _versions(self) -> dict[str, Version]:
        """Make the versions that the launch uses once more; they take their places."""
        from gpudbg.sm.engines.llvm.program import GOOD

        made: list[Version] = []
        count = can_count()
        before = build.object_of

        def kernel(text: str, level: int) -> bytes:
            made.append(Version(text, level))
            return made[-1].object() if count else before(text, level)

        with _objects_by(kernel):
            wanted = {"whole": self.program.full, "any": self.program.masked}
            for which, found in wanted.items():
                if found is None:
                    continue
                code = self.program.compile(which == "whole", GOOD)
                made[-1].code = code.code if count else None
                if which == "whole":
                    self.program.full = code
                else:
                    self.program.masked = code
        names = [which for which, found in wanted.items() if found is not None]
        return dict(zip(names, made, strict=True))

    def result(self) -> dict[str, Any]:
        """What is told of the kernel.

        Raises:
            RuntimeError: a run gave its code up for another.
        """
        problem = self._problem
        warps = math.prod(problem.grid) * -(-math.prod(problem.block) // 32)
        versions = self._versions()
        used = self.program.full, self.program.masked
        executed = self._run().grid.total
        if (self.program.full, self.program.masked) != used:
            raise RuntimeError(f"{problem.name}: code was replaced while it was measured")
        correct = problem.correct([b.array() for b in self._buffers])
        instructions = sum(insn.op != "NOP" for insn in self.program.listing.code.values())
        told = {"kernel": problem.name, "arch": problem.arch, "correct": correct}
        told |= {"instructions": instructions, "warps": warps, "executed_instructions": executed}
        told["text"] = {
            which: total((b.traffic, 1) for b in version.blocks)._asdict()
            for which, version in versions.items()
        }
        if can_count():
            told |= _of_run(versions.values(), warps, executed)
        return told


def _of_run(versions: Iterable[Version], warps: int, executed: int) -> dict[str, Any]:
    """Counts of what was executed, and where most of it is."""
    counted = [pair for v in versions for pair in zip(v.blocks, v.counts(), strict=True)]
    run = total((b.traffic, n) for b, n in counted)
    parts = {"path": warps / 2, "loops": 2 * warps}
    moves = {id(b): n * (b.traffic.spills + b.traffic.reloads) for b, n in counted}
    first = sorted(counted, key=lambda pair: -moves[id(pair[0])])[:5]
    worst = [asdict(b) | {"traffic": b.traffic._asdict(), "executed": n} for b, n in first]
    static = {
        part: total((b.traffic, 1) for b, n in counted if n >= least)._asdict()
        for part, least in parts.items()
    }
    return static | {
        "executed": {
            "for_each_warp": run.times(1 / warps),
            "for_each_instruction": run.times(1 / executed),
        },
        "most": [row for row in worst if row["traffic"]["spills"] + row["traffic"]["reloads"]],
    }


def table(results: list[dict[str, Any]]) -> str:
    """Markdown: spills + reloads of each kernel."""
    lines = [
        "| spills + reloads | code for whole warps | for any lanes | path | loops "
        "| executed, each warp | each instruction | bytes, each instruction |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in results:
        cells = [row["kernel"]]
        text = row["text"]
        cells += [_both(text[which]) if which in text else "-" for which in ("whole", "any")]
        if "path" in row:
            warp, each = row["executed"]["for_each_warp"], row["executed"]["for_each_instruction"]
            cells += [_both(found) for found in (row["path"], row["loops"], warp, each)]
            cells.append(f"{each['spill_bytes'] + each['reload_bytes']:.1f}")
        lines.append(f"| {' | '.join(cells)} |" + ("" if row["correct"] else " WRONG"))
    if all("path" in row for row in results):
        rows = [row["executed"]["for_each_instruction"] for row in results]
        means = [statistics.mean(row[what] for row in rows) for what in Traffic._fields]
        each = f"{means[0]:.2f} + {means[2]:.2f} | {means[1] + means[3]:.1f}"
        lines.append(f"| mean | | | | | | {each} |")
    return "\n".join(lines)


def _both(traffic: dict[str, float]) -> str:
    spills, reloads = traffic["spills"], traffic["reloads"]
    whole = isinstance(spills, int)
    return f"{spills} + {reloads}" if whole else f"{spills:.2f} + {reloads:.2f}"


def main() -> int:
    """Print the table, write the JSON; 1 where an output is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=tuple(SUITES), default="nine", help="%(default)s")
    parser.add_argument("--kernels", help="all of the suite", metavar="NAME,...")
    parser.add_argument("--level", choices=tuple(LEVELS), help="code for a host with less")
    parser.add_argument("--size", choices=suite.SIZES, default="full", help="%(default)s")
    parser.add_argument(
        "--json", type=Path, default=bench.OUT / "spills.json", metavar="FILE", help="%(default)s"
    )
    options = parser.parse_args()
    kernels = options.kernels.split(",") if options.kernels else SUITES[options.suite]
    if unknown := [name for name in kernels if name not in SUITES["all"]]:
        parser.error(f"no kernels: {', '.join(unknown)}")
    if options.level:
        if not has(options.level):
            parser.error(f"--level {options.level}: the host has less")
        stand_for(options.level)
    results = []
    for kernel in kernels:
        results.append(Measured(kernel, options.size).result())
        print(kernel, file=sys.stderr)
    print(table(results))
    if not can_count():
        print("executions are not counted: that needs GNU as and an x86-64 host")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    about = {"machine": bench.machine(), "level": options.level or "host", "results": results}
    options.json.write_text(json.dumps(about, indent=1))
    return 0 if all(row["correct"] for row in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
