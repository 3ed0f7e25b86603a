"""From where on a function's parameters are in the registers of their variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from gpudbg.code_layout import layout_of
from gpudbg.errors import GpudbgError
from gpudbg.formats.lines import PTX_LINE, ptx_text, read_lines
from gpudbg.formats.program import Program
from gpudbg.symbols.debug_variables import DebugVariable, read_variables
from gpudbg.symbols.ptx_registers import PieceRow, read_pieces

_BEGIN, _STATEMENT, _END = "$L__func_begin", "$L__tmp", "$L__func_end"
"""Labels of the PTX that the compiler writes for `-G`: where a function, its first statement and
its end are."""


def first_statement(program: Program, section: str) -> int | None:
    """Where the first statement of a `-G` build's function begins: behind what brings parameters
    to their variables; None where the program's PTX does not tell."""
    return _statements(program).get(section)


@lru_cache(maxsize=64)
def _statements(program: Program) -> Mapping[str, int]:
    """Offsets of first statements by section; damaged tables are as good as none."""
    try:
        rows = read_lines(program, PTX_LINE).rows
    except GpudbgError:
        return {}
    bodies = {f".text.{name}": lines for name, lines in _bodies(ptx_text(program))}
    found: dict[str, int] = {}
    for row in rows:
        lines = bodies.get(row.section)
        if lines is not None and row.line in lines and row.end > row.start > 0:
            found.setdefault(row.section, row.start)
    return found


_HEAD = re.compile(r"\.(?:entry|func)\s+(?:\(.*\)\s*)?([\w$]+)\s*\(?\s*$")


def _bodies(text: tuple[str, ...]) -> Iterator[tuple[str, range]]:
    """Each function's name and the lines of the PTX from its first statement to its end.

    Newer compilers have a label behind the load of each parameter; a statement has a `.loc` line
    before it, which is empty in what a program keeps.
    """
    name, statement, loading = "", 0, False
    for number, line in enumerate(text, 1):
        if head := _HEAD.search(line):
            name = head[1]
        elif line.startswith(_BEGIN):
            statement = 0
        elif line.startswith(_STATEMENT):
            statement, loading = statement or number, loading or not statement
        elif loading and line.lstrip().startswith("ld.param"):
            statement = number + 1
        else:
            loading = False
            if line.startswith(_END) and statement:
                yield name, range(statement, number)


def begin_of_body(program: Program, section: str, offset: int, end: int) -> int:
    """The first instruction of a stretch where all parameters of its function have come.

    Args:
        offset, end: a line's code at the begin of the section's function.

    Returns:
        The stretch's begin, where none of them is put into a register in it.
    """
    function = read_variables(program).get(section)
    if function is None:
        return offset
    pieces = read_pieces(program).get(section.removeprefix(".text."), {})
    came = [
        low
        for variable in function.variables
        if variable.parameter
        for low in _come(pieces.get(_register(variable), ()))
        if offset <= low < end
    ]
    body = layout_of(program.arch).next(max(came)) if came else offset
    return body if body < end else offset


def _register(variable: DebugVariable) -> str:
    return variable.registers[0].register if variable.registers else ""


def _come(rows: tuple[PieceRow, ...]) -> list[int]:
    """Where each piece of a parameter is first in a register."""
    first: dict[int, int] = {}
    for row in rows:
        first[row.part] = min(row.low, first.get(row.part, row.low))
    return list(first.values())
