"""Functions that compiled kernels call, as LLVM IR: made once for a host, not for a kernel,
and each when code that calls it is first made.

Accesses check all executing lanes before they touch memory and return whether all were good.
Lanes next to each other in memory, 16 at a time, take plain vector loads and stores; the others
are gathered and scattered in ascending lane order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final, Literal, NamedTuple

from gpudbg.sm.atomics.compiled import atomic_functions, sum_functions
from gpudbg.sm.barriers.compiled import barrier_functions
from gpudbg.sm.convergence.compiled import group_functions
from gpudbg.sm.divergence.compiled import stack_functions
from gpudbg.sm.engines import mufu
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import splat
from gpudbg.sm.engines.llvm.ir.values import FULL, UNIFORM, AccessHost, MaskHost, Msk, Val
from gpudbg.sm.engines.llvm.layout import GRID_LOOP
from gpudbg.sm.engines.llvm.outlined import OUTLINED
from gpudbg.sm.engines.llvm.runtime import directed, packed
from gpudbg.sm.engines.llvm.runtime.apart import Results, apart_function, called_apart
from gpudbg.sm.engines.llvm.runtime.body import (
    I1,
    I32,
    PLACES,
    Body,
    arguments,
    bad_lanes,
    nothing_to_do,
    refuse,
)
from gpudbg.sm.engines.llvm.runtime.copies import copy_functions
from gpudbg.sm.engines.llvm.runtime.directed import directed_functions
from gpudbg.sm.engines.llvm.runtime.float_bodies import FloatBodies
from gpudbg.sm.engines.llvm.runtime.mufu import MufuBodies
from gpudbg.sm.engines.llvm.runtime.ranked import ranked_functions
from gpudbg.sm.engines.llvm.runtime.sparse import sparse_rows
from gpudbg.sm.engines.llvm.runtime.tensor import float_product
from gpudbg.sm.engines.llvm.runtime.tensor_integers import integer_product
from gpudbg.sm.engines.llvm.runtime.warpgroup import operand_rows
from gpudbg.sm.engines.llvm.runtime.wide_moves import load_whole, matrix_functions, store_whole
from gpudbg.sm.engines.llvm.runtime.work_stealing import FOLLOW, LEAD, stealing_functions
from gpudbg.sm.residency.compiled import residency_functions
from gpudbg.sm.schedule.compiled import grid_functions

CHUNK = 16
PTRS = "<32 x ptr>"


def outlined_functions(host: AccessHost) -> list[str]:
    """One function for each row of `OUTLINED`: operands and result in memory."""
    functions = []
    for name, row in OUTLINED.items():
        if host.masks is MaskHost.PACKED and directed.is_single(name):
            functions.append(directed.single_function(name))
            continue
        b = Body()
        values = tuple(b.row(bits, f"%a{n}") for n, bits in enumerate(row.operands))
        parts = b.ir, b.values, b.ints, b.floats
        bodies = MufuBodies(*parts) if row.body == "mufu" else FloatBodies(*parts)
        result = getattr(bodies, row.body)(*values, **row.parameters)
        b.ir.line(f"store {b.values.whole(result, row.result)}, ptr %r, align 64")
        b.ir.line("ret void")
        listed = ", ".join([f"ptr %a{n}" for n in range(len(row.operands))] + ["ptr %r"])
        functions.append(b.close(f"define void @{layout.symbol(name)}({listed})"))
    return functions


# ---- moving data ---------------------------------------------------------------------------


def _pointers(b: Body, base: str, inside: Val, add: int) -> str:
    places = (b.ints.wadd if inside.bits == 64 else b.ints.add)(inside, add) if add else inside
    return b.ir.op(f"getelementptr i8, ptr {base}, {b.values.whole(places, inside.bits)}")


def _half(b: Body, kind: str, ref: str, half: int) -> str:
    """16 of 32 lanes."""
    indices = ", ".join(f"i32 {n}" for n in range(CHUNK * half, CHUNK * half + CHUNK))
    return b.ir.op(
        f"shufflevector <32 x {kind}> {ref}, <32 x {kind}> poison, <{CHUNK} x i32> <{indices}>"
    )


def _regular(b: Body, inside: Val, size: int, half: int) -> tuple[str, str]:
    """(i1 whether 16 lanes access consecutive memory, the first lane's offset).

    The first lane need not execute: its 32-bit offset may be negative and wrap around.
    """
    ir = b.ir
    one = f"i{inside.bits}"
    first = ir.op(f"extractelement <32 x {one}> {inside.ref}, i64 {CHUNK * half}")
    part = _half(b, one, inside.ref, half)
    spread = ir.op(f"insertelement <{CHUNK} x {one}> poison, {one} {first}, i64 0")
    kind = f"<{CHUNK} x {one}>"
    spread = ir.op(f"shufflevector {kind} {spread}, {kind} poison, <{CHUNK} x i32> zeroinitializer")
    steps = b.constants(one, range(0, CHUNK * size, size))
    goal = ir.op(f"add {kind} {spread}, {steps}")
    same = ir.op(f"icmp eq {kind} {part}, {goal}")
    bits = ir.op(f"bitcast <{CHUNK} x i1> {same} to i{CHUNK}")
    if inside.bits == 32:
        # An executing lane's offset is at most 64 bytes more, below the limit of 2 GiB.
        first = ir.op(f"sext i32 {first} to i64")
    return ir.op(f"icmp eq i{CHUNK} {bits}, -1"), first


def _window(b: Body, base: str, inside: Val) -> None:
    """Load from shared memory where all lanes are in one aligned piece of 256 bytes: four
    vectors, from which lanes pick."""
    ir, ints = b.ir, b.ints
    lane = ir.op("call i32 @llvm.cttz.i32(i32 %mask, i1 false)")
    # The lane is known only at run time: read its offset from the row that the caller stored.
    row = ir.op(f"getelementptr i32, ptr %lo, i32 {lane}")
    first = ir.op(f"add i32 {ir.get('i32', row)}, {ir.op('trunc i64 %add to i32')}")
    piece = ir.op(f"and i32 {first}, -256")
    apart = b.values.mask_bits(ints.mnot(ints.ult(ints.sub(inside, Val(32, piece, UNIFORM)), 256)))
    near = ir.op(f"icmp eq i32 {ir.op(f'and i32 {apart}, %mask')}, 0")
    bytes_ = ir.get("i64", "%env", layout.SHARED_BYTES)
    start = ir.op(f"zext i32 {piece} to i64")
    whole = ir.op(f"icmp ule i64 {ir.op(f'add i64 {start}, 256')}, {bytes_}")
    with ir.returning(ir.op(f"and i1 {near}, {whole}")):
        kind = f"<{CHUNK} x i32>"
        place = ir.at(base, start)
        parts = [ir.get(kind, place, 64 * n, 4) for n in range(4)]
        index = ints.shr(inside, 2)
        upper = ints.mnot(ints.eq(b.floats.and_(index, 32), 0))
        for half in range(2):
            picks = f"{kind} {_half(b, 'i32', b.values.bare(index, 32), half)}"
            low, high = (
                ir.op(
                    f"call {kind} @llvm.x86.avx512.vpermi2var.d.512("
                    f"{kind} {parts[n]}, {picks}, {kind} {parts[n + 1]})"
                )
                for n in (0, 2)
            )
            chosen = _half(b, "i1", b.values.mask_lanes(upper), half)
            value = ir.op(f"select <{CHUNK} x i1> {chosen}, {kind} {high}, {kind} {low}")
            ir.put(kind, value, "%out", 64 * half, 64)
        ir.line("ret i1 true")


def _chunks(b: Body, size: int, base: str, inside: Val, values: str | None) -> None:
    """Four-byte accesses by halves: plain where regular, else gathered or scattered."""
    ir = b.ir
    lanes = ir.op(f"bitcast i32 %mask to {I1}")
    for half in range(2):
        chosen = _half(b, "i1", lanes, half)
        some, plain, spread = ir.fresh("some"), ir.fresh("plain"), ir.fresh("spread")
        after = ir.fresh("moved")
        kind = f"<{CHUNK} x i32>"
        if values is None:
            ir.put(kind, "zeroinitializer", "%out", 64 * half, 64)
        # Hosts are very slow at a masked access to unmapped memory, even with an empty mask.
        none = ir.op(f"icmp eq i{CHUNK} {ir.op(f'bitcast <{CHUNK} x i1> {chosen} to i{CHUNK}')}, 0")
        ir.choose(none, after, some)
        ir.label(some)
        regular, first = _regular(b, inside, size, half)
        data = "" if values is None else _half(b, "i32", values, half)
        ir.choose(regular, plain, spread)
        ir.label(plain)
        start = ir.at(base, first)
        _move(b, f"{kind}", "load" if values is None else "store", "ptr", start, chosen, data, half)
        ir.br(after)
        ir.label(spread)
        one = f"i{inside.bits}"
        offsets = f"<{CHUNK} x {one}> {_half(b, one, inside.ref, half)}"
        part = ir.op(f"getelementptr i8, ptr {base}, {offsets}")
        how = "gather" if values is None else "scatter"
        _move(b, kind, how, f"<{CHUNK} x ptr>", part, chosen, data, half)
        ir.br(after)
        ir.label(after)


def _move(
    b: Body, kind: str, how: str, pointer: str, place: str, chosen: str, data: str, half: int
) -> None:
    """One masked load, store, gather or scatter of 16 lanes; loads go to `%out`."""
    suffix = f"v{CHUNK}i32.{'p0' if pointer == 'ptr' else f'v{CHUNK}p0'}"
    mask = f"<{CHUNK} x i1> {chosen}"
    where = f"{pointer} align 4 {place}"
    if how in ("load", "gather"):
        value = b.ir.op(
            f"call {kind} @llvm.masked.{how}.{suffix}({where}, {mask}, {kind} zeroinitializer)"
        )
        b.ir.put(kind, value, "%out", 64 * half, 64)
    else:
        b.ir.line(f"call void @llvm.masked.{how}.{suffix}({kind} {data}, {where}, {mask})")


def _gather_words_around(b: Body, size: int, signed: bool, base: str, inside: Val) -> None:
    """Load bytes or pairs of them as parts of whole words, where words begin at multiples of 4:
    hosts gather nothing smaller.  What is not an allocation of ours may begin anywhere."""
    ir, ints = b.ir, b.ints
    low = ir.op(f"and i64 {ir.op(f'ptrtoint ptr {base} to i64')}, 3")
    with ir.returning(ir.op(f"icmp eq i64 {low}, 0")):
        lanes = ir.op(f"bitcast i32 %mask to {I1}")
        one = f"<{CHUNK} x i{inside.bits}>"
        for half in range(2):
            offsets = _half(b, f"i{inside.bits}", b.values.bare(inside, inside.bits), half)
            whole = ir.op(f"and {one} {offsets}, {splat(f'i{inside.bits}', -4)}")
            words = ir.op(f"getelementptr i8, ptr {base}, {one} {whole}")
            kind = f"<{CHUNK} x i32>"
            found = ir.op(
                f"call {kind} @llvm.masked.gather.v{CHUNK}i32.v{CHUNK}p0(<{CHUNK} x ptr> align 4 "
                f"{words}, <{CHUNK} x i1> {_half(b, 'i1', lanes, half)}, {kind} zeroinitializer)"
            )
            ir.put(kind, found, "%out", 64 * half, 64)
        part = ints.shl(b.floats.and_(ints.lo(inside) if inside.bits == 64 else inside, 3), 3)
        word = Val(32, ir.get(I32, "%out", 0, 64))
        top = ints.shl(ints.shr(word, part), 32 - 8 * size)
        value = (ints.sar if signed else ints.shr)(top, 32 - 8 * size)
        ir.put(I32, b.values.bare(value, 32), "%out", 0, 64)
        ir.line("ret i1 true")


def _gather(b: Body, size: int, signed: bool, local: bool, base: str, inside: Val) -> None:
    """All lanes of one load to `%out`."""
    ir = b.ir
    if size == 4 and not local:
        if b.wide_vectors and inside.bits == 32:
            _window(b, base, inside)
        _chunks(b, size, base, inside, None)
        return
    if size > 4 and not local:
        with ir.returning(ir.op("icmp eq i32 %mask, -1")):
            load_whole(b, size, base, inside)
            ir.line("ret i1 true")
    chosen = ir.op(f"bitcast i32 %mask to {I1}")
    step = 128 if local else 4
    if size >= 4:
        for n in range(size // 4):
            pointers = _pointers(b, base, inside, step * n)
            value = ir.op(
                f"call {I32} @llvm.masked.gather.v32i32.v32p0({PTRS} align 4 {pointers}, "
                f"{I1} {chosen}, {I32} zeroinitializer)"
            )
            ir.put(I32, value, "%out", 128 * n, 64)
        return
    _gather_words_around(b, size, signed, base, inside)
    kind = f"i{8 * size}"
    pointers = _pointers(b, base, inside, 0)
    value = ir.op(
        f"call <32 x {kind}> @llvm.masked.gather.v32{kind}.v32p0({PTRS} align {size} {pointers}, "
        f"{I1} {chosen}, <32 x {kind}> zeroinitializer)"
    )
    how = "sext" if signed else "zext"
    ir.put(I32, ir.op(f"{how} <32 x {kind}> {value} to {I32}"), "%out", 0, 64)


def _scatter(b: Body, size: int, local: bool, base: str, inside: Val) -> None:
    """All lanes of one store from `%d0`..."""
    ir = b.ir
    if size == 4 and not local:
        _chunks(b, size, base, inside, ir.get(I32, "%d0", 0, 64))
        return
    if size > 4 and not local:
        with ir.returning(ir.op("icmp eq i32 %mask, -1")):
            store_whole(b, size, base, inside)
            ir.line("ret i1 true")
    chosen = ir.op(f"bitcast i32 %mask to {I1}")
    step = 128 if local else 4
    for n in range(max(1, size // 4)):
        pointers = _pointers(b, base, inside, step * n)
        value, kind = ir.get(I32, f"%d{n}", 0, 64), "i32"
        if size < 4:
            kind = f"i{8 * size}"
            value = ir.op(f"trunc {I32} {value} to <32 x {kind}>")
        ir.line(
            f"call void @llvm.masked.scatter.v32{kind}.v32p0(<32 x {kind}> {value}, "
            f"{PTRS} align {min(size, 4)} {pointers}, {I1} {chosen})"
        )


def _words(size: int) -> int:
    return max(1, size // 4)


def access_functions(host: AccessHost) -> list[str]:
    """Loads and stores of every space and size."""
    functions = []
    for space in PLACES:
        for size in (1, 2, 4, 8, 16):
            for signed in (False, True) if size < 4 else (False,):
                name = layout.symbol(f"load.{space}.{size}{'s' if signed else ''}")
                b = Body(host, _otherwise(space, name, ", ptr %out"))
                nothing_to_do(b)
                _load(b, space, size, signed)
                functions.append(b.close(f"define i1 @{name}({arguments(space)}, ptr %out)"))
                if space == "global":
                    functions.append(apart_function(name, size, "", Results(_words(size))))
            name = layout.symbol(f"store.{space}.{size}")
            data = "".join(f", ptr %d{n}" for n in range(_words(size)))
            b = Body(host, _otherwise(space, name, data))
            nothing_to_do(b)
            _store(b, space, size)
            functions.append(b.close(f"define i1 @{name}({arguments(space)}{data})"))
            functions.append(_mark(space, size, host))
            if space == "local" and size >= 4:
                functions.append(_marked_store(size, host))
            if space == "global":
                functions.append(apart_function(name, size, data))
                functions.append(apart_function(layout.symbol(f"mark.{space}.{size}"), size))
    return functions


def _load(b: Body, space: str, size: int, signed: bool) -> None:
    """Emit a load to `%out`, and the return."""
    if b.packed:
        window = packed.WINDOWS[space](b, size)
        with b.ir.returning(window.inside):
            packed.load(b, window, size, signed)
        if _refused_elsewhere(b, space):
            return
    inside, base = PLACES[space](b, size)
    if b.packed:
        packed.load_each(b, base, inside, _APART[space], size, signed)
        return
    _gather(b, size, signed, space == "local", base, inside)
    b.ir.line("ret i1 true")


_APART: Final = {"global": 4, "local": 128}
"""Bytes from a lane's word to its next one."""


def _store(b: Body, space: str, size: int) -> None:
    """Emit a store of `%d0`..., and the return."""
    if b.packed:
        window = packed.WINDOWS[space](b, size)
        with b.ir.returning(window.inside):
            if space == "local":
                b.ir.put("i64", 0, "%rec", layout.LOCAL_CLEAR)
            packed.store(b, window, size, _data(size), alone=space != "global")
        if _refused_elsewhere(b, space):
            return
    inside, base = PLACES[space](b, size)
    if space == "local":
        b.ir.put("i64", 0, "%rec", layout.LOCAL_CLEAR)
    if b.packed:
        packed.store_each(b, base, inside, _APART[space], size, _data(size))
        return
    _scatter(b, size, space == "local", base, inside)
    b.ir.line("ret i1 true")


def _data(size: int) -> list[str]:
    """Rows that a store is given."""
    return [f"%d{n}" for n in range(_words(size))]


def _refused_elsewhere(b: Body, space: str) -> bool:
    """Emit the end where a window is all there is of a space; False: nothing was emitted."""
    if space == "shared":
        b.ir.line("ret i1 false")
    return space == "shared"


def _otherwise(space: str, name: str, rows: str) -> str:
    """The call of the function for lanes in several allocations."""
    return called_apart(name, rows) if space == "global" else ""


def _mark(space: str, size: int, host: AccessHost) -> str:
    """Emit: mark bytes as written, by a store of ones to the marks."""
    name = layout.symbol(f"mark.{space}.{size}")
    head = f"define i1 @{name}({arguments(space)})"
    b = Body(host, _otherwise(space, name, ""))
    ir = b.ir
    nothing_to_do(b)
    if b.packed:
        window = packed.WINDOWS[space](b, size)
        with ir.returning(window.inside):
            beside = ir.at(window.base, _to_marks(b, space))
            packed.store(b, window._replace(base=beside), size, ())
        if not _refused_elsewhere(b, space):
            inside, base = PLACES[space](b, size)
            beside = ir.at(base, _to_marks(b, space))
            packed.store_each(b, beside, inside, _APART[space], size, ())
        return b.close(head)
    for n in range(_words(size)):
        ir.line(f"%d{n} = alloca {I32}, align 128")
        ir.put(I32, "splat (i32 -1)", f"%d{n}", 0, 64)
    inside, base = PLACES[space](b, size)
    _scatter(b, size, space == "local", ir.at(base, _to_marks(b, space)), inside)
    ir.line("ret i1 true")
    return b.close(head)


def _to_marks(b: Body, space: str) -> str:
    """Emit: bytes from memory to its marks; a return where a site's allocation has none."""
    if space != "global":
        fields = {"shared": layout.SHARED_MARKS, "local": layout.LOCAL_MARKS}
        return b.ir.get("i64", "%env", fields[space])
    apart = b.ir.get("i64", "%site", layout.SITE_MARKS)
    with b.ir.returning(b.ir.op(f"icmp eq i64 {apart}, 0")):
        b.ir.line("ret i1 true")
    return apart


def _marked_store(size: int, host: AccessHost) -> str:
    """Emit: a store to local memory and its marks, at once where words are stored one by one."""
    b, space = Body(host), "local"
    ir = b.ir
    nothing_to_do(b)
    rows = [f"ptr {row}" for row in _data(size)]
    if b.packed:
        window = packed.local_window(b, size)
        with ir.returning(window.inside):
            ir.put("i64", 0, "%rec", layout.LOCAL_CLEAR)
            marks = ir.get("i64", "%env", layout.LOCAL_MARKS)
            packed.store(b, window, size, _data(size), marks)
    given = arguments(space)
    store, mark = (layout.symbol(f"{what}.{space}.{size}") for what in ("store", "mark"))
    stored = ir.op(f"call i1 @{store}({', '.join([given, *rows])})")
    with ir.returning(ir.op(f"xor i1 {stored}, true")):
        ir.line("ret i1 false")
    ir.line(f"ret i1 {ir.op(f'call i1 @{mark}({given})')}")
    name = layout.symbol(f"{layout.MARKED_STORE}.{space}.{size}")
    return b.close(f"define i1 @{name}({', '.join([given, *rows])})")


def generic_functions() -> list[str]:
    """Generic loads and stores: to the space all executing lanes point into."""
    functions = []
    for size in (1, 2, 4, 8, 16):
        kinds = [(f"load.{{}}.{size}", ["ptr %out"])]
        if size < 4:
            kinds.append((f"load.{{}}.{size}s", ["ptr %out"]))
        kinds.append((f"store.{{}}.{size}", [f"ptr %d{n}" for n in range(_words(size))]))
        kinds.append((f"mark.{{}}.{size}", []))
        for name, tail in kinds:
            functions.append(_generic(name, "".join(f", {each}" for each in tail)))
    return functions


def _generic(name: str, tail: str) -> str:
    b = Body()
    nothing_to_do(b)
    whole = b.ints.wide(b.row(32, "%lo"), b.row(32, "%hi"))
    address = b.ints.wadd(Val(64, b.values.bare(whole, 64)), Val(64, "%add", UNIFORM))
    window = Val(64, b.ir.get("i64", "%env", layout.SHARED_WINDOW), UNIFORM)
    into = b.ints.wsub(address, window)
    both = b.ir.op(f"and i32 {b.values.mask_bits(b.ints.wult(into, 1 << 25))}, %mask")
    shared = b.ir.op(f"and i32 {b.values.mask_bits(b.ints.wult(into, 1 << 24))}, %mask")
    offset = b.ir.op("alloca <32 x i32>, align 64")
    inside = b.values.whole(b.floats.and_(b.ints.lo(into), (1 << 24) - 1), 32)
    b.ir.line(f"store {inside}, ptr {offset}, align 64")
    head = "ptr %env, ptr %rec, ptr %site"
    rest = f"i32 %mask{tail}"
    for condition, space, where in (
        (b.ir.op(f"icmp eq i32 {both}, 0"), "global", "ptr %lo, ptr %hi, i64 %add"),
        (b.ir.op(f"icmp eq i32 {shared}, %mask"), "shared", f"ptr {offset}, i64 0"),
    ):
        with b.ir.returning(condition):
            called = layout.symbol(name.format(space))
            b.ir.line(f"ret i1 {b.ir.op(f'call i1 @{called}({head}, {where}, {rest})')}")
    window_only = b.ir.op(f"icmp eq i32 {both}, %mask")
    none = b.ir.op(f"icmp eq i32 {shared}, 0")
    with b.ir.returning(b.ir.op(f"and i1 {window_only}, {none}")):
        called = layout.symbol(name.format("local"))
        b.ir.line(f"ret i1 {b.ir.op(f'call i1 @{called}({head}, ptr {offset}, i64 0, {rest})')}")
    b.ir.line("ret i1 false")
    return b.close(
        f"define i1 @{layout.symbol(name.format('generic'))}({arguments('generic')}{tail})"
    )


def constant_functions(host: AccessHost) -> list[str]:
    """LDC: offsets by lane into one bank, given as (host pointer, bytes)."""
    functions = []
    for size in (1, 2, 4, 8, 16):
        for signed in (False, True) if size < 4 else (False,):
            b = Body(host)
            nothing_to_do(b)
            if b.packed:
                window = packed.constant_window(b, size)
                with b.ir.returning(window.inside):
                    packed.load(b, window, size, signed)
            low = b.row(32, "%lo")
            inside = Val(64, b.values.bare(b.ints.zext(low), 64))
            limit = Val(64, b.ir.get("i64", "%bank", 8), UNIFORM)
            refuse(b, bad_lanes(b, inside, limit, size))
            if b.packed:
                packed.load_each(b, b.ir.get("ptr", "%bank"), inside, 4, size, signed)
            else:
                # Gathers are masked: lanes that do not execute may hold any address.
                _gather(b, size, signed, False, b.ir.get("ptr", "%bank"), inside)
                b.ir.line("ret i1 true")
            name = layout.symbol(f"load.const.{size}{'s' if signed else ''}")
            functions.append(b.close(f"define i1 @{name}(ptr %bank, ptr %lo, i32 %mask, ptr %out)"))
    return functions


# ---- the rest ------------------------------------------------------------------------------


def _resolve() -> str:
    """Fill a site with the live allocation that holds an address, by binary search.

    Not with one to write to that nobody has written to since the last checkpoint: the step engine
    has its contents kept.
    """
    b = Body()
    table = b.ir.get("ptr", "%env", layout.TABLE)
    count = b.ir.get("i64", "%env", layout.TABLE_COUNT)
    low, high = b.ir.var("i64", 0), b.ir.var("i64", count)
    with b.ir.loop() as (_, after):
        first, last = b.ir.get("i64", low), b.ir.get("i64", high)
        b.ir.unless(b.ir.op(f"icmp uge i64 {first}, {last}"), after)
        middle = b.ir.op(f"lshr i64 {b.ir.op(f'add i64 {first}, {last}')}, 1")
        entry = b.ir.at(table, b.ir.op(f"mul i64 {middle}, {layout.TABLE_ROW}"))
        above = b.ir.op(f"icmp ugt i64 {b.ir.get('i64', entry)}, %address")
        up = b.ir.op(f"add i64 {middle}, 1")
        b.ir.put("i64", b.ir.op(f"select i1 {above}, i64 {first}, i64 {up}"), low)
        b.ir.put("i64", b.ir.op(f"select i1 {above}, i64 {middle}, i64 {last}"), high)
    place = b.ir.get("i64", low)
    with b.ir.returning(b.ir.op(f"icmp eq i64 {place}, 0")):
        b.ir.line("ret i1 false")
    entry = b.ir.at(table, b.ir.op(f"mul i64 {b.ir.op(f'sub i64 {place}, 1')}, {layout.TABLE_ROW}"))
    base, size = b.ir.get("i64", entry), b.ir.get("i64", entry, 8)
    inside = b.ir.op(f"sub i64 %address, {base}")
    with b.ir.returning(b.ir.op(f"icmp uge i64 {inside}, {size}")):
        b.ir.line("ret i1 false")
    writes = b.ir.op(f"icmp ne i64 {b.ir.get('i64', '%site', layout.SITE_WRITES)}, 0")
    kept = b.ir.op(f"icmp eq i64 {b.ir.get('i64', entry, 24)}, {b.ir.get('i64', table, 24)}")
    with b.ir.returning(b.ir.op(f"and i1 {writes}, {b.ir.op(f'xor i1 {kept}, true')}")):
        b.ir.line("ret i1 false")
    host = b.ir.get("i64", entry, 16)
    b.ir.put("i64", b.ir.get("i64", entry, 32), "%site", layout.SITE_MARKS)
    for n, value in enumerate((base, size, host)):
        b.ir.put("i64", value, "%site", layout.SITE_WHOLE + 8 * n)
    # The window, from one multiple of 4 GiB to the next.
    start = b.ir.op(
        f"call i64 @llvm.umax.i64(i64 {base}, i64 {b.ir.op(f'and i64 %address, {-1 << 32}')})"
    )
    last = b.ir.op(f"or i64 %address, {FULL}")
    end = b.ir.op(f"add i64 {base}, {b.ir.op(f'sub i64 {size}, 1')}")
    end = b.ir.op(f"call i64 @llvm.umin.i64(i64 {last}, i64 {end})")
    room = b.ir.op(f"add i64 {b.ir.op(f'sub i64 {end}, {start}')}, 1")
    place = b.ir.op(f"add i64 {host}, {b.ir.op(f'sub i64 {start}, {base}')}")
    known = "true"
    for n, value in enumerate((start, room, place)):
        same = b.ir.op(f"icmp eq i64 {value}, {b.ir.get('i64', '%site', 8 * n)}")
        known = b.ir.op(f"and i1 {known}, {same}")
    with b.ir.returning(known):
        b.ir.line("ret i1 true")
    for n, value in enumerate((start, room, place)):
        b.ir.put("i64", value, "%site", 8 * n)
    b.ir.put("i64", b.ir.op(f"sub i64 {place}, {start}"), "%site", layout.SITE_APART)
    for rooms in layout.SITE_ROOMS:
        b.ir.put("i64", 0, "%site", rooms)
    b.ir.line("ret i1 true")
    name = layout.symbol("resolve")
    return b.close(f"define i1 @{name}(ptr %env, ptr %site, i64 %address)")


def _shuffle() -> str:
    """Lanes by index, from one row to another."""
    b = Body()
    index = b.ints.zext(b.floats.and_(b.row(32, "%index"), 31))
    pointers = b.ir.op(f"getelementptr i32, ptr %source, {b.values.whole(index, 64)}")
    value = b.ir.op(
        f"call {I32} @llvm.masked.gather.v32i32.v32p0({PTRS} align 4 {pointers}, "
        f"{I1} splat (i1 true), {I32} zeroinitializer)"
    )
    b.ir.put(I32, value, "%out", 0, 64)
    b.ir.line("ret void")
    return b.close(f"define void @{layout.symbol('shuffle')}(ptr %source, ptr %index, ptr %out)")


def _tables() -> list[str]:
    lines = []
    for name, table in (("turn_high", mufu.TURN_HIGH), ("turn_low", mufu.TURN_LOW)):
        numbers = ", ".join(f"i64 {int(v)}" for v in table)
        lines.append(f"@{name} = private constant [256 x i64] [{numbers}], align 64")
    return lines


@cache
def _definitions(host: AccessHost) -> dict[str, str]:
    """Name in IR -> the text of a function or table that is straight code and needs few passes."""
    found = [
        *_tables(),
        _resolve(),
        _shuffle(),
        *directed_functions(host.masks is MaskHost.PACKED),
        *outlined_functions(host),
        *access_functions(host),
        *generic_functions(),
        *ranked_functions(),
        *copy_functions(),
        *constant_functions(host),
        *matrix_functions(),
        *atomic_functions(host),
        *sum_functions(host),
    ]
    return {_NAME.findall(text)[0]: text for text in found}


_NAME = re.compile(r"@(\w+)")


def library_text(host: AccessHost) -> str:
    """The module of all vector functions."""
    return "\n".join(_definitions(host).values())


class LibraryModule(NamedTuple):
    """What is built at once: IR, the passes it needs, the functions that may be called."""

    text: str
    passes: Literal["variables", "all"]
    names: tuple[str, ...]


def module_with(
    symbol: str, host: AccessHost, half_conversions: bool, directed: bool
) -> LibraryModule:
    """The module of a function: alone with those that it calls, or with its kin.

    Args:
        symbol: its name in IR.
        host, half_conversions, directed: as of `library_text` and `tensor_text`.
    """
    for names, text in CONTROL.items():
        if symbol in names:
            return LibraryModule(text(), "all", names)
    if symbol in _TENSOR:
        wide = host.masks is MaskHost.REGISTERS
        text_ = tensor_text(_TENSOR[symbol], half_conversions, directed, wide)
        return LibraryModule(text_, "variables", (symbol,))
    known = _definitions(host)
    wanted, left = set[str](), {symbol}
    while left:
        wanted |= left
        left = {n for each in left for n in _NAME.findall(known[each])} & known.keys() - wanted
    found = "\n".join(text for name, text in known.items() if name in wanted)
    return LibraryModule(found, "variables", (symbol,))


_TENSOR = {layout.symbol(name): name for name in layout.TENSOR}


def tensor_text(name: str, half_conversions: bool, directed: bool, wide_vectors: bool) -> str:
    """The module of a product of matrices, of `layout.TENSOR`.

    Args:
        half_conversions: for a host that has instructions between f16 and f32; without them LLVM
            calls functions that the process may not have.
        directed: for an x86.
        wide_vectors: for one with AVX-512.
    """
    if name.startswith(("hmma.", "qmma.")):
        return float_product(name, half_conversions, directed, wide_vectors)
    if name.startswith("wgmma."):
        return operand_rows(name)
    if name.startswith("sparse."):
        return sparse_rows(name)
    return integer_product(name)


def _loop_text() -> str:
    return "\n".join(
        [*barrier_functions(), *residency_functions(), *grid_functions(), *stealing_functions()]
    )


CONTROL: Final[dict[tuple[str, ...], Callable[[], str]]] = {
    (GRID_LOOP, LEAD, FOLLOW): _loop_text,
    tuple(map(layout.symbol, ("pop", "exit", "spread"))): lambda: "\n".join(stack_functions()),
    tuple(map(layout.symbol, layout.GROUPS)): lambda: "\n".join(group_functions()),
}
"""Functions that are built together -> their IR, which has variables and branches: the grid loop,
the divergence stack, groups of lanes."""


__all__ = [
    "CONTROL", "LibraryModule", "Msk", "library_text", "module_with", "splat", "tensor_text",
]  # fmt: skip
