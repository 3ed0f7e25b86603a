"""Building blocks of the integer variants: operand sets, exact arithmetic, element-wise variants.

Models take and give unsigned Python integers; None marks a result that the PTX text leaves open.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tests.ptxgen.case import DTYPES, In, Out, Variant, width

COUNT = 256

EDGES = {
    8: (0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF),
    16: (0, 1, 2, 0xFF, 0x100, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF),
    32: (0, 1, 2, 31, 32, 33, 0xFFFF, 0x10000, 0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0x80000001,
         0xFFFF8000, 0xFFFFFFFE, 0xFFFFFFFF),
    64: (0, 1, 2, 63, 64, 65, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000,
         0x8000000000000001, 0xFFFFFFFF00000000, 0xFFFFFFFF80000000, 0xFFFFFFFFFFFFFFFE,
         0xFFFFFFFFFFFFFFFF),
}  # fmt: skip
COUNTS = (*range(40), 63, 64, 65, 100, 127, 128, 200, 255)
"""Shift counts and field positions worth trying."""

Model = Callable[..., "int | tuple[int | None, ...] | None"]


def signed(value: int, bits: int) -> int:
    """The value's low `bits` as two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    """The value's low `bits`."""
    return value & ((1 << bits) - 1)


def clamp(value: int, bits: int, is_signed: bool) -> int:
    """The nearest value of an integer type, as unsigned bits."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return unsigned(min(max(value, low), high), bits)


def typed(value: int, type_: str) -> int:
    """Bits as a number of type u32, s16, ..."""
    bits = int(type_[1:])
    return signed(value, bits) if type_[0] == "s" else unsigned(value, bits)


def operands(kinds: Sequence[str], seed: object = 0, count: int = COUNT) -> list[np.ndarray]:
    """Operand columns: crossed edges, then random values of random magnitude.

    A kind is a PTX type, or "count" (a u32 shift count), "small" (u32 below 256) or "pred".
    """
    rng = random.Random(repr((tuple(kinds), seed, count)))
    rows = [[_value(rng, k, n < count * 5 // 8) for k in kinds] for n in range(count)]
    dtypes = [DTYPES[4 if k in ("count", "small") else width(k)] for k in kinds]
    return [np.array(c, dtype=t) for c, t in zip(zip(*rows, strict=True), dtypes, strict=True)]


def _value(rng: random.Random, kind: str, edge: bool) -> int:
    if kind == "pred":
        return rng.getrandbits(1)
    if kind == "small":
        return rng.getrandbits(8)
    if kind == "count":
        return rng.choice(COUNTS) if rng.randrange(8) else rng.getrandbits(32)
    bits = 8 * width(kind)
    if edge:
        return rng.choice(EDGES[bits])
    value = rng.getrandbits(bits)
    shape = rng.randrange(4)
    if shape == 0:
        value >>= rng.randrange(bits)
    elif shape == 1:
        value = unsigned(~(value >> rng.randrange(bits)), bits)
    return value


def elementwise(
    group: str,
    name: str,
    ptx: str,
    inputs: str,
    outputs: str,
    model: Model,
    *,
    targets: tuple[str, ...] = ("sm_50",),
    setup: str = "",
    seed: object = 0,
    values: Sequence[np.ndarray] | None = None,
) -> Variant:
    """A variant from operand lists such as "a:b32 b:count" and "d:b32 p:pred"."""
    ins = [item.split(":") for item in inputs.split()]
    outs = [item.split(":") for item in outputs.split()]
    columns = values or operands([k for _, k in ins], seed)
    rows = []
    for row in zip(*(c.tolist() for c in columns), strict=True):
        answer = model(*row)
        rows.append(answer if isinstance(answer, tuple) else (answer,))
    results: dict[str, Out] = {}
    for place, (slot, type_) in enumerate(outs):
        column = [row[place] for row in rows]
        where = np.array([v is not None for v in column])
        bits = DTYPES[width(type_)]
        known = np.array([0 if v is None else int(v) for v in column], dtype=bits)
        results[slot] = Out(type_, known, where=None if where.all() else where)
    plain = {"count": "u32", "small": "u32"}
    given = {
        slot: In(plain.get(kind, kind), column)
        for (slot, kind), column in zip(ins, columns, strict=True)
    }
    return Variant(group, name, ptx, given, results, targets=targets, setup=setup)


def program(
    group: str,
    name: str,
    body: str,
    inputs: dict[str, In],
    outputs: dict[str, Out],
    *,
    regs: str = "",
    block: tuple[int, ...] = (128,),
    grid: tuple[int, ...] = (1,),
    shared: int = 0,
    targets: tuple[str, ...] = ("sm_50",),
    header: str = "",
    ptx: str = "",
    note: str = "",
) -> Variant:
    """A variant with a hand-written kernel.

    The body finds the buffers' addresses in %p_NAME, the thread's index in its CTA in %t and in
    the (one-dimensional) grid in %n; %i %j are u32, %x %y u64 scratch registers.
    """
    plain = Variant(group, name, ptx or body, inputs, outputs, targets=targets, note=note)
    names = [*inputs, *outputs]
    lines = [f".visible .entry {plain.entry}({','.join(f'.param .u64 p_{n}' for n in names)})", "{"]
    lines.append(".reg .u32 %t,%n,%i,%j; .reg .u64 %x,%y; " + regs)
    lines += [f".reg .u64 %p_{n}; ld.param.u64 %p_{n},[p_{n}];" for n in names]
    lines.append("mov.u32 %t,%tid.x; mov.u32 %i,%ctaid.x; mov.u32 %j,%ntid.x;")
    lines.append("mad.lo.u32 %n,%i,%j,%t;")
    text = "\n".join([*lines, body, "ret;", "}"])

    def three(shape: tuple[int, ...]) -> list[int]:
        return [*shape, 1, 1][:3]

    extra: dict[str, object] = {"grid": three(grid), "block": three(block)}
    if shared:
        extra["shared"] = shared
    return replace(plain, text=text, extra=extra, header=header)


def at(name: str, size: int, index: str = "%n", to: str = "%x") -> str:
    """PTX that puts the address of an element into a register."""
    return f"mad.wide.u32 {to},{index},{size},%p_{name};"
