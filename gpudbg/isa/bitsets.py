"""Fields of an instruction word that may be scattered over several bit ranges.

Written as in the tables: `48`, `51:49`, `56+38:20` (most significant range first).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..bits import Field


class Bits:
    """One field: its ranges, most significant first, and how to read and write it."""

    __slots__ = ("_low", "_mask", "mask", "ranges", "width")

    def __init__(self, ranges: tuple[Field, ...]) -> None:
        self.ranges = ranges
        self.width = sum(r.width for r in ranges)
        self.mask = 0
        for r in ranges:
            self.mask |= r.mask
        self._low = ranges[0].lo if len(ranges) == 1 else -1
        self._mask = (1 << self.width) - 1

    @classmethod
    def parse(cls, text: str) -> Bits:
        """Read the table notation, e.g. `56+38:20`.

        Raises:
            ValueError: a range that is not `N` or `HI:LO`.
        """
        out = []
        for part in text.split("+"):
            hi, _, lo = part.partition(":")
            field = Field(int(hi), int(lo or hi))
            if not 127 >= field.hi >= field.lo >= 0:
                raise ValueError(f"bit range {part!r} in {text!r}")
            out.append(field)
        return cls(tuple(out))

    def get(self, word: int) -> int:
        """The field's value in `word`."""
        if self._low >= 0:
            return (word >> self._low) & self._mask
        value = 0
        for r in self.ranges:
            value = (value << r.width) | ((word >> r.lo) & ((1 << r.width) - 1))
        return value

    def put(self, value: int) -> int:
        """A word whose field holds `value` and whose other bits are zero."""
        word = 0
        for r in reversed(self.ranges):
            word |= (value & ((1 << r.width) - 1)) << r.lo
            value >>= r.width
        return word

    def positions(self) -> Iterator[int]:
        """Bit numbers of the field, least significant first."""
        for r in reversed(self.ranges):
            yield from range(r.lo, r.hi + 1)

    def __str__(self) -> str:
        return "+".join(f"{r.hi}:{r.lo}" if r.hi != r.lo else str(r.lo) for r in self.ranges)

    def __repr__(self) -> str:
        return f"Bits({self})"
