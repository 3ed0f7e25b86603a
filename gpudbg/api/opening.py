"""From a path and flags to a session: what the command line, the screen, and IDEs share.

A program opens also where its launch cannot begin: several kernels of which none is named, or
arguments that nobody gave.  Such a session shows code and takes breakpoints, and `run` says what
is missing.
"""

from __future__ import annotations

import argparse
import copy
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.errors import LoadError, UsageError
from gpudbg.formats.launch_text import split_name
from gpudbg.launch.flags import (
    add_launch_flags,
    flags_over,
    launch_parser,
    parameter_names,
    read_table,
    table_over,
)
from gpudbg.options import JOBS
from gpudbg.toolchain.options import CompileOptions, flag_options, is_source, word_options

if TYPE_CHECKING:
    from gpudbg.api.programs import LoadedProgram
    from gpudbg.debug.session import DebugSession
    from gpudbg.device.device import Device
    from gpudbg.formats.launch import Launch
    from gpudbg.formats.program import Kernel, Program
    from gpudbg.launch.form import LaunchForm
    from gpudbg.launch.prepare import IdleLaunch, ProgramLaunch

SASS_SUFFIX = ".sass"
"""Files that are assembled before they are read."""
__all__ = [
    "SASS_SUFFIX",
    "Opening",
    "add_launch_flags",
    "launch_parser",
    "open_program",
    "open_programs",
    "open_session",
    "parameter_names",
    "read_table",
    "start",
]

WHAT_TO_DO = (
    "`info launch` shows what is there and what is missing; `launch` takes what it proposes, "
    "`run --kernel NAME --grid N --block N --arg NAME=VALUE` yours"
)
"""How a launch that cannot begin is completed in a session."""


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


def open_programs(
    path: str | Path, arch: str | None = None, options: Sequence[str] | CompileOptions = ()
) -> Iterator[Program]:
    """Every program of a file, one at a time: libraries hold hundreds of cubins.

    Those without kernels are there too; their functions can be listed.  Arguments and errors as
    `open_program`.
    """
    from gpudbg.formats.files import has_kernels, holds_code, is_cubin, read_programs
    from gpudbg.formats.reading import read_bytes

    made = is_source(path) or Path(path).suffix.lower() == SASS_SUFFIX
    data = b"" if made else read_bytes(path)
    # A cubin with kernels opens as ever; plugins may know what is no cubin.
    ours = holds_code(data) and not has_kernels(data)
    found = _foreign(data, path) if ours and not is_cubin(data) else None
    if found is not None:
        yield found
    elif ours:
        yield from read_programs(data, str(path), arch)
    else:
        yield open_program(path, arch=arch, options=options)


def _foreign(data: bytes, path: str | Path) -> Program | None:
    from gpudbg.debug import extensions

    return extensions.read_foreign(data, str(path))


def _assembled(
    path: str | Path, arch: str | None, options: Sequence[str] | CompileOptions
) -> Program:
    from gpudbg.assembler.loading import program_of_file

    given = options if isinstance(options, CompileOptions) else word_options(options, arch)
    if replace(given, arch=None) != CompileOptions():
        raise UsageError(f"{path}: SASS is assembled as it stands; it takes no compiler options")
    return program_of_file(os.fspath(path), given.arch or arch)


def _compiled(
    path: str | Path, arch: str | None, options: Sequence[str] | CompileOptions
) -> Program:
    from gpudbg.toolchain.compile import compile_file, program_of

    if not isinstance(options, CompileOptions):
        options = word_options(options, arch)
    elif arch is not None:
        options = replace(options, arch=arch)
    return program_of(os.fspath(path), compile_file(path, options))


