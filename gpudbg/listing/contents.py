"""What a program contains: kernels, functions, variables, lines, as records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import PurePath
from typing import Any

from gpudbg.answers import LIST, ROWS, Card, Table, column, computed, lines_of, typed_row
from gpudbg.code_layout import layout_of
from gpudbg.errors import UsageError
from gpudbg.formats.files import held_images
from gpudbg.formats.lines import LineTable, read_lines
from gpudbg.formats.program import Kernel, Program
from gpudbg.launch import kernel_name, template
from gpudbg.loading.programs import SASS_SUFFIX, open_programs
from gpudbg.symbols import known_names
from gpudbg.toolchain import CompileOptions, is_source, parameters


def contents_answer(
    path: str, arch: str | None, options: CompileOptions, kernel: str | None = None
) -> Card:
    """What a file contains, or what it has of one kernel.

    Raises:
        LoadError: the file cannot be read.
        UsageError: it has no such kernel.
    """
    programs = open_programs(path, arch, options)
    made = is_source(path) or path.lower().endswith(SASS_SUFFIX)
    if kernel is None:
        found, known = _whole(programs)
    else:
        program, name = _with_kernel(path, programs, kernel)
        found, known = ProgramContents.of(program, name), {name: program}
    if not made:
        found = replace(found, holds=_holds(path))
    return Card(found, lambda contents: _lines(contents, known))


def launch_template(
    path: str, arch: str | None, options: CompileOptions, kernel: str | None
) -> list[str]:
    """The lines of a launch table to start from; errors as `contents_answer`."""
    program, name = _with_kernel(path, open_programs(path, arch, options), kernel)
    return list(template(program, program.kernels[name]))


# ---- records ---------------------------------------------------------------------------
@typed_row
class ParameterPlace:
    """Where a parameter lies."""

    ordinal: int = column()
    offset: int = column()
    size: int = column(key="bytes")


@typed_row
class KernelContents:
    """A kernel of a program."""

    name: str = column("Kernel")
    code_bytes: int = column()
    instructions: int = column("Insns")
    registers: int = column("Regs")
    barriers: int = column("Bars")
    parameters: tuple[ParameterPlace, ...] = column(show=ROWS)
    parameter_bytes: int = column()
    shared_static_bytes: int = column("Shared")
    local_bytes: int = column()
    stack_unknown: bool = column()
    local = computed("Local", lambda k: "?" if k.stack_unknown else k.local_bytes)
    constant_banks: dict[str, int] = column()
    constants = computed(
        "Constants", lambda k: " ".join(f"c[{b}]:{n}" for b, n in k.constant_banks.items())
    )
    max_threads: tuple[int, ...] | None = column(show=LIST)
    source_files: tuple[str, ...] = column(show=LIST)
    lines: tuple[int, int] | None = column(show=LIST)
    span = computed("Lines", lambda k: _span(k))

    @classmethod
    def of(cls, k: Kernel, program: Program, lines: LineTable) -> KernelContents:
        """The row of a kernel."""
        rows = [r for r in lines.rows if r.section == k.section]
        numbers = sorted({r.line for r in rows})
        return cls(
            name=k.name,
            code_bytes=len(k.code),
            instructions=layout_of(program.arch).count(len(k.code)),
            registers=k.num_regs,
            barriers=k.num_barriers,
            parameters=tuple(ParameterPlace(p.ordinal, p.offset, p.size) for p in k.params),
            parameter_bytes=k.param_bytes,
            shared_static_bytes=k.shared_static_bytes,
            local_bytes=k.local_bytes,
            stack_unknown=k.min_stack_bytes is None,
            constant_banks={str(b): n for b, n in sorted(k.bank_sizes.items())},
            max_threads=tuple(k.max_threads) if k.max_threads else None,
            source_files=tuple(sorted({PurePath(lines.files[r.file]).name for r in rows})),
            lines=(numbers[0], numbers[-1]) if numbers else None,
        )


def _span(k: KernelContents) -> str:
    if not k.lines:
        return "-"
    return f"{'/'.join(k.source_files)}:{k.lines[0]}-{k.lines[1]}"


@typed_row
class DeviceFunction:
    """A function that is no kernel."""

    name: str = column()
    label: str = column()
    section: str = column()
    offset: int = column()
    size: int = column()

    def __str__(self) -> str:
        return f"  {self.label}  {self.section}+0x{self.offset:x}, {self.size} bytes"


@typed_row
class DeviceVariable:
    """A variable of a program."""

    name: str = column()
    space: str = column()
    size: int = column(key="bytes")

    def __str__(self) -> str:
        return f"  {self.name}  {self.space}, {self.size} bytes"


@typed_row
class SharedVariable:
    """A variable in a kernel's shared memory."""

    name: str = column()
    kernel: str = column()
    offset: int = column()
    size: int = column(key="bytes")

    def __str__(self) -> str:
        return f"  {self.name}  offset 0x{self.offset:x}, {self.size} bytes"


@typed_row
class HeldImage:
    """Code in a fat binary or host file: its kind, the architecture it is for."""

    kind: str = column()
    arch: str = column()

    def __str__(self) -> str:
        return f"{self.kind} for {self.arch}"


