"""What the language offers: objects, tables, templates, layouts, parameters, output, recursion."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from tests.kernels_own.kit import Case, Launch, WithAddress, kernel, rng, u64, words

I32 = np.int32
M32 = 0xFFFFFFFF
M64 = (1 << 64) - 1


def signed(value: int, bits: int = 32) -> int:
    """The low bits as a two's complement number."""
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


@kernel("sm_50", "sm_61-line")
def printf_mixed() -> Case:
    n, names = 6, ["zero", "one", "two"]
    x = np.array([0.5, -1.25, 3e10, 1234.5678, 1e-9, -0.0])
    lines = [f"table: {n} rows, 100%\n"]
    # Lanes that take the branch come first, in order; then the others; then lane 3 once more.
    even = [
        f"[{t:02x}] {M64 - t} {-1 << t} {chr(97 + t)} {t * 1000:5d}"
        f"|{-t:<6d}|{0xBEEF << t & M32:08X}\n"
        for t in range(0, n, 2)
    ]
    odd = [f"[{t:2d}] {names[t % 3]:5s}|{x[t]:+.3f}|{x[t]:e}|{x[t]:g}\n" for t in range(1, n, 2)]
    last = ["done\n", "1 7 100 5 1099511627776 0x1234\n"]
    text = "".join(lines + odd + even + last)
    return Case(
        {"x": x},
        [Launch("printf_mixed", 1, 32, [I32(n), "x"])],
        {"x": x},
        symbols={"title": np.frombuffer(b"table".ljust(16, b"\0"), np.uint8)},
        output=text,
    )


@kernel("sm_50", "sm_52-line", "sm_90")
def heap_lists() -> Case:
    lengths = np.array([0, 1, 2, 7, 8, 9, 15, 3, 4, 12, 1, 0, 6, 5, 10, 11], I32)
    sums, odd = [], []
    for t, n in enumerate(lengths.tolist()):
        total = 0
        for i in reversed(range(n)):
            total = total * 3 + i * i - t
        sums.append(total)
        odd.append(100 * len(range(1, n, 8)) + len(range(7, n, 8)))
    return Case(
        {"n": lengths, "sums": np.zeros(16, np.int64), "odd": np.zeros(16, I32)},
        [
            Launch("build_lists", 1, 16, ["n"]),
            Launch("heap_lists", 1, 16, ["sums", "odd"]),
        ],
        {"sums": words(sums, np.int64), "odd": np.array(odd, I32)},
        expect_symbols={"heads": np.zeros(16, np.uint64)},
    )


