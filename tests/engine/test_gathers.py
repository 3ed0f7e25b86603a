"""Code for any lanes: gathers and scatters in place, and loops whose state stays in names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gpudbg
from gpudbg.sm.engines.llvm.kernel.emitter import Emitter
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.options import EmitterOptions

CUBINS = Path(__file__).resolve().parents[1] / "data" / "bench" / "cubin"


def text(name: str, wide: bool) -> str:
    """IR of a kernel's code for any lanes, for a host with or without AVX-512."""
    program = gpudbg.load(str(CUBINS / f"{name}.sm_50.cubin"), engine="step")
    image = program.module.image
    entry = image.entries[name]
    listing = KernelListing.of(image, entry, (entry,))
    banks = dict.fromkeys(range(4), 0x1000)
    return Emitter(listing, EmitterOptions(False, 64, banks, wide_vectors=wide)).text("warp")


@pytest.mark.parametrize(
    ("name", "loads", "stores"), [("bfs", 5, 1), ("lu", 60, 20), ("queens", 4, 8)]
)
def test_accesses_of_kernels_with_loops_are_in_place(name: str, loads: int, stores: int) -> None:
    """Global, shared and local memory."""
    made = text(name, wide=True)
    assert made.count("@llvm.masked.gather") >= loads
    assert made.count("@llvm.masked.scatter") >= stores
    # Scatters are many branches on another host.
    assert "@llvm.masked.scatter" not in text(name, wide=False)


def test_code_without_loops_calls_the_library() -> None:
    assert "@llvm.masked" not in text("transpose", wide=True)


def test_the_state_of_a_short_loop_stays_in_names() -> None:
    assert re.search(r"^l\d+:$", text("mandelbrot", wide=True), re.MULTILINE)
