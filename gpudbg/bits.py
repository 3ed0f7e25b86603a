"""Bit fields of integers: the one place that masks, shifts and sign-extends.

Bit positions are inclusive (high, low) pairs, as the manuals write them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class Field(NamedTuple):
    """An inclusive bit range `hi..lo` of a word."""

    hi: int
    lo: int

    @property
    def width(self) -> int:
        """Number of bits."""
        return self.hi - self.lo + 1

    @property
    def mask(self) -> int:
        """The field's bits within the word."""
        return ((1 << self.width) - 1) << self.lo

    def get(self, word: int) -> int:
        """The field's unsigned value in `word`."""
        return (word >> self.lo) & ((1 << self.width) - 1)

    def put(self, word: int, value: int) -> int:
        """`word` with the field replaced by the low bits of `value`."""
        return (word & ~self.mask) | ((value << self.lo) & self.mask)


def mask(width: int) -> int:
    """The `width` low bits set."""
    return (1 << width) - 1


def sign_extend(value: int, width: int) -> int:
    """`value`'s low `width` bits read as two's complement."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) & 1 else value


@lru_cache(maxsize=1 << 12)
def lanes_of(mask_word: int) -> tuple[int, ...]:
    """Indices of the set bits, ascending."""
    return tuple(i for i in range(mask_word.bit_length()) if mask_word >> i & 1)
