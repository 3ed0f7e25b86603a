"""The grid loop: `Schedule.next` with seed 0, turns, barriers and new CTAs in compiled code.

It takes the turns of the step engine's schedule exactly (`schedule.step`, `schedule.turns`)
and returns when Python is needed: an instruction for the step engine, a mark, no warp ready, or
enough instructions.  A CTA here is its descriptor (`residency.arena`).
"""

from __future__ import annotations

from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.typed import Int, TypedPointer
from gpudbg.sm.engines.llvm.layout import FIELD, GRID_LOOP, IDLE, LIMIT, Left
from gpudbg.sm.engines.llvm.runtime.control import ControlFunction, Warp
from gpudbg.sm.residency import arena
from gpudbg.sm.residency.compiled import SUCCEED, complete
from gpudbg.sm.schedule.step import STAY
from gpudbg.sm.schedule.turns import LONGER, SETTLED


def _place(f: ControlFunction) -> tuple[Int, Int, Int]:
    """(ring place of its block's first warp, warp index, block's warps) of the last turn."""
    ring, count = f.env.follow(FIELD["ring"]), f.env["ring_count"]
    last = f.declared(64)
    wrapped = f.env["position"] - 1
    last.set(wrapped)
    # Past the end only after the ring became shorter.
    with f.when(wrapped >= count):
        last.set((wrapped + count) % count)
    at = last.get()
    warp = f.element(ring, at)
    index = warp["index"].zext(64)
    warps = warp.follow(layout.CTA_POINTER).load(64, arena.WARPS)
    return at - index, index, warps


def _below(number: Int, limit: Int) -> Int:
    """A number below twice the limit, reduced modulo the limit."""
    less = number - limit
    return (number >= limit).select(less, number)


def turn_of(quantum: Int, warp: Warp) -> Int:
    """`Schedule.turn_of`."""
    settled = warp["executed"].compare("ugt", SETTLED - 1)
    return settled.select(quantum * LONGER, quantum)


def _try(f: ControlFunction, place: Int, ready: str, stay: bool) -> None:
    """Emit: take the warp at a ring position if it is ready."""
    warp = f.element(f.env.follow(FIELD["ring"]), place)
    with f.returning(warp["status"].equals(rec.READY)):
        if not stay:
            f.env["stay"] = STAY
            f.env["polls"] = 0
        f.env["position"] = place + 1
        f.env["current"] = place
        f.env["left"] = turn_of(f.env["quantum"], warp)
        f.ir.br(ready)


def _choose(f: ControlFunction, ready: str) -> None:
    """`Schedule.next`: set `current`; returns IDLE when no warp is ready."""
    n, start = f.declared(64), f.declared(64)
    start.set(0)
    count = f.env["ring_count"]
    with f.returning(count.equals(0)):
        f.ret("i32", IDLE)
    f.choose(f.env["position"].equals(0), "move", "placed")
    f.ir.label("placed")
    first, index, warps = _place(f)
    # After a poll the next warp of the ring has its turn, whatever its block.
    polls = f.env["polls"].differs(0)
    start.set(first + polls.select(index + 1, warps))
    f.choose(polls, "move", "same_block")
    f.ir.label("same_block")
    f.choose(f.env["stay"].compare("sgt", 0), "stay", "move")
    f.ir.label("stay")
    n.set(0)
    with f.loop() as end:
        at = n.get() + 1
        f.leave(end, at > warps)
        n.set(at)
        _try(f, first + _below(index + at, warps), ready, True)
    f.ir.br("move")
    f.ir.label("move")
    n.set(0)
    with f.loop():
        at = n.get()
        with f.returning(at >= count):
            f.ret("i32", IDLE)
        n.set(at + 1)
        _try(f, _below(start.get() + at, count), ready, False)
    f.ir.line("unreachable")


