"""From a path and arguments to a session: the arguments of a program are its launch flags."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, NoReturn

from gpudbg.debug.compile_options import CompileOptions, flag_options
from gpudbg.debug.opening import add_launch_flags, open_program, open_session
from gpudbg.errors import UsageError

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.formats.program import Program


class FlagParser(argparse.ArgumentParser):
    """Launch flags; a bad one is a UsageError, not an exit."""

    def error(self, message: str) -> NoReturn:
        """Refuse."""
        raise UsageError(f"program arguments are launch flags: {message}")


def launch_parser() -> FlagParser:
    """A parser of launch flags alone."""
    parser = FlagParser(prog="gpudbg", add_help=False, allow_abbrev=False)
    add_launch_flags(parser)
    return parser


def read_target(path: str, flags: list[str]) -> Program:
    """The program without its launch, as its compiler flags say where they can be read.

    Raises:
        GpudbgError: an unreadable program, or one that does not compile.
    """
    options = CompileOptions()
    with contextlib.suppress(UsageError):
        options = flag_options(launch_parser().parse_args(flags))
    return open_program(path, options=options)


def open_target(path: str, flags: list[str]) -> DebugSession:
    """The session of a program with launch flags.

    Raises:
        GpudbgError: an unreadable program, bad flags, a launch that does not fit.
    """
    return open_session(path, launch_parser().parse_args(flags))
