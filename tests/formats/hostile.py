"""Files that make a careless reader work for minutes: a few megabytes each, made here.

Each function gives a file's bytes; `tests/formats/test_bounds.py` runs commands on them under a
limit of processor time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

NOP = 0x50B0000000070F00
EXIT = 0xE30000000007000F
CODE = struct.pack("<4Q", 0x001F8000FC0007E0, EXIT, NOP, NOP)
"""One bundle: EXIT and padding."""

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS, SHT_REL = 1, 2, 3, 8, 9
ALLOC, EXEC = 2, 4
FUNC, OBJECT = 2, 1
ENTRY = 0x10


@dataclass
class Cubin:
    """A cubin in the making: sections in order, symbols, and their names."""

    sections: list[tuple[str, int, int, int, int, bytes, int]] = field(default_factory=list)
    symbols: list[bytes] = field(default_factory=lambda: [bytes(24)])
    strings: bytearray = field(default_factory=lambda: bytearray(b"\0"))

    def section(
        self,
        name: str,
        data: bytes = b"",
        kind: int = SHT_PROGBITS,
        flags: int = ALLOC,
        info: int = 0,
        size: int | None = None,
        link: int = 0,
    ) -> int:
        """Add a section; its index."""
        size = len(data) if size is None else size
        self.sections.append((name, kind, flags, link, info, data, size))
        return len(self.sections) + 3  # after the null, string and symbol sections

    def symbol(
        self, name: str, kind: int, section: int, value: int = 0, size: int = 0, entry: bool = False
    ) -> int:
        """Add a global symbol; its row."""
        where = len(self.strings)
        self.strings += name.encode() + b"\0"
        other = ENTRY if entry else 0
        self.symbols.append(struct.pack("<IBBHQQ", where, 0x10 | kind, other, section, value, size))
        return len(self.symbols) - 1

    def kernel(self, name: str, code: bytes = CODE) -> int:
        """Add a kernel with a section of its own; the section's index."""
        text = self.section(f".text.{name}", code, flags=ALLOC | EXEC, info=8 << 24)
        self.symbol(name, FUNC, text, 0, len(code), entry=True)
        return text

    def bytes(self) -> bytes:
        """The file."""
        names = bytearray(b"\0")
        rows = [
            (".shstrtab", SHT_STRTAB, 0, 0, 0, b"", None),
            (".strtab", SHT_STRTAB, 0, 0, 0, bytes(self.strings), None),
            (".symtab", SHT_SYMTAB, 0, 2, 1, b"".join(self.symbols), None),
            *self.sections,
        ]
        starts = {}
        for name, *_ in rows:
            if name not in starts:
                starts[name] = len(names)
                names += name.encode() + b"\0"
        body, table = bytearray(bytes(64)), bytearray(bytes(64))
        for name, kind, flags, link, info, data, size in rows:
            data = bytes(names) if name == ".shstrtab" else data
            count = len(data) if size is None else size
            entry = {SHT_SYMTAB: 24, SHT_REL: 16}.get(kind, 0)
            table += struct.pack(
                "<IIQQQQIIQQ",
                starts[name], kind, flags, 0, len(body), count, link, info, 1, entry,
            )  # fmt: skip
            body += data
        head = struct.pack(
            "<16sHHIQQQIHHHHHH",
            b"\x7fELF\x02\x01\x01\x33\x07" + bytes(7),
            2, 190, 1, 0, 0, len(body), 0x320532, 64, 0, 0, 64, len(rows) + 1, 1,
        )  # fmt: skip
        body[:64] = head
        return bytes(body + table)


def tiny() -> bytes:
    """Nothing wrong with it: one kernel that ends."""
    made = Cubin()
    made.kernel("k")
    return made.bytes()


def empty_containers(count: int = 1 << 18) -> bytes:
    """A fat binary of containers without entries."""
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, 0) * count


def empty_entries(count: int = 1 << 17) -> bytes:
    """A container of entries without payloads."""
    entry = struct.pack("<HHIQIIHHIIIQQQ", 2, 1, 64, 0, 0, 0, 0, 0, 50, 0, 0, 0, 0, 0)
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, len(entry) * count) + entry * count


def padding(count: int = 64 << 20) -> bytes:
    """A fat binary with nothing but padding behind its container."""
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, 0) + bytes(count)


def _compressed(stored: bytes, size: int) -> bytes:
    stored += bytes(-len(stored) % 8)
    entry = struct.pack(
        "<HHIQIIHHIIIQQQ",
        2, 1, 64, len(stored), len(stored), 0, 0, 0, 50, 0, 0, 0x2000, 0, size,
    )  # fmt: skip
    body = entry + stored
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, len(body)) + body


