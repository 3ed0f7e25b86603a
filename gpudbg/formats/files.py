"""Any file that holds a program: cubin, fat binary, host ELF file, or raw instruction words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudbg.architectures import LISTED, NARROW, age
from gpudbg.errors import LoadError
from gpudbg.formats.cubin import TEXT, read_cubin
from gpudbg.formats.elf import ELF_MAGIC, EM_CUDA, read_elf
from gpudbg.formats.program import SUPPORTED_ARCHS, Program, runs_on
from gpudbg.formats.reading import RECORDING_MAGIC, read_bytes

if TYPE_CHECKING:
    from gpudbg.formats.fatbin import FatbinImage
    from gpudbg.formats.launch import Launch

BANK_0 = ".nv.constant0."
"""Sections of kernels' own constant banks."""


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
    if data.startswith(RECORDING_MAGIC):
        raise LoadError(
            "is a recording, no program", path=name, offset=0, hint=f"`gpudbg {name}` opens it"
        )
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


def held_images(source: str | Path) -> tuple[FatbinImage, ...]:
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
    images: tuple[FatbinImage, ...], path: str, arch: str | None = None, kernel: str | None = None
) -> Program:
    """The program of a fat binary to run.

    Libraries hold hundreds of cubins, many of them without a kernel; one is read as a whole.

    Args:
        images: what the file holds.
        path: its name, for messages.
        arch: the architecture to run on; None takes the lowest one that is supported.
        kernel: an entry that it is to have; None takes the first cubin with kernels.

    Raises:
        LoadError: nothing for this architecture, or no kernel in all of it.
    """
    from gpudbg.formats.names import written_as

    held: list[tuple[FatbinImage, tuple[str, ...]]] = []
    near: list[FatbinImage] = []
    for image in cubins_for(images, path, arch):
        names = kernel_names(image.read(), path)
        if names:
            held.append((image, names))
        if kernel is not None and kernel in names:
            return _picked(image, path, held)
        if kernel is not None and any(written_as(name, kernel) for name in names):
            near.append(image)
    if not held:
        raise LoadError("contains no kernels", path=path, hint="`gpudbg dis` lists its functions")
    return _picked(near[0] if len(near) == 1 else held[0][0], path, held)


def _picked(
    image: FatbinImage, path: str, held: list[tuple[FatbinImage, tuple[str, ...]]]
) -> Program:
    """One cubin of a file, and what its others have."""
    others = tuple(name for other, names in held if other is not image for name in names)
    program = read_cubin(bytes(image.read()), path)
    return replace(program, elsewhere=others) if others else program


def cubins_for(
    images: tuple[FatbinImage, ...],
    path: str,
    arch: str | None = None,
    archs: Sequence[str] = SUPPORTED_ARCHS,
) -> list[FatbinImage]:
    """The cubins of a file for one architecture, each content once.

    Args:
        images: what the file holds.
        path: its name, for messages.
        arch: the architecture to run on; None takes the lowest one that is supported.
        archs: architectures that will do; those that compiled code runs come first.

    Raises:
        LoadError: there is none.
    """
    cubins = _fitting(images, arch, archs)
    if not cubins:
        held = ", ".join(sorted({f"{i.kind} for {i.arch}" for i in images})) or "nothing"
        wanted = arch or "a supported architecture"
        raise LoadError(
            f"no cubin for {wanted}; it holds {held}",
            path=path,
            hint="supported: " + ", ".join(archs),
        )
    best = (max if arch else min)((i.arch for i in cubins), key=age)
    contents: dict[bytes, FatbinImage] = {}
    for image in cubins:
        if image.arch == best:
            contents.setdefault(image.stored, image)
    return list(contents.values())


def _fitting(
    images: tuple[FatbinImage, ...], arch: str | None, archs: Sequence[str]
) -> list[FatbinImage]:
    """The cubins that run on an architecture; without one, those that run at all."""
    cubins = [i for i in images if i.kind == "elf" and i.arch in archs]
    if arch is not None:
        return _matching(cubins, arch)
    narrow = [i for i in cubins if i.arch in NARROW]
    return narrow or cubins


