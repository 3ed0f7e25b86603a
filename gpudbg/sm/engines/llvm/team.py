"""Host threads that run compiled code together, in compiled code: no lock of Python is in the way.

The *leader*, in the caller's thread, gives work to *followers* and waits for them; each follower
has a box with a state in it.  Who has nothing to do looks at the state for some microseconds and
then sleeps in `read`, until the other one writes a word because the state says so.

    ASLEEP   the follower sleeps or is about to: whoever changes the state wakes it
    CALLED   it has been woken, or will be: work is to come
    GO       there is work; who was never awake to begin it finds it taken back
    WORKS    it has begun
    DONE     it has done it, and looks for more
    WAITED   it has begun, and the leader sleeps until the work is done
"""

from __future__ import annotations

from typing import Final

from gpudbg.sm import arena
from gpudbg.sm.engines.llvm import layout, loop
from gpudbg.sm.engines.llvm.loop import IDLE, LIMIT, Loop

ASLEEP, CALLED, GO, WORKS, DONE, WAITED = range(6)

LOOKS: Final = 100
"""Looks at a state before sleep, each with a call of the host's system: some 50 us."""
LOOKS_AHEAD: Final = 8 * LOOKS
"""After a launch, which as a rule is run at once: waking a thread costs as much as it does."""

# ---- bytes of a team, i64 each: a head, then a box for each follower -----------------------------

READ, WRITE, YIELD, COUNT, LEADER, LEADER_WHY, ENDED, END = range(0, 64, 8)
"""Of the head: pointers to `read`, `write` and `sched_yield` of the C library, followers with
work, the leader's environment and what its call returned, and where to read and to write that a
follower is done."""
HEAD_BYTES: Final = arena.LINE
STATE: Final = 0
TEAM, ENVIRONMENT, WHY, CALLS, CALL, PATIENCE = range(arena.LINE, arena.LINE + 48, 8)
"""Of a box, behind the line with its state: the team, the environment to run, what that returned,
where to read and to write that there is work, and how often it looks at the state before sleep."""
BOX_BYTES: Final = 2 * arena.LINE

LEAD: Final = "gpudbg_lead"
FOLLOW: Final = "gpudbg_follow"


class _Member(Loop):
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

    def exchange(self, box: str, state: int | str, new: int, done: str, other: str) -> None:
        """Set the state of a box if it is the expected one; go to a label for each case."""
        pair = self.op(f"cmpxchg ptr {box}, i64 {state}, i64 {new} acq_rel acquire")
        self.choose(self.op(f"extractvalue {{i64, i1}} {pair}, 1"), done, other)

    def look(self, box: str, news: dict[int, str], tired: str, most: int | str = LOOKS) -> None:
        """Look at a state for a while: go to the label it has in `news`, or at last to `tired`."""
        looks = self.op("alloca i64")
        self.put("i64", 0, looks)
        with self.loop() as (_, after):
            state = self.state(box)
            cases = " ".join(f"i64 {value}, label %{label}" for value, label in news.items())
            on = self.fresh("on")
            self.line(f"switch i64 {state}, label %{on} [ {cases} ]")
            self.label(on)
            # The other one may be waiting for this processor.
            self.op(f"call i32 {self.get('ptr', '%team', YIELD)}()")
            count = self.op(f"add i64 {self.get('i64', looks)}, 1")
            self.put("i64", count, looks)
            self.unless(self.op(f"icmp uge i64 {count}, {most}"), after)
        self.br(tired)

    def run(self, environment: str, box: str, why: int) -> None:
        """Run the grid loop and note what it returns; what needs Python stops all others."""
        found = self.op(f"call i32 @{loop.SYMBOL}(ptr {environment}) noinline")
        wide = self.op(f"zext i32 {found} to i64")
        self.put("i64", wide, box, why)
        ordinary = [self.op(f"icmp ne i32 {found}, {value}") for value in (LIMIT, IDLE)]
        with self.when(self.op(f"and i1 {ordinary[0]}, {ordinary[1]}")):
            self.put("i64", 1, self.get("ptr", "%team", LEADER), layout.STOP)
            with self.each_box() as other:
                self.put("i64", 1, self.get("ptr", other, ENVIRONMENT), layout.STOP)

    def each_box(self) -> _Boxes:
        """Loop over the boxes of followers with work."""
        return _Boxes(self)


class _Boxes:
    """`with member.each_box() as box:`"""

    def __init__(self, f: _Member) -> None:
        self._f = f

    def __enter__(self) -> str:
        f = self._f
        self._n = f.op("alloca i64")
        f.put("i64", 0, self._n)
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
    f.run(f.get("ptr", "%team", LEADER), "%team", LEADER_WHY)
    with f.each_box() as box:
        back, look, tired, wait, done = (
            f.fresh(hint) for hint in ("back", "look", "tired", "wait", "done")
        )
        f.exchange(box, GO, CALLED, back, look)
        f.label(back)
        f.put("i64", LIMIT, box, WHY)
        f.br(done)
        f.label(look)
        f.look(box, {ASLEEP: done, DONE: done}, tired)
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
    most = f.get("i64", "%box", PATIENCE)
    f.look("%box", {ASLEEP: "sleep", GO: "begin"}, "tired", most)
    f.label("tired")
    state = f.state("%box")
    f.choose(f.op(f"icmp eq i64 {state}, {GO}"), "begin", "rest")
    f.label("rest")
    f.exchange("%box", state, ASLEEP, "sleep", "look")
    f.label("begin")
    f.exchange("%box", GO, WORKS, "work", "look")
    f.label("work")
    f.run(f.get("ptr", "%box", ENVIRONMENT), "%box", WHY)
    was = f.change("%box", DONE)
    with f.when(f.op(f"icmp eq i64 {was}, {WAITED}")):
        f.signal(WRITE, f.get("i64", "%team", END))
    f.br("look")
    f.label("leave")
    f.line("ret void")
    return f.close(f"define void @{FOLLOW}(ptr %box)")


def team_functions() -> list[str]:
    """Leader and follower."""
    return [_lead(), _follow()]
