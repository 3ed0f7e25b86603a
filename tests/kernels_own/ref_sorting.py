"""Sorting, scans, compaction."""

from __future__ import annotations

import numpy as np

from tests.kernels_own.kit import Case, Launch, kernel, rng, u32, u64


@kernel("sm_50", "sm_52-line")
def sorting_network() -> Case:
    rows = rng("network").integers(-1000, 1000, (64, 16), dtype=np.int32)
    return Case(
        {"in": rows, "out": np.zeros_like(rows)},
        [Launch("sorting_network", 1, 64, ["in", "out"])],
        {"out": np.sort(rows, axis=1)},
    )


@kernel("sm_50-line", "sm_53")
def radix_sort() -> Case:
    g = rng("radix")
    keys = u32(g, 256) >> g.integers(0, 25, 256, dtype=np.uint32)
    keys[:40] &= np.uint32(7)
    order = np.argsort(keys, kind="stable")
    values = np.arange(256, dtype=np.uint32)
    return Case(
        {"k": keys, "v": values},
        [Launch("radix_sort", 1, 256, ["k", "v"])],
        {"k": keys[order], "v": values[order]},
    )


@kernel("sm_50", "sm_60-line")
def scan_launches() -> Case:
    n, blocks = 601, 5
    x = u64(rng("scan"), n)
    i32 = np.int32
    return Case(
        {"in": x, "out": np.zeros(n, np.uint64), "sums": np.zeros(blocks, np.uint64)},
        [
            Launch("scan_blocks", blocks, 128, ["in", "out", "sums", i32(n)]),
            Launch("scan_sums", 1, 128, ["sums", i32(blocks)]),
            Launch("add_sums", blocks, 128, ["out", "sums", i32(n)]),
        ],
        {"out": np.cumsum(x, dtype=np.uint64)},
    )


@kernel("sm_50-line", "sm_61")
def segmented_reduce() -> Case:
    g, n = rng("segments"), 250
    x = g.integers(-(1 << 31), 1 << 31, n, dtype=np.int32)
    head = (g.random(n) < 0.04).astype(np.uint8)
    head[0] = 1
    scan, total = np.zeros(n, np.int32), 0
    for i in range(n):
        total = int(x[i]) + (0 if head[i] else total)
        scan[i] = (total + (1 << 31)) % (1 << 32) - (1 << 31)
    return Case(
        {"x": x, "head": head, "scan": np.zeros(n, np.int32)},
        [Launch("segmented_reduce", 1, 256, ["x", "head", "scan", np.int32(n)])],
        {"scan": scan},
    )


@kernel("sm_50-G", "sm_62")
def bitonic_shuffle() -> Case:
    x = u64(rng("bitonic"), 128)
    x[40:50] = x[39]
    rows = np.sort(x.reshape(4, 32), axis=1)
    rows[1::2] = rows[1::2, ::-1]
    return Case(
        {"in": x, "out": np.zeros_like(x)},
        [Launch("bitonic_shuffle", 2, 64, ["in", "out"])],
        {"out": rows.reshape(-1)},
    )


@kernel("sm_50", "sm_61-G")
def ballot_compact() -> Case:
    n, blocks = 500, 4
    x = u32(rng("compact"), n)
    chosen = x[((x * np.uint32(2654435761)) >> np.uint32(28)) % 3 == 1]
    want = np.zeros(n, np.uint32)
    want[: chosen.size] = chosen
    size = np.int32(n)
    return Case(
        {"in": x, "counts": np.zeros(blocks, np.uint32), "out": np.zeros(n, np.uint32)},
        [
            Launch("count_kept", blocks, 128, ["in", size, "counts"]),
            Launch("ballot_compact", blocks, 128, ["in", size, "counts", "out"], shared=16),
        ],
        {"out": want},
    )


def _quicksort_depth(row: list[int], low: int, high: int) -> int:
    """Depth of the calls of the quicksort that recurses into the smaller part; sorts the row."""
    depth = 1
    while low < high:
        pivot, i, j = row[(low + high) >> 1], low, high
        while i <= j:
            while row[i] < pivot:
                i += 1
            while row[j] > pivot:
                j -= 1
            if i <= j:
                row[i], row[j] = row[j], row[i]
                i, j = i + 1, j - 1
        if j - low < high - i:
            depth = max(depth, 1 + _quicksort_depth(row, low, j))
            low = i
        else:
            depth = max(depth, 1 + _quicksort_depth(row, i, high))
            high = j
    return depth


@kernel("sm_50", "sm_52-G")
def quicksort_recursive() -> Case:
    n = 14
    rows = rng("quick").integers(-99, 99, (8, n), dtype=np.int16)
    rows[3] = 7
    rows[4] = np.arange(n)
    depths = np.array([_quicksort_depth(row.tolist(), 0, n - 1) for row in rows], np.int32)
    return Case(
        {"rows": rows, "depths": np.zeros(8, np.int32)},
        [Launch("quicksort_recursive", 1, 8, ["rows", np.int32(n), "depths"])],
        {"rows": np.sort(rows, axis=1), "depths": depths},
    )


@kernel("sm_50-line", "sm_53-G")
def merge_path() -> Case:
    g = rng("merge")
    dtype = np.dtype([("key", "f4"), ("id", "u2"), ("pad", "u2")])
    items = np.zeros(128, dtype)
    items["key"] = g.integers(-20, 20, 128) / 4
    items["id"] = np.arange(128)
    up = items[np.argsort(items["key"], kind="stable")]
    down = items[np.lexsort((items["id"], -items["key"]))]
    size = np.int32(128)
    return Case(
        {"a": items, "b": items},
        [
            Launch("merge_path", 1, 128, ["a", size, np.int32(0)]),
            Launch("merge_path", 1, 128, ["b", size, np.int32(1)]),
        ],
        {"a": up.view(np.uint64), "b": down.view(np.uint64)},
    )
