"""ELF64 read with every size checked before it is used: sections, symbols, relocations.

pyelftools does the reading; this module fences it.  It raises many kinds of exception on
damaged files and trusts sizes, so sizes are checked against the file first and whatever is
still raised becomes one `LoadError`.  Symbols are unpacked here because pyelftools drops bit 4
of st_other, which is how a cubin marks its entry points.

Source: System V gABI, chapters 4 and 5.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_E_MACHINE, ENUM_SH_TYPE_BASE

from gpudbg.dataclass import dataclass
from gpudbg.errors import GpudbgError, LoadError
from gpudbg.formats.program import Relocation, Section, Symbol

ELF_MAGIC = b"\x7fELF"
EM_CUDA = 190
MACHINE_AT = 0x12
"""Offset of e_machine."""
SHT_NULL, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOBITS, SHT_REL = 0, 2, 3, 4, 8, 9
STO_CUDA_ENTRY = 0x10
STO_CUDA_MANAGED = 0x4
NO_BYTES = (SHT_NULL, SHT_NOBITS, 0x70000007, 0x70000009, 0x7000000A)
"""Types without bytes in the file; the last are .nv.global, local and shared of -rdc objects."""

_HEADER_BYTES = 64
_SECTION_BYTES = 64
_SYMBOL = struct.Struct("<IBBHQQ")
_REL = struct.Struct("<QQ")
_RELA = struct.Struct("<QQq")
_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_KINDS = {
    0: "notype",
    1: "object",
    2: "func",
    3: "section",
    4: "file",
    10: "texture",
    11: "sampler",
    12: "surface",
    13: "object",
}
_MAX_NAME = 1 << 16
_NAMES_OVERLAP = 16
"""How often names may share the bytes of their string table, in all."""


@dataclass(frozen=True, slots=True)
class Elf:
    """A checked ELF64 file.

    Attributes:
        path: for messages.
        machine: e_machine.
        type: e_type.
        flags: e_flags.
        version: e_version.
        abi: EI_OSABI.
        sections: by index.
        symbols: rows of .symtab; empty without one.
        relocations: those of sections that are loaded (SHF_ALLOC).
        debug_relocations: those of all other sections, by section name.
    """

    path: str
    machine: int
    type: int
    flags: int
    version: int
    abi: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]
    debug_relocations: dict[str, tuple[Relocation, ...]]


@contextmanager
def as_load_error(path: str, what: str, offset: int | None = None) -> Iterator[None]:
    """Turn whatever a reader of damaged bytes raises into a `LoadError`.

    Args:
        path: the file, for the message.
        what: what was being read.
        offset: where that begins in the file.

    Raises:
        LoadError: in place of any other exception but memory exhaustion.
    """
    try:
        yield
    except (GpudbgError, MemoryError):
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise LoadError(f"damaged {what}: {reason}", path=path, offset=offset) from error


def machine_name(machine: int) -> str:
    """The usual name of an e_machine number: "x86_64", "aarch64", or "machine 1234"."""
    for name, number in ENUM_E_MACHINE.items():
        if number == machine and name.startswith("EM_"):
            return str(name)[3:].lower()
    return f"machine {machine}"


def read_elf(data: bytes, path: str, *, tables: bool = True) -> Elf:
    """Read a little-endian ELF64 file.

    Args:
        data: the file.
        path: its name, for messages.
        tables: whether to read symbols and relocations, too.

    Returns:
        The file with copies of its sections' bytes.

    Raises:
        LoadError: not such a file, truncated, or damaged.
    """
    _check_ident(data, path)
    with as_load_error(path, "ELF file"):
        elf = ELFFile(io.BytesIO(data))
        header = elf.header
        _check_section_table(data, path, header)
        sections = tuple(_read_sections(elf, data, path))
        symbols = tuple(_read_symbols(sections, path)) if tables else ()
        loaded: list[Relocation] = []
        debug: dict[str, list[Relocation]] = {}
        if tables:
            for target, rows in _read_relocations(sections, len(symbols), path):
                if target.flags & 2:
                    loaded.extend(rows)
                else:
                    debug.setdefault(target.name, []).extend(rows)
        return Elf(
            path=path,
            machine=struct.unpack_from("<H", data, 18)[0],
            type=struct.unpack_from("<H", data, 16)[0],
            flags=int(header["e_flags"]),
            version=struct.unpack_from("<I", data, 20)[0],
            abi=data[7],
            sections=sections,
            symbols=symbols,
            relocations=tuple(loaded),
            debug_relocations={name: tuple(rows) for name, rows in debug.items()},
        )


def _check_ident(data: bytes, path: str) -> None:
    """Check the identification bytes and that the header is whole."""
    if data[:4] != ELF_MAGIC:
        raise LoadError(f"no ELF magic (starts with {data[:4].hex(' ') or 'nothing'})", path=path)
    if len(data) < _HEADER_BYTES:
        raise LoadError(
            f"truncated: an ELF header has {_HEADER_BYTES} bytes, the file {len(data)}",
            path=path,
            offset=len(data),
        )
    if data[4] != 2:
        kind = "a 32-bit ELF file" if data[4] == 1 else f"ELF class {data[4]}"
        raise LoadError(f"{kind}; only 64-bit cubins can be loaded", path=path, offset=4)
    if data[5] != 1:
        raise LoadError("not a little-endian ELF file", path=path, offset=5)


def _check_section_table(data: bytes, path: str, header: Any) -> None:
    """Check that the section table lies in the file, before anything walks it."""
    shoff, shentsize, shnum = (header[k] for k in ("e_shoff", "e_shentsize", "e_shnum"))
    if shnum == 0 or shoff == 0:
        raise LoadError("has no section table", path=path, offset=0x28)
    if shentsize != _SECTION_BYTES:
        raise LoadError(f"section headers of {shentsize} bytes, not 64", path=path, offset=0x3A)
    if shoff + shnum * shentsize > len(data):
        raise LoadError(
            f"truncated: {shnum} section headers at 0x{shoff:x} reach past the end "
            f"of the file (0x{len(data):x} bytes)",
            path=path,
            offset=min(shoff, len(data)),
        )
    _check_segment_table(data, path, header)
    if header["e_shstrndx"] >= shnum:
        raise LoadError("section name table index out of range", path=path, offset=0x3E)


def _check_segment_table(data: bytes, path: str, header: Any) -> None:
    """Check that the program headers lie in the file; a cubin ends with them."""
    start, count, size = (header[k] for k in ("e_phoff", "e_phnum", "e_phentsize"))
    if count and start + count * size > len(data):
        raise LoadError(
            f"truncated: {count} program headers at 0x{start:x} reach past the end "
            f"of the file (0x{len(data):x} bytes)",
            path=path,
            offset=min(start, len(data)),
        )


def _read_sections(elf: ELFFile, data: bytes, path: str) -> Iterator[Section]:
    """All sections with their bytes; their sizes must add up to no more than the file holds."""
    total = 0
    names = Strings(_section_names(elf, data), path)
    for index in range(elf.num_sections()):
        header = elf._get_section_header(index)
        where = int(elf["e_shoff"]) + index * _SECTION_BYTES
        name = _section_name(names, int(header["sh_name"]), path, where)
        kind = ENUM_SH_TYPE_BASE.get(header["sh_type"], header["sh_type"])
        offset, size = int(header["sh_offset"]), int(header["sh_size"])
        body = b""
        if kind not in NO_BYTES:
            total += size
            if offset + size > len(data):
                raise LoadError(
                    f"truncated: section {name or index} at 0x{offset:x} needs 0x{size:x} bytes, "
                    f"the file ends at 0x{len(data):x}",
                    path=path,
                    offset=where,
                )
            if total > 2 * len(data):
                raise LoadError("sections overlap one another", path=path, offset=where)
            body = data[offset : offset + size]
        yield Section(
            name=name,
            index=index,
            type=kind if isinstance(kind, int) else 0,
            flags=int(header["sh_flags"]),
            link=int(header["sh_link"]),
            info=int(header["sh_info"]),
            offset=offset,
            size=size,
            align=int(header["sh_addralign"]),
            data=body,
        )


def _section_names(elf: ELFFile, data: bytes) -> bytes:
    """The string table of section names."""
    header = elf._get_section_header(elf["e_shstrndx"])
    start = int(header["sh_offset"])
    return data[start : start + int(header["sh_size"])]


def _section_name(names: Strings, offset: int, path: str, where: int) -> str:
    """A section's name; it must be text."""
    if offset and offset >= len(names.data):
        raise LoadError("section name cannot be read", path=path, offset=where)
    name = names.at(offset, where)
    if len(name) >= _MAX_NAME:
        raise LoadError("section name without end", path=path, offset=where)
    return name


