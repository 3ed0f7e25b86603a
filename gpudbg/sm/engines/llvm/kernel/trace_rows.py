"""Code that notes instructions and accesses for observers of batches (`gpudbg.sm.trace`).

A block reserves all its rows at its head, and leaves there if there is no room; an exit in its
middle releases rows of instructions that have not executed.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder, Pending, vector
from gpudbg.sm.engines.llvm.ir.values import FULL, Num, Values
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.instruments import Instrument
from gpudbg.sm.engines.llvm.kernel.special import VIRTUAL
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.record import FIELDS
from gpudbg.sm.schedule.turns import LONGEST
from gpudbg.sm.trace import (
    ACCESS_BYTES,
    ACCESSES,
    PLACE,
    ROW_BYTES,
    ROWS,
    WORDS,
    sync_of,
    what_of,
)

INDEX = FIELDS["index"].offset
SIZES = {
    "instructions": (ROWS, ROW_BYTES),
    "accesses": (ACCESSES, ACCESS_BYTES),
    "ordered": (ACCESSES, ACCESS_BYTES),
    "near_ordered": (ACCESSES, ACCESS_BYTES),
}
"""Rows of a trace and bytes of one."""
MOST = 2 * LONGEST
"""Most rows of a block."""
_ORDERED = ("ordered", "near_ordered")


@dataclass(slots=True)
class _Taken:
    """Rows of one trace that the present block has reserved.

    Attributes:
        place: where their number is.
        first: their number before.
        next: the first one taken.
        count: how many are taken, where that is written.
        by: index in the block of the instruction each one belongs to; LDGSTS has two accesses.
    """

    place: str
    first: str
    next: str
    count: Pending | None = None
    by: list[int] = field(default_factory=list)


class TraceRows(Instrument):
    """Rows of the traces that code fills.

    Attributes:
        traced: what is noted, of `trace.BATCHED`.
    """

    def __init__(
        self,
        ir: Builder,
        values: Values,
        cursor: Cursor,
        exits: Exits,
        traced: tuple[str, ...],
        full: bool,
    ) -> None:
        """Args: full: the code is for warps whose lanes are all active."""
        self.full = full
        self.ir, self.values, self.cursor, self.exits = ir, values, cursor, exits
        self.traced = traced
        self._taken: dict[str, _Taken] = {}
        self._who = self._index_word = self._warp = ""
        exits.rows_of = self._rows

    def mark(self) -> int:
        """The present instruction, for `revert`."""
        return self.cursor.index

    def revert(self, mark: int) -> None:
        """Release rows of the present instruction."""
        for rows in self._taken.values():
            rows.by = [index for index in rows.by if index < mark]

    def clear(self) -> None:
        """Begin a block without reserved rows."""
        self._taken = {}

    def begin_block(self) -> None:
        """Reserve rows, at the block's head."""
        ir = self.ir
        taken = {kind: self._take(kind) for kind in self.traced}
        for kind, rows in taken.items():
            number, rows.count = ir.pending(f"add i64 {rows.first}, ")
            ir.put("i64", number, rows.place)
            size = SIZES[kind][1]
            offset = ir.op(f"mul i64 {rows.first}, {size}")
            rows.next = ir.at(ir.at(rows.place, size), offset)
        cta = ir.get("i64", ir.get("ptr", "%rec", layout.CTA_POINTER))
        cta = ir.op(f"shl i64 {cta}, 32")
        index = ir.op(f"zext i32 {ir.get('i32', '%rec', INDEX)} to i64")
        place = ir.op(f"zext i32 {ir.get('i32', '%rec', VIRTUAL)} to i64")
        place = ir.op(f"and i64 {place}, {PLACE}")
        self._warp = ir.op(f"or i64 {cta}, {place}")
        self._who = ir.op(f"or i64 {self._warp}, {index}")
        if taken.keys() - {"instructions"}:
            self._index_word = ir.op(f"shl i64 {index}, 48")
            if self.full:
                self._warp = ir.op(f"or i64 {self._warp}, 1")
        self._taken = taken
        self.exits.new_point()

    def _take(self, kind: str) -> _Taken:
        """Emit an exit unless there is room for all rows that a block can note."""
        ir = self.ir
        place = ir.get("ptr", "%env", layout.TRACES[kind])
        first = ir.get("i64", place)
        full = self.exits.exit_at(self.exits.point, Left.FULL)
        ir.unless(ir.op(f"icmp ugt i64 {first}, {SIZES[kind][0] - MOST}"), full)
        return _Taken(place, first, "")

    def _rows(self, executed: int) -> tuple[tuple[str, str, int], ...]:
        return tuple(
            (rows.place, rows.first, sum(index < executed for index in rows.by))
            for rows in self._taken.values()
        )

    def _row_here(self, kind: str) -> str:
        """A pointer to the present instruction's row."""
        rows = self._taken[kind]
        rows.by.append(self.cursor.index)
        return self.ir.at(rows.next, SIZES[kind][1] * (len(rows.by) - 1))

    def _executing(self) -> str:
        """The executing lanes as an i64 operand."""
        lanes = FULL if self.cursor.exec == FULL else self.values.mask_bits(self.cursor.exec)
        return self.ir.op(f"zext i32 {lanes} to i64") if isinstance(lanes, str) else str(lanes)

    def note_instruction(self, insn: Any) -> None:
        """Write the rows of the present instruction: that it executes, and what it orders."""
        if "instructions" in self._taken:
            row = self._row_here("instructions")
            self.ir.put("i64", self.cursor.pc, row)
            self.ir.put("i64", self._executing(), row, 8)
            self.ir.put("i64", self._who, row, 16)
        self._note_order(insn)

    def note_access(self, kind: str, space: str, address: Num, size: int) -> None:
        """Write the row of an access, which is given back where the access leaves."""
        ir = self.ir
        rows = [
            self._access_row(trace, what_of(kind, space, size))
            for trace in ("accesses", *_ORDERED)
            if trace in self._taken and not (trace == "near_ordered" and space == "global")
        ]
        if not rows:
            return
        if space in ("shared", "local"):
            wide = vector("i64")
            places = f"{wide} {ir.op(f'zext {self.values.whole(address, 32)} to {wide}')}"
        else:
            places = self.values.whole(address, 64)
        for row in rows:
            ir.line(f"store {places}, ptr {ir.at(row, 8 * WORDS)}, align 8")

    def _access_row(self, trace: str, what: int) -> str:
        """A row with all but its addresses."""
        ir, row = self.ir, self._row_here(trace)
        word = ir.op(f"or i64 {self._index_word}, {what << 32}")
        ir.put("i64", self.cursor.pc, row)
        ir.put("i64", ir.op(f"or i64 {word}, {self._executing()}"), row, 8)
        ir.put("i64", self._warp, row, 16)
        return row

    def _note_order(self, insn: Any) -> None:
        """Write the row of an instruction that orders accesses; a shuffle of all lanes has none."""
        traces = [trace for trace in _ORDERED if trace in self._taken]
        what = sync_of(insn) if traces else None
        if what is not None and not (insn.op == "SHFL" and self.cursor.exec == FULL):
            for trace in traces:
                self._access_row(trace, what)

    def finish_block(self) -> None:
        """Write how many rows the block reserves, where it reserves them."""
        for rows in self._taken.values():
            assert len(rows.by) <= MOST
            assert rows.count is not None
            rows.count.settle(len(rows.by))
