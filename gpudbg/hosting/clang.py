"""Whole `.cu` programs, host code and kernels, built by clang with the headers of NVIDIA's wheels.

clang wants a CUDA installation.  A folder of links stands for one, with stand-ins for what is in
no wheel; the program is linked with the library of `gpudbg exec`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from gpudbg.errors import CompileError, UsageError
from gpudbg.hosting import fatbinary
from gpudbg.hosting.build import built_library
from gpudbg.toolchain.hostproject import header_near
from gpudbg.toolchain.installed import INSTALL, find_ptxas, folders, runtime_headers
from gpudbg.toolchain.options import CompileOptions

SUFFIX = ".cu"
KNOWN_VERSION = "CUDA Version 11.5.0\n"
"""What every clang that is in use accepts; the headers are newer."""
WRAPPERS = "wrappers"
"""Folder of an installation that is to be looked into first."""
LARGEST_ARCH = "sm_80"
"""Of code that every clang that is in use makes; later GPUs get PTX."""
FLAGS = (
    "-Wno-unknown-cuda-version", "-w",
    # clang 14 takes the attribute of deprecated classes for a mistake.
    "-DCCCL_IGNORE_DEPRECATED_API",
    # CCCL's headers declare what is only asked for its type.
    "-Xclang", "-fcuda-allow-variadic-functions",
)  # fmt: skip
_STAND_INS = {
    # Of a library that is in no wheel asked for; clang's own header includes it.
    "curand_mtgp32_kernel.h": "",
    "cuda_profiler_api.h": """#pragma once
#include <cuda_runtime_api.h>
extern "C" cudaError_t CUDARTAPI cudaProfilerStart(void);
extern "C" cudaError_t CUDARTAPI cudaProfilerStop(void);
""",
    "cudaProfiler.h": """#pragma once
#include <cuda.h>
extern "C" CUresult CUDAAPI cuProfilerStart(void);
extern "C" CUresult CUDAAPI cuProfilerStop(void);
""",
}
"""Headers that programs include and that none of the wheels has."""
_KEYWORD = """#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <{name}>
#pragma pop_macro("__noinline__")
"""
_WITH_KEYWORD = ("bits/basic_string.h", "bits/basic_string.tcc", "bits/shared_ptr_base.h")
"""Headers of GNU's C++ library that write `__attribute__((__noinline__))`, which CUDA's headers
make a macro of (newer clangs wrap them as is done here)."""
_TEXTURES = """#include <texture_types.h>
template <class Element, int Kind, cudaTextureReadMode Mode> struct texture;
#include_next <__clang_cuda_texture_intrinsics.h>
#if __clang_major__ < 21
#include "surfaces.cuh"
#endif
#include "host_math.cuh"
"""
"""clang's header of texture functions names a class that went with CUDA 12; it has no surfaces."""
_OWN = {name: name for name in ("surfaces.cuh", "host_math.cuh")}
"""Headers of ours: what nvcc gives a program and clang does not."""
_OWN |= dict.fromkeys(("nvToolsExt.h", "nvtx3/nvToolsExt.h"), "nvtx_ranges.h")
_UNKNOWN_ARCH = re.compile(r"unsupported CUDA gpu architecture|CUDA version .* does not support")
_NO_HEADER = re.compile(r"^(.*):\d+:\d+: fatal error: '([^']+)' file not found$", re.MULTILINE)
MOST_FOLDERS = 8
"""Folders of headers that are found for a program whose build would name them."""
_ALIGNED = re.compile(
    r"\b((?:(?:extern|static)\s+)?(?:__shared__|__constant__|__device__)\s+)"
    r"(alignas\s*\((?:[^()]|\([^()]*\))*\))(\s*)"
)
"""`__shared__ alignas(16) float tile[64]`: clang takes the two in the other order only."""
_SPLIT, _SPLIT_END = re.compile(r"<<[ \t]+<(?!<)"), re.compile(r">>[ \t]+>(?!>)")
_SHOWN = 20
"""Lines of clang's words that are shown."""


def is_program_source(name: str) -> bool:
    """Whether a word of `gpudbg exec` is a source file that is built first."""
    return name.endswith(SUFFIX) and os.path.isfile(name)


@contextmanager
def built_source(words: Sequence[str], arch: str, options: CompileOptions) -> Iterator[list[str]]:
    """Words whose first one is the program built of the source that it named; it is removed after.

    Raises:
        UsageError: no clang, or none of what it needs.
        CompileError: clang's words.
    """
    with tempfile.TemporaryDirectory(prefix="gpudbg-exec-") as place:
        out = Path(place) / Path(words[0]).stem
        build_program(words[0], out, arch, options)
        yield [str(out), *words[1:]]


