"""The code that a kernel can reach, and where its basic blocks begin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import partial
from typing import Any

from gpudbg.code_layout import CodeLayout, layout_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import DecodeError
from gpudbg.formats.program import CodeImage
from gpudbg.isa.family import decode
from gpudbg.isa.operands import PT, Access, Imm, Reg
from gpudbg.sm.convergence.waiting import WAITING, leads_to_barrier, loop_yields
from gpudbg.sm.schedule.polling import branch_polls
from gpudbg.sm.schedule.turns import TURN_POINTS, TurnPoints
from gpudbg.sm.semantics.control import PUSHES

STOPS_FLOW = frozenset("BRA BRX JMP JMX EXIT KIL RET SYNC BRK CONT BRXU JMXU KILL".split())
_LOOPS = frozenset(("BRA", "JMP"))
"""Instructions that go back to a loop's head."""
_ABOUT_LANES = frozenset(PUSHES) | frozenset("SAM RAM IDE BSSY BREAK BMOV WARPSYNC ELECT".split())
"""Instructions that change which lanes are active, wait, or may end."""
_GOES_TO = frozenset(("BRA", "CALL", "JMP"))
"""128-bit instructions with a direct branch target."""

_MOST_STRAIGHT = 12
"""Most such instructions of code without loops that are worth their time to compile."""


