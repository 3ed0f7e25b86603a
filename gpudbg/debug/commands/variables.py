"""Variables of a frame as commands list them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.answers import column, typed_row
from gpudbg.debug.commands.data import ShownValue, shown_value
from gpudbg.debug.values.variables import FrameVariables
from gpudbg.debug.views.gdb_text import listed_text
from gpudbg.errors import CommandError
from gpudbg.expr.evaluation import Result
from gpudbg.expr.types import Pointer

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@typed_row
class VariableRow:
    """A variable: its value as `print` shows it, in the focused lane.

    `block` counts the blocks around the innermost one that it was declared in; it is behind the
    name (`n@1`) of a variable that another one of this name hides.
    """

    name: str = column()
    type: str = column()
    value: Any = column()
    text: str = column()
    block: int = column()

    @property
    def words(self) -> str:
        """`n = 5`"""
        return f"{self.name.partition('@')[0]} = {self.text}"


def _shown(session: DebugSession, value: Result, name: str) -> ShownValue:
    """A variable as `print` shows it; one that lies where nothing is keeps no other from sight."""
    try:
        return shown_value(session, value, name)[0]
    except CommandError as error:
        lane = session.focus.lane if session.focus is not None else 0
        return ShownValue((f"<error: {error.message}>",), str(value.type), lane, None)


def variable_rows(
    session: DebugSession, known: FrameVariables, parameters: bool
) -> tuple[VariableRow, ...]:
    """The parameters, or the other variables, in scope."""
    rows: list[VariableRow] = []
    for variable, depth in known.variables():
        if variable.parameter == parameters:
            value = known.value(variable)
            shown = _shown(session, value, variable.name)
            text = "\n".join(shown.lines)
            if isinstance(value.type, Pointer):
                text = listed_text(session, value, session.lane)
            hidden = any(row.name == variable.name for row in rows)
            name = f"{variable.name}@{depth}" if hidden else variable.name
            rows.append(VariableRow(name, shown.type, shown.value, text, depth))
    return tuple(rows)
