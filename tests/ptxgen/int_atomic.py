"""PTX atom and red: every operation and type on global, shared and generic memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.ptxgen.case import DTYPES, In, Out, Variant, width
from tests.ptxgen.int_kit import at, operands, program, typed, unsigned

N = 128
SLOTS = 4
OPERATIONS: dict[str, Callable[[int, int, str], int]] = {
    "add": lambda old, b, t: old + b,
    "min": lambda old, b, t: old if typed(old, t) <= typed(b, t) else b,
    "max": lambda old, b, t: old if typed(old, t) >= typed(b, t) else b,
    "and": lambda old, b, t: old & b,
    "or": lambda old, b, t: old | b,
    "xor": lambda old, b, t: old ^ b,
    "exch": lambda old, b, t: b,
    "inc": lambda old, b, t: 0 if old >= b else old + 1,
    "dec": lambda old, b, t: b if old == 0 or old > b else old - 1,
}
FORMS = (
    [("add", t) for t in ("u32", "s32", "u64")]
    + [(op, t) for op in ("min", "max") for t in ("u32", "s32", "u64", "s64")]
    + [(op, t) for op in ("and", "or", "xor", "exch") for t in ("b32", "b64")]
    + [("inc", "u32"), ("dec", "u32")]
)
SPACES = ("global", "shared", "generic", "generic.shared")
BOTH = ("sm_50", "sm_61")


def variants() -> Iterator[Variant]:
    """All of this module."""
    for op, t in FORMS:
        for space in SPACES:
            yield _distinct("atom", op, t, space)
            if op != "exch":
                yield _distinct("red", op, t, space)
                yield _colliding("atom", op, t, space)
                yield _colliding("red", op, t, space)
    for t in ("b32", "b64"):
        for space in SPACES:
            yield _compare_and_swap(t, space)
            yield _spin(t, space)
    for scope in ("cta", "gpu", "sys"):
        yield _distinct("atom", "add", "u32", "global", scope)
        yield _distinct("red", "max", "s64", "global", scope)
    yield from _float()
    yield from _float_distinct()
    yield from _halves()


def _apply(op: str, old: int, b: int, t: str) -> int:
    return unsigned(OPERATIONS[op](old, b, t.replace("b", "u")), 8 * width(t))


def _place(space: str, t: str, index: str, slots: int) -> tuple[str, str, str, str]:
    """(setup, atomic's address, space suffix, write-back) for memory m of `slots` elements."""
    size, b = width(t), f"b{8 * width(t)}"
    if space == "global":
        return at("m", size, index, "%g"), "%g", ".global", ""
    if space == "generic":
        return at("m", size, index, "%g") + " cvta.global.u64 %g,%g;", "%g", "", ""
    setup = (
        f".shared .align 16 .b8 sm[{slots * size}]; mov.u32 %s,sm; mad.lo.u32 %j,%t,{size},%s; "
        f"setp.ge.u32 %p,%t,{slots}; {at('m', size, '%t', '%g')} @!%p ld.global.{b} %o,[%g]; "
        f"@!%p st.shared.{b} [%j],%o; bar.sync 0; mad.lo.u32 %i,{index},{size},%s;"
    )
    back = f"bar.sync 0; @!%p ld.shared.{b} %b,[%j]; @!%p st.global.{b} [%g],%b;"
    if space == "shared":
        return setup, "%i", ".shared", back
    setup += " cvt.u64.u32 %y,%i; cvta.shared.u64 %y,%y;"
    return setup, "%y", "", back


def _registers(t: str) -> str:
    b = f"b{8 * width(t)}"
    return f".reg .u64 %g; .reg .u32 %s,%k; .reg .pred %p,%q; .reg .{b} %o,%b,%c,%r;"


def _atomic(kind: str, op: str, t: str, space: str, scope: str = "") -> str:
    tail = f".{scope}" if scope else ""
    return f"{kind}{space}{tail}.{op}.{t}"


def _distinct(kind: str, op: str, t: str, space: str, scope: str = "") -> Variant:
    """Each thread its own element: old values and memory are exact."""
    b = f"b{8 * width(t)}"
    before, operand = operands([b, b], (op, t))
    before, operand = before[:N], operand[:N]
    setup, address, suffix, back = _place(space, t, "%t", N)
    name = _atomic(kind, op, t, suffix, scope)
    act = f"{name} %r,[{address}],%b;" if kind == "atom" else f"{name} [{address}],%b;"
    body = f"{at('b', width(t))} ld.global.{b} %b,[%x]; {setup} {act}"
    after = [_apply(op, o, v, t) for o, v in zip(before.tolist(), operand.tolist(), strict=True)]
    outputs = {"m": Out(b, np.array(after, DTYPES[width(t)]), before=before)}
    if kind == "atom":
        body += f" {at('d', width(t))} st.global.{b} [%x],%r;"
        outputs["d"] = Out(b, before)
    return program(
        "atom_distinct",
        f"{space}.{name}",
        body + back,
        {"b": In(b, operand)},
        outputs,
        regs=_registers(t),
        targets=BOTH[1:] if scope else BOTH,
    )


def _colliding(kind: str, op: str, t: str, space: str) -> Variant:
    """Many threads on a few elements: memory is exact, old values are open."""
    b = f"b{8 * width(t)}"
    before, operand = operands([b, b], (op, t, "collide"))
    before, operand = before[:SLOTS], operand[:N]
    if op in ("inc", "dec"):
        # One bound for all threads, so that the order does not matter.
        operand[:] = 5
        before[:] = (0, 3, 5, 900)
    slots = (np.arange(N, dtype=np.uint32) * 5 // 3) % SLOTS
    setup, address, suffix, back = _place(space, t, "%k", SLOTS)
    name = _atomic(kind, op, t, suffix)
    act = f"{name} %r,[{address}],%b;" if kind == "atom" else f"{name} [{address}],%b;"
    after = before.tolist()
    for slot, value in zip(slots.tolist(), operand.tolist(), strict=True):
        after[slot] = _apply(op, after[slot], value, t)
    body = (
        f"{at('b', width(t))} ld.global.{b} %b,[%x]; {at('k', 4)} ld.global.u32 %k,[%x]; "
        f"{setup} {act} {back}"
    )
    return program(
        "atom_colliding",
        f"{space}.{name}",
        body,
        {"b": In(b, operand), "k": In("b32", slots.astype(np.uint32))},
        {"m": Out(b, np.array(after, DTYPES[width(t)]), before=before)},
        regs=_registers(t),
        targets=BOTH,
    )


def _compare_and_swap(t: str, space: str) -> Variant:
    """cas on own elements; every second one compares equal."""
    b = f"b{8 * width(t)}"
    before, other, new = (v[:N] for v in operands([b, b, b], ("cas", t)))
    expect = np.where(np.arange(N) % 2 == 0, before, other)
    setup, address, suffix, back = _place(space, t, "%t", N)
    name = _atomic("atom", "cas", t, suffix)
    body = (
        f"{at('b', width(t))} ld.global.{b} %b,[%x]; {at('c', width(t))} ld.global.{b} %c,[%x]; "
        f"{setup} {name} %r,[{address}],%b,%c; {at('d', width(t))} st.global.{b} [%x],%r; {back}"
    )
    after = np.where(before == expect, new, before)
    return program(
        "atom_distinct",
        f"{space}.{name}",
        body,
        {"b": In(b, expect), "c": In(b, new)},
        {"m": Out(b, after, before=before), "d": Out(b, before)},
        regs=_registers(t),
        targets=BOTH,
    )


def _spin(t: str, space: str) -> Variant:
    """A compare-and-swap loop that multiplies by odd numbers (order does not matter)."""
    b, n = f"b{8 * width(t)}", 8 * width(t)
    before, operand = operands([b, b], ("spin", t))
    before, operand = before[:SLOTS], operand[:N] | np.array(1, DTYPES[width(t)])
    slots = (np.arange(N, dtype=np.uint32) * 7 // 2) % SLOTS
    setup, address, suffix, back = _place(space, t, "%k", SLOTS)
    name = _atomic("atom", "cas", t, suffix)
    load = f"ld.volatile{suffix}.{b}"
    body = (
        f"{at('b', width(t))} ld.global.{b} %c,[%x]; {at('k', 4)} ld.global.u32 %k,[%x]; {setup} "
        f"{load} %o,[{address}]; AGAIN: mul.lo.u{n} %b,%o,%c; {name} %r,[{address}],%o,%b; "
        f"setp.ne.{b} %q,%r,%o; mov.{b} %o,%r; @%q bra AGAIN; {back}"
    )
    after = before.tolist()
    for slot, value in zip(slots.tolist(), operand.tolist(), strict=True):
        after[slot] = unsigned(after[slot] * value, n)
    return program(
        "atom_colliding",
        f"{space}.spin.{t}",
        body,
        {"b": In(b, operand), "k": In("b32", slots.astype(np.uint32))},
        {"m": Out(b, np.array(after, DTYPES[width(t)]), before=before)},
        regs=_registers(t),
        targets=BOTH,
    )


def _float() -> Iterator[Variant]:
    """Additions of small whole numbers: exact in every order."""
    for t, kind, targets in (("f32", np.float32, BOTH), ("f64", np.float64, ("sm_61",))):
        b = f"b{8 * width(t)}"
        pattern = DTYPES[width(t)]
        values = (np.arange(N) % 17 - 5).astype(kind)
        before = np.array([1, -2, 100, 0], kind)
        slots = (np.arange(N, dtype=np.uint32) * 5 // 3) % SLOTS
        after = before.copy()
        for slot, value in zip(slots.tolist(), values, strict=True):
            after[slot] += value
        for form in ("atom", "red"):
            for space in ("global", "generic", "shared"):
                setup, address, suffix, back = _place(space, t, "%k", SLOTS)
                name = _atomic(form, "add", t, suffix)
                act = f"{name} %r,[{address}],%b;" if form == "atom" else f"{name} [{address}],%b;"
                yield program(
                    "atom_float",
                    f"{space}.{name}",
                    f"{at('b', width(t))} ld.global.{b} %b,[%x]; {at('k', 4)} "
                    f"ld.global.u32 %k,[%x]; {setup} {act} {back}",
                    {"b": In(b, values.view(pattern)), "k": In("b32", slots.astype(np.uint32))},
                    {"m": Out(b, after.view(pattern), before=before.view(pattern))},
                    regs=_registers(t),
                    targets=targets,
                )


FLOAT_EDGES = (
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000,
    0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x3EAAAAAB, 0x4B7FFFFF, 0x33800000,
)  # fmt: skip


def _flush(pattern: int) -> int:
    return pattern & 0x80000000 if pattern & 0x7F800000 == 0 else pattern


def _float_distinct() -> Iterator[Variant]:
    """f32 additions with edges: global memory flushes subnormals, shared memory keeps them."""
    before = np.array([FLOAT_EDGES[k % 16] for k in range(256)], np.uint32)[::2].copy()
    operand = np.array([FLOAT_EDGES[k // 16] for k in range(256)], np.uint32)[::2].copy()
    before[::3] = [FLOAT_EDGES[(k * 5 + 1) % 16] for k in range(len(before[::3]))]
    for form in ("atom", "red"):
        for space in ("global", "shared", "generic.shared"):
            flushed = space == "global"
            left = np.array([_flush(v) if flushed else v for v in before.tolist()], np.uint32)
            right = np.array([_flush(v) if flushed else v for v in operand.tolist()], np.uint32)
            with np.errstate(all="ignore"):
                total = (left.view(np.float32) + right.view(np.float32)).view(np.uint32)
            want = np.array([_flush(v) if flushed else v for v in total.tolist()], np.uint32)
            setup, address, suffix, back = _place(space, "b32", "%t", N)
            name = _atomic(form, "add", "f32", suffix)
            act = f"{name} %r,[{address}],%b;" if form == "atom" else f"{name} [{address}],%b;"
            outputs = {"m": Out("b32", want, "nan_any", "f32", before=before)}
            body = f"{at('b', 4)} ld.global.b32 %b,[%x]; {setup} {act}"
            if form == "atom":
                body += f" {at('d', 4)} st.global.b32 [%x],%r;"
                outputs["d"] = Out("b32", before)
            yield program(
                "atom_float",
                f"{space}.{name}.edges",
                body + back,
                {"b": In("b32", operand)},
                outputs,
                regs=_registers("b32"),
                targets=BOTH,
            )


def _halves() -> Iterator[Variant]:
    """f16x2 additions, subnormals kept."""
    edges = np.array([0x0000, 0x8000, 0x3C00, 0xBC00, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0x1234,
                      0x5640, 0xC801], np.uint16)  # fmt: skip
    pick = np.arange(2 * N)
    before, operand = edges[pick * 7 % 11], edges[pick * 3 // 2 % 11]
    with np.errstate(all="ignore"):
        total = (before.view(np.float16) + operand.view(np.float16)).view(np.uint32)
    old, new = before.view(np.uint32), operand.view(np.uint32)
    for form in ("atom", "red"):
        for space in ("global", "generic", "shared", "generic.shared"):
            setup, address, suffix, back = _place(space, "b32", "%t", N)
            name = f"{form}{suffix}.add.noftz.f16x2"
            act = f"{name} %r,[{address}],%b;" if form == "atom" else f"{name} [{address}],%b;"
            outputs = {"m": Out("b32", total, before=old)}
            body = f"{at('b', 4)} ld.global.b32 %b,[%x]; {setup} {act}"
            if form == "atom":
                body += f" {at('d', 4)} st.global.b32 [%x],%r;"
                outputs["d"] = Out("b32", old)
            yield program(
                "atom_half",
                f"{space}.{name}",
                body + back,
                {"b": In("b32", new)},
                outputs,
                regs=_registers("b32"),
                targets=("sm_61",),
            )
