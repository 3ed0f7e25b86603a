"""CUDA coordinates as text."""

from __future__ import annotations


def coordinates(value: tuple[int, int, int] | None, shape: tuple[int, int, int]) -> str:
    """CUDA coordinates in as many numbers as the grid or block has dimensions."""
    if value is None:
        return "?"
    if shape[1] == shape[2] == 1:
        return str(value[0])
    count = 3 if shape[2] > 1 else 2
    return "(" + ",".join(str(v) for v in value[:count]) + ")"
