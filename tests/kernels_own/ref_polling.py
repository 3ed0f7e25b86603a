"""Polling: locks, flags and states that other lanes, warps and blocks set."""

from __future__ import annotations

import numpy as np

from tests.kernels_own.kit import Array, Case, Launch, kernel, rng, u32

I32 = np.int32
MODERN = ("sm_75", "sm_80", "sm_90", "sm_120")


@kernel(*MODERN)
def ticket_lock() -> Case:
    blocks, threads = 2, 64
    n = blocks * threads
    total = 3 * blocks * sum(range(threads)) + threads * sum(range(blocks))
    return Case(
        {"lock": np.zeros(2, I32), "sum": np.zeros(2, I32), "order": np.zeros(n, I32)},
        [Launch("ticket_lock", blocks, threads, ["lock", "sum", "order"])],
        {
            "lock": np.array([n, n], I32),
            "sum": np.array([total, n], I32),
            "order": np.arange(n, dtype=I32),
        },
    )


@kernel(*MODERN)
def spin_locks() -> Case:
    n = 200
    keys = u32(rng("spin_locks"), n)
    zeros = {"locks": np.zeros(8, I32), "heads": np.zeros(8, I32), "next": np.zeros(n, I32)}
    # Which key comes last into a bucket is the schedule's: lists are counted, by a second kernel.
    counts = np.bincount(keys & 7, minlength=8).astype(I32)
    sums = np.bincount(keys & 7, weights=np.arange(n), minlength=8).astype(I32)
    return Case(
        {"keys": keys, **zeros, "counts": np.zeros(8, I32), "sums": np.zeros(8, I32)},
        [
            Launch("spin_locks", 3, 40, ["keys", "locks", "heads", "next", n]),
            Launch("walk", 1, 8, ["heads", "next", "counts", "sums"]),
        ],
        {"locks": zeros["locks"], "counts": counts, "sums": sums},
    )


@kernel(*MODERN)
def look_back() -> Case:
    blocks = 40
    values = u32(rng("look_back"), 128 * blocks)
    return Case(
        {
            "in": values,
            "out": np.zeros_like(values),
            "states": np.zeros(blocks, np.uint64),
            "ticket": np.zeros(1, I32),
        },
        [Launch("look_back", blocks, 128, ["in", "out", "states", "ticket"])],
        {"out": np.cumsum(values, dtype=np.uint32), "ticket": np.array([blocks], I32)},
        num_sms=2,
    )


@kernel(*MODERN)
def flag_chain() -> Case:
    blocks, threads = 5, 64
    want = np.zeros((blocks, threads), I32)
    seen: Array = np.ones(threads, I32)
    for b in reversed(range(blocks)):
        seen = want[b] = seen * 3 + np.arange(threads, dtype=I32)
    names = [f"{kind}{how}" for how in range(4) for kind in ("flags", "data")]
    sizes = {"flags": blocks, "data": blocks * threads}
    return Case(
        {name: np.zeros(sizes[name[:-1]], I32) for name in names},
        [Launch("flag_chain", blocks, threads, [f"flags{h}", f"data{h}", h]) for h in range(4)],
        {f"data{how}": want for how in range(4)},
    )
