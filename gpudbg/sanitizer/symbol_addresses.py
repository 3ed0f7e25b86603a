"""Which accesses of a kernel go through the address of a variable: from the code alone.

The address of a `__device__` variable comes into code by a relocation, of a word of constant bank 4
or of an immediate.  It stays that variable's through additions and copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.dataclass import dataclass
from gpudbg.isa.layout import instructions
from gpudbg.isa.operands import PT, Address, CBankAddress, Const, Imm, Reg
from gpudbg.sm.cfg import CALLS, INDIRECT, Flow
from gpudbg.sm.trace import WORDS

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

MOVES: Final = frozenset(("MOV", "MOV32I", "UMOV", "LDC", "ULDC", "LDCU", "R2UR"))
ADDS: Final = frozenset(
    ("IADD", "IADD32I", "IADD3", "UIADD3", "VIADD", "IADD64", "UIADD64", "IMAD", "UIMAD", "XMAD",
     "LEA", "ULEA", "ISCADD", "ISCADD32I")
)  # fmt: skip
CHOICES: Final = frozenset(("SEL", "USEL"))
PASSING: Final = MOVES | ADDS | CHOICES
"""Instructions whose result may be an address held in an operand."""
_MULTIPLIED: Final[Mapping[str, tuple[str, ...]]] = {
    "IMAD": ("a", "b"), "UIMAD": ("a", "b"), "XMAD": ("a", "b"), "LEA": ("a",), "ULEA": ("a",),
    "ISCADD": ("a",), "ISCADD32I": ("a",),
}  # fmt: skip
"""Mnemonic -> operands that are multiplied or shifted."""
_SHIFTS: Final = frozenset(("LEA", "ULEA", "ISCADD", "ISCADD32I"))
MOST_INSTRUCTIONS: Final = 20000

Key = tuple[str, int]
"""(register file, index)."""


@dataclass(frozen=True, slots=True)
class SymbolBytes:
    """A variable: its name, and where its bytes begin and end."""

    name: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class SymbolAddresses:
    """Where code gets addresses of variables from.

    Attributes:
        symbols: the variables; they are known by their place here, from 1 on.
        words: of constant bank 4, by offset.
        places: instructions with an address as immediate, by pc.
    """

    symbols: tuple[SymbolBytes, ...]
    words: Mapping[int, int]
    places: Mapping[int, int]

    @classmethod
    def of(cls, session: DebugSession) -> SymbolAddresses:
        """The symbol addresses of a launch's program."""
        launch = session.launch
        program, image = launch.program, launch.image
        segments = launch.loaded.module.segments
        numbers: dict[int, int] = {}
        found: list[SymbolBytes] = []
        words: dict[int, int] = {}
        places: dict[int, int] = {}
        sections = {".nv.constant4", f".nv.constant4.{launch.kernel.name}"}
        for relocation in program.relocations:
            symbol = program.symbols[relocation.symbol]
            held = segments.get(symbol.section)
            if held is None or symbol.kind != "object" or not symbol.size:
                continue
            number = numbers.get(symbol.index)
            if number is None:
                low = held.base + symbol.value
                found.append(SymbolBytes(symbol.name, low, low + symbol.size))
                number = numbers[symbol.index] = len(found)
            if relocation.section in sections:
                words[relocation.offset] = words[relocation.offset + 4] = number
            elif relocation.section.startswith(".text"):
                places[image.address_in(relocation.section, relocation.offset)] = number
        return cls(tuple(found), words, places)

    def source(self, operand: object) -> int:
        """The variable whose address a constant operand holds, or 0."""
        if isinstance(operand, Const) and operand.bank == 4 and operand.handle is None:
            return self.words.get(operand.offset, 0)
        if isinstance(operand, CBankAddress) and operand.bank == 4:
            direct = operand.base is None or operand.base.is_zero
            return self.words.get(operand.offset, 0) if direct else 0
        return 0


