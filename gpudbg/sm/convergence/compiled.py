"""Convergence barriers in compiled code: `convergence.step` on the bytes of a warp's record
(`kept`).

Functions that move the warp return the pc to continue at, others whether they did their work;
`REFUSED` or false: nothing has changed, and the step engine executes the instruction.  That is so
where the groups are held by a Python object (`apart`), or where no group would be ready.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudbg.sm import record as rec
from gpudbg.sm.convergence.groups import CONVERGING, PATIENCE, READY, SYNCING, YIELDED
from gpudbg.sm.convergence.kept import PASSING, ROW_BITS, SAVED, STATE_CODE, SYNC, WAITED, WAITS_FOR
from gpudbg.sm.divergence.compiled import REFUSED
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.typed import FALSE, TRUE, Int, TypedPointer, Variable
from gpudbg.sm.engines.llvm.runtime.control import ControlEntry, ControlFunction
from gpudbg.sm.record import FIELDS
from gpudbg.sm.residency import arena

_READY, _CONVERGING, _YIELDED, _SYNCING = (
    STATE_CODE[name] for name in (READY, CONVERGING, YIELDED, SYNCING)
)
assert max(_READY, _YIELDED) < _CONVERGING < _SYNCING < PASSING
_HOLDERS, _MEMBERS, _WAITING = 4, 8, 12
"""Byte offsets of an activation's fields behind its number."""
_BYTES = 16
_WAITS = "<4 x i32>"
MOST_LOWEST = 0xFFFF_FFFF
"""Stands in a record's `lowest` for all higher pcs, too."""
KIND_BITS = (1 << WAITED) - 1
"""Bits of an entry's kind that say what it waits for."""


def group_functions() -> list[str]:
    """IR of the group functions and their helpers."""
    return [
        _remove(), _release(), _settle(), _sweep(), _can_wake(), _wake(), _pick(), _open(),
        _leave(), _save(), _restore(), _split(), _jump(), _check_sync(), _converge(), _end(),
        _yield(), _synchronize(),
    ]  # fmt: skip


def _close(f: ControlFunction, head: str) -> str:
    """The function with this head.  Its loops have few turns: none is unrolled."""
    return f.close(f"{head} optsize")


def _activation(f: ControlFunction, index: Int) -> TypedPointer:
    return f.warp.at(FIELDS["activations"].offset).at(index.zext(64) * _BYTES)


@contextmanager
def _each(f: ControlFunction, field: str) -> Iterator[Int]:
    """Emit a loop over the numbers below a record field, as it was before the loop."""
    count, n = f.warp[field], f.variable(32, 0)
    with f.loop() as end:
        at = n.get()
        f.leave(end, at >= count)
        n.set(at + 1)
        yield at


@contextmanager
def _each_of(f: ControlFunction, number: Int) -> Iterator[TypedPointer]:
    """Emit a loop over the activations of a barrier."""
    with _each(f, "opened") as at:
        held = _activation(f, at)
        with f.when(held.load(32).equals(number)):
            yield held


def _copy(f: ControlFunction, source: TypedPointer, goal: TypedPointer) -> None:
    f.ir.put(_WAITS, f.ir.get(_WAITS, source.ref, 0, 8), goal.ref, 0, 8)


def _move(f: ControlFunction, source: TypedPointer, goal: TypedPointer) -> None:
    """Emit: copy an entry of the stack by the words that `_fill` may just have stored, which are
    slow to load as a whole."""
    for offset in (0, 8):
        word = f.ir.op(f"load volatile i64, ptr {source.at(offset).ref}")
        goal.store(64, f.integer(64, word), offset)


def _fill(
    f: ControlFunction, entry: TypedPointer, kind: int | Int, lanes: Int, target: Int
) -> None:
    """Emit: write an entry of the stack in two words."""
    if isinstance(kind, Int):
        kind = kind.zext(64)
    entry.store(64, (lanes.zext(64) << 32) | kind)
    entry.store(64, target, 8)


def _keep(f: ControlFunction, at: Int, out: Variable) -> None:
    """Emit: keep an entry of the stack, behind those kept before it.  Most stay where they are."""
    place = out.get()
    with f.when(place.differs(at)):
        _move(f, f.warp.entry(at), f.warp.entry(place))
    out.set(place + 1)


def _held(f: ControlFunction, number: Int) -> TypedPointer:
    """Address of the mask of lanes that hold an activation of a barrier."""
    return f.warp.at(FIELDS["held"].offset).element(32, number)


def _append(f: ControlFunction, kind: int | Int, lanes: Int, target: Int) -> None:
    """Emit: append a group to the waiting ones."""
    depth = f.warp["depth"]
    _fill(f, f.warp.entry(depth), kind, lanes, target)
    f.warp["depth"] = depth + 1


def _park(f: ControlFunction, lanes: Int, target: Int) -> None:
    """Emit: append lanes as a ready group."""
    _append(f, _READY, lanes, target)
    _count_ready(f, target)


