"""Commands that arrange the terminal UI: layout, winheight, refresh, tui.

They stand in the table so that help, completion and the palette know them; the terminal UI
carries them out itself, before a command line gets here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.answers import Notice
from gpudbg.debug.commands.table import command
from gpudbg.debug.settings import NO_SCREEN

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

GROUP = "screen"


def _elsewhere(session: DebugSession, argument: str) -> Notice:
    # No error: a gdb script that begins with `layout` or `tui enable` runs on.
    return Notice(NO_SCREEN)


for _names, _usage, _help, _details in (
    (
        ("layout",),
        "layout [default|asm|src|split|regs|cmd|NAME]",
        "how panes are arranged; without a name: which layouts there are",
        "default is all panes, as many as there is room for; asm is the instructions and the "
        "console,\nsrc the source, split both, regs has registers above the code, cmd is the "
        "console alone.  NAME is a layout that was saved.\n"
        "On the screen: > and < move a pane, ^Up ^Down ^Left ^Right its edges, z zooms it.",
    ),
    (
        ("layout save",),
        "layout save [NAME]",
        "save the layout, theme and key map; the next start takes them",
        "",
    ),
    (("layout delete",), "layout delete NAME", "forget a saved layout", ""),
    (
        ("winheight", "wh"),
        "winheight PANE [+|-]ROWS",
        "how high a pane is",
        "Panes are called as in their titles: code, registers, memory, console, and so on; gdb's "
        "src, asm, regs and cmd are understood.",
    ),
    (("refresh",), "refresh", "draw the whole screen again", ""),
    (("tui enable",), "tui enable", "the terminal UI (it is on)", ""),
    (("tui disable",), "tui disable", "how to get a line console instead", ""),
):
    command(*_names, usage=_usage, help=_help, group=GROUP, needs="nothing", details=_details)(
        _elsewhere
    )
