"""The C library that host programs load: built on first use, kept by content."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

from gpudbg.errors import UsageError
from gpudbg.hosting import stubs
from gpudbg.hosting.table import INTERNAL, absent, aliases, functions

COMPILERS = ("cc", "clang", "gcc")
SOURCES = (
    "host.c",
    "driver.c",
    "graphs.c",
    "runtime.c",
    "runtime_graphs.c",
    "batches.c",
    "exports.c",
)
FIRST_SOURCE = "redirect.c"
HEADERS = ("host.h", "state.h", "graphs.h")
LIBRARY = "libcuda.so.1"
FIRST_LIBRARY = "libgpudbg-first.so"
"""What is loaded before a program: it has no versions, which `dlopen` of the system has."""
NAMES = (LIBRARY, "libcuda.so", "libcudart.so", "libcudart.so.12")
"""One library under each name: the two APIs share its state."""
NEWEST_LIBRARY = "libcudart.so.13"
"""Jumps into it: some of its functions have other names there."""
FLAGS = (
    "-shared", "-fPIC", "-O1", "-foptimize-sibling-calls", "-std=gnu11", "-fvisibility=hidden",
    "-w", "-pthread",
)  # fmt: skip
"""The library passes arguments on and copies bytes: more than -O1 takes twice the time of the first
use and gains nothing.  `dlopen` has to be a jump (native/redirect.c)."""
INSTALL = "install one, for example with `apt install gcc` or `dnf install gcc`"


def compilers() -> list[str]:
    """C compilers that are at hand: $CC first."""
    named = os.environ.get("CC", "")
    found = (shutil.which(name) for name in (named, *COMPILERS) if name)
    return list(dict.fromkeys(path for path in found if path))


def built_library() -> Path:
    """The folder with the library under all its names.

    Raises:
        UsageError: there is no compiler, or it fails.
    """
    texts = _texts()
    digest = hashlib.sha256()
    for name, text in sorted(texts.items()):
        digest.update(f"{name}\n{len(text)}\n{text}".encode())
    digest.update(" ".join(FLAGS).encode())
    folder = _cache() / digest.hexdigest()[:20]
    if all((folder / name).exists() for name in (*NAMES, FIRST_LIBRARY, NEWEST_LIBRARY)):
        return folder
    found = compilers()
    if not found:
        raise UsageError("`gpudbg exec` builds a small library and finds no C compiler", INSTALL)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        made = Path(place) / "made"
        made.mkdir()
        _compile(found[0], texts, Path(place), made)
        try:
            made.rename(folder)
        except OSError:
            # Another process was quicker.
            if not folder.exists():
                raise
    return folder


def _cache() -> Path:
    from platformdirs import user_cache_path

    named = os.environ.get("GPUDBG_CACHE", "")
    plain = named and named.lower() not in ("off", "none", "0")
    return (Path(named) if plain else user_cache_path("gpudbg")) / "exec"


def _texts() -> dict[str, str]:
    """Every file that is compiled."""
    native = files(__package__).joinpath("native")
    texts = {
        n: native.joinpath(n).read_text(encoding="utf-8")
        for n in (*SOURCES, FIRST_SOURCE, *HEADERS)
    }
    return texts | {
        "calls.h": stubs.header(),
        "calls.c": stubs.source(),
        "aliases.ld": stubs.assignments(),
        "renamed.h": stubs.renamed_list(),
        "newest.s": stubs.newest_runtime(),
        "newest.map": f"{NEWEST_LIBRARY} {{ global: cuda*; __cuda*; local: *; }};\n",
        "names.map": _versions(),
    }


def _versions() -> str:
    """Which names are exported, and the version that programs were linked with."""
    names = [f.name for f in functions() if not f.name.startswith(INTERNAL)]
    names += [*absent(), *(alias for alias, _ in aliases())]
    runtime = "".join(f" {n};" for n in names if n.startswith(("cuda", "__cuda")))
    driver = "".join(f" {n};" for n in names if not n.startswith(("cuda", "__cuda")))
    first = f"{stubs.RUNTIME_VERSION} {{ global:{runtime} }};"
    return f"{first}\nlibcuda.so.1 {{ global:{driver} gpudbg_function; local: *; }};\n"


def _compile(compiler: str, texts: dict[str, str], place: Path, made: Path) -> None:
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    library = made / NAMES[0]
    sources = [str(place / name) for name in (*SOURCES, "calls.c", "aliases.ld")]
    script = f"-Wl,--version-script={place / 'names.map'}"
    named = f"-Wl,-soname,{LIBRARY}"
    _run(compiler, f"-I{place}", *sources, script, named, "-ldl", "-o", str(library))
    for name in NAMES[1:]:
        (made / name).symlink_to(NAMES[0])
    first, here = made / FIRST_LIBRARY, "-Wl,-rpath,$ORIGIN"
    words = [f"-I{place}", str(place / FIRST_SOURCE)]
    _run(compiler, *words, str(library), here, "-ldl", "-o", str(first))
    if platform.machine() == "x86_64":
        words = [str(place / "newest.s"), f"-Wl,--version-script={place / 'newest.map'}"]
        words += [f"-Wl,-soname,{NEWEST_LIBRARY}", str(library), here]
        _run(compiler, *words, "-o", str(made / NEWEST_LIBRARY))
    else:
        (made / NEWEST_LIBRARY).symlink_to(NAMES[0])


def _run(compiler: str, *words: str) -> None:
    try:
        done = subprocess.run(
            [compiler, *FLAGS, *words], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise UsageError(f"{compiler} cannot be run: {error.strerror}", INSTALL) from None
    if done.returncode:
        lines = done.stderr.splitlines()
        first = next((x for x in lines if "error" in x), f"exit code {done.returncode}")
        raise UsageError(f"{compiler} does not build the library for host programs: {first}")
