"""`mma` of every shape and type: integers exactly, floats by the model of each generation.

Inputs of "small" variants are small integers, on which every generation and every lowering agrees;
"any" variants have numbers of any size, for the generations that have the instruction itself.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from tests.ptxgen import tensor_model as model
from tests.ptxgen.case import In, Out, Variant
from tests.ptxgen.int_kit import program

WARPS = 4
ALL = ("sm_80", "sm_89", "sm_90", "sm_120a")
TURING = ("sm_75", *ALL)
FP8 = ("sm_89", "sm_90", "sm_120a")

Targets = tuple[str, ...]
Counts = tuple[int, int, int]
"""Registers of A, B and C in a lane."""


def variants() -> list[Variant]:
    """All of this module."""
    return [*_floats(), *_integers(), *_bits(), *_doubles(), *_octets(), *_sparse(), *_scaled()]


def _float_bits(value: float, kind: str) -> int:
    """A small integer, or a power of two, as a pattern."""
    if kind == "f16":
        return int(np.float16(value).view(np.uint16))
    if kind in ("bf16", "tf32", "f32"):
        word = int.from_bytes(struct.pack("<f", value), "little")
        return word >> 16 if kind == "bf16" else word
    eb, mb = model.FORMATS["e2m1" if kind == "f4" else kind]
    bias = (1 << eb - 1) - 1
    for raw in range(1 << eb + mb):
        e, f = raw >> mb, raw & (1 << mb) - 1
        number = (f | (1 << mb if e else 0)) * 2.0 ** (max(e, 1) - bias - mb)
        if number == abs(value):
            raw |= (1 << eb + mb) if value < 0 else 0
            return raw << 2 if kind == "e2m1" else raw
    raise ValueError(value)


def _number(rng: random.Random, kind: str, small: bool) -> int:
    """A pattern: a small integer, or anything but mostly of like size."""
    if small:
        most = 2 if kind in ("e2m1", "f4", "e2m3", "e3m2") else 4
        return _float_bits(rng.randint(-most, most), kind)
    bits = model.BITS[kind]
    if rng.randrange(12) == 0:
        raw = rng.getrandbits(bits)
        return raw & 0x3F if kind in ("e3m2", "e2m3") else raw & 0x3C if kind == "e2m1" else raw
    eb, mb = model.FORMATS["e2m1" if kind == "f4" else kind]
    bias = (1 << eb - 1) - 1
    exponent = max(1, min((1 << eb) - 2, bias + rng.randint(-5, 5)))
    raw = rng.getrandbits(1) << eb + mb | exponent << mb | rng.getrandbits(mb)
    if kind == "tf32":
        return raw << 13 | rng.getrandbits(13)
    return raw << 2 if kind == "e2m1" else raw


def _words(rng: random.Random, count: int, kind: str, small: bool) -> model.Words:
    bits = model.BITS[kind]
    out = []
    for _ in range(32):
        lane = []
        for _ in range(count):
            word = 0
            for h in range(32 // bits):
                if kind in model.FORMATS or kind == "f4":
                    word |= _number(rng, kind, small) << bits * h
                else:
                    word |= rng.getrandbits(bits) << bits * h
            lane.append(word)
        out.append(lane)
    return out


def _array(warps: list[model.Words]) -> np.ndarray:
    return np.array([word for words in warps for lane in words for word in lane], np.uint32)


def _body(ptx: str, counts: dict[str, int], tail: str, more: str) -> tuple[str, str]:
    """(register declarations, code) of a kernel: registers of a lane lie side by side."""
    regs, lines = "", []
    for name, count in counts.items():
        regs += f".reg .b32 %{name}<{count}>; "
        lines.append(f"mad.wide.u32 %x,%n,{4 * count},%p_{name};")
        if name != "d":
            lines += [f"ld.global.b32 %{name}{i},[%x+{4 * i}];" for i in range(count)]
    for name in more:
        regs += f".reg .b32 %{name}; "
        lines.append(f"mad.wide.u32 %x,%n,4,%p_{name}; ld.global.b32 %{name},[%x];")
    lists = {n: "{" + ",".join(f"%{n}{i}" for i in range(c)) + "}" for n, c in counts.items()}
    lines.append(f"{ptx} {lists['d']},{lists['a']},{lists['b']},{lists['c']}{tail};")
    lines.append(f"mad.wide.u32 %x,%n,{4 * counts['d']},%p_d;")
    lines += [f"st.global.b32 [%x+{4 * i}],%d{i};" for i in range(counts["d"])]
    return regs, "\n".join(lines)


def _variant(
    name: str,
    ptx: str,
    targets: Targets,
    inputs: dict[str, list[model.Words]],
    results: list[model.Words],
    tail: str = "",
    more: dict[str, list[list[int]]] | None = None,
) -> Variant:
    """A variant of four warps; `inputs` and `results` are fragments by name, `more` words of lanes
    by name."""
    more = more or {}
    counts = {n: len(w[0][0]) for n, w in inputs.items()} | {"d": len(results[0][0])}
    regs, body = _body(ptx, counts, tail, "".join(more))
    ins = {n: In("b32", _array(w)) for n, w in inputs.items()}
    for n, words in more.items():
        ins[n] = In("b32", np.array([w for m in words for w in m], np.uint32))
    return program(
        "tensor_" + name.split(".")[0],
        name,
        body,
        ins,
        {"d": Out("b32", _array(results))},
        regs=regs,
        block=(32 * WARPS,),
        targets=targets,
        ptx=ptx,
    )


def _multiply_floats(
    a: model.Words,
    b: model.Words,
    c: model.Words,
    shape: tuple[int, int],
    kinds: tuple[str, str],
    out: str,
    how: model.Unit,
    meta: list[int] | None = None,
    selector: int = 0,
    scales: Callable[[str, int, int], model.Number] | None = None,
) -> model.Words:
    rows, depth = shape
    half, ab, bb = out == "f16", model.BITS[kinds[0]], model.BITS[kinds[1]]
    result = [[0] * len(c[0]) for _ in range(32)]
    size = how.block * 8 // ab
    for row in range(rows):
        stored = depth if meta is None else depth // 2
        ks = list(range(depth))
        if meta is not None:
            ks = model.columns(meta, selector, row, kinds[0], depth)
        left = [
            model.decode(model.element(a, model.place_a(row, s, 32 // ab), ab), kinds[0])
            for s in range(stored)
        ]
        if scales is not None:
            left = [model.times(x, scales("a", row, k)) for x, k in zip(left, ks, strict=True)]
        for column in range(8):
            right = [
                model.decode(model.element(b, model.place_b(k, column, 32 // bb), bb), kinds[1])
                for k in ks
            ]
            if scales is not None:
                right = [
                    model.times(y, scales("b", column, k)) for y, k in zip(right, ks, strict=True)
                ]
            at = model.place_c(row, column, half)
            held = model.element(c, at, 16 if half else 32)
            for first in range(0, stored, size):
                pairs = list(zip(left, right, strict=True))[first : first + size]
                held = model.block(model.decode(held, out), pairs, out, how)
            result[at[0]][at[1]] |= held << (16 * at[2] if half else 0)
    return result


def _float_variant(
    name: str,
    ptx: str,
    targets: Targets,
    counts: Counts,
    shape: tuple[int, int],
    kinds: tuple[str, str],
    out: str,
    small: bool,
    op: str = "",
    sparse: int | None = None,
) -> Variant:
    rng = random.Random(name)
    na, nb, nc = counts
    a = [_words(rng, na, kinds[0], small) for _ in range(WARPS)]
    b = [_words(rng, nb, kinds[1], small) for _ in range(WARPS)]
    c = [_words(rng, nc, out, small) for _ in range(WARPS)]
    how = model.unit(targets[0], op)
    meta = [_metadata(rng, kinds[0]) for _ in range(WARPS)] if sparse is not None else None
    results = [
        _multiply_floats(
            a[w], b[w], c[w], shape, kinds, out, how, meta[w] if meta else None, sparse or 0
        )
        for w in range(WARPS)
    ]
    tail = "" if sparse is None else f",%e,0x{sparse:x}"
    more = {"e": meta} if meta is not None else {}
    return _variant(name, ptx, targets, {"a": a, "b": b, "c": c}, results, tail, more)


def _metadata(rng: random.Random, kind: str) -> list[int]:
    """Two ascending columns in every nibble; for one of two columns 0b0100 or 0b1110."""
    choices = (4, 14) if kind == "tf32" else (4, 8, 12, 9, 13, 14)
    return [sum(rng.choice(choices) << 4 * n for n in range(8)) for _ in range(32)]


GENERATIONS = (("sm_75",), ("sm_80", "sm_89"), ("sm_90", "sm_120a"))


def _any(targets: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The targets of a set, by generation."""
    for generation in GENERATIONS:
        if chosen := tuple(t for t in generation if t in targets):
            yield chosen


