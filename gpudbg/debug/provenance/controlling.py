"""Which branches decide whether an instruction runs: control dependence within a section.

An instruction depends on a branch where one edge out of the branch's block leads to it for certain,
and the block itself does not (Ferrante, Ottenstein, Warren 1987: by post-dominators).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpudbg.sm.cfg import Flow

if TYPE_CHECKING:
    from gpudbg.debug.symbols import Symbols
    from gpudbg.isa.family import Instruction


class Controlling:
    """The branches of a program, by the instructions that depend on them."""

    def __init__(self, symbols: Symbols, code: dict[int, Instruction]) -> None:
        self._symbols, self._code = symbols, code
        self._known: dict[int, dict[int, frozenset[int]]] = {}

    def of(self, pc: int) -> frozenset[int]:
        """Code addresses of the conditional branches that an instruction depends on."""
        rows = self._symbols.function_rows(pc)
        if not rows:
            return frozenset()
        first = rows[0].pc
        if first not in self._known:
            flow = Flow([(row.pc, row.word) for row in rows], self._symbols.image.program.arch)
            self._known[first] = _depends(flow)
        return self._known[first].get(pc, frozenset())


_END: Final = -1
"""Stands for the exit of the section, which every leaving path reaches."""


def _depends(flow: Flow) -> dict[int, frozenset[int]]:
    blocks = {block.start: block for block in flow.blocks()}
    after = {n: [e.target for e in b.edges if e.target in blocks] for n, b in blocks.items()}
    for n, block in blocks.items():
        if block.ends or not after[n]:
            after[n].append(_END)
    dominators = {n: {*blocks, _END} for n in blocks} | {_END: {_END}}
    changed = True
    while changed:
        changed = False
        for n in reversed(list(blocks)):
            new = set.intersection(*(dominators[target] for target in after[n])) | {n}
            if new != dominators[n]:
                dominators[n], changed = new, True
    found: dict[int, set[int]] = {}
    for n, block in blocks.items():
        branch = flow.instructions[block.last]
        if len(set(after[n])) < 2 or branch is None or branch.unconditional:
            continue
        for target in after[n]:
            for goal in dominators[target] - (dominators[n] - {n}):
                found.setdefault(goal, set()).add(block.last)
    return {
        offset: frozenset(branches)
        for start, branches in found.items()
        for offset in (blocks[start].offsets if start != _END else ())
    }
