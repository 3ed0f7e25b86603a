"""Anonymous mappings of the host's memory; what copies of the process leave out of them."""

from __future__ import annotations

import mmap
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

HUGE_PAGE: Final = 1 << 21
MAPPED: Final[weakref.WeakSet[mmap.mmap]] = weakref.WeakSet()
"""Mappings of storage, but for small ones."""


def mapped(size: int, huge: bool = True) -> mmap.mmap:
    """Zero bytes that no other process sees; `huge`: in large pages, where the host has some."""
    made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            made.madvise(mmap.MADV_HUGEPAGE)
    MAPPED.add(made)
    return made


@contextmanager
def left_out_of_copies() -> Iterator[None]:
    """Copies that are made of this process meanwhile have no storage of more than a megabyte: the
    host need not keep its pages apart when they are written.  Such a copy must not touch any."""
    if not hasattr(mmap, "MADV_DONTFORK"):
        yield
        return
    found = list(MAPPED)
    for each in found:
        with suppress(OSError, ValueError):
            each.madvise(mmap.MADV_DONTFORK)
    try:
        yield
    finally:
        for each in found:
            with suppress(OSError, ValueError):
                each.madvise(mmap.MADV_DOFORK)
