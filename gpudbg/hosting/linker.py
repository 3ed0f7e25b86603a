"""Links relocatable device code: by nvlink, or by the nvJitLink library of NVIDIA's wheel."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gpudbg.dataclass import dataclass
from gpudbg.errors import CompileError, UsageError
from gpudbg.toolchain.installed import find_ptxas, folders, roots

CUBIN, PTX, FATBIN, OBJECT, LIBRARY = range(5)
"""CUjitInputType."""
_ENDINGS = {CUBIN: ".cubin", PTX: ".ptx", FATBIN: ".fatbin", OBJECT: ".o", LIBRARY: ".a"}
_JIT_KINDS = {CUBIN: 1, PTX: 2, FATBIN: 4, OBJECT: 5, LIBRARY: 6}
"""nvJitLinkInputType."""
INSTALL = "`pip install nvidia-nvjitlink-cu12` brings a linker for device code; no GPU is needed"


@dataclass(frozen=True, slots=True)
class LinkInput:
    """One input.

    Attributes:
        kind: CUjitInputType.
        name: what messages call it.
        data: content.
    """

    kind: int
    name: str
    data: bytes


def find_nvlink() -> Path | None:
    """nvlink: of NVIDIA's wheels or a CUDA installation, else on the PATH."""
    for folder in folders("cuda_nvcc"):
        if (folder / "bin/nvlink").is_file():
            return folder / "bin/nvlink"
    for root in roots():
        if (root / "nvidia/cu13/bin/nvlink").is_file():
            return root / "nvidia/cu13/bin/nvlink"
    named = shutil.which("nvlink")
    return None if named is None else Path(named)


def find_jitlink() -> Path | None:
    """The nvJitLink library."""
    names = ("lib/libnvJitLink.so.12", "lib/libnvJitLink.so.13")
    places = [*folders("nvjitlink"), *(root / "nvidia/cu13" for root in roots())]
    return next((p / n for p in places for n in names if (p / n).is_file()), None)


def link(inputs: Sequence[LinkInput], arch: str) -> bytes:
    """One cubin of several inputs.

    Raises:
        UsageError: there is nothing to link with.
        CompileError: the linker's own words.
    """
    library = find_jitlink()
    if library is not None:
        return _jit_linked(library, inputs, arch)
    tool = find_nvlink()
    if tool is None:
        raise UsageError("device code in several parts needs a linker", INSTALL)
    return _linked(tool, inputs, arch)


def _linked(tool: Path, inputs: Sequence[LinkInput], arch: str) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        words: list[str] = []
        for n, given in enumerate(inputs):
            path = Path(place) / f"{n}{_ENDINGS.get(given.kind, '.o')}"
            path.write_bytes(given.data.rstrip(b"\0") if given.kind == PTX else given.data)
            if given.kind == PTX:
                path = _relocatable(path, arch)
            words.append(str(path))
        out = Path(place) / "out.cubin"
        _run([str(tool), f"-arch={arch}", *words, "-o", str(out)])
        return out.read_bytes()


def _relocatable(path: Path, arch: str) -> Path:
    ptxas = find_ptxas()
    if ptxas is None:
        raise UsageError("PTX needs ptxas", INSTALL)
    out = path.with_suffix(".cubin")
    _run([str(ptxas), "-c", f"-arch={arch}", str(path), "-o", str(out)])
    return out


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = next(iter((done.stderr or done.stdout).splitlines()), f"exit {done.returncode}")
        raise CompileError(f"{Path(words[0]).name}: {said}")


def _jit_linked(library: Path, inputs: Sequence[LinkInput], arch: str) -> bytes:
    api = ctypes.CDLL(str(library))
    options = [f"-arch={arch}".encode()]
    handle = ctypes.c_void_p()

    def ask(function: str, *given: object) -> None:
        status = getattr(api, function)(*given)
        if status:
            raise CompileError(f"nvJitLink: {_log(api, handle) or f'{function} gives {status}'}")

    array = (ctypes.c_char_p * len(options))(*options)
    ask("nvJitLinkCreate", ctypes.byref(handle), ctypes.c_uint32(len(options)), array)
    try:
        for given in inputs:
            kind = _JIT_KINDS.get(given.kind, 5)
            data, size = given.data, ctypes.c_size_t(len(given.data))
            ask("nvJitLinkAddData", handle, kind, data, size, given.name.encode())
        ask("nvJitLinkComplete", handle)
        length = ctypes.c_size_t()
        ask("nvJitLinkGetLinkedCubinSize", handle, ctypes.byref(length))
        made = ctypes.create_string_buffer(length.value)
        ask("nvJitLinkGetLinkedCubin", handle, made)
        return made.raw
    finally:
        api.nvJitLinkDestroy(ctypes.byref(handle))


def _log(api: ctypes.CDLL, handle: ctypes.c_void_p) -> str:
    """What the library has to say, one line of it."""
    length = ctypes.c_size_t()
    if not handle or api.nvJitLinkGetErrorLogSize(handle, ctypes.byref(length)):
        return ""
    text = ctypes.create_string_buffer(length.value + 1)
    api.nvJitLinkGetErrorLog(handle, text)
    lines = text.value.decode("utf-8", "replace").splitlines()
    return next((line for line in lines if line.strip()), "")
