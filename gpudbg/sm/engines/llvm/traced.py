"""Code that notes every instruction for observers of batches (`gpudbg.sm.trace`).

A block takes rows for all its instructions at its head, where it leaves if there is no room; an
exit in its middle gives back those of what has not executed.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.emitter import Emitter, _Exit
from gpudbg.sm.engines.llvm.lanes import FULL
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.record import FIELDS
from gpudbg.sm.trace import ROW_BYTES, ROWS
from gpudbg.sm.turns import LONGEST

INDEX = FIELDS["index"].offset


class TracedEmitter(Emitter):
    """As `Emitter`, with a row of the trace for each instruction."""

    _rows = _first = _who = ""
    _taken_at = 0

    def _begin(self, head: int) -> int:
        budget_at = super()._begin(head)
        self._rows = self.get("ptr", "%env", layout.TRACE)
        self._first = self.get("i64", self._rows)
        full = self.fresh("x")
        self._exits.append(_Exit(full, Left.FULL, head, 0, 0))
        self.unless(self.op(f"icmp ugt i64 {self._first}, {ROWS - LONGEST}"), full)
        self._taken_at = len(self.lines)
        taken = self.op(f"add i64 {self._first}, 0")
        self.put("i64", taken, self._rows)
        offset = self.op(f"mul i64 {self._first}, {ROW_BYTES}")
        self._next = self.at(self.at(self._rows, ROW_BYTES), offset)
        cta = self.get("i64", self.get("ptr", "%rec", layout.CTA_POINTER))
        index = self.op(f"zext i32 {self.get('i32', '%rec', INDEX)} to i64")
        self._who = self.op(f"or i64 {self.op(f'shl i64 {cta}, 32')}, {index}")
        return budget_at

    def _guard(self, index: int, negated: bool) -> None:
        super()._guard(index, negated)
        row = self.at(self._next, ROW_BYTES * self._index)
        self.put("i64", self.pc(), row)
        lanes = FULL if self.exec == FULL else self.mask_bits(self.exec)
        if isinstance(lanes, str):
            lanes = self.op(f"zext i32 {lanes} to i64")
        self.put("i64", lanes, row, 8)
        self.put("i64", self._who, row, 16)

    def _finish(self, budget_at: int, count: int) -> None:
        line = self.lines[self._taken_at]
        self.lines[self._taken_at] = line[: line.rindex(",")] + f", {count}"
        # The grid loop executes a BAR by itself; where it cannot, its row is taken back there.
        kept = {f"{o.label}:": o.executed + (o.why is Left.BARRIER) for o in self._exits}
        start = len(self._tail)
        super()._finish(budget_at, count)
        for at in range(len(self._tail) - 1, start - 1, -1):
            label = self._tail[at]
            if label in kept and kept[label] != count:
                name = f"%{label[:-1]}"
                self._tail[at + 1 : at + 1] = [
                    f"  {name}n = add i64 {self._first}, {kept[label]}",
                    f"  store i64 {name}n, ptr {self._rows}",
                ]