def build_program(source: str, out: Path, arch: str, options: CompileOptions) -> None:
    """Build a program; errors as `built_source`."""
    clang = shutil.which("clang++")
    if clang is None:
        raise UsageError(
            f"{source}: building a whole program needs clang++",
            "`apt install clang`; `gpudbg run` runs its kernels without it",
        )
    with tempfile.TemporaryDirectory(prefix="gpudbg-cuda-") as place:
        make_installation(Path(place))
        words = [clang, *FLAGS, *_flags(options), "-x", "cuda", source, "-o", str(out)]
        words += [
            f"-I{Path(place) / WRAPPERS}",
            f"--cuda-path={place}",
            f"-L{built_library()}",
            "-lcudart",
            "-lcuda",
        ]
        words += _rewritten(source, Path(place))
        done = _run(words, arch, place)
        if done.returncode and _UNKNOWN_ARCH.search(done.stderr):
            arch = LARGEST_ARCH
            done = _run(words, arch, place)
        for _ in range(MOST_FOLDERS):
            folder = _folder_of_header(done.stderr) if done.returncode else None
            if folder is None:
                break
            words.append(f"-I{folder}")
            done = _run(words, arch, place)
    if done.returncode:
        lines = [x for x in done.stderr.splitlines() if not x.startswith("In file included")]
        more = [f"… {len(lines) - _SHOWN} more lines"] * (len(lines) > _SHOWN)
        raise CompileError("\n".join([f"{source} is not built", *lines[:_SHOWN], *more]))


def _folder_of_header(said: str) -> str | None:
    """The folder that clang lacks to find a header of the program's project."""
    found = _NO_HEADER.search(said)
    header = found and header_near(os.path.dirname(found[1]), found[2])
    return str(header).removesuffix(found[2]) or "." if found and header else None


def _rewritten(source: str, place: Path) -> list[str]:
    """Flags that have clang read the same file by its name with what nvcc takes written as clang
    takes it: launches as some formatters write them, `<< <4, 32 >> >`, and `_ALIGNED`."""
    try:
        text = Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    made = _ALIGNED.sub(r"\2\3\1", text)
    if _SPLIT.search(made):
        made = _SPLIT_END.sub(">>>", _SPLIT.sub("<<<", made))
    if made == text:
        return []
    file, overlay = place / "source.cu", place / "overlay.json"
    file.write_text(made, encoding="utf-8")
    path = Path(source).absolute()
    entry = {"type": "file", "name": path.name, "external-contents": str(file)}
    root = {"type": "directory", "name": str(path.parent), "contents": [entry]}
    overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": [root]}))
    return ["-ivfsoverlay", str(overlay)]


def _run(words: Sequence[str], arch: str, place: str) -> subprocess.CompletedProcess[str]:
    """Run clang, which leaves temporary files behind, in a place that is removed."""
    return subprocess.run(
        [*words, f"--cuda-gpu-arch={arch}"], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, env=os.environ | {"TMPDIR": place},
    )  # fmt: skip


def _flags(options: CompileOptions) -> Iterator[str]:
    """Options of compilers in clang's words."""
    yield from (f"-I{folder}" for folder in options.include_dirs)
    yield from (f"-D{name}" for name in options.defines)
    yield f"-std={options.std or 'c++17'}"
    yield from ("-O0", "-g") if options.debug else ("-O2", "-gline-tables-only")
    yield from options.extra


def make_installation(place: Path) -> None:
    """Fill a folder that clang takes for a CUDA installation.

    Raises:
        UsageError: the compilers' wheels are not there.
    """
    ptxas, headers = find_ptxas(), runtime_headers()
    if ptxas is None or not headers:
        raise UsageError("building a whole program needs ptxas and CUDA's headers", INSTALL)
    for name in ("bin", "include", "nvvm/libdevice", "lib64"):
        (place / name).mkdir(parents=True)
    for folder in headers:
        for entry in Path(folder).iterdir():
            _link(place / "include" / entry.name, entry)
    for name, text in _STAND_INS.items():
        if not (place / "include" / name).exists():
            (place / "include" / name).write_text(text)
    (place / WRAPPERS / "bits").mkdir(parents=True)
    for name in _WITH_KEYWORD:
        (place / WRAPPERS / name).write_text(_KEYWORD.format(name=name))
    (place / WRAPPERS / "__clang_cuda_texture_intrinsics.h").write_text(_TEXTURES)
    (place / WRAPPERS / "nvtx3").mkdir()
    for name, source in _OWN.items():
        text = files(__package__).joinpath("native", source).read_text(encoding="utf-8")
        (place / WRAPPERS / name).write_text(text)
    (place / "version.txt").write_text(KNOWN_VERSION)
    _link(place / "bin" / "ptxas", ptxas)
    tool = place / "bin" / "fatbinary"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{fatbinary.__file__}" "$@"\n')
    tool.chmod(0o755)
    for found in folders("cuda_nvcc"):
        for bitcode in found.glob("nvvm/libdevice/*.bc"):
            _link(place / "nvvm" / "libdevice" / bitcode.name, bitcode)


def _link(link: Path, target: Path) -> None:
    if not link.exists():
        link.symlink_to(target)
