"""Special registers: info special, info ptx: live values explained bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import Listing, Table, column, computed, typed_row
from gpudbg.answers.formats import WORD
from gpudbg.debug.commands.table import command
from gpudbg.debug.values.ptx_values import read_ptx
from gpudbg.debug.views import text as views
from gpudbg.errors import CommandError
from gpudbg.regs.explain import PtxExplanation, WordExplanation, explain_ptx, explain_sr
from gpudbg.regs.ptx import PTX_REGISTERS
from gpudbg.regs.special import SPECIAL_REGISTERS, find_special, nearest_special
from gpudbg.sm.counters import NEED_EVENTS

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession


@command(
    "info special",
    "info sreg",
    usage="info special [NAME …]",
    help="special registers of the focused lane, one explained field by field when named",
    group="status",
    needs="stopped",
    completer=lambda s, text: [n for n in s.special_names() if n.startswith(text.upper())],
)
def info_special(session: DebugSession, argument: str) -> Table | Listing:
    """Live special registers."""
    names = argument.replace(",", " ").split()
    if names:
        return _explained(session, names)
    assert session.focus is not None
    rows = []
    warp = session.warp().state
    for row in SPECIAL_REGISTERS:
        result = None if row.reserved else session.special(warp, row.name)
        if result is not None:
            bits = int(result.values[session.focus.lane])
            shape = views.shape_words(result.values, warp.active)
            rows.append(LiveRegister(row.number, row.name, bits, shape))
    return Table(LiveRegister, tuple(rows), by="name", value="value")


@typed_row
class LiveRegister:
    """A special register of the focused lane, and what the other lanes have."""

    mark = computed("", lambda r: f"SR{r.number}")
    number: int = column(key="")
    name: str = column("Register")
    value: int = column("Value", WORD)
    shape: str = column("Active lanes", key="")


def _explained(session: DebugSession, names: list[str]) -> Listing:
    assert session.focus is not None
    found = []
    for name in names:
        row = find_special(name.lstrip("$"))
        if row is None:
            near = ", ".join(nearest_special(name))
            raise CommandError(f"no special register is called {name!r}", f"near: {near}")
        result = session.special(session.warp().state, row.name)
        value = int(result.values[session.focus.lane]) if result is not None else 0
        found.append(explain_sr(row.number, value, session.program.arch))
    uncounted = {r.name for r in SPECIAL_REGISTERS if r.number in NEED_EVENTS}
    counted = session.grid.counters is not None

    def lines(one: WordExplanation) -> list[str]:
        note = [] if counted or one.name not in uncounted else [UNCOUNTED]
        return [*one.lines(), *note]

    return Listing(tuple(found), lines)


UNCOUNTED = "  note: not counted in this launch: read it before the first instruction"


@command(
    "info ptx",
    usage="info ptx [%NAME …]",
    help="PTX special registers: value here, type, version, target, and what ptxas makes of them",
    group="status",
    needs="nothing",
    completer=lambda s, text: [r.name for r in PTX_REGISTERS if r.name.startswith(text)],
)
def info_ptx(session: DebugSession, argument: str) -> Table | Listing:
    """Show PTX registers: all in a table, or some in full."""
    names = argument.replace(",", " ").split()
    if names:
        found = [e for n in names for e in explain_ptx(n if n.startswith("%") else f"%{n}")]
        return Listing(tuple(found), PtxExplanation.lines, alone=True)
    rows = []
    for row in PTX_REGISTERS:
        lowering = row.lowering(session.program.arch)
        if lowering is None:
            continue
        words = lowering.text()
        since, target, value = f"PTX {row.isa}", row.target or "all", _value(session, row.name)
        rows.append(PtxRow(row.name, row.type, since, target, value, words))
    return Table(PtxRow, tuple(rows))


@typed_row
class PtxRow:
    """A PTX register, its value here, and what ptxas makes of it."""

    name: str = column("Register")
    type: str = column("Type")
    since: str = column("Since", key="")
    target: str = column("Target", key="")
    value: str = column("Here")
    lowering: str = column("ptxas makes of it")


def _value(session: DebugSession, name: str) -> str:
    if session.focus is None:
        return "-"
    try:
        result = read_ptx(session, session.warp().state, name)
    except CommandError:
        return "-"
    return "-" if result is None else str(result.values[session.focus.lane].item())