@typed_row
class ProgramContents:
    """What a program contains; of a file with several programs, what they contain together."""

    path: str = column()
    arch: str = column()
    toolkit: str = column()
    debug: bool = column()
    kernels: tuple[KernelContents, ...] = column(show=ROWS)
    functions: tuple[DeviceFunction, ...] = column(show=ROWS)
    variables: tuple[DeviceVariable, ...] = column(show=ROWS)
    shared_variables: tuple[SharedVariable, ...] = column(show=ROWS)
    externs: tuple[str, ...] = column(show=LIST)
    images: dict[str, str] = column()
    source_files: tuple[str, ...] = column(show=LIST)
    holds: tuple[HeldImage, ...] = column(show=ROWS, default=())

    @classmethod
    def of(cls, program: Program, only: str | None = None) -> ProgramContents:
        """The record of a program, with all its kernels or one."""
        lines = read_lines(program)
        kernels = [k for k in program.kernels.values() if only in (None, k.name)]
        return cls(
            path=program.path,
            arch=program.arch,
            toolkit=program.toolkit,
            debug=program.debug,
            kernels=tuple(KernelContents.of(k, program, lines) for k in kernels),
            functions=tuple(
                DeviceFunction(f.name, f.label, f.section, f.offset, f.size)
                for f in program.functions.values()
                if not f.is_kernel
            ),
            variables=tuple(
                DeviceVariable(g.name, g.space, g.size) for g in program.globals.values()
            ),
            shared_variables=tuple(
                SharedVariable(v.name, v.kernel, v.offset, v.size) for v in program.shared_vars
            ),
            externs=tuple(program.externs),
            images=dict(program.images),
            source_files=tuple(lines.files),
        )

    def joined(self, other: ProgramContents) -> ProgramContents:
        """This with what another program of the same file has beside it."""
        more: dict[str, Any] = {}
        for field in fields(self):
            mine, its = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, tuple):
                more[field.name] = (*mine, *(row for row in its if row not in mine))
            elif isinstance(mine, dict):
                more[field.name] = mine | its
        return replace(self, **more)


# ---- reading ---------------------------------------------------------------------------
def _whole(programs: Iterator[Program]) -> tuple[ProgramContents, dict[str, Program]]:
    """All programs of a file as one; their parameters where it has one program only."""
    first = next(programs)
    found, several = ProgramContents.of(first), False
    for program in programs:
        several = True
        found = found.joined(ProgramContents.of(program))
    return found, {} if several else dict.fromkeys(first.kernels, first)


def _with_kernel(path: str, programs: Iterator[Program], wanted: str | None) -> tuple[Program, str]:
    """The program of a file that has a kernel, and the kernel's name in it.

    Raises:
        UsageError: none has it; the error lists the nearest names.
    """
    names: list[str] = []
    for program in programs:
        names += program.kernels
        name = kernel_name(program, wanted) or next(iter(program.kernels), None)
        if name in program.kernels:
            assert name is not None
            return program, name
    if wanted is None:
        raise UsageError(f"{path} has no kernel")
    raise UsageError(f"{path} has no kernel {wanted!r}", known_names(wanted, names))


def _holds(path: str) -> tuple[HeldImage, ...]:
    """What a fat binary or host file holds, each kind and architecture once."""
    found = dict.fromkeys((i.kind, i.arch) for i in held_images(path))
    return tuple(HeldImage("cubin" if kind == "elf" else kind, arch) for kind, arch in found)


# ---- text ------------------------------------------------------------------------------
def _lines(found: ProgramContents, known: dict[str, Program]) -> list[str]:
    """The record for people; `known` are the programs of kernels whose parameters are shown."""
    made = f", CUDA {found.toolkit}" if found.toolkit else ""
    debug = ", debug build" if found.debug else ""
    out = [f"{found.path}: {found.arch}{made}{debug}"]
    if found.holds:
        out.append(f"holds {', '.join(map(str, found.holds))}; --arch picks")
    out += ["", *lines_of(Table(KernelContents, found.kernels))]
    for k in found.kernels:
        if k.parameters and k.name in known:
            out += ["", f"Parameters of {k.name}", *_parameters(known[k.name], k)]
    for title, rows in (
        ("Device functions", found.functions),
        ("Variables", found.variables),
        ("Shared variables", found.shared_variables),
        ("Bound textures and surfaces", [f"  {n}  {kind}" for n, kind in found.images.items()]),
    ):
        if rows:
            out += ["", title, *map(str, rows)]
    if found.externs:
        out += ["", "Undefined functions: " + ", ".join(found.externs)]
    return out


@typed_row
class ParameterLine:
    """A parameter of a kernel, as people see it."""

    name: str = column("  Name")
    type: str = column("Type")
    size: str = column("Size")
    place: str = column("Constant")


def _parameters(program: Program, found: KernelContents) -> list[str]:
    """A line a parameter: name and type where a source tells them, size, place."""
    kernel = program.kernels[found.name]
    named = parameters(program, kernel)
    rows = []
    for row, p in zip(found.parameters, named, strict=True):
        star = "*" if p.pointer and p.type else ""
        place = f"c[0x0][0x{kernel.param_base + row.offset:x}]"
        rows.append(ParameterLine(f"  {p.name}", f"{p.type}{star}", f"{p.size} bytes", place))
    return lines_of(Table(ParameterLine, tuple(rows)))
