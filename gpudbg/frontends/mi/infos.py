"""gdb's `info …` lists of what lies around a session: threads, breakpoints, symbols."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.debug.commands.frames import frame_row
from gpudbg.debug.focus.warp_ids import target_id
from gpudbg.debug.script import shown_lines
from gpudbg.debug.symbols import as_written
from gpudbg.debug.values.frames import frames
from gpudbg.frontends.mi.bridge import BUSY
from gpudbg.frontends.mi.parser import MiError

if TYPE_CHECKING:
    from gpudbg.debug.breakpoints.table import Breakpoint
    from gpudbg.frontends.mi.bridge import Bridge
    from gpudbg.frontends.mi.ui import Ui


def info_threads(bridge: Bridge, ui: Ui, argument: str) -> None:
    """Warps as gdb lists threads."""
    session = bridge.session
    if session is None or not bridge.started:
        ui.stream("~", "No threads.\n")
        return
    if bridge.run is not None:
        raise MiError(BUSY)
    ui.stream("~", "  Id   Target Id                                Frame \n")
    current = bridge.ids.focused(session)
    for number, warp in bridge.ids.warps(session).items():
        mark = "*" if number == current else " "
        where = frame_row(session, frames(session, warp)[0])[4:]
        ui.stream("~", f"{mark} {number:<4} {target_id(warp):<40} {where}\n")


def info_inferiors(bridge: Bridge, ui: Ui, argument: str) -> None:
    """The one program."""
    shown = f"process {os.getpid()}" if bridge.started else "<null>"
    ui.stream("~", "  Num  Description       Connection           Executable        \n")
    ui.stream("~", f"* 1    {shown:<17} 1 (native)           {bridge.path or ''} \n")


def info_watchpoints(bridge: Bridge, ui: Ui, argument: str) -> None:
    """Watchpoints alone."""
    rows = [row for row in bridge.breakpoints if row.watch is not None]
    _breakpoint_table(bridge, ui, rows, "No watchpoints.\n")


def info_breakpoints(bridge: Bridge, ui: Ui, argument: str) -> None:
    """Breakpoints as gdb lists them."""
    _breakpoint_table(bridge, ui, list(bridge.breakpoints), "No breakpoints or watchpoints.\n")


def _breakpoint_table(bridge: Bridge, ui: Ui, rows: list[Breakpoint], none: str) -> None:
    if not rows:
        ui.stream("~", none)
        return
    ui.stream("~", "Num     Type           Disp Enb Address            What\n")
    for row in rows:
        for text in _breakpoint_lines(bridge, row.number):
            ui.stream("~", f"{text}\n")


def _breakpoint_lines(bridge: Bridge, number: int) -> list[str]:
    row = bridge.breakpoints.get(number)
    fields = bridge.breakpoint_record(number, 3)
    what = fields.get("pending", "")
    if "func" in fields:
        what = f"in {fields['func']}" + (
            f" at {Path(fields['file']).name}:{fields['line']}" if "line" in fields else ""
        )
    what = fields.get("what", what)
    out = [
        f"{number:<7} {fields['type']:<14} {fields['disp']:<4} {fields['enabled']:<3} "
        f"{fields.get('addr', ''):<18} {what}"
    ]
    if row.condition:
        out.append(f"\tstop only if {row.condition}")
    if row.hits:
        out.append(f"\tbreakpoint already hit {row.hits} time{'s' if row.hits > 1 else ''}")
    if row.ignore:
        out.append(f"\tignore next {row.ignore} hits")
    out += [f"        {text}" for text in shown_lines(row.commands)]
    for place in fields.get("locations", []):
        at = f" at {Path(place['file']).name}:{place['line']}" if "line" in place else ""
        out.append(
            f"{place['number']:<27} {place['enabled']:<3} {place['addr']:<18} "
            f"in {place['func']}{at}"
        )
    return out


def info_functions(bridge: Bridge, ui: Ui, argument: str) -> None:
    """Functions by source file."""
    rows: dict[str, list[str]] = {}
    symbols = bridge.loaded().symbols
    for name, pc, line in symbols.function_places():
        if re.search(argument, name):
            text = f"{line.number}:\t{name};" if line else f"0x{pc:016x}  {name}"
            rows.setdefault(as_written(line.file) if line else "", []).append(text)
    _symbol_lines(ui, "functions", argument, rows)


def info_variables(bridge: Bridge, ui: Ui, argument: str) -> None:
    """Module variables, of which only the place is known."""
    session = bridge.loaded()
    places = ((session.memory.address_of(n), n) for n in session.program.globals)
    rows = [f"0x{at:016x}  {name}" for at, name in places if re.search(argument, name)]
    _symbol_lines(ui, "variables", argument, {"": rows} if rows else {})


def info_types(bridge: Bridge, ui: Ui, argument: str) -> None:
    """A line table names none."""
    bridge.loaded()
    _symbol_lines(ui, "types", argument, {})


def _symbol_lines(ui: Ui, what: str, pattern: str, rows: dict[str, list[str]]) -> None:
    """`info functions` and the like: symbols by source file, those without one at the end."""
    match = f' matching regular expression "{pattern}":' if pattern else ":"
    ui.stream("~", f"All {'' if pattern else 'defined '}{what}{match}\n")
    for file in sorted(rows, key=lambda f: (not f, f)):
        ui.stream("~", f"\nFile {file}:\n" if file else "\nNon-debugging symbols:\n")
        for text in rows[file]:
            ui.stream("~", f"{text}\n")


def info_files(bridge: Bridge, ui: Ui, argument: str) -> None:
    """Where the program's code is."""
    image = bridge.loaded().symbols.image
    ui.stream("~", f'Symbols from "{bridge.path}".\nLocal exec file:\n\t`{bridge.path}\'.\n')
    for place in image.placements:
        end = place.address + place.size
        ui.stream("~", f"\t0x{place.address:016x} - 0x{end:016x} is {place.section}\n")
