"""Programs of NVIDIA's compiler, with its newest runtime linked in; where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.hosting.cuda import PROGRAMS, run_exec


def nvcc() -> str:
    """The compiler; a test that needs it is left out where there is none."""
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "nvcc"
    found = str(home) if home.exists() else shutil.which("nvcc")
    if found is None:
        pytest.skip("nvcc is not installed")
    return found


def built(out: Path, *words: str | Path) -> Path:
    """A program of these sources and flags."""
    command = [nvcc(), "-arch=sm_80", "-std=c++17", "-O1", *map(str, words), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


@pytest.mark.full(instead="test_a_runtime_program_runs_as_it_is")
def test_thrust_cub_and_several_units(tmp_path: Path) -> None:
    """Device code of three files is linked."""
    sources = sorted((PROGRAMS / "units").glob("*.cu"))
    done = run_exec(built(tmp_path / "units", "-rdc=true", *sources))
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 wrong\n", "")


@pytest.mark.full(instead="test_a_runtime_program_runs_as_it_is")
@pytest.mark.parametrize("name", ["calls", "runtime", "textures"])
def test_the_newest_runtime_linked_in(tmp_path: Path, name: str) -> None:
    """Its functions are led here; some have other parameters than CUDA 12's."""
    done = run_exec(built(tmp_path / name, PROGRAMS / f"{name}.cu"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout
    assert done.stderr == ""


@pytest.mark.full(instead="test_a_runtime_program_runs_as_it_is")
def test_a_stripped_program_is_told_why_it_finds_no_device(tmp_path: Path) -> None:
    program = built(tmp_path / "stripped", PROGRAMS / "checked.cu")
    subprocess.run(["strip", str(program)], check=True)
    done = run_exec(program)
    assert "or do not strip the file" in done.stderr
