"""Graphs, tables, queues, cells, dynamic programming."""

from __future__ import annotations

import itertools
import re

import numpy as np

from tests.kernels_own.kit import Array, Case, Launch, kernel, rng, u32, words

I32 = np.int32


@kernel("sm_50-line", "sm_52")
def csr_spmv() -> Case:
    g, rows = rng("spmv"), 90
    lengths = g.integers(0, 12, rows)
    lengths[[3, 40, 41, 89]] = [50, 33, 70, 9]
    start = np.cumsum([0, *lengths]).astype(I32)
    column = g.integers(0, rows, start[-1], dtype=I32)
    value = g.integers(-(1 << 62), 1 << 62, start[-1])
    x = g.integers(-(1 << 31), 1 << 31, rows, dtype=I32)
    products = value.astype(np.uint64) * x[column].astype(np.int64).astype(np.uint64)
    y = [products[a:b].sum(dtype=np.uint64) for a, b in itertools.pairwise(start)]
    return Case(
        {"s": start, "c": column, "v": value, "x": x, "y": np.zeros(rows, np.int64)},
        [Launch("csr_spmv", 1, 64, ["s", "c", "v", "x", "y", I32(rows)])],
        {"y": np.array(y, np.uint64).view(np.int64)},
    )


@kernel("sm_50", "sm_60")
def bfs_frontier() -> Case:
    g, n, depth = rng("bfs"), 150, 7
    edges: list[list[int]] = [sorted(set(g.integers(0, n - 5, 2).tolist())) for _ in range(n)]
    level = np.full(n, -1, I32)
    level[9] = 0
    frontier, sizes = [9], []
    for d in range(depth):
        sizes.append(len(frontier))
        frontier = sorted({w for v in frontier for w in edges[v] if level[w] < 0})
        level[frontier] = d + 1
    start = np.cumsum([0] + [len(e) for e in edges]).astype(I32)
    flat = np.array([w for e in edges for w in e], I32)
    launches = [Launch("bfs_start", 1, 64, ["level", I32(n), I32(9)])]
    for d in range(depth):
        launches.append(Launch("bfs_level", 2, 32, ["start", "edge", "level", I32(d)]))
        launches.append(Launch("bfs_swap", 1, 1, [I32(d), "sizes"]))
    return Case(
        {"start": start, "edge": flat, "level": np.zeros(n, I32), "sizes": np.zeros(depth, I32)},
        launches,
        {"level": level, "sizes": np.array(sizes, I32)},
    )


@kernel("sm_50", "sm_53-G")
def union_find() -> Case:
    g, n, count = rng("union"), 128, 100
    edges = g.integers(0, n, (count, 2), dtype=I32)
    label = np.arange(n, dtype=I32)
    while True:
        before = label.copy()
        for a, b in edges:
            label[[a, b]] = min(label[a], label[b])
        if (before == label).all():
            break
    return Case(
        {"e": edges, "p": np.arange(n, dtype=I32)},
        [
            Launch("link_edges", 2, 64, ["e", I32(count), "p"]),
            Launch("flatten", 2, 64, ["p", I32(n)]),
        ],
        {"p": label},
    )


@kernel("sm_50-line", "sm_61")
def hash_table() -> Case:
    g, n = rng("table"), 192
    pool = u32(g, 60)
    keys, values = pool[g.integers(0, 50, n)], u32(g, n)
    queries = pool[np.arange(60)]
    sums = {int(k): int(values[keys == k].sum(dtype=np.uint32)) for k in keys}
    found = np.array([sums.get(int(q), -1) for q in queries], np.int64)
    return Case(
        {
            "t": np.full(128, (1 << 64) - 1, np.uint64),
            "k": keys,
            "v": values,
            "q": queries,
            "found": np.zeros(60, np.int64),
        },
        [
            Launch("insert", 3, 64, ["t", np.uint32(127), "k", "v", I32(n)]),
            Launch("lookup", 1, 64, ["t", np.uint32(127), "q", "found", I32(60)]),
        ],
        {"found": found},
    )


def _collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = (3 * n + 1 if n & 1 else n >> 1), steps + 1
    return steps


