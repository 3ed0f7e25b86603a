"""`gpudbg exec` of a user's test files, without an edit: kernels of Numba, CuPy, PyCUDA,
cuda-python, cuda.core, PyTorch and Triton."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
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

CUDA_PYTHON = """
import numpy as np
from cuda.bindings import driver, nvrtc

SOURCE = b'''extern "C" __global__ void axpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}'''

def ask(function, *args):
    status, *out = function(*args)
    assert int(status) == 0, (function, status)
    return out[0] if len(out) == 1 else out

def test_driver_and_nvrtc():
    ask(driver.cuInit, 0)
    device = ask(driver.cuDeviceGet, 0)
    ask(driver.cuCtxSetCurrent, ask(driver.cuDevicePrimaryCtxRetain, device))
    program = ask(nvrtc.nvrtcCreateProgram, SOURCE, b"axpy.cu", 0, [], [])
    ask(nvrtc.nvrtcCompileProgram, program, 1, [b"--gpu-architecture=sm_80"])
    cubin = b" " * ask(nvrtc.nvrtcGetCUBINSize, program)
    ask(nvrtc.nvrtcGetCUBIN, program, cubin)
    kernel = ask(driver.cuModuleGetFunction, ask(driver.cuModuleLoadData, cubin), b"axpy")
    stream = ask(driver.cuStreamCreate, 0)
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    at = [ask(driver.cuMemAlloc, a.nbytes) for a in (x, y)]
    for address, array in zip(at, (x, y)):
        ask(driver.cuMemcpyHtoDAsync, address, array.ctypes.data, array.nbytes, stream)
    values = [np.float32(2), np.uint64(int(at[0])), np.uint64(int(at[1])), np.int32(1000)]
    held = [np.array([value]) for value in values]
    places = np.array([one.ctypes.data for one in held], np.uint64)
    ask(driver.cuLaunchKernel, kernel, 4, 1, 1, 256, 1, 1, 0, stream, places.ctypes.data, 0)
    ask(driver.cuMemcpyDtoHAsync, y.ctypes.data, at[1], y.nbytes, stream)
    ask(driver.cuStreamSynchronize, stream)
    assert (y == 2 * x + 1).all()
"""
CUDA_CORE = """
import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource
from cuda.core import Program, ProgramOptions, launch

SOURCE = '''template<typename T> __global__ void saxpy(T a, const T *x, T *out, size_t n) {
    size_t i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) out[i] = a * x[i] + x[i];
}'''

def test_a_template_by_name():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(std="c++11", arch=f"sm_{device.arch}")
    program = Program(SOURCE, code_type="c++", options=options)
    kernel = program.compile("cubin", name_expressions=("saxpy<float>",)).get_kernel("saxpy<float>")
    pinned = LegacyPinnedMemoryResource()
    held = [pinned.allocate(4000) for _ in range(2)]
    x, out = (np.from_dlpack(buffer).view(np.float32) for buffer in held)
    x[:] = np.arange(1000)
    there = [device.memory_resource.allocate(4000, stream=stream) for _ in range(2)]
    there[0].copy_from(held[0], stream=stream)
    config = LaunchConfig(grid=4, block=256)
    launch(stream, config, kernel, np.float32(10), *there, np.uint64(1000))
    there[1].copy_to(held[1], stream=stream)
    stream.sync()
    assert (out == 11 * np.arange(1000)).all()
"""
PYCUDA = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as driver
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

Q = np.arange(100, dtype=np.float32)

def test_source_module():
    module = SourceModule('''__global__ void twice(float *p, const float *q, int n) {
        int i = threadIdx.x + blockIdx.x * blockDim.x;
        if (i < n) p[i] = 2 * q[i];
    }''')
    p = np.zeros(100, np.float32)
    twice = module.get_function("twice")
    twice(driver.Out(p), driver.In(Q), np.int32(100), block=(32, 1, 1), grid=(4, 1))
    assert (p == 2 * Q).all()

def test_arrays_and_kernels_of_expressions():
    there = gpuarray.to_gpu(Q)
    assert ((there * 3 + 1).get() == 3 * Q + 1).all()
    ElementwiseKernel("float *x, float y", "x[i] = y * i", "scale")(there, np.float32(2))
    assert (there.get() == 2 * Q).all()
    total = ReductionKernel(np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]",
                            arguments="float *x")
    assert total(there).get() == 2 * Q.sum()
"""
TORCH = """
import torch, triton, triton.language as tl
from torch.utils.cpp_extension import load_inline

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

def test_tensors():
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    assert (x * 2 + 1).sum().item() == 1000 * 1000

def test_triton():
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    out = torch.empty_like(x)
    add[(triton.cdiv(1000, 256),)](x, x, out, 1000, BLOCK=256)
    assert torch.equal(out, 2 * x)

def test_load_inline(tmp_path):
    source = '''
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void square(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}
torch::Tensor squares(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    auto stream = c10::cuda::getCurrentCUDAStream();
    square<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}'''
    module = load_inline("squares_inline", "torch::Tensor squares(torch::Tensor x);", source,
                         functions=["squares"], build_directory=str(tmp_path))
    x = torch.arange(300, device="cuda", dtype=torch.float32)
    assert torch.equal(module.squares(x), x * x)
"""


def run_tests(
    folder: Path, text: str, *flags: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`gpudbg exec python -m pytest` of a file."""
    (folder / "test_kernels.py").write_text(text)
    words = [sys.executable, "-m", "gpudbg", "exec", *flags]
    words += [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        str(folder),
    ]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=folder, env=environment
    )


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


def with_nvcc() -> dict[str, str]:
    """The environment, with nvcc on the PATH; a test that needs it is left out where it is not."""
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    found = home / "bin" / "nvcc"
    if not found.exists():
        named = shutil.which("nvcc")
        if named is None:
            pytest.skip("nvcc is not installed")
        found = Path(named).resolve()
    return os.environ | {
        "CUDA_HOME": str(found.parents[1]),
        "PATH": f"{found.parent}{os.pathsep}{os.environ['PATH']}",
    }


@pytest.mark.parametrize(
    ("module", "text", "count"), [("cuda.bindings", CUDA_PYTHON, 1), ("cuda.core", CUDA_CORE, 1)]
)
def test_cuda_python(tmp_path: Path, module: str, text: str, count: int) -> None:
    pytest.importorskip(module)
    done = run_tests(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert f"{count} passed" in done.stdout


def test_pycuda(tmp_path: Path) -> None:
    require("pycuda")
    done = run_tests(tmp_path, PYCUDA, environment=with_nvcc())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_torch(tmp_path: Path) -> None:
    """Of a CUDA build: its own kernels, Triton's on its tensors, and CUDA C++ in a Python file."""
    require("torch")
    if "+cpu" in version("torch"):
        pytest.skip("torch is a build without CUDA, whose tensors have no device")
    require("triton")
    require("ninja")
    settings = {"TORCH_CUDA_ARCH_LIST": "8.0", "HOME": str(tmp_path)}
    scripts = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{with_nvcc()['PATH']}"}
    done = run_tests(tmp_path, TORCH, environment=with_nvcc() | settings | scripts)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "3 passed" in done.stdout
