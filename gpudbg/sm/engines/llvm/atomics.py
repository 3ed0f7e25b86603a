"""Read-modify-write accesses of the library as LLVM IR."""

from __future__ import annotations

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.body import (
    I64,
    PLACES,
    Body,
    arguments,
    nothing_to_do,
)
from gpudbg.sm.engines.llvm.floats import NAN64, QUIET64
from gpudbg.sm.engines.llvm.lanes import Val
from gpudbg.sm.engines.llvm.text import signed


def _updated(b: Body, op: str, kind: str, old: str, given: str, other: str) -> str:
    """The new value of one element."""
    bits = f"i{layout.ATOMICS[f'{op}.{kind}']}"
    plain = {"ADD": "add", "AND": "and", "OR": "or", "XOR": "xor"}
    if kind == "F32":
        return _float_sum(b, old, given)
    if kind == "F64":
        return _double_sum(b, old, given)
    if op in plain:
        return b.op(f"{plain[op]} {bits} {old}, {given}")
    if op == "EXCH":
        return given
    if op == "CAS":
        same = b.op(f"icmp eq {bits} {old}, {given}")
        return b.op(f"select i1 {same}, {bits} {other}, {bits} {old}")
    if op in ("MIN", "MAX"):
        order = ("s" if kind[0] == "S" else "u") + ("lt" if op == "MIN" else "gt")
        first = b.op(f"icmp {order} {bits} {given}, {old}")
        return b.op(f"select i1 {first}, {bits} {given}, {bits} {old}")
    if op == "INC":
        stop = b.op(f"icmp uge i32 {old}, {given}")
        return b.op(f"select i1 {stop}, i32 0, i32 {b.op(f'add i32 {old}, 1')}")
    zero = b.op(f"icmp eq i32 {old}, 0")
    above = b.op(f"icmp ugt i32 {old}, {given}")
    wrap = b.op(f"or i1 {zero}, {above}")
    return b.op(f"select i1 {wrap}, i32 {given}, i32 {b.op(f'sub i32 {old}, 1')}")


def _float_sum(b: Body, old: str, given: str) -> str:
    """f32 addition with flushed operands and result."""

    def flushed(bits: str) -> str:
        exponent = b.op(f"and i32 {bits}, 2139095040")
        tiny = b.op(f"icmp eq i32 {exponent}, 0")
        sign = b.op(f"and i32 {bits}, -2147483648")
        return b.op(f"select i1 {tiny}, i32 {sign}, i32 {bits}")

    x, y = (b.op(f"bitcast i32 {flushed(v)} to float") for v in (old, given))
    total = b.op(f"fadd float {x}, {y}")
    nan = b.op(f"fcmp uno float {total}, {total}")
    bits = flushed(b.op(f"bitcast float {total} to i32"))
    return b.op(f"select i1 {nan}, i32 2147483647, i32 {bits}")


def _double_sum(b: Body, old: str, given: str) -> str:
    """f64 addition; a NaN is the first NaN operand quieted, else the machine's own."""
    x, y = (b.op(f"bitcast i64 {v} to double") for v in (old, given))
    total = b.op(f"fadd double {x}, {y}")
    payload = str(signed(NAN64, 64))
    for bits, value in ((given, y), (old, x)):
        quiet = b.op(f"or i64 {bits}, {QUIET64}")
        nan = b.op(f"fcmp uno double {value}, {value}")
        payload = b.op(f"select i1 {nan}, i64 {quiet}, i64 {payload}")
    nan = b.op(f"fcmp uno double {total}, {total}")
    return b.op(f"select i1 {nan}, i64 {payload}, i64 {b.op(f'bitcast double {total} to i64')}")


def atomic_functions() -> list[str]:
    """Read-modify-write by lane in ascending order; old values go to `%out`."""
    functions = []
    for space, threads in (("global", False), ("global", True), ("shared", False)):
        for what, bits in layout.ATOMICS.items():
            functions.append(_atomic(space, what, bits, threads))
    return functions


_ATOMIC = {
    "ADD": "add", "AND": "and", "OR": "or", "XOR": "xor", "EXCH": "xchg",
    "MIN.U": "umin", "MAX.U": "umax", "MIN.S": "min", "MAX.S": "max",
}  # fmt: skip
"""Operations (with the first letter of the type, where it matters) that IR has as one."""


