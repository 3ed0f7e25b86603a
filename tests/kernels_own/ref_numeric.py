"""Random numbers, linear algebra, images, floating point."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np

from tests.kernels_own.kit import Array, Case, Close, Launch, kernel, rng, u32, words

M32 = 0xFFFFFFFF
M64 = (1 << 64) - 1
F32 = np.float32


def _philox(c: list[int], k: list[int]) -> list[int]:
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(q >> 32) ^ c[1] ^ k[0], q & M32, (p >> 32) ^ c[3] ^ k[1], p & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c


def _xorshift(x: int, y: int, z: int, w: int) -> list[int]:
    out = []
    for _ in range(8):
        s = (x ^ x << 11) & M32
        x, y, z, w = y, z, w, w ^ w >> 19 ^ s ^ s >> 8
        out.append(w)
    return out


def _pcg(state: int) -> list[int]:
    out = []
    for _ in range(8):
        mixed, turn = ((state >> 18 ^ state) >> 27) & M32, state >> 59
        out.append((mixed >> turn | mixed << (32 - turn)) & M32 if turn else mixed)
        state = (state * 6364136223846793005 + 1442695040888963407) & M64
    return out


@kernel("sm_50-line", "sm_61")
def random_streams() -> Case:
    g = rng("streams")
    counter, key, seeds = [M32 - 20, M32, 5, 6], [7, 0xFFFFFF00], u32(g, 128)
    blocks = []
    for t in range(64):
        whole = counter[0] + t
        first = [whole & M32, (counter[1] + (whole >> 32)) & M32, *counter[2:]]
        blocks += _philox(first, key)
    rows = seeds.reshape(32, 4).tolist()
    legacy = np.random.RandomState(20250101)
    structs = [struct.pack("<4I", *counter), struct.pack("<2I", *key)]
    return Case(
        {
            "philox": np.zeros(256, np.uint32),
            "seeds": seeds,
            "xorshift": np.zeros(256, np.uint32),
            "pcg": np.zeros(256, np.uint32),
            "mt": np.zeros(624, np.uint32),
        },
        [
            Launch("philox", 2, 32, [*structs, "philox"]),
            Launch("small_streams", 1, 32, ["seeds", "xorshift", "pcg"]),
            Launch("twister", 1, 256, [np.uint32(20250101), "mt"]),
        ],
        {
            "philox": np.array(blocks, np.uint32),
            "xorshift": np.array([_xorshift(*r) for r in rows], np.uint32),
            "pcg": np.array([_pcg(r[0] << 32 | r[1]) for r in rows], np.uint32),
            "mt": legacy.randint(0, 1 << 32, 624, dtype=np.uint32),
        },
    )


@kernel("sm_50", "sm_52")
def monte_carlo_pi() -> Case:
    rounds, threads = 12, 256
    s = np.arange(threads, dtype=np.uint32) * np.uint32(2891336453) + np.uint32(1)
    total = 0
    for _ in range(rounds):
        s = s * np.uint32(1664525) + np.uint32(1013904223)
        x = (s >> np.uint32(8)).astype(F32) * F32(2**-24)
        s = s * np.uint32(1664525) + np.uint32(1013904223)
        y = (s >> np.uint32(8)).astype(F32) * F32(2**-24)
        square = x.astype(np.float64) ** 2 + y.astype(np.float64) ** 2
        assert abs(square - 1).min() > 1e-6  # so that neither rounding nor fusing decides
        total += int((square < 1).sum())
    return Case(
        {"inside": np.zeros(1, np.uint64)},
        [Launch("monte_carlo_pi", 4, 64, [np.int32(rounds), "inside"])],
        {"inside": np.array([total], np.uint64)},
    )


@kernel("sm_50", "sm_60-line")
def black_scholes() -> Case:
    g = rng("options")
    rate, vol, strikes = 0.03, 0.25, [90.0, 100.0, 105.5]
    spot, years = g.uniform(60, 150, 64), g.uniform(0.1, 3, 64)
    prices = np.zeros((64, 2))
    for t in range(64):
        s, y, k = spot[t], years[t], strikes[t % 3]
        d1 = (math.log(s / k) + (rate + vol * vol / 2) * y) / (vol * math.sqrt(y))
        d2, discount = d1 - vol * math.sqrt(y), math.exp(-rate * y)
        up = [math.erfc(-d / math.sqrt(2)) / 2 for d in (d1, d2)]
        prices[t, 0] = s * up[0] - k * discount * up[1]
        prices[t, 1] = prices[t, 0] - s + k * discount
    market = struct.pack("<6di4x", rate, vol, *strikes, 0.0, 3)
    return Case(
        {"s": spot, "y": years, "p": np.zeros((64, 2))},
        [Launch("black_scholes", 1, 64, [market, "s", "y", "p"])],
        {"p": Close(prices, 1e-12, 1e-12)},
    )


@kernel("sm_50", "sm_53")
def fft_shared() -> Case:
    g, n = rng("fft"), 64
    x = (g.standard_normal((3, n)) + 1j * g.standard_normal((3, n))).astype(np.complex64)
    wide = x.astype(np.complex128)
    there, back = np.fft.fft(wide), np.fft.ifft(wide) * n
    size = np.int32(n)
    as_floats = [np.ascontiguousarray(v).view(np.float64) for v in (there, back)]
    return Case(
        {"x": x.view(F32), "a": np.zeros((3, 2 * n), F32), "b": np.zeros((3, 2 * n), F32)},
        [
            Launch("fft_shared", 3, n // 2, ["x", "a", size, F32(-1)], shared=16 * n),
            Launch("fft_shared", 3, n // 2, ["x", "b", size, F32(1)], shared=16 * n),
        ],
        {"a": Close(as_floats[0], 1e-5, 1e-5), "b": Close(as_floats[1], 1e-5, 1e-5)},
    )


@kernel("sm_50-G", "sm_61-line")
def quaternions() -> Case:
    g = rng("quaternions")
    turns, points = g.standard_normal((64, 4)), g.standard_normal((64, 3))
    turns, points = turns.astype(F32), points.astype(F32)
    want = np.zeros((64, 3))
    for i, (q, p) in enumerate(zip(turns.astype(np.float64), points, strict=True)):
        q = q / np.linalg.norm(q)
        cross = np.cross(q[1:], p)
        want[i] = p + 2 * q[0] * cross + 2 * np.cross(q[1:], cross)
    return Case(
        {"q": turns, "p": points, "out": np.zeros((64, 3), F32)},
        [Launch("quaternions", 2, 32, ["q", "p", "out"])],
        {"out": Close(want, 1e-5, 1e-5)},
    )


def _perlin(x: float, y: float, z: float, perm: Array) -> float:
    cell = [math.floor(v) for v in (x, y, z)]
    f = [v - c for v, c in zip((x, y, z), cell, strict=True)]
    fade = [t**3 * (t * (6 * t - 15) + 10) for t in f]
    total = 0.0
    for i, j, k in np.ndindex(2, 2, 2):
        h = 0
        for c, o in zip(cell, (i, j, k), strict=True):
            h = int(perm[(h + c + o) & 255])
        dx, dy, dz = f[0] - i, f[1] - j, f[2] - k
        h &= 15
        u = dx if h < 8 else dy
        v = dy if h < 4 else dx if h in (12, 14) else dz
        g = (-u if h & 1 else u) + (-v if h & 2 else v)
        for on, t in zip((i, j, k), fade, strict=True):
            g *= t if on else 1 - t
        total += g
    return total


@kernel("sm_50", "sm_62-line")
def perlin_noise() -> Case:
    perm = rng("perlin").permutation(256).astype(np.uint8)
    nx, ny, nz, scale = 16, 8, 4, 0.3125
    want = np.array(
        [
            _perlin(x * scale - 3, y * scale, z * scale, perm)
            for z in range(nz)
            for y in range(ny)
            for x in range(nx)
        ]
    )
    return Case(
        {"out": np.zeros(nx * ny * nz, F32)},
        [Launch("perlin_noise", (2, 2, 2), (8, 4, 2), [F32(scale), "out"])],
        {"out": Close(want, 1e-5, 1e-5)},
        symbols={"perm": perm},
    )


@kernel("sm_50", "sm_52-line", options=["--fmad=false"])
def mandelbrot_double() -> Case:
    x0, y0, step, limit, w, h = -2.0, -1.25, 0.15625, 40, 16, 16
    c = (x0 + np.arange(w) * step)[None, :] + 1j * (y0 + np.arange(h) * step)[:, None]
    x, y = np.zeros((h, w)), np.zeros((h, w))
    count, live = np.zeros((h, w), np.uint16), np.ones((h, w), bool)
    for _ in range(limit):
        xx, yy = x * x, y * y
        live &= xx + yy <= 4
        y = np.where(live, 2 * x * y + c.imag, y)
        x = np.where(live, xx - yy + c.real, x)
        count += live
    return Case(
        {"out": np.zeros((h, w), np.uint16)},
        [
            Launch(
                "mandelbrot_double",
                (2, 4),
                (8, 4),
                [np.float64(x0), np.float64(y0), np.float64(step), np.int32(limit), "out"],
            )
        ],
        {"out": count},
    )


@kernel("sm_50", "sm_61")
def lu_pivot() -> Case:
    g, n = rng("lu"), 12
    start = g.integers(-50, 50, (n, n)) / 8
    a = [[Fraction(v) for v in row] for row in start.tolist()]
    rows = list(range(n))
    for k in range(n):
        best = max(range(k, n), key=lambda r: (abs(a[r][k]), -r))
        a[k], a[best], rows[k], rows[best] = a[best], a[k], rows[best], rows[k]
        for i in range(k + 1, n):
            a[i][k] /= a[k][k]
            for j in range(k + 1, n):
                a[i][j] -= a[i][k] * a[k][j]
    exact = np.array([[float(v) for v in row] for row in a])
    return Case(
        {"a": start, "rows": np.zeros(n, np.int32)},
        [Launch("lu_pivot", 1, 32, ["a", "rows", np.int32(n)], shared=8 * n * n)],
        {"a": Close(exact, 1e-11, 1e-11), "rows": np.array(rows, np.int32)},
    )


@kernel("sm_50", "sm_53-line")
def jacobi_steps() -> Case:
    g, w, h = rng("jacobi"), 20, 13
    field = g.uniform(-5, 5, (h, w)).astype(F32)
    size = [np.int32(w), np.int32(h)]
    launches, largest, now, old = [], 0.0, field, field
    for i in range(4):
        launches.append(
            Launch("jacobi_steps", (2, 4), (16, 4), ["ab"[i % 2], "ba"[i % 2], *size, "m"])
        )
        old, now = now, now.copy()
        inner = (old[1:-1, :-2] + old[1:-1, 2:]) + (old[:-2, 1:-1] + old[2:, 1:-1])
        now[1:-1, 1:-1] = F32(0.25) * inner
        largest = max(largest, float(abs(now - old).max()))
    return Case(
        {"a": field, "b": np.zeros_like(field), "m": np.zeros(1, np.uint32)},
        launches,
        {"a": now, "b": old, "m": np.array([largest], F32).view(np.uint32)},
    )


@kernel("sm_50-line", "sm_60")
def conv2d_halo() -> Case:
    g, w, h = rng("conv"), 21, 18
    image = g.standard_normal((h, w)).astype(F32)
    weights = g.standard_normal((5, 5)).astype(F32)
    padded = np.pad(image.astype(np.float64), 2)
    want = np.full((h, w), 0.125)
    for v, u in np.ndindex(5, 5):
        want += float(weights[v, u]) * padded[v : v + h, u : u + w]
    content = weights.tobytes() + struct.pack("<fi", 0.125, 1)
    return Case(
        {"in": image, "out": np.zeros_like(image)},
        [Launch("conv2d_halo", (2, 2), (16, 4), ["in", "out", np.int32(w), np.int32(h)])],
        {"out": Close(np.maximum(want, 0), 1e-5, 1e-5)},
        symbols={"filter": np.frombuffer(content, np.uint8)},
    )


def _axis(size: int, new: int) -> tuple[Array, Array, Array]:
    """Left neighbour, right neighbour, weight of the right one in 1/65536."""
    at = (2 * np.arange(new, dtype=np.int64) + 1) * size * 32768 // new - 32768
    at = np.clip(at, 0, (size - 1) << 16)
    return at >> 16, np.minimum((at >> 16) + 1, size - 1), at & 0xFFFF


@kernel("sm_50", "sm_62")
def bilinear_resize() -> Case:
    w, h, new_w, new_h = 9, 7, 20, 11
    image = rng("resize").integers(0, 256, (h, w, 4), dtype=np.uint8)
    x0, x1, ax = _axis(w, new_w)
    y0, y1, ay = (v[:, None] for v in _axis(h, new_h))
    ax, ay = ax[None, :, None], ay[:, :, None]
    wide = image.astype(np.int64)
    top = wide[y0, x0] * (65536 - ax) + wide[y0, x1] * ax
    low = wide[y1, x0] * (65536 - ax) + wide[y1, x1] * ax
    want = (top * (65536 - ay) + low * ay + (1 << 31)) >> 32
    i32 = np.int32
    args = ["in", i32(w), i32(h), "out", i32(new_w), i32(new_h)]
    return Case(
        {"in": image, "out": np.zeros((new_h, new_w, 4), np.uint8)},
        [Launch("bilinear_resize", (3, 3), (8, 4), args)],
        {"out": want.astype(np.uint8)},
    )


@kernel("sm_50", "sm_61-line")
def strassen() -> Case:
    g = rng("strassen")
    a, b = u32(g, 1024).reshape(32, 32), u32(g, 1024).reshape(32, 32)
    return Case(
        {"a": a, "b": b, "c": np.zeros_like(a)},
        [Launch("strassen", 7, (16, 16), ["a", "b", "c"])],
        {"c": a @ b},
        expect_symbols={"finished": words([0])},
    )


def _flush(x: Array) -> Array:
    tiny = abs(x) < F32(2.0**-126)
    return np.where(tiny, np.copysign(F32(0), x), x).astype(F32)


def _minimum(a: Array, b: Array) -> Array:
    """PTX min: -0 is less than +0."""
    return np.where((a == b) & np.signbit(a), a, np.where((b < a) | (a == b), b, a))


def _fma(x: float, y: float, z: float) -> np.float32:
    """Finite x*y+z, rounded once to f32: exact, then to 80 bits more than needed by Fraction."""
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return F32(0)
    exponent = max(math.frexp(float(abs(exact)))[1] - 24, -149)
    unit = Fraction(2) ** exponent
    return F32(float(round(exact / unit) * unit))


@kernel("sm_50", "sm_52-G")
def denormals() -> Case:
    g, n = rng("denormals"), 256
    bits = g.integers(0, 1 << 26, (2, n), dtype=np.uint32) >> g.integers(0, 20, (2, n)).astype("u4")
    bits |= g.integers(0, 2, (2, n), dtype=np.uint32) << np.uint32(31)
    a, b = bits.view(F32)
    b = np.where(b == 0, F32(1e-40), b)
    b[::3] = F32(1.5) * np.exp2(g.integers(-40, 40, b[::3].size)).astype(F32)
    wide = g.integers(0, 1 << 56, (2, n), dtype=np.uint64) >> g.integers(0, 50, (2, n)).astype("u8")
    c, d = wide.view(np.float64)
    d = np.where(d == 0, 5e-324, d)
    d[::3] = np.exp2(g.integers(-40, 40, d[::3].size).astype(np.float64))
    c[:60] = np.exp2(g.uniform(-155, -120, 60))
    with np.errstate(all="ignore"):
        f32 = [
            a + b,
            a * b,
            a / b,
            np.sqrt(abs(a)),
            np.array([_fma(float(x), float(y), 2.0**-140) for x, y in zip(a, b, strict=True)]),
            _flush(_flush(a) + _flush(b)),
            _minimum(_flush(a), _flush(b)),
            _flush((a.astype(np.float64) * 0.25).astype(F32)),
        ]
        f64 = [c + d, c * d, c / d, np.sqrt(abs(c)), c.astype(F32).astype(np.float64)]
    size = np.int32(n)
    return Case(
        {
            "a": a,
            "b": b,
            "c": c,
            "d": d,
            "f": np.zeros(8 * n, F32),
            "g": np.zeros(5 * n),
        },
        [
            Launch("denormals", 2, 128, ["a", "b", "f", size]),
            Launch("denormals_f64", 2, 128, ["c", "d", "g", size]),
        ],
        {"f": np.concatenate(f32).astype(F32), "g": np.concatenate(f64)},
    )


@kernel("sm_50", "sm_60")
def kahan_sums() -> Case:
    g, n = rng("kahan"), 40
    x = (g.standard_normal((32, n)) * 10.0 ** g.integers(-4, 5, (32, n))).astype(F32)
    naive = sum_ = c = high = low = np.zeros(32, F32)
    for i in range(n):
        v, w = x[:, i], x[:, n - 1 - i]
        naive = naive + v
        y = v - c
        t = sum_ + y
        c, sum_ = (t - sum_) - y, t
        p = v * w
        e = np.array([_fma(float(a), float(b), -float(q)) for a, b, q in zip(v, w, p, strict=True)])
        s = high + p
        z = s - high
        low = low + (((high - (s - z)) + (p - z)) + e)
        high = s
    return Case(
        {"x": x, "out": np.zeros((32, 4), F32)},
        [Launch("kahan_sums", 1, 32, ["x", np.int32(n), "out"])],
        {"out": np.stack([naive, sum_, high, low], axis=1)},
    )


@kernel("sm_50", "sm_62-G", options=["--fmad=false"])
def newton_roots() -> Case:
    g = rng("newton")
    c = g.integers(-20, 20, (32, 4)).astype(np.float64)
    c[:, 3] = np.where(c[:, 3] == 0, 3, c[:, 3])
    roots, steps = np.zeros(32), np.zeros(32, np.int32)
    for t in range(32):
        c0, c1, c2, c3 = c[t]
        low, high, x, n = np.float64(-64), np.float64(64), np.float64(0.5), 0
        while n < 100:
            f = ((c3 * x + c2) * x + c1) * x + c0
            if f == 0:
                break
            low, high = (x, high) if (f < 0) == (c3 > 0) else (low, x)
            with np.errstate(all="ignore"):
                next_ = x - f / ((3 * c3 * x + 2 * c2) * x + c1)
            if not low < next_ < high:
                next_ = 0.5 * (low + high)
            done = abs(next_ - x) <= 4e-16 * abs(next_)
            x = next_
            if done:
                break
            n += 1
        roots[t], steps[t] = x, n
    return Case(
        {"c": c, "roots": np.zeros(32), "steps": np.zeros(32, np.int32)},
        [Launch("newton_roots", 1, 32, ["c", "roots", "steps"])],
        {"roots": roots, "steps": steps},
    )
