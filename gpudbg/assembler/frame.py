"""The rest of a cubin beside its code, as directives: so that a listing assembles to the same file.

    .elf abi=0x33 abiversion=7 type=2 machine=190 version=0x81 flags=0x500550 ...
    .part .shstrtab type=3 align=1               a section, in the order of the section table
    .strings "", ".shstrtab", ".strtab"          zero-terminated strings
    .symbol saxpy part=9 size=0x180 info=0x12    a row of the symbol table
    .hex 0a0b0c                                  other contents
    .segment 1, 5, 0x340, 0, 0, 0x1a0, 0x1a0, 8  a program header
    .patch 0x123, 0a0b                           bytes between sections

What is left out is zero, or follows from what stands before: a name's offset in its string table,
a section's offset behind the one before, the size of its contents.

Sections of code have no contents here: they are the listing's functions.  The frame is used as
long as functions, sizes of their code and their resources are those it was made with; else the
file is laid out anew from what the other directives say.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from gpudbg.dataclass import dataclass
from gpudbg.errors import LoadError
from gpudbg.formats.elf import NO_BYTES, SHT_NULL, SHT_STRTAB, SHT_SYMTAB
from gpudbg.formats.nvinfo import NAMES

TEXT = ".text."
PROGBITS = 1
HEADER_KEYS = tuple("abi abiversion type machine version entry segments parts flags names".split())
"""Fields of `.elf`; `segments` and `parts` are the offsets of the two tables."""
PART_KEYS = tuple("name type flags address offset size link info align entry".split())
"""Fields of `.part` as a section header has them."""
SYMBOL_KEYS = tuple("name info other part value size".split())
"""Fields of `.symbol` as a row of the table has them."""
SEGMENT_FIELDS = 8

_HEADER = struct.Struct("<4s5B7xHHIQQQIHHHHHH")
_PART = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NV_INFO = 0x70000000
_HEX_BYTES = 32
_LINE = 96
_MAX_BYTES = 1 << 28
_PLAIN = re.compile(r"[\w.$@+-]+$")
_QUOTABLE = re.compile(r"[ -~]*$")


def is_code(name: str, kind: int) -> bool:
    """Whether a section is a function's code."""
    return name.startswith(TEXT) and kind == PROGBITS


@dataclass(slots=True)
class FramePart:
    """A section: its name, its header's fields, its contents where they are no function's code.

    `symbols` are rows whose names are not looked up yet, each behind what `content` holds so far.
    """

    name: str
    fields: dict[str, int]
    content: bytearray = field(default_factory=bytearray)
    symbols: list[tuple[str, dict[str, int]]] = field(default_factory=list)


@dataclass(slots=True)
class FileFrame:
    """A file without its code.

    Attributes:
        header: fields of `.elf`.
        parts: sections in order.
        segments: program headers.
        patches: (offset, bytes) that stand in no section.
    """

    header: dict[str, int] = field(default_factory=dict)
    parts: list[FramePart] = field(default_factory=list)
    segments: list[tuple[int, ...]] = field(default_factory=list)
    patches: list[tuple[int, bytes]] = field(default_factory=list)

    def code_sizes(self) -> dict[str, int]:
        """Function -> bytes of its code."""
        return {
            part.name.removeprefix(TEXT): part.fields.get("size", 0)
            for part in self.parts
            if is_code(part.name, part.fields.get("type", 0))
        }

    def undefined(self) -> dict[str, dict[str, int]]:
        """Symbols that a linker brings, such as shared memory of another object: their rows."""
        return {
            name: fields
            for part in self.parts
            for name, fields in part.symbols
            if name and not fields.get("part")
        }

    def build(self, code: Mapping[str, bytes]) -> bytes:
        """The file, with functions' code in its places.

        Raises:
            LoadError: it is too large, or a number does not fit its field.
        """
        out = bytearray()
        try:
            self._build(out, code)
        except struct.error as error:
            raise LoadError(f"a number of the frame does not fit: {error}", path="frame") from error
        return bytes(out)

    def _build(self, out: bytearray, code: Mapping[str, bytes]) -> None:
        contents = [self._content(part, code) for part in self.parts]
        rows = list(self._rows(contents))
        end = max((row["offset"] + _in_file(row) for row in rows), default=_HEADER.size)
        self.header.setdefault("parts", end + -end % 8)
        self.header.setdefault("segments", self.header["parts"] + _PART.size * len(rows))
        _put(out, 0, self._head())
        for number, (row, body) in enumerate(zip(rows, contents, strict=True)):
            at = self.header["parts"] + number * _PART.size
            _put(out, at, _PART.pack(*(row.get(key, 0) for key in PART_KEYS)))
            if row.get("type") not in NO_BYTES:
                _put(out, row["offset"], body)
        for number, segment in enumerate(self.segments):
            _put(out, self.header["segments"] + number * _SEGMENT.size, _SEGMENT.pack(*segment))
        for at, data in self.patches:
            _put(out, at, data)

    def _head(self) -> bytes:
        h = {key: self.header.get(key, 0) for key in HEADER_KEYS}
        segments = (_SEGMENT.size, len(self.segments))
        return _HEADER.pack(
            b"\x7fELF", 2, 1, 1, h["abi"], h["abiversion"], h["type"], h["machine"], h["version"],
            h["entry"], h["segments"] if self.segments else 0, h["parts"], h["flags"],
            _HEADER.size, *segments, _PART.size, len(self.parts), h["names"],
        )  # fmt: skip

    def _content(self, part: FramePart, code: Mapping[str, bytes]) -> bytes:
        name = part.name.removeprefix(TEXT)
        if is_code(part.name, part.fields.get("type", 0)):
            return code.get(name, b"")
        if not part.symbols:
            return bytes(part.content)
        link = part.fields.get("link", 0)
        strings = bytes(self.parts[link].content) if link < len(self.parts) else b""
        places = _places(strings)
        out = bytearray(part.content)
        for symbol, fields in part.symbols:
            row = {"name": places.get(symbol.encode(), 0), **fields}
            out += _SYMBOL.pack(*(row.get(key, 0) for key in SYMBOL_KEYS))
        return bytes(out)

    def _rows(self, contents: Sequence[bytes]) -> Iterator[dict[str, int]]:
        """Section headers with what follows from what stands before."""
        names = self.header.get("names", 0)
        places = _places(contents[names]) if names < len(contents) else {}
        at = _HEADER.size
        for part, body in zip(self.parts, contents, strict=True):
            row = {"name": places.get(part.name.encode(), 0), "size": len(body), **part.fields}
            if row.get("type", SHT_NULL) == SHT_NULL:
                row.setdefault("offset", 0)
            else:
                row.setdefault("offset", at + -at % max(row.get("align", 0), 1))
                at = row["offset"] + _in_file(row)
            yield row