class _Turns:
    """Emits the grid loop.

    While the turn goes from a warp to the next one of its block, as it nearly always does, what
    the loop counts stays in variables; `flush` writes them back.  Code that goes from a warp to
    the next one by itself (`kernel.succession`) counts only how many more instructions may be
    executed, in the environment (`layout.ROOM`): `follow` counts the rest from that.

    Attributes:
        f: the function.
        ring, quantum, limit: fields that do not change during a call.
        cta: of the present warp.
        first, end: ring slots of the block's first warp and behind its last.
        slot: the present warp's in the ring.
        left, total: fields of the loop; for clocks `total` is written at once, and `left` before a
            warp goes on.
        room: instructions until the turn goes elsewhere than to the next warp of the block, or the
            call ends (`layout.ROOM`).
        issued: instructions issued on the SM, written at once.
        stay, began: the field of the loop, and `total`, when these variables were filled.
        issued_at: where instructions issued on the SM are counted.
        regular: the place in the ring is that of the present warp.
    """

    def __init__(self) -> None:
        self.f = f = ControlFunction()
        self.left, self.total, self.issued, self.room, self.stay, self.began = (
            f.declared(64) for _ in range(6)
        )
        self.slot_at, self.first, self.end, self.cta, self.issued_at = (
            f.pointer() for _ in range(5)
        )
        self.regular = f.declared(1)
        self.ring = f.env.follow(FIELD["ring"])
        self.quantum, self.limit = f.env["quantum"], f.env["limit"]

    def slot(self) -> TypedPointer:
        """The present warp's slot in the ring."""
        return self.slot_at.follow()

    def warp(self) -> Warp:
        """The present warp."""
        return Warp(self.f.ir, self.slot().follow().ref)

    def take(self) -> None:
        """Load the loop's fields into variables."""
        f, env = self.f, self.f.env
        left, stay, total = env["left"], env["stay"], env["total"]
        self.left.set(left)
        self.stay.set(stay)
        self.total.set(total)
        self.began.set(total)
        at = env["current"]
        slot = f.slot(self.ring, at)
        warp = Warp(f.ir, slot.follow().ref)
        cta = warp.follow(layout.CTA_POINTER)
        index = warp["index"].zext(64)
        first = f.slot(self.ring, at - index)
        end = f.slot(first, cta.load(64, arena.WARPS))
        self.set_slot(slot)
        cluster = f.ir.op(f"icmp eq ptr {cta.follow(arena.CLUSTER).ref}, null")
        goes_on = env["tell"].equals(0) & f.integer(1, cluster)
        limit = f.ir.op(f"select i1 {goes_on.ref}, ptr {end.ref}, ptr null")
        f.ir.put("ptr", limit, "%env", layout.SLOT_END)
        self.cta.store_pointer(cta)
        self.first.store_pointer(first)
        self.end.store_pointer(end)
        issued_at = cta.follow(arena.ISSUED)
        self.issued_at.store_pointer(issued_at)
        self.issued.set(issued_at.load(64))
        behind = at + 1
        regular = env["position"].equals(behind)
        self.regular.set(regular)
        rest = self.limit - total
        room = f.integer(64, f.ir.op(f"call i64 @llvm.smin.i64(i64 {rest.ref}, i64 {stay.ref})"))
        self.set_room(regular.select(room, 0))

    def set_slot(self, slot: TypedPointer) -> None:
        """Give the turn to the warp of a slot."""
        self.slot_at.store_pointer(slot)
        self.f.ir.put("ptr", slot.ref, "%env", layout.SLOT)

    def set_room(self, room: Int) -> None:
        """Set how many more instructions may be executed."""
        self.room.set(room)
        for at in (layout.ROOM, layout.ROOM_BEFORE):
            self.f.env.store(64, room, at)

    def follow(self) -> None:
        """Read again what code has counted that went on to other warps."""
        f, env = self.f, self.f.env
        f.ir.put("ptr", "null", "%env", layout.SLOT_SURE)
        room = env.load(64, layout.ROOM)
        # The code may have come round to the same warp.
        with f.when(room.differs(self.room.get())):
            self.slot_at.store_pointer(env.follow(layout.SLOT))
            self.left.set(env["left"])
            self.count(self.room.get() - room)
            self.set_room(room)

    def flush(self) -> None:
        """Write the fields of the loop."""
        f, env = self.f, self.f.env
        env["left"] = self.left.get()
        spent = self.total.get() - self.began.get()
        env["stay"] = self.stay.get() - spent
        slots = (f.integer(64, f.ir.op(f"ptrtoint ptr {at.ref} to i64")) for at in self._ends())
        here, start = slots
        at = (here - start) >> 3
        env["current"] = at
        with f.when(self.regular.get()):
            env["position"] = at + 1

    def _ends(self) -> tuple[TypedPointer, TypedPointer]:
        """The present slot and the first one of the ring."""
        return self.slot(), self.ring

    def spend(self, spent: Int) -> None:
        """Count instructions of the present warp."""
        warp = self.warp()
        warp["executed"] = warp["executed"] + spent
        self.count(spent)
        self.set_room(self.room.get() - spent)

    def count(self, spent: Int) -> None:
        """Count instructions of the launch and of the SM."""
        issued = self.issued.get() + spent
        self.issued.set(issued)
        self.issued_at.follow().store(64, issued)
        total = self.total.get() + spent
        self.total.set(total)
        self.f.env["total"] = total

    def go_on(self, run: str, out: str) -> None:
        """Go to `run`; or to `out` where Python or the end of the call may want the loop to end."""
        f = self.f
        f.leave(out, self.room.get().compare("sle", 0))
        f.choose(f.env.load(64, layout.STOP).equals(0), run, out)

    def hop(self, run: str, out: str) -> None:
        """The usual case: the next warp of the same block has its turn."""
        f = self.f
        f.leave(out, f.env["polls"].differs(0))
        behind, first, end = self.slot().at(8), self.first.follow(), self.end.follow()
        last = f.ir.op(f"icmp eq ptr {behind.ref}, {end.ref}")
        slot = f.ir.op(f"select i1 {last}, ptr {first.ref}, ptr {behind.ref}")
        there = Warp(f.ir, TypedPointer(f.ir, slot).follow().ref)
        f.leave(out, there["status"].differs(rec.READY))
        hopped = f.ir.fresh("hop")
        self.go_on(hopped, out)
        f.ir.label(hopped)
        self.set_slot(TypedPointer(f.ir, slot))
        self.left.set(turn_of(self.quantum, there))
        f.ir.br(run)


