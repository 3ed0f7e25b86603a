"""Work stealing between host threads, in compiled code: without Python's lock.

The *leader*, in the caller's thread, gives work to *followers* and waits for them; each follower
has a box with a state in it.  A thread without work spins on the state for some microseconds, then
sleeps in `read` until the other one, which sees that in the state, writes a word.  A member without
a ready warp is a *thief*: it asks a *victim* for half of its CTAs.

    ASLEEP   the follower sleeps or is about to: whoever changes the state wakes it
    CALLED   it has been woken, or will be: work is to come
    GO       there is work; a leader that has none takes it back from who was not awake to begin
    WORKS    it has begun
    DONE     it has done it, and looks for more
    WAITED   it has begun, and the leader sleeps until the work is done
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.typed import FALSE, TRUE, Int, TypedPointer
from gpudbg.sm.engines.llvm.layout import FIELD, GRID_LOOP, IDLE, LIMIT
from gpudbg.sm.engines.llvm.runtime.control import ControlFunction, Environment
from gpudbg.sm.residency import arena

ASLEEP, CALLED, GO, WORKS, DONE, WAITED = range(6)

SPINS: Final = 100
"""Reads of a state before sleep, each with a system call: some 50 us."""
SPINS_EARLY: Final = 8 * SPINS
"""After a launch, which as a rule is run at once: waking a thread costs as much as it does."""

# ---- bytes of a pool, i64 each: a head, then a box for each member, the leader first -------------

READ, WRITE, YIELD, COUNT, MOVED, DONE_PIPE, END = range(0, 56, 8)
"""Of the head: pointers to `read`, `write` and `sched_yield` of the C library, members with work,
whether CTAs went from one to another, and where to read and to write that a follower is done."""
HEAD_BYTES: Final = arena.LINE
STATE: Final = 0
POOL, ENVIRONMENT, WHY, CALLS, CALL, MOST_SPINS = range(arena.LINE, arena.LINE + 48, 8)
"""Of a box, behind the line with its state: the pool, the environment to run, what that returned,
where to read and to write that there is work, and how often it looks at the state before sleep."""
ASKED, RUNS = range(2 * arena.LINE, 2 * arena.LINE + 16, 8)
"""Of a box, in a line of their own: the box of a member that wants CTAs, or 0, and whether the
member runs the grid loop now, so that it will answer."""
BOX_BYTES: Final = 3 * arena.LINE
GIVE: Final = 2
"""In `layout.STOP`: a thief asks for CTAs.  1 is Python's request to return."""

LEAD: Final = "gpudbg_lead"
FOLLOW: Final = "gpudbg_follow"


