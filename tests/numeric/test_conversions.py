"""Conversions of the step engine against rationals, in all four roundings."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from gpudbg.sm.engines import numeric
from tests.numeric import model
from tests.numeric.test_arithmetic import check

STEPS: dict[str, Callable[[Fraction], int]] = {
    "RN": round, "RM": math.floor, "RP": math.ceil, "RZ": math.trunc,
}  # fmt: skip
"""Rounding mode -> the integer a number goes to."""


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("mode", model.MODES)
@pytest.mark.parametrize("target", ["f16", "f32"])
def test_narrowing(target: str, mode: str) -> None:
    (wide,) = model.vectors("f64", 1500, 1, seed=6)
    # Values in and just around the range of the target, with ties and near-ties of its rounding.
    precision, emax, _ = model.FORMATS[target]
    near = model._shaped(
        np.random.default_rng(7), "f64", 3000, 1023 - emax - precision - 2, 1023 + emax + 1
    )
    tie = np.uint64(1 << 52 - precision)
    near[:1000] = near[:1000] & ~(tie * np.uint64(2) - np.uint64(1)) | tie
    near[1000:1200] = near[:200] + np.uint64(1)
    near[1200:1400] = near[:200] - np.uint64(1)
    values = np.concatenate([wide, near])
    function = numeric.f64_to_f16 if target == "f16" else numeric.f64_to_f32
    want = [model.convert(int(x), "f64", target, mode) for x in values]
    check(function(values, mode), want, values)


def test_every_half_widens_exactly() -> None:
    bits = np.arange(65536, dtype=np.uint32)
    wide = numeric.f16_to_f64(bits)
    for x, y in zip(bits[::7].tolist(), wide[::7].tolist(), strict=True):
        if model.is_nan(x, "f16"):
            assert y == (x >> 15) << 63 | 0x7FF8 << 48 | (x & 0x3FF) << 42
        elif model.is_finite(x, "f16"):
            assert model.value(y, "f64") == model.value(x, "f16")
            assert y >> 63 == x >> 15
    back = numeric.f64_to_f16(wide, "RN")
    nan = (bits & 0x7FFF) > 0x7C00
    assert np.array_equal(back[~nan], bits[~nan])
    assert set(back[nan].tolist()) == {0x7FFF}


def test_f16_to_f64_reads_the_low_half_only() -> None:
    assert numeric.f16_to_f64(np.array([0xABCD3C00], np.uint32)).tolist() == [0x3FF0 << 48]


def test_single_widens_exactly() -> None:
    (bits,) = model.vectors("f32", 3000, 1, seed=8)
    for x, y in zip(bits.tolist(), numeric.f32_to_f64(bits).tolist(), strict=True):
        if model.is_nan(x, "f32"):
            assert y == (x >> 31) << 63 | 0x7FF8 << 48 | (x & 0x7FFFFF) << 29
        elif model.is_inf(x, "f32"):
            assert y == model.inf("f64", x >> 31)
        else:
            assert model.value(y, "f64") == model.value(x, "f32")
            assert y >> 63 == x >> 31


def integers() -> np.ndarray:
    rng = np.random.default_rng(9)
    raw = rng.integers(0, 2**63, 2000).astype(np.uint64) * np.uint64(2)
    raw += rng.integers(0, 2, 2000).astype(np.uint64)
    raw >>= rng.integers(0, 64, 2000).astype(np.uint64)
    # Ties and their neighbours for 24 and 53 bits of significand, positive and negative.
    ties = [
        sign * ((base << extra + 1 | 1 << extra) + delta)
        for precision in (24, 53)
        for extra in range(0, 63 - precision, 3)
        for base in (1 << precision - 1, (1 << precision - 1) + 1, (1 << precision) - 1)
        for delta in (-1, 0, 1)
        for sign in (1, -1)
    ]
    edges = [0, 1, -1, 2**31, 2**31 - 1, 2**32 - 1, 2**63, 2**63 - 1, 2**64 - 1, 0x1000001]
    words = np.array([x & (2**64 - 1) for x in ties + edges], np.uint64)
    return np.concatenate([raw, ~raw[:500], words])


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("mode", model.MODES)
@pytest.mark.parametrize("target", ["f32", "f64"])
def test_from_integer(target: str, mode: str, signed: bool) -> None:
    words = integers()
    function = numeric.int_to_f32 if target == "f32" else numeric.int_to_f64
    want = [
        model.rounded(Fraction(x - 2**64 if signed and x >> 63 else x), target, mode)
        for x in words.tolist()
    ]
    check(function(words, signed, mode), want, words)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_to_integer_saturates(bits: int, signed: bool) -> None:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    values = [0.0, -0.0, 1.0, -1.0, 1e300, -1e300, math.inf, -math.inf, 127.0, 128.0, -128.0]
    values += [float(low + d) for d in (-4096, -1, 0, 1)] + [float(high + d) for d in (-1, 0, 1)]
    values += [float(high) + 4096, 2.0**53 + 2, 255.0, 256.0, 2.0**62, float(2**63 - 1024)]
    array = np.array([*values, math.nan])
    got = numeric.f64_to_int(array.view(np.uint64), signed, bits).tolist()
    for x, y in zip(values, got, strict=False):
        exact = high if x == math.inf else low if x == -math.inf else int(x)
        assert y == min(max(exact, low), high) & (2**64 - 1), x
    assert got[-1] == 0


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("fmt", ["f32", "f64"])
@pytest.mark.parametrize("mode", model.MODES)
def test_round_to_integral(fmt: str, mode: str) -> None:
    precision, emax, width = model.FORMATS[fmt]
    (some,) = model.vectors(fmt, 800, 1, seed=10)
    near = model._shaped(np.random.default_rng(11), fmt, 800, emax - 3, emax + precision + 1)
    bits = np.concatenate([some, near])
    function = numeric.fround if fmt == "f32" else numeric.dround
    for x, y in zip(bits.tolist(), function(bits, mode).tolist(), strict=True):
        if model.is_nan(x, fmt):
            assert y == (model.OWN_NAN[fmt] if fmt == "f32" else x | 1 << 51)
        elif model.is_inf(x, fmt):
            assert y == x
        else:
            v = model.value(x, fmt)
            assert model.value(y, fmt) == STEPS[mode](v)
            assert y >> width - 1 == x >> width - 1