def _count_ready(f: ControlFunction, target: Int) -> None:
    """Emit: one group more is ready, at a pc, on top of the stack."""
    ready, pc = f.warp["ready"], _bound(target)
    others = ready.equals(0).select(f.integer(32, -1), f.warp["lowest"])
    f.warp["second"] = others
    f.warp["lowest"] = (pc < others).select(pc, others)
    f.warp["ready"] = ready + 1


def _bound(target: Int) -> Int:
    """A pc as `lowest` has it: not higher."""
    return (target < MOST_LOWEST).select(target, MOST_LOWEST).trunc(32)


def _goes_first(f: ControlFunction, pc: Int) -> Int:
    """i1: no group is ready at a pc or before it; it may be false where none is, either."""
    return f.warp["ready"].equals(0) | (pc < f.warp["lowest"].zext(64))


def _waits_for(entry: ControlEntry) -> tuple[Int, Int]:
    """(i1 whether the entry waits at a BSYNC, the activation's number)."""
    kind = entry.kind
    return (kind & 255).equals(_CONVERGING), _row(kind)


def _has_row(entry: ControlEntry) -> tuple[Int, Int]:
    """(i1 whether the entry waits at a BSYNC or WARPSYNC, the row's number)."""
    kind = entry.kind
    return (kind & 255) > _CONVERGING - 1, _row(kind)


def _row(kind: Int) -> Int:
    """Number of the activation in an entry's kind."""
    return (kind >> WAITS_FOR) & ROW_BITS


def _refuses_apart(
    f: ControlFunction, kind: str, refused: int | str, alone: bool = False
) -> None:  # fmt: skip
    """Return `refused` where the record has not the groups, or, unless `alone`, the running lanes
    are one that no others may join."""
    apart = f.warp["apart"]
    with f.returning(apart.equals(rec.IN_PYTHON) if alone else apart.differs(0)):
        f.ret(kind, refused)


def _refuses_stuck(f: ControlFunction, progress: Variable) -> None:
    """Emit: return REFUSED where no group would be ready, nor one that has yielded could go on."""
    with f.when(progress.get().equals(0)):
        wakes = f.integer(1, f.ir.op("call i1 @groups_can_wake(ptr %rec)"))
        with f.returning(~wakes):
            f.ret("i64", REFUSED)


# ---- activations -----------------------------------------------------------------------------


def _remove() -> str:
    """Emit `remove`: delete an activation that no lane holds or waits for."""
    f = ControlFunction()
    gone = f.integer(32, "%gone")
    with _each(f, "opened") as at, f.when(at > gone):
        _copy(f, _activation(f, at), _activation(f, at - 1))
    f.warp["opened"] = f.warp["opened"] - 1
    with _each(f, "depth") as at:
        entry = f.warp.entry(at)
        waits, number = _has_row(entry)
        with f.when(waits & (number > gone)):
            entry.store(32, entry.kind - (1 << WAITS_FOR))
    f.ret_void()
    return _close(f, "define private void @groups_remove(ptr %rec, i32 %gone)")


def _release() -> str:
    """Emit `release`: make the groups that wait in an activation ready; those with one pc become
    one group.
    """
    f = ControlFunction()
    held = f.integer(32, "%held")
    before, end, out = f.warp["depth"], f.declared(32), f.variable(32, 0)
    end.set(before)
    with _each(f, "depth") as at:
        entry = f.warp.entry(at)
        waits, number = _has_row(entry)
        with f.when(waits & number.equals(held)):
            _join(f, entry, before, end)
    n, count = f.variable(32, 0), end.get()
    with f.loop() as done:
        at = n.get()
        f.leave(done, at >= count)
        n.set(at + 1)
        entry = f.warp.entry(at)
        waits, number = _has_row(entry)
        with f.when(~(waits & number.equals(held))):
            _keep(f, at, out)
    f.warp["depth"] = out.get()
    f.ret_void()
    return _close(f, "define private void @groups_release(ptr %rec, i32 %held)")


def _join(f: ControlFunction, entry: ControlEntry, before: Int, end: object) -> None:
    """Emit: merge a group's lanes into the ready group with its pc behind `before`, or append
    them.
    """
    found, k = f.declared(32), f.declared(32)
    found.set(-1)
    k.set(before)
    target, count = entry.target, end.get()  # type: ignore[attr-defined]
    with f.loop() as done:
        at = k.get()
        f.leave(done, at >= count)
        k.set(at + 1)
        with f.when(f.warp.entry(at).target.equals(target)):
            found.set(at)
    new = found.get().equals(-1)
    with f.when(new):
        made = f.warp.entry(count)
        _fill(f, made, _READY, f.integer(32, 0), target)
        found.set(count)
        end.set(count + 1)  # type: ignore[attr-defined]
        _count_ready(f, target)
    goal = f.warp.entry(found.get())
    goal.mask = goal.mask | entry.mask


