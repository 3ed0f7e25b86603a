"""Side exits, and the deoptimisation points they go back to.

A `DeoptPoint` is a place before an instruction with what was known there.  A side exit to it
stores, out of the way, what the record lacks of the state at that place.  Bailing out to the step
engine means to begin again at the last point, so nothing that cannot be done twice may lie behind
it: after a change of memory or of the divergence stack a new point is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.final_state import BEGIN, CALL, END
from gpudbg.sm.engines.llvm.kernel.registers import NamedState, Registers
from gpudbg.sm.engines.llvm.layout import PC_UNIT, Left
from gpudbg.sm.record import FIELDS

BUDGET = FIELDS["budget"].offset
MOST_BEHIND = 0xFFFF
KEPT = "  ; kept"
"""Begins a line that says that a loop's state may be kept where it would be stored (`turn_states`).
"""
_LEAST_SHARED = 2
"""Least registers, predicates and flags that exits of several points store in one place."""

TraceRows = tuple[tuple[str, str, int], ...]
"""For each trace: pointer to its number of rows, that number at the block's head, and how many more
belong to executed instructions.
"""


@dataclass(slots=True)
class DeoptPoint:
    """A place that an exit goes back to.

    Attributes:
        pc: of the next instruction there.
        left: name of the budget at the head of its block.
        executed: instructions of the block before it.
        names: what the record lacks.
        rows: of each trace: pointer to their number, their number at the block's head, and how many
            more belong to executed instructions.
        labels: code that the function returns -> label that goes there.
        kept: of a loop's turn: labels of the loop's head, of the block that asks whether the turn
            ends, of that which leads back, and where the mark of the head's block is; else "".
    """

    pc: int
    left: str
    executed: int
    names: NamedState
    rows: tuple[tuple[str, str, int], ...] = ()
    labels: dict[int, str] = field(default_factory=dict)
    kept: str = ""


class Exits:
    """The points and side exits of the present trace.

    Attributes:
        points: those that may have exits.
        point: where a bail-out goes back to.
        memory_changed: memory, or the divergence stack, has changed since that point.
        rows_of: rows of traces after some instructions of the block, where code is traced.
        over: statement that ends code where a turn is over.
        shared: exits of points between which no register has changed store them in one place.
    """

    def __init__(self, ir: Builder, registers: Registers, cursor: Cursor) -> None:
        self.ir, self.registers, self.cursor = ir, registers, cursor
        self.points: list[DeoptPoint] = []
        self.point = DeoptPoint(0, "", 0, NamedState())
        self.memory_changed = False
        self.rows_of: Callable[[int], TraceRows] = lambda executed: ()
        self.over = f"ret i32 {int(Left.TURN)}"
        self.shared = False

    def mark(self) -> tuple[int, DeoptPoint, dict[int, str], bool]:
        """Points and exits taken so far, for `revert`."""
        return len(self.points), self.point, dict(self.point.labels), self.memory_changed

    def revert(self, mark: tuple[int, DeoptPoint, dict[int, str], bool]) -> None:
        """Drop points and exits taken since a mark."""
        count, self.point, self.point.labels, self.memory_changed = mark
        del self.points[count:]

    def new_point(self) -> None:
        """Take a new point before the present instruction, to which bail-outs return."""
        self.point = self._point_at(self.cursor.pc, self.cursor.index)
        self.memory_changed = False

    def _point_at(self, pc: int, executed: int) -> DeoptPoint:
        rows = self.rows_of(executed)
        point = DeoptPoint(pc, self.cursor.budget, executed, self.registers.now.dirty(), rows)
        self.points.append(point)
        return point

    def stored(self) -> DeoptPoint:
        """Store late state, on the present path only. Returns a point there, before the present
        instruction.
        """
        point = self._point_at(self.cursor.pc, self.cursor.index)
        self.registers.store(point.names)
        point.names = NamedState()
        return point

    def side_exit(self, why: Left, pc: int, extra: int = 0, undone: bool = True) -> str:
        """A label that leaves the function; `undone`: this instruction has not executed."""
        if why is Left.STEP:
            # Distance from the point to the instruction that caused the exit, for `info engine`.
            behind = max(self.cursor.pc - self.point.pc, 0) // PC_UNIT
            return self.exit_at(self.point, why, min(behind, MOST_BEHIND))
        point = self._point_at(pc, self.cursor.index + (0 if undone else 1))
        if why is Left.BARRIER:
            # The grid loop executes a BAR itself; where it cannot, it takes the row back.
            point.rows = self.rows_of(point.executed + 1)
        return self.exit_at(point, why, extra)

    def exit_at(self, point: DeoptPoint, why: Left, extra: int = 0) -> str:
        """A label that leaves the function, with the state as it was at a point."""
        code = int(why) | extra << 8
        label = point.labels.get(code)
        if label is None:
            label = point.labels[code] = self.ir.fresh("x")
        return label

    def leave_at_barrier(self, code: str) -> None:
        """Leave here for a BAR whose code (an i32) is computed; the block ends."""
        ir, cursor = self.ir, self.cursor
        point = self._point_at(cursor.pc, cursor.index)
        # As of `side_exit`.
        point.rows = self.rows_of(point.executed + 1)
        self._store(point)
        why = ir.op(f"or i32 {ir.op(f'shl i32 {code}, 8')}, {int(Left.BARRIER)}")
        ir.line(f"ret i32 {why}")

    def write_exits(self) -> None:
        """Emit the code of all exits so far."""
        for points in self._groups():
            with self.ir.aside(), self.registers.values.away():
                self._write_exits(points)
        self.points.clear()

    def _groups(self) -> list[list[DeoptPoint]]:
        """The points with exits, those together that store the same registers."""
        groups: list[list[DeoptPoint]] = []
        for point in self.points:
            if not point.labels:
                continue
            same = self._group_of(point, groups) if self.shared else None
            if same is None:
                groups.append([point])
            else:
                same.append(point)
        return groups

    def _group_of(
        self, point: DeoptPoint, groups: list[list[DeoptPoint]]
    ) -> list[DeoptPoint] | None:
        """The group of a point, if there is one and it has enough to store."""
        if len(point.names.dirty_keys()) < _LEAST_SHARED:
            return None
        for group in groups:
            first = group[0]
            turns = sum(Left.TURN in other.labels for other in (*group, point))
            if turns > 1 and any(other.kept for other in (*group, point)):
                continue
            if first.rows == point.rows and first.names.stores_as(point.names):
                return group
        return None

    def _write_exits(self, points: list[DeoptPoint]) -> None:
        """Emit the exits of points that store the same registers."""
        ir, first = self.ir, points[0]
        if len(points) == 1 and len(first.labels) == 1:
            code, label = next(iter(first.labels.items()))
            ir.label(label)
            self._store(first)
            ir.line(self.over if code == Left.TURN else f"ret i32 {code}")
            return
        out = ir.fresh("s")
        for point in points:
            for code, label in point.labels.items():
                ir.label(label)
                # In memory: a phi's numbers would be set before the branches that lead here.
                ir.line(f"store i32 {code}, ptr %why")
                if len(points) > 1:
                    self._store_place(point)
                ir.br(out)
        ir.label(out)
        kept = next((point.kept for point in points if point.kept), "")
        if kept:
            ir.lines.append(f"{KEPT} {kept}")
        if len(points) > 1:
            self._store_state(first)
        else:
            self._store(first)
        why = ir.op("load i32, ptr %why")
        if any(Left.TURN in point.labels for point in points):
            over, left = ir.fresh("over"), ir.fresh("left")
            ir.choose(ir.op(f"icmp eq i32 {why}, {int(Left.TURN)}"), over, left)
            ir.label(over)
            ir.line(self.over)
            ir.label(left)
        if kept:
            ir.lines.append(CALL)
        ir.line(f"ret i32 {why}")

    def _store(self, point: DeoptPoint) -> None:
        """Bring the record to where it was at a point."""
        self.registers.store(point.names)
        self.store_budget(point.left, point.executed)
        self._store_rows(point)
        self.ir.line(f"store i64 {point.pc}, ptr %pcs")

    def _store_state(self, point: DeoptPoint) -> None:
        """As `_store`, but for the place in the code."""
        self.registers.store(point.names)
        self._store_rows(point)

    def _store_rows(self, point: DeoptPoint) -> None:
        for place, first, more in point.rows:
            self.ir.put("i64", self.ir.op(f"add i64 {first}, {more}"), place)

    def _store_place(self, point: DeoptPoint) -> None:
        """Store a point's place in the code, and what is left of the budget there."""
        self.store_budget(point.left, point.executed)
        self.ir.line(f"store i64 {point.pc}, ptr %pcs")

    def store_budget(self, left: str, executed: int) -> None:
        """Emit a store of what is left of the budget after some instructions."""
        rest = self.ir.op(f"sub i64 {left}, {executed}") if executed else left
        self.ir.line(f"store i64 {rest}, ptr %budget")

    @property
    def may_leave(self) -> bool:
        """Whether an exit to the last point exists."""
        return bool(self.point.labels)

    def settle(self) -> None:
        """Emit stores that bring the record up to date, before the present instruction."""
        self.registers.store(self.registers.now.dirty())
        self.registers.now.forget_dirty()
        self.new_point()

    def settle_finally(self) -> None:
        """As `settle`, for a warp that ends here and may be followed by another (`final_state`)."""
        self.ir.lines.append(BEGIN)
        self.settle()
        self.ir.lines.append(END)

    def spend(self) -> None:
        """Emit the subtraction of executed instructions, with the present one, from the record's
        budget.
        """
        self.store_budget(self.cursor.budget, self.cursor.index + 1)

    def bail_unless(self, good: str) -> None:
        """Bail out to the step engine, back to the last point, unless an i1 holds."""
        self.ir.provided(good, self.side_exit(Left.STEP, self.cursor.pc))

    def speculate(self, good: str) -> None:
        """Leave for code without the guess, back to the last point, unless an i1 holds."""
        self.ir.provided(good, self.exit_at(self.point, Left.GUESS))
