"""Programs of files: cubins, fat binaries, raw words, CUDA C++, PTX, SASS, plugins' formats."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.architectures import is_wide
from gpudbg.errors import LoadError, UsageError
from gpudbg.toolchain.options import CompileOptions, given_flags, is_source, word_options

if TYPE_CHECKING:
    from gpudbg.formats.fatbin import FatbinImage
    from gpudbg.formats.launch import Launch
    from gpudbg.formats.program import Program

SASS_SUFFIX = ".sass"
"""Files that are assembled before they are read."""


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
        made = _with_instance(path, launch.kernel if launch else None, options)
        return _compiled(path, arch or (launch.sm.arch if launch else None), made)
    if Path(path).suffix.lower() == SASS_SUFFIX:
        return _assembled(path, arch or (launch.sm.arch if launch else None), options)
    from gpudbg.formats.files import is_cubin, read_program
    from gpudbg.formats.reading import read_bytes

    data = read_bytes(path)
    cubin = is_cubin(data)
    if cubin:
        _check_not_compiled(path, options)
    # Plugins are looked for only where a file may be theirs: that takes longer than to read it.
    found = None if cubin else _foreign(data, path)
    if found is not None:
        return found
    try:
        program = read_program(path, launch=launch, arch=arch)
    except LoadError:
        wanted = arch or (launch.sm.arch if launch else None)
        found = _foreign(data, path) if cubin else _from_ptx(data, path, wanted, options)
        if found is None:
            raise
        return found
    _check_not_compiled(path, options)
    return program


def _with_instance(
    path: str | Path, kernel: str | None, options: Sequence[str] | CompileOptions
) -> Sequence[str] | CompileOptions:
    """Options that also make the instance of a template kernel which a launch names, `k<float>`."""
    if kernel is None or "<" not in kernel or Path(path).suffix.lower() != ".cu":
        return options
    made = options if isinstance(options, CompileOptions) else word_options(options)
    return made if kernel in made.instances else replace(made, instances=(*made.instances, kernel))


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
    if not made and (is_cubin(data) or not holds_code(data)):
        _check_not_compiled(path, options)
    if arch is not None and is_cubin(data):
        _check_architecture(data, str(path), arch)
    # A cubin with kernels opens as ever; plugins may know what is no cubin.
    ours = holds_code(data) and (not has_kernels(data) or _is_wide_cubin(data, str(path)))
    found = _foreign(data, path) if ours and not is_cubin(data) else None
    if found is not None:
        yield found
    elif ours:
        programs = read_programs(data, str(path), arch)
        yield from _or_compiled(programs, data, path, arch, options)
    else:
        yield open_program(path, arch=arch, options=options)


def open_members(
    path: str | Path, arch: str | None = None, options: Sequence[str] | CompileOptions = ()
) -> Iterator[tuple[FatbinImage | None, Program | None]]:
    """As `open_programs`, but every entry of a fat binary or host file, with what it is.

    Without `arch` the cubins for all architectures are there.
    """
    from gpudbg.formats.files import holds_code, is_cubin, read_members
    from gpudbg.formats.reading import read_bytes

    if not is_source(path) and Path(path).suffix.lower() != SASS_SUFFIX:
        data = read_bytes(path)
        if holds_code(data) and not is_cubin(data) and _foreign(data, path) is None:
            members = read_members(data, str(path), arch)
            listed = False
            try:
                for image, program in members:
                    listed = listed or program is not None
                    yield image, program
            except LoadError:
                found = _from_ptx(data, path, arch, options)
                if found is None:
                    raise
                yield None, found
            else:
                if not listed:
                    _warn("%s: PTX alone; with --arch it is compiled and listed", path)
            return
    for program in open_programs(path, arch, options):
        yield None, program


def _or_compiled(
    programs: Iterator[Program],
    data: bytes,
    path: str | Path,
    arch: str | None,
    options: Sequence[str] | CompileOptions,
) -> Iterator[Program]:
    """A file's programs; where it has none for the architecture, that of its PTX."""
    try:
        first = next(programs)
    except LoadError:
        found = _from_ptx(data, path, arch, options)
        if found is None:
            raise
        yield found
        return
    _check_not_compiled(path, options)
    yield first
    yield from programs


def _from_ptx(
    data: bytes, path: str | Path, arch: str | None, options: Sequence[str] | CompileOptions
) -> Program | None:
    """The program of a fat binary's PTX, which a driver would compile; None without any.

    Raises:
        UsageError: the compiler is not installed.
        CompileError: the compiler refuses it.
    """
    from gpudbg.formats.files import ptx_of

    image = ptx_of(data, str(path), arch)
    if image is None:
        return None
    from gpudbg.toolchain.compile import compile_ptx, program_of

    if not isinstance(options, CompileOptions):
        options = word_options(options, arch)
    made = compile_ptx(image.read().rstrip(b"\0"), str(path), replace(options, arch=arch))
    program = program_of(str(path), made)
    lacks = f"no cubin for {arch}" if arch else "no cubin"
    _warn("%s: %s in it, so its PTX for %s is compiled", path, lacks, image.arch)
    return program


def _warn(text: str, *about: object) -> None:
    """Note what was done otherwise than expected; few programs need the module that does it."""
    import logging

    logging.getLogger("gpudbg.loading").warning(text, *about)


def _check_not_compiled(path: str | Path, options: Sequence[str] | CompileOptions) -> None:
    """Refuse options for the compiler where nothing is compiled.

    Raises:
        UsageError: names file and flags.
    """
    if not options:
        return
    given = options if isinstance(options, CompileOptions) else word_options(options)
    words = given_flags(given)
    if words:
        raise UsageError(
            f"{path} is not compiled: {' '.join(words)} would change nothing",
            "flags for the compiler go with .cu and .ptx files",
        )


def _check_architecture(data: bytes, path: str, arch: str) -> None:
    """Refuse a cubin of another architecture than the one asked for.

    Raises:
        UsageError: names the file and both.
    """
    from gpudbg.formats.cubin import architecture

    its = architecture(data, path)
    if its != arch:
        raise UsageError(f"{path} is a cubin for {its}, not {arch}", "leave --arch out")


def _is_wide_cubin(data: bytes, path: str) -> bool:
    """Whether a cubin is for an architecture that is listed only."""
    from gpudbg.formats.cubin import architecture

    return is_wide(architecture(data, path))


def _foreign(data: bytes, path: str | Path) -> Program | None:
    from gpudbg.loading import foreign

    return foreign.read_foreign(data, str(path))


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
