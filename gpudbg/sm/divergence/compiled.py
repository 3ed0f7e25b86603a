"""The divergence stack in compiled code: `gpudbg.sm.divergence.step` on the record's bytes.

The functions return the pc to continue at, or -1 and have changed nothing: then the step engine
executes the instruction and raises what there is to raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.runtime.control import ControlCode
from gpudbg.sm.record import TOKEN_CODE


def _downwards(f: ControlCode, depth: str) -> str:
    """A variable that counts entries from the top."""
    return f.var("i32", depth)


def _pop() -> str:
    f = ControlCode()
    depth = f.field("depth")
    n, missing = _downwards(f, depth), f.var("i32", "%lanes")
    with f.loop() as (_, after):
        at = f.get("i32", n)
        f.unless(f.op(f"icmp eq i32 {at}, 0"), after)
        f.unless(f.op(f"icmp eq i32 {f.get('i32', missing)}, 0"), after)
        below = f.op(f"sub i32 {at}, 1")
        f.put("i32", below, n)
        entry = f.entry(below)
        same = f.op(f"icmp eq i32 {f.get('i32', entry)}, %kind")
        with f.when(same):
            f.put("i32", f.less(f.get("i32", missing), f.get("i32", entry, 4)), missing)
    with f.returning(f.op(f"icmp ne i32 {f.get('i32', missing)}, 0")):
        f.line("ret i64 -1")
    f.put("i32", depth, n)
    f.put("i32", "%lanes", missing)
    with f.loop() as (_, after):
        at = f.get("i32", n)
        f.unless(f.op(f"icmp eq i32 {f.get('i32', missing)}, 0"), after)
        below = f.op(f"sub i32 {at}, 1")
        f.put("i32", below, n)
        entry = f.entry(below)
        mask = f.get("i32", entry, 4)
        same = f.op(f"icmp eq i32 {f.get('i32', entry)}, %kind")
        with f.when(same):
            f.put("i32", f.less(f.get("i32", missing), mask), missing)
        # Lanes whose token lies deeper are taken out of this entry.
        f.put("i32", f.less(mask, f.get("i32", missing)), entry, 4)
    _leave(f)
    head = f"define i64 @{layout.symbol('pop')}(ptr %rec, i32 %kind, i32 %lanes, i64 %next)"
    return f.close(head)


def _leave(f: ControlCode) -> None:
    """The lanes stop running; continue with the others or with the top entry."""
    active = f.less(f.field("active"), "%lanes")
    f.set("active", active)
    with f.returning(f.op(f"icmp ne i32 {active}, 0")):
        f.line("ret i64 %next")
    n = f.var("i32", f.field("depth"))
    with f.loop() as (_, after):
        at = f.get("i32", n)
        f.unless(f.op(f"icmp eq i32 {at}, 0"), after)
        below = f.op(f"sub i32 {at}, 1")
        f.put("i32", below, n)
        entry = f.entry(below)
        mask = f.less(f.get("i32", entry, 4), f.field("exited"))
        with f.returning(f.op(f"icmp ne i32 {mask}, 0")):
            f.set("depth", below)
            f.set("active", mask)
            f.line(f"ret i64 {f.get('i64', entry, 8)}")
    f.set("depth", 0)
    f.set("status", rec.DONE)
    f.line("ret i64 %next")


def _exit() -> str:
    f = ControlCode()
    critical = f.op(f"and i32 {f.field('flags')}, {rec.FLAG_IDE}")
    with f.returning(f.op(f"icmp ne i32 {critical}, 0")):
        f.line("ret i64 -1")
    gone = f.op(f"or i32 {f.field('exited')}, %lanes")
    n, waiting = f.var("i32", f.field("depth")), f.var("i32", 0)
    with f.loop() as (_, after):
        at = f.get("i32", n)
        f.unless(f.op(f"icmp eq i32 {at}, 0"), after)
        below = f.op(f"sub i32 {at}, 1")
        f.put("i32", below, n)
        entry = f.entry(below)
        with f.returning(f.op(f"icmp eq i32 {f.get('i32', entry)}, {TOKEN_CODE['PEXIT']}")):
            f.line("ret i64 -1")
        rest = f.op(f"or i32 {f.get('i32', waiting)}, {f.get('i32', entry, 4)}")
        f.put("i32", rest, waiting)
    # Nobody left although lanes never ended: an error for the step engine to raise.
    others = f.op(f"or i32 {f.get('i32', waiting)}, {f.less(f.field('active'), '%lanes')}")
    empty = f.op(f"icmp eq i32 {f.less(others, gone)}, 0")
    lost = f.op(f"icmp ne i32 {f.less(f.field('valid'), gone)}, 0")
    with f.returning(f.op(f"and i1 {empty}, {lost}")):
        f.line("ret i64 -1")
    f.set("exited", gone)
    _leave(f)
    return f.close(f"define i64 @{layout.symbol('exit')}(ptr %rec, i32 %lanes, i64 %next)")


def _group(f: ControlCode, rest: str, greatest: bool) -> tuple[str, str]:
    """(target, its lanes) of the first lane of a mask, or of the greatest target in it."""
    if not greatest:
        lane = f.op(f"call i32 @llvm.cttz.i32(i32 {rest}, i1 false)")
        target = f.get("i32", f.op(f"getelementptr i32, ptr %row, i32 {lane}"))
    else:
        best = f.var("i32", 0)
        with _each_lane(f, rest) as place:
            value, before = f.get("i32", place), f.get("i32", best)
            above = f.op(f"icmp ugt i32 {value}, {before}")
            f.put("i32", f.op(f"select i1 {above}, i32 {value}, i32 {before}"), best)
        target = f.get("i32", best)
    vector = f.op("load <32 x i32>, ptr %row, align 64")
    first = f.op(f"insertelement <32 x i32> poison, i32 {target}, i32 0")
    every = f.op(f"shufflevector <32 x i32> {first}, <32 x i32> poison, <32 x i32> zeroinitializer")
    same = f.op(f"bitcast <32 x i1> {f.op(f'icmp eq <32 x i32> {vector}, {every}')} to i32")
    return target, f.op(f"and i32 {same}, {rest}")


@contextmanager
def _each_lane(f: ControlCode, mask: str) -> Iterator[str]:
    """Statements for each lane of a mask; yields the pointer to its word of `%row`."""
    left = f.var("i32", mask)
    with f.loop() as (_, after):
        rest = f.get("i32", left)
        f.unless(f.op(f"icmp eq i32 {rest}, 0"), after)
        lane = f.op(f"call i32 @llvm.cttz.i32(i32 {rest}, i1 false)")
        f.put("i32", f.op(f"and i32 {rest}, {f.op(f'sub i32 {rest}, 1')}"), left)
        yield f.op(f"getelementptr i32, ptr %row, i32 {lane}")


def _spread() -> str:
    """Lanes go to the places in a row (`convergence.branch_each`)."""
    f = ControlCode()
    depth, active = f.field("depth"), f.field("active")
    stay = f.less(active, "%lanes")
    rest, count = f.var("i32", "%lanes"), f.var("i32", depth)
    with f.loop() as (_, after):
        left = f.get("i32", rest)
        f.unless(f.op(f"icmp eq i32 {left}, 0"), after)
        _, group = _group(f, left, greatest=False)
        f.put("i32", f.less(left, group), rest)
        f.put("i32", f.op(f"add i32 {f.get('i32', count)}, 1"), count)
    nobody = f.op(f"icmp eq i32 {stay}, 0")
    used = f.op(f"sub i32 {f.get('i32', count)}, {f.op(f'zext i1 {nobody} to i32')}")
    with f.returning(f.op(f"icmp ugt i32 {used}, {f.field('capacity')}")):
        f.line("ret i64 -1")
    f.put("i32", "%lanes", rest)
    f.put("i32", depth, count)
    with f.loop() as (_, after):
        left = f.get("i32", rest)
        f.unless(f.op(f"icmp eq i32 {left}, 0"), after)
        target, group = _group(f, left, greatest=True)
        goal = f.op(f"zext i32 {target} to i64")
        last = f.op(f"icmp eq i32 {group}, {left}")
        with f.returning(f.op(f"and i1 {last}, {nobody}")):
            f.set("depth", f.get("i32", count))
            f.set("active", group)
            f.line(f"ret i64 {goal}")
        entry = f.entry(f.get("i32", count))
        f.put("i32", TOKEN_CODE["DIV"], entry)
        f.put("i32", group, entry, 4)
        f.put("i64", goal, entry, 8)
        f.put("i32", f.op(f"add i32 {f.get('i32', count)}, 1"), count)
        f.put("i32", f.less(left, group), rest)
    f.set("depth", f.get("i32", count))
    f.set("active", stay)
    f.line("ret i64 %next")
    head = f"define i64 @{layout.symbol('spread')}(ptr %rec, ptr %row, i32 %lanes, i64 %next)"
    return f.close(head)


def stack_functions() -> list[str]:
    """`pop`, `exit` and `spread`."""
    return [_pop(), _exit(), _spread()]
