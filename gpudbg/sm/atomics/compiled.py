"""Read-modify-write accesses of the library as LLVM IR."""

from __future__ import annotations

from typing import Final

from gpudbg.sm.asynchronous import mbarrier
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, signed
from gpudbg.sm.engines.llvm.ir.floats import NAN64
from gpudbg.sm.engines.llvm.ir.typed import Int, TypedPointer, Variable
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, AccessHost, MaskHost, Val
from gpudbg.sm.engines.llvm.runtime import packed
from gpudbg.sm.engines.llvm.runtime.apart import Results, apart_function, called_apart
from gpudbg.sm.engines.llvm.runtime.body import (
    ANY_HOST,
    I64,
    PLACES,
    Body,
    arguments,
    nothing_to_do,
    refuse,
)
from gpudbg.sm.residency import arena


def _updated(b: Body, op: str, kind: str, old: str, given: str, other: str) -> str:
    """Emit the new value of one element."""
    ir = b.ir
    bits = f"i{layout.ATOMICS[f'{op}.{kind}']}"
    plain = {"ADD": "add", "AND": "and", "OR": "or", "XOR": "xor"}
    if kind == "F32":
        return _float_sum(b, old, given)
    if kind == "F64":
        return _double_sum(b, old, given)
    if kind in ("F16x2", "BF16x2"):
        return _halves_sum(b, old, given, kind[0] == "B")
    if op == "ARRIVE":
        return _arrived_early(b, old)
    if op.startswith("MBARRIER"):
        return arrived(ir, old, given, op == "MBARRIER_DROP")
    if op in plain:
        return ir.op(f"{plain[op]} {bits} {old}, {given}")
    if op == "EXCH":
        return given
    if op == "CAS":
        same = ir.op(f"icmp eq {bits} {old}, {given}")
        return ir.op(f"select i1 {same}, {bits} {other}, {bits} {old}")
    if op in ("MIN", "MAX"):
        order = ("s" if kind[0] == "S" else "u") + ("lt" if op == "MIN" else "gt")
        first = ir.op(f"icmp {order} {bits} {given}, {old}")
        return ir.op(f"select i1 {first}, {bits} {given}, {bits} {old}")
    if op == "INC":
        stop = ir.op(f"icmp uge i32 {old}, {given}")
        return ir.op(f"select i1 {stop}, i32 0, i32 {ir.op(f'add i32 {old}, 1')}")
    zero = ir.op(f"icmp eq i32 {old}, 0")
    above = ir.op(f"icmp ugt i32 {old}, {given}")
    wrap = ir.op(f"or i1 {zero}, {above}")
    return ir.op(f"select i1 {wrap}, i32 {given}, i32 {ir.op(f'sub i32 {old}, 1')}")


def arrived(ir: Builder, old: str, change: str, drops: bool) -> str:
    """Emit the mbarrier word after arrivals and transactions (`mbarrier.update`)."""
    word, both = Int(ir, 64, old), Int(ir, 64, change)
    zero = Int(ir, 64, 0)
    arrivals, transactions = both & 0xFFFF_FFFF, both.shift_signed(32)
    pending = (zero - (word >> mbarrier.PENDING_SHIFT) - arrivals) & mbarrier.COUNT
    expected = (zero - (word >> 1)) & mbarrier.COUNT
    if drops:
        expected = (expected - arrivals) & mbarrier.COUNT
    top = 64 - mbarrier.TX_SHIFT - mbarrier.TX_BITS
    count = (word << top).shift_signed(64 - mbarrier.TX_BITS) + transactions
    over = (pending | count).equals(0)
    phase = ((word >> 63) ^ over.zext(64)) << 63
    pending = over.select(expected, pending)
    made = phase | ((zero - pending) & mbarrier.COUNT) << mbarrier.PENDING_SHIFT
    made = made | (count & (1 << mbarrier.TX_BITS) - 1) << mbarrier.TX_SHIFT
    return str((made | ((zero - expected) & mbarrier.COUNT) << 1).ref)


