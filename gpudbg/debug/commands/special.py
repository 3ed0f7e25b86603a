"""Special registers: info special, info ptx: live values explained bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import Output
from gpudbg.debug.values.ptx_values import read_ptx
from gpudbg.debug.views import text as views
from gpudbg.errors import CommandError
from gpudbg.regs.decoders import info_ptx
from gpudbg.regs.explain import explain_sr
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
def info_special(session: DebugSession, argument: str) -> Output:
    """Live special registers."""
    names = argument.replace(",", " ").split()
    if names:
        return _explained(session, names)
    assert session.focus is not None
    rows, data = [], {}
    mask = session.warp().state.active
    for row in SPECIAL_REGISTERS:
        if row.reserved:
            continue
        result = session.special(session.warp().state, row.name)
        if result is None:
            continue
        bits = int(result.values[session.focus.lane])
        shape = views.shape_words(result.values, mask)
        rows.append((f"SR{row.number}", row.name, f"0x{bits:08x}", shape))
        data[row.name] = bits
    return Output(tuple(views.table(("", "Register", "Value", "Active lanes"), rows)), data)


def _explained(session: DebugSession, names: list[str]) -> Output:
    assert session.focus is not None
    lines: list[str] = []
    data: list[Any] = []
    for name in names:
        row = find_special(name.lstrip("$"))
        if row is None:
            near = ", ".join(nearest_special(name))
            raise CommandError(f"no special register is called {name!r}", f"near: {near}")
        result = session.special(session.warp().state, row.name)
        value = int(result.values[session.focus.lane]) if result is not None else 0
        found = explain_sr(row.number, value, session.program.arch)
        lines += found.lines()
        if row.number in NEED_EVENTS and session.grid.counters is None:
            lines.append("  note: not counted in this launch: read it before the first instruction")
        data.append(found.to_json())
    return Output(tuple(lines), data)


@command(
    "info ptx",
    usage="info ptx [%NAME …]",
    help="PTX special registers: value here, type, version, target, and what ptxas makes of them",
    group="status",
    needs="nothing",
    completer=lambda s, text: [r.name for r in PTX_REGISTERS if r.name.startswith(text)],
)
def info_ptx_command(session: DebugSession, argument: str) -> Output:
    """PTX registers, all in a table or some in full."""
    names = argument.replace(",", " ").split()
    if names:
        found = info_ptx([n if n.startswith("%") else f"%{n}" for n in names])
        return Output(tuple(found.lines), found.data)
    rows, data = [], []
    for row in PTX_REGISTERS:
        value = _value(session, row.name)
        lowering = row.lowering(session.program.arch)
        words = lowering.text() if lowering is not None else "not on this architecture"
        rows.append((row.name, row.type, f"PTX {row.isa}", row.target or "all", value, words))
        data.append({"name": row.name, "type": row.type, "value": value, "lowering": words})
    header = ("Register", "Type", "Since", "Target", "Here", "ptxas makes of it")
    return Output(tuple(views.table(header, rows)), data)


def _value(session: DebugSession, name: str) -> str:
    if session.focus is None:
        return "-"
    try:
        result = read_ptx(session, session.warp().state, name)
    except CommandError:
        return "-"
    return "-" if result is None else str(result.values[session.focus.lane].item())