class _Member(ControlFunction):
    """A function of the leader's or a follower's."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = TypedPointer(self.ir, "%pool")

    def box(self, number: Int) -> TypedPointer:
        """A box of the pool."""
        behind = number * BOX_BYTES
        return self.pool.at(HEAD_BYTES).at(behind)

    def change(self, box: TypedPointer, state: int) -> Int:
        """Set the state of a box atomically. Returns the state before."""
        return self.integer(64, self.ir.op(f"atomicrmw xchg ptr {box.ref}, i64 {state} acq_rel"))

    def signal(self, direction: int, end: Int) -> Int:
        """Read or write one word on a pipe. Returns the number of bytes."""
        function = self.pool.follow(direction)
        if direction == WRITE:
            self.ir.put("i64", 1, "%word")
        call = f"call i64 {function.ref}(i32 {end.trunc(32).ref}, ptr %word, i64 8)"
        return self.integer(64, self.ir.op(call))

    def exchange(
        self, box: TypedPointer, state: Int | int, new: int | Int, done: str, other: str
    ) -> None:
        """Set the state of a box if it is the expected one; go to a label for each case."""
        given = [value.ref if isinstance(value, Int) else value for value in (state, new)]
        words = f"i64 {given[0]}, i64 {given[1]}"
        pair = self.ir.op(f"cmpxchg ptr {box.ref}, {words} acq_rel acquire")
        done_so = self.integer(1, self.ir.op(f"extractvalue {{i64, i1}} {pair}, 1"))
        self.choose(done_so, done, other)

    def spin(
        self, box: TypedPointer, news: dict[int, str], tired: str, most: Int | int = SPINS
    ) -> None:
        """Spin on a state: go to its label in `news`, or after `most` reads to `tired`."""
        spins = self.variable(64, 0)
        with self.loop() as end:
            state = box.load_atomic()
            cases = " ".join(f"i64 {value}, label %{label}" for value, label in news.items())
            on = self.ir.fresh("on")
            self.ir.line(f"switch i64 {state.ref}, label %{on} [ {cases} ]")
            self.ir.label(on)
            # The other thread may be waiting for this processor.
            self.yield_processor()
            count = spins.get() + 1
            spins.set(count)
            self.leave(end, count >= most)
        self.ir.br(tired)

    def yield_processor(self) -> None:
        """Let another thread have the processor."""
        self.ir.op(f"call i32 {self.pool.follow(YIELD).ref}()")

    def run(self, box: TypedPointer) -> None:
        """Run the grid loop, give CTAs to a thief that asks, and steal when no warp is ready; write
        why the loop returned, and stop the other members where Python is needed, or this one has
        reached its limit: a host's processors are not all as quick, and the call waits for all."""
        ir = self.ir
        environment = box.follow(ENVIRONMENT)
        again, idle, limit, other, end = (
            ir.fresh(hint) for hint in ("again", "idle", "limit", "other", "end")
        )
        ir.br(again)
        ir.label(again)
        box.store_atomic(1, RUNS)
        found = self.integer(32, ir.op(f"call i32 @{GRID_LOOP}(ptr {environment.ref}) noinline"))
        box.store(64, found.zext(64), WHY)
        ir.line(
            f"switch i32 {found.ref}, label %{other} [ i32 {IDLE}, label %{idle} "
            f"i32 {LIMIT}, label %{limit} ]"
        )
        ir.label(limit)
        asks = box.load_atomic(ASKED)
        with self.when(asks.differs(0)):
            thief = TypedPointer(ir, ir.op(f"inttoptr i64 {asks.ref} to ptr")).follow(ENVIRONMENT)
            self.give(environment, thief, "false")
            box.store_atomic(0, ASKED)
        self.exchange(environment.at(layout.STOP), GIVE, 0, again, other)
        ir.label(idle)
        box.store_atomic(0, RUNS)
        got = self.integer(1, ir.op(f"call i1 @steal(ptr %pool, ptr {box.ref})"))
        self.choose(got, again, end)
        ir.label(other)
        with self.each_box(0) as member:
            member.follow(ENVIRONMENT).store(64, 1, layout.STOP)
        ir.br(end)
        ir.label(end)
        box.store_atomic(0, RUNS)

    def give(self, from_: TypedPointer, to: TypedPointer, all_: str) -> None:
        """Call `_give`."""
        given = f"ptr %pool, ptr {from_.ref}, ptr {to.ref}, i1 {all_}"
        self.ir.line(f"call void @give({given})")

    @contextmanager
    def each_box(self, first: int = 1) -> Iterator[TypedPointer]:
        """Loop over the boxes of members with work; those of followers unless `first` is 0."""
        ir = self.ir
        n = self.variable(64, first)
        head, after = ir.fresh("box"), ir.fresh("boxes")
        ir.br(head)
        ir.label(head)
        at = n.get()
        self.leave(after, at >= self.pool.load(64, COUNT))
        n.set(at + 1)
        yield self.box(at)
        ir.br(head)
        ir.label(after)


def stealing_functions() -> list[str]:
    """Leader and follower, and what they call."""
    return [_give(), _steal(), _lead(), _follow()]