class Strings:
    """A string table: each name is read once; names that overlap over and over are refused.

    Offsets one after another into one long string would otherwise ask for the square of its
    length.
    """

    def __init__(self, data: bytes, path: str) -> None:
        self.data = data
        self._path = path
        self._known: dict[int, str] = {}
        self._left = _NAMES_OVERLAP * len(data) + _MAX_NAME

    def at(self, offset: int, where: int) -> str:
        """The zero-terminated string at `offset`; damaged bytes are shown escaped.

        Raises:
            LoadError: more text than the table holds many times over; `where` is the row's offset.
        """
        found = self._known.get(offset)
        if found is None:
            end = self.data.find(b"\0", offset, offset + _MAX_NAME)
            raw = self.data[offset : end if end >= 0 else offset + _MAX_NAME]
            self._left -= len(raw)
            if self._left < 0:
                raise LoadError("names overlap one another", path=self._path, offset=where)
            found = self._known[offset] = raw.decode("utf-8", "backslashreplace")
        return found


def _read_symbols(sections: tuple[Section, ...], path: str) -> Iterator[Symbol]:
    """Rows of the first symbol table."""
    table = next((s for s in sections if s.type == SHT_SYMTAB), None)
    if table is None:
        return
    if table.link >= len(sections) or sections[table.link].type != SHT_STRTAB:
        raise LoadError("symbol table without a string table", path=path, offset=table.offset)
    strings = Strings(sections[table.link].data, path)
    usable = len(table.data) // _SYMBOL.size * _SYMBOL.size
    for index, row in enumerate(_SYMBOL.iter_unpack(table.data[:usable])):
        name, info, other, shndx, value, size = row
        where = table.offset + index * _SYMBOL.size
        if name > len(strings.data):
            raise LoadError(
                f"symbol {index} names string 0x{name:x} outside the string table",
                path=path,
                offset=where,
            )
        inside = 0 < shndx < len(sections)
        yield Symbol(
            name=strings.at(name, where),
            kind=_KINDS.get(info & 15, "other"),
            binding=_BINDINGS.get(info >> 4, "local"),
            section=sections[shndx].name if inside else "",
            value=value,
            size=size,
            is_entry=bool(other & STO_CUDA_ENTRY),
            index=index,
            is_managed=bool(other & STO_CUDA_MANAGED),
        )


def _read_relocations(
    sections: tuple[Section, ...], num_symbols: int, path: str
) -> Iterator[tuple[Section, list[Relocation]]]:
    """Each relocated section with its relocations."""
    for table in sections:
        if table.type not in (SHT_REL, SHT_RELA):
            continue
        if not 0 < table.info < len(sections):
            raise LoadError(
                f"{table.name} relocates section {table.info}, which does not exist",
                path=path,
                offset=table.offset,
            )
        target = sections[table.info]
        layout = _REL if table.type == SHT_REL else _RELA
        usable = len(table.data) // layout.size * layout.size
        rows = []
        for index, row in enumerate(layout.iter_unpack(table.data[:usable])):
            where = table.offset + index * layout.size
            symbol = row[1] >> 32
            if symbol >= max(num_symbols, 1):
                raise LoadError(
                    f"relocation of {target.name}+0x{row[0]:x} names symbol {symbol}, "
                    "which does not exist",
                    path=path,
                    offset=where,
                )
            rows.append(
                Relocation(
                    section=target.name,
                    offset=row[0],
                    type=row[1] & 0xFFFFFFFF,
                    symbol=symbol,
                    addend=row[2] if len(row) > 2 else None,
                    file_offset=where,
                )
            )
        yield target, rows
