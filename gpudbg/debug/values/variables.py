"""Variables of a `-G` build in 32 lanes: of the scopes around a frame's pc, innermost first.

A register of an outer frame is where the functions that it called have saved it, by the call frame
information; what they do not keep is lost.  Values of lanes that stand elsewhere are what their
registers hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from gpudbg.dataclass import dataclass
from gpudbg.debug.values.backtrace import Frame
from gpudbg.debug.values.lanes import mask_array
from gpudbg.debug.values.operands import instruction_at
from gpudbg.expr.evaluation import (
    LANES,
    OPTIMIZED_OUT,
    Context,
    Place,
    Result,
    dereferenced,
    load_lanes,
    member,
)
from gpudbg.expr.types import TYPES, U8, CType, Pointer, Scalar, Struct
from gpudbg.symbols.debug_variables import (
    UNNAMED,
    DebugVariable,
    VariableScope,
    read_variables,
    why_none,
)
from gpudbg.symbols.frame_info import STACK_POINTER, FrameRule, read_frames
from gpudbg.symbols.ptx_registers import (
    GENERAL,
    HALF,
    PREDICATE,
    PieceRow,
    read_pieces,
    width_of,
)
from gpudbg.symbols.value_paths import Home, ValuePaths
from gpudbg.symbols.variable_types import local_symbol, source_name

if TYPE_CHECKING:
    from gpudbg.debug.inferior import Inferior
    from gpudbg.formats.program import Program
    from gpudbg.sm.state import WarpState

Words = NDArray[np.uint32]


class ProgramVariables:
    """What a program's debug information says of variables, by section."""

    def __init__(self, program: Program) -> None:
        self.functions = read_variables(program)
        self.reason = "" if self.functions else why_none(program)
        self.pieces = read_pieces(program) if self.functions else {}
        self.frames = read_frames(program) if self.functions else {}
        self._program, self._paths = ref(program), dict[str, ValuePaths]()
        names = {v.name for v in program.shared_vars} | set(program.globals)
        self._local = sorted(name for name in names if name.startswith("_ZZ"))

    def lasting(self, function: str) -> Iterator[DebugVariable]:
        """`__shared__` and static variables that a function declares: debug information has none
        of them, the symbol table has."""
        begin = local_symbol(function)
        for symbol in self._local:
            if symbol.startswith(begin) and symbol[len(begin) : len(begin) + 1].isdigit():
                yield DebugVariable(source_name(symbol), None, symbol=symbol)

    def paths(self, section: str) -> ValuePaths:
        """The paths through a section's code, walked once."""
        found = self._paths.get(section)
        if found is None:
            program = self._program()
            assert program is not None
            pieces = self.pieces.get(section.removeprefix(".text."), {})
            found = self._paths[section] = ValuePaths(program, section, pieces)
        return found


_KNOWN: WeakKeyDictionary[Program, ProgramVariables] = WeakKeyDictionary()


def known_variables(program: Program) -> ProgramVariables:
    """A program's variables, read once."""
    found = _KNOWN.get(program)
    if found is None:
        found = _KNOWN[program] = ProgramVariables(program)
    return found


@dataclass(frozen=True, slots=True)
class RegisterHome:
    """Where an outer frame's register is: still in the register, or in local memory.

    Attributes:
        values: in 32 lanes.
        addresses: in local memory; None: the register itself.
    """

    values: Words
    addresses: NDArray[np.uint64] | None = None


