"""PTX video instructions: scalar and SIMD, as the pseudo-code of the PTX ISA says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from tests.ptxgen.case import Variant
from tests.ptxgen.int_kit import clamp, elementwise, signed, unsigned

TYPES = ("u32", "s32")
SELECTORS = ("", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1")
MERGES = SELECTORS[1:]
SECOND = ("add", "min", "max")
COMPARE: dict[str, Callable[[int, int], int]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
SCALAR: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}
AVERAGE = {"vavrg2": None, "vavrg4": None}


def select(value: int, type_: str, selector: str) -> int:
    """partSelectSignExtend."""
    bits, at = {"": (32, 0), "b": (8, 8), "h": (16, 16)}[selector[1:2]]
    part = value >> (at * int(selector[2]) if selector else 0) & ((1 << bits) - 1)
    return signed(part, bits) if type_ == "s32" else part


def finish(value: int, c: int, sat: bool, dtype: str, op2: str, dsel: str) -> int:
    """optSaturate, optSecondaryOp, optMerge."""
    bits = {"": 32, "b": 8, "h": 16}[dsel[1:2]]
    if sat:
        value = clamp(value, bits, dtype == "s32")
        if dtype == "s32":
            value = signed(value, bits)
    third = signed(c, 32) if dtype == "s32" else c
    if op2 == "add":
        value += third
    elif op2 == "min":
        value = min(value, third)
    elif op2 == "max":
        value = max(value, third)
    if dsel:
        at = bits * int(dsel[2])
        field = ((1 << bits) - 1) << at
        return value << at & field | c & ~field
    return unsigned(value, 32)


def variants() -> Iterator[Variant]:
    """All of this module."""
    yield from _scalar()
    yield from _shift()
    yield from _mad()
    yield from _set()
    yield from _simd(2)
    yield from _simd(4)


def _forms(count: int) -> Iterator[tuple[str, str, bool, str, str]]:
    """(a selector, b selector, sat, second operation, destination selector), all met in turn."""
    for k in range(count):
        asel, bsel = SELECTORS[k * 3 % 7], SELECTORS[k * 5 % 7]
        tail = [("", "")] * 2 + [(op, "") for op in SECOND] + [("", s) for s in MERGES]
        op2, dsel = tail[k % len(tail)]
        yield asel, bsel, bool((k // 2 + k) % 2), op2, dsel


def _scalar() -> Iterator[Variant]:
    for op, f in SCALAR.items():
        for n, (dt, at, bt) in enumerate(product(TYPES, repeat=3)):
            for asel, bsel, sat, op2, dsel in [("", "", s, "", "") for s in (False, True)] + [
                form for k, form in enumerate(_forms(77)) if k % 8 == n
            ]:
                yield _video("int_video", op, f, (dt, at, bt), asel, bsel, sat, op2, dsel)


def _video(
    group: str,
    op: str,
    f: Callable[[int, int], int],
    types: tuple[str, str, str],
    asel: str,
    bsel: str,
    sat: bool,
    op2: str,
    dsel: str,
    mode: str = "",
) -> Variant:
    dt, at, bt = types
    tail = (".sat" if sat else "") + mode + (f".{op2}" if op2 else "")
    third = ",%c" if op2 or dsel else ""

    def model(a: int, b: int, c: int) -> int:
        value = f(select(a, at, asel), select(b, bt, bsel))
        return finish(value, c, sat, dt, op2, dsel)

    name = f"{op}.{dt}.{at}.{bt}{tail}.d{dsel}.a{asel}.b{bsel}"
    ptx = f"{op}.{dt}.{at}.{bt}{tail} %d{dsel},%a{asel},%b{bsel}{third};"
    return elementwise(group, name, ptx, "a:b32 b:b32 c:b32", "d:b32", model)


def _shift() -> Iterator[Variant]:
    for op, mode in product(("vshl", "vshr"), (".clamp", ".wrap")):

        def f(a: int, b: int, op: str = op, mode: str = mode) -> int:
            n = min(b, 32) if mode == ".clamp" else b & 31
            return a << n if op == "vshl" else a >> n

        for n, (dt, at) in enumerate(product(TYPES, repeat=2)):
            for asel, bsel, sat, op2, dsel in [
                form for k, form in enumerate(_forms(60)) if k % 4 == n
            ] + [("", ".b0", s, "", "") for s in (False, True)]:
                if (asel, bsel, op2, dsel) == ("", ".b0", "", ""):
                    bsel = ".b0"
                yield _video(
                    "int_video_shift", op, f, (dt, at, "u32"), asel, bsel, sat, op2, dsel, mode
                )


def _mad() -> Iterator[Variant]:
    seen = set()
    for n, (at, bt) in enumerate(product(TYPES, repeat=2)):
        for k in range(28):
            asel, bsel = SELECTORS[(k * 3 + n) % 7], SELECTORS[k * 5 % 7]
            sat, scale = bool(k % 2), ("", ".shr7", ".shr15")[k // 2 % 3]
            sign = ("", "a", "b", "c", "po")[k % 5]
            final = "s32" if "s32" in (at, bt) or (sign in "abc" and sign) else "u32"
            form = (at, bt, asel, bsel, sat, scale, sign)
            if form in seen:
                continue
            seen.add(form)

            def model(
                a: int,
                b: int,
                c: int,
                form: tuple[str, str, str, str, bool, str, str] = form,
                final: str = final,
            ) -> int:
                at, bt, asel, bsel, sat, scale, sign = form
                value = select(a, at, asel) * select(b, bt, bsel)
                third = signed(c, 32) if final == "s32" else c
                value = -value if sign in ("a", "b") else value
                total = value + (-third if sign == "c" else third) + (sign == "po")
                total >>= {"": 0, ".shr7": 7, ".shr15": 15}[scale]
                return clamp(total, 32, final == "s32") if sat else unsigned(total, 32)

            minus = {s: "-" if sign == s else "" for s in "abc"}
            tail = (".po" if sign == "po" else "") + (".sat" if sat else "") + scale
            yield elementwise(
                "int_video_mad",
                f"vmad.{final}.{at}.{bt}{tail}.{sign}.a{asel}.b{bsel}",
                f"vmad.{final}.{at}.{bt}{tail} %d,{minus['a']}%a{asel},{minus['b']}%b{bsel},"
                f"{minus['c']}%c;",
                "a:b32 b:b32 c:b32",
                "d:b32",
                model,
            )


def _set() -> Iterator[Variant]:
    for n, (at, bt, cmp) in enumerate(product(TYPES, TYPES, COMPARE)):
        for asel, bsel, _, op2, dsel in [f for k, f in enumerate(_forms(66)) if k % 24 == n] + [
            ("", "", False, "", "")
        ]:

            def model(
                a: int,
                b: int,
                c: int,
                at: str = at,
                bt: str = bt,
                cmp: str = cmp,
                form: tuple[str, str, str, str] = (asel, bsel, op2, dsel),
            ) -> int:
                asel, bsel, op2, dsel = form
                truth = COMPARE[cmp](select(a, at, asel), select(b, bt, bsel))
                return finish(int(truth), c, False, "u32", op2, dsel)

            tail = f".{op2}" if op2 else ""
            third = ",%c" if op2 or dsel else ""
            yield elementwise(
                "int_video_set",
                f"vset.{at}.{bt}.{cmp}{tail}.d{dsel}.a{asel}.b{bsel}",
                f"vset.{at}.{bt}.{cmp}{tail} %d{dsel},%a{asel},%b{bsel}{third};",
                "a:b32 b:b32 c:b32",
                "d:b32",
                model,
            )


def lanes(a: int, b: int, type_: str, picks: str, n: int) -> list[int]:
    """extractAndSignExt: lane k is element picks[-1-k] of b:a."""
    bits = 32 // n
    pool = b << 32 | a
    values = [pool >> bits * int(digit) & ((1 << bits) - 1) for digit in reversed(picks)]
    return [signed(v, bits) if type_ == "s32" else v for v in values]


def simd(
    a: list[int],
    b: list[int],
    c: int,
    f: Callable[[int, int], int],
    n: int,
    sat: str,
    mask: str,
    add: bool,
) -> int:
    """The SIMD step: per lane, then merge into c or accumulate."""
    bits = 32 // n
    values = [f(x, y) for x, y in zip(a, b, strict=True)]
    if sat:
        values = [signed(clamp(v, bits, sat == "s32"), 64) for v in values]
    total, merged = c, c
    for k, value in enumerate(values):
        if str(k) in mask:
            total += value
            field = ((1 << bits) - 1) << bits * k
            merged = merged & ~field | value << bits * k & field
    return unsigned(total if add else merged, 32)


def _average(a: int, b: int) -> int:
    return (a + b + 1) >> 1 if a + b >= 0 else (a + b) >> 1


def _simd(n: int) -> Iterator[Variant]:
    letter = "h" if n == 2 else "b"
    default_a, default_b = ("10", "32") if n == 2 else ("3210", "7654")
    every = "10" if n == 2 else "3210"
    masks = ("", "0", "1") if n == 2 else ("", "0", "10", "2", "21", "3", "31", "320", "210")
    picks_a = ("", "00", "32", "21", "31") if n == 2 else ("", "0000", "7654", "6420", "0123")
    picks_b = ("", "22", "01", "13", "33") if n == 2 else ("", "4444", "3210", "7531", "1234")
    operations = {**SCALAR, "vavrg": _average} | {f"vset.{c}": COMPARE[c] for c in COMPARE}
    k = 0
    for op, f in operations.items():
        for types in product(TYPES, repeat=2 if op.startswith("vset") else 3):
            for kind in ("", "sat", "add"):
                if kind == "sat" and op.startswith("vset"):
                    continue
                k += 1
                mask, asel, bsel = masks[k % len(masks)], picks_a[k * 2 % 5], picks_b[k * 3 % 5]
                if k % 3 == 0:
                    mask = asel = bsel = ""
                yield _simd_one(
                    n, letter, op, f, types, kind, mask, asel, bsel, every, default_a, default_b
                )


def _simd_one(
    n: int,
    letter: str,
    op: str,
    f: Callable[[int, int], int],
    types: tuple[str, ...],
    kind: str,
    mask: str,
    asel: str,
    bsel: str,
    every: str,
    default_a: str,
    default_b: str,
) -> Variant:
    dtype = types[0] if len(types) == 3 else "u32"
    at, bt = types[-2:]

    def model(a: int, b: int, c: int) -> int:
        x = lanes(a, b, at, asel or default_a, n)
        y = lanes(a, b, bt, bsel or default_b, n)
        return simd(
            x,
            y,
            c,
            lambda p, q: int(f(p, q)),
            n,
            dtype if kind == "sat" else "",
            mask or every,
            kind == "add",
        )

    word, _, compare = op.partition(".")
    name = f"{word}{n}.{'.'.join(types)}" + (f".{compare}" if compare else "")
    tail = f".{kind}" if kind else ""
    suffix = [f".{letter}{s}" if s else "" for s in (mask, asel, bsel)]
    return elementwise(
        f"int_simd{n}",
        f"{name}{tail}.d{suffix[0]}.a{suffix[1]}.b{suffix[2]}",
        f"{name}{tail} %d{suffix[0]},%a{suffix[1]},%b{suffix[2]},%c;",
        "a:b32 b:b32 c:b32",
        "d:b32",
        model,
    )
