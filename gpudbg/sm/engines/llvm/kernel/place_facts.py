"""What is known of registers' lanes where code goes from one trace to another, through the record.

A trace may rely on it: who comes from elsewhere, such as a record that a debugger has changed, is
tested for the same, and who comes from a place that knows it goes on behind the test.

Warps that a barrier lets go together, and that have all come to it one after the other in the same
call of a kernel's function (`succession`), have what they had: nobody else has written to their
records meanwhile.  So what is known where they wait is known behind the barrier.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from gpudbg.sm.engines.llvm.ir.integers import Integers
from gpudbg.sm.engines.llvm.kernel.lane_facts import Facts, LaneClaims, fact_of
from gpudbg.sm.engines.llvm.kernel.listing import STOPS_FLOW, KernelListing
from gpudbg.sm.engines.llvm.kernel.registers import Registers

_MOST = 2048
"""Most instructions of code about which this is found."""


def bits_of(numbers: Iterable[int]) -> int:
    """Numbers as a bit each."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


NOT_SURE = "store ptr null, ptr %surely"
"""Statement where nothing is known of warps that wait."""


def sure_label(head: int) -> str:
    """The label of the code at a head behind its tests."""
    return f"sure{head}"


class PlaceFacts:
    """Facts at the places where warps wait, and of the code behind them.

    Attributes:
        tested: head -> what its code relies on.
        surely: heads that places lead to, past the test of the budget, which know all that.
        noted: facts are noted.
    """

    def __init__(
        self,
        ints: Integers,
        registers: Registers,
        listing: KernelListing,
        claims: LaneClaims | None,
    ) -> None:
        """Args: claims: what the analysis says; None: facts are not noted."""
        self.ints, self.registers, self.listing, self._claims = ints, registers, listing, claims
        self.noted = claims is not None
        self.tested: dict[int, Facts] = {}
        self.surely: set[int] = set()
        self._places: dict[str, tuple[int, Facts]] = {}
        """Label of a place -> (where its warps go on, what is known there)."""

    def note(self, label: str, head: int) -> None:
        """Note what is known at a place, the label of a block, from which code goes to a head."""
        if self._claims is not None:
            self._places[label] = head, self._now()

    def _now(self) -> Facts:
        """What is known at the present place."""
        now, written = self.registers.now, self.listing.written().registers
        found = dict(now.facts)
        for index, value in now.regs.items():
            fact = fact_of(self.ints, value) if index in written else None
            if fact is not None:
                found[index] = fact
        return found

    def before(self, head: int) -> Facts:
        """What is known at the present place of registers that code from a head on reads, as the
        analysis says of all that leads there."""
        return self._of(head, [self._now()]) if self._claims is not None else {}

    def at(self, head: int) -> Facts:
        """What is known of registers that code from a head on reads, at places that lead there;
        where nothing is known does not count."""
        states = [found for goal, found in self._places.values() if goal == head and found]
        return self._of(head, states) if states else {}

    def _of(self, head: int, states: list[Facts]) -> Facts:
        """What all states tell, and the analysis, of registers that code from a head on reads."""
        assert self._claims is not None
        live, (first, *others) = self._live.get(head, 0), [*states, self._claims.at(head)]
        return {
            n: fact
            for n, fact in first.items()
            if live >> n & 1 and all(state.get(n) == fact for state in others)
        }

    @cached_property
    def _live(self) -> dict[int, int]:
        """Address of an instruction to the registers that code from there may read before it writes
        them, a bit each."""
        listing, code = self.listing, self.listing.code
        order = sorted(code, reverse=True)
        goals: dict[int, list[int]] = {}
        effects: dict[int, tuple[int, int]] = {}
        for pc in order:
            insn, target = code[pc], listing.direct_target(code[pc], pc)
            stops = insn.op in STOPS_FLOW and listing.always(insn)
            goals[pc] = [] if stops else [listing.following(pc)]
            goals[pc] += [] if target is None else [listing.layout.first(target)]
            effects[pc] = bits_of(insn.reads().registers), bits_of(insn.writes().registers)
        found = dict.fromkeys(order, 0)
        again = len(code) <= _MOST
        while again:
            again = False
            for pc in order:
                reads, writes = effects[pc]
                live = reads
                for goal in goals[pc]:
                    live |= found.get(goal, 0) & ~writes
                again |= live != found[pc]
                found[pc] = live
        return found

    def relied_on(self) -> set[int]:
        """Heads whose code has a second label, behind its tests."""
        return {head for head, facts in self.tested.items() if facts and self.noted}

    def lacks(self, label: str) -> bool:
        """Whether what the code at its goal relies on is not known at a place."""
        head, known = self._places.get(label, (-1, {}))
        return any(known.get(n) != fact for n, fact in self.tested.get(head, {}).items())

    def settled(self, lines: list[str]) -> list[str]:
        """Blocks in which places that know enough lead to the code behind the tests, and warps that
        wait where that is not so say it."""
        if not self.relied_on():
            return lines
        found: list[str] = []
        goal = ""
        for line in lines:
            if not line.startswith(" "):
                label = line[:-1]
                head, _ = self._places.get(label, (-1, {}))
                relied = bool(self.tested.get(head))
                goal = "" if not relied or self.lacks(label) else str(head)
                found.append(line)
                if label.startswith("wait.") and relied and not goal:
                    found.append(f"  {NOT_SURE}")
            elif goal and line == f"  br label %c{goal}":
                self.surely.add(int(goal))
                found.append(f"  br label %cs{goal}")
            elif goal and line == f"  br label %b{goal}":
                found.append(f"  br label %{sure_label(int(goal))}")
            else:
                found.append(line)
        return found
