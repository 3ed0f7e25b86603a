"""Hazards of a code section over all paths, without running it.

A worklist carries what is in flight (`Pipeline`) from block to block; where paths meet, what is
in flight on any of them is in flight.  Calls go into functions of the same section; after a call
nothing is taken to be in flight, since the callee's end is not followed back to each caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpudbg.analysis.hazards.finding import Finding, HazardSite
from gpudbg.analysis.hazards.pipeline import Conflict, Pipeline, plan
from gpudbg.code_layout import layout_of
from gpudbg.errors import DecodeError
from gpudbg.isa.control import SCOREBOARDS, Control
from gpudbg.isa.family import decode
from gpudbg.isa.layout import instructions
from gpudbg.sm import cfg

if TYPE_CHECKING:
    from gpudbg.formats.program import Program

MAX_VISITS = 200
"""Times a block is looked at; far more than any program needs to settle."""


class CodeSection:
    """One section's instructions and the walk over them.

    Args:
        code: its bytes.
        arch: "sm_50", ...
        name: of the function, for places.
        entries: offsets at which execution can begin.
        known: targets of stack and indirect branches, where the file lists them.
    """

    def __init__(
        self,
        code: bytes,
        arch: str,
        name: str,
        entries: Iterable[int] = (0,),
        known: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self.layout = layout_of(arch)
        self.arch = arch
        self.name = name
        self.words = {at: (word, group) for at, word, group in instructions(code, self.layout)}
        flow = cfg.Flow(((a, w) for a, (w, _) in self.words.items()), arch, known)
        self.flow = flow
        self.blocks = {b.start: b for b in _split_calls(flow, flow.blocks())}
        starts = [self.layout.first(e) for e in entries]
        self.entries = [s for s in starts if s in self.blocks]

    def walk(self) -> list[Finding]:
        """All hazards, by offset."""
        conflicts: dict[tuple[str, str, int | None, int], tuple[Conflict, int]] = {}
        states = {start: Pipeline() for start in self.entries}
        todo = list(states)
        visits: dict[int, int] = {}
        while todo:
            start = todo.pop()
            visits[start] = visits.get(start, 0) + 1
            if visits[start] > MAX_VISITS:
                continue
            out = states[start].rebased()
            block = self.blocks[start]
            for offset in block.offsets:
                for conflict in self._issue(out, offset):
                    key = (conflict.kind, conflict.resource, conflict.first, offset)
                    conflicts.setdefault(key, (conflict, offset))
            for target, state in self._leave(block, out):
                if target not in self.blocks:
                    continue
                if target not in states:
                    states[target] = state
                elif not states[target].merge(state):
                    continue
                if target not in todo:
                    todo.append(target)
        found = [self.finding(c, at) for c, at in conflicts.values()]
        found += self._never_set(states)
        return sorted(found, key=lambda f: (f.second.pc, f.kind, f.resource))

    def _issue(self, pipeline: Pipeline, offset: int) -> list[Conflict]:
        try:
            p = plan(*self.words[offset], self.arch)
        except DecodeError:
            return []
        return pipeline.issue(offset, p)

    def _leave(self, block: cfg.BasicBlock, out: Pipeline) -> list[tuple[int, Pipeline]]:
        insn = self.flow.instructions[block.last]
        if insn is not None and insn.op in cfg.CALLS:
            target = insn.target(block.last)
            after = [(self.layout.next(block.last), Pipeline())]
            if target is not None and insn.op != "JCAL":
                after.append((self.layout.first(target), out.rebased()))
            return after
        return [(edge.target, out.rebased()) for edge in block.edges]

    def _never_set(self, states: Mapping[int, Pipeline]) -> list[Finding]:
        """Waits that are reached for scoreboards that no instruction sets."""
        reached = [
            offset
            for start in states
            for offset in self.blocks[start].offsets
            if self.flow.instructions[offset] is not None
        ]
        controls = {o: Control.decode(self.words[o][1]) for o in reached}
        if any(self._is_call(o) for o in reached):
            return []
        every = [Control.decode(group) for _, group in self.words.values()]
        sets = {c.write_barrier for c in every} | {c.read_barrier for c in every}
        out = []
        for offset, control in controls.items():
            for scoreboard in range(SCOREBOARDS):
                if control.wait >> scoreboard & 1 and scoreboard not in sets:
                    detail = f"nothing in {self.name} sets SB{scoreboard}"
                    conflict = Conflict("never-set", f"SB{scoreboard}", None, None, detail)
                    out.append(self.finding(conflict, offset))
        return out

    def _is_call(self, offset: int) -> bool:
        insn = self.flow.instructions[offset]
        return insn is not None and (insn.op in cfg.CALLS or insn.op in ("RET", *cfg.INDIRECT))

    def finding(self, conflict: Conflict, offset: int) -> Finding:
        """A conflict with its instructions' texts."""
        first = None if conflict.first is None else self.site(conflict.first)
        return Finding(
            conflict.kind, conflict.resource, first, self.site(offset), conflict.short,
            conflict.detail,
        )  # fmt: skip

    def site(self, offset: int) -> HazardSite:
        """An instruction of a finding."""
        word, group = self.words[offset]
        text = decode(word, self.arch).text(offset, group)
        return HazardSite(offset, f"{self.name}+0x{offset:x}", text, str(Control.decode(group)))


def _split_calls(flow: cfg.Flow, blocks: Iterable[cfg.BasicBlock]) -> list[cfg.BasicBlock]:
    """Blocks that also end at calls, so that a call's edges differ from falling through."""
    out = []
    for block in blocks:
        part: list[int] = []
        for offset in block.offsets:
            part.append(offset)
            insn = flow.instructions[offset]
            if insn is not None and insn.op in cfg.CALLS and offset != block.last:
                out.append(cfg.BasicBlock(part[0], tuple(part), (), ""))
                part = []
        out.append(cfg.BasicBlock(part[0], tuple(part), block.edges, block.ends))
    return out


def check_code(
    code: bytes,
    arch: str,
    name: str = "code",
    entries: Iterable[int] = (0,),
    known: Mapping[int, tuple[int, ...]] | None = None,
) -> list[Finding]:
    """Hazards of a section's code; arguments as for `CodeSection`."""
    return CodeSection(code, arch, name, entries, known).walk()


def check_program(program: Program, sections: Iterable[str] | None = None) -> list[Finding]:
    """Hazards of a program's code sections (all of them unless named)."""
    out = []
    for section in program.code_sections if sections is None else sections:
        functions = [f for f in program.functions.values() if f.section == section]
        known = {
            b.offset: b.targets
            for k in program.kernels.values()
            if k.section == section
            for b in k.indirect_branches
            if b.targets
        }
        entries = [f.offset for f in functions] or [0]
        name = section.removeprefix(".text.")
        out += check_code(program.sections[section].data, program.arch, name, entries, known)
    return out
