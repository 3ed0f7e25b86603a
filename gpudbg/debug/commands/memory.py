"""Memory to and from files, and searching it: dump, append, restore, find."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpudbg.answers import Listing, Notice
from gpudbg.debug.commands.table import command
from gpudbg.debug.registry import quoted_words
from gpudbg.debug.values.printf import split_arguments
from gpudbg.debug.views import gdb_text
from gpudbg.errors import CommandError, LoadError
from gpudbg.expr.evaluation import Place, per_lane, text_of, uniform
from gpudbg.expr.types import I32, U8, Array, Pointer, Scalar, Struct
from gpudbg.textlines import beginning

MAX_RESTORED = 256 << 20
"""Most bytes of a file that `restore` writes."""

if TYPE_CHECKING:
    from gpudbg.debug.session import DebugSession

MOST = 1 << 28
"""Most bytes that one command writes or searches."""
CHUNK = 1 << 16


def place_of(session: DebugSession, text: str) -> tuple[str, int]:
    """(space, address) an expression means in the focused lane.

    Raises:
        CommandError: it has no value, or is no address.
    """
    result = session.evaluate(text)
    lane = session.focus.lane if session.focus is not None else 0
    if text_of(result) is not None or result.values.dtype.kind == "f":
        raise CommandError(f"{text} is not an address")
    if not result.valid[lane]:
        raise CommandError(f"{text}: no value here: {result.why}")
    address = int(result.values[lane]) & (1 << 64) - 1
    match result.type:
        case Pointer(space, _):
            return space, address
        case Array() | Struct():
            assert result.place is not None
            return result.place.space, address
    return "generic", address


def read(session: DebugSession, space: str, address: int, size: int) -> bytes:
    """Memory in pieces; errors as `read_focused`."""
    if not 0 < size <= MOST:
        raise CommandError(f"{size} bytes: from 1 to {MOST:,} can be read at once")
    pieces = [
        session.memory.read(space, address + at, min(CHUNK, size - at))
        for at in range(0, size, CHUNK)
    ]
    return b"".join(pieces)


# ---- files -----------------------------------------------------------------------------
def _value_bytes(session: DebugSession, text: str) -> bytes:
    result = session.evaluate(text)
    lane = session.focus.lane if session.focus is not None else 0
    if isinstance(result.type, Array | Struct):
        own = text_of(result)
        if own is not None:
            return own.encode("utf-8", "surrogateescape") + b"\0"
        assert result.place is not None
        return read(session, result.place.space, int(result.values[lane]), result.type.size)
    if not result.valid[lane]:
        raise CommandError(f"{text}: no value here: {result.why}")
    return bytes(result.values[lane].tobytes())


def _range_bytes(session: DebugSession, text: str) -> bytes:
    words = text.split(None, 1)
    if not words:
        raise CommandError("Missing start address.", "dump memory FILE START END")
    if len(words) < 2:
        raise CommandError("Missing stop address.", "dump memory FILE START END")
    space, start = place_of(session, words[0])
    _, end = place_of(session, words[1])
    if start >= end:
        raise CommandError("Invalid memory address range (start >= end).")
    return read(session, space, start, end - start)


def _write(session: DebugSession, argument: str, mode: str, what: str) -> Notice:
    if not argument.strip():
        raise CommandError("Missing filename.", f"dump {what} FILE …")
    name = quoted_words(argument.split(None, 1)[0])[0]
    rest = argument.split(None, 1)[1] if len(argument.split(None, 1)) > 1 else ""
    data = (_value_bytes if what == "value" else _range_bytes)(session, rest)
    try:
        with Path(name).expanduser().open(mode) as file:
            file.write(data)
    except OSError as error:
        raise CommandError(f"cannot write {name}: {error.strerror}") from None
    return Notice("", {"file": name, "bytes": len(data)})


def _writer(verb: str, what: str, mode: str, help_: str) -> None:
    @command(
        f"{verb} {what}",
        usage=f"{verb} {what} FILE {'START END' if what == 'memory' else 'EXPRESSION'}",
        help=help_,
        group="data",
        needs="stopped or ended",
    )
    def handler(session: DebugSession, argument: str) -> Notice:
        return _write(session, argument, mode, what)


def _binary(verb: str, mode: str) -> None:
    @command(
        f"{verb} binary",
        usage=f"{verb} binary memory|value FILE …",
        help=f"as `{verb} memory` and `{verb} value`: files are binary",
        group="data",
        needs="stopped or ended",
    )
    def handler(session: DebugSession, argument: str) -> Notice:
        what, _, rest = argument.partition(" ")
        if what not in ("memory", "value"):
            raise CommandError(f"{verb} binary takes memory or value", f"help {verb} memory")
        return _write(session, rest.strip(), mode, what)


_writer("dump", "memory", "wb", "write a range of memory to a file")
_writer("dump", "value", "wb", "write a value to a file")
_binary("dump", "wb")
_writer("append", "memory", "ab", "add a range of memory to a file")
_writer("append", "value", "ab", "add a value to a file")
_binary("append", "ab")


@command(
    "restore",
    usage="restore FILE [binary] ADDRESS",
    help="a file's bytes into memory",
    group="data",
    needs="stopped",
)
def restore(session: DebugSession, argument: str) -> Notice:
    """Write memory from a file."""
    name, _, rest = argument.partition(" ")
    rest = rest.strip().removeprefix("binary ").strip()
    if not name or not rest:
        raise CommandError("a file and an address are missing", "restore FILE binary ADDRESS")
    try:
        data = beginning(Path(name).expanduser(), MAX_RESTORED + 1)
    except LoadError as error:
        raise CommandError(f"Failed to open {name}: {error.reason}") from None
    if len(data) > MAX_RESTORED:
        raise CommandError(f"{name} holds more than {MAX_RESTORED >> 20} MiB")
    space, start = place_of(session, rest)
    session.memory.write(space, start, data)
    end = start + len(data)
    text = f"Restoring binary file {name} into memory (0x{start:x} to 0x{end:x})"
    return Notice(text, {"file": name, "bytes": len(data), "address": start})


# ---- find ------------------------------------------------------------------------------
_SIZES = {"b": 1, "h": 2, "w": 4, "g": 8}
_CHARACTER = re.compile(r"'(?:\\.[^']*|[^'\\])'")


def _pattern(session: DebugSession, texts: list[str], size: int | None) -> bytes:
    out = b""
    lane = session.focus.lane if session.focus is not None else 0
    for text in texts:
        result = session.evaluate(text)
        own = text_of(result)
        if own is not None:
            out += own.encode("utf-8", "surrogateescape")
            continue
        if not isinstance(result.type, Scalar | Pointer) or not result.valid[lane]:
            raise CommandError(f"{text}: no value to look for")
        raw = result.values[lane].tobytes()
        if size is None and _CHARACTER.fullmatch(text.strip()):
            raw = raw[:1]  # As in C++, a character literal is a char.
        if size is not None and result.values.dtype.kind != "f":
            number = int(result.values[lane]) & (1 << 8 * size) - 1
            raw = number.to_bytes(size, "little")
        out += raw
    return out


@command(
    "find",
    usage="find [/bhwgN] START, +LENGTH|END, VALUE, …",
    help="where a sequence of values stands in memory",
    group="data",
    needs="stopped or ended",
    details="b h w g: bytes of a value; N: how many places at most.  $_ is the last one,\n"
    "$numfound their number.  A string stands for its characters.",
)
def find(session: DebugSession, argument: str) -> Listing:
    """Search memory."""
    size: int | None = None
    most = MOST
    if match := re.match(r"/([bhwg\d]*)\s+", argument):
        letters = re.sub(r"\d", "", match[1])
        size = _SIZES[letters[-1]] if letters else None
        digits = re.sub(r"\D", "", match[1])
        most = int(digits[:9]) if digits else most
        argument = argument[match.end() :]
    texts = split_arguments(argument)
    if len(texts) == 2:
        raise CommandError("Missing search pattern.", "find START, +LENGTH, VALUE")
    if len(texts) < 3:
        raise CommandError("Missing search parameters.", "find START, +LENGTH, VALUE")
    space, start = place_of(session, texts[0])
    if texts[1].startswith("+"):
        length = session.integer(texts[1][1:], "a length")
    else:
        length = place_of(session, texts[1])[1] - start + 1
    if length <= 0:
        raise CommandError("Empty search range.")
    pattern = _pattern(session, texts[2:], size)
    if length < len(pattern):
        raise CommandError("Search space too small to contain pattern.")
    data = read(session, space, start, length)
    found: list[int] = []
    at = data.find(pattern)
    while at >= 0 and len(found) < most:
        found.append(start + at)
        at = data.find(pattern, at + 1)
    session.variables["$numfound"] = uniform(len(found), I32)
    if found:
        last = np.full(32, found[-1], np.uint64)
        session.variables["$_"] = per_lane(last, Pointer(space, U8), Place("variable", name="$_"))
    count = f"{len(found)} pattern{'s' if len(found) > 1 else ''} found."
    foot = count if found else "Pattern not found."
    named = gdb_text.wanted(session)

    def line(at: int) -> str:
        label = gdb_text.variable_label(session, space, at) if named else ""
        return f"0x{at:x}{label}"

    return Listing(tuple(found), line, foot=(foot,))
