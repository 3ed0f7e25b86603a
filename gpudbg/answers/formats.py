"""How the values of a column are shown: what kind of value it is, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudbg.answers.words import dim, lane_list
from gpudbg.dataclass import dataclass


class _Absent:
    """A value that a row does not have: nothing in text, no key in data."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __str__(self) -> str:
        return ""


ABSENT: Any = _Absent()


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of value: its text, and its data where that is not the value itself."""

    text: Callable[[Any], str] = str
    data: Callable[[Any], Any] = _same


def _numbers(values: Any) -> str:
    return " ".join(map(str, values))


TEXT = Format()
COUNT = Format()
"""A plain number."""
HERE = Format(lambda on: "*" if on else "")
"""Whether the focus is there: the first column of a table, a star or nothing."""
YES = Format(lambda on: "y" if on else "n")
ADDRESS = Format("0x{:x}".format)
WORD = Format("0x{:08x}".format)
"""32 bits of a register."""
COORDINATES = Format(dim, lambda at: None if at is None else list(at))
"""blockIdx, threadIdx, gridDim, blockDim."""
LANES = Format(lane_list)
"""A lane mask, as ranges of lanes."""
NUMBERS = Format(_numbers, list)
"""A list of numbers, between blanks."""
LIST = Format(data=lambda values: None if values is None else list(values))
ROWS = Format()
"""Rows inside a row, or one, or None."""


def spoken(show: Format) -> Format:
    """The same values with their text as data, too."""
    return Format(show.text, show.text)