class FrameRegisters:
    """R registers of one frame: of the innermost one those of the warp."""

    def __init__(self, context: Context) -> None:
        self._context = context
        # Rules of the functions called from here, the innermost first.
        self._rules: list[tuple[FrameRule, NDArray[np.uint64]]] = []

    def called(self, row: FrameRule) -> FrameRegisters:
        """The registers of the caller of the function whose rules are `row`."""
        outer = FrameRegisters(self._context)
        address = self.frame_address(row)
        outer._rules = [(row, address), *self._rules]
        return outer

    def frame_address(self, row: FrameRule) -> NDArray[np.uint64]:
        """The canonical frame address in 32 lanes: an address in local memory."""
        home = self.find(row.base)
        base = np.zeros(LANES, np.uint32) if home is None else home.values
        return (base + np.uint32(row.offset)).astype(np.uint64)

    def find(self, index: int) -> RegisterHome | None:
        """An R register; None where a called function does not keep it."""
        for row, address in self._rules:
            if index == STACK_POINTER:
                return RegisterHome(address.astype(np.uint32))
            if index in row.saved:
                at = (address.astype(np.int64) + row.saved[index]).astype(np.uint64)
                raw, _, _ = self._context.read("local", at, 4)
                return RegisterHome(np.ascontiguousarray(raw).view(np.uint32).reshape(LANES), at)
            if index in row.lost:
                return None
        return RegisterHome(self._context.register(index))


