"""Which branches decide whether an instruction is executed, and what wrote a register before it.

An instruction depends on a branch if it lies on a way from there that ends before all ways meet
again: before the branch's nearest post-dominator (control dependence, transitively).  A guarded
EXIT is a branch of which one way leads to the end of the code.  On sm_50 to sm_62 lanes that parted
meet only where a token of the divergence stack leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from gpudbg.sm.cfg import PUSHES, BasicBlock, Flow


class Parting:
    """Control dependence in a section.

    Args:
        flow: its control flow.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._blocks = flow.blocks()
        self._number = {b.start: n for n, b in enumerate(self._blocks)}
        self._home = {offset: n for n, b in enumerate(self._blocks) for offset in b.offsets}
        self._next = [self._successors(b) for b in self._blocks]

    def _successors(self, block: BasicBlock) -> set[int]:
        """Blocks behind one; the number behind the last block stands for the end."""
        found = {self._number.get(edge.target, len(self._blocks)) for edge in block.edges}
        return found | {len(self._blocks)} if block.ends or not found else found

    @cached_property
    def _before(self) -> list[set[int]]:
        """Blocks before each."""
        found: list[set[int]] = [set() for _ in range(len(self._blocks) + 1)]
        for number, behind in enumerate(self._next):
            for each in behind:
                found[each].add(number)
        return found

    @cached_property
    def _always(self) -> list[int]:
        """Post-dominators of each block, as a mask of numbers."""
        end = len(self._blocks)
        every = (1 << end + 1) - 1
        found = [every] * end + [1 << end]
        work = set(range(end))
        while work:
            # From the end: most of what a block leads to lies below it.
            number = max(work)
            work.remove(number)
            common = every
            for each in self._next[number]:
                common &= found[each]
            new = common | 1 << number
            if new != found[number]:
                found[number] = new
                work |= self._before[number]
        return found

    @cached_property
    def _meetings(self) -> int:
        """Blocks at which lanes that parted may meet, as a mask of numbers."""
        layout = self._flow.layout
        if not layout.has_control_words:
            return -1
        found = 1 << len(self._blocks)
        for offset, insn in self._flow.instructions.items():
            target = None if insn is None or insn.op not in PUSHES else insn.target(offset)
            if (
                target is not None
                and (number := self._number.get(layout.first(target))) is not None
            ):
                found |= 1 << number
        return found

    def _depending(self, branch: int) -> set[int]:
        """Blocks that depend on the branch that ends one."""
        meets = self._always[branch] & ~(1 << branch) & self._meetings
        found: set[int] = set()
        work = list(self._next[branch])
        while work:
            number = work.pop()
            if number in found or meets >> number & 1 or number == len(self._blocks):
                continue
            found.add(number)
            work += self._next[number]
        return found

    def deciding(self, offset: int, branches: Iterable[int]) -> int | None:
        """The innermost of some branches on which an instruction depends; None: on none."""
        home = self._home.get(offset)
        found = [
            (len(region), -branch)
            for branch in branches
            if (number := self._home.get(branch)) is not None
            if home in (region := self._depending(number))
        ]
        return -min(found)[1] if found else None

    def writers(self, offset: int, writes: Callable[[Any], bool]) -> set[int]:
        """Instructions that may have been the last to write something before an instruction.

        Args:
            writes: whether an instruction does.  A guard is left out of account.
        """
        home = self._home.get(offset)
        if home is None:
            return set()
        found: set[int] = set()
        seen: set[int] = set()
        work = [(home, [o for o in self._blocks[home].offsets if o < offset])]
        while work:
            number, offsets = work.pop()
            last = next((o for o in reversed(offsets) if self._writes(o, writes)), None)
            if last is not None:
                found.add(last)
                continue
            for each in self._before[number] - seen:
                seen.add(each)
                work.append((each, list(self._blocks[each].offsets)))
        return found

    def _writes(self, offset: int, writes: Callable[[Any], bool]) -> bool:
        insn = self._flow.instructions[offset]
        return insn is not None and writes(insn)
