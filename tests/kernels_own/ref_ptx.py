"""Instructions compilers seldom choose: carry chains, video, dot products, halves, PTX by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tests.kernels_own.kit import Array, Case, Launch, kernel, rng, u32, u64, words
from tests.kernels_own.ref_language import signed

I32 = np.int32
F32 = np.float32
M32 = 0xFFFFFFFF
M64 = (1 << 64) - 1


def _limbs(value: int, count: int) -> list[int]:
    return [value >> 32 * i & M32 for i in range(count)]


@kernel("sm_50", "sm_60")
def bigint_multiply() -> Case:
    g, n = rng("bigint"), 32
    a, b = u32(g, 8 * n).reshape(n, 8), u32(g, 8 * n).reshape(n, 8)
    a[0] = b[0] = a[1] = M32
    b[2], a[3] = 0, [1] + 7 * [0]
    p, d = [], []
    for x, y in zip(a, b, strict=True):
        left, right = (int.from_bytes(v.tobytes(), "little") for v in (x, y))
        product = left * right
        p += _limbs(product, 16)
        difference = product - (left | right << 256)
        d += [*_limbs(difference, 16), M32 if difference < 0 else 0]
    return Case(
        {"a": a, "b": b, "p": np.zeros(16 * n, np.uint32), "d": np.zeros(17 * n, np.uint32)},
        [Launch("bigint_multiply", 1, n, ["a", "b", "p", "d"])],
        {"p": np.array(p, np.uint32), "d": np.array(d, np.uint32)},
    )


def _probable_prime(n: int) -> bool:
    s = ((n - 1) & -(n - 1)).bit_length() - 1
    for a in (2, 3):
        x = pow(a, (n - 1) >> s, n)
        if x not in (1, n - 1) and all(pow(x, 1 << i, n) != n - 1 for i in range(1, s)):
            return False
    return True


@kernel("sm_50", "sm_61")
def modular_power() -> Case:
    g, n = rng("modular"), 32
    base, e = u64(g, n), u64(g, n) >> np.uint64(40)
    m = (u64(g, n) >> g.integers(0, 58, n).astype(np.uint64)) | np.uint64(9)
    m[:8] = [(1 << 64) - 59, 1_000_000_007, 2047, 65537, (1 << 61) - 1, 13, M64, 1373653]
    rows = list(zip(base.tolist(), e.tolist(), m.tolist(), strict=True))
    return Case(
        {"b": base, "e": e, "m": m, "out": np.zeros(n, np.uint64), "prime": np.zeros(n, np.uint8)},
        [Launch("modular_power", 1, n, ["b", "e", "m", "out", "prime"])],
        {
            "out": np.array([pow(*row) for row in rows], np.uint64),
            "prime": np.array([_probable_prime(r[2]) for r in rows], np.uint8),
        },
    )


def _quotient(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _divisions(x: int, y: int) -> list[int]:
    i, j = signed(x, 64), signed(y, 64)
    over = i == -(1 << 63) and j == -1
    p, q = x >> 7 & M32, (y | 1) & M32
    r, s = signed(p) >> 1, signed(q)
    h, k = signed(x >> 3, 16), signed(y | 1, 16)
    c, d = signed(x >> 9, 8), signed(y >> 1 | 1, 8)
    return [
        x // y,
        x % y,
        0 if over else _quotient(i, j),
        0 if over else _remainder(i, j),
        p // q << 32 | p % q,
        (_quotient(r, s) & M32) << 32 | _remainder(r, s) & M32,
        # The shift of an unsigned short is done in int.
        (_quotient(h, k) & M32) << 32
        | signed((_remainder(h, k) & 0xFFFF) << 8) & M64
        | _remainder(c, d) & 255,
        x // 10 + x % 1000007 * 3 + _quotient(i, -12345678901),
    ]


@kernel("sm_50", "sm_53", "sm_75")
def int64_division() -> Case:
    g, n = rng("division"), 128
    shift = g.integers(0, 62, (2, n)).astype(np.uint64)
    a, b = u64(g, n) >> shift[0], (u64(g, n) >> shift[1]) | np.uint64(1)
    edges = [0, 1, M64, 1 << 63, (1 << 63) - 1, 1 << 32, M32, 10]
    a[:64] = np.repeat(np.array(edges, np.uint64), 8)
    b[:64] = np.tile(np.array([*edges[1:], 7], np.uint64), 8)
    columns = zip(*(_divisions(int(x), int(y)) for x, y in zip(a, b, strict=True)), strict=True)
    want = [v for column in columns for v in column]
    return Case(
        {"a": a, "b": b, "out": np.zeros(8 * n, np.uint64)},
        [Launch("int64_division", 2, 64, ["a", "b", "out", I32(n)])],
        {"out": words(want, np.uint64)},
    )


def _clamp(value: int) -> int:
    return max(-(1 << 31), min((1 << 31) - 1, value))


def _field(x: int, at: int, size: int) -> int:
    """bfe.s32: the field, extended with its top bit or with bit 31."""
    if size == 0:
        return 0
    top = min(at + size - 1, 31)
    sign = x >> top & 1
    return sum((x >> (at + i) & 1 if i < size and at + i < 32 else sign) << i for i in range(32))


def _insert(x: int, y: int, at: int, size: int) -> int:
    for i in range(min(size, 32)):
        if at + i < 32:
            y = y & ~(1 << at + i) | (x >> i & 1) << at + i
    return y


def _bytes(x: int, y: int, picks: list[int]) -> int:
    whole = x | y << 32
    total = 0
    for i, pick in enumerate(picks):
        byte = whole >> 8 * (pick & 7) & 255
        if pick & 8:
            byte = 255 if byte & 128 else 0
        total |= byte << 8 * i
    return total


def _intrinsics(x: int, y: int) -> list[int]:
    s, u, w = signed(x), signed(y), x << 32 | y
    s24, u24 = signed(x, 24), signed(y, 24)
    a, b, size = x & 63, y & 63, y >> 8 & 63
    third = x * 5 & M32
    lop = sum(
        (0x6D >> (x >> i & 1) * 4 + (y >> i & 1) * 2 + (third >> i & 1) & 1) << i for i in range(32)
    )
    differing = (x if s >= 0 else ~x & M32).bit_length()
    m = y & 3
    turned = x << (y & 31) | x >> (-y & 31)
    square = (w * 3 + 1) & M64
    reversed64 = int(f"{w:064b}"[::-1], 2)
    iw = signed(w, 64)
    return [
        s * u >> 32,
        x * y >> 32,
        s24 * u24,
        (x & 0xFFFFFF) * (y & 0xFFFFFF),
        77 + abs(s - u),
        0xFFFFFFF0 + abs(x - y),
        (s + u) >> 1,
        (s + u + 1) >> 1,
        (x + y) >> 1,
        (x + y + 1) >> 1,
        _clamp(s + u),
        _clamp(s - u),
        _clamp((s * u >> 32) + 0x7FFFFFF0),
        s24 * u24 >> 16,
        M32 if differing == 0 else 32 - differing,
        _field(x, b, size),
        _insert(x, y, b, size),
        (y << 32 | x) << min(a, 32) >> 32,
        (y << 32 | x) >> (a & 31),
        lop,
        (x >> 16 * (m & 1) & 0xFFFF) * 0x10001,
        _bytes(x, y, [m if i <= m else i for i in range(4)]),
        _bytes(x, y, [x >> 3 + 4 * i & 7 for i in range(4)]),
        x.bit_count() | (32 - y.bit_length()) << 8 | ((x & y) & -(x & y)).bit_length() << 16,
        int(f"{x:032b}"[::-1], 2),
        x ^ x >> 1,
        turned,
        (64 - w.bit_length()) | ((w >> 5) & -(w >> 5)).bit_length() << 8 | w.bit_count() << 16,
        reversed64 >> 13,
        (w * square >> 64) >> 11,
        (iw * ~iw >> 64) >> 9,
        (w >> (y & 63)) ^ (w << (x & 63)) ^ iw >> (x >> 8 & 63),
    ]


@kernel("sm_50", "sm_62")
def integer_intrinsics() -> Case:
    g, n = rng("intrinsics"), 96
    a, b = u32(g, n), u32(g, n)
    a[:12] = [0, 1, M32, 1 << 31, (1 << 31) - 1, 0, 0x80808080, 0xFF, 5, 5, 1 << 31, 1 << 31]
    b[:12] = [0, M32, 1, 1 << 31, 1 << 31, 1 << 31, 0x7F7F7F7F, 0x2020, 32, 31, M32, 0x3F3F]
    rows = [_intrinsics(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    return Case(
        {"a": a, "b": b, "out": np.zeros(len(rows[0]) * n, np.uint32)},
        [Launch("integer_intrinsics", 3, 32, ["a", "b", "out", I32(n)])],
        {"out": words([row[k] for k in range(len(rows[0])) for row in rows])},
    )


def _lanes(x: int, bits: int, sign: bool) -> list[int]:
    parts = [x >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [signed(p, bits) for p in parts] if sign else parts


def _join(parts: list[int], bits: int) -> int:
    return sum((p & ((1 << bits) - 1)) << bits * i for i, p in enumerate(parts))


def _video(a: int, b: int) -> list[int]:
    sa, sb = _lanes(a, 8, True), _lanes(b, 8, True)
    ua, ub = _lanes(a, 8, False), _lanes(b, 8, False)
    return [
        _join([max(-128, min(127, x + y)) for x, y in zip(sa, ub, strict=True)], 8),
        _join(
            [
                (x + y + 1) >> 1
                for x, y in zip(_lanes(a, 16, False), _lanes(b, 16, False), strict=True)
            ],
            16,
        ),
        _join([max(x, y) for x, y in zip(sa, sb, strict=True)], 8),
        _clamp((a >> 16) * signed(b, 16) + signed(a)) & M32,
        _join([int(x < y) for x, y in zip(ua, ub, strict=True)], 8),
    ]


@kernel("sm_50", "sm_52-line")
def motion_search() -> Case:
    g, width = rng("motion"), 5
    frame = u32(g, width * 12 + 8)
    pixels = np.frombuffer(frame.tobytes(), np.uint8)[: width * 48].reshape(12, width * 4)
    block = pixels[3:7, 5:13].copy()
    block[1] ^= 3
    sums = [
        int(abs(pixels[t // 8 : t // 8 + 4, t % 8 : t % 8 + 8].astype(int) - block).sum())
        for t in range(64)
    ]
    mixed = [v for t in range(64) for v in _video(int(frame[t]), int(frame[t + 1]))]
    return Case(
        {
            "block": block,
            "frame": frame,
            "best": np.zeros(1, I32),
            "mixed": np.zeros(320, np.uint32),
        },
        [Launch("motion_search", 1, 64, ["block", "frame", I32(width), "best", "mixed"])],
        {
            "best": words([min(s << 8 | t for t, s in enumerate(sums))], I32),
            "mixed": np.array(mixed, np.uint32),
        },
    )


@kernel("sm_61", "sm_61-G")
def quantized_layer() -> Case:
    g, rows, k = rng("quantized"), 32, 6
    weights, x = u32(g, rows * k).reshape(rows, k), u32(g, k)
    out, wide = [], []
    for row in weights.tolist():
        total, low, high = 1 << 20, -5, 9
        for i, (w, v) in enumerate(zip(row, x.tolist(), strict=True)):
            sw, uv, sv = _lanes(w, 8, True), _lanes(v, 8, False), _lanes(v, 8, True)
            total = signed(total + sum(a * b for a, b in zip(sw, uv, strict=True)))
            low += sum(a * b for a, b in zip(_lanes(w, 16, True), sv[:2], strict=True))
            high += sum(a * b for a, b in zip(_lanes(w, 16, False), uv[2:], strict=True))
            total ^= signed(i + sum(a * b for a, b in zip(sw, sv, strict=True)))
        out.append(total)
        wide += [low, high]
    return Case(
        {
            "w": weights.view(I32),
            "x": x,
            "out": np.zeros(rows, I32),
            "wide": np.zeros(2 * rows, np.uint32),
        },
        [Launch("quantized_layer", 1, rows, ["w", "x", I32(k), "out", "wide"])],
        {"out": words(out, I32), "wide": words(wide)},
    )


def _half_fma(a: Array, b: Array, c: Array) -> Array:
    """One rounding: the exact value has at most 80 bits, so Fractions, then f16 by halves."""
    out = np.zeros(a.shape, np.float16)
    for i, (x, y, z) in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        power = max(math.frexp(float(exact))[1] - 11, -24) if exact else 0
        unit = Fraction(2) ** power
        out[i] = float(round(exact / unit) * unit)
    return out


@kernel("sm_53", "sm_62-line", "sm_80")
def half_horner() -> Case:
    g, n = rng("horner"), 5
    x = g.uniform(-2, 2, 64).astype(np.float16)
    x[:6] = [0, 2**-14, -(2**-20), 1, -1, 1.5]
    coefficients = g.uniform(-1, 1, n).astype(np.float16)
    r = np.full(64, coefficients[0])
    for i in range(1, n):
        r = _half_fma(r, x, np.full(64, coefficients[i]))
    low, high = x[::2], x[1::2]
    product = _half_fma(low, high, np.full(32, -0.0))
    pair = np.stack([product, _half_fma(product, np.ones(32), high)], axis=1).astype(np.float16)
    chosen = np.where(x < r, x, r).astype(np.float16)
    out = np.stack([v.reshape(-1).view(np.uint32) for v in (r, pair, chosen)], axis=1)
    both = np.repeat(coefficients, 2).view(np.uint32)
    return Case(
        {"x": x.view(np.uint32), "c": both, "out": np.zeros(96, np.uint32)},
        [Launch("half_horner", 1, 32, ["x", "c", I32(n), "out"])],
        {"out": out},
    )


MODES: dict[str, Callable[[Fraction], int]] = {
    "rn": round,
    "rz": math.trunc,
    "ru": math.ceil,
    "rd": math.floor,
}


def _rounded(exact: Fraction, mode: str, bits: int, least: int) -> float:
    """An exact value in a binary format of that precision; normal range only."""
    if exact == 0:
        return 0.0
    size = abs(exact)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** power > size:
        power -= 1
    unit = Fraction(2) ** max(power - bits + 1, least)
    return float(MODES[mode](exact / unit) * unit)


def _rooted(x: Fraction, mode: str, bits: int) -> float:
    """A square root: with 40 bits more than needed, and one more for what is left."""
    scale = 200
    root = math.isqrt(x.numerator * (1 << 2 * scale) // x.denominator)
    exact = Fraction(root, 1 << scale)
    if exact * exact != x:
        exact += Fraction(1, 1 << (scale + 1))
    return _rounded(exact, mode, bits, -1074)


@kernel("sm_50", "sm_60-line")
def interval_sums() -> Case:
    g, n = rng("interval"), 64
    a = (g.standard_normal(n) * 10.0 ** g.integers(-3, 4, n)).astype(F32)
    b = (g.standard_normal(n) * 10.0 ** g.integers(-3, 4, n)).astype(F32)
    f: list[list[float]] = []
    d: list[list[float]] = []
    for mode in MODES:
        columns: list[tuple[list[float], list[float]]] = [([], []) for _ in range(7)]
        for x, y in zip(a, b, strict=True):
            p, q = float(x) * 1.1, float(y) + 1e-9
            fx, fy, fp, fq = map(Fraction, (float(x), float(y), p, q))
            bits_p, bits_q = (int(np.float64(v).view(np.int64)) for v in (p, q))
            rows = (
                (fx + fy, fp + fq),
                (fx * fy, fp * fq),
                (fx / fy, fp / fq),
                None,
                (fx * fy + fy, fp * fq + fp),
                (fp, Fraction(bits_q)),
                (Fraction(bits_p), Fraction(MODES[mode](Fraction(p * 1e6)))),
            )
            for (left, right), row in zip(columns, rows, strict=True):
                if row is None:
                    left.append(_rooted(abs(fx), mode, 24))
                    right.append(_rooted(abs(fp), mode, 53))
                else:
                    left.append(_rounded(row[0], mode, 24, -149))
                    right.append(_rounded(row[1], mode, 53, -1074))
        f += [c[0] for c in columns]
        d += [c[1] for c in columns]
    return Case(
        {"a": a, "b": b, "f": np.zeros(28 * n, F32), "d": np.zeros(28 * n)},
        [Launch("interval_sums", 2, 32, ["a", "b", "f", "d", I32(n)])],
        {"f": np.array(f).reshape(-1).astype(F32), "d": np.array(d).reshape(-1)},
    )


TABLE = "012304456137"
"""Which state's code an entry of the PTX table leads to."""


