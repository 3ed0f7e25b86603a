"""f32 and f64 arithmetic of the step engine against rationals, in all four roundings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpudbg.sm.engines import numeric
from tests.numeric import model

COUNT = 2400


def check(got: np.ndarray, want: list[int], *operands: np.ndarray) -> None:
    width = got.dtype.itemsize * 2
    wrong = [
        " ".join(f"{int(x[i]):0{width}x}" for x in operands) + f" -> {int(g):x}, want {w:x}"
        for i, (g, w) in enumerate(zip(got, want, strict=True))
        if int(g) != w
    ]
    assert not wrong, f"{len(wrong)} wrong, first: {wrong[:3]}"


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("mode", model.MODES)
@pytest.mark.parametrize(
    ("fmt", "function"), [("f32", numeric.fadd), ("f64", numeric.dadd)], ids=["fadd", "dadd"]
)
def test_add(fmt: str, function: Callable[..., np.ndarray], mode: str) -> None:
    a, b = model.vectors(fmt, COUNT, 2, seed=1)
    want = [model.add(int(x), int(y), fmt, mode) for x, y in zip(a, b, strict=True)]
    check(function(a, b, mode), want, a, b)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("mode", model.MODES)
@pytest.mark.parametrize(
    ("fmt", "function"), [("f32", numeric.fmul), ("f64", numeric.dmul)], ids=["fmul", "dmul"]
)
def test_mul(fmt: str, function: Callable[..., np.ndarray], mode: str) -> None:
    a, b = model.vectors(fmt, COUNT, 2, seed=2)
    want = [model.mul(int(x), int(y), fmt, mode) for x, y in zip(a, b, strict=True)]
    check(function(a, b, mode), want, a, b)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("mode", model.MODES)
@pytest.mark.parametrize(
    ("fmt", "function"), [("f32", numeric.ffma), ("f64", numeric.dfma)], ids=["ffma", "dfma"]
)
def test_fma(fmt: str, function: Callable[..., np.ndarray], mode: str) -> None:
    a, b, c = model.vectors(fmt, COUNT, 3, seed=3)
    want = [model.fma(int(x), int(y), int(z), fmt, mode) for x, y, z in zip(a, b, c, strict=True)]
    check(function(a, b, c, mode), want, a, b, c)


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_fma_of_near_ties(fmt: str) -> None:
    """Sums one bit away from a rounding tie: the case a second rounding gets wrong."""
    precision, emax, width = model.FORMATS[fmt]
    function = numeric.ffma if fmt == "f32" else numeric.dfma
    dtype: Any = np.uint32 if fmt == "f32" else np.uint64
    m = precision - 1
    rng = np.random.default_rng(4)
    c = (rng.integers(0, 1 << m, 800).astype(np.uint64) | np.uint64(emax << m)).astype(dtype)
    # a * b = half an ulp of c, or that with one unit more in a far lower place.
    a = np.full(800, (emax - precision) << m, dtype) + rng.integers(0, 2, 800).astype(dtype)
    b = np.full(800, emax << m, dtype) + rng.integers(0, 2, 800).astype(dtype)
    b |= rng.integers(0, 2, 800).astype(dtype) << dtype(width - 1)
    want = [model.fma(int(x), int(y), int(z), fmt, "RN") for x, y, z in zip(a, b, c, strict=True)]
    check(function(a, b, c, "RN"), want, a, b, c)


def test_uniform_operands_broadcast() -> None:
    a = np.arange(32, dtype=np.uint32) + np.uint32(0x3F800000)
    one = np.array([0x3F800000], np.uint32)
    assert np.array_equal(numeric.fmul(a, one), a)
    assert np.array_equal(numeric.ffma(a, 0x3F800000, 0), a)
    assert numeric.fadd(one, 0).shape == (1,)
    wide = np.full(32, 0x3FF0000000000000, np.uint64)
    assert np.array_equal(numeric.dfma(wide, wide[:1], 0), wide)
    assert np.array_equal(numeric.dfma(wide, 0x7FF0000000000000, 0), wide | np.uint64(0x7FF << 52))


def test_compare() -> None:
    a, b = model.vectors("f64", 1000, 2, seed=5)
    for x, y, less, equal, nan in zip(
        a, b, numeric.dlt(a, b), numeric.deq(a, b), numeric.dnan(a), strict=True
    ):
        x, y = int(x), int(y)
        assert nan == model.is_nan(x, "f64")
        if model.is_nan(x, "f64") or model.is_nan(y, "f64"):
            assert not less
            assert not equal
        elif model.is_finite(x, "f64") and model.is_finite(y, "f64"):
            assert less == (model.value(x, "f64") < model.value(y, "f64"))
            assert equal == (model.value(x, "f64") == model.value(y, "f64"))
        else:
            key = [float("inf") if model.is_inf(z, "f64") else 0.0 for z in (x, y)]
            key = [-k if model.sign_of(z, "f64") else k for k, z in zip(key, (x, y), strict=True)]
            assert less == (key[0] < key[1])
            assert equal == (key[0] == key[1])


def test_ftz_keeps_signs_and_everything_else() -> None:
    bits = np.array([0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x7F800001, 0xFF800000], np.uint32)
    want = [0, 0x80000000, 0, 0x80000000, 0x00800000, 0x7F800001, 0xFF800000]
    assert numeric.ftz(bits).tolist() == want
