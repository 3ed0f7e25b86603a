"""One instruction's effect on what is known of registers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpudbg.isa.operands import PT
from gpudbg.sm.lanes.values import (
    SAME,
    UNIFORM_BASE,
    UNKNOWN,
    KnownState,
    ShapeMachine,
    Truth,
    ValueShape,
)
from gpudbg.sm.semantics import registry

_CODE_ADDRESS = frozenset(("LEPC", "ULEPC"))
"""Write a code address: the same in all lanes, another one in each launch."""

Names = frozenset[Any]
"""What instructions write: numbers of registers, uniform ones from `UNIFORM_BASE`, and
("P", number), "cc"; "all" stands for everything."""


class ShapeExecution:
    """Executes instructions on shapes.

    Attributes:
        machine: its state is what is known.
    """

    def __init__(self, arch: str, threads: Sequence[ValueShape | None], narrow: bool) -> None:
        """Args:
        threads: what tid of each axis is (`of_block`, `of_rows`).
        narrow: of a set with 64-bit instructions.
        """
        self.machine = ShapeMachine(threads)
        self._table = registry.table(arch)
        self._narrow = narrow

    def execute(self, insn: Any) -> None:
        """Change the state as an instruction does that goes on to the next."""
        machine = self.machine
        machine.guard = self.guard(insn)
        try:
            function = self._table[insn.op]
            if not self._narrow and registry.reserved(insn):
                raise KeyError(insn.op)
            function(machine, insn)
        except UNKNOWN:
            self._forget(insn)
            if insn.op in _CODE_ADDRESS and insn.guard[0] == PT:
                writes = insn.writes()
                for index in (*writes.registers, *(UNIFORM_BASE + n for n in writes.uniform)):
                    machine.state.regs[index] = SAME

    def _forget(self, insn: Any) -> None:
        """Nothing is known of what an instruction writes."""
        state, writes = self.machine.state, insn.writes()
        for index in writes.registers:
            state.regs.pop(index, None)
        for index in writes.uniform:
            state.regs.pop(UNIFORM_BASE + index, None)
        for index in writes.predicates:
            state.preds.pop(index, None)
        if writes.cc:
            state.flags.clear()

    def guard(self, insn: Any) -> Truth | None:
        """The lanes that execute an instruction, of the active ones."""
        if not self._narrow and insn.tests_guard:
            return Truth(1, True)
        index, negated = insn.guard
        if index == PT:
            return Truth(1, not negated)
        uniform = not self._narrow and insn.uniform_guard
        machine = self.machine
        held = machine.upred(index) if uniform else machine.pred(index)
        found = machine.mnot(held) if negated else held
        return found if isinstance(found, Truth) else None


def written(insns: Iterable[Any]) -> Names:
    """What instructions write."""
    found: set[Any] = set()
    for insn in insns:
        writes = insn.writes()
        found |= writes.registers
        found |= {UNIFORM_BASE + n for n in writes.uniform}
        found |= {("P", n) for n in writes.predicates}
        if writes.cc:
            found.add("cc")
    return frozenset(found)


def without(state: KnownState, lost: Names | None) -> KnownState:
    """A state in which some registers are varying."""
    if not lost:
        return state.copy()
    if "all" in lost:
        return KnownState.empty()
    return KnownState(
        {n: value for n, value in state.regs.items() if n not in lost},
        {n: value for n, value in state.preds.items() if ("P", n) not in lost and n < UNIFORM_BASE},
        {} if "cc" in lost else dict(state.flags),
    )
