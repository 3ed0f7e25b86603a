"""Bulk copies and copies of tensors: calls of the library with the operands of the first lane."""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.ir.values import Num, Slow, Values
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.runtime_calls import RuntimeCalls

_MOST_DIMENSIONS = 5
_RANKS = 16
"""First bit, in an operand, of the mask of ranks that a copy goes to."""


class Copies:
    """The operations of the machine interface."""

    def __init__(
        self,
        ir: Builder,
        values: Values,
        ints: Integers,
        cursor: Cursor,
        exits: Exits,
        runtime: RuntimeCalls,
        library: LibraryAccess,
    ) -> None:
        self.ir, self.values, self.ints, self.cursor = ir, values, ints, cursor
        self.exits, self.runtime, self.library = exits, runtime, library

    def _first(self, value: Num, bits: int) -> str:
        """What the first executing lane has."""
        if self.values.uniform(value):
            return f"i{bits} {self.values.scalar(value, bits)}"
        lanes = self.values.mask_bits(self.cursor.exec)
        first = self.ir.op(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 false)")
        lane = self.ir.op(f"and i32 {first}, 31")
        every = self.values.whole(value, bits)
        return f"i{bits} {self.ir.op(f'extractelement {every}, i32 {lane}')}"

    def _call(self, name: str, *operands: str) -> None:
        """Call a function; leave where the copy is not made."""
        if self.library.observed:
            raise Slow("an observed copy")
        function, lanes = self.runtime.function(name), self.values.mask_bits(self.cursor.exec)
        about = ", ".join(("ptr %env", "ptr %rec", *operands, f"i32 {lanes}"))
        self.exits.bail_unless(self.ir.op(f"call i1 {function}({about})"))

    def _ranks(self, mask: Num | None) -> tuple[str, str]:
        """Whether a copy has a mask of ranks, and that."""
        if mask is None:
            return "i32 0", "i32 0"
        return "i32 1", self._first(self.ints.shr(mask, _RANKS), 32)

    def bulk_copy(
        self, route: tuple[str, str], target: Num, barrier: Num, source: Num, size: Num,
        multicast: bool = False, reduce: tuple[str, str] | None = None, masked: bool = False,
    ) -> None:  # fmt: skip
        """Emit a bulk copy; reductions and copies of some bytes are left to the step engine."""
        if reduce is not None or masked:
            raise Slow("a bulk reduction, or a bulk copy of some bytes")
        units = self._first(size, 32)
        narrow = self._first(self.ints.lo(source), 32) if route[1] == "S" else ""
        if route[0] == "G":
            self._call("bulk.to_global", self._first(target, 64), narrow, units)
            return
        name = "bulk.from_shared" if narrow else "bulk.from_global"
        origin = narrow or self._first(source, 64)
        place = self._first(self.ints.lo(target), 32)
        ranks = self._ranks(size if multicast else None)
        self._call(name, origin, place, self._first(barrier, 32), units, *ranks)

    def _tensor(
        self, name: str, place: Num, shared: Num, barrier: Num, corner: Sequence[Num],
        mask: Num | None,
    ) -> None:  # fmt: skip
        row = self.runtime.new_row()
        for n, value in enumerate(corner[:_MOST_DIMENSIONS]):
            word = self._first(value, 32).removeprefix("i32 ")
            self.ir.put("i32", word, row, 4 * n)
        about = self._first(place, 64), self._first(shared, 32), self._first(barrier, 32)
        self._call(name, *about, f"ptr {row}", f"i32 {len(corner)}", *self._ranks(mask))

    def tensor_load(
        self, place: Num, target: Num, barrier: Num, corner: Sequence[Num],
        shift: Sequence[Num] | None, mask: Num | None, rows: bool = False,
    ) -> None:  # fmt: skip
        """Emit a copy of a box to shared memory; by columns and of chosen rows it is stepped."""
        if shift is not None or rows:
            raise Slow("a tensor copy by columns, or of chosen rows")
        self._tensor("tensor.load", place, target, barrier, corner, mask)

    def tensor_store(
        self, place: Num, source: Num, corner: Sequence[Num], columns: bool,
        reduce: str | None = None, rows: bool = False,
    ) -> None:  # fmt: skip
        """Emit a copy of a box from shared memory; reductions are left to the step engine, too."""
        if columns or reduce is not None or rows:
            raise Slow("a tensor reduction, or a tensor copy by columns or of chosen rows")
        self._tensor("tensor.store", place, source, 0, corner, None)


__all__ = ["Copies"]
