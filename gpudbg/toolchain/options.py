"""How sources are compiled: the options, and the flags that give them; nothing is compiled here.

Every verb reads these flags; `gpudbg.toolchain.compile` is imported only for a source file.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpudbg.architectures import real
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.options import add_compiler_options

SUFFIXES = (".cu", ".ptx")
"""Files that are compiled before they are read."""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How a source file becomes a cubin.

    Attributes:
        arch: architecture; None is what a PTX file asks for, else sm_50.
        include_dirs: -I, searched in order after the source's own folder.
        defines: -D, "NAME" or "NAME=VALUE".
        debug: -G, code as written with a location for every variable.
        lineinfo: -lineinfo, a line table; True unless switched off.
        std: --std, such as "c++17".
        extra: further words for the compiler as they are.
        instances: of template kernels that are made, whatever the source does: `k<float, 4>`.
    """

    arch: str | None = None
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    debug: bool = False
    lineinfo: bool = True
    std: str | None = None
    extra: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()


def flag_options(args: argparse.Namespace, arch: str | None = None) -> CompileOptions:
    """`CompileOptions` of parsed flags."""
    return CompileOptions(
        arch,
        tuple(args.include_dirs),
        tuple(args.defines),
        debug=args.debug_code,
        std=args.std,
        extra=tuple(args.nvcc_option),
        instances=tuple(args.instances),
    )


def given_flags(options: CompileOptions) -> list[str]:
    """The flags that options were given by, the architecture left out."""
    return [
        *(f"-I {name}" for name in options.include_dirs),
        *(f"-D {name}" for name in options.defines),
        *(["-G"] if options.debug else []),
        *([f"--std {options.std}"] if options.std else []),
        *(f"--nvcc-option {word}" for word in options.extra),
        *(f"--instance {name}" for name in options.instances),
    ]


def word_options(words: Sequence[str], arch: str | None = None) -> CompileOptions:
    """`CompileOptions` of compiler words such as ["-DN=4", "-I", "include", "-G"].

    Raises:
        UsageError: a flag without its value, or an architecture that contradicts `arch`.
    """
    parser = _Words(prog="options", add_help=False, allow_abbrev=False)
    add_compiler_options(parser, words=True)
    args, rest = parser.parse_known_args([os.fspath(w) for w in words])
    args.arch, arch = real(args.arch), real(arch)
    if args.arch and arch and args.arch != arch:
        raise UsageError(f"options ask for {args.arch}, but arch is {arch}")
    args.nvcc_option += rest
    return flag_options(args, arch or args.arch)


class _Words(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """Complain."""
        raise UsageError(f"compiler options: {message}")


def is_source(path: str | os.PathLike[str]) -> bool:
    """Whether a file is compiled before it is read."""
    return Path(path).suffix.lower() in SUFFIXES


def looks_like_ptx(text: str) -> bool:
    """Whether a source text is PTX: its first directive is .version."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return plain.lstrip().startswith(".version")
