"""From a warp to the next one of its block, without leaving the function.

Where blocks follow one another quickly, or their warps wait for one another, calls, returns and
what the grid loop does between them would take longer than the kernel.  Code that ends a warp, or
has it wait at a barrier, therefore does what the grid loop (`gpudbg.sm.schedule.compiled`) would,
in the usual case: nobody wants to know, the next warp of the block has its turn and all its lanes,
and the call may go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, Builder, signed
from gpudbg.sm.engines.llvm.ir.values import FULL
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import BUDGET, Exits
from gpudbg.sm.engines.llvm.kernel.place_facts import NOT_SURE, PlaceFacts, sure_label
from gpudbg.sm.engines.llvm.layout import FIELD, FRESH, Left
from gpudbg.sm.record import AT_BARRIER, FIELDS, READY
from gpudbg.sm.residency import arena
from gpudbg.sm.schedule.turns import LONGER, SETTLED

ON_STACK = 'alignstack(64) "probe-stack"="inline-asm"'
"""Function attributes: spilled vectors are aligned to cache lines, and stack pages are touched in
order, so that an overflow hits the host's guard page.
"""
_PC, _ACTIVE, _EXECUTED, _CAME_FROM, _STATUS, _BAR_WAIT, _DEPTH, _APART = (
    FIELDS[name].offset
    for name in "pc active executed came_from status bar_wait depth apart".split()
)
_WAITS = re.compile(r"(wait\.(\d+)\.(\d+)\.(\d+)\.(rest\d+)\.\w+):$")
_ENDS = re.compile(r"end\.\w+:$")


SEEK = "seek"
"""Label of the block that looks for the one to begin with."""

TURNS = "turns"
"""Label of the passage of warps whose turn is over."""


class Succession:
    """Emits where warps end or wait, and the passages from there to the next one.

    A function has each passage once: what differs from place to place is in labels there, and in
    the record.
    """

    def __init__(self, ir: Builder, cursor: Cursor, exits: Exits, facts: PlaceFacts) -> None:
        self.ir, self.cursor, self.exits, self.facts = ir, cursor, exits, facts

    def end(self) -> None:
        """Emit the end of a warp whose record says already that it has exited."""
        self.exits.store_budget(self.cursor.budget, self.cursor.index + 1)
        self._leave(self.ir.fresh("end."), "ends")

    def note_end(self) -> None:
        """Emit what the record of a warp says whose lanes have all exited here: its pc, that none
        is active, that all have exited."""
        low, high = self.cursor.pc & FULL, self.cursor.pc >> 32
        words = ", ".join(f"i32 {signed(word, 32)}" for word in (low, high, 0, FULL))
        self.ir.put("<4 x i32>", f"<{words}>", "%rec", _PC, 16)

    def wait(self, number: int, code: int) -> None:
        """Emit BAR.SYNC of all threads of a block for all lanes.

        Args:
            number: of the barrier.
            code: of the exit to the grid loop (`barriers.compiled`).
        """
        self.exits.settle()
        ir, cursor = self.ir, self.cursor
        rest = ir.fresh("rest")
        # No name of `sink`, which does not see that the passage needs it.
        ir.line(f"%{rest} = sub i64 {cursor.budget}, {cursor.index}")
        place = f"wait.{number}.{code}.{cursor.next_pc}.{rest}."
        ir.line(f"store i64 {cursor.pc}, ptr %pcs")
        label = ir.fresh(place)
        self.facts.note(label, cursor.next_pc)
        self._leave(label, "waits")

    def _leave(self, label: str, passage: str) -> None:
        """Go to a passage from a block of its own."""
        ir = self.ir
        ir.br(label)
        ir.label(label)
        ir.br(passage)


class _Wait(NamedTuple):
    """Where a warp waits at a barrier.

    Attributes:
        label: of the block.
        number, code, following, rest: as `Succession.wait` writes them.
        goal: label of the code behind the barrier.
        sure: the same for warps of which is known what the code relies on.
        own: the one of the two for a warp that comes from here.
    """

    label: str
    number: str
    code: str
    following: str
    rest: str
    goal: str
    sure: str
    own: str


class _Passages:
    """Emits the passages of a function.

    Attributes:
        entry: where the kernel begins.
        by_threads: barriers count threads, not warps (`barriers.compiled`).
        full: of the version for warps whose lanes are all active; else of that for others.
        name: of the function.
        phases: where its warps wait.
        relies: code behind some of these places relies on what is known there.
        after: labels of blocks that lead to the next warp, and where its code goes on (`_enter`).
    """

    def __init__(
        self,
        name: str,
        ir: Builder,
        entry: int,
        by_threads: bool,
        full: bool,
        phases: list[_Wait],
    ) -> None:
        self.name, self.ir = name, ir.following()
        self.entry, self.by_threads, self.full = entry, by_threads, full
        self.phases = phases
        self.relies = any(place.sure != place.goal for place in phases)
        self.after: list[tuple[str, str]] = []

    def ends(self) -> None:
        """From a warp that has exited to one that has not begun, of its block or of the next."""
        ir = self.ir
        ir.label("ends")
        slot = ir.at(ir.get("ptr", "%env", layout.SLOT), 8)
        sure = ir.op(f"icmp ult ptr {slot}, {ir.get('ptr', '%env', layout.SLOT_SURE)}")
        near, tested = ir.fresh("near"), ir.fresh("tested")
        ir.choose(sure, near, tested, LIKELY)
        ir.label(near)
        self._go_to_sure(slot)
        ir.label(tested)
        if self.phases:
            self._end_in_phase()
        done = self._left("done", str(int(Left.DONE)))
        cta = ir.get("ptr", "%rec", layout.CTA_POINTER)
        self._nobody_waits(cta, done)
        spent, room = self._turn_over("0", 0, done)
        end = ir.get("ptr", "%env", layout.SLOT_END)
        same, other = ir.fresh("same"), ir.fresh("other")
        ir.choose(ir.op(f"icmp ult ptr {slot}, {end}"), same, other)
        ir.label(same)
        record = ir.get("ptr", slot)
        fresh = ir.op(f"icmp eq i64 {ir.get('i64', record, _PC)}, {self.entry | FRESH}")
        self._fits(record, fresh, done)
        self._end_one(cta, spent)
        self._go_to(record, slot, room, f"z{self.entry}")
        ir.label(other)
        ir.provided(ir.op(f"icmp ne ptr {end}, null"), done)
        begin = ir.get("ptr", "%env", layout.SUCCEED)
        first = ir.op(f"call ptr {begin}(ptr %env, ptr {cta}, ptr {end}, i64 {room})")
        ir.provided(ir.op(f"icmp ne ptr {first}, null"), done)
        self._go_to(ir.get("ptr", first), first, room, f"z{self.entry}")

    def _nobody_waits(self, cta: str, done: str) -> None:
        """Emit a jump to `done` where a warp waits at a barrier of the block, which may be complete
        without the one that ends."""
        ir, kind = self.ir, "<16 x i32>"
        used, free = ir.fresh("used"), ir.fresh("free")
        in_use = ir.get("i64", cta, arena.IN_USE)
        ir.choose(ir.op(f"icmp eq i64 {in_use}, 0"), free, used, LIKELY)
        ir.label(used)
        some = ir.op(f"icmp ne {kind} {ir.get(kind, cta, arena.ARRIVED, 8)}, zeroinitializer")
        bits = ir.op(f"bitcast <16 x i1> {some} to i16")
        ir.choose(ir.op(f"icmp eq i16 {bits}, 0"), free, done, LIKELY)
        ir.label(free)

    def _end_in_phase(self) -> None:
        """Emit the passage from a warp that has exited as `_phase` is for one that waits: since one
        more warp has not come to a barrier yet, none is waited at by all that are left."""
        ir, near, goes, tested = self.ir, *map(self.ir.fresh, ("near", "goes", "tested"))
        here = ir.get("ptr", "%env", layout.SLOT)
        last = ir.get("ptr", "%env", layout.PHASE_LAST)
        ir.choose(ir.op(f"icmp ne ptr {here}, {last}"), near, tested, LIKELY)
        ir.label(near)
        rest = ir.get("i64", "%rec", BUDGET)
        spent = ir.op(f"sub i64 {ir.get('i64', '%env', FIELD['left'])}, {rest}")
        room = ir.op(f"sub i64 {ir.get('i64', '%env', layout.ROOM)}, {spent}")
        ir.choose(ir.op(f"icmp sgt i64 {room}, 0"), goes, tested, LIKELY)
        ir.label(goes)
        self._end_one(ir.get("ptr", "%rec", layout.CTA_POINTER), spent)
        self._next_in_phase(here, room)
        ir.label(tested)

    def _next_in_phase(self, here: str, room: str) -> None:
        """Emit the way to the next warp that a barrier let go, whose slot is behind `here`."""
        ir = self.ir
        behind = ir.at(here, 8)
        last = ir.op(f"icmp eq ptr {behind}, {ir.get('ptr', '%env', layout.SLOT_END)}")
        first = ir.get("ptr", "%env", layout.PHASE_FIRST)
        slot = ir.op(f"select i1 {last}, ptr {first}, ptr {behind}")
        goal = ir.get("ptr", "%env", layout.PHASE_CODE)
        self._go_to(ir.get("ptr", slot), slot, room, goal)

    def _end_one(self, cta: str, spent: str) -> None:
        """Emit what counts instructions of the present warp, and that it has ended."""
        ir = self.ir
        ir.put("i64", ir.op(f"sub i64 {ir.get('i64', cta, arena.LIVE)}, 1"), cta, arena.LIVE)
        executed = ir.op(f"add i64 {ir.get('i64', '%rec', _EXECUTED)}, {spent}")
        ir.put("i64", executed, "%rec", _EXECUTED)

    def _go_to_sure(self, slot: str) -> None:
        """Emit the change of turns from a warp that has begun, and ended, in this turn to one that
        is sure to begin."""
        ir = self.ir
        quantum = ir.get("i64", "%env", FIELD["quantum"])
        spent = ir.op(f"sub i64 {quantum}, {ir.get('i64', '%rec', BUDGET)}")
        cta = ir.get("ptr", "%rec", layout.CTA_POINTER)
        ir.put("i64", ir.op(f"sub i64 {ir.get('i64', cta, arena.LIVE)}, 1"), cta, arena.LIVE)
        ir.put("i64", spent, "%rec", _EXECUTED)
        room = ir.op(f"sub i64 {ir.get('i64', '%env', layout.ROOM)}, {spent}")
        ir.put("i64", room, "%env", layout.ROOM)
        record = ir.get("ptr", slot)
        ir.put("ptr", slot, "%env", layout.SLOT)
        if self.phases:
            self._end_phase(slot)
        ir.put("i64", quantum, record, BUDGET)
        self._enter(record, f"z{self.entry}")

    def turns(self) -> None:
        """From a warp whose turn is over to one that is ready."""
        ir = self.ir
        ir.label(TURNS)
        leave = self._left("turn", str(int(Left.TURN)))
        ir.put("ptr", "null", "%env", layout.SLOT_SURE)
        spent, room = self._turn_over("0", 0, leave)
        slot = self._next_slot(ir.get("ptr", "%rec", layout.CTA_POINTER), leave)
        record = ir.get("ptr", slot)
        ready = ir.op(f"icmp eq i32 {ir.get('i32', record, _STATUS)}, {READY}")
        self._fits(record, ready, leave)
        executed = ir.op(f"add i64 {ir.get('i64', '%rec', _EXECUTED)}, {spent}")
        ir.put("i64", executed, "%rec", _EXECUTED)
        self._go_to(record, slot, room, SEEK)

    def waits(self) -> None:
        """From a warp at a barrier to one that is ready; if it is the last to come, on with it."""
        ir = self.ir
        ir.label("waits")
        number, code, following = (
            self._by_place("i64", [getattr(place, what) for place in self.phases])
            for what in ("number", "code", "following")
        )
        goals, sure, own = (
            self._by_place("ptr", [self._code_at(getattr(place, what)) for place in self.phases])
            if self.relies or what == "goal"
            else ""
            for what in ("goal", "sure", "own")
        )
        rest = self._by_place("i64", [place.rest for place in self.phases])
        self._phase(number, following, rest)
        shifted = ir.op(f"shl i32 {ir.op(f'trunc i64 {code} to i32')}, 8")
        leave = self._left("wait", ir.op(f"or i32 {shifted}, {int(Left.BARRIER)}"))
        cta = ir.get("ptr", "%rec", layout.CTA_POINTER)
        words = ir.at(cta, ir.op(f"shl i64 {number}, 2"))
        odd = ir.op(
            f"or i32 {ir.get('i32', words, arena.SPECIAL)}, {ir.get('i32', words, arena.THREADS)}"
        )
        if self.by_threads:
            for field in (_DEPTH, _APART):
                odd = ir.op(f"or i32 {odd}, {ir.get('i32', '%rec', field)}")
        spent, room = self._turn_over(ir.op(f"zext i32 {odd} to i64"), 1, leave)
        arrived = ir.op(f"add i32 {ir.get('i32', words, arena.ARRIVED)}, 32")
        expected = ir.get("i64", cta, arena.LIVE_THREADS if self.by_threads else arena.LIVE)
        if not self.by_threads:
            expected = ir.op(f"shl i64 {expected}, 5")
        short = ir.op(f"icmp ult i64 {ir.op(f'zext i32 {arrived} to i64')}, {expected}")
        known = ir.op(f"icmp ugt i64 {ir.get('i64', cta, arena.ALLOCATED)}, {number}")
        ir.provided(known, leave)
        waits, last = ir.fresh("waits"), ir.fresh("last")
        ir.choose(short, waits, last)
        ir.label(waits)
        slot = self._next_slot(cta, leave)
        record = ir.get("ptr", slot)
        ready = ir.op(f"icmp eq i32 {ir.get('i32', record, _STATUS)}, {READY}")
        self._fits(record, ready, leave)
        ir.put("i32", arrived, words, arena.ARRIVED)
        ir.put("i64", 1, cta, arena.IN_USE)
        self._note_wait(number, following, spent)
        self._go_to(record, slot, room, SEEK)
        ir.label(last)
        self._release(cta, words, number, following, (goals, sure), leave)
        rest = ir.op(f"sub i64 {ir.get('i64', '%rec', BUDGET)}, 1")
        ir.put("i64", rest, "%rec", BUDGET)
        ir.line(f"store i64 {following}, ptr %pcs")
        if not self.relies:
            ir.br("dispatch")
            return
        onward = ir.fresh("onward")
        ir.choose(ir.op(f"icmp sgt i64 {rest}, 0"), onward, "dispatch", LIKELY)
        ir.label(onward)
        self._enter("%rec", own)

    def _by_place(self, kind: str, values: list[str]) -> str:
        """What differs from one place where warps wait to another."""
        pairs = zip(values, self.phases, strict=True)
        edges = ", ".join(f"[ {value}, %{place.label} ]" for value, place in pairs)
        return self.ir.op(f"phi {kind} {edges}")

    def _code_at(self, label: str) -> str:
        """The address of a block of the function, an operand."""
        return f"blockaddress(@{self.name}, %{label})"

    def _phase(self, number: str, following: str, rest: str) -> None:
        """Emit the passage to a warp that the last barrier let go with this one and that has not
        had a turn since, which needs no test of that warp.

        What only the grid loop or a turn that ends otherwise may change is known since then; that
        somebody wants the loop to end is seen at the next release.

        Args:
            rest: of the turn's budget, which the record does not hold yet.
        """
        ir, near, goes, tested = self.ir, *map(self.ir.fresh, ("near", "goes", "tested"))
        here = ir.get("ptr", "%env", layout.SLOT)
        good = ir.op(f"icmp ne ptr {here}, {ir.get('ptr', '%env', layout.PHASE_LAST)}")
        if len({place.number for place in self.phases}) > 1:
            same = ir.op(f"icmp eq i64 {number}, {ir.get('i64', '%env', layout.PHASE_BARRIER)}")
            good = ir.op(f"and i1 {good}, {same}")
        if self.by_threads:
            apart = ir.op(
                f"or i32 {ir.get('i32', '%rec', _DEPTH)}, {ir.get('i32', '%rec', _APART)}"
            )
            good = ir.op(f"and i1 {good}, {ir.op(f'icmp eq i32 {apart}, 0')}")
        ir.choose(good, near, tested, LIKELY)
        ir.label(near)
        spent = ir.op(f"sub i64 {ir.get('i64', '%env', FIELD['left'])}, {rest}")
        spent = ir.op(f"add i64 {spent}, 1")
        room = ir.op(f"sub i64 {ir.get('i64', '%env', layout.ROOM)}, {spent}")
        ir.choose(ir.op(f"icmp sgt i64 {room}, 0"), goes, tested, LIKELY)
        ir.label(goes)
        words = ir.at(ir.get("ptr", "%rec", layout.CTA_POINTER), ir.op(f"shl i64 {number}, 2"))
        arrived = ir.op(f"add i32 {ir.get('i32', words, arena.ARRIVED)}, 32")
        ir.put("i32", arrived, words, arena.ARRIVED)
        self._note_wait(number, following, spent)
        self._next_in_phase(here, room)
        ir.label(tested)
        ir.put("i64", rest, "%rec", BUDGET)

    def _note_wait(self, number: str, following: str, spent: str) -> None:
        """Emit what the record of a warp says that waits at a barrier."""
        ir = self.ir
        ir.put("i32", AT_BARRIER, "%rec", _STATUS)
        ir.put("i32", ir.op(f"trunc i64 {number} to i32"), "%rec", _BAR_WAIT)
        ir.line(f"store i64 {following}, ptr %pcs")
        executed = ir.op(f"add i64 {ir.get('i64', '%rec', _EXECUTED)}, {spent}")
        ir.put("i64", executed, "%rec", _EXECUTED)

    def _release(
        self,
        cta: str,
        words: str,
        number: str,
        following: str,
        goals: tuple[str, str],
        leave: str,
    ) -> None:
        """Emit the release of a barrier for the last warp that comes, whose turn goes on; a jump to
        `leave` where somebody asked for a reduction.

        Where all warps of the block come whole from the same place, their next turns are a phase.

        Args:
            goals: `_Wait.goal` and `_Wait.sure` of the place.
        """
        ir = self.ir
        asked = ir.get("i32", words, arena.VOTES)
        for kept in (arena.TOTAL, *arena.REDUCED):
            asked = ir.op(f"or i32 {asked}, {ir.get('i32', words, kept)}")
        ir.provided(ir.op(f"icmp eq i32 {asked}, 0"), leave)
        waited = ir.op(f"trunc i64 {number} to i32")
        ir.put("i32", 0, words, arena.ARRIVED)
        ir.put("i64", 1, cta, arena.IN_USE)
        ir.put("i32", waited, "%rec", _BAR_WAIT)
        count, table = ir.get("i64", cta, arena.WARPS), ir.at(cta, arena.BLOCK_BYTES)
        begin, each, here, more, out = map(ir.fresh, ("begin", "each", "here", "more", "out"))
        ir.br(begin)
        ir.label(begin)
        ir.br(each)
        ir.label(each)
        n, more_n = ir.phi("i64", "0", begin)
        odd, more_odd = ir.phi("i64", "0", begin)
        record = ir.get("ptr", table, ir.op(f"shl i64 {n}, 3"))
        waits = ir.op(f"icmp eq i32 {ir.get('i32', record, _STATUS)}, {AT_BARRIER}")
        at_it = ir.op(f"icmp eq i32 {ir.get('i32', record, _BAR_WAIT)}, {waited}")
        elsewhere = ir.op(f"xor i64 {ir.get('i64', record, _PC)}, {following}")
        lanes = ir.op(f"xor i32 {ir.get('i32', record, _ACTIVE)}, -1")
        odd_here = ir.op(f"or i64 {elsewhere}, {ir.op(f'zext i32 {lanes} to i64')}")
        ir.choose(ir.op(f"and i1 {waits}, {at_it}"), here, more)
        ir.label(here)
        ir.put("i32", READY, record, _STATUS)
        ir.br(more)
        ir.label(more)
        # The present warp, which does not wait, is the one more that may be odd.
        found = ir.op(f"phi i64 [ {odd_here}, %{here} ], [ 1, %{each} ]")
        some = ir.op(f"icmp ne i64 {found}, 0")
        odd_now = ir.op(f"add i64 {odd}, {ir.op(f'zext i1 {some} to i64')}")
        behind = ir.op(f"add i64 {n}, 1")
        more_n.add(behind, more)
        more_odd.add(odd_now, more)
        ir.choose(ir.op(f"icmp ult i64 {behind}, {count}"), each, out)
        ir.label(out)
        end = ir.get("ptr", "%env", layout.SLOT_END)
        good = ir.op(
            f"and i1 {ir.op(f'icmp eq i64 {odd_now}, 1')}, {ir.op(f'icmp ne ptr {end}, null')}"
        )
        here, first = (
            ir.get("ptr", "%env", layout.SLOT),
            ir.at(end, ir.op(f"mul i64 {count}, -8")),
        )
        leads = ir.op(f"icmp eq ptr {here}, {first}")
        last = ir.at(ir.op(f"select i1 {leads}, ptr {end}, ptr {here}"), -8)
        last = ir.op(f"select i1 {good}, ptr {last}, ptr {here}")
        goal, sure = goals
        if self.relies:
            came = ir.op(f"icmp eq ptr {here}, {ir.get('ptr', '%env', layout.PHASE_SURE)}")
            goal = ir.op(f"select i1 {came}, ptr {sure}, ptr {goal}")
            chain = ir.op(f"select i1 {good}, ptr {last}, ptr null")
            ir.put("ptr", chain, "%env", layout.PHASE_SURE)
        ir.put("ptr", last, "%env", layout.PHASE_LAST)
        ir.put("ptr", first, "%env", layout.PHASE_FIRST)
        ir.put("ptr", goal, "%env", layout.PHASE_CODE)
        ir.put("i64", number, "%env", layout.PHASE_BARRIER)

    def _next_slot(self, cta: str, leave: str) -> str:
        """The ring slot of the next warp of the block, which follow one another in a circle; emits
        a jump to `leave` where code must not go on by itself."""
        ir = self.ir
        end = ir.get("ptr", "%env", layout.SLOT_END)
        ir.provided(ir.op(f"icmp ne ptr {end}, null"), leave)
        behind = ir.at(ir.get("ptr", "%env", layout.SLOT), 8)
        back = ir.op(f"mul i64 {ir.get('i64', cta, arena.WARPS)}, -8")
        last = ir.op(f"icmp eq ptr {behind}, {end}")
        return ir.op(f"select i1 {last}, ptr {ir.at(end, back)}, ptr {behind}")

    def enters(self) -> list[str]:
        """Statements that name the warp's record, and where its code goes on."""
        if not self.after:
            return ["  %rec = getelementptr i8, ptr %first, i64 0"]
        records = "".join(f", [ %{label}.record, %{label} ]" for label, _ in self.after)
        goals = "".join(f", [ {self._goal(goal)}, %{label} ]" for label, goal in self.after)
        kind = "ptr" if self.phases else "i1"
        lines = [
            "  br label %warp",
            "warp:",
            f"  %rec = phi ptr [ %first, %entry ]{records}",
            f"  %goal = phi {kind} [ {self._goal(SEEK)}, %entry ]{goals}",
        ]
        if self.phases:
            lines = [
                f"  %slot = getelementptr i8, ptr %env, i64 {layout.SLOT}",
                f"  %last = getelementptr i8, ptr %env, i64 {layout.PHASE_LAST}",
                "  %here = load ptr, ptr %slot",
                "  store ptr %here, ptr %last",
                *self._relies_on_none(),
                *lines,
            ]
        return lines

    def _relies_on_none(self) -> list[str]:
        """Statements for a call that begins: nothing is known of any warp."""
        if not self.relies:
            return []
        place = f"  %surely = getelementptr i8, ptr %env, i64 {layout.PHASE_SURE}"
        return [place, f"  {NOT_SURE}"]

    def _goal(self, goal: str) -> str:
        """Where code goes on, as an operand: with phases its address, else whether it begins."""
        if self.phases:
            return goal if goal.startswith("%") else self._code_at(goal)
        return str(goal != SEEK).lower()

    def goes_on(self) -> str:
        """The statement that goes on with the warp."""
        goals = {goal for _, goal in self.after} - {SEEK}
        if not self.phases:
            if not goals:
                return f"  br label %{SEEK}"
            return f"  br i1 %goal, label %{goals.pop()}, label %{SEEK}"
        goals = {goal for goal in goals if not goal.startswith("%")}
        goals |= {goal for place in self.phases for goal in (place.goal, place.sure)}
        labels = ", ".join(f"label %{goal}" for goal in (SEEK, *sorted(goals - {SEEK})))
        return f"  indirectbr ptr %goal, [{labels}]"

    def _left(self, hint: str, why: str) -> str:
        """The label of a return to the grid loop."""
        label = self.ir.fresh(f"left.{hint}")
        self.ir.later(label, [f"ret i32 {why}"])
        return label

    def _turn_over(self, odd: str, more: int, leave: str) -> tuple[str, str]:
        """Emit a jump to `leave` where Python, or the end of the call, may want the loop to end:
        (instructions of this turn, how many more may be executed).

        Args:
            odd: i64: not 0 for another reason to leave.
            more: instructions that the record does not count yet.
        """
        ir = self.ir
        before = ir.get("i64", "%env", FIELD["left"])
        spent = ir.op(f"sub i64 {before}, {ir.get('i64', '%rec', BUDGET)}")
        if more:
            spent = ir.op(f"add i64 {spent}, {more}")
        room = ir.op(f"sub i64 {ir.get('i64', '%env', layout.ROOM)}, {spent}")
        asked = odd
        for field in (FIELD["polls"], layout.STOP, FIELD["idle"]):
            asked = ir.op(f"or i64 {asked}, {ir.get('i64', '%env', field)}")
        goes = ir.op(f"icmp sgt i64 {room}, 0")
        on = ir.fresh("on")
        ir.choose(ir.op(f"and i1 {goes}, {ir.op(f'icmp eq i64 {asked}, 0')}"), on, leave)
        ir.label(on)
        return spent, room

    def _fits(self, record: str, good: str, leave: str) -> None:
        """Emit a jump to `leave` unless this version is for a warp's lanes, and an i1 holds."""
        ir, how = self.ir, "eq" if self.full else "ne"
        whole = ir.op(f"icmp {how} i32 {ir.get('i32', record, _ACTIVE)}, -1")
        ir.provided(ir.op(f"and i1 {good}, {whole}"), leave)

    def _go_to(self, record: str, slot: str, room: str, goal: str) -> None:
        """Emit the change of turns to another warp; goal: as of `_enter`."""
        ir = self.ir
        ir.put("i64", room, "%env", layout.ROOM)
        ir.put("ptr", slot, "%env", layout.SLOT)
        if self.phases and not goal.startswith("%"):
            self._end_phase(slot)
        length = ir.get("i64", "%env", FIELD["quantum"])
        if goal != f"z{self.entry}":
            executed = ir.get("i64", record, _EXECUTED)
            settled = ir.op(f"icmp uge i64 {executed}, {SETTLED}")
            longer = ir.op(f"mul i64 {length}, {LONGER}")
            length = ir.op(f"select i1 {settled}, i64 {longer}, i64 {length}")
        ir.put("i64", length, "%env", FIELD["left"])
        ir.put("i64", length, record, BUDGET)
        self._enter(record, goal)

    def _end_phase(self, slot: str) -> None:
        """Emit that of the warps behind the one of a slot nothing is known."""
        self.ir.put("ptr", slot, "%env", layout.PHASE_LAST)
        if self.relies:
            self.ir.put("ptr", "null", "%env", layout.PHASE_SURE)

    def _enter(self, record: str, goal: str) -> None:
        """Emit the way to the code of a warp.

        Args:
            goal: the label of the code, or a name that has its address.
        """
        ir = self.ir
        label = ir.fresh("next")
        ir.br(label)
        ir.label(label)
        self.after.append((label, goal))
        ir.line(f"%{label}.record = getelementptr i8, ptr {record}, i64 0")
        ir.br("warp")


