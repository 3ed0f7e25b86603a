"""A flat run of bytes that a warp reads and writes with 32 offsets at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpudbg.mem.check import Offsets
from gpudbg.mem.lanes import FULL, U32, bools, ones32
from gpudbg.mem.pages import storage

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}
LONGEST = 16
"""Bytes of the largest elements; larger accesses are done in parts of as many."""
_PAD = LONGEST


def padded_size(size: int) -> int:
    """Bytes of storage for a store of `size`: whole elements of every kind."""
    return (size + _PAD - 1) // _PAD * _PAD


class ByteStore:
    """Bytes with bounds, seen as 1, 2, 4, 8 and 16 byte elements.

    Attributes:
        data: uint8 array, exactly `size` long; a view of the padded storage.
        size: bytes that may be accessed.
        marks: a byte for each of the padded storage, not 0 where somebody has written to it; None
            where nobody asked (`marked`).
        pages: what holds them where they are many, else None.
    """

    __slots__ = ("_padded", "_signed", "_views", "data", "marks", "pages", "size")

    _views: dict[int, npt.NDArray[Any]]
    _signed: dict[int, npt.NDArray[Any]]

    def __init__(
        self,
        size: int,
        padded: npt.NDArray[np.uint8] | None = None,
        marks: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        """Args: padded: `padded_size(size)` bytes to use, aligned; None: new ones, zero."""
        self.pages = None
        self.marks = marks
        if padded is None:
            padded, self.pages = storage(padded_size(size))
        self.size = size
        self.data = padded[:size]
        self._padded = padded

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The views, which many a store never needs."""
            if name not in ("_views", "_signed"):
                raise AttributeError(name)
            padded = self._padded
            words = padded.view(np.uint32)
            self._views = {
                1: padded,
                2: padded.view(np.uint16),
                4: words,
                8: words.reshape(-1, 2),
                16: words.reshape(-1, 4),
            }
            self._signed = {1: padded.view(np.int8), 2: padded.view(np.int16)}
            return getattr(self, name)

    def _forget_views(self) -> None:
        # Both were made together, or neither; `suppress` takes longer than all of this.
        try:
            del self._views, self._signed
        except AttributeError:
            pass

    def marked(self) -> npt.NDArray[np.uint8]:
        """`marks`, made where there are none yet."""
        if self.marks is None:
            self.marks = np.zeros(len(self._padded), np.uint8)
        return self.marks

    def writable(self) -> npt.NDArray[np.uint8]:
        """`data`, to be written to."""
        return self.data

    @property
    def words(self) -> U32:
        """All of it as uint32, the last word padded with zero bytes."""
        return self._views[4]

    def gather(self, offsets: Offsets, lanes: int, size: int, signed: bool) -> list[U32]:
        """Read checked offsets: one array per 32-bit register, 0 in lanes that do not execute."""
        index = offsets >> _SHIFT[size]
        if index.dtype == np.uint64:
            index = index.view(np.int64)
        if size <= 4:
            if size == 4:
                value = self._views[4].take(index)
            elif signed:
                value = self._signed[size].take(index).astype(np.int32).view(np.uint32)
            else:
                value = self._views[size].take(index).astype(np.uint32)
            return [value if lanes == FULL else value * ones32(lanes)]
        rows = self._views[size].take(index, axis=0)
        if lanes != FULL:
            rows *= ones32(lanes)[:, None]
        return list(rows.T)

    def scatter(self, offsets: Offsets, lanes: int, size: int, values: Sequence[U32]) -> None:
        """Write checked offsets in ascending lane order, so the highest lane wins."""
        index = offsets >> _SHIFT[size]
        if index.dtype == np.uint64:
            index = index.view(np.int64)
        value: npt.NDArray[Any] = values[0]
        if size > 4:
            value = np.empty((32, size // 4), np.uint32)
            for column, word in enumerate(values):
                value[:, column] = word
        if lanes != FULL:
            chosen = bools(lanes)
            index = index[chosen]
            value = value[chosen] if len(value) != 1 else value
        self._views[size][index] = value
