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

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import BUDGET, Exits
from gpudbg.sm.engines.llvm.layout import FIELD, FRESH, Left
from gpudbg.sm.record import AT_BARRIER, FIELDS, READY
from gpudbg.sm.residency import arena

ON_STACK = 'alignstack(64) "probe-stack"="inline-asm"'
"""Function attributes: spilled vectors are aligned to cache lines, and stack pages are touched in
order, so that an overflow hits the host's guard page.
"""
_PC, _ACTIVE, _EXECUTED, _CAME_FROM, _STATUS, _BAR_WAIT, _DEPTH, _APART = (
    FIELDS[name].offset
    for name in "pc active executed came_from status bar_wait depth apart".split()
)
_LABEL = re.compile(r"(next|fresh)(\d+):$")


class Succession:
    """Emits the ways from a warp to the next one.

    Attributes:
        entry: where the kernel begins.
        by_threads: barriers count threads, not warps (`barriers.compiled`).
    """

    def __init__(
        self, ir: Builder, cursor: Cursor, exits: Exits, entry: int, by_threads: bool
    ) -> None:
        self.ir, self.cursor, self.exits, self.entry = ir, cursor, exits, entry
        self.by_threads = by_threads

    def end(self) -> None:
        """Emit the end of a warp whose record says already that it has exited: goes on to a warp
        that has not begun."""
        ir, cursor = self.ir, self.cursor
        done = self.exits.side_exit(Left.DONE, cursor.pc, undone=False)
        cta = ir.get("ptr", "%rec", layout.CTA_POINTER)
        in_use = ir.get("i64", cta, arena.IN_USE)
        spent, room, slot = self._turn_over(in_use, done)
        record = ir.get("ptr", slot)
        fresh = ir.op(f"icmp eq i64 {ir.get('i64', record, _PC)}, {self.entry | FRESH}")
        self._has_all_lanes(record, fresh, done)
        ir.put("i64", ir.op(f"sub i64 {ir.get('i64', cta, arena.LIVE)}, 1"), cta, arena.LIVE)
        ir.line(f"store i64 {cursor.pc}, ptr %pcs")
        self._go_to(record, slot, cta, spent, room, "fresh")

    def wait(self, number: int, code: int) -> None:
        """Emit BAR.SYNC of all threads of a block for all lanes: goes on to a warp that is ready
        where others have still to come.

        Args:
            number: of the barrier.
            code: of the exit to the grid loop (`barriers.compiled`).
        """
        ir, cursor = self.ir, self.cursor
        self.exits.settle()
        leave = self.exits.side_exit(Left.BARRIER, cursor.pc, code)
        cta = ir.get("ptr", "%rec", layout.CTA_POINTER)
        words = ir.get("i32", cta, arena.SPECIAL + 4 * number)
        words = ir.op(f"or i32 {words}, {ir.get('i32', cta, arena.THREADS + 4 * number)}")
        if self.by_threads:
            for field in (_DEPTH, _APART):
                words = ir.op(f"or i32 {words}, {ir.get('i32', '%rec', field)}")
        spent, room, slot = self._turn_over(ir.op(f"zext i32 {words} to i64"), leave)
        place = ir.at(cta, arena.ARRIVED + 4 * number)
        arrived = ir.op(f"add i32 {ir.get('i32', place)}, 32")
        expected = ir.get("i64", cta, arena.LIVE_THREADS if self.by_threads else arena.LIVE)
        if not self.by_threads:
            expected = ir.op(f"shl i64 {expected}, 5")
        short = ir.op(f"icmp ult i64 {ir.op(f'zext i32 {arrived} to i64')}, {expected}")
        known = ir.op(f"icmp ugt i64 {ir.get('i64', cta, arena.ALLOCATED)}, {number}")
        ir.provided(ir.op(f"and i1 {short}, {known}"), leave)
        record = ir.get("ptr", slot)
        ready = ir.op(f"icmp eq i32 {ir.get('i32', record, _STATUS)}, {READY}")
        self._has_all_lanes(record, ready, leave)
        ir.put("i32", arrived, place)
        ir.put("i64", 1, cta, arena.IN_USE)
        ir.put("i32", AT_BARRIER, "%rec", _STATUS)
        ir.put("i32", number, "%rec", _BAR_WAIT)
        ir.line(f"store i64 {cursor.next_pc}, ptr %pcs")
        self._go_to(record, slot, cta, spent, room, "next")

    def _turn_over(self, odd: str, leave: str) -> tuple[str, str, str]:
        """Emit a jump to `leave` unless the turn goes to the next warp of the block, behind the
        present instruction: (instructions of this turn, how many more may be executed, the next
        slot of the ring).

        Args:
            odd: i64: not 0 for another reason to leave.
        """
        ir, cursor = self.ir, self.cursor
        before = ir.get("i64", "%env", FIELD["left"])
        rest = ir.op(f"sub i64 {cursor.budget}, {cursor.index + 1}")
        spent = ir.op(f"sub i64 {before}, {rest}")
        room = ir.op(f"sub i64 {ir.get('i64', '%env', layout.ROOM)}, {spent}")
        slot = ir.at(ir.get("ptr", "%env", layout.SLOT), 8)
        polls, stop = ir.get("i64", "%env", FIELD["polls"]), ir.get("i64", "%env", layout.STOP)
        asked = ir.op(f"or i64 {ir.op(f'or i64 {polls}, {stop}')}, {odd}")
        end = ir.get("ptr", "%env", layout.SLOT_END)
        here = ir.op(f"icmp ult ptr {slot}, {end}")
        more = ir.op(f"and i1 {here}, {ir.op(f'icmp sgt i64 {room}, 0')}")
        on = ir.fresh("on")
        ir.choose(ir.op(f"and i1 {more}, {ir.op(f'icmp eq i64 {asked}, 0')}"), on, leave)
        ir.label(on)
        return spent, room, slot

    def _has_all_lanes(self, record: str, good: str, leave: str) -> None:
        """Emit a jump to `leave` unless all lanes of a warp are active, and an i1 holds."""
        ir = self.ir
        whole = ir.op(f"icmp eq i32 {ir.get('i32', record, _ACTIVE)}, -1")
        ir.provided(ir.op(f"and i1 {good}, {whole}"), leave)

    def _go_to(self, record: str, slot: str, cta: str, spent: str, room: str, label: str) -> None:
        """Emit the change of turns to another warp, from a block with a label of this kind."""
        ir = self.ir
        following = ir.fresh(label)
        ir.br(following)
        ir.label(following)
        ir.line(f"%{following}.record = getelementptr i8, ptr {record}, i64 0")
        issued = ir.get("ptr", cta, arena.ISSUED)
        total = FIELD["total"]
        for place, offset in (("%rec", _EXECUTED), (issued, 0), ("%env", total)):
            ir.put("i64", ir.op(f"add i64 {ir.get('i64', place, offset)}, {spent}"), place, offset)
        ir.put("i64", room, "%env", layout.ROOM)
        ir.put("i64", 0, "%env", FIELD["idle"])
        ir.put("ptr", slot, "%env", layout.SLOT)
        ir.put("ptr", record, "%env", layout.RUNNING)
        quantum = ir.get("i64", "%env", FIELD["quantum"])
        ir.put("i64", quantum, "%env", FIELD["left"])
        ir.put("i64", quantum, record, BUDGET)
        ir.br("warp")