def _release_complete(f: ControlFunction, name: str, kind: int, live: Int | None = None) -> str:
    """Emit the function `name`: release the waiting groups of rows all of whose lanes have come.

    Args:
        kind: of the entries that wait in such a row, the highest ones included.
        live: lanes that have not ended, where the others are not waited for.
    """
    n = f.variable(32, 0)
    with f.loop() as end:
        at = n.get()
        f.leave(end, at >= f.warp["depth"])
        n.set(at + 1)
        entry = f.warp.entry(at)
        here = entry.kind & 255
        with f.when(here.equals(kind) if kind == _CONVERGING else here > kind - 1):
            number = _row(entry.kind)
            held = _activation(f, number)
            members = held.load(32, _MEMBERS)
            lacks = (members if live is None else members & live) & ~held.load(32, _WAITING)
            with f.when(lacks.equals(0)):
                f.ir.line(f"call void @groups_release(ptr %rec, i32 {number.ref})")
                f.ir.line(f"call void @groups_remove(ptr %rec, i32 {number.ref})")
                n.set(0)
    f.ret_void()
    return _close(f, f"define private void @{name}(ptr %rec)")


def _settle() -> str:
    """Emit `groups_settle`: release the groups at a BSYNC whose activation is complete."""
    return _release_complete(ControlFunction(), "groups_settle", _CONVERGING)


def _check_sync() -> str:
    """Emit `groups_check_sync`: release the groups in a WARPSYNC to which all live lanes came."""
    f = ControlFunction()
    live = f.warp["valid"] & ~f.warp["exited"]
    return _release_complete(f, "groups_check_sync", _SYNCING, live)


def _sweep() -> str:
    """Emit `sweep`: delete activations that no lane holds or waits for."""
    f = ControlFunction()
    n = f.variable(32, f.warp["opened"])
    with f.loop() as end:
        at = n.get()
        f.leave(end, at.equals(0))
        below = at - 1
        n.set(below)
        held = _activation(f, below)
        users = held.load(32, _HOLDERS) | held.load(32, _WAITING)
        with f.when(users.equals(0)):
            f.ir.line(f"call void @groups_remove(ptr %rec, i32 {below.ref})")
    f.ret_void()
    return _close(f, "define private void @groups_sweep(ptr %rec)")


def _can_wake() -> str:
    """Emit `can_wake`: whether a group that has yielded would be the next one, if none is ready and
    no other rule of `Groups` for that applies: lanes at a BSYNC that have waited for `PATIENCE`
    rounds, or in a WARPSYNC that a BAR follows.
    """
    f = ControlFunction()
    some, other = f.variable(32, 0), f.variable(32, 0)
    with _each(f, "depth") as at:
        kind = f.warp.entry(at).kind
        state = kind & 255
        some.set(some.get() | state.equals(_YIELDED).zext(32))
        long = state.equals(_CONVERGING) & ((kind >> WAITED) > PATIENCE - 1)
        other.set(other.get() | (long | state.equals(PASSING)).zext(32))
    f.ret("i1", some.get().differs(0) & other.get().equals(0))
    return _close(f, "define private i1 @groups_can_wake(ptr %rec)")


def _wake() -> str:
    """Emit `wake`: make the group ready that yielded first; lanes at a BSYNC that wait for yielding
    ones alone have waited one round more."""
    f = ControlFunction()
    idle = f.variable(32, 0)
    with _each(f, "depth") as at:
        entry = f.warp.entry(at)
        with f.when((entry.kind & 255).equals(_YIELDED)):
            idle.set(idle.get() | entry.mask)
    others = idle.get()
    with _each(f, "depth") as at:
        entry = f.warp.entry(at)
        with _passed_over(f, entry, others):
            entry.store(32, entry.kind + (1 << WAITED))
    _wake_first(f)
    f.ret_void()
    return _close(f, "define private void @groups_wake(ptr %rec)")


def _pick() -> str:
    """Emit `pick`: run the ready groups with the lowest pc next; at least one must be ready."""
    f = ControlFunction()
    best, second, where = f.variable(64, -1), f.variable(64, -1), f.variable(32, 0)
    with _each(f, "depth") as at:
        entry = f.warp.entry(at)
        ready = (entry.kind & 255).equals(_READY)
        target, least = ready.select(entry.target, f.integer(64, -1)), best.get()
        lower = target < least
        other, next_one = lower.select(least, target), second.get()
        second.set((other < next_one).select(other, next_one))
        best.set(lower.select(target, least))
        where.set(lower.select(at, where.get()))
    goal = best.get()
    f.warp["lowest"] = lowest = _bound(second.get())
    f.warp["second"] = lowest
    with f.returning(second.get().differs(goal)):
        _take(f, where.get())
        f.ret("i64", goal)
    lanes, out, taken = f.variable(32, 0), f.variable(32, 0), f.variable(32, 0)
    with _each(f, "depth") as at:
        entry = f.warp.entry(at)
        ready = (entry.kind & 255).equals(_READY)
        chosen = ready & entry.target.equals(goal)
        with f.when(chosen):
            lanes.set(lanes.get() | entry.mask)
            taken.set(taken.get() + 1)
        with f.when(~chosen):
            _keep(f, at, out)
    f.warp["depth"] = out.get()
    f.warp["ready"] = f.warp["ready"] - taken.get()
    f.warp["active"] = lanes.get()
    f.ret("i64", goal)
    return _close(f, "define private i64 @groups_pick(ptr %rec)")


