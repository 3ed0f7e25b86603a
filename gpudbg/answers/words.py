"""Coordinates and lane masks as text: the one place that writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


def dim(value: tuple[int, int, int] | None) -> str:
    """CUDA coordinates as cuda-gdb prints them: (1,0,0)."""
    return "(" + ",".join(map(str, value)) + ")" if value is not None else "?"


def coordinates(value: tuple[int, int, int] | None, shape: tuple[int, int, int]) -> str:
    """CUDA coordinates in as many numbers as the grid or block has dimensions: `3`, `(3,1)`."""
    if value is None:
        return "?"
    words = plain_coordinates(value, shape)
    return f"({words})" if "," in words else words


def plain_coordinates(value: tuple[int, int, int], shape: tuple[int, int, int]) -> str:
    """The same without brackets: `3`, `3,1`."""
    count = 3 if shape[2] > 1 else 2 if shape[1] > 1 else 1
    return ",".join(map(str, value[:count]))


def significant(sizes: Sequence[int]) -> Sequence[int]:
    """Sizes without the ones behind the last that counts; the first always stays."""
    last = max((n for n, size in enumerate(sizes) if size != 1), default=0)
    return sizes[: last + 1]


def extents(sizes: Sequence[int]) -> str:
    """Sizes of a grid, a block or an image: `8`, `16x16`."""
    return "x".join(map(str, sizes))


def lane_list(mask: int) -> str:
    """A lane mask as ranges: `0-3, 7`."""
    lanes = [i for i in range(32) if mask >> i & 1]
    parts: list[str] = []
    i = 0
    while i < len(lanes):
        j = i
        while j + 1 < len(lanes) and lanes[j + 1] == lanes[j] + 1:
            j += 1
        parts.append(str(lanes[i]) if i == j else f"{lanes[i]}-{lanes[j]}")
        i = j + 1
    return ", ".join(parts) or "none"


MARKS = {"active": "#", "inactive": "_", "exited": ".", "barrier": "=", "error": "X", "never": " "}
"""One character per lane state; shape alone tells them apart."""


class LaneMasks(Protocol):
    """What is known of a warp's lanes."""

    @property
    def state(self) -> str:
        """The warp's state."""

    @property
    def valid(self) -> int:
        """Lanes that there are."""

    @property
    def active(self) -> int:
        """Lanes that run the next instruction."""

    @property
    def exited(self) -> int:
        """Lanes that have ended."""

    @property
    def faulty(self) -> int:
        """Lanes with an error."""


def lane_marks(warp: LaneMasks) -> str:
    """32 characters: what each lane of a warp does."""
    running = "barrier" if warp.state == "barrier" else "active"
    out = []
    for lane in range(32):
        bit = 1 << lane
        if not warp.valid & bit:
            state = "never"
        elif warp.faulty & bit:
            state = "error"
        elif warp.exited & bit:
            state = "exited"
        else:
            state = running if warp.active & bit else "inactive"
        out.append(MARKS[state])
    return "".join(out)
