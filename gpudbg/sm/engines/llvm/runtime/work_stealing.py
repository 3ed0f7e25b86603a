"""Host threads that run compiled code together, in compiled code: no lock of Python is in the way.

The *leader*, in the caller's thread, gives work to *followers* and waits for them; each follower
has a box with a state in it.  Who has nothing to do looks at the state for some microseconds and
then sleeps in `read`, until the other one writes a word because the state says so.

    ASLEEP   the follower sleeps or is about to: whoever changes the state wakes it
    CALLED   it has been woken, or will be: work is to come
    GO       there is work; a leader that has none takes it back from who was not awake to begin
    WORKS    it has begun
    DONE     it has done it, and looks for more
    WAITED   it has begun, and the leader sleeps until the work is done
"""

from __future__ import annotations

from typing import Final

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.layout import FIELD, GRID_LOOP, IDLE, LIMIT
from gpudbg.sm.engines.llvm.runtime.control import ControlCode
from gpudbg.sm.residency import arena

ASLEEP, CALLED, GO, WORKS, DONE, WAITED = range(6)

SPINS: Final = 100
"""Looks at a state before sleep, each with a call of the host's system: some 50 us."""
SPINS_EARLY: Final = 8 * SPINS
"""After a launch, which as a rule is run at once: waking a thread costs as much as it does."""

# ---- bytes of a team, i64 each: a head, then a box for each member, the leader first -------------

READ, WRITE, YIELD, COUNT, MOVED, ENDED, END = range(0, 56, 8)
"""Of the head: pointers to `read`, `write` and `sched_yield` of the C library, members with work,
whether CTAs went from one to another, and where to read and to write that a follower is done."""
HEAD_BYTES: Final = arena.LINE
STATE: Final = 0
TEAM, ENVIRONMENT, WHY, CALLS, CALL, MOST_SPINS = range(arena.LINE, arena.LINE + 48, 8)
"""Of a box, behind the line with its state: the team, the environment to run, what that returned,
where to read and to write that there is work, and how often it looks at the state before sleep."""
ASKED, RUNS = range(2 * arena.LINE, 2 * arena.LINE + 16, 8)
"""Of a box, in a line of their own: the box of a member that wants CTAs, or 0, and whether the
member runs the grid loop now, so that it will answer."""
BOX_BYTES: Final = 3 * arena.LINE
HAND_OVER: Final = 2
"""In `layout.STOP`: another member asks.  1 is Python's."""

LEAD: Final = "gpudbg_lead"
FOLLOW: Final = "gpudbg_follow"


