"""CTA barriers in compiled code: `barriers.step` on the words of a CTA's descriptor.

A BAR leaves a kernel's code with a number: barrier (4 bits), mode (2), reduction (2) and the
threads it waits for, 0 for all live ones.  The votes of a BAR.RED are in the grid loop's fields
`voted` and `voters`.  An instruction of the cluster's barrier has a mode of its own and, in place
of the barrier's number, whether it arrives or waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from gpudbg.code_layout import BUNDLES, SINGLE
from gpudbg.sm import record as rec
from gpudbg.sm.clusters.cluster import BLOCKS, COUNT, PHASE
from gpudbg.sm.engines.llvm.ir.typed import FALSE, TRUE, Int, TypedPointer
from gpudbg.sm.engines.llvm.runtime.control import ControlFunction, Warp
from gpudbg.sm.residency import arena

MODES: Final = ("SYNC", "ARV", "RED", "CLUSTER")
CLUSTER_ARRIVES, CLUSTER_WAITS = 0, 1
REDUCTIONS: Final = ("", "POPC", "AND", "OR")
SOME_FALSE, SOME_TRUE = 1, 2
"""Votes seen so far."""


def code_of(mode: str, number: int, reduction: str, threads: int) -> int:
    """Encode a BAR as the number that a kernel's code returns (see the module text)."""
    return number | MODES.index(mode) << 4 | REDUCTIONS.index(reduction) << 6 | threads << 8


def barrier_functions() -> list[str]:
    """What the grid loop calls."""
    return [_settle(), _cluster_settle(), _cluster(), _arrive()]


def _slot(f: ControlFunction, table: int) -> TypedPointer:
    """Address of the barrier's word in a table of the CTA."""
    return f.cta.at(table).element(32, f.integer(64, "%number"))


def _settle() -> str:
    """Emit `settle`: release a barrier if all threads it waits for have arrived."""
    f = ControlFunction()
    number = f.integer(64, "%number")
    arrived = _slot(f, arena.ARRIVED).load(32)
    threads = _slot(f, arena.THREADS).load(32)
    live = f.cta.load(64, arena.LIVE).trunc(32)
    whole = (threads + 31) & -32
    every = threads.equals(0)
    by_threads = f.cta.load(64, arena.ALL_THREADS).differs(0)
    lanes = f.cta.load(64, arena.LIVE_THREADS).trunc(32)
    expected = every.select(by_threads.select(lanes, live * 32), by_threads.select(threads, whole))
    with f.returning(arrived < expected):
        f.ret_void()
    total, votes = _slot(f, arena.TOTAL).load(32), _slot(f, arena.VOTES).load(32)
    counts, all_true, any_true = (_slot(f, table).load(32) for table in arena.REDUCED)
    some = (votes & SOME_TRUE).differs(0)
    every = (votes & SOME_FALSE).equals(0)
    for table in arena.PHASE:
        _slot(f, table).store(32, 0)
    asked = (counts | all_true) | any_true
    with f.each_warp(f.cta) as warp:
        waits = warp["status"].equals(rec.AT_BARRIER)
        here = waits & warp["bar_wait"].zext(64).equals(number)
        with f.when(here):
            warp["status"] = rec.READY
            bit = f.integer(32, 1) << warp["index"]
            with f.when((asked & bit).differs(0)):
                both = (all_true & bit).differs(0)
                truth = both.select(every, some)
                warp["bar_count"] = total
                warp["bar_pred"] = truth.sext(32)
    f.ret_void()
    return f.close("define private void @settle(ptr %cta, i64 %number)")


@contextmanager
def _each_live(f: ControlFunction, cluster: TypedPointer) -> Iterator[Warp]:
    """Statements for each warp of a cluster that has not exited."""
    count, n = cluster.load(64, COUNT), f.variable(64, 0)
    with f.loop() as end:
        at = n.get()
        f.leave(end, at >= count)
        n.set(at + 1)
        block = f.slot(cluster.at(BLOCKS), at).follow()
        with f.each_warp(block) as warp, f.when(warp["status"].differs(rec.DONE)):
            yield warp


def _cluster_settle() -> str:
    """Emit `cluster_settle`: begin the next phase of a cluster's barrier if all live warps have
    come; returns false, with nothing changed, where Python holds the groups of one of them.
    """
    f = ControlFunction()
    cluster = TypedPointer(f.ir, "%cluster")
    phase = cluster.load(64, PHASE)
    missing, apart = f.variable(32, 0), f.variable(32, 0)
    some = f.variable(32, 0)
    with _each_live(f, cluster) as warp:
        some.set(1)
        apart.set(apart.get() | warp["apart"])
        missing.set(missing.get() | warp["came"].differs(phase + 1).zext(32))
    with f.returning((missing.get() | some.get().equals(0).zext(32)).differs(0)):
        f.ret("i1", TRUE)
    with f.returning(apart.get().differs(0)):
        f.ret("i1", FALSE)
    cluster.store(64, phase + 1, PHASE)
    with _each_live(f, cluster) as warp, f.when(warp["status"].equals(rec.AT_CLUSTER)):
        warp["status"] = rec.READY
    f.ret("i1", TRUE)
    return f.close("define private i1 @cluster_settle(ptr %cluster)")


