"""The suites of sm_50 to sm_61 recompiled for sm_75 to sm_120: all by hand, a sample recorded.

    python -m tests.ptxgen.modern [--target sm_80 ...]     compile and run everything
    python -m tests.ptxgen.modern --sample                 record data/modern_base.zip

Both need ptxas 12.8 or later (path in GPUDBG_PTXAS) and NVRTC (GPUDBG_NVRTC); without them the exit
code is 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.ptxgen.build import DATA, build, record, variants_of
from tests.ptxgen.case import Variant
from tests.ptxgen.runner import Suite, failures, run

SUITES = ("float", "half", "convert", "float_atom", "cuda_math", "int")
TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90")
STRIDE = 23
OWN_WAY = (
    "int_video",
    "int_video_shift",
    "int_video_mad",
    "int_video_set",
    "int_fields/bfi.b32.20.40",
)
"""Names that begin so are compiled to other code than their documented meaning asks for: scalar
video instructions are replaced (`vadd.sat` of unsigned numbers does not saturate, `.h1` results
take the wrong half), and a constant length of `bfi` above 31 is taken modulo 32.  The machine code
says what happens; the expectations hold on sm_50 to sm_61."""


def own_way(name: str) -> bool:
    """Whether ptxas makes something else of a variant, GROUP/NAME."""
    group = name.split("/")[0]
    return group in OWN_WAY or name in OWN_WAY


def sample() -> None:
    """Every STRIDEth variant of each group, each for one of the targets in turn."""
    chosen: list[Variant] = []
    for suite in SUITES:
        seen: dict[str, int] = {}
        for v in variants_of(suite):
            n = seen[v.group] = seen.get(v.group, -1) + 1
            if n % STRIDE == 0 and not own_way(f"{v.group}/{v.name}"):
                chosen.append(replace(v, targets=(TARGETS[len(chosen) % len(TARGETS)],)))
    record(chosen, DATA / "modern_base.zip")


def everything(targets: tuple[str, ...]) -> int:
    """Compile and run all suites; the number of variants that fail."""
    bad = good = own = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in (*SUITES, "modern_float", "modern_int"):
            build(name, targets if name in SUITES else (), Path(folder))
            for case in Suite(Path(folder) / f"{name}.zip").cases(*targets):
                try:
                    lines = failures(case, run(case))
                except Exception as error:
                    lines = [f"{case.id}: {type(error).__name__}: {error}"]
                if lines and own_way(case.entry["name"]):
                    own += 1
                    continue
                good, bad = good + (not lines), bad + bool(lines)
                if lines:
                    print("\n".join(lines))
    print(f"PTX variants on {' '.join(targets)}: {good} good, {bad} bad, {own} that ptxas changes")
    return bad


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--sample", action="store_true")
    options = parser.parse_args()
    missing = [n for n in ("GPUDBG_PTXAS", "GPUDBG_NVRTC") if not os.environ.get(n)]
    if missing:
        print(f"PTX variants of modern architectures: not run, {', '.join(missing)} not set")
        return 2
    if options.sample:
        sample()
        return 0
    return 1 if everything(tuple(options.target) or TARGETS) else 0


if __name__ == "__main__":
    sys.exit(main())