def _arrived_early(b: Body, old: str) -> str:
    """Emit the mbarrier word of sm_80 to sm_89 after an arrival (`atomics.step`)."""
    word = Int(b.ir, 64, old)
    low, high = word.trunc(32), (word >> 32).trunc(32) + 1
    over = (high & 0x7FFF_FFFF).equals(0)
    again = (low & 0x3FFF_FFFF) | ((low & 0x2000_0000) << 1)
    high = high | over.select(again, 0)
    return str(((high.zext(64) << 32) | low.zext(64)).ref)


def _float_sum(b: Body, old: str, given: str) -> str:
    """f32 addition with flushed operands and result."""

    ir = b.ir

    def flushed(bits: str) -> str:
        exponent = ir.op(f"and i32 {bits}, 2139095040")
        tiny = ir.op(f"icmp eq i32 {exponent}, 0")
        sign = ir.op(f"and i32 {bits}, -2147483648")
        return ir.op(f"select i1 {tiny}, i32 {sign}, i32 {bits}")

    x, y = (ir.op(f"bitcast i32 {flushed(v)} to float") for v in (old, given))
    total = ir.op(f"fadd float {x}, {y}")
    nan = ir.op(f"fcmp uno float {total}, {total}")
    bits = flushed(ir.op(f"bitcast float {total} to i32"))
    return ir.op(f"select i1 {nan}, i32 2147483647, i32 {bits}")


def _double_sum(b: Body, old: str, given: str) -> str:
    """f64 addition; a NaN is the first NaN operand as it is, else the machine's own."""
    ir = b.ir
    x, y = (ir.op(f"bitcast i64 {v} to double") for v in (old, given))
    total = ir.op(f"fadd double {x}, {y}")
    payload = str(signed(NAN64, 64))
    for bits, value in ((given, y), (old, x)):
        nan = ir.op(f"fcmp uno double {value}, {value}")
        payload = ir.op(f"select i1 {nan}, i64 {bits}, i64 {payload}")
    nan = ir.op(f"fcmp uno double {total}, {total}")
    return ir.op(f"select i1 {nan}, i64 {payload}, i64 {ir.op(f'bitcast double {total} to i64')}")


def _halves_sum(b: Body, old: str, given: str, brain: bool) -> str:
    """Sums of both halves of two words, as f16 or bf16."""
    x, y = Int(b.ir, 32, old), Int(b.ir, 32, given)
    made = []
    for shift in (0, 16):
        parts = [(value >> shift) & 0xFFFF for value in (x, y)]
        made.append(_brain_sum(b, *parts) if brain else _half_sum(b, *parts))
    return str((made[0] | (made[1] << 16)).ref)


def _half_sum(b: Body, x: Int, y: Int) -> Int:
    """The f16 sum of two f16: that in f32, which has more than twice their bits, rounded again."""
    ir = b.ir
    values = [_widened(b, part) for part in (x, y)]
    total = ir.op(f"fadd float {values[0]}, {values[1]}")
    bits = Int(ir, 32, ir.op(f"bitcast float {total} to i32"))
    sign, size = (bits >> 16) & 0x8000, bits & 0x7FFFFFFF
    even = (size >> 13) & 1
    usual = (size + even + (0xFFF + (15 - 127 << 23) & 0xFFFFFFFF)) >> 13
    # Below 2**-14 the processor rounds: one half has its last bit where an f16 has it.
    near = ir.op(f"bitcast i32 {size.ref} to float")
    near = ir.op(f"fadd float {near}, 5.000000e-01")
    small = Int(ir, 32, ir.op(f"bitcast float {near} to i32")) - 0x3F000000
    made = (size < 0x38800000).select(small, usual)
    made = (size >= 0x477FF000).select(Int(ir, 32, 0x7C00), made) | sign
    return (size > 0x7F800000).select(Int(ir, 32, 0x7FFF), made)


