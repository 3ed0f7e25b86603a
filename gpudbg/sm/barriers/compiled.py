"""CTA barriers in the grid loop: `gpudbg.sm.barrier` on the bytes of a CTA.

A BAR leaves compiled code with a number: barrier (4 bits), mode (2), reduction (2) and the threads
it waits for, 0 for all live ones.  The votes of a BAR.RED are in the loop's fields `voted` and
`voters`.
"""

from __future__ import annotations

from typing import Final

from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm.runtime.control import ControlCode
from gpudbg.sm.residency import arena

MODES: Final = ("SYNC", "ARV", "RED")
REDUCTIONS: Final = ("", "POPC", "AND", "OR")
SOME_FALSE, SOME_TRUE = 1, 2
"""Votes seen so far."""


def code_of(mode: str, number: int, reduction: str, threads: int) -> int:
    """A BAR as compiled code tells it."""
    return number | MODES.index(mode) << 4 | REDUCTIONS.index(reduction) << 6 | threads << 8


def _slot(f: ControlCode, table: int) -> str:
    """A pointer to the barrier's word in a table of a CTA."""
    return f.op(f"getelementptr i32, ptr {f.at('%cta', table)}, i64 %number")


def _settle() -> str:
    """Release a barrier if all it waits for have arrived."""
    f = ControlCode()
    arrived = f.get("i32", _slot(f, arena.ARRIVED))
    threads = f.get("i32", _slot(f, arena.THREADS))
    live = f.op(f"trunc i64 {f.get('i64', '%cta', arena.LIVE)} to i32")
    whole = f.op(f"and i32 {f.op(f'add i32 {threads}, 31')}, -32")
    every = f.op(f"icmp eq i32 {threads}, 0")
    expected = f.op(f"select i1 {every}, i32 {f.op(f'mul i32 {live}, 32')}, i32 {whole}")
    with f.returning(f.op(f"icmp ult i32 {arrived}, {expected}")):
        f.line("ret void")
    total, votes = f.get("i32", _slot(f, arena.TOTAL)), f.get("i32", _slot(f, arena.VOTES))
    reduced = [f.get("i32", _slot(f, table)) for table in arena.REDUCED]
    some = f.op(f"icmp ne i32 {f.op(f'and i32 {votes}, {SOME_TRUE}')}, 0")
    every = f.op(f"icmp eq i32 {f.op(f'and i32 {votes}, {SOME_FALSE}')}, 0")
    for table in arena.PHASE:
        f.put("i32", 0, _slot(f, table))
    asked = f.op(f"or i32 {f.op(f'or i32 {reduced[0]}, {reduced[1]}')}, {reduced[2]}")
    with f.each_warp("%cta") as record:
        waits = f.op(f"icmp eq i32 {f.field('status', record)}, {rec.AT_BARRIER}")
        number = f.op(f"zext i32 {f.field('bar_wait', record)} to i64")
        here = f.op(f"and i1 {waits}, {f.op(f'icmp eq i64 {number}, %number')}")
        with f.when(here):
            f.set("status", rec.READY, record)
            bit = f.op(f"shl i32 1, {f.field('index', record)}")
            with f.when(f.op(f"icmp ne i32 {f.op(f'and i32 {asked}, {bit}')}, 0")):
                both = f.op(f"icmp ne i32 {f.op(f'and i32 {reduced[1]}, {bit}')}, 0")
                truth = f.op(f"select i1 {both}, i1 {every}, i1 {some}")
                f.set("bar_count", total, record)
                f.set("bar_pred", f.op(f"sext i1 {truth} to i32"), record)
    f.line("ret void")
    return f.close("define private void @settle(ptr %cta, i64 %number)")


