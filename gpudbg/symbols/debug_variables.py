"""Functions, blocks, inlined calls and variables of `-G` builds, from DWARF 2.

A variable is in a PTX register (`DW_OP_regx`: the register's name as a number), for all of its
scope or from one offset to another (`.debug_loc`); in local memory, so many bytes from the frame
address (`DW_OP_fbreg`); or at a fixed place, which its symbol has.  Without a location the
compiler has left nothing of it.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from elftools.common.exceptions import DWARFError, ELFParseError

from gpudbg.dataclass import dataclass
from gpudbg.errors import GpudbgError
from gpudbg.expr.types import CType, Pointer, Struct
from gpudbg.formats.dwarf import (
    MAX_DEPTH,
    dwarf_of,
    extent_of,
    linkage_name,
    number_of,
    origin_of,
    relocated,
    subprograms,
    text_of,
)
from gpudbg.formats.program import Program
from gpudbg.symbols.dwarf_types import function_type, is_reference, type_of

EVERYWHERE = 1 << 32
"""An offset behind all code."""
_REGX, _FBREG, _PLUS = 0x90, 0x91, 0x23


@dataclass(frozen=True, slots=True)
class RegisterRange:
    """A variable is in a PTX register from an offset to another, half-open."""

    low: int
    high: int
    register: str


@dataclass(frozen=True, slots=True)
class DebugVariable:
    """A variable or parameter of a function.

    Attributes:
        name: in the source.
        type: None where it is none that expressions have.
        parameter: a formal parameter.
        reference: its value is the address of what its name means.
        line: where it is declared; 0 where that is not recorded.
        registers: PTX registers that hold it.
        frame_offset: where it is in local memory, from the frame address.
        symbol: the symbol of a variable at a fixed place.
        constant: its value, of a variable that code does not keep because it is known.
        part: the member that it is a name of, of an object without a name (structured bindings).
    """

    name: str
    type: CType | None
    parameter: bool = False
    reference: bool = False
    line: int = 0
    registers: tuple[RegisterRange, ...] = ()
    frame_offset: int | None = None
    symbol: str = ""
    constant: int | bytes | None = None
    part: str = ""

    def bound(self, line: str) -> tuple[DebugVariable, ...]:
        """The names that a structured binding gives to members (`auto [m, n] = f();`): the debug
        information has the object alone, as `__T6`.

        Args:
            line: the source line that declares it.
        """
        found = [re.findall(r"\w+", names) for names in _BINDING.findall(line)]
        target = self.type.target if isinstance(self.type, Pointer) else self.type
        fields = target.fields if isinstance(target, Struct) else ()
        if len(found) != 1 or len(found[0]) != len(fields):
            return ()
        rows = zip(found[0], fields, strict=True)
        return tuple(replace(self, name=name, part=field.name) for name, field in rows)

    def without_end(self, offset: int) -> list[str]:
        """PTX registers that may still hold it: ptxas writes 0 for ends that it has lost, as for
        the begin of what follows, which tells how long it can be at most."""
        return [
            row.register
            for row, follows in itertools.pairwise(self.registers)
            if row.high < row.low <= offset < follows.high and follows.low == 0
        ]


_BINDING = re.compile(r"\bauto\s*&{0,2}\s*\[([\w\s,]+)\]")
UNNAMED = re.compile(r"__T\d+")
"""Names that the compiler gives to the objects of structured bindings."""


@dataclass(frozen=True, slots=True)
class VariableScope:
    """A function, a block in braces, or an inlined call.

    Attributes:
        low, high: offsets of its code in the section, half-open.
        function: the name of a function or inlined one (mangled); "" for a block.
        variables: declared directly in it, in order.
        scopes: the scopes in it.
        returns: type of a function's result; None of others, where it is void or not known.
        written: a function's type as gdb writes it (`int (float)`); "" of others.
    """

    low: int
    high: int
    function: str
    variables: tuple[DebugVariable, ...]
    scopes: tuple[VariableScope, ...]
    returns: CType | None = None
    written: str = ""

    def next_call(self, offset: int) -> int | None:
        """Where the first inlined call behind an offset begins."""
        starts = [s.low for s in self.scopes if s.function and s.low > offset]
        inner = [s.next_call(offset) for s in self.scopes if s.high > offset]
        return min([*starts, *(at for at in inner if at is not None)], default=None)

    def around(self, offset: int) -> list[VariableScope]:
        """The scopes that hold an offset, this one first."""
        inner = next((s for s in self.scopes if s.low <= offset < s.high), None)
        return [self, *(inner.around(offset) if inner is not None else ())]


def why_none(program: Program) -> str:
    """Why a program has no variables, for people; empty where it has some."""
    if ".debug_info" not in program.sections:
        lines = ".debug_line" in program.sections
        has = "a line table alone (-lineinfo)" if lines else "no debug information"
        return f"the program has {has}: compile it with -G"
    try:
        info = dwarf_of(program)
        if info is None:
            return "its debug information is larger than what is read"
        # All of them: the damage may lie behind the first.
        if not list(_functions(program)):
            return "its debug information tells of no function"
    except Exception as error:
        return f"its debug information is damaged: {_damage(error)}"
    return ""


def _damage(error: Exception) -> str:
    """What reading stopped at: what the reader of DWARF says itself is of its own innards."""
    if isinstance(error, GpudbgError):
        return str(error)
    return next((words for kind, words in _DAMAGE if isinstance(error, kind)), "") or (
        "its parts contradict each other"
    )


_DAMAGE = (
    (KeyError, "it refers to an entry or a form that does not exist"),
    (ELFParseError, "an entry ends behind the end of its section"),
    (DWARFError, "an entry is of a kind that DWARF 2 does not have"),
    (UnicodeDecodeError, "a name in it is no text"),
    (RecursionError, "an entry refers to itself"),
)
"""Kind of error that the reader of DWARF raises -> what is wrong with the file."""


def read_variables(program: Program) -> Mapping[str, VariableScope]:
    """Functions by section; empty without (readable) DWARF."""
    try:
        return dict(_functions(program))
    except Exception:
        # A damaged section is as good as none.
        return {}


def _functions(program: Program) -> Iterator[tuple[str, VariableScope]]:
    info = dwarf_of(program)
    if info is not None:
        reader = _ScopeReader(relocated(program, ".debug_loc"))
        for section, die in subprograms(info):
            yield section, reader.scope(die, extent_of(die) or (0, 0), MAX_DEPTH)


_VARIABLES = ("DW_TAG_formal_parameter", "DW_TAG_variable")


def _below(die: Any, depth: int) -> Iterator[Any]:
    """Variables in a scope and the blocks in it."""
    for child in die.iter_children() if depth else ():
        if child.tag in _VARIABLES:
            yield child
        elif child.tag == "DW_TAG_lexical_block":
            yield from _below(child, depth - 1)


class _ScopeReader:
    """Reads scopes of one program."""

    def __init__(self, lists: bytes) -> None:
        """Args: lists: content of .debug_loc."""
        self._lists = lists

    def scope(self, die: Any, extent: tuple[int, int], depth: int) -> VariableScope:
        """A function, block or inlined call with all that is in it."""
        variables: list[DebugVariable] = []
        scopes: list[VariableScope] = []
        for child in die.iter_children():
            if child.tag in _VARIABLES:
                variables.append(self._variable(child))
            elif child.tag in ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine") and depth:
                found = extent_of(child)
                if found is not None:
                    scopes.append(self.scope(child, found, depth - 1))
                elif child.tag == "DW_TAG_lexical_block":
                    # A block without an extent of its own is its parent's.
                    inner = self.scope(child, extent, depth - 1)
                    variables += inner.variables
                    scopes += inner.scopes
        if die.tag == "DW_TAG_inlined_subroutine":
            variables += self._dropped(die)
        block = die.tag == "DW_TAG_lexical_block"
        function = "" if block else linkage_name(origin_of(die))
        own = die.tag == "DW_TAG_subprogram"
        returns, written = (type_of(die), function_type(die)) if own else (None, "")
        return VariableScope(*extent, function, tuple(variables), tuple(scopes), returns, written)

    def _dropped(self, copy: Any) -> Iterator[DebugVariable]:
        """Variables of an inlined function's body that the compiler has left out of a copy."""
        kept = {origin_of(child).offset for child in _below(copy, MAX_DEPTH)}
        for child in _below(origin_of(copy), 2):
            if child.offset not in kept:
                yield self._variable(child)

    def _variable(self, die: Any) -> DebugVariable:
        origin = origin_of(die)
        described = DebugVariable(
            text_of(origin, "DW_AT_name"),
            type_of(origin),
            die.tag == "DW_TAG_formal_parameter",
            is_reference(origin),
            number_of(origin, "DW_AT_decl_line") or 0,
        )
        found = die.attributes.get("DW_AT_location")
        if found is None:
            known = die.attributes.get("DW_AT_const_value")
            return described if known is None else _placed(described, constant=_constant(known))
        if isinstance(found.value, int):
            return _placed(described, registers=tuple(self._ranges(found.value)))
        code = bytes(found.value)
        match code[:1]:
            case b"\x90":
                return _placed(
                    described, registers=(RegisterRange(0, EVERYWHERE, register_name(code)),)
                )
            case b"\x91":
                return _placed(described, frame_offset=_frame_offset(code))
            case b"\x03":
                return _placed(described, symbol=linkage_name(origin))
        return described

    def _ranges(self, at: int) -> Iterator[RegisterRange]:
        """The location list at an offset of .debug_loc."""
        data = self._lists
        while at + 18 <= len(data):
            low, high, size = struct.unpack_from("<QQH", data, at)
            if not low and not high:
                return
            code = data[at + 18 : at + 18 + size]
            if code[:1] == bytes([_REGX]):
                yield RegisterRange(low, high, register_name(code))
            at += 18 + size


def _constant(attribute: Any) -> int | bytes | None:
    """DW_AT_const_value: a number, or bytes as they would lie in memory."""
    value = attribute.value
    return value if isinstance(value, int) else bytes(value) if value is not None else None


def _placed(described: DebugVariable, **place: Any) -> DebugVariable:
    return replace(described, **place)


def register_name(code: bytes) -> str:
    """The PTX register of a `DW_OP_regx`: the bytes of its name, the first one highest."""
    number = shift = 0
    for byte in code[1:]:
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    return number.to_bytes((number.bit_length() + 7) // 8, "big").decode("latin-1")


def _frame_offset(code: bytes) -> int:
    """Bytes from the frame address: `DW_OP_fbreg n`, padding, `DW_OP_plus_uconst m`."""
    at, total = 0, 0
    while at < len(code):
        op = code[at]
        at += 1
        if op not in (_FBREG, _PLUS):
            continue
        value = shift = 0
        while at < len(code):
            byte = code[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        if op == _FBREG and byte & 0x40:
            value -= 1 << shift
        total += value
    return total