def _lead() -> str:
    """Run the leader's environment, and those of its followers at the same time."""
    f = _Member()
    ir = f.ir
    ir.line("%word = alloca i64")
    with f.each_box() as box:
        was = f.change(box, GO)
        with f.when(was.equals(ASLEEP)):
            f.signal(WRITE, box.load(64, CALL))
    ir.br("run")
    ir.label("run")
    leader = f.box(f.integer(64, 0))
    f.run(leader)
    more = f.declared(1)
    more.set_text("false")
    idle = leader.load(64, WHY).equals(IDLE)
    with f.when(idle), f.each_box() as box:
        late, begun = ir.fresh("late"), ir.fresh("begun")
        f.exchange(box, GO, CALLED, late, begun)
        ir.label(late)
        box.store(64, IDLE, WHY)
        mine, theirs = (member.follow(ENVIRONMENT) for member in (leader, box))
        f.give(theirs, mine, "true")
        more.set_text("true")
        ir.br(begun)
        ir.label(begun)
    f.choose(more.get(), "run", "end")
    ir.label("end")
    with f.each_box() as box:
        _await(f, box)
    f.ret_void()
    return f.close(f"define void @{LEAD}(ptr %pool)")


def _await(f: _Member, box: TypedPointer) -> None:
    """Wait until a follower is done, or take its work back before it has begun."""
    ir = f.ir
    back, begun, tired, wait, done = (
        ir.fresh(hint) for hint in ("back", "begun", "tired", "wait", "done")
    )
    f.exchange(box, GO, CALLED, back, begun)
    ir.label(back)
    box.store(64, LIMIT, WHY)
    ir.br(done)
    ir.label(begun)
    f.spin(box, {ASLEEP: done, CALLED: done, DONE: done}, tired)
    ir.label(tired)
    f.exchange(box, WORKS, WAITED, wait, done)
    ir.label(wait)
    got = f.signal(READ, f.pool.load(64, DONE_PIPE))
    # Retry where a signal interrupted it.
    f.choose(got.compare("slt", 0), wait, done)
    ir.label(done)


def _follow() -> str:
    """Sleep and work until there is nothing more to read."""
    f = _Member()
    ir, box = f.ir, TypedPointer(f.ir, "%box")
    ir.line("%word = alloca i64")
    ir.line(f"%pool = load ptr, ptr {box.at(POOL).ref}")
    ir.br("sleep")
    ir.label("sleep")
    got = f.signal(READ, box.load(64, CALLS))
    ir.line(f"switch i64 {got.ref}, label %sleep [ i64 0, label %leave i64 8, label %look ]")
    ir.label("look")
    most = box.load(64, MOST_SPINS)
    f.spin(box, {ASLEEP: "sleep", GO: "begin"}, "tired", most)
    ir.label("tired")
    state = box.load_atomic()
    f.choose(state.equals(GO), "begin", "rest")
    ir.label("rest")
    f.exchange(box, state, ASLEEP, "sleep", "look")
    ir.label("begin")
    f.exchange(box, GO, WORKS, "work", "look")
    ir.label("work")
    f.run(box)
    was = f.change(box, DONE)
    with f.when(was.equals(WAITED)):
        f.signal(WRITE, f.pool.load(64, END))
    ir.br("look")
    ir.label("leave")
    f.ret_void()
    return f.close(f"define void @{FOLLOW}(ptr %box)")


def _give() -> str:
    """Move all CTAs of a victim, or half of them but not the one in turn, into a thief's ring, and
    share the numbers it has taken.

    One of the two members waits meanwhile.  Clocks of these CTAs go on from the other's counts.
    """
    f = _Member()
    all_, to = f.integer(1, "%all"), Environment(f.ir, "%to")
    ring, count = f.env.follow(FIELD["ring"]), f.env["ring_count"]
    with f.returning(count.equals(0)):
        f.ret_void()
    warps = f.element(ring, f.integer(64, 0)).follow(layout.CTA_POINTER).load(64, arena.WARPS)
    ctas = count // warps
    _bring_first(f, ring, count, warps)
    half = ctas >> 1
    moved = all_.select(ctas, half) * warps
    rest = count - moved
    f.env["ring_count"] = rest
    with f.when(all_):
        f.env["current"] = -1
        f.env["position"] = 0
    into, there = to.follow(FIELD["ring"]), to["ring_count"]
    shift = [env.load(64, FIELD["issued"]) for env in (to, f.env)]
    shift_by = shift[0] - shift[1]
    n = f.variable(64, 0)
    with f.loop() as end:
        at = n.get()
        f.leave(end, at >= moved)
        n.set(at + 1)
        warp = f.element(ring, rest + at)
        place = there + at
        f.slot(into, place).store_pointer(warp)
        with f.when(warp["index"].equals(0)):
            cta = warp.follow(layout.CTA_POINTER)
            cta.store(64, cta.load(64, arena.ISSUED) + shift_by, arena.ISSUED)
    to["ring_count"] = there + moved
    _split_numbers(f, to, all_)
    f.pool.store(64, 1, MOVED)
    f.ret_void()
    return f.close("define private void @give(ptr %pool, ptr %env, ptr %to, i1 %all)")


