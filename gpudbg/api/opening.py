"""From a path and flags to a session: what the command line, the screen, and IDEs share.

A program opens also where its launch cannot begin: several kernels of which none is named, or
arguments that nobody gave.  Such a session shows code and takes breakpoints, and `run` says what
is missing.
"""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpudbg.api.console import commands
from gpudbg.errors import LoadError, UsageError
from gpudbg.formats.reading import RECORDING_MAGIC, RECORDING_SUFFIX
from gpudbg.launch.flags import add_launch_flags, launch_parser, parameter_names, read_table
from gpudbg.launch.opening import Opening
from gpudbg.loading.programs import SASS_SUFFIX, open_members, open_program, open_programs
from gpudbg.options import DEFAULT_JOBS, JOBS, ON_FAULT, RECORD_ON_FAULT
from gpudbg.toolchain.options import flag_options

if TYPE_CHECKING:
    from gpudbg.api.device import Device
    from gpudbg.debug.session import DebugSession
    from gpudbg.formats.launch import Launch
    from gpudbg.formats.program import Program

__all__ = [
    "SASS_SUFFIX",
    "add_launch_flags",
    "launch_parser",
    "open_members",
    "open_program",
    "open_programs",
    "open_session",
    "parameter_names",
    "read_table",
    "start",
]


_LAUNCH_FLAGS: Final = ("kernel", "grid", "block", "arg", "launch", "shared", "cluster", "arch")


def open_session(
    path: str | Path, args: argparse.Namespace, may_wait: bool = False
) -> DebugSession:
    """A session at the entry of the kernel that path, table and flags name.

    Args:
        path: the program's.
        args: what `add_launch_flags` parsed.
        may_wait: where the launch cannot begin, a session that has not launched yet, in place
            of an error.

    Raises:
        LoadError: the program or a data file cannot be read.
        UsageError: the launch does not fit the kernel; with `may_wait`, the kernel that is
            named is not there.
    """
    if is_recording_file(path):
        return _recorded(path, args)
    opening = Opening(os.fspath(path), args)
    launch = opening.table()
    program = open_program(path, launch, args.arch, flag_options(args))
    engine, jobs = getattr(args, "engine", "auto"), getattr(args, JOBS.name, DEFAULT_JOBS)
    if may_wait and opening.trouble(program) is not None:
        session = _waiting(opening, program, launch, engine, jobs)
    else:
        if args.arg:
            launch = opening.table(program)
        session = start(program, launch, engine, jobs)
    session.opening = opening
    session.settings.set(ON_FAULT.flag, getattr(args, ON_FAULT.name, "stop"))
    recording = getattr(args, RECORD_ON_FAULT.name, None)
    session.settings.set(RECORD_ON_FAULT.flag, recording or "")
    return session


def is_recording_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a recording (`gpudbg record`), by its first bytes or its name."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        if os.fspath(path).endswith(RECORDING_SUFFIX):
            # A damaged one says so itself.
            return True
        with open(path, "rb") as file:
            return file.read(len(RECORDING_MAGIC)) == RECORDING_MAGIC
    except (OSError, ValueError):
        return False


def _recorded(path: str | Path, args: argparse.Namespace) -> DebugSession:
    """The session of a recording, which says itself how it was launched."""
    from gpudbg.api.recordings import open_recording

    given = [f"--{flag}" for flag in _LAUNCH_FLAGS if getattr(args, flag, None)]
    if given:
        raise UsageError(
            f"{path} is a recording: {given[0]} cannot be chosen", "the program's file takes flags"
        )
    return open_recording(path, progress=True)


def _waiting(
    opening: Opening, program: Program, launch: Launch, engine: str, jobs: int
) -> DebugSession:
    """A session that has not launched anything."""
    from gpudbg.debug.session import DebugSession

    if not program.kernels:
        raise LoadError("contains no kernels", path=program.path, hint="`gpudbg dis` shows it")
    loaded = device_for(program, launch, engine, jobs).adopt(program)
    session = DebugSession(opening.idle(loaded), commands)
    loaded.device.sessions.add(session)
    session.plan(opening)
    return session


def device_for(
    program: Program, launch: Launch, engine: str = "auto", jobs: int = DEFAULT_JOBS
) -> Device:
    """A device as a launch table describes it."""
    from gpudbg.api.device import Device

    sm = launch.sm
    device = Device(
        arch=sm.arch or program.arch,
        num_sms=sm.num_sms,
        seed=sm.seed,
        heap_bytes=sm.heap_bytes,
        stack_bytes=sm.stack_bytes,
        engine=engine,
        jobs=jobs,
    )
    # Whoever opens a program with flags and tables is there to look.
    device.gpu.marking = True
    return device


def start(
    program: Program, launch: Launch, engine: str = "auto", jobs: int = DEFAULT_JOBS
) -> DebugSession:
    """A session of a program on a device as its launch table describes it.

    Raises:
        UsageError: the launch does not fit the kernel.
    """
    return device_for(program, launch, engine, jobs).adopt(program).launch_table(launch)