def _cluster() -> str:
    """Emit `cluster`: UCGABAR_ARV or UCGABAR_WAIT; returns false where Python must do it."""
    f = ControlFunction()
    cluster = f.cta.follow(arena.CLUSTER)
    none = f.integer(1, f.ir.op(f"icmp eq ptr {cluster.ref}, null"))
    with f.returning(none):
        f.ret("i1", FALSE)
    wanted, before = cluster.load(64, PHASE) + 1, f.warp["came"]
    with f.when(f.integer(64, "%what").equals(CLUSTER_ARRIVES)):
        f.warp["came"] = wanted
        call = f"call i1 @cluster_settle(ptr {cluster.ref})"
        with f.returning(~f.integer(1, f.ir.op(call))):
            f.warp["came"] = before
            f.ret("i1", FALSE)
    with f.when(f.integer(64, "%what").differs(CLUSTER_ARRIVES) & before.equals(wanted)):
        f.warp["status"] = rec.AT_CLUSTER
        f.warp["bar_wait"] = 0
    f.warp["pc"] = f.warp["pc"] + SINGLE.word_bytes
    f.ret("i1", TRUE)
    return f.close("define private i1 @cluster(ptr %env, ptr %cta, ptr %rec, i64 %what)")


def _arrive() -> str:
    """Emit `arrive`: a BAR (`code_of`); returns false where Python must handle it, as where other
    lanes of the warp wait somewhere, too."""
    f = ControlFunction()
    bar, number = f.integer(64, "%bar"), f.integer(64, "%number")
    f.ir.line("%number = and i64 %bar, 15")
    by_threads = f.cta.load(64, arena.ALL_THREADS).differs(0)
    with f.returning(by_threads & (f.warp["depth"] | f.warp["apart"]).differs(0)):
        f.ret("i1", FALSE)
    with f.returning((bar & 48).equals(MODES.index("CLUSTER") << 4)):
        f.ret("i1", f.ir.op("call i1 @cluster(ptr %env, ptr %cta, ptr %rec, i64 %number)"))
    with f.returning(number >= f.cta.load(64, arena.ALLOCATED)):
        f.ret("i1", FALSE)
    with f.returning(_slot(f, arena.SPECIAL).load(32).differs(0)):
        f.ret("i1", FALSE)
    # Barriers count threads where words are of 128 bits (`SINGLE`), warps where they are bundled.
    width = by_threads.select(f.integer(64, SINGLE.word_bytes), BUNDLES.word_bytes)
    pc = f.warp["pc"] + width
    control = (pc & (BUNDLES.bundle_bytes - 1)).equals(0) & ~by_threads
    f.warp["pc"] = pc + control.select(f.integer(64, BUNDLES.word_bytes), 0)
    slot = _slot(f, arena.ARRIVED)
    lanes = f.ir.op(f"call i32 @llvm.ctpop.i32(i32 {f.warp['active'].ref})")
    arrived = slot.load(32) + by_threads.select(f.integer(32, lanes), 32)
    slot.store(32, arrived)
    f.cta.store(64, 1, arena.IN_USE)
    plain = bar < 16
    with f.when(plain):
        _wait(f, number)
        # The usual case: all live threads are waited for, and others are still to come.
        live = f.cta.load(64, arena.LIVE).trunc(32) << 5
        expected = by_threads.select(f.cta.load(64, arena.LIVE_THREADS).trunc(32), live)
        short = arrived < expected
        every = _slot(f, arena.THREADS).load(32).equals(0)
        with f.returning(short & every):
            f.ret("i1", TRUE)
    with f.when(~plain):
        _count_and_vote(f, bar)
    mode = bar & 48
    with f.when(mode.differs(MODES.index("ARV") << 4)):
        _wait(f, number)
    f.ir.line("call void @settle(ptr %cta, i64 %number)")
    f.ret("i1", TRUE)
    return f.close("define private i1 @arrive(ptr %env, ptr %cta, ptr %rec, i64 %bar)")


def _wait(f: ControlFunction, number: Int) -> None:
    """Emit: the warp waits at a barrier."""
    f.warp["status"] = rec.AT_BARRIER
    f.warp["bar_wait"] = number.trunc(32)


def _count_and_vote(f: ControlFunction, bar: Int) -> None:
    """Emit the thread count and the reduction of an arrival."""
    threads = (bar >> 8).trunc(32)
    with f.when(threads.differs(0)):
        _slot(f, arena.THREADS).store(32, threads)
    mode = bar & 48
    with f.when(mode.equals(MODES.index("RED") << 4)):
        voted, voters = f.env["voted"], f.env["voters"]
        count = f.integer(64, f.ir.op(f"call i64 @llvm.ctpop.i64(i64 {voted.ref})")).trunc(32)
        total, votes = _slot(f, arena.TOTAL), _slot(f, arena.VOTES)
        total.store(32, total.load(32) + count)
        short, some = voted.differs(voters), voted.differs(0)
        seen = short.select(f.integer(32, SOME_FALSE), 0)
        seen = seen | some.select(f.integer(32, SOME_TRUE), 0)
        votes.store(32, votes.load(32) | seen)
        bit = f.integer(32, 1) << f.warp["index"]
        kind = bar & 192
        for n, table in enumerate(arena.REDUCED, 1):
            with f.when(kind.equals(n << 6)):
                waiting = _slot(f, table)
                waiting.store(32, waiting.load(32) | bit)
