"""Kernels that Triton compiled for sm_80 and sm_90 against NumPy (`src/triton_kernels.txt`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpudbg

CUBIN = Path(__file__).resolve().parent / "cubin"
ARCHS = {"sm_80": ".sm_80", "sm_90": ""}


def run(name: str, arch: str, grid: int, args: list[Any], shared: int) -> Any:
    program = gpudbg.load(str(CUBIN / f"triton_{name}{ARCHS[arch]}.cubin"), engine="step")
    (kernel,) = program.kernels.values()
    # Pointers to scratch memory that these kernels do not use.
    args = args + [np.uint64(0)] * (len(kernel.params) - len(args))
    session = program.launch(grid=grid, block=128, args=args, shared_bytes=shared)
    stop = session.run(max_instructions=200_000)
    assert stop.kind == "exited", stop.message
    return session


@pytest.mark.full(instead="test_layer_norm")
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("arch", ARCHS)
def test_attention(arch: str) -> None:
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((256, 64)).astype(np.float16) for _ in range(3))
    shared = 40960 if arch == "sm_80" else 57344
    args = [q, k, v, np.zeros((256, 64), np.float16), np.float32(0.18)]
    session = run("attn", arch, 1, args, shared)
    scores = q[:64].astype(np.float64) @ k.T.astype(np.float64) * 0.18
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    exact = weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(session.buffer(3)[:64], exact, atol=5e-4)


@pytest.mark.parametrize("arch", ARCHS)
def test_layer_norm(arch: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 400)).astype(np.float16)
    w, b = (rng.standard_normal(400).astype(np.float32) for _ in range(2))
    args = [x, x * 0, w, b, np.int32(400), np.float32(1e-5)]
    session = run("layernorm", arch, 2, args, 1024)
    wide = x.astype(np.float64)
    scale = np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    exact = (wide - wide.mean(1, keepdims=True)) / scale * w + b
    np.testing.assert_allclose(session.buffer(1), exact, atol=4e-3)


def test_a_product_of_tensors_described_on_the_device() -> None:
    """Tensor maps that the kernel itself makes in scratch memory."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((n, 128)).astype(np.float16) for n in (128, 64))
    sizes = [np.int32(n) for n in (128, 64, 128)]
    args = [a, b, np.zeros((128, 64), np.float16), *sizes, np.zeros(384, np.uint8)]
    session = run("tma_matmul", "sm_90", 1, args, 73752)
    exact = a.astype(np.float64) @ b.T.astype(np.float64)
    np.testing.assert_allclose(session.buffer(2), exact, rtol=2e-3, atol=2e-2)
