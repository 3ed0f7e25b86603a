"""The grid loop: `Schedule.next` with seed 0, turns, barriers and new CTAs in compiled code.

It takes the turns of the step engine's schedule exactly (`schedule.step`, `schedule.turns`)
and returns when Python is needed: an instruction for the step engine, a mark, no warp ready, or
enough instructions.

A CTA here is its descriptor (`residency.arena`).
"""

from __future__ import annotations

from gpudbg.sm import record as rec
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.layout import FIELD, GRID_LOOP, IDLE, LIMIT, Left
from gpudbg.sm.engines.llvm.runtime.control import ControlCode
from gpudbg.sm.residency import arena
from gpudbg.sm.schedule.step import STAY


def _place(f: ControlCode) -> tuple[str, str, str]:
    """(ring place of its block's first warp, warp index, block's warps) of the last turn."""
    ring, count = f.get("ptr", "%env", FIELD["ring"]), f.loop_get("ring_count")
    last, wrapped = f.op("alloca i64"), f.op(f"sub i64 {f.loop_get('position')}, 1")
    f.put("i64", wrapped, last)
    # Beyond the end only after the ring got shorter.
    with f.when(f.op(f"icmp uge i64 {wrapped}, {count}")):
        back = f.op(f"add i64 {wrapped}, {count}")
        f.put("i64", f.op(f"urem i64 {back}, {count}"), last)
    last = f.get("i64", last)
    record = f.element(ring, last)
    index = f.op(f"zext i32 {f.field('index', record)} to i64")
    warps = f.get("i64", f.get("ptr", record, layout.CTA_POINTER), arena.WARPS)
    return f.op(f"sub i64 {last}, {index}"), index, warps


def _below(f: ControlCode, number: str, limit: str) -> str:
    """A number below twice the limit, modulo the limit."""
    less = f.op(f"sub i64 {number}, {limit}")
    return f.op(f"select i1 {f.op(f'icmp uge i64 {number}, {limit}')}, i64 {less}, i64 {number}")


def _try(f: ControlCode, place: str, ready: str, stay: bool) -> None:
    """Take the warp at a ring place if it is ready."""
    record = f.element(f.get("ptr", "%env", FIELD["ring"]), place)
    with f.returning(f.op(f"icmp eq i32 {f.field('status', record)}, {rec.READY}")):
        if not stay:
            f.loop_put("stay", STAY)
        f.loop_put("position", f.op(f"add i64 {place}, 1"))
        f.loop_put("current", place)
        f.loop_put("left", f.loop_get("quantum"))
        f.br(ready)


def _choose(f: ControlCode, ready: str) -> None:
    """`Schedule.next`: set `current`; returns IDLE when no warp is ready."""
    n, start = f.op("alloca i64"), f.op("alloca i64")
    f.put("i64", 0, start)
    count = f.loop_get("ring_count")
    with f.returning(f.op(f"icmp eq i64 {count}, 0")):
        f.line(f"ret i32 {IDLE}")
    f.choose(f.op(f"icmp eq i64 {f.loop_get('position')}, 0"), "move", "placed")
    f.label("placed")
    first, index, warps = _place(f)
    f.put("i64", f.op(f"add i64 {first}, {warps}"), start)
    f.choose(f.op(f"icmp sgt i64 {f.loop_get('stay')}, 0"), "stay", "move")
    f.label("stay")
    f.put("i64", 0, n)
    with f.loop() as (_, after):
        at = f.op(f"add i64 {f.get('i64', n)}, 1")
        f.unless(f.op(f"icmp ugt i64 {at}, {warps}"), after)
        f.put("i64", at, n)
        turn = _below(f, f.op(f"add i64 {index}, {at}"), warps)
        _try(f, f.op(f"add i64 {first}, {turn}"), ready, True)
    f.br("move")
    f.label("move")
    f.put("i64", 0, n)
    with f.loop() as (_, _after):
        at = f.get("i64", n)
        with f.returning(f.op(f"icmp uge i64 {at}, {count}")):
            f.line(f"ret i32 {IDLE}")
        f.put("i64", f.op(f"add i64 {at}, 1"), n)
        _try(f, _below(f, f.op(f"add i64 {f.get('i64', start)}, {at}"), count), ready, False)
    f.line("unreachable")