def _widened(b: Body, half: Int) -> str:
    """An f16 as f32."""
    ir = b.ir
    # The product with 2**112 mends the exponent, of subnormals too; what is not finite is made so.
    size = (half & 0x7FFF) << 13
    small = ir.op(f"bitcast i32 {size.ref} to float")
    scaled = ir.op(f"fmul float {small}, 0x46F0000000000000")
    bits = Int(ir, 32, ir.op(f"bitcast float {scaled} to i32"))
    bits = (size >= 0x1F << 23).select(size | 0x7F800000, bits) | ((half & 0x8000) << 16)
    return ir.op(f"bitcast i32 {bits.ref} to float")


def _brain_sum(b: Body, x: Int, y: Int) -> Int:
    """The bf16 sum of two bf16: that in f64, rounded once."""
    ir, wide = b.ir, []
    for part in (x, y):
        single = ir.op(f"bitcast i32 {(part << 16).ref} to float")
        wide.append(ir.op(f"fpext float {single} to double"))
    total = ir.op(f"fadd double {wide[0]}, {wide[1]}")
    near = ir.op(f"fptrunc double {total} to float")
    bits = Int(ir, 32, ir.op(f"bitcast float {near} to i32"))
    back = ir.op(f"fpext float {near} to double")
    sizes = [ir.op(f"call double @llvm.fabs.f64(double {value})") for value in (back, total)]
    # Cut toward zero, its last bit says whether something was lost.
    above = Int(ir, 1, ir.op(f"fcmp ogt double {sizes[0]}, {sizes[1]}"))
    lost = Int(ir, 1, ir.op(f"fcmp one double {sizes[0]}, {sizes[1]}"))
    bits = (bits - above.zext(32)) | lost.zext(32)
    made = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    none = Int(ir, 1, ir.op(f"fcmp uno double {total}, {total}"))
    return none.select(Int(ir, 32, 0x7FFF), made)


_ROWS = ", ptr %d0, ptr %d1"
"""Operands of an atomic."""


