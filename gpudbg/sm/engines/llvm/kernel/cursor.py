"""Cursor: the present instruction of the emitter, and the lanes that execute it."""

from __future__ import annotations

from typing import NamedTuple

from gpudbg.code_layout import BUNDLES, CodeLayout
from gpudbg.sm.engines.llvm.ir.values import FULL, Mask, copy_of


class Executing(NamedTuple):
    """The executing lanes: the active ones, restricted by a guard (index, negated, value of the
    predicate) or None.
    """

    active: Mask
    guard: tuple[int, bool, Mask] | None


class Cursor:
    """The present instruction.

    Attributes:
        pc: its address.
        index: instructions of the block before it.
        budget: IR name of the turn's budget at the block's head.
        active: the active lanes.
        within: masks of lanes that the active ones are among.
        exec: the lanes that execute.
        executing: the same as active lanes and guard.
        guarded: it has a guard.
        wants_old: it has a use for what an atomic finds.
        terminated: the present block has its terminator.
        parted: the code is for whole warps, and some lanes only are active in the present block.
    """

    def __init__(self, layout: CodeLayout = BUNDLES) -> None:
        self._layout = layout
        self.pc = self.index = 0
        self.budget = ""
        self.active: Mask = FULL
        self.within: tuple[Mask, ...] = ()
        self.exec: Mask = FULL
        self.executing = Executing(FULL, None)
        self.guarded = self.wants_old = self.terminated = self.parted = False

    @property
    def next_pc(self) -> int:
        """The address of the instruction after this one in straight code."""
        return self._layout.next(self.pc)

    def mark(self) -> Mask:
        """The known mask of active lanes, for `revert`."""
        return copy_of(self.active)

    def revert(self, mark: Mask) -> None:
        """Restore what was known about the block's values at an earlier point."""
        self.active, self.terminated = mark, False
