"""Raw instruction words (a `.bin` without an ELF header) as a `Program` of one kernel.

The words do not say how many registers, parameters or bytes of shared memory the kernel has;
the launch table's `[raw]` part does, and what it leaves out is derived: parameters from the
launch's arguments, registers from what a block of the launch can have.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from pathlib import PurePath
from types import MappingProxyType

from gpudbg.code_layout import layout_of
from gpudbg.errors import LoadError
from gpudbg.formats.launch import Launch, RawSpec
from gpudbg.formats.program import (
    SUPPORTED_ARCHS,
    Function,
    Kernel,
    Param,
    Program,
    Section,
    param_base,
)

MAX_REGS = 255
SM_REGS = 65536
PLAIN_ARG_BYTES = 4
"""Size of a parameter whose argument is a number without a type."""

_PRINTABLE = frozenset(string.printable.encode())


def read_raw(
    data: bytes, path: str = "<bytes>", launch: Launch | None = None, arch: str | None = None
) -> Program:
    """Wrap raw instruction words.

    Args:
        data: the words.
        path: the file's name, for messages and the kernel's name.
        launch: the launch table; its `[raw]` and `[sm] arch` describe the words.
        arch: architecture, which wins over the table's.

    Raises:
        LoadError: not a whole number of bundles, plainly something else than instruction words,
            or no architecture is given.
    """
    table = launch or Launch()
    arch = arch or table.sm.arch
    if arch is None:
        begins = data[:4].hex(" ") or "nothing"
        raise LoadError(
            f"not a cubin (begins with {begins}, not the ELF magic 7f 45 4c 46); raw instruction "
            "words need an architecture",
            path=path,
            offset=0,
            hint='[sm] arch = "sm_50" in the launch table, or --arch',
        )
    if arch not in SUPPORTED_ARCHS:
        raise LoadError(
            f"architecture {arch} is not supported",
            path=path,
            hint="supported: " + ", ".join(SUPPORTED_ARCHS),
        )
    _check_words(data, path, arch)
    name = table.kernel or kernel_name(path)
    sizes = table.raw.params
    if sizes is None:
        sizes = tuple(PLAIN_ARG_BYTES if a.size is None else a.size for a in table.args)
    return _program(data, path, arch, name, lay_out(sizes), table)


def kernel_name(path: str) -> str:
    """A kernel's name from a file's name."""
    stem = re.sub(r"\W", "_", PurePath(path).stem)
    return stem if stem and not stem[0].isdigit() else f"kernel_{stem}"


def lay_out(sizes: Sequence[int]) -> tuple[Param, ...]:
    """Parameters of the given sizes at their natural alignment, as ptxas places them."""
    params = []
    offset = 0
    for ordinal, size in enumerate(sizes):
        align = min(size & -size, 8) if size else 1
        offset += -offset % align
        params.append(Param(ordinal, offset, size))
        offset += size
    return tuple(params)


def _check_words(data: bytes, path: str, arch: str) -> None:
    """Refuse what cannot be instruction words.

    Raises:
        LoadError: empty, no whole number of bundles, text, or a first word of a bundle that is
            no control word (three fields of 21 bits, so bit 63 is 0).
    """
    if not data:
        raise LoadError("is empty", path=path)
    layout = layout_of(arch)
    size = layout.bundle_bytes
    if len(data) % size:
        unit = "instruction bundles" if layout.has_control_words else "instructions"
        raise LoadError(
            f"has {len(data)} bytes: neither an ELF file nor a whole number of {size}-byte {unit}",
            path=path,
            offset=len(data) // size * size,
        )
    if _PRINTABLE.issuperset(data):
        raise LoadError("is text, not instruction words", path=path, offset=0)
    for offset in range(7, len(data) if layout.has_control_words else 0, size):
        if data[offset] & 0x80:
            raise LoadError(
                "not instruction words: a bundle does not start with a control word",
                path=path,
                offset=offset - 7,
            )


def _registers(spec: RawSpec, launch: Launch) -> int:
    """Registers of a thread: given, else what every thread of a block can have."""
    if spec.num_regs is not None:
        return spec.num_regs
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    return max(8, min(MAX_REGS, SM_REGS // max(threads, 1) & ~7))


def _section(name: str, index: int, data: bytes) -> Section:
    """A section that no file has."""
    return Section(name, index, 1, 6, 0, 0, 0, len(data), 32, data)


def _program(
    data: bytes, path: str, arch: str, name: str, params: tuple[Param, ...], launch: Launch
) -> Program:
    """The program of one kernel."""
    spec = launch.raw
    param_bytes = max((p.offset + p.size for p in params), default=0)
    text = _section(f".text.{name}", 1, data)
    bank = _section(f".nv.constant0.{name}", 2, bytes(param_base(arch) + param_bytes))
    kernel = Kernel(
        name=name,
        section=text.name,
        code=data,
        file_offset=0,
        num_regs=_registers(spec, launch),
        num_barriers=spec.num_barriers,
        params=params,
        param_base=param_base(arch),
        param_bytes=param_bytes,
        shared_static_bytes=spec.shared_bytes,
        frame_bytes=spec.local_bytes,
        min_stack_bytes=None,
        max_stack_bytes=None,
        crs_stack_bytes=None,
        local_bytes=spec.local_bytes,
        exit_offsets=(),
        indirect_branches=(),
        bank_sizes=MappingProxyType({0: len(bank.data)}),
        max_regs=MAX_REGS,
        max_threads=None,
        required_threads=None,
        uses_ctaid_z=True,
        externs=(),
        attributes=(),
    )
    function = Function(name, name, text.name, 0, len(data), True)
    return Program(
        path=path,
        arch=arch,
        kernels=MappingProxyType({name: kernel}),
        functions=MappingProxyType({name: function}),
        symbols=(),
        sections=MappingProxyType({text.name: text, bank.name: bank}),
        code_sections=(text.name,),
        segments=MappingProxyType({}),
        globals=MappingProxyType({}),
        shared_vars=(),
        relocations=(),
        debug_relocations=MappingProxyType({}),
        images=MappingProxyType({}),
        externs=(),
        toolkit="",
        debug=False,
        raw=True,
        data=data,
    )