def _take(f: ControlFunction, number: Int) -> None:
    """Emit: run the ready group of one entry of the stack, which those behind it move up to."""
    f.warp["active"] = f.warp.entry(number).mask
    left, n = f.warp["depth"] - 1, f.variable(32, number)
    with f.loop() as end:
        at = n.get()
        f.leave(end, at >= left)
        n.set(at + 1)
        _move(f, f.warp.entry(at + 1), f.warp.entry(at))
    f.warp["depth"] = left
    f.warp["ready"] = f.warp["ready"] - 1


def _go_on(f: ControlFunction) -> None:
    """Return the pc of the group that runs next; without a ready one `groups_can_wake` holds."""
    with f.when(f.warp["ready"].equals(0)):
        f.ir.line("call void @groups_wake(ptr %rec)")
    f.ret("i64", f.ir.op("call i64 @groups_pick(ptr %rec)"))


# ---- instructions ----------------------------------------------------------------------------


def _open() -> str:
    """Emit BSSY: open an activation of the executing lanes."""
    f = ControlFunction()
    number, lanes = f.integer(32, "%number"), f.integer(32, "%lanes")
    _refuses_apart(f, "i1", FALSE, True)
    place = _held(f, number)
    with f.when((place.load(32) & lanes).differs(0)):
        with _each_of(f, number) as held:
            held.store(32, held.load(32, _HOLDERS) & ~lanes, _HOLDERS)
        f.ir.line("call void @groups_sweep(ptr %rec)")
    opened = f.warp["opened"]
    with f.returning(opened >= rec.MOST_ACTIVATIONS):
        f.ret("i1", FALSE)
    made = _activation(f, opened)
    for offset, value in ((0, number), (_HOLDERS, lanes), (_MEMBERS, lanes)):
        made.store(32, value, offset)
    made.store(32, 0, _WAITING)
    f.warp["opened"] = opened + 1
    place.store(32, place.load(32) | lanes)
    f.ret("i1", TRUE)
    return _close(
        f, f"define i1 @{layout.symbol('groups.open')}(ptr %rec, i32 %number, i32 %lanes)"
    )


def _leave() -> str:
    """Emit BREAK: lanes leave an activation."""
    f = ControlFunction()
    number, lanes = f.integer(32, "%number"), f.integer(32, "%lanes")
    _refuses_apart(f, "i1", FALSE, True)
    with _each_of(f, number) as held:
        holders = held.load(32, _HOLDERS)
        mine = holders & lanes
        held.store(32, holders & ~mine, _HOLDERS)
        held.store(32, held.load(32, _MEMBERS) & ~mine, _MEMBERS)
    place = _held(f, number)
    place.store(32, place.load(32) & ~lanes)
    f.ir.line("call void @groups_settle(ptr %rec)")
    f.ir.line("call void @groups_sweep(ptr %rec)")
    f.ret("i1", TRUE)
    return _close(
        f, f"define i1 @{layout.symbol('groups.leave')}(ptr %rec, i32 %number, i32 %lanes)"
    )


KEEPS, CLEARS = 2, 1
"""What a BMOV from a barrier does to it: it is emptied, and with KEEPS saved."""


def _save() -> str:
    """Emit BMOV from a barrier: the members of each lane's activation go to a row of words.  The
    step engine does it where a part of an activation's lanes would save it.
    """
    f = ControlFunction()
    number, lanes, how = (f.integer(32, f"%{name}") for name in ("number", "lanes", "how"))
    _refuses_apart(f, "i1", FALSE, True)
    keeps, odd = how.equals(KEEPS), f.variable(32, 0)
    shared = f.variable(32, 0)
    with _each_of(f, number) as held:
        holders = held.load(32, _HOLDERS)
        mine = holders & lanes
        parted = mine.differs(0) & (holders & ~lanes).differs(0)
        odd.set(odd.get() | parted.zext(32))
        shared.set(shared.get() | mine)
        # What the lanes saved before must stand before this one.
        with _each_of(f, number | SAVED) as before:
            later = f.integer(1, f.ir.op(f"icmp ugt ptr {before.ref}, {held.ref}"))
            again = (before.load(32, _HOLDERS) & mine).differs(0)
            odd.set(odd.get() | (later & again).zext(32))
    with f.returning(keeps & odd.get().differs(0)):
        f.ret("i1", FALSE)
    with _each_of(f, number) as held:
        holders = held.load(32, _HOLDERS)
        mine = holders & lanes
        with f.when(mine.differs(0)):
            _write_lanes(f, mine, held.load(32, _MEMBERS))
            with f.when(keeps):
                held.store(32, number | SAVED)
            with f.when(how.equals(CLEARS)):
                held.store(32, holders & ~lanes, _HOLDERS)
    with f.when(how.differs(0)):
        place = _held(f, number)
        place.store(32, place.load(32) & ~lanes)
        f.ir.line("call void @groups_sweep(ptr %rec)")
    f.ret("i1", TRUE)
    arguments = "ptr %rec, i32 %number, i32 %lanes, i32 %how, ptr %out"
    return _close(f, f"define i1 @{layout.symbol('groups.save')}({arguments})")