def atomic_functions(host: AccessHost = ANY_HOST) -> list[str]:
    """Functions that read, modify and write one lane after another in ascending order; old values
    go to `%out`.
    """
    functions = []
    for space, threads in (("global", False), ("global", True), ("shared", False)):
        for what, bits in layout.atomics_on(space).items():
            functions.append(_atomic(space, what, bits, threads, host))
            if space == "global":
                name = layout.symbol(f"atomic.{space}.{what}", threads)
                functions.append(apart_function(name, bits // 8, _ROWS, Results(1, bits)))
    return functions


_ATOMIC = {
    "ADD": "add", "AND": "and", "OR": "or", "XOR": "xor", "EXCH": "xchg",
    "MIN.U": "umin", "MAX.U": "umax", "MIN.S": "min", "MAX.S": "max",
}  # fmt: skip
"""Operations that are one IR instruction -> its name; the key has the type's first letter where it
matters.
"""


def _exchanged(b: Body, op: str, kind: str, cell: str, given: str, other: str) -> str:
    """Emit an update of an element that other host threads may access; returns the old value."""
    ir = b.ir
    bits = f"i{layout.ATOMICS[f'{op}.{kind}']}"
    plain = _ATOMIC.get(op) or _ATOMIC.get(f"{op}.{kind[0]}")
    if plain and kind[0] in "US":
        return ir.op(f"atomicrmw {plain} ptr {cell}, {bits} {given} seq_cst")
    if op == "CAS":
        pair = ir.op(f"cmpxchg ptr {cell}, {bits} {given}, {bits} {other} seq_cst seq_cst")
        return ir.op(f"extractvalue {{ {bits}, i1 }} {pair}, 0")
    seen = ir.op(f"alloca {bits}")
    ir.put(
        bits, ir.op(f"load atomic {bits}, ptr {cell} monotonic, align {int(bits[1:]) // 8}"), seen
    )
    with ir.loop() as (_, after):
        old = ir.get(bits, seen)
        new = _updated(b, op, kind, old, given, other)
        pair = ir.op(f"cmpxchg ptr {cell}, {bits} {old}, {bits} {new} seq_cst seq_cst")
        ir.put(bits, ir.op(f"extractvalue {{ {bits}, i1 }} {pair}, 0"), seen)
        ir.unless(ir.op(f"extractvalue {{ {bits}, i1 }} {pair}, 1"), after)
    return ir.get(bits, seen)


_SHORT: Final = ("ADD", "AND", "OR", "XOR", "EXCH", "MIN", "MAX")
"""Operations on words that are short enough to be repeated for 32 lanes."""


def _all_lanes(b: Body, op: str, kind: str, inside: Val, base: str) -> None:
    """Emit an atomic without a loop where all lanes execute: places and operands are taken out of
    vectors, since parts of a stored one are forwarded slowly."""
    ir, row = b.ir, "<32 x i32>"
    with ir.returning(ir.op("icmp eq i32 %mask, -1")):
        # Volatile: else lanes would be loaded one by one, before the first one changes memory.
        operands = ir.op(f"load volatile {row}, ptr %d0, align 64")
        for n in range(32):
            cell = ir.at(base, ir.op(f"extractelement {I64} {inside.ref}, i64 {n}"))
            given = ir.op(f"extractelement {row} {operands}, i64 {n}")
            old = ir.get("i32", cell)
            ir.put("i32", _updated(b, op, kind, old, given, ""), cell)
            ir.put("i32", old, "%out", 4 * n)
        ir.line("ret i1 true")


_TOGETHER: Final = ("ADD", "AND", "OR", "XOR", "MIN", "MAX")
"""Operations on words that are done on several words at once."""
_ROW: Final = 128
"""Bytes of 32 words."""
_WORD: Final = 32
"""Bits."""


def _in_a_row(b: Body, op: str, kind: str, inside: Val, base: str, exchanged: int) -> None:
    """Emit an atomic of all lanes on words that follow one another, none of which occurs twice: on
    all of them at once or, where other host threads may access them, on those that the host can
    compare and exchange together: what others see of each word is then the same.

    Args:
        exchanged: bits of what the host exchanges; 0: nobody else accesses the words.
    """
    ir = b.ir
    first = ir.op(f"extractelement {I64} {inside.ref}, i64 0")
    goal = b.ints.wadd(Val(64, first, UNIFORM), Val(64, b.constants("i64", range(0, _ROW, 4))))
    away = b.values.mask_bits(b.ints.mnot(b.ints.weq(inside, goal)))
    _row_together(b, op, kind, away, (base, first), exchanged)


def _row_together(
    b: Body, op: str, kind: str, away: str, where: tuple[str, str], exchanged: int
) -> None:
    """The part of `_in_a_row` behind its test.

    Args:
        away: i32: 0 if no lane's word is elsewhere.
        where: host pointer, and i64: bytes from there to the first word.
    """
    ir = b.ir
    away = ir.op(f"or i32 {away}, {ir.op('xor i32 %mask, -1')}")
    place = ir.at(*where)
    if exchanged:
        number = ir.op(f"trunc i64 {ir.op(f'ptrtoint ptr {place} to i64')} to i32")
        away = ir.op(f"or i32 {away}, {ir.op(f'and i32 {number}, {exchanged // 8 - 1}')}")
    with ir.returning(ir.op(f"icmp eq i32 {away}, 0")):
        if exchanged:
            # Other threads' caches may have both lines.
            for line in (0, 64):
                prefetched = ir.at(place, line)
                ir.line(f"call void @llvm.prefetch.p0(ptr {prefetched}, i32 1, i32 3, i32 1)")
            _exchange_row(b, op, kind, place, exchanged)
        else:
            row = "<32 x i32>"
            old, given = ir.get(row, place, 0, 4), ir.get(row, "%d0", 0, 64)
            ir.put(row, _updated_words(b, op, kind, old, given, 32), place, 0, 4)
            ir.put(row, old, "%out", 0, 64)
        ir.line("ret i1 true")


def _exchange_row(b: Body, op: str, kind: str, place: str, bits: int) -> None:
    """Emit the updates of 32 words, each time of as many as are exchanged together."""
    ir, whole, count = b.ir, f"i{bits}", bits // 32
    at, seen = ir.var("i64", 0), ir.op(f"alloca {whole}")
    with ir.loop() as (_, after):
        offset = ir.get("i64", at)
        ir.unless(ir.op(f"icmp eq i64 {offset}, {_ROW}"), after)
        cell = ir.at(place, offset)
        # In halves: they need not be of one moment, for then the exchange fails.
        halves = [
            ir.op(f"load atomic i{bits // 2}, ptr {ir.at(cell, n)} monotonic, align {bits // 16}")
            for n in (0, bits // 16)
        ]
        low, high = (ir.op(f"zext i{bits // 2} {half} to {whole}") for half in halves)
        ir.put(whole, ir.op(f"or {whole} {low}, {ir.op(f'shl {whole} {high}, {bits // 2}')}"), seen)
        given = ir.get(f"<{count} x i32>", "%d0", offset, bits // 8)
        with ir.loop() as (_, done):
            before = ir.get(whole, seen)
            old = ir.op(f"bitcast {whole} {before} to <{count} x i32>")
            new = _updated_words(b, op, kind, old, given, count)
            new = ir.op(f"bitcast <{count} x i32> {new} to {whole}")
            pair = ir.op(
                f"cmpxchg ptr {cell}, {whole} {before}, {whole} {new} seq_cst seq_cst, "
                f"align {bits // 8}"
            )
            ir.put(whole, ir.op(f"extractvalue {{ {whole}, i1 }} {pair}, 0"), seen)
            ir.unless(ir.op(f"extractvalue {{ {whole}, i1 }} {pair}, 1"), done)
        ir.put(whole, ir.get(whole, seen), "%out", offset, bits // 8)
        ir.put("i64", ir.op(f"add i64 {offset}, {bits // 8}"), at)


def _updated_words(b: Body, op: str, kind: str, old: str, given: str, count: int) -> str:
    """Emit the new values of so many words."""
    ir, row = b.ir, f"<{count} x i32>"
    if op in ("MIN", "MAX"):
        order = ("s" if kind[0] == "S" else "u") + ("lt" if op == "MIN" else "gt")
        first = ir.op(f"icmp {order} {row} {given}, {old}")
        return ir.op(f"select <{count} x i1> {first}, {row} {given}, {row} {old}")
    return ir.op(f"{op.lower()} {row} {old}, {given}")


def _atomic(space: str, what: str, bits: int, threads: bool, host: AccessHost) -> str:
    op, kind = what.split(".")
    name = layout.symbol(f"atomic.{space}.{what}", threads)
    head = f"define i1 @{name}({arguments(space)}{_ROWS}, ptr %out)"
    b = Body(host, called_apart(name, f"{_ROWS}, ptr %out") if space == "global" else "")
    b.ir.line(f"store <32 x i{bits}> zeroinitializer, ptr %out, align 64")
    nothing_to_do(b)
    if b.packed:
        window = packed.WINDOWS[space](b, bits // 8)
        with b.ir.returning(window.inside):
            _atomic_in_window(b, space, what, window, threads)
        if space == "shared":
            b.ir.line("ret i1 false")
            return b.close(head)
    inside, base = PLACES[space](b, bits // 8)
    inside = Val(64, b.values.bare(inside if inside.bits == 64 else b.ints.zext(inside), 64))
    if not b.packed and space == "global" and _done_together(op, kind):
        # A host with AVX2 exchanges 16 bytes.
        exchanged = 64 if host.masks is MaskHost.VECTORS else 128
        _in_a_row(b, op, kind, inside, base, exchanged if threads else 0)
    if not b.packed and not threads and _repeated(op, kind, bits):
        _all_lanes(b, op, kind, inside, base)
    places = b.ir.op("alloca <32 x i64>, align 64")
    b.ir.put(I64, inside.ref, places, 0, 64)
    _lane_by_lane(b, op, kind, places, 64, base, threads)
    return b.close(head)


def _done_together(op: str, kind: str) -> bool:
    return op in _TOGETHER and kind in ("U32", "S32")


def _repeated(op: str, kind: str, bits: int) -> bool:
    return bits == _WORD and op in _SHORT and kind != "F32"


def _atomic_in_window(
    b: Body, space: str, what: str, reached: packed.Reached, threads: bool
) -> None:
    """Emit the rest of an atomic of a host with AVX2 where its checks reach."""
    ir, (op, kind) = b.ir, what.split(".")
    bits = layout.ATOMICS[what]
    if space == "global" and _done_together(op, kind):
        with ir.when(packed.begins_in_a_row(ir, reached)):
            first, away = packed.in_a_row(ir, reached)
            _row_together(b, op, kind, away, (reached.base, first), 128 if threads else 0)
    if not threads and _repeated(op, kind, bits):
        with ir.returning(ir.op("icmp eq i32 %mask, -1")):
            packed.update_all(
                ir, reached, "%d0", lambda old, given: _updated(b, op, kind, old, given, "")
            )
            ir.line("ret i1 true")
    _lane_by_lane(b, op, kind, packed.kept(ir, reached.places), 32, reached.base, threads)


def _lane_by_lane(
    b: Body, op: str, kind: str, places: str, width: int, base: str, threads: bool
) -> None:
    """Emit an atomic of the lanes that execute, of which there is at least one, and the return.

    Args:
        places: pointer to their offsets, of so many bits.
    """
    bits = layout.ATOMICS[f"{op}.{kind}"]
    left = b.ir.op("alloca i32")
    b.ir.put("i32", "%mask", left)
    with b.ir.loop():
        mask = b.ir.get("i32", left)
        lane = b.ir.op(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
        index = b.ir.op(f"zext i32 {lane} to i64")
        offset = b.ir.op(
            f"load i{width}, ptr {b.ir.op(f'getelementptr i{width}, ptr {places}, i64 {index}')}"
        )
        if width == _WORD:
            offset = b.ir.op(f"zext i32 {offset} to i64")
        cell = b.ir.at(base, offset)

        def lane_of(row: str, index: str = index) -> str:
            return b.ir.op(f"getelementptr i{bits}, ptr {row}, i64 {index}")

        given = b.ir.get(f"i{bits}", lane_of("%d0"))
        other = b.ir.get(f"i{bits}", lane_of("%d1"))
        if threads:
            old = _exchanged(b, op, kind, cell, given, other)
        else:
            old = b.ir.get(f"i{bits}", cell)
            b.ir.put(f"i{bits}", _updated(b, op, kind, old, given, other), cell)
        b.ir.put(f"i{bits}", old, lane_of("%out"))
        rest = b.ir.op(f"and i32 {mask}, {b.ir.op(f'sub i32 {mask}, 1')}")
        b.ir.put("i32", rest, left)
        with b.ir.returning(b.ir.op(f"icmp eq i32 {rest}, 0")):
            b.ir.line("ret i1 true")
    b.ir.line("unreachable")


def sum_functions(host: AccessHost = ANY_HOST) -> list[str]:
    """Functions for ADD to shared memory without a result."""
    return [*(_sum(kind, host) for kind in layout.SUMS), _marks_of_sums()]


def _sum(kind: str, host: AccessHost) -> str:
    """Emit the sum element by element; without a loop where all lanes execute."""
    b = Body(host)
    nothing_to_do(b)
    name = layout.symbol(f"sum.shared.{kind}")
    head = f"define i1 @{name}({arguments('shared')}, ptr %d0)"
    if b.packed:
        reached = packed.WINDOWS["shared"](b, 4)
        refuse(b, b.ir.op(f"zext i1 {b.ir.op(f'xor i1 {reached.inside}, true')} to i32"))
        if kind != "F32":
            with b.ir.returning(b.ir.op("icmp eq i32 %mask, -1")):
                packed.update_all(
                    b.ir, reached, "%d0", lambda x, y: _updated(b, "ADD", kind, x, y, ""), ""
                )
                b.ir.line("ret i1 true")
        places, base = packed.kept(b.ir, reached.places), reached.base
    else:
        low, base = PLACES["shared"](b, 4)
        places = b.ir.op("alloca <32 x i32>, align 64")
        b.ir.put("<32 x i32>", low.ref, places, 0, 64)

    def one(index: int | str) -> None:
        offset = b.ir.get("i32", b.ir.op(f"getelementptr i32, ptr {places}, i64 {index}"))
        given = b.ir.get("i32", b.ir.op(f"getelementptr i32, ptr %d0, i64 {index}"))
        cell = b.ir.at(base, b.ir.op(f"zext i32 {offset} to i64"))
        b.ir.put("i32", _updated(b, "ADD", kind, b.ir.get("i32", cell), given, ""), cell)

    with b.ir.returning(b.ir.op("icmp eq i32 %mask, -1")):
        for n in range(32):
            one(n)
        b.ir.line("ret i1 true")
    left = b.ir.var("i32", "%mask")
    with b.ir.loop():
        mask = b.ir.get("i32", left)
        lane = b.ir.op(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
        one(b.ir.op(f"zext i32 {lane} to i64"))
        rest = b.ir.op(f"and i32 {mask}, {b.ir.op(f'sub i32 {mask}, 1')}")
        b.ir.put("i32", rest, left)
        with b.ir.returning(b.ir.op(f"icmp eq i32 {rest}, 0")):
            b.ir.line("ret i1 true")
    b.ir.line("unreachable")
    return b.close(head)


_STEP: Final = 32
"""Bytes of marks that are looked at together."""


def _marks_of_sums() -> str:
    """Emit: mark words of shared memory at 32 checked offsets; if that makes all of it marked, as
    far as is known, write so (`layout.MARKED`)."""
    ir = Builder()
    env, warp = TypedPointer(ir, "%env"), TypedPointer(ir, "%rec")
    marks = warp.follow(layout.SHARED_POINTER).at(env.load(64, layout.SHARED_MARKS))
    for lane in range(32):
        offset = Int(ir, 32, ir.get("i32", "%places", 4 * lane))
        marks.at(offset.zext(64)).store(32, -1)
    number = warp.follow(layout.CTA_POINTER).load(64, arena.NUMBER)
    size = env.load(64, layout.SHARED_BYTES)
    with ir.returning(str((size < _STEP).ref)):
        ir.line("ret void")
    went_on = env.load(64, layout.MARKING).equals(number)
    at = Variable(ir, 64, went_on.select(env.load(64, layout.MARKED_TO), 0))
    with ir.loop():
        here = at.get()
        with ir.returning(str((here >= size).ref)):
            env.store(64, number, layout.MARKED)
            ir.line("ret void")
        last = size - _STEP
        # The last step may begin before the one before it has ended.
        place = marks.at((here > last).select(last, here))
        known = ir.op(f"load i{8 * _STEP}, ptr {place.ref}, align 1")
        with ir.returning(ir.op(f"icmp ne i{8 * _STEP} {known}, -1")):
            env.store(64, number, layout.MARKING)
            env.store(64, here, layout.MARKED_TO)
            ir.line("ret void")
        at.set(here + _STEP)
    ir.line("unreachable")
    name = layout.symbol("mark.sums")
    return ir.close(f"define void @{name}(ptr %env, ptr %rec, ptr %places)")