class _Member(ControlCode):
    """A function of the leader's or a follower's."""

    def box(self, number: str) -> str:
        """A pointer to a box of `%team`."""
        behind = self.op(f"mul i64 {number}, {BOX_BYTES}")
        return self.at(self.at("%team", HEAD_BYTES), behind)

    def state(self, box: str) -> str:
        """The state of a box, and what was written before it became that."""
        return self.op(f"load atomic i64, ptr {box} acquire, align 8")

    def change(self, box: str, state: int) -> str:
        """Set the state of a box; what it was."""
        return self.op(f"atomicrmw xchg ptr {box}, i64 {state} acq_rel")

    def signal(self, way: int, end: str) -> str:
        """Read or write a word; how many bytes there were."""
        function = self.get("ptr", "%team", way)
        if way == WRITE:
            self.put("i64", 1, "%word")
        end = self.op(f"trunc i64 {end} to i32")
        return self.op(f"call i64 {function}(i32 {end}, ptr %word, i64 8)")

    def exchange(self, box: str, state: int | str, new: int | str, done: str, other: str) -> None:
        """Set the state of a box if it is the expected one; go to a label for each case."""
        pair = self.op(f"cmpxchg ptr {box}, i64 {state}, i64 {new} acq_rel acquire")
        self.choose(self.op(f"extractvalue {{i64, i1}} {pair}, 1"), done, other)

    def spin(self, box: str, news: dict[int, str], tired: str, most: int | str = SPINS) -> None:
        """Look at a state for a while: go to the label it has in `news`, or at last to `tired`."""
        spins = self.op("alloca i64")
        self.put("i64", 0, spins)
        with self.loop() as (_, after):
            state = self.state(box)
            cases = " ".join(f"i64 {value}, label %{label}" for value, label in news.items())
            on = self.fresh("on")
            self.line(f"switch i64 {state}, label %{on} [ {cases} ]")
            self.label(on)
            # The other one may be waiting for this processor.
            self.op(f"call i32 {self.get('ptr', '%team', YIELD)}()")
            count = self.op(f"add i64 {self.get('i64', spins)}, 1")
            self.put("i64", count, spins)
            self.unless(self.op(f"icmp uge i64 {count}, {most}"), after)
        self.br(tired)

    def publish(self, value: int, pointer: str, offset: int) -> None:
        """Write a word after everything before it."""
        place = self.at(pointer, offset)
        self.line(f"store atomic i64 {value}, ptr {place} release, align 8")

    def run(self, box: str) -> None:
        """Run the grid loop, hand CTAs to who asks, and ask when there are none; note at last what
        the loop returned; what needs Python stops all others."""
        environment = self.get("ptr", box, ENVIRONMENT)
        again, idle, limit, other, end = (
            self.fresh(hint) for hint in ("again", "idle", "limit", "other", "end")
        )
        self.br(again)
        self.label(again)
        self.publish(1, box, RUNS)
        found = self.op(f"call i32 @{GRID_LOOP}(ptr {environment}) noinline")
        self.put("i64", self.op(f"zext i32 {found} to i64"), box, WHY)
        self.line(
            f"switch i32 {found}, label %{other} [ i32 {IDLE}, label %{idle} "
            f"i32 {LIMIT}, label %{limit} ]"
        )
        self.label(limit)
        asks = self.op(f"load atomic i64, ptr {self.at(box, ASKED)} acquire, align 8")
        with self.when(self.op(f"icmp ne i64 {asks}, 0")):
            asking = self.op(f"inttoptr i64 {asks} to ptr")
            to = self.get("ptr", asking, ENVIRONMENT)
            self.line(f"call void @hand_over(ptr %team, ptr {environment}, ptr {to}, i1 false)")
            self.publish(0, box, ASKED)
        self.exchange(self.at(environment, layout.STOP), HAND_OVER, 0, again, end)
        self.label(idle)
        self.publish(0, box, RUNS)
        got = self.op(f"call i1 @steal(ptr %team, ptr {box})")
        self.choose(got, again, end)
        self.label(other)
        with self.each_box(0) as member:
            self.put("i64", 1, self.get("ptr", member, ENVIRONMENT), layout.STOP)
        self.br(end)
        self.label(end)
        self.publish(0, box, RUNS)

    def each_box(self, first: int = 1) -> _Boxes:
        """Loop over the boxes of members with work; those of followers unless `first` is 0."""
        return _Boxes(self, first)


class _Boxes:
    """`with member.each_box() as box:`"""

    def __init__(self, f: _Member, first: int) -> None:
        self._f, self._first = f, first

    def __enter__(self) -> str:
        f = self._f
        self._n = f.op("alloca i64")
        f.put("i64", self._first, self._n)
        self._head, self._after = f.fresh("box"), f.fresh("boxes")
        f.br(self._head)
        f.label(self._head)
        at = f.get("i64", self._n)
        f.unless(f.op(f"icmp uge i64 {at}, {f.get('i64', '%team', COUNT)}"), self._after)
        f.put("i64", f.op(f"add i64 {at}, 1"), self._n)
        return f.box(at)

    def __exit__(self, *_: object) -> None:
        self._f.br(self._head)
        self._f.label(self._after)


def _lead() -> str:
    """Run the leader's environment, and those of its followers at the same time."""
    f = _Member()
    f.line("%word = alloca i64")
    with f.each_box() as box:
        was = f.change(box, GO)
        with f.when(f.op(f"icmp eq i64 {was}, {ASLEEP}")):
            f.signal(WRITE, f.get("i64", box, CALL))
    f.br("run")
    f.label("run")
    leader = f.box("0")
    f.run(leader)
    more = f.op("alloca i1")
    f.put("i1", "false", more)
    idle = f.op(f"icmp eq i64 {f.get('i64', leader, WHY)}, {IDLE}")
    with f.when(idle), f.each_box() as box:
        late, begun = f.fresh("late"), f.fresh("begun")
        f.exchange(box, GO, CALLED, late, begun)
        f.label(late)
        f.put("i64", IDLE, box, WHY)
        mine, theirs = (f.get("ptr", member, ENVIRONMENT) for member in (leader, box))
        f.line(f"call void @hand_over(ptr %team, ptr {theirs}, ptr {mine}, i1 true)")
        f.put("i1", "true", more)
        f.br(begun)
        f.label(begun)
    f.choose(f.get("i1", more), "run", "end")
    f.label("end")
    with f.each_box() as box:
        back, look, tired, wait, done = (
            f.fresh(hint) for hint in ("back", "look", "tired", "wait", "done")
        )
        f.exchange(box, GO, CALLED, back, look)
        f.label(back)
        f.put("i64", LIMIT, box, WHY)
        f.br(done)
        f.label(look)
        f.spin(box, {ASLEEP: done, CALLED: done, DONE: done}, tired)
        f.label(tired)
        f.exchange(box, WORKS, WAITED, wait, done)
        f.label(wait)
        got = f.signal(READ, f.get("i64", "%team", ENDED))
        # A signal interrupts it.
        f.choose(f.op(f"icmp slt i64 {got}, 0"), wait, done)
        f.label(done)
    f.line("ret void")
    return f.close(f"define void @{LEAD}(ptr %team)")


