"""Functions that compiled kernels call, as LLVM IR: made once for a host, not for a kernel.

Accesses check all executing lanes before they touch memory and return whether all were good.
Lanes next to each other in memory, 16 at a time, take plain vector loads and stores; the others
are gathered and scattered in ascending lane order.
"""

from __future__ import annotations

from gpudbg.sm.engines import mufu
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.floats import OUTLINED
from gpudbg.sm.engines.llvm.lanes import FULL, Msk, Num, Slow, Val
from gpudbg.sm.engines.llvm.loop import SYMBOL, loop_function
from gpudbg.sm.engines.llvm.mufu import MufuBodies
from gpudbg.sm.engines.llvm.stack import stack_functions
from gpudbg.sm.engines.llvm.text import splat, vector

CHUNK = 16
I32 = "<32 x i32>"
I64 = "<32 x i64>"
I1 = "<32 x i1>"
PTRS = "<32 x ptr>"


class Body(MufuBodies):
    """The body of one library function."""

    def bail(self, lanes: object) -> None:
        raise Slow("a library function cannot leave")

    def outlined(self, name: str, operands: tuple[Num, ...]) -> Val:
        raise Slow("library functions do not call one another")

    def close(self, head: str) -> str:
        """The function with this head."""
        variables = [line for line in self.lines if " = alloca " in line]
        rest = [line for line in self.lines if " = alloca " not in line]
        return "\n".join([f"{head} {{", *variables, *rest, "}"])

    def row(self, bits: int, pointer: str) -> Val:
        """32 lanes at a pointer."""
        return Val(bits, self.get(vector(f"i{bits}"), pointer, 0, 64))

    def constants(self, kind: str, values: range) -> str:
        """A vector constant."""
        return "<" + ", ".join(f"{kind} {v}" for v in values) + ">"


def outlined_functions(wide_vectors: bool) -> list[str]:
    """One function for each row of `OUTLINED`: operands and result in memory."""
    functions = []
    for name, row in OUTLINED.items():
        body = Body()
        body.wide_vectors = wide_vectors
        values = tuple(body.row(bits, f"%a{n}") for n, bits in enumerate(row.operands))
        result = row.body(body, values)
        body.line(f"store {body.whole(result, row.result)}, ptr %r, align 64")
        body.line("ret void")
        listed = ", ".join([f"ptr %a{n}" for n in range(len(row.operands))] + ["ptr %r"])
        functions.append(body.close(f"define void @{layout.symbol(name)}({listed})"))
    return functions


# ---- checks --------------------------------------------------------------------------------


def _places_global(b: Body, size: int) -> tuple[Val, str]:
    """(offsets in the allocation, its host pointer) of checked global addresses."""
    whole = b.wide(b.row(32, "%lo"), b.row(32, "%hi"))
    add = Val(64, "%add", True)
    address = b.wadd(Val(64, b.bare(whole, 64)), add)
    assert isinstance(address, Val)
    back, good, resolve = b.fresh("check"), b.fresh("good"), b.fresh("resolve")
    tried = b.op("alloca i1")
    b.put("i1", "false", tried)
    b.br(back)
    b.label(back)
    base = Val(64, b.get("i64", "%site"), True)
    bytes_ = Val(64, b.get("i64", "%site", 8), True)
    inside = b.wsub(address, base)
    bad = _bad(b, inside, bytes_, size)
    b.choose(b.op(f"icmp eq i32 {bad}, 0"), good, resolve)
    b.label(resolve)
    before = b.get("i1", tried)
    b.put("i1", "true", tried)
    ask, fail = b.fresh("ask"), b.fresh("fail")
    b.choose(before, fail, ask)
    b.label(ask)
    first = b.op("call i32 @llvm.cttz.i32(i32 %mask, i1 false)")
    lowest = b.op(f"extractelement {I64} {address.ref}, i32 {first}")
    found = b.op(f"call i1 @{layout.symbol('resolve')}(ptr %env, ptr %site, i64 {lowest})")
    b.choose(found, back, fail)
    b.label(fail)
    b.line("ret i1 false")
    b.label(good)
    assert isinstance(inside, Val)
    return inside, b.get("ptr", "%site", 16)


def _bad(b: Body, inside: Num, limit: Val, size: int) -> str:
    """Executing lanes whose access of `size` bytes is outside or misaligned, as bits."""
    too_short = b.op(f"icmp ult i64 {limit.ref}, {size}")
    last = b.op(f"sub i64 {limit.ref}, {size}")
    beyond = b.wult(Val(64, last, True), inside)
    bad = beyond
    if size > 1:
        bad = b.mor(bad, b.mnot(b.weq(b.wand(inside, size - 1), 0)))
    bits = b.op(f"and i32 {b.mask_bits(bad)}, %mask")
    return b.op(f"select i1 {too_short}, i32 %mask, i32 {bits}")


