"""What is here for host programs, and what is missing: `gpudbg doctor`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError
from gpudbg.hosting.build import INSTALL, built_library, compilers
from gpudbg.toolchain.installed import INSTALL as INSTALL_CUDA
from gpudbg.toolchain.installed import all_ptxas, find_nvrtc, runtime_headers

CLIENTS = {
    "numba": "numba",
    "cupy": "cupy-cuda12x",
    "triton": "triton",
    "torch": "torch",
    "pycuda": "pycuda",
    "cuda.bindings": "cuda-python",
}
"""Module -> what pip installs."""
_UNDER_EXEC = "runs under `gpudbg exec python …`"
_ALSO_HERE = {"numba": "gpudbg.numba", "cupy": "gpudbg.cupy", "triton": "gpudbg.triton"}
"""Modules whose kernels run without `exec`, too, and by what."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that something needs.

    Attributes:
        name: what it is for.
        works: whether it is here.
        detail: where it is, or what to install.
    """

    name: str
    works: bool
    detail: str


def diagnoses() -> list[Diagnosis]:
    """Everything that is looked for, whatever is found."""
    made = [_library()]
    ptxas = next(iter(_or_nothing(lambda: list(all_ptxas()))), None)
    nvrtc = next(iter(_or_nothing(lambda: [find_nvrtc()])), None)
    headers = runtime_headers()
    clang = shutil.which("clang++")
    made += [
        Diagnosis("PTX", ptxas is not None, str(ptxas) if ptxas else INSTALL_CUDA),
        Diagnosis(".cu kernels", nvrtc is not None, str(nvrtc) if nvrtc else INSTALL_CUDA),
        Diagnosis("CUDA headers", bool(headers), headers[0] if headers else INSTALL_CUDA),
        Diagnosis(
            "clang", clang is not None, clang or "builds whole .cu programs: `apt install clang`"
        ),
    ]
    served = find_spec("mcp") is not None
    words = "serves assistants" if served else "`pip install 'gpudbg[mcp]'`"
    made.append(Diagnosis("gpudbg mcp", served, words))
    made += [_client(module, package) for module, package in CLIENTS.items()]
    return made


def _client(module: str, package: str) -> Diagnosis:
    """A library whose kernels run here."""
    if not _is_here(module):
        return Diagnosis(module, False, f"`pip install {package}`")
    words = _UNDER_EXEC
    if module in _ALSO_HERE:
        words += f", or by `{_ALSO_HERE[module]}(kernel)`"
    if module == "torch" and "+cpu" in version("torch"):
        words = "tensors of the CPU are arguments of kernels; a CUDA build has CUDA tensors, too"
    if module == "pycuda" and shutil.which("nvcc") is None:
        words += "; SourceModule wants nvcc on the PATH"
    return Diagnosis(module, True, words)


def _is_here(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it
        return False


def _library() -> Diagnosis:
    if not compilers():
        return Diagnosis("gpudbg exec", False, f"no C compiler: {INSTALL}")
    try:
        return Diagnosis("gpudbg exec", True, f"{built_library()}, by {compilers()[0]}")
    except (UsageError, OSError) as error:
        return Diagnosis("gpudbg exec", False, str(error))


def _or_nothing(ask: Callable[[], Sequence[Path | None]]) -> list[Path]:
    """What is found; nothing where a variable names a file that is not there."""
    try:
        return [found for found in ask() if found is not None]
    except UsageError:
        return []