def function_of(
    name: str,
    ir: Builder,
    lines: list[str],
    fresh: int | None,
    by_threads: bool,
    instruments: Iterable[str],
    turns: bool = False,
    full: bool = True,
    facts: PlaceFacts | None = None,
) -> tuple[list[str], list[str]]:
    """The head of a function, whose code has a warp's record as `%rec`, up to where it looks for
    the block to begin with (`seek`); and the passages from warp to warp.

    Args:
        ir: that has named what is in its code.
        lines: all of its blocks.
        fresh: where warps begin with zeros.
        by_threads: as of `_Passages`.
        instruments: statements for what observers need.
        turns: there is code that goes to `TURNS`.
        full: as of `_Passages`.
        facts: what is known where warps wait.
    """
    heads = [line for line in lines if line[0] != " "]
    labels = {line[:-1] for line in heads}
    waits = [found for line in heads if (found := _WAITS.match(line)) is not None]
    relied = set() if facts is None else facts.relied_on()
    phases = []
    for found in waits:
        label, number, code, following, rest = found.groups()
        goal = f"b{following}" if f"b{following}" in labels else SEEK
        quick = sure_label(int(following)) if int(following) in relied else goal
        own = goal if facts is None or facts.lacks(label) else quick
        phases.append(_Wait(label, number, code, following, f"%{rest}", goal, quick, own))
    passages = _Passages(name, ir, fresh or 0, by_threads, full, phases)
    if any(map(_ENDS.match, heads)):
        passages.ends()
    if phases:
        passages.waits()
    if turns:
        passages.turns()
    head = [
        f"define i32 @{name}(ptr noalias %env, ptr noalias %first) {ON_STACK} {{",
        "entry:",
        f"  %markp = getelementptr i8, ptr %env, i64 {layout.MARKS}",
        "  %marks = load ptr, ptr %markp",
        f"  %sitesp = getelementptr i8, ptr %env, i64 {layout.SITES}",
        "  %sites = load ptr, ptr %sitesp",
        f"  %bankp = getelementptr i8, ptr %env, i64 {layout.BANKS}",
        "  %bank = load ptr, ptr %bankp",
        f"  %why = getelementptr i8, ptr %env, i64 {layout.WHY}",
        *passages.enters(),
        f"  %came_from = getelementptr i8, ptr %rec, i64 {_CAME_FROM}",
        f"  %budget = getelementptr i8, ptr %rec, i64 {BUDGET}",
        f"  %pcs = getelementptr i8, ptr %rec, i64 {_PC}",
        f"  %actives = getelementptr i8, ptr %rec, i64 {_ACTIVE}",
        *(f"  {line}" for line in instruments),
        # The grid loop calls the version that fits the lanes, for one turn only.
        passages.goes_on(),
    ]
    return head, [*passages.ir.lines, *passages.ir.tail]
