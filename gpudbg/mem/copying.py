"""Copies of large arrays, into memory that stays when they are gone.

The first touch of a page costs the host more than copying to it, and what a launch keeps for a
restart is about as large as what the one before kept.  The memory of a copy that nobody has any
more is therefore the next one's; the host may take its pages back when it has no others.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from contextlib import suppress
from typing import Final

import numpy as np
import numpy.typing as npt

from gpudbg.mem.mappings import HUGE_PAGE, mapped

Bytes = npt.NDArray[np.uint8]

MOST_SPARE: Final = 128 << 20
"""Bytes that wait for another copy at most."""
_WASTE: Final = 2
"""Memory is used again for a copy that needs at least this part (one in so many) of it."""
_EACH: Final = 4 << 20
"""Bytes of a copy for which a thread is worth beginning."""
_spare: Final[list[mmap.mmap]] = []


def room(size: int) -> Bytes:
    """Bytes with any contents; when nobody has a view of them, they are somebody else's."""
    for found in sorted(_spare, key=len):
        if size <= len(found) <= max(_WASTE * size, HUGE_PAGE):
            # Another thread may have taken it.
            with suppress(ValueError):
                _spare.remove(found)
                return _lent(found)
    return _lent(mapped(size + -size % HUGE_PAGE))


def _lent(pages: mmap.mmap) -> Bytes:
    made = np.frombuffer(pages, np.uint8)
    weakref.finalize(made, _give_back, pages).atexit = False
    return made


def _give_back(pages: mmap.mmap) -> None:
    """Keep memory for the next copy; called when the last view of it has gone."""
    if sum(map(len, _spare)) + len(pages) > MOST_SPARE:
        return
    if hasattr(mmap, "MADV_FREE"):
        with suppress(OSError):
            pages.madvise(mmap.MADV_FREE)
    _spare.append(pages)


def copy(target: Bytes, source: Bytes, pieces: list[tuple[int, int]], threads: int = 1) -> None:
    """Copy pieces (start, stop) of an array to the same places of another one.

    Args:
        threads: of the host, that may do it; each is given a few megabytes at least.
    """
    total = sum(stop - start for start, stop in pieces)
    threads = max(1, min(threads, total // _EACH))
    most = -(-total // threads)
    portions = _portions(pieces, most + -most % mmap.PAGESIZE)
    helpers = [
        threading.Thread(target=_copy, args=(target, source, portion), name="gpudbg-copy")
        for portion in portions[1:]
    ]
    for helper in helpers:
        helper.start()
    _copy(target, source, portions[0])
    for helper in helpers:
        helper.join()


def _copy(target: Bytes, source: Bytes, pieces: list[tuple[int, int]]) -> None:
    for start, stop in pieces:
        target[start:stop] = source[start:stop]


def _portions(pieces: list[tuple[int, int]], most: int) -> list[list[tuple[int, int]]]:
    """Pieces in groups of `most` bytes in all, cut where that is needed."""
    portions: list[list[tuple[int, int]]] = []
    left = 0
    for start, stop in pieces:
        while start < stop:
            if not left:
                portions.append([])
                left = most
            end = min(stop, start + left)
            portions[-1].append((start, end))
            left -= end - start
            start = end
    return portions
