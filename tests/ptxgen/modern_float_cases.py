"""Floating point of sm_70 and later: what PTX ISA 6.0 to 8.5 added to f16, bf16, f32 and `cvt`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np

from tests.numeric import model
from tests.ptxgen import ref
from tests.ptxgen.case import In, Out, Variant
from tests.ptxgen.float_cases import dots, operands

TURING = ("sm_75", "sm_80", "sm_89", "sm_90")
AMPERE = TURING[1:]
ADA = TURING[2:]
HOPPER = ("sm_90",)
Model = Callable[..., int]


def variants() -> list[Variant]:
    """All of this module."""
    families = (
        extremes, relu_and_fused, bf16_arithmetic, signs, bf16_compares, approximations,
        conversions, small_floats, bf16_conversions,
    )  # fmt: skip
    return [v for family in families for v in family()]


def columns(fmt: str, number: int, packed: bool) -> list[np.ndarray]:
    """Operand arrays; packed ones hold a second set, shuffled, in the high halves."""
    low = operands(fmt, number, 256)
    if not packed:
        return low
    order = np.random.default_rng(71).permutation(256)
    return [ref.packed([x, x[order]]) for x in low]


def variant(
    group: str,
    ptx: str,
    fmt: str,
    number: int,
    run: Model,
    targets: tuple[str, ...],
    packed: bool = False,
    nan: bool = False,
) -> Variant:
    """A variant of one format for operands and result; `nan`: any NaN will do."""
    arrays = columns(fmt, number, packed)
    type_ = "b32" if packed or fmt == "f32" else "b16" if fmt != "f64" else "b64"
    want = ref.apply(ref.pairs(run) if packed else run, type_, *arrays)
    names = ",".join(f"%{x}" for x in "abc"[:number])
    ins = {n: In(type_, x) for n, x in zip("abc", arrays, strict=False)}
    out = Out(type_, want, "nan_any", float=fmt) if nan else Out(type_, want)
    return Variant(group, ptx, f"{ptx} %d,{names};", ins, {"d": out}, targets)


# ---- min, max ----------------------------------------------------------------------------
def extreme(fmt: str, largest: bool, nan: bool, xorsign: bool, ftz: bool) -> Model:
    """min or max with `.NaN`, `.xorsign.abs`, `.ftz`."""
    top = 1 << model.FORMATS[fmt][2] - 1

    def run(a: int, b: int) -> int:
        if ftz:
            a, b = ref.flush(a, fmt), ref.flush(b, fmt)
        sign = (a ^ b) & top
        if xorsign:
            a, b = a & ~top, b & ~top
        if nan and (model.is_nan(a, fmt) or model.is_nan(b, fmt)):
            return model.OWN_NAN[fmt]
        result = ref.minimum(fmt, largest)(a, b)
        if xorsign and not model.is_nan(result, fmt):
            result |= sign
        return result

    return run


def extremes() -> Iterator[Variant]:
    """min and max of f32, f16 and bf16."""
    for fmt, largest, nan, xorsign, ftz in itertools.product(
        ("f32", "f16", "bf16"), (False, True), (False, True), (False, True), (False, True)
    ):
        if fmt == "bf16" and ftz:
            continue
        targets = AMPERE if not xorsign else ("sm_89", "sm_90")
        if fmt == "f32" and not nan and not xorsign:
            continue
        op = "max" if largest else "min"
        flags = (op, ftz and "ftz", nan and "NaN", xorsign and "xorsign.abs")
        text = dots(*(f for f in flags if f), fmt)
        run = extreme(fmt, largest, nan, xorsign, ftz)
        yield variant("modern_extreme", text, fmt, 2, run, targets)
        if fmt != "f32":
            yield variant("modern_extreme", text + "x2", fmt, 2, run, targets, True)


# ---- arithmetic --------------------------------------------------------------------------
def relu(result: int, fmt: str) -> int:
    """max(result, 0); a NaN is canonical."""
    if model.is_nan(result, fmt):
        return model.OWN_NAN[fmt]
    return 0 if model.sign_of(result, fmt) else result


def relu_and_fused() -> Iterator[Variant]:
    """fma of halves with `.relu`."""
    for fmt, ftz, packed in itertools.product(("f16", "bf16"), ("", "ftz"), (False, True)):
        if fmt == "bf16" and ftz:
            continue
        for clamp in ("", "relu"):
            if fmt == "f16" and not clamp:
                continue

            def run(
                a: int, b: int, c: int, fmt: str = fmt, ftz: str = ftz, clamp: str = clamp
            ) -> int:
                product = "RN" if ftz else None
                got = ref.modified(ref.fma(fmt, "RN"), fmt, bool(ftz), False, product)(a, b, c)
                return relu(got, fmt) if clamp else got

            text = dots("fma.rn", ftz, clamp, fmt) + ("x2" if packed else "")
            yield variant("modern_fused", text, fmt, 3, run, AMPERE, packed)


def bf16_arithmetic() -> Iterator[Variant]:
    """add, sub and mul of bf16 (sm_90)."""
    makes = (("add", ref.add), ("sub", ref.sub), ("mul", ref.mul))
    for (op, make), rnd, packed in itertools.product(makes, ("", "rn"), (False, True)):
        text = dots(op, rnd, "bf16") + ("x2" if packed else "")
        yield variant("modern_bf16", text, "bf16", 2, make("bf16", "RN"), HOPPER, packed)


def signs() -> Iterator[Variant]:
    """neg and abs of bf16, which leave NaN as it is or canonical; copysign."""
    for op, packed in itertools.product(("neg", "abs"), (False, True)):
        change = ref.negate if op == "neg" else ref.absolute
        text = f"{op}.bf16" + ("x2" if packed else "")
        made = variant(
            "modern_signs", text, "bf16", 1, lambda a, f=change: f(a, "bf16"), AMPERE, packed, True
        )
        yield made
    for fmt in ("f32", "f64"):
        width = model.FORMATS[fmt][2]
        top = 1 << width - 1
        yield variant(
            "modern_signs", f"copysign.{fmt}", fmt, 2,
            lambda a, b, top=top: a & top | b & ~top, TURING,
        )  # fmt: skip


def bf16_compares() -> Iterator[Variant]:
    """setp and set of bf16 (sm_90)."""
    a, b = columns("bf16", 2, False)
    x, y = columns("bf16", 2, True)
    for name in ref.COMPARES:
        test = ref.compare(name, "bf16")
        truth = ref.apply(lambda p, q, f=test: f(p, q), "pred", a, b)
        ins = {"a": In("b16", a), "b": In("b16", b)}
        yield Variant(
            "modern_compare", f"setp.{name}.bf16", f"setp.{name}.bf16 %p,%a,%b;", ins,
            {"p": Out("pred", truth)}, HOPPER,
        )  # fmt: skip
        low = ref.apply(lambda p, q, f=test: f(p & 0xFFFF, q & 0xFFFF), "pred", x, y)
        high = ref.apply(lambda p, q, f=test: f(p >> 16, q >> 16), "pred", x, y)
        pair = {"a": In("b32", x), "b": In("b32", y)}
        yield Variant(
            "modern_compare", f"setp.{name}.bf16x2", f"setp.{name}.bf16x2 %p|%q,%a,%b;", pair,
            {"p": Out("pred", low), "q": Out("pred", high)}, HOPPER,
        )  # fmt: skip
        ones = ref.apply(lambda p, q, f=test: 0x3F80 * f(p, q), "b16", a, b)
        yield Variant(
            "modern_compare", f"set.{name}.bf16.bf16", f"set.{name}.bf16.bf16 %d,%a,%b;", ins,
            {"d": Out("b16", ones)}, HOPPER,
        )  # fmt: skip
        masks = ref.apply(lambda p, q, f=test: 0xFFFFFFFF * f(p, q), "b32", a, b)
        yield Variant(
            "modern_compare", f"set.{name}.u32.bf16", f"set.{name}.u32.bf16 %d,%a,%b;", ins,
            {"d": Out("b32", masks)}, HOPPER,
        )  # fmt: skip
        both = low.astype(np.uint32) * 0xFFFF | high.astype(np.uint32) * 0xFFFF << 16
        yield Variant(
            "modern_compare", f"set.{name}.u32.bf16x2", f"set.{name}.u32.bf16x2 %d,%a,%b;", pair,
            {"d": Out("b32", both.astype(np.uint32))}, HOPPER,
        )  # fmt: skip


def approximations() -> Iterator[Variant]:
    """tanh and ex2 of f16, bf16 and f32: the result lies within a documented error."""
    for op, fmt, packed in itertools.product(
        ("tanh", "ex2"), ("f16", "bf16", "f32"), (False, True)
    ):
        if fmt == "f32" and (packed or op == "ex2"):
            continue
        targets = TURING if fmt != "bf16" else HOPPER
        (a,) = columns(fmt, 1, packed)
        flag = "ftz" if fmt == "bf16" and op == "ex2" else ""
        text = dots(op, "approx", flag, fmt) + ("x2" if packed else "")

        def limits(bits: int, op: str = op, fmt: str = fmt, flag: str = flag) -> tuple[int, int]:
            return _limits(op, fmt, ref.flush(bits, fmt) if flag else bits, bool(flag))

        low: np.ndarray
        high: np.ndarray
        if packed:
            rows = [(limits(v & 0xFFFF), limits(v >> 16)) for v in a.tolist()]
            low = np.array([x[0] | y[0] << 16 for x, y in rows], np.uint32)
            high = np.array([x[1] | y[1] << 16 for x, y in rows], np.uint32)
        else:
            pairs = [limits(v) for v in a.tolist()]
            dtype = np.uint32 if fmt == "f32" else np.uint16
            low, high = (np.array(c).astype(dtype) for c in zip(*pairs, strict=True))
        type_ = "b32" if packed or fmt == "f32" else "b16"
        out = Out(type_, low, "range", float=fmt + ("x2" if packed else ""), high=high)
        yield Variant(
            "modern_approx", text, f"{text} %d,%a;", {"a": In(type_, a)}, {"d": out}, targets
        )


def _limits(op: str, fmt: str, bits: int, ftz: bool) -> tuple[int, int]:
    """Lowest and highest pattern that the documented error allows."""
    nan = model.OWN_NAN[fmt]
    if model.is_nan(bits, fmt):
        return nan, nan
    one = model.rounded(Fraction(1), fmt, "RN")
    if model.is_inf(bits, fmt):
        if op == "tanh":
            found = one | (1 << model.FORMATS[fmt][2] - 1 if model.sign_of(bits, fmt) else 0)
        else:
            found = 0 if model.sign_of(bits, fmt) else bits
        return found, found
    x = model.value(bits, fmt)
    if x == 0:
        return (bits, bits) if op == "tanh" else (one, one)
    if op == "ex2" and abs(x) > 200:
        found = model.inf(fmt, 0) if x > 0 else 0
        return found - (x > 0), found
    exact = mpmath.tanh if op == "tanh" else lambda v: mpmath.power(2, v)
    true = exact(mpmath.mpf(x.numerator) / x.denominator)
    relative = {"f32": -11, "f16": -9.9, "bf16": -7}[fmt]
    if op == "ex2" and fmt == "f16":
        relative = -9.9
    error = abs(true) * mpmath.power(2, relative)
    if op == "tanh":
        error = max(
            error, mpmath.power(2, {"f32": -11, "f16": -10.987, "bf16": -8}[fmt]) * abs(true)
        )
    return ref.around(true, error, fmt, ftz)


# ---- conversions -------------------------------------------------------------------------
def narrow(x: int, source: str, target: str, rnd: str, finite: bool, clamp: bool) -> int:
    """A float pattern rounded to a narrower format, with `.satfinite` and `.relu`."""
    nan = model.OWN_NAN.get(target, 0x7F)
    if model.is_nan(x, source):
        return nan
    sign = model.sign_of(x, source)
    width = model.FORMATS[target][2]
    largest = {"e4m3": 0x7E, "e5m2": 0x7B}.get(target) or model.inf(target, 0) - 1
    if model.is_inf(x, source):
        bits = largest if finite else model.inf(target, 0)
        bits |= sign << width - 1
    elif target == "e4m3":
        bits = _e4m3(model.value(x, source), sign)
    else:
        bits = model.rounded(model.value(x, source), target, ref.ROUNDINGS[rnd], sign)
        if model.is_inf(bits, target) and finite:
            bits = largest | sign << width - 1
    if clamp and bits >> width - 1:
        return 0
    return bits


def _e4m3(x: Fraction, sign: int) -> int:
    """To nearest even among -448 .. 448."""
    size = abs(x)
    best = min(range(0x7F), key=lambda raw: (abs(e4m3_value(raw) - size), raw & 1))
    return sign << 7 | best


def e4m3_value(raw: int) -> Fraction:
    """A pattern without its sign as a number."""
    e, f = raw >> 3 & 15, raw & 7
    return Fraction(f + (8 if e else 0)) * Fraction(2) ** (max(e, 1) - 10)


def cvt(
    name: str, ins: dict[str, In], out: str, want: np.ndarray, targets: tuple[str, ...]
) -> Variant:
    """A conversion; what it is called is what it says."""
    names = ",".join(f"%{n}" for n in ins)
    return Variant("modern_cvt", name, f"{name} %d,{names};", ins, {"d": Out(out, want)}, targets)


def conversions() -> Iterator[Variant]:
    """f32 to tf32, bf16, pairs of f16 and bf16, with `.relu` and `.satfinite`."""
    a, b = operands("f32", 2, 256)
    one = {"a": In("f32", a)}
    yield cvt("cvt.rna.tf32.f32", one, "b32", ref.apply(_away, "b32", a), AMPERE)
    for rnd, clamp in itertools.product(("rn", "rz"), ("", "relu")):

        def run(x: int, rnd: str = rnd, clamp: str = clamp) -> int:
            return narrow(x, "f32", "tf32", rnd, False, bool(clamp)) << 13

        where = ref.apply(lambda x: not model.is_nan(x, "f32"), "u8", a).astype(bool)
        made = cvt(
            dots("cvt", rnd, clamp, "tf32.f32"), one, "b32", ref.apply(run, "b32", a), HOPPER
        )
        out = Out("b32", made.outputs["d"].values, where=where)
        yield Variant("modern_cvt", made.name, made.ptx, one, {"d": out}, HOPPER)
    for fmt, rnd, clamp in itertools.product(("f16", "bf16"), ("rn", "rz"), ("", "relu")):

        def half(x: int, fmt: str = fmt, rnd: str = rnd, clamp: str = clamp) -> int:
            return narrow(x, "f32", fmt, rnd, False, bool(clamp))

        if fmt == "bf16" or clamp:
            want = ref.apply(half, "b16", a)
            yield cvt(dots("cvt", rnd, clamp, fmt, "f32"), one, "b16", want, AMPERE)
        two = {"a": In("f32", a), "b": In("f32", b)}
        both = ref.apply(lambda x, y, f=half: f(x) << 16 | f(y), "b32", a, b)
        yield cvt(dots("cvt", rnd, clamp, fmt + "x2", "f32"), two, "b32", both, AMPERE)


def _away(x: int) -> int:
    """To 11 digits, ties away from zero; NaN and infinity keep what is not cut."""
    if x & 0x7F800000 == 0x7F800000:
        return x & 0xFFFFE000
    return x + 0x1000 & 0xFFFFE000


def small_floats() -> Iterator[Variant]:
    """fp8 pairs from f32 and f16x2, and back."""
    a, b = operands("f32", 2, 256)
    near = np.random.default_rng(5).normal(0, 60, (2, 256)).astype(np.float32).view(np.uint32)
    a, b = (np.where(np.arange(256) % 2, x, y) for x, y in zip((a, b), near, strict=True))
    halves = columns("f16", 1, True)[0]
    for fmt, clamp in itertools.product(("e4m3", "e5m2"), ("", "relu")):

        def to8(x: int, source: str, fmt: str = fmt, clamp: str = clamp) -> int:
            return narrow(x, source, fmt, "rn", True, bool(clamp))

        two = {"a": In("f32", a), "b": In("f32", b)}
        want = ref.apply(lambda x, y, f=to8: f(x, "f32") << 8 | f(y, "f32"), "b16", a, b)
        text = dots("cvt.rn.satfinite", clamp, fmt + "x2")
        yield cvt(f"{text}.f32", two, "b16", want, ADA)
        want = ref.apply(
            lambda x, f=to8: f(x >> 16, "f16") << 8 | f(x & 0xFFFF, "f16"), "b16", halves
        )
        yield cvt(f"{text}.f16x2", {"a": In("b32", halves)}, "b16", want, ADA)

        def from8(raw: int, fmt: str = fmt, clamp: str = clamp) -> int:
            sign = raw >> 7
            if fmt == "e5m2":
                bits = raw << 8
                bits = 0x7FFF if raw & 0x7F > 0x7C else bits
            elif raw & 0x7F == 0x7F:
                bits = 0x7FFF
            else:
                bits = model.rounded(e4m3_value(raw & 0x7F), "f16", "RN") | sign << 15
            return relu(bits, "f16") if clamp else bits

        pairs = (
            np.arange(256, dtype=np.uint16) << np.uint16(8) | np.arange(256, dtype=np.uint16)[::-1]
        )
        want = ref.apply(lambda x, f=from8: f(x >> 8) << 16 | f(x & 255), "b32", pairs)
        text = dots("cvt.rn", clamp, "f16x2", fmt + "x2")
        yield cvt(text, {"a": In("b16", pairs)}, "b32", want, ADA)


def _bf16_of_f64(bits: int) -> int:
    """A NaN keeps its sign and the upper payload (measured on H100); PTX names no pattern."""
    if bits & (1 << 63) - 1 > 0x7FF << 52:
        return bits >> 48 & 0x8000 | 0x7FC0 | bits >> 45 & 0x3F
    return narrow(bits, "f64", "bf16", "rn", False, False)


def bf16_conversions() -> Iterator[Variant]:
    """bf16 to and from the other types (sm_90)."""
    x = operands("bf16", 1, 256)[0]
    source = {"a": In("b16", x)}
    for type_ in ("u16", "s16", "u32", "s32", "u64", "s64"):
        run = ref.float_to_int("bf16", type_, "rzi", False)
        where = ref.apply(lambda v: not model.is_nan(v, "bf16"), "u8", x).astype(bool)
        out = Out(type_, ref.apply(run, type_, x), where=where)
        text = f"cvt.rzi.{type_}.bf16"
        yield Variant("modern_cvt", text, f"{text} %d,%a;", source, {"d": out}, HOPPER)
        bits = int(type_[1:])
        values = (
            np.random.default_rng(9).integers(0, 1 << min(bits, 63), 256).astype(f"u{bits // 8}")
        )
        for rnd in ("rn", "rz", "rm", "rp"):
            back = ref.int_to_float(type_, "bf16", ref.ROUNDINGS[rnd], False)
            yield cvt(f"cvt.{rnd}.bf16.{type_}", {"a": In(type_, values)}, "b16",
                      ref.apply(back, "b16", values), HOPPER)  # fmt: skip
    yield cvt("cvt.f32.bf16", source, "b32", ref.apply(lambda v: v << 16, "b32", x), AMPERE)
    h = operands("f16", 1, 256)[0]
    want = ref.apply(lambda v: narrow(v, "f16", "bf16", "rn", False, False), "b16", h)
    yield cvt("cvt.rn.bf16.f16", {"a": In("b16", h)}, "b16", want, HOPPER)
    want = ref.apply(lambda v: narrow(v, "bf16", "f16", "rn", False, False), "b16", x)
    yield cvt("cvt.rn.f16.bf16", source, "b16", want, HOPPER)
    d = operands("f64", 1, 256)[0]
    want = ref.apply(_bf16_of_f64, "b16", d)
    yield cvt("cvt.rn.bf16.f64", {"a": In("f64", d)}, "b16", want, HOPPER)
    for step in ("rni", "rzi", "rmi", "rpi"):
        run = ref.to_integral("bf16", step, False, False)
        out = Out("b16", ref.apply(run, "b16", x), "nan_any", float="bf16")
        text = f"cvt.{step}.bf16.bf16"
        yield Variant("modern_cvt", text, f"{text} %d,%a;", source, {"d": out}, HOPPER)
