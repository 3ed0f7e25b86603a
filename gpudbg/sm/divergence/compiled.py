"""The divergence stack in compiled code: `divergence.step` on the bytes of a warp's record.

The functions return the pc to continue at, or -1 and have changed nothing: then the step engine
executes the instruction and raises what there is to raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.typed import Int, TypedPointer, Variable
from gpudbg.sm.engines.llvm.runtime.control import ControlEntry, ControlFunction
from gpudbg.sm.record import TOKEN_CODE

REFUSED = -1
"""Returned where the step engine has to execute the instruction."""


def stack_functions() -> list[str]:
    """`pop`, `exit` and `spread`."""
    return [_pop(), _exit(), _spread()]


@contextmanager
def _downwards(
    f: ControlFunction, n: Variable, until: Variable | None = None, found: bool = False
) -> Iterator[ControlEntry]:
    """Statements for each entry from number `n` - 1 down.

    Args:
        until: ends the loop when it is 0.
        found: it becomes 0 before the bottom is reached.
    """
    with f.loop() as end:
        at = n.get()
        if not found:
            f.leave(end, at.equals(0))
        if until is not None:
            f.leave(end, until.get().equals(0))
        below = at - 1
        n.set(below)
        yield f.warp.entry(below)


def _pop() -> str:
    """Park lanes at their topmost token of a kind."""
    f = ControlFunction()
    kind, lanes = f.integer(32, "%kind"), f.integer(32, "%lanes")
    depth = f.warp["depth"]
    n, missing = f.variable(32, depth), f.variable(32, lanes)
    with _downwards(f, n, missing) as entry:
        same = entry.kind.equals(kind)
        with f.when(same):
            missing.set(missing.get() & ~entry.mask)
    with f.returning(missing.get().differs(0)):
        f.ret("i64", REFUSED)
    n.set(depth)
    missing.set(lanes)
    with _downwards(f, n, missing, found=True) as entry:
        mask = entry.mask
        with f.when(entry.kind.equals(kind)):
            missing.set(missing.get() & ~mask)
        # Lanes whose token lies deeper are taken out of this entry.
        entry.mask = mask & ~missing.get()
    _leave(f, lanes)
    head = f"define i64 @{layout.symbol('pop')}(ptr %rec, i32 %kind, i32 %lanes, i64 %next)"
    return f.close(head)


def _leave(f: ControlFunction, lanes: Int) -> None:
    """The lanes stop running; continue with the others or with the top entry."""
    active = f.warp["active"] & ~lanes
    f.warp["active"] = active
    with f.returning(active.differs(0)):
        f.ret("i64", "%next")
    n = f.variable(32, f.warp["depth"])
    with f.loop() as end:
        at = n.get()
        f.leave(end, at.equals(0))
        below = at - 1
        n.set(below)
        entry = f.warp.entry(below)
        mask = entry.mask & ~f.warp["exited"]
        with f.returning(mask.differs(0)):
            f.warp["depth"] = below
            f.warp["active"] = mask
            f.ret("i64", entry.target)
    f.warp["depth"] = 0
    f.warp["status"] = rec.DONE
    f.ret("i64", "%next")


def _exit() -> str:
    """End lanes, unless one of them may hold a PEXIT token or others were lost."""
    f = ControlFunction()
    lanes = f.integer(32, "%lanes")
    critical = f.warp["flags"] & rec.FLAG_IDE
    with f.returning(critical.differs(0)):
        f.ret("i64", REFUSED)
    gone = f.warp["exited"] | lanes
    n, waiting = f.variable(32, f.warp["depth"]), f.variable(32, 0)
    with _downwards(f, n) as entry:
        with f.returning(entry.kind.equals(TOKEN_CODE["PEXIT"])):
            f.ret("i64", REFUSED)
        waiting.set(waiting.get() | entry.mask)
    # No lane is left although some never exited: the step engine raises this error.
    others = waiting.get() | (f.warp["active"] & ~lanes)
    empty = (others & ~gone).equals(0)
    lost = (f.warp["valid"] & ~gone).differs(0)
    with f.returning(empty & lost):
        f.ret("i64", REFUSED)
    f.warp["exited"] = gone
    _leave(f, lanes)
    return f.close(f"define i64 @{layout.symbol('exit')}(ptr %rec, i32 %lanes, i64 %next)")


def _first_lane(f: ControlFunction, mask: Int) -> Int:
    return f.integer(32, f.ir.op(f"call i32 @llvm.cttz.i32(i32 {mask.ref}, i1 false)"))


def _group(f: ControlFunction, rest: Int, greatest: bool) -> tuple[Int, Int]:
    """(target, lanes with it) for the first lane of a mask, or for the greatest target in it."""
    row = TypedPointer(f.ir, "%row")
    if not greatest:
        target = row.element(32, _first_lane(f, rest)).load(32)
    else:
        best = f.variable(32, 0)
        with _each_lane(f, rest) as place:
            value, before = place.load(32), best.get()
            best.set((value > before).select(value, before))
        target = best.get()
    kind = "<32 x i32>"
    vector = f.ir.op(f"load {kind}, ptr %row, align 64")
    first = f.ir.op(f"insertelement {kind} poison, i32 {target.ref}, i32 0")
    every = f.ir.op(f"shufflevector {kind} {first}, {kind} poison, {kind} zeroinitializer")
    equal = f.ir.op(f"icmp eq {kind} {vector}, {every}")
    same = f.integer(32, f.ir.op(f"bitcast <32 x i1> {equal} to i32"))
    return target, same & rest


@contextmanager
def _each_lane(f: ControlFunction, mask: Int) -> Iterator[TypedPointer]:
    """Statements for each lane of a mask; yields the place of its word in `%row`."""
    left = f.variable(32, mask)
    with f.loop() as end:
        rest = left.get()
        f.leave(end, rest.equals(0))
        lane = _first_lane(f, rest)
        left.set(rest & (rest - 1))
        yield TypedPointer(f.ir, "%row").element(32, lane)


def _spread() -> str:
    """Lanes go to the places in a row (`divergence.step.branch_each`)."""
    f = ControlFunction()
    lanes = f.integer(32, "%lanes")
    depth, active = f.warp["depth"], f.warp["active"]
    stay = active & ~lanes
    rest, count = f.variable(32, lanes), f.variable(32, depth)
    with f.loop() as end:
        left = rest.get()
        f.leave(end, left.equals(0))
        _, group = _group(f, left, greatest=False)
        rest.set(left & ~group)
        count.set(count.get() + 1)
    nobody = stay.equals(0)
    used = count.get() - nobody.zext(32)
    with f.returning(used > f.warp["capacity"]):
        f.ret("i64", REFUSED)
    rest.set(lanes)
    count.set(depth)
    with f.loop() as end:
        left = rest.get()
        f.leave(end, left.equals(0))
        target, group = _group(f, left, greatest=True)
        goal = target.zext(64)
        last = group.equals(left)
        with f.returning(last & nobody):
            f.warp["depth"] = count.get()
            f.warp["active"] = group
            f.ret("i64", goal)
        f.warp.entry(count.get()).write(TOKEN_CODE["DIV"], group, goal)
        count.set(count.get() + 1)
        rest.set(left & ~group)
    f.warp["depth"] = count.get()
    f.warp["active"] = stay
    f.ret("i64", "%next")
    head = f"define i64 @{layout.symbol('spread')}(ptr %rec, ptr %row, i32 %lanes, i64 %next)"
    return f.close(head)
