"""Putting assembled code into an existing cubin: everything else in it stays.

Code of the same size is replaced in place.  Code of another size goes to the end of the file, and
the section header and the function's symbol follow; that needs a section without relocations and
with a single function in it, whose offsets nothing else refers to.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from gpudbg.errors import UsageError
from gpudbg.formats.cubin import architecture
from gpudbg.formats.elf import read_elf

if TYPE_CHECKING:
    from gpudbg.assembler.program import SassFunction, SassProgram
    from gpudbg.formats.elf import Elf
    from gpudbg.formats.program import Section

SECTION_TABLE = 0x28
"""File offset of the section table's offset."""
SECTION_BYTES, SYMBOL_BYTES = 64, 24
SH_OFFSET, SH_SIZE, SH_INFO = 24, 32, 44
ST_SIZE = 16
CODE_ALIGN = 32


def patch_cubin(data: bytes, program: SassProgram, path: str) -> bytes:
    """A cubin with the program's functions in place of its own of the same names.

    Args:
        data: the cubin.
        program: assembled code.
        path: the cubin's name, for messages.

    Raises:
        LoadError: it is no ELF file.
        UsageError: it lacks a function, is for another architecture, or code has to grow where
            it cannot.
    """
    elf = read_elf(data, path)
    if architecture(data, path) != program.arch:
        raise UsageError(f"{path} is not for {program.arch}", "give --arch or another --from")
    out = bytearray(data)
    for function in program.functions:
        section = next((s for s in elf.sections if s.name == f".text.{function.name}"), None)
        if section is None:
            raise UsageError(f"{path} has no function {function.name}")
        _put(out, elf, section, function, path)
    return bytes(out)


def _put(out: bytearray, elf: Elf, section: Section, function: SassFunction, path: str) -> None:
    code = function.code()
    table = struct.unpack_from("<Q", out, SECTION_TABLE)[0]
    header = table + SECTION_BYTES * section.index
    info = struct.unpack_from("<I", out, header + SH_INFO)[0]
    if info >> 24:
        registers = max(info >> 24, function.registers)
        struct.pack_into("<I", out, header + SH_INFO, registers << 24 | info & 0xFFFFFF)
    if len(code) == section.size:
        out[section.offset : section.offset + len(code)] = code
        return
    inside = [s for s in elf.symbols if s.section == section.name and s.kind == "func"]
    moved = any(r.section == section.name for r in elf.relocations)
    if len(inside) != 1 or moved:
        raise UsageError(
            f"{path}: {function.name} has {section.size} bytes of code, not {len(code)}, and "
            "relocations or inner functions that would have to move",
            "assemble code of the same size, or without --from",
        )
    out += bytes(-len(out) % CODE_ALIGN)
    struct.pack_into("<QQ", out, header + SH_OFFSET, len(out), len(code))
    out += code
    symbols = next(s for s in elf.sections if s.type == 2)
    row = elf.symbols.index(inside[0])
    struct.pack_into("<Q", out, symbols.offset + SYMBOL_BYTES * row + ST_SIZE, len(code))
