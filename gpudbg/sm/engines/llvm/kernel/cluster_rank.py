"""Shared-memory addresses in launches with clusters: a block's own may contain its rank.

A block's own memory is at rank 0 and at its rank (`gpudbg.sm.engines.memory`); compiled code
subtracts the rank.  Another block's address remains outside every block's memory, so that it bails
out to the step engine.
"""

from __future__ import annotations

from gpudbg.mem.windows import RANK_SHIFT
from gpudbg.sm.engines.llvm import layout
from gpudbg.sm.engines.llvm.ir.builder import Builder
from gpudbg.sm.engines.llvm.ir.values import UNIFORM, Num, Val, Values
from gpudbg.sm.residency import arena


class ClusterRank:
    """The rank of the present block in its cluster.

    Attributes:
        clustered: the launch has clusters of several blocks.
    """

    def __init__(self, ir: Builder, values: Values, clustered: bool) -> None:
        self.ir, self.values, self.clustered = ir, values, clustered

    def _word(self) -> str:
        """The block's rank at its position in addresses."""
        block = self.ir.get("ptr", "%rec", layout.CTA_POINTER)
        return self.ir.get("i32", block, arena.RANK)

    def number(self) -> Val:
        """The block's rank in its cluster."""
        return Val(32, self.ir.op(f"lshr i32 {self._word()}, {RANK_SHIFT}"), UNIFORM)

    def own(self, address: Num) -> Num:
        """An address in the block's own memory without its rank."""
        if not self.clustered or (isinstance(address, int) and not address >> RANK_SHIFT):
            return address
        ir, word = self.ir, self._word()
        if isinstance(address, int) or address.shape is UNIFORM:
            given = self.values.scalar(address, 32)
            without = ir.op(f"xor i32 {given}, {word}")
            least = ir.op(f"call i32 @llvm.umin.i32(i32 {without}, i32 {given})")
            return Val(32, least, UNIFORM)
        kind, given = "<32 x i32>", self.values.bare(address, 32)
        without = ir.op(f"xor {kind} {given}, {self.values.spread(word, 32)}")
        # The smaller of the two: the address itself at rank 0, the remainder at the block's rank.
        least = ir.op(f"call {kind} @llvm.umin.v32i32({kind} {without}, {kind} {given})")
        return Val(32, least)