def head_of(
    name: str, lines: list[str], fresh: int | None, instruments: Iterable[str]
) -> list[str]:
    """The head of a function, whose code has a warp's record as `%rec`, up to where it looks for
    the block to begin with (`seek`).

    Args:
        lines: all of that code.
        fresh: where warps begin with zeros.
        instruments: statements for what observers need.
    """
    after = [found for line in lines if (found := _LABEL.match(line)) is not None]
    first = "%first" if after else "%rec"
    names = [found[0][:-1] for found in after]
    records = "".join(f", [ %{name}.record, %{name} ]" for name in names)
    begins = "".join(f", [ {str(n[1] == 'fresh').lower()}, %{n[0][:-1]} ]" for n in after)
    loop = (
        "  br label %warp",
        "warp:",
        f"  %rec = phi ptr [ %first, %entry ]{records}",
        f"  %begins = phi i1 [ false, %entry ]{begins}",
    )
    return [
        f"define i32 @{name}(ptr noalias %env, ptr noalias {first}) {ON_STACK} {{",
        "entry:",
        f"  %markp = getelementptr i8, ptr %env, i64 {layout.MARKS}",
        "  %marks = load ptr, ptr %markp",
        *(loop if after else ()),
        f"  %came_from = getelementptr i8, ptr %rec, i64 {_CAME_FROM}",
        f"  %budget = getelementptr i8, ptr %rec, i64 {BUDGET}",
        f"  %pcs = getelementptr i8, ptr %rec, i64 {_PC}",
        f"  %actives = getelementptr i8, ptr %rec, i64 {_ACTIVE}",
        *(f"  {line}" for line in instruments),
        # The grid loop calls the version that fits the lanes, for one turn only.
        *((f"  br i1 %begins, label %z{fresh}, label %seek",) if after else ("  br label %seek",)),
    ]
