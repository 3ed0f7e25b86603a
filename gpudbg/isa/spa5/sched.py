"""Control words: the scheduling hints of a bundle of three instructions.

A code section is a sequence of 32-byte bundles, little-endian: one 64-bit control word, then
three instruction words at offsets 8, 16 and 24.  The control word holds three 21-bit groups,
lowest bits for the first instruction; bit 63 is ignored.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ..control import GROUP_BITS

BUNDLE_BYTES = 32
WORD_BYTES = 8

NEUTRAL_GROUP = 0x7E0
"""No stall, no barriers, no waits, no reuse: accepted with every instruction."""


def groups(control_word: int) -> tuple[int, int, int]:
    """The three 21-bit groups of a control word."""
    mask = (1 << GROUP_BITS) - 1
    return (
        control_word & mask,
        control_word >> GROUP_BITS & mask,
        control_word >> 2 * GROUP_BITS & mask,
    )


def pack(first: int, second: int, third: int) -> int:
    """A control word from three groups."""
    return first | second << GROUP_BITS | third << 2 * GROUP_BITS


def is_control(address: int) -> bool:
    """True for the addresses of control words, which hold no instruction."""
    return address % BUNDLE_BYTES == 0


def first_instruction(address: int) -> int:
    """The instruction an address means: a bundle's start stands for its first instruction."""
    return address + 8 if address % BUNDLE_BYTES == 0 else address


def next_instruction(address: int) -> int:
    """Address of the instruction after the one at `address`, control words skipped."""
    return first_instruction(address + 8)


def instructions(code: bytes, base: int = 0) -> Iterator[tuple[int, int, int]]:
    """(address, word, control group) of every instruction of a code section.

    A last bundle that is cut short yields the whole words it has.
    """
    words = struct.unpack_from(f"<{len(code) // WORD_BYTES}Q", code)
    parts = (0, 0, 0)
    for number, word in enumerate(words):
        slot = number & 3
        if slot == 0:
            parts = groups(word)
        else:
            yield base + number * WORD_BYTES, word, parts[slot - 1]