def _places_shared(b: Body, size: int) -> tuple[Val, str]:
    """(offsets, host pointer) of checked shared addresses."""
    low = b.add(b.row(32, "%lo"), Val(32, b.op("trunc i64 %add to i32"), True))
    inside = Val(64, b.bare(b.zext(low), 64))
    limit = Val(64, b.get("i64", "%env", layout.SHARED_BYTES), True)
    _refuse(b, _bad(b, inside, limit, size))
    return inside, b.get("ptr", "%rec", layout.SHARED_POINTER)


def _places_local(b: Body, size: int) -> tuple[Val, str]:
    """(positions of the bytes in the interleaved store, host pointer) of local addresses."""
    low = b.add(b.row(32, "%lo"), Val(32, b.op("trunc i64 %add to i32"), True))
    address = Val(64, b.bare(b.zext(low), 64))
    low_bytes = Val(64, b.get("i64", "%env", layout.LOCAL_LOW), True)
    start = Val(64, b.get("i64", "%env", layout.LOCAL_START), True)
    # As 32-bit arithmetic: an address between the ranges becomes a huge place.
    moved = b.wand(b.wadd(b.wsub(address, start), low_bytes), FULL)
    place = b.wselect(b.wult(address, low_bytes), address, moved)
    limit = Val(64, b.get("i64", "%env", layout.LOCAL_BYTES), True)
    _refuse(b, _bad(b, place, limit, size))
    word = b.wshl(b.wand(place, 0xFFFF_FFFF_FFFF_FFFC), 5)
    lanes = Val(64, b.constants("i64", range(0, 128, 4)))
    position = b.wadd(b.wadd(word, lanes), b.wand(place, 3))
    assert isinstance(position, Val)
    return position, b.get("ptr", "%rec", layout.LOCAL_POINTER)


def _refuse(b: Body, bad: str) -> None:
    with b.returning(b.op(f"icmp ne i32 {bad}, 0")):
        b.line("ret i1 false")


_PLACES = {"global": _places_global, "shared": _places_shared, "local": _places_local}


# ---- moving data ---------------------------------------------------------------------------


def _pointers(b: Body, base: str, inside: Val, add: int) -> str:
    places = b.wadd(inside, add) if add else inside
    return b.op(f"getelementptr i8, ptr {base}, {b.whole(places, 64)}")


def _half(b: Body, kind: str, ref: str, half: int) -> str:
    """16 of 32 lanes."""
    indices = ", ".join(f"i32 {n}" for n in range(CHUNK * half, CHUNK * half + CHUNK))
    return b.op(
        f"shufflevector <32 x {kind}> {ref}, <32 x {kind}> poison, <{CHUNK} x i32> <{indices}>"
    )


def _regular(b: Body, inside: Val, size: int, half: int) -> tuple[str, str]:
    """(i1: 16 lanes follow one another in memory, the first one's offset)."""
    first = b.op(f"extractelement {I64} {inside.ref}, i64 {CHUNK * half}")
    part = _half(b, "i64", inside.ref, half)
    spread = b.op(f"insertelement <{CHUNK} x i64> poison, i64 {first}, i64 0")
    kind = f"<{CHUNK} x i64>"
    spread = b.op(f"shufflevector {kind} {spread}, {kind} poison, <{CHUNK} x i32> zeroinitializer")
    steps = b.constants("i64", range(0, CHUNK * size, size))
    goal = b.op(f"add {kind} {spread}, {steps}")
    same = b.op(f"icmp eq {kind} {part}, {goal}")
    bits = b.op(f"bitcast <{CHUNK} x i1> {same} to i{CHUNK}")
    return b.op(f"icmp eq i{CHUNK} {bits}, -1"), first


