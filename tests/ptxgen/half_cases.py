"""Variants of the half-precision instructions of sm_53: f16 and f16x2."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from tests.numeric import model
from tests.ptxgen import ref
from tests.ptxgen.case import In, Out, Variant
from tests.ptxgen.float_cases import border_operands, dots, operands

TARGETS = ("sm_53", "sm_61")
PACKED = "f16x2"


def sources(number: int, packed: bool) -> list[np.ndarray]:
    """Operand arrays; packed ones hold a second set, shuffled, in the high halves."""
    low = operands("f16", number, 256)
    if not packed:
        return low
    order = np.random.default_rng(70).permutation(256)
    return [ref.packed([x, x[order]]) for x in low]


def ins(arrays: list[np.ndarray], packed: bool) -> dict[str, In]:
    type_ = "b32" if packed else "b16"
    return {n: In(type_, x) for n, x in zip("abc", arrays, strict=False)}


def _arithmetic(
    op: str, number: int, run: ref.Scalar, packed: bool, targets: tuple[str, ...]
) -> Variant:
    arrays = sources(number, packed)
    type_ = PACKED if packed else "f16"
    function = ref.pairs(run) if packed else run
    want = ref.apply(function, type_, *arrays)
    name = dots(op, type_)
    names = ",".join(f"%{x}" for x in "abc"[:number])
    out = Out(type_, want, "nan_any", float="f16")
    return Variant(
        "f16_arith", name, f"{name} %d,{names};", ins(arrays, packed), {"d": out}, targets
    )


def arithmetic() -> Iterator[Variant]:
    flags = list(itertools.product(("", "ftz"), ("", "sat")))
    for packed in (False, True):
        for (op, number, make), (ftz, sat), rnd in itertools.product(
            (("add", 2, ref.add), ("sub", 2, ref.sub), ("mul", 2, ref.mul), ("fma", 3, ref.fma)),
            flags,
            ("", "rn"),
        ):
            if op == "fma" and not rnd:
                continue
            product = "RN" if op in ("mul", "fma") else None
            run = ref.modified(make("f16", "RN"), "f16", bool(ftz), bool(sat), product)
            yield _arithmetic(dots(op, rnd, ftz, sat), number, run, packed, TARGETS)
        for ftz, (op, sign) in itertools.product(
            ("", "ftz"), (("neg", ref.negate), ("abs", ref.absolute))
        ):
            run = ref.modified(lambda a, f=sign: f(a, "f16"), "f16", bool(ftz), False)
            yield _arithmetic(dots(op, ftz), 1, run, packed, TARGETS)


def border() -> Iterator[Variant]:
    """.ftz where the result rounds up to the least normal number."""
    arrays = border_operands("f16")
    for op, number, run in (("mul", 2, ref.mul("f16", "RN")), ("fma.rn", 3, ref.fma("f16", "RN"))):
        for ftz in ("", "ftz"):
            full = dots(op, ftz, "f16")
            some = arrays[:number]
            want = ref.apply(ref.modified(run, "f16", bool(ftz), False, "RN"), "f16", *some)
            names = ",".join(f"%{x}" for x in "abc"[:number])
            yield Variant(
                "f16_border", full, f"{full} %d,{names};", ins(some, False),
                {"d": Out("f16", want, "nan_any", float="f16")}, TARGETS,
            )  # fmt: skip


def compares() -> Iterator[Variant]:
    for name, ftz in itertools.product(ref.COMPARES, ("", "ftz")):
        test = ref.compare(name, "f16")

        def run(a: int, b: int, test=test, ftz: str = ftz) -> bool:  # type: ignore[no-untyped-def]
            return bool(test(ref.flush(a, "f16"), ref.flush(b, "f16")) if ftz else test(a, b))

        a, b = sources(2, False)
        truth = ref.apply(run, "pred", a, b)
        full = dots("setp", name, ftz, "f16")
        yield Variant(
            "f16_compare", full, f"{full} %p,%a,%b;", ins([a, b], False),
            {"p": Out("pred", truth)}, TARGETS,
        )  # fmt: skip
        x, y = sources(2, True)
        low = ref.apply(lambda p, q, f=run: f(p & 0xFFFF, q & 0xFFFF), "pred", x, y)
        high = ref.apply(lambda p, q, f=run: f(p >> 16, q >> 16), "pred", x, y)
        full = dots("setp", name, ftz, PACKED)
        yield Variant(
            "f16_compare", full, f"{full} %p|%q,%a,%b;", ins([x, y], True),
            {"p": Out("pred", low), "q": Out("pred", high)}, TARGETS,
        )  # fmt: skip
        yield from _sets(name, ftz, (a, b), (x, y), truth, low, high)


def _sets(
    name: str,
    ftz: str,
    single: tuple[np.ndarray, np.ndarray],
    double: tuple[np.ndarray, np.ndarray],
    truth: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> Iterator[Variant]:
    ones = {"f16": 0x3C00, "u16": 0xFFFF, "s16": 0xFFFF, "u32": 0xFFFFFFFF, "s32": 0xFFFFFFFF}
    for type_, one in ones.items():
        full = dots("set", name, ftz, type_, "f16")
        out = {"d": Out(type_, truth * np.uint32(one))}
        yield Variant(
            "f16_compare", full, f"{full} %d,%a,%b;", ins(list(single), False), out, TARGETS
        )
    for type_, one in (("f16x2", 0x3C00), ("u32", 0xFFFF), ("s32", 0xFFFF)):
        full = dots("set", name, ftz, type_, PACKED)
        out = {"d": Out(type_, low * np.uint32(one) | (high * np.uint32(one)) << np.uint32(16))}
        yield Variant(
            "f16_compare", full, f"{full} %d,%a,%b;", ins(list(double), True), out, TARGETS
        )
    for fmt in ("f32", "f64") if not ftz else ("f32",):
        full = dots("set", name, ftz, "f16", fmt)
        p, q = operands(fmt, 2, 256)
        test = ref.compare(name, fmt)

        def run(s: int, t: int, test=test, fmt: str = fmt) -> bool:  # type: ignore[no-untyped-def]
            return bool(test(ref.flush(s, fmt), ref.flush(t, fmt)) if ftz else test(s, t))

        out = {"d": Out("f16", ref.apply(run, "pred", p, q) * np.uint32(0x3C00))}
        wide = {"a": In(fmt, p), "b": In(fmt, q)}
        yield Variant("f16_compare", full, f"{full} %d,%a,%b;", wide, out, TARGETS)


def combined() -> Iterator[Variant]:
    """setp and set with a boolean operator."""
    rng = np.random.default_rng(71)
    c = rng.integers(0, 2, 256).astype(np.uint32)
    a, b = sources(2, False)
    x, y = sources(2, True)
    for bop, name, negated in itertools.product(("and", "or", "xor"), ("lt", "geu"), (False, True)):
        test = ref.compare(name, "f16")
        mark, tail = ("!", ".not") if negated else ("", "")

        def run(p: int, q: int, r: int, test=test, bop=bop, negated=negated) -> bool:  # type: ignore[no-untyped-def]
            return bool(ref.boolean(bop, test(p, q), bool(r) != negated))

        full = dots("setp", name, bop, "f16")
        yield Variant(
            "f16_compare", full + tail, f"{full} %p,%a,%b,{mark}%c;",
            {**ins([a, b], False), "c": In("pred", c)},
            {"p": Out("pred", ref.apply(run, "pred", a, b, c))}, TARGETS,
        )  # fmt: skip
        low = ref.apply(lambda p, q, r, f=run: f(p & 0xFFFF, q & 0xFFFF, r), "pred", x, y, c)
        high = ref.apply(lambda p, q, r, f=run: f(p >> 16, q >> 16, r), "pred", x, y, c)
        full = dots("setp", name, bop, PACKED)
        yield Variant(
            "f16_compare", full + tail, f"{full} %p|%q,%a,%b,{mark}%c;",
            {**ins([x, y], True), "c": In("pred", c)},
            {"p": Out("pred", low), "q": Out("pred", high)}, TARGETS,
        )  # fmt: skip
        full = dots("set", name, bop, "u32", PACKED)
        want = low * np.uint32(0xFFFF) | (high * np.uint32(0xFFFF)) << np.uint32(16)
        yield Variant(
            "f16_compare", full + tail, f"{full} %d,%a,%b,{mark}%c;",
            {**ins([x, y], True), "c": In("pred", c)}, {"d": Out("u32", want)}, TARGETS,
        )  # fmt: skip


def operand_kinds() -> Iterator[Variant]:
    """Constants, broadcast halves and negated operands: the swizzles and immediate forms."""
    x, y, z = sources(3, True)
    fma = ref.fma("f16", "RN")
    cases: list[tuple[str, str, str, ref.Scalar]] = [
        ("fma.low", "mov.b32 {%l,%h},%a; mov.b32 %k,{%l,%l};", "fma.rn.f16x2 %d,%k,%b,%c;",
         lambda p, q, r: _pair(lambda i: fma(p & 0xFFFF, _h(q, i), _h(r, i)))),
        ("fma.high", "mov.b32 {%l,%h},%b; mov.b32 %k,{%h,%h};", "fma.rn.f16x2 %d,%a,%k,%c;",
         lambda p, q, r: _pair(lambda i: fma(_h(p, i), q >> 16, _h(r, i)))),
        ("fma.third", "mov.b32 {%l,%h},%c; mov.b32 %k,{%h,%h};", "fma.rn.f16x2 %d,%a,%b,%k;",
         lambda p, q, r: _pair(lambda i: fma(_h(p, i), _h(q, i), r >> 16))),
        ("fma.neg", "neg.f16x2 %k,%a;", "fma.rn.f16x2 %d,%k,%b,%c;",
         lambda p, q, r: _pair(lambda i: fma(_h(p, i) ^ 0x8000, _h(q, i), _h(r, i)))),
        ("fma.imm", "mov.b32 %k,0x3e003c00;", "fma.rn.f16x2 %d,%a,%k,%c;",
         lambda p, q, r: _pair(lambda i: fma(_h(p, i), _h(0x3E003C00, i), _h(r, i)))),
        ("fma.imm.long", "mov.b32 %k,0x2e66b555;", "fma.rn.f16x2 %d,%a,%k,%c;",
         lambda p, q, r: _pair(lambda i: fma(_h(p, i), _h(0x2E66B555, i), _h(r, i)))),
        ("add.imm", "mov.b32 %k,0xc2003c00;", "add.f16x2 %d,%a,%k;",
         lambda p, q, r: _pair(lambda i: ref.add("f16", "RN")(_h(p, i), _h(0xC2003C00, i)))),
        ("add.imm.long", "mov.b32 %k,0x2e66b555;", "add.f16x2 %d,%a,%k;",
         lambda p, q, r: _pair(lambda i: ref.add("f16", "RN")(_h(p, i), _h(0x2E66B555, i)))),
        ("mul.imm", "mov.b32 %k,0xc2003c00;", "mul.f16x2 %d,%a,%k;",
         lambda p, q, r: _pair(lambda i: ref.mul("f16", "RN")(_h(p, i), _h(0xC2003C00, i)))),
        ("mul.imm.long", "mov.b32 %k,0x2e66b555;", "mul.f16x2 %d,%a,%k;",
         lambda p, q, r: _pair(lambda i: ref.mul("f16", "RN")(_h(p, i), _h(0x2E66B555, i)))),
        ("add.abs", "abs.f16x2 %k,%b; neg.f16x2 %k,%k;", "add.f16x2 %d,%a,%k;",
         lambda p, q, r: _pair(lambda i: ref.add("f16", "RN")(_h(p, i), _h(q, i) | 0x8000))),
        ("mul.swap", "mov.b32 {%l,%h},%a; mov.b32 %k,{%h,%l};", "mul.f16x2 %d,%k,%b;",
         lambda p, q, r: _pair(lambda i: ref.mul("f16", "RN")(_h(p, 1 - i), _h(q, i)))),
    ]  # fmt: skip
    for label, setup, ptx, run in cases:
        want = ref.apply(run, PACKED, x, y, z)
        yield Variant(
            "f16_operands", f"{label}.f16x2", ptx, ins([x, y, z], True),
            {"d": Out(PACKED, want, "nan_any", float="f16")}, TARGETS,
            setup=".reg .b16 %l,%h; .reg .b32 %k;" + setup,
        )  # fmt: skip
    # One half of a pair computed, the other kept: the merging destinations.
    for half in (0, 1):
        order = "{%m,%h}" if half == 0 else "{%l,%m}"
        want = ref.apply(
            lambda p, q, r, n=half: _pair(
                lambda i: ref.add("f16", "RN")(_h(p, n), _h(q, n)) if i == n else _h(r, i)
            ),
            PACKED, x, y, z,
        )  # fmt: skip
        setup = (
            ".reg .b16 %l,%h,%m,%s,%t,%u,%v; "
            "mov.b32 {%s,%t},%a; mov.b32 {%u,%v},%b; mov.b32 {%l,%h},%c;"
        )
        first, second = ("%s", "%u") if half == 0 else ("%t", "%v")
        yield Variant(
            "f16_operands", f"add.merge.h{half}",
            f"add.f16 %m,{first},{second}; mov.b32 %d,{order};",
            ins([x, y, z], True), {"d": Out(PACKED, want, "nan_any", float="f16")}, TARGETS,
            setup=setup,
        )  # fmt: skip


def _h(pair: int, index: int) -> int:
    return pair >> 16 * index & 0xFFFF


def _pair(function) -> int:  # type: ignore[no-untyped-def]
    return int(function(1)) << 16 | int(function(0))


def mixed() -> Iterator[Variant]:
    """f16 values converted to f32, used there and converted back."""
    a, b = sources(2, False)
    c = operands("f32", 1, 256)[0]
    setup = ".reg .f32 %x,%y,%z;"

    def run(p: int, q: int, r: int) -> int:
        x, y = (model.convert(v, "f16", "f32", "RN") for v in (p, q))
        return model.fma(x, y, r, "f32", "RN")

    want = ref.apply(run, "f32", a, b, c)
    yield Variant(
        "f16_operands", "cvt+fma.f32",
        "cvt.f32.f16 %x,%a; cvt.f32.f16 %y,%b; fma.rn.f32 %d,%x,%y,%c;",
        {"a": In("b16", a), "b": In("b16", b), "c": In("f32", c)},
        {"d": Out("f32", want, "nan_any", float="f32")}, TARGETS, setup=setup,
    )  # fmt: skip
    narrowed = ref.apply(
        lambda p, q, r: model.convert(run(p, q, r), "f32", "f16", "RN"), "f16", a, b, c
    )
    yield Variant(
        "f16_operands", "cvt+fma.f32+cvt.f16",
        "cvt.f32.f16 %x,%a; cvt.f32.f16 %y,%b; fma.rn.f32 %z,%x,%y,%c; cvt.rn.f16.f32 %d,%z;",
        {"a": In("b16", a), "b": In("b16", b), "c": In("f32", c)},
        {"d": Out("f16", narrowed, "nan_any", float="f16")}, TARGETS, setup=setup,
    )  # fmt: skip


def variants() -> list[Variant]:
    """All of them."""
    makers = (arithmetic(), border(), compares(), combined(), operand_kinds(), mixed())
    return list(itertools.chain(*makers))
