"""Disassembly: instructions a second of `gpudbg dis`, beside `cuobjdump -sass` on the same file.

    python tests/bench/disassembly.py [--arch sm_50 sm_80] [--instructions 100000] [--rounds 5]
                                      [PROGRAM]

Without PROGRAM, the shipped test kernels of each architecture (one with 64-bit instructions and
one with 128-bit ones) stand in one cubin as often as it takes (made once, in `build/bench`).
GPUDBG_CUOBJDUMP names the peer, else it is sought on the PATH.  Both take turns; the figures are
medians of processor time, start-up included.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests" / "data" / "kernels" / "cubin"
UNLISTED = re.compile(r"\bBRX\b|\bJMX\b|\.word\b|illegal")
"""What a listing alone does not hold (tables of targets), and what cuobjdump refuses."""
INSTRUCTION = re.compile(rb"^ +/\*[0-9a-f]{4,}\*/", re.MULTILINE)


def ours(program: Path) -> list[str]:
    """The command that is measured."""
    return [sys.executable, "-m", "gpudbg", "dis", str(program)]


def text_of(program: Path) -> bytes:
    """The listing of a program."""
    return subprocess.run(ours(program), check=True, capture_output=True).stdout


def make(wanted: int, arch: str) -> Path:
    """A cubin of at least `wanted` instructions: kernels assembled again under new names."""
    out = ROOT / "build" / "bench" / f"listing-{arch}-{wanted}.cubin"
    if out.exists():
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    words, count, number = [], 0, 0
    sources = [text_of(path).decode() for path in sorted((KERNELS / arch).glob("*.cubin"))]
    while count < wanted:
        for source in sources:
            for function in re.split(r"(?=\t\tFunction : )", source)[1:]:
                if UNLISTED.search(function):
                    continue
                number += 1
                body = re.sub(r"Function : \S+", f"Function : kernel_{number}", function, count=1)
                words.append(body)
                count += len(INSTRUCTION.findall(body.encode()))
    sass = out.with_suffix(".sass")
    sass.write_text(f"\tcode for {arch}\n" + "\n".join(words))
    command = [sys.executable, "-m", "gpudbg", "asm", str(sass), "--cubin", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out


def seconds(command: list[str]) -> float:
    """Processor seconds of one run."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("program", nargs="?", type=Path)
    parser.add_argument("--instructions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--arch", nargs="+", default=["sm_50", "sm_80"])
    args = parser.parse_args()
    programs = [args.program] if args.program else [make(args.instructions, a) for a in args.arch]
    for program in programs:
        measure(program, args.rounds)


def measure(program: Path, rounds: int) -> None:
    """Measure a program and print its rows."""
    count = len(INSTRUCTION.findall(text_of(program)))
    commands = {"gpudbg dis": ours(program)}
    peer = os.environ.get("GPUDBG_CUOBJDUMP") or shutil.which("cuobjdump")
    if peer:
        commands["cuobjdump -sass"] = [peer, "-sass", str(program)]
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            taken[name].append(seconds(command))
    print(f"{program.name}: {count:,} instructions")
    for name, times in taken.items():
        middle = statistics.median(times)
        print(f"  {name:16} {middle:6.2f} s of CPU  {count / middle:9,.0f} instructions/s")
    if peer:
        ratios = [a / b for a, b in zip(*taken.values(), strict=True)]
        print(f"  ours / theirs    {statistics.median(ratios):6.2f}  (median of pairs)")


if __name__ == "__main__":
    main()
