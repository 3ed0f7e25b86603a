"""At which instructions what the debug information says of a variable holds on every path.

The compiler writes a location list in the order of the code: where a variable is put into another
register, the list says so for all that stands behind it, code that is reached without that move
included.  Here a variable's places are carried forward along the control flow instead.  A list's
entry counts where the code in front of its beginning flows into it; moves between registers carry
a value on; where paths meet, only what all of them agree on is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from gpudbg.formats.program import Program
from gpudbg.isa.family import Instruction
from gpudbg.isa.layout import instructions
from gpudbg.isa.operands import RZ, Reg
from gpudbg.sm.cfg import FLOW, Flow
from gpudbg.symbols.debug_variables import EVERYWHERE, DebugVariable
from gpudbg.symbols.ptx_registers import GENERAL, HALF, PREDICATE, PieceRow

Home = tuple[int, int, int]
"""A piece of a variable, the class of its register, the register's number (see `PieceRow`)."""
Places = frozenset[Home | str]
"""Registers of the machine and PTX registers that hold a variable's value on every path so far."""

_SUMS = frozenset({"IADD", "IADD3", "FADD", "FMUL", "DADD", "DMUL"})
"""Operations whose result with another register is another value."""

MAX_INSTRUCTIONS = 20_000
"""Of longer sections lists are taken as they are."""


class ValuePaths:
    """Paths of one section, and the places of the variables that were asked for."""

    def __init__(
        self, program: Program, section: str, pieces: Mapping[str, tuple[PieceRow, ...]]
    ) -> None:
        """Args: pieces: rows of the section's PTX registers."""
        self._pieces = pieces
        found = program.sections.get(section)
        code = b"" if found is None else found.data
        words = [(offset, word) for offset, word, _ in instructions(code, program.layout)]
        self._flow = Flow(words[:MAX_INSTRUCTIONS], program.arch, _known(program, section))
        self._complete = len(words) <= MAX_INSTRUCTIONS
        self._known: dict[int, _Walk] = {}

    def homes(
        self, variable: DebugVariable, offset: int, register: str, pieces: list[PieceRow]
    ) -> list[Home] | None:
        """Where the pieces of a variable are that its list puts into a PTX register.

        Those of the PTX register where that is so on all paths; else where the value has stayed on
        all of them; None where no place is known.
        """
        listed = [home_of(row) for row in pieces]
        ranges = variable.registers
        if not self._complete or (len(ranges) == 1 and ranges[0].high == EVERYWHERE):
            return listed
        walk = self._walk(variable)
        here = walk.found.get(offset)
        # Nothing is known of code that no path was found to.
        if here is None or register in here or here.issuperset(listed):
            return listed
        if not walk.computed_for(register, offset):
            return None
        return _homes(here, parts(pieces))

    def stayed(
        self, variable: DebugVariable, offset: int, pieces: Iterable[int]
    ) -> list[Home] | None:
        """Where the pieces of a variable have stayed on all paths, its list naming a PTX register
        that nothing holds there; None where no place is known."""
        if not self._complete:
            return None
        return _homes(self._walk(variable).found.get(offset, frozenset()), pieces)

    def replaced(self, offset: int, row: PieceRow) -> bool:
        """Whether another value has been put into a row's register since the row began.

        The compiler lets a row go on to the end of its basic block, also where the register gets
        another value before.  What is looked at is the code straight in front of the offset.
        """
        if row.kind != GENERAL or not self._complete:
            return False
        at = offset
        while at not in self._targets:
            at = self._flow.layout.before(at)
            insn = self._flow.instructions.get(at)
            if at <= row.low or insn is None or insn.op in FLOW:
                return False
            read = insn.reads().registers
            # From itself alone the value is only brought into another form: extended, masked.
            other = row.number not in read or (insn.op in _SUMS and len(read) > 1)
            if insn.unconditional and other and row.number in insn.writes().registers:
                return True
        return False

    @cached_property
    def _targets(self) -> frozenset[int]:
        """Where branches go."""
        return frozenset(t for at in self._flow.instructions for t in self._flow.targets(at))

    def _walk(self, variable: DebugVariable) -> _Walk:
        known = self._known.get(id(variable))
        if known is None:
            known = self._known[id(variable)] = _Walk(self._flow, self._pieces, variable)
        return known


