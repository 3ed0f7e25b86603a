"""From a file or a text to a program or a session: `gpudbg.load`, `compile`, `open` and others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudbg import validation as given
from gpudbg.api.device import Device
from gpudbg.api.programs import LoadedProgram, Source, read
from gpudbg.architectures import real
from gpudbg.errors import UsageError
from gpudbg.options import DEFAULT_JOBS, ON_FAULT

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession
    from gpudbg.formats.launch import Launch


def load(
    source: Source,
    arch: str | None = None,
    *,
    options: Sequence[str] = (),
    num_sms: int | None = None,
    seed: int | None = None,
    engine: str = "auto",
    jobs: int = DEFAULT_JOBS,
    heap_bytes: int | None = None,
    stack_bytes: int | None = None,
    on_fault: str = "stop",
) -> LoadedProgram:
    """A program on a fresh emulated GPU.

    Args:
        source: path of a cubin, fat binary, CUDA C++ (`.cu`), PTX (`.ptx`) or SASS (`.sass`)
            file, or of raw words with a launch table; a cubin's bytes; or a program loaded before.
        arch: architecture of the GPU (of raw words and of what is compiled); None is the
            program's own.
        options: for the compiler of `.cu` and `.ptx`, such as ["-DN=4", "-Iinclude", "-G"].
        num_sms, seed, engine, jobs, heap_bytes, stack_bytes, on_fault: as for `Device`.

    Raises:
        LoadError: the file cannot be read as a program.
        CompileError: its compiler refuses it.
        UsageError: the program does not run on that architecture, or needs a compiler that is
            not installed.

    >>> program = gpudbg.load("sessions/out_of_bounds/out_of_bounds.cubin", num_sms=1)
    >>> list(program.kernels)
    ['smooth']
    """
    arch = real(arch)
    program = read(source, arch, given.words(options, "options", '["-DN=4"]'))
    device = Device(
        arch=arch or program.arch,
        num_sms=num_sms,
        seed=seed,
        engine=engine,
        jobs=jobs,
        heap_bytes=heap_bytes,
        stack_bytes=stack_bytes,
        on_fault=on_fault,
    )
    return device.adopt(program)


def compile(  # noqa: A001 - users write gpudbg.compile
    text: str,
    arch: str | None = None,
    *,
    options: Sequence[str] = (),
    name: str | None = None,
    **device: Any,
) -> LoadedProgram:
    """CUDA C++ or PTX text as a program on a fresh emulated GPU.

    The kind of text is decided by its first words (PTX begins with `.version`).

    Args:
        text: the source.
        arch: architecture; None is sm_50, or the PTX text's own.
        options: for the compiler, such as ["-DN=4", "-G"].
        name: what messages and the line table call the source.
        device: num_sms, seed, engine, jobs, heap_bytes, stack_bytes, on_fault, as for `Device`.

    Raises:
        CompileError: the compiler's own words.
        UsageError: the compiler is not installed.

    >>> text = '''__device__ int bias;
    ... extern "C" __global__ void shift(int *p) { p[threadIdx.x] += bias * N; }'''
    >>> program = gpudbg.compile(text, options=["-DN=2"])
    >>> program.write_symbol("bias", 5)
    >>> session = program.launch("shift", args=[np.arange(32, dtype=np.int32)])
    >>> session.run().kind, session.buffer(0)[:4], program.read_symbol("bias", np.int32)
    ('exited', array([10, 11, 12, 13], dtype=int32), array([5], dtype=int32))
    """
    from gpudbg.toolchain.compile import compile_text, program_of
    from gpudbg.toolchain.options import looks_like_ptx, word_options

    given.text(text, "text", 'extern "C" __global__ void k(int *p) { … }')
    name = name or ("source.ptx" if looks_like_ptx(text) else "source.cu")
    arch = real(arch)
    made = compile_text(text, word_options(options, arch), name)
    return load(program_of(name, made), arch, **device)


def assemble_program(
    text: str,
    arch: str | None = None,
    *,
    name: str | None = None,
    **device: Any,
) -> LoadedProgram:
    """SASS text as a program on a fresh emulated GPU.

    The text is what `gpudbg dis`, nvdisasm and cuobjdump print, or written by hand; `.param`
    directives name the kernel's parameters (`gpudbg asm --help` has all directives).  Its lines
    are the program's source lines: `list`, breakpoints and stops know them.

    Args:
        text: the source.
        arch: architecture; None is the text's own, else sm_50.
        name: what messages and the line table call the source.
        device: num_sms, seed, engine, jobs, heap_bytes, stack_bytes, on_fault, as for `Device`.

    Raises:
        AssembleError: every mistake of the text, each with its line; `errors` has them one by one.

    >>> text = '''
    ... .kernel fill
    ... .param out 8
    ... S2R R0, SR_LANEID
    ... SHL R1, R0, 0x2
    ... IADD R2.CC, R1, c[0x0][out]
    ... IADD.X R3, RZ, c[0x0][out+4]
    ... STG.E [R2], R0
    ... EXIT
    ... '''
    >>> session = gpudbg.assemble_program(text).launch("fill", args=[np.zeros(32, np.int32)])
    >>> session.run().check().kind, session.buffer("out")[:4]
    ('exited', array([0, 1, 2, 3], dtype=int32))
    """
    from gpudbg.assembler.loading import program_of_text

    made = program_of_text(
        given.text(text, "text", "MOV R0, RZ\nEXIT"), name or "source.sass", arch
    )
    return load(made, arch, **device)


def open(  # noqa: A001 - users write gpudbg.open
    path: str | os.PathLike[str],
    *,
    launch: str | os.PathLike[str] | None = None,
    kernel: str | None = None,
    grid: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    args: Sequence[str] = (),
    arch: str | None = None,
    options: Sequence[str] = (),
    num_sms: int | None = None,
    seed: int | None = None,
    engine: str = "auto",
    on_fault: str = "stop",
) -> DebugSession:
    """A session of a program with the launch table beside it, as `gpudbg PROG` begins one.

    Args:
        path: the program; `x.cubin` has its launch table in `x.toml`.  A recording (`x.gpurec`)
            opens at its end, with all its past; the other arguments are its own.
        launch: another launch table.
        kernel, grid, block: win over the table.
        args: arguments in the words of `--arg`, such as "i32:4" or "x=f32[64]": all of them,
            or "NAME=VALUE" for those that differ from the table's; they may name its buffers.
        arch, options, num_sms, seed, engine, on_fault: as for `load`.

    Raises:
        LoadError, CompileError, UsageError: as `load` and `LoadedProgram.launch`.

    >>> session = gpudbg.open("sessions/first_steps/first_steps.cubin", seed=3)
    >>> session.run().kind, session.buffer("out")
    ('exited', array([4974, 4970, 5026, 4994], dtype=int32))
    """
    from gpudbg.api.opening import is_recording_file, open_program, parameter_names, start
    from gpudbg.formats.launch import SmSpec
    from gpudbg.formats.launch_toml import beside, flag_launch, read_launch

    if on_fault not in ON_FAULT.choices:
        raise UsageError(f"on_fault {on_fault!r}", f"one of {', '.join(ON_FAULT.choices)}")
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"path must be a file's name, not a {type(path).__name__}")
    if isinstance(args, str) or not all(isinstance(a, str) for a in args):
        words = "args must be a list of texts as of --arg, such as 'i32:4' or 'x=f32[64]'"
        raise UsageError(words, "`gpudbg.load(path).launch(args=[…])` takes Python's values")
    for dims, name in ((grid, "grid"), (block, "block")):
        _dim_text(dims, name)
    if is_recording_file(path):
        from gpudbg.api.recordings import open_recording

        return open_recording(os.fspath(path))
    table = Path(launch) if launch is not None else beside(Path(path))
    base = read_launch(table) if table is not None else None

    def flagged(names: Sequence[str] | None) -> Launch:
        return flag_launch(
            base,
            kernel=kernel,
            grid=_dim_text(grid, "grid"),
            block=_dim_text(block, "block"),
            args=args,
            sm=SmSpec(real(arch), num_sms, seed),
            parameters=names,
        )

    made = flagged(None)
    program = open_program(os.fspath(path), made, real(arch), options)
    if args:
        made = flagged(parameter_names(program, made.kernel))
    session = start(program, made, engine)
    session.settings.set(ON_FAULT.flag, on_fault)
    return session


def _dim_text(value: int | Sequence[int] | None, name: str) -> str | None:
    """A size in the words of a flag."""
    from gpudbg.formats.launch import dim3

    return None if value is None else ",".join(map(str, dim3(value, name)))
