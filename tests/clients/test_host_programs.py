"""`gpudbg exec` of a user's test files: kernels of Numba and CuPy, without an edit."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

NUMBA = """
import numpy as np, pytest
from numba import cuda

@cuda.jit
def scaled(x, f):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= f

@cuda.jit
def racy(x):
    t = cuda.threadIdx.x
    shared = cuda.shared.array(64, np.float32)
    shared[t] = x[t]
    x[t] = shared[63 - t]

@pytest.mark.parametrize("n", [1, 100, 1000])
def test_scaled(n):
    x = np.arange(n, dtype=np.float32)
    d = cuda.to_device(x)
    scaled[(n + 127) // 128, 128](d, 3)
    assert (d.copy_to_host() == 3 * x).all()

def test_racy():
    racy[1, 64](cuda.to_device(np.arange(64, dtype=np.float32)))
    cuda.synchronize()
"""
CUPY = """
import cupy, numpy as np

def test_elementwise_and_sums():
    x = cupy.arange(1000, dtype=cupy.float32)
    assert float((x * 2 + 1).sum()) == 1000 * 1000

def test_raw_kernel_on_a_stream():
    code = 'extern "C" __global__ void k(int* o) { o[threadIdx.x] = threadIdx.x * 7; }'
    kernel = cupy.RawKernel(code, "k")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        out = cupy.zeros(32, cupy.int32)
        kernel((1,), (32,), (out,))
        stream.synchronize()
    assert (out.get() == 7 * np.arange(32)).all()
"""


def run_tests(folder: Path, text: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """`gpudbg exec python -m pytest` of a file."""
    (folder / "test_kernels.py").write_text(text)
    words = [sys.executable, "-m", "gpudbg", "exec", *flags]
    words += [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)


def require(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


def test_numba(tmp_path: Path) -> None:
    require("numba")
    done = run_tests(tmp_path, NUMBA)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "4 passed" in done.stdout
    found = run_tests(tmp_path, NUMBA, "--check")
    assert found.returncode == 1, found.stdout + found.stderr
    assert "4 passed" in found.stdout
    assert "racy" in found.stderr


def test_cupy(tmp_path: Path) -> None:
    require("cupy")
    done = run_tests(tmp_path, CUPY)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "2 passed" in done.stdout
