"""Basic blocks and control flow of one code section, from the words alone.

On sm_50 to sm_62 SYNC, BRK, CONT, RET and LONGJMP go where a token on the divergence stack says.
The .nv.info record of indirect branch targets lists those places where ptxas wrote one; otherwise
a static walk carries the tokens along every path.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from gpudbg.code_layout import layout_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import DecodeError
from gpudbg.isa.family import Instruction, decode

if TYPE_CHECKING:
    from gpudbg.formats.program import CodeImage, Kernel

PUSHES = {
    "SSY": "SYNC",
    "PBK": "BRK",
    "PCNT": "CONT",
    "PRET": "RET",
    "PLONGJMP": "LONGJMP",
}
"""Instruction that pushes a token -> instruction that goes to it."""

POPS = frozenset(PUSHES.values())
ENDS = frozenset({"EXIT", "KIL", "KILL"})
JUMPS = frozenset({"BRA", "JMP"})
INDIRECT = frozenset({"BRX", "JMX", "BRXU", "JMXU"})
CALLS = frozenset({"CAL", "JCAL", "CALL"})
FLOW = POPS | ENDS | JUMPS | INDIRECT | {"RTT"}
"""Instructions that end a basic block."""

_STATE_LIMIT = 4096
_DEEPEST = 64
"""Most tokens that are carried along a path."""


def section_code(
    image: CodeImage, kernel: Kernel
) -> tuple[bytes, Mapping[int, tuple[int, ...]]] | None:
    """A launched kernel's section: its code, and the known targets of its indirect branches by
    offset; None: it is not in the image."""
    place = next((p for p in image.placements if p.section == kernel.section), None)
    if place is None:
        return None
    start = place.address - image.base
    targets = {b.offset: b.targets for b in kernel.indirect_branches if b.targets}
    return image.code[start : start + place.size], targets


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a block goes: `kind` is fall, branch, sync, break, continue, return or indirect."""

    target: int
    kind: str


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """Instructions with one way in and out; offsets, and the edges out of it.

    `ends` says how control leaves where no edge does: "exit", "return", or "".
    """

    start: int
    offsets: tuple[int, ...]
    edges: tuple[Edge, ...]
    ends: str

    @property
    def last(self) -> int:
        """Offset of the last instruction."""
        return self.offsets[-1]


_KINDS = {"SYNC": "sync", "BRK": "break", "CONT": "continue", "RET": "return", "LONGJMP": "longjmp"}


def goes_on(insn: Instruction) -> bool:
    """Whether control can go on to what follows an instruction."""
    return insn.op not in FLOW or not insn.unconditional


