"""Control edges between blocks: to a copy of the next block, back round a loop, or through the
record.
"""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from gpudbg.dataclass import dataclass
from gpudbg.sm.engines.llvm.ir.builder import UNLIKELY, Builder
from gpudbg.sm.engines.llvm.ir.values import FULL, Mask, copy_of
from gpudbg.sm.engines.llvm.kernel.addresses import Addresses, AddressShape
from gpudbg.sm.engines.llvm.kernel.cursor import Cursor
from gpudbg.sm.engines.llvm.kernel.exits import Exits
from gpudbg.sm.engines.llvm.kernel.lane_facts import Facts
from gpudbg.sm.engines.llvm.kernel.listing import KernelListing
from gpudbg.sm.engines.llvm.kernel.loops import Loop
from gpudbg.sm.engines.llvm.kernel.place_facts import PlaceFacts, sure_label
from gpudbg.sm.engines.llvm.kernel.registers import NamedState, Registers
from gpudbg.sm.engines.llvm.layout import Left


class PushedToken(NamedTuple):
    """An entry of the divergence stack that this trace has pushed.

    Attributes:
        kind, target: of the entry; lanes: that it holds.
        depth: i32: entries below it.
    """

    kind: str
    target: int
    lanes: Mask
    depth: str


@dataclass(slots=True)
class Fallthrough:
    """A block that the present one falls into.

    Attributes:
        label: its own.
        pc: its head.
        behind: instructions before it in the blocks that led there.
        left: name of the budget at its head.
        names: the state there.
        shapes, same: what was found about addresses.
        piece: it is the next piece of straight code; `label` is where it is gone to from.
        active: the lanes that are active there, if that is known.
        within: masks of lanes that these are among.
        tokens: known entries on top of the divergence stack, the topmost last.
        facts: of a piece: what is known of registers where it begins.
    """

    label: str
    pc: int
    behind: int
    left: tuple[str, int]
    names: NamedState
    shapes: dict[tuple[str, int], AddressShape]
    same: dict[str, str]
    piece: bool = False
    active: Mask | None = None
    within: tuple[Mask, ...] = ()
    tokens: tuple[PushedToken, ...] = ()
    facts: Facts = field(default_factory=dict)


