"""Loops: a trace that leads back to its own head, with loop phis for what stays in names."""

from __future__ import annotations

from gpudbg.sm.engines.llvm.ir.builder import Builder, Phi
from gpudbg.sm.engines.llvm.ir.floats import Floats
from gpudbg.sm.engines.llvm.kernel.lane_facts import Facts, fact_of
from gpudbg.sm.engines.llvm.kernel.merges import Key, Merges
from gpudbg.sm.engines.llvm.kernel.registers import NamedState, Registers

MOST_ROUND = 12
"""Most registers that stay in names around a loop."""


class Loop:
    """The loop of the present trace.

    Attributes:
        head: of the trace; -1: nothing leads back to it.
        back_edges: what is dirty where the trace leads back to its head.
        carried: what goes round the loop in names, once that is known.
        latches: blocks that lead back.
        phis: loop phis; each back edge adds to them.
        single: registers that go round the loop as floats.
        facts: what is known of registers at the head.
        states: the state at each back edge of a first emission.
        keeps: the state may be kept where a turn ends (`turn_states`).
    """

    def __init__(self, ir: Builder, floats: Floats, registers: Registers, merges: Merges) -> None:
        self.ir, self.floats, self.registers, self.merges = ir, floats, registers, merges
        self.head = 0
        self.keeps = False
        self.back_edges: list[NamedState] = []
        self.carried: NamedState | None = None
        self.latches: list[str] = []
        self.phis: dict[Key, Phi] = {}
        self.single: set[int] = set()
        self.facts: Facts = {}
        self.states: list[NamedState] = []

    def begin(self, head: int, carried: NamedState | None, facts: Facts) -> None:
        """Begin a trace.

        Args:
            carried: what a first emission has shown to go round.
            facts: what is known of registers.
        """
        self.head, self.carried, self.facts = head, carried, facts
        self.states = []
        self.back_edges, self.latches, self.phis = [], [], {}

    def note_back_edge(self) -> None:
        """Note the present state, with which a first emission leads back."""
        self.back_edges.append(self.registers.now.dirty())
        self.states.append(self.registers.now.copy())

    def relied_on(self, kept: Facts) -> bool:
        """Whether code of the trace follows from facts other than those that are kept."""
        return bool((self.facts.keys() - kept.keys()) & self.registers.read)

    def kept_facts(self) -> Facts:
        """The facts that are of use in the loop and hold on all back edges."""
        ints = self.registers.ints
        return {
            n: fact
            for n, fact in self.facts.items()
            if (n in self.registers.read or any(n in late.dirty_regs for late in self.back_edges))
            and all(
                state.facts.get(n) == fact
                or (n in state.regs and fact_of(ints, state.regs[n], fact.rows) == fact)
                for state in self.states
            )
        }

    def carried_state(self) -> NamedState:
        """The state that stays in names from one iteration to the next, without values."""
        found = NamedState()
        for late in self.back_edges:
            found.dirty_regs |= late.dirty_regs
            found.dirty_preds |= late.dirty_preds
            found.dirty_flags |= late.dirty_flags
            found.dirty_uregs |= late.dirty_uregs & self.registers.uniform.carried
        first = sorted(found.dirty_regs & self.registers.read)
        rest = sorted(found.dirty_regs - self.registers.read)
        found.dirty_regs = set((first + rest)[:MOST_ROUND])
        # Results of floating-point operations, in all lanes, on all back edges.
        self.single = {
            n
            for n in found.dirty_regs - self.facts.keys()
            if all(
                n in edge.dirty_regs and self.floats.is_canonical(edge.regs[n])
                for edge in self.back_edges
            )
        }
        return found

    def back_edge(self, carried: NamedState) -> str:
        """The label of a back edge."""
        ir, registers = self.ir, self.registers
        label, latch = ir.fresh("r"), ir.fresh("k")
        kept, main = registers.now, ir.lines
        registers.now, ir.lines = kept.copy(), []
        ir.label(label)
        registers.store(registers.now.spill(carried))
        mark = self.merges.mark_of(self.head)
        place = f"l{self.head} {label} {latch} {mark}" if self.keeps else ""
        left = self.merges.turn_ends(self.head, latch, True, place)
        values = self.merges.incoming(self.phis, left, self.single, self.facts)
        for key, phi in self.phis.items():
            phi.add(values[key], latch)
        ir.br(f"l{self.head}")
        self.latches += ir.lines
        ir.lines, registers.now = main, kept
        return label
