"""Built-in types and functions: 128-bit integers, memory functions, cache hints, SIMD, atomics."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from tests.kernels_own.kit import Array, Case, Launch, kernel, rng, u32, u64, words
from tests.kernels_own.ref_language import signed

I32 = np.int32
M64 = (1 << 64) - 1


def _truncated(a: int, b: int) -> tuple[int, int]:
    q = abs(a) // abs(b)
    q = q if (a < 0) == (b < 0) else -q
    return q, a - b * q


def _wide(x: int, y: int) -> list[int]:
    s, z = signed(x, 128), signed(y, 128)
    part = signed(s >> 70, 64)
    values = [
        x * y + (x ^ y),
        x // y,
        _truncated(s, z)[1],
        x << (y & 127),
        s >> (y >> 7 & 127),
        -x - (y if x > y else 1),
        int(float(part) * 1.5),
    ]
    halves = [h for v in values for h in (v & M64, v >> 64 & M64)]
    flags = (s < z) | (x < y) << 1 | (x == y) << 2 | x % 1000003 << 8
    return [*halves, flags, int.from_bytes(struct.pack("<d", float(x >> 40 & M64)), "little")]


@kernel("sm_50", "sm_61-line", options=["-device-int128"])
def wide_integers() -> Case:
    g, n = rng("wide"), 32
    a, b = u64(g, 2 * n).reshape(n, 2), u64(g, 2 * n).reshape(n, 2)
    b[::3, 1] = 0
    b[1::5] = [7, 0]
    a[4], b[4], b[8] = [0, 1 << 63], [1, M64], a[8]
    numbers = [[int(r[0]) | int(r[1]) << 64 for r in rows] for rows in (a, b)]
    want = [v for x, y in zip(*numbers, strict=True) for v in _wide(x, y)]
    return Case(
        {"a": a, "b": b, "out": np.zeros(16 * n, np.uint64)},
        [Launch("wide_integers", 1, n, ["a", "b", "out", I32(n)])],
        {"out": words(want, np.uint64)},
    )


@kernel("sm_50-line", "sm_53")
def memory_functions() -> Case:
    g = rng("functions of memory")
    text = g.integers(0, 256, 100, dtype=np.uint8)
    length = g.integers(0, 60, 32, dtype=I32)
    length[:4] = [0, 1, 61, 16]
    out = np.zeros((32, 64), np.uint8)
    sums = []
    for t in range(32):
        out[t] = t
        out[t, 3 : 3 + length[t]] = text[t : t + length[t]]
        values = [10, 25, 30, 40]
        sums.append(2 * t + 2 * 0x01010101 + ord("x") + values[t % 4] + ord("e" if t & 1 else "h"))
    sums.append(101 * 2 + 1)
    return Case(
        {"in": text, "out": np.zeros_like(out), "n": length, "sum": np.zeros(33, I32)},
        [Launch("memory_functions", 1, 32, ["in", "out", "n", "sum"])],
        {"out": out, "sum": words(sums, I32)},
    )


@kernel("sm_50", "sm_62")
def cached_loads() -> Case:
    g, n = rng("cached"), 64
    x: Array = u32(g, n + 4)
    wide = g.integers(-99, 99, (n + 1, 2)) / 4
    s: Array = x[:n] + x[1:-3] * np.uint32(2) + x[2:-2] * np.uint32(3) + x[3:-1] * np.uint32(5)
    s += x[4:] * np.uint32(7)
    rows = x[:n]
    parts = (rows & np.uint32(255)) + (rows >> np.uint32(24) << np.uint32(8))
    parts += (rows.view(np.int32) >> 16).view(np.uint32)
    copy = wide[:n].copy()
    copy[:, 0] += wide[1:, 1]
    return Case(
        {
            "in": x, "wide": wide, "out": np.zeros(4 * n, np.uint32),
            "copy": np.zeros_like(copy), "clocks": np.zeros(n, np.uint32),
        },
        [Launch("cached_loads", 1, n, ["in", "wide", "out", "copy", "clocks"])],
        {
            "out": np.concatenate([s, rows ^ s, s & np.uint32(255), parts]),
            "copy": copy,
            "clocks": np.full(n, 3, np.uint32),
        },
    )  # fmt: skip


Pair = Callable[[int, int, int], int]
"""A lane's result from two operands and the lane's width in bits."""


def _saturate(value: int, bits: int, sign: bool) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign else (0, (1 << bits) - 1)
    return max(low, min(high, value))


SIMD: list[tuple[bool, Pair]] = [
    (False, lambda a, b, n: a + b),
    (False, lambda a, b, n: a - b),
    (True, lambda a, b, n: _saturate(a + b, n, True)),
    (False, lambda a, b, n: _saturate(a + b, n, False)),
    (True, lambda a, b, n: _saturate(a - b, n, True)),
    (False, lambda a, b, n: _saturate(a - b, n, False)),
    (True, lambda a, b, n: abs(a)),
    (True, lambda a, b, n: _saturate(abs(a), n, True)),
    (True, lambda a, b, n: abs(a - b)),
    (False, lambda a, b, n: abs(a - b)),
    (True, lambda a, b, n: max(a, b)),
    (False, lambda a, b, n: max(a, b)),
    (True, lambda a, b, n: min(a, b)),
    (False, lambda a, b, n: min(a, b)),
    # Signed averages round halves away from zero, unsigned ones up.
    (True, lambda a, b, n: (a + b + (a + b >= 0)) >> 1),
    (False, lambda a, b, n: (a + b + 1) >> 1),
    (False, lambda a, b, n: (a + b) >> 1),
    (True, lambda a, b, n: -a),
    (True, lambda a, b, n: _saturate(-a, n, True)),
]
SUMS: list[bool] = [True, False]
"""Sums of absolute differences, signed and unsigned."""

MASKS: list[tuple[bool, int, Callable[[int, int], bool]]] = [
    (False, -1, lambda a, b: a == b),
    (True, -1, lambda a, b: a >= b),
    (False, -1, lambda a, b: a < b),
    (True, 1, lambda a, b: a > b),
    (False, 1, lambda a, b: a <= b),
    (False, 1, lambda a, b: a != b),
]
"""Comparisons: signedness, what true is, the relation."""


def _lanes(x: int, bits: int, sign: bool) -> list[int]:
    parts = [x >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [signed(p, bits) for p in parts] if sign else parts


def _join(parts: list[int], bits: int) -> int:
    return sum((p & ((1 << bits) - 1)) << bits * i for i, p in enumerate(parts))


def _simd(x: int, y: int) -> list[int]:
    out = []
    for sign, pair in SIMD:
        for n in (16, 8):
            lanes = zip(_lanes(x, n, sign), _lanes(y, n, sign), strict=True)
            out.append(_join([pair(a, b, n) for a, b in lanes], n))
    for sign in SUMS:
        for n in (16, 8):
            lanes = zip(_lanes(x, n, sign), _lanes(y, n, sign), strict=True)
            out.append(sum(abs(a - b) for a, b in lanes))
    for sign, true, relation in MASKS:
        for n in (16, 8):
            lanes = zip(_lanes(x, n, sign), _lanes(y, n, sign), strict=True)
            out.append(_join([true * relation(a, b) for a, b in lanes], n))
    return out


@kernel("sm_50", "sm_61-line", "sm_120")
def simd_intrinsics() -> Case:
    g, n = rng("simd"), 64
    a, b = u32(g, n), u32(g, n)
    a[:6] = [0x80808080, 0x80008000, 0x7FFF7F7F, 0, 0xFFFFFFFF, 0x80007F01]
    b[:6] = [0x80808080, 0x7FFF8000, 0x7FFF7F7F, 0xFFFFFFFF, 0xFFFF0000, 0x7F018000]
    b[10:20] ^= (b[10:20] ^ a[10:20]) & np.uint32(0xFF00FF)
    rows = [_simd(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    count = len(rows[0])
    return Case(
        {"a": a, "b": b, "out": np.zeros(count * n, np.uint32)},
        [Launch("simd_intrinsics", 1, n, ["a", "b", "out", I32(n)])],
        {"out": words([row[k] for k in range(count) for row in rows])},
    )


@kernel("sm_60", "sm_62")
def atomics_pascal() -> Case:
    n = 64
    x = rng("pascal").integers(-500, 500, n) / 8
    mask: Array = words([0x0F0F0F0F, 0, 4, 0xFFFFFFFF, 9])
    return Case(
        {
            "x": x, "sums": np.array([1.5, 0, 0]), "w": mask,
            "d": words([5, 3, 1], np.uint64),
        },
        [Launch("atomics_pascal", 1, n, ["x", "sums", "w", "d"])],
        {
            "sums": np.array([1.5 + x.sum(), n, 0.5 + x.sum()]),
            "w": words([0x0F0F0F0F, 0, 8, 0, 3 + n * (n - 1) // 2]),
            "d": words([1000, -20, 77], np.uint64),
        },
    )  # fmt: skip
