"""Where a function keeps its caller's registers, and from sm_70 on its return address.

Up to sm_62 CAL leaves a token on the divergence stack.  From sm_70 on CALL pushes nothing: ordinary
code puts the return address into a register pair (R20:R21 by the ABI, others for the compiler's own
helpers), and RET jumps to a pair.  The callee saves what it needs on its stack.  A walk from a
function's first instruction follows copies of registers, the stack pointer and words of the stack;
at any instruction in between it says which register or word holds what the caller left.  Calls
inside keep what their target keeps, by the same walk; targets that are not known keep the
callee-saved registers of the ABI (*documented* by what ptxas emits).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final

from gpudbg.code_layout import layout_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import DecodeError
from gpudbg.isa.calling_convention import (
    BARRIERS,
    CALLEE_SAVED,
    FIRST_SAVED_BARRIER,
    STACK_POINTER,
)
from gpudbg.isa.family import Instruction, decode
from gpudbg.isa.operands import Address, Imm, Name, Reg
from gpudbg.sm.cfg import CALLS, ENDS, INDIRECT, POPS, Flow

MOST_INSTRUCTIONS: Final = 20_000
"""Longer functions are not walked."""

FURTHEST_PRET: Final = 64
"""Instructions before an indirect call in which its PRET is looked for."""

_SUMS: Final = ("IADD3", "IADD", "VIADD", "IADD32I")
_SIZES: Final = {"64": 2, "128": 4}


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """What a register held when the function began."""

    register: int


@dataclass(frozen=True, slots=True)
class Stack:
    """The stack pointer at the function's beginning, and so many bytes."""

    offset: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A number in the code."""

    value: int


Value = FunctionEntry | Stack | Constant

Place = tuple[str, int]
"""("R", number) of a register, ("S", bytes from the first stack pointer) of a word of the stack,
("B", number) of a convergence barrier."""
State = dict[Place, Value]
"""What is known; a place that is not named holds something else."""


@dataclass(frozen=True, slots=True)
class Return:
    """How a function returns.

    Attributes:
        register: the one that held the address when it began, its low half.
        base: what is added to it.
        high: the address's high half where the function knows it; None: the register after.
    """

    register: int
    base: int
    high: int | None = None


@dataclass(slots=True)
class FunctionFacts:
    """What the walk found of one function.

    Attributes:
        entry: address of its first instruction.
        returns: None where it has no RET (a kernel), or where it leads to no register of the entry,
            and up to sm_62.
        before: what is known before each instruction.
        kept: registers that it gives back as it got them.
        touched: registers that it writes, or a call in it may; `before` tells of no others.
        saves_predicates: it brings predicates back from a register.
        uses: convergence barriers that it opens, leaves, saves or brings back.
        barriers: those of them that it gives back as they were.
    """

    entry: int
    returns: Return | None = None
    before: dict[int, State] = field(default_factory=dict)
    kept: frozenset[int] = CALLEE_SAVED
    touched: frozenset[int] = frozenset()
    saves_predicates: bool = False
    uses: frozenset[int] = frozenset()
    barriers: frozenset[int] = frozenset()

    def place_of(self, pc: int, register: int) -> Place | None:
        """Where the value lies before an instruction that a register held at the beginning."""
        state = self.before.get(pc)
        if state is None:
            return None
        if register < BARRIERS and register not in self.touched:
            return "R", register
        found = [place for place, value in state.items() if value == FunctionEntry(register)]
        # The register itself where it still has it: no memory needs to be read.
        return min(found, key=lambda place: (place[0] != "R", place), default=None)

    def stack_at(self, pc: int) -> int | None:
        """Bytes from the first stack pointer to the one before an instruction."""
        value = self.before.get(pc, {}).get(("R", STACK_POINTER))
        return value.offset if isinstance(value, Stack) else None


class CallFrames:
    """Facts of a program's functions, each walked when it is first asked for.

    Args:
        word: the instruction word at a code address, or None.
        arch: the architecture of the code.
        extent: (first, end) code addresses of the function at a code address, or None.
    """

    def __init__(
        self,
        word: Callable[[int], int | None],
        arch: str,
        extent: Callable[[int], tuple[int, int] | None],
    ) -> None:
        self._word, self.arch, self._extent = word, arch, extent
        self.layout = layout_of(arch)
        self._facts: dict[int, FunctionFacts] = {}
        self._walking: set[int] = set()

    def facts(self, pc: int) -> FunctionFacts | None:
        """Of the function at a code address; None outside functions."""
        extent = self._extent(pc)
        if extent is None:
            return None
        return self._of(*extent)

    def instruction(self, pc: int) -> Instruction | None:
        """The instruction at a code address, or None."""
        word = self._word(pc)
        try:
            return None if word is None else decode(word, self.arch)
        except DecodeError:
            return None

    def _of(self, first: int, end: int) -> FunctionFacts:
        found = self._facts.get(first)
        if found is None:
            self._walking.add(first)
            found = _Walk(self, first, end).facts()
            self._walking.discard(first)
            self._facts[first] = found
        return found

    def flow(self, first: int, end: int) -> Flow:
        """Control flow of a function up to sm_62."""
        pcs = (pc for pc in range(first, end, 8) if not self.layout.is_control(pc))
        return Flow(((pc, word) for pc in pcs if (word := self._word(pc)) is not None), self.arch)

    def kept_by(self, target: int | None) -> frozenset[int]:
        """Registers that a call of a target gives back; those of the ABI where that is unknown."""
        extent = None if target is None else self._extent(target)
        if extent is None or extent[0] != target or target in self._walking:
            return CALLEE_SAVED
        return self._of(*extent).kept


class _Walk:
    """One function's walk."""

    def __init__(self, frames: CallFrames, first: int, end: int) -> None:
        self._frames, self._first, self._end = frames, first, end
        self._found = FunctionFacts(first)
        self._returns: list[tuple[Return | None, State]] = []
        self._indirect: list[State] = []
        layout = frames.layout
        pcs = range(layout.first(first), end, layout.word_bytes)
        self._pcs = [pc for pc in pcs if not layout.is_control(pc)]
        self._narrow = layout.has_control_words
        self._flow: Flow | None = None

    def facts(self) -> FunctionFacts:
        """Walk all that can be reached, then what indirect branches may reach."""
        if len(self._pcs) > MOST_INSTRUCTIONS:
            return self._found
        if self._narrow:
            self._flow = self._frames.flow(self._first, self._end)
        touched = self._touched()
        self._found.touched = frozenset(touched)
        state: State = {("R", n): _first_value(n) for n in touched}
        barriers = self._found.uses = frozenset(self._barriers())
        state |= {("B", n): FunctionEntry(BARRIERS + n) for n in barriers}
        self._spread(self._frames.layout.first(self._first), state)
        if self._indirect:
            state = self._indirect[0]
            for other in self._indirect[1:]:
                state = _joined(state, other)
            for pc in self._pcs:
                if pc not in self._found.before:
                    self._spread(pc, state)
        returns = [made for made, _ in self._returns]
        self._found.returns = next((r for r in returns if r is not None), None)
        if self._returns:
            lost = {
                n
                for n in touched
                for _, state in self._returns
                if state.get(("R", n)) != _first_value(n)
            }
            self._found.kept = frozenset(range(255)) - lost
            self._found.barriers = frozenset(
                n
                for n in barriers
                if all(
                    state.get(("B", n)) == FunctionEntry(BARRIERS + n) for _, state in self._returns
                )
            )
        return self._found

    def _barriers(self) -> set[int]:
        """Convergence barriers that may change in the function."""
        found = (self._frames.instruction(pc) for pc in self._pcs if not self._narrow)
        return {n for insn in found if insn is not None and (n := _barrier(insn)) is not None}

    def _touched(self) -> set[int]:
        """Registers that may change in the function, those that its RETs use, and those that are
        copied: a return address may come in any register, and leave by a copy of it.
        """
        out = {STACK_POINTER}
        for pc in self._pcs:
            insn = self._frames.instruction(pc)
            if insn is None:
                continue
            out |= insn.writes().registers
            _, source, _ = _copied(insn)
            if source is not None:
                out |= set(range(source.index, source.index + source.count))
            if insn.op in ("R2P", "PR2R"):
                self._found.saves_predicates = True
            if insn.op == "RET":
                out |= insn.reads().registers
            elif insn.op in CALLS or (insn.op in INDIRECT and self._after_call(pc)):
                out |= set(range(255)) - self._kept_over(pc, insn)
        return out

    def _kept_over(self, pc: int, insn: Instruction) -> frozenset[int]:
        through_register = any(isinstance(o, Reg) for o in insn.operands) or insn.op in INDIRECT
        return self._frames.kept_by(None if through_register else insn.target(pc))

    def _spread(self, pc: int, state: State) -> None:
        todo = [(pc, state)]
        before = self._found.before
        while todo:
            pc, state = todo.pop()
            if not self._first <= pc < self._end:
                continue
            old = before.get(pc)
            if old is not None:
                state = _joined(old, state)
                if len(state) == len(old):
                    continue
            before[pc] = state
            insn = self._frames.instruction(pc)
            if insn is not None:
                todo += self._after(pc, insn, state)

    def _after(self, pc: int, insn: Instruction, state: State) -> list[tuple[int, State]]:
        """Where control goes, and what is known there."""
        following = self._frames.layout.next(pc)
        beside = [] if insn.unconditional else [(following, state)]
        if insn.op in ENDS:
            return beside
        if insn.op in POPS or insn.op in INDIRECT:
            return [*self._popped(pc, insn, state), *beside]
        if insn.op in CALLS:
            return [(following, self._called(pc, insn, state))]
        if insn.op in ("BRA", "JMP"):
            target = insn.target(pc)
            out = [] if target is None else [(self._frames.layout.first(target), state)]
            return [*out, (following, state)] if insn.tests_guard else [*out, *beside]
        return [(following, _executed(insn, state))]

    def _popped(self, pc: int, insn: Instruction, state: State) -> list[tuple[int, State]]:
        """Where what takes its target from a token or a register may lead."""
        if insn.op in INDIRECT:
            behind = self._after_call(pc)
            if behind is not None:
                return [(behind, self._called(pc, insn, state))]
            self._indirect.append(state)
            return []
        targets = () if self._flow is None else self._flow.targets(pc)
        if insn.op == "RET" and not targets:
            self._returns.append((_return(pc, insn, state), state))
        return [(target, state) for target in targets]

    def _after_call(self, pc: int) -> int | None:
        """Where an indirect jump comes back to: up to sm_62 PRET before it says so."""
        if not self._narrow:
            return None
        layout = self._frames.layout
        for before in (layout.back(pc, n) for n in range(1, FURTHEST_PRET)):
            insn = self._frames.instruction(before) if before >= self._first else None
            if insn is not None and insn.op == "PRET":
                target = insn.target(before)
                return None if target is None or target <= pc else layout.first(target)
        return None

    def _called(self, pc: int, insn: Instruction, state: State) -> State:
        kept = self._kept_over(pc, insn)
        return {
            place: value
            for place, value in state.items()
            if place[0] == "S"
            or (place[0] == "R" and (place[1] in kept or place[1] == STACK_POINTER))
            or (place[0] == "B" and place[1] >= FIRST_SAVED_BARRIER)
        }


