"""Coordinates and lane masks as text: the one place that writes them."""

from __future__ import annotations


def dim(value: tuple[int, int, int] | None) -> str:
    """CUDA coordinates as cuda-gdb prints them: (1,0,0)."""
    return "(" + ",".join(map(str, value)) + ")" if value is not None else "?"


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
