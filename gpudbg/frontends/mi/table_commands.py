"""Commands of the debugger's table under GDB/MI: whether the program's state lets them, and what
clients are notified."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpudbg.debug.values import machine_name
from gpudbg.frontends.mi import shown
from gpudbg.frontends.mi.bridge import BUSY
from gpudbg.frontends.mi.commands.registry import Answer
from gpudbg.frontends.mi.opened import NO_PROGRAM, NOT_STARTED
from gpudbg.frontends.mi.parser import MiError

if TYPE_CHECKING:
    from gpudbg.debug import Command, DebugSession
    from gpudbg.frontends.mi.bridge import Bridge
    from gpudbg.frontends.mi.ui import Ui

DONE = Answer("done")
NEEDS_MEMORY = ("x", "info buffers", "find", "dump", "restore", "append")
"""Commands of the group "data" that look at memory."""
SELECTING = (
    "info line",
    "frame",
    "up",
    "down",
    "cuda",
    "focus",
    "sm",
    "warp",
    "lane",
    "block",
    "thread",
)
"""Commands after which an editor is shown the selected place."""


def session_command(
    bridge: Bridge, ui: Ui, command: Command[DebugSession], argument: str
) -> Answer:
    """A command of the table, when the program's state lets it."""
    if bridge.run is not None and command.needs != "nothing" and command.group != "breakpoints":
        raise MiError(BUSY)
    if command.needs.startswith("stopped") and not _static(bridge, command, argument):
        bridge.process(NOT_STARTED)
    if (
        bridge.session is None
        and command.needs != "nothing"
        and not _static(bridge, command, argument)
    ):
        raise MiError(NO_PROGRAM)
    session = bridge.host.owner
    paused = bridge.pause() if command.group == "breakpoints" else None
    session.last_line = ""
    try:
        output = command.carry_out(session, argument)
    finally:
        bridge.go_on(paused)
    ui.repeat = session.last_line or ui.repeat
    for text in output.printed.splitlines(keepends=True):
        ui.stream("~", text)
    if ui.annotate and ui.kind == "console":
        if command.name == "info line" and output.data:
            pc = session.symbols.pc(output.data[0]["offset"])
            ui.put(shown.line_annotation(session, session.symbols.line(pc), pc, False))
        elif bridge.started and command.name in SELECTING:
            bridge.annotate()
    if getattr(session, "quit_requested", False):
        bridge.exiting = True
        return Answer("exit")
    return DONE


_CODE = re.compile(r"/\d*i\b")


def _static(bridge: Bridge, command: Command[DebugSession], argument: str) -> bool:
    """Whether a command looks only at what is there before a run: variables, constants, code."""
    if bridge.started or command.group != "data":
        return False
    if bridge.session is not None and command.name == "x" and _CODE.match(argument):
        return "$" not in argument
    if command.name.split()[0] in NEEDS_MEMORY:
        return False
    return not any(machine_name(name) for name in re.findall(r"\$[A-Za-z_]\w*", argument))