def grid_functions() -> list[str]:
    """The grid loop, and what has it leave nothing undone."""
    return [_turns(), _complete_ring(), _grid_loop()]


def _grid_loop() -> str:
    """What Python calls: turns, and then the registers that code left to be made."""
    f = ControlFunction()
    outcome = f.ir.op("call i32 @turns(ptr %env)")
    function = f.env.follow(layout.COMPLETE)
    with f.when(f.integer(1, f.ir.op(f"icmp ne ptr {function.ref}, null"))):
        f.ir.line("call void @complete_ring(ptr %env)")
    f.ret("i32", f.integer(32, outcome))
    return f.close(f"define i32 @{GRID_LOOP}(ptr %env)")


def _complete_ring() -> str:
    """Make the registers of all resident warps that have ended."""
    f = ControlFunction()
    ring, count = f.env.follow(FIELD["ring"]), f.env["ring_count"]
    n = f.variable(64, 0)
    with f.loop() as end:
        at = n.get()
        f.leave(end, at >= count)
        n.set(at + 1)
        complete(f, f.element(ring, at))
    f.ret_void()
    return f.close("define private void @complete_ring(ptr %env)")


def _turns() -> str:
    """The loop."""
    turns = _Turns()
    f = turns.f
    f.ir.put("ptr", f"@{SUCCEED}", "%env", layout.SUCCEED)
    _next_warp(turns)
    f.ir.label("run")
    outcome = _call(turns)
    turns.follow()
    warp = turns.warp()
    rest = warp["budget"]
    spent = turns.left.get() - rest
    kind = outcome & 255
    cta = turns.cta.follow()
    f.ir.line(
        f"switch i32 {kind.ref}, label %back [ i32 {int(Left.TURN)}, label %turn "
        f"i32 {int(Left.BARRIER)}, label %barrier i32 {int(Left.DONE)}, label %done "
        f"i32 {int(Left.FULL)}, label %drain ]"
    )
    f.ir.label("turn")
    turns.left.set(0)
    turns.spend(spent)
    polled = f.env["polls"].equals(layout.POLLED)
    f.env["idle"] = polled.select(f.env["idle"] + 1, 0)
    f.ir.br("hop")
    _arrived(turns, warp, cta, outcome, rest, spent)
    _drain(turns, warp, rest, spent)
    f.ir.label("hop")
    turns.hop("run", "out")
    _done(turns, warp, cta, spent)
    f.ir.label("back")
    turns.left.set(warp["budget"])
    turns.spend(spent)
    f.ir.br("leave")
    f.ir.label("leave")
    turns.flush()
    f.ret("i32", outcome)
    return f.close("define private i32 @turns(ptr %env)")


def _next_warp(turns: _Turns) -> None:
    """Emit: continue with the warp whose turn it is, at the beginning or after a flush."""
    f = turns.f
    f.ir.br("top")
    f.ir.label("out")
    turns.flush()
    f.ir.br("top")
    f.ir.label("top")
    with f.returning(f.env.load(64, layout.STOP).differs(0)):
        f.ret("i32", LIMIT)
    current = f.env["current"]
    f.choose(current.compare("slt", 0), "choose", "present")
    f.ir.label("present")
    ready = f.element(turns.ring, current)["status"].equals(rec.READY)
    more = f.env["left"].compare("sgt", 0)
    f.choose(ready & more, "chosen", "choose")
    f.ir.label("choose")
    _choose(f, "chosen")
    f.ir.label("chosen")
    with f.returning(f.env["total"].compare("sge", turns.limit)):
        f.ret("i32", LIMIT)
    turns.take()
    f.ir.br("run")


