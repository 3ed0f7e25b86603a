"""Which registers matter at an instruction: live ones, and those nothing can have written yet.

Two walks over a section's basic blocks (`cfg.Flow`).  Backwards: a register is live where some
path reads it before writing it.  Forwards: a register may have been written where some path from
the kernel's entry has written it; the others hold what the launch left there.  Calls count as
reading and writing all that the section touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gpudbg.isa.family import Instruction
from gpudbg.isa.layout import instructions
from gpudbg.isa.operands import Access
from gpudbg.sm import cfg
from gpudbg.sm.cfg import JUMPS, BasicBlock, Flow, section_code

if TYPE_CHECKING:
    from gpudbg.analysis.local_liveness import LocalLiveness
    from gpudbg.formats.program import CodeImage, Kernel, Program

CALLS = cfg.CALLS | {"PRET"}
MAX_INSTRUCTIONS = 2000
"""Longer sections are analysed where a mark is asked for (`local_liveness`)."""


PREDICATE, CC, UNIFORM, UNIFORM_PREDICATE = 256, 264, 272, 400
"""Where the bits of other files begin in a mask of what may have been written: behind registers."""

REGISTERS = (1 << PREDICATE) - 1
OTHERS = (1 << UNIFORM_PREDICATE + 8) - (1 << PREDICATE)


def mask_of(registers: Iterable[int]) -> int:
    """Register numbers as a mask, bit n for Rn."""
    return sum(1 << n for n in set(registers))


def results_of(access: Access) -> int:
    """All that an instruction touches, in every file of registers, as a mask."""
    return (
        mask_of(access.registers)
        | mask_of(access.predicates) << PREDICATE
        | access.cc << CC
        | mask_of(access.uniform) << UNIFORM
        | mask_of(access.uniform_predicates) << UNIFORM_PREDICATE
    )


def mark_of(read: bool, written: bool, live: Callable[[], bool]) -> str:
    """`^` written, `v` read, `x` both, `:` live across, blank dead."""
    if read or written:
        return "x" if read and written else "v" if read else "^"
    return ":" if live() else " "


class Liveness:
    """Live and possibly written registers of a section, as masks by offset; its direct jumps.

    Args:
        flow: its control flow.
        entry: offset of the kernel's first instruction.
    """

    def __init__(self, flow: Flow, entry: int = 0) -> None:
        self._layout = layout = flow.layout
        reads, writes, results = {}, {}, {}
        for offset, insn in flow.instructions.items():
            reads[offset] = mask_of(insn.reads().registers) if insn is not None else 0
            results[offset] = results_of(insn.writes()) if insn is not None else 0
            writes[offset] = results[offset] & REGISTERS
        every_read = every_write = 0
        for offset in reads:
            every_read |= reads[offset]
            every_write |= results[offset]
        for offset, insn in flow.instructions.items():
            if insn is not None and insn.op in CALLS:
                reads[offset] |= every_read
                results[offset] |= every_write
                writes[offset] |= every_write & REGISTERS
        self.reads, self.writes = reads, writes
        self.jumps = {
            offset: layout.first(goal)
            for offset, insn in flow.instructions.items()
            if insn is not None and insn.op in JUMPS and (goal := insn.target(offset)) is not None
        }
        self._sure = {o: w for o, w in writes.items() if always_writes(flow.instructions[o])}
        self._flow = flow
        blocks = flow.blocks()
        self.live = self._backwards(blocks, every_read)
        self.written = self._forwards(blocks, layout.first(entry), results, every_write)

    def _backwards(self, blocks: list[BasicBlock], every: int) -> dict[int, int]:
        """Live registers before each instruction."""
        into = {b.start: 0 for b in blocks}
        before: dict[int, int] = {}
        changed = True
        while changed:
            changed = False
            for block in reversed(blocks):
                live = 0
                for edge in block.edges:
                    live |= into.get(edge.target, every)
                if block.ends not in ("", "exit", "illegal"):
                    live |= every
                for offset in reversed(block.offsets):
                    live = live & ~self._sure.get(offset, 0) | self.reads[offset]
                    before[offset] = live
                if live != into[block.start]:
                    into[block.start], changed = live, True
        return before

    def _forwards(
        self, blocks: list[BasicBlock], entry: int, results: dict[int, int], every: int
    ) -> dict[int, int]:
        """What may have been written before each instruction, in every file of registers."""
        reached = {e.target for b in blocks for e in b.edges}
        # What nothing in the section goes to is called from somewhere.
        into = {b.start: 0 if b.start == entry or b.start in reached else every for b in blocks}
        before: dict[int, int] = {}
        changed = True
        while changed:
            changed = False
            for block in blocks:
                known = into[block.start]
                for offset in block.offsets:
                    before[offset] = known
                    known |= results[offset]
                for edge in block.edges:
                    old = into.get(edge.target)
                    if old is not None and old | known != old:
                        into[edge.target], changed = old | known, True
        return before

    def mark(self, offset: int, register: int) -> str:
        """What an instruction is to a register, as nvdisasm's life ranges have it.

        `^` writes it, `v` reads it, `x` both, `:` it is live across, blank it is dead.
        """
        bit = 1 << register
        return mark_of(
            bool(self.reads.get(offset, 0) & bit),
            bool(self.writes.get(offset, 0) & bit),
            lambda: bool(self.live.get(offset, 0) & bit),
        )

    @property
    def branches(self) -> bool:
        """Whether there is a direct jump at all."""
        return bool(self.jumps)

    def window(self, first: int, last: int) -> dict[int, int]:
        """The direct jumps that begin, end or pass between two offsets: source -> target."""
        return {s: t for s, t in self.jumps.items() if min(s, t) <= last and max(s, t) >= first}

    def sets(self, offset: int) -> int:
        """Registers that an instruction writes, as a mask."""
        return self.writes.get(offset, 0)

    def pushers(self, kind: str, target: int) -> tuple[int, ...]:
        """The instructions that push a token of a kind for a place (offsets).

        A DIV token is a conditional branch's: for its target, or for what follows it.
        """
        goal, out = self._layout.first(target), []
        for offset, insn in self._flow.instructions.items():
            if insn is None:
                continue
            if kind == "DIV":
                hit = offset in self.jumps and self._flow.falls(offset)
                hit = hit and goal in (self.jumps[offset], self._layout.next(offset))
            else:
                place = insn.target(offset) if insn.op == kind else None
                hit = place is not None and self._layout.first(place) == goal
            if hit:
                out.append(offset)
        return tuple(out)

    def untouched(self, offsets: Iterable[int], count: int) -> int:
        """What nothing can have written on the way to any offset: of the first `count` registers,
        and of predicates, the condition code, uniform registers and predicates from their bits on.
        """
        known = 0
        for offset in offsets:
            known |= self.written.get(self._layout.first(offset), -1)
        return ~known & ((1 << count) - 1 | OTHERS)


def always_writes(insn: Instruction | None) -> bool:
    """Whether an instruction that executes writes all its results, whatever its guard."""
    return insn is not None and insn.replaces_results


def of_kernel(
    program: Program, image: CodeImage, kernel: Kernel
) -> Liveness | LocalLiveness | None:
    """The walk over a launched kernel's section, in parts where it is long; None without words."""
    section = section_code(image, kernel)
    if section is None:
        return None
    code, known = section
    layout = program.layout
    if len(code) // layout.bundle_bytes * layout.per_bundle > MAX_INSTRUCTIONS:
        from gpudbg.analysis.local_liveness import LocalLiveness

        return LocalLiveness(code, program.arch, known)
    words = [(offset, word) for offset, word, _ in instructions(code, layout)]
    return Liveness(Flow(words, program.arch, known)) if words else None