def _both(
    name: str,
    ptx: str,
    targets: Targets,
    counts: Counts,
    shape: tuple[int, int],
    kinds: tuple[str, str],
    out: str,
    op: str = "",
    native: Targets | None = None,
    sparse: int | None = None,
) -> Iterator[Variant]:
    """The variant of small integers, and those of any numbers by generation."""
    yield _float_variant(f"{name}.small", ptx, targets, counts, shape, kinds, out, True, op, sparse)
    for chosen in _any(targets if native is None else native):
        yield _float_variant(
            f"{name}.any_{chosen[0]}", ptx, chosen, counts, shape, kinds, out, False, op, sparse
        )


DENSE = (
    ("f16", 8, (2, 1)), ("f16", 16, (4, 2)), ("bf16", 8, (2, 1)), ("bf16", 16, (4, 2)),
    ("tf32", 4, (2, 1)), ("tf32", 8, (4, 2)),
)  # fmt: skip


def _floats() -> Iterator[Variant]:
    targets: Targets
    for kind, depth, counts in DENSE:
        targets = TURING if (kind, depth) == ("f16", 8) else ALL
        for out, nc in (("f32", 4), ("f16", 2)):
            if out == "f16" and kind != "f16":
                continue
            ptx = f"mma.sync.aligned.m16n8k{depth}.row.col.{out}.{kind}.{kind}.{out}"
            name = f"dense.{kind}.k{depth}.{out}"
            yield from _both(name, ptx, targets, (*counts, nc), (16, depth), (kind, kind), out)
    for n, (ka, kb) in enumerate((("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e4m3", "e4m3"))):
        for depth, counts in ((16, (2, 1)), (32, (4, 2))):
            for out, nc in (("f32", 4), ("f16", 2)):
                if n == 2 and depth == 16:
                    continue
                ptx = f"mma.sync.aligned.m16n8k{depth}.row.col.{out}.{ka}.{kb}.{out}"
                name = f"fp8.{ka}.{kb}.k{depth}.{out}"
                shape = (16, depth)
                for targets, op in ((("sm_89",), "fp8"), (("sm_120a",), "")):
                    yield _float_variant(
                        f"{name}.any_{targets[0]}", ptx, targets, (*counts, nc), shape,
                        (ka, kb), out, False, op,
                    )  # fmt: skip
                yield _float_variant(
                    f"{name}.small", ptx, FP8, (*counts, nc), shape, (ka, kb), out, True
                )
    for ka, kb in (("e2m1", "e3m2"), ("e2m3", "e4m3"), ("e5m2", "e2m1"), ("e3m2", "e2m3")):
        for out, nc in (("f32", 4), ("f16", 2)):
            ptx = f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.{out}.{ka}.{kb}.{out}"
            name = f"fp6.{ka}.{kb}.{out}"
            targets = ("sm_120a",)
            yield from _both(name, ptx, targets, (4, 2, nc), (16, 32), (ka, kb), out)


