"""Cache entries of accesses to global memory: one for each instruction that has any."""

from __future__ import annotations

from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor


class Sites:
    """Numbers of cache entries.

    Attributes:
        first: entries before those of this code.
        numbers: address of an instruction to the number of its entry, from `first`: every copy of
            a block has the same ones, so that there are no more than instructions.
        writes: entries of accesses that write, or find places for one that does.
        before_stores: addresses of the loads that find places for a store.
    """

    def __init__(self, ir: Builder, cursor: Cursor, first: int) -> None:
        self.ir, self.cursor, self.first = ir, cursor, first
        self.numbers: dict[int, int] = {}
        self.writes: set[int] = set()
        self.before_stores: set[int] = set()

    def number(self) -> int:
        """Number of the present instruction's cache entry."""
        return self.first + self.numbers.setdefault(self.cursor.pc, len(self.numbers))

    def entry(self, writes: bool = False) -> str:
        """The cache entry of this access."""
        number = self.number()
        if writes:
            self.writes.add(number)
        table = self.ir.get("ptr", "%env", layout.SITES)
        return self.ir.at(table, layout.SITE_BYTES * number)
