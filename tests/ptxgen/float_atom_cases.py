"""Variants of the floating-point atomics: atom and red, global, shared and generic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tests.numeric import model
from tests.ptxgen import ref
from tests.ptxgen.case import In, Out, Variant
from tests.ptxgen.float_cases import operands
from tests.ptxgen.half_cases import sources

COUNT = 128
CELLS = 4
"""Cells of the colliding variants."""

TYPES = {
    "f32": ("add.f32", "f32", ("sm_50", "sm_61")),
    "f64": ("add.f64", "f64", ("sm_61",)),
    "f16x2": ("add.noftz.f16x2", "b32", ("sm_61",)),
}
"""Type -> (operation, PTX register type, targets)."""

TEMPLATE = """.visible .entry {entry}(.param .u64 p_b,.param .u64 p_m,.param .u64 p_d)
{{
.reg .u32 %i,%k,%s; .reg .u64 %q,%m,%g; .reg .{type} %b,%o; {shared}
mov.u32 %i,%tid.x; rem.u32 %k,%i,{cells};
ld.param.u64 %q,[p_b]; mad.wide.u32 %q,%i,{size},%q; ld.global.{type} %b,[%q];
ld.param.u64 %m,[p_m]; mad.wide.u32 %m,%k,{size},%m;
{body}
ld.param.u64 %q,[p_d]; mad.wide.u32 %q,%i,{size},%q; st.global.{type} [%q],%o;
ret;
}}"""

SHARED = """mov.u32 %s,{array}; mad.lo.u32 %s,%k,{size},%s; ld.global.{type} %o,[%m];
st.shared.{type} [%s],%o; bar.sync 0;
{instruction}
bar.sync 0; ld.shared.{type} %b,[%s]; st.global.{type} [%m],%b;"""


def _body(variant_type: str, space: str, red: bool, cells: int, entry: str) -> str:
    operation, register, _ = TYPES[variant_type]
    size = 8 if variant_type == "f64" else 4
    address = {"global": "[%m]", "shared": "[%s]", "generic": "[%m]"}[space]
    where = "" if space == "generic" else f".{space}"
    if red:
        instruction = f"red{where}.{operation} {address},%b; mov.{register} %o,%b;"
    else:
        instruction = f"atom{where}.{operation} %o,{address},%b;"
    array = f"s_{entry}"
    if space != "shared":
        shared, body = "", instruction
    else:
        shared = f".shared .align 8 .b8 {array}[{size * cells}];"
        body = SHARED.format(array=array, size=size, type=register, instruction=instruction)
    return TEMPLATE.format(
        entry=entry, type=register, shared=shared, cells=cells, size=size, body=body
    )


def _sum(type_: str, space: str) -> ref.Scalar:
    if type_ == "f16x2":
        return ref.pairs(ref.add("f16", "RN"))
    return ref.modified(ref.add(type_, "RN"), type_, type_ == "f32" and space != "shared", False)


def _variant(
    type_: str, space: str, red: bool, m: np.ndarray, b: np.ndarray, total: np.ndarray
) -> Variant:
    operation, register, targets = TYPES[type_]
    kind = "red" if red else "atom"
    cells = len(m)
    label = "distinct" if cells == COUNT else "colliding"
    name = f"{kind}.{space}.{operation}.{label}"
    fmt = "f16" if type_ == "f16x2" else type_
    outputs = {"m": Out(register, total, "nan_any", float=fmt, before=m)}
    # What an atomic returns is the old value, bit for bit, while each cell has one thread.
    defined = np.full(COUNT, cells == COUNT)
    old = b if red else np.resize(m, COUNT)
    outputs["d"] = Out(register, old, "nan_any", float=fmt, where=defined)
    entry = "t_" + name.replace(".", "_")
    return Variant(
        "float_atom", name, f"{kind}.{space}.{operation}", {"b": In(register, b)}, outputs, targets,
        text=_body(type_, space, red, cells, entry),
        extra={"grid": [1, 1, 1], "block": [COUNT, 1, 1]},
    )  # fmt: skip


def variants() -> list[Variant]:
    """All of them."""
    return list(_all())


def _all() -> Iterator[Variant]:
    rng = np.random.default_rng(90)
    for type_, space, red in itertools.product(TYPES, ("global", "shared", "generic"), (0, 1)):
        if type_ == "f16x2" and space == "shared":
            continue
        if type_ == "f16x2":
            m, b = (x[:COUNT] for x in sources(2, True))
        else:
            m, b = (x[::2][:COUNT] for x in operands(type_, 2, 256))
        total = ref.apply(_sum(type_, space), "f64" if type_ == "f64" else "f32", m, b)
        yield _variant(type_, space, bool(red), m, b, total)
        yield _colliding(type_, space, bool(red), rng)


def _colliding(type_: str, space: str, red: bool, rng: np.random.Generator) -> Variant:
    """Small integers: their sums are exact in any order."""
    fmt = "f16" if type_ == "f16x2" else type_
    start, terms = rng.integers(0, 8, CELLS), rng.integers(-8, 8, COUNT)
    ends = [int(start[k] + terms[k::CELLS].sum()) for k in range(CELLS)]

    def patterns(values: list[int]) -> np.ndarray:
        bits = [model.rounded(Fraction(v), fmt, "RN") for v in values]
        if type_ == "f16x2":
            bits = [x | x << 16 for x in bits]
        return np.array(bits, np.uint64 if type_ == "f64" else np.uint32)

    m, b, total = patterns(start.tolist()), patterns(terms.tolist()), patterns(ends)
    return _variant(type_, space, red, m, b, total)
