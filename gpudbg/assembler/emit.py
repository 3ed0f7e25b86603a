"""Directives for an existing program: what a listing lacks to be assembled to the same cubin.

    .kernel saxpy            before the function's instructions: name, registers, parameters, ...
    .section .nv.constant3   before everything: the module's constant and global data

With these alone a file is laid out anew; `frame` has what it takes for the identical one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudbg.formats.program import Kernel, Program, Relocation, Section

BYTES_PER_LINE = 16
DATA = (".nv.constant", ".nv.global")
TEXT = ".text."


def module_directives(program: Program) -> Iterator[str]:
    """Directives for the whole module: architecture and data sections."""
    yield f".arch {program.arch}"
    functions = {s.removeprefix(TEXT) for s in program.code_sections}
    for section in program.sections.values():
        owner = section.name.split(".", 3)[3] if section.name.count(".") > 2 else ""
        if section.name.startswith(DATA) and owner not in functions and section.size:
            yield f".section {section.name}"
            yield from _contents(program, section)
    yield ".text"


def function_directives(program: Program, name: str) -> Iterator[str]:
    """Directives for one function, by its section's name without ".text."."""
    kernel = program.kernels.get(name)
    yield f".kernel {name}" if kernel is not None else f".func {name}"
    section = program.sections[TEXT + name]
    registers = kernel.num_regs if kernel is not None else section.info >> 24
    if registers:
        yield f".registers {registers}"
    if kernel is not None:
        yield from _kernel(program, kernel)
    for row in program.relocations:
        if row.section == section.name:
            addend = "" if row.addend is None else f", {row.addend}"
            yield f".reloc {row.offset:#x}, {row.type}, {_symbol(program, row)}{addend}"


def frame_directives(program: Program) -> Iterator[str]:
    """Directives for the rest of the file, with which it assembles to the same bytes."""
    from gpudbg.assembler import frame

    if program.data:
        yield from frame.frame_directives(program.data)


def _kernel(program: Program, kernel: Kernel) -> Iterator[str]:
    yield f".barriers {kernel.num_barriers}"
    if kernel.shared_static_bytes:
        yield f".shared {kernel.shared_static_bytes}"
    if kernel.local_bytes:
        yield f".local {kernel.local_bytes}"
    if kernel.crs_stack_bytes:
        yield f".crs {kernel.crs_stack_bytes}"
    for name in kernel.externs:
        yield f".extern {name}"
    for p in kernel.params:
        yield f".param {p.size}@{p.offset}"
    for branch in kernel.indirect_branches:
        if branch.targets:
            places = ", ".join(f"{t:#x}" for t in branch.targets)
            yield f".targets {branch.offset:#x}, {places}"
    for bank in range(1, 18):
        own = program.sections.get(f".nv.constant{bank}.{kernel.name}")
        if own is not None and own.size:
            yield f".const {bank}"
            yield from _contents(program, own)
            yield ".text"


def _contents(program: Program, section: Section) -> Iterator[str]:
    """Labels and data lines of a section."""
    labels: dict[int, list[str]] = {}
    for symbol in program.symbols:
        if symbol.section == section.name and symbol.kind == "object":
            labels.setdefault(symbol.value, []).append(symbol.name)
    addresses = {r.offset: r for r in program.relocations if r.section == section.name}
    stops = sorted({*labels, *addresses, *(a + 8 for a in addresses), section.size})
    at = 0
    while at < section.size:
        for label in labels.get(at, ()):
            yield f"{label}:"
        end = next(s for s in stops if s > at)
        if at in addresses:
            yield _address(program, section, addresses[at])
            end = at + (8 if addresses[at].type == 2 else 4)
        elif section.data[at:end].strip(b"\0"):
            end = min(end, at + BYTES_PER_LINE)
            yield ".byte " + ", ".join(f"{b:#04x}" for b in section.data[at:end])
        else:
            yield f".zero {end - at}"
        at = end


def _address(program: Program, section: Section, row: Relocation) -> str:
    wide = row.type == 2
    field = section.data[row.offset : row.offset + (8 if wide else 4)]
    addend = int.from_bytes(field, "little") if row.addend is None else row.addend
    tail = f" + {addend:#x}" if addend else ""
    return f".{'dword' if wide else 'word'} {_symbol(program, row)}{tail}"


def _symbol(program: Program, row: Relocation) -> str:
    """The name of a relocation's symbol, `-` for none."""
    return program.symbols[row.symbol].name or "-"