def _call(turns: _Turns) -> Int:
    """Emit: call the kernel's code for the warp's lanes, switching versions when these change.
    Returns why it left.
    """
    f, warp, left = turns.f, turns.warp(), turns.left.get()
    warp["budget"] = left
    # Clocks count from `left` at the beginning of a part of a turn (`kernel.special`).
    f.env["left"] = left
    f.choose(warp["active"].equals(-1), "full", "masked")
    why = []
    for name, field in (("full", layout.FULL_CODE), ("masked", layout.MASKED_CODE)):
        f.ir.label(name)
        code = f.env.follow(field)
        there = f"{name}.run"
        if name == "full":
            f.ir.br(there)
        else:
            f.choose(f.integer(1, f.ir.op(f"icmp eq ptr {code.ref}, null")), "nocode", there)
        f.ir.label(there)
        record = turns.warp()
        ran = f.integer(32, f.ir.op(f"call i32 {code.ref}(ptr %env, ptr {record.ref})"))
        why.append(f"[ {ran.ref}, %{there} ]")
        switched = f"{name}.switch"
        if name == "full":
            other = f.ir.fresh("other")
            f.choose(ran.equals(int(Left.ELSEWHERE)), "full.elsewhere", other)
            f.ir.label(other)
            why[-1] = f"[ {ran.ref}, %{other} ]"
        f.choose(ran.equals(int(Left.SWITCH)), switched, "account")
        f.ir.label(f"{name}.switch")
        turns.follow()
        f.ir.br(f"{name}.more")
        f.ir.label(f"{name}.more")
        more = turns.warp()["budget"].compare("sgt", 0)
        f.choose(more, "masked" if name == "full" else "full", "account")
        why.append(f"[ {int(Left.TURN)}, %{name}.more ]")
    f.ir.label("full.elsewhere")
    turns.follow()
    f.ir.br("masked")
    f.ir.label("nocode")
    f.ir.br("account")
    f.ir.label("account")
    listed = f"{', '.join(why)}, [ {int(Left.SWITCH)}, %nocode ]"
    return f.integer(32, f.ir.op(f"phi i32 {listed}"))


def _arrived(
    turns: _Turns, warp: Warp, cta: TypedPointer, outcome: Int, rest: Int, spent: Int
) -> None:
    """A BAR: the warp arrives, and goes on where it need not wait."""
    f = turns.f
    f.ir.label("barrier")
    bar = (outcome >> 8).zext(64)
    call = f"call i1 @arrive(ptr %env, ptr {cta.ref}, ptr {warp.ref}, i64 {bar.ref})"
    f.choose(f.integer(1, f.ir.op(call)), "arrived", "back")
    f.ir.label("arrived")
    rest = rest - 1
    turns.left.set(rest)
    turns.spend(spent + 1)
    ready = warp["status"].equals(rec.READY)
    more = rest.compare("sgt", 0)
    f.choose(ready & more, "same", "waits")
    f.ir.label("waits")
    f.env["idle"] = 0
    f.ir.br("hop")
    f.ir.label("same")
    turns.go_on("run", "out")


def _drain(turns: _Turns, warp: Warp, rest: Int, spent: Int) -> None:
    """A trace is full: the warp goes on where compiled code empties it."""
    f = turns.f
    f.ir.label("drain")
    read = f.env.follow(layout.DRAIN)
    known = f.integer(1, f.ir.op(f"icmp ne ptr {read.ref}, null"))
    f.choose(known, "read", "back")
    f.ir.label("read")
    context, rows = (f.env.follow(at) for at in (layout.DRAIN_CONTEXT, layout.DRAIN_ROWS))
    call = f"call i1 {read.ref}(ptr {context.ref}, ptr {rows.ref})"
    f.choose(f.integer(1, f.ir.op(call)), "emptied", "back")
    f.ir.label("emptied")
    turns.left.set(rest)
    turns.spend(spent)
    f.choose(rest.compare("sgt", 0), "same", "hop")


def _done(turns: _Turns, warp: Warp, cta: TypedPointer, spent: Int) -> None:
    """A warp has exited."""
    f = turns.f
    f.ir.label("done")
    turns.left.set(warp["budget"])
    turns.spend(spent)
    good = f.integer(1, f.ir.op(f"call i1 @finished(ptr %env, ptr {cta.ref})"))
    f.choose(good, "finished", "leave")
    f.ir.label("finished")
    turns.left.set(0)
    f.env["idle"] = 0
    f.choose(cta.load(64, arena.NUMBER).compare("sge", 0), "hop", "gone")
    f.ir.label("gone")
    turns.flush()
    f.env["current"] = -1
    f.ir.br("top")
