"""Chooses how an access to memory is emitted: with a guessed pattern, with regular addresses, or as
a call of the run-time library; the first that applies emits it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudbg.mem.store import LONGEST
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import Mask, Num
from gpudbg.sm.engines.llvm.kernel.gathers import GatheredAccess
from gpudbg.sm.engines.llvm.kernel.instruments import Instruments
from gpudbg.sm.engines.llvm.kernel.library_access import LibraryAccess
from gpudbg.sm.engines.llvm.kernel.patterned_access import PatternedAccess
from gpudbg.sm.engines.llvm.kernel.regular_access import RegularAccess
from gpudbg.sm.engines.llvm.kernel.shared_sums import SharedSums


class Accesses:
    """Loads, stores and atomics of the machine interface."""

    def __init__(
        self,
        ir: Builder,
        patterned: PatternedAccess,
        regular: RegularAccess,
        sums: SharedSums,
        gathered: GatheredAccess,
        library: LibraryAccess,
        instruments: Instruments,
        plain: bool = False,
    ) -> None:
        """Args: instruments: emit what observers want before an access. plain: loads and stores are
        calls of the library, too, but for those `gathered` takes: that pays in code for any lanes,
        where some are inactive and the others seldom lie as guessed.
        """
        self.plain, self.gathered = plain, gathered
        self.ir, self.patterned, self.regular = ir, patterned, regular
        self.sums, self.library, self.instruments = sums, library, instruments

    def load(self, space: str, address: Num, size: int, signed: bool) -> Sequence[Num]:
        """The words of a load."""
        if size > LONGEST:
            low, high = self._halves(address, size)
            first = self.load(space, low, LONGEST, False)
            return [*first, *self.load(space, high, LONGEST, False)]
        self.instruments.note_access("load", space, address, size)
        address = self._own(space, address)
        found: Sequence[Num] | None = None
        if not self.plain:
            found = self.patterned.load(space, address, size, signed)
            if found is None and not self.patterned.apart(space, address, size):
                found = self.regular.load(space, address, size, signed)
        else:
            found = self.gathered.load(space, address, size, signed)
        if found is None:
            found = self.library.load(space, address, size, signed)
        return found

    def _halves(self, address: Num, size: int) -> tuple[Num, Num]:
        """Split a 32-byte access into two; bails out where it is misaligned."""
        self.library.leave_misaligned(address, size)
        return address, self.library.ints.wadd(address, LONGEST)

    def _own(self, space: str, address: Num) -> Num:
        return self.library.rank.own(address) if space == "shared" else address

    def store(self, space: str, address: Num, size: int, values: Sequence[Num]) -> None:
        """Emit a store of some words."""
        if size > LONGEST:
            low, high = self._halves(address, size)
            # The second half is checked first: it bails out before a byte changes.
            self.store(space, high, LONGEST, values[4:])
            self.store(space, low, LONGEST, values[:4])
            return
        self.instruments.note_access("store", space, address, size)
        address = self._own(space, address)
        self.library.marks.begin(space)
        if not self._store_in_place(space, address, size, values):
            self.library.store(space, address, size, values)
        self._end_marks(space, address, size, self.library.cursor.exec)

    def _store_in_place(self, space: str, address: Num, size: int, values: Sequence[Num]) -> bool:
        if self.plain:
            return self.gathered.store(space, address, size, values)
        if self.patterned.store(space, address, size, values):
            return True
        if self.patterned.apart(space, address, size):
            return False
        return self.regular.store(space, address, size, values)

    def atomic(self, space: str, op: str, type_: str, address: Num, operands: Sequence[Num]) -> Num:
        """Emit an atomic. Returns the old values."""
        self.instruments.note_atomic(space, op, type_, address)
        address = self._own(space, address)
        self.library.marks.begin(space)
        old: Num = 0
        if not self.sums.add(space, op, type_, address, operands):
            old = self.library.atomic(space, op, type_, address, operands)
        wrote, bits = self.library.cursor.exec, layout.ATOMICS.get(f"{op}.{type_}", 0)
        if op == "CAS" and space in self.library.marks.spaces:
            ints = self.library.ints
            wrote = ints.mand(wrote, (ints.eq if bits == 32 else ints.weq)(old, operands[0]))
        self._end_marks(space, address, bits // 8, wrote)
        return old

    def _end_marks(self, space: str, address: Num, size: int, lanes: Mask) -> None:
        self.library.marks.end()
        self.library.mark(space, address, size, lanes)

    def fence(self, block: bool) -> None:
        """Emit a fence; accesses of one block are in order anyway, since its warps share a host
        thread.
        """
        if not block:
            self.ir.line("fence seq_cst")