@dataclass(slots=True)
class KernelListing:
    """The code reachable from some entries.

    Attributes:
        arch: architecture.
        layout, turns: where its instructions stand; where turns may end.
        base: address of the program's first word.
        entry: where the kernel begins.
        code: instructions by address.
        heads: where blocks begin.
        merge_points: heads that are reached otherwise than from the instruction before.
        targets: heads that code goes to.
        behind: heads behind branches and exits, where lanes go on that these do not concern.
        polling: branches of loops that wait for other blocks.
        waiting: branches of loops that wait for other lanes, and WARPSYNCs that a BAR follows.
    """

    arch: str
    base: int
    entry: int
    code: dict[int, Any] = field(default_factory=dict)
    heads: set[int] = field(default_factory=set)
    merge_points: set[int] = field(default_factory=set)
    targets: set[int] = field(default_factory=set)
    behind: set[int] = field(default_factory=set)
    polling: set[int] = field(default_factory=set)
    waiting: set[int] = field(default_factory=set)
    layout: CodeLayout = field(init=False)
    turns: TurnPoints = field(init=False)
    _written: Access | None = None
    _loops: list[tuple[int, int]] | None = None

    def __post_init__(self) -> None:
        self.layout = layout_of(self.arch)
        self.turns = TURN_POINTS[self.layout.has_control_words]

    @classmethod
    def of(cls, image: CodeImage, entry: int, entries: Iterable[int]) -> KernelListing:
        """Decode from the entries along every direct path."""
        layout = layout_of(image.program.arch)
        found = cls(image.program.arch, image.base, layout.first(entry))
        flow, starts_piece = found.turns.flow, found.turns.starts_piece
        work = [layout.first(pc) for pc in entries]
        while work:
            pc = work.pop()
            found.heads.add(pc)
            found.merge_points.add(pc)
            found.targets.add(pc)
            while pc not in found.code:
                insn = _decoded(image, pc, found.arch)
                if insn is None:
                    break
                found.code[pc] = insn
                target = found.direct_target(insn, pc)
                if target is not None:
                    work.append(layout.first(target))
                pc = layout.next(pc)
                if insn.op in flow:
                    found.merge_points.add(pc)
                    if insn.op in STOPS_FLOW:
                        found.behind.add(pc)
                if insn.op in flow or starts_piece(pc) or may_poll(insn):
                    found.heads.add(pc)
                if insn.op in STOPS_FLOW and found.always(insn):
                    break
        at = partial(_decoded, image, arch=found.arch)
        found.polling = {
            pc for pc, insn in found.code.items() if branch_polls(pc, insn, at, layout)
        }
        if not layout.has_control_words:
            found.waiting = {
                pc
                for pc, insn in found.code.items()
                if insn.op in WAITING
                and (loop_yields(pc, insn, at) or leads_to_barrier(pc, insn, at))
            }
        return found

    def written(self) -> Access:
        """What the code writes: everything else is zero when a warp begins and stays so."""
        if self._written is None:
            self._written = self._writes()
        return self._written

    def _writes(self) -> Access:
        each = [insn.writes() for insn in self.code.values()]
        return Access(
            frozenset().union(*(found.registers for found in each)),
            frozenset().union(*(found.predicates for found in each)),
            any(found.cc for found in each),
            frozenset().union(*(found.uniform for found in each)),
            frozenset().union(*(found.uniform_predicates for found in each)),
        )

    def following(self, pc: int) -> int:
        """The next instruction's address in straight code."""
        return self.layout.next(pc)

    def only_resumed(self, head: int) -> bool:
        """Whether whole warps begin at a head only where a turn has ended there, or a stop was:
        nothing goes to it but what falls into it, which may have a copy of it."""
        if head == self.entry:
            # Where warps begin they have code of their own.
            return all(self.layout.first(first) != head for first, _ in self.loops)
        return head in self.behind and head not in self.targets

    def always(self, insn: Any) -> bool:
        """Whether a flow instruction acts in every active lane."""
        if self.layout.has_control_words:
            tests = insn.m.get("cctest") not in ("T", "", False, None)
            return insn.guard == (PT, False) and not tests
        return bool(insn.unconditional and not insn.tests_guard)

    def direct_target(self, insn: Any, pc: int) -> int | None:
        """Target of a flow instruction or token, if it is in the instruction word."""
        if self.layout.has_control_words:
            return _token_target(insn, pc)
        if insn.op not in _GOES_TO or any(isinstance(o, Reg) for o in insn.operands):
            return None
        target = insn.target(pc)
        if target is None and insn.op != "BRA":
            return next((o.value for o in insn.operands if isinstance(o, Imm)), None)
        return None if target is None or target < 0 else int(target)

    def token_target(self, pc: int, kind: str) -> int | None:
        """Target of the token of a kind that is pushed last before a pc, in straight code, for
        something behind it."""
        tokens = ((at, insn) for at, insn in self.code.items() if insn.op == kind and at < pc)
        targets = ((at, self.direct_target(insn, at)) for at, insn in tokens)
        return max(
            ((at, to) for at, to in targets if to is not None and to > pc), default=(0, None)
        )[1]

    @property
    def loops(self) -> list[tuple[int, int]]:
        """Targets of direct branches that do not lie behind them, and the branches."""
        if self._loops is None:
            branches = ((pc, insn) for pc, insn in self.code.items() if insn.op in _LOOPS)
            targets = ((self.direct_target(insn, pc), pc) for pc, insn in branches)
            self._loops = [(to, pc) for to, pc in targets if to is not None and to <= pc]
        return self._loops

    def repeats(self, pc: int) -> bool:
        """Whether an instruction is in a loop."""
        return any(first <= pc <= last for first, last in self.loops)

    def rounds(self, most: int) -> dict[int, int]:
        """Head of each loop of at most so many instructions to how many they are, with an EXIT
        right behind it."""
        found: dict[int, int] = {}
        for target, last in self.loops:
            head, after = self.layout.first(target), self.code.get(self.following(last))
            count = sum(head <= pc <= last for pc in self.code)
            count += after is not None and after.op == "EXIT" and self.always(after)
            if count <= most:
                found[head] = max(count, found.get(head, 0))
        return found

    def innermost(self, mnemonics: frozenset[str], most: int) -> frozenset[int]:
        """Addresses of `most` instructions with certain mnemonics, those in most loops first; where
        the code has no loops all, unless there are many."""
        loops = self.loops
        depth = {
            pc: len({head for head, last in loops if head <= pc <= last})
            for pc, insn in sorted(self.code.items())
            if insn.op in mnemonics
        }
        if not loops and len(depth) > _MOST_STRAIGHT:
            return frozenset()
        return frozenset(sorted(depth, key=lambda pc: -depth[pc])[:most])

    def shortest_round(self, head: int) -> int:
        """Instructions of the shortest loop that begins at a head; 0: none does."""
        lasts = [last for first, last in self.loops if self.layout.first(first) == head]
        return sum(head <= pc <= min(lasts) for pc in self.code) if lasts else 0

    def read_before_loop(self, pc: int, most: int) -> set[int]:
        """Registers that straight code from a pc to a loop reads before it writes them; none where
        no loop begins within `most` instructions."""
        begins = {self.layout.first(first) for first, _ in self.loops}
        found: set[int] = set()
        written: set[int] = set()
        for _ in range(most):
            if pc in begins:
                return found
            insn = self.code.get(pc)
            if insn is None or (insn.op in STOPS_FLOW and self.always(insn)):
                break
            found |= insn.reads().registers - written
            written |= insn.writes().registers
            pc = self.following(pc)
        return set()

    def stretch(self, pc: int) -> int:
        """Instructions from a pc to the next block head in straight code."""
        count = 1
        pc = self.following(pc)
        while pc in self.code and pc not in self.heads:
            count += 1
            pc = self.following(pc)
        return count

    def straight_end(self, pc: int, most: int, goal: int = -1) -> list[int]:
        """Straight code from a pc to an EXIT of all lanes, or to a goal, as addresses; none where
        that is more than so many instructions, or on the way there is another instruction of flow,
        one about which lanes are active or wait, or a head that no turn may begin with."""
        found = [pc]
        while len(found) <= most:
            insn = self.code.get(pc)
            if insn is None:
                break
            if pc == goal or (goal < 0 and self.ends_here(pc)):
                return found
            pc = self.following(pc)
            starts = self.turns.starts_piece(pc) or pc == goal
            crosses = insn.op in self.turns.flow or insn.op in _ABOUT_LANES
            if crosses or (pc in self.heads and not starts):
                break
            found.append(pc)
        return []

    def ends_here(self, pc: int) -> bool:
        """Whether an EXIT of all lanes is at a pc."""
        return self.code[pc].op == "EXIT" and self.always(self.code[pc])

    def ends_at(self, pc: int) -> bool:
        """Whether the block at a pc ends its warps."""
        while self.following(pc) in self.code and self.following(pc) not in self.heads:
            pc = self.following(pc)
        return self.ends_here(pc)


