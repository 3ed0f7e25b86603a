"""PTX logic, shift, bit field, byte permute and count instructions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ptxgen.case import Variant
from tests.ptxgen.int_kit import COUNTS, elementwise, operands, signed, typed, unsigned

LUTS = (0x00, 0x01, 0x16, 0x17, 0x1E, 0x2A, 0x3C, 0x48, 0x56, 0x69, 0x6A, 0x78, 0x80, 0x96, 0xA8,
        0xAC, 0xB8, 0xC6, 0xCA, 0xD8, 0xE2, 0xE8, 0xF1, 0xFE, 0xFF, 0x1B, 0x35, 0x53, 0x8E, 0x27,
        0x72, 0xE4, 0x41, 0x9A, 0x0D, 0xB0)  # fmt: skip
IMMEDIATE_COUNTS = (0, 1, 4, 15, 16, 31, 32, 33, 40, 63, 64, 65)


def variants() -> Iterator[Variant]:
    """All of this module."""
    yield from _logic()
    yield from _shift()
    yield from _funnel()
    yield from _fields()
    yield from _permute()
    yield from _count()


def _logic() -> Iterator[Variant]:
    two = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
    for n in (16, 32, 64):
        b = f"b{n}"
        for op, f in two.items():
            yield elementwise(
                "int_logic", f"{op}.{b}", f"{op}.{b} %d,%a,%b;", f"a:{b} b:{b}", f"d:{b}", f
            )
            for value in (0xFF, 0x5A5A, 0x7FFF, 0xFFF0, 0x12345678, 0x8000000000000001):
                v = unsigned(value, n)
                yield elementwise(
                    "int_logic",
                    f"{op}.{b}.{value:x}",
                    f"{op}.{b} %d,%a,{v};",
                    f"a:{b}",
                    f"d:{b}",
                    lambda a, f=f, v=v: f(a, v),
                )
            yield elementwise(
                "int_logic",
                f"{op}.not.{b}",
                f"not.{b} %d,%b; {op}.{b} %d,%a,%d;",
                f"a:{b} b:{b}",
                f"d:{b}",
                lambda a, b, f=f, n=n: f(a, unsigned(~b, n)),
            )
        yield elementwise(
            "int_logic",
            f"not.{b}",
            f"not.{b} %d,%a;",
            f"a:{b}",
            f"d:{b}",
            lambda a, n=n: unsigned(~a, n),
        )
        yield elementwise(
            "int_logic", f"cnot.{b}", f"cnot.{b} %d,%a;", f"a:{b}", f"d:{b}", lambda a: int(a == 0)
        )
    for lut in LUTS:
        yield elementwise(
            "int_logic",
            f"lop3.{lut:02x}",
            f"lop3.b32 %d,%a,%b,%c,{lut};",
            "a:b32 b:b32 c:b32",
            "d:b32",
            lambda a, b, c, t=lut: _lut(t, a, b, c),
        )
        yield elementwise(
            "int_logic",
            f"lop3.imm.{lut:02x}",
            f"lop3.b32 %d,%a,0x0ff0aa55,%c,{lut};",
            "a:b32 c:b32",
            "d:b32",
            lambda a, c, t=lut: _lut(t, a, 0x0FF0AA55, c),
        )
    yield elementwise(
        "int_logic",
        "test64",
        "and.b64 %d,%a,%b; setp.ne.u64 %p,%d,0;",
        "a:b64 b:b64",
        "d:b64 p:pred",
        lambda a, b: (a & b, int(a & b != 0)),
    )


def _lut(table: int, a: int, b: int, c: int) -> int:
    out = 0
    for k in range(32):
        index = (a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)
        out |= (table >> index & 1) << k
    return out


def shifted(op: str, type_: str, value: int, count: int) -> int:
    """PTX shl/shr: counts above the width are clamped to the width."""
    n = int(type_[1:])
    count = min(count, n)
    return unsigned(value << count if op == "shl" else typed(value, type_) >> count, n)


def _shift() -> Iterator[Variant]:
    forms = [("shl", f"b{n}") for n in (16, 32, 64)]
    forms += [("shr", f"{k}{n}") for n in (16, 32, 64) for k in "bus"]
    for op, t in forms:
        b, kind = f"b{t[1:]}", t.replace("b", "u")
        yield elementwise(
            "int_shift",
            f"{op}.{t}",
            f"{op}.{t} %d,%a,%b;",
            f"a:{b} b:count",
            f"d:{b}",
            lambda a, b, op=op, k=kind: shifted(op, k, a, b),
            targets=("sm_50", "sm_61"),
        )
        for count in IMMEDIATE_COUNTS:
            yield elementwise(
                "int_shift",
                f"{op}.{t}.{count}",
                f"{op}.{t} %d,%a,{count};",
                f"a:{b}",
                f"d:{b}",
                lambda a, op=op, k=kind, n=count: shifted(op, k, a, n),
            )


def _funnel() -> Iterator[Variant]:
    for side in "lr":
        for mode in ("clamp", "wrap"):

            def model(a: int, b: int, c: int, side: str = side, mode: str = mode) -> int:
                n = c & 31 if mode == "wrap" else min(c, 32)
                pair = b << 32 | a
                return unsigned((pair << n) >> 32 if side == "l" else pair >> n, 32)

            yield elementwise(
                "int_shift",
                f"shf.{side}.{mode}",
                f"shf.{side}.{mode}.b32 %d,%a,%b,%c;",
                "a:b32 b:b32 c:count",
                "d:b32",
                model,
                targets=("sm_50", "sm_61"),
            )
            for count in (0, 1, 8, 17, 31, 32, 33, 255):
                yield elementwise(
                    "int_shift",
                    f"shf.{side}.{mode}.{count}",
                    f"shf.{side}.{mode}.b32 %d,%a,%b,{count};",
                    "a:b32 b:b32",
                    "d:b32",
                    lambda a, b, f=model, n=count: f(a, b, n),
                )


def extract(value: int, position: int, length: int, type_: str) -> int:
    """PTX bfe with position and length already taken modulo 256."""
    n = int(type_[1:])
    top = n - 1
    if type_[0] == "u" or length == 0:
        sign = 0
    else:
        sign = value >> min(position + length - 1, top) & 1
    out = 0
    for k in range(n):
        inside = k < length and position + k <= top
        out |= ((value >> (position + k) & 1) if inside else sign) << k
    return out


def insert(field: int, base: int, position: int, length: int, n: int) -> int:
    """PTX bfi with position and length already taken modulo 256."""
    for k in range(length):
        if position + k < n:
            at = position + k
            base = base & ~(1 << at) | (field >> k & 1) << at
    return base


def _field_operands(kinds: list[str]) -> list[np.ndarray]:
    """Operands whose last two columns are positions and lengths."""
    first = operands([*kinds, "count", "count"], "fields")
    first[-1] = np.array([COUNTS[(3 * k) % len(COUNTS)] for k in range(256)], dtype=np.uint32)
    first[-2] &= np.uint32(0xFF)
    return first


def _fields() -> Iterator[Variant]:
    for t in ("u32", "s32", "u64", "s64"):
        b = f"b{t[1:]}"
        yield elementwise(
            "int_fields",
            f"bfe.{t}",
            f"bfe.{t} %d,%a,%b,%c;",
            f"a:{b} b:count c:count",
            f"d:{b}",
            lambda a, b, c, t=t: extract(a, b & 255, c & 255, t),
            values=_field_operands([b]),
            targets=("sm_50", "sm_61"),
        )
        for position, length in (
            (0, 8),
            (8, 8),
            (24, 8),
            (5, 27),
            (31, 1),
            (0, 32),
            (12, 0),
            (20, 40),
            (30, 9),
        ):
            yield elementwise(
                "int_fields",
                f"bfe.{t}.{position}.{length}",
                f"bfe.{t} %d,%a,{position},{length};",
                f"a:{b}",
                f"d:{b}",
                lambda a, t=t, p=position, n=length: extract(a, p, n, t),
            )
    for n in (32, 64):
        b = f"b{n}"
        yield elementwise(
            "int_fields",
            f"bfi.{b}",
            f"bfi.{b} %d,%a,%e,%b,%c;",
            f"a:{b} e:{b} b:count c:count",
            f"d:{b}",
            lambda a, e, b, c, n=n: insert(a, e, b & 255, c & 255, n),
            values=_field_operands([b, b]),
            targets=("sm_50", "sm_61"),
        )
        for position, length in ((0, 8), (8, 16), (24, 8), (31, 1), (0, 32), (12, 0), (20, 40)):
            yield elementwise(
                "int_fields",
                f"bfi.{b}.{position}.{length}",
                f"bfi.{b} %d,%a,%e,{position},{length};",
                f"a:{b} e:{b}",
                f"d:{b}",
                lambda a, e, p=position, k=length, n=n: insert(a, e, p, k, n),
            )


MODES = {
    "f4e": lambda k, n: k + n,
    "b4e": lambda k, n: (k - n) % 8,
    "rc8": lambda k, n: k,
    "ecl": lambda k, n: max(n, k),
    "ecr": lambda k, n: min(n, k),
    "rc16": lambda k, n: (k & 1) * 2 + (n & 1),
}
"""PRMT mode -> source byte of result byte n for selector k, from the PTX table."""


def permute(a: int, b: int, selector: int, mode: str = "") -> int:
    """PTX prmt."""
    source = [(b << 32 | a) >> 8 * k & 0xFF for k in range(8)]
    out = 0
    for n in range(4):
        if mode:
            byte = source[MODES[mode](selector & 3, n)]
        else:
            nibble = selector >> 4 * n & 15
            byte = source[nibble & 7]
            if nibble & 8:
                byte = 0xFF if byte & 0x80 else 0
        out |= byte << 8 * n
    return out


def _permute() -> Iterator[Variant]:
    yield elementwise(
        "int_prmt", "prmt", "prmt.b32 %d,%a,%b,%c;", "a:b32 b:b32 c:b32", "d:b32", permute
    )
    for selector in (
        0x3210,
        0x0123,
        0x5410,
        0x7632,
        0x4321,
        0x0808,
        0xFEDC,
        0x8888,
        0x6240,
        0xBA98,
        0x0000,
        0x4440,
    ):
        yield elementwise(
            "int_prmt",
            f"prmt.{selector:04x}",
            f"prmt.b32 %d,%a,%b,{selector};",
            "a:b32 b:b32",
            "d:b32",
            lambda a, b, s=selector: permute(a, b, s),
        )
    for mode in MODES:
        yield elementwise(
            "int_prmt",
            f"prmt.{mode}",
            f"prmt.b32.{mode} %d,%a,%b,%c;",
            "a:b32 b:b32 c:b32",
            "d:b32",
            lambda a, b, c, m=mode: permute(a, b, c, m),
        )
        for k in range(4):
            yield elementwise(
                "int_prmt",
                f"prmt.{mode}.{k}",
                f"prmt.b32.{mode} %d,%a,%b,{k};",
                "a:b32 b:b32",
                "d:b32",
                lambda a, b, m=mode, k=k: permute(a, b, k, m),
            )


def find(value: int, type_: str, shift_amount: bool) -> int:
    """PTX bfind: the highest bit that differs from the sign (unsigned: is set)."""
    n = int(type_[1:])
    if type_[0] == "s" and value >> (n - 1):
        value = unsigned(~value, n)
    index = value.bit_length() - 1
    if index < 0:
        return 0xFFFFFFFF
    return n - 1 - index if shift_amount else index


def _nth(mask: int, base: int, offset: int) -> int:
    """PTX fns: position of the offset-th set bit from base, 0xffffffff if none."""
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    step = 1 if offset > 0 else -1
    left, at = abs(offset), base
    while 0 <= at < 32:
        if mask >> at & 1:
            left -= 1
            if left == 0:
                return at
        at += step
    return 0xFFFFFFFF


def _count() -> Iterator[Variant]:
    for n in (32, 64):
        b = f"b{n}"
        yield elementwise(
            "int_count", f"popc.{b}", f"popc.{b} %d,%a;", f"a:{b}", "d:b32", lambda a: a.bit_count()
        )
        yield elementwise(
            "int_count",
            f"clz.{b}",
            f"clz.{b} %d,%a;",
            f"a:{b}",
            "d:b32",
            lambda a, n=n: n - a.bit_length(),
        )
        yield elementwise(
            "int_count",
            f"brev.{b}",
            f"brev.{b} %d,%a;",
            f"a:{b}",
            f"d:{b}",
            lambda a, n=n: int(f"{a:0{n}b}"[::-1], 2),
        )
        for kind in "us":
            for amount in (False, True):
                op = "bfind.shiftamt" if amount else "bfind"
                yield elementwise(
                    "int_count",
                    f"{op}.{kind}{n}",
                    f"{op}.{kind}{n} %d,%a;",
                    f"a:{b}",
                    "d:b32",
                    lambda a, t=f"{kind}{n}", s=amount: find(a, t, s),
                )
    columns = operands(["b32", "small", "small"], "fns")
    columns[1] &= np.uint32(31)
    columns[2] = (columns[2] % 23 - 11).astype(np.uint32)
    yield elementwise(
        "int_count",
        "fns.b32",
        "fns.b32 %d,%a,%b,%c;",
        "a:b32 b:b32 c:b32",
        "d:b32",
        lambda a, b, c: _nth(a, b, signed(c, 32)),
        values=columns,
    )
    yield elementwise(
        "int_count",
        "clz+popc.neg",
        "neg.s32 %d,%a; and.b32 %d,%d,%a; popc.b32 %f,%d; clz.b32 %d,%d;",
        "a:b32",
        "d:b32 f:b32",
        lambda a: (32 - (a & -a & 0xFFFFFFFF).bit_length(), int(a != 0)),
    )
