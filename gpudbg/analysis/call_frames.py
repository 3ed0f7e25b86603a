"""Where a function of sm_70 and later keeps its return address and its caller's registers.

CALL pushes nothing there: ordinary code puts the return address into a register pair (R20:R21 by
the ABI, others for the compiler's own helpers), the callee saves what it needs on its stack, and
RET jumps to a pair.  A walk from a function's first instruction follows copies of registers, the
stack pointer and words of the stack; at any instruction in between it says which register or word
holds what the caller left.  Calls inside keep what their target keeps, by the same walk; targets
that are not known keep the callee-saved registers of the ABI (*documented* by what ptxas emits).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from gpudbg.analysis.cfg import CALLS, ENDS, INDIRECT
from gpudbg.errors import DecodeError
from gpudbg.isa.family import Instruction, decode
from gpudbg.isa.operands import Address, Imm, Reg

STACK_POINTER: Final = 1
RETURN_PAIR: Final = 20
"""First register of the return address in functions of the C ABI."""
CALLEE_SAVED: Final = frozenset(
    (STACK_POINTER, 2, *range(16, 20), *range(22, 32), *(n for n in range(32, 255) if n % 8 >= 4))
)
"""Registers that a function gives back as it got them."""
MOST_INSTRUCTIONS: Final = 20_000
"""Longer functions are not walked."""

_SIZES: Final = {"64": 2, "128": 4}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a register held when the function began."""

    register: int


@dataclass(frozen=True, slots=True)
class Stack:
    """The stack pointer at the function's beginning, and so many bytes."""

    offset: int


Value = Entry | Stack
Place = tuple[str, int]
"""("R", number) of a register, ("S", bytes from the first stack pointer) of a word of the stack."""
State = dict[Place, Value]
"""What is known; a place that is not named holds something else."""


@dataclass(frozen=True, slots=True)
class Return:
    """How a function returns: the pair that held the address when it began, what is added to it."""

    register: int
    base: int


@dataclass(slots=True)
class FunctionFacts:
    """What the walk found of one function.

    Attributes:
        entry: address of its first instruction.
        returns: None where it has no RET (a kernel), or where it leads to no register of the entry.
        before: what is known before each instruction.
        kept: registers that it gives back as it got them.
        touched: registers that it writes, or a call in it may; `before` tells of no others.
    """

    entry: int
    returns: Return | None = None
    before: dict[int, State] = field(default_factory=dict)
    kept: frozenset[int] = CALLEE_SAVED
    touched: frozenset[int] = frozenset()

    def place_of(self, pc: int, register: int) -> Place | None:
        """Where the value lies before an instruction that a register held at the beginning."""
        state = self.before.get(pc)
        if state is None:
            return None
        if register not in self.touched:
            return "R", register
        found = [place for place, value in state.items() if value == Entry(register)]
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
        self._word, self._arch, self._extent = word, arch, extent
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
            return None if word is None else decode(word, self._arch)
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

    def facts(self) -> FunctionFacts:
        """Walk all that can be reached, then what indirect branches may reach."""
        if self._end - self._first > MOST_INSTRUCTIONS * 16:
            return self._found
        touched = self._touched()
        self._found.touched = frozenset(touched)
        self._spread(self._first, {("R", n): _first_value(n) for n in touched})
        if self._indirect:
            state = self._indirect[0]
            for other in self._indirect[1:]:
                state = _joined(state, other)
            for pc in range(self._first, self._end, 16):
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
        return self._found

    def _touched(self) -> set[int]:
        """Registers that may change in the function, and those that its RETs use."""
        out = {STACK_POINTER}
        for pc in range(self._first, self._end, 16):
            insn = self._frames.instruction(pc)
            if insn is None:
                continue
            out |= insn.writes().registers
            if insn.op == "RET":
                out |= insn.reads().registers
            elif insn.op in CALLS:
                out |= set(range(255)) - self._kept_over(pc, insn)
        return out

    def _kept_over(self, pc: int, insn: Instruction) -> frozenset[int]:
        through_register = any(isinstance(o, Reg) for o in insn.operands)
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
        following = pc + 16
        always = insn.unconditional
        if insn.op in ENDS:
            return [] if always else [(following, state)]
        if insn.op == "RET":
            self._returns.append((_return(pc, insn, state), state))
            return [] if always else [(following, state)]
        if insn.op in INDIRECT:
            self._indirect.append(state)
            return [] if always else [(following, state)]
        if insn.op in CALLS:
            return [(following, self._called(pc, insn, state))]
        if insn.op in ("BRA", "JMP"):
            target = insn.target(pc)
            out = [] if target is None else [(target, state)]
            return out if always and not insn.tests_guard else [*out, (following, state)]
        return [(following, _executed(insn, state))]

    def _called(self, pc: int, insn: Instruction, state: State) -> State:
        kept = self._kept_over(pc, insn)
        return {
            place: value
            for place, value in state.items()
            if place[0] == "S" or place[1] in kept or place[1] == STACK_POINTER
        }


