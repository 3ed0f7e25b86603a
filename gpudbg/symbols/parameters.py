"""From where on a function's parameters are in the registers of their variables."""

from __future__ import annotations

from gpudbg.code_layout import layout_of
from gpudbg.formats.program import Program
from gpudbg.symbols.debug_variables import DebugVariable, read_variables
from gpudbg.symbols.ptx_registers import PieceRow, read_pieces


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