def _chunks(b: Body, size: int, base: str, inside: Val, values: str | None) -> None:
    """Four-byte accesses by halves: plain where regular, else gathered or scattered."""
    lanes = b.op(f"bitcast i32 %mask to {I1}")
    pointers = _pointers(b, base, inside, 0)
    for half in range(2):
        chosen = _half(b, "i1", lanes, half)
        regular, first = _regular(b, inside, size, half)
        plain, spread, after = b.fresh("plain"), b.fresh("spread"), b.fresh("moved")
        kind = f"<{CHUNK} x i32>"
        data = "" if values is None else _half(b, "i32", values, half)
        b.choose(regular, plain, spread)
        b.label(plain)
        start = b.at(base, first)
        _move(b, f"{kind}", "load" if values is None else "store", "ptr", start, chosen, data, half)
        b.br(after)
        b.label(spread)
        part = b.op(
            f"shufflevector {PTRS} {pointers}, {PTRS} poison, <{CHUNK} x i32> <"
            + ", ".join(f"i32 {n}" for n in range(CHUNK * half, CHUNK * half + CHUNK))
            + ">"
        )
        how = "gather" if values is None else "scatter"
        _move(b, kind, how, f"<{CHUNK} x ptr>", part, chosen, data, half)
        b.br(after)
        b.label(after)


def _move(
    b: Body, kind: str, how: str, pointer: str, place: str, chosen: str, data: str, half: int
) -> None:
    """One masked load, store, gather or scatter of 16 lanes; loads go to `%out`."""
    suffix = f"v{CHUNK}i32.{'p0' if pointer == 'ptr' else f'v{CHUNK}p0'}"
    mask = f"<{CHUNK} x i1> {chosen}"
    where = f"{pointer} align 4 {place}"
    if how in ("load", "gather"):
        value = b.op(
            f"call {kind} @llvm.masked.{how}.{suffix}({where}, {mask}, {kind} zeroinitializer)"
        )
        b.put(kind, value, "%out", 64 * half, 64)
    else:
        b.line(f"call void @llvm.masked.{how}.{suffix}({kind} {data}, {where}, {mask})")


