"""A file of a few megabytes holds no command for long, and takes no more memory than it may.

Each file of `hostile.py` is read by a child with a limit of processor time and of memory far
above what its size calls for, and far below what the square of its size would.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.formats import hostile

CPU_SECONDS = 20
MEMORY_BYTES = 6 << 30


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def run(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpudbg", *words, str(path)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        preexec_fn=limits,
    )  # fmt: skip


REFUSED = {
    "empty_containers": "at offset 0x200000: fat binary of more than 131,072 containers",
    "empty_entries": "fat binary of more than 131,072 containers and entries",
    "padding": "it holds nothing",
    "far_matches": "at offset 0x50: damaged lz4 data",
    "bomb": "at offset 0x50: ",
    "huge_global": ".nv.global claims 0x1000000000 bytes of memory",
    "names_without_end": "names overlap one another",
    "many_rows": "many times more rows than the program has instructions",
}
KERNELS = {"bound_images": "k7", "sections_times_kernels": "e7"}


ALIKE = {
    "empty_entries": "empty_containers",
    "padding": "empty_containers",
    "far_matches": "bomb",
    "bound_images": "sections_times_kernels",
    "many_files": "many_rows",
}
"""Files that meet the same reader as another."""


@pytest.mark.in_turn(1)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.full(instead=ALIKE[name])] if name in ALIKE else [])
        for name in hostile.FILES
    ],
)
def test_a_command_on_it_ends_soon(name: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.cubin"
    path.write_bytes(hostile.FILES[name]())
    done = run(path, "run", *(["-k", KERNELS[name]] if name in KERNELS else []))
    if name in REFUSED:
        assert done.returncode == 2, done
        assert REFUSED[name] in done.stderr
        assert done.stderr.count("\n") == 1
    else:
        assert (done.returncode, done.stderr) == (0, ""), done


def test_more_memory_than_there_is_is_said(tmp_path: Path) -> None:
    path = tmp_path / "large.cubin"
    path.write_bytes(hostile.huge_global(20 << 30))
    done = run(path, "run")
    assert done.returncode == 2
    assert done.stderr.startswith("gpudbg: not enough memory")
    assert done.stderr.count("\n") == 1
