"""A campaign: the findings of all pairs on the step engine beside those on compiled code.

    python -m tests.sanitizer.engines [--part 1/4] [--seconds 500]

A part is every so many of the pairs, so that parts cover all classes; where the time is over, it
says how far it came.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gpudbg
from tests.sanitizer.test_pairs import ALL, TWINS, Pair, arguments_of, cubin, launched


def found(pair: Pair, arch: str, twin: int, engine: str) -> Any:
    """What a report says, without what depends on the order of warps."""
    program = gpudbg.load(cubin(pair.file, arch), engine=engine)
    report = launched(program, pair, twin, arguments_of(program, pair))
    rows = sorted(
        (f.kind, f.cause, f.severity, str(f.space), f.fingerprint) for f in report.findings
    )
    return report.status, rows


def main() -> None:
    """Compare, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--seconds", type=float, default=500)
    args = parser.parse_args()
    part, parts = (int(n) for n in args.part.split("/"))
    end, seen, differ = time.monotonic() + args.seconds, 0, 0
    chosen = ALL[part - 1 :: parts]
    for number, (pair, arch) in enumerate(chosen):
        if time.monotonic() > end:
            print(f"ended by its time after {number} of {len(chosen)}")
            break
        for twin, what in enumerate(TWINS):
            if what not in pair.data:
                continue
            step, compiled = (found(pair, arch, twin, e) for e in ("step", "run"))
            seen += 1
            if step != compiled:
                differ += 1
                print(pair.kernel(twin), arch, step, compiled, sep="\n  ", flush=True)
    print(f"{seen} kernels, {differ} differ")


if __name__ == "__main__":
    main()
