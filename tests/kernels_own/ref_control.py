"""Control flow: loops left in every way, early ends, votes, barriers, exchanges, switches."""

from __future__ import annotations

import numpy as np

from tests.kernels_own.kit import Array, Case, Launch, kernel, rng, u32, u64, words
from tests.kernels_own.ref_language import signed

I32 = np.int32


def _inner(grid: list[int], at: int, steps: int) -> tuple[str, int, int, int]:
    """The maze's inner loop: how it ends, the place, the steps, the cells seen."""
    i = seen = 0
    while True:
        v = grid[at & len(grid) - 1]
        seen += 1
        if v < 0:
            return "return", at, steps, seen
        if i > 6:
            return "break", at, steps, seen
        if v % 5 == 0:
            at, i = at + v + 1, i + 1
            continue
        while v & 1:
            v >>= 1
            if v == 13:
                return "out", at, steps, seen
            steps += 1
            if steps > 60:
                return "far", at, steps, seen
        while True:
            v -= 3
            at ^= v
            if at & 7 == 3:
                break
            steps += 1
            if v <= 20:
                break
        if not at & 8:
            at += i
        i += 1


def _maze(grid: list[int], at: int) -> tuple[int, int]:
    steps = total = 0
    why = "far"
    for _ in range(9):
        why, at, steps, seen = _inner(grid, at, steps)
        total += seen
        if why == "return":
            return steps, total
        if why in ("out", "far"):
            break
        why = "far"
        turn = at & 3
        if turn == 0:
            continue
        if turn == 1:
            at += 5
        if turn in (1, 2):
            at *= 3
        elif steps & 1:
            why = "out"
            break
        at += 1
    return (steps + 1000 * (why == "far")) * 2 + (at & 1), total


@kernel("sm_50", "sm_52-G")
def control_maze() -> Case:
    grid = rng("maze").integers(0, 70, 64, dtype=I32)
    grid[[9, 30, 55]] = -1
    out, visited = np.zeros(32, I32), np.zeros(32, I32)
    for t in set(range(32)) - {17}:
        r, n = _maze(grid.tolist(), t * 7)
        early = r > 500 and t & 1
        visited[t] = -n if early else n
        out[t] = 0 if early else r
    assert len(set(out.tolist())) > 8
    return Case(
        {"grid": grid, "out": np.zeros(32, I32), "seen": np.zeros(32, I32)},
        [Launch("control_maze", 1, 32, ["grid", I32(64), "out", "seen"])],
        {"out": out, "seen": visited},
    )