class _Turns(ControlCode):
    """The loop itself.

    While the turn goes from a warp to the next one of its block, as it nearly always does, what
    the loop counts stays in variables; `flush` writes them back.

    Attributes:
        ring, quantum, limit: fields that do not change during a call.
        place, record, cta: of the present warp: its ring place, record and block.
        first, end: ring places of the block's first warp and behind its last.
        left, total: fields of the loop; `total` is written at once, for clocks.
        room: instructions until the turn goes elsewhere than to the next warp of the block, or the
            call ends; none after Python has given the turn to the present warp.
        stay, began: the field of the loop, and `total`, when these variables were filled.
        issued, issued_at: instructions issued on the SM, written at once, and where.
        regular: the place in the ring is that of the present warp.
    """

    def __init__(self) -> None:
        super().__init__()
        self.place, self.first, self.end, self.left, self.total, self.issued, self.room = (
            self.op("alloca i64") for _ in range(7)
        )
        self.stay, self.began = (self.op("alloca i64") for _ in range(2))
        self.record, self.cta, self.issued_at = (self.op("alloca ptr") for _ in range(3))
        self.regular = self.op("alloca i1")
        self.ring = self.get("ptr", "%env", FIELD["ring"])
        self.quantum, self.limit = self.loop_get("quantum"), self.loop_get("limit")

    def take(self) -> None:
        """Begin with what the fields of the loop say."""
        left, stay, total = (self.loop_get(name) for name in ("left", "stay", "total"))
        for value, variable in (
            (left, self.left), (stay, self.stay), (total, self.total), (total, self.began),
        ):  # fmt: skip
            self.put("i64", value, variable)
        at = self.loop_get("current")
        record = self.element(self.ring, at)
        cta = self.get("ptr", record, layout.CTA_POINTER)
        index = self.op(f"zext i32 {self.field('index', record)} to i64")
        first = self.op(f"sub i64 {at}, {index}")
        issued_at = self.get("ptr", cta, arena.ISSUED)
        self.put("i64", at, self.place)
        self.put("ptr", record, self.record)
        self.put("ptr", cta, self.cta)
        self.put("i64", first, self.first)
        self.put("i64", self.op(f"add i64 {first}, {self.get('i64', cta, arena.WARPS)}"), self.end)
        self.put("ptr", issued_at, self.issued_at)
        self.put("i64", self.get("i64", issued_at), self.issued)
        behind = self.op(f"add i64 {at}, 1")
        regular = self.op(f"icmp eq i64 {self.loop_get('position')}, {behind}")
        self.put("i1", regular, self.regular)
        rest = self.op(f"sub i64 {self.limit}, {total}")
        room = self.op(f"call i64 @llvm.smin.i64(i64 {rest}, i64 {stay})")
        self.put("i64", self.op(f"select i1 {regular}, i64 {room}, i64 0"), self.room)

    def flush(self) -> None:
        """Write the fields of the loop."""
        self.loop_put("left", self.get("i64", self.left))
        spent = self.op(f"sub i64 {self.get('i64', self.total)}, {self.get('i64', self.began)}")
        self.loop_put("stay", self.op(f"sub i64 {self.get('i64', self.stay)}, {spent}"))
        at = self.get("i64", self.place)
        self.loop_put("current", at)
        with self.when(self.get("i1", self.regular)):
            self.loop_put("position", self.op(f"add i64 {at}, 1"))

    def spend(self, spent: str) -> None:
        """Count instructions of the present warp."""
        record = self.get("ptr", self.record)
        self.set("executed", self.op(f"add i64 {self.field('executed', record)}, {spent}"), record)
        issued = self.op(f"add i64 {self.get('i64', self.issued)}, {spent}")
        self.put("i64", issued, self.issued)
        self.put("i64", issued, self.get("ptr", self.issued_at))
        total = self.op(f"add i64 {self.get('i64', self.total)}, {spent}")
        self.put("i64", total, self.total)
        self.loop_put("total", total)
        self.put("i64", self.op(f"sub i64 {self.get('i64', self.room)}, {spent}"), self.room)

    def go_on(self, run: str, out: str) -> None:
        """Go to `run`, or to `out` where Python or the end of the call may want the loop to end."""
        self.unless(self.op(f"icmp sle i64 {self.get('i64', self.room)}, 0"), out)
        asked = self.get("i64", "%env", layout.STOP)
        self.choose(self.op(f"icmp eq i64 {asked}, 0"), run, out)

    def hop(self, run: str, out: str) -> None:
        """What comes nearly always: the next warp of the same block has its turn."""
        behind = self.op(f"add i64 {self.get('i64', self.place)}, 1")
        last = self.op(f"icmp eq i64 {behind}, {self.get('i64', self.end)}")
        first = self.get("i64", self.first)
        place = self.op(f"select i1 {last}, i64 {first}, i64 {behind}")
        there = self.element(self.ring, place)
        waits = self.op(f"icmp ne i32 {self.field('status', there)}, {rec.READY}")
        self.unless(waits, out)
        hopped = self.fresh("hop")
        self.go_on(hopped, out)
        self.label(hopped)
        self.put("i64", place, self.place)
        self.put("ptr", there, self.record)
        self.put("i64", self.quantum, self.left)
        self.br(run)


