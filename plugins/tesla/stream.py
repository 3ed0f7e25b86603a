"""Method streams: lines of `method = value`, or the words of a pushbuffer.

Text, one statement a line, `#` starts a comment:

    object = turing                 methods without a prefix go to this object
    chipset = 0xa0                  before the first method
    pmc = 0x03000001                PMC register 0x1540, before the first method
    GRIDDIM = 0x00010002            a method by name, NAME[i] for arrays
    tesla.0x1440 = 0                a method by offset, of a named object
    vram[0x1000] = 0xcafe           memory changed from outside, past the caches
    read c0[0x10]                   what a compute program reads; VP.c0[...] for a VP
    read g14[0x100]                 a word of global memory, and where it lies
    g14[0x100] = 5                  store one
    read l[0x10] 0x00410b05         a word of the local memory of a thread, by its physid
    l[0x10] 0x00410b05 = 5          store one
    push 0x00410b05 call 0x40 0xf   push on its warp's stack: type, target, active lanes
    pop 0x00410b05                  pop it
    read vram[0x1000]               a word of memory

A pushbuffer is 32-bit words, little-endian in a binary file or as hexadecimal text: a header
(count 28:18, subchannel 15:13, method 12:2, bit 30 for a non-increasing method) and its data.
Method 0 binds an object to a subchannel; the low 16 bits of its handle must name the class.
Subchannels without a bind: 3 is the 3D object, 6 the compute object, others the default object.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gpudbg.bits import Field
from gpudbg.errors import LoadError, UsageError
from gpudbg.plugin import parse_int

from .methods import CLASSES, OBJECTS, resolve

COUNT, SUBCHANNEL, METHOD = Field(28, 18), Field(15, 13), Field(12, 2)
KIND, LOW_BITS, HOLE = Field(31, 29), Field(1, 0), Field(17, 16)
INCREASING, NON_INCREASING = 0, 2
#: Subchannels drivers use when no bind is in the stream.
DEFAULT_SUBCHANNELS = {3: "tesla", 6: "turing"}
MAX_BYTES = 4 << 20

_PLACE = re.compile(
    r"(?:(?P<program>VP|GP|FP|CP)\.)?(?P<space>[cg](?=\d)|l|vram)(?P<number>\d{0,2})"
    r"\[(?P<at>\w+)\](?:\s+(?P<thread>\w+))?$",
    re.IGNORECASE,
)
_PLACE_BITS = {"c": 16, "l": 16, "g": 32, "vram": 40}
_HEX_WORD = re.compile(r"(?:0x)?[0-9a-fA-F]{1,8}$")
_SEPARATOR = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a stream.

    Args:
        kind: `method`, `set` (chipset, pmc), `store`, `read`, `push` or `pop`.
        where: `line N` or `word N`.
        offset: byte offset in the file.
        obj: object of a method; program of a read; name of a setting.
        target: method offset, address within the space, or target of a pushed entry.
        value: value written; active lanes of a pushed entry.
        space: of a read or store: `c`, `g`, `l` or `vram`, with its number.
        thread: physid of the thread, for l[], push and pop.
    """

    kind: str
    where: str
    offset: int
    obj: str = ""
    target: int = 0
    value: int = 0
    space: tuple[str, int] = ("", 0)
    thread: int = 0


def parse(data: bytes, path: str, default: str = "turing") -> list[Statement]:
    """Parse a stream, whichever form it has.

    Raises:
        LoadError: a statement that is none; names the file, the line or word, and the offset.
    """
    if len(data) > MAX_BYTES:
        raise LoadError("larger than 4 MiB", path=path)
    text = _as_text(data)
    if text is None:
        return list(_words(data, path, default))
    lines = [line.split("#", 1)[0].strip() for line in text.split("\n")]
    held = [word for line in lines for word in _SEPARATOR.split(line) if word]
    if held and all(_HEX_WORD.match(word) for word in held):
        packed = struct.pack(f"<{len(held)}I", *(int(word, 16) for word in held))
        return list(_words(packed, path, default))
    return list(_text(text, path, default))