def _first_value(register: int) -> Value:
    return Stack(0) if register == STACK_POINTER else FunctionEntry(register)


def _joined(a: State, b: State) -> State:
    return {place: value for place, value in a.items() if b.get(place) == value}


def _return(pc: int, insn: Instruction, state: State) -> Return | None:
    pair = next((o for o in insn.operands if isinstance(o, Reg)), None)
    if pair is None:  # Up to sm_62: a token says where to.
        return None
    low, high = state.get(("R", pair.index)), state.get(("R", pair.index + 1))
    known = high.value if isinstance(high, Constant) else None
    if not isinstance(low, FunctionEntry) or (
        known is None and high != FunctionEntry(low.register + 1)
    ):
        return None
    base = insn.target(pc) if "REL" in insn.m else 0
    return Return(low.register, base or 0, known)


# ---- what instructions do to places ------------------------------------------------------
def _executed(insn: Instruction, state: State) -> State:
    """What is known after an instruction that goes on."""
    written = insn.writes().registers
    if insn.op == "STL":
        return _stored(insn, state)
    barrier = _barrier(insn)
    if barrier is not None:
        return _moved_barrier(insn, barrier, state)
    if not written:
        return state
    made = _made(insn, state) if insn.unconditional else {}
    after = {p: v for p, v in state.items() if p[0] != "R" or p[1] not in written}
    for register, value in made.items():
        after["R", register] = value
    return after