def _in_file(row: Mapping[str, int]) -> int:
    return 0 if row.get("type", SHT_NULL) in NO_BYTES else row["size"]


def _places(strings: bytes) -> dict[bytes, int]:
    """String -> its first offset in a table of zero-terminated ones."""
    out: dict[bytes, int] = {}
    at = 0
    for text in strings.split(b"\0"):
        out.setdefault(text, at)
        at += len(text) + 1
    return out


def _put(out: bytearray, at: int, data: bytes) -> None:
    end = at + len(data)
    if end > _MAX_BYTES:
        raise LoadError(f"would have {end} bytes", path="frame")
    if len(out) < end:
        out += bytes(end - len(out))
    out[at:end] = data


# ---- from a file -----------------------------------------------------------------------
def frame_of(data: bytes) -> FileFrame:
    """The frame of a cubin that has been read without mistakes."""
    head = _HEADER.unpack_from(data)
    ident, rest = head[4:6], head[6:]
    header = dict(zip(HEADER_KEYS, (*ident, *rest[:7], rest[12]), strict=True))
    frame = FileFrame(header)
    rows = [
        dict(zip(PART_KEYS, _PART.unpack_from(data, header["parts"] + n * _PART.size), strict=True))
        for n in range(rest[11])
    ]
    names = _body(data, rows[header["names"]])
    for row in rows:
        start = row["name"]
        name = names[start : names.find(b"\0", start)].decode("utf-8", "backslashreplace")
        body = b"" if is_code(name, row["type"]) else _body(data, row)
        frame.parts.append(FramePart(name, row, bytearray(body)))
    frame.segments = [
        _SEGMENT.unpack_from(data, header["segments"] + n * _SEGMENT.size) for n in range(rest[9])
    ]
    return frame


def _body(data: bytes, row: Mapping[str, int]) -> bytes:
    if row["type"] in NO_BYTES:
        return b""
    return data[row["offset"] : row["offset"] + row["size"]]


def frame_directives(data: bytes) -> Iterator[str]:
    """The lines of a cubin's frame; with the file's code they build exactly the file."""
    whole = frame_of(data)
    code = {
        part.name.removeprefix(TEXT): _body(data, part.fields)
        for part in whole.parts
        if is_code(part.name, part.fields["type"])
    }
    short = FileFrame(
        {key: value for key, value in whole.header.items() if value},
        [_short_part(part) for part in whole.parts],
        whole.segments,
    )
    places = _places(bytes(whole.parts[whole.header["names"]].content))
    at = _HEADER.size
    for part, full in zip(short.parts, whole.parts, strict=True):
        _leave_out(part, full, places, at)
        if full.fields["type"] != SHT_NULL:
            at = full.fields["offset"] + _in_file(full.fields)
    yield ".elf " + _fields({k: v for k, v in whole.header.items() if v})
    for part in short.parts:
        yield from _part_lines(part, whole)
    for segment in whole.segments:
        yield ".segment " + ", ".join(f"{value:#x}" for value in segment)
    yield from _patches(short.build(code), data)


