"""Edit the value under the cursor: map a row to an expression and its present text.

The new value is passed to the console's `set var`, so both accept the same syntax.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from gpudbg.dataclass import dataclass
from gpudbg.debug.pictures import register_text
from gpudbg.errors import CommandError
from gpudbg.frontends.tui.handlers import handles
from gpudbg.frontends.tui.screens.edit import EditScreen
from gpudbg.frontends.tui.widgets.console import ConsolePane
from gpudbg.frontends.tui.widgets.memory import COLUMNS, MemoryPane

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.debug.pictures import LaneRow
    from gpudbg.frontends.tui.screens.main import MainScreen
    from gpudbg.frontends.tui.view import ScreenView

READ_ONLY = {
    "special": "special registers are read-only: the hardware fills them",
    "never": "several registers share this row; `:set $R8 = 1` changes one by name",
    "fold": "`+` opens the folded rows; then `e` edits them",
    "const": "constant memory is read-only while a kernel runs",
    "map": "the map of allocations is read-only; Enter shows an allocation's bytes",
    "buffer": "output is read-only here; Enter shows the buffer in Memory, where `e` edits it",
    "pc": "code is read-only",
}
"""Why a row is read-only, by its kind or address space."""
ELSEWHERE = "no value under the cursor: `e` edits in Registers, Memory and Watch"


@dataclass(frozen=True, slots=True)
class EditedValue:
    """An editable value: the expression for `set var`, its display name, its present text."""

    expression: str
    name: str
    text: str


def value_at(view: ScreenView, key: Hashable, memory: MemoryPane, letter: str) -> EditedValue:
    """The value a row's key stands for.

    Args:
        key: of the row under the cursor.
        memory: the memory pane, which knows its column.
        letter: the format registers are shown in, of `REGISTER_FORMATS`.

    Raises:
        CommandError: the row is read-only, or stands for no value.
    """
    if not isinstance(key, tuple):
        raise CommandError(ELSEWHERE)
    kind, name = key[0], key[1]
    if kind == "byte":
        return _memory(view, key, memory)
    if kind == "cells":
        kind = "register"
    rows = {(v.section, v.name): v for v in (*view.registers, *view.watches)}
    # Values that nothing has written share a folded row, keyed `never`, whatever their kind.
    rows |= {("never", v.name): v for v in view.registers}
    row = rows.get((kind, name))
    if row is None:
        raise CommandError(READ_ONLY.get(kind, ELSEWHERE))
    return _lane(view, row, letter)


def _lane(view: ScreenView, row: LaneRow, letter: str) -> EditedValue:
    where = f"{row.name} of lane {view.lane}"
    if row.section == "watch":
        return EditedValue(row.name, where, row.focus_text)
    if row.mask >= 0:
        return EditedValue(f"${row.name}", f"{where}, 0 or 1", "01"[row.mask >> view.lane & 1])
    detail = view.snapshot.detail
    if detail is None:
        raise CommandError(ELSEWHERE)
    if row.index < 0:
        text = row.cells[view.lane]
        return EditedValue(f"${row.name}", where, f"0x{int(text, 16):x}" if letter == "x" else text)
    text = register_text(int(detail.registers[row.index][view.lane]), letter)
    if letter == "f":
        return EditedValue(f"$F{row.index}", f"{where}, float", text)
    return EditedValue(f"${row.name}", where, f"0x{int(text, 16):x}" if letter == "x" else text)


def _memory(view: ScreenView, key: Any, memory: MemoryPane) -> EditedValue:
    space = key[1]
    if space in READ_ONLY:
        raise CommandError(READ_ONLY[space])
    column = memory.word_at(key[2])
    if column is None:
        raise CommandError(ELSEWHERE)
    address, text = column
    kind = COLUMNS[memory.form].type
    lane = f" of lane {view.lane}" if space == "local" else ""
    shown = f"0x{int(text, 16):x}" if COLUMNS[memory.form].hex else text
    return EditedValue(
        f"*(@{space} {kind}*)0x{address:x}", f"{space} 0x{address:x}{lane}, {kind}", shown
    )


@handles("edit")
def edit(screen: MainScreen) -> None:
    """Open a line with the value under the cursor; Enter stores what is typed."""
    name = screen.focused_pane()
    key = screen.line_pane(name).key if name != "console" else None
    if screen.current is None:
        return
    try:
        if screen.past.shown is not None:
            raise CommandError("this is an earlier stop; Esc goes to the present, to edit there")
        value = value_at(
            screen.current, key, screen.query_one(MemoryPane), screen.options.register_format
        )
    except CommandError as error:
        screen.note(str(error), "muted")
        return
    screen.app.push_screen(
        EditScreen(f"Set {value.name}", value.text, lambda text: store(screen, value, text))
    )


def store(screen: MainScreen, value: EditedValue, text: str) -> None:
    """Carry out `set var`, as if it were typed.

    Raises:
        GpudbgError: what the command raises; nothing has changed then.
    """
    line = f"set var {value.expression} = {text}"
    lines: list[str] = []

    def work(session: DebugSession) -> None:
        lines.extend(session.command(line).lines)

    view = screen.engine.quick(work)
    if view is None:
        raise CommandError("the machine runs; Ctrl-C stops it")
    console = screen.query_one(ConsolePane)
    console.log_command(line)
    console.log_lines(lines)
    screen.adopt(view)
