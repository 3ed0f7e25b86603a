"""Options of the compiler of `.cu` and `.ptx` files."""

from __future__ import annotations

from gpudbg.options.spec import OptionKind, OptionScope, OptionSpec

_COMPILER, _TEXTS = OptionScope.COMPILER, OptionKind.TEXTS

COMPILER_OPTIONS = (
    OptionSpec(
        "include_dirs", _COMPILER, _TEXTS, "look for headers here",
        metavar="DIR", spelled=("-I",),
    ),
    OptionSpec(
        "defines", _COMPILER, _TEXTS, "define a macro",
        metavar="NAME[=VALUE]", spelled=("-D",),
    ),
    OptionSpec(
        "debug", _COMPILER, OptionKind.SWITCH, "unoptimised, debuggable",
        spelled=("-G",), attribute="debug_code",
    ),
    OptionSpec(
        "lineinfo", _COMPILER, OptionKind.SWITCH, "a line table (default)",
        spelled=("-lineinfo", "--lineinfo"),
    ),
    OptionSpec(
        "std", _COMPILER, OptionKind.TEXT, "language, such as c++17",
        metavar="c++NN", spelled=("--std", "-std"),
    ),
    OptionSpec(
        "instances", _COMPILER, _TEXTS, "make an instance of a template kernel, as k<float,256>",
        metavar="NAME", spelled=("--instance",),
    ),
    OptionSpec(
        "extra", _COMPILER, _TEXTS, "any other option",
        "nvcc-option", metavar="WORD",
    ),
)  # fmt: skip
"""The fields of `toolchain.CompileOptions` that flags give."""

COMPILER_WORDS = (
    OptionSpec(
        "arch", _COMPILER, OptionKind.TEXT,
        metavar="ARCH", spelled=("-arch", "--gpu-architecture"),
    ),
)  # fmt: skip
"""What compilers take beside them, for `options=[…]` of the Python API."""
