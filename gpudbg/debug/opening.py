"""From a path and flags to a session: what the command line and the TUI share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.debug.compile_options import (
    CompileOptions,
    add_compile_flags,
    flag_options,
    is_source,
    word_options,
)
from gpudbg.errors import LoadError, UsageError
from gpudbg.formats.program import SUPPORTED_ARCHS
from gpudbg.options import JOBS

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.formats.launch import Launch
    from gpudbg.formats.program import Program

MAX_SMS = 256
SASS_SUFFIX = ".sass"
"""Files that are assembled before they are read."""


def add_launch_flags(parser: argparse.ArgumentParser) -> None:
    """The launch table as flags, the same on every verb that launches."""
    group = parser.add_argument_group("launch (flags win over PROG.toml)")
    group.add_argument(
        "--launch", metavar="FILE.toml", help="the launch table (default: PROG.toml)"
    )
    group.add_argument("--kernel", "-k", metavar="NAME", help="entry point")
    group.add_argument("--grid", "-g", metavar="X[,Y[,Z]]", help="blocks")
    group.add_argument("--block", "-b", metavar="X[,Y[,Z]]", help="threads of a block")
    group.add_argument("--shared", type=int, metavar="BYTES", help="dynamic shared memory")
    group.add_argument(
        "--arg",
        "-a",
        action="append",
        default=[],
        metavar="ARG",
        help="an argument: i32:1000, f32:2.5, x=f32[1000]:lcg_real(seed=1,lo=0,hi=1), y=@y.npy; "
        "all of them in order, or NAME=VALUE for those that differ from the launch table",
    )
    group.add_argument(
        "--symbol", action="append", default=[], metavar="NAME=…", help="set a variable"
    )
    group.add_argument(
        "--output", "-o", action="append", default=[], metavar="NAME[A:B]", help="show at the end"
    )
    group.add_argument("--num-sms", type=int, metavar="N", help="SMs of the emulated GPU")
    group.add_argument(
        "--seed", type=int, metavar="N", help="schedule seed (default 0: round robin)"
    )
    group.add_argument("--arch", choices=SUPPORTED_ARCHS, help="architecture (of raw words)")
    group.add_argument("--heap", type=int, metavar="BYTES", help="device heap")
    group.add_argument("--stack", type=int, metavar="BYTES", help="local stack of a thread")
    group.add_argument(
        "--engine",
        choices=("auto", "step", "run"),
        default="auto",
        help="step by step, compiled code, or whatever is best (default)",
    )
    group.add_argument(
        f"--{JOBS.name}", type=int, metavar="N", default=JOBS.default, help=JOBS.help
    )
    add_compile_flags(parser)


def open_program(
    path: str | Path,
    launch: Launch | None = None,
    arch: str | None = None,
    options: Sequence[str] | CompileOptions = (),
) -> Program:
    """Read a cubin, a fat binary or host file with one in it, or raw words with a launch table.

    `.cu` and `.ptx` files are compiled first, `.sass` files are assembled.  What is no cubin, or
    one that cannot be read, is offered to the formats that plugins add.

    Args:
        path: the file.
        launch: its launch table, where there is one.
        arch: the architecture to run on; None takes the table's, then the program's own.
        options: for the compiler, as words or as `CompileOptions`.

    Raises:
        LoadError: unreadable, damaged, unsupported; names file and offset.
        CompileError: the compiler refuses it.
        AssembleError: SASS text with mistakes: all of them.
        UsageError: the compiler is not installed.
    """
    if is_source(path):
        return _compiled(path, arch or (launch.sm.arch if launch else None), options)
    if Path(path).suffix.lower() == SASS_SUFFIX:
        return _assembled(path, arch or (launch.sm.arch if launch else None), options)
    from gpudbg.formats.files import is_cubin, read_program
    from gpudbg.formats.reading import read_bytes

    data = read_bytes(path)
    cubin = is_cubin(data)
    # Plugins are looked for only where a file may be theirs: that takes longer than to read it.
    found = None if cubin else _foreign(data, path)
    if found is not None:
        return found
    try:
        return read_program(path, launch=launch, arch=arch)
    except LoadError:
        found = _foreign(data, path) if cubin else None
        if found is None:
            raise
        return found


def _foreign(data: bytes, path: str | Path) -> Program | None:
    from gpudbg.debug import extensions

    return extensions.read_foreign(data, str(path))


def _assembled(
    path: str | Path, arch: str | None, options: Sequence[str] | CompileOptions
) -> Program:
    from gpudbg.debug.assembler.loading import program_of_file

    given = options if isinstance(options, CompileOptions) else word_options(options, arch)
    if replace(given, arch=None) != CompileOptions():
        raise UsageError(f"{path}: SASS is assembled as it stands; it takes no compiler options")
    return program_of_file(os.fspath(path), given.arch or arch)


def _compiled(
    path: str | Path, arch: str | None, options: Sequence[str] | CompileOptions
) -> Program:
    from gpudbg.debug.compile import compile_file, program_of

    if not isinstance(options, CompileOptions):
        options = word_options(options, arch)
    elif arch is not None:
        options = replace(options, arch=arch)
    return program_of(os.fspath(path), compile_file(path, options))


def read_table(
    path: str | Path, args: argparse.Namespace, program: Program | None = None
) -> Launch:
    """The launch table beside a program (or of --launch) with the flags laid over it.

    Args:
        path: the program's path.
        args: what `add_launch_flags` parsed.
        program: the program, once it has been read: `--arg NAME=…` goes by its parameters.
    """
    from gpudbg.formats.launch import SmSpec
    from gpudbg.formats.launch_toml import beside, flag_launch, read_launch

    table = Path(args.launch) if args.launch else beside(path)
    base = read_launch(table) if table is not None else None
    if args.num_sms is not None and not 1 <= args.num_sms <= MAX_SMS:
        raise UsageError(f"--num-sms {args.num_sms}: between 1 and {MAX_SMS}")
    return flag_launch(
        base,
        kernel=args.kernel,
        grid=args.grid,
        block=args.block,
        shared_bytes=args.shared,
        args=args.arg,
        symbols=args.symbol,
        outputs=args.output,
        sm=SmSpec(args.arch, args.num_sms, args.seed, args.heap, args.stack),
        parameters=parameter_names(program, args.kernel or (base.kernel if base else None)),
    )


def parameter_names(program: Program | None, kernel: str | None) -> Sequence[str] | None:
    """Names of the parameters of the kernel to launch; None where they are not known."""
    from gpudbg.debug.launching import kernel_name
    from gpudbg.debug.signatures import names_of
    from gpudbg.formats.launch import pick_kernel

    if program is None:
        return None
    try:
        found = pick_kernel(program, kernel_name(program, kernel))
    except UsageError:
        return None
    return names_of(program, found)


def open_session(path: str | Path, args: argparse.Namespace) -> DebugSession:
    """A session at the entry of the kernel that path, table and flags name.

    Raises:
        LoadError: the program or a data file cannot be read.
        UsageError: the launch does not fit the kernel.
    """
    launch = read_table(path, args)
    program = open_program(path, launch, args.arch, flag_options(args))
    if args.arg:
        launch = read_table(path, args, program)
    jobs = getattr(args, JOBS.name, JOBS.default)
    return start(program, launch, getattr(args, "engine", "auto"), jobs)


def start(
    program: Program, launch: Launch, engine: str = "auto", jobs: int = JOBS.default
) -> DebugSession:
    """A session of a program on a device as its launch table describes it.

    Raises:
        UsageError: the launch does not fit the kernel.
    """
    from gpudbg.debug.device import Device

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
    return device.adopt(program).launch_table(launch)