def _barrier(insn: Instruction) -> int | None:
    """The convergence barrier that an instruction opens, leaves, saves or brings back."""
    name = insn.o.get("name")
    if insn.op not in ("BSSY", "BSYNC", "BREAK", "BMOV") or not isinstance(name, Name):
        return None
    return name.value if name.text.startswith("B") and name.text[1:].isdigit() else None


def _moved_barrier(insn: Instruction, barrier: int, state: State) -> State:
    """What is known after an instruction that works on a convergence barrier."""
    after = dict(state)
    target, source = insn.o.get("d"), insn.o.get("a")
    if isinstance(target, Reg):  # BMOV R, Bn
        value = after.get(("B", barrier))
        after.pop(("R", target.index), None)
        if value is not None and insn.unconditional:
            after["R", target.index] = value
        if "CLEAR" in insn.m:
            after.pop(("B", barrier), None)
        return after
    after.pop(("B", barrier), None)
    if isinstance(source, Reg) and insn.unconditional:  # BMOV Bn, R
        value = state.get(("R", source.index))
        if isinstance(value, FunctionEntry) and value.register >= BARRIERS:
            after["B", barrier] = value
    return after


def _made(insn: Instruction, state: State) -> dict[int, Value]:
    """Registers that an instruction gives a value that is known."""
    if insn.op == "LDL":
        return _loaded(insn, state)
    number = _number(insn)
    if number is not None:
        return number
    target, source, add = _copied(insn)
    if target is None or source is None:
        return {}
    out: dict[int, Value] = {}
    for n in range(target.count):
        value = state.get(("R", source.index + n))
        if value is None:
            continue
        if add:
            if not isinstance(value, Stack):
                continue
            value = Stack(value.offset + add)
        out[target.index + n] = value
    return out