class Edges:
    """Labels to go on at.

    Attributes:
        checked: heads that are gone to where the turn may end.
        missing: places that are gone to and are not in this code.
        entered: heads that are gone to where no turn may end, also in code that was dropped.
        ahead: the block that the present one falls into.
        behind: instructions of the trace before the present block.
        longest: instructions of a trace, at most.
        forks: places inside of blocks that are gone to (`forks`).
        facts: what code relies on at heads about lanes of registers.
        tokens: known entries on top of the divergence stack, the topmost last.
        may_part: lanes that go on by themselves may have blocks of their own (`part`).
        may_rejoin: the same of lanes that meet the others again soon.
        may_meet: lanes of the code for any lanes may part and meet again in place.
        parts: blocks, with the labels that lead to them, in which some lanes of a whole warp go on.
        apart: heads of loops that are gone to through the record, with no copy of the first round.
    """

    def __init__(
        self,
        ir: Builder,
        cursor: Cursor,
        registers: Registers,
        exits: Exits,
        addresses: Addresses,
        listing: KernelListing,
        loop: Loop,
        known: PlaceFacts,
    ) -> None:
        self.ir, self.cursor, self.registers, self.exits = ir, cursor, registers, exits
        self.known = known
        self.addresses, self.listing, self.loop = addresses, listing, loop
        self.checked: set[int] = set()
        self.missing: set[int] = set()
        self.forks: set[int] = set()
        self.entered: set[int] = set()
        self.ahead: Fallthrough | None = None
        self.behind = self.longest = 0
        self.facts: dict[int, Facts] = {}
        self.tokens: tuple[PushedToken, ...] = ()
        self.may_part = self.may_rejoin = self.may_meet = False
        self.parts: list[tuple[str, Fallthrough]] = []
        self.apart: frozenset[int] = frozenset()

    def mark(self) -> tuple[set[int], set[int], int]:
        """The edges emitted so far, for `revert`."""
        return set(self.checked), set(self.missing), len(self.parts)

    def revert(self, mark: tuple[set[int], set[int], int]) -> None:
        """Forget edges since a mark."""
        self.checked, self.missing, parts = mark
        del self.parts[parts:]
        self.ahead = None

    def edge(self, pc: int, turn: bool = True) -> str:
        ir = self.ir
        if self.cursor.parted:
            # The version for any lanes has the block.
            return self.exits.side_exit(Left.SWITCH, pc, undone=False)
        if pc == self.loop.head and turn:
            if self.loop.carried is not None:
                return self.loop.back_edge(self.loop.carried)
            self.loop.note_back_edge()
        goal = self._goal(pc, turn)
        label = ir.fresh("o")
        with ir.aside():
            ir.label(label)
            self.registers.store(self.registers.now.dirty())
            self.exits.store_budget(self.cursor.budget, self.cursor.index + 1)
            ir.br(goal)
        self.known.note(label, pc)
        return label

    def rejoined(self, pc: int, executed: int) -> None:
        """Emit the way through the record, in which all is, to a place where lanes that parted are
        together again.

        Args:
            executed: instructions of this block.
        """
        self.exits.store_budget(self.cursor.budget, executed)
        self.ir.br(self._goal(pc, True))

    def here(self) -> str:
        """The label of a way through the record to a block that begins before the present
        instruction, where no turn ends."""
        ir, pc = self.ir, self.cursor.pc
        self.forks.add(pc)
        label = ir.fresh("o")
        with ir.aside():
            ir.label(label)
            self.registers.store(self.registers.now.dirty())
            self.exits.store_budget(self.cursor.budget, self.cursor.index)
            ir.br(f"b{pc}")
        return label

    def _goal(self, pc: int, turn: bool) -> str:
        """A label at a pc that expects its state in the record."""
        if pc not in self.listing.heads or pc not in self.listing.code:
            self.missing.add(pc)
            if not turn:
                return f"m{pc}"
        if not turn:
            self.entered.add(pc)
            return f"b{pc}"
        self.checked.add(pc)
        return f"c{pc}"

    def has_room(self, pc: int) -> bool:
        """Whether the trace may go on with a copy of a block, behind the present instruction."""
        behind = self.behind + self.cursor.index + 1
        return pc in self.listing.code and behind + self.listing.stretch(pc) <= self.longest

    def falls(self, same: bool = False) -> str:
        cursor = self.cursor
        pc = cursor.next_pc
        behind = self.behind + cursor.index + 1
        if not self.has_room(pc) or (pc in self.apart and not cursor.parted):
            return self.edge(pc)
        parts = cursor.active != FULL and self.listing.ends_here(pc)
        if self._goes_back() and self.listing.ends_at(pc) and not parts:
            # A warp gets there only once: a copy would only cost compile time.
            return self.edge(pc)
        self.ahead = self._copy_of(pc, behind)
        if same or self.cursor.parted:
            self.ahead.active, self.ahead.within = copy_of(cursor.active), cursor.within
        return self.ahead.label

    def some_fall(self, label: str) -> None:
        """Note that no other lanes go to a label of `falls` than some of the active ones."""
        cursor, ahead = self.cursor, self.ahead
        if ahead is not None and ahead.label == label:
            ahead.within = (copy_of(cursor.active), *cursor.within)

    def _copy_of(self, pc: int, behind: int) -> Fallthrough:
        """A copy of a block for what goes on from here with all that is known."""
        return Fallthrough(
            self.ir.fresh("f"),
            pc,
            behind,
            (self.cursor.budget, self.cursor.index + 1),
            self.registers.now.copy(),
            dict(self.addresses.shapes),
            dict(self.addresses.same),
        )

    def part(self, pc: int, active: Mask, tokens: tuple[PushedToken, ...]) -> str:
        """The label of a block in which some lanes of a whole warp go on, out of the way."""
        # Those of all lanes: what lanes write by themselves is stored for them alone.
        self.registers.uniform.store(self.registers.now)
        ahead = self._copy_of(pc, 0)
        ahead.names.dirty_uregs, ahead.names.dirty_upreds = set(), set()
        ahead.active, ahead.tokens = active, tokens
        label = self.ir.fresh("part")
        self.parts.append((label, ahead))
        return label

    def undisturbed(self, path: list[int]) -> str:
        """An i1: the turn does not end before lanes have executed instructions behind the present
        one, and there is no breakpoint in their blocks."""
        ir, listing = self.ir, self.listing
        left = ir.op(f"sub i64 {self.cursor.budget}, {self.cursor.index + 1}")
        good = ir.op(f"icmp sgt i64 {left}, {len(path)}")
        for pc in path:
            if pc in listing.heads:
                mark = ir.get("i8", "%marks", (pc - listing.base) // 8)
                good = ir.op(f"and i1 {good}, {ir.op(f'icmp eq i8 {mark}, 0')}")
        return good

    def others(self, pc: int, active: Mask) -> str:
        """The label of a block in which other lanes go on, now that those have ended which left
        them at a branch, and whose mask the record has still."""
        self.registers.uniform.settle_apart()
        self.ahead = ahead = self._copy_of(pc, self.behind + self.cursor.index + 1)
        ahead.active = active
        # What has been found of the accesses of lanes since they parted is not so of others.
        ahead.shapes, ahead.same = {}, {}
        return ahead.label

    def _goes_back(self) -> bool:
        """Whether the present instruction may branch back to a loop's head."""
        pc = self.cursor.pc
        target = self.listing.direct_target(self.listing.code[pc], pc)
        return target is not None and target <= pc

    def text(self, surely: set[int]) -> list[str]:
        """Edge blocks: to loop heads at which a turn may end, and to code outside the trace.

        Args:
            surely: heads that code goes to of which what they test is known.
        """
        lines = []
        for pc in sorted(self.checked):
            goals = {"": f"m{pc}" if pc in self.missing else f"b{pc}"}
            if pc in surely:
                goals["s"] = sure_label(pc)
            for kind, goal in goals.items():
                lines += [
                    f"c{kind}{pc}:",
                    f"  %cl{kind}{pc} = load i64, ptr %budget",
                    f"  %cc{kind}{pc} = icmp sle i64 %cl{kind}{pc}, 0",
                    f"  br i1 %cc{kind}{pc}, label %t{pc}, label %{goal}{UNLIKELY}",
                ]
            lines += [
                f"t{pc}:",
                f"  store i64 {pc}, ptr %pcs",
                f"  {self.exits.over}",
            ]
        for pc in sorted(self.missing):
            lines += [f"m{pc}:", f"  store i64 {pc}, ptr %pcs", f"  ret i32 {int(Left.MISS)}"]
        return lines