@dataclass(frozen=True, slots=True)
class Opening:
    """What a session was opened with; its next start launches what this says.

    Attributes:
        path: the program's.
        flags: the launch flags given so far (`gpudbg.launch.flags`).
        base: the table below the flags, where there is no file of one (sessions from Python).
    """

    path: str
    flags: argparse.Namespace
    base: Launch | None = None

    def with_flags(self, words: Sequence[str], fresh: bool = False) -> Opening:
        """With more flags; errors as `flags_over`."""
        return replace(self, flags=flags_over(self.flags, words, fresh))

    def without_arguments(self) -> Opening:
        """Without the arguments that flags give."""
        flags = copy.copy(self.flags)
        flags.arg = []
        return replace(self, flags=flags)

    def with_form(self, form: LaunchForm) -> Opening:
        """With a form's values in place of the flags of kernel, sizes and arguments."""
        bare = copy.copy(self.flags)
        bare.kernel = bare.grid = bare.block = bare.shared = None
        bare.arg = []
        return replace(self, flags=flags_over(bare, form.flags()))

    def named_arguments(self) -> set[str]:
        """Names of arguments that flags give by name."""
        return {name for text in self.flags.arg if (name := split_name(text)[0])}

    def table(self, program: Program | None = None) -> Launch:
        """The launch table with the flags over it."""
        if self.base is not None:
            return table_over(self.base, self.flags, program)
        return read_table(self.path, self.flags, program)

    def loaded(self, now: LoadedProgram) -> LoadedProgram:
        """The program with the kernel that the flags name, on the same device.

        A file of many cubins has a program for each; another one is loaded when it is needed.
        """
        from gpudbg.launch.prepare import kernel_name

        name = self.flags.kernel
        if name is None or self.base is not None:
            return now
        if kernel_name(now.program, name) in now.program.kernels:
            return now
        program = open_program(self.path, self.table(), now.device.arch, flag_options(self.flags))
        if kernel_name(program, name) not in program.kernels:
            return now
        held = dict.fromkeys((*now.program.kernels, *now.program.elsewhere, *program.elsewhere))
        others = tuple(k for k in held if k not in program.kernels)
        return now.device.adopt(replace(program, elsewhere=others))

    def kernel(self, program: Program) -> Kernel:
        """The kernel to look at: the one that is named, else the first.

        Raises:
            UsageError: the program has no kernel of that name.
        """
        from gpudbg.formats.launch import pick_kernel
        from gpudbg.launch.prepare import kernel_name

        name = self.table().kernel
        if name is None:
            return next(iter(program.kernels.values()))
        return pick_kernel(program, kernel_name(program, name))

    def trouble(self, program: Program) -> UsageError | None:
        """Why a launch cannot begin, and what to do; None where it can."""
        from gpudbg.formats.launch import bind, check_geometry, pick_kernel
        from gpudbg.launch.prepare import kernel_name

        try:
            table = self.table(program)
            kernel = pick_kernel(program, kernel_name(program, table.kernel))
            check_geometry(kernel, table.grid, table.block, table.shared_bytes)
            bind(kernel, table.args)
        except UsageError as error:
            return type(error)(error.message, WHAT_TO_DO)
        return None

    def launch(self, loaded: LoadedProgram) -> ProgramLaunch:
        """The launch, with its buffers on the device.

        Raises:
            UsageError: what is missing, or does not fit, and what to do.
            LoadError: a data file that cannot be read.
        """
        from gpudbg.launch.prepare import prepare

        trouble = self.trouble(loaded.program)
        if trouble is not None:
            raise trouble
        table = self.table(loaded.program)
        gpu = loaded.device.gpu
        for name in ("num_sms", "seed", "stack_bytes"):
            value = getattr(table.sm, name)
            if value is not None:
                setattr(gpu, name, value)
        gpu.engine = getattr(self.flags, "engine", gpu.engine)
        gpu.jobs = getattr(self.flags, JOBS.name, gpu.jobs)
        loaded.use_machine(table)
        return prepare(loaded, table)

    def idle(self, loaded: LoadedProgram) -> IdleLaunch:
        """What stands for the launch while there is none."""
        from gpudbg.launch.prepare import IdleLaunch

        return IdleLaunch(loaded, self.kernel(loaded.program))

    def form(self, program: Program, kernel: Kernel) -> LaunchForm:
        """The launch of a kernel as texts: what is given, and a proposal for the rest."""
        from gpudbg.launch.form import filled, form_of, propose

        proposed = propose(program, kernel)
        chosen = replace(self, flags=flags_over(self.flags, ["--kernel", kernel.name]))
        try:
            table = chosen.table(program)
        except UsageError:
            # Some arguments are given by name: those go over the proposed ones.
            try:
                table = table_over(proposed, chosen.flags, program)
            except UsageError:
                table = proposed
        proposal = form_of(program, kernel, proposed)
        made = filled(form_of(program, kernel, table), proposal)
        if self._has_table():
            return made
        given = self.flags
        return replace(
            made,
            grid=made.grid if given.grid else proposal.grid,
            block=made.block if given.block else proposal.block,
        )

    def _has_table(self) -> bool:
        from gpudbg.formats.launch_toml import beside

        return self.base is not None or bool(self.flags.launch) or beside(self.path) is not None


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
    opening = Opening(os.fspath(path), args)
    launch = opening.table()
    program = open_program(path, launch, args.arch, flag_options(args))
    engine, jobs = getattr(args, "engine", "auto"), getattr(args, JOBS.name, JOBS.default)
    if may_wait and opening.trouble(program) is not None:
        session = _waiting(opening, program, launch, engine, jobs)
    else:
        if args.arg:
            launch = opening.table(program)
        session = start(program, launch, engine, jobs)
    session.opening = opening
    return session


def _waiting(
    opening: Opening, program: Program, launch: Launch, engine: str, jobs: int
) -> DebugSession:
    """A session that has not launched anything."""
    from gpudbg.debug.session import DebugSession

    if not program.kernels:
        raise LoadError("contains no kernels", path=program.path, hint="`gpudbg dis` shows it")
    loaded = device_for(program, launch, engine, jobs).adopt(program)
    session = DebugSession(opening.idle(loaded))
    loaded.device.sessions.add(session)
    session.plan(opening)
    return session


def device_for(
    program: Program, launch: Launch, engine: str = "auto", jobs: int = JOBS.default
) -> Device:
    """A device as a launch table describes it."""
    from gpudbg.device.device import Device

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
    program: Program, launch: Launch, engine: str = "auto", jobs: int = JOBS.default
) -> DebugSession:
    """A session of a program on a device as its launch table describes it.

    Raises:
        UsageError: the launch does not fit the kernel.
    """
    return device_for(program, launch, engine, jobs).adopt(program).launch_table(launch)
