"""Where NVRTC, ptxas and the headers for device code are: variables, wheels, installations."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpudbg.errors import UsageError

INSTALL = "pip install 'gpudbg[cuda]' brings it; no GPU is needed"

_HEADER_PACKAGES = (
    ("cuda_runtime", "cuda_fp16.h"),
    ("cuda_cccl", "nv/target"),
    ("curand", "curand_kernel.h"),
    ("cuda_nvcc", "crt/mma.h"),
)
"""Wheels with headers for device code, and one of each."""

_PTXAS = ("bin/ptxas", "bin/ptxas.exe")
_PTXAS_OF_OTHERS = (
    "nvidia/cu13/bin/ptxas",
    "triton/backends/nvidia/bin/ptxas",
    "triton/backends/nvidia/bin/ptxas-blackwell",
)
"""Where later wheels of NVIDIA and Triton's wheel have theirs, which may know newer PTX."""


def find_nvrtc() -> Path | None:
    """libnvrtc: of GPUDBG_NVRTC, else of the installed wheel, else of CUDA_PATH."""
    names = ("lib/libnvrtc.so.12", "bin/nvrtc64_120_0.dll")
    return next(_found("GPUDBG_NVRTC", "cuda_nvrtc", names), None)


def find_ptxas() -> Path | None:
    """ptxas: of GPUDBG_PTXAS, else of the installed wheel, else of CUDA_PATH."""
    return next(all_ptxas(), None)


def all_ptxas() -> Iterator[Path]:
    """Every ptxas at hand, the one to try first before others; of GPUDBG_PTXAS it is the only one.

    Raises:
        UsageError: GPUDBG_PTXAS names no file.
    """
    yield from _found("GPUDBG_PTXAS", "cuda_nvcc", _PTXAS)
    if not os.environ.get("GPUDBG_PTXAS"):
        for root in roots():
            yield from (root / name for name in _PTXAS_OF_OTHERS if (root / name).is_file())


def runtime_headers() -> list[str]:
    """The folders of the headers that are installed."""
    out = []
    for package, has in _HEADER_PACKAGES:
        found = (folder / "include" for folder in folders(package))
        out += [str(f) for f in found if (f / has).is_file()][:1]
    return out


def roots() -> Iterator[Path]:
    """Where wheels unpack."""
    for entry in sys.path:
        yield Path(entry or ".")


def folders(package: str) -> Iterator[Path]:
    """Where a wheel's files are, then a CUDA installation's."""
    for root in roots():
        yield root / "nvidia" / package
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
            yield Path(os.environ[variable]) / "lib64"


def _found(variable: str, package: str, names: Sequence[str]) -> Iterator[Path]:
    named = os.environ.get(variable)
    if named:
        if not Path(named).is_file():
            raise UsageError(f"{variable}={named}: no such file")
        yield Path(named)
        return
    for folder in folders(package):
        yield from (folder / name for name in names if (folder / name).is_file())
