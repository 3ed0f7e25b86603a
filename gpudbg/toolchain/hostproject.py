"""What lies around a CUDA C++ file on disk: headers of its project, and files that include it.

A public program's build says `-I../../common`; somebody who opens one of its files does not know
that.  `header_near` looks where projects keep headers, in a bounded number of places.  `advice`
says what to do next where a file does not compile.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gpudbg.errors import LoadError
from gpudbg.textlines import beginning

LEVELS = 6
"""Folders upwards in which headers are looked for, the file's own counted."""

FOLDERS = (
    "", "include", "inc", "Include", "common", "Common", "common/include", "common/inc", "src",
    "lib", "util", "utils", "headers",
)  # fmt: skip
"""Where a project keeps headers, seen from one of its folders."""

SOURCES = (".cu", ".cuh", ".cpp", ".cc", ".c", ".h", ".hpp")
MAX_FILES = 200
MAX_BYTES = 1 << 20

_UNDEFINED = re.compile(r'error: (?:identifier "|name followed by "::"|\w+ "[^"]*" (?:is|has))')
_KERNEL = re.compile(r"\b__global__\b")
_MISSING = re.compile(r'cannot open source file "([^"]+)"')

_HINTS: tuple[tuple[str, str], ...] = (
    (
        r"device-side kernel launch|\"cudaDeviceSynchronize\" is undefined|\"cudaStream\w+\" is un",
        "kernels that launch kernels, or call the CUDA runtime, are not modelled: leave that code "
        "out, with -D where the file has a switch for it",
    ),
    (
        r"identifier \"(?:curand\w*)\" is undefined|\"curand\w+\.h\"",
        "cuRAND's device functions are in headers of their own: pip install nvidia-curand-cu12",
    ),
)
"""What the compiler says → what to do."""


def header_near(folder: str, wanted: str) -> str | None:
    """The file `wanted` of an `#include`, in a folder of the project that no -I names.

    Args:
        folder: of the file that is compiled.
        wanted: as the directive has it.
    """
    if os.path.isabs(wanted):
        return None
    for parent in _parents(os.path.abspath(folder)):
        for name in FOLDERS:
            path = os.path.normpath(os.path.join(parent, name, wanted))
            if os.path.isfile(path):
                return path
    return None


@lru_cache(maxsize=8)
def _parents(folder: str) -> tuple[str, ...]:
    """A folder and those above it, below the home folder and the one for temporary files."""
    strange = {Path(tempfile.gettempdir()).resolve(), Path("/")}
    home = Path(os.path.expanduser("~")).resolve()
    strange |= {home, *home.parents}
    path = Path(folder)
    found = [folder]
    for parent in path.parents[: LEVELS - 1]:
        if parent.resolve() in strange:
            break
        found.append(str(parent))
    return tuple(found)


def advice(name: str, log: str) -> str:
    """What to do where a file does not compile; empty where nothing is known.

    Args:
        name: the file's.
        log: what the compiler said.
    """
    out = [words for pattern, words in _HINTS if re.search(pattern, log)]
    headers = dict.fromkeys(m[1] for m in _MISSING.finditer(log))
    if headers and not out:
        out.append(f"-I FOLDER says where {', '.join(headers)} lies")
    if not headers and _UNDEFINED.search(log) and (by := _includers(name)):
        out.append(f"{by[0]} includes this file: open that one")
    if _texture_references(name):
        out.append(
            "texture references (`texture<float, 2> tex;`) went with CUDA 12, which compiles this: "
            "pass a cudaTextureObject_t, or open a cubin of an older nvcc"
        )
    return "; ".join(out)


def _texture_references(name: str) -> bool:
    """Whether a file declares texture references at the begin of a line."""
    try:
        text = beginning(name, MAX_BYTES).decode("utf-8", "replace")
    except LoadError:
        return False
    return re.search(r"^[ \t]*(?:static\s+)?texture\s*<", text, re.MULTILINE) is not None


def kernel_files(name: str) -> list[str]:
    """Files beside one that hold kernels."""
    return [path for path, text in _beside(name) if path.endswith(".cu") and _KERNEL.search(text)]


def _includers(name: str) -> list[str]:
    """Files that include one: of its folder, then of the folder above."""
    wanted = re.escape(os.path.basename(name))
    directive = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*/)?{wanted}"', re.MULTILINE)
    folder = os.path.dirname(name)
    above = os.path.join(folder, os.pardir, "_")
    found = (p for n in (name, above) for p, text in _beside(n) if directive.search(text))
    return sorted(found, key=lambda path: not path.endswith(".cu"))


def _beside(name: str) -> Iterator[tuple[str, str]]:
    """(path, text) of other sources in a file's folder."""
    if not name or not os.path.isdir(os.path.dirname(name) or "."):
        return
    folder = os.path.dirname(name)
    names = sorted(n for n in os.listdir(folder or ".") if n.lower().endswith(SOURCES))
    for other in names[:MAX_FILES]:
        path = os.path.normpath(os.path.join(folder, other))
        try:
            if os.path.isfile(path) and not (os.path.isfile(name) and os.path.samefile(path, name)):
                yield path, beginning(path, MAX_BYTES).decode("utf-8", "replace")
        except (OSError, LoadError):
            continue
