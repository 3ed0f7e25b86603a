"""Copies of arrays in blocks, which share what has not changed since an earlier copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from gpudbg.mem import copying

BLOCK: Final = 1 << 16
"""Bytes of a block."""
_ZERO: Final = bytes(BLOCK)
_LARGE: Final = 1 << 20
"""Bytes from which a copy is made in one piece."""
_WORD: Final = 8

Block = bytes | npt.NDArray[np.uint8]
"""Bytes of a block: its own, or part of what was copied in one piece."""


class SharedBlocks:
    """What is in an array of bytes: blocks of zeros are left out, and those that are as an earlier
    copy has them are that copy's."""

    __slots__ = ("_blocks", "_size")

    def __init__(
        self,
        array: npt.NDArray[np.uint8],
        before: SharedBlocks | None = None,
        threads: int = 1,
    ) -> None:
        """Copy.

        Args:
            before: an earlier copy of the same array.
            threads: of the host, that may copy.
        """
        self._size = len(array)
        if before is None:
            large = self._size >= _LARGE
            self._blocks = _whole(array, threads) if large else [*map(_own, _parts(array))]
        else:
            pairs = zip(_parts(array), before._blocks, strict=True)
            self._blocks = [_shared(part, old) for part, old in pairs]

    def __len__(self) -> int:
        return self._size

    def held(self) -> Iterator[Block]:
        """The blocks that this copy holds."""
        return (block for block in self._blocks if block is not None)

    def same(self, other: SharedBlocks) -> bool:
        """Whether another copy's content is the same."""
        if self._size != other._size:
            return False
        return all(_equal(x, y) for x, y in zip(self._blocks, other._blocks, strict=True))

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


def _parts(array: npt.NDArray[np.uint8]) -> Iterator[npt.NDArray[np.uint8]]:
    """An array in blocks."""
    return (array[at : at + BLOCK] for at in range(0, len(array), BLOCK))


def _own(part: npt.NDArray[np.uint8]) -> bytes | None:
    """The bytes of a block; None for zeros."""
    content = part.tobytes()
    return None if content == (_ZERO if len(content) == BLOCK else bytes(len(content))) else content


def _shared(part: npt.NDArray[np.uint8], old: Block | None) -> Block | None:
    """The bytes of a block: those of an earlier copy where they are the same."""
    if isinstance(old, np.ndarray):
        return old if _equal(part, old) else _own(part)
    content = _own(part)
    return old if content == old else content


def _equal(x: Block | None, y: Block | None) -> bool:
    """Whether two blocks of the same size hold the same."""
    if x is y or x is None or y is None:
        return x is y
    if isinstance(x, bytes) and isinstance(y, bytes):
        return x == y
    words = np.uint64 if len(x) % _WORD == 0 else np.uint8
    return np.array_equal(np.frombuffer(x, words), np.frombuffer(y, words))


def _whole(array: npt.NDArray[np.uint8], threads: int) -> list[Block | None]:
    """A copy in one piece, but for blocks of zeros."""
    runs: list[tuple[int, int]] = []
    filled: list[bool] = []
    for part in _parts(array):
        start = len(filled) * BLOCK
        filled.append(bool(part[0] or part.any()))
        if not filled[-1]:
            continue
        if runs and runs[-1][1] == start:
            start = runs.pop()[0]
        runs.append((start, len(filled) * BLOCK))
    if not runs:
        return [None] * len(filled)
    copied = copying.room(len(array))[: len(array)]
    copying.copy(copied, array, runs, threads)
    copied.setflags(write=False)
    return [part if full else None for part, full in zip(_parts(copied), filled, strict=True)]