class FrameVariables:
    """The variables that a frame's code sees."""

    def __init__(
        self,
        inferior: Inferior,
        warp: WarpState,
        context: Context,
        rows: tuple[Frame, ...],
        level: int,
    ) -> None:
        """Args: rows: the warp's frames; level: which of them."""
        self._inferior, self._warp, self._context = inferior, warp, context
        self._rows = rows
        self.frame = rows[min(level, len(rows) - 1)]
        self._known = known_variables(inferior.program)
        self._section, self._offset = self._place(self.frame)

    def _place(self, frame: Frame) -> tuple[str, int]:
        """Section and offset of a frame's pc; of an outer one, of its call."""
        outer = frame.physical != self._rows[0].physical
        return self._call_place(frame.pc) if outer else self._section_of(frame.pc)

    def _call_place(self, pc: int) -> tuple[str, int]:
        """Section and offset of the call before a return address."""
        return self._section_of(self._inferior.symbols.layout.before(pc))

    def _section_of(self, pc: int) -> tuple[str, int]:
        return self._inferior.symbols.image.section_offset(pc) or ("", 0)

    # ---- scopes ------------------------------------------------------------------------
    def scopes(self) -> list[VariableScope]:
        """The scopes around the frame's pc within its function, innermost first."""
        function = self._known.functions.get(self._section)
        if function is None or not function.low <= self._offset < function.high:
            return []
        here = [f for f in self._rows if f.physical == self.frame.physical]
        frames = _by_function(function.around(self._offset))
        if len(frames) < len(here):
            frames = self._beside(function, len(here)) or frames
        # The outermost frame of a function is the function itself.
        at = len(here) - 1 - here.index(self.frame)
        return list(reversed(frames[at])) if at < len(frames) else []

    def _beside(self, function: VariableScope, depth: int) -> list[list[VariableScope]]:
        """The frames of an inlined call whose first or last instruction lies outside its range."""
        symbols = self._inferior.symbols
        row = symbols.lines.lookup(self._section, self._offset)
        called = row.inlined[0].function if row is not None and row.inlined else ""
        before = symbols.layout.before(self._offset)
        for at in (function.next_call(self._offset), before):
            frames = [] if at is None else _by_function(function.around(at))
            if len(frames) >= depth and frames[depth - 1][0].function == called:
                return frames[:depth]
        return []

    def variables(self) -> Iterator[tuple[DebugVariable, int]]:
        """Those of all scopes, innermost first, each with how many scopes lie within its own."""
        for depth, scope in enumerate(self.scopes()):
            for variable in scope.variables:
                for named in self._names(variable) if variable.name else ():
                    yield named, depth
            for variable in self._known.lasting(scope.function) if scope.function else ():
                yield variable, depth

    def _names(self, variable: DebugVariable) -> tuple[DebugVariable, ...]:
        """A variable; those that its line names, of the object of a structured binding."""
        line = self.frame.line
        if UNNAMED.fullmatch(variable.name) is None or line is None:
            return (variable,)
        text = self._inferior.sources.text(line.file, variable.line) or ""
        return variable.bound(text) or (variable,)

    def find(self, name: str) -> Result | None:
        """The value of a name: a variable, or a member of what `this` points at."""
        this = None
        for variable, _ in self.variables():
            if variable.name == name:
                return self.value(variable)
            if variable.name == "this":
                this = variable
        if UNNAMED.fullmatch(name):
            # Who knows the compiler's own name may use it.
            rows = (v for scope in self.scopes() for v in scope.variables if v.name == name)
            return next(map(self.value, rows), None)
        if this is not None and isinstance(this.type, Pointer):
            target = this.type.target
            if isinstance(target, Struct) and target.field(name) is not None:
                return member(self.value(this), name, self._context)
        return None

    # ---- values ------------------------------------------------------------------------
    def value(self, variable: DebugVariable) -> Result:
        """A variable in 32 lanes; without a value, and why, where the compiler left none."""
        found = self._value(variable)
        found = dereferenced(found, self._context) if variable.reference else found
        return member(found, variable.part, self._context) if variable.part else found

    def _value(self, variable: DebugVariable) -> Result:
        type_ = variable.type or U8
        if variable.symbol:
            found = self._context.name(variable.symbol)
            return found if found is not None else lost(type_, f"no symbol {variable.symbol}")
        if variable.type is None:
            return lost(type_, "its type is none that expressions have")
        if variable.frame_offset is not None:
            row = self._row(self.frame)
            if row is None:
                return lost(type_, "there is no call frame information here")
            base = self._registers().frame_address(row).astype(np.int64) + variable.frame_offset
            return load_lanes(type_, "local", base.astype(np.uint64), self._context)
        if variable.constant is not None:
            return _known(type_, variable.constant)
        held = [r.register for r in variable.registers if r.low <= self._offset < r.high]
        if not held or not self._has_row(held[-1]):
            held += filter(self._has_row, variable.without_end(self._offset))
        if not held:
            why = "it has no place at this instruction" if variable.registers else "it was dropped"
            return lost(type_, f"{why}: the compiler keeps it nowhere")
        return self._in_register(variable, type_, held[-1])

    def _has_row(self, name: str) -> bool:
        """Whether a PTX register is in one of the machine's at this instruction."""
        rows = self._known.pieces.get(self._section.removeprefix(".text."), {}).get(name, ())
        return any(row.low <= self._offset < row.high for row in rows)

    def _in_register(self, variable: DebugVariable, type_: CType, name: str) -> Result:
        """The value of a PTX register, as a variable's type."""
        assert isinstance(type_, Scalar | Pointer)
        width = width_of(name) or type_.size
        if isinstance(type_, Scalar) and type_.kind in "iu" and width < type_.size:
            return self._widened(variable, type_, name, width)
        function = self._section.removeprefix(".text.")
        rows = self._known.pieces.get(function, {}).get(name, ())
        here = [row for row in rows if row.low <= self._offset < row.high]
        here = here or [row for row in rows if row.high == self._offset and self._read(row)]
        moving = [row for row in rows if row.high == self._offset and self._moved(row)]
        pieces = {row.part: row for row in [*moving, *here] if not self._computed(row, rows)}
        needed = range((max(type_.size, 1) + 3) // 4)
        if here and not pieces:
            return lost(type_, "the instruction that comes next computes it")
        paths = self._known.paths(self._section)
        where: list[Home] | None
        if all(part in pieces for part in needed):
            rows_needed = [pieces[part] for part in needed]
            if any(paths.replaced(self._offset, row) for row in rows_needed):
                return lost(type_, f"another value has taken its register (PTX {name})")
            where = paths.homes(variable, self._offset, name, rows_needed)
        else:
            where = paths.stayed(variable, self._offset, needed)
            if where is None:
                return lost(type_, f"no register holds it at this instruction (PTX {name})")
        if where is None:
            return lost(
                type_,
                f"only some of the ways to this instruction put it into PTX {name}; "
                "the debug information has no place of it on the others",
            )
        if where[0][1] == PREDICATE:
            return self._in_predicate(type_, where[0][2])
        homes = []
        for _, kind, number in where:
            home = self._registers().find(number // 2 if kind == HALF else number)
            if kind not in (GENERAL, HALF) or home is None:
                return lost(type_, "its register is not kept across the call")
            homes.append((home, kind, number))
        return _joined(type_, homes)

    def _widened(self, variable: DebugVariable, type_: Scalar, name: str, width: int) -> Result:
        """A variable that the compiler describes by the narrower register it was made from.

        The debug information does not say whether the upper bits are zeros or copies of the sign;
        a variable of its own that the register holds does.
        """
        held = self._alone_in(name, width)
        found = self._in_register(variable, held or TYPES[f"u{8 * width}"], name)
        if found.why:
            return replace(found, type=type_, values=found.values.astype(type_.dtype))
        if held is None and np.any(found.values >> np.uint64(8 * width - 1)):
            return lost(type_, f"PTX {name} has {8 * width} bits of it, and nothing says its sign")
        return Result(type_, found.values.astype(type_.dtype), found.valid)

    def _alone_in(self, name: str, width: int) -> Scalar | None:
        """The type of a variable that a PTX register holds wherever the function runs."""
        function = self._known.functions.get(self._section)
        for scope in [] if function is None else function.around(self._offset):
            for other in scope.variables:
                type_ = other.type
                if (
                    [r.register for r in other.registers] == [name]
                    and isinstance(type_, Scalar)
                    and type_.kind in "iu"
                    and type_.size <= width
                ):
                    return type_
        return None

    def _read(self, row: PieceRow) -> bool:
        """Whether the next instruction reads what a row tells of and puts its own result there.

        The compiler lets such a row end at that instruction.
        """
        if row.kind != GENERAL or self.frame.physical != self._rows[0].physical:
            return False
        insn = instruction_at(self._inferior, self.frame.pc)
        if insn is None or row.number not in insn.reads().registers:
            return False
        return row.low == row.high or row.number in insn.writes().registers

    def _moved(self, row: PieceRow) -> bool:
        """Whether the next instruction moves what a row tells of to where the next row says."""
        if row.kind != GENERAL or self.frame.physical != self._rows[0].physical:
            return False
        insn = instruction_at(self._inferior, self.frame.pc)
        return insn is not None and insn.op == "MOV" and row.number in insn.reads().registers

    def _computed(self, row: PieceRow, rows: Iterable[PieceRow]) -> bool:
        """Whether the next instruction writes what a row tells of: rows begin at it.

        One that reads the register, too, reads the variable where the row is empty or another one
        ends there; else what it reads is some other value.
        """
        if row.low != self._offset or self.frame.physical != self._rows[0].physical:
            return False
        insn = instruction_at(self._inferior, self.frame.pc)
        if insn is None:
            return False
        written = insn.writes()
        if row.kind == PREDICATE:
            return row.number in written.predicates
        if insn.op == "MOV" and insn.reads().registers == written.registers:
            # It leaves its register as it was.
            return False
        number = row.number // 2 if row.kind == HALF else row.number
        if number not in written.registers:
            return False
        if number not in insn.reads().registers:
            return True
        return row.low != row.high and not any(
            r.part == row.part and r.low < row.low <= r.high for r in rows
        )

    def _in_predicate(self, type_: Scalar | Pointer, number: int) -> Result:
        if self.frame.physical != self._rows[0].physical:
            return lost(type_, "its predicate is not kept across the call")
        values = mask_array(int(self._warp.predicates[number]))
        place = Place("predicate", number) if type_ == TYPES["bool"] else None
        dtype = type_.dtype if isinstance(type_, Scalar) else np.dtype(np.uint64)
        return Result(type_, values.astype(dtype), np.ones(LANES, bool), place)

    # ---- frames ------------------------------------------------------------------------
    def _row(self, frame: Frame) -> FrameRule | None:
        """The call frame information at a frame's pc."""
        return self._rule(*self._place(frame))

    def _rule(self, section: str, offset: int) -> FrameRule | None:
        rows = self._known.frames.get(section, ())
        return next((row for row in reversed(rows) if row.start <= offset), None)

    def _registers(self) -> FrameRegisters:
        """The registers of the frame that is looked at."""
        found = FrameRegisters(self._context)
        before = self._rows[0]
        physical = before.physical
        for frame in self._rows:
            if frame.physical != physical:
                physical = frame.physical
                # Whoever called has what its callee, the frame before, says.
                found = found.called(self._row(before) or FrameRule())
                for pc in frame.passed:
                    found = found.called(self._rule(*self._call_place(pc)) or FrameRule())
            if frame.physical == self.frame.physical:
                break
            before = frame
        return found


def _by_function(scopes: Iterable[VariableScope]) -> list[list[VariableScope]]:
    """Scopes around a place, those of each function and inlined call together."""
    frames: list[list[VariableScope]] = []
    for scope in scopes:
        if scope.function:
            frames.append([])
        frames[-1].append(scope)
    return frames


def names_at(inferior: Inferior, addresses: Iterable[int]) -> frozenset[str]:
    """Names of variables that are in scope at any of some pcs, with the members of `this`."""
    known, found = known_variables(inferior.program), set()
    for pc in addresses if known.functions else ():
        section, offset = inferior.symbols.image.section_offset(pc) or ("", 0)
        function = known.functions.get(section)
        for scope in function.around(offset) if function is not None else ():
            for variable in scope.variables:
                found.add(variable.name)
                target = variable.type.target if isinstance(variable.type, Pointer) else None
                if variable.name == "this" and isinstance(target, Struct):
                    found |= {field.name for field in target.fields}
    return frozenset(found)


def _known(type_: CType, constant: int | bytes) -> Result:
    """A variable whose value is in the debug information."""
    if isinstance(constant, int):
        constant = (constant & ((1 << 8 * type_.size) - 1)).to_bytes(type_.size, "little")
    if not isinstance(type_, Scalar) or len(constant) < type_.size:
        return lost(type_, "its value is recorded in a form that is not read")
    value = np.frombuffer(constant[: type_.size], type_.dtype)
    return Result(type_, np.repeat(value, LANES), np.ones(LANES, bool))


def lost(type_: CType, why: str) -> Result:
    """A variable without a value."""
    known = type_ if isinstance(type_, Scalar | Pointer) else U8
    dtype = known.dtype if isinstance(known, Scalar) else np.dtype(np.uint64)
    return Result(
        known, np.zeros(LANES, dtype), np.zeros(LANES, bool), why=f"{OPTIMIZED_OUT}: {why}"
    )


def _joined(type_: Scalar | Pointer, homes: list[tuple[RegisterHome, int, int]]) -> Result:
    """A value of one or two pieces."""
    words = np.zeros((LANES, 2), np.uint32)
    for n, (home, kind, number) in enumerate(homes):
        high = kind == HALF and number & 1
        words[:, n] = home.values >> np.uint32(16 if high else 0)
    raw = np.ascontiguousarray(words.view(np.uint8)[:, : type_.size])
    if type_ == TYPES["bool"]:
        values: NDArray[np.generic] = raw[:, 0] != 0
    elif isinstance(type_, Scalar):
        values = raw.view(type_.dtype).reshape(LANES)
    else:
        values = (
            words.view(np.uint64).reshape(LANES)
            if type_.size == 8
            else words[:, 0].astype(np.uint64)
        )
    return Result(type_, values, np.ones(LANES, bool), _place_of(homes))


def _place_of(homes: list[tuple[RegisterHome, int, int]]) -> Place | None:
    """Where an assignment goes; None where one write does not reach it."""
    first, kind, number = homes[0]
    if kind == HALF:
        return None
    if first.addresses is not None:
        return (
            Place("memory", space="local", addresses=first.addresses) if len(homes) == 1 else None
        )
    if len(homes) == 1:
        return Place("register", number)
    if homes[1][0].addresses is not None:
        return None
    high = homes[1][2]
    if high == number + 1:
        return Place("pair", number)
    return Place("apart", number, name=f"R{high}")