def _integer_result(
    a: model.Words,
    b: model.Words,
    c: model.Words,
    shape: tuple[int, int],
    kinds: tuple[str, str],
    sat: bool,
    meta: list[int] | None = None,
    selector: int = 0,
) -> model.Words:
    rows, depth = shape
    bits = model.BITS[kinds[0]]
    per = 32 // bits
    where = model.place_a if rows == 16 else model.place_a8
    result = [[0] * len(c[0]) for _ in range(32)]
    for row in range(rows):
        stored = depth if meta is None else depth // 2
        ks = range(depth) if meta is None else model.columns(meta, selector, row, kinds[0], depth)
        left = [
            model.integer(model.element(a, where(row, s, per), bits), kinds[0])
            for s in range(stored)
        ]
        for column in range(8):
            lane, register, _ = model.place_c(row, column, False)
            total = model.integer(c[lane][register], "s32")
            for x, k in zip(left, ks, strict=True):
                raw = model.element(b, model.place_b(k, column, per), bits)
                total += x * model.integer(raw, kinds[1])
            if sat:
                total = min(max(total, -(1 << 31)), (1 << 31) - 1)
            result[lane][register] = total & 0xFFFFFFFF
    return result


def _integer_variant(
    name: str,
    ptx: str,
    targets: Targets,
    counts: Counts,
    shape: tuple[int, int],
    kinds: tuple[str, str],
    sat: bool,
    sparse: int | None = None,
) -> Variant:
    rng = random.Random(name)
    na, nb, nc = counts
    a = [_words(rng, na, kinds[0], False) for _ in range(WARPS)]
    b = [_words(rng, nb, kinds[1], False) for _ in range(WARPS)]
    c = [_words(rng, nc, "s32", False) for _ in range(WARPS)]
    near = (0x7FFFFFF0, 0x80000010, 0, 0xFFFFFFFF)
    c[0] = [[rng.choice(near) for _ in lane] for lane in c[0]]
    meta = [_metadata(rng, kinds[0]) for _ in range(WARPS)] if sparse is not None else None
    results = [
        _integer_result(a[w], b[w], c[w], shape, kinds, sat, meta[w] if meta else None, sparse or 0)
        for w in range(WARPS)
    ]
    tail = "" if sparse is None else f",%e,0x{sparse:x}"
    more = {"e": meta} if meta is not None else {}
    return _variant(name, ptx, targets, {"a": a, "b": b, "c": c}, results, tail, more)


