"""Continuation from one piece of straight code to the next, at which a turn may also begin."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import LIKELY, Builder
from gpudbg.sm.engines.llvm.kernel import lane_facts
from gpudbg.sm.engines.llvm.kernel.carried import CarriedTests
from gpudbg.sm.engines.llvm.kernel.edges import Edges, Fallthrough
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.lane_facts import Facts
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.merges import Merges, keys_of
from gpudbg.sm.engines.llvm.kernel.registers import NamedState, Registers
from gpudbg.sm.engines.llvm.layout import Left

MOST_ON = 3
"""Most registers that stay in names between pieces: the ones used last."""


@dataclass(slots=True)
class Blocks:
    """Blocks that have been emitted.

    Attributes:
        order: heads that can be entered.
        placed: pieces that have been gone on to.
        fresh: heads that warps which begin enter with zeros.
        extents: block head to the address of its last instruction.
    """

    order: list[int] = field(default_factory=list)
    placed: set[int] = field(default_factory=set)
    fresh: list[int] = field(default_factory=list)
    extents: dict[int, int] = field(default_factory=dict)


class Pieces:
    """Ends of pieces, and heads of the pieces that follow."""

    def __init__(
        self,
        ir: Builder,
        registers: Registers,
        exits: Exits,
        edges: Edges,
        merges: Merges,
        listing: KernelListing,
        blocks: Blocks,
        carried: CarriedTests,
    ) -> None:
        self.ir, self.registers, self.exits, self.edges = ir, registers, exits, edges
        self.merges, self.listing, self.blocks = merges, listing, blocks
        self.carried = carried

    def begins(self, insn: Any, after: int) -> bool:
        """Whether the next piece of straight code begins here, for the first time."""
        listing = self.listing
        return (
            listing.turns.starts_piece(after)
            and after in listing.code
            and after not in listing.merge_points
            and after not in self.blocks.placed
            and after not in self.blocks.order
            and insn.op not in listing.turns.flow
        )

    def _trim(self, most: int) -> None:
        """Store registers, except for the `most` used last."""
        now = self.registers.now
        numbers = {n for n in now.dirty_regs if isinstance(now.regs[n], int)}
        late = sorted(now.dirty_regs - numbers, key=lambda n: -self.registers.used.get(n, 0))
        kept = set(late[:most])
        shared = now.dirty_uregs & self.registers.uniform.carried
        self.registers.store(
            now.spill(
                NamedState(
                    dirty_regs=kept,
                    dirty_preds=now.dirty_preds,
                    dirty_flags=now.dirty_flags,
                    dirty_uregs=shared,
                )
            )
        )

    def end_piece(self, pc: int) -> None:
        """Go on in the next piece, which a turn may also begin with."""
        facts = self.edges.known.before(pc)
        self._trim(MOST_ON)
        self.blocks.placed.add(pc)
        following = self.ir.fresh("k")
        left = self.merges.turn_ends(pc, following)
        self.edges.ahead = Fallthrough(
            following,
            pc,
            self.edges.behind,
            (left, 0),
            self.registers.now,
            {},
            {},
            True,
            facts=facts,
        )

    def begin_piece(self, ahead: Fallthrough) -> None:
        """The head of a piece: from the one before and from the record."""
        pc = ahead.pc
        self.edges.behind, self.registers.now = ahead.behind, ahead.names
        late, facts = self.registers.now.dirty(), ahead.facts
        keys = keys_of(late, facts)
        here = self.merges.incoming(keys, ahead.left[0], set(), facts)
        self.ir.br(f"j{pc}")
        self.blocks.order.append(pc)
        self.ir.label(f"b{pc}")
        entry = self.carried.enter(pc, self._tested(pc, facts))
        for key, phi in self.merges.enter(entry, f"j{pc}", late, set(), facts).items():
            phi.add(here[key], ahead.label)
        self.exits.new_point()

    def _tested(self, pc: int, facts: Facts) -> str:
        """Emit the test of what is known of registers on the way from the piece before, for who
        comes from the record; the label of the block behind it."""
        if not facts:
            return f"b{pc}"
        ir = self.ir
        out, tested = ir.fresh("x"), ir.fresh("w")
        ir.choose(lane_facts.test(self.registers.ints, facts), tested, out, LIKELY)
        ir.label(tested)
        ir.later(out, [f"store i64 {pc}, ptr %pcs", f"ret i32 {int(Left.ELSEWHERE)}"])
        return tested
