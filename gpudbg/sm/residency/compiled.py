"""Residency in compiled code: a CTA that ends makes room for the next one in its place."""

from __future__ import annotations

from collections.abc import Iterable

from gpudbg.sm import record as rec
from gpudbg.sm.clusters.cluster import COUNT
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.typed import FALSE, TRUE, Int, TypedPointer
from gpudbg.sm.engines.llvm.layout import FIELD
from gpudbg.sm.engines.llvm.runtime.control import ControlFunction, Warp
from gpudbg.sm.record import FIELDS
from gpudbg.sm.residency import arena
from gpudbg.sm.schedule.turns import LONGEST

_FIRST = ("pc", "active", "exited", "valid", "depth", "budget")
_SECOND = ("executed", "trap_seen", "ctaid", "pending")
_ZERO = ("status", "saved", "quad")
"""Fields of a record that lie behind one another, so that a vector holds them: 32 bytes from the
beginning of `_FIRST` and `_SECOND`, 16 that end with `_ZERO`, before which there is a flag."""
_SELDOM_SET = (("bar_count", "bar_pred", "bar_wait", "crs"), ("came_from", "lmem", "flags"))
"""Fields that are zero when a warp begins, 16 bytes each: usually they are zero already, in cache
lines that otherwise are only read."""
_RESET_WIDE = ("apart", "ready", "backward", "opened", "came")
"""Others that only sets whose lanes have pcs of their own use: they lie in cache lines of their
own, to write which takes longer than all others."""
_BARRIERS = "<16 x i32>"
_WORDS = "<8 x i32>"


SUCCEED = "gpudbg_succeed"
"""Name of the function that kernels call between blocks."""


def residency_functions() -> list[str]:
    """What the grid loop calls when a warp has exited."""
    return [_wipe(), _reset(), _renew(), _remove(), _finished(), _succeed()]


def _renew() -> str:
    """Begin CTA `%number` in the place of one that ended."""
    f = ControlFunction()
    number, cta = f.integer(64, "%number"), f.cta
    before = cta.load(64, arena.NUMBER)
    cta.store(64, number, arena.NUMBER)
    cta.store(64, cta.load(64, arena.WARPS), arena.LIVE)
    cta.store(64, cta.load(64, arena.ALL_THREADS), arena.LIVE_THREADS)
    cta.store(64, 1, arena.RENEWED)
    cta.store(64, 0, arena.MBARRIERS)
    with f.when(cta.load(64, arena.IN_USE).differs(0)):
        # A barrier with a thread count may still have been waiting.
        for table in arena.PHASE:
            for part in range(0, 64, 16):
                f.ir.put("<4 x i32>", "zeroinitializer", "%cta", table + part, 8)
    cta.store(64, 0, arena.IN_USE)
    shared, size = cta.follow(arena.SHARED), cta.load(64, arena.SHARED_SIZE)
    f.clear(shared, size)
    apart = f.env.load(64, layout.SHARED_MARKS)
    with f.when(apart.differs(0)):
        f.clear(shared.at(apart), size)
    place = _next_place(f, before, number)
    epoch, wide = f.env["epoch"], f.env.load(64, layout.WIDE)
    begin, counts = _headers(f, place)
    odd = f.variable(64, f.env["wipe"])
    with f.each_warp(cta) as warp:
        _begin_header(f, warp, begin, counts)
        odd.set(odd.get() | (warp.load(64, layout.LOCAL_CLEAR) ^ epoch))
        for first, *_ in _SELDOM_SET:
            at = FIELDS[first].offset
            with f.when((warp.load(64, at) | warp.load(64, at + 8)).differs(0)):
                f.ir.put("<4 x i32>", "zeroinitializer", warp.ref, at, 4)
        with f.when(wide.differs(0)):
            for name in _RESET_WIDE:
                warp[name] = 0
            held = FIELDS["held"]
            for part in range(0, held.width * held.length, 16):
                f.ir.put("<4 x i32>", "zeroinitializer", warp.ref, held.offset + part, 8)
    with f.when(odd.get().differs(0)), f.each_warp(cta) as warp:
        f.ir.line(f"call void @reset(ptr %env, ptr {warp.ref})")
    f.ret_void()
    return f.close("define private void @renew(ptr %env, ptr %cta, i64 %number)")