def ptx_of(data: bytes, path: str, arch: str | None = None) -> FatbinImage | None:
    """The PTX that stands for a cubin which a fat binary or host file lacks; None in any other.

    Args:
        data: the file.
        path: its name, for messages.
        arch: the architecture to run on; None: any.

    Raises:
        LoadError: damaged.
    """
    from gpudbg.formats.fatbin import read_images

    if is_cubin(data) or not holds_code(data):
        return None
    images = read_images(data, path)
    if _fitting(images, arch, LISTED):
        return None
    texts = [
        image
        for image in images
        if image.kind == "ptx"
        and (arch is None or age(image.arch) <= age(arch))
        # What asks for one version's own features is compiled for no later one.
        and (arch is None or image.arch[-1] not in "af" or runs_on(image.arch, arch))
    ]
    return max(texts, key=lambda i: age(i.arch), default=None)


def _matching(cubins: Sequence[FatbinImage], arch: str) -> list[FatbinImage]:
    """Those for an architecture, else those for a variant of it, else those that run on it."""
    number = age(arch)[0]
    return (
        [i for i in cubins if i.arch == arch]
        or [i for i in cubins if age(i.arch)[0] == number]
        or [i for i in cubins if runs_on(i.arch, arch)]
    )


def kernel_names(data: bytes, path: str) -> tuple[str, ...]:
    """Names of a cubin's kernels by its sections: every kernel has a constant bank 0 of its own.

    Raises:
        LoadError: damaged.
    """
    names = [s.name for s in read_elf(data, path, tables=False).sections]
    banks = {n.removeprefix(BANK_0) for n in names if n.startswith(BANK_0)}
    found = (n.removeprefix(TEXT) for n in names if n.startswith(TEXT))
    return tuple(n for n in found if n in banks)


def read_programs(data: bytes, path: str, arch: str | None = None) -> Iterator[Program]:
    """Every cubin with code of a file, one at a time, those without kernels included.

    Args:
        data: a cubin, a fat binary, or a host file with one in it.
        path: its name, for messages.
        arch: as `pick`.

    Raises:
        LoadError: damaged, nothing for this architecture, or no code in all of it.
    """
    from gpudbg.formats.fatbin import read_images

    if is_cubin(data):
        yield read_cubin(data, path, bare=True, archs=LISTED)
        return
    found = False
    for image in cubins_for(read_images(data, path), path, arch, LISTED):
        program = read_cubin(image.read(), path, bare=True, archs=LISTED)
        if program.code_sections:
            found = True
            yield program
    if not found:
        raise LoadError("contains no code", path=path)


def read_members(
    data: bytes, path: str, arch: str | None = None
) -> Iterator[tuple[FatbinImage, Program | None]]:
    """Every entry of a fat binary or host file in order, with the program of a cubin.

    Entries that cannot be listed (PTX, an unknown architecture) have none; where the file has
    PTX alone there are no others.

    Args:
        data: the file.
        path: its name, for messages.
        arch: only cubins for it, as `pick`; None takes all.

    Raises:
        LoadError: damaged, or nothing for this architecture.
    """
    from gpudbg.formats.fatbin import read_images

    images = read_images(data, path)
    wanted = {id(i) for i in images if i.kind == "elf" and i.arch in LISTED}
    listed = bool(wanted) or any(i.kind == "ptx" for i in images)
    if arch is not None or not listed:
        best = cubins_for(images, path, arch, LISTED)[0].arch
        wanted = {id(i) for i in images if i.kind == "elf" and i.arch == best}
    for image in images:
        if image.kind != "elf":
            yield image, None
        elif id(image) in wanted:
            yield image, read_cubin(image.read(), path, bare=True, archs=LISTED)
        elif arch is None:
            yield image, None


def holds_code(data: bytes) -> bool:
    """Whether bytes begin as a cubin, a fat binary or a host file: what `read_programs` reads."""
    from gpudbg.formats.fatbin import MAGIC

    return data.startswith((MAGIC, ELF_MAGIC))


def has_kernels(data: bytes) -> bool:
    """Whether bytes are a cubin that has a kernel; one that is damaged may have some."""
    if not is_cubin(data):
        return False
    try:
        return bool(kernel_names(data, ""))
    except LoadError:
        return True