def _arrive() -> str:
    """A BAR (`code_of`); false: Python must do it."""
    f = ControlCode()
    f.line("%number = and i64 %bar, 15")
    with f.returning(f.op(f"icmp uge i64 %number, {f.get('i64', '%cta', arena.ALLOCATED)}")):
        f.line("ret i1 false")
    with f.returning(f.op(f"icmp ne i32 {f.get('i32', _slot(f, arena.SPECIAL))}, 0")):
        f.line("ret i1 false")
    pc = f.op(f"add i64 {f.field('pc')}, 8")
    first = f.op(f"icmp eq i64 {f.op(f'and i64 {pc}, 31')}, 0")
    f.set("pc", f.op(f"add i64 {pc}, {f.op(f'select i1 {first}, i64 8, i64 0')}"))
    slot = _slot(f, arena.ARRIVED)
    arrived = f.op(f"add i32 {f.get('i32', slot)}, 32")
    f.put("i32", arrived, slot)
    f.put("i64", 1, "%cta", arena.IN_USE)
    plain = f.op("icmp ult i64 %bar, 16")
    with f.when(plain):
        f.set("status", rec.AT_BARRIER)
        f.set("bar_wait", f.op("trunc i64 %number to i32"))
        # The usual case: all live threads are waited for, and others are still to come.
        live = f.op(f"trunc i64 {f.get('i64', '%cta', arena.LIVE)} to i32")
        short = f.op(f"icmp ult i32 {arrived}, {f.op(f'shl i32 {live}, 5')}")
        threads = f.get("i32", _slot(f, arena.THREADS))
        every = f.op(f"icmp eq i32 {threads}, 0")
        with f.returning(f.op(f"and i1 {short}, {every}")):
            f.line("ret i1 true")
    with f.when(f.op(f"xor i1 {plain}, true")):
        _unusual(f)
    mode = f.op("and i64 %bar, 48")
    with f.when(f.op(f"icmp ne i64 {mode}, {MODES.index('ARV') << 4}")):
        f.set("status", rec.AT_BARRIER)
        f.set("bar_wait", f.op("trunc i64 %number to i32"))
    f.line("call void @settle(ptr %cta, i64 %number)")
    f.line("ret i1 true")
    return f.close("define private i1 @arrive(ptr %env, ptr %cta, ptr %rec, i64 %bar)")


def _unusual(f: ControlCode) -> None:
    """Thread counts and reductions."""
    threads = f.op(f"trunc i64 {f.op('lshr i64 %bar, 8')} to i32")
    with f.when(f.op(f"icmp ne i32 {threads}, 0")):
        f.put("i32", threads, _slot(f, arena.THREADS))
    mode = f.op("and i64 %bar, 48")
    with f.when(f.op(f"icmp eq i64 {mode}, {MODES.index('RED') << 4}")):
        voted, voters = f.loop_get("voted"), f.loop_get("voters")
        count = f.op(f"trunc i64 {f.op(f'call i64 @llvm.ctpop.i64(i64 {voted})')} to i32")
        total, votes = _slot(f, arena.TOTAL), _slot(f, arena.VOTES)
        f.put("i32", f.op(f"add i32 {f.get('i32', total)}, {count}"), total)
        short = f.op(f"icmp ne i64 {voted}, {voters}")
        some = f.op(f"icmp ne i64 {voted}, 0")
        seen = f.op(f"select i1 {short}, i32 {SOME_FALSE}, i32 0")
        seen = f.op(f"or i32 {seen}, {f.op(f'select i1 {some}, i32 {SOME_TRUE}, i32 0')}")
        f.put("i32", f.op(f"or i32 {f.get('i32', votes)}, {seen}"), votes)
        bit = f.op(f"shl i32 1, {f.field('index')}")
        kind = f.op("and i64 %bar, 192")
        for n, table in enumerate(arena.REDUCED, 1):
            with f.when(f.op(f"icmp eq i64 {kind}, {n << 6}")):
                waiting = _slot(f, table)
                f.put("i32", f.op(f"or i32 {f.get('i32', waiting)}, {bit}"), waiting)


def barrier_functions() -> list[str]:
    """What the grid loop calls."""
    return [_settle(), _arrive()]
