"""Memory: alignment, vectors, generic addresses, atomics, fences, local arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.kernels_own.kit import Array, Case, Launch, kernel, rng, u32, u64, words
from tests.kernels_own.ref_language import signed

I32 = np.int32
M32 = 0xFFFFFFFF
M64 = (1 << 64) - 1


@kernel("sm_50", "sm_52")
def misaligned_bytes() -> Case:
    g, n = rng("packed"), 32
    dtype = np.dtype(
        [("kind", "u1"), ("length", "<u2"), ("value", "<u4"), ("stamp", "<u8"), ("weight", "<f4")]
    )
    records = np.zeros(n, dtype)
    records["kind"] = g.integers(0, 256, n)
    records["length"] = g.integers(0, 1 << 16, n)
    records["value"] = u32(g, n)
    records["stamp"] = u64(g, n)
    records["weight"] = g.standard_normal(n)
    after = records.copy()
    after["length"] += records["kind"]
    after["value"] ^= after["length"]
    after["stamp"] = records["stamp"] * np.uint64(3) + after["value"]
    after["weight"] *= np.float32(-2)
    raw = g.bytes(200)
    sums = [
        int.from_bytes(raw[t * 5 + 1 : t * 5 + 9], "little")
        + int.from_bytes(raw[t * 3 + 2 : t * 3 + 6], "little")
        + int.from_bytes(raw[t + 7 : t + 9], "little", signed=True)
        + 19
        for t in range(n)
    ]
    return Case(
        {
            "r": np.frombuffer(records.tobytes(), np.uint8),
            "sums": np.zeros(n, np.uint64),
            "raw": np.frombuffer(raw, np.uint8),
        },
        [Launch("misaligned_bytes", 1, n, ["r", "sums", "raw"])],
        {"r": np.frombuffer(after.tobytes(), np.uint8), "sums": words(sums, np.uint64)},
    )


VECTORS = (
    (0, 16),
    (512, 8),
    (1024, 16),
    (1536, 4),
    (1664, 4),
    (2048, 16),
    (2560, 2),
    (2688, 8),
    (2624, 1),
    (3072, 16),
    (3584, 3),
    (3840, 12),
)
"""Offset and element size of each vector type."""


@kernel("sm_50-line", "sm_53")
def vector_copies() -> Case:
    x = rng("vectors").integers(0, 256, 4224, dtype=np.uint8)
    want, n = np.zeros_like(x), 4
    for at, size in VECTORS:
        rows = x[at : at + 32 * size].reshape(32, size)
        lanes = np.arange(32)
        want[at : at + 32 * size] = rows[31 - ((lanes + (n + lanes) % 3) & 31)].reshape(-1)
    return Case(
        {"in": x, "out": np.zeros_like(x)},
        [Launch("vector_copies", 1, 32, ["in", "out", I32(n)])],
        {"out": want},
    )


@kernel("sm_50", "sm_60", "sm_90")
def generic_pointers() -> Case:
    g = rng("generic")
    start, table = g.integers(-100, 100, (2, 32), dtype=I32)
    out, spaces, final = [], [], start.copy()
    for t in range(32):
        kind = t % 4
        shared, local, far, heap = 100 + t, [t, t + 1, t + 2, t + 3], int(start[t]), 1000 + t
        if kind == 0:
            shared += 5
        elif kind == 1:
            local[t & 3] += 5
        elif kind == 2:
            far += 5
        else:
            heap += 5
        r = 0
        for v in (shared, local[1], far, int(table[t])):
            r = r * 7 + v
        now = [shared, local[t & 3], far, heap][kind]
        if kind != 1:
            r += 3 * now
            now = -t
        if kind == 2:
            final[t] = now
        out.append(r + (now if t & 1 else int(table[31 - t])) + now)
        spaces.append((1, 2, 4, 4)[kind] | (0 if t & 1 else 8))
    return Case(
        {"g": start, "out": np.zeros(32, I32), "spaces": np.zeros(32, np.uint32)},
        [Launch("generic_pointers", 1, 32, ["g", "out", "spaces"])],
        {"out": words(out, I32), "g": final, "spaces": np.array(spaces, np.uint32)},
        symbols={"table": table},
    )


@kernel("sm_50", "sm_62-line")
def last_block() -> Case:
    n = 700
    x = rng("last").integers(-1000, 1000, n) / 16
    return Case(
        {"x": x, "total": np.zeros(1)},
        [Launch("last_block", 5, 64, ["x", I32(n), "total"])] * 2,
        {"total": np.array([x.sum()])},
        expect_symbols={"ticket": words([0])},
    )


@kernel("sm_50", "sm_61-line")
def histogram_private() -> Case:
    x = u32(rng("histogram"), 400) & np.uint32(0x3FFF0F3F)
    return Case(
        {"x": x, "bins": np.zeros(256, np.uint32)},
        [Launch("histogram_private", 2, 128, ["x", I32(400), "bins"])],
        {"bins": np.bincount(x.view(np.uint8), minlength=256).astype(np.uint32)},
    )


def _fold(start: int, values: list[int], op: Callable[[int, int], int]) -> int:
    for v in values:
        start = op(start, v)
    return start


def _atomics(v: list[int], x: list[int], w: list[int], d: list[int]) -> tuple[Array, Array]:
    """Final words; every operation by itself over the threads in order."""
    n = len(v)
    s, y = [signed(i) for i in v], [signed(i, 64) for i in x]
    adds = words([w[11]]).view(np.float32) + np.float32(sum(i & 15 for i in v))
    small = [
        w[0] + sum(v),
        w[1] - sum(v),
        min([signed(w[2]), *s]),
        max([signed(w[3]), *s]),
        min([w[4], *v]),
        max([w[5], *v]),
        _fold(w[6], [i | 0xFF00FF00 for i in v], lambda a, b: a & b),
        _fold(w[7], [i & 0x10101010 << (t & 3) for t, i in enumerate(v)], lambda a, b: a | b),
        _fold(w[8], v, lambda a, b: a ^ b),
        _fold(w[9], v, lambda a, _: 0 if a >= 20 else a + 1),
        _fold(w[10], v, lambda a, _: 25 if a == 0 or a > 25 else a - 1),
        int(adds.view(np.uint32)[0]),
        v[5],
        77 if w[13] == 0 else w[13],
        w[14] + n,
        _fold(w[15], v, lambda a, _: 0 if a >= 9 else a + 1),
    ]
    seen, a = 0, w[15]
    for _ in v:
        seen, a = seen + a, 0 if a >= 9 else a + 1
    wide = [
        d[0] + sum(x),
        min([signed(d[1], 64), *y]),
        max([signed(d[2], 64), *y]),
        min([d[3], *x]),
        max([d[4], *x]),
        _fold(d[5], [i | 0xF0F0F0F0F0F0F0F0 for i in x], lambda a, b: a & b),
        _fold(d[6], [i & 0x8080808080808080 for i in x], lambda a, b: a | b),
        _fold(d[7], x, lambda a, b: a ^ b),
        x[9],
        d[9],
        d[10] + sum(w[14] + i for i in range(n)),
        d[11] + seen,
        d[12] + sum(d[13] + 3 * i for i in range(n)),
        d[13] + 3 * n,
    ]
    return words(small), words(wide, np.uint64)


@kernel("sm_50", "sm_52-line")
def atomics_all() -> Case:
    g, n = rng("atomics"), 64
    v, x = u32(g, n), u64(g, n)
    rows = []
    for first in (u32(g, 16), u32(g, 16)):
        first[9:12] = [18, 3, np.float32(0.5).view(np.uint32)]
        first[13:16] = [0, 40, 7]
        rows.append(first)
    wide = [u64(g, 14), u64(g, 14)]
    wants = [
        _atomics(v.tolist(), x.tolist(), w.tolist(), d.tolist())
        for w, d in zip(rows, wide, strict=True)
    ]
    return Case(
        {"v": v, "x": x, "w": rows[0], "d": wide[0], "w2": rows[1], "d2": wide[1]},
        [Launch("atomics_all", 1, n, ["v", "x", "w", "d", "w2", "d2"])],
        {"w": wants[0][0], "d": wants[0][1], "w2": wants[1][0], "d2": wants[1][1]},
    )


@kernel("sm_50", "sm_61-G")
def local_arrays() -> Case:
    x = rng("locals").integers(0, 5000, 16, dtype=I32)
    out = np.zeros((16, 2))
    for t, v in enumerate(x.tolist()):
        grid = np.zeros((5, 7), int)
        for i in range(35):
            grid[i % 5, i % 7] = i * v & 255
        # Rotated by t & 7: element i is what element i - t was.
        before = [(i - t) % 8 for i in range(8)]
        shorts = [signed(v + i, 16) for i in before]
        column = (v & 1023) % 7
        chars = [[signed(int(grid[(i + j + t) % 5, column]), 8) for j in range(3)] for i in before]
        doubles = [i * 0.5 for i in before]
        wide = [0] * 6
        for i in range(12):
            at = (v + i) & 7
            wide[(t + i) % 6] += shorts[at] << (i + 20)
            doubles[at] += chars[at][i % 3]
        w = 0
        for value in wide:
            w = signed(w * 5 + value, 64)
        out[t] = sum(d * (i + 1) for i, d in enumerate(doubles)), float(w >> 12)
    return Case(
        {"x": x, "out": np.zeros((16, 2))},
        [Launch("local_arrays", 1, 16, ["x", "out"])],
        {"out": out},
    )


@kernel("sm_50", "sm_61")
def shared_neighbours() -> Case:
    rows = rng("neighbours").integers(-1000, 1000, (4, 32), dtype=I32)
    before, behind = np.zeros_like(rows), np.zeros_like(rows)
    before[:, 1:], behind[:, :-1] = rows[:, :-1], rows[:, 1:]
    shared = rows.copy()
    shared[:, :-2] = (before + 3 * behind)[:, 2:]
    want = 5 * before - behind + 7 * shared
    return Case(
        {"in": rows, "out": np.zeros_like(rows)},
        [Launch("shared_neighbours", 4, 32, ["in", "out"])],
        {"out": want},
    )