@kernel("sm_50", "sm_53")
def virtual_shapes() -> Case:
    kind = rng("shapes").integers(0, 3, 32, dtype=I32)
    out = np.zeros((32, 2), I32)
    for t, k in enumerate(kind.tolist()):
        area, sides = [(t * (t + 1), 4), (6 * t * t, 6), (t * 5 // 2, 3)][k]
        out[t] = area * 10 + sides, (t + 50) * 1000 + t if k == 2 else t * 1000
    return Case(
        {"kind": kind, "out": np.zeros((32, 2), I32)},
        [Launch("virtual_shapes", 1, 32, ["kind", "out"])],
        {"out": out},
    )


def _mix(a: int, b: int) -> int:
    if a > b:
        return signed(a ^ (b << 3))
    for i in range(b & 7):
        a = signed(a * 5 + i)
    return a


OPS: list[Callable[[int, int], int]] = [
    lambda a, b: signed(a + b),
    lambda a, b: signed(a - b),
    lambda a, b: signed(a * b),
    _mix,
]


@kernel("sm_50", "sm_60-G", "sm_80-G")
def function_tables() -> Case:
    n, patched = 60, 3
    code = rng("functions").integers(0, 1 << 12, n, dtype=I32)
    out = []
    for t, c in enumerate(code.tolist()):
        v = t
        for i in range(4):
            v = OPS[c >> 2 * i & 3](v, c + i)
        out.append(OPS[patched](OPS[c & 3](v, c), v))
    return Case(
        {"code": code, "out": np.zeros(n, I32)},
        [
            Launch("set_patched", 1, 1, [I32(patched)]),
            Launch("function_tables", 1, 64, ["code", "out", I32(n)]),
        ],
        {"out": np.array(out, I32)},
    )


(PUSH, ADD, SUB, MUL, DUP, SWAP, JZ, JMP, LT, OVER, DROP, SHR, CALL, RETN, HALT) = range(15)


def _programs() -> tuple[bytes, list[int]]:
    """Programs one after the other, and their entries."""
    power = [PUSH, 1, SWAP, DUP, JZ, 17, PUSH, 255, ADD, SWAP, PUSH, 3, MUL, SWAP]
    power += [JMP, 3, HALT, DROP, HALT]
    base = len(power)
    clamp = [DUP, PUSH, 10, LT, JZ, base + 9, PUSH, 7, MUL, PUSH, 2, SHR, HALT]
    base += len(clamp)
    calls = [CALL, base + 5, CALL, base + 5, HALT, DUP, MUL, PUSH, 5, SUB, RETN]
    base += len(calls)
    wrong = [PUSH, 3, 99]
    code = power + clamp + calls + wrong
    entries = [0, len(power), len(power) + len(clamp), base]
    return bytes(code), entries


def _execute(code: bytes, pc: int, start: int) -> tuple[int, int]:
    stack, calls, cycles = [start], [], 0
    while True:
        op, pc, cycles = code[pc], pc + 1, cycles + 1
        if op == PUSH:
            stack.append(signed(code[pc], 8))
            pc += 1
        elif op in (ADD, SUB, MUL, LT, SHR):
            b, a = stack.pop(), stack.pop()
            results = {ADD: a + b, SUB: a - b, MUL: a * b, LT: int(a < b), SHR: a >> (b & 31)}
            stack.append(signed(results[op]))
        elif op == DUP:
            stack.append(stack[-1])
        elif op == SWAP:
            stack[-2:] = [stack[-1], stack[-2]]
        elif op == JZ:
            pc = code[pc] if stack.pop() == 0 else pc + 1
        elif op == JMP:
            pc = code[pc]
        elif op == OVER:
            stack.append(stack[-2])
        elif op == DROP:
            stack.pop()
        elif op == CALL:
            calls.append(pc + 1)
            pc = code[pc]
        elif op == RETN:
            pc = calls.pop()
        elif op == HALT:
            return stack[-1], cycles
        else:
            return -1, cycles


@kernel("sm_50-line", "sm_62")
def bytecode_vm() -> Case:
    code, entries = _programs()
    entry = np.array([entries[(t * 7 + t // 5) % 4] for t in range(32)], I32)
    results = [_execute(code, int(e), t) for t, e in enumerate(entry)]
    return Case(
        {
            "code": np.frombuffer(code, np.uint8),
            "entry": entry,
            "out": np.zeros(32, I32),
            "cycles": np.zeros(32, I32),
        },
        [Launch("bytecode_vm", 1, 32, ["code", "entry", "out", "cycles"])],
        {
            "out": np.array([r for r, _ in results], I32),
            "cycles": np.array([c for _, c in results], I32),
        },
    )


@kernel("sm_50-line", "sm_61")
def templates_lambdas() -> Case:
    k, out, fib = 13, [], [0, 1]
    while len(fib) < 32:
        fib.append(fib[-1] + fib[-2])
    for t in range(32):
        v = [signed((t - i) * k + ((i + t) & 15) ** 2 - 7) for i in range(16)]
        for i in range(8):
            v[i] ^= v[15 - i]
        p = (t + 1) * k
        p = p - t if p > 40 else -p
        s = 0
        for x in v:
            s = s * 31 + x
        out.append(s + p + 16 + fib[t] + ord("a" if t % 2 else "b"))
    return Case(
        {"out": np.zeros(32, I32)},
        [Launch("templates_lambdas", 1, 32, [I32(k), "out"])],
        {"out": words(out, I32)},
    )


@kernel("sm_50-line", "sm_52-G")
def bit_fields() -> Case:
    x = u64(rng("fields"), 32)
    mixed = [0] * 32
    for t, w in enumerate(x.tolist()):
        a, b, c = w & 7, signed(w >> 3, 7), w >> 10 & (1 << 33) - 1
        d, e, f, g = signed(w >> 43, 1), w >> 44 & (1 << 20) - 1, signed(w >> 7, 8), w >> 63
        a, b, c = (a + b) & 7, signed(b - 5, 7), c * 3 & (1 << 33) - 1
        e = (e ^ c) & (1 << 20) - 1
        total = 0
        for v in (a, b, c, d, e, f, g):
            total = (total * 131 + v) & M64
        mixed[t ^ 1] = total
    return Case(
        {"in": x, "out": np.zeros(32, np.uint64)},
        [Launch("bit_fields", 1, 32, ["in", "out"])],
        {"out": np.array(mixed, np.uint64)},
    )


@kernel("sm_50", "sm_60-line")
def dynamic_shared() -> Case:
    g, n, blocks = rng("dynamic"), 48, 2
    x = (g.integers(-40, 40, (blocks, n)) / 4).astype(np.float32)
    sums, ranks = np.zeros((blocks, n)), np.zeros((blocks, n), np.uint16)
    for b in range(blocks):
        order = np.argsort(x[b], kind="stable")
        values = x[b, order].astype(np.float64)
        sums[b, order] = np.cumsum(np.where(values < 0, -2 * values, values))
        ranks[b, order] = np.arange(n)
    return Case(
        {"x": x, "sums": np.zeros_like(sums), "ranks": np.zeros_like(ranks)},
        [Launch("dynamic_shared", blocks, n, [I32(n), "x", "sums", "ranks"], shared=15 * n)],
        {"sums": sums, "ranks": ranks},
    )


@kernel("sm_50", "sm_53-line")
def grid_volume() -> Case:
    gx, gy, gz, bx, by, bz = 3, 2, 4, 5, 3, 4
    out, count = [], []
    for z, y, x in np.ndindex(gz, gy, gx):
        block = [(k, j, i) for k in range(bz) for j in range(by) for i in range(bx)]
        for k, j, i in block:
            out.append(i | j << 4 | k << 8 | x << 12 | y << 16 | z << 20 | 1 << 31)
        number = sum(j == z for _, j, _ in block)
        any_ = y > 0 and any(i + k == 5 for k, _, i in block)
        count.append(number + 1000 * any_ + 2000 * (x > 0))
    return Case(
        {"out": np.zeros(len(out), np.uint32), "count": np.zeros(len(count), I32)},
        [Launch("grid_volume", (gx, gy, gz), (bx, by, bz), ["out", "count"])],
        {"out": np.array(out, np.uint32), "count": np.array(count, I32)},
    )


SETTINGS = struct.Struct("=b x 15h d 12i Q B 7x Q B 7x f 4x")
"""The struct's layout: 1+1+30 bytes, then aligned to 8 without a gap."""


def _evaluate(s: tuple[float, ...], i: int) -> float:
    tag, corners, scale, table, tail = s[0], s[1:16], s[16], list(s[17:29]), s[33]
    at = i % 3 * 4
    table[at + (i & 3)] += tag
    total = 0.0
    for j in range(4):
        total += table[at + j] * scale
    x, y, z = corners[3 * (i % 5) : 3 * (i % 5) + 3]
    return total + x - y * z + tail


@kernel("sm_50", "sm_61")
def struct_params() -> Case:
    g = rng("params")

    def settings() -> bytes:
        whole = g.integers(-500, 500, 27).tolist()
        seeds = u64(g, 2).tolist()
        return SETTINGS.pack(-9, *whole[:15], 0.375, *whole[15:], seeds[0], 200, seeds[1], 13, -2.5)

    a, b = settings(), settings()
    sa, sb = SETTINGS.unpack(a), SETTINGS.unpack(b)
    out = [_evaluate(sa, t) + 1000 * _evaluate(sb, t + 1) - 3 + 777 for t in range(32)]
    seeds, modes = (sa[29], sa[31]), (sa[30], sa[32])
    where = [(seeds[t & 1] >> (t & 7) * 8) ^ modes[~t & 1] for t in range(32)]
    pair = WithAddress(b, "where")
    return Case(
        {"out": np.zeros(32), "where": np.zeros(32, I32)},
        [Launch("struct_params", 1, 32, [np.int8(-3), a, np.int16(777), pair, "out"])],
        {"out": np.array(out), "where": words(where, I32)},
    )


def _ackermann(m: int, n: int) -> int:
    return n + 2 if m == 1 else 2 * n + 3


def _chain(depth: int, a: int, b: int, c: int, d: float, e: int) -> int:
    if depth == 0:
        return signed(a + b * c + int(d) - e, 64)
    if int(np.fmod(b, 3)) == depth % 3:
        r = _chain(
            depth - 1,
            signed(a * 3 + depth, 64),
            b + 1,
            signed(c - depth, 16),
            d * 2,
            signed(e ^ depth, 8),
        )
        return signed(r - b, 64)
    r = _chain(depth - 1, a ^ b, b - c, signed(c + 2, 16), d + depth, signed(e + 1, 8))
    return signed(r + 7 * c, 64)


@kernel("sm_50", "sm_62-G")
def recursion_deep() -> Case:
    x = rng("recursion").integers(0, 1 << 14, 32, dtype=I32)
    out, far = [], []
    for t, v in enumerate(x.tolist()):
        disks = t % 4
        moves = 2**disks - 1
        out.append(
            (
                _ackermann(2 if v & 1 else 1, v & 3),
                1 - (v & 1),
                moves * 16,
                disks * (disks + 1) // 2 * 100,
            )
        )
        far.append(_chain(6, v, t, v >> 3, t * 0.5, signed(v, 8)))
    return Case(
        {"x": x, "out": np.zeros((32, 4), I32), "far": np.zeros(32, np.int64)},
        [Launch("recursion_deep", 1, 32, ["x", "out", "far"])],
        {"out": np.array(out, I32), "far": np.array(far, np.int64)},
    )