def _write_lanes(f: ControlFunction, lanes: Int, value: Int) -> None:
    """Emit: write a word to some lanes of the row `%out`."""
    row = "<32 x i32>"
    one = f.ir.op(f"insertelement {row} poison, i32 {value.ref}, i64 0")
    every = f.ir.op(f"shufflevector {row} {one}, {row} poison, <32 x i32> zeroinitializer")
    chosen = f.ir.op(f"bitcast i32 {lanes.ref} to <32 x i1>")
    old = f.ir.get(row, "%out", 0, 64)
    made = f.ir.op(f"select <32 x i1> {chosen}, {row} {every}, {row} {old}")
    f.ir.put(row, made, "%out", 0, 64)


def _restore() -> str:
    """Emit BMOV to a barrier: lanes hold again what they saved last.  The step engine does it where
    that is not the activation whose members they give, or a part of its lanes would.
    """
    f = ControlFunction()
    number, lanes = f.integer(32, "%number"), f.integer(32, "%lanes")
    _refuses_apart(f, "i1", FALSE, True)
    row, place = "<32 x i32>", _held(f, number)
    values = f.ir.get(row, "%row", 0, 64)
    some = f.ir.op(f"icmp ne {row} {values}, zeroinitializer")
    wanted = f.integer(32, f.ir.op(f"bitcast <32 x i1> {some} to i32")) & lanes
    with f.returning((place.load(32) & lanes).differs(0)):
        f.ret("i1", FALSE)
    odd = f.variable(32, 0)
    for moves in (False, True):
        left, n = f.variable(32, wanted), f.variable(32, f.warp["opened"])
        with f.loop() as end:
            below = n.get()
            f.leave(end, below.equals(0))
            n.set(below - 1)
            held = _activation(f, below - 1)
            now = left.get()
            holders = held.load(32, _HOLDERS)
            mine = holders & now
            with f.when(held.load(32).equals(number | SAVED) & mine.differs(0)):
                left.set(now & ~mine)
                if moves:
                    held.store(32, number)
                    place.store(32, place.load(32) | mine)
                else:
                    lacks = _lanes_without(f, values, held.load(32, _MEMBERS)) & mine
                    odd.set(odd.get() | (holders & ~now) | lacks)
        if not moves:
            with f.returning(odd.get().differs(0)):
                f.ret("i1", FALSE)
    f.ret("i1", TRUE)
    arguments = "ptr %rec, i32 %number, i32 %lanes, ptr %row"
    return _close(f, f"define i1 @{layout.symbol('groups.restore')}({arguments})")


def _lanes_without(f: ControlFunction, values: str, members: Int) -> Int:
    """Lanes whose word lacks one of the members."""
    row = "<32 x i32>"
    one = f.ir.op(f"insertelement {row} poison, i32 {members.ref}, i64 0")
    every = f.ir.op(f"shufflevector {row} {one}, {row} poison, <32 x i32> zeroinitializer")
    common = f.ir.op(f"and {row} {values}, {every}")
    other = f.ir.op(f"icmp ne {row} {common}, {every}")
    return f.integer(32, f.ir.op(f"bitcast <32 x i1> {other} to i32"))


def _split() -> str:
    """Emit a branch that only some of the active lanes take."""
    f = ControlFunction()
    lanes, target, following = (
        f.integer(32, "%lanes"), f.integer(64, "%target"), f.integer(64, "%next")
    )  # fmt: skip
    _refuses_apart(f, "i64", REFUSED)
    rest = f.warp["active"] & ~lanes
    ahead = following < target
    least = ahead.select(following, target)
    with f.returning(_goes_first(f, least)):
        # One of both sides usually has the lowest pc of all groups.
        _park(f, ahead.select(lanes, rest), ahead.select(target, following))
        f.warp["active"] = ahead.select(rest, lanes)
        f.ret("i64", least)
    _park(f, lanes, target)
    _park(f, rest, following)
    _go_on(f)
    arguments = "ptr %rec, i32 %lanes, i64 %target, i64 %next"
    return _close(f, f"define i64 @{layout.symbol('groups.split')}({arguments})")


