"""Compile the kernels of this folder.

    python -m tests.kernels_own.build                  what is missing in cubin/
    python -m tests.kernels_own.build --force [NAME..] everything, or the named kernels
    python -m tests.kernels_own.build --all OUT        every kernel for every architecture, with
                                                       and without -G, into OUT; then runs them
    python -m tests.kernels_own.build --all OUT --arch sm_80 [--arch ...]   for these alone

Needs NVRTC and ptxas (paths in GPUDBG_NVRTC and GPUDBG_PTXAS); the tests need neither.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.kernels_own.kit import CUBINS, Kernel, all_kernels, run

ARCHS = ("sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62")
FLAGS = {
    "": (),
    "line": ("-lineinfo",),
    "G": ("-G",),
    "spill": ("--maxrregcount=20",),
}


def nvrtc(text: str, name: str, options: Sequence[str]) -> bytes:
    """The cubin of a CUDA C++ source.

    Raises:
        RuntimeError: the compiler's log.
    """
    library = ctypes.CDLL(os.environ["GPUDBG_NVRTC"])
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    words = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = library.nvrtcCompileProgram(program, len(options), words)
    kind = "ProgramLog" if failed else "CUBIN"
    getattr(library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    content = ctypes.create_string_buffer(max(size.value, 1))
    getattr(library, f"nvrtcGet{kind}")(program, content)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    if failed or not size.value:
        raise RuntimeError(f"{name}: {content.raw.decode(errors='replace')}")
    return content.raw[: size.value]


def ptxas(source: Path, arch: str, options: Sequence[str]) -> bytes:
    """The cubin of a PTX source.

    Raises:
        RuntimeError: the assembler's log.
    """
    flags = {"-G": "-g", "-lineinfo": "-lineinfo"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.cubin"
        command = [os.environ["GPUDBG_PTXAS"], f"-arch={arch}", str(source), "-o", str(out)]
        command += [flags.get(o, o) for o in options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{source.name}: {done.stdout}{done.stderr}")
        return out.read_bytes()


def compile_variant(kernel: Kernel, variant: str) -> bytes:
    """The cubin of one variant of a kernel."""
    arch, _, kind = variant.partition("-")
    flags = (*FLAGS[kind], *kernel.options)
    if kernel.source.suffix == ".ptx":
        return ptxas(kernel.source, arch, flags)
    options = (f"--gpu-architecture={arch}", "-std=c++17", *flags)
    # The compiler writes its working folder into the line table.
    here = os.getcwd()
    os.chdir(os.sep)
    try:
        return nvrtc(kernel.source.read_text(), kernel.source.name, options)
    finally:
        os.chdir(here)


def build(kernels: Sequence[Kernel], force: bool) -> int:
    """Write the cubins that the tests read; the number of failures."""
    failures = 0
    CUBINS.mkdir(exist_ok=True)
    for kernel in kernels:
        for variant in kernel.variants:
            path = kernel.cubin(variant)
            if path.exists() and not force:
                continue
            try:
                path.write_bytes(compile_variant(kernel, variant))
            except RuntimeError as error:
                failures += 1
                print(error)
    return failures


def campaign(
    kernels: Sequence[Kernel], folder: Path, archs: Sequence[str] = ARCHS,
    kinds: Sequence[str] = ("", "G"),
) -> int:  # fmt: skip
    """Build and run every kernel everywhere it can run; the number of failures."""
    failures = 0
    folder.mkdir(parents=True, exist_ok=True)
    for kernel in kernels:
        case = kernel.make()
        least = min(int(v.partition("-")[0][3:]) for v in kernel.variants)
        for arch in [a for a in archs if int(a[3:].rstrip("af")) >= least]:
            for variant in [f"{arch}-{kind}".rstrip("-") for kind in kinds]:
                try:
                    path = kernel.cubin(variant, folder)
                    path.write_bytes(compile_variant(kernel, variant))
                    wrong = run(case, path, limit=4_000_000)
                except Exception as error:  # one kernel's failure must not end the campaign
                    wrong = [f"{type(error).__name__}: {error}"]
                failures += bool(wrong)
                for line in wrong:
                    print(f"{kernel.name} {variant}: {line}", flush=True)
    return failures


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--all", metavar="OUT", type=Path)
    parser.add_argument("--arch", action="append", default=[])
    parser.add_argument("--kind", action="append", default=[], choices=["none", *FLAGS])
    args = parser.parse_args()
    kernels = [k for k in all_kernels() if not args.names or k.name in args.names]
    if args.all:
        kinds = ["" if kind == "none" else kind for kind in args.kind]
        failures = campaign(kernels, args.all, args.arch or ARCHS, kinds or ("", "G"))
    else:
        failures = build(kernels, args.force)
    print(f"{len(kernels)} kernels, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
