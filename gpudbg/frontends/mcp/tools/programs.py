"""Tools for programs: compiling, loading, what is in them, disassembly."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from gpudbg.answers import lines_of
from gpudbg.api import is_recording_file, launch_parser, open_program
from gpudbg.errors import UsageError
from gpudbg.frontends.mcp.tools.table import ProgramNumber, Text, about, tool
from gpudbg.frontends.mcp.workshop import OpenProgram, ToolAnswer, Workshop
from gpudbg.listing import ListingOptions, contents_answer, listed_texts
from gpudbg.toolchain import flag_options, parameters

Words = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=100)]
_SUFFIXES = {"cuda": ".cu", "ptx": ".ptx", "sass": ".sass"}


@tool("compile")
def compile_(
    workshop: Workshop,
    file: Annotated[str | None, about("a .cu, .ptx or .sass file of the folder")] = None,
    source: Annotated[Text | None, about("or the text itself")] = None,
    language: Annotated[
        Literal["cuda", "ptx", "sass"], about("what `source` is written in")
    ] = "cuda",
    arch: Annotated[
        str | None, about("sm_50 (default) to sm_121", pattern=r"^sm_\d+[af]?$")
    ] = None,
    defines: Annotated[Words | None, about("macros, NAME or NAME=VALUE")] = None,
    include_dirs: Annotated[Words | None, about("folders of headers")] = None,
    debug: Annotated[
        bool, about("-G: unoptimised, every variable can be printed at every line")
    ] = False,
    std: Annotated[str | None, about("such as c++17", pattern=r"^c\+\+\d\d$")] = None,
    instances: Annotated[
        Words | None, about("instances of template kernels to make, such as k<float,256>")
    ] = None,
) -> ToolAnswer:
    """Compile CUDA C++, PTX or SASS; answers with a program number, its kernels, and what the
    compiler said. Host code in a .cu file is left out. No GPU is needed."""
    if (file is None) == (source is None):
        raise UsageError("one of `file` and `source` is needed")
    flags = [f"-D{word}" for word in defines or ()]
    for folder in include_dirs or ():
        flags += ["-I", workshop.sandbox.path(folder)]
    flags += ["-G"] if debug else []
    flags += [f"--std={std}"] if std else []
    for name in instances or ():
        flags += ["--instance", name]
    if arch is not None:
        flags += ["--arch", arch]
    if file is not None:
        suffix = Path(file).suffix.lower()
        if suffix not in _SUFFIXES.values():
            raise UsageError(f"{file}: no .cu, .ptx or .sass file", "`load` opens programs")
        return _opened(workshop, file, workshop.sandbox.path(file), flags)
    assert source is not None
    place = workshop.sandbox.scratch / f"source{workshop.next_program}{_SUFFIXES[language]}"
    place.write_text(source, encoding="utf-8")
    return _opened(workshop, place.name, str(place), flags)


@tool("load")
def load(
    workshop: Workshop,
    file: Annotated[
        str, about("a cubin, fat binary, PTX or SASS file, a host program, a .gpurec recording")
    ],
    arch: Annotated[str | None, about("of a file with several", pattern=r"^sm_\d+[af]?$")] = None,
) -> ToolAnswer:
    """Open a program of the folder; answers with its number and its kernels. A launch table
    beside it (x.toml of x.cubin) gives `launch` its defaults."""
    flags = ["--arch", arch] if arch else []
    return _opened(workshop, file, workshop.sandbox.path(file), flags)


def _opened(workshop: Workshop, name: str, path: str, flags: Sequence[str]) -> ToolAnswer:
    args = launch_parser().parse_args(list(flags))
    workshop.require_program_room()
    if is_recording_file(path):
        number = workshop.add_program(OpenProgram(name, path, tuple(flags)))
        words = f"program {number}: {name}, a recording; `launch` opens it at its end"
        return workshop.answer(words, program=number)
    with _said() as said:
        program = open_program(path, None, args.arch, flag_options(args))
    opened = OpenProgram(name, path, tuple(flags), program)
    number = workshop.add_program(opened)
    kernels = [
        f"  {kernel.name}({', '.join(p.declaration for p in parameters(program, kernel))})"
        for kernel in program.kernels.values()
    ]
    lines = [f"program {number}: {name}, {program.arch}, {len(kernels)} kernels", *kernels, *said]
    return workshop.answer("\n".join(lines), program=number)


@contextmanager
def _said() -> Iterator[list[str]]:
    """What compilers and loaders say meanwhile, as lines."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("gpudbg")
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


@tool("contents", reads=True)
def contents(
    workshop: Workshop,
    program: ProgramNumber,
    kernel: Annotated[str | None, about("one kernel in detail")] = None,
) -> ToolAnswer:
    """What a program contains: kernels with registers, parameters, memory, source lines;
    variables and functions."""
    opened = workshop.program(program)
    args = launch_parser().parse_args(list(opened.flags))
    found = contents_answer(opened.path, args.arch, flag_options(args), kernel)
    return workshop.answer("\n".join(lines_of(found)), program=program)


@tool("disassemble", reads=True)
def disassemble(
    workshop: Workshop,
    program: ProgramNumber,
    kernel: Annotated[str | None, about("only this kernel or function")] = None,
    source: Annotated[bool, about("source lines before their instructions")] = True,
    range: Annotated[  # noqa: A002 - the argument's name for clients
        str | None, about("only these offsets, such as 0x40:0x80", max_length=40)
    ] = None,
    control: Annotated[
        Literal["none", "hex", "fields"], about("control words: left out, as words, or decoded")
    ] = "none",
    blocks: Annotated[bool, about("mark basic blocks and their edges")] = False,
) -> ToolAnswer:
    """Disassemble a program, with its source lines."""
    opened = workshop.program(program)
    args = launch_parser().parse_args(list(opened.flags))
    options = ListingOptions(
        program=opened.path,
        kernel=(kernel,) if kernel else (),
        range=range,
        arch=args.arch,
        control=control,
        no_bytes=control != "hex",
        source=source,
        blocks=blocks,
        compile=replace(flag_options(args), arch=args.arch),
    )
    return workshop.answer("\n".join(listed_texts(options)), program=program)