def _number(insn: Instruction) -> dict[int, Value] | None:
    """The register that a move from the code writes; None for other instructions."""
    o = insn.o
    target = o.get("d")
    if not isinstance(target, Reg) or target.file != "R" or target.count != 1:
        return None
    if insn.op == "MOV":
        source = o.get("a", o.get("b"))
    elif insn.op == "IMAD" and not {"WIDE", "HI", "X"} & _words(insn):
        zero = any(isinstance(p, Reg) and p.is_zero for p in (o.get("a"), o.get("b")))
        source = o.get("c") if zero else None
    else:
        return None
    return {target.index: Constant(source.value)} if isinstance(source, Imm) else None


def _copied(insn: Instruction) -> tuple[Reg | None, Reg | None, int]:
    """(destination, source, what is added) of a move, or of a sum with an immediate."""
    o = insn.o
    target = o.get("d")
    if not isinstance(target, Reg) or target.file != "R":
        return None, None, 0
    words = _words(insn)
    if insn.op == "MOV":
        mask = o.get("imm")
        whole = not isinstance(mask, Imm) or mask.value == 0xF
        return target, _plain(o.get("a", o.get("b"))) if whole else None, 0
    parts = [o.get(name) for name in ("a", "b", "c")]
    if insn.op == "IMAD" and not {"WIDE", "HI", "X"} & words:
        product = any(isinstance(part, Reg) and part.is_zero for part in parts[:2])
        return target, _plain(parts[2]) if product else None, 0
    if insn.op in _SUMS and not {"X", "64", "PO", "SAT"} & words:
        rest = [p for p in parts if p is not None and not (isinstance(p, Reg) and p.is_zero)]
        sources = [p for p in rest if isinstance(p, Reg)]
        immediates = [p for p in rest if isinstance(p, Imm)]
        if len(sources) == 1 and len(sources) + len(immediates) == len(rest):
            added = sum(i.value for i in immediates) & 0xFFFFFFFF
            return target, _plain(sources[0]), added - (added >> 31 << 32)
    return None, None, 0


def _words(insn: Instruction) -> frozenset[str]:
    """Modifiers by name, whichever kind of instruction it is."""
    if not isinstance(insn.m, Mapping):
        return frozenset(insn.m)
    return frozenset(
        name.upper() if value is True else str(value) for name, value in insn.m.items() if value
    )


def _plain(operand: object) -> Reg | None:
    """A whole register without sign, or None."""
    if not isinstance(operand, Reg) or operand.file != "R" or operand.is_zero:
        return None
    changed = operand.neg or operand.abs or operand.inv or operand.part
    return None if changed else operand


def _slot(insn: Instruction, state: State) -> int | None:
    """The word of the stack that an access begins at, from the first stack pointer."""
    address = insn.o.get("addr")
    if not isinstance(address, Address) or address.index is not None:
        return None
    base = state.get(("R", address.base.index))
    return base.offset + address.offset if isinstance(base, Stack) else None


def _width(insn: Instruction) -> int | None:
    """Registers of an access; None: it is narrower than a register."""
    words = _words(insn)
    if {"U8", "S8", "U16", "S16"} & words:
        return None
    return next((count for name, count in _SIZES.items() if name in words), 1)


def _stored(insn: Instruction, state: State) -> State:
    place, source = _slot(insn, state), insn.o.get("a", insn.o.get("b"))
    if place is None or not isinstance(source, Reg):
        # A place that is not known: compilers keep what they save apart from what programs index.
        return state
    after = dict(state)
    width = _width(insn)
    for n in range(width or 1):
        after.pop(("S", (place & ~3) + 4 * n), None)
        value = state.get(("R", source.index + n))
        if width and value is not None and not source.is_zero and insn.unconditional:
            after["S", place + 4 * n] = value
    return after


def _loaded(insn: Instruction, state: State) -> dict[int, Value]:
    place, target, width = _slot(insn, state), insn.o.get("d"), _width(insn)
    if place is None or width is None or not isinstance(target, Reg):
        return {}
    found = {target.index + n: state.get(("S", place + 4 * n)) for n in range(width)}
    return {register: value for register, value in found.items() if value is not None}