@kernel("sm_50", "sm_62")
def work_queue() -> Case:
    numbers, ids = [3, 27, 97, 500, 871, 6171], 6
    dtype = np.dtype([("n", "u4"), ("depth", "u2"), ("id", "u2")])
    tasks = np.zeros(512, dtype)
    tasks[:6] = [(n, 1, i) for i, n in enumerate(numbers)]
    second = [(2 * n, i) for i, n in enumerate(numbers)]
    second += [(2 * n + 77, i) for i, n in enumerate(numbers)]
    best = [max(_best(n), *(_best(m) for m, j in second if j == i)) for i, n in enumerate(numbers)]
    return Case(
        {"steps": np.zeros(ids, np.uint32)},
        [
            Launch("work_queue", 2, 64, ["steps", np.uint32(6)]),
            Launch("rewind", 1, 1, [np.uint32(6)]),
            Launch("work_queue", 3, 32, ["steps", np.uint32(18)]),
        ],
        {"steps": np.array(best, np.uint32)},
        symbols={"tasks": tasks.view(np.uint64), "head": words([0]), "tail": words([6])},
        expect_symbols={"tail": words([18])},
    )


def _best(n: int) -> int:
    return max(_collatz(n + lane) for lane in range(32))


def _life(cells: Array, steps: int) -> Array:
    for _ in range(steps):
        around = sum(
            np.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
        )
        cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.uint8)
    return cells


@kernel("sm_50", "sm_61-line")
def life_cells() -> Case:
    g, steps = rng("life"), 3
    small = g.integers(0, 2, (12, 16), dtype=np.uint8)
    wide = g.integers(0, 2, (32, 32), dtype=np.uint8)

    def packed(cells: Array) -> Array:
        return np.packbits(cells, axis=1, bitorder="little").view(np.uint32).reshape(-1)

    launches = []
    for i in range(steps):
        a, b = ("a", "b") if i % 2 == 0 else ("b", "a")
        launches.append(Launch("life_bytes", (2, 3), (8, 4), [a, b, I32(16), I32(12)]))
        launches.append(Launch("life_words", 1, 32, [a + a, b + b, I32(32)]))
    return Case(
        {
            "a": small,
            "b": np.zeros_like(small),
            "aa": packed(wide),
            "bb": np.zeros(32, np.uint32),
        },
        launches,
        {"b": _life(small, steps), "bb": packed(_life(wide, steps))},
    )


@kernel("sm_50", "sm_52-G")
def n_queens() -> Case:
    n = 6
    good = sum(
        all(abs(p[i] - p[j]) != j - i for i in range(n) for j in range(i + 1, n))
        for p in itertools.permutations(range(n))
    )
    return Case(
        {"out": np.zeros(1, np.uint32)},
        [Launch("n_queens", 2, 32, [I32(n), "out"])],
        {"out": words([good])},
    )


def _edit_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return row[-1]


@kernel("sm_50-line", "sm_53")
def levenshtein() -> Case:
    pairs = [
        ("kitten", "sitting"),
        ("", "abc"),
        ("intention", "execution"),
        ("same", "same"),
        ("a" * 40, "ab" * 10),
        ("divergence", "convergence"),
        ("xyz", ""),
    ]
    text = "".join(a + b for a, b in pairs)
    rows, at = [], 0
    for a, b in pairs:
        rows.append((at, len(a), at + len(a), len(b)))
        at += len(a) + len(b)
    return Case(
        {
            "text": np.frombuffer(text.encode(), np.uint8),
            "pairs": np.array(rows, I32),
            "out": np.zeros(len(pairs), I32),
        },
        [Launch("levenshtein", len(pairs), 32, ["text", "pairs", "out"])],
        {"out": np.array([_edit_distance(a, b) for a, b in pairs], I32)},
    )


def _alignment(q: str, t: str) -> int:
    """Gotoh's recurrences; a gap of k costs 2 + k."""
    n, m = len(q), len(t)
    h, e, f = (np.zeros((n + 1, m + 1), int) for _ in range(3))
    e[:, 0] = f[0, :] = -1000
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            e[i, j] = max(e[i, j - 1] - 1, h[i, j - 1] - 3)
            f[i, j] = max(f[i - 1, j] - 1, h[i - 1, j] - 3)
            match = h[i - 1, j - 1] + (4 if q[i - 1] == t[j - 1] else -2)
            h[i, j] = max(0, match, e[i, j], f[i, j])
    return int(h.max())