@kernel("sm_50", "sm_60-line", "sm_80-G")
def early_exits() -> Case:
    x = rng("exits").integers(-4, 20, 128, dtype=I32)
    n = 100
    out, final = np.zeros(128, I32), {}
    for t in range(128):
        v, lane = int(x[t]), t % 32
        if t // 32 == 2:
            continue
        if v < 0:
            out[t] = -1
            continue
        gone = False
        for i in range(5):
            if v % 3 == i:
                if lane > 20:
                    out[t], gone = i + 100, True
                    break
                v = v * 2 + 1
        if not gone:
            final[t] = v
    sums = [sum(v for t, v in final.items() if t // 32 == w) for w in range(4)]
    for t in final:
        out[t] = 7 if t >= n else sums[0] + 2 * sums[1] + 3 * sums[3]
    alive = np.zeros(128, np.uint32)
    for t in final:
        alive[t] = sum(1 << o % 32 for o in final if o // 32 == t // 32)
    return Case(
        {"x": x, "out": np.zeros(128, I32), "alive": np.zeros(128, np.uint32)},
        [Launch("early_exits", 1, 128, ["x", I32(n), "out", "alive"])],
        {"out": out},
    )


@kernel("sm_50", "sm_61")
def vote_loops() -> Case:
    x = rng("votes").integers(0, 10, 64, dtype=I32)
    x[32:] = np.where(x[32:] < 4, 8, x[32:]) % 9
    x[42] = 7
    groups, peers, flags = np.zeros(64, I32), np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    for warp in (x[:32].tolist(), x[32:].tolist()):
        base = 0 if warp == x[:32].tolist() else 32
        order = list(dict.fromkeys(warp))
        for lane, v in enumerate(warp):
            groups[base + lane] = order.index(v)
            peers[base + lane] = sum(1 << o for o in range(32) if warp[o] == v)
            f = (3 in warp) | (max(warp) < 9) << 1
            if lane < 10:
                f |= sum((warp[o] & 1) << o for o in range(10)) << 4 | 4
            elif lane < 25:
                f |= 15 << 16 | (7 in warp[10:25]) << 3
            flags[base + lane] = f | (len({v > 2 for v in warp}) == 1) << 30
    return Case(
        {
            "x": x,
            "groups": np.zeros(64, I32),
            "peers": np.zeros(64, np.uint32),
            "flags": np.zeros(64, np.uint32),
        },
        [Launch("vote_loops", 1, 64, ["x", "groups", "peers", "flags"])],
        {"groups": groups, "peers": peers, "flags": flags},
    )


@kernel("sm_50", "sm_53")
def named_barriers() -> Case:
    rounds = 5
    x = rng("named").integers(0, 1000, 32 * rounds, dtype=I32)
    rows = x.reshape(rounds, 32) * 2 + 1
    odd = x[:96] & 1
    last = int(odd.sum()) * 4 + int(odd.all()) * 2 + int((odd == 0).any())
    want = np.concatenate([rows[:, ::-1].reshape(-1), np.full(96, last)]).astype(I32)
    return Case(
        {"in": x, "out": np.zeros(want.size, I32)},
        [Launch("named_barriers", 1, 96, ["in", "out", I32(rounds)])],
        {"out": want},
    )


def _bit_transpose(rows: Array) -> Array:
    matrix = (rows[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    columns: Array = matrix.T << np.arange(32, dtype=np.uint32)
    joined: Array = np.bitwise_or.reduce(columns, axis=1)
    return joined


@kernel("sm_50", "sm_62-line", "sm_75")
def warp_transpose() -> Case:
    x = u32(rng("transpose"), 1024).reshape(32, 32)
    bits = _bit_transpose(x[0])
    lanes = np.arange(32)
    up = np.where(lanes % 8 >= 3, lanes - 3, lanes)
    down = np.where(lanes % 16 + 5 < 16, lanes + 5, lanes)
    mixed = bits[(lanes * 5 + 3) % 32] ^ bits[up] ^ bits[down]
    return Case(
        {"in": x, "out": np.zeros_like(x), "bits": np.zeros(64, np.uint32)},
        [Launch("warp_transpose", 1, 32, ["in", "out", "bits"])],
        {"out": x.T, "bits": np.concatenate([bits, mixed])},
    )


def _dense(k: int, v: int) -> int:
    if k == 0:
        return signed(v + 11)
    if k in (1, 2):
        v = (v ^ 0x55 if k == 1 else v) * 3
    elif k == 3:
        for i in range(v & 3):
            v = signed(v + i * v)
    elif k == 4:
        return signed(abs(v))
    elif k in (5, 6):
        v = int(np.fix(v / 7))
    elif k == 7:
        v = int(np.fmod(v, 7))
    elif k == 8:
        v <<= v & 7
    elif k == 9:
        low = v & 3
        if low == 0:
            return 5
        v += {1: 100, 2: -99, 3: 1}[low]
    elif k == 10:
        v = 32 - (v & 0xFFFFFFFF).bit_length()
    elif k == 11:
        v = ~v
    else:
        v = -k
    return signed(signed(v) * 2)


SPARSE = {1: 1, 1000: 2, 1 << 32: 3, (1 << 64) - 1: 4, 1 << 63: 5, 77777: 6}


@kernel("sm_50-line", "sm_61-G")
def switch_forms() -> Case:
    g = rng("switches")
    k, v = np.arange(64, dtype=I32) % 14, g.integers(-5000, 5000, 64, dtype=I32)
    w = u64(g, 64)
    w[: 2 * len(SPARSE) : 2] = list(SPARSE)
    w[13:16] = [0, 0x1_0000_0001, 0x7FFFFFFFFFFFFFFF]
    out = []
    for t in range(64):
        r = int(v[t])
        for i in range(3):
            r = _dense((int(k[t]) + i * 5) % 14, r)
        out += [r, SPARSE.get(int(w[t]), 0)]
    return Case(
        {"k": k, "v": v, "w": w, "out": np.zeros(128, I32)},
        [Launch("switch_forms", 1, 64, ["k", "v", "w", "out"])],
        {"out": words(out, I32)},
    )
