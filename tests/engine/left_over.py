"""What compiled code leaves to the step engine, by mnemonic.

    python -m tests.engine.left_over [--archs sm_80,sm_90] [--kernels a,b] [--seconds 20]

Runs the kernel cases of `tests/data/kernels` on the run engine and lists how many instructions
compiled code was left for, beside those without a compiled version.  Accesses are left for once
or twice for each place in the code, when their allocation is not known yet: what counts here is
what is left for again and again.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections import Counter

import gpudbg
from tests.kernel_cases import cases, run

ARCHS = "sm_75,sm_80,sm_86,sm_89,sm_90,sm_120"


def left_over(arch: str, names: list[str] | None) -> tuple[Counter[str], Counter[str], int]:
    """Of an architecture's kernels: mnemonics left for, those without a compiled version (with the
    reason), and instructions executed."""
    left: Counter[str] = Counter()
    slow: Counter[str] = Counter()
    executed = 0
    for case in cases(arch, names=names):
        outcome = run(case, functools.partial(gpudbg.load, engine="run"))
        for session in outcome.sessions:
            fast = session.grid.fast
            report = fast.report() if fast is not None else None
            executed += session.grid.total
            if report is None:
                continue
            for pc, count in report.exits.items():
                code = report.code.get(pc)
                left[_name(code) if code is not None else "?"] += count
            for pc, why in report.slow.items():
                slow[f"{_name(report.code[pc])} ({why})"] += report.exits.get(pc, 0)
    return left, slow, executed


def _name(instruction: object) -> str:
    modifiers = ".".join(instruction.m)  # type: ignore[attr-defined]
    return f"{instruction.op}{'.' if modifiers else ''}{modifiers}"  # type: ignore[attr-defined]


def main() -> int:
    """Print the lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archs", default=ARCHS)
    parser.add_argument("--kernels")
    options = parser.parse_args()
    names = options.kernels.split(",") if options.kernels else None
    for arch in options.archs.split(","):
        left, slow, executed = left_over(arch, names)
        print(f"{arch}: {executed} instructions, {sum(left.values())} exits")
        for name, count in left.most_common(40):
            print(f"  {count:7} {name}")
        print("  no compiled version:")
        for name, count in slow.most_common(60):
            print(f"  {count:7} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
