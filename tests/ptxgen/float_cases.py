"""Variants of the f32 and f64 instructions: arithmetic, compares, selects, approximations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np

from tests.numeric import model
from tests.ptxgen import ref
from tests.ptxgen.case import In, Out, Variant

BOTH = ("sm_50", "sm_61")
_cache: dict[tuple[str, int, int], list[np.ndarray]] = {}


def operands(fmt: str, number: int, count: int = 256) -> list[np.ndarray]:
    """Operand arrays of a format, the same for every variant."""
    key = (fmt, number, count)
    if key not in _cache:
        _cache[key] = model.vectors(fmt, count, number, seed=40 + number)
    return _cache[key]


def inputs(type_: str, arrays: list[np.ndarray]) -> dict[str, In]:
    return {name: In(type_, x) for name, x in zip("abc", arrays, strict=False)}


def arithmetic(
    group: str, name: str, fmt: str, number: int, operation: ref.Scalar, **options: object
) -> Variant:
    """A variant with `number` operands of a format and a result of the same."""
    arrays = operands(fmt, number, 256 if number < 3 else 384)
    names = ",".join(f"%{x}" for x in "abc"[:number])
    want = ref.apply(operation, fmt, *arrays)
    out = Out(fmt, want, "nan_any", float=fmt)
    return Variant(group, name, f"{name} %d,{names};", inputs(fmt, arrays), {"d": out}, **options)  # type: ignore[arg-type]


def dots(*parts: str) -> str:
    return ".".join(x for x in parts if x)


# ---- arithmetic ------------------------------------------------------------------------


def f32_arith() -> Iterator[Variant]:
    basic = {"add": ref.add, "sub": ref.sub, "mul": ref.mul}
    flags = list(itertools.product(("", "ftz"), ("", "sat")))
    for op, make in basic.items():
        for rnd, (ftz, sat) in itertools.product(("", *ref.ROUNDINGS), flags):
            mode = ref.ROUNDINGS.get(rnd, "RN")
            product = mode if op == "mul" else None
            run = ref.modified(make("f32", mode), "f32", bool(ftz), bool(sat), product)
            yield arithmetic("f32_arith", dots(op, rnd, ftz, sat, "f32"), "f32", 2, run)
    for op, rnd, (ftz, sat) in itertools.product(("fma", "mad"), ref.ROUNDINGS, flags):
        mode = ref.ROUNDINGS[rnd]
        run = ref.modified(ref.fma("f32", mode), "f32", bool(ftz), bool(sat), mode)
        yield arithmetic("f32_fma", dots(op, rnd, ftz, sat, "f32"), "f32", 3, run)
    for ftz in ("", "ftz"):
        for op in ("min", "max"):
            run = ref.modified(ref.minimum("f32", op == "max"), "f32", bool(ftz), False)
            yield arithmetic("f32_arith", dots(op, ftz, "f32"), "f32", 2, run)
        for op, sign in (("abs", ref.absolute), ("neg", ref.negate)):
            run = ref.modified(lambda a, f=sign: f(a, "f32"), "f32", bool(ftz), False)
            yield arithmetic("f32_arith", dots(op, ftz, "f32"), "f32", 1, run)


def border_operands(fmt: str) -> list[np.ndarray]:
    """Factors whose product is a few units around the least normal number, and a zero addend."""
    precision, emax, width = model.FORMATS[fmt]
    m = precision - 1
    rng = np.random.default_rng(54)
    dtype = {16: np.uint16, 32: np.uint32}[width]
    lift = rng.integers(0, min(40, emax - 2), 256)
    # (1 + e) * (2 - f), exponents adding up to one below the least normal's.
    e, f = rng.integers(0, 6, 256), rng.integers(1, 10, 256)
    first = (emax - lift << m) + e
    second = (lift << m) + (1 << m) - f
    sign = rng.integers(0, 2, (2, 256)) << width - 1
    return [(x | s).astype(dtype) for x, s in zip((first, second), sign, strict=True)] + [
        np.zeros(256, dtype)
    ]


def f32_border() -> Iterator[Variant]:
    """.ftz where the result rounds up to the least normal number."""
    a, b, c = border_operands("f32")
    for rnd, mode in ref.ROUNDINGS.items():
        for op, names, run in (
            ("mul", "%a,%b", ref.mul("f32", mode)),
            ("fma", "%a,%b,%c", ref.fma("f32", mode)),
        ):
            arrays = [a, b, c][: 2 + (op == "fma")]
            for ftz in ("", "ftz"):
                full = dots(op, rnd, ftz, "f32")
                want = ref.apply(ref.modified(run, "f32", bool(ftz), False, mode), "f32", *arrays)
                yield Variant(
                    "f32_border", full, f"{full} %d,{names};", inputs("f32", arrays),
                    {"d": Out("f32", want, "nan_any", float="f32")},
                )  # fmt: skip


def f32_div_sqrt() -> Iterator[Variant]:
    """Correctly rounded division, reciprocal, root; with .ftz the border of subnormals is open."""
    for rnd, ftz in itertools.product(ref.ROUNDINGS, ("", "ftz")):
        mode = ref.ROUNDINGS[rnd]
        for op, number, make in (("div", 2, ref.div), ("rcp", 1, ref.rcp), ("sqrt", 1, ref.sqrt)):
            run = ref.modified(make("f32", mode), "f32", bool(ftz), False)
            name = dots(op, rnd, ftz, "f32")
            yield arithmetic("f32_div_sqrt", name, "f32", number, run, targets=BOTH)


def f64_arith() -> Iterator[Variant]:
    for op, make in (("add", ref.add), ("sub", ref.sub), ("mul", ref.mul)):
        for rnd in ("", *ref.ROUNDINGS):
            run = make("f64", ref.ROUNDINGS.get(rnd, "RN"))
            yield arithmetic("f64_arith", dots(op, rnd, "f64"), "f64", 2, run)
    for op, rnd in itertools.product(("fma", "mad"), ref.ROUNDINGS):
        run = ref.fma("f64", ref.ROUNDINGS[rnd])
        yield arithmetic("f64_arith", dots(op, rnd, "f64"), "f64", 3, run)
    for op in ("min", "max"):
        run = ref.minimum("f64", op == "max")
        yield arithmetic("f64_arith", dots(op, "f64"), "f64", 2, run)
    for op, sign in (("abs", ref.absolute), ("neg", ref.negate)):
        yield arithmetic("f64_arith", f"{op}.f64", "f64", 1, lambda a, f=sign: f(a, "f64"))


def f64_div_sqrt() -> Iterator[Variant]:
    for rnd, mode in ref.ROUNDINGS.items():
        for op, number, make in (("div", 2, ref.div), ("rcp", 1, ref.rcp), ("sqrt", 1, ref.sqrt)):
            run = make("f64", mode)
            name = dots(op, rnd, "f64")
            yield arithmetic("f64_div_sqrt", name, "f64", number, run, targets=BOTH)


def signs_and_tests() -> Iterator[Variant]:
    for fmt in ("f32", "f64"):
        width = model.FORMATS[fmt][2]
        top = 1 << width - 1
        arrays = operands(fmt, 2)
        want = ref.apply(lambda a, b, t=top: a & t | b & ~t, fmt, *arrays)
        yield Variant(
            "float_bits", f"copysign.{fmt}", f"copysign.{fmt} %d,%a,%b;",
            inputs(fmt, arrays), {"d": Out(fmt, want, "nan_any", float=fmt)},
        )  # fmt: skip
        for kind in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            (a,) = operands(fmt, 1)
            want = ref.apply(ref.testp(kind, fmt), "pred", a)
            name = f"testp.{kind}.{fmt}"
            yield Variant(
                "float_bits", name, f"{name} %p,%a;", inputs(fmt, [a]), {"p": Out("pred", want)}
            )


# ---- compares and selects --------------------------------------------------------------


def compares(fmt: str) -> Iterator[Variant]:
    group = f"{fmt}_compare"
    a, b = operands(fmt, 2)
    flips = ("", "ftz") if fmt == "f32" else ("",)
    rng = np.random.default_rng(50)
    c = rng.integers(0, 2, len(a)).astype(np.uint32)
    for name, ftz in itertools.product(ref.COMPARES, flips):
        test = _flushed(ref.compare(name, fmt), fmt, ftz)
        truth = ref.apply(test, "pred", a, b)
        full = dots("setp", name, ftz, fmt)
        yield Variant(
            group, full, f"{full} %p,%a,%b;", inputs(fmt, [a, b]), {"p": Out("pred", truth)}
        )
        for target in ("u32", "s32", "f32"):
            one = 0x3F800000 if target == "f32" else 0xFFFFFFFF
            full = dots("set", name, ftz, target, fmt)
            out = {"d": Out(target, truth * np.uint32(one))}
            yield Variant(group, full, f"{full} %d,%a,%b;", inputs(fmt, [a, b]), out)
    for bop, name in itertools.product(("and", "or", "xor"), ("lt", "neu", "nan")):
        test = ref.compare(name, fmt)
        for negated in (False, True):
            truth = ref.apply(
                lambda x, y, z, t=test, o=bop, n=negated: ref.boolean(o, t(x, y), bool(z) != n),
                "pred",
                a,
                b,
                c,
            )
            other = ref.apply(
                lambda x, y, z, t=test, o=bop, n=negated: ref.boolean(o, not t(x, y), bool(z) != n),
                "pred",
                a,
                b,
                c,
            )
            mark = "!" if negated else ""
            ins = {**inputs(fmt, [a, b]), "c": In("pred", c)}
            full = dots("setp", name, bop, fmt)
            yield Variant(
                group, f"{full}.pq{'.not' if negated else ''}", f"{full} %p|%q,%a,%b,{mark}%c;",
                ins, {"p": Out("pred", truth), "q": Out("pred", other)},
            )  # fmt: skip
            full = dots("set", name, bop, "u32", fmt)
            yield Variant(
                group, f"{full}{'.not' if negated else ''}", f"{full} %d,%a,%b,{mark}%c;",
                ins, {"d": Out("u32", truth * np.uint32(0xFFFFFFFF))},
            )  # fmt: skip


def _flushed(test: Callable[[int, int], bool], fmt: str, ftz: str) -> Callable[[int, int], bool]:
    if not ftz:
        return test
    return lambda x, y: test(ref.flush(x, fmt), ref.flush(y, fmt))


def selects() -> Iterator[Variant]:
    rng = np.random.default_rng(51)
    for fmt in ("f32", "f64"):
        a, b = operands(fmt, 2)
        p = rng.integers(0, 2, len(a)).astype(np.uint32)
        ins = {**inputs(fmt, [a, b]), "c": In("pred", p)}
        want = np.where(p != 0, a, b)
        yield Variant(
            "float_select", f"selp.{fmt}", f"selp.{fmt} %d,%a,%b,%c;", ins, {"d": Out(fmt, want)}
        )
    (c,) = operands("f32", 1)
    for type_ in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"):
        fmt = {"16": "f16", "32": "f32", "64": "f64"}[type_[1:]]
        a, b = operands(fmt, 2)
        for ftz in ("", "ftz"):
            taken = ref.apply(
                lambda x, z=ftz: ref.compare("ge", "f32")(ref.flush(x, "f32") if z else x, 0),
                "pred",
                c,
            )
            full = dots("slct", ftz, type_, "f32")
            ins = {"a": In(type_, a), "b": In(type_, b), "c": In("f32", c)}
            out = {"d": Out(type_, np.where(taken != 0, a, b))}
            yield Variant("float_select", full, f"{full} %d,%a,%b,%c;", ins, out)


# ---- operand kinds: immediates, parameters, signs --------------------------------------


def operand_kinds() -> Iterator[Variant]:
    """Constants that fit 20 bits and that do not, uniform parameters, negated and |x| sources."""
    short = {"f32": ("0f3FC00000", 0x3FC00000), "f64": ("0d3FF8000000000000", 0x3FF8 << 48)}
    long = {"f32": ("0f3DCCCCCD", 0x3DCCCCCD), "f64": ("0d3FB999999999999A", 0x3FB999999999999A)}
    for fmt, (size, table) in itertools.product(("f32", "f64"), (("short", short), ("long", long))):
        text, bits = table[fmt]
        a, b = operands(fmt, 2)
        forms: list[tuple[str, str, ref.Scalar]] = [
            (f"add.rn.{fmt}", f"%a,{text}", lambda x, y, f=fmt, k=bits: model.add(x, k, f, "RN")),
            (f"mul.rn.{fmt}", f"%a,{text}", lambda x, y, f=fmt, k=bits: model.mul(x, k, f, "RN")),
            (f"fma.rn.{fmt}", f"%a,{text},%b",
             lambda x, y, f=fmt, k=bits: model.fma(x, k, y, f, "RN")),
            (f"fma.rz.{fmt}", f"%a,%b,{text}",
             lambda x, y, f=fmt, k=bits: model.fma(x, y, k, f, "RZ")),
            (f"min.{fmt}", f"%a,{text}", lambda x, y, f=fmt, k=bits: ref.minimum(f, False)(x, k)),
        ]  # fmt: skip
        for full, source, run in forms:
            out = {"d": Out(fmt, ref.apply(run, fmt, a, b), "nan_any", float=fmt)}
            spot = "third" if source.endswith(text) and "fma" in full else "imm"
            name = f"{full}.{spot}.{size}"
            yield Variant("float_operands", name, f"{full} %d,{source};", inputs(fmt, [a, b]), out)
    for fmt in ("f32", "f64"):
        a, b, _ = operands(fmt, 3)
        k = np.full(len(a), short[fmt][1], a.dtype)
        ins = {"a": In(fmt, a), "b": In(fmt, b), "k": In(fmt, k, param=True)}
        for op, source, run in _with_constant(fmt):
            out = {"d": Out(fmt, ref.apply(run, fmt, a, b, k), "nan_any", float=fmt)}
            spot = "third" if source.endswith("%b,%k") else "second"
            name = f"{op}.{fmt}.param.{spot}"
            yield Variant("float_operands", name, f"{op}.{fmt} %d,{source};", ins, out)
        yield from _signed_operands(fmt)


_Operation = tuple[str, str, Callable[[int, int, int], int]]
"""An instruction, its operands in PTX, and what it gives of the three that were loaded."""


def _with_constant(fmt: str) -> tuple[_Operation, ...]:
    return (
        ("add.rn", "%a,%k", lambda x, y, z: model.add(x, z, fmt, "RN")),
        ("mul.rm", "%a,%k", lambda x, y, z: model.mul(x, z, fmt, "RM")),
        ("fma.rn", "%a,%k,%b", lambda x, y, z: model.fma(x, z, y, fmt, "RN")),
        ("fma.rp", "%a,%b,%k", lambda x, y, z: model.fma(x, y, z, fmt, "RP")),
        ("max", "%a,%k", lambda x, y, z: ref.minimum(fmt, True)(x, z)),
    )


def _with_signs(fmt: str, first: Callable[[int], int]) -> tuple[_Operation, ...]:
    def neg(x: int) -> int:
        return ref.negate(x, fmt)

    def mag(x: int) -> int:
        return ref.absolute(x, fmt)

    return (
        ("add.rn", "%na,%nb", lambda x, y, z: model.add(first(x), mag(y), fmt, "RN")),
        ("mul.rn", "%na,%c", lambda x, y, z: model.mul(first(x), z, fmt, "RN")),
        ("fma.rn", "%na,%c,%nc", lambda x, y, z: model.fma(first(x), z, neg(z), fmt, "RN")),
        ("min", "%na,%nb", lambda x, y, z: ref.minimum(fmt, False)(first(x), mag(y))),
    )


def _signed_operands(fmt: str) -> Iterator[Variant]:
    a, b, c = operands(fmt, 3)

    def neg(x: int) -> int:
        return ref.negate(x, fmt)

    def negative(x: int) -> int:
        return ref.negate(ref.absolute(x, fmt), fmt)

    reg = f".reg .{fmt} %na,%nb,%nc;"
    sign = f"neg.{fmt} %na,%a; abs.{fmt} %nb,%b; neg.{fmt} %nc,%c;"
    both = f"abs.{fmt} %na,%a; neg.{fmt} %na,%na; abs.{fmt} %nb,%b; neg.{fmt} %nc,%c;"
    for label, setup, first in (("neg", sign, neg), ("negabs", both, negative)):
        for op, source, run in _with_signs(fmt, first):
            out = {"d": Out(fmt, ref.apply(run, fmt, a, b, c), "nan_any", float=fmt)}
            yield Variant(
                "float_operands", f"{op}.{fmt}.{label}", f"{op}.{fmt} %d,{source};",
                inputs(fmt, [a, b, c]), {**out}, setup=reg + setup,
            )  # fmt: skip

        def less(x: int, y: int, z: int, first: Callable[[int], int] = first) -> int:
            return ref.compare("lt", fmt)(first(x), ref.absolute(y, fmt))

        truth = ref.apply(less, "pred", a, b, c)
        yield Variant(
            "float_operands", f"setp.lt.{fmt}.{label}", f"setp.lt.{fmt} %p,%na,%nb;",
            inputs(fmt, [a, b, c]), {"p": Out("pred", truth)}, setup=reg + setup,
        )  # fmt: skip


# ---- approximations --------------------------------------------------------------------


def approximations() -> Iterator[Variant]:
    rng = np.random.default_rng(52)
    wide = rng.integers(1, 255, 192).astype(np.uint32) << 23 | rng.integers(0, 1 << 23, 192).astype(
        np.uint32
    )
    edges = np.array(
        [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F800000, 0xFF800000, 0x7FC00000,
         0x3F800000, 0xBF800000, 0x40000000, 0x7E800000, 0x7E800001, 0x7F7FFFFF, 0xFF7FFFFF]
        + [0x3F800000 + k for k in range(-24, 24)], np.uint32)  # fmt: skip
    positive = np.concatenate([wide, edges])
    anything = positive ^ (rng.integers(0, 2, 256).astype(np.uint32) << 31)
    trig = rng.uniform(-6.28, 6.28, 256).astype(np.float32).view(np.uint32)
    trig[:9] = [
        0,
        0x80000000,
        1,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x00800000,
        0x40490FDB,
        0x3FC90FDB,
    ]
    power = rng.uniform(-150, 129, 256).astype(np.float32).view(np.uint32)
    power[:9] = [
        0,
        0x80000000,
        1,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0xC2FC0000,
        0x43000000,
        0x3F800000,
    ]
    values = {"rcp": anything, "ex2": power, "sin": trig, "cos": trig}
    for op, ftz in itertools.product(APPROXIMATED, ("", "ftz")):
        yield _approximation(op, ftz, values.get(op, positive))


Real = Callable[[mpmath.mpf], mpmath.mpf]
_ULP = mpmath.mpf(2) ** -23
APPROXIMATED: dict[str, tuple[Real, Real]] = {
    "rcp": (lambda x: 1 / x, lambda y: abs(y) * _ULP),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), lambda y: abs(y) * mpmath.mpf(2) ** -22.4),
    "sqrt": (mpmath.sqrt, lambda y: abs(y) * _ULP * 2),
    "lg2": (lambda x: mpmath.log(x, 2), lambda y: max(abs(y) * _ULP, mpmath.mpf(2) ** -22)),
    "ex2": (lambda x: mpmath.mpf(2) ** x, lambda y: abs(y) * _ULP * 2 + mpmath.mpf(2) ** -149),
    "sin": (mpmath.sin, lambda y: mpmath.mpf(2) ** -20.5),
    "cos": (mpmath.cos, lambda y: mpmath.mpf(2) ** -20.5),
}
"""Function and allowed error of its result."""


SPECIAL = {
    "rcp": {"zero": "inf", "inf": "zero"},
    "rsqrt": {"zero": "inf", "inf": "+0", "negative": "nan"},
    "sqrt": {"zero": "same", "inf": "same", "negative": "nan"},
    "lg2": {"zero": "-inf", "inf": "same", "negative": "nan"},
    "ex2": {"zero": "one", "inf": "same", "-inf": "+0"},
    "sin": {"zero": "same", "inf": "nan", "-inf": "nan"},
    "cos": {"zero": "one", "inf": "nan", "-inf": "nan"},
}
"""Results of zeros, infinities and negative operands, from PTX' tables."""