class Flow:
    """Control flow of a section.

    Args:
        words: (offset, word) of its instructions, ascending.
        arch: "sm_50", ...
        known: targets of stack and indirect branches by offset, where the file lists them.

    Attributes:
        instructions: by offset; None: undefined words.
        complete: all paths were walked with all tokens, so that targets of POPS are all there are.
        jumps: calls that nothing comes back from (`with_jumps`): they branch.
        pointer_calls: JMX that goes to a function with a PRET of what is behind it, from where its
            lanes come back there (`with_pointer_calls`): they fall through.
    """

    jumps: frozenset[int] = frozenset()
    pointer_calls: frozenset[int] = frozenset()
    _pushed_for_calls: frozenset[int] = frozenset()

    @classmethod
    def of(cls, instructions: Mapping[int, Instruction], arch: str, entry: int) -> Flow:
        """The flow of decoded code by offset or address; `entry`: where it begins."""
        made = cls((), arch)
        made.instructions = dict(sorted(instructions.items()))
        made._entry = entry
        made._walk()
        return made

    def __init__(
        self,
        words: Iterable[tuple[int, int]],
        arch: str,
        known: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self.layout = layout_of(arch)
        self.instructions: dict[int, Instruction | None] = {}
        for offset, word in words:
            try:
                self.instructions[offset] = decode(word, arch)
            except DecodeError:
                self.instructions[offset] = None
        self._known = known or {}
        self._walked: dict[int, set[int]] = {}
        self.complete = True
        self._entry: int | None = None
        self._walk()

    def with_jumps(self, calls: Iterable[int]) -> Flow:
        """The same code, some of whose calls are jumps (of sm_70 and later, where a call pushes
        nothing)."""
        made = copy.copy(self)
        made.jumps = frozenset(calls)
        return made

    def with_pointer_calls(self) -> Flow:
        """The same code with the calls of functions whose address a register holds, on sm_50 to
        sm_62."""
        found = dict(self._pointer_calls())
        if not found:
            return self
        made = copy.copy(self)
        made.pointer_calls = frozenset(found)
        made._pushed_for_calls = frozenset(found.values())
        made._walked, made.complete = {}, True
        made._walk()
        return made

    def _pointer_calls(self) -> Iterator[tuple[int, int]]:
        """(JMX, PRET of what is behind it) with no way to leave or enter between them."""
        insns = [(offset, insn) for offset, insn in self.instructions.items() if insn is not None]
        if not any(insn.op == "PRET" for _, insn in insns):
            return
        goals = {self.layout.first(t) for o, insn in insns if (t := insn.target(o)) is not None}
        push = behind = -1
        for offset, insn in insns:
            if offset in goals:
                push = -1
            target = insn.target(offset)
            if insn.op == "PRET" and insn.unconditional and target is not None:
                push, behind = offset, self.layout.first(target)
            elif insn.op == "JMX" and insn.unconditional and push >= 0:
                if behind == self.layout.next(offset):
                    yield offset, push
                push = -1
            elif insn.op in FLOW | PUSHES.keys() | CALLS:
                push = -1

    # ---- targets -----------------------------------------------------------------------
    def branches(self, offset: int) -> bool:
        """Whether an instruction ends a basic block."""
        insn = self.instructions[offset]
        if insn is None or offset in self.jumps:
            return True
        return insn.op in FLOW and offset not in self.pointer_calls

    def pushes(self, offset: int) -> bool:
        """Whether an instruction leaves a token on the divergence stack; one for a call is gone
        behind the call."""
        insn = self.instructions[offset]
        return insn is not None and insn.op in PUSHES and not self.pushes_for_call(offset)

    def pushes_for_call(self, offset: int) -> bool:
        """Whether an instruction is the PRET of a call (`pointer_calls`)."""
        return offset in self._pushed_for_calls

    def targets(self, offset: int) -> tuple[int, ...]:
        """Offsets a flow instruction can go to, falling through not included."""
        insn = self.instructions[offset]
        if insn is None:
            return ()
        if insn.op in JUMPS or offset in self.jumps:
            target = insn.target(offset)
            return () if target is None else (self.layout.first(target),)
        if insn.op in POPS or insn.op in INDIRECT:
            listed = tuple(self.layout.first(t) for t in self._known.get(offset, ()))
            return listed or tuple(sorted(self._walked.get(offset, ())))
        return ()

    def falls(self, offset: int) -> bool:
        """Whether control can go on to the next instruction."""
        insn = self.instructions[offset]
        if insn is not None and offset in self.jumps:
            return not insn.unconditional
        if offset in self.pointer_calls:
            return True
        return insn is not None and goes_on(insn)

    def _walk(self) -> None:
        """Carry stacks of tokens along every path, until nothing new is found."""
        if not self.instructions:
            return
        first = next(iter(self.instructions)) if self._entry is None else self._entry
        seen: set[tuple[int, tuple[tuple[str, int], ...]]] = set()
        todo: list[tuple[int, tuple[tuple[str, int], ...]]] = [(first, ())]
        todo += [(o, ()) for o in self._call_targets()]
        while todo and len(seen) < _STATE_LIMIT * 16:
            state = todo.pop()
            if state in seen or state[0] not in self.instructions:
                continue
            seen.add(state)
            todo += self._follow(*state)
        self.complete &= not todo

    def _call_targets(self) -> list[int]:
        out = []
        for offset, insn in self.instructions.items():
            if insn is not None and insn.op in CALLS:
                target = insn.target(offset)
                if target is not None:
                    out.append(self.layout.first(target))
        return out

    def _follow(
        self, offset: int, stack: tuple[tuple[str, int], ...]
    ) -> list[tuple[int, tuple[tuple[str, int], ...]]]:
        insn = self.instructions[offset]
        if insn is None:
            return []
        out = []
        after = stack
        if self.pushes(offset) and len(stack) >= _DEEPEST:
            self.complete = False
        elif self.pushes(offset):
            target = insn.target(offset)
            if target is not None:
                after = (*stack, (PUSHES[insn.op], self.layout.first(target)))
        if self.falls(offset):
            out.append((self.layout.next(offset), after))
        if insn.op in JUMPS or (insn.op in INDIRECT and offset in self._known):
            out += [(t, stack) for t in self.targets(offset)]
        if insn.op in POPS:
            out += self._pop(offset, insn.op, stack)
        return out

    def _pop(
        self, offset: int, op: str, stack: tuple[tuple[str, int], ...]
    ) -> list[tuple[int, tuple[tuple[str, int], ...]]]:
        for depth in range(len(stack) - 1, -1, -1):
            kind, target = stack[depth]
            if kind == op:
                self._walked.setdefault(offset, set()).add(target)
                return [(target, stack[:depth])]
        return []

    # ---- blocks ------------------------------------------------------------------------
    def blocks(self) -> list[BasicBlock]:
        """Basic blocks in address order."""
        offsets = list(self.instructions)
        leaders = {offsets[0]} if offsets else set()
        for offset, insn in self.instructions.items():
            if insn is None or self.branches(offset):
                leaders.add(self.layout.next(offset))
                leaders.update(self.targets(offset))
            elif self.pushes(offset) or insn.op in CALLS or insn.op == "BSSY":
                target = insn.target(offset)
                if target is not None:
                    leaders.add(self.layout.first(target))
        out: list[BasicBlock] = []
        current: list[int] = []
        for offset in offsets:
            if offset in leaders and current:
                out.append(self._block(current))
                current = []
            current.append(offset)
        if current:
            out.append(self._block(current))
        return out

    def _block(self, offsets: list[int]) -> BasicBlock:
        last = offsets[-1]
        insn = self.instructions[last]
        edges: list[Edge] = []
        if insn is not None and self.branches(last):
            kind = _KINDS.get(insn.op, "indirect" if insn.op in INDIRECT else "branch")
            edges += [Edge(t, kind) for t in self.targets(last)]
        if self.falls(last) and self.layout.next(last) in self.instructions:
            edges.append(Edge(self.layout.next(last), "fall"))
        ends = ""
        if insn is None:
            ends = "illegal"
        elif insn.op in ENDS:
            ends = "exit"
        elif insn.op in POPS and not self.targets(last):
            ends = "return" if insn.op == "RET" else "unknown"
        return BasicBlock(offsets[0], tuple(offsets), tuple(edges), ends)


def to_dot(name: str, blocks: Iterable[BasicBlock], text: Mapping[int, str]) -> str:
    """The control-flow graph in Graphviz's language."""
    lines = [f'digraph "{_escape(name)}" {{', '  node [shape=box, fontname="monospace"];']
    styles = {"fall": "solid", "branch": "solid"}
    for block in blocks:
        body = "".join(f"{o:04x}  {_escape(text[o])}\\l" for o in block.offsets)
        lines.append(f'  b{block.start:x} [label="{body}"];')
        for edge in block.edges:
            style = styles.get(edge.kind, "dashed")
            lines.append(
                f'  b{block.start:x} -> b{edge.target:x} [label="{edge.kind}", style={style}];'
            )
        if block.ends:
            lines.append(f'  b{block.start:x}_end [label="{block.ends}", shape=plaintext];')
            lines.append(f"  b{block.start:x} -> b{block.start:x}_end;")
    return "\n".join([*lines, "}"])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
