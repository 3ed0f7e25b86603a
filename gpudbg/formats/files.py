"""Any file that holds a program: cubin, fat binary, host ELF file, or raw instruction words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.errors import LoadError
from gpudbg.formats.cubin import read_cubin
from gpudbg.formats.elf import ELF_MAGIC, EM_CUDA
from gpudbg.formats.program import SUPPORTED_ARCHS, Program, runs_on
from gpudbg.formats.reading import read_bytes

if TYPE_CHECKING:
    from gpudbg.formats.fatbin import Image
    from gpudbg.formats.launch import Launch


def read_program(
    source: str | Path | bytes,
    path: str | None = None,
    *,
    launch: Launch | None = None,
    arch: str | None = None,
    kernel: str | None = None,
) -> Program:
    """Read a program from whatever holds it.

    Args:
        source: a file's path, or its bytes.
        path: the name to use in messages when `source` is bytes.
        launch: the launch table, for raw words and for its kernel's name.  When None, the one
            beside a file of raw words is read.
        arch: the architecture to run on: picks among the cubins of a fat binary; says what raw
            words are.
        kernel: picks among several cubins for one architecture.

    Raises:
        LoadError: none of these, damaged, or nothing in it for a supported architecture.
    """
    data = source if isinstance(source, bytes) else read_bytes(source)
    name = path or ("<bytes>" if isinstance(source, bytes) else str(source))
    kernel = kernel or (launch.kernel if launch else None)
    if is_cubin(data):
        return read_cubin(data, name)
    from gpudbg.formats.fatbin import MAGIC, read_images
    from gpudbg.formats.launch_toml import beside, read_launch
    from gpudbg.formats.raw import read_raw

    if data.startswith((MAGIC, ELF_MAGIC)):
        return pick(read_images(data, name), name, arch, kernel)
    if launch is None and not isinstance(source, bytes):
        table = beside(source)
        launch = read_launch(table) if table is not None else None
    if launch is None and arch is None:
        begins = data[:4].hex(" ") or "nothing"
        raise LoadError(
            f"neither a cubin (it begins with {begins}, not the ELF magic 7f 45 4c 46) nor raw "
            "words with a launch table beside it",
            path=name,
            offset=0,
            hint=f"raw words need {Path(name).with_suffix('.toml').name} or --arch",
        )
    return read_raw(data, name, launch, arch)


def held_images(source: str | Path) -> tuple[Image, ...]:
    """What a fat binary or host file holds; empty for any other file.

    Raises:
        LoadError: unreadable or damaged.
    """
    from gpudbg.formats.fatbin import MAGIC, read_images

    data = read_bytes(source)
    if is_cubin(data) or not data.startswith((MAGIC, ELF_MAGIC)):
        return ()
    return read_images(data, str(source))


def is_cubin(data: bytes) -> bool:
    """Whether the bytes start as an ELF file for a GPU (or as one too short to tell)."""
    whole = len(data) >= 20 and data[4] == 2
    return data.startswith(ELF_MAGIC) and (not whole or data[18] | data[19] << 8 == EM_CUDA)


def pick(
    images: tuple[Image, ...], path: str, arch: str | None = None, kernel: str | None = None
) -> Program:
    """The program of a fat binary to run.

    Args:
        images: what the file holds.
        path: its name, for messages.
        arch: the architecture to run on; None takes the lowest one that is supported.
        kernel: an entry that it must have.

    Raises:
        LoadError: nothing for this architecture or with this kernel, or no single choice.
    """
    cubins = [i for i in images if i.kind == "elf" and i.arch in SUPPORTED_ARCHS]
    if arch is not None:
        cubins = [i for i in cubins if runs_on(i.arch, arch)]
    if not cubins:
        held = ", ".join(sorted({f"{i.kind} for {i.arch}" for i in images})) or "nothing"
        wanted = arch or "a supported architecture"
        raise LoadError(
            f"no cubin for {wanted}; it holds {held}",
            path=path,
            hint="supported: " + ", ".join(SUPPORTED_ARCHS),
        )
    best = max(i.arch for i in cubins) if arch else min(i.arch for i in cubins)
    contents = dict.fromkeys(i.read() for i in cubins if i.arch == best)
    programs = [read_cubin(data, path) for data in contents]
    if kernel is not None:
        programs = [p for p in programs if kernel in p.kernels] or programs
    if len(programs) > 1:
        names = "; ".join(", ".join(p.kernels) for p in programs)
        raise LoadError(
            f"holds {len(programs)} cubins for {best}; name one of their kernels: {names}",
            path=path,
        )
    return programs[0]