def _integers() -> Iterator[Variant]:
    shapes = (
        (8, 16, "8", (1, 1, 2), TURING), (16, 16, "8", (2, 1, 4), ALL),
        (16, 32, "8", (4, 2, 4), ALL), (8, 32, "4", (1, 1, 2), TURING),
        (16, 32, "4", (2, 1, 4), ALL), (16, 64, "4", (4, 2, 4), ALL),
    )  # fmt: skip
    for rows, depth, bits, counts, targets in shapes:
        for n, (ka, kb) in enumerate((x, y) for x in "su" for y in "su"):
            for sat in (False, True):
                if (n + sat) % 2 and rows == 16:
                    continue
                kinds = ka + bits, kb + bits
                text = ".satfinite" if sat else ""
                types = f"s32.{kinds[0]}.{kinds[1]}.s32"
                ptx = f"mma.sync.aligned.m{rows}n8k{depth}.row.col{text}.{types}"
                name = f"integer.m{rows}k{depth}.{kinds[0]}.{kinds[1]}{text}"
                yield _integer_variant(name, ptx, targets, counts, (rows, depth), kinds, sat)


def _bits() -> Iterator[Variant]:
    for op in ("xor", "and"):
        for rows, depth, counts in (
            (8, 128, (1, 1, 2)),
            (16, 128, (2, 1, 4)),
            (16, 256, (4, 2, 4)),
        ):
            targets = TURING if rows == 8 and op == "xor" else ALL
            name = f"bits.{op}.m{rows}k{depth}"
            rng = random.Random(name)
            na, nb, nc = counts
            a = [_words(rng, na, "b1", False) for _ in range(WARPS)]
            b = [_words(rng, nb, "b1", False) for _ in range(WARPS)]
            c = [_words(rng, nc, "s32", False) for _ in range(WARPS)]
            where = model.place_a if rows == 16 else model.place_a8
            results = []
            for w in range(WARPS):
                result = [[0] * nc for _ in range(32)]
                for row in range(rows):
                    for column in range(8):
                        lane, register, _ = model.place_c(row, column, False)
                        total = c[w][lane][register]
                        for k in range(0, depth, 32):
                            x = a[w][where(row, k, 32)[0]][where(row, k, 32)[1]]
                            y = b[w][model.place_b(k, column, 32)[0]][
                                model.place_b(k, column, 32)[1]
                            ]
                            total += (x ^ y if op == "xor" else x & y).bit_count()
                        result[lane][register] = total & 0xFFFFFFFF
                results.append(result)
            ptx = f"mma.sync.aligned.m{rows}n8k{depth}.row.col.s32.b1.b1.s32.{op}.popc"
            yield _variant(name, ptx, targets, {"a": a, "b": b, "c": c}, results)


