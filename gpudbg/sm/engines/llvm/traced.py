"""Code that notes instructions and accesses for observers of batches (`gpudbg.sm.trace`).

A block takes rows for all it notes at its head, where it leaves if there is no room; an exit in its
middle gives back those of what has not executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.emitter import Emitter
from gpudbg.sm.engines.llvm.lanes import FULL, Num
from gpudbg.sm.engines.llvm.layout import Left
from gpudbg.sm.engines.llvm.special import VIRTUAL
from gpudbg.sm.engines.llvm.text import vector
from gpudbg.sm.record import FIELDS
from gpudbg.sm.trace import ACCESS_BYTES, ACCESSES, ROW_BYTES, ROWS, WORDS, what_of
from gpudbg.sm.turns import LONGEST

INDEX = FIELDS["index"].offset
SIZES = {"instructions": (ROWS, ROW_BYTES), "accesses": (ACCESSES, ACCESS_BYTES)}
"""Rows of a trace and bytes of one."""


@dataclass(slots=True)
class _Taken:
    """Rows of one trace that the present block has taken.

    Attributes:
        place: where their number is.
        first: their number before.
        next: the first one taken.
        line: index of the line that takes them.
        by: index in the block of the instruction each one belongs to; one at most of each.
    """

    place: str
    first: str
    next: str
    line: int
    by: list[int] = field(default_factory=list)


class TracedEmitter(Emitter):
    """As `Emitter`, with rows of the traces.

    Attributes:
        traced: what is noted, of `trace.BATCHED`.
    """

    def __init__(self, traced: tuple[str, ...], *about: Any) -> None:
        super().__init__(*about)
        self.traced = traced
        self._taken: dict[str, _Taken] = {}
        self._who = self._index_word = self._warp = ""

    def _begin(self, head: int, ahead: Any) -> None:
        self._taken = {}
        super()._begin(head, ahead)
        taken = {kind: self._take(kind) for kind in self.traced}
        for kind, rows in taken.items():
            rows.line = len(self.lines)
            number = self.op(f"add i64 {rows.first}, 0")
            self.put("i64", number, rows.place)
            size = SIZES[kind][1]
            offset = self.op(f"mul i64 {rows.first}, {size}")
            rows.next = self.at(self.at(rows.place, size), offset)
        cta = self.get("i64", self.get("ptr", "%rec", layout.CTA_POINTER))
        cta = self.op(f"shl i64 {cta}, 32")
        index = self.op(f"zext i32 {self.get('i32', '%rec', INDEX)} to i64")
        self._who = self.op(f"or i64 {cta}, {index}")
        if "accesses" in taken:
            self._index_word = self.op(f"shl i64 {index}, 48")
            place = self.op(f"zext i32 {self.get('i32', '%rec', VIRTUAL)} to i64")
            self._warp = self.op(f"or i64 {cta}, {place}")
        self._taken = taken
        self.take_point()

    def _take(self, kind: str) -> _Taken:
        """Leave unless there is room for all that a block can note."""
        place = self.get("ptr", "%env", layout.TRACES[kind])
        first = self.get("i64", place)
        full = self._exit(self._point, Left.FULL)
        self.unless(self.op(f"icmp ugt i64 {first}, {SIZES[kind][0] - LONGEST}"), full)
        return _Taken(place, first, "", 0)

    def _rows(self, executed: int) -> tuple[tuple[str, str, int], ...]:
        return tuple(
            (rows.place, rows.first, sum(index < executed for index in rows.by))
            for rows in self._taken.values()
        )

    def _row_here(self, kind: str) -> str:
        """A pointer to the present instruction's row."""
        rows = self._taken[kind]
        assert self._index not in rows.by
        rows.by.append(self._index)
        return self.at(rows.next, SIZES[kind][1] * (len(rows.by) - 1))

    def _take_back(self, kept: Any) -> None:
        super()._take_back(kept)
        for rows in self._taken.values():
            rows.by = [index for index in rows.by if index < self._index]

    def _executing(self) -> str:
        """The executing lanes as an i64 operand."""
        lanes = FULL if self.exec == FULL else self.mask_bits(self.exec)
        return self.op(f"zext i32 {lanes} to i64") if isinstance(lanes, str) else str(lanes)

    def _guard(self, index: int, negated: bool) -> None:
        super()._guard(index, negated)
        if "instructions" in self._taken:
            row = self._row_here("instructions")
            self.put("i64", self.pc(), row)
            self.put("i64", self._executing(), row, 8)
            self.put("i64", self._who, row, 16)

    # ---- accesses ------------------------------------------------------------------------

    def load(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num]:
        self._note("load", space, address, size)
        return super().load(space, address, size, signed)

    def store(self, space: str, address: Num, size: int, values: Sequence[Num]) -> None:
        self._note("store", space, address, size)
        super().store(space, address, size, values)

    def atomic(self, space: str, op: str, type_: str, address: Num, operands: Sequence[Num]) -> Num:
        bits = layout.ATOMICS.get(f"{op}.{type_}", 0)
        if bits and f"atomic.{space}.{op}.{type_}" in layout.FUNCTION_INDEX:
            self._note("atomic", space, address, bits // 8)
        return super().atomic(space, op, type_, address, operands)

    def _note(self, kind: str, space: str, address: Num, size: int) -> None:
        """Write the row of an access, which is given back where the access leaves."""
        if "accesses" not in self._taken:
            return
        row = self._row_here("accesses")
        what = self.op(f"or i64 {self._index_word}, {what_of(kind, space, size) << 32}")
        self.put("i64", self.pc(), row)
        self.put("i64", self.op(f"or i64 {what}, {self._executing()}"), row, 8)
        self.put("i64", self._warp, row, 16)
        if space in ("shared", "local"):
            wide = vector("i64")
            places = f"{wide} {self.op(f'zext {self.whole(address, 32)} to {wide}')}"
        else:
            places = self.whole(address, 64)
        self.line(f"store {places}, ptr {self.at(row, 8 * WORDS)}, align 8")

    def _finish(self, count: int) -> None:
        for rows in self._taken.values():
            assert len(rows.by) <= LONGEST
            line = self.lines[rows.line]
            self.lines[rows.line] = line[: line.rindex(",")] + f", {len(rows.by)}"
        super()._finish(count)