def may_poll(insn: Any) -> bool:
    """Whether an instruction that tells whether to wait ends the turn in that case."""
    return insn.op == "SYNCS" and "PHASECHK" in insn.m


def _decoded(image: CodeImage, pc: int, arch: str) -> Any:
    """The instruction at an address, or None where there is none."""
    layout = layout_of(arch)
    if pc % layout.word_bytes or image.placement_at(pc) is None:
        return None
    try:
        return decode(layout.word_at(image.code, pc - image.base), arch)
    except DecodeError:
        return None


def _token_target(insn: Any, pc: int) -> int | None:
    target = insn.o.get("target")
    if target is None or not hasattr(target, "address"):
        return None
    if target.base is not None and not target.base.is_zero:
        return None
    return int(target.address(pc))


def indirect_entries(image: CodeImage, pc: int) -> set[int]:
    """Possible targets of computed branches in the function around a pc: the pc itself, and
    instructions that none falls into.
    """
    found, layout = {pc}, layout_of(image.program.arch)
    place = image.placement_at(pc)
    if place is None:
        return found
    found.add(layout.first(place.address))
    at = layout.first(place.address)
    while at < place.address + place.size:
        insn = _decoded(image, at, image.program.arch)
        after = layout.next(at)
        if insn is not None and insn.op in STOPS_FLOW and after < place.address + place.size:
            found.add(after)
        at = after
    return found
