"""Copies of arrays in blocks, which share what has not changed since an earlier copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

BLOCK: Final = 1 << 16
"""Bytes of a block."""
_ZERO: Final = bytes(BLOCK)


class SharedBlocks:
    """What is in an array of bytes: blocks of zeros are left out, and those that are as an earlier
    copy has them are that copy's."""

    __slots__ = ("_blocks", "_size")

    def __init__(self, array: npt.NDArray[np.uint8], before: SharedBlocks | None = None) -> None:
        """Copy; `before`: an earlier copy of the same array."""
        self._size = len(array)
        known = () if before is None else before._blocks
        self._blocks: list[bytes | None] = []
        for number, at in enumerate(range(0, self._size, BLOCK)):
            content = array[at : at + BLOCK].tobytes()
            found: bytes | None = content
            old = known[number] if number < len(known) else None
            if content == (_ZERO if len(content) == BLOCK else bytes(len(content))):
                found = None
            elif content == old:
                found = old
            self._blocks.append(found)

    def __len__(self) -> int:
        return self._size

    def held(self) -> Iterator[bytes]:
        """The blocks that this copy holds."""
        return (block for block in self._blocks if block is not None)

    def same(self, other: SharedBlocks) -> bool:
        """Whether another copy's content is the same."""
        return self._size == other._size and self._blocks == other._blocks

    def restore(self, array: npt.NDArray[np.uint8]) -> None:
        """Write the copy back to the array; blocks that have stayed zero are not touched."""
        for at, block in zip(range(0, self._size, BLOCK), self._blocks, strict=True):
            part = array[at : at + BLOCK]
            if block is not None:
                part[:] = np.frombuffer(block, np.uint8)
            elif part.any():
                part[:] = 0

    def content(self) -> npt.NDArray[np.uint8]:
        """All bytes."""
        made = np.zeros(self._size, np.uint8)
        for at, block in zip(range(0, self._size, BLOCK), self._blocks, strict=True):
            if block is not None:
                made[at : at + BLOCK] = np.frombuffer(block, np.uint8)
        return made
