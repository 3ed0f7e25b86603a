"""Host programs for tests: compiled with clang and the headers of NVIDIA's wheels.

clang wants a CUDA installation: that of `gpudbg exec FILE.cu`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpudbg.hosting.build import built_library, compilers
from gpudbg.hosting.clang import WRAPPERS, make_installation
from gpudbg.sm.engines.llvm import cache

PROGRAMS = Path(__file__).parent / "programs"
_FLAGS = ("-O1", "-Wno-unknown-cuda-version")


@functools.cache
def installation() -> Path:
    """The folder that clang takes for CUDA's."""
    import tempfile

    place = Path(tempfile.mkdtemp(prefix="gpudbg-cuda-"))
    make_installation(place)
    return place


def require_clang() -> str:
    """clang; a test that needs it is left out where there is none."""
    found = shutil.which("clang++")
    if found is None:
        pytest.skip("clang++ is not installed")
    return found


def require_compiler() -> str:
    """A C compiler, likewise."""
    found = compilers()
    if not found:
        pytest.skip("no C compiler is installed")
    return found[0]


def host_program(source: str, out: Path, *flags: str, arch: str = "sm_80") -> Path:
    """A program of `programs/`, built; other tests of the run that want the same have a link."""
    path = PROGRAMS / source
    wanted = repr((path.read_text(), flags, arch)).encode()
    built = Path(os.environ[cache.FOLDER]) / "programs" / hashlib.sha256(wanted).hexdigest()
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        compile_program(path, out, *flags, arch=arch)
        out.replace(built)
    out.symlink_to(built)
    return out


def compile_program(path: Path, out: Path, *flags: str, arch: str) -> None:
    """Build it, as a user with clang does."""
    place = installation()
    words = [require_clang(), *_FLAGS, "-x", "cuda", str(path), "-o", str(out)]
    words += [f"-I{place / WRAPPERS}", f"--cuda-path={place}", f"--cuda-gpu-arch={arch}", *flags]
    words += [f"-L{built_library()}", "-lcudart"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def run_exec(
    *words: str | Path, given: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`gpudbg exec` with these words, in a process of its own."""
    command = [sys.executable, "-m", "gpudbg", "exec", *map(str, words)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        input=given,
        timeout=300,
        env=os.environ | environment,
    )
