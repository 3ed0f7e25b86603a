"""CUDA C++ of CuPy, PyCUDA and PyTorch; stand-ins have what their kernels say of themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpudbg

SCALE = """
extern "C" __global__ void scale(float *x, int n, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= by;
}"""
INLINE = """
#include <torch/extension.h>
template <typename scalar_t>
__global__ void shift(const scalar_t* __restrict__ in, scalar_t* __restrict__ out, size_t n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + scalar_t(1);
}
torch::Tensor run(torch::Tensor x) {
  auto out = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.type(), "shift", ([&] {
    shift<scalar_t><<<1, 64>>>(x.data<scalar_t>(), out.data<scalar_t>(), x.numel());
  }));
  return out;
}
"""


class RawKernel(SimpleNamespace):
    """As CuPy's."""


class ElementwiseKernel(SimpleNamespace):
    """As CuPy's."""


def test_a_raw_kernel_runs_stops_at_its_lines_and_faults_there() -> None:
    raw = RawKernel(code=SCALE, name="scale", options=(), file_path=None)
    kernel: Any = gpudbg.cupy(raw)
    x = np.ones(100, np.float32)
    kernel[1, 128](x, 100, 2.0)
    kernel((1,), (128,), (x, 100, np.float32(3)))
    assert (x == 6).all()
    session = kernel.debug[1, 128](x, 100, 2.0)
    session.break_at("scale.cu:5")
    assert (session.cont().kind, session.stop.line) == ("breakpoint", 5)
    with pytest.raises(gpudbg.KernelError, match="end of buffer x") as raised:
        kernel[1, 128](x, 1000, 2.0)
    assert raised.value.line == 5
    report = kernel.check()[1, 128](x, 1000, 2.0)
    assert {f.kind for f in report.findings} == {"out_of_bounds"}
    with pytest.raises(gpudbg.UsageError, match="its grid and its block"):
        kernel[3](x)


def _parameter(kind: Any, name: str, raw: bool = False) -> Any:
    dtype = None if kind == "T" else np.dtype(kind)
    return SimpleNamespace(dtype=dtype, ctype=kind, name=name, raw=raw)


def test_an_elementwise_kernel_broadcasts_and_makes_its_output() -> None:
    squares = ElementwiseKernel(
        name="squares", operation="z = (x - y) * (x - y)", preamble="", kwargs={},
        in_params=(_parameter("T", "x"), _parameter("T", "y")),
        out_params=(_parameter("T", "z"),),
    )  # fmt: skip
    made: Any = gpudbg.cupy(squares)
    assert (made(np.arange(6.0).reshape(2, 3), np.float64(2)) == [[4, 1, 0], [1, 4, 9]]).all()
    following = ElementwiseKernel(
        name="following", operation="z = x[(i + 1) % n] + _ind.size()", preamble="", kwargs={},
        in_params=(_parameter("T", "x", raw=True), _parameter("int32", "n")),
        out_params=(_parameter("T", "z"),),
    )  # fmt: skip
    made, out = gpudbg.cupy(following), np.zeros(4, np.float32)
    assert made(np.arange(4, dtype=np.float32), 4, out) is out
    assert (out == [5, 6, 7, 4]).all()
    with pytest.raises(gpudbg.UsageError, match="takes 2 inputs"):
        made(out)


def test_a_source_module_is_called_as_pycudas() -> None:
    module = gpudbg.SourceModule(SCALE.replace('extern "C"', ""))
    x = np.ones(40, np.float32)
    call = module.get_function("scale")
    assert call(x, np.int32(40), np.float32(5), block=(64, 1, 1), grid=(1, 1)).kind == "exited"
    assert (x == 5).all()
    assert call.session(x, 40, 2.0, block=(64, 1, 1)).step().kind == "step"
    with pytest.raises(gpudbg.UsageError, match="no kernel 'sclae'"):
        module.get_function("sclae")
    with pytest.raises(gpudbg.CompileError):
        gpudbg.SourceModule("__global__ void k() { nothing; }")


def test_kernels_of_load_inline_without_their_host_functions() -> None:
    module = gpudbg.load_inline(INLINE, kernels=["shift<float>"])
    x, out = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
    module["shift<float>"][1, 64](x, out, 50)
    assert (out == x + 1).all()
    assert "shift" in repr(module)
