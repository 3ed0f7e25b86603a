"""Texts that clients look at: the version banner and what `show` says."""

from __future__ import annotations

GDB_VERSION = "13.1"
"""The release whose MI this is; clients decide by it what they send."""

GDB_OPTIONS = frozenset(
    "i interpreter ui iex ix init-eval-command init-command mi-listen q quiet silent nx n nh nw "
    "tty cd args configuration fullname annotate".split()
)
"""Options that only gdb's users give: any of them means gdb's command line."""


def version_lines() -> list[str]:
    """The banner; its first line satisfies every pattern clients are known to use."""
    from gpudbg import __version__

    return [
        f"GNU gdb (GDB) {GDB_VERSION} (gpudbg {__version__})",
        "The debugger for GPU machine code that needs no GPU, speaking GDB/MI.",
        'This GDB was configured as "sm-emulator".',
        'For help, type "help".',
    ]


SHOW = {
    "architecture": 'The target architecture is set to "auto" (currently "{0}").',
    "args": 'Argument list to give program being debugged when it is started is "{0}".',
    "confirm": "Whether to confirm potentially dangerous operations is {0}.",
    "host-charset": 'The host character set is "auto; currently UTF-8".',
    "target-charset": 'The target character set is "auto; currently UTF-8".',
    "pagination": "State of pagination is {0}.",
    "prompt": 'Gdb\'s prompt is "{0}".',
    "mi-async": "Whether MI asynchronous mode is enabled is {0}.",
    "non-stop": "Controlling the inferior in non-stop mode is {0}.",
    "inferior-tty": 'Terminal for future runs of program being debugged is "{0}".',
    "listsize": "Number of source lines gdb will list by default is {0}.",
    "language": 'The current source language is "auto; currently c++".',
    "height": "Number of lines gdb thinks are in a page is {0}.",
    "width": "Number of characters gdb thinks are in a line is {0}.",
}
"""gdb's sentence about a setting."""