def _special(op: str, a: int) -> int | None:
    rules, sign = SPECIAL[op], a & 0x80000000
    if model.is_nan(a, "f32"):
        return model.OWN_NAN["f32"]
    if model.is_inf(a, "f32"):
        rule = rules.get("-inf" if sign else "inf", rules["inf"])
        if sign and "negative" in rules:
            rule = rules["negative"]
    elif a & 0x7FFFFFFF == 0:
        rule = rules["zero"]
    elif sign and "negative" in rules:
        rule = rules["negative"]
    else:
        return None
    return {
        "inf": sign | 0x7F800000, "zero": sign, "+0": 0, "-inf": 0xFF800000, "same": a,
        "nan": model.OWN_NAN["f32"], "one": 0x3F800000,
    }[rule]  # fmt: skip


def _approximation(op: str, ftz: str, values: np.ndarray) -> Variant:
    function, error = APPROXIMATED[op]
    lows, highs = [], []
    with mpmath.workprec(300):
        for a in values.tolist():
            a = ref.flush(a, "f32") if ftz else a
            fixed = _special(op, a)
            if fixed is not None:
                limits = fixed, fixed
            else:
                x = model.value(a, "f32")
                true = function(mpmath.mpf(x.numerator) / x.denominator)
                limits = ref.around(true, error(true), "f32", bool(ftz))
            lows.append(limits[0])
            highs.append(limits[1])
    out = Out("f32", np.array(lows, np.uint32), "range", "f32", np.array(highs, np.uint32))
    name = dots(op, "approx", ftz, "f32")
    ins = {"a": In("f32", values)}
    return Variant("f32_approx", name, f"{name} %d,%a;", ins, {"d": out}, BOTH)


