"""From a path and arguments to a session: the arguments of a program are its launch flags."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from gpudbg.api import launch_parser, open_program, open_session
from gpudbg.errors import UsageError
from gpudbg.toolchain import CompileOptions, flag_options

if TYPE_CHECKING:
    from gpudbg.debug import DebugSession


def read_target(path: str, flags: list[str]) -> None:
    """Read the program without its launch, as its compiler flags say where they can be read.

    Raises:
        GpudbgError: an unreadable program, or one that does not compile.
    """
    options = CompileOptions()
    with contextlib.suppress(UsageError):
        options = flag_options(launch_parser().parse_args(flags))
    open_program(path, options=options)


def open_target(path: str, flags: list[str]) -> DebugSession:
    """The session of a program with launch flags; one that has not launched where those lack.

    Raises:
        GpudbgError: an unreadable program, bad flags, a kernel that is not there.
    """
    return open_session(path, launch_parser().parse_args(flags), may_wait=True)
