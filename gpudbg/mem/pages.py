"""Storage of allocations, and copies of their contents.

A copy of a gigabyte for the case that a launch is restarted would double what it needs.  Large
storage is therefore a file in memory; keeping its contents makes the mapping private, so that the
host copies only the pages that are written afterwards.  Elsewhere than on Linux, and for small
allocations, contents are kept as plain copies.  When they are kept: `gpudbg.mem.checkpoint`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gpudbg.mem.blocks import BLOCK, Block, SharedBlocks
from gpudbg.mem.mappings import HUGE_PAGE, MAPPED, mapped

if TYPE_CHECKING:
    from gpudbg.mem.store import ByteStore

LARGE: Final = 256 << 20
"""Bytes from which storage is a file in memory: of fewer a copy takes less time than the faults of
pages that the host copies one by one, for which several threads wait for one another."""
PIECE: Final = 1 << 20
"""Bytes that are compared at a time."""
_LINE: Final = 64
_MEDIUM: Final = 1 << 20
_POPULATE_WRITE: Final = 23
"""Linux's MADV_POPULATE_WRITE, which Python does not name."""
_IN_MEMORY: Final = np.uint64(3 << 62)
_FILE_PAGE: Final = np.uint64(1 << 61)
"""Of a word of Linux's pagemap: present or swapped out; of a file, not a private copy."""


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
        MAPPED.add(self._map)
        self.bytes: npt.NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)
        self.private = False
        self._users: weakref.WeakSet[Differences] = weakref.WeakSet()

    def keep(self, before: Differences | None = None) -> Differences:
        """Keep the contents: the file as it stays from now on, and what is different from it.

        Args:
            before: an earlier copy, whose blocks are shared where they are the same.

        Raises:
            OSError: the host does not do it.
        """
        made = Differences()
        if not self.private:
            _map_private(int(self.bytes.ctypes.data), len(self.bytes), self._fd)
            self.private = True
        elif self._users:
            known = {} if before is None else before.pieces
            for start, stop in self._changed():
                for at in range(start - start % BLOCK, stop, BLOCK):
                    low = max(at, start)
                    high = min(at + BLOCK, stop)
                    if self._same(low, high):
                        continue
                    content = self.bytes[low:high].tobytes()
                    old = known.get(low)
                    made.pieces[low] = old if old == content else content
        else:
            self._commit()
        self._users.add(made)
        return made

    def _commit(self) -> None:
        """Nobody needs the file as it is: have it be what is here.

        Copied pages stay: as a rule they are written again, and each would cost another fault.
        """
        for start, stop in self._changed():
            view, at = self.bytes[start:stop].data, start
            while view:
                written = os.pwrite(self._fd, view, at)
                view, at = view[written:], at + written
            del view

    def _same(self, start: int, stop: int) -> bool:
        """Whether the file has what is here, in a page that the host has copied."""
        there = np.frombuffer(os.pread(self._fd, stop - start, start), np.uint8)
        return np.array_equal(there, self.bytes[start:stop])

    def _changed(self) -> list[tuple[int, int]]:
        """Where the contents are not the file's: the pages the host has copied."""
        size = len(self.bytes)
        count = _whole_pages(size) // mmap.PAGESIZE
        try:
            with open("/proc/self/pagemap", "rb", buffering=0) as file:
                file.seek(address_of(self.bytes) // mmap.PAGESIZE * 8)
                pages = np.frombuffer(file.read(8 * count), np.uint64)
        except OSError:
            pages = np.empty(0, np.uint64)
        if len(pages) != count:
            return self._compared()
        copied = (pages & _IN_MEMORY != 0) & (pages & _FILE_PAGE == 0)
        edges = np.flatnonzero(np.diff(np.concatenate(([False], copied, [False])).astype(np.int8)))
        edges *= mmap.PAGESIZE
        return [(a, min(b, size)) for a, b in edges.reshape(-1, 2).tolist()]

    def _compared(self) -> list[tuple[int, int]]:
        """`_changed` for a host that does not say."""
        found = []
        for at in range(0, len(self.bytes), PIECE):
            now = self.bytes[at : at + PIECE].tobytes()
            if now != os.pread(self._fd, len(now), at):
                found.append((at, at + len(now)))
        return found

    def restore(self, changed: Differences) -> None:
        """The file's contents again, with these differences."""
        self._map.madvise(mmap.MADV_DONTNEED)
        for at, content in changed.pieces.items():
            self.bytes[at : at + len(content)] = np.frombuffer(content, np.uint8)

    def apart(self, kept: Differences) -> list[tuple[int, int]]:
        """Where the contents may not be those that were kept."""
        then = [(at, at + len(content)) for at, content in kept.pieces.items()]
        out: list[tuple[int, int]] = []
        for start, stop in sorted([*self._changed(), *then]):
            if out and start <= out[-1][1]:
                out[-1] = (out[-1][0], max(stop, out[-1][1]))
            else:
                out.append((start, stop))
        return out

    def then(self, kept: Differences, start: int, stop: int) -> npt.NDArray[np.uint8]:
        """Bytes as they were when they were kept."""
        made = np.zeros(stop - start, np.uint8)
        at = start
        while at < stop and (read := os.preadv(self._fd, [made[at - start :].data], at)):
            at += read
        for first, content in kept.pieces.items():
            low, high = max(first, start), min(first + len(content), stop)
            if low < high:
                piece = np.frombuffer(content, np.uint8)[low - first : high - first]
                made[low - start : high - start] = piece
        return made


class Differences:
    """What contents that are kept have that the file has not, by offset."""

    __slots__ = ("__weakref__", "pieces")

    def __init__(self) -> None:
        self.pieces: dict[int, bytes] = {}


def _whole_pages(size: int) -> int:
    return size + -size % mmap.PAGESIZE


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
    alignment = _LINE if size < _MEDIUM else HUGE_PAGE
    if size < _MEDIUM or not hasattr(mmap, "MADV_HUGEPAGE"):
        raw = np.zeros(size + alignment, np.uint8)
    else:
        raw = np.frombuffer(mapped(size + alignment), np.uint8)
    start = -address_of(raw) % alignment
    return raw[start : start + size]


def zeroed_part(size: int, used: int) -> npt.NDArray[np.uint8]:
    """Zero bytes of which the first `used` are there at once, and others as they are touched."""
    if size < _MEDIUM:
        return zeroed(size)
    pages = mapped(size, huge=False)
    if sys.platform == "linux":
        with suppress(OSError):
            pages.madvise(_POPULATE_WRITE, 0, used)
    return np.frombuffer(pages, np.uint8)


def address_of(array: npt.NDArray[Any]) -> int:
    """Where an array lies in the host's memory; quicker than its `ctypes`."""
    return int(array.__array_interface__["data"][0])


class Kept:
    """A copy of the contents of a store."""

    __slots__ = ("_content", "_store")

    def __init__(self, store: ByteStore, before: Kept | None = None, threads: int = 1) -> None:
        """Copy.

        Args:
            before: an earlier copy, which shares what has not changed since.
            threads: of the host, that may do it.
        """
        self._store = store
        self._content: SharedBlocks | Differences
        pages, old = store.pages, None if before is None else before._content
        if pages is not None:
            try:
                self._content = pages.keep(old if isinstance(old, Differences) else None)
            except OSError:
                pages = None
        if pages is None:
            earlier = old if isinstance(old, SharedBlocks) else None
            self._content = SharedBlocks(store.data, earlier, threads)

    def held(self) -> Iterator[Block]:
        """The blocks of bytes that it keeps; copies may share them."""
        content = self._content
        return iter(content.pieces.values()) if isinstance(content, Differences) else content.held()

    def pieces(self, unit: int = 1) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
        """(offset, bytes then) of what may be different now, in whole elements of `unit` bytes."""
        content = self._content
        if not isinstance(content, Differences):
            yield 0, content.content()[: len(content) - len(content) % unit]
            return
        assert self._store.pages is not None
        for start, stop in self._store.pages.apart(content):
            low, high = start - start % unit, min(stop + -stop % unit, self._store.size)
            high -= high % unit
            if high > low:
                yield low, self._store.pages.then(content, low, high)

    def content(self) -> npt.NDArray[np.uint8]:
        """All bytes as they were."""
        content = self._content
        if not isinstance(content, Differences):
            return content.content()
        assert self._store.pages is not None
        return self._store.pages.then(content, 0, self._store.size)

    def restore(self) -> None:
        """Put them back."""
        content = self._content
        if isinstance(content, Differences):
            assert self._store.pages is not None
            self._store.pages.restore(content)
        else:
            content.restore(self._store.writable())
