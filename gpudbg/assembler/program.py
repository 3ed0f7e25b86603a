"""What assembling gives: functions with words, control groups and resources."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpudbg.errors import UsageError
from gpudbg.formats.program import PARAM_BASE
from gpudbg.isa.spa5.sched import pack


@dataclass(frozen=True, slots=True)
class SassParam:
    """A kernel parameter: name ("" without one), offset from the first, size in bytes."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class SassRelocation:
    """A place that needs a symbol's address: offset, R_CUDA_* number, symbol's name."""

    offset: int
    type: int
    symbol: str


@dataclass(frozen=True, slots=True)
class SassSection:
    """A data section: contents, symbols as (name, offset, size), places to relocate.

    Sections of the names `.nv.global` and `.nv.shared...` take only their size in memory.
    """

    name: str
    data: bytes
    symbols: tuple[tuple[str, int, int], ...] = ()
    relocations: tuple[SassRelocation, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the file holds no contents for it."""
        return self.name == ".nv.global" or self.name.startswith(".nv.shared")


@dataclass(frozen=True, slots=True)
class SassFunction:
    """One assembled function.

    Attributes:
        name: as written.
        is_kernel: an entry point.
        words: instruction words, a whole number of bundles.
        groups: their 21-bit control groups.
        lines: the file's line of each instruction; 0 for padding.
        labels: label -> offset.
        registers, barriers: of a thread, of a CTA.
        shared, local, crs: bytes; `crs` None when not given.
        params: parameters in order.
        param_bytes: bytes of all of them.
        banks: constant banks of its own.
        relocations: calls of functions in other sections, and addresses.
        targets: where indirect branches go, by offset, as far as the file says.
        externs: functions it calls that the loader brings, such as vprintf.
    """

    name: str
    is_kernel: bool
    words: tuple[int, ...]
    groups: tuple[int, ...]
    lines: tuple[int, ...]
    labels: Mapping[str, int]
    registers: int
    barriers: int
    shared: int = 0
    local: int = 0
    crs: int | None = None
    params: tuple[SassParam, ...] = ()
    param_bytes: int = 0
    banks: Mapping[int, bytes] = field(default_factory=dict)
    relocations: tuple[SassRelocation, ...] = ()
    targets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    externs: tuple[str, ...] = ()

    def code(self) -> bytes:
        """The bundles: control word and three instructions, little-endian."""
        out = bytearray()
        for n in range(0, len(self.words), 3):
            control = pack(*self.groups[n : n + 3])
            out += struct.pack("<4Q", control, *self.words[n : n + 3])
        return bytes(out)

    def toml(self, arch: str) -> str:
        """A launch table for the raw words."""
        sizes = ", ".join(str(p.size) for p in self.params)
        return "\n".join(
            (
                f'kernel = "{self.name}"',
                "grid = 1",
                "block = 32",
                "",
                "[sm]",
                f'arch = "{arch}"',
                "",
                "[raw]",
                f"num_regs = {self.registers}",
                f"num_barriers = {self.barriers}",
                f"params = [{sizes}]",
                f"shared_bytes = {self.shared}",
                f"local_bytes = {self.local}",
                "",
            )
        )


@dataclass(frozen=True, slots=True)
class SassProgram:
    """An assembled file: architecture, functions, and the module's data sections."""

    arch: str
    functions: tuple[SassFunction, ...]
    sections: tuple[SassSection, ...] = ()

    def function(self, name: str | None = None) -> SassFunction:
        """A function by name, or the only one.

        Raises:
            UsageError: no such function, or several and no name.
        """
        if name is None and len(self.functions) == 1:
            return self.functions[0]
        names = ", ".join(f.name for f in self.functions)
        for f in self.functions:
            if f.name == name:
                return f
        if name is None:
            raise UsageError("the file has several functions", f"--kernel with one of: {names}")
        raise UsageError(f"no function {name!r}", f"known: {names}")

    def cubin(self) -> bytes:
        """The program as an ELF file."""
        from gpudbg.assembler.elfwriter import write_cubin

        return write_cubin(self)


def constant_of(param: SassParam) -> int:
    """Byte offset of a parameter in constant bank 0."""
    return PARAM_BASE + param.offset
