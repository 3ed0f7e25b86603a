"""Search in memory: turns what was typed into bytes, and finds their next place."""

from __future__ import annotations

import struct

from gpudbg.errors import CommandError


def needle(text: str) -> tuple[bytes, int]:
    """(bytes to look for, alignment) of what was typed.

    A whole number is a 32-bit word, one that needs more bits a 64-bit one; with a point it is a
    32-bit float; anything else, or text in quotes, is looked for as it stands.

    Raises:
        CommandError: nothing, or a number of more than 64 bits.
    """
    text = text.strip()
    if not text:
        raise CommandError("nothing to look for", "0x1f, -3, 1.5, or text")
    try:
        number = int(text, 0)
    except ValueError:
        return _not_whole(text)
    for size in (4, 8):
        if -(1 << 8 * size - 1) <= number < 1 << 8 * size:
            return (number & (1 << 8 * size) - 1).to_bytes(size, "little"), size
    raise CommandError(f"{text} needs more than 64 bits")


def _not_whole(text: str) -> tuple[bytes, int]:
    try:
        return struct.pack("<f", float(text)), 4
    except (ValueError, OverflowError):
        return text.strip("\"'").encode(), 1


def find(data: bytes, wanted: bytes, start: int, align: int) -> int | None:
    """The next aligned offset after `start` that holds the bytes, wrapping around at the end."""
    for low, high in ((start + 1, len(data)), (0, min(start + len(wanted), len(data)))):
        at = data.find(wanted, low, high)
        while at >= 0 and at % align:
            at = data.find(wanted, at + 1, high)
        if at >= 0:
            return at
    return None
