"""SASS text as a program that can be launched: its cubin, its text and the line of each word."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpudbg.architectures import RUN
from gpudbg.assembler.build import assemble_file
from gpudbg.code_layout import layout_of
from gpudbg.errors import LoadError, UsageError
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.reading import read_bytes

if TYPE_CHECKING:
    from gpudbg.formats.program import Program

MAX_FILE_BYTES = 1 << 28


def program_of_file(path: str, arch: str | None = None) -> Program:
    """The program of a .sass file.

    Raises:
        LoadError: the file cannot be read, or is no text.
        AssembleError: every error of the text.
    """
    return program_of_text(text_of(read_bytes(path), path), path, arch)


def program_of_text(text: str, name: str, arch: str | None = None) -> Program:
    """The program of SASS text; `name` is what messages and the line table call it.

    Raises:
        AssembleError: every error of the text.
        UsageError: an unknown architecture.
    """
    if arch is not None and arch not in RUN:
        known = ", ".join(RUN)
        raise UsageError(f"unknown architecture {arch!r}", f"one of {known}")
    made = assemble_file(text, name, arch)
    layout = layout_of(made.arch)
    marks = {
        f".text.{function.name}": tuple(
            (layout.offset_of(n), line) for n, line in enumerate(function.lines) if line
        )
        for function in made.functions
    }
    return replace(read_cubin(made.cubin(), name), sources={name: text}, marks=marks)


def text_of(data: bytes, name: str) -> str:
    """A file's text.

    Raises:
        LoadError: it is no UTF-8, or too long.
    """
    if len(data) > MAX_FILE_BYTES:
        raise LoadError(f"is larger than {MAX_FILE_BYTES >> 20} MiB: no SASS text", path=name)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise LoadError("is no UTF-8 text", path=name, offset=error.start) from error
