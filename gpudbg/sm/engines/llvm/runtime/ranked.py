"""Accesses by addresses that may lie in several spaces, or in another block of the cluster.

A *cluster* address is one of shared memory with the rank of a block above it; the access function
of shared memory does each block's lanes, with a record of that block in place of the warp's.
A *generic* address lies in one of the windows (`mem.windows`) or in global memory; from sm_90 on
(`ranked`) the window of shared memory has all blocks of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudbg.mem.windows import RANK_SHIFT, SM_9X, WINDOW_BYTES
from gpudbg.sm.clusters import cluster
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, Mask, Num, Val
from gpudbg.sm.engines.llvm.runtime.apart import NOTHING, Results
from gpudbg.sm.engines.llvm.runtime.body import I32, Body, arguments, nothing_to_do, refuse
from gpudbg.sm.residency import arena

_INSIDE = WINDOW_BYTES - 1


def ranked_functions() -> list[str]:
    """Cluster and ranked accesses of each kind, and generic atomics of older sets."""
    found: list[str] = []
    for size in (1, 2, 4, 8, 16):
        words = max(1, size // 4)
        for sign in ("", "s") if size < 4 else ("",):
            found += _both(f"load.{{}}.{size}{sign}", size, "", Results(words))
        data = "".join(f", ptr %d{n}" for n in range(words))
        found += _both(f"store.{{}}.{size}", size, data)
        found += _both(f"mark.{{}}.{size}", size, "")
    for what, bits in layout.ATOMICS.items():
        name, results = f"atomic.{{}}.{what}", Results(1, bits)
        found.append(_cluster(name, bits // 8, _OPERANDS, results))
        for threads in (False, True) if what not in layout.SHARED_ATOMICS else ():
            for kind in ("ranked", "generic"):
                found.append(_generic(name, bits // 8, _OPERANDS, results, kind, threads))
    return [*found, _note()]


_OPERANDS = ", ptr %d0, ptr %d1"


def _both(name: str, size: int, rows: str, results: Results = NOTHING) -> list[str]:
    return [_cluster(name, size, rows, results), _generic(name, size, rows, results, "ranked")]


# ---- the cluster -----------------------------------------------------------------------------


def _cluster(name: str, size: int, rows: str, results: Results) -> str:
    """Emit an access to shared memory of the cluster: all lanes are checked before the first moves.

    Args:
        name: of the function, with `{}` for the space.
        size: bytes of a lane.
        rows: its further parameters: pointers to rows of data.
        results: what it gives.
    """
    b = Body()
    ir = b.ir
    given = ", ptr %out" if results.rows else ""
    if name.startswith("atomic"):
        ir.put(results.kind, "zeroinitializer", "%out", 0, 64)
    nothing_to_do(b)
    low = b.ints.add(b.row(32, "%lo"), Val(32, ir.op("trunc i64 %add to i32"), UNIFORM))
    inside, ranks = b.floats.and_(low, _INSIDE), b.ints.shr(low, RANK_SHIFT)
    _check_inside(b, inside, size)
    places, numbers = (ir.op(f"alloca {I32}, align 64") for _ in range(2))
    for place, value in ((places, inside), (numbers, ranks)):
        ir.put(I32, b.values.bare(value, 32), place, 0, 64)
    out = ir.op(f"alloca [{max(results.rows, 1)} x {results.kind}], align 128")
    block = ir.get("ptr", "%rec", layout.CTA_POINTER)
    about = ir.get("ptr", block, arena.CLUSTER)
    _refuse(b, f"icmp eq ptr {about}, null")
    count = ir.op(f"trunc i64 {ir.get('i64', about, cluster.COUNT)} to i32")
    with _ranks(b, numbers, ranks) as (rank, _):
        _refuse(b, f"icmp uge i32 {rank}, {count}")
        live = ir.get("i64", _block(b, about, rank), arena.LIVE)
        _refuse(b, f"icmp eq i64 {live}, 0")
    with _ranks(b, numbers, ranks) as (rank, part):
        other = ir.get("ptr", _block(b, about, rank), arena.BLOCK_BYTES)
        head = f"ptr %env, ptr {other}, ptr null, ptr {places}, i64 0, i32 {part}"
        tail = f", ptr {out}" if results.rows else ""
        done = ir.op(f"call i1 @{layout.symbol(name.format('shared'))}({head}{rows}{tail})")
        _refuse(b, f"xor i1 {done}, true")
        _merge(b, out, part, results)
    ir.line("ret i1 true")
    symbol = layout.symbol(name.format("cluster"))
    return b.close(f"define i1 @{symbol}({arguments('shared')}{rows}{given})")


def _check_inside(b: Body, inside: Num, size: int) -> None:
    """Return false where an executing lane's offset is misaligned or outside a block's memory."""
    ir, turn = b.ir, size.bit_length() - 1
    word = b.values.whole(inside, 32)
    pair = f"{word}, {word}, {b.values.whole(turn, 32)}"
    # Rotate right by the bits that must be 0: a misaligned offset becomes huge.
    turned = Val(32, ir.op(f"call {I32} @llvm.fshr.v32i32({pair})"))
    size_ = ir.op(f"trunc i64 {ir.get('i64', '%env', layout.SHARED_BYTES)} to i32")
    room = Val(32, ir.op(f"lshr i32 {size_}, {turn}"), UNIFORM)
    bad = b.values.mask_bits(b.ints.mnot(b.ints.ult(turned, room)))
    refuse(b, ir.op(f"and i32 {bad}, %mask"))


def _refuse(b: Body, condition: str) -> None:
    """Return false where an i1 holds."""
    with b.ir.returning(b.ir.op(condition)):
        b.ir.line("ret i1 false")


@contextmanager
def _ranks(b: Body, numbers: str, ranks: Num) -> Iterator[tuple[str, str]]:
    """Emit a loop over the numbers that executing lanes have: one, and its lanes as bits."""
    ir = b.ir
    left = ir.var("i32", "%mask")
    with ir.loop() as (_, after):
        now = ir.get("i32", left)
        ir.unless(ir.op(f"icmp eq i32 {now}, 0"), after)
        first = ir.op(f"call i32 @llvm.cttz.i32(i32 {now}, i1 false)")
        rank = ir.get("i32", ir.op(f"getelementptr i32, ptr {numbers}, i32 {first}"))
        same = b.values.mask_bits(b.ints.eq(ranks, Val(32, rank, UNIFORM)))
        part = ir.op(f"and i32 {now}, {same}")
        ir.put("i32", ir.op(f"xor i32 {now}, {part}"), left)
        yield rank, part


def _block(b: Body, about: str, rank: str) -> str:
    """The descriptor of a block of the cluster."""
    table = b.ir.at(about, cluster.BLOCKS)
    return b.ir.get("ptr", b.ir.op(f"getelementptr ptr, ptr {table}, i32 {rank}"))


# ---- generic addresses -----------------------------------------------------------------------


def _generic(
    name: str, size: int, rows: str, results: Results, kind: str, threads: bool = False
) -> str:  # fmt: skip
    """Emit a generic access: to the space that all executing lanes point into, or to several, once
    all lanes have been checked.

    Args:
        name, size, rows, results: as of `_cluster`.
        kind: "ranked", or "generic": the windows of sets before sm_90.
        threads: other threads may be at global memory.
    """
    b = Body()
    ir, ints = b.ir, b.ints
    given = ", ptr %out" if results.rows else ""
    atomic, loads = name.startswith("atomic"), name.startswith("load")
    if atomic:
        ir.put(results.kind, "zeroinitializer", "%out", 0, 64)
    nothing_to_do(b)
    whole = ints.wide(b.row(32, "%lo"), b.row(32, "%hi"))
    address = ints.wadd(Val(64, b.values.bare(whole, 64)), Val(64, "%add", UNIFORM))
    window = Val(64, ir.get("i64", "%env", layout.SHARED_WINDOW), UNIFORM)
    into = ints.wsub(address, window)
    ranked = kind == "ranked"
    behind = ints.wsub(address, SM_9X.local_window) if ranked else ints.wsub(into, WINDOW_BYTES)
    shared = _lanes(b, ints.wult(into, SM_9X.shared_bytes if ranked else WINDOW_BYTES))
    local = _lanes(b, ints.wult(behind, WINDOW_BYTES))
    own = shared
    if ranked:
        block = ir.get("ptr", "%rec", layout.CTA_POINTER)
        rank = Val(32, ir.get("i32", block, arena.RANK), UNIFORM)
        there = ints.eq(b.floats.and_(ints.lo(into), ~_INSIDE & 0xFFFF_FFFF), rank)
        own = ir.op(f"and i32 {shared}, {_lanes(b, there)}")
    windows = ir.op(f"or i32 {shared}, {local}")
    parts = [
        ("global", ir.op(f"xor i32 {windows}, %mask"), "ptr %lo, ptr %hi, i64 %add"),
        ("shared", own, _row(b, b.floats.and_(ints.lo(into), _INSIDE))),
    ]
    if ranked:
        others = ir.op(f"xor i32 {shared}, {own}")
        parts.append(("cluster", others, _row(b, ints.lo(into))))
    if not atomic:
        parts.append(("local", local, _row(b, ints.lo(behind))))
    for space, lanes, where in parts:
        with ir.returning(ir.op(f"icmp eq i32 {lanes}, %mask")):
            called = layout.symbol(name.format(space), threads)
            about = f"ptr %env, ptr %rec, ptr %site, {where}, i32 %mask{rows}{given}"
            ir.line(f"ret i1 {ir.op(f'call i1 @{called}({about})')}")
    if atomic:
        _refuse(b, f"icmp ne i32 {local}, 0")
    out = ir.op("alloca [4 x <32 x i64>], align 128")
    if not (loads or name.startswith("mark")):
        # Nothing is done before all lanes are known to be good: a load would find what is not.
        for space, lanes, where in parts:
            _part(b, f"load.{space}.{size}", space, lanes, where, f", ptr {out}")
    for space, lanes, where in parts:
        tail = rows + (f", ptr {out}" if results.rows else "")
        _part(b, name.format(space), space, lanes, where, tail, threads, (out, results))
    ir.line("ret i1 true")
    symbol = layout.symbol(name.format(kind), threads)
    return b.close(f"define i1 @{symbol}({arguments('generic')}{rows}{given})")


def _row(b: Body, places: Num) -> str:
    """Offsets as arguments of an access function: a row, and a constant."""
    row = b.ir.op(f"alloca {I32}, align 64")
    b.ir.put(I32, b.values.bare(places, 32), row, 0, 64)
    return f"ptr {row}, i64 0"


def _part(
    b: Body, name: str, space: str, lanes: str, where: str, tail: str, threads: bool = False,
    made: tuple[str, Results] = ("", NOTHING),
) -> None:  # fmt: skip
    """Emit the access of the lanes that point into a space, if there are any."""
    ir, (out, results) = b.ir, made
    with ir.when(ir.op(f"icmp ne i32 {lanes}, 0")):
        about = f"ptr %env, ptr %rec, ptr %site, {where}, i32 {lanes}{tail}"
        done = ir.op(f"call i1 @{layout.symbol(name, threads)}({about})")
        _refuse(b, f"xor i1 {done}, true")
        _merge(b, out, lanes, results)


def _merge(b: Body, out: str, lanes: str, results: Results) -> None:
    """Emit: take some lanes of the rows at `out` for those of `%out`."""
    ir = b.ir
    chosen = ir.op(f"bitcast i32 {lanes} to <32 x i1>") if results.rows else ""
    for n in range(results.rows):
        at = n * 4 * results.bits
        new, old = ir.get(results.kind, out, at, 64), ir.get(results.kind, "%out", at, 64)
        both = f"{results.kind} {new}, {results.kind} {old}"
        ir.put(results.kind, ir.op(f"select <32 x i1> {chosen}, {both}"), "%out", at, 64)


def _lanes(b: Body, mask: Mask) -> str:
    return b.ir.op(f"and i32 {b.values.mask_bits(mask)}, %mask")


# ---- where mbarriers are ---------------------------------------------------------------------


def _note() -> str:
    """Emit: note the places of mbarriers for Python (`arena.MBARRIERS`): begun (0), ended (1), or
    arrived at (2), which need not be noted twice; false, with nothing noted, where room is short.
    """
    b = Body()
    ir = b.ir
    nothing_to_do(b)
    low = b.ints.add(b.row(32, "%lo"), Val(32, ir.op("trunc i64 %add to i32"), UNIFORM))
    inside = b.floats.and_(low, _INSIDE)
    numbers = ir.op(f"alloca {I32}, align 64")
    ir.put(I32, b.values.bare(inside, 32), numbers, 0, 64)
    block = ir.get("ptr", "%rec", layout.CTA_POINTER)
    table = ir.at(block, arena.MBARRIER_PLACES)
    with _ranks(b, numbers, inside) as (place, _):
        count = ir.get("i64", block, arena.MBARRIERS)
        _refuse(b, f"icmp uge i64 {count}, {arena.MOST_MBARRIERS}")
        word = ir.op(f"or i32 {place}, {ir.op('and i32 %how, 1')}")
        # Of what begins or ends the order counts: only the last one before is the same.
        all_ = ir.op("icmp eq i32 %how, 2")
        least = ir.op(f"call i64 @llvm.usub.sat.i64(i64 {count}, i64 1)")
        at = ir.var("i64", ir.op(f"select i1 {all_}, i64 0, i64 {least}"))
        known = ir.var("i1", "false")
        with ir.loop() as (_, after):
            here = ir.get("i64", at)
            ir.unless(ir.op(f"icmp uge i64 {here}, {count}"), after)
            before = ir.get("i32", ir.op(f"getelementptr i32, ptr {table}, i64 {here}"))
            same = ir.op(f"icmp eq i32 {before}, {word}")
            ir.put("i1", ir.op(f"or i1 {ir.get('i1', known)}, {same}"), known)
            ir.put("i64", ir.op(f"add i64 {here}, 1"), at)
        ir.put("i32", word, ir.op(f"getelementptr i32, ptr {table}, i64 {count}"))
        new = ir.op(f"xor i1 {ir.get('i1', known)}, true")
        more = ir.op(f"zext i1 {new} to i64")
        ir.put("i64", ir.op(f"add i64 {count}, {more}"), block, arena.MBARRIERS)
    ir.line("ret i1 true")
    about = "ptr %rec, ptr %lo, i64 %add, i32 %mask, i32 %how"
    return b.close(f"define i1 @{layout.symbol('mbarriers.note')}({about})")


__all__ = ["ranked_functions"]
