"""Code that notes every instruction for observers of batches (`gpudbg.sm.trace`).

A block takes rows for all its instructions at its head, where it leaves if there is no room; an
exit in its middle gives back those of what has not executed.
"""

from __future__ import annotations

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.emitter import Emitter
from gpudbg.sm.engines.llvm.lanes import FULL
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.ways import Ahead
from gpudbg.sm.record import FIELDS
from gpudbg.sm.trace import ROW_BYTES, ROWS
from gpudbg.sm.turns import LONGEST

INDEX = FIELDS["index"].offset


class TracedEmitter(Emitter):
    """As `Emitter`, with a row of the trace for each instruction."""

    _place = _first = _who = _next = ""
    _taken_at = 0

    def _begin(self, head: int, ahead: Ahead | None) -> None:
        self._place = ""
        super()._begin(head, ahead)
        place = self.get("ptr", "%env", layout.TRACE)
        self._first = self.get("i64", place)
        full = self._exit(self._point, Left.FULL)
        self.unless(self.op(f"icmp ugt i64 {self._first}, {ROWS - LONGEST}"), full)
        self._taken_at = len(self.lines)
        taken = self.op(f"add i64 {self._first}, 0")
        self.put("i64", taken, place)
        offset = self.op(f"mul i64 {self._first}, {ROW_BYTES}")
        self._next = self.at(self.at(place, ROW_BYTES), offset)
        cta = self.get("i64", self.get("ptr", "%rec", layout.CTA_POINTER))
        index = self.op(f"zext i32 {self.get('i32', '%rec', INDEX)} to i64")
        self._who = self.op(f"or i64 {self.op(f'shl i64 {cta}, 32')}, {index}")
        self._place = place
        self.take_point()

    def _rows(self, executed: int) -> tuple[str, str, int] | None:
        return (self._place, self._first, executed) if self._place else None

    def _guard(self, index: int, negated: bool) -> None:
        super()._guard(index, negated)
        row = self.at(self._next, ROW_BYTES * self._index)
        self.put("i64", self.pc(), row)
        lanes = FULL if self.exec == FULL else self.mask_bits(self.exec)
        if isinstance(lanes, str):
            lanes = self.op(f"zext i32 {lanes} to i64")
        self.put("i64", lanes, row, 8)
        self.put("i64", self._who, row, 16)

    def _finish(self, count: int) -> None:
        line = self.lines[self._taken_at]
        self.lines[self._taken_at] = line[: line.rindex(",")] + f", {count}"
        super()._finish(count)