def keys_of(register: Reg) -> list[Key]:
    """The registers of an operand."""
    return [(register.file, index) for index in register.registers()]


def written(insn: Any) -> list[Key]:
    """Registers that an instruction writes."""
    writes = insn.writes()
    return [("R", i) for i in writes.registers] + [("UR", i) for i in writes.uniform]


def sources(insn: Any) -> Iterator[tuple[object, bool]]:
    """(operand, whether it is only added or moved) for the operands that make an instruction's
    result.
    """
    multiplied = _MULTIPLIED.get(insn.op, ())
    for slot in ("a", "b", "c", "cbank"):
        operand = insn.o.get(slot)
        if not isinstance(operand, Reg | Const | CBankAddress):
            continue
        if slot in multiplied and insn.op in _SHIFTS and ".HI" in insn.text():
            # The low half of a shifted pair only contributes its carry-out bits.
            continue
        plain = slot not in multiplied or _keeps(insn, slot)
        yield operand, plain and not getattr(operand, "neg", False)


def _keeps(insn: Any, slot: str) -> bool:
    """Whether an operand is multiplied by 1 or shifted by 0."""
    if insn.op in _SHIFTS:
        return getattr(insn.o.get("imm"), "value", 0) == 0
    other = insn.o.get("b" if slot == "a" else "a")
    return isinstance(other, Imm) and other.value == 1


def addresses(insn: Any) -> list[Address]:
    """Operands that are addresses in memory."""
    return [o for o in insn.o.values() if isinstance(o, Address)]


def address_keys(operand: Address) -> list[Key]:
    """Registers that are summed to an address, low halves only."""
    found = keys_of(operand.base)[:1]
    return found + (keys_of(operand.index)[:1] if operand.index is not None else [])


State = dict[Key, frozenset[int]]


def accesses_by_symbol(
    session: DebugSession, known: SymbolAddresses, reached: Iterable[tuple[int, Any]]
) -> Mapping[int, frozenset[int]] | None:
    """Variables that an access may go to, by pc; None: the code is too large, or goes to places
    that are not known.

    Args:
        reached: (pc, instruction) of the code that the kernel reaches.
    """
    if not known.words and not known.places:
        return {}
    code = dict(reached)
    if not any(pc in known.places for pc in code) and not any(
        known.source(o) for insn in code.values() for o in insn.o.values()
    ):
        return {}
    if len(code) > MOST_INSTRUCTIONS:
        return None
    after = _successors(session, code)
    return None if after is None else _Spread(known, code, after).accesses()


def _successors(
    session: DebugSession, code: Mapping[int, Any]
) -> Mapping[int, Sequence[int]] | None:
    """Successors of each instruction; a call also continues behind it. None where a target is
    unknown.
    """
    program, image = session.launch.program, session.launch.image
    found: dict[int, list[int]] = {}
    returns: list[int] = []
    behind: list[int] = []
    for place in image.placements:
        if program.layout.first(place.address) not in code:
            continue
        start = place.address - image.base
        content = image.code[start : start + place.size]
        words = [(pc, w) for pc, w, _ in instructions(content, program.layout, place.address)]
        indirect = {
            place.address + b.offset: tuple(place.address + t for t in b.targets)
            for kernel in program.kernels.values() if kernel.section == place.section
            for b in kernel.indirect_branches if b.targets
        }  # fmt: skip
        flow = Flow(words, program.arch, indirect)
        for pc, insn in flow.instructions.items():
            if insn is None:
                continue
            goes = list(flow.targets(pc))
            if flow.falls(pc):
                goes.append(flow.layout.next(pc))
            if insn.op in CALLS:
                goal = insn.target(pc)
                if goal is None:
                    return None
                goes.append(flow.layout.first(goal))
                behind.append(flow.layout.next(pc))
            elif insn.op == "RET" and not flow.targets(pc):
                returns.append(pc)
            elif insn.op in INDIRECT and not goes:
                return None
            found[pc] = goes
    for pc in returns:
        found[pc] = [*found[pc], *behind]
    return found