def _first_value(register: int) -> Value:
    return Stack(0) if register == STACK_POINTER else Entry(register)


def _joined(a: State, b: State) -> State:
    return {place: value for place, value in a.items() if b.get(place) == value}


def _return(pc: int, insn: Instruction, state: State) -> Return | None:
    pair = next((o for o in insn.operands if isinstance(o, Reg)), None)
    if pair is None:
        return None
    low, high = state.get(("R", pair.index)), state.get(("R", pair.index + 1))
    if not isinstance(low, Entry) or high != Entry(low.register + 1):
        return None
    base = insn.target(pc) if "REL" in insn.m else 0
    return Return(low.register, base or 0)


# ---- what instructions do to places ------------------------------------------------------
def _executed(insn: Instruction, state: State) -> State:
    """What is known after an instruction that goes on."""
    written = insn.writes().registers
    if insn.op == "STL":
        return _stored(insn, state)
    if not written:
        return state
    made = _made(insn, state) if insn.unconditional else {}
    after = {p: v for p, v in state.items() if p[0] == "S" or p[1] not in written}
    for register, value in made.items():
        after["R", register] = value
    return after


def _made(insn: Instruction, state: State) -> dict[int, Value]:
    """Registers that an instruction gives a value that is known."""
    if insn.op == "LDL":
        return _loaded(insn, state)
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


def _copied(insn: Instruction) -> tuple[Reg | None, Reg | None, int]:
    """(destination, source, what is added) of a move, or of a sum with an immediate."""
    o = insn.o
    target = o.get("d")
    if not isinstance(target, Reg) or target.file != "R":
        return None, None, 0
    if insn.op == "MOV":
        return target, _plain(o.get("a")), 0
    parts = [o.get(name) for name in ("a", "b", "c")]
    if insn.op == "IMAD" and not {"WIDE", "HI", "X"} & set(insn.m):
        product = any(isinstance(part, Reg) and part.is_zero for part in parts[:2])
        return target, _plain(parts[2]) if product else None, 0
    if insn.op in ("IADD3", "IADD", "VIADD") and not {"X", "64"} & set(insn.m):
        rest = [p for p in parts if p is not None and not (isinstance(p, Reg) and p.is_zero)]
        sources = [p for p in rest if isinstance(p, Reg)]
        immediates = [p for p in rest if isinstance(p, Imm)]
        if len(sources) == 1 and len(sources) + len(immediates) == len(rest):
            added = sum(i.value for i in immediates) & 0xFFFFFFFF
            return target, _plain(sources[0]), added - (added >> 31 << 32)
    return None, None, 0


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
    if {"U8", "S8", "U16", "S16"} & set(insn.m):
        return None
    return next((count for name, count in _SIZES.items() if name in insn.m), 1)


def _stored(insn: Instruction, state: State) -> State:
    place, source = _slot(insn, state), insn.o.get("a")
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
