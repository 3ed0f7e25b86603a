"""Host programs for tests: compiled with clang and the headers of NVIDIA's wheels.

clang wants a CUDA installation.  A folder of links stands for one, with a stand-in for `fatbinary`,
which is in no wheel: it packs cubins and PTX into a container.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gpudbg.hosting.build import built_library, compilers
from gpudbg.sm.engines.llvm import cache
from gpudbg.toolchain.installed import find_ptxas, folders, runtime_headers

PROGRAMS = Path(__file__).parent / "programs"
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_FLAGS = ("-O1", "-Wno-unknown-cuda-version", "-D__CLANG_CUDA_TEXTURE_INTRINSICS_H__")


def pack(words: list[str]) -> None:
    """What `fatbinary` does, as far as clang asks for it."""
    entries, out = b"", ""
    for n, word in enumerate(words):
        key, _, value = word.partition("=")
        if key == "--create":
            out = value or words[n + 1]
        elif key in ("--image", "--image3"):
            parts = dict(part.partition("=")[::2] for part in value.split(","))
            name = parts.get("profile") or parts.get("sm") or ""
            kind = 1 if name.startswith("compute") else 2
            data = Path(parts["file"]).read_bytes() + b"\0" * (kind == 1)
            data += b"\0" * (-len(data) % 8)
            arch = int("".join(c for c in name if c.isdigit()))
            version = (5, 7) if kind == 1 else (7, 1)
            head = (kind, 0x101, _ENTRY.size, len(data), 0, 0, *version, arch, 0, 0, 0x11, 0, 0)
            entries += _ENTRY.pack(*head) + data
    Path(out).write_bytes(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries)


@functools.cache
def installation() -> Path:
    """The folder that clang takes for CUDA's."""
    import tempfile

    place = Path(tempfile.mkdtemp(prefix="gpudbg-cuda-"))
    for name in ("bin", "include", "nvvm/libdevice", "lib64"):
        (place / name).mkdir(parents=True)
    for folder in runtime_headers():
        for entry in Path(folder).iterdir():
            link = place / "include" / entry.name
            if not link.exists():
                link.symlink_to(entry)
    (place / "include" / "curand_mtgp32_kernel.h").touch()
    (place / "version.txt").write_text("CUDA Version 11.5.0\n")
    ptxas = find_ptxas()
    assert ptxas is not None
    (place / "bin" / "ptxas").symlink_to(ptxas)
    tool = place / "bin" / "fatbinary"
    here = Path(__file__).parent.parent.parent
    tool.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(here)!r})\n"
        "from tests.hosting.cuda import pack\npack(sys.argv[1:])\n"
    )
    tool.chmod(0o755)
    for found in folders("cuda_nvcc"):
        for bitcode in found.glob("nvvm/libdevice/*.bc"):
            link = place / "nvvm" / "libdevice" / bitcode.name
            if not link.exists():
                link.symlink_to(bitcode)
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
    words += [f"--cuda-path={place}", f"--cuda-gpu-arch={arch}", *flags]
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