class _Spread:
    """Data-flow analysis: propagates variables from instruction to instruction to a fixed point."""

    def __init__(
        self, known: SymbolAddresses, code: Mapping[int, Any], after: Mapping[int, Sequence[int]]
    ) -> None:
        self._known, self._code, self._after = known, code, after
        self._into: dict[int, State] = {}

    def accesses(self) -> Mapping[int, frozenset[int]]:
        """Variables by the pc of the access."""
        todo = [pc for pc, insn in self._code.items() if self._begins(pc, insn)]
        while todo:
            pc = todo.pop()
            insn = self._code.get(pc)
            if insn is None:
                continue
            leaves = self._through(pc, insn, self._into.get(pc, {}))
            todo += [goal for goal in self._after.get(pc, ()) if self._joins(goal, leaves)]
        found: dict[int, frozenset[int]] = {}
        for pc, state in self._into.items():
            for operand in addresses(self._code[pc]) if pc in self._code else ():
                keys = address_keys(operand)
                held = frozenset().union(*(state.get(key, frozenset()) for key in keys))
                if held:
                    found[pc] = found.get(pc, frozenset()) | held
        return found

    def _begins(self, pc: int, insn: Any) -> bool:
        return pc in self._known.places or any(self._known.source(o) for o in insn.o.values())

    def _through(self, pc: int, insn: Any, state: State) -> State:
        results = written(insn)
        if not results:
            return state
        made: set[int] = set()
        if insn.op in PASSING:
            made.add(self._known.places.get(pc, 0))
            for operand, _ in sources(insn):
                made.add(self._known.source(operand))
                if isinstance(operand, Reg):
                    for key in keys_of(operand):
                        made |= state.get(key, frozenset())
            made.discard(0)
        state = dict(state)
        for key in results:
            held = state.pop(key, frozenset()) if insn.guard[0] != PT else frozenset()
            state.pop(key, None)
            if made or held:
                state[key] = frozenset(made) | held
        return state

    def _joins(self, pc: int, state: State) -> bool:
        """Merge a state into an instruction's. Returns whether it changed."""
        held = self._into.get(pc)
        if held is None:
            self._into[pc] = dict(state)
            return bool(state)
        changed = False
        for key, symbols in state.items():
            if not symbols <= held.get(key, frozenset()):
                held[key] = held.get(key, frozenset()) | symbols
                changed = True
        return changed


class SymbolRows:
    """Compares rows of accesses written by compiled code with the variables they go to.

    Where one place in the code accesses several variables, only the exact check knows which.
    """

    def __init__(self, known: SymbolAddresses, watched: Mapping[int, frozenset[int]]) -> None:
        self._pcs = np.array(sorted(watched), np.int64)
        self._ranges: dict[int, tuple[int, int]] = {}
        for pc, numbers in watched.items():
            symbols = [known.symbols[number - 1] for number in numbers]
            one = len(symbols) == 1
            self._ranges[pc] = (symbols[0].low, symbols[0].high) if one else (0, 0)

    def __bool__(self) -> bool:
        return len(self._pcs) > 0

    def outside(self, rows: npt.NDArray[np.int64]) -> bool:
        """Whether an access leaves its variable."""
        chosen = rows[np.isin(rows[:, 0], self._pcs)]
        found = set(chosen[:, 0].tolist())
        return any(self._leaves(chosen[chosen[:, 0] == pc], *self._ranges[pc]) for pc in found)

    @staticmethod
    def _leaves(rows: npt.NDArray[np.int64], low: int, high: int) -> bool:
        lanes = (rows[:, 1:2] >> np.arange(32)) & 1
        size = (rows[:, 1] >> 40 & 0xFF)[:, None].astype(np.uint64)
        given = rows[:, WORDS:].view(np.uint64)
        good = (given >= np.uint64(low)) & (given + size <= np.uint64(high)) | (lanes == 0)
        return not bool(good.all())