def _machine(text: bytes) -> tuple[int, int]:
    state, acc, i = 0, 17, 0
    while i < len(text):
        c = text[i]
        i += 1
        goal = int(TABLE[min(state * 4 + (c & 3), 11)])
        if goal == 0:
            acc, state = (acc * 3 + c) & M32, 1
        elif goal in (1, 2):
            acc = ((acc ^ i if goal == 1 else acc) << 1) & M32
            state = 0 if acc >> 31 else 2
        elif goal in (3, 4):
            if goal == 3:
                if c == 255:
                    break
                acc += c
            acc = (acc + 1000) & M32
            state = acc % 3
        elif goal == 5:
            acc = int(f"{acc:032b}"[::-1], 2)
        elif goal == 6:
            acc, state = (acc * 5 + acc.bit_count()) & M32, 1
        else:
            if acc > 0xF0000000:
                return acc, M32
            acc, state = acc ^ M32, 0
    return acc, i


@kernel("sm_50", "sm_61-line")
def branch_tables() -> Case:
    n = 24
    text = rng("branches").integers(0, 256, (32, n), dtype=np.uint8)
    text[5, 7] = text[9, 3] = 255
    return Case(
        {"text": text, "out": np.zeros((32, 2), np.uint32)},
        [Launch("branch_tables", 1, 32, ["text", "out", np.uint32(n)])],
        {"out": np.array([_machine(row.tobytes()) for row in text], np.uint32)},
    )


