"""What assembling gives: functions with words, control groups and resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from gpudbg.assembler.family import family_of
from gpudbg.dataclass import dataclass
from gpudbg.errors import UsageError

if TYPE_CHECKING:
    from gpudbg.assembler.frame import FileFrame
    from gpudbg.formats.program import Program


@dataclass(frozen=True, slots=True)
class SassParam:
    """A kernel parameter: name ("" without one), offset from the first, size in bytes."""

    name: str
    offset: int
    size: int


NO_SYMBOL = ""
"""The symbol of a relocation that has none: the linker knows the place by its type."""


@dataclass(frozen=True, slots=True)
class SassRelocation:
    """A place that needs a symbol's address: offset, R_CUDA_* number, symbol's name, what is added.

    Without `addend` the place itself holds what is added.
    """

    offset: int
    type: int
    symbol: str
    addend: int | None = None


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
        arch: architecture whose words these are.
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
    arch: str
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
        """The code as it stands in memory, little-endian."""
        return family_of(self.arch).code(self.words, self.groups)

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


def _as_before(f: SassFunction, program: Program) -> bool:
    """Whether a function needs what a program's function of its name needs."""
    kernel = program.kernels.get(f.name)
    if kernel is None:
        return not f.is_kernel
    params = {(p.offset, p.size) for p in kernel.params}
    return (
        f.registers == kernel.num_regs
        and f.barriers == kernel.num_barriers
        and f.shared == kernel.shared_static_bytes
        and f.local == kernel.local_bytes
        and {(p.offset, p.size) for p in f.params} == params
    )


@dataclass(frozen=True, slots=True)
class SassProgram:
    """An assembled file: architecture, functions, the module's data sections, the file's frame."""

    arch: str
    functions: tuple[SassFunction, ...]
    sections: tuple[SassSection, ...] = ()
    frame: FileFrame | None = None

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

    @property
    def undefined(self) -> dict[str, dict[str, int]]:
        """Symbols of the file's frame that nothing in it defines: their rows."""
        return {} if self.frame is None else self.frame.undefined()

    def cubin(self) -> bytes:
        """The program as an ELF file: in its frame where it fits, else laid out anew."""
        from gpudbg.assembler.elfwriter import write_cubin

        return self._framed() or write_cubin(self)

    def _framed(self) -> bytes | None:
        """The file by its frame; None without one, or when code or resources have changed."""
        from gpudbg.formats.cubin import read_cubin

        code = {f.name: f.code() for f in self.functions}
        if self.frame is None or self.frame.code_sizes() != {n: len(c) for n, c in code.items()}:
            return None
        data = self.frame.build(code)
        before = read_cubin(data, "frame", bare=True, archs=(self.arch,))
        return data if all(_as_before(f, before) for f in self.functions) else None
