"""The kernels of the bench at its sizes: pack part `benches`.

The twenty are compiled from their sources, the nine from their PTX; packs hold the buffers, which
are some tens of megabytes at full size.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.silicon.library import compiled
from tests.silicon.pack import Pack, one_launch

BENCH = Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))

import suite  # noqa: E402
import wide  # noqa: E402

PTX = BENCH / "kernels"
LIMIT = 1 << 40
"""Of warp instructions on the emulated SM."""


def image(name: str, arch: str) -> bytes:
    """A kernel's cubin: of GPUDBG_BENCH_CUBINS, where there is one, or compiled."""
    folder = os.environ.get("GPUDBG_BENCH_CUBINS")
    if folder and (path := Path(folder) / f"{name}.{arch}.cubin").is_file():
        return path.read_bytes()
    if name in suite.PROBLEMS:
        return _assembled((PTX / f"{name}.ptx").read_text(), arch)
    return compiled(wide.source(name), f"{name}.cu", arch)


def _assembled(text: str, arch: str) -> bytes:
    """The cubin of PTX that was written for the oldest cards."""
    from tests.kernels_own.build import ptxas

    text = re.sub(r"(?m)^\.version.*$", ".version 7.8", text)
    text = re.sub(r"(?m)^\.target.*$", f".target {arch}", text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(text)
        return ptxas(path, arch, ())


def fill(pack: Pack, arch: str) -> None:
    """All of them."""
    size = os.environ.get("GPUDBG_BENCH_SIZE", "full")
    for name in (*suite.PROBLEMS, *wide.PROBLEMS):
        problem = suite.problem(name, size)
        buffers = {f"b{n:02d}": pack.buffer(b) for n, b in enumerate(problem.bufs)}
        args: list[Any] = [{"buffer": name} for name in buffers]
        args += [{"bytes": np.asarray(value).tobytes().hex()} for value in problem.scalars]
        grid, block = ((*shape, 1, 1)[:3] for shape in (problem.grid, problem.block))
        pack.add(
            f"bench {name}",
            image(name, arch),
            one_launch(name, grid, block, args),
            buffers=buffers,
            reload=True,
            limit=LIMIT,
        )