@kernel("sm_50", "sm_52", "sm_90")
def indirect_calls() -> Case:
    x = rng("calls").integers(0, 200, 32, dtype=np.uint32)
    dtype = np.dtype([("s", "<i8"), ("r", "<u4"), ("pad", "<u4")])
    want = np.zeros(32, dtype)
    for t, v in enumerate(x.tolist()):
        s, r = 7, 9
        if t == 13:
            which = v & 3
            if which in (0, 3):
                r, s = v + 3 * t, t - 3 * t
            elif which == 1:
                r = v * (v & 7) + (v & 7) + signed(v, 8)
                s = signed(v, 8)
            else:
                r, s = v >> 1 if v > 50 else v, t
        want[t] = s, r & M32, 0
    return Case(
        {"in": x, "out": np.zeros(32, dtype)},
        [Launch("indirect_calls", 1, 32, ["in", "out"])],
        {"out": want},
    )


def _predicates(x: int, y: int) -> tuple[int, int]:
    s, u = signed(x), signed(y)
    f, g = (float(np.uint32(v).view(F32)) for v in (x, y))
    nan = math.isnan(f) or math.isnan(g)
    d, e = x | y << 32, y | x << 32
    flush = [0.0 if abs(v) < 2.0**-126 else v for v in (f, g)]
    p1 = s < u
    p2 = not p1
    p3, p4 = x < y and p1, x >= y and p1
    p5 = s >= 0 or not p3
    p6, p7 = (x != y) != p5, (x == y) != p5
    p8 = nan or f < g
    # The second result is the comparison's complement, whatever the operands are.
    p9 = not p8
    p10 = not nan
    p11 = flush[0] > flush[1] and p2
    p12, p13 = signed(d, 64) > signed(e, 64), d <= e
    p15 = not ((p12 != p1) and p13)
    p14 = p15 or p6
    bits = (p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, not p15)
    m = sum(int(v) << i for i, v in enumerate(bits))
    r = M32 if p1 and p5 else 0
    r ^= 0x3F800000 if nan or f >= g else 0
    r = (r + (x if u >= 0 else 12345)) & M32
    r ^= y if f >= 0 else x
    r = (r + (m if p9 else r)) & M32
    return m, r if p10 else m


