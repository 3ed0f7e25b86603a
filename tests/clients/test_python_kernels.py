"""Kernels of Numba, Triton and CuPy: run, stopped, checked and faulting by their lines."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np
import pytest

import gpudbg

HERE = "test_python_kernels.py"


def line_of(function: Any, words: str) -> int:
    """The line of a function that has these words."""
    lines, first = inspect.getsourcelines(function)
    return first + next(n for n, line in enumerate(lines) if words in line)


# ---- Numba -----------------------------------------------------------------------------
@pytest.fixture
def cuda() -> Any:
    pytest.importorskip("numba")
    return pytest.importorskip("numba.cuda")


def test_numba(cuda: Any) -> None:
    def axpy(a: Any, x: Any, y: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    def beyond(x: Any, y: Any) -> None:
        i = cuda.grid(1)
        y[i] = x[i + 1]

    def racy(x: Any) -> None:
        shared = cuda.shared.array(64, np.float32)
        t = cuda.threadIdx.x
        shared[t] = x[t]
        x[t] = shared[63 - t]

    def table(t: Any, m: Any, flag: Any) -> None:
        i, j = cuda.grid(2)
        if i < m.shape[0] and j < m.shape[1]:
            m[i, j] = t[0] * i + t[1] * j + (1 if flag else 0)

    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    kernel = gpudbg.numba(cuda.jit(axpy))
    kernel[4, 256](np.float32(2), x, y)
    assert (y == 2 * x + 1).all()
    session = kernel.debug[4, 256](np.float32(2), x, y)
    session.break_at(f"{HERE}:{line_of(axpy, 'y[i] =')}")
    stop = session.cont()
    assert (stop.kind, stop.kernel) == ("breakpoint", "axpy")
    assert session.execute("info args")["x.size"] == "1000"
    strided = np.zeros((5, 8), np.int64)[::-1, ::2]
    gpudbg.numba(table)[(1, 1), (8, 8)]((10, 1), strided, True)
    assert (strided == [[10 * i + j + 1 for j in range(4)] for i in range(5)]).all()
    (found,) = gpudbg.numba(racy).check()[1, 64](x).findings
    assert found.kind.endswith("race")
    assert {a.line for a in found.accesses} == {line_of(racy, "[t] = x"), line_of(racy, "63 - t")}
    with pytest.raises(gpudbg.KernelError, match="end of buffer x") as raised:
        gpudbg.numba(beyond)[4, 256](x, np.zeros(1024, np.float32))
    assert raised.value.line == line_of(beyond, "x[i + 1]")
    gpudbg.numba(axpy, debug=True)[4, 256](np.float32(0), x, y)
    with pytest.raises(gpudbg.CompileError, match="does not compile"):
        gpudbg.numba(axpy)[1, 32](np.float32(2), "x", y)


# ---- Triton ----------------------------------------------------------------------------
def test_triton() -> None:
    triton = pytest.importorskip("triton")
    import triton.language as tl

    globals()["tl"] = tl

    @triton.jit  # type: ignore[untyped-decorator]
    def add(x, y, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = i < n
        total = tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside)
        tl.store(out + i, total, mask=inside)

    @triton.jit  # type: ignore[untyped-decorator]
    def beyond(x, out, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + i)
        tl.store(out + i, value)

    @triton.jit  # type: ignore[untyped-decorator]
    def product(a, b, c, N: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
        r = tl.arange(0, N)
        at = r[:, None] * N + r[None, :]
        tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))

    tuned = triton.autotune(
        [triton.Config({"BLOCK": size}) for size in (1024, 64)], key=["n"]
    )(add)  # fmt: skip
    x, y = np.arange(1000, dtype=np.float32), np.full(1000, 3, np.float32)
    out = np.zeros(1000, np.float32)
    for arch in ("sm_80", "sm_90"):
        out[:] = 0
        gpudbg.triton(add, arch)[(4,)](x, y, out, 1000, BLOCK=256)
        assert (out == x + 3).all()
    out[:] = 0
    gpudbg.triton(tuned)[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000)
    assert (out == x + 3).all()
    session = gpudbg.triton(add).debug[(4,)](x, y, out, 1000, BLOCK=256)
    line = line_of(add.fn, "tl.store")
    session.break_at(f"{HERE}:{line}")
    stop = session.cont()
    assert (stop.kind, stop.line) == ("breakpoint", line)
    with pytest.raises(gpudbg.KernelError, match="end of buffer x") as raised:
        gpudbg.triton(beyond)[(4,)](x, np.zeros(1024, np.float32), BLOCK=256)
    assert raised.value.line == line_of(beyond.fn, "tl.load")
    report = gpudbg.triton(beyond).check()[(4,)](x, out, BLOCK=256)
    lines = {a.line for found in report.findings for a in found.accesses}
    assert lines == {line_of(beyond.fn, "tl.load"), line_of(beyond.fn, "tl.store")}
    a, b = (np.random.default_rng(n).random((32, 32)).astype(np.float16) for n in (1, 2))
    c = np.zeros((32, 32), np.float32)
    gpudbg.triton(product)[(1,)](a, b, c, N=32)
    assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3)
    gpudbg.triton_driver()
    out[:] = 0
    add[(4,)](x, y, out, 1000, BLOCK=256)
    assert (out == x + 3).all()
    assert "torch" not in sys.modules


# ---- CuPy ------------------------------------------------------------------------------
def test_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    text = """
#include <cupy/complex.cuh>
extern "C" __global__ void turn(complex<float> *z, int n) {
    int i = threadIdx.x;
    if (i < n)
        z[i] *= complex<float>(0, 1);
}"""
    kernel: Any = gpudbg.cupy(cupy.RawKernel(text, "turn"))
    z = np.arange(40, dtype=np.complex64)
    kernel[1, 64](z, 40)
    assert (z == 1j * np.arange(40)).all()
    session = kernel.debug[1, 64](z, 40)
    session.break_at("turn.cu:6")
    assert session.cont().kind == "breakpoint"
    with pytest.raises(gpudbg.KernelError, match="end of buffer z"):
        kernel[1, 64](z, 64)
    assert not kernel.check()[1, 64](z, 40).findings
    squares = cupy.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squares")
    made: Any = gpudbg.cupy(squares)
    assert (made(np.arange(6.0).reshape(2, 3), np.float64(2)) == [[4, 1, 0], [1, 4, 9]]).all()
    half = cupy.ElementwiseKernel("float16 x", "float16 y", "y = x + x", "twice")
    made = gpudbg.cupy(half)
    assert (made(np.arange(8, dtype=np.float16)) == 2 * np.arange(8)).all()
    fill = "template<typename T, int N> __global__ void fill(T *x, T v) { x[N] = v; }"
    module: Any = gpudbg.cupy(cupy.RawModule(code=fill, name_expressions=["fill<int, 3>"]))
    numbers = np.zeros(6, np.int32)
    module.get_function("fill<int, 3>")[1, 1](numbers, 7)
    assert numbers[3] == 7
    with pytest.raises(gpudbg.UsageError, match="a ReductionKernel of CuPy"):
        gpudbg.cupy(cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "sum_of"))


# ---- arrays of other libraries, where they lie -------------------------------------------
TWICE = """
__global__ void twice(float *p, const float *q, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = 2 * q[i];
}"""


class OnlyDLPack:
    """An array that says nothing of itself but by DLPack."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **asked: Any) -> Any:
        return self.tensor.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    twice = gpudbg.load_inline(TWICE)["twice"]
    q, p = torch.arange(100, dtype=torch.float32), torch.zeros(100)
    at = p.data_ptr()
    twice[4, 32](p, q, 100)
    assert (p == 2 * q).all()
    assert p.data_ptr() == at
    p.zero_()
    twice[4, 32](OnlyDLPack(p), q.requires_grad_(), 100)
    assert (p == 2 * q).all()
    text = "#include <cuda_bf16.h>\n__global__ void count(__nv_bfloat16 *p)"
    count = gpudbg.load_inline(text + " { p[threadIdx.x] = __float2bfloat16(threadIdx.x); }")
    half = torch.zeros(64, dtype=torch.bfloat16)
    count["count"][1, 64](half)
    assert (half.float() == torch.arange(64)).all()


def test_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax")
    twice = gpudbg.load_inline(TWICE)["twice"]
    q, p = jax.numpy.arange(100, dtype=jax.numpy.float32), np.zeros(100, np.float32)
    twice[4, 32](p, q, 100)
    assert (p == 2 * np.arange(100)).all()
    with pytest.warns(UserWarning, match="p cannot be written"):
        twice[4, 32](q, p, 100)
    assert (np.asarray(q) == np.arange(100)).all()
