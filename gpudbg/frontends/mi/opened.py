"""What a debugger process has open: a program's session or none, and what outlives programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudbg.debug import Settings, SourcePath
from gpudbg.debug.breakpoints import BreakpointTable
from gpudbg.latest import Latest

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession
    from gpudbg.expr import Result

MOST_VALUES = 10_000
"""Values of `print` that are kept."""
NO_PROGRAM = 'No symbol table is loaded.  Use the "file" command.'
NOT_STARTED = "The program is not being run."


class Opened:
    """A program's session, and what stays when another program is opened.

    Attributes:
        session: the program's session, or None.
        settings, sources, breakpoints: of all programs.
        values: what `print` has shown.
        exiting: a client said `quit`.
    """

    def __init__(self) -> None:
        self.settings = Settings()
        self.sources = SourcePath()
        self.breakpoints = BreakpointTable()
        self.session: DebugSession | None = None
        self.values: Latest[Result] = Latest(MOST_VALUES)
        self.exiting = False
