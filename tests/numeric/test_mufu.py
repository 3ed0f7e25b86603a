"""MUFU: the nearest f32 of the true function, and the special results ptxas folds to."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from gpudbg.sm.engines import numeric

FUNCTIONS = {
    "RCP": lambda v: 1 / v,
    "RSQ": lambda v: 1 / mpmath.sqrt(v),
    "LG2": lambda v: mpmath.log(v) / mpmath.log(2),
    "EX2": lambda v: mpmath.mpf(2) ** v,
    "SIN": mpmath.sin,
    "COS": mpmath.cos,
    "SQRT": mpmath.sqrt,
}
NAN, INF = 0x7FFFFFFF, 0x7F800000
ZERO, NEG_ZERO, NEG_INF = 0, 0x80000000, 0xFF800000
SPECIALS = {
    "RCP": [(ZERO, INF), (NEG_ZERO, NEG_INF), (1, INF), (0x80000001, NEG_INF), (INF, ZERO),
            (NEG_INF, NEG_ZERO), (0x7F000000, ZERO), (0x7E800000, 0x00800000), (NAN, NAN),
            (0xFF000000, NEG_ZERO), (0x7F800001, NAN), (0x40200000, 0x3ECCCCCD)],
    "RSQ": [(ZERO, INF), (0x007FFFFF, INF), (NEG_ZERO, NEG_INF), (INF, ZERO), (0xBF800000, NAN),
            (NEG_INF, NAN), (0xFFC00000, NAN), (0x40200000, 0x3F21E89B)],
    "LG2": [(ZERO, NEG_INF), (NEG_ZERO, NEG_INF), (1, NEG_INF), (INF, INF), (0xBF800000, NAN),
            (NEG_INF, NAN), (0x3F800000, ZERO), (0x40200000, 0x3FA934F1), (0x7FC00000, NAN)],
    "EX2": [(NEG_INF, ZERO), (INF, INF), (0x43000000, INF), (0xC2FC0000, 0x00800000),
            (0xC2FC0001, ZERO), (0xFF7FFFFF, ZERO), (ZERO, 0x3F800000), (0x40200000, 0x40B504F3),
            (0xFFC00001, NAN), (0x7F7FFFFF, INF)],
    "SIN": [(ZERO, ZERO), (NEG_ZERO, NEG_ZERO), (1, ZERO), (INF, NAN), (NEG_INF, NAN),
            (0x40200000, 0x3F193578), (0x7FFFFFFF, NAN)],
    "SQRT": [(ZERO, ZERO), (NEG_ZERO, NEG_ZERO), (1, ZERO), (INF, INF), (NEG_INF, NAN),
             (0xBF800000, NAN), (0x40800000, 0x40000000), (0x807FFFFF, NEG_ZERO)],
    "COS": [(ZERO, 0x3F800000), (0x80000001, 0x3F800000), (INF, NAN), (NEG_INF, NAN)],
    "RCP64H": [(0, 0x7FF00000), (0x80000000, 0xFFF00000), (0x000FFFFF, 0x7FF00000),
               (0x7FF00000, 0), (0xFFF00000, 0x80000000), (0x3FF00000, 0x3FF00000),
               (0x7FF80000, NAN), (0x7FE00000, 0), (0x40000000, 0x3FE00000)],
    "RSQ64H": [(0, 0x7FF00000), (0x80000000, 0xFFF00000), (0xBFF00000, NAN), (0x7FF00000, 0),
               (0x40100000, 0x3FE00000)],
}  # fmt: skip


def samples(function: str) -> np.ndarray:
    rng = np.random.default_rng(12)
    exponent = rng.integers(1, 255, 300).astype(np.uint32) << np.uint32(23)
    wide = exponent | rng.integers(0, 1 << 23, 300).astype(np.uint32)
    near = rng.uniform(-30, 30, 300).astype(np.float32).view(np.uint32)
    one = np.uint32(0x3F800000) + np.arange(-40, 40, dtype=np.int64).astype(np.uint32)
    bits = np.concatenate([wide, wide | np.uint32(0x80000000), near, one])
    if function in ("RSQ", "LG2", "SQRT"):
        bits &= np.uint32(0x7FFFFFFF)
    value = bits.view(np.float32)
    return bits[np.abs(value) <= 127] if function == "EX2" else bits


@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_nearest(function: str) -> None:
    bits = samples(function)
    got = numeric.mufu(function, bits)
    with mpmath.workprec(140):
        for x, y in zip(bits.tolist(), got.tolist(), strict=True):
            v = float(np.uint32(x).view(np.float32))
            # Reference values go through f64, which is as near as a tie can lie for these.
            want = np.float32(float(FUNCTIONS[function](mpmath.mpf(v))))
            if abs(want) < 2.0**-126:
                want = want * np.float32(0)
            assert y == int(want.view(np.uint32)), f"{function}({v!r})"


@pytest.mark.parametrize("function", list(SPECIALS))
def test_special_values(function: str) -> None:
    pairs = SPECIALS[function]
    got = numeric.mufu(function, np.array([x for x, _ in pairs], np.uint32))
    assert [f"{x:08x}" for x in got.tolist()] == [f"{y:08x}" for _, y in pairs]


def test_reciprocal_of_powers_of_two_is_exact() -> None:
    field = np.arange(1, 254, dtype=np.uint32)
    got = numeric.mufu("RCP", field << np.uint32(23))
    assert np.array_equal(got, (np.uint32(254) - field) << np.uint32(23))


@pytest.mark.parametrize(("function", "power"), [("RCP64H", -1), ("RSQ64H", -0.5)])
def test_high_word_of_doubles(function: str, power: float) -> None:
    rng = np.random.default_rng(13)
    high = rng.integers(0x00100000, 0x7FE00000, 500).astype(np.uint32)
    value = (high.astype(np.uint64) << np.uint64(32)).view(np.float64)
    got = (numeric.mufu(function, high).astype(np.uint64) << np.uint64(32)).view(np.float64)
    with np.errstate(under="ignore"):
        exact = value**power
    assert np.all(np.abs(got - exact) <= np.abs(exact) * 2.0**-21)
