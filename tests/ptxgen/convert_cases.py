"""Variants of cvt: every pair of types that PTX has up to sm_61, with roundings and saturation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tests.numeric import model
from tests.ptxgen import ref
from tests.ptxgen.case import DTYPES, In, Out, Variant, width
from tests.ptxgen.float_cases import dots

INTS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = ("f16", "f32", "f64")
COUNT = 128


def integers(type_: str) -> np.ndarray:
    """Edges, values near powers of two and ties of the float formats, random ones."""
    bits = int(type_[1:])
    rng = np.random.default_rng(60)
    mask = (1 << bits) - 1
    edges = [0, 1, -1, 2, 1 << bits - 1, (1 << bits - 1) - 1, mask, mask - 1]
    for power in (8, 11, 12, 16, 24, 25, 31, 32, 33, 53, 54, 63):
        edges += [1 << power, (1 << power) - 1, (1 << power) + 1, -(1 << power), -(1 << power) - 1]
    edges += [65519, 65520, 0x1000001, 0x1000003, (1 << 53) + 1, (1 << 53) + 3]
    random = rng.integers(0, 1 << 63, COUNT).tolist()
    shifts = rng.integers(0, 63, COUNT).tolist()
    values = edges + [x >> s for x, s in zip(random, shifts, strict=True)]
    return np.array([x & mask for x in values[:COUNT]], DTYPES[width(type_)])


def reals(fmt: str) -> np.ndarray:
    """Patterns of a float format around the limits of the integer types, ties, and anything."""
    (some,) = model.vectors(fmt, COUNT, 1, seed=61)
    values: list[int] = []
    for bits in (7, 8, 15, 16, 31, 32, 63, 64):
        for delta in (-1.0, -0.5, 0.0, 0.5, 1.0):
            for sign in (1, -1):
                x = Fraction(sign * (1 << bits)) + Fraction(delta)
                values.append(model.rounded(x, fmt, "RN"))
    for n in range(-3, 4):
        x = Fraction(2 * n + 1, 2)
        values.append(model.rounded(x, fmt, "RN"))
        values.append(model.rounded(x, fmt, "RN") + 1)
    array = np.array(values[: COUNT // 2] + values[-20:], some.dtype)
    return np.concatenate([array, some])[:COUNT]


def _variant(
    name: str,
    source: str,
    target: str,
    a: np.ndarray,
    want: np.ndarray,
    where: np.ndarray | None = None,
    note: str = "",
) -> Variant:
    if target in FLOATS:
        out = Out(target, want, "nan_any", float=target, where=where)
    else:
        out = Out(target, want, where=where)
    group = "cvt_" + "_".join("float" if x in FLOATS else "int" for x in (source, target))
    targets = ("sm_50", "sm_53") if "f16" in (source, target) else ("sm_50",)
    ins = {"a": In("b16" if source == "f16" else source, a)}
    return Variant(group, name, f"{name} %d,%a;", ins, {"d": out}, targets, note)


def _number(a: np.ndarray, fmt: str) -> np.ndarray:
    return np.array([not model.is_nan(x, fmt) for x in a.tolist()])


def _not_subnormal(a: np.ndarray, fmt: str) -> np.ndarray:
    return np.array([ref.flush(x, fmt) == x for x in a.tolist()])


def int_to_int() -> Iterator[Variant]:
    for target, source, sat in itertools.product(INTS, INTS, ("", "sat")):
        name = dots("cvt", sat, target, source)
        low, high = ref.int_limits(target)

        def run(
            a: int, source: str = source, low: int = low, high: int = high, sat: str = sat
        ) -> int:
            value = ref.as_int(a, source)
            return min(max(value, low), high) if sat else value

        mask = (1 << int(target[1:])) - 1
        a = integers(source)
        want = ref.apply(lambda x, f=run, k=mask: f(x) & k, target, a)
        yield _variant(name, source, target, a, want)


def int_to_float() -> Iterator[Variant]:
    for target, source, rnd, sat in itertools.product(FLOATS, INTS, ref.ROUNDINGS, ("", "sat")):
        if sat and rnd != "rn":
            continue
        a = integers(source)
        run = ref.int_to_float(source, target, ref.ROUNDINGS[rnd], bool(sat))
        name = dots("cvt", rnd, sat, target, source)
        yield _variant(name, source, target, a, ref.apply(run, target, a))


def float_to_int() -> Iterator[Variant]:
    for target, source, step in itertools.product(INTS, FLOATS, ref.INTEGRAL):
        for ftz in ("", "ftz") if source == "f32" else ("",):
            a = reals(source)
            run = ref.float_to_int(source, target, step, bool(ftz))
            name = dots("cvt", step, ftz, target, source)
            yield _to_int(name, source, target, a, ref.apply(run, target, a))
    for target, source in itertools.product(INTS, FLOATS):
        a = reals(source)
        run = ref.float_to_int(source, target, "rzi", False)
        name = dots("cvt.rzi.sat", target, source)
        yield _to_int(name, source, target, a, ref.apply(run, target, a))


def _to_int(name: str, source: str, target: str, a: np.ndarray, want: np.ndarray) -> Variant:
    if source == "f64" and target in ("u8", "u16"):
        note = "NaN is not compared: ptxas clamps the u32 result, PTX names another value"
        return _variant(name, source, target, a, want, _number(a, source), note)
    return _variant(name, source, target, a, want)


def float_to_float() -> Iterator[Variant]:
    for source, target in itertools.permutations(FLOATS, 2):
        narrowing = FLOATS.index(source) > FLOATS.index(target)
        flips = ("", "ftz") if "f32" in (source, target) else ("",)
        for rnd, ftz, sat in itertools.product(
            ref.ROUNDINGS if narrowing else ("",), flips, ("", "sat")
        ):
            a = narrow_inputs(source, target) if narrowing else reals(source)
            mode = ref.ROUNDINGS.get(rnd, "RN")
            run = ref.float_to_float(source, target, mode, bool(ftz), bool(sat))
            name = dots("cvt", rnd, ftz, sat, target, source)
            where, note = None, ""
            if ftz and target == "f16":
                where = _not_subnormal(a, source)
                note = "subnormals are not compared: ptxas drops .ftz for an f16 result"
            yield _variant(name, source, target, a, ref.apply(run, target, a), where, note)
    for fmt in FLOATS:
        for step, ftz, sat in itertools.product(
            ("", *ref.INTEGRAL), ("", "ftz") if fmt == "f32" else ("",), ("", "sat")
        ):
            a = reals(fmt)
            run = ref.to_integral(fmt, step, bool(ftz), bool(sat))
            name = dots("cvt", step, ftz, sat, fmt, fmt)
            yield _variant(name, fmt, fmt, a, ref.apply(run, fmt, a))


def narrow_inputs(source: str, target: str) -> np.ndarray:
    """Ties, near-ties and limits of the narrower format, as patterns of the wider one."""
    precision, emax, _ = model.FORMATS[target]
    wide = model.FORMATS[source]
    rng = np.random.default_rng(62)
    low, high = wide[1] - emax - precision - 1, wide[1] + emax + 1
    some = model._shaped(rng, source, COUNT, low, high)
    drop = wide[0] - precision
    kind = some.dtype.type
    tie = kind(1 << drop - 1)
    some[:40] = some[:40] & ~(tie * kind(2) - kind(1)) | tie
    some[10:20] += kind(1)
    some[20:30] -= kind(1)
    (edges,) = model.vectors(source, 64, 1, seed=63)
    some[-24:] = edges[:24]
    return some


def variants() -> list[Variant]:
    """All of them."""
    return [*int_to_int(), *int_to_float(), *float_to_int(), *float_to_float()]
