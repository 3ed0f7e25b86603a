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
        rooms: entry -> how many accesses have a room of their own there.
    """

    def __init__(self, ir: Builder, cursor: Cursor, first: int) -> None:
        self.ir, self.cursor, self.first = ir, cursor, first
        self.numbers: dict[int, int] = {}
        self.writes: set[int] = set()
        self.before_stores: set[int] = set()
        self.rooms: dict[int, int] = {}
        self._loads: dict[int, set[int]] = {}

    def number(self) -> int:
        """Number of the present instruction's cache entry."""
        return self.first + self.numbers.setdefault(self.cursor.pc, len(self.numbers))

    def entry(self, writes: bool = False) -> str:
        """The cache entry of this access."""
        return self.at(self.number(), writes)

    def at(self, number: int, writes: bool = False) -> str:
        """A cache entry, for this access."""
        self._loads.setdefault(number, set())
        if writes:
            self.write(number)
        else:
            self._loads[number].add(self.cursor.pc)
            if number in self.writes:
                self.before_stores.add(self.cursor.pc)
        return self.ir.at("%sites", layout.SITE_BYTES * number)

    def write(self, number: int) -> None:
        """Note that an access writes to what an entry has found."""
        self.writes.add(number)
        self.before_stores |= self._loads[number]

    def room(self, number: int) -> int:
        """Offset in an entry of a room that no other access has, nor another copy of this one; 0
        where all are taken."""
        taken = self.rooms.get(number, 0)
        if taken == len(layout.SITE_ROOMS):
            return 0
        self.rooms[number] = taken + 1
        return layout.SITE_ROOMS[taken]