@kernel("sm_50", "sm_60-line")
def smith_waterman() -> Case:
    g = rng("align")
    t = "".join("ACGT"[i] for i in g.integers(0, 4, 70))
    q = t[5:25] + t[32:50] + "".join("ACGT"[i] for i in g.integers(0, 4, 9))
    buffers: dict[str, Array] = {
        "q": np.frombuffer(q.encode(), np.uint8),
        "t": np.frombuffer(t.encode(), np.uint8),
        "border": np.zeros(2 * len(t), np.int16),
        "best": np.zeros(1, I32),
    }
    args = ["q", I32(len(q)), "t", I32(len(t)), "border", "best"]
    best = words([_alignment(q, t)], I32)
    return Case(buffers, [Launch("smith_waterman", 1, 32, args)], {"best": best})


@kernel("sm_50", "sm_61")
def floyd_warshall() -> Case:
    g, n, far = rng("floyd"), 14, 0x7FFFFFFF
    d = np.where(g.random((n, n)) < 0.2, g.integers(1, 100, (n, n)), far)
    np.fill_diagonal(d, 0)
    hop = np.where(d < far, np.arange(n)[None, :], -1).astype(np.int8)
    want, hops = d.astype(np.int64), hop.copy()
    for k, i, j in itertools.product(range(n), repeat=3):
        if want[i, k] < far and want[k, j] < far and want[i, k] + want[k, j] < want[i, j]:
            want[i, j] = want[i, k] + want[k, j]
            hops[i, j] = hops[i, k]
    launches = [Launch("floyd_warshall", 4, 64, ["d", "hop", I32(n), I32(k)]) for k in range(n)]
    return Case({"d": d.astype(I32), "hop": hop}, launches, {"d": want.astype(I32), "hop": hops})


def _unpack(stream: bytes) -> bytes:
    out, i = b"", 0
    while i < len(stream):
        c = stream[i] - 256 * (stream[i] > 127)
        i += 1
        if c >= 0:
            out, i = out + stream[i : i + c + 1], i + c + 1
        elif c != -128:
            out, i = out + stream[i : i + 1] * (1 - c), i + 1
    return out


@kernel("sm_50", "sm_62-line")
def run_lengths() -> Case:
    g, room = rng("runs"), 96
    streams = []
    for t in range(32):
        parts = [b"\x80"] if t % 5 == 0 else []
        for _ in range(int(g.integers(0, 5))):
            n = int(g.integers(1, 12))
            literal = bytes([n - 1]) + bytes(g.integers(0, 3, n, dtype=np.uint8))
            parts.append(literal if g.random() < 0.5 else bytes([256 - n, int(g.integers(0, 3))]))
        streams.append(b"".join(parts))
    plain = [_unpack(s) for s in streams]
    pairs = np.zeros((32, room, 2), np.uint8)
    counts = []
    for t, text in enumerate(plain):
        runs = [m.group() for m in re.finditer(rb"(?s)(.)\1*", text)]
        counts.append(len(runs))
        for i, r in enumerate(runs):
            pairs[t, i] = len(r), r[0]
    starts = np.cumsum([0] + [len(s) for s in streams]).astype(I32)
    flat = np.zeros((32, room), np.uint8)
    for t, text in enumerate(plain):
        flat[t, : len(text)] = np.frombuffer(text, np.uint8)
    return Case(
        {
            "in": np.frombuffer(b"".join(streams), np.uint8),
            "start": starts,
            "flat": np.zeros_like(flat),
            "sizes": np.zeros(32, I32),
            "pairs": np.zeros_like(pairs),
            "counts": np.zeros(32, I32),
        },
        [
            Launch("unpack", 1, 32, ["in", "start", "flat", I32(room), "sizes"]),
            Launch("run_lengths", 1, 32, ["flat", "sizes", I32(room), "pairs", "counts"]),
        ],
        {
            "flat": flat,
            "sizes": np.array([len(p) for p in plain], I32),
            "pairs": pairs,
            "counts": np.array(counts, I32),
        },
    )