def _gather(b: Body, size: int, signed: bool, local: bool, base: str, inside: Val) -> None:
    """All lanes of one load to `%out`."""
    if size == 4 and not local:
        _chunks(b, size, base, inside, None)
        return
    chosen = b.op(f"bitcast i32 %mask to {I1}")
    step = 128 if local else 4
    if size >= 4:
        for n in range(size // 4):
            pointers = _pointers(b, base, inside, step * n)
            value = b.op(
                f"call {I32} @llvm.masked.gather.v32i32.v32p0({PTRS} align 4 {pointers}, "
                f"{I1} {chosen}, {I32} zeroinitializer)"
            )
            b.put(I32, value, "%out", 128 * n, 64)
        return
    kind = f"i{8 * size}"
    pointers = _pointers(b, base, inside, 0)
    value = b.op(
        f"call <32 x {kind}> @llvm.masked.gather.v32{kind}.v32p0({PTRS} align {size} {pointers}, "
        f"{I1} {chosen}, <32 x {kind}> zeroinitializer)"
    )
    how = "sext" if signed else "zext"
    b.put(I32, b.op(f"{how} <32 x {kind}> {value} to {I32}"), "%out", 0, 64)


def _scatter(b: Body, size: int, local: bool, base: str, inside: Val) -> None:
    """All lanes of one store from `%d0`..."""
    if size == 4 and not local:
        _chunks(b, size, base, inside, b.get(I32, "%d0", 0, 64))
        return
    chosen = b.op(f"bitcast i32 %mask to {I1}")
    step = 128 if local else 4
    for n in range(max(1, size // 4)):
        pointers = _pointers(b, base, inside, step * n)
        value, kind = b.get(I32, f"%d{n}", 0, 64), "i32"
        if size < 4:
            kind = f"i{8 * size}"
            value = b.op(f"trunc {I32} {value} to <32 x {kind}>")
        b.line(
            f"call void @llvm.masked.scatter.v32{kind}.v32p0(<32 x {kind}> {value}, "
            f"{PTRS} align {min(size, 4)} {pointers}, {I1} {chosen})"
        )


def _words(size: int) -> int:
    return max(1, size // 4)


def _arguments(space: str) -> str:
    wide = "ptr %lo, ptr %hi" if space in ("global", "generic") else "ptr %lo"
    return f"ptr %env, ptr %rec, ptr %site, {wide}, i64 %add, i32 %mask"


def _empty(b: Body) -> None:
    """Without executing lanes nothing happens."""
    with b.returning(b.op("icmp eq i32 %mask, 0")):
        b.line("ret i1 true")


def access_functions() -> list[str]:
    """Loads and stores of every space and size."""
    functions = []
    for space, places in _PLACES.items():
        for size in (1, 2, 4, 8, 16):
            for signed in (False, True) if size < 4 else (False,):
                b = Body()
                _empty(b)
                inside, base = places(b, size)
                _gather(b, size, signed, space == "local", base, inside)
                b.line("ret i1 true")
                name = layout.symbol(f"load.{space}.{size}{'s' if signed else ''}")
                functions.append(b.close(f"define i1 @{name}({_arguments(space)}, ptr %out)"))
            b = Body()
            _empty(b)
            inside, base = places(b, size)
            _scatter(b, size, space == "local", base, inside)
            b.line("ret i1 true")
            data = "".join(f", ptr %d{n}" for n in range(_words(size)))
            name = layout.symbol(f"store.{space}.{size}")
            functions.append(b.close(f"define i1 @{name}({_arguments(space)}{data})"))
    return functions


def generic_functions() -> list[str]:
    """Generic loads and stores: to the space all executing lanes point into."""
    functions = []
    for size in (1, 2, 4, 8, 16):
        kinds = [(f"load.{{}}.{size}", ["ptr %out"])]
        if size < 4:
            kinds.append((f"load.{{}}.{size}s", ["ptr %out"]))
        kinds.append((f"store.{{}}.{size}", [f"ptr %d{n}" for n in range(_words(size))]))
        for name, tail in kinds:
            functions.append(_generic(name, ", ".join(tail)))
    return functions


def _generic(name: str, tail: str) -> str:
    b = Body()
    _empty(b)
    whole = b.wide(b.row(32, "%lo"), b.row(32, "%hi"))
    address = b.wadd(Val(64, b.bare(whole, 64)), Val(64, "%add", True))
    window = Val(64, b.get("i64", "%env", layout.SHARED_WINDOW), True)
    into = b.wsub(address, window)
    both = b.op(f"and i32 {b.mask_bits(b.wult(into, 1 << 25))}, %mask")
    shared = b.op(f"and i32 {b.mask_bits(b.wult(into, 1 << 24))}, %mask")
    offset = b.op("alloca <32 x i32>, align 64")
    b.line(f"store {b.whole(b.and_(b.lo(into), (1 << 24) - 1), 32)}, ptr {offset}, align 64")
    head = "ptr %env, ptr %rec, ptr %site"
    rest = f"i32 %mask, {tail}"
    for condition, space, where in (
        (b.op(f"icmp eq i32 {both}, 0"), "global", "ptr %lo, ptr %hi, i64 %add"),
        (b.op(f"icmp eq i32 {shared}, %mask"), "shared", f"ptr {offset}, i64 0"),
    ):
        with b.returning(condition):
            called = layout.symbol(name.format(space))
            b.line(f"ret i1 {b.op(f'call i1 @{called}({head}, {where}, {rest})')}")
    window_only = b.op(f"icmp eq i32 {both}, %mask")
    none = b.op(f"icmp eq i32 {shared}, 0")
    with b.returning(b.op(f"and i1 {window_only}, {none}")):
        called = layout.symbol(name.format("local"))
        b.line(f"ret i1 {b.op(f'call i1 @{called}({head}, ptr {offset}, i64 0, {rest})')}")
    b.line("ret i1 false")
    return b.close(
        f"define i1 @{layout.symbol(name.format('generic'))}({_arguments('generic')}, {tail})"
    )


def constant_functions() -> list[str]:
    """LDC: offsets by lane into one bank, given as (host pointer, bytes)."""
    functions = []
    for size in (1, 2, 4, 8, 16):
        for signed in (False, True) if size < 4 else (False,):
            b = Body()
            _empty(b)
            inside = Val(64, b.bare(b.zext(b.row(32, "%lo")), 64))
            limit = Val(64, b.get("i64", "%bank", 8), True)
            _refuse(b, _bad(b, inside, limit, size))
            # Lanes that do not execute may point anywhere: the gathers are masked.
            _gather(b, size, signed, False, b.get("ptr", "%bank"), inside)
            b.line("ret i1 true")
            name = layout.symbol(f"load.const.{size}{'s' if signed else ''}")
            functions.append(b.close(f"define i1 @{name}(ptr %bank, ptr %lo, i32 %mask, ptr %out)"))
    return functions


# ---- atomics -------------------------------------------------------------------------------


def _updated(b: Body, op: str, kind: str, old: str, given: str, other: str) -> str:
    """The new value of one element."""
    bits = f"i{layout.ATOMICS[f'{op}.{kind}']}"
    plain = {"ADD": "add", "AND": "and", "OR": "or", "XOR": "xor"}
    if kind == "F32":
        return _float_sum(b, old, given)
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
    _empty(b)
    inside, base = _PLACES[space](b, bits // 8)
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
    return b.close(f"define i1 @{name}({_arguments(space)}, ptr %d0, ptr %d1, ptr %out)")


# ---- the rest ------------------------------------------------------------------------------


def _resolve() -> str:
    """Fill a site with the live allocation that holds an address, by binary search."""
    b = Body()
    table = b.get("ptr", "%env", layout.TABLE)
    count = b.get("i64", "%env", layout.TABLE_COUNT)
    low, high = b.var("i64", 0), b.var("i64", count)
    with b.loop() as (_, after):
        first, last = b.get("i64", low), b.get("i64", high)
        b.unless(b.op(f"icmp uge i64 {first}, {last}"), after)
        middle = b.op(f"lshr i64 {b.op(f'add i64 {first}, {last}')}, 1")
        entry = b.at(table, b.op(f"mul i64 {middle}, 24"))
        above = b.op(f"icmp ugt i64 {b.get('i64', entry)}, %address")
        up = b.op(f"add i64 {middle}, 1")
        b.put("i64", b.op(f"select i1 {above}, i64 {first}, i64 {up}"), low)
        b.put("i64", b.op(f"select i1 {above}, i64 {middle}, i64 {last}"), high)
    place = b.get("i64", low)
    with b.returning(b.op(f"icmp eq i64 {place}, 0")):
        b.line("ret i1 false")
    entry = b.at(table, b.op(f"mul i64 {b.op(f'sub i64 {place}, 1')}, 24"))
    base, size = b.get("i64", entry), b.get("i64", entry, 8)
    inside = b.op(f"sub i64 %address, {base}")
    with b.returning(b.op(f"icmp uge i64 {inside}, {size}")):
        b.line("ret i1 false")
    b.put("i64", base, "%site")
    b.put("i64", size, "%site", 8)
    b.put("ptr", b.get("ptr", entry, 16), "%site", 16)
    b.line("ret i1 true")
    name = layout.symbol("resolve")
    return b.close(f"define i1 @{name}(ptr %env, ptr %site, i64 %address)")


def _shuffle() -> str:
    """Lanes by index, from one row to another."""
    b = Body()
    index = b.zext(b.and_(b.row(32, "%index"), 31))
    pointers = b.op(f"getelementptr i32, ptr %source, {b.whole(index, 64)}")
    value = b.op(
        f"call {I32} @llvm.masked.gather.v32i32.v32p0({PTRS} align 4 {pointers}, "
        f"{I1} splat (i1 true), {I32} zeroinitializer)"
    )
    b.put(I32, value, "%out", 0, 64)
    b.line("ret void")
    return b.close(f"define void @{layout.symbol('shuffle')}(ptr %source, ptr %index, ptr %out)")


def _leader() -> str:
    """The value all lanes of a mask have, or -1."""
    b = Body()
    row = b.row(32, "%row")
    lane = b.op("call i32 @llvm.cttz.i32(i32 %mask, i1 false)")
    first = b.op(f"extractelement {I32} {row.ref}, i32 {lane}")
    same = b.mask_bits(b.eq(row, Val(32, first, True)))
    here = b.op(f"and i32 {same}, %mask")
    all_same = b.op(f"icmp eq i32 {here}, %mask")
    wide = b.op(f"zext i32 {first} to i64")
    b.line(f"ret i64 {b.op(f'select i1 {all_same}, i64 {wide}, i64 -1')}")
    return b.close(f"define i64 @{layout.symbol('leader')}(ptr %row, i32 %mask)")


def _tables() -> list[str]:
    lines = []
    for name, table in (("turn_high", mufu.TURN_HIGH), ("turn_low", mufu.TURN_LOW)):
        numbers = ", ".join(f"i64 {int(v)}" for v in table)
        lines.append(f"@{name} = private constant [256 x i64] [{numbers}], align 64")
    return lines


def library_text(wide_vectors: bool) -> str:
    """The module of vector functions: straight code, which needs no passes.

    Args:
        wide_vectors: for a host with AVX-512.
    """
    return "\n".join(
        [
            *_tables(),
            _resolve(),
            _shuffle(),
            _leader(),
            *outlined_functions(wide_vectors),
            *access_functions(),
            *generic_functions(),
            *constant_functions(),
            *atomic_functions(),
        ]
    )


CONTROL = frozenset((SYMBOL, layout.symbol("pop"), layout.symbol("exit")))
"""The functions of `control_text`."""


def control_text() -> str:
    """The module of the grid loop and the divergence stack: variables and branches."""
    return "\n".join([*stack_functions(), loop_function()])


__all__ = ["CONTROL", "Msk", "control_text", "library_text", "splat"]
