"""Fat binaries: the container that holds one program's cubins and PTX for several architectures.

A container is a 16-byte header (magic 0xba55ed50, version 1, header size, bytes that follow) and
entries, each with a header of at least 64 bytes and a payload padded to 8 bytes.  Executables
and objects carry containers one after another in `.nv_fatbin` (linked code) and
`__nv_relfatbin` (relocatable code).

The layout follows public readers of it and was checked against files that fatbinary 13.0 made
with every compression mode: flag 0x2000 is an LZ4 block, 0x8000 a Zstandard frame, 0x100000 an
architecture with an `a`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import field
from struct import Struct
from typing import NamedTuple

from gpudbg.dataclass import dataclass
from gpudbg.errors import LoadError
from gpudbg.formats.elf import MACHINE_AT, Elf, machine_name, read_elf

MAGIC = b"\x50\xed\x55\xba"
SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_PTX = 1
KINDS = {_PTX: "ptx", 2: "elf", 4: "elf-debug", 8: "nvvm", 16: "mercury"}
FLAG_WIDE, FLAG_DEBUG, FLAG_LZ4, FLAG_ZSTD, FLAG_SPECIAL = 0x1, 0x2, 0x2000, 0x8000, 0x100000
HOSTS = {0x10: "linux", 0x20: "mac", 0x40: "windows"}
"""Flags of the host's system."""
MAX_RATIO = 256
"""More than LZ4 can ever compress; a larger claim is a lie."""
MAX_UNPACKED = 1 << 30
"""Largest believable cubin: more bytes than any shipped library has in one."""
MAX_PARTS = 1 << 17
"""Most containers and entries in a file: many times what the largest shipped library has."""

_NOT_ZERO = re.compile(rb"[^\0]")


class _Header(NamedTuple):
    """A container's header; `_HEADER` is its layout."""

    magic: bytes
    version: int
    header_bytes: int
    bytes: int


class _Entry(NamedTuple):
    """An entry's header; `_ENTRY` is its layout."""

    kind: int
    version: int
    header_bytes: int
    payload_bytes: int
    compressed_bytes: int
    options_offset: int
    minor: int
    major: int
    arch: int
    name_offset: int
    name_bytes: int
    flags: int
    reserved: int
    plain_bytes: int


_HEADER = Struct("<4sHHQ")
_OPTIONS = Struct("<II")
"""Where an entry's options for ptxas stand, from its header on, and how long they are."""
_ENTRY = Struct("<HHIQIIHHIIIQQQ")


@dataclass(frozen=True, slots=True)
class FatbinImage:
    """One entry of a container.

    Attributes:
        kind: "elf" (a cubin), "ptx", or another kind that is not read here.
        arch: "sm_50", "sm_90a", ...
        compression: "", "lz4" or "zstd".
        debug: from a -G build.
        name: source identifier, or "".
        size: bytes when unpacked.
        path: the file.
        offset: where the entry's payload starts in the file.
        stored: the payload as it is stored.
        version: of the code: of the cubin's layout, or of PTX.
        flags: as they are stored.
        options: for ptxas; None where none are kept.
    """

    kind: str
    arch: str
    compression: str
    debug: bool
    name: str
    size: int
    path: str
    offset: int
    stored: bytes = field(repr=False)
    version: tuple[int, int] = (0, 0)
    flags: int = 0
    options: str | None = None

    def heading(self) -> list[str]:
        """What cuobjdump prints before an entry's listing."""
        host = next((name for flag, name in HOSTS.items() if self.flags & flag), "<unknown>")
        return [
            "",
            f"Fatbin {self.kind} code:",
            "=" * 16,
            f"arch = {self.arch}",
            f"code version = [{self.version[0]},{self.version[1]}]",
            f"host = {host}",
            f"compile_size = {64 if self.flags & FLAG_WIDE else 32}bit",
            *(["has debug info"] if self.debug else []),
            *(["compressed"] if self.compression else []),
            *([f"identifier = {self.name}"] if self.name else []),
            *([f"ptxasOptions = {self.options}"] if self.options is not None else []),
        ]

    def read(self) -> bytes:
        """The cubin or PTX text.

        Raises:
            LoadError: damaged, or compressed in a way that cannot be read here.
        """
        if not self.compression:
            return self.stored
        if self.size > min(MAX_RATIO * len(self.stored) + 64, MAX_UNPACKED):
            raise LoadError(
                f"{len(self.stored)} compressed bytes claim to hold {self.size}",
                path=self.path,
                offset=self.offset,
            )
        unpack = _lz4 if self.compression == "lz4" else _zstd
        try:
            data = unpack(self.stored, self.size)
        except ModuleNotFoundError as error:
            raise LoadError(
                "device code is Zstandard-compressed, which this Python cannot unpack",
                path=self.path,
                offset=self.offset,
                hint="install the package zstandard, or build with --compress-mode=speed",
            ) from error
        except Exception as error:
            raise LoadError(
                f"damaged {self.compression} data: {error}", path=self.path, offset=self.offset
            ) from error
        if len(data) != self.size:
            raise LoadError(
                f"unpacks to {len(data)} bytes, not {self.size}", path=self.path, offset=self.offset
            )
        return data