def _as_text(data: bytes) -> str | None:
    """The data as text, or None when it is binary."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if any(char < " " and char not in "\t\r\n" for char in text):
        return None
    return text.replace("\u00d7", "x")  # the notes print 0x with a multiplication sign


def _text(text: str, path: str, default: str) -> Iterator[Statement]:
    offset, started = 0, False
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.split("#", 1)[0].strip()
        where = f"line {number}"
        if line:
            try:
                statement, default = _line(line, where, offset, default)
            except UsageError as error:
                raise LoadError(f"{where}: {error}", path=path, offset=offset) from error
            if statement is not None:
                if statement.kind == "set" and started:
                    raise LoadError(
                        f"{where}: {statement.obj} must come before the first method",
                        path=path,
                        offset=offset,
                    )
                started = started or statement.kind != "set"
                yield statement
        offset += len(raw.encode()) + 1


def _line(line: str, where: str, offset: int, default: str) -> tuple[Statement | None, str]:
    words = line.split()
    if words[0].lower() in _VERBS:
        return _VERBS[words[0].lower()](words, where, offset), default
    left, equals, right = (part.strip() for part in line.partition("="))
    if not left or not equals or not right or " " in right:
        raise UsageError(f"'{line[:60]}' is no statement", "method = value")
    if left.lower() == "object":
        if right.lower() not in OBJECTS:
            raise UsageError(f"no object '{right}'", " or ".join(OBJECTS))
        return None, right.lower()
    value = parse_int(right, "value", 32)
    if left.lower() in ("chipset", "pmc"):
        return Statement("set", where, offset, left.lower(), 0, value), default
    if _PLACE.match(left):
        return replace(_place(left, where, offset, "store"), value=value), default
    obj, target = resolve(left, default)
    return Statement("method", where, offset, obj, target, value), default


def _place(text: str, where: str, offset: int, kind: str) -> Statement:
    """A read of or store to `SPACE[ADDRESS]`."""
    found = _PLACE.match(text)
    if found is None:
        raise UsageError(
            f"'{text[:60]}' is no place", "c0[...], g14[...], l[...] PHYSID, vram[...]"
        )
    space, number = found["space"].lower(), int(found["number"] or 0)
    if number > 15:
        raise UsageError(f"{space}{number}[] does not exist", f"{space}0 to {space}15")
    if space in ("l", "vram") and found["number"]:
        raise UsageError(f"{space}[] has no number")
    if found["program"] and space != "c":
        raise UsageError("only c[] depends on the program type")
    if kind == "store" and space == "c":
        raise UsageError("c[] is read-only", "CB_ADDR and CB_DATA, or vram[...]")
    if (space == "l") != bool(found["thread"]):
        raise UsageError("l[] needs a physid after it, no other space takes one")
    return Statement(
        kind,
        where,
        offset,
        (found["program"] or "CP").upper(),
        parse_int(found["at"], "address", _PLACE_BITS[space]),
        space=(space, number),
        thread=parse_int(found["thread"], "physid", 32) if found["thread"] else 0,
    )


def _read(words: list[str], where: str, offset: int) -> Statement:
    return _place(" ".join(words[1:]), where, offset, "read")


def _push(words: list[str], where: str, offset: int) -> Statement:
    if len(words) not in (4, 5):
        raise UsageError("push takes a physid, a type, a target and the active lanes")
    return Statement(
        "push",
        where,
        offset,
        words[2].lower().replace("_", " "),
        parse_int(words[3], "target", 24),
        parse_int(words[4], "lanes", 32) if len(words) == 5 else 0xFFFFFFFF,
        thread=parse_int(words[1], "physid", 32),
    )


def _pop(words: list[str], where: str, offset: int) -> Statement:
    if len(words) != 2:
        raise UsageError("pop takes a physid")
    return Statement("pop", where, offset, thread=parse_int(words[1], "physid", 32))


_VERBS = {"read": _read, "push": _push, "pop": _pop}


@dataclass(slots=True)
class _Subchannels:
    """Objects bound to the eight subchannels."""

    default: str
    bound: dict[int, str] = field(default_factory=lambda: dict(DEFAULT_SUBCHANNELS))

    def bind(self, subchannel: int, handle: int) -> None:
        name = CLASSES.get(handle & 0xFFFF)
        if name is None:
            raise UsageError(
                f"handle 0x{handle:08x} bound to subchannel {subchannel} names no known class",
                "its low 16 bits must be a 3D or compute class",
            )
        self.bound[subchannel] = name


def _words(data: bytes, path: str, default: str) -> Iterator[Statement]:
    if len(data) % 4:
        raise LoadError(
            f"a pushbuffer is made of 32-bit words; {len(data)} bytes are not",
            path=path,
            offset=len(data) // 4 * 4,
        )
    words = [word for (word,) in struct.iter_unpack("<I", data)]
    subchannels = _Subchannels(default)
    index = 0
    while index < len(words):
        header, at = words[index], index * 4
        if header == 0:  # padding: no data, subchannel 0, method 0
            index += 1
            continue
        _check_header(header, path, at)
        count, kind = COUNT.get(header), KIND.get(header)
        method, subchannel = METHOD.get(header) * 4, SUBCHANNEL.get(header)
        if index + count >= len(words):
            missing = index + count + 1 - len(words)
            raise LoadError(
                f"word {index}: header 0x{header:08x} announces {count} words, {missing} missing",
                path=path,
                offset=at,
            )
        for step in range(count):
            position = index + 1 + step
            target = method + (4 * step if kind == INCREASING else 0)
            try:
                statement = _packet_word(subchannels, subchannel, target, words[position], position)
            except UsageError as error:
                raise LoadError(
                    f"word {position}: {error}", path=path, offset=position * 4
                ) from error
            if statement is not None:
                yield statement
        index += 1 + count


def _check_header(header: int, path: str, at: int) -> None:
    kind = KIND.get(header)
    if kind not in (INCREASING, NON_INCREASING) or LOW_BITS.get(header) or HOLE.get(header):
        raise LoadError(
            f"word {at // 4}: 0x{header:08x} is no method header",
            path=path,
            offset=at,
            hint="jumps and calls are not followed",
        )


def _packet_word(
    subchannels: _Subchannels, subchannel: int, target: int, value: int, position: int
) -> Statement | None:
    if target == 0:
        subchannels.bind(subchannel, value)
        return None
    obj = subchannels.bound.get(subchannel, subchannels.default)
    return Statement("method", f"word {position}", position * 4, obj, target, value)