def _leave_out(part: FramePart, full: FramePart, places: Mapping[bytes, int], at: int) -> None:
    """Give a part the fields that do not follow from what stands before it, at `at`."""
    fields = full.fields
    rule = at + -at % max(fields["align"], 1) if fields["type"] != SHT_NULL else 0
    if fields["offset"] != rule:
        part.fields["offset"] = fields["offset"]
    if places.get(part.name.encode()) != fields["name"]:
        part.fields["name"] = fields["name"]
    if is_code(part.name, fields["type"]) or fields["size"] != len(full.content):
        part.fields["size"] = fields["size"]


def _short_part(part: FramePart) -> FramePart:
    """A part with the fields that its headers' rule can start from."""
    keys = ("type", "flags", "address", "link", "info", "align", "entry")
    fields = {key: part.fields[key] for key in keys if part.fields[key]}
    return FramePart(part.name, fields, part.content)


def _patches(made: bytes, wanted: bytes) -> Iterator[str]:
    """Places where a file differs from what was wanted."""
    made = made[: len(wanted)].ljust(len(wanted), b"\0")
    at = 0
    while at < len(wanted):
        if made[at : at + _HEX_BYTES] != wanted[at : at + _HEX_BYTES]:
            yield f".patch {at:#x}, {wanted[at : at + _HEX_BYTES].hex()}"
        at += _HEX_BYTES


def _fields(fields: Mapping[str, int]) -> str:
    return " ".join(f"{key}={value:#x}" for key, value in fields.items())


def _part_lines(part: FramePart, whole: FileFrame) -> Iterator[str]:
    name, fields = part.name, dict(part.fields)
    kind = fields.get("type", 0)
    if name and not _PLAIN.match(name):
        fields["name"] = next(p for p in whole.parts if p.name == part.name).fields["name"]
    if not _PLAIN.match(name):
        name = "?"
    yield f".part {name} {_fields(fields)}".rstrip()
    content = bytes(part.content)
    if kind == SHT_STRTAB:
        yield from _strings(content)
    elif kind == SHT_SYMTAB and len(content) % _SYMBOL.size == 0:
        yield from _symbols(content, whole, fields.get("link", 0))
    elif kind == _NV_INFO:
        yield from _records(content)
    else:
        yield from _hex(content)


def _strings(content: bytes) -> Iterator[str]:
    text = content.decode("latin-1")
    odd = not _QUOTABLE.match(text.replace("\0", "")) or any(c in text for c in '"\\/*;')
    if odd or not content.endswith(b"\0"):
        yield from _hex(content)
        return
    line = ""
    for item in text.split("\0")[:-1]:
        if line and len(line) + len(item) > _LINE:
            yield f".strings {line}"
            line = ""
        line += f'{", " if line else ""}"{item}"'
    if line:
        yield f".strings {line}"


def _symbols(content: bytes, whole: FileFrame, link: int) -> Iterator[str]:
    strings = bytes(whole.parts[link].content) if link < len(whole.parts) else b""
    places = _places(strings)
    for row in _SYMBOL.iter_unpack(content):
        fields = dict(zip(SYMBOL_KEYS, row, strict=True))
        raw = strings[fields["name"] : strings.find(b"\0", fields["name"])]
        name = raw.decode("utf-8", "replace")
        if not _PLAIN.match(name):
            name = "?"
        elif places.get(raw) == fields["name"]:
            del fields["name"]
        yield f".symbol {name} {_fields({k: v for k, v in fields.items() if v})}".rstrip()


def _records(content: bytes) -> Iterator[str]:
    """Records of .nv.info, each on lines of its own with its name."""
    at = 0
    while at < len(content):
        length = int.from_bytes(content[at + 2 : at + 4], "little") if content[at] == 4 else 0
        record = content[at : at + 4 + length]
        first, *others = _hex(record)
        code = record[1] if len(record) > 1 else 0
        yield f"{first}  // {NAMES.get(code, f'ATTR_{code:02X}')}"
        yield from others
        at += len(record)


def _hex(content: bytes) -> Iterator[str]:
    """Contents in lines of hexadecimal digits, long runs of zeros as their number."""
    at, zeros = 0, 0
    for at in range(0, len(content), _HEX_BYTES):
        line = content[at : at + _HEX_BYTES]
        if len(line) == _HEX_BYTES and not any(line):
            zeros += len(line)
            continue
        if zeros:
            yield f".zero {zeros}"
            zeros = 0
        yield f".hex {line.hex()}"
    if zeros:
        yield f".zero {zeros}"
