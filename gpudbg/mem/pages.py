"""Storage of large allocations, and the contents that a restart goes back to.

A copy of a gigabyte for the case that a launch is restarted would double what it needs.  Large
storage is therefore a file in memory; keeping its contents makes the mapping private, so that the
host copies only the pages that are written afterwards.  Elsewhere than on Linux, and for small
allocations, contents are kept as plain copies.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from gpudbg.mem.store import ByteStore

LARGE: Final = 32 << 20
"""Bytes from which storage is a file in memory."""
PIECE: Final = 1 << 20
"""Bytes that are compared at a time."""
_LINE: Final = 64
_MEDIUM: Final = 1 << 20
_HUGE_PAGE: Final = 1 << 21
_POPULATE_WRITE: Final = 23
"""Linux's MADV_POPULATE_WRITE, which Python does not name."""


class Pages:
    """Zeroed pages of a file in memory.

    Attributes:
        bytes: uint8 view.
        private: writes no longer reach the file.
    """

    def __init__(self, size: int) -> None:
        self._fd = os.memfd_create("gpudbg")
        weakref.finalize(self, os.close, self._fd)
        os.ftruncate(self._fd, size)
        self._map = mmap.mmap(self._fd, size)
        self.bytes: npt.NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)
        self.private = False

    def keep(self) -> dict[int, bytes]:
        """Have the file stay as it is; what is different from it now, by offset.

        Raises:
            OSError: the host does not do it.
        """
        if not self.private:
            _map_private(int(self.bytes.ctypes.data), len(self.bytes), self._fd)
            self.private = True
            return {}
        changed = {}
        for at in range(0, len(self.bytes), PIECE):
            now = self.bytes[at : at + PIECE].tobytes()
            if now != os.pread(self._fd, len(now), at):
                changed[at] = now
        return changed

    def restore(self, changed: dict[int, bytes]) -> None:
        """The file's contents again, with these differences."""
        self._map.madvise(mmap.MADV_DONTNEED)
        for at, content in changed.items():
            self.bytes[at : at + len(content)] = np.frombuffer(content, np.uint8)


def _map_private(address: int, size: int, fd: int) -> None:
    """Put a private mapping of the file where the shared one is."""
    library = ctypes.CDLL(None, use_errno=True)
    call = library.mmap
    call.restype = ctypes.c_void_p
    call.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        *(ctypes.c_int,) * 3,
        ctypes.c_long,
    )
    fixed = 0x10
    flags = mmap.MAP_PRIVATE | fixed
    got = call(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, 0)
    if got != address:
        raise OSError(ctypes.get_errno(), "mmap")


def storage(size: int) -> tuple[npt.NDArray[np.uint8], Pages | None]:
    """Zeroed bytes, and the pages they are where they are many."""
    if size >= LARGE and sys.platform == "linux":
        try:
            pages = Pages(size)
        except OSError:
            return zeroed(size), None
        return pages.bytes, pages
    return zeroed(size), None


def zeroed(size: int) -> npt.NDArray[np.uint8]:
    """Zero bytes at an aligned place: a warp's accesses then touch no more of the host's cache
    lines than they need, nor many of its pages."""
    alignment = _LINE if size < _MEDIUM else _HUGE_PAGE
    if size < _MEDIUM or not hasattr(mmap, "MADV_HUGEPAGE"):
        raw = np.zeros(size + alignment, np.uint8)
    else:
        pages = mmap.mmap(-1, size + alignment, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
        raw = np.frombuffer(pages, np.uint8)
    start = -address_of(raw) % alignment
    return raw[start : start + size]


def zeroed_part(size: int, used: int) -> npt.NDArray[np.uint8]:
    """Zero bytes of which the first `used` are there at once, and others as they are touched."""
    if size < _MEDIUM:
        return zeroed(size)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        with suppress(OSError):
            pages.madvise(_POPULATE_WRITE, 0, used)
    return np.frombuffer(pages, np.uint8)


def address_of(array: npt.NDArray[Any]) -> int:
    """Where an array lies in the host's memory; quicker than its `ctypes`."""
    return int(array.__array_interface__["data"][0])


class Kept:
    """The contents of a store at a moment."""

    def __init__(self, store: ByteStore) -> None:
        self._store = store
        self._content: npt.NDArray[Any] | dict[int, bytes]
        pages = store.pages
        try:
            self._content = store.data.copy() if pages is None else pages.keep()
        except OSError:
            self._content = store.data.copy()

    def restore(self) -> None:
        """Put them back."""
        content = self._content
        if isinstance(content, dict):
            assert self._store.pages is not None
            self._store.pages.restore(content)
        else:
            self._store.data[:] = content