def _split_numbers(f: _Member, to: Environment, all_: Int) -> None:
    """Move numbers of CTAs that a victim has not begun, all or half, to a thief without any."""
    own, end, theirs, their_end = (env[name] for env in (f.env, to) for name in ("own", "own_end"))
    count = end - own
    moved = all_.select(count, f.integer(64, f.ir.op(f"ashr i64 {count.ref}, 1")))
    some = moved.compare("sgt", 0)
    with f.when(some & theirs.compare("sge", their_end)):
        middle = end - moved
        f.env["own_end"] = middle
        to["own"] = middle
        to["own_end"] = end


def _bring_first(f: _Member, ring: TypedPointer, count: Int, warps: Int) -> None:
    """Swap the CTA in turn with the first one of the ring."""
    current = f.env["current"]
    last = f.env["position"] - 1
    turn = current.compare("sge", 0)
    last = turn.select(current, last)
    with f.when(last < count):
        start = (last // warps) * warps
        n = f.variable(64, 0)
        with f.loop() as end:
            at = n.get()
            f.leave(end, at >= warps)
            n.set(at + 1)
            places = [f.slot(ring, at)]
            places.append(f.slot(ring, start + at))
            records = [place.follow() for place in places]
            places[1].store_pointer(records[0])
            places[0].store_pointer(records[1])
        f.env["current"] = current - start
        f.env["position"] = (last - start) + 1


def _steal() -> str:
    """Ask the other members for CTAs, one after another. Returns whether one gave some."""
    f = _Member()
    ir, box = f.ir, TypedPointer(f.ir, "%box")
    mine = Environment(ir, box.follow(ENVIRONMENT).ref)
    had = mine["ring_count"]
    me = f.integer(64, ir.op("ptrtoint ptr %box to i64"))
    with f.each_box(0) as victim:
        asked, answered, stop, wait, back, pause, next_ = (
            ir.fresh(hint)
            for hint in ("asked", "answered", "stop", "wait", "back", "pause", "next")
        )
        f.leave(next_, victim.load_atomic(RUNS).equals(0))
        theirs = Environment(ir, victim.follow(ENVIRONMENT).ref)
        count = theirs["ring_count"]
        f.leave(next_, count.equals(0))
        first = theirs.follow(FIELD["ring"]).follow()
        warps = first.follow(layout.CTA_POINTER).load(64, arena.WARPS)
        f.leave(next_, count <= warps)
        question = victim.at(ASKED)
        f.exchange(question, 0, me, asked, next_)
        ir.label(asked)
        f.exchange(theirs.at(layout.STOP), 0, GIVE, wait, stop)
        ir.label(stop)
        # The victim stops for another reason.
        f.exchange(question, me, 0, next_, answered)
        ir.label(wait)
        f.leave(answered, question.load_atomic().differs(me))
        f.choose(victim.load_atomic(RUNS).equals(0), back, pause)
        ir.label(pause)
        f.yield_processor()
        ir.br(wait)
        ir.label(back)
        f.exchange(question, me, 0, next_, answered)
        ir.label(answered)
        question.load_atomic()
        with f.returning(mine["ring_count"].differs(had)):
            f.ret("i1", TRUE)
        ir.br(next_)
        ir.label(next_)
    f.ret("i1", FALSE)
    return f.close("define private i1 @steal(ptr %pool, ptr %box)")
