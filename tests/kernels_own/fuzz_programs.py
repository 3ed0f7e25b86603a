"""Random programs, compiled for the GPU and for the host; results have to agree.

    python -m tests.kernels_own.fuzz_programs --count 300 --start 0 --variants sm_50 sm_61-G

Needs NVRTC (path in GPUDBG_NVRTC) and g++.  A program that differs is left in --keep, with the
first difference; `--seed N` runs one again.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.kernels_own.build import FLAGS, nvrtc
from tests.kernels_own.fuzz_text import OUTPUTS, THREADS, program
from tests.kernels_own.kit import Array, u32

VARIANTS = ("sm_50", "sm_50-G", "sm_61", "sm_61-G")
HOST = ("-O1", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-w", "-shared", "-fPIC")
LIMIT = 4_000_000


def host_result(text: str, data: Array, folder: Path) -> Array:
    """What the program computes on the host.

    Raises:
        RuntimeError: the compiler's messages.
    """
    source, library = folder / "host.cpp", folder / f"host{time.monotonic_ns()}.so"
    source.write_text(text)
    command = ["g++", *HOST, str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[:2000])
    out = np.zeros(OUTPUTS, np.uint64)
    ctypes.CDLL(str(library)).host(
        data.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p)
    )
    library.unlink()
    return out


def device_result(cubin: bytes, data: Array, engine: str) -> tuple[Array, str]:
    """What the program computes on the emulated GPU, and why it stopped short if it did."""
    import gpudbg

    loaded = gpudbg.load(cubin, engine=engine)
    source = loaded.device.buffer(data)
    out = loaded.device.buffer(np.zeros(OUTPUTS, np.uint64))
    stop = loaded.launch("fuzz", 1, THREADS, args=[source, out]).run(max_instructions=LIMIT)
    return out.array(), "" if stop.kind == "exited" else f"{stop.kind}: {stop.message}"


def try_seed(seed: int, variants: list[str], engine: str, folder: Path) -> list[str]:
    """What differs for one seed, one line for each variant."""
    text = program(seed)
    data = u32(np.random.default_rng(seed), THREADS)
    want = host_result(text, data, folder)
    wrong = []
    for variant in variants:
        arch, _, kind = variant.partition("-")
        options = [f"--gpu-architecture={arch}", "-std=c++17", "--fmad=false", *FLAGS[kind]]
        try:
            cubin = nvrtc(text, "fuzz.cu", options)
        except RuntimeError as error:
            # The compiler itself gives up on a few programs; that says nothing about gpudbg.
            print(f"seed {seed}: {variant}: not compiled: {str(error).splitlines()[-2:]}")
            continue
        try:
            got, why = device_result(cubin, data, engine)
        except Exception as error:  # a crash is a finding like any other
            wrong.append(f"{variant}: {type(error).__name__}: {error}")
            continue
        bad = np.flatnonzero(got != want)
        if why:
            wrong.append(f"{variant}: {why}")
        elif bad.size:
            at = int(bad[0])
            wrong.append(
                f"{variant}: {bad.size} words differ, first [{at}] (thread {at // 12}, word"
                f" {at % 12}): got {int(got[at]):#x}, expected {int(want[at]):#x}"
            )
    return wrong


def main() -> int:
    """Command line; 1 when anything differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS))
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    args = parser.parse_args()
    seeds = range(args.start, args.start + args.count) if args.seed is None else [args.seed]
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        for seed in seeds:
            wrong = try_seed(seed, args.variants, args.engine, Path(temporary))
            failures += bool(wrong)
            if sys.stderr.isatty():
                print(f"\r{seed} ", end="", file=sys.stderr, flush=True)
            for line in wrong:
                print(f"seed {seed}: {line}", flush=True)
            if wrong:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{seed}.cu").write_text(program(seed))
    print(f"{len(seeds)} programs, {len(args.variants)} variants, {failures} programs differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
