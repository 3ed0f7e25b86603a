"""Whether code can read a register or predicate that it has not written: definite assignment.

A lane's paths are those of the control flow graph.  Beside registers that are written on every path
to a place are those that are written where a predicate holds, so that code that the compiler has
made of `if` without a branch is understood: `@P0 LDG R2; ... @P0 FADD R3, R2, R4`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from gpudbg.dataclass import dataclass
from gpudbg.isa.layout import instructions
from gpudbg.isa.operands import PT, RZ
from gpudbg.sm.cfg import CALLS, INDIRECT, BasicBlock, Flow

if TYPE_CHECKING:
    from gpudbg.formats.program import CodeImage, Program

_PREDICATE: Final = 256
"""First predicate bit of a set: bits 0 to 255 are registers."""
_ALL: Final = (1 << _PREDICATE + 8) - 1
_GIVEN: Final = 1 << RZ | 1 << _PREDICATE + PT
_CONDITIONS: Final = tuple((index, negated) for index in range(PT) for negated in (False, True))
MOST_INSTRUCTIONS: Final = 20000


@dataclass(slots=True)
class _Known:
    """What has been written on every path to a point of the code.

    Attributes:
        always: registers, and predicates from bit 256.
        where: the same by condition, where that holds: `always` and more.
    """

    always: int = _GIVEN
    where: dict[tuple[int, bool], int] = field(
        default_factory=lambda: dict.fromkeys(_CONDITIONS, _GIVEN)
    )

    def copy(self) -> _Known:
        return _Known(self.always, dict(self.where))

    def holds(self, condition: tuple[int, bool]) -> None:
        """Assume a condition: facts recorded under its opposite become true of anything."""
        index, negated = condition
        self.always |= self.where[condition]
        for other in _CONDITIONS:
            self.where[other] |= self.always
        self.where[index, not negated] = _ALL

    def meets(self, other: _Known) -> bool:
        """Keep only what another path has as well. Returns whether anything changed."""
        always = self.always & other.always
        where = {c: self.where[c] & other.where[c] for c in _CONDITIONS}
        changed = always != self.always or where != self.where
        self.always, self.where = always, where
        return changed

    def passes(self, insn: Any) -> bool:
        """Step over an instruction. Returns whether it reads nothing that may be unwritten."""
        guard = _guard(insn)
        known = self.always if guard is None else self.where[guard]
        reads, writes = insn.reads(), insn.writes()
        needed = _mask(reads.registers, reads.predicates)
        made = _mask(writes.registers, writes.predicates)
        if guard is None:
            self.always |= made
            for condition in _CONDITIONS:
                self.where[condition] |= made
        else:
            index, negated = guard
            self.where[guard] |= made
            self.always |= self.where[guard] & self.where[index, not negated]
        for index in writes.predicates:
            if index < PT:
                # The predicate changes: facts recorded under its old value no longer hold.
                for negated in (False, True):
                    self.where[index, negated] = self.always
        return not needed & ~known


def _guard(insn: Any) -> tuple[int, bool] | None:
    index, negated = insn.guard
    if index == PT or insn.uniform_guard or insn.tests_guard:
        return None
    return index, bool(negated)


def _mask(registers: Iterable[int], predicates: Iterable[int]) -> int:
    found = 0
    for index in registers:
        found |= 1 << index
    for index in predicates:
        found |= 1 << _PREDICATE + index
    return found


def reads_unwritten(program: Program, image: CodeImage, section: str) -> bool:
    """Whether a kernel's code may read a register it has not written; True where unknown."""
    place = next((p for p in image.placements if p.section == section), None)
    kernel = next((k for k in program.kernels.values() if k.section == section), None)
    if place is None or kernel is None:
        return True
    known: Mapping[int, tuple[int, ...]] = {
        b.offset: b.targets for b in kernel.indirect_branches if b.targets
    }
    start = place.address - image.base
    layout = program.layout
    code = image.code[start : start + place.size]
    words = [(offset, word) for offset, word, _ in instructions(code, layout)]
    if not words or len(words) > MOST_INSTRUCTIONS:
        return True
    flow = Flow(words, program.arch, known)
    return _Walk(flow, flow.blocks()).fails()


class _Walk:
    """All paths from the first block on, functions that are called included.

    Attributes:
        into: what is known at the beginning of a block, by the function's first block and its own.
        results: what a function has written wherever it returns.
    """

    def __init__(self, flow: Flow, blocks: list[BasicBlock]) -> None:
        self._flow, self._blocks = flow, {block.start: block for block in blocks}
        first = blocks[0].start
        self.into: dict[tuple[int, int], _Known] = {(first, first): _Known()}
        self.results: dict[int, int] = {}
        self._callers: dict[int, set[tuple[int, int]]] = {}
        self._waiting = [(first, first)]

    def fails(self) -> bool:
        """Whether a path reads what is not written, or cannot be followed."""
        while self._waiting:
            if not self._block(*self._waiting.pop()):
                return True
        return False

    def _block(self, function: int, start: int) -> bool:
        """Follow a block. Returns whether it reads only written registers."""
        block = self._blocks.get(start)
        if block is None:
            return False
        state = self.into[function, start].copy()
        for offset in block.offsets:
            insn = self._flow.instructions[offset]
            if insn is None or not state.passes(insn):
                return False
            if insn.op in CALLS:
                goal = insn.target(offset)
                if goal is None:
                    return False
                goal = self._flow.layout.first(goal)
                self._callers.setdefault(goal, set()).add((function, start))
                self._reach(goal, goal, state.copy())
                if goal not in self.results:
                    return True
                state.always |= self.results[goal]
                state.where = dict.fromkeys(_CONDITIONS, state.always)
        return self._ends(function, block, state)

    def _ends(self, function: int, block: BasicBlock, state: _Known) -> bool:
        last = self._flow.instructions[block.last]
        if block.ends == "return":
            return self._returns(function, state) and not block.edges
        assert last is not None
        if block.ends not in ("", "exit") or (last.op in INDIRECT and not block.edges):
            return False
        guard = _guard(last)
        for edge in block.edges:
            goes = state.copy()
            if guard is not None and (len(block.edges) > 1 or block.ends == "exit"):
                taken = edge.kind != "fall"
                goes.holds(guard if taken else (guard[0], not guard[1]))
            self._reach(function, edge.target, goes)
        return True

    def _returns(self, function: int, state: _Known) -> bool:
        if function not in self._callers:
            return False
        held = self.results.get(function)
        found = state.always if held is None else state.always & held
        if found != held:
            self.results[function] = found
            self._waiting += self._callers[function]
        return True

    def _reach(self, function: int, start: int, state: _Known) -> None:
        held = self.into.get((function, start))
        if held is None:
            self.into[function, start] = state
        elif not held.meets(state):
            return
        self._waiting.append((function, start))