def _jump() -> str:
    """Emit a branch whose lanes have targets of their own, in a row of 64-bit words: a group for
    each, in the order of its first lane; the step engine does it where there is only one."""
    f = ControlFunction()
    ir, row = f.ir, "<32 x i64>"
    lanes, following = f.integer(32, "%lanes"), f.integer(64, "%next")
    _refuses_apart(f, "i64", REFUSED)
    every = ir.get(row, "%row", 0, 64)
    rest = f.warp["active"] & ~lanes
    for moves in (False, True):
        left, away, count = f.variable(32, lanes), f.variable(32, rest), f.variable(32, 0)
        with f.loop() as end:
            now = left.get()
            f.leave(end, now.equals(0))
            first = ir.op(f"call i32 @llvm.cttz.i32(i32 {now.ref}, i1 true)")
            target = TypedPointer(ir, "%row").element(64, f.integer(32, first)).load(64)
            one = ir.op(f"insertelement {row} poison, i64 {target.ref}, i64 0")
            same = ir.op(f"shufflevector {row} {one}, {row} poison, <32 x i32> zeroinitializer")
            equal = ir.op(f"icmp eq {row} {every}, {same}")
            mine = f.integer(32, ir.op(f"bitcast <32 x i1> {equal} to i32")) & now
            left.set(now & ~mine)
            count.set(count.get() + 1)
            falls = target.equals(following)
            also = falls.select(away.get(), 0)
            away.set(falls.select(f.integer(32, 0), away.get()))
            if moves:
                _park(f, mine | also, target)
            else:
                with f.returning(target.compare("slt", 0)):
                    f.ret("i64", REFUSED)
        if not moves:
            with f.returning((count.get() < 2) & away.get().equals(0)):
                f.ret("i64", REFUSED)
    with f.when(away.get().differs(0)):
        _park(f, away.get(), following)
    _go_on(f)
    arguments = "ptr %rec, ptr %row, i32 %lanes, i64 %next"
    return _close(f, f"define i64 @{layout.symbol('groups.jump')}({arguments})")


def _converge() -> str:
    """Emit BSYNC: lanes wait for their activation."""
    f = ControlFunction()
    number, lanes = f.integer(32, "%number"), f.integer(32, "%lanes")
    following = f.integer(64, "%next")
    _refuses_apart(f, "i64", REFUSED)
    _converge_last(f, number, lanes, following)
    place = _held(f, number)
    held_here = place.load(32)
    stays = (f.warp["active"] & ~lanes) | (lanes & ~held_here)
    progress = f.variable(32, stays | f.warp["ready"])
    with _each_of(f, number) as held:
        mine = held.load(32, _HOLDERS) & lanes
        lacks = held.load(32, _MEMBERS) & ~(held.load(32, _WAITING) | mine)
        with f.when(mine.differs(0) & lacks.equals(0)):
            progress.set(1)
    _refuses_stuck(f, progress)
    rest = f.variable(32, lanes & held_here)
    with f.loop() as end:
        left = rest.get()
        f.leave(end, left.equals(0))
        first = left & (f.integer(32, 0) - left)
        with _each(f, "opened") as at:
            held = _activation(f, at)
            holders = held.load(32, _HOLDERS)
            here = held.load(32).equals(number)
            with f.when(here & (holders & first).differs(0)):
                mine = holders & left
                held.store(32, holders & ~mine, _HOLDERS)
                held.store(32, held.load(32, _WAITING) | mine, _WAITING)
                _append(f, (at << WAITS_FOR) | _CONVERGING, mine, following)
                rest.set(left & ~mine)
    place.store(32, held_here & ~lanes)
    f.ir.line("call void @groups_settle(ptr %rec)")
    with f.when(stays.differs(0)):
        _park(f, stays, following)
    _go_on(f)
    arguments = "ptr %rec, i32 %number, i32 %lanes, i64 %next"
    return _close(f, f"define i64 @{layout.symbol('groups.converge')}({arguments})")


def _converge_last(f: ControlFunction, number: Int, lanes: Int, following: Int) -> None:
    """Emit a BSYNC of all active lanes which alone hold the activation that was opened last: they
    wait where others can go on, or go on with those that wait for them; what follows is for all
    other cases."""
    last = f.warp["opened"] - 1
    # Row -1, for no activation, may be read: it lies inside the header.
    held = f.warp.at(FIELDS["activations"].offset).at(last.sext(64) * _BYTES)
    odd = (held.load(32) ^ number) | (lanes & ~held.load(32, _HOLDERS))
    odd = odd | (f.warp["active"] ^ lanes)
    with f.when(odd.equals(0) & f.warp["opened"].differs(0)):
        place, waiting = _held(f, number), held.load(32, _WAITING) | lanes
        complete = (held.load(32, _MEMBERS) & ~waiting).equals(0)
        with f.returning(~complete & f.warp["ready"].differs(0)):
            held.store(32, held.load(32, _HOLDERS) & ~lanes, _HOLDERS)
            held.store(32, waiting, _WAITING)
            place.store(32, place.load(32) & ~lanes)
            # They are not ready: others can be chosen before, so that no entry is moved twice.
            goal = f.ir.op("call i64 @groups_pick(ptr %rec)")
            _append(f, (last << WAITS_FOR) | _CONVERGING, lanes, following)
            f.ret("i64", goal)
        with f.when(complete & _goes_first(f, following)):
            depth, missing = _without_waiting(f, last, waiting & ~lanes, following)
            with f.returning(missing.equals(0)):
                f.warp["depth"] = depth
                f.warp["opened"] = last
                f.warp["active"] = waiting
                place.store(32, place.load(32) & ~lanes)
                f.ret("i64", following)