def _doubles() -> Iterator[Variant]:
    """Chains of fused multiply-adds, of numbers so small that every sum is exact."""
    late = ("sm_90", "sm_120a")
    shapes = (
        (8, 4, (1, 1, 2), ALL[:3]), (16, 4, (2, 1, 4), late), (16, 8, (4, 2, 4), late),
        (16, 16, (8, 4, 4), late),
    )  # fmt: skip
    for rows, depth, counts, targets in shapes:
        name = f"double.m{rows}k{depth}"
        rng = random.Random(name)
        lists = {n: [[rng.randint(-999, 999) / 8 for _ in range(k)] for _ in range(32 * WARPS)]
                 for n, k in zip("abc", counts, strict=True)}  # fmt: skip
        results = []
        for w in range(WARPS):
            a, b, c = (lists[n][32 * w : 32 * w + 32] for n in "abc")
            result = [[0.0] * counts[2] for _ in range(32)]
            for row in range(rows):
                for column in range(8):
                    lane, register, _ = model.place_c(row, column, False)
                    total = c[lane][register]
                    for k in range(depth):
                        at = 4 * (row & 7) + k % 4, (row >> 3) + 2 * (k // 4) if rows == 16 else 0
                        total += a[at[0]][at[1]] * b[4 * column + k % 4][k // 4]
                    result[lane][register] = total
            results += result
        arrays = {n: np.array(v, np.float64).reshape(-1).view(np.uint64) for n, v in lists.items()}
        regs, lines = "", []
        sizes = dict(zip("abcd", (*counts, counts[2]), strict=True))
        for n, k in sizes.items():
            regs += f".reg .f64 %{n}<{k}>; "
            lines.append(f"mad.wide.u32 %x,%n,{8 * k},%p_{n};")
            if n != "d":
                lines += [f"ld.global.f64 %{n}{i},[%x+{8 * i}];" for i in range(k)]
        ptx = f"mma.sync.aligned.m{rows}n8k{depth}.row.col.f64.f64.f64.f64"
        lists_ = ["{" + ",".join(f"%{n}{i}" for i in range(sizes[n])) + "}" for n in "dabc"]
        lines.append(f"{ptx} {','.join(lists_)};")
        lines += [f"st.global.f64 [%x+{8 * i}],%d{i};" for i in range(sizes["d"])]
        out = Out("b64", np.array(results, np.float64).reshape(-1).view(np.uint64))
        yield program("tensor_double", name, "\n".join(lines),
                      {n: In("b64", v) for n, v in arrays.items()}, {"d": out}, regs=regs,
                      block=(32 * WARPS,), targets=targets, ptx=ptx)  # fmt: skip


def _octet_words(
    a: model.Words,
    b: model.Words,
    c: model.Words,
    rows_a: bool,
    rows_b: bool,
    half_in: bool,
    half_out: bool,
    how: model.Unit,
) -> model.Words:
    """m8n8k4: four products in a warp, of lanes 4q..4q+3 and 16+4q..16+4q+3."""
    result = [[0] * (4 if half_out else 8) for _ in range(32)]
    out = "f16" if half_out else "f32"
    for octet in range(4):
        lanes = [4 * octet + u + 16 * v for v in (0, 1) for u in range(4)]

        def half(words: model.Words, lane: int, e: int) -> model.Number:
            return model.decode(words[lane][e >> 1] >> 16 * (e & 1) & 0xFFFF, "f16")

        for row in range(8):
            for column in range(8):
                pairs = []
                for k in range(4):
                    x = half(a, lanes[row], k) if rows_a else half(a, lanes[k + (row & 4)], row & 3)
                    y = (
                        half(b, lanes[k + (column & 4)], column & 3)
                        if rows_b
                        else half(b, lanes[column], k)
                    )
                    pairs.append((x, y))
                if half_in:
                    held = c[lanes[row]][column >> 1] >> 16 * (column & 1) & 0xFFFF
                lane = lanes[(row & 1) + (row & 4) + (column & 2)]
                register = (row & 2) + (column & 4) + (column & 1)
                if not half_in:
                    held = c[lane][register]
                number = model.decode(held, "f16" if half_in else "f32")
                found = model.block(number, pairs, out, how)
                if half_out:
                    result[lanes[row]][column >> 1] |= found << 16 * (column & 1)
                else:
                    result[lane][register] = found
    return result


def _octets() -> Iterator[Variant]:
    layouts = [(x, y) for x in ("row", "col") for y in ("row", "col")]
    types = (("f32", "f32"), ("f16", "f16"), ("f32", "f16"))
    for (la, lb), (out, held) in ((x, y) for x in layouts for y in types):
        for small in (True, False):
            targets = ("sm_70", "sm_75", *ALL) if small else ("sm_70", "sm_75")
            name = f"octets.{la}.{lb}.{out}.{held}.{'small' if small else 'any'}"
            rng = random.Random(name)
            a = [_words(rng, 2, "f16", small) for _ in range(WARPS)]
            b = [_words(rng, 2, "f16", small) for _ in range(WARPS)]
            c = [_words(rng, 4 if held == "f16" else 8, held, small) for _ in range(WARPS)]
            results = [
                _octet_words(a[w], b[w], c[w], la == "row", lb == "row", held == "f16",
                             out == "f16", model.unit("sm_70", "884"))
                for w in range(WARPS)
            ]  # fmt: skip
            ptx = f"mma.sync.aligned.m8n8k4.{la}.{lb}.{out}.f16.f16.{held}"
            yield _variant(name, ptx, targets, {"a": a, "b": b, "c": c}, results)


def _sparse() -> Iterator[Variant]:
    halves = (("f16", 16, (2, 2)), ("f16", 32, (4, 4)), ("bf16", 16, (2, 2)), ("bf16", 32, (4, 4)),
              ("tf32", 8, (2, 2)), ("tf32", 16, (4, 4)))  # fmt: skip
    for kind, depth, counts in halves:
        few = (kind, depth) in (("f16", 16), ("bf16", 16), ("tf32", 8))
        for selector in range(4 if few else 2):
            for out, nc in (("f32", 4), ("f16", 2)):
                if out == "f16" and kind != "f16":
                    continue
                ptx = f"mma.sp.sync.aligned.m16n8k{depth}.row.col.{out}.{kind}.{kind}.{out}"
                name = f"sparse.{kind}.k{depth}.{out}.{selector}"
                yield from _both(
                    name, ptx, ALL, (*counts, nc), (16, depth), (kind, kind), out, sparse=selector,
                    native=ALL[:3],
                )  # fmt: skip
    integers = (
        (32, "8", (2, 2), 2), (64, "8", (4, 4), 1), (64, "4", (2, 2), 2), (128, "4", (4, 4), 1)
    )  # fmt: skip
    for depth, bits, counts, selectors in integers:
        for n, (ka, kb) in enumerate((x, y) for x in "su" for y in "su"):
            kinds, sat = (ka + bits, kb + bits), n % 2 == 1
            text = ".satfinite" if sat else ""
            ptx = f"mma.sp.sync.aligned.m16n8k{depth}.row.col{text}.s32.{kinds[0]}.{kinds[1]}.s32"
            name = f"sparse.k{depth}.{kinds[0]}.{kinds[1]}{text}.{n % selectors}"
            yield _integer_variant(
                name, ptx, ALL, (*counts, 4), (16, depth), kinds, sat, n % selectors
            )
    for out, nc in (("f32", 4), ("f16", 2)):
        ptx = f"mma.sp.sync.aligned.m16n8k64.row.col.{out}.e4m3.e5m2.{out}"
        shape, fp8, all_three = (16, 64), ("e4m3", "e5m2"), (4, 4, nc)
        name = f"sparse.fp8.{out}"
        yield _float_variant(f"{name}.small", ptx, FP8, all_three, shape, fp8, out, True, "", 0)
        for target, op in (("sm_89", "fp8"), ("sm_120a", "")):
            yield _float_variant(
                f"{name}.any_{target}", ptx, (target,), all_three, shape, fp8, out, False, op, 0
            )


_Scaled = tuple[str, str, int, tuple[str, str], str, int]
SCALED: tuple[_Scaled, ...] = (
    ("mxf8f6f4", "1X", 32, ("e2m1", "e3m2"), "ue8m0", 1),
    ("mxf8f6f4", "1X", 32, ("e4m3", "e5m2"), "ue8m0", 1),
    ("mxf4", "2X", 64, ("f4", "f4"), "ue8m0", 2),
    ("mxf4nvf4", "4X", 64, ("f4", "f4"), "ue4m3", 4),
)


@dataclass(frozen=True)
class _Scales:
    """Scale factors of a variant: words of lanes ("s" for A, "u" for B) by warp, and selectors."""

    words: dict[str, list[list[int]]]
    type: str
    count: int
    depth: int
    byte: tuple[int, int]
    thread: tuple[int, int]

    def of(self, side: str, place: int, k: int, warp: int) -> model.Number:
        """The factor of a row of A or a column of B at k."""
        if side == "a":
            lane, byte = 4 * (place & 7) + 2 * self.thread[0] + (place >> 3), self.byte[0]
        else:
            lane, byte = 4 * place + self.thread[1], self.byte[1]
        word = self.words["s" if side == "a" else "u"][warp][lane]
        return model.scale(word >> 8 * (byte + k * self.count // self.depth) & 255, self.type)


def _scaled() -> Iterator[Variant]:
    """Block scaling of sm_120a: factors of chunks of k, by byte and thread of a quad.

    The scaled products are added as others are (a choice: nothing public measures it), so small
    numbers alone are compared.
    """
    for n, form in enumerate(SCALED):
        for sparse in (False, True):
            yield _scaled_variant(n, form, sparse)


def _scaled_variant(n: int, form: _Scaled, sparse: bool) -> Variant:
    kind, vector, depth, kinds, stype, count = form
    k = 2 * depth if sparse else depth
    name = f"scaled.{kind}.{'.'.join(kinds)}.{stype}{'.sp' if sparse else ''}"
    rng = random.Random(name)
    a = [_words(rng, 4, kinds[0], True) for _ in range(WARPS)]
    b = [_words(rng, 4 if sparse else 2, kinds[1], True) for _ in range(WARPS)]
    c = [_words(rng, 4, "f32", True) for _ in range(WARPS)]
    choices = range(124, 131) if stype == "ue8m0" else (48, 56, 60, 64)
    words = {
        x: [
            [sum(rng.choice(choices) << 8 * i for i in range(4)) for _ in range(32)]
            for _ in range(WARPS)
        ]
        for x in "su"
    }
    if count == 1:
        byte = (0, 2, 3)[n % 3], (1, 2)[n % 2]
    else:
        byte = (2 * (count == 2), 0)
    thread = n % 2, (3, 1, 2, 0)[n]
    scales = _Scales(words, stype, count, k, byte, thread)
    meta = [_metadata(rng, kinds[0]) for _ in range(WARPS)] if sparse else None
    results = [
        _multiply_floats(
            a[w], b[w], c[w], (16, k), kinds, "f32", model.unit("sm_120a", ""),
            meta[w] if meta else None, 0, partial(scales.of, warp=w),
        )
        for w in range(WARPS)
    ]  # fmt: skip
    types = ["e2m1" if x == "f4" else x for x in kinds]
    sp = ".sp::ordered_metadata" if sparse else ""
    ptx = (
        f"mma{sp}.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale"
        f".scale_vec::{vector}.f32.{types[0]}.{types[1]}.f32.{stype}"
    )
    tail = ",%e,0x0" if sparse else ""
    tail += f",%s,{{{byte[0]},{thread[0]}}},%u,{{{byte[1]},{thread[1]}}}"
    more = dict(words) if meta is None else {"e": meta, **words}
    return _variant(name, ptx, ("sm_120a",), {"a": a, "b": b, "c": c}, results, tail, more)