def _follow() -> str:
    """Sleep and work until there is nothing more to read."""
    f = _Member()
    f.line("%word = alloca i64")
    f.line(f"%team = load ptr, ptr {f.at('%box', TEAM)}")
    f.br("sleep")
    f.label("sleep")
    got = f.signal(READ, f.get("i64", "%box", CALLS))
    f.line(f"switch i64 {got}, label %sleep [ i64 0, label %leave i64 8, label %look ]")
    f.label("look")
    most = f.get("i64", "%box", MOST_SPINS)
    f.spin("%box", {ASLEEP: "sleep", GO: "begin"}, "tired", most)
    f.label("tired")
    state = f.state("%box")
    f.choose(f.op(f"icmp eq i64 {state}, {GO}"), "begin", "rest")
    f.label("rest")
    f.exchange("%box", state, ASLEEP, "sleep", "look")
    f.label("begin")
    f.exchange("%box", GO, WORKS, "work", "look")
    f.label("work")
    f.run("%box")
    was = f.change("%box", DONE)
    with f.when(f.op(f"icmp eq i64 {was}, {WAITED}")):
        f.signal(WRITE, f.get("i64", "%team", END))
    f.br("look")
    f.label("leave")
    f.line("ret void")
    return f.close(f"define void @{FOLLOW}(ptr %box)")


def _hand_over() -> str:
    """All of a member's CTAs, or half of them without the one in turn, go into another's ring, and
    so do the numbers it has taken.

    One of the two members waits meanwhile.  Clocks of these CTAs go on from the other's counts.
    """
    f = _Member()
    ring, count = f.get("ptr", "%env", FIELD["ring"]), f.loop_get("ring_count")
    with f.returning(f.op(f"icmp eq i64 {count}, 0")):
        f.line("ret void")
    warps = f.get("i64", f.get("ptr", f.element(ring, "0"), layout.CTA_POINTER), arena.WARPS)
    ctas = f.op(f"udiv i64 {count}, {warps}")
    _bring_first(f, ring, count, warps)
    half = f.op(f"lshr i64 {ctas}, 1")
    moved = f.op(f"mul i64 {f.op(f'select i1 %all, i64 {ctas}, i64 {half}')}, {warps}")
    rest = f.op(f"sub i64 {count}, {moved}")
    f.loop_put("ring_count", rest)
    with f.when("%all"):
        f.loop_put("current", -1)
        f.loop_put("position", 0)
    to, there = f.get("ptr", "%to", FIELD["ring"]), f.get("i64", "%to", FIELD["ring_count"])
    issued = [f.get("i64", env, FIELD["issued"]) for env in ("%to", "%env")]
    shift = f.op(f"sub i64 {issued[0]}, {issued[1]}")
    n = f.var("i64", 0)
    with f.loop() as (_, after):
        at = f.get("i64", n)
        f.unless(f.op(f"icmp uge i64 {at}, {moved}"), after)
        f.put("i64", f.op(f"add i64 {at}, 1"), n)
        record = f.element(ring, f.op(f"add i64 {rest}, {at}"))
        place = f.op(f"add i64 {there}, {at}")
        f.put("ptr", record, f.op(f"getelementptr ptr, ptr {to}, i64 {place}"))
        with f.when(f.op(f"icmp eq i32 {f.field('index', record)}, 0")):
            cta = f.get("ptr", record, layout.CTA_POINTER)
            counts = f.op(f"add i64 {f.get('i64', cta, arena.ISSUED)}, {shift}")
            f.put("i64", counts, cta, arena.ISSUED)
    f.put("i64", f.op(f"add i64 {there}, {moved}"), "%to", FIELD["ring_count"])
    _share_numbers(f)
    f.put("i64", 1, "%team", MOVED)
    f.line("ret void")
    return f.close("define private void @hand_over(ptr %team, ptr %env, ptr %to, i1 %all)")