def _exchanged(b: Body, op: str, kind: str, cell: str, given: str, other: str) -> str:
    """Update an element that other host threads may be at; the old value."""
    bits = f"i{layout.ATOMICS[f'{op}.{kind}']}"
    plain = _ATOMIC.get(op) or _ATOMIC.get(f"{op}.{kind[0]}")
    if plain and kind[0] in "US":
        return b.op(f"atomicrmw {plain} ptr {cell}, {bits} {given} seq_cst")
    if op == "CAS":
        pair = b.op(f"cmpxchg ptr {cell}, {bits} {given}, {bits} {other} seq_cst seq_cst")
        return b.op(f"extractvalue {{ {bits}, i1 }} {pair}, 0")
    seen = b.op(f"alloca {bits}")
    b.put(bits, b.op(f"load atomic {bits}, ptr {cell} monotonic, align {int(bits[1:]) // 8}"), seen)
    with b.loop() as (_, after):
        old = b.get(bits, seen)
        new = _updated(b, op, kind, old, given, other)
        pair = b.op(f"cmpxchg ptr {cell}, {bits} {old}, {bits} {new} seq_cst seq_cst")
        b.put(bits, b.op(f"extractvalue {{ {bits}, i1 }} {pair}, 0"), seen)
        b.unless(b.op(f"extractvalue {{ {bits}, i1 }} {pair}, 1"), after)
    return b.get(bits, seen)


def _atomic(space: str, what: str, bits: int, threads: bool) -> str:
    op, kind = what.split(".")
    b = Body()
    b.line(f"store <32 x i{bits}> zeroinitializer, ptr %out, align 64")
    nothing_to_do(b)
    inside, base = PLACES[space](b, bits // 8)
    inside = Val(64, b.bare(inside if inside.bits == 64 else b.zext(inside), 64))
    places = b.op("alloca <32 x i64>, align 64")
    b.put(I64, inside.ref, places, 0, 64)
    left = b.op("alloca i32")
    b.put("i32", "%mask", left)
    with b.loop():
        mask = b.get("i32", left)
        lane = b.op(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
        index = b.op(f"zext i32 {lane} to i64")
        offset = b.op(f"load i64, ptr {b.op(f'getelementptr i64, ptr {places}, i64 {index}')}")
        cell = b.at(base, offset)

        def lane_of(row: str, index: str = index) -> str:
            return b.op(f"getelementptr i{bits}, ptr {row}, i64 {index}")

        given = b.get(f"i{bits}", lane_of("%d0"))
        other = b.get(f"i{bits}", lane_of("%d1"))
        if threads:
            old = _exchanged(b, op, kind, cell, given, other)
        else:
            old = b.get(f"i{bits}", cell)
            b.put(f"i{bits}", _updated(b, op, kind, old, given, other), cell)
        b.put(f"i{bits}", old, lane_of("%out"))
        rest = b.op(f"and i32 {mask}, {b.op(f'sub i32 {mask}, 1')}")
        b.put("i32", rest, left)
        with b.returning(b.op(f"icmp eq i32 {rest}, 0")):
            b.line("ret i1 true")
    b.line("unreachable")
    name = layout.symbol(f"atomic.{space}.{what}", threads)
    return b.close(f"define i1 @{name}({arguments(space)}, ptr %d0, ptr %d1, ptr %out)")


def sum_functions() -> list[str]:
    """ADD to shared memory whose old values nobody wants."""
    return [_sum(kind) for kind in layout.SUMS]


def _sum(kind: str) -> str:
    """Element by element; without a loop when all lanes execute."""
    b = Body()
    nothing_to_do(b)
    low, base = PLACES["shared"](b, 4)
    places = b.op("alloca <32 x i32>, align 64")
    b.put("<32 x i32>", low.ref, places, 0, 64)

    def one(index: int | str) -> None:
        offset = b.get("i32", b.op(f"getelementptr i32, ptr {places}, i64 {index}"))
        given = b.get("i32", b.op(f"getelementptr i32, ptr %d0, i64 {index}"))
        cell = b.at(base, b.op(f"zext i32 {offset} to i64"))
        b.put("i32", _updated(b, "ADD", kind, b.get("i32", cell), given, ""), cell)

    with b.returning(b.op("icmp eq i32 %mask, -1")):
        for n in range(32):
            one(n)
        b.line("ret i1 true")
    left = b.var("i32", "%mask")
    with b.loop():
        mask = b.get("i32", left)
        lane = b.op(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
        one(b.op(f"zext i32 {lane} to i64"))
        rest = b.op(f"and i32 {mask}, {b.op(f'sub i32 {mask}, 1')}")
        b.put("i32", rest, left)
        with b.returning(b.op(f"icmp eq i32 {rest}, 0")):
            b.line("ret i1 true")
    b.line("unreachable")
    name = layout.symbol(f"sum.shared.{kind}")
    return b.close(f"define i1 @{name}({arguments('shared')}, ptr %d0)")