def _grid() -> str:
    f = _Turns()
    chosen, run, out = "chosen", "run", "out"
    f.br("top")
    f.label(out)
    f.flush()
    f.br("top")
    f.label("top")
    with f.returning(f.op(f"icmp ne i64 {f.get('i64', '%env', layout.STOP)}, 0")):
        f.line(f"ret i32 {LIMIT}")
    current = f.loop_get("current")
    f.choose(f.op(f"icmp slt i64 {current}, 0"), "choose", "present")
    f.label("present")
    record = f.element(f.ring, current)
    ready = f.op(f"icmp eq i32 {f.field('status', record)}, {rec.READY}")
    more = f.op(f"icmp sgt i64 {f.loop_get('left')}, 0")
    f.choose(f.op(f"and i1 {ready}, {more}"), chosen, "choose")
    f.label("choose")
    _choose(f, chosen)
    f.label(chosen)
    over = f.op(f"icmp sge i64 {f.loop_get('total')}, {f.limit}")
    with f.returning(over):
        f.line(f"ret i32 {LIMIT}")
    f.take()
    f.br(run)
    f.label(run)
    record, left = f.get("ptr", f.record), f.get("i64", f.left)
    f.set("budget", left, record)
    f.put("ptr", record, "%env", layout.RUNNING)
    full = f.op(f"icmp eq i32 {f.field('active', record)}, -1")
    f.choose(full, "full", "masked")
    why = []
    for name, field in (("full", layout.FULL_CODE), ("masked", layout.MASKED_CODE)):
        f.label(name)
        code = f.get("ptr", "%env", field)
        there = f"{name}.run"
        if name == "full":
            f.br(there)
        else:
            f.choose(f.op(f"icmp eq ptr {code}, null"), "nocode", there)
        f.label(there)
        ran = f.op(f"call i32 {code}(ptr %env, ptr {record})")
        why.append(f"[ {ran}, %{there} ]")
        f.choose(f.op(f"icmp eq i32 {ran}, {int(Left.SWITCH)}"), f"{name}.switch", "account")
        f.label(f"{name}.switch")
        more = f.op(f"icmp sgt i64 {f.field('budget', record)}, 0")
        f.choose(more, "masked" if name == "full" else "full", "account")
        why.append(f"[ {int(Left.TURN)}, %{name}.switch ]")
    f.label("nocode")
    f.br("account")
    f.label("account")
    ended = f.op(f"phi i32 {', '.join(why)}, [ {int(Left.SWITCH)}, %nocode ]")
    rest = f.field("budget", record)
    spent = f.op(f"sub i64 {left}, {rest}")
    kind = f.op(f"and i32 {ended}, 255")
    cta = f.get("ptr", f.cta)
    f.line(
        f"switch i32 {kind}, label %back [ i32 {int(Left.TURN)}, label %turn "
        f"i32 {int(Left.BARRIER)}, label %barrier i32 {int(Left.DONE)}, label %done ]"
    )
    f.label("turn")
    f.put("i64", 0, f.left)
    f.spend(spent)
    f.br("hop")
    f.label("barrier")
    bar = f.op(f"zext i32 {f.op(f'lshr i32 {ended}, 8')} to i64")
    good = f.op(f"call i1 @arrive(ptr %env, ptr {cta}, ptr {record}, i64 {bar})")
    f.choose(good, "arrived", "back")
    f.label("arrived")
    rest = f.op(f"sub i64 {rest}, 1")
    f.put("i64", rest, f.left)
    f.spend(f.op(f"add i64 {spent}, 1"))
    ready = f.op(f"icmp eq i32 {f.field('status', record)}, {rec.READY}")
    more = f.op(f"icmp sgt i64 {rest}, 0")
    f.choose(f.op(f"and i1 {ready}, {more}"), "same", "hop")
    f.label("same")
    f.go_on(run, out)
    f.label("hop")
    f.hop(run, out)
    f.label("done")
    f.put("i64", f.field("budget", record), f.left)
    f.spend(spent)
    good = f.op(f"call i1 @finished(ptr %env, ptr {cta})")
    f.choose(good, "ended", "leave")
    f.label("ended")
    f.put("i64", 0, f.left)
    there = f.op(f"icmp sge i64 {f.get('i64', cta, arena.NUMBER)}, 0")
    f.choose(there, "hop", "gone")
    f.label("gone")
    f.flush()
    f.loop_put("current", -1)
    f.br("top")
    f.label("back")
    f.put("i64", f.field("budget", record), f.left)
    f.spend(spent)
    f.br("leave")
    f.label("leave")
    f.flush()
    f.line(f"ret i32 {ended}")
    return f.close(f"define i32 @{GRID_LOOP}(ptr %env)")


def grid_loop() -> str:
    """The loop."""
    return _grid()