def read_images(data: bytes, path: str = "<bytes>") -> tuple[FatbinImage, ...]:
    """The entries of a fat binary, or of a host ELF file that embeds some.

    Args:
        data: the file.
        path: its name, for messages.

    Raises:
        LoadError: damaged, or a host file without device code.
    """
    if data.startswith(MAGIC):
        return tuple(_containers(data, path, 0, len(data)))
    elf = read_elf(data, path, tables=False)
    # A linked file keeps the objects that it was linked from, too; cuobjdump does not list them.
    held = (_sections_images(elf, data, path, name) for name in SECTIONS)
    found = next(filter(None, held), [])
    if not found:
        raise LoadError(
            f"an ELF file for {machine_name(elf.machine)} without device code",
            path=path,
            offset=MACHINE_AT,
        )
    return tuple(found)


def _sections_images(elf: Elf, data: bytes, path: str, name: str) -> list[FatbinImage]:
    """The entries in the sections of a name."""
    return [
        image
        for section in elf.sections
        if section.name == name
        for image in _containers(data, path, section.offset, section.offset + len(section.data))
    ]


def _containers(data: bytes, path: str, start: int, end: int) -> Iterator[FatbinImage]:
    """Images of the containers between two file offsets; zero padding may separate them."""
    at, parts = start, 0
    while True:
        found = _NOT_ZERO.search(data, at, end)
        if found is None:
            return
        at = found.start() - (found.start() - start) % 8
        header = _header(data, path, at, end)
        body, stop = at + header.header_bytes, at + header.header_bytes + header.bytes
        parts += 1
        while body < stop:
            image, body = _image(data, path, body, stop)
            parts += 1
            _believable(parts, path, body)
            yield image
        _believable(parts, path, at)
        at = stop


def _believable(parts: int, path: str, at: int) -> None:
    """Check how many containers and entries a file has.

    Raises:
        LoadError: more than any real one.
    """
    if parts > MAX_PARTS:
        raise LoadError(
            f"fat binary of more than {MAX_PARTS:,} containers and entries", path=path, offset=at
        )


def _header(data: bytes, path: str, at: int, end: int) -> _Header:
    """The container header at a file offset.

    Raises:
        LoadError: cut off, not such a header, or of a container that does not fit.
    """
    whole = at + _HEADER.size <= len(data)
    header = _Header(*_HEADER.unpack_from(data, at)) if whole else None
    if header is None or header.magic != MAGIC:
        raise LoadError("damaged or truncated fat binary header", path=path, offset=at)
    stop = at + header.header_bytes + header.bytes
    if header.version != 1 or header.header_bytes < _HEADER.size or stop > end:
        raise LoadError("damaged or truncated fat binary", path=path, offset=at)
    return header


def _image(data: bytes, path: str, at: int, stop: int) -> tuple[FatbinImage, int]:
    """The entry at a file offset, and where the next one starts."""
    if at + _ENTRY.size > len(data):
        raise LoadError("damaged or truncated fat binary entry", path=path, offset=at)
    entry = _Entry(*_ENTRY.unpack_from(data, at))
    start = at + entry.header_bytes
    end = start + entry.payload_bytes
    stored = entry.compressed_bytes or entry.payload_bytes
    if entry.header_bytes < _ENTRY.size or end > stop or stored > entry.payload_bytes:
        raise LoadError("damaged or truncated fat binary entry", path=path, offset=at)
    compression = {FLAG_LZ4: "lz4", FLAG_ZSTD: "zstd"}.get(entry.flags & (FLAG_LZ4 | FLAG_ZSTD), "")
    name = b""
    if entry.name_offset:
        name = data[at + entry.name_offset : start][: entry.name_bytes]
    image = FatbinImage(
        kind=KINDS.get(entry.kind, f"kind {entry.kind}"),
        arch=f"sm_{entry.arch}{'a' if entry.flags & FLAG_SPECIAL else ''}",
        compression=compression,
        debug=bool(entry.flags & FLAG_DEBUG),
        name=name.rstrip(b"\0").decode("utf-8", "backslashreplace"),
        size=entry.plain_bytes if compression else stored,
        path=path,
        offset=start,
        stored=data[start : start + stored],
        version=(entry.major, entry.minor),
        flags=entry.flags,
        options=_options(data[at:start], entry),
    )
    return image, end


def _options(head: bytes, entry: _Entry) -> str | None:
    """The options for ptxas that stand in an entry's header; None where none do."""
    if entry.kind != _PTX or not 0 < entry.options_offset <= len(head) - _OPTIONS.size:
        return None
    where, size = _OPTIONS.unpack_from(head, entry.options_offset)
    return head[where : where + size].rstrip(b"\0").decode("utf-8", "backslashreplace")


def _lz4(data: bytes, limit: int) -> bytes:
    """Unpack an LZ4 block of at most `limit` bytes.

    Raises:
        Exception: damaged data, as the module reports it.
    """
    import lz4.block

    return bytes(lz4.block.decompress(data, uncompressed_size=limit))


def _zstd(data: bytes, limit: int) -> bytes:
    """Unpack a Zstandard frame with whatever module this Python has for it.

    Raises:
        ModuleNotFoundError: no such module.
        Exception: damaged data, as the module reports it.
    """
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if name == "zstandard":
            return bytes(module.ZstdDecompressor().decompress(data, max_output_size=limit))
        return bytes(module.ZstdDecompressor().decompress(data, max_length=limit))
    raise ModuleNotFoundError("no Zstandard module")