def _homes(places: Places, pieces: Iterable[int]) -> list[Home] | None:
    """A register for each piece; None where one has none."""
    kept: dict[int, Home] = {p[0]: p for p in places if not isinstance(p, str)}
    found = [kept.get(piece) for piece in pieces]
    return None if None in found else [home for home in found if home is not None]


def parts(rows: list[PieceRow]) -> Iterator[int]:
    """Which pieces some rows are of."""
    return (row.part for row in rows)


def home_of(row: PieceRow) -> Home:
    """The register that a row tells of."""
    return (row.part, row.kind, row.number)


def _known(program: Program, section: str) -> dict[int, tuple[int, ...]]:
    """Targets of indirect branches of a section, where the file lists them."""
    return {
        branch.offset: branch.targets
        for kernel in program.kernels.values()
        if kernel.section == section
        for branch in kernel.indirect_branches
        if branch.targets
    }


class _Walk:
    """Carries one variable's places forward until nothing changes."""

    def __init__(
        self, flow: Flow, pieces: Mapping[str, tuple[PieceRow, ...]], variable: DebugVariable
    ) -> None:
        self._flow, self._layout, self._variable = flow, flow.layout, variable
        self._rows = {r.register: pieces.get(r.register, ()) for r in variable.registers}
        # The register that an entry names, by the instruction the entry begins at.
        self._begins = {self._layout.first(low): name for low, name in self._first_places()}
        self.found = self._run()

    def _first_places(self) -> Iterator[tuple[int, str]]:
        """Where each entry begins, and its register.

        Lists of inlined copies may begin with the section: the entry counts from where the
        register is computed.
        """
        for entry in self._variable.registers:
            rows = self._rows[entry.register]
            low = max(entry.low, min((row.low for row in rows), default=0))
            yield (low if low < entry.high else entry.low), entry.register

    def computed_for(self, register: str, offset: int) -> bool:
        """Whether the entry at an offset begins in the block that computes its register.

        Code that is reached otherwise can give the variable this register only by computing it,
        too: what has stayed elsewhere up to there is the variable's still.
        """
        low = next(
            (
                r.low
                for r in self._variable.registers
                if r.register == register and r.low <= offset < r.high
            ),
            0,
        )
        at = self._layout.before(self._layout.first(low))
        while (insn := self._flow.instructions.get(at)) is not None:
            if any(self._computes(row, at, insn) for row in self._rows[register]):
                return True
            at = self._layout.before(at)
            front = self._flow.instructions.get(at)
            if front is None or front.op in FLOW:
                return False
        return False

    def _computes(self, row: PieceRow, offset: int, insn: Instruction) -> bool:
        """Whether a row begins with what an instruction writes."""
        behind = self._layout.next(offset)
        begins = row.low in (offset, behind, self._layout.start(behind))
        return begins and _overwritten(home_of(row), insn)

    def _run(self) -> dict[int, Places]:
        """What is known in front of each instruction that paths lead to."""
        first = next(iter(self._flow.instructions), None)
        if first is None:
            return {}
        start: Places = frozenset(name for low, name in self._begins.items() if low == first)
        found: dict[int, Places] = {first: start}
        todo = [first]
        while todo:
            offset = todo.pop()
            for target, places in self._out(offset, found[offset]):
                old = found.get(target)
                new = places if old is None else old & places
                if new != old:
                    found[target] = new
                    todo.append(target)
        return found

    def _out(self, offset: int, before: Places) -> Iterator[tuple[int, Places]]:
        """Where control goes from an instruction, and what is known there."""
        insn = self._flow.instructions[offset]
        if insn is None:
            return
        after = self._executed(offset, insn, before)
        behind = self._layout.next(offset)
        targets = set(self._flow.targets(offset))
        if self._flow.falls(offset):
            targets.add(behind)
        for target in targets & self._flow.instructions.keys():
            register = self._begins.get(target)
            begins = register is not None and (target == behind or self._alone(target))
            if register is not None and begins and not self._carried(target, register, after):
                yield target, self._begun(target, register, after)
            else:
                yield target, after

    def _carried(self, offset: int, register: str, places: Places) -> bool:
        """Whether the instruction that an entry begins at moves the value there from where it is:
        its other pieces may still be on the way."""
        insn = self._flow.instructions.get(offset)
        sources = () if insn is None else _moved(insn).values()
        parts = {
            row.part
            for row in self._rows[register]
            if insn is not None and row.low == offset and _overwritten(home_of(row), insn)
        }
        homes = (p for p in places if not isinstance(p, str) and p[1] != PREDICATE)
        return any(p[0] in parts and _register(p[1], p[2]) in sources for p in homes)

    def _alone(self, target: int) -> bool:
        """Whether what stands in front of a place goes elsewhere: an entry there is the place's."""
        front = self._layout.before(target)
        insns = self._flow.instructions
        return front in insns and not (
            self._flow.falls(front) or target in self._flow.targets(front)
        )

    def _begun(self, offset: int, register: str, places: Places) -> Places:
        """What is known where an entry begins: another place of the same value, or a new value."""
        rows = [row for row in self._rows[register] if row.low <= offset <= row.high]
        homes = {home_of(row) for row in rows if offset < row.high}
        parts = {row.part for row in rows}
        same = parts and parts == {row.part for row in rows if home_of(row) in places}
        if register in places or same:
            return places | homes | {register}
        return frozenset(homes | {register})

    def _names(self, register: str, offset: int) -> bool:
        """Whether the list names a PTX register at an offset."""
        return any(
            r.register == register and r.low <= offset < r.high for r in self._variable.registers
        )

    def _executed(self, offset: int, insn: Instruction, before: Places) -> Places:
        """What is known behind an instruction: without what it overwrites, with what it moves."""
        written = insn.writes()
        if not written.registers and not written.predicates:
            return before
        kept = {p for p in before if isinstance(p, str) or not self._lost(p, offset, insn)}
        for target, source in _moved(insn).items():
            homes = (p for p in before if not isinstance(p, str))
            kept |= {
                (part, kind, _at(kind, number, target))
                for part, kind, number in homes
                if kind != PREDICATE and _register(kind, number) == source
            }
        return frozenset(self._defined(offset, insn, before, kept))

    def _lost(self, home: Home, offset: int, insn: Instruction) -> bool:
        """Whether an instruction puts something else into a register that held the variable."""
        if not _overwritten(home, insn):
            return False
        # The other half of a register is written without harm to the one whose row goes on.
        behind = self._layout.next(offset)
        rows = (row for rows in self._rows.values() for row in rows if home_of(row) == home)
        return home[1] != HALF or not any(r.low <= offset and behind < r.high for r in rows)

    def _defined(
        self, offset: int, insn: Instruction, before: Places, kept: set[Home | str]
    ) -> set[Home | str]:
        """With what an instruction writes of PTX registers that hold the variable."""
        behind = self._layout.next(offset)
        for name, rows in self._rows.items():
            for row in rows:
                home = home_of(row)
                if home in kept or not _overwritten(home, insn):
                    continue
                if self._computes(row, offset, insn) and self._names(name, behind):
                    if name not in before:
                        # A new value of the variable, or of what shares its register.
                        return set()
                    kept.add(home)
                elif row.low <= offset < row.high or self._computes(row, offset, insn):
                    # The PTX register gets another value than the variable's.
                    kept.discard(name)
        return kept


def _overwritten(home: Home, insn: Instruction) -> bool:
    """Whether an instruction writes a register."""
    _, kind, number = home
    if kind == PREDICATE:
        return number in insn.writes().predicates
    return _register(kind, number) in insn.writes().registers


def _register(kind: int, number: int) -> int:
    """The R register that one of a class is, or is half of."""
    return number // 2 if kind == HALF else number


def _at(kind: int, number: int, target: int) -> int:
    """What a register of a class is called when its R register has moved."""
    return 2 * target + number % 2 if kind == HALF else target


def _moved(insn: Instruction) -> dict[int, int]:
    """Registers that an instruction gives what others hold, in all lanes, and those others."""
    sources, targets = insn.reads().registers, insn.writes().registers
    if not sources or len(sources) != len(targets) or not insn.unconditional:
        return {}
    nothing = [o for o in insn.operands if isinstance(o, Reg) and o.index == RZ]
    # A single one, or a pair: `MOV.64`.
    copies = insn.op == "MOV" or (insn.op == "IMAD" and len(nothing) == 2 and len(sources) == 1)
    return dict(zip(sorted(targets), sorted(sources), strict=True)) if copies else {}
