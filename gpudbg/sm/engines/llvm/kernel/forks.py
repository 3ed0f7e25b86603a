"""Forks: where guarded accesses begin, a whole warp that executes them all goes on by itself.

Compilers put a guard in the place of a branch round a few instructions: accesses inside the bounds
of an array, a border.  Where scalars tell that all lanes execute them the trace goes on with a
constant in the place of the predicate: plain accesses, no old values, and a guarded EXIT that is
one of all lanes or none.  Other warps go on through the record, in a block that begins there.
"""

from __future__ import annotations

from typing import Any

from gpudbg.isa.operands import PT
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, Builder
from gpudbg.sm.engines.llvm.ir.values import FULL, Msk
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.edges import Edges
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.registers import Registers

_ACCESSES = frozenset("LD LDG ST STG".split())
"""Accesses whose guard is usually a test of bounds; of shared memory it chooses some lanes."""
_MOST = 1
"""Most forks of a trace: each has what follows it a second time, and in long code one gains
nothing (a convolution of 25 guards)."""


class Forks:
    """Emits forks.

    Attributes:
        count: in the present trace.
    """

    def __init__(
        self,
        ir: Builder,
        cursor: Cursor,
        registers: Registers,
        edges: Edges,
        listing: KernelListing,
    ) -> None:
        self.ir, self.cursor, self.registers, self.edges = ir, cursor, registers, edges
        self.listing = listing
        self.count = 0

    def before(self, insn: Any) -> bool:
        """Emit a fork before the present instruction, where one is of use; whether it is there."""
        found = self._predicate(insn)
        if found is None or self.count >= _MOST or self.cursor.active != FULL:
            return False
        index, negated = found
        held = self.registers.now.preds.get(index)
        if not isinstance(held, Msk) or held.truth:
            return False
        every = held.none if negated else held.every
        if not every or not self._accesses(index, negated):
            return False
        self.count += 1
        here = self.ir.fresh("every")
        self.ir.choose(every, here, self.edges.here(), LIKELY)
        self.ir.label(here)
        self.registers.now.preds[index] = 0 if negated else FULL
        return True

    def _predicate(self, insn: Any) -> tuple[int, bool] | None:
        """(Number, whether negated) of the predicate that guards an instruction."""
        if self.listing.layout.has_control_words:
            index, negated = insn.guard
        elif insn.tests_guard or insn.uniform_guard:
            return None
        else:
            index, negated = insn.guard
        return None if index == PT else (index, negated)

    def _accesses(self, index: int, negated: bool) -> bool:
        """Whether this guard, and no other one, guards accesses among what follows in the block:
        a fork for each of several gains less than its copies cost."""
        listing, pc, found = self.listing, self.cursor.pc, False
        while pc in listing.code:
            insn = listing.code[pc]
            guard = self._predicate(insn) if insn.op in _ACCESSES else None
            if guard not in (None, (index, negated)):
                return False
            found |= guard is not None
            after = listing.following(pc)
            written = index in insn.writes().predicates
            if written or insn.op in listing.turns.flow or after in listing.heads:
                break
            pc = after
        return found