def _without_waiting(f: ControlFunction, row: Int, lanes: Int, following: Int) -> tuple[Int, Int]:
    """(Entries below those on top of the stack in which lanes wait at a BSYNC in an activation's
    row, to go on at a pc; lanes that do not wait there)."""
    left, n, what = f.variable(32, lanes), f.variable(32, f.warp["depth"]), _CONVERGING
    with f.loop() as end:
        count = n.get()
        f.leave(end, left.get().equals(0) | count.equals(0))
        entry = f.warp.entry(count - 1)
        other = (entry.kind & KIND_BITS) ^ ((row << WAITS_FOR) | what)
        f.leave(end, other.differs(0) | entry.target.differs(following))
        left.set(left.get() & ~entry.mask)
        n.set(count - 1)
    return n.get(), left.get()


def _end() -> str:
    """Emit EXIT: lanes end."""
    f = ControlFunction()
    lanes, following = f.integer(32, "%lanes"), f.integer(64, "%next")
    _refuses_apart(f, "i64", REFUSED, True)
    cta = f.warp.follow(layout.CTA_POINTER)
    rest = f.warp["active"] & ~lanes
    gone = f.warp["exited"] | lanes
    with f.returning((f.warp["valid"] & ~gone).equals(0)):
        _count_out(f, cta, lanes)
        f.warp["exited"] = gone
        for name in ("active", "depth", "opened", "ready"):
            f.warp[name] = 0
        f.ir.put("<16 x i32>", "zeroinitializer", "%rec", FIELDS["held"].offset, 8)
        f.warp["status"] = rec.DONE
        f.ret("i64", following)
    _refuses_apart(f, "i64", REFUSED)
    # CTA barriers may be complete without the lanes that end.
    arrived = f.ir.get("<16 x i32>", cta.ref, arena.ARRIVED, 8)
    some = f.integer(32, f.ir.op(f"call i32 @llvm.vector.reduce.or.v16i32(<16 x i32> {arrived})"))
    with f.returning(some.differs(0)):
        f.ret("i64", REFUSED)
    none = (f.warp["depth"] | f.warp["opened"]).equals(0)
    with f.returning(none & rest.differs(0)):
        _count_out(f, cta, lanes)
        f.warp["exited"] = gone
        f.warp["active"] = rest
        f.ret("i64", following)
    progress = f.variable(32, rest | f.warp["ready"])
    with _each(f, "opened") as at:
        held = _activation(f, at)
        waiting = held.load(32, _WAITING)
        lacks = held.load(32, _MEMBERS) & f.warp["valid"] & ~(gone | waiting)
        with f.when(waiting.differs(0) & lacks.equals(0)):
            progress.set(1)
    _refuses_stuck(f, progress)
    _count_out(f, cta, lanes)
    f.warp["exited"] = gone
    with _each(f, "opened") as at:
        held = _activation(f, at)
        with f.when(held.load(32).differs(SYNC)):
            for offset in (_HOLDERS, _MEMBERS):
                held.store(32, held.load(32, offset) & ~lanes, offset)
    for number in range(FIELDS["held"].length):
        place = f.warp.at(FIELDS["held"].offset + 4 * number)
        place.store(32, place.load(32) & ~lanes)
    f.ir.line("call void @groups_settle(ptr %rec)")
    f.ir.line("call void @groups_sweep(ptr %rec)")
    f.ir.line("call void @groups_check_sync(ptr %rec)")
    with f.when(rest.differs(0)):
        _park(f, rest, following)
    _go_on(f)
    arguments = "ptr %rec, i32 %lanes, i64 %next"
    return _close(f, f"define i64 @{layout.symbol('groups.end')}({arguments})")