def _reset() -> str:
    """Zero registers that no code writes, and local memory, where the warp before, or somebody
    else, may have left something."""
    f = ControlFunction()
    warp, epoch, local = f.warp, f.env["epoch"], f.env["local_bytes"] * 32
    with f.when(f.env["wipe"].differs(0)):
        f.ir.line(f"call void @wipe(ptr {warp.ref})")
    with f.when(warp.load(64, layout.LOCAL_CLEAR).differs(epoch)):
        local_at = warp.follow(layout.LOCAL_POINTER)
        f.clear(local_at, local, 128)
        apart = f.env.load(64, layout.LOCAL_MARKS)
        with f.when(apart.differs(0)):
            f.clear(local_at.at(apart), local, 128)
        warp.store(64, epoch, layout.LOCAL_CLEAR)
    f.ret_void()
    return f.close("define private void @reset(ptr %env, ptr %rec) noinline")


def _next_place(f: ControlFunction, before: Int, number: Int) -> tuple[Int, Int, Int]:
    """Coordinates of a CTA: usually it is beside the one before it in its place."""
    at = FIELDS["ctaid"].offset
    first = f.element(f.cta.at(arena.BLOCK_BYTES), f.integer(64, 0))
    x, y, z = (f.declared(64) for _ in range(3))
    for n, coordinate in enumerate((x, y, z)):
        coordinate.set(first.load(32, at + 4 * n).zext(64))
    width, height = f.env["grid_x"], f.env["grid_y"]
    beside = x.get() + 1
    x.set(beside)
    near = (number - before).equals(1) & (beside < width)
    with f.when(~near):
        row = number // width
        x.set(number % width)
        y.set(row % height)
        z.set(row // height)
    return x.get(), y.get(), z.get()


def _headers(f: ControlFunction, place: Iterable[Int]) -> tuple[str, str]:
    """What the records of all warps of a CTA have in common: words of `_FIRST`, of `_SECOND`."""
    # FRESH: code takes the registers that it writes for zero, and stores them once, when the warp
    # ends or leaves its first block.
    pc = f.env["entry"] | layout.FRESH
    begin = counts = "zeroinitializer"
    for n, word in enumerate((pc.trunc(32), (pc >> 32).trunc(32))):
        begin = f.ir.op(f"insertelement {_WORDS} {begin}, i32 {word.ref}, i64 {n}")
    for n, number in enumerate(place, 4):
        counts = f.ir.op(f"insertelement {_WORDS} {counts}, i32 {number.trunc(32).ref}, i64 {n}")
    return begin, counts


def _begin_header(f: ControlFunction, warp: Warp, begin: str, counts: str) -> None:
    """Begin a warp: in three stores, of which a host carries out one or two in a cycle."""
    first, second, zero = (FIELDS[names[0]].offset for names in (_FIRST, _SECOND, _ZERO))
    # The active lanes are the valid ones: one word, for what was written last beside it may not
    # have reached the cache.
    words, valid = begin, warp["valid"].ref
    for name in ("active", "valid"):
        at = (FIELDS[name].offset - first) // 4
        words = f.ir.op(f"insertelement {_WORDS} {words}, i32 {valid}, i64 {at}")
    f.ir.put(_WORDS, words, warp.ref, first, 4)
    f.ir.put(_WORDS, counts, warp.ref, second, 4)
    f.ir.put("<4 x i32>", "zeroinitializer", warp.ref, zero - 4, 4)


def _wipe() -> str:
    """Zero all registers, predicates and flags of a warp."""
    f = ControlFunction()
    size = (f.warp["registers"] + f.warp["uniform"]).zext(64) * rec.ROW_BYTES
    f.clear(f.warp.at(rec.HEADER_BYTES), size, rec.ROW_BYTES)
    for name, count in (("pred", 7), ("upred", 7), ("cc", 5)):
        for n in range(count):
            f.warp.store(32, 0, FIELDS[name].offset + 4 * n)
    f.ret_void()
    return f.close("define private void @wipe(ptr %rec)")


def _remove() -> str:
    """Take a finished CTA's warps out of the ring."""
    f = ControlFunction()
    f.cta.store(64, -1, arena.NUMBER)
    ring, count = f.env.follow(FIELD["ring"]), f.env["ring_count"]
    n, kept = f.variable(64, 0), f.variable(64, 0)
    with f.loop() as end:
        at = n.get()
        f.leave(end, at >= count)
        n.set(at + 1)
        record = f.element(ring, at)
        owner = record.follow(layout.CTA_POINTER)
        with f.when(owner.differs(f.cta)):
            place = kept.get()
            f.ir.put("ptr", record.ref, f.slot(ring, place).ref)
            kept.set(place + 1)
    f.env["ring_count"] = kept.get()
    f.ret_void()
    return f.close("define private void @remove(ptr %env, ptr %cta)")


def _finished() -> str:
    """A warp has exited: barriers, and the CTA if it was the last; false: Python must do it."""
    f = ControlFunction()
    with f.returning(f.env["tell"].differs(0)):
        f.ret("i1", FALSE)
    in_use = f.cta.load(64, arena.IN_USE).differs(0)
    with f.when(in_use):
        both = f.ir.op(f"and {_BARRIERS} {_words(f, arena.ARRIVED)}, {_words(f, arena.SPECIAL)}")
        with f.returning(_any(f, f.ir.op(f"icmp ne {_BARRIERS} {both}, zeroinitializer"))):
            f.ret("i1", FALSE)
    live = f.cta.load(64, arena.LIVE) - 1
    cluster = f.cta.follow(arena.CLUSTER)
    with f.when(f.integer(1, f.ir.op(f"icmp ne ptr {cluster.ref}, null"))):
        # Python places the blocks of clusters; a warp's end may let others go.
        with f.returning(live.equals(0) & cluster.load(64, COUNT).differs(1)):
            f.ret("i1", FALSE)
        settled = f.ir.op(f"call i1 @cluster_settle(ptr {cluster.ref})")
        with f.returning(~f.integer(1, settled)):
            f.ret("i1", FALSE)
    f.cta.store(64, live, arena.LIVE)
    with f.when(in_use):
        some = f.ir.op(f"icmp ne {_BARRIERS} {_words(f, arena.ARRIVED)}, zeroinitializer")
        every = f.ir.op(f"icmp eq {_BARRIERS} {_words(f, arena.THREADS)}, zeroinitializer")
        lanes = f.ir.op(f"and <16 x i1> {some}, {every}")
        with f.when(_any(f, lanes)):
            for n in range(16):
                here = f.ir.op(f"extractelement <16 x i1> {lanes}, i64 {n}")
                with f.when(f.integer(1, here)):
                    f.ir.line(f"call void @settle(ptr %cta, i64 {n})")
    with f.returning(live.differs(0)):
        f.ret("i1", TRUE)
    f.env["finished"] = f.env["finished"] + 1
    own = f.env["own"]
    with f.returning(own < f.env["own_end"]):
        f.env["own"] = own + 1
        _begin(f, own)
    ctas, chunk, spread = f.env["ctas"], f.env["chunk"], f.env["spread"]
    following = f.env.follow(FIELD["next"])
    with f.returning(chunk.equals(0)):
        # A plain load: an atomic addition would wait for all earlier stores.
        number = following.load(64)
        with f.returning(number < ctas):
            following.store(64, number + 1)
            _begin(f, number)
        _vacate(f)
    _take_some(f, following, ctas, chunk, spread)
    _vacate(f)
    return f.close("define private i1 @finished(ptr %env, ptr %cta)")


def _succeed() -> str:
    """Begin a CTA in the place of one whose last warp ends, where that takes neither Python nor
    other threads, for code that goes on by itself: the ring slot of its first warp, or null.

    Where nobody may have anything to say until its last whole warp begins, its slots are sure.
    """
    f = ControlFunction()
    cta, end, room = f.cta, TypedPointer(f.ir, "%end"), f.integer(64, "%room")
    warps = cta.load(64, arena.WARPS)
    first = end.at(warps * -8)
    whole = first.follow().load(32, FIELDS["valid"].offset).equals(-1)
    own, number = f.env["own"], f.declared(64)
    number.set(own)
    with f.returning(~(whole & cta.load(64, arena.LIVE).equals(1))):
        f.ret("ptr", "null")
    f.choose(own < f.env["own_end"], "own", "all")
    f.ir.label("own")
    f.env["own"] = own + 1
    f.ir.br("begin")
    f.ir.label("all")
    following = f.env.follow(FIELD["next"])
    waiting = following.load(64)
    with f.returning(~(f.env["chunk"].equals(0) & (waiting < f.env["ctas"]))):
        f.ret("ptr", "null")
    following.store(64, waiting + 1)
    number.set(waiting)
    f.ir.br("begin")
    f.ir.label("begin")
    f.env["finished"] = f.env["finished"] + 1
    f.ir.line(f"call void @renew(ptr %env, ptr %cta, i64 {number.get().ref})")
    last = end.at(-8)
    part = last.follow().load(32, FIELDS["valid"].offset).differs(-1)
    until = f.ir.op(f"select i1 {part.ref}, ptr {last.ref}, ptr {end.ref}")
    # No barrier may wait, and the call goes on however long their turns become.
    enough = room.compare("sgt", warps * (f.env["quantum"] + LONGEST))
    sure = enough & cta.load(64, arena.ALLOCATED).equals(0)
    f.ir.put(
        "ptr", f.ir.op(f"select i1 {sure.ref}, ptr {until}, ptr null"), "%env", layout.SLOT_SURE
    )
    f.ret("ptr", first.ref)
    return f.close(f"define private ptr @{SUCCEED}(ptr %env, ptr %cta, ptr %end, i64 %room)")


def _words(f: ControlFunction, table: int) -> str:
    """A table of a CTA's barriers as a vector."""
    return f.ir.get(_BARRIERS, "%cta", table, 8)


def _any(f: ControlFunction, lanes: str) -> Int:
    """Whether an i1 vector of barriers has one."""
    bits = f.ir.op(f"bitcast <16 x i1> {lanes} to i16")
    return f.integer(1, f.ir.op(f"icmp ne i16 {bits}, 0"))


def _take_some(
    f: ControlFunction, following: TypedPointer, ctas: Int, chunk: Int, spread: Int
) -> None:
    """Emit: take numbers that other threads take from as well, and begin the first of them."""
    waiting = ctas - following.load(64)
    some = waiting.signed_divide(spread)
    some = some.compare("sgt", 1).select(some, 1)
    chunk = some.compare("slt", chunk).select(some, chunk)
    taken = f.ir.op(f"atomicrmw add ptr {following.ref}, i64 {chunk.ref} monotonic")
    number = f.integer(64, taken)
    with f.returning(number < ctas):
        end = number + chunk
        f.env["own"] = number + 1
        f.env["own_end"] = (end < ctas).select(end, ctas)
        _begin(f, number)


def _begin(f: ControlFunction, number: Int) -> None:
    """Begin a CTA in the place of the one that ended, and return."""
    f.ir.line(f"call void @renew(ptr %env, ptr %cta, i64 {number.ref})")
    f.ret("i1", TRUE)


def complete(f: ControlFunction, warp: Warp) -> None:
    """Emit: make the registers that code which ended a warp has left to be made."""
    with f.when(warp["pending"].differs(0)):
        bank = f.env.follow(layout.BANKS)
        f.ir.line(f"call void {f.env.follow(layout.COMPLETE).ref}(ptr {warp.ref}, ptr {bank.ref})")


def _vacate(f: ControlFunction) -> None:
    """Leave the place free, with what its warps held last, and return."""
    with f.each_warp(f.cta) as warp:
        complete(f, warp)
    f.ir.line("call void @remove(ptr %env, ptr %cta)")
    f.ret("i1", TRUE)
