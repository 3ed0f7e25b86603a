"""What registers have in common across a warp, proven from the code: uniform, affine in the lane.

A claim before an instruction holds at every stop there, for the lanes that are active.  The
analysis goes forwards over basic blocks (`cfg.Flow`) with the lattice of `values`, from a
kernel's entry, until nothing changes:

* Where two ways meet, what both say stays (`join`).
* Where lanes that went different ways meet again, registers that were written meanwhile vary.
  On sm_50 to sm_62 that is where a token of the divergence stack leads (SSY and SYNC, PBK and BRK,
  PCNT and CONT); from sm_70 on, every place that is reached from both sides of a branch, whatever
  wrote since, up to the BSYNC at which they wait for one another (`regions`).  Only branches whose
  predicate is not uniform count: they are found on the way.
* What memory holds, clocks, and what calls write (all, where it is not known what that is:
  `calls`) are varying.

A debugger may write registers: the claims are about code, not about what a user did to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpudbg.dataclass import dataclass
from gpudbg.isa.layout import instructions
from gpudbg.isa.operands import PT
from gpudbg.sm import cfg
from gpudbg.sm.cfg import BasicBlock, Flow, section_code
from gpudbg.sm.lanes.calls import known_calls
from gpudbg.sm.lanes.execution import Names, ShapeExecution, without
from gpudbg.sm.lanes.meetings import SENDS_BACK, Meetings
from gpudbg.sm.lanes.parting import Parting
from gpudbg.sm.lanes.values import (
    UNIFORM_BASE,
    KnownState,
    Truth,
    ValueShape,
    of_block,
)

if TYPE_CHECKING:
    from gpudbg.formats.program import CodeImage, Kernel, Program

_GIVES_UP = cfg.INDIRECT | {"JMP", "PEXIT", "PLONGJMP", "LONGJMP", "SAM", "RAM"}
"""With these lanes come from places that are not in the control flow: nothing is claimed, unless
the file lists where they lead."""
_MEETS = frozenset(("BAR", "WARPSYNC"))
"""Instructions of sm_70 and later at which lanes wait for one another in the middle of a block."""
MAX_INSTRUCTIONS = 4000
"""Longer sections are not analysed."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A branch whose lanes may go different ways.

    Attributes:
        offset: of the branch.
        predicate: that it depends on, "" for another reason.
        setter: offset of the instruction that last wrote it before the branch; None: not in its
            block.
    """

    offset: int
    predicate: str
    setter: int | None


class LaneAnalysis:
    """Claims about a section's registers.

    Attributes:
        flow: its control flow.
        divergent: branches whose lanes may go different ways.
        leads_anywhere: the first instruction that leads where the control flow does not say, or
            None; with one nothing is claimed of the code.
    """

    def __init__(
        self,
        flow: Flow,
        arch: str,
        threads: Sequence[ValueShape | None],
        entry: int = 0,
        begins: KnownState | None = None,
        calls_part: bool = True,
    ) -> None:
        """Args:
        threads: what tid of each axis is (`of_block`, `of_rows`).
        entry: the kernel's offset.
        begins: what is known there.
        calls_part: lanes may return from a call of sm_70 and later one after the other, and go
            on apart. Without it claims hold only of those that do not.
        """
        self._narrow = flow.layout.has_control_words
        self._execution = ShapeExecution(arch, threads, self._narrow)
        flow = flow.with_pointer_calls()
        self._calls = known_calls(flow, self._execution)
        self.flow = flow = flow.with_jumps(self._calls.jumps)
        self._begins = begins or KnownState.empty()
        self._blocks = {b.start: b for b in flow.blocks()}
        self._entry = flow.layout.first(entry)
        self._called = {flow.layout.first(t) for t in _call_targets(flow)}
        begin_blocks = self._begin_blocks()
        self._meetings = Meetings(flow, self._blocks, self._calls, begin_blocks, calls_part)
        self._into: dict[int, KnownState] = {}
        self._inside: dict[int, KnownState] = {}
        self._guards: dict[int, Truth | None] = {}
        self._met: Mapping[int, Names] = {}
        self.divergent: dict[int, Divergence] = {}
        self.leads_anywhere = self._leads_anywhere()
        if self.flow.complete and self.leads_anywhere is None:
            self._solve()

    def _leads_anywhere(self) -> int | None:
        """The first instruction whose lanes go to places that the control flow does not have, or
        has not as its targets."""
        flow = self.flow
        for offset, insn in flow.instructions.items():
            if insn is None or insn.op not in _GIVES_UP or offset in flow.pointer_calls:
                continue
            targets = flow.targets(offset)
            if not targets or not flow.instructions.keys() >= set(targets):
                return offset
        return None

    # ---- the fixed point -----------------------------------------------------------------

    def _solve(self) -> None:
        """Go on with the branches that turn out to diverge, until there are no more.

        States only lose what was known, so each search goes on where the one before stopped.
        """
        lost: Mapping[int, Names] = {}
        work = self._begin()
        for turn in itertools.count():
            self._flow_forward(work, lost)
            found = self._diverging()
            # The first turn knows nothing of lanes that part at other instructions than branches.
            if turn and found.keys() <= self.divergent.keys():
                return
            self.divergent |= found
            lost, work = self._meetings.lost(self.divergent.keys()), set()
            self._met = {} if self._narrow else lost
            for start, names in lost.items():
                if start in self._into and self._has_meeting(start):
                    work.add(start)
                old = self._into.get(start)
                if old is not None and (new := without(old, names)) != old:
                    self._into[start] = new
                    work.add(start)

    def _begin(self) -> set[int]:
        """Blocks that no other leads to, with what is known there."""
        found = self._begin_blocks()
        for start in found & self._blocks.keys():
            self._into[start] = self._begins if start == self._entry else KnownState.empty()
        return found

    def _begin_blocks(self) -> set[int]:
        """Blocks at which lanes come from elsewhere: the entry, functions, and what nothing leads
        to."""
        led_to = {edge.target for b in self._blocks.values() for edge in b.edges}
        return {self._entry} | {
            start for start in self._blocks if start not in led_to or start in self._called
        }

    def _flow_forward(self, work: set[int], lost: Mapping[int, Names]) -> None:
        into = self._into
        while work:
            # From the top: most of what leads to a block lies above it.
            start = min(work)
            work.remove(start)
            block = self._blocks.get(start)
            if block is None:
                continue
            state = self._through(block, into[start].copy())
            for edge in block.edges:
                if edge.target not in self._blocks:
                    continue
                coming = without(state, lost.get(edge.target))
                old = into.get(edge.target)
                new = coming if old is None else old.joined(coming)
                if old is None or new != old:
                    into[edge.target] = new
                    work.add(edge.target)

    def _through(
        self,
        block: BasicBlock,
        state: KnownState,
        before: dict[int, KnownState] | None = None,
    ) -> KnownState:
        """The state behind a block; notes what is known before its branch, and before each
        instruction if that is wanted."""
        machine = self._execution.machine
        machine.state = state
        for offset in block.offsets:
            if before is not None:
                before[offset] = machine.state.copy()
            insn = self.flow.instructions[offset]
            if insn is not None and offset == block.last:
                self._guards[offset] = self._execution.guard(insn)
            if insn is None or insn.op in SENDS_BACK:
                machine.state = self._meetings.known_behind(offset, machine.state)
                continue
            self._execution.execute(insn)
            if insn.op in _MEETS and block.start in self._met:
                machine.state = without(machine.state, self._met[block.start])
        return machine.state

    def _has_meeting(self, start: int) -> bool:
        """Whether lanes that came to a block one after the other can meet in it."""
        insns = (self.flow.instructions[offset] for offset in self._blocks[start].offsets)
        return any(insn is not None and insn.op in _MEETS for insn in insns)

    @cached_property
    def before(self) -> dict[int, KnownState]:
        """What is known before each instruction, by offset."""
        found: dict[int, KnownState] = {}
        for start, state in self._into.items():
            block = self._blocks.get(start)
            if block is not None:
                self._through(block, state.copy(), found)
        return found

    def _within(self, offset: int) -> KnownState | None:
        """What is known before an instruction of a block, of which the rest is kept, too: a few
        places ask for that, of long code."""
        found = self._inside.get(offset)
        if found is None:
            start = max((start for start in self._into if start <= offset), default=offset)
            block = self._blocks.get(start)
            if block is not None and offset in block.offsets and start in self._into:
                self._through(block, self._into[start].copy(), self._inside)
                found = self._inside.get(offset)
        return found

    # ---- where lanes part and meet ---------------------------------------------------------

    def _diverging(self) -> dict[int, Divergence]:
        """Branches, and ways to a token, that lanes may go differently."""
        found = {}
        for block in self._blocks.values():
            offset = block.last
            insn = self.flow.instructions[offset]
            if insn is None or not self.flow.branches(offset) or insn.op in cfg.ENDS:
                continue
            if not self.flow.falls(offset) and insn.op not in cfg.INDIRECT:
                continue
            guard = self._guards.get(offset)
            tests = self._tests(insn)
            if tests or not _alike(guard):
                found[offset] = self._divergence(block, offset, tests)
        return found

    def _divergence(self, block: BasicBlock, offset: int, tests: bool = False) -> Divergence:
        """Lanes part at an instruction of a block; `tests`: by more than its guard."""
        insn = self.flow.instructions[offset]
        index, negated = (PT, False) if insn is None else insn.guard
        name = "" if tests or index == PT else f"{'!' * negated}P{index}"
        return Divergence(offset, name, self._setter(block, offset, index))

    def _tests(self, insn: Any) -> bool:
        """Whether a branch depends on more than its guard."""
        if self._narrow:
            return insn.m.get("cctest") not in ("T", "", False, None) or insn.op in cfg.INDIRECT
        return not insn.unconditional and bool(insn.tests_guard or insn.guard[0] == PT)

    def _setter(self, block: BasicBlock, offset: int, index: int) -> int | None:
        """The last instruction of a block that writes a predicate before another one."""
        for before in reversed(block.offsets):
            insn = self.flow.instructions[before]
            if before < offset and insn is not None and index in insn.writes().predicates:
                return before
        return None

    # ---- answers -----------------------------------------------------------------------

    def claims(self, offset: int) -> dict[int, ValueShape]:
        """Registers of which something is known before an instruction."""
        found = self._into.get(offset) or self._within(offset)
        regs = {} if found is None else found.regs
        return {n: shape for n, shape in sorted(regs.items()) if n < UNIFORM_BASE}

    def results(self, offset: int) -> dict[int, ValueShape | None]:
        """What an instruction writes: register -> its shape behind it, None for varying."""
        insn = self.flow.instructions.get(offset)
        if insn is None or offset not in self.before:
            return {}
        regs = self._behind(offset, insn).regs
        return {n: regs.get(n) for n in sorted(insn.writes().registers)}

    def masks(self, offset: int) -> dict[int, Truth | None]:
        """Predicates that an instruction writes: number -> what is known behind it."""
        insn = self.flow.instructions.get(offset)
        if insn is None or offset not in self.before:
            return {}
        preds = self._behind(offset, insn).preds
        return {n: preds.get(n) for n in sorted(insn.writes().predicates)}

    def _behind(self, offset: int, insn: Any) -> KnownState:
        """What is known behind an instruction."""
        machine = self._execution.machine
        machine.state = self.before[offset].copy()
        if insn.op in SENDS_BACK:
            machine.state = self._meetings.known_behind(offset, machine.state)
        else:
            self._execution.execute(insn)
        return machine.state

    def guarded(self, offset: int) -> Divergence | None:
        """Lanes that part at an instruction that some of them do not execute; None: all or none."""
        insn = self.flow.instructions.get(offset)
        if insn is None or offset not in self.before or insn.guard[0] == PT:
            return None
        self._execution.machine.state = self.before[offset]
        if _alike(self._execution.guard(insn)):
            return None
        block = next(b for b in self._blocks.values() if offset in b.offsets)
        return self._divergence(block, offset)

    @cached_property
    def parting(self) -> Parting:
        """Which branches decide what is executed."""
        return Parting(self.flow)

    @cached_property
    def _parts_at(self) -> dict[int, Divergence]:
        """Branches that may diverge, and instructions at which some lanes end."""
        insns = self.flow.instructions.items()
        ends = [o for o, insn in insns if insn is not None and insn.op in cfg.ENDS]
        found = {offset: self.guarded(offset) for offset in ends}
        return self.divergent | {o: each for o, each in found.items() if each is not None}

    def divergence(self, offset: int) -> Divergence | None:
        """Why lanes may part at an instruction itself; None where they do not."""
        return self.divergent.get(offset) or self.guarded(offset)

    def parted(self, offset: int) -> Divergence | None:
        """The innermost branch behind which only some lanes of a warp may come to an instruction;
        None where they all come or none does."""
        found = self.parting.deciding(offset, self._parts_at)
        return None if found is None else self._parts_at[found]


def _alike(guard: Truth | None) -> bool:
    """Whether all lanes have the same of a mask, in any case."""
    return guard is not None and guard.rows == 1 and not guard.given


def of_code(
    words: list[tuple[int, int]],
    arch: str,
    block: tuple[int, int, int] | None = None,
    known: Mapping[int, tuple[int, ...]] | None = None,
    entry: int = 0,
) -> LaneAnalysis:
    """The analysis of a section by (offset, word)."""
    return LaneAnalysis(Flow(words, arch, known), arch, of_block(block), entry)


def of_kernel(
    program: Program,
    image: CodeImage,
    kernel: Kernel,
    block: tuple[int, int, int] | None = None,
) -> LaneAnalysis | None:
    """The analysis of a launched kernel's section; None where it is too long."""
    section = section_code(image, kernel)
    if section is None:
        return None
    code, known = section
    words = [(offset, word) for offset, word, _ in instructions(code, program.layout)]
    if not words or len(words) > MAX_INSTRUCTIONS:
        return None
    return of_code(words, program.arch, block, known)


def _call_targets(flow: Flow) -> Iterator[int]:
    """Where calls lead."""
    for offset, insn in flow.instructions.items():
        if insn is None or insn.op not in cfg.CALLS or offset in flow.jumps:
            continue
        target = insn.target(offset)
        if target is not None:
            yield target