def _share_numbers(f: _Member) -> None:
    """CTAs that a member has taken and not begun, all or half of them, go to one that has none."""
    fields = [(env, FIELD[name]) for env in ("%env", "%to") for name in ("own", "own_end")]
    own, end, to, to_end = (f.get("i64", env, field) for env, field in fields)
    count = f.op(f"sub i64 {end}, {own}")
    moved = f.op(f"select i1 %all, i64 {count}, i64 {f.op(f'ashr i64 {count}, 1')}")
    some = f.op(f"icmp sgt i64 {moved}, 0")
    with f.when(f.op(f"and i1 {some}, {f.op(f'icmp sge i64 {to}, {to_end}')}")):
        middle = f.op(f"sub i64 {end}, {moved}")
        for value, (env, field) in zip((middle, middle, end), fields[1:], strict=True):
            f.put("i64", value, env, field)


def _bring_first(f: _Member, ring: str, count: str, warps: str) -> None:
    """Let the CTA in turn and the first one of the ring change places."""
    current = f.loop_get("current")
    last = f.op(f"sub i64 {f.loop_get('position')}, 1")
    turn = f.op(f"icmp sge i64 {current}, 0")
    last = f.op(f"select i1 {turn}, i64 {current}, i64 {last}")
    with f.when(f.op(f"icmp ult i64 {last}, {count}")):
        start = f.op(f"mul i64 {f.op(f'udiv i64 {last}, {warps}')}, {warps}")
        n = f.var("i64", 0)
        with f.loop() as (_, after):
            at = f.get("i64", n)
            f.unless(f.op(f"icmp uge i64 {at}, {warps}"), after)
            f.put("i64", f.op(f"add i64 {at}, 1"), n)
            places = [f.op(f"getelementptr ptr, ptr {ring}, i64 {at}")]
            behind = f.op(f"add i64 {start}, {at}")
            places.append(f.op(f"getelementptr ptr, ptr {ring}, i64 {behind}"))
            records = [f.get("ptr", place) for place in places]
            f.put("ptr", records[0], places[1])
            f.put("ptr", records[1], places[0])
        f.loop_put("current", f.op(f"sub i64 {current}, {start}"))
        f.loop_put("position", f.op(f"add i64 {f.op(f'sub i64 {last}, {start}')}, 1"))


def _steal() -> str:
    """A member has no warp that can run: have another one hand over CTAs; whether there are."""
    f = _Member()
    mine = f.get("ptr", "%box", ENVIRONMENT)
    had = f.get("i64", mine, FIELD["ring_count"])
    me = f.op("ptrtoint ptr %box to i64")
    with f.each_box(0) as other:
        asked, answered, stop, wait, back, pause, next_ = (
            f.fresh(hint) for hint in ("asked", "answered", "stop", "wait", "back", "pause", "next")
        )
        runs = f.op(f"load atomic i64, ptr {f.at(other, RUNS)} acquire, align 8")
        f.unless(f.op(f"icmp eq i64 {runs}, 0"), next_)
        theirs = f.get("ptr", other, ENVIRONMENT)
        count = f.get("i64", theirs, FIELD["ring_count"])
        f.unless(f.op(f"icmp eq i64 {count}, 0"), next_)
        first = f.get("ptr", f.get("ptr", theirs, FIELD["ring"]))
        warps = f.get("i64", f.get("ptr", first, layout.CTA_POINTER), arena.WARPS)
        f.unless(f.op(f"icmp ule i64 {count}, {warps}"), next_)
        question = f.at(other, ASKED)
        f.exchange(question, 0, me, asked, next_)
        f.label(asked)
        f.exchange(f.at(theirs, layout.STOP), 0, HAND_OVER, wait, stop)
        f.label(stop)
        # It stops for another reason.
        f.exchange(question, me, 0, next_, answered)
        f.label(wait)
        now = f.op(f"load atomic i64, ptr {question} acquire, align 8")
        f.unless(f.op(f"icmp ne i64 {now}, {me}"), answered)
        runs = f.op(f"load atomic i64, ptr {f.at(other, RUNS)} acquire, align 8")
        f.choose(f.op(f"icmp eq i64 {runs}, 0"), back, pause)
        f.label(pause)
        f.op(f"call i32 {f.get('ptr', '%team', YIELD)}()")
        f.br(wait)
        f.label(back)
        f.exchange(question, me, 0, next_, answered)
        f.label(answered)
        f.op(f"load atomic i64, ptr {question} acquire, align 8")
        more = f.op(f"icmp ne i64 {f.get('i64', mine, FIELD['ring_count'])}, {had}")
        with f.returning(more):
            f.line("ret i1 true")
        f.br(next_)
        f.label(next_)
    f.line("ret i1 false")
    return f.close("define private i1 @steal(ptr %team, ptr %box)")


def stealing_functions() -> list[str]:
    """Leader and follower, and what they call."""
    return [_hand_over(), _steal(), _lead(), _follow()]