def approximate_division() -> Iterator[Variant]:
    a, b = operands("f32", 2)
    exact = ref.div("f32", "RN")
    for kind, ftz in itertools.product(("approx", "full"), ("", "ftz")):
        lows, highs, defined = [], [], []
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            low, high, ok = _quotient_limits(x, y, kind, bool(ftz), exact)
            lows.append(low)
            highs.append(high)
            defined.append(ok)
        out = Out(
            "f32", np.array(lows, np.uint32), "range", "f32", np.array(highs, np.uint32),
            where=np.array(defined),
        )  # fmt: skip
        name = dots("div", kind, ftz, "f32")
        yield Variant("f32_approx", name, f"{name} %d,%a,%b;", inputs("f32", [a, b]), {"d": out})


def _quotient_limits(
    x: int, y: int, kind: str, ftz: bool, exact: ref.Scalar
) -> tuple[int, int, bool]:
    """Limits of 2 ulp, and whether PTX says so: 2**-126 <= |y| <= 2**126, a normal quotient."""
    if ftz:
        x, y = ref.flush(x, "f32"), ref.flush(y, "f32")
    result = exact(x, y)
    if not model.is_finite(result, "f32") or not model.is_finite(y, "f32"):
        fine = not model.is_finite(x, "f32") or not model.is_finite(y, "f32")
        return result, result, fine or y & 0x7FFFFFFF == 0
    if x & 0x7FFFFFFF == 0:
        return result, result, True
    size = abs(model.value(y, "f32"))
    inside = 2.0**-126 <= size <= 2.0**126
    quotient = model.value(x, "f32") / model.value(y, "f32")
    inside &= 2.0**-120 < abs(quotient) < 2.0**126 and abs(model.value(x, "f32")) >= 2.0**-100
    true = mpmath.mpf(quotient.numerator) / quotient.denominator
    low, high = ref.around(true, abs(true) * mpmath.mpf(2) ** -22, "f32", ftz)
    return low, high, inside