@kernel("sm_50", "sm_60")
def predicate_logic() -> Case:
    g, n = rng("predicates"), 256
    a, b = u32(g, n), u32(g, n)
    # fmt: off
    edges = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 1, 0x80000001, M32,
             0x3F800000, 0xBF800000, 0x00800000]
    # fmt: on
    pairs = [(x, y) for x in edges for y in edges]
    a[: len(pairs)], b[: len(pairs)] = zip(*pairs, strict=True)
    want = [_predicates(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    return Case(
        {"a": a, "b": b, "out": np.zeros(2 * n, np.uint32)},
        [Launch("predicate_logic", 1, n, ["a", "b", "out"])],
        {"out": np.array(want, np.uint32).T},
    )


@kernel("sm_50", "sm_61")
def reductions() -> Case:
    g, n = rng("reductions"), 32
    x = u32(g, n + 1)
    raw = x.tobytes()
    first = u64(g, 6)
    start = first.view(np.uint32).tolist()
    values = x[:n].tolist()
    wide = [v << 13 for v in values]
    count = start[2]
    for _ in values:
        count = 0 if count >= 40 else count + 1
    sums = [
        (start[0] + sum(values) & M32)
        | min(signed(start[1]), *map(signed, values)) % (1 << 32) << 32,
        count | (start[3] & 0xFFFFFFF0) << 32,
        int(first[2]) + sum(values),
        int(np.bitwise_xor.reduce(np.array([int(first[3]), *wide], np.uint64))),
        max(int(first[4]), *wide),
        5,
    ]
    area = [
        0x10000 * any(v & 3 == k for v in values) | sum(v & 3 == k for v in values)
        for k in range(4)
    ]
    area += [max([0] + [signed(v) for v in values if v & 3 == k]) for k in range(4)]
    out = np.zeros((n, 16), np.uint8)
    for t in range(n):
        byte, half = raw[4 * t + 1], raw[4 * t + 2 : 4 * t + 4]
        low = int.from_bytes(raw[4 * t : 4 * t + 2], "little", signed=True)
        row = (signed(byte, 8) & M32).to_bytes(4, "little") + half + bytes([low & 255, 0])
        row += (low & M32).to_bytes(4, "little")
        row += (area[t] if t < 8 else 0).to_bytes(4, "little")
        out[t] = np.frombuffer(row, np.uint8)
    return Case(
        {"in": x, "sums": first, "out": np.zeros((n, 16), np.uint8)},
        [Launch("reductions", 1, n, ["in", "sums", "out"])],
        {"sums": words(sums, np.uint64), "out": out},
    )
