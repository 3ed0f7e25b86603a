"""Integer, mask and cross-lane operations of the step engine against Python integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudbg.mem.lanes import bools, ones32, pack
from gpudbg.sm.engines.values import ValueOps, const32, lanes32

OPS = ValueOps()
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
EDGES32 = (0, 1, 2, 31, 32, 33, 63, 64, 65, 0x7FFFFFFF, 0x80000000, 0x80000001, M32)
EDGES64 = (*EDGES32, 0x100000000, 1 << 63, (1 << 63) - 1, M64)

word = st.one_of(st.sampled_from(EDGES32), st.integers(0, M32))
wide = st.one_of(st.sampled_from(EDGES64), st.integers(0, M64))


def s32(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v


def s64(v: int) -> int:
    return v - (1 << 64) if v >> 63 else v


def brev(v: int) -> int:
    return int(f"{v:032b}"[::-1], 2)


BINARY32: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and_": lambda a, b: a & b,
    "or_": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, n: a << n if n < 32 else 0,
    "shr": lambda a, n: a >> n if n < 32 else 0,
    "sar": lambda a, n: s32(a) >> min(n, 31),
}
COMPARE32: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ult": lambda a, b: a < b,
    "slt": lambda a, b: s32(a) < s32(b),
}
UNARY32: dict[str, Callable[[int], int]] = {
    "not_": lambda a: ~a,
    "popc": lambda a: a.bit_count(),
    "clz": lambda a: 32 - a.bit_length(),
    "brev": brev,
}
BINARY64: dict[str, Callable[[int, int], int]] = {
    "wadd": lambda a, b: a + b,
    "wsub": lambda a, b: a - b,
    "wmul": lambda a, b: a * b,
    "wand": lambda a, b: a & b,
    "wor": lambda a, b: a | b,
    "wxor": lambda a, b: a ^ b,
}
SHIFT64: dict[str, Callable[[int, int], int]] = {
    "wshl": lambda a, n: a << n if n < 64 else 0,
    "wshr": lambda a, n: a >> n if n < 64 else 0,
    "wsar": lambda a, n: s64(a) >> min(n, 63),
}
COMPARE64: dict[str, Callable[[int, int], bool]] = {
    "weq": lambda a, b: a == b,
    "wult": lambda a, b: a < b,
    "wslt": lambda a, b: s64(a) < s64(b),
}


def vector(values: list[int], dtype: Any = np.uint32) -> Any:
    return np.array(values, dtype)


def shapes(values: list[int], dtype: Any) -> list[Any]:
    """The same operand as 32 lanes, as one element for all lanes, and as a constant."""
    return [vector(values, dtype), vector(values[:1], dtype), values[0]]


def spread(result: Any) -> list[int]:
    return (result if len(result) == 32 else np.repeat(result, 32)).tolist()


def lanes_of(operand: Any) -> list[int]:
    if isinstance(operand, int):
        return [operand] * 32
    return spread(operand)


@settings(max_examples=25)
@given(st.lists(word, min_size=32, max_size=32), st.lists(word, min_size=32, max_size=32))
def test_32_bit_operations(a: list[int], b: list[int]) -> None:
    for x in shapes(a, np.uint32):
        for name, unary in UNARY32.items():
            got = spread(getattr(OPS, name)(x))
            assert got == [unary(v) & M32 for v in lanes_of(x)], name
        for y in shapes(b, np.uint32):
            pairs = list(zip(lanes_of(x), lanes_of(y), strict=True))
            for name, binary in BINARY32.items():
                got = spread(getattr(OPS, name)(x, y))
                assert got == [binary(p, q) & M32 for p, q in pairs], name
            for name, compare in COMPARE32.items():
                got = getattr(OPS, name)(x, y)
                assert got == sum(compare(p, q) << n for n, (p, q) in enumerate(pairs)), name


@settings(max_examples=25)
@given(
    st.lists(wide, min_size=32, max_size=32),
    st.lists(wide, min_size=32, max_size=32),
    st.lists(word, min_size=32, max_size=32),
)
def test_64_bit_operations(a: list[int], b: list[int], n: list[int]) -> None:
    for x in shapes(a, np.uint64):
        for y in shapes(b, np.uint64):
            pairs = list(zip(lanes_of(x), lanes_of(y), strict=True))
            for name, binary in BINARY64.items():
                got = spread(getattr(OPS, name)(x, y))
                assert got == [binary(p, q) & M64 for p, q in pairs], name
            for name, compare in COMPARE64.items():
                got = getattr(OPS, name)(x, y)
                assert got == sum(compare(p, q) << k for k, (p, q) in enumerate(pairs)), name
        for y in shapes(n, np.uint32):
            for name, shift in SHIFT64.items():
                got = spread(getattr(OPS, name)(x, y))
                expected = [
                    shift(p, q) & M64 for p, q in zip(lanes_of(x), lanes_of(y), strict=True)
                ]
                assert got == expected, name


@given(st.lists(word, min_size=32, max_size=32), st.lists(word, min_size=32, max_size=32))
def test_words_and_pairs(lo: list[int], hi: list[int]) -> None:
    pair = OPS.wide(vector(lo), vector(hi))
    assert pair.tolist() == [h << 32 | low for low, h in zip(lo, hi, strict=True)]
    assert OPS.lo(pair).tolist() == lo
    assert OPS.hi(pair).tolist() == hi
    assert OPS.zext(vector(lo)).tolist() == lo
    assert OPS.sext(vector(lo)).tolist() == [s32(v) & M64 for v in lo]


@given(
    st.integers(0, M32),
    st.lists(word, min_size=32, max_size=32),
    st.lists(word, min_size=32, max_size=32),
)
def test_select_and_lane_read(mask: int, a: list[int], b: list[int]) -> None:
    got = OPS.select(mask, vector(a), vector(b))
    assert spread(got) == [a[n] if mask >> n & 1 else b[n] for n in range(32)]
    wide_got = OPS.wselect(mask, vector(a, np.uint64), b[0])
    assert spread(wide_got) == [a[n] if mask >> n & 1 else b[0] for n in range(32)]
    assert OPS.lane_read(vector(a), vector(b)).tolist() == [a[lane & 31] for lane in b]
    assert spread(OPS.lane_read(vector(a), b[0])) == [a[b[0] & 31]] * 32
    assert spread(OPS.lane_read(a[0], vector(b))) == [a[0]] * 32


@given(st.integers(0, M32), st.integers(0, M32), st.integers(0, M32))
def test_masks(a: int, b: int, c: int) -> None:
    assert pack(bools(a)) == a
    assert ones32(a).tolist() == [a >> n & 1 for n in range(32)]
    assert OPS.mnot(a) == a ^ M32
    assert OPS.mselect(c, a, b) == (a & c | b & ~c)
    assert OPS.ballot(a).tolist() == [a]
    assert spread(OPS.from_mask(a)) == [a >> n & 1 for n in range(32)]
    values = [(a * (n + 1)) & M32 for n in range(32)]
    for n in (0, 1, 15, 30, 31):
        assert OPS.bit(vector(values), n) == sum((v >> n & 1) << k for k, v in enumerate(values))


def test_shared_arrays_cannot_be_changed() -> None:
    for array in (const32(5), ones32(3), bools(3)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_caches_are_bounded_and_stay_right() -> None:
    for n in range(40000):
        assert const32(n).item() == n
    assert lanes32(7).tolist() == [7] * 32
