"""Control flow of lanes with pcs of their own, as LLVM IR: branches, convergence barriers, exits.

Where all active lanes go the same way, and where a BSYNC ends what the last BSSY began with nobody
away, code goes on in place.  The other cases change the groups in the record by the library, as
`gpudbg.sm.convergence.step` does, or leave to the step engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from gpudbg.isa.operands import Pred
from gpudbg.mem.lanes import WARP_SIZE
from gpudbg.sm.barriers import compiled as barriers
from gpudbg.sm.convergence.compiled import CLEARS, KEEPS, MOST_LOWEST
from gpudbg.sm.convergence.groups import BACKWARD, POLL
from gpudbg.sm.convergence.groups import READY as READY_STATE
from gpudbg.sm.convergence.kept import STATE_CODE
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, signed
from gpudbg.sm.engines.llvm.ir.values import FULL, UNIFORM, Mask, Msk, Num, Slow, Val
from gpudbg.sm.engines.llvm.kernel.edges import PushedToken
from gpudbg.sm.engines.llvm.kernel.flow import (
    ACTIVE,
    BAR_COUNT,
    BAR_PRED,
    DEPTH,
    EXITED,
    STATUS,
)
from gpudbg.sm.engines.llvm.kernel.flow_parts import NEAR, FlowParts
from gpudbg.sm.engines.llvm.kernel.registers import NamedState
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.lanes.regions import barrier_of
from gpudbg.sm.record import ALONE, DONE, FIELDS, IN_PYTHON, MOST_ACTIVATIONS
from gpudbg.sm.residency import arena

APART, READY, LOWEST, SECOND, COUNT, OPENED, HELD, ACTIVATIONS = (
    FIELDS[name].offset
    for name in "apart ready lowest second backward opened held activations".split()
)
PC = FIELDS["pc"].offset
WORDS = "<4 x i32>"
LANES = "<32 x i32>"
assert READY == APART + 4
MOST_THREADS = 1024
"""Of a block, and so of a barrier."""


class GroupFlow(FlowParts):
    """Control operations of the 128-bit instruction sets.

    Attributes:
        waiting: pcs for whose lanes others may wait (`KernelListing.waiting`).
    """

    def __init__(self, *parts: Any, waiting: Collection[int]) -> None:
        super().__init__(*parts)
        self.waiting = waiting

    # ---- parts ---------------------------------------------------------------------------

    def _end(self, target: str) -> None:
        """End the block by a branch to a label."""
        self.ir.br(target)
        self.cursor.terminated = True

    def _skip_none(self, lanes: str) -> None:
        """Emit a branch past the instruction for when no lane executes it."""
        if self.cursor.guarded:
            self.ir.unless(self.ir.op(f"icmp eq i32 {lanes}, 0"), self.edges.edge(self._next))

    @property
    def _next(self) -> int:
        return self.cursor.next_pc

    def _active_all(self, lanes: str) -> None:
        """Leave unless the lanes are all active ones; whether others wait, the grid loop asks."""
        if self.cursor.guarded:
            self.exits.bail_unless(self.ir.op(f"icmp eq i32 {lanes}, {self._active_bits()}"))

    def _count_back(self, back: str = "true") -> None:
        """Emit the count of a backward branch (where an i1 holds) while other groups wait."""
        if self.full:
            return
        ir = self.ir
        count = ir.get("i32", "%rec", COUNT)
        others = ir.op(f"icmp ne i32 {ir.get('i32', '%rec', DEPTH)}, 0")
        counts = others if back == "true" else ir.op(f"and i1 {others}, {back}")
        weight = POLL if self.cursor.pc in self.waiting else 1
        more = ir.op(f"add i32 {count}, {ir.op(f'select i1 {counts}, i32 {weight}, i32 0')}")
        few = ir.op(f"icmp ult i32 {more}, {BACKWARD}")
        here = ir.op(f"icmp ne i32 {ir.get('i32', '%rec', APART)}, {IN_PYTHON}")
        self.exits.bail_unless(ir.op(f"and i1 {few}, {here}"))
        ir.put("i32", more, "%rec", COUNT)

    def _flow(self, target: int) -> str:
        """A label of the code by which all active lanes go to `target`."""
        if target == self._next:
            return self.edges.edge(target)
        ir, here, goal = self.ir, self.ir.fresh("taken"), self.edges.edge(target)
        with ir.aside():
            ir.label(here)
            if target <= self.cursor.pc:
                self._count_back()
            ir.line(f"store i64 {self.cursor.pc}, ptr %came_from")
            ir.br(goal)
        return here

    def _arrive(self, goal: str) -> None:
        """Continue at a computed target, which may end the turn or change the version."""
        self._note(goal)
        self.ir.br("dispatch")

    def _note(self, goal: str) -> None:
        """Store a following pc in the warp's record."""
        ir, cursor = self.ir, self.cursor
        moved = ir.op(f"icmp ne i64 {goal}, {self._next}")
        before = ir.get("i64", "%came_from")
        ir.put("i64", ir.op(f"select i1 {moved}, i64 {cursor.pc}, i64 {before}"), "%came_from")
        ir.put("i64", goal, "%rec", PC)
        self.exits.spend()

    def _moved(self, name: str, arguments: str) -> None:
        """Continue the warp at the pc that a library function returns."""
        self._arrive(self._library(name, f"ptr %rec, {arguments}"))

    def _library(self, name: str, arguments: str) -> str:
        """Call a library function with the record up to date. Returns its result."""
        point = self.exits.stored()
        target = self.runtime.function(name)
        goal = self.ir.op(f"call i64 {target}({arguments}, i64 {self._next})")
        refused = self.exits.exit_at(point, Left.STEP)
        self.ir.provided(self.ir.op(f"icmp ne i64 {goal}, -1"), refused)
        return goal

    # ---- branches ------------------------------------------------------------------------

    def branch(self, mask: Mask, target: int | Num) -> None:
        ir = self.ir
        if not isinstance(target, int):
            self._jump(mask, target)
            return
        if target < 0:
            raise Slow("a target that wraps around address 0")
        if isinstance(mask, int) and mask == FULL and self.full:
            self._end(self._flow(target))
            return
        if target == self._next:
            # Nothing is known there of the guard.
            self._end(self.edges.falls(True))
            return
        lanes, active = self.values.mask_bits(mask), self._active_bits()
        apart_here = self._others_may_wait(target)
        falls = self._falls(mask, not apart_here)
        self.edges.some_fall(falls)
        with self._every(mask):
            taken = self._flow(target)
        goals = [(False, falls), (True, taken)]
        with self._unless_sure(mask, *(goals[::-1] if target <= self.cursor.pc else goals)):
            ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), falls)
            apart = ir.fresh("split")
            ir.choose(ir.op(f"icmp eq i32 {lanes}, {active}"), taken, apart)
        with ir.group_aside(apart):
            self._split_in_place(lanes, active, target)
            self._split_to_bsync(lanes, active, target)
            if apart_here:
                self._let_wait(lanes, active, target, falls)
            self._moved("groups.split", f"i32 {lanes}, i64 {target}")
        self.cursor.terminated = True

    def _others_may_wait(self, target: int) -> bool:
        """Whether lanes that go to a place wait while others go on in place behind the present
        instruction: in loops of the code for any lanes."""
        edges, pc = self.edges, self.cursor.pc
        ahead = self._next < target < MOST_LOWEST
        return edges.may_meet and ahead and edges.listing.repeats(pc)

    def _let_wait(self, lanes: str, active: str, target: int, falls: str) -> None:
        """Emit a branch that some of the active lanes take, where no group is to go on before the
        others: these go on in place; a jump behind it elsewhere."""
        ir = self.ir
        ready, lowest = (ir.get("i32", "%rec", field) for field in (READY, LOWEST))
        none = ir.op(f"icmp eq i32 {ready}, 0")
        others = ir.op(f"select i1 {none}, i32 -1, i32 {lowest}")
        first = ir.op(f"icmp ugt i32 {others}, {self._next}")
        here = ir.op(f"icmp eq i32 {ir.get('i32', '%rec', APART)}, 0")
        quick, slow = ir.fresh("wait"), ir.fresh("split")
        ir.choose(ir.op(f"and i1 {first}, {here}"), quick, slow, LIKELY)
        ir.label(quick)
        # What the others write from here on is theirs alone.
        self.exits.registers.uniform.store(self.exits.registers.now)
        depth = ir.get("i32", "%rec", DEPTH)
        self._put_ready(depth, lanes, target)
        ir.put("i32", others, "%rec", SECOND)
        least = ir.op(f"call i32 @llvm.umin.i32(i32 {others}, i32 {target})")
        ir.put("i32", least, "%rec", LOWEST)
        for field, count in ((DEPTH, depth), (READY, ready)):
            ir.put("i32", ir.op(f"add i32 {count}, 1"), "%rec", field)
        ir.put("i32", ir.op(f"xor i32 {active}, {lanes}"), "%rec", ACTIVE)
        ir.br(falls)
        ir.label(slow)

    def _put_ready(self, number: str, lanes: str, target: int) -> None:
        """Emit: write an entry of the stack for lanes that are ready at a place."""
        ir, entry = self.ir, self._entry(number)
        mask = ir.op(f"shl i64 {ir.op(f'zext i32 {lanes} to i64')}, 32")
        ir.put("i64", ir.op(f"or i64 {mask}, {STATE_CODE[READY_STATE]}"), entry)
        ir.put("i64", target, entry, 8)

    def _split_in_place(self, lanes: str, active: str, target: int) -> None:
        """Emit a branch that some lanes of a whole warp take, where both sides are near their ends
        and nothing waits; a jump behind it elsewhere."""
        ir, edges, here = self.ir, self.edges, self._next
        path = self._to_ends(here, target) if target > here else []
        if not path:
            return
        good = ir.op(f"and i1 {self._nothing_waits()}, {edges.undisturbed(path)}")
        self._part_where(good, lanes, active, target)

    def _split_to_bsync(self, lanes: str, active: str, target: int) -> None:
        """Emit a branch that some lanes of a whole warp take to a BSYNC at which they wait for the
        others, which execute a few instructions in place; a jump behind it elsewhere."""
        ir, edges, here = self.ir, self.edges, self._next
        number = self._bsync_at(target)
        path: list[int] = []
        if number >= 0 and target > here and edges.may_rejoin and not edges.tokens:
            path = edges.listing.straight_end(here, NEAR, target)
        if not path:
            return
        # The other lanes execute the BSYNC, too.
        good = ir.op(f"and i1 {self._last_of_all(number)}, {edges.undisturbed([*path, target])}")
        self._part_where(good, lanes, active, target)

    def _bsync_at(self, pc: int) -> int:
        """The number of the barrier of a BSYNC of all lanes at a pc; -1: there is none."""
        insn = self.edges.listing.code.get(pc)
        if insn is None or insn.op != "BSYNC" or not self.edges.listing.always(insn):
            return -1
        if any(isinstance(o, Pred) and not o.is_true for o in insn.operands):
            return -1
        number = barrier_of(insn)
        return -1 if number is None else number

    def _last_of_all(self, number: int) -> str:
        """An i1: all lanes of the warp are one group, in what the last BSSY opened."""
        ir = self.ir
        last = self._opened_last(ir.get("i32", "%rec", OPENED), number, str(signed(FULL, 32)))
        odd = ir.get("i32", "%rec", DEPTH)
        for field in (APART, READY):
            odd = ir.op(f"or i32 {odd}, {ir.get('i32', '%rec', field)}")
        return ir.op(f"and i1 {last}, {ir.op(f'icmp eq i32 {odd}, 0')}")

    def _opened_last(self, opened: str, number: int, lanes: str) -> str:
        """An i1: the last of so many activations is one that these lanes have, and no others."""
        ir = self.ir
        entry = self._activation(ir.op(f"sub i32 {opened}, 1"))
        what = ir.get(WORDS, entry, 0, 4)
        same = ir.op(f"icmp eq {WORDS} {what}, {self._row(number, lanes)}")
        same = ir.op(f"icmp eq i4 {ir.op(f'bitcast <4 x i1> {same} to i4')}, -1")
        return ir.op(f"and i1 {same}, {ir.op(f'icmp ne i32 {opened}, 0')}")

    def _part_where(self, good: str, lanes: str, active: str, target: int) -> None:
        """Emit that, where an i1 says so, some lanes of a whole warp wait at a place, ready, and
        the others go on in place; what follows is for where it does not."""
        ir = self.ir
        split, away = ir.fresh("split"), ir.fresh("away")
        ir.choose(good, split, away, LIKELY)
        ir.label(split)
        stay = ir.op(f"xor i32 {active}, {lanes}")
        tokens = (PushedToken("DIV", target, Msk(bits=lanes), "0"),)
        part = self.edges.part(self._next, Msk(bits=stay), tokens)
        self._put_ready("0", lanes, target)
        for field in (DEPTH, READY):
            ir.put("i32", 1, "%rec", field)
        ir.put("i32", min(target, MOST_LOWEST), "%rec", LOWEST)
        ir.put("i32", -1, "%rec", SECOND)
        ir.put("i32", stay, "%rec", ACTIVE)
        ir.br(part)
        ir.label(away)

    def _converge_apart(self, number: int) -> None:
        """Emit the BSYNC of lanes that parted in this trace, and of the others, which wait at it:
        all are together behind it."""
        ir, registers = self.ir, self.exits.registers
        # Uniform registers are those of the lanes that are active as yet.
        registers.store(registers.now.dirty())
        opened = ir.get("i32", "%rec", OPENED)
        ir.put("i32", ir.op(f"sub i32 {opened}, 1"), "%rec", OPENED)
        for field in (DEPTH, READY, HELD + 4 * number):
            ir.put("i32", 0, "%rec", field)
        ir.put("i32", signed(FULL, 32), "%rec", ACTIVE)
        # The last to come went from the branch to this same instruction.
        ir.line(f"store i64 {self.cursor.pc}, ptr %came_from")
        self.edges.rejoined(self._next, self.cursor.index + 2)
        self.cursor.terminated = True

    def _nothing_waits(self) -> str:
        ir = self.ir
        odd = ir.get("i32", "%rec", DEPTH)
        for field in (APART, OPENED):
            odd = ir.op(f"or i32 {odd}, {ir.get('i32', '%rec', field)}")
        cta = ir.get("ptr", "%rec", layout.CTA_POINTER)
        free = ir.op(f"icmp eq i64 {ir.get('i64', cta, arena.IN_USE)}, 0")
        return ir.op(f"and i1 {free}, {ir.op(f'icmp eq i32 {odd}, 0')}")

    def _let_others_go(self, token: PushedToken) -> None:
        for field in (DEPTH, READY):
            self.ir.put("i32", 0, "%rec", field)

    def _count_out(self, lanes: str) -> None:
        ir = self.ir
        cta = ir.get("ptr", "%rec", layout.CTA_POINTER)
        count = ir.op(f"call i32 @llvm.ctpop.i32(i32 {lanes})")
        threads = ir.get("i64", cta, arena.LIVE_THREADS)
        left = ir.op(f"sub i64 {threads}, {ir.op(f'zext i32 {count} to i64')}")
        ir.put("i64", left, cta, arena.LIVE_THREADS)

    def _jump(self, mask: Mask, target: Num) -> None:
        """Emit a branch to computed targets."""
        ir, values = self.ir, self.values
        lanes, active = values.mask_bits(mask), self._active_bits()
        self._skip_none(lanes)
        same = ir.op(f"icmp eq i32 {lanes}, {active}")
        if values.uniform(target):
            self.exits.bail_unless(same)
            goal = values.scalar(target, 64)
            goal = ir.op(f"add i64 {goal}, 0")
        else:
            row = self.runtime.row_of(target, 64)
            goal, alike = self._common(target, lanes)
            together, apart = ir.fresh("together"), ir.fresh("jump")
            ir.choose(ir.op(f"and i1 {same}, {alike}"), together, apart, LIKELY)
            with ir.aside():
                ir.label(apart)
                self._moved("groups.jump", f"ptr {row}, i32 {lanes}")
            ir.label(together)
        self.exits.settle()
        self._count_back(ir.op(f"icmp ule i64 {goal}, {self.cursor.pc}"))
        self._arrive(goal)
        self.cursor.terminated = True

    def _common(self, target: Num, lanes: str) -> tuple[str, str]:
        """The first lane's value, and an i1: all lanes have it."""
        ir, kind = self.ir, "<32 x i64>"
        every = self.values.bare(target, 64)
        lane = "0"
        if not self.full:
            first = ir.op(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 false)")
            lane = ir.op(f"and i32 {first}, 31")
        goal = ir.op(f"extractelement {kind} {every}, i32 {lane}")
        same = ir.op(f"icmp eq {kind} {every}, {self.values.spread(goal, 64)}")
        bits = ir.op(f"bitcast <32 x i1> {same} to i32")
        rest = ir.op(f"xor i32 {lanes}, -1")
        return goal, ir.op(f"icmp eq i32 {ir.op(f'or i32 {bits}, {rest}')}, -1")

    # ---- the end -------------------------------------------------------------------------

    def exit(self, mask: Mask) -> None:
        ir, edges = self.ir, self.edges
        if mask == 0:
            self._end(edges.edge(self._next))
            return
        if self.cursor.parted:
            self._exit_apart(mask)
            return
        lanes = self.values.mask_bits(mask)
        self.cursor.terminated = True
        if isinstance(mask, int):
            self._leave(mask, lanes)
            return
        falls = self._falls(mask, True)
        if not self.full and self.cursor.guarded:
            self._others_go_on(lanes, falls)
            self._leave(mask, lanes)
            return
        with self._unless_sure(mask, (False, falls)):
            ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), falls)
            # As in `KernelFlow._release`.
            with ir.group_aside() if self.full and self.cursor.guarded else nullcontext():
                if self.full:
                    self._others_stay(lanes)
                self._leave(mask, lanes)

    def _others_go_on(self, lanes: str, falls: str) -> None:
        """Emit the exit of some of the active lanes where nothing waits: the others, or all where
        none exits, go on in place; what follows is for the other cases."""
        ir, ahead = self.ir, self.edges.ahead
        rest = ir.op(f"xor i32 {self._active_bits()}, {lanes}")
        if ahead is not None and ahead.label == falls:
            ahead.active = Msk(bits=rest)
        ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), falls)
        good = ir.op(f"and i1 {self._nothing_waits()}, {ir.op(f'icmp ne i32 {rest}, 0')}")
        stay, slow = ir.fresh("stay"), ir.fresh("slow")
        ir.choose(good, stay, slow, LIKELY)
        ir.label(stay)
        self._count_out(lanes)
        gone = ir.op(f"or i32 {ir.get('i32', '%rec', EXITED)}, {lanes}")
        ir.put("i32", gone, "%rec", EXITED)
        ir.put("i32", rest, "%rec", ACTIVE)
        ir.br(falls)
        ir.label(slow)

    def _leave(self, mask: Mask, lanes: str) -> None:
        """Emit what some lanes, or all, do that exit."""
        ir, exits = self.ir, self.exits
        self._settle_at_end(mask)
        some = self.cursor.guarded and not (self.full and mask == FULL)
        if not some:
            self._exit_whole(lanes, mask)
            self._complete_at_end(mask)
        target = self.runtime.function("groups.end")
        goal = ir.op(f"call i64 {target}(ptr %rec, i32 {lanes}, i64 {self._next})")
        exits.bail_unless(ir.op(f"icmp ne i64 {goal}, -1"))
        if some:
            # Few warps end here: the library does the usual end as well.
            over = ir.op(f"icmp eq i32 {ir.get('i32', '%rec', STATUS)}, {DONE}")
            ir.unless(over, exits.side_exit(Left.DONE, self.cursor.pc, undone=False))
        self._arrive(goal)

    def _exit_whole(self, lanes: str, mask: Mask) -> None:
        """Emit the usual end: no lane is left and none waits."""
        ir = self.ir
        odd, gone = self._remain(mask, lanes)
        apart = ir.op(f"and i32 {ir.get('i32', '%rec', APART)}, {IN_PYTHON}")
        waits = ir.op(f"or i32 {ir.get('i32', '%rec', DEPTH)}, {apart}")
        odd = ir.op(f"or i32 {odd}, {waits}")
        whole, part = ir.fresh("whole"), ir.fresh("part")
        ir.choose(ir.op(f"icmp eq i32 {odd}, 0"), whole, part)
        ir.label(whole)
        self._note_exit(gone, mask)
        ir.put("i32", 0, "%rec", OPENED)
        ir.put("<16 x i32>", "zeroinitializer", "%rec", HELD, 8)
        ir.put("i32", DONE, "%rec", STATUS)
        self._count_out(lanes)
        self._end_warp(mask)
        ir.label(part)

    # ---- convergence barriers ------------------------------------------------------------

    def open_barrier(self, number: int) -> None:
        ir = self.ir
        lanes = self.values.mask_bits(self.cursor.exec)
        place, slow, done = HELD + 4 * number, ir.fresh("slow"), ir.fresh("opened")
        if self.cursor.guarded:
            ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), done)
        held, opened = ir.get("i32", "%rec", place), ir.get("i32", "%rec", OPENED)
        odd = ir.op(f"and i32 {held}, {lanes}")
        odd = ir.op(f"or i32 {odd}, {ir.get('i32', '%rec', APART)}")
        free = ir.op(f"icmp ult i32 {opened}, {MOST_ACTIVATIONS}")
        good, quick = ir.op(f"and i1 {ir.op(f'icmp eq i32 {odd}, 0')}, {free}"), ir.fresh("open")
        ir.choose(good, quick, slow, LIKELY)
        ir.label(quick)
        ir.put(WORDS, self._row(number, lanes), self._activation(opened), 0, 4)
        ir.put("i32", ir.op(f"add i32 {opened}, 1"), "%rec", OPENED)
        ir.put("i32", ir.op(f"or i32 {held}, {lanes}"), "%rec", place)
        ir.br(done)
        with ir.aside():
            ir.label(slow)
            function = self.runtime.function("groups.open")
            ok = ir.op(f"call i1 {function}(ptr %rec, i32 {number}, i32 {lanes})")
            ir.choose(ok, done, self.exits.side_exit(Left.STEP, self.cursor.pc), LIKELY)
        ir.label(done)

    def _activation(self, number: str) -> str:
        """Address of an activation in the record."""
        # Row -1, for no activation, may be read: it lies inside the header.
        wide = self.ir.op(f"sext i32 {number} to i64")
        first = self.ir.op(f"shl i64 {wide}, 4")
        return self.ir.at("%rec", self.ir.op(f"add i64 {first}, {ACTIVATIONS}"))

    def _row(self, number: int, lanes: str) -> str:
        """An activation whose members all hold it: number, holders, members, waiting lanes."""
        if not lanes.startswith("%"):
            return f"<i32 {number}, i32 {lanes}, i32 {lanes}, i32 0>"
        row = f"insertelement {WORDS} <i32 {number}, i32 poison, i32 poison, i32 0>"
        row = self.ir.op(f"{row}, i32 {lanes}, i32 1")
        return self.ir.op(f"insertelement {WORDS} {row}, i32 {lanes}, i32 2")

    def converge(self, number: int, mask: Mask) -> None:
        ir = self.ir
        if mask == 0:
            self._end(self.edges.edge(self._next))
            return
        if self.cursor.parted and any(t.target == self.cursor.pc for t in self.edges.tokens):
            self._converge_apart(number)
            return
        lanes = self.values.mask_bits(mask)
        falls = self.edges.falls(True)
        if not isinstance(mask, int):
            ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), falls)
        opened = ir.get("i32", "%rec", OPENED)
        last = self._opened_last(opened, number, lanes)
        # No other group is ready, and the groups are in the record.
        alone = ir.op(f"icmp eq i64 {ir.get('i64', '%rec', APART)}, 0")
        good = ir.op(f"and i1 {last}, {alone}")
        if not (self.full and mask == FULL):
            every = ir.op(f"icmp eq i32 {lanes}, {self._active_bits()}")
            good = ir.op(f"and i1 {good}, {every}")
        quick, slow = ir.fresh("met"), ir.fresh("slow")
        ir.choose(good, quick, slow, LIKELY)
        with ir.aside():
            ir.label(slow)
            if self._others_may_meet():
                self._meet(number, lanes, opened)
            self._moved("groups.converge", f"i32 {number}, i32 {lanes}")
        ir.label(quick)
        self._closed(number, lanes, opened)
        self._end(falls)

    def _others_may_meet(self) -> bool:
        """Whether others may be ready at the present BSYNC, for lanes that come to it: in loops of
        the code for any lanes."""
        edges, pc = self.edges, self.cursor.pc
        comes = pc in edges.listing.targets and not self.cursor.guarded
        return edges.may_meet and comes and edges.listing.repeats(pc)

    def _meet(self, number: int, lanes: str, opened: str) -> None:
        """Emit a BSYNC that all lanes have come to which hold the barrier that was opened last:
        the active ones, and others that are ready at it, on top of the stack. A jump behind it
        elsewhere, and where all lanes of the warp are together then."""
        ir, edges, pc = self.ir, self.edges, self.cursor.pc
        depth = ir.get("i32", "%rec", DEPTH)
        below = ir.op(f"sub i32 {ir.op(f'call i32 @llvm.umax.i32(i32 {depth}, i32 1)')}, 1")
        entry = self._entry(below)
        every = ir.op(f"or i32 {lanes}, {ir.get('i32', entry, 4)}")
        odd = ir.op(f"xor i32 {ir.get('i32', entry)}, {STATE_CODE[READY_STATE]}")
        odd = ir.op(f"or i32 {odd}, {ir.get('i32', '%rec', APART)}")
        there = ir.op(f"icmp eq i64 {ir.get('i64', entry, 8)}, {pc}")
        good = ir.op(f"and i1 {there}, {ir.op(f'icmp eq i32 {odd}, 0')}")
        good = ir.op(f"and i1 {good}, {self._opened_last(opened, number, every)}")
        others, ready = (ir.get("i32", "%rec", field) for field in (SECOND, READY))
        # Without a ready group there is no such entry.
        good = ir.op(f"and i1 {good}, {ir.op(f'icmp ne i32 {ready}, 0')}")
        good = ir.op(f"and i1 {good}, {ir.op(f'icmp ugt i32 {others}, {self._next}')}")
        good = ir.op(f"and i1 {good}, {ir.op(f'icmp ne i32 {every}, -1')}")
        good = ir.op(f"and i1 {good}, {edges.undisturbed([pc])}")
        quick, slow = ir.fresh("meet"), ir.fresh("slow")
        ir.choose(good, quick, slow, LIKELY)
        ir.label(quick)
        registers = self.exits.registers
        registers.store(registers.now.dirty())
        self._closed(number, every, opened)
        ir.put("i32", below, "%rec", DEPTH)
        ir.put("i32", ir.op(f"sub i32 {ready}, 1"), "%rec", READY)
        for field in (LOWEST, SECOND):
            ir.put("i32", others, "%rec", field)
        ir.put("i32", every, "%rec", ACTIVE)
        ir.line(f"store i64 {pc}, ptr %came_from")
        edges.rejoined(self._next, self.cursor.index + 2)
        ir.label(slow)

    def _closed(self, number: int, lanes: str, opened: str) -> None:
        """Emit that so many activations less one are open, and these lanes hold their barrier no
        longer."""
        ir, place = self.ir, HELD + 4 * number
        ir.put("i32", ir.op(f"sub i32 {opened}, 1"), "%rec", OPENED)
        others = ir.op(f"xor i32 {lanes}, -1")
        kept = ir.op(f"and i32 {ir.get('i32', '%rec', place)}, {others}")
        ir.put("i32", kept, "%rec", place)

    def leave_barrier(self, number: int, mask: Mask) -> None:
        ir = self.ir
        lanes = self.values.mask_bits(mask)
        some, done = ir.fresh("leave"), ir.fresh("left")
        ir.choose(ir.op(f"icmp eq i32 {lanes}, 0"), done, some)
        ir.label(some)
        function = self.runtime.function("groups.leave")
        ok = ir.op(f"call i1 {function}(ptr %rec, i32 {number}, i32 {lanes})")
        self.exits.bail_unless(ok)
        ir.br(done)
        ir.label(done)

    def barrier_mask(self, number: int, clear: bool, keep: bool) -> Num:
        """Emit BMOV Rd, Bn: functions save barriers that their callers may use, as a rule empty
        ones."""
        ir, runtime = self.ir, self.runtime
        lanes = self.values.mask_bits(self.cursor.exec)
        out = runtime.new_row()
        if keep:
            ir.put(LANES, "zeroinitializer", out, 0, 64)
        how = (KEEPS if keep else CLEARS) if clear else 0
        held = ir.get("i32", "%rec", HELD + 4 * number)
        mine = ir.op(f"and i32 {held}, {lanes}")
        with self._unless_empty(mine) as slow:
            function = runtime.function("groups.save")
            about = f"ptr %rec, i32 {number}, i32 {lanes}, i32 {how}, ptr {out}"
            slow(ir.op(f"call i1 {function}({about})"))
        return Val(32, ir.get(LANES, out, 0, 64)) if keep else 0

    def set_barrier(self, number: int, value: Num) -> None:
        """Emit BMOV Bn, R, as a rule of an empty barrier's value."""
        ir, values = self.ir, self.values
        lanes = values.mask_bits(self.cursor.exec)
        row = self.runtime.row_of(value, 32)
        if values.uniform(value):
            word = values.scalar(value, 32)
            some = ir.op(f"icmp ne i32 {word}, 0")
            odd = ir.op(f"select i1 {some}, i32 {lanes}, i32 0")
        else:
            every = ir.op(f"icmp ne {LANES} {values.bare(value, 32)}, zeroinitializer")
            odd = ir.op(f"and i32 {ir.op(f'bitcast <32 x i1> {every} to i32')}, {lanes}")
        held = ir.get("i32", "%rec", HELD + 4 * number)
        with self._unless_empty(ir.op(f"or i32 {odd}, {held}")) as slow:
            function = self.runtime.function("groups.restore")
            about = f"ptr %rec, i32 {number}, i32 {lanes}, ptr {row}"
            slow(ir.op(f"call i1 {function}({about})"))

    @contextmanager
    def _unless_empty(self, odd: str) -> Iterator[Callable[[str], None]]:
        """Emit aside what is done where some bit is set, or the groups are not in the record; it
        ends by a call of what this yields, with an i1: whether it was done."""
        ir = self.ir
        apart = ir.get("i32", "%rec", APART)
        slow, done = ir.fresh("slow"), ir.fresh("moved")
        refused = self.exits.side_exit(Left.STEP, self.cursor.pc)
        ir.choose(ir.op(f"icmp eq i32 {ir.op(f'or i32 {odd}, {apart}')}, 0"), done, slow, LIKELY)
        with ir.aside():
            ir.label(slow)
            yield lambda good: ir.choose(good, done, refused, LIKELY)
        ir.label(done)

    def synchronize(self, value: Num, mask: Mask, exclusive: bool) -> None:
        ir, values = self.ir, self.values
        lanes = values.mask_bits(mask)
        falls = self.edges.falls(True)
        if self.cursor.guarded:
            ir.unless(ir.op(f"icmp eq i32 {lanes}, 0"), falls)
        wanted = values.scalar(value, 32) if values.uniform(value) else self._same(value, lanes)
        if not isinstance(value, int) or not value:
            self.exits.bail_unless(ir.op(f"icmp ne i32 {wanted}, 0"))
        depth, apart = ir.get("i32", "%rec", DEPTH), ir.get("i32", "%rec", APART)
        away = ir.op(f"or i32 {depth}, {ir.op(f'xor i32 {lanes}, {self._active_bits()}')}")
        if exclusive:
            # All that are left go on: others have to be waited for by the step engine.
            there = ir.op(f"and i32 {apart}, {IN_PYTHON}")
            alone = ir.op(f"icmp eq i32 {ir.op(f'or i32 {away}, {there}')}, 0")
            self.exits.bail_unless(alone)
            ir.put("i32", ALONE, "%rec", APART)
            self._end(falls)
            return
        alone = ir.op(f"icmp eq i32 {ir.op(f'or i32 {away}, {apart}')}, 0")
        others = ir.fresh("sync")
        ir.choose(alone, falls, others, LIKELY)
        with ir.aside():
            ir.label(others)
            # A BAR follows a WARPSYNC that others may wait for.
            passes = int(self.cursor.pc in self.waiting)
            self._moved("groups.sync", f"i32 {lanes}, i32 {wanted}, i32 {passes}")
        self.cursor.terminated = True

    def _same(self, value: Num, lanes: str) -> str:
        """The common word of the lanes; leaves where they differ."""
        ir = self.ir
        first = ir.op(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 false)")
        lane = ir.op(f"and i32 {first}, 31")
        every = self.values.bare(value, 32)
        word = ir.op(f"extractelement {LANES} {every}, i32 {lane}")
        other = ir.op(f"icmp ne {LANES} {every}, {self.values.spread(word, 32)}")
        wrong = ir.op(f"and i32 {ir.op(f'bitcast <32 x i1> {other} to i32')}, {lanes}")
        self.exits.bail_unless(ir.op(f"icmp eq i32 {wrong}, 0"))
        return word

    def yield_turn(self, mask: Mask) -> None:
        lanes = self.values.mask_bits(mask)
        falls = self.edges.falls(True)
        if self.cursor.guarded:
            self.ir.unless(self.ir.op(f"icmp eq i32 {lanes}, 0"), falls)
        ir = self.ir
        ir.put("i64", 1, "%env", layout.FIELD["polls"])
        ir.put("ptr", "null", "%env", layout.SLOT_SURE)
        ir.put("ptr", ir.get("ptr", "%env", layout.SLOT), "%env", layout.PHASE_LAST)
        waits = ir.op(f"or i32 {ir.get('i32', '%rec', DEPTH)}, {ir.get('i32', '%rec', APART)}")
        others = ir.fresh("yield")
        ir.choose(ir.op(f"icmp eq i32 {waits}, 0"), falls, others, LIKELY)
        with ir.aside():
            ir.label(others)
            self._yield_to_others(lanes)
        self.cursor.terminated = True

    def _yield_to_others(self, lanes: str) -> None:
        """Yield in a warp with waiting lanes; a poll ends the turn."""
        ir = self.ir
        goal = self._library("groups.yield", f"ptr %env, ptr %rec, i32 {lanes}")
        self._note(goal)
        polls = ir.get("i64", "%env", layout.FIELD["polls"])
        over = ir.fresh("polled")
        ir.unless(ir.op(f"icmp eq i64 {polls}, {layout.POLLED}"), over)
        ir.br("dispatch")
        ir.label(over)
        ir.line(f"ret i32 {int(Left.TURN)}")

    def poll(self, passed: Mask, write: Callable[[Mask], None]) -> None:
        """End the block behind the instruction, so that the turn can end there
        (`KernelListing.heads`).
        """
        ir, values, cursor = self.ir, self.values, self.cursor
        lanes = values.mask_bits(self.ints.mand(cursor.exec, self.ints.mnot(passed)))
        for mask in (cursor.exec, passed):
            # Emitted here: both paths use them.
            values.mask_bits(mask)
            values.mask_lanes(mask)
        on, wait = ir.fresh("passed"), ir.fresh("wait")
        refused = self.exits.side_exit(Left.STEP, self.cursor.pc)
        ir.choose(ir.op(f"icmp eq i32 {lanes}, 0"), on, wait, LIKELY)
        with ir.aside():
            ir.label(wait)
            idle = ir.op(f"add i64 {ir.get('i64', '%env', layout.FIELD['idle'])}, 1")
            patience = ir.get("i64", "%env", layout.FIELD["patience"])
            ir.provided(ir.op(f"icmp slt i64 {idle}, {patience}"), refused)
            result = self._written_by(partial(write, passed))
            active = self._active_bits()
            goal = self._library("groups.yield", f"ptr %env, ptr %rec, i32 {active}")
            self.exits.registers.store(result)
            self._note(goal)
            ir.put("i64", layout.POLLED, "%env", layout.FIELD["polls"])
            ir.line(f"ret i32 {int(Left.TURN)}")
        ir.label(on)
        write(passed)

    def _written_by(self, write: Callable[[], None]) -> NamedState:
        """What an instruction writes, all of it named here: behind a store of late state nothing
        can be computed from the record again."""
        registers = self.exits.registers
        before = registers.mark()
        registers.now.forget_dirty()
        write()
        found = registers.now.dirty()
        for mask in (*found.preds.values(), *found.upreds.values()):
            self.values.mask_bits(mask)
        registers.revert(before)
        return found

    # ---- CTA barriers --------------------------------------------------------------------

    def barrier(
        self, mode: str, barrier_id: Num, count: Num | None, reduce_op: str, pred: Mask | None
    ) -> None:
        ir, values, cursor = self.ir, self.values, self.cursor
        threads = 0 if count is None else count
        known = isinstance(threads, int) and isinstance(barrier_id, int)
        if isinstance(barrier_id, int) and barrier_id > 15:
            raise Slow("no such barrier")
        if isinstance(threads, int) and threads % WARP_SIZE:
            raise Slow("a barrier of parts of warps")
        lanes = values.mask_bits(cursor.exec)
        self._skip_none(lanes)
        self._active_all(lanes)
        computed = "" if known else self._computed_barrier(mode, barrier_id, threads, reduce_op)
        if mode == "RED":
            voted = values.mask_bits(self.ints.mand(FULL if pred is None else pred, cursor.exec))
            for name, mask in (("voted", voted), ("voters", lanes)):
                ir.put("i64", ir.op(f"zext i32 {mask} to i64"), "%env", layout.FIELD[name])
        if computed:
            self.exits.leave_at_barrier(computed)
            cursor.terminated = True
            return
        assert isinstance(barrier_id, int)
        assert isinstance(threads, int)
        code = barriers.code_of(mode, barrier_id, reduce_op, threads)
        self._leave_at_barrier(mode, barrier_id, threads, code)
        cursor.terminated = True

    def cluster_arrive(self) -> None:
        self._cluster(barriers.CLUSTER_ARRIVES)

    def cluster_wait(self) -> None:
        self._cluster(barriers.CLUSTER_WAITS)

    def _cluster(self, what: int) -> None:
        """Leave for the grid loop, which has the barrier of the cluster."""
        lanes = self.values.mask_bits(self.cursor.exec)
        self._skip_none(lanes)
        self._active_all(lanes)
        code = barriers.code_of("CLUSTER", what, "", 0)
        self._end(self.exits.side_exit(Left.BARRIER, self.cursor.pc, code))

    def _computed_barrier(self, mode: str, number: Num, threads: Num, reduce_op: str) -> str:
        """`barriers.code_of` where number or size are computed; leave where they are none."""
        ir, given = self.ir, []
        for value, first, most in ((number, 0, 15), (threads, 1, MOST_THREADS)):
            if isinstance(value, int):
                given.append(str(value))
                continue
            word = self._word(value)
            small = ir.op(f"icmp ule i32 {ir.op(f'sub i32 {word}, {first}')}, {most - first}")
            self.exits.bail_unless(small)
            if value is threads:
                rest = ir.op(f"and i32 {word}, {WARP_SIZE - 1}")
                self.exits.bail_unless(ir.op(f"icmp eq i32 {rest}, 0"))
            given.append(word)
        about = barriers.code_of(mode, 0, reduce_op, 0)
        size = ir.op(f"shl i32 {given[1]}, 8")
        return ir.op(f"or i32 {ir.op(f'or i32 {given[0]}, {size}')}, {about}")

    def _word(self, value: Num) -> str:
        """What all executing lanes have; leave where they have not the same."""
        if self.values.uniform(value):
            return self.values.scalar(value, 32)
        return self._same(value, self.values.mask_bits(self.cursor.exec))

    def barrier_result(self) -> tuple[Num, Mask]:
        count = Val(32, self.ir.get("i32", "%rec", BAR_COUNT), UNIFORM)
        return count, Msk(bits=self.ir.get("i32", "%rec", BAR_PRED))
