"""Where lanes that went different ways meet again, and what was written meanwhile.

On sm_50 to sm_62 they meet where a token of the divergence stack leads; from sm_70 on wherever both
sides of a branch lead, within the closed region around it (`regions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property
from typing import Any

from gpudbg.isa.operands import PT
from gpudbg.sm import cfg
from gpudbg.sm.cfg import BasicBlock, Flow
from gpudbg.sm.lanes import regions
from gpudbg.sm.lanes.calls import KnownCalls, clobbered
from gpudbg.sm.lanes.execution import Names, without, written
from gpudbg.sm.lanes.values import KnownState

SENDS_BACK = cfg.CALLS | cfg.INDIRECT | {"RET", "SAM", "RAM", "PRET", "PLONGJMP", "LONGJMP", "RTT"}
"""Instructions after which nothing is known: lanes come from anywhere, or are woken."""
_PARTS = frozenset("BSYNC WARPSYNC YIELD NANOSLEEP BREAK BAR CALL RET".split())
"""Instructions of sm_70 and later that let lanes go on apart, where a guard chooses some."""


class Meetings:
    """Where lanes meet in a section, and what they had apart."""

    def __init__(
        self,
        flow: Flow,
        blocks: Mapping[int, BasicBlock],
        calls: KnownCalls,
        begins: Set[int],
        calls_part: bool = True,
    ) -> None:
        """Args:
        begins: blocks at which lanes come from elsewhere.
        calls_part: lanes may return from a call of sm_70 and later one after the other.
        """
        self._flow, self._blocks, self._calls, self._begins = flow, blocks, calls, begins
        self._calls_part = calls_part
        self._narrow = flow.layout.has_control_words

    def known_behind(self, offset: int, state: KnownState) -> KnownState:
        """What is known behind a call, or where nothing is known of who comes there."""
        if self._flow.pushes_for_call(offset) or offset in self._flow.jumps:
            return state
        code = self._calls.returning.get(offset)
        if code is None and offset not in self._calls.driver:
            return KnownState.empty()
        return without(state, self._written((offset, *(code or ()))))

    def lost(self, divergent: Set[int]) -> dict[int, Names]:
        """Block -> what is varying there since lanes meet that went different ways.

        Args:
            divergent: branches whose lanes may go different ways.
        """
        regions_of = self._token_regions if self._narrow else self._branch_regions
        found: dict[int, Names] = {}
        for meets, code in regions_of(divergent):
            names = self._written(code)
            for start in meets:
                found[start] = found.get(start, frozenset()) | names
        return found

    def _token_regions(self, divergent: Set[int]) -> Iterator[tuple[set[int], Iterable[int]]]:
        """(Where a token leads, code from where it is pushed) of those around a branch that
        diverges."""
        for block in self._blocks.values():
            for offset in block.offsets:
                insn = self._flow.instructions[offset]
                if insn is None or not self._flow.pushes(offset):
                    continue
                target = insn.target(offset)
                if target is None:
                    continue
                goal = self._flow.layout.first(target)
                stop = -1 if self._popped_behind(goal) else goal
                region = {block.start} | self._reach(block, stop)
                if any(self._parts(self._blocks[start], divergent) for start in region):
                    yield {goal}, self._code(region)

    def _parts(self, block: BasicBlock, divergent: Set[int]) -> bool:
        """Whether lanes may go different ways in or behind a block."""
        if block.last in divergent:
            return True
        insns = ((offset, self._flow.instructions[offset]) for offset in block.offsets)
        return any(
            insn is not None and insn.op in SENDS_BACK and not self._of_driver(offset)
            for offset, insn in insns
        )

    def _of_driver(self, offset: int) -> bool:
        """Whether an instruction calls a function of the driver, or pushes the token for a call."""
        return self._flow.pushes_for_call(offset) or offset in self._calls.driver

    def _popped_behind(self, goal: int) -> bool:
        """Whether lanes that come to a token's goal without taking it may take it later."""
        seen: set[int] = set()
        work = [goal]
        while work:
            start = work.pop()
            block = self._blocks.get(start)
            if block is None or start in seen:
                continue
            seen.add(start)
            if self._pushes(block, goal):
                # Its own end pops the new token, not the old one.
                continue
            if goal in self._flow.targets(block.last) and self._pops(block):
                return True
            work += [edge.target for edge in block.edges]
        return False

    def _pops(self, block: BasicBlock) -> bool:
        insn = self._flow.instructions[block.last]
        return insn is not None and insn.op in cfg.POPS

    def _pushes(self, block: BasicBlock, goal: int) -> bool:
        for offset in block.offsets:
            insn = self._flow.instructions[offset]
            if insn is not None and self._flow.pushes(offset):
                target = insn.target(offset)
                if target is not None and self._flow.layout.first(target) == goal:
                    return True
        return False

    def _branch_regions(self, divergent: Set[int]) -> Iterator[tuple[Iterable[int], Iterable[int]]]:
        """(Blocks that both sides reach, code that one does) of branches that diverge: within the
        closed region around each."""
        for block in self._blocks.values():
            behind = self._reached[block.start]
            for offset in filter(self._lets_go, block.offsets):
                yield self._within(offset, behind, behind | {block.start})
            if block.last in divergent and not self._lets_go(block.last):
                goals = [edge.target for edge in block.edges if edge.target in self._blocks]
                sides = [{goal} | self._reached[goal] for goal in goals]
                if len(sides) < 2:
                    sides = [behind | {block.start}]
                yield self._within(block.last, set.intersection(*sides), set[int]().union(*sides))

    def _within(
        self, offset: int, meets: set[int], apart: set[int]
    ) -> tuple[Iterable[int], Iterable[int]]:
        """(Blocks, the code of others) as far as lanes that part at an instruction matter."""
        region = self._regions.get(offset)
        if region is None:
            return meets, self._code(apart)
        return meets & region.inside, region.code.intersection(self._code(apart))

    def _code(self, blocks: Iterable[int]) -> Iterator[int]:
        """Offsets of the instructions of blocks."""
        return (offset for start in blocks for offset in self._blocks[start].offsets)

    def _lets_go(self, offset: int) -> bool:
        """Whether an instruction lets some lanes go on apart: calls, and those with a guard."""
        insn = self._flow.instructions[offset]
        if insn is None or insn.op not in _PARTS or offset in self._flow.jumps:
            return False
        if offset in self._calls.driver:
            return bool(insn.guard[0] != PT)
        return (self._calls_part and insn.op in ("CALL", "RET")) or insn.guard[0] != PT

    def _written(self, code: Iterable[int]) -> Names:
        """What instructions write, with who comes back behind them."""
        insns: list[Any] = []
        found: Names = frozenset()
        for offset in code:
            insn = self._flow.instructions[offset]
            if insn is None:
                continue
            insns.append(insn)
            called = self._calls.returning.get(offset)
            if offset in self._calls.driver:
                found |= clobbered(self._narrow)
            elif called is not None:
                insns += [self._flow.instructions[each] for each in called]
            elif self._sends_back(offset, insn):
                return frozenset(("all",))
        return found | written(insns)

    def _sends_back(self, offset: int, insn: Any) -> bool:
        """Whether behind an instruction, or where it leads, anything may have been written."""
        known = offset in self._flow.jumps or (insn.op == "RET" and self._calls.sure)
        known |= self._flow.pushes_for_call(offset)
        return insn.op in SENDS_BACK and not known

    def _reach(self, block: BasicBlock, stop: int) -> set[int]:
        """Blocks behind one, up to a place."""
        found: set[int] = set()
        work = [edge.target for edge in block.edges]
        while work:
            start = work.pop()
            if start in found or start == stop or start not in self._blocks:
                continue
            found.add(start)
            work += [edge.target for edge in self._blocks[start].edges]
        return found

    @cached_property
    def _reached(self) -> Mapping[int, set[int]]:
        """Blocks behind each, with those of functions that they call."""
        home = {offset: b.start for b in self._blocks.values() for offset in b.offsets}
        called = {
            home[call]: {home[offset] for offset in code}
            for call, code in self._calls.returning.items()
        }
        found = {start: self._reach(block, -1) for start, block in self._blocks.items()}
        return {
            start: behind.union(*(called[each] for each in behind & called.keys()))
            for start, behind in found.items()
        }

    @cached_property
    def _regions(self) -> Mapping[int, regions.ClosedRegion]:
        """The smallest closed region around an instruction, by offset."""
        return regions.innermost(self._flow, self._blocks, self._calls, self._begins)