def _yield() -> str:
    """YIELD, NANOSLEEP: others run, if there are any.

    Where the warp only polls (`Groups.only_polls`) `polls` becomes POLLED, and its turn is over.
    The step engine does it where lanes at a BSYNC have waited long enough (`PATIENCE`) for lanes
    that yield, or others wait in a WARPSYNC that a BAR follows.
    """
    f = ControlFunction()
    lanes, following = f.integer(32, "%lanes"), f.integer(64, "%next")
    _refuses_apart(f, "i64", REFUSED)
    with f.returning(f.warp["depth"].equals(0)):
        f.ret("i64", following)
    rest = f.warp["active"] & ~lanes
    alone = (rest | f.warp["ready"]).equals(0)
    idle, can = f.variable(32, lanes), f.variable(32, f.warp["ready"])
    with _each(f, "depth") as at:
        entry = f.warp.entry(at)
        with f.when((entry.kind & 255).equals(_YIELDED)):
            idle.set(idle.get() | entry.mask)
            can.set(1)
    others, stuck = idle.get(), f.variable(32, 0)
    with f.when(alone), _each(f, "depth") as at:
        entry = f.warp.entry(at)
        with _passed_over(f, entry, others), f.when((entry.kind >> WAITED) > PATIENCE - 1):
            stuck.set(1)
        stuck.set(stuck.get() | (entry.kind & 255).equals(PASSING).zext(32))
    with f.returning(stuck.get().differs(0)):
        f.ret("i64", REFUSED)
    f.warp["backward"] = 0
    with f.when(can.get().equals(0)):
        f.env["polls"] = layout.POLLED
    _append(f, _YIELDED, lanes, following)
    with f.when(rest.differs(0)):
        _park(f, rest, following)
    _go_on(f)
    arguments = "ptr %env, ptr %rec, i32 %lanes, i64 %next"
    return _close(f, f"define i64 @{layout.symbol('groups.yield')}({arguments})")


@contextmanager
def _passed_over(f: ControlFunction, entry: ControlEntry, idle: Int) -> Iterator[None]:
    """Emit a loop body for a group at a BSYNC that waits only for lanes of `idle`."""
    waits, number = _waits_for(entry)
    with f.when(waits):
        held = _activation(f, number)
        lacks = held.load(32, _MEMBERS) & ~held.load(32, _WAITING) & ~idle
        with f.when(lacks.equals(0)):
            yield


def _synchronize() -> str:
    """WARPSYNC: the lanes wait for the live lanes of a mask; `%passes` is 1 where a BAR follows."""
    f = ControlFunction()
    lanes, mask = f.integer(32, "%lanes"), f.integer(32, "%mask")
    passes = f.integer(32, "%passes")
    following = f.integer(64, "%next")
    # The only group of the warp goes on, others may join it from now on.
    whole = f.warp["depth"].equals(0) & lanes.equals(f.warp["active"])
    with f.returning(f.warp["apart"].equals(rec.ALONE) & whole):
        f.warp["apart"] = 0
        f.ret("i64", following)
    _refuses_apart(f, "i64", REFUSED)
    place = f.variable(32, -1)
    with _each(f, "opened") as at:
        held = _activation(f, at)
        same = held.load(32).equals(SYNC) & held.load(32, _MEMBERS).equals(mask)
        with f.when(same):
            place.set(at)
    new = place.get().equals(-1)
    rest = f.warp["active"] & ~lanes
    there = f.variable(32, lanes)
    with f.when(~new):
        there.set(lanes | _activation(f, place.get()).load(32, _WAITING))
    lacks = mask & f.warp["valid"] & ~(f.warp["exited"] | there.get())
    ready = rest | f.warp["ready"]
    with f.when(ready.equals(0) & lacks.differs(0)):
        wakes = f.integer(1, f.ir.op("call i1 @groups_can_wake(ptr %rec)"))
        with f.returning(~wakes | passes.differs(0)):
            f.ret("i64", REFUSED)
    opened = f.warp["opened"]
    with f.returning(new & (opened >= rec.MOST_ACTIVATIONS)):
        f.ret("i64", REFUSED)
    with f.when(new):
        made = _activation(f, opened)
        for offset, value in ((0, SYNC), (_HOLDERS, 0), (_MEMBERS, mask)):
            made.store(32, value, offset)
        f.warp["opened"] = opened + 1
        place.set(opened)
    _activation(f, place.get()).store(32, there.get(), _WAITING)
    with f.when(rest.differs(0)):
        _park(f, rest, following)
    state = passes + _SYNCING
    _append(f, (place.get() << WAITS_FOR) | state, lanes, following)
    f.ir.line("call void @groups_check_sync(ptr %rec)")
    _go_on(f)
    arguments = "ptr %rec, i32 %lanes, i32 %mask, i32 %passes, i64 %next"
    return _close(f, f"define i64 @{layout.symbol('groups.sync')}({arguments})")


def _wake_first(f: ControlFunction) -> None:
    """Emit: make the group ready that yielded first."""
    with _each(f, "depth") as at:
        entry = f.warp.entry(at)
        first = (entry.kind & 255).equals(_YIELDED) & f.warp["ready"].equals(0)
        with f.when(first):
            entry.store(32, _READY)
            _count_ready(f, entry.target)
            f.warp["second"] = f.warp["lowest"]


def _count_out(f: ControlFunction, cta: TypedPointer, lanes: Int) -> None:
    """Emit: subtract lanes from the CTA's count of live threads."""
    count = f.integer(32, f.ir.op(f"call i32 @llvm.ctpop.i32(i32 {lanes.ref})"))
    cta.store(64, cta.load(64, arena.LIVE_THREADS) - count.zext(64), arena.LIVE_THREADS)