def far_matches(count: int = 1 << 20) -> bytes:
    """LZ4: a window of 64 KiB, then short matches from its far end."""
    literals = bytes(range(256)) * 256
    start = b"\xf0" + b"\xff" * ((len(literals) - 15) // 255)
    start += bytes([(len(literals) - 15) % 255]) + literals
    stored = start + b"\xff\xff" + b"\x00\xff\xff" * count
    return _compressed(stored, len(literals) + 4 * count + 8)


def bomb(count: int = 4 << 20) -> bytes:
    """LZ4: one byte, repeated as often as lengths of 255 can say."""
    stored = b"\x1fA\x01\x00" + b"\xff" * count + b"\x00"
    return _compressed(stored, 1 + 19 + 255 * count)


def many_relocations(count: int = 1 << 16, bytes_: int = 4 << 20) -> bytes:
    """Relocations of one large section."""
    made = Cubin()
    made.kernel("k")
    section = made.section(".nv.constant3", bytes(bytes_))
    row = made.symbol("v", OBJECT, section, 0, 8)
    rel = struct.pack("<QQ", 0, row << 32 | 1) * count
    made.section(".rel.nv.constant3", rel, SHT_REL, 0, info=section)
    return made.bytes()


def bound_images(count: int = 3000) -> bytes:
    """As many image words in a bank of the module as there are kernels that see them."""
    made = Cubin()
    for number in range(count):
        made.kernel(f"k{number}")
    section = made.section(".nv.constant2", bytes(4 * count))
    row = made.symbol("picture", 10, 0)
    rels = b"".join(struct.pack("<QQ", 4 * i, row << 32 | 6) for i in range(count))
    made.section(".rel.nv.constant2", rels, SHT_REL, 0, info=section)
    return made.bytes()


def huge_global(size: int = 64 << 30) -> bytes:
    """A variable larger than the memory of any GPU."""
    made = Cubin()
    made.kernel("k")
    section = made.section(".nv.global", b"", SHT_NOBITS, ALLOC | 1, size=size)
    made.symbol("big", OBJECT, section, 0, size)
    return made.bytes()


def sections_times_kernels(sections: int = 30_000, kernels: int = 20_000) -> bytes:
    """Kernels that share one code section, among many constant sections."""
    made = Cubin()
    text = made.kernel("k")
    for number in range(kernels):
        made.symbol(f"e{number}", FUNC, text, 0, 8, entry=True)
    for number in range(sections):
        made.section(f".nv.constant2.x{number}", b"\0\0\0\0")
    return made.bytes()


def names_without_end(count: int = 1 << 17) -> bytes:
    """Symbols whose names are the ends of one long string."""
    made = Cubin()
    made.kernel("k")
    start = len(made.strings)
    made.strings += b"a" * (1 << 20)
    made.symbols += [struct.pack("<IBBHQQ", start + i, 0x11, 0, 1, 0, 0) for i in range(count)]
    return made.bytes()


def branch_records(count: int = 1 << 17) -> bytes:
    """Records of branch targets, one branch each."""
    made = Cubin()
    made.kernel("k")
    record = struct.pack("<BBHIII", 4, 0x34, 12, 8, 0, 0)
    made.section(".nv.info.k", record * count, 0x70000000, 0)
    return made.bytes()


def _lines(program: bytes, files: Iterable[bytes] = (b"k.cu",)) -> bytes:
    """A cubin with one unit of a line table."""
    head = bytes([8, 1, 0xFB, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1]) + b"\0"
    head += b"".join(name + b"\0\0\0\0" for name in files) + b"\0"
    unit = struct.pack("<HI", 2, len(head)) + head + program
    made = Cubin()
    text = made.kernel("k", CODE * 4096)
    section = made.section(".debug_line", struct.pack("<I", len(unit)) + unit, flags=0)
    rel = struct.pack("<QQ", 4 + len(unit) - len(program) + 3, 1 << 32 | 2)
    made.section(".rel.debug_line", rel, SHT_REL, 0, info=section)
    assert text
    return made.bytes()


def lines_of_file(name: bytes) -> bytes:
    """A line table whose rows are lines of one file."""
    return _lines(b"\0\x09\x02" + bytes(8) + b"\x12" * 3 + b"\0\x01\x01", (name,))


def many_rows(count: int = 2_000_000) -> bytes:
    """A line table of one-byte rows."""
    return _lines(b"\0\x09\x02" + bytes(8) + b"\x12" * count + b"\0\x01\x01")


def many_files(count: int = 1 << 17) -> bytes:
    """A line table that names a file for every row."""
    rows = b"\0\x09\x02" + bytes(8) + b"\x12\0\x01\x01"
    return _lines(rows, (b"%x" % i for i in range(count)))


FILES: dict[str, Callable[[], bytes]] = {
    f.__name__: f
    for f in (
        empty_containers, empty_entries, padding, far_matches, bomb, many_relocations,
        bound_images, huge_global, sections_times_kernels, names_without_end, branch_records,
        many_rows, many_files,
    )
}  # fmt: skip
