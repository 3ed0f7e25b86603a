"""Numbers as text: gdb's print formats over raw bits and typed values."""

from __future__ import annotations

import re
import struct
from typing import Any

from gpudbg.bits import sign_extend
from gpudbg.dataclass import dataclass
from gpudbg.errors import CommandError

FORMATS = {
    "x": "hexadecimal",
    "d": "signed decimal",
    "u": "unsigned decimal",
    "o": "octal",
    "t": "binary",
    "z": "hexadecimal, zero padded",
    "c": "character",
    "f": "floating point",
    "a": "address with symbol",
    "s": "string",
    "i": "instruction",
    "r": "raw",
}
"""Format letters and their meaning, as in gdb."""

MAX_DIGITS = 70
"""Characters of a number: 64 binary digits, a sign and a prefix, and some to spare."""

SIZES = {"b": 1, "h": 2, "w": 4, "g": 8}
"""Unit letters of `x`: bytes each."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed /NFU: count, format letter, unit size; None where not given."""

    count: int | None = None
    letter: str | None = None
    size: int | None = None


def parse_spec(text: str) -> Spec:
    """Parse what follows the slash of `x/8xw` or `print/f`.

    Raises:
        CommandError: a letter that is neither a format nor a size.
    """
    m = re.fullmatch(r"(-?\d*)([a-z]*)", text)
    if not m:
        raise CommandError(f"'/{text}' is not a format", "count, then letters: e.g. /8xw, /f, /4i")
    count = parse_int(m[1], "count") if m[1] not in ("", "-") else None
    letter = size = None
    for ch in m[2]:
        if ch in SIZES and not (ch == "b" and size is not None):
            size = SIZES[ch]
        elif ch in FORMATS:
            letter = ch
        else:
            known = ", ".join(f"{k} {v}" for k, v in FORMATS.items())
            raise CommandError(f"undefined format letter {ch!r}", f"one of {known}; sizes b h w g")
    return Spec(count, letter, size)


def split_spec(argument: str) -> tuple[Spec, str]:
    """Split a command's argument `/FMT rest` into its format and the rest."""
    text = argument.lstrip()
    if not text.startswith("/"):
        return Spec(), text
    head, _, rest = text[1:].partition(" ")
    return parse_spec(head), rest.strip()


_UNPACK = {2: "<e", 4: "<f", 8: "<d"}


def float_of(bits: int, size: int) -> float:
    """The IEEE number of `size` bytes with these bits."""
    return float(struct.unpack(_UNPACK[size], bits.to_bytes(size, "little"))[0])


def float_text(value: float, size: int) -> str:
    """Shortest text that reads back as the same number of `size` bytes."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    digits = {2: 5, 4: 9, 8: 17}[size]
    pack = _UNPACK[size]
    for n in range(1, digits + 1):
        text = f"{value:.{n}g}"
        if _packed(pack, float(text)) == struct.pack(pack, value):
            break
    # 740 needs two digits and is no 7.4e+02: as C's %g of full width has it.
    return f"{value:.0f}" if "e+" in text and abs(value) < 10**digits else text


def _packed(pack: str, value: float) -> bytes:
    """A number in a format; nothing where rounding has made the largest ones too large for it."""
    try:
        return struct.pack(pack, value)
    except OverflowError:
        return b""


def format_bits(bits: int, size: int, letter: str) -> str:
    """`bits` of a `size`-byte value in format `letter`."""
    width = size * 8
    if letter == "x" or letter == "a":
        return f"0x{bits:x}"
    if letter in ("z", "r"):
        return f"0x{bits:0{size * 2}x}"
    if letter == "d":
        return str(sign_extend(bits, width))
    if letter == "u":
        return str(bits)
    if letter == "o":
        return f"0{bits:o}" if bits else "0"
    if letter == "t":
        return f"{bits:b}"
    if letter == "c":
        low = bits & 0xFF
        shown = chr(low) if 32 <= low < 127 else f"\\{low:03o}"
        return f"{sign_extend(bits, width)} '{shown}'"
    if letter == "f":
        if size in _UNPACK:
            return float_text(float_of(bits, size), size)
        return str(sign_extend(bits, width))
    raise CommandError(f"format '{letter}' does not apply to a number")


def format_value(value: Any, kind: str, size: int, letter: str | None) -> str:
    """A typed value (`kind` i u f b) in format `letter`, or in its natural one."""
    if kind == "b" and letter is None:
        return "true" if value else "false"
    if kind == "f":
        bits = int.from_bytes(struct.pack(_UNPACK[size], float(value)), "little")
        if letter in (None, "f"):
            return float_text(float(value), size)
        return format_bits(bits, size, letter or "x")
    bits = int(value) & ((1 << size * 8) - 1)
    if letter is None:
        return str(int(value))
    return format_bits(bits, size, letter)


def parse_int(text: str, what: str = "number") -> int:
    """An integer in decimal or 0x/0b notation.

    Raises:
        CommandError: naming what was expected.
    """
    word = text.strip()
    if len(word) > MAX_DIGITS:
        raise CommandError(f"a {what} of {len(word)} characters is too long")
    try:
        return int(word, 0) if not re.fullmatch(r"0\d+", word) else int(word, 10)
    except ValueError:
        raise CommandError(f"{word!r} is not a {what}") from None