def f64_approx() -> Iterator[Variant]:
    """rcp and rsqrt of f64: from the upper word to an upper word of 20 mantissa bits."""
    rng = np.random.default_rng(53)
    a = rng.integers(0x0060, 0x7F00, 256).astype(np.uint64) << np.uint64(48)
    a |= rng.integers(0, 1 << 48, 256).astype(np.uint64)
    a[:8] = [0, 0x7FF << 52, 0x7FF8 << 48, 0x3FF << 52, 0x400 << 52, 0x3FE << 52, 1 << 50, 2 << 50]
    defined = np.ones(256, bool)
    functions: dict[str, Callable[[Any], Any]] = {
        "rcp": lambda x: 1 / x,
        "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    }
    for op, function in functions.items():
        for ftz in ("ftz", "") if op == "rsqrt" else ("ftz",):
            lows, highs = [], []
            with mpmath.workprec(200):
                for bits in a.tolist():
                    flushed = ref.flush(bits, "f64")
                    if flushed == 0:
                        limits = (0x7FF << 52,) * 2
                    elif not model.is_finite(flushed, "f64"):
                        limits = (0,) * 2 if model.is_inf(flushed, "f64") else (flushed,) * 2
                    else:
                        x = model.value(flushed >> 32 << 32, "f64")
                        true = function(mpmath.mpf(x.numerator) / x.denominator)
                        limits = ref.around(true, abs(true) * mpmath.mpf(2) ** -20, "f64", True)
                    lows.append(limits[0])
                    highs.append(limits[1])
            where = defined if ftz else (a == 0) | (a >= 1 << 52)
            out = Out(
                "f64", np.array(lows, np.uint64), "range", "f64", np.array(highs, np.uint64),
                where=where,
            )  # fmt: skip
            name = dots(op, "approx", ftz, "f64")
            yield Variant("f64_approx", name, f"{name} %d,%a;", {"a": In("f64", a)}, {"d": out})


def variants() -> list[Variant]:
    """All of them."""
    makers = (
        f32_arith(), f32_border(), f32_div_sqrt(), f64_arith(), f64_div_sqrt(), signs_and_tests(),
        compares("f32"), compares("f64"), selects(), operand_kinds(), approximations(),
        approximate_division(), f64_approx(),
    )  # fmt: skip
    return list(itertools.chain(*makers))
